// Elementwise ops of the table on complex operands, composed of real ones.
#include <array>

#include "braze/functions.h"
#include "frontend/autograd/names.h"
#include "frontend/autograd/tracking.h"
#include "frontend/complex.h"
#include "frontend/composing.h"
#include "frontend/promotion.h"

namespace braze {

namespace {

[[noreturn]] void refuse(ir::Op op, DType type) {
  const std::string_view name = ir::name(op);
  switch (op) {
    case ir::Op::maximum:
    case ir::Op::minimum:
    case ir::Op::fmax:
    case ir::Op::fmin:
      fail<TypeError>("{} not implemented for complex tensors ('{}').", name, info(type).scalar_name);
    case ir::Op::sign:
      fail<NotImplementedError>(
          "Unlike NumPy, torch.sign is not intended to support complex numbers ('{}'). Please use torch.sgn instead.",
          info(type).scalar_name);
    case ir::Op::signbit:
      fail<NotImplementedError>("signbit is not implemented for complex tensors ('{}').", info(type).scalar_name);
    case ir::Op::floor:
    case ir::Op::ceil:
    case ir::Op::trunc:
      fail<NotImplementedError>("{} is not supported for complex inputs ('{}')", name, info(type).scalar_name);
    default:
      fail<NotImplementedError>("\"{}_cpu\" not implemented for '{}'", name, info(type).scalar_name);
  }
}

// A tensor of one part true where either of z's is.
Tensor either(const Parts& z, Tensor (*f)(const In&)) { return f(z.re) | f(z.im); }

Tensor is_nonzero(const Parts& z) { return (z.re != 0) | (z.im != 0); }

// What has a real or boolean result, or works on the pairs as they lie.
std::optional<Tensor> unary(ir::Op op, const Tensor& x, const Parts& z) {
  switch (op) {
    case ir::Op::neg:
      return of_pairs(neg(pairs(x)));
    case ir::Op::abs:
      return abs(z);
    case ir::Op::logical_not:
      return logical_not(is_nonzero(z));
    case ir::Op::isnan:
      return either(z, isnan);
    case ir::Op::isinf:
      return either(z, isinf);
    case ir::Op::isfinite:
      return isfinite(z.re) & isfinite(z.im);
    default:
      break;
  }
  if (const PartsFunction f = complex_function(op)) return join(f(z));
  return {};
}

// x^2, sqrt(x), 1/x and the like, as PyTorch computes them for a number as exponent.
std::optional<Parts> power_by_number(const Parts& z, std::complex<double> exponent) {
  const auto one = [&] { return Parts{ones({}, {z.re.dtype()}), zeros({}, {z.re.dtype()})}; };
  const auto function = [&](ir::Op op) { return complex_function(op)(z); };
  if (exponent == 0.0) return Parts{ones_like(z.re), zeros_like(z.im)};
  if (exponent == 1.0) return z;
  if (exponent == 0.5) return function(ir::Op::sqrt);
  if (exponent == -0.5) return function(ir::Op::rsqrt);
  if (exponent == 2.0) return z * z;
  if (exponent == 3.0) return z * z * z;
  if (exponent == -1.0) return one() / z;
  if (exponent == -2.0) return one() / (z * z);
  return {};
}

Tensor power(const In& base, const In& exponent, DType type) {
  const Parts z = parts_of(base, type);
  if (exponent.is_scalar())
    if (const auto special = power_by_number(z, exponent.scalar().to_complex())) return join(*special);
  return join(exp(parts_of(exponent, type) * log(z)));
}

std::optional<Tensor> binary(ir::Op op, const In& a, const In& b, DType type) {
  const DType part = component_type(type);
  switch (op) {
    case ir::Op::add:
      return of_pairs(pairs(as_tensor(a, type)) + pairs(as_tensor(b, type)));
    case ir::Op::sub:
      return of_pairs(pairs(as_tensor(a, type)) - pairs(as_tensor(b, type)));
    case ir::Op::pow:
      return power(a, b, part);
    default:
      break;
  }
  const Parts x = parts_of(a, part), y = parts_of(b, part);
  switch (op) {
    case ir::Op::mul:
      return join(x * y);
    case ir::Op::div:
      return join(x / y);
    case ir::Op::eq:
      return (x.re == y.re) & (x.im == y.im);
    case ir::Op::ne:
      return (x.re != y.re) | (x.im != y.im);
    case ir::Op::logical_and:
      return is_nonzero(x) & is_nonzero(y);
    case ir::Op::logical_or:
      return is_nonzero(x) | is_nonzero(y);
    case ir::Op::logical_xor:
      return is_nonzero(x) ^ is_nonzero(y);
    default:
      return {};
  }
}

// By pairs: the condition holds for both parts.
Tensor choose(const In& condition, const In& a, const In& b, DType type) {
  const Tensor holds = as_tensor(condition);
  require(holds.dtype() == DType::boolean || holds.dtype() == DType::u8,
          "where expected condition to be a boolean tensor, but got a tensor with dtype {}", info(holds.dtype()).scalar_name);
  return of_pairs(where(holds.unsqueeze(-1), pairs(as_tensor(a, type)), pairs(as_tensor(b, type))));
}

}  // namespace

Tensor complex_elementwise(ir::Op op, std::span<const In* const> operands) {
  const SourceLine line(operands[0]->where());
  const bool conditional = op == ir::Op::where;
  const DType type = result_type(operands.subspan(conditional));
  std::optional<Tensor> result;
  if (conditional) {
    result = choose(*operands[0], *operands[1], *operands[2], type);
  } else if (operands.size() == 1) {
    const Tensor x = as_tensor(*operands[0]);
    result = unary(op, x, parts_of(x, component_type(type)));
  } else if (operands.size() == 2) {
    result = binary(op, *operands[0], *operands[1], type);
  }
  if (!result) refuse(op, type);
  return *std::move(result);
}

// ---- functions of the surface that a complex operand has of its own ----

Tensor conj(const In& x) {
  const Tensor t = as_tensor(x);
  if (!is_complex(t.dtype())) return t;
  const Tensor view = make_view(t, checked(t).layout(), t.dtype(), [](const Tensor& own) { return own; });
  view.impl()->conjugate = !t.impl()->conjugate;
  return view;
}

Tensor conj_physical(const In& x) {
  const SourceLine line(x.where());
  const Tensor t = as_tensor(x);
  return is_complex(t.dtype()) ? conj(x).resolve_conj(x.where()).clone(x.where()) : t;
}

Tensor sgn(const In& x) {
  const GradientScope scope(GradientName::SgnBackward0);
  if (!is_complex(x)) return sign(x);
  const SourceLine line(x.where());
  const Tensor t = as_tensor(x);
  const Parts z = parts_of(t, component_type(t.dtype()));
  const Tensor size = abs(z), zero = size == 0;
  return join({where(zero, 0, z.re / size), where(zero, 0, z.im / size)});
}

Tensor angle(const In& x) {
  const GradientScope scope(GradientName::AngleBackward0);
  constexpr double pi = 3.14159265358979323846;
  if (!is_complex(x)) return map_real(x, [](const Tensor& x) { return where(isnan(x), x, where(x < 0, pi, zeros_like(x))); });
  const SourceLine line(x.where());
  const Tensor t = as_tensor(x);
  const Parts z = parts_of(t, component_type(t.dtype()));
  return atan2(z.im, z.re);
}

Tensor isreal(const In& x) {
  const SourceLine line(x.where());
  const Tensor t = as_tensor(x);
  return is_complex(t.dtype()) ? parts_of(t, component_type(t.dtype())).im == 0 : ones_like(t, {DType::boolean});
}

}  // namespace braze
