// Arithmetic that is composed of the table's ops: alpha, rounding modes, limits, selections.
#include <array>
#include <cmath>

#include "braze/autograd.h"
#include "frontend/autograd/names.h"
#include "frontend/complex.h"
#include "frontend/elementwise.h"
#include "frontend/formula.h"

namespace braze {

namespace {

void check_alpha(DType result, Scalar alpha) {
  require(alpha.kind() != Scalar::Kind::boolean || result == DType::boolean, "Boolean alpha only supported for Boolean results.");
  require(is_complex(result) || !alpha.is_complex(), "For non-complex input tensors, argument alpha must not be a complex number.");
  require(is_float(result) || is_complex(result) || !alpha.is_floating(),
          "For integral input tensors, argument alpha must not be a floating point number.");
  require_convertible(alpha, result);
}

// a + alpha * b or a - alpha * b in one dtype: the product is rounded as a tensor of it.
Tensor add_scaled(ir::Op op, const In& a, const In& b, Scalar alpha) {
  const GradientScope scope(GradientName::None);
  const SourceLine line(a.where());
  const DType type = result_type(a, b);
  const auto is_bool = [](const In& x) { return result_type(x, x) == DType::boolean; };
  if (op == ir::Op::sub && (is_bool(a) || is_bool(b))) return sub(a, b);  // refuses
  check_alpha(type, alpha);
  const Tensor product =
      type == DType::boolean ? as_tensor(b, type) & full({}, alpha, {type}) : as_tensor(b, type) * full({}, alpha, {type});
  const Tensor start = as_tensor(a, type);
  return op == ir::Op::add ? start + product : start - product;
}

bool is_one(Scalar alpha) { return alpha.kind() == Scalar::Kind::integer && alpha == 1; }

}  // namespace

Tensor add(const In& a, const In& b, Scalar alpha) { return is_one(alpha) ? add(a, b) : add_scaled(ir::Op::add, a, b, alpha); }
Tensor sub(const In& a, const In& b, Scalar alpha) { return is_one(alpha) ? sub(a, b) : add_scaled(ir::Op::sub, a, b, alpha); }
Tensor subtract(const In& a, const In& b, Scalar alpha) { return sub(a, b, alpha); }
Tensor rsub(const In& a, const In& b, Scalar alpha) {
  const GradientScope scope(b.is_scalar() ? GradientName::RsubBackward1 : GradientName::RsubBackward0);
  const SourceLine line(a.where());
  return sub(b, a, alpha);
}

Tensor div(const In& a, const In& b, std::optional<std::string_view> rounding_mode) {
  if (!rounding_mode) return div(a, b);
  if (*rounding_mode == "trunc") return trunc_divide(a, b);
  if (*rounding_mode == "floor") return floor_divide(a, b);
  fail("div expected rounding_mode to be one of None, 'trunc', or 'floor' but found '{}'", *rounding_mode);
}
Tensor divide(const In& a, const In& b, std::optional<std::string_view> rounding_mode) { return div(a, b, rounding_mode); }

namespace {

// f(x, a, b, value) in the dtype of all three tensors.
template <class F>
Tensor three_in_one_type(const In& x, const In& a, const In& b, F f) {
  const SourceLine line(x.where());
  const In* operands[] = {&x, &a, &b};
  const DType type = result_type(operands), compute = compute_type(type);
  return f(type, as_tensor(x, compute), as_tensor(a, compute), as_tensor(b, compute)).to(type);
}

}  // namespace

Tensor addcmul(const In& x, const In& a, const In& b, Scalar value) {
  const GradientScope scope(GradientName::AddcmulBackward0);
  return three_in_one_type(x, a, b, [&](DType type, const Tensor& x, const Tensor& a, const Tensor& b) {
    if (type == DType::boolean) not_implemented_for("addcmul_cpu_out", type);
    return x + full({}, value, {x.dtype()}) * a * b;
  });
}

Tensor addcdiv(const In& x, const In& a, const In& b, Scalar value) {
  const GradientScope scope(GradientName::AddcdivBackward0);
  const bool integers = !a.is_scalar() && !b.is_scalar() && category(a.tensor().dtype()) < 2 && category(b.tensor().dtype()) < 2;
  require(!integers,
          "Integer division with addcdiv is no longer supported, and in a future  release addcdiv will perform a true division of "
          "tensor1 "
          "and tensor2. The historic addcdiv behavior can be implemented as (input + value * torch.trunc(tensor1 / "
          "tensor2)).to(input.dtype) "
          "for integer inputs and as (input + value * tensor1 / tensor2) for float inputs. The future addcdiv behavior is just the "
          "latter "
          "implementation: (input + value * tensor1 / tensor2), for all dtypes.");
  return three_in_one_type(x, a, b,
                           [&](DType, const Tensor& x, const Tensor& a, const Tensor& b) { return x + In(value) * a / b; });
}

Tensor lerp(const In& start, const In& end, const In& weight) {
  const GradientScope scope(weight.is_scalar() ? GradientName::LerpBackward0 : GradientName::LerpBackward1);
  const SourceLine line(start.where());
  const Tensor from = as_tensor(start), to = as_tensor(end, end.is_scalar() ? from.dtype() : end.tensor().dtype());
  const DType type = from.dtype();
  require(to.dtype() == type, "expected dtype {} for `end` but got dtype {}", info(type).scalar_name, info(to.dtype()).scalar_name);
  require(weight.is_scalar() || weight.tensor().dtype() == type, "expected dtype {} for `weight` but got dtype {}",
          info(type).scalar_name, weight.is_scalar() ? "" : info(weight.tensor().dtype()).scalar_name);
  if (!is_float(type) && !is_complex(type))
    not_implemented_for(weight.is_scalar() ? "lerp_kernel_scalar" : "lerp_kernel_tensor", type);
  const DType compute = compute_type(type);
  const Tensor a = from.to(compute), b = to.to(compute), difference = b - a;
  // From the nearer end, so that weights 0 and 1 give the ends themselves.
  if (weight.is_scalar() && !weight.scalar().is_complex()) {
    const double w = weight.scalar().to_double();
    return (std::abs(w) < 0.5 ? a + w * difference : b - difference * (1 - w)).to(type);
  }
  const Tensor w = as_tensor(weight, compute);
  return where(abs(w) < 0.5, a + w * difference, b - difference * (1 - w)).to(type);
}

Tensor round(const In& x, std::int64_t decimals) {
  if (decimals == 0 && is_float(as_tensor(x).dtype())) return round(x);
  if (!as_tensor(x).numel()) return as_tensor(x).clone();
  return map_floating("round_vml_cpu", x, [&](const Tensor& x) {
    const In power = std::pow(10.0, std::abs(static_cast<double>(decimals)));
    return decimals > 0 ? round(x * power) / power : round(x / power) * power;
  });
}

std::pair<Tensor, Tensor> frexp(const In& x) {
  const SourceLine line(x.where());
  const Tensor t = as_tensor(x);
  require(is_float(t.dtype()), "torch.frexp() only supports floating-point dtypes");
  return {frexp_mantissa(t), frexp_exponent(t).to(DType::i32)};
}

// ---- limits ----

namespace {

[[noreturn]] void refuse_limits(DType type) {
  fail<NotImplementedError>("clamp is not supported for complex types ('{}')", info(type).scalar_name);
}

// In clamp all bounds promote, numbers by category alone; bounds themselves never have a say in a float's size.
DType clamp_type(const In& x, const Limit& min, const Limit& max) {
  std::array<const In*, 3> operands = {&x};
  std::size_t count = 1;
  for (const Limit* limit : {&min, &max})
    if (limit->get()) operands[count++] = &*limit->get();
  const DType type = result_type(std::span(operands).first(count));
  const auto is_number = [](const Limit& limit) { return limit.get() && limit.get()->is_scalar(); };
  if (type == DType::boolean && (is_number(min) || is_number(max) || (min.get() && max.get())))
    not_implemented_for("clamp_scalar_cpu", type);
  if (is_complex(type)) refuse_limits(type);
  return type;
}

// A limit that no value of the dtype reaches limits nothing; one past which every value lies is an error.
bool limits(const Limit& limit, DType type, bool is_min) {
  if (!limit.get()) return false;
  if (!limit.get()->is_scalar()) return true;
  if (!is_integer(type)) require_convertible(limit.get()->scalar(), type);
  if (!is_integer(type)) return true;
  const std::int64_t number = limit.get()->scalar().to_int();
  const IntegerInfo range = iinfo(type);
  require(is_min ? number <= range.max : number >= range.min, "Clamp {} value {} is outside the representable range of {}",
          is_min ? "min" : "max", number, info(type).scalar_name);
  return is_min ? number > range.min : number < range.max;
}

}  // namespace

namespace {

// The limit comes first: where it equals x, x stays, so that zeros keep their sign. Of gradients there a number leaves none, as PyTorch's
// clamp does; two tensors leave x all; one tensor is a maximum.
Tensor limited(const Tensor& x, const In& given, DType type, bool is_min, bool has_other) {
  const Tensor limit = as_tensor(given, type);
  const auto extreme = [&](const Tensor& x) { return is_min ? maximum(limit, x) : minimum(limit, x); };
  if (!is_grad_enabled() || !(x.requires_grad() || limit.requires_grad())) return extreme(x);
  if (given.is_scalar()) {
    if (std::isnan(given.scalar().to_double())) return extreme(x);
    return where(is_min ? x <= limit : x >= limit, extreme(x.detach()), x);
  }
  if (!has_other) return extreme(x);
  return where((is_min ? x < limit : x > limit) | isnan(limit), limit, x);
}

}  // namespace

Tensor clamp(const In& x, const Limit& min, const Limit& max) {
  const bool numbers = (!min.get() || min.get()->is_scalar()) && (!max.get() || max.get()->is_scalar());
  const GradientScope scope(numbers ? GradientName::ClampBackward1 : GradientName::ClampBackward0);
  const SourceLine line(x.where());
  require(min.get() || max.get(), "torch.clamp: At least one of 'min' or 'max' must not be None");
  const DType type = clamp_type(x, min, max);
  const bool low = limits(min, type, true), high = limits(max, type, false);
  Tensor out = as_tensor(x, type);
  if (low) out = limited(out, *min.get(), type, true, max.get().has_value());
  if (high) out = limited(out, *max.get(), type, false, min.get().has_value());
  return low || high ? out : out.clone();
}

Tensor clip(const In& x, const Limit& min, const Limit& max) { return clamp(x, min, max); }
Tensor clamp_min(const In& x, const In& min) {
  const GradientScope scope(min.is_scalar() ? GradientName::ClampMinBackward0 : GradientName::ClampMinBackward1);
  return clamp(x, min);
}
Tensor clamp_max(const In& x, const In& max) {
  const GradientScope scope(max.is_scalar() ? GradientName::ClampMaxBackward0 : GradientName::ClampMaxBackward1);
  return clamp(x, {}, max);
}

Tensor relu(const In& x) {
  const GradientScope scope(GradientName::ReluBackward0);
  const SourceLine line(x.where());
  const Tensor t = as_tensor(x);
  require<NotImplementedError>(t.dtype() != DType::boolean, "Boolean inputs not supported for relu");
  if (is_complex(t.dtype())) refuse_limits(t.dtype());
  if (!is_grad_enabled() || !t.requires_grad()) return maximum(0, t);
  // The same values; a maximum's gradient at 0 is another. What is asked for the gradient is the result, so that nothing keeps t.
  const Tensor zero = wrap(constant_value(0, t.dtype()), t.dtype());
  const Tensor result = maximum(zero, t);
  return where(result <= zero, result.detach(), t);
}

Tensor nan_to_num(const In& x, std::optional<double> nan, std::optional<double> posinf, std::optional<double> neginf) {
  const GradientScope scope(GradientName::NanToNumBackward0);
  const SourceLine line(x.where());
  const Tensor t = as_tensor(x);
  if (is_complex(t.dtype())) return of_pairs(nan_to_num(pairs(t), nan, posinf, neginf));
  if (!is_float(t.dtype())) return t.clone();
  const FloatInfo limits = finfo(t.dtype());
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const Tensor infinite = where(t == infinity, posinf.value_or(limits.max), where(t == -infinity, neginf.value_or(limits.min), t));
  return where(isnan(t), nan.value_or(0), infinite).to(t.dtype());
}

Tensor masked_fill(const In& x, const Tensor& mask, const In& value) {
  const GradientScope scope(GradientName::MaskedFillBackward0);
  const SourceLine line(x.where());
  require(mask.dtype() == DType::boolean, "masked_fill_ only supports boolean masks, but got mask with dtype {}",
          info(mask.dtype()).scalar_name);
  require(value.is_scalar() || value.tensor().dim() == 0,
          "masked_fill_ only supports a 0-dimensional value tensor, but got tensor with {} dimension(s).",
          value.is_scalar() ? 0 : value.tensor().dim());
  const Tensor t = as_tensor(x);
  if (value.is_scalar()) require_convertible(value.scalar(), t.dtype());
  return where(mask, as_tensor(value, t.dtype()), t);
}

// ---- signs, parts, divisors ----

Tensor square(const In& x) {
  const GradientScope scope(GradientName::PowBackward0);
  const SourceLine line(x.where());
  const Tensor t = as_tensor(x);
  return t.dtype() == DType::boolean ? t.to(DType::i64) : t * t;
}

Tensor frac(const In& x) {
  const GradientScope scope(GradientName::FracBackward0);
  return map_floating("frac", x, [](const Tensor& x) { return x - trunc(x); });
}

Tensor positive(const In& x) {
  const Tensor t = as_tensor(x);
  require<NotImplementedError>(t.dtype() != DType::boolean, "The `+` operator, on a bool tensor is not supported.");
  return t;
}

namespace {

void require_signed_infinities(std::string_view function, const In& x) {
  require<TypeError>(!is_complex(x), "{} does not support complex inputs.", function);
}

}  // namespace

Tensor isposinf(const In& x) {
  require_signed_infinities("isposinf", x);
  const SourceLine line(x.where());
  return as_tensor(x) == std::numeric_limits<double>::infinity();
}

Tensor isneginf(const In& x) {
  require_signed_infinities("isneginf", x);
  const SourceLine line(x.where());
  return as_tensor(x) == -std::numeric_limits<double>::infinity();
}

namespace {

DType integers(std::string_view kernel, const In& a, const In& b) {
  const DType type = result_type(a, b);
  if (!is_integer(type)) not_implemented_for(kernel, type);
  return type;
}

}  // namespace

Tensor gcd(const In& a, const In& b) {
  integers("gcd_cpu", a, b);
  const In* operands[] = {&a, &b};
  return elementwise(ir::Op::greatest_divisor, operands);
}

Tensor lcm(const In& a, const In& b) {
  return zip_in(integers("lcm_cpu", a, b), a, b,
                [](const Tensor& a, const Tensor& b) { return abs(trunc_divide(a, maximum(gcd(a, b), 1)) * b); });
}

Tensor heaviside(const In& x, const In& at_zero) {
  const SourceLine line(x.where());
  const Tensor a = as_tensor(x), b = as_tensor(at_zero);
  require(a.dtype() == b.dtype(), "heaviside is not yet implemented for tensors with different dtypes.");
  return where(a == 0, b, (a > 0).to(a.dtype()));
}

Tensor float_power(const In& a, const In& b) {
  const SourceLine line(a.where());
  const DType type = is_complex(a) || is_complex(b) ? complex128 : DType::f64;
  if (b.is_scalar()) return pow(as_tensor(a, type), b);
  return pow(as_tensor(a, type), as_tensor(b, type));
}

// ---- comparing ----

Tensor isclose(const In& a, const In& b, double rtol, double atol, bool equal_nan) {
  const SourceLine line(a.where());
  const Tensor x = as_tensor(a), y = as_tensor(b);
  require(x.dtype() == y.dtype(), "{} did not match {}", info(x.dtype()).scalar_name, info(y.dtype()).scalar_name);
  require(rtol >= 0, "rtol must be greater than or equal to zero, but got {}", rtol);
  require(atol >= 0, "atol must be greater than or equal to zero, but got {}", atol);
  Tensor close = x == y;
  if (equal_nan && category(x.dtype()) >= 2) close = close | (isnan(x) & isnan(y));
  if (rtol == 0 && atol == 0) return close;  // else an infinity would be near every number
  const Tensor real = y.to(to_floating(y.dtype()));
  const Tensor allowed = atol + abs(rtol * real), error = abs(x.to(real.dtype()) - real);
  return close | (isfinite(error) & (error <= allowed));
}

bool allclose(const In& a, const In& b, double rtol, double atol, bool equal_nan) {
  return static_cast<bool>(isclose(a, b, rtol, atol, equal_nan).all());
}

bool equal(const Tensor& a, const Tensor& b) { return a.sizes() == b.sizes() && static_cast<bool>((a == b).all()); }

Tensor sum_to_size(const In& x, SizesView size) {
  const SourceLine line(x.where());
  const Tensor t = as_tensor(x);
  const Sizes from = t.sizes(), to(size.begin(), size.end());
  const std::size_t lead = from.size() - std::min(from.size(), to.size());
  bool fits = to.size() <= from.size();
  Sizes dims;
  for (std::size_t i = 0; i < from.size() && fits; ++i) {
    const bool repeats = i < lead || (to[i - lead] == 1 && from[i] != 1);
    if (repeats) dims.push_back(static_cast<std::int64_t>(i));
    fits = repeats || to[i - lead] == from[i];
  }
  require<ShapeError>(fits, "size {{{}}} is not expandable to size {{{}}}.", sizes_text(to), sizes_text(from));
  return dims.empty() ? t : t.sum(dims, true).reshape(to);
}

}  // namespace braze
