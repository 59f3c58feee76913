#include "frontend/elementwise.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "braze/functions.h"
#include "frontend/promotion.h"
#include "frontend/tensor_impl.h"

namespace braze {

namespace {

using Order = InlineVector<std::uint8_t, 8>;

// The dtype that `op` computes in, given the operands' common one.
DType operation_type(ir::Op op, DType common) { return ir::info(op).accepts == ir::Accepts::real ? to_floating(common) : common; }

bool is_condition(ir::Op op, std::size_t operand) { return op == ir::Op::where && operand == 0; }

// The axes from slowest to fastest, as PyTorch's TensorIterator orders them: by the operands' strides, the first operand that tells
// two axes apart deciding; row-major where none does.
Order iteration_order(std::span<const In* const> operands, const Dims& sizes) {
  const std::size_t rank = sizes.size();
  std::vector<Dims> strides;
  for (const In* operand : operands) {
    if (operand->is_scalar()) continue;
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
  // PyTorch's insertion sort from the fastest axis; it is not a strict weak order, so the algorithm is part of the result.
  std::vector<std::size_t> fastest_first(rank);
  for (std::size_t i = 0; i < rank; ++i) fastest_first[i] = rank - 1 - i;
  for (std::size_t i = 1; i < rank; ++i) {
    std::size_t moving = i;
    for (std::size_t j = i; j-- > 0;) {
      const int c = compare(fastest_first[j], fastest_first[moving]);
      if (c > 0) {
        std::swap(fastest_first[j], fastest_first[moving]);
        moving = j;
      } else if (c < 0) {
        break;
      }
    }
  }
  Order order;
  for (std::size_t i = rank; i-- > 0;) order.push_back(static_cast<std::uint8_t>(fastest_first[i]));
  return order;
}

bool all_row_major(std::span<const In* const> operands) {
  return std::all_of(operands.begin(), operands.end(),
                     [](const In* o) { return o->is_scalar() || !checked(o->tensor()).geometry; });
}

bool is_identity(const Order& order) {
  for (std::size_t i = 0; i < order.size(); ++i)
    if (order[i] != i) return false;
  return true;
}

Order inverse(const Order& order) {
  Order out(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) out[order[i]] = static_cast<std::uint8_t>(i);
  return out;
}

// An operand as a value of the common dtype and shape, its axes in `order`.
engine::Value operand_value(const In& operand, DType type, const Dims& sizes, const Order& order, ir::Location where) {
  if (operand.is_scalar()) {
    Dims ordered;
    for (const std::uint8_t axis : order) ordered.push_back(sizes[axis]);
    return expand(scalar_value(operand.scalar(), type), ordered, where);
  }
  const TensorImpl& impl = checked(operand.tensor());
  if (is_identity(order)) return expand(cast(read(impl, where), type, where), sizes, where);
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
  return op != ir::Op::where && ir::accepts(op, type->dtype);
}

struct Recorded {
  engine::Value value;
  Order order;  // the value's axes among the tensor's
};

Recorded record_elementwise(ir::Op op, std::span<const In* const> operands, bool keep_order) {
  const ir::Location where = location(operands[0]->where());
  if (plain(op, operands)) {
    std::array<engine::Value, 3> values;
    for (std::size_t i = 0; i < operands.size(); ++i) values[i] = read(*operands[i]->tensor().impl(), where);
    return {engine::record(op, std::span(values).first(operands.size()), where), {}};
  }
  const Dims sizes = common_sizes(operands);
  Order order(sizes.size());
  std::iota(order.begin(), order.end(), std::uint8_t{0});
  if (keep_order && !all_row_major(operands)) order = iteration_order(operands, sizes);
  const bool conditional = is_condition(op, 0);
  const DType type = operation_type(op, result_type(operands.subspan(conditional)));
  std::array<engine::Value, 3> values;
  for (std::size_t i = 0; i < operands.size(); ++i)
    values[i] = operand_value(*operands[i], is_condition(op, i) ? DType::boolean : type, sizes, order, where);
  return {engine::record(op, std::span(values).first(operands.size()), where), order};
}

int category(DType t) { return t == DType::boolean ? 0 : is_float(t) ? 2 : 1; }

}  // namespace

Tensor elementwise(ir::Op op, std::span<const In* const> operands) {
  Recorded r = record_elementwise(op, operands, true);
  return is_identity(r.order) ? wrap(std::move(r.value)) : wrap_permuted(std::move(r.value), inverse(r.order));
}

void elementwise_in_place(ir::Op op, Tensor& target, std::span<const In* const> operands) {
  TensorImpl& impl = checked(target);
  const ir::Location where = location(operands[0]->where());
  const Dims sizes = sizes_of(*impl.type);
  const Dims wanted = common_sizes(operands);
  require<ShapeError>(wanted == sizes, "output with shape {} doesn't match the broadcast shape {}", sizes_text(sizes),
                      sizes_text(wanted));
  engine::Value value = record_elementwise(op, operands, false).value;
  const DType result = value.type().dtype;
  require(category(result) <= category(impl.type->dtype) || ir::info(op).result == ir::ResultType::boolean,
          "result type {} can't be cast to the desired output type {}", info(result).torch_name, info(impl.type->dtype).torch_name);
  write(impl, cast(value, impl.type->dtype, where), where);
}

// ---- the table's functions and methods ----

namespace {

Tensor unary(ir::Op op, const In& x) {
  const In* operands[] = {&x};
  return elementwise(op, operands);
}

Tensor binary(ir::Op op, const In& a, const In& b) {
  const In* operands[] = {&a, &b};
  return elementwise(op, operands);
}

// x^2, x^3, 1/x and the like, as PyTorch computes them for a number as exponent.
std::optional<Tensor> power_by_number(const In& base, const In& exponent) {
  if (base.is_scalar() || !exponent.is_scalar()) return {};
  const Scalar e = exponent.scalar();
  if (e == 2) return square(base);
  if (e == 3) return mul(In(square(base), base.where()), base);
  if (!is_float(base.tensor().dtype())) return {};
  if (e == 0.5) return sqrt(base);
  if (e == -0.5) return rsqrt(base);
  if (e == -1) return reciprocal(base);
  if (e == -2) return reciprocal(In(square(base), base.where()));
  return {};
}

Tensor binary_function(ir::Op op, const In& a, const In& b) {
  if (op == ir::Op::pow)
    if (std::optional<Tensor> special = power_by_number(a, b)) return *std::move(special);
  return binary(op, a, b);
}

}  // namespace

#define BRAZE_UNARY(name, accepts, result)                                                                            \
  Tensor name(const In& x) { return unary(ir::Op::name, x); }                                                         \
  Tensor ElementwiseMethods::name(std::source_location where) const { return braze::name(In(self_of(this), where)); } \
  Tensor& ElementwiseMethods::name##_(std::source_location where) {                                                   \
    const In self(self_of(this), where);                                                                              \
    const In* operands[] = {&self};                                                                                   \
    elementwise_in_place(ir::Op::name, self_of(this), operands);                                                      \
    return self_of(this);                                                                                             \
  }
#define BRAZE_BINARY(name, accepts, result, algebra)                                                                      \
  Tensor name(const In& a, const In& b) { return binary_function(ir::Op::name, a, b); }                                   \
  Tensor ElementwiseMethods::name(const In& other) const { return braze::name(In(self_of(this), other.where()), other); } \
  Tensor& ElementwiseMethods::name##_(const In& other) {                                                                  \
    const In self(self_of(this), other.where());                                                                          \
    const In* operands[] = {&self, &other};                                                                               \
    elementwise_in_place(ir::Op::name, self_of(this), operands);                                                          \
    return self_of(this);                                                                                                 \
  }
