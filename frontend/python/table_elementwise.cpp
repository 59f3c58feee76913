// Rows of braze/elementwise.h.
#include "braze/elementwise.h"

#include "braze/picking.h"
#include "frontend/python/signature.h"
#include "ir/error.h"

namespace braze::python {

namespace {

constexpr unsigned everywhere = function | method | out | inplace;

#define BRAZE_ROW_1(name, flags, doc) \
  {#name "(Tensor input)", flags, [](Arguments& a) { return braze::name(a.in(0)); }, doc}
// Between tensors; with a number on the right too; on either side.
#define BRAZE_ROW_2(name, flags, doc) \
  {#name "(Tensor input, Tensor other)", flags, [](Arguments& a) { return braze::name(a.in(0), a.in(1)); }, doc}
#define BRAZE_ROW_N(name, flags, doc) \
  {#name "(Tensor|Scalar input, Tensor|Scalar other)", flags, [](Arguments& a) { return braze::name(a.in(0), a.in(1)); }, doc}

const Rows one_operand{
    BRAZE_ROW_1(abs, everywhere, "The magnitude; integers wrap at their minimum."),
    {"absolute = abs"},
    BRAZE_ROW_1(neg, everywhere, "The negative; bool is refused."),
    {"negative = neg"},
    BRAZE_ROW_1(positive, function | method, "The tensor itself; bool is refused."),
    BRAZE_ROW_1(sign, everywhere, "-1, 0 or 1; NaN gives 0."),
    BRAZE_ROW_1(sgn, everywhere, "sign."),
    BRAZE_ROW_1(signbit, function | method | out, "Whether the sign bit is set: true of -0."),
    BRAZE_ROW_1(floor, everywhere, "Rounded down; integers stay."),
    BRAZE_ROW_1(ceil, everywhere, "Rounded up; integers stay."),
    BRAZE_ROW_1(trunc, everywhere, "Rounded towards zero; integers stay."),
    {"fix = trunc"},
    {"round(Tensor input, *, int decimals=0)", everywhere,
     [](Arguments& a) { return braze::round(a.in(0), a.integer(1)); }, "To `decimals` decimals, ties to even."},
    BRAZE_ROW_1(frac, everywhere, "input - trunc(input)."),
    BRAZE_ROW_1(square, everywhere, "input * input."),
    BRAZE_ROW_1(sqrt, everywhere, "The square root."),
    BRAZE_ROW_1(rsqrt, everywhere, "1 / sqrt(input)."),
    BRAZE_ROW_1(reciprocal, everywhere, "1 / input."),
    BRAZE_ROW_1(exp, everywhere, "e to the power of each element."),
    BRAZE_ROW_1(exp2, everywhere, "2 to the power of each element."),
    BRAZE_ROW_1(expm1, everywhere, "exp(input) - 1, exact near 0."),
    BRAZE_ROW_1(log, everywhere, "The natural logarithm."),
    BRAZE_ROW_1(log2, everywhere, "The logarithm to base 2."),
    BRAZE_ROW_1(log10, everywhere, "The logarithm to base 10."),
    BRAZE_ROW_1(log1p, everywhere, "log(1 + input), exact near 0."),
    BRAZE_ROW_1(sin, everywhere, "The sine."),
    BRAZE_ROW_1(cos, everywhere, "The cosine."),
    BRAZE_ROW_1(tan, everywhere, "The tangent."),
    BRAZE_ROW_1(asin, everywhere, "The inverse sine."),
    {"arcsin = asin"},
    BRAZE_ROW_1(acos, everywhere, "The inverse cosine."),
    {"arccos = acos"},
    BRAZE_ROW_1(atan, everywhere, "The inverse tangent."),
    {"arctan = atan"},
    BRAZE_ROW_1(sinh, everywhere, "The hyperbolic sine."),
    BRAZE_ROW_1(cosh, everywhere, "The hyperbolic cosine."),
    BRAZE_ROW_1(tanh, everywhere, "The hyperbolic tangent."),
    BRAZE_ROW_1(asinh, everywhere, "The inverse hyperbolic sine."),
    {"arcsinh = asinh"},
    BRAZE_ROW_1(acosh, everywhere, "The inverse hyperbolic cosine."),
    {"arccosh = acosh"},
    BRAZE_ROW_1(atanh, everywhere, "The inverse hyperbolic tangent."),
    {"arctanh = atanh"},
    BRAZE_ROW_1(sigmoid, everywhere, "1 / (1 + exp(-input))."),
    {"logit(Tensor input, float? eps=None)", everywhere, [](Arguments& a) { return logit(a.in(0), a.number_or_none(1)); },
     "log(x / (1 - x)), with x limited to [eps, 1 - eps]."},
    BRAZE_ROW_1(sinc, everywhere, "sin(pi x) / (pi x), 1 at 0."),
    BRAZE_ROW_1(erf, everywhere, "The error function."),
    BRAZE_ROW_1(erfc, everywhere, "1 - erf(input)."),
    BRAZE_ROW_1(erfinv, everywhere, "The inverse of erf."),
    BRAZE_ROW_1(lgamma, everywhere, "log of the gamma function's magnitude."),
    BRAZE_ROW_1(digamma, everywhere, "The derivative of lgamma."),
    {"mvlgamma(Tensor input, int p)", everywhere, [](Arguments& a) { return mvlgamma(a.in(0), a.integer(1)); },
     "log of the p-dimensional gamma function."},
    {"polygamma(int n, Tensor input)", function | out, [](Arguments& a) { return polygamma(a.integer(0), a.in(1)); },
     "The n-th derivative of digamma."},
    {"polygamma(Tensor input, int n)", method | inplace, [](Arguments& a) { return polygamma(a.integer(1), a.in(0)); }},
    BRAZE_ROW_1(deg2rad, everywhere, "Degrees to radians."),
    BRAZE_ROW_1(rad2deg, everywhere, "Radians to degrees."),
    BRAZE_ROW_1(angle, function | method | out, "pi where negative, else 0; NaN stays."),
    BRAZE_ROW_1(conj, function | method, "The tensor itself: it is real."),
    BRAZE_ROW_1(conj_physical, everywhere, "The tensor itself: it is real."),
    {"resolve_conj(Tensor input)", function | method, [](Arguments& a) { return a.tensor(0); }, "The tensor itself."},
    {"resolve_neg(Tensor input)", function | method, [](Arguments& a) { return a.tensor(0); }, "The tensor itself."},
    {"real(Tensor input)", function, [](Arguments& a) { return a.tensor(0); }, "The tensor itself: it is real."},
    {"imag(Tensor input)", function, [](Arguments&) -> Tensor { fail<TypeError>("imag is not implemented for tensors with non-complex dtypes."); },
     "Refuses real tensors."},
    {"relu(Tensor input)", function | method | inplace, [](Arguments& a) { return relu(a.in(0)); }, "max(input, 0)."},
    {"nan_to_num(Tensor input, float? nan=None, float? posinf=None, float? neginf=None)", everywhere,
     [](Arguments& a) { return nan_to_num(a.in(0), a.number_or_none(1), a.number_or_none(2), a.number_or_none(3)); },
     "NaN becomes 0, infinities the largest finite numbers, unless other values are given."},
    {"frexp(Tensor input) -> (Tensor mantissa, Tensor exponent)", function | method | out,
     [](Arguments& a) { return frexp(a.in(0)); }, "input = mantissa * 2^exponent, |mantissa| in [1/2, 1)."},
    BRAZE_ROW_1(logical_not, everywhere, "Whether each element is zero."),
    BRAZE_ROW_1(bitwise_not, everywhere, "Each bit inverted; of bool: not."),
    BRAZE_ROW_1(isnan, function | method, "Where NaN."),
    BRAZE_ROW_1(isinf, function | method, "Where infinite."),
    BRAZE_ROW_1(isfinite, function | method, "Where neither infinite nor NaN."),
    BRAZE_ROW_1(isposinf, function | method | out, "Where infinity."),
    BRAZE_ROW_1(isneginf, function | method | out, "Where -infinity."),
    BRAZE_ROW_1(isreal, function | method, "True: every element is real."),
};

const Rows two_operands{
    {"add(Tensor|Scalar input, Tensor|Scalar other, *, Scalar alpha=1)", everywhere,
     [](Arguments& a) { return add(a.in(0), a.in(1), a.scalar(2)); }, "input + alpha * other."},
    {"sub(Tensor|Scalar input, Tensor|Scalar other, *, Scalar alpha=1)", everywhere,
     [](Arguments& a) { return sub(a.in(0), a.in(1), a.scalar(2)); }, "input - alpha * other."},
    {"subtract = sub"},
    {"rsub(Tensor input, Tensor|Scalar other, *, Scalar alpha=1)", function,
     [](Arguments& a) { return rsub(a.in(0), a.in(1), a.scalar(2)); }, "other - alpha * input."},
    BRAZE_ROW_N(mul, everywhere, "input * other; of bool: and."),
    {"multiply = mul"},
    {"div(Tensor|Scalar input, Tensor|Scalar other, *, str? rounding_mode=None)", everywhere,
     [](Arguments& a) {
       const std::optional<std::string> mode = a.string_or_none(2);
       return div(a.in(0), a.in(1), mode ? std::optional<std::string_view>(*mode) : std::nullopt);
     },
     "True division, or rounded: 'trunc', 'floor'."},
    {"divide = div"},
    BRAZE_ROW_N(true_divide, everywhere, "input / other; integers become the default dtype."),
    BRAZE_ROW_N(floor_divide, everywhere, "The quotient rounded down."),
    BRAZE_ROW_N(remainder, everywhere, "What floor_divide leaves: the sign of other."),
    BRAZE_ROW_N(fmod, everywhere, "What a truncated division leaves: the sign of input."),
    {"pow(Tensor|Scalar input, Tensor|Scalar exponent)", everywhere, [](Arguments& a) { return pow(a.in(0), a.in(1)); },
     "input to the power of exponent."},
    {"float_power(Tensor|Scalar input, Tensor|Scalar exponent)", function | method | out,
     [](Arguments& a) { return float_power(a.in(0), a.in(1)); }, "pow in float64."},
    {"float_power_(Tensor input, Tensor|Scalar exponent)", method,
     [](Arguments& a) -> Tensor& { return a.self().float_power_(a.in(1)); }},
    BRAZE_ROW_2(atan2, everywhere, "The angle of (other, input)."),
    {"arctan2 = atan2"},
    BRAZE_ROW_2(hypot, everywhere, "sqrt(input^2 + other^2) without overflow."),
    BRAZE_ROW_N(copysign, everywhere, "The magnitude of input, the sign of other."),
    BRAZE_ROW_2(nextafter, everywhere, "The next number after input towards other."),
    BRAZE_ROW_2(ldexp, everywhere, "input * 2^other."),
    BRAZE_ROW_2(maximum, function | method | out, "The larger; NaN wins."),
    BRAZE_ROW_2(minimum, function | method | out, "The smaller; NaN wins."),
    BRAZE_ROW_2(fmax, function | method | out, "The larger; NaN loses."),
    BRAZE_ROW_2(fmin, function | method | out, "The smaller; NaN loses."),
    {"heaviside(Tensor input, Tensor values)", everywhere, [](Arguments& a) { return heaviside(a.in(0), a.in(1)); },
     "0 below zero, 1 above, `values` at it."},
    BRAZE_ROW_2(logaddexp, everywhere & ~inplace, "log(exp(input) + exp(other))."),
    BRAZE_ROW_2(logaddexp2, everywhere & ~inplace, "log2(2^input + 2^other)."),
    BRAZE_ROW_N(xlogy, everywhere, "input * log(other), 0 for input = 0 unless other is NaN."),
    BRAZE_ROW_2(gcd, everywhere, "The greatest common divisor of integers."),
    BRAZE_ROW_2(lcm, everywhere, "The least common multiple of integers."),
    BRAZE_ROW_N(eq, everywhere, "Where equal."),
    BRAZE_ROW_N(ne, everywhere, "Where not equal."),
    {"not_equal = ne"},
    BRAZE_ROW_N(lt, everywhere, "Where less."),
    {"less = lt"},
    BRAZE_ROW_N(le, everywhere, "Where less or equal."),
    {"less_equal = le"},
    BRAZE_ROW_N(gt, everywhere, "Where greater."),
    {"greater = gt"},
    BRAZE_ROW_N(ge, everywhere, "Where greater or equal."),
    {"greater_equal = ge"},
    BRAZE_ROW_2(logical_and, everywhere, "Where both are not zero."),
    BRAZE_ROW_2(logical_or, everywhere, "Where one is not zero."),
    BRAZE_ROW_2(logical_xor, everywhere, "Where exactly one is not zero."),
    BRAZE_ROW_N(bitwise_and, everywhere, "Bits set in both; integers and bool."),
    BRAZE_ROW_N(bitwise_or, everywhere, "Bits set in one or both; integers and bool."),
    BRAZE_ROW_N(bitwise_xor, everywhere, "Bits set in exactly one; integers and bool."),
    BRAZE_ROW_N(bitwise_left_shift, everywhere, "input * 2^other, wrapping; integers."),
    BRAZE_ROW_N(bitwise_right_shift, everywhere, "input / 2^other rounded down; integers."),
    {"isclose(Tensor input, Tensor other, float rtol=1e-05, float atol=1e-08, bool equal_nan=False)", function | method,
     [](Arguments& a) { return isclose(a.in(0), a.in(1), a.number(2), a.number(3), a.boolean(4)); },
     "Where |input - other| <= atol + |rtol * other|."},
    {"allclose(Tensor input, Tensor other, float rtol=1e-05, float atol=1e-08, bool equal_nan=False) -> bool", function | method,
     [](Arguments& a) { return allclose(a.in(0), a.in(1), a.number(2), a.number(3), a.boolean(4)); }, "Whether isclose holds everywhere."},
    {"equal(Tensor input, Tensor other) -> bool", function | method, [](Arguments& a) { return equal(a.tensor(0), a.tensor(1)); },
     "Whether sizes and all elements are equal."},
};

#undef BRAZE_ROW_1
#undef BRAZE_ROW_2
#undef BRAZE_ROW_N

Limit limit(const Arguments& a, std::size_t i) { return a.none(i) ? Limit() : Limit(a.in(i)); }

const Rows more_operands{
    {"addcmul(Tensor input, Tensor tensor1, Tensor tensor2, *, Scalar value=1)", everywhere,
     [](Arguments& a) { return addcmul(a.in(0), a.in(1), a.in(2), a.scalar(3)); }, "input + value * tensor1 * tensor2."},
    {"addcdiv(Tensor input, Tensor tensor1, Tensor tensor2, *, Scalar value=1)", everywhere,
     [](Arguments& a) { return addcdiv(a.in(0), a.in(1), a.in(2), a.scalar(3)); }, "input + value * tensor1 / tensor2."},
    {"lerp(Tensor input, Tensor end, Tensor|Scalar weight)", everywhere, [](Arguments& a) { return lerp(a.in(0), a.in(1), a.in(2)); },
     "input + weight * (end - input)."},
    {"clamp(Tensor input, Tensor|Scalar? min=None, Tensor|Scalar? max=None)", everywhere,
     [](Arguments& a) { return clamp(a.in(0), limit(a, 1), limit(a, 2)); }, "min(max(input, min), max)."},
    {"clip = clamp"},
    {"clamp_min(Tensor input, Tensor|Scalar min)", everywhere, [](Arguments& a) { return clamp_min(a.in(0), a.in(1)); }, "max(input, min)."},
    {"clamp_max(Tensor input, Tensor|Scalar max)", everywhere, [](Arguments& a) { return clamp_max(a.in(0), a.in(1)); }, "min(input, max)."},
    {"where(Tensor condition, Tensor|Scalar input, Tensor|Scalar other)", function | out,
     [](Arguments& a) { return where(a.in(0), a.in(1), a.in(2)); }, "input where the condition holds, else other; alone: nonzero(as_tuple=True)."},
    {"where(Tensor condition) -> object", function, [](Arguments& a) { return Object::steal(to_python(nonzero_as_tuple(a.in(0)))); }},
    {"where(Tensor input, Tensor condition, Tensor|Scalar other)", method,
     [](Arguments& a) { return where(a.in(1), a.in(0), a.in(2)); }},
    {"sum_to_size(Tensor input, int[] size)", method, [](Arguments& a) { return sum_to_size(a.in(0), a.ints(1)); },
     "Sums over the dims that expanding `size` to the tensor's sizes would repeat."},
    {"masked_fill(Tensor input, Tensor mask, Tensor|Scalar value)", function | method,
     [](Arguments& a) { return masked_fill(a.in(0), a.tensor(1), a.in(2)); }, "`value` where the mask is true."},
};

const Rows dtypes{
    {"result_type(Tensor|Scalar tensor1, Tensor|Scalar tensor2) -> object", function,
     [](Arguments& a) { return result_type(a.in(0), a.in(1)); }, "The dtype of an operation on both."},
    {"is_complex(Tensor input) -> bool", function | method, [](Arguments& a) { return is_complex(a.tensor(0)); }},
    {"is_nonzero(Tensor input) -> bool", function | method, [](Arguments& a) { return is_nonzero(a.tensor(0)); },
     "Whether the one element is not zero."},
    {"is_conj(Tensor input) -> bool", function | method, [](Arguments& a) { return a.tensor(0).is_complex(); }},
    {"is_neg(Tensor input) -> bool", function | method, [](Arguments& a) { return a.tensor(0).is_complex(); }},
};

}  // namespace

}  // namespace braze::python
