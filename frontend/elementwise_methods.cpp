// The elementwise methods and in-place forms of Tensor: each calls its function.
#include "frontend/elementwise.h"
#include "frontend/formula.h"

namespace braze {

namespace {

using Line = std::source_location;

// What PyTorch's float_power_ demands, whose result is float64.
void require_double(const Tensor& x) {
  require(x.dtype() == DType::f64 || x.dtype() == complex128,
          "the base given to float_power_ has dtype {} but the operation's result requires dtype Double",
          info(x.dtype()).scalar_name);
}

Line line_of(const Limit& limit) { return limit.get() ? limit.get()->where() : Line(); }

}  // namespace

// Ops of the table are recorded in place; what is composed is computed, then written.
#define BRAZE_UNARY(name, accepts, result)                                                            \
  Tensor ElementwiseMethods::name(Line where) const { return braze::name(In(self_of(this), where)); } \
  Tensor& ElementwiseMethods::name##_(Line where) {                                                   \
    const In self(self_of(this), where);                                                              \
    const In* operands[] = {&self};                                                                   \
    elementwise_in_place(ir::Op::name, self_of(this), operands);                                      \
    return self_of(this);                                                                             \
  }
#define BRAZE_BINARY(name, accepts, result, algebra)                                                                      \
  Tensor ElementwiseMethods::name(const In& other) const { return braze::name(In(self_of(this), other.where()), other); } \
  Tensor& ElementwiseMethods::name##_(const In& other) {                                                                  \
    const In self(self_of(this), other.where());                                                                          \
    if (ir::Op::name == ir::Op::pow || ir::Op::name == ir::Op::ldexp)                                                     \
      return write_in_place(self_of(this), braze::name(self, other), other.where());                                      \
    const In* operands[] = {&self, &other};                                                                               \
    elementwise_in_place(ir::Op::name, self_of(this), operands);                                                          \
    return self_of(this);                                                                                                 \
  }
#include "ir/ops.def"

#define BRAZE_COMPOSED_UNARY(name)                                                                    \
  Tensor ElementwiseMethods::name(Line where) const { return braze::name(In(self_of(this), where)); } \
  Tensor& ElementwiseMethods::name##_(Line where) {                                                   \
    return write_in_place(self_of(this), braze::name(In(self_of(this), where)), where);               \
  }
#define BRAZE_COMPOSED_BINARY(name)                                                                                       \
  Tensor ElementwiseMethods::name(const In& other) const { return braze::name(In(self_of(this), other.where()), other); } \
  Tensor& ElementwiseMethods::name##_(const In& other) {                                                                  \
    if (std::string_view(#name) == "float_power") require_double(self_of(this));                                          \
    return write_in_place(self_of(this), braze::name(In(self_of(this), other.where()), other), other.where());            \
  }
#define BRAZE_UNARY_ALIAS(name, of)                                             \
  Tensor ElementwiseMethods::name(Line where) const { return this->of(where); } \
  Tensor& ElementwiseMethods::name##_(Line where) { return this->of##_(where); }
#define BRAZE_BINARY_ALIAS(name, of)                                                 \
  Tensor ElementwiseMethods::name(const In& other) const { return this->of(other); } \
  Tensor& ElementwiseMethods::name##_(const In& other) { return this->of##_(other); }
#include "braze/elementwise.def"

// A method and its in-place form. PARAMETERS and ARGUMENTS are parenthesised lists; `at` is the line.
#define BRAZE_METHOD(name, PARAMETERS, at, ...)                                                                \
  Tensor ElementwiseMethods::name PARAMETERS const { return braze::name(In(self_of(this), at), __VA_ARGS__); } \
  Tensor& ElementwiseMethods::name##_ PARAMETERS {                                                             \
    return write_in_place(self_of(this), braze::name(In(self_of(this), at), __VA_ARGS__), at);                 \
  }

// With an alpha of one they are the table's ops.
#define BRAZE_SCALED_METHOD(name)                                                                                     \
  Tensor ElementwiseMethods::name(const In& other, Scalar alpha) const {                                              \
    return braze::name(In(self_of(this), other.where()), other, alpha);                                               \
  }                                                                                                                   \
  Tensor& ElementwiseMethods::name##_(const In& other, Scalar alpha) {                                                \
    if (alpha.kind() == Scalar::Kind::integer && alpha == 1) return name##_(other);                                   \
    return write_in_place(self_of(this), braze::name(In(self_of(this), other.where()), other, alpha), other.where()); \
  }
