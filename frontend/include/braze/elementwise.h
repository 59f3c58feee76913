// Elementwise functions and operators. Results are new tensors.
//
//  * Shapes broadcast; a mismatch throws ShapeError with both. https://pytorch.org/docs/stable/notes/broadcasting.html
//  * Dtypes promote: bool < integer < float < complex; tensors with dims outrank tensors without, which outrank numbers, and a lower rank
//    counts only by its category. https://pytorch.org/docs/stable/tensor_attributes.html#type-promotion-doc
//  * Real functions (exp, sin, div, ...) turn integers and bool into the default dtype. An op that a dtype does not have throws
//    NotImplementedError (bool - bool, float & float, ...).
//  * Halves compute in float32 and round once for each function of this header.
//  * x.f_() is f in place: the result must have x's shape and a category no higher than x's, and is cast to x's dtype.
//
// Where nothing is said, f follows https://pytorch.org/docs/stable/generated/torch.f.html
#pragma once

#include <concepts>
#include <optional>
#include <string_view>
#include <utility>

#include "braze/tensor.h"

namespace braze {

// A bound of clamp: a number, a tensor, or none.
class Limit {
 public:
  Limit(std::nullopt_t = std::nullopt) {}  // NOLINT
  template <class T>
    requires std::constructible_from<In, const T&>
  Limit(const T& bound, std::source_location where = std::source_location::current()) : bound_(In(bound, where)) {}  // NOLINT
  Limit(const In& bound) : bound_(bound) {}                                                                          // NOLINT
  Limit(std::optional<Scalar> bound, std::source_location where = std::source_location::current()) {                 // NOLINT
    if (bound) bound_.emplace(*bound, where);
  }
  const std::optional<In>& get() const { return bound_; }

