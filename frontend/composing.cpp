#include "frontend/composing.h"

namespace braze {

const Tensor& require_tensor(std::string_view function, const In& x) {
  require<TypeError>(!x.is_scalar(), "{}(): argument 'input' (position 1) must be Tensor, not {}", function,
                     !x.is_scalar()                                    ? ""
                     : x.scalar().kind() == Scalar::Kind::boolean      ? "bool"
                     : x.scalar().kind() == Scalar::Kind::integer      ? "int"
                                                                       : "float");
  checked(x.tensor());
  return x.tensor();
}

void not_implemented(std::string_view kernel, DType type) {
  fail<NotImplementedError>("\"{}\" not implemented for '{}'", kernel, info(type).scalar_name);
}

Tensor positions(std::int64_t n, const At& at) {
  return wrap(engine::record(ir::Op::iota, {}, ir::ToShape{{n}}, at.location()));
}

}  // namespace braze