BRAZE_SCALED_METHOD(add)
BRAZE_SCALED_METHOD(sub)
BRAZE_SCALED_METHOD(subtract)
#undef BRAZE_SCALED_METHOD

BRAZE_METHOD(div, (const In& other, std::optional<std::string_view> rounding_mode), other.where(), other, rounding_mode)
BRAZE_METHOD(divide, (const In& other, std::optional<std::string_view> rounding_mode), other.where(), other, rounding_mode)
BRAZE_METHOD(addcmul, (const In& a, const In& b, Scalar value), a.where(), a, b, value)
BRAZE_METHOD(addcdiv, (const In& a, const In& b, Scalar value), a.where(), a, b, value)
BRAZE_METHOD(lerp, (const In& end, const In& weight), end.where(), end, weight)
BRAZE_METHOD(round, (std::int64_t decimals, Line where), where, decimals)
BRAZE_METHOD(clamp, (const Limit& min, const Limit& max, Line where), where, min, max)
BRAZE_METHOD(clip, (const Limit& min, const Limit& max, Line where), where, min, max)
BRAZE_METHOD(clamp, (const Limit& min), line_of(min), min)
BRAZE_METHOD(clip, (const Limit& min), line_of(min), min)
BRAZE_METHOD(clamp_min, (const In& min), min.where(), min)
BRAZE_METHOD(clamp_max, (const In& max), max.where(), max)
BRAZE_METHOD(nan_to_num, (std::optional<double> nan, std::optional<double> posinf, std::optional<double> neginf, Line where), where,
             nan, posinf, neginf)
BRAZE_METHOD(logit, (std::optional<double> eps, Line where), where, eps)
BRAZE_METHOD(mvlgamma, (std::int64_t p, Line where), where, p)
#undef BRAZE_METHOD

std::pair<Tensor, Tensor> ElementwiseMethods::frexp(Line where) const { return braze::frexp(In(self_of(this), where)); }

Tensor ElementwiseMethods::where(const Tensor& condition, const In& other) const {
  return braze::where(In(condition, other.where()), In(self_of(this), other.where()), other);
}

Tensor ElementwiseMethods::masked_fill(const Tensor& mask, const In& value) const {
  return braze::masked_fill(In(self_of(this), value.where()), mask, value);
}

Tensor ElementwiseMethods::isclose(const In& other, double rtol, double atol, bool equal_nan) const {
  return braze::isclose(In(self_of(this), other.where()), other, rtol, atol, equal_nan);
}
bool ElementwiseMethods::allclose(const In& other, double rtol, double atol, bool equal_nan) const {
  return braze::allclose(In(self_of(this), other.where()), other, rtol, atol, equal_nan);
}
bool ElementwiseMethods::equal(const Tensor& other) const { return braze::equal(self_of(this), other); }

Tensor ElementwiseMethods::sum_to_size(SizesView size, Line where) const {
  return braze::sum_to_size(In(self_of(this), where), size);
}

Tensor ElementwiseMethods::polygamma(std::int64_t n, Line where) const { return braze::polygamma(n, In(self_of(this), where)); }
Tensor& ElementwiseMethods::polygamma_(std::int64_t n, Line where) {
  return write_in_place(self_of(this), braze::polygamma(n, In(self_of(this), where)), where);
}

bool ElementwiseMethods::is_floating_point() const { return braze::is_floating_point(self_of(this)); }
bool ElementwiseMethods::is_complex() const { return braze::is_complex(self_of(this)); }
bool ElementwiseMethods::is_signed() const { return braze::is_signed(self_of(this)); }
bool ElementwiseMethods::is_nonzero() const { return braze::is_nonzero(self_of(this)); }

Tensor ElementwiseMethods::igamma(const In& other) const { return gammainc(other); }
Tensor& ElementwiseMethods::igamma_(const In& other) { return gammainc_(other); }
Tensor ElementwiseMethods::igammac(const In& other) const { return gammaincc(other); }
Tensor& ElementwiseMethods::igammac_(const In& other) { return gammaincc_(other); }
Tensor ElementwiseMethods::hardshrink(double lambd, Line where) const { return braze::hardshrink(In(self_of(this), where), lambd); }
Tensor ElementwiseMethods::prelu(const Tensor& weight, Line where) const { return braze::prelu(In(self_of(this), where), weight); }

}  // namespace braze
