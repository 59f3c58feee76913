#include "ir/error.h"

namespace braze {

// Out of line, so that the vtable and typeinfo of each kind live in one library and `catch` works across its border.
Error::~Error() = default;
ShapeError::~ShapeError() = default;
TypeError::~TypeError() = default;
NotImplementedError::~NotImplementedError() = default;
IndexError::~IndexError() = default;
ValueError::~ValueError() = default;
LinAlgError::~LinAlgError() = default;
DeviceError::~DeviceError() = default;
CompileError::~CompileError() = default;
ParseError::~ParseError() = default;
InternalError::~InternalError() = default;

// Visible, for the Python module has invariants of its own.
BRAZE_EXPORT void internal_failure(std::string message, const std::source_location& where) {
  throw InternalError(
      fmt::format("internal error: {} ({}:{}, {})", message, where.file_name(), where.line(), where.function_name()));
}

}  // namespace braze