 private:
  std::optional<In> bound_;
};

// ---- one function an op of the table: exp(x), maximum(x, y), where(condition, x, y) ----
// An integer division by zero throws when the result is evaluated. maximum(NaN, x) is NaN, fmax(NaN, x) is x. pow of integers
// throws for a negative number as exponent. ldexp(x, n) is x * 2^n. where's condition is bool.
#define BRAZE_UNARY(name, accepts, result) Tensor name(const In& x);
#define BRAZE_BINARY(name, accepts, result, algebra) Tensor name(const In& a, const In& b);
#define BRAZE_TERNARY(name, accepts, result) Tensor name(const In& a, const In& b, const In& c);
#include "ir/ops.def"

// ---- composed ones and second names (braze/elementwise.def) ----
// frac(x) = x - trunc(x). sgn is sign, x / |x| of complex numbers. positive gives x itself, conj a view (braze/complex.h), conj_physical
// a copy; of real numbers both give x itself. angle(x) is pi where a real x < 0. heaviside(x, at_zero) takes
// two tensors of one dtype. xlogy(x, y) = x log(y), 0 for x = 0 unless y is NaN. float_power computes in float64. gcd and lcm take
// integers and are not negative. logaddexp(a, b) = log(e^a + e^b).
#define BRAZE_COMPOSED_UNARY(name) Tensor name(const In& x);
#define BRAZE_COMPOSED_BINARY(name) Tensor name(const In& a, const In& b);
#define BRAZE_UNARY_ALIAS(name, of) Tensor name(const In& x);
#define BRAZE_BINARY_ALIAS(name, of) Tensor name(const In& a, const In& b);
#include "braze/elementwise.def"

Tensor operator+(const In& a, const In& b);
Tensor operator-(const In& a, const In& b);
Tensor operator*(const In& a, const In& b);
Tensor operator/(const In& a, const In& b);  // true division
Tensor operator%(const In& a, const In& b);  // remainder: the divisor's sign
Tensor operator==(const In& a, const In& b);
Tensor operator!=(const In& a, const In& b);
Tensor operator<(const In& a, const In& b);
Tensor operator<=(const In& a, const In& b);
Tensor operator>(const In& a, const In& b);
Tensor operator>=(const In& a, const In& b);
Tensor operator&(const In& a, const In& b);
Tensor operator|(const In& a, const In& b);
Tensor operator^(const In& a, const In& b);
Tensor operator<<(const In& a, const In& b);
Tensor operator>>(const In& a, const In& b);
Tensor operator-(const In& x);
Tensor operator~(const In& x);

// ---- arithmetic ----
// a + alpha * b and a - alpha * b, each product and sum rounded. An alpha of a higher category than the result throws.
Tensor add(const In& a, const In& b, Scalar alpha);
Tensor sub(const In& a, const In& b, Scalar alpha);
Tensor subtract(const In& a, const In& b, Scalar alpha);
Tensor rsub(const In& a, const In& b, Scalar alpha = 1);  // b - alpha * a
// rounding_mode: none (true division), "trunc" or "floor".
Tensor div(const In& a, const In& b, std::optional<std::string_view> rounding_mode);
Tensor divide(const In& a, const In& b, std::optional<std::string_view> rounding_mode);
// x + value * a * b and x + value * a / b; the latter for floats only.
Tensor addcmul(const In& x, const In& a, const In& b, Scalar value = 1);
Tensor addcdiv(const In& x, const In& a, const In& b, Scalar value = 1);
// start + weight * (end - start), from the nearer end; floats of one dtype.
Tensor lerp(const In& start, const In& end, const In& weight);
// To `decimals` decimals, negative ones left of the point; ties to even.
Tensor round(const In& x, std::int64_t decimals);
// x = mantissa * 2^exponent with |mantissa| in [1/2, 1); the exponent is int32.
std::pair<Tensor, Tensor> frexp(const In& x);

// ---- limits ----
// min(max(x, low), high): low or high may be missing, not both; tensors or numbers. Where low > high, high.
Tensor clamp(const In& x, const Limit& min, const Limit& max = {});
Tensor clip(const In& x, const Limit& min, const Limit& max = {});
Tensor clamp_min(const In& x, const In& min);
Tensor clamp_max(const In& x, const In& max);
// Replaces NaN (by 0), infinity and -infinity (by the largest finite numbers) unless other values are given.
Tensor nan_to_num(const In& x, std::optional<double> nan = {}, std::optional<double> posinf = {},
                  std::optional<double> neginf = {});
// `value` where `mask` (bool) holds; a number or a tensor without dims, cast to x's dtype.
Tensor masked_fill(const In& x, const Tensor& mask, const In& value);

// ---- comparing ----
// |a - b| <= atol + |rtol * b|, or equal, or both NaN if `equal_nan`. Tensors of one dtype; tolerances must not be negative.
Tensor isclose(const In& a, const In& b, double rtol = 1e-5, double atol = 1e-8, bool equal_nan = false);
bool allclose(const In& a, const In& b, double rtol = 1e-5, double atol = 1e-8, bool equal_nan = false);  // evaluates
bool equal(const Tensor& a, const Tensor& b);  // one shape and equal elements; evaluates

// The inverse of broadcasting: sums over the dims that expanding `size` to x's sizes would repeat. Throws where it would not expand.
Tensor sum_to_size(const In& x, SizesView size);

// ---- special functions (more in braze/special.h) ----
Tensor logit(const In& x, std::optional<double> eps = {});  // log(x / (1 - x)), x limited to [eps, 1 - eps]
Tensor polygamma(std::int64_t n, const In& x);              // the n-th derivative of digamma
Tensor mvlgamma(const In& x, std::int64_t p);               // log of the p-dimensional gamma function

// ---- dtypes ----
// The dtype of an operation on both. https://pytorch.org/docs/stable/generated/torch.result_type.html
DType result_type(const In& a, const In& b);
bool is_floating_point(const Tensor& x);
bool is_complex(const Tensor& x);
bool is_signed(const Tensor& x);
bool is_nonzero(const Tensor& x);  // of one element; evaluates
bool is_same_size(const Tensor& x, const Tensor& other);
std::int64_t numel(const Tensor& x);

}  // namespace braze
