// The exception types alone, free of fmt, so that public headers may include them.
#pragma once

#include <stdexcept>
#include <string>

#if defined(__GNUC__)
#define BRAZE_EXPORT __attribute__((visibility("default")))
#else
#define BRAZE_EXPORT
#endif

namespace braze {

// Something the user did. Python raises the class named beside each kind.
class BRAZE_EXPORT Error : public std::runtime_error {  // RuntimeError
 public:
  using std::runtime_error::runtime_error;
  ~Error() override;
};

class BRAZE_EXPORT ShapeError : public Error {  // RuntimeError, as PyTorch raises for shapes
 public:
  using Error::Error;
  ~ShapeError() override;
};

class BRAZE_EXPORT TypeError : public Error {  // TypeError
 public:
  using Error::Error;
  ~TypeError() override;
};

class BRAZE_EXPORT NotImplementedError : public Error {  // NotImplementedError: an operation that a dtype does not have
 public:
  using Error::Error;
  ~NotImplementedError() override;
};

class BRAZE_EXPORT IndexError : public Error {  // IndexError
 public:
  using Error::Error;
  ~IndexError() override;
};

class BRAZE_EXPORT ValueError : public Error {  // ValueError
 public:
  using Error::Error;
  ~ValueError() override;
};

class BRAZE_EXPORT LinAlgError : public Error {  // torch.linalg.LinAlgError: a matrix does not allow it
 public:
  using Error::Error;
  ~LinAlgError() override;
};

class BRAZE_EXPORT DeviceError : public Error {  // RuntimeError: a device, driver or memory that is not there
 public:
  using Error::Error;
  ~DeviceError() override;
};

class BRAZE_EXPORT CompileError : public Error {  // RuntimeError: the target cannot do what was asked
 public:
  using Error::Error;
  ~CompileError() override;
};

// Bad text: IR, expressions, .npy headers. `line` and `column` count from 1; what() carries both, the line and a caret.
class BRAZE_EXPORT ParseError : public Error {
 public:
  ParseError(const std::string& message, int line, int column) : Error(message), line(line), column(column) {}
  ~ParseError() override;
  int line;
  int column;
};

// A bug in Braze. what() names the broken invariant and its place in Braze's source.
class BRAZE_EXPORT InternalError : public std::logic_error {
 public:
  using std::logic_error::logic_error;
  ~InternalError() override;
};

}  // namespace braze
