#include "frontend/elementwise.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <numeric>

#include "braze/functions.h"
#include "frontend/autograd/names.h"
#include "frontend/autograd/tracking.h"
#include "frontend/complex.h"
#include "frontend/engine/number.h"
#include "frontend/formula.h"
#include "frontend/promotion.h"
#include "frontend/tensor_impl.h"
#include "frontend/view_layout.h"
#include "ir/scalar.h"

namespace braze {

namespace {

using AxisOrder = InlineVector<std::uint8_t, 8>;

// PyTorch's rules beside the table's: what promotes integers to floats, and what a dtype does not have.
bool promotes_to_floating(ir::Op op) {
  return ir::info(op).accepts == ir::Accepts::real && op != ir::Op::hypot && op != ir::Op::nextafter && op != ir::Op::gammainc &&
         op != ir::Op::gammaincc;
}

// Special functions that PyTorch computes in no half.
bool lacks_halves(ir::Op op) {
  using enum ir::Op;
  constexpr ir::Op wide[] = {
      erfcx, ndtri, zeta, bessel_j0, bessel_j1, bessel_y0, bessel_y1, scaled_modified_bessel_k0, scaled_modified_bessel_k1};
  return std::find(std::begin(wide), std::end(wide), op) != std::end(wide);
}

bool has_op(ir::Op op, DType type) {
  if (type == DType::boolean && (op == ir::Op::shift_left || op == ir::Op::shift_right)) return false;
  if (is_half(type) && lacks_halves(op)) return false;
  return ir::accepts(op, type);
}

[[noreturn]] void refuse(ir::Op op, DType type) {
  if (type == DType::boolean && op == ir::Op::sub)
    fail<NotImplementedError>(
        "Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or `logical_xor()` operator instead.");
  if (type == DType::boolean && op == ir::Op::neg)
    fail<NotImplementedError>(
        "Negation, the `-` operator, on a bool tensor is not supported. If you are trying to invert a mask, use the `~` or "
        "`logical_not()` operator instead.");
  const std::string_view name = op == ir::Op::shift_left ? "lshift" : op == ir::Op::shift_right ? "rshift" : ir::name(op);
  fail<NotImplementedError>("\"{}_cpu\" not implemented for '{}'", name, info(type).scalar_name);
}

// The dtype that `op` computes in, given the operands' common one.
DType operation_type(ir::Op op, DType common) {
  const DType type = promotes_to_floating(op) ? to_floating(common) : common;
  if (!has_op(op, type)) [[unlikely]]
    refuse(op, type);
  return type;
}

// PyTorch multiplies and divides halves by a number without rounding the number to a half first.
bool keeps_number_wide(ir::Op op, DType type, std::span<const In* const> operands) {
  if (!is_half(type) || (op != ir::Op::mul && op != ir::Op::div)) return false;
  const In& second = *operands[1];
  return !operands[0]->is_scalar() && (second.is_scalar() || (second.tensor().dim() == 0 && second.tensor().dtype() != type));
}

bool is_condition(ir::Op op, std::size_t operand) { return op == ir::Op::where && operand == 0; }

// The axes from slowest to fastest, as PyTorch's TensorIterator orders them: by the operands' strides, the first operand that tells
// two axes apart deciding; row-major where none does.
AxisOrder iteration_order(std::span<const In* const> operands, const Dims& sizes) {
  const std::size_t rank = sizes.size();
  std::vector<Dims> strides;
  const bool empty = std::find(sizes.begin(), sizes.end(), 0) != sizes.end();
  for (const In* operand : operands) {
    if (operand->is_scalar() || empty) continue;
    const Geometry g = operand->tensor().impl()->layout();
    Dims full(rank, 0);
    for (std::size_t i = 0; i < g.sizes.size(); ++i) {
      const std::size_t axis = rank - g.sizes.size() + i;
      full[axis] = g.sizes[i] == 1 && sizes[axis] != 1 ? 0 : g.strides[i];
    }
    strides.push_back(std::move(full));
  }
  // -1: a is faster, 1: b is faster, 0: no operand tells.
  const auto compare = [&](std::size_t a, std::size_t b) {
    for (const Dims& s : strides) {
      if (s[a] == 0 || s[b] == 0) continue;
      if (s[a] != s[b]) return s[a] < s[b] ? -1 : 1;
      if (sizes[a] > sizes[b]) return 1;
    }
    return 0;
  };
  AxisOrder order;
  const auto axes = fastest_first(rank, compare);
  for (std::size_t i = rank; i-- > 0;) order.push_back(static_cast<std::uint8_t>(axes[i]));
  return order;
}

bool all_row_major(std::span<const In* const> operands) {
  return std::all_of(operands.begin(), operands.end(),
                     [](const In* o) { return o->is_scalar() || !checked(o->tensor()).geometry; });
}

// TensorIterator's short cut: contiguous operands of one shape, whatever strides their dims of size one have, make a row-major result.
bool all_contiguous(std::span<const In* const> operands, const Dims& sizes) {
  return std::all_of(operands.begin(), operands.end(), [&](const In* o) {
    if (o->is_scalar()) return false;
    const Geometry g = checked(o->tensor()).layout();
    return g.sizes == sizes && g.contiguous();
  });
}

bool is_identity(const AxisOrder& order) {
  for (std::size_t i = 0; i < order.size(); ++i)
    if (order[i] != i) return false;
  return true;
}

AxisOrder inverse(const AxisOrder& order) {
  AxisOrder out(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) out[order[i]] = static_cast<std::uint8_t>(i);
  return out;
}

// A number as an operand: it converts as a tensor would, without a check of its range (a uint8 += 300 adds 44).
ir::Literal number_literal(Scalar number, DType type) {
  if (type == DType::f32 && number.is_floating()) [[likely]]
    return {type, std::bit_cast<std::uint32_t>(static_cast<float>(number.to_double()))};
  if (type == DType::f32 && !number.is_complex()) return {type, std::bit_cast<std::uint32_t>(static_cast<float>(number.to_int()))};
  const DType own = number.is_floating() ? DType::f64 : DType::i64;
  const std::uint64_t bits = to_literal(number, own).bits;
  if (own == type) return {type, bits};
  return {type, ir::evaluate({.op = ir::Primitive::convert, .type = type, .from = own}, bits)};
}
engine::Value number_value(Scalar number, DType type) { return engine::scalar_argument(number_literal(number, type)); }

// An operand as a value of the common dtype and shape, its axes in `order`.
engine::Value operand_value(const In& operand, DType type, const Dims& sizes, const AxisOrder& order, ir::Location where) {
  if (operand.is_scalar()) {
    Dims ordered;
    for (const std::uint8_t axis : order) ordered.push_back(sizes[axis]);
    return expand(number_value(operand.scalar(), type), ordered, where);
  }
  const TensorImpl& impl = checked(operand.tensor());
  if (is_identity(order)) return expand(cast(read(impl, where), type, where), sizes, where);
  if (elements_of(impl)) return operand_value(In(spread(operand.tensor()), operand.where()), type, sizes, order, where);
  // Permuting the layout, not the value: a transposed operand is then read in its storage order.
  const Geometry g = impl.layout();
  const std::size_t missing = sizes.size() - g.sizes.size();
  Geometry permuted;
  permuted.offset = g.offset;
  Dims ordered;
  for (const std::uint8_t axis : order) {
    permuted.sizes.push_back(axis < missing ? 1 : g.sizes[axis - missing]);
    permuted.strides.push_back(axis < missing ? 0 : g.strides[axis - missing]);
    ordered.push_back(sizes[axis]);
  }
  const Tensor view = make_view(operand.tensor(), std::move(permuted));
  return expand(cast(read(*view.impl(), where), type, where), ordered, where);
}

Dims common_sizes(std::span<const In* const> operands) {
  Dims sizes;
  bool first = true;
  for (const In* operand : operands) {
    if (operand->is_scalar()) continue;
    const Dims own = sizes_of(*checked(operand->tensor()).type);
    sizes = first ? own : sizes == own ? sizes : broadcast_sizes(sizes, own);
    first = false;
  }
  return sizes;
}

// Tensors of one dtype and shape, whole and row-major, on an op that takes them as they are: nothing to decide.
bool plain(ir::Op op, std::span<const In* const> operands) {
  const ir::Type* type = nullptr;
  for (const In* operand : operands) {
    if (operand->is_scalar()) return false;
    const TensorImpl& impl = checked(operand->tensor());
    if (impl.geometry || (type && !(*impl.type == *type))) return false;
    type = impl.type.get();
  }
  return op != ir::Op::where && has_op(op, type->dtype);
}

// bool; of the others PyTorch still takes uint8.
void require_condition(const In& condition) {
  const DType type = condition.is_scalar() ? scalar_dtype(condition.scalar()) : condition.tensor().dtype();
  require(type == DType::boolean || type == DType::u8,
          "where expected condition to be a boolean tensor, but got a tensor with dtype {}", info(type).scalar_name);
}

// PyTorch subtracts no bool, neither from nor of what it promotes to another dtype.
void require_no_bool(std::span<const In* const> operands) {
  const auto is_bool = [](const In* operand) {
    return (operand->is_scalar() ? scalar_dtype(operand->scalar()) : operand->tensor().dtype()) == DType::boolean;
  };
  if (std::ranges::all_of(operands, is_bool)) refuse(ir::Op::sub, DType::boolean);
  if (std::ranges::any_of(operands, is_bool))
    fail<NotImplementedError>(
        "Subtraction, the `-` operator, with a bool tensor is not supported. If you are trying to invert a mask, use the `~` or "
        "`logical_not()` operator instead.");
}

struct Recorded {
  engine::Value value;
  AxisOrder order;  // the value's axes among the tensor's
};

// A whole, row-major tensor and a number that leaves its dtype: the number takes over the tensor's type. Empty where they are not that.
engine::Value record_with_number(ir::Op op, std::span<const In* const> operands, ir::Location where) {
  if (operands.size() != 2 || operands[0]->is_scalar() == operands[1]->is_scalar()) return {};
  const bool number_first = operands[0]->is_scalar();
  const TensorImpl& impl = checked(operands[number_first]->tensor());
  const Scalar number = operands[!number_first]->scalar();
  const DType type = impl.type->dtype;
  if (impl.geometry || impl.type->rank() == 0 || category(number) > category(type) || !has_op(op, type)) return {};
  if (keeps_number_wide(op, type, operands) || (op == ir::Op::sub && number.kind() == Scalar::Kind::boolean)) return {};
  std::array<engine::Value, 2> values;
  values[number_first] = read(impl, where);
  values[!number_first] = engine::number(number_literal(number, type), impl.type, where);
  return engine::record_taking(op, values, where);
}

Recorded record_elementwise(ir::Op op, std::span<const In* const> operands, bool keep_order, ir::Location where) {
  if (plain(op, operands)) {
    std::array<engine::Value, 3> values;
    for (std::size_t i = 0; i < operands.size(); ++i) values[i] = read(*operands[i]->tensor().impl(), where);
    return {engine::record_taking(op, std::span(values).first(operands.size()), where), {}};
  }
  if (op == ir::Op::sub) require_no_bool(operands);
  if (engine::Value value = record_with_number(op, operands, where)) return {std::move(value), {}};
  const Dims sizes = common_sizes(operands);
  AxisOrder order(sizes.size());
  std::iota(order.begin(), order.end(), std::uint8_t{0});
  if (keep_order && !all_row_major(operands) && !all_contiguous(operands, sizes)) order = iteration_order(operands, sizes);
  const bool conditional = is_condition(op, 0);
  if (conditional) require_condition(*operands[0]);
  const DType type = operation_type(op, result_type(operands.subspan(conditional)));
  const bool wide = keeps_number_wide(op, type, operands);
  std::array<engine::Value, 3> values;
  for (std::size_t i = 0; i < operands.size(); ++i)
    values[i] = operand_value(*operands[i], is_condition(op, i) ? DType::boolean : wide ? DType::f32 : type, sizes, order, where);
  engine::Value result = engine::record_taking(op, std::span(values).first(operands.size()), where);
  return {wide ? cast(result, type, where) : std::move(result), order};
}

// PyTorch numbers the overloads for numbers and for tensors apart.
GradientName overload_name(ir::Op op, std::span<const In* const> operands) {
  if (op == ir::Op::sub) return operands[0]->is_scalar() ? GradientName::RsubBackward1 : GradientName::None;
  if (operands.size() != 2) return GradientName::None;
  const bool number = operands[1]->is_scalar();
  if (op == ir::Op::fmod && !number) return GradientName::FmodBackward1;
  if (op == ir::Op::remainder && !number) return GradientName::RemainderBackward1;
  if (op == ir::Op::copysign && number) return GradientName::CopysignBackward1;
  return GradientName::None;
}

}  // namespace

Tensor elementwise(ir::Op op, std::span<const In* const> operands) {
  if (any_complex(operands)) [[unlikely]] {
    common_sizes(operands);
    if (op == ir::Op::sub) require_no_bool(operands);
    return complex_elementwise(op, operands);
  }
  const GradientScope call(overload_name(op, operands));
  Recorded r = record_elementwise(op, operands, true, location(operands[0]->where()));
  return is_identity(r.order) ? wrap(std::move(r.value)) : wrap_permuted(std::move(r.value), inverse(r.order));
}

namespace {

void require_fits(const TensorImpl& target, std::span<const std::int64_t> wanted) {
  const Dims sizes = sizes_of(*target.type);
  require<ShapeError>(std::ranges::equal(wanted, sizes), "output with shape {} doesn't match the broadcast shape {}",
                      sizes_text(sizes), sizes_text(wanted));
}

[[noreturn]] void refuse_cast(DType result, DType wanted) {
  fail("result type {} can't be cast to the desired output type {}", info(result).scalar_name, info(wanted).scalar_name);
}

void write_result(TensorImpl& target, engine::Value value, ir::Location where) {
  const DType result = value.type().dtype, wanted = target.type->dtype;
  if (!can_cast(result, wanted)) [[unlikely]]
    refuse_cast(result, wanted);
  if (result != wanted) value = cast(value, wanted, where);
  write(target, std::move(value), where);
}

// A result that stands by itself, of whatever dtype.
void write_tensor(TensorImpl& target, const TensorImpl& result, ir::Location where) {
  if (!can_cast(result.dtype(), target.dtype())) refuse_cast(result.dtype(), target.dtype());
  write(target, read_as(result, target.dtype(), where), where);
}

}  // namespace

void elementwise_in_place(ir::Op op, Tensor& target, std::span<const In* const> operands) {
  TensorImpl& impl = checked(target);
  const ir::Location where = location(operands[0]->where());
  const auto has_its_sizes = [&](const In* o) { return o->is_scalar() || checked(o->tensor()).type->shape == impl.type->shape; };
  if (!std::ranges::all_of(operands, has_its_sizes)) require_fits(impl, common_sizes(operands));
  for (const In* operand : operands) require_no_partial_overlap(impl, *operand);
  const auto widens = [&](const In* o) {
    return o->is_scalar() ? category(o->scalar()) > category(impl.dtype()) : checked(o->tensor()).dtype() != impl.dtype();
  };
  if (std::ranges::any_of(operands, widens) && ir::info(op).result == ir::ResultType::same) [[unlikely]]
    if (const DType common = result_type(operands); !can_cast(common, impl.dtype())) refuse_cast(common, impl.dtype());
  if (is_complex(impl.dtype()) || any_complex(operands)) [[unlikely]] {
    if (op == ir::Op::abs) fail("In-place abs is not supported for complex tensors.");
    return write_tensor(impl, checked(elementwise(op, operands)), where);
  }
  const engine::FunctionScope call;
  write_result(impl, record_elementwise(op, operands, false, where).value, where);
}

Tensor& write_in_place(Tensor& target, const Tensor& result, const std::source_location& where) {
  TensorImpl &impl = checked(target), &from = checked(result);
  require_fits(impl, sizes_of(*from.type));
  write_tensor(impl, from, location(where));
  return target;
}

// ---- the table's functions ----

namespace {

Tensor unary(ir::Op op, const In& x) {
  const In* operands[] = {&x};
  return elementwise(op, operands);
}

Tensor binary(ir::Op op, const In& a, const In& b) {
  const In* operands[] = {&a, &b};
  return elementwise(op, operands);
}

template <ir::Op op>
Tensor binary_function(const In& a, const In& b) {
  return binary(op, a, b);
}

// By squaring; wraps. The exponent is above 1.
Tensor integer_power(Tensor square, std::int64_t exponent) {
  std::optional<Tensor> power;
  for (; exponent > 0; exponent >>= 1) {
    if (exponent & 1) power = power ? *power * square : square;
    if (exponent > 1) square = square * square;
  }
  return *power;
}

// x^2, x^3, 1/x and the like, as PyTorch computes them for a number as exponent.
std::optional<Tensor> power_by_number(const In& base, const In& exponent) {
  if (base.is_scalar() || !exponent.is_scalar()) return {};
  const Scalar e = exponent.scalar();
  const DType type = base.tensor().dtype();
  const SourceLine line(base.where());
  if (e == 0 && !base.tensor().requires_grad()) return full_like(base.tensor(), 1, {result_type(base, exponent)});
  if (e == 1) return base.tensor().to(result_type(base, exponent)).clone();
  if (!is_float(type)) {
    require(e.is_floating() || e.to_int() >= 0, "Integers to negative integer powers are not allowed.");
    if (type == DType::boolean || e.is_floating()) return {};
    return integer_power(base.tensor(), e.to_int());
  }
  return in_compute_type(base.tensor(), [&](const Tensor& x) -> std::optional<Tensor> {
    if (e == 2) return x * x;
    if (e == 3) return x * x * x;
    if (e == 0.5) return sqrt(x);
    if (e == -0.5) return rsqrt(x);
    if (e == -1) return reciprocal(x);
    if (e == -2) return reciprocal(x * x);
    return {};
  });
}

template <>
Tensor binary_function<ir::Op::pow>(const In& a, const In& b) {
  const In* operands[] = {&a, &b};
  if (any_complex(operands)) return complex_elementwise(ir::Op::pow, operands);
  const GradientScope scope(b.is_scalar()   ? GradientName::PowBackward0
                            : a.is_scalar() ? GradientName::PowBackward2
                                            : GradientName::PowBackward1);
  if (std::optional<Tensor> special = power_by_number(a, b)) return *std::move(special);
  // Powers of a number are row-major, however the exponents lie.
  if (a.is_scalar() && !b.is_scalar() && checked(b.tensor()).geometry)
    return binary(ir::Op::pow, a, In(b.tensor().contiguous(b.where()), b.where()));
  return binary(ir::Op::pow, a, b);
}

// Floats by integers exactly; all else is composed, as in PyTorch.
template <>
Tensor binary_function<ir::Op::ldexp>(const In& a, const In& b) {
  const SourceLine line(a.where());
  if (a.is_scalar() || b.is_scalar() || !is_float(a.tensor().dtype()) || category(b.tensor().dtype()) >= 2) return a * exp2(b);
  if (b.tensor().dtype() == DType::boolean) not_implemented_for("ldexp_cpu_exp", DType::boolean);
  return binary(ir::Op::ldexp, a, b.tensor().to(a.tensor().dtype()));
}

}  // namespace

#define BRAZE_UNARY(name, accepts, result) \
  Tensor name(const In& x) { return unary(ir::Op::name, x); }
#define BRAZE_BINARY(name, accepts, result, algebra) \
  Tensor name(const In& a, const In& b) { return binary_function<ir::Op::name>(a, b); }
#define BRAZE_TERNARY(name, accepts, result)           \
  Tensor name(const In& a, const In& b, const In& c) { \
    const In* operands[] = {&a, &b, &c};               \
    return elementwise(ir::Op::name, operands);        \
  }
#include "ir/ops.def"

#define BRAZE_UNARY_ALIAS(name, of) \
  Tensor name(const In& x) { return of(x); }
#define BRAZE_BINARY_ALIAS(name, of) \
  Tensor name(const In& a, const In& b) { return of(a, b); }
#include "braze/elementwise.def"

Tensor operator+(const In& a, const In& b) { return add(a, b); }
Tensor operator-(const In& a, const In& b) { return sub(a, b); }
Tensor operator*(const In& a, const In& b) { return mul(a, b); }
Tensor operator/(const In& a, const In& b) { return div(a, b); }
Tensor operator%(const In& a, const In& b) { return remainder(a, b); }
Tensor operator==(const In& a, const In& b) { return eq(a, b); }
Tensor operator!=(const In& a, const In& b) { return ne(a, b); }
Tensor operator<(const In& a, const In& b) { return lt(a, b); }
Tensor operator<=(const In& a, const In& b) { return le(a, b); }
Tensor operator>(const In& a, const In& b) { return gt(a, b); }
Tensor operator>=(const In& a, const In& b) { return ge(a, b); }
Tensor operator&(const In& a, const In& b) { return bitwise_and(a, b); }
Tensor operator|(const In& a, const In& b) { return bitwise_or(a, b); }
Tensor operator^(const In& a, const In& b) { return bitwise_xor(a, b); }
Tensor operator<<(const In& a, const In& b) { return shift_left(a, b); }
Tensor operator>>(const In& a, const In& b) { return shift_right(a, b); }
Tensor operator-(const In& x) { return neg(x); }
Tensor operator~(const In& x) { return bitwise_not(x); }

// ---- in place ----

Tensor& Tensor::operator+=(const In& other) { return add_(other); }
Tensor& Tensor::operator-=(const In& other) { return sub_(other); }
Tensor& Tensor::operator*=(const In& other) { return mul_(other); }
Tensor& Tensor::operator/=(const In& other) { return div_(other); }

}  // namespace braze
