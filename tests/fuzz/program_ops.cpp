#include "tests/fuzz/program_ops.h"

#include <set>

#include "ir/meaning.h"

namespace braze::test {

using ir::Op;

bool reduces(Op op, DType type) {
  if (op == Op::any || op == Op::all) return true;
  return !is_float(type) && (op == Op::sum || op == Op::max || op == Op::min);
}

namespace {
bool divides(Op op) { return op == Op::floor_divide || op == Op::trunc_divide || op == Op::remainder || op == Op::fmod; }
}  // namespace

bool usable(Op op, DType type) {
  // PyTorch's own rules, beside the table's.
  if (type == DType::boolean && (op == Op::shift_left || op == Op::shift_right)) return false;
  if (is_half(type) && op == Op::ldexp) return false;  // a product with a rounded power
  if (op == Op::signbit || op == Op::copysign) return !is_float(type) && ir::accepts(op, type);
  return !(divides(op) && !is_float(type)) && ir::accepts(op, type);
}

const std::vector<Unary>& unaries() {
  static const std::vector<Unary> rows = {
#define BRAZE_UNARY(name, accepts, result) {Op::name, [](const In& x) { return braze::name(x); }, [](Tensor& x) { x.name##_(); }},
#include "ir/ops.def"
  };
  return rows;
}
const std::vector<Binary>& binaries() {
  static const std::vector<Binary> rows = {
#define BRAZE_BINARY(name, accepts, result, algebra) \
  {Op::name, [](const In& a, const In& b) { return braze::name(a, b); }, [](Tensor& a, const In& b) { a.name##_(b); }},
#include "ir/ops.def"
  };
  return rows;
}

namespace {

// Some special functions refuse halves. Which ones PyTorch has recorded (tests/python/tables); here the library is asked.
template <class Make>
bool takes_halves(const Make& make) {
  try {
    make(zeros({0}, {float16}));
    return true;
  } catch (const NotImplementedError&) {
    return false;
  }
}

}  // namespace

bool has_op(Op op, DType type) {
  if (!is_half(type)) return true;
  static const std::set<Op> refused = [] {
    std::set<Op> ops;
    for (const Unary& r : unaries())
      if (ir::accepts(r.op, DType::f16) && !takes_halves([&](const Tensor& x) { return r.make(x); })) ops.insert(r.op);
    for (const Binary& r : binaries())
      if (ir::accepts(r.op, DType::f16) && !takes_halves([&](const Tensor& x) { return r.make(x, x); })) ops.insert(r.op);
    return ops;
  }();
  return !refused.contains(op);
}

}  // namespace braze::test