#define BRAZE_TERNARY(name, accepts, result)           \
  Tensor name(const In& a, const In& b, const In& c) { \
    const In* operands[] = {&a, &b, &c};               \
    return elementwise(ir::Op::name, operands);        \
  }
#include "ir/ops.def"

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

Tensor square(const In& x) { return binary(ir::Op::mul, x, x); }
Tensor relu(const In& x) { return maximum(x, In(0, x.where())); }
Tensor ElementwiseMethods::square(std::source_location where) const { return braze::square(In(self_of(this), where)); }
Tensor ElementwiseMethods::relu(std::source_location where) const { return braze::relu(In(self_of(this), where)); }

Tensor ElementwiseMethods::clamp(std::optional<Scalar> min, std::optional<Scalar> max, std::source_location where) const {
  require<ValueError>(min || max, "torch.clamp: At least one of 'min' or 'max' must not be None");
  Tensor out = self_of(this);
  if (min) out = braze::maximum(In(out, where), In(*min, where));
  if (max) out = braze::minimum(In(out, where), In(*max, where));
  return out;
}

Tensor ElementwiseMethods::masked_fill(const Tensor& mask, Scalar value, std::source_location where) const {
  require<TypeError>(mask.dtype() == DType::boolean, "masked_fill only supports boolean masks, but got {}",
                     info(mask.dtype()).torch_name);
  // The value takes this tensor's dtype, whatever its own kind.
  const Tensor filled = full({}, value, {self_of(this).dtype()});
  return braze::where(In(mask, where), In(filled, where), In(self_of(this), where));
}

// ---- in place ----

Tensor& Tensor::copy_(const In& source) {
  write_cast(checked(*this), source, location(source.where()));
  return *this;
}

Tensor& Tensor::fill_(Scalar value, std::source_location where) { return copy_(In(value, where)); }
Tensor& Tensor::zero_(std::source_location where) { return copy_(In(0, where)); }
Tensor& Tensor::operator+=(const In& other) { return add_(other); }
Tensor& Tensor::operator-=(const In& other) { return sub_(other); }
Tensor& Tensor::operator*=(const In& other) { return mul_(other); }
Tensor& Tensor::operator/=(const In& other) { return div_(other); }

Tensor Tensor::to(DType dtype, std::source_location where) const {
  TensorImpl& impl = checked(*this);
  if (impl.type->dtype == dtype) return *this;
  if (!impl.geometry) return wrap(cast(read(impl, location(where)), dtype, location(where)));
  // Keeps the storage order, as PyTorch's preserve_format.
  const In self(*this, where);
  const In* operands[] = {&self};
  const Dims sizes = sizes_of(*impl.type);
  const Order order = iteration_order(operands, sizes);
  engine::Value value = operand_value(self, dtype, sizes, order, location(where));
  return wrap_permuted(std::move(value), inverse(order));
}

}  // namespace braze
