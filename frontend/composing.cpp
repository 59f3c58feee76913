#include "frontend/composing.h"

#include "runtime/os.h"

namespace braze {

const Tensor& require_tensor(std::string_view function, const In& x) {
  if (x.is_scalar()) {
    const Scalar::Kind kind = x.scalar().kind();
    fail<TypeError>("{}(): argument 'input' (position 1) must be Tensor, not {}", function,
                    kind == Scalar::Kind::boolean   ? "bool"
                    : kind == Scalar::Kind::integer ? "int"
                                                    : "float");
  }
  checked(x.tensor());
  return x.tensor();
}

void require_room(double table_bytes) {
  if (table_bytes > static_cast<double>(runtime::os::usable_memory()) / 4)
    fail("can't allocate memory: you tried to allocate {:.0f} bytes", table_bytes);
}

Tensor positions(std::int64_t n) { return wrap(engine::record(ir::Op::iota, {}, ir::ToShape{{n}}, here())); }

}  // namespace braze
