// Local derivatives of elementwise ops: PyTorch's formulas (tools/autograd/derivatives.yaml), which also say what happens at kinks and
// where a factor is infinite. Each maps a cotangent as it maps a tangent, so that one formula is both modes' rule.
#include <limits>
#include <numbers>

#include "passes/derivative_rules.h"

namespace braze::passes {

using namespace ir::formula;
using ir::Expr;

namespace {

constexpr double ln2 = std::numbers::ln2, ln10 = std::numbers::ln10, pi = std::numbers::pi,
                 infinity = std::numeric_limits<double>::infinity();
constexpr double two_over_root_pi = 2 * std::numbers::inv_sqrtpi;

Expr keep(const At& at) { return at.g; }
Expr negate(const At& at) { return -at.g; }
Expr square(const Expr& x) { return x * x; }

// The derivative of digamma: zeta(2, x), reflected for small x.
Expr trigamma(const Expr& x) {
  const Expr reflected = x < 0.5;
  const Expr regular = where(x == infinity, 0.0, zeta(like(x, 2.0), where(reflected, 1.0 - x, x)));
  return where(reflected, square(pi / sin(x * pi)) - regular, regular);
}

// f(x) - g(x) / x, and `limit` where x is zero or nearly so.
template <class F>
Expr less_quotient(const Expr& x, double limit, F formula) {
  const double tiny = x.dtype() == DType::f64 ? 0x1p-52 : 0x1p-23;
  const Expr small = abs(x) <= tiny;
  return where(small, limit, formula(where(small, tiny, x)));
}

// What a tie gives each side: half. A NaN on either side leaves both whole.
Expr chosen(const Expr& g, const Expr& loses, const Expr& ties) { return where(loses, 0.0, where(ties, g / 2.0, g)); }

// Of fmax and fmin: the first operand is NaN and the second is not.
Expr lost_to_number(const At& at) { return isnan(at.x(0)) && at.x(1) == at.x(1); }

// g * part / (a^2 + b^2); 0 at the origin.
Expr over_square(const At& at, const Expr& part) {
  const Expr sum = square(at.x(0)) + square(at.x(1));
  return where(sum == 0.0, 0.0, at.g * part * reciprocal(sum));
}

}  // namespace

constinit const Rule rule_neg = moves(negate);
constinit const Rule rule_abs = moves([](const At& at) { return at.g * sign(at.x()); });
constinit const Rule rule_sign = constant();
constinit const Rule rule_floor = constant();
constinit const Rule rule_ceil = constant();
constinit const Rule rule_trunc = constant();
constinit const Rule rule_round = constant();
constinit const Rule rule_sqrt = map([](const At& at) { return at.g / (2 * at.y()); });
constinit const Rule rule_rsqrt = map([](const At& at) { return -0.5 * at.g * (at.y() * at.y() * at.y()); });
constinit const Rule rule_reciprocal = map([](const At& at) { return -at.g * (at.y() * at.y()); });
constinit const Rule rule_exp = map([](const At& at) { return at.g * at.y(); });
constinit const Rule rule_exp2 = map([](const At& at) { return at.g * at.y() * ln2; });
constinit const Rule rule_expm1 = map([](const At& at) { return at.g * (at.y() + 1.0); });
constinit const Rule rule_log = map([](const At& at) { return at.g / at.x(); });
constinit const Rule rule_log2 = map([](const At& at) { return at.g / (at.x() * ln2); });
constinit const Rule rule_log10 = map([](const At& at) { return at.g / (at.x() * ln10); });
constinit const Rule rule_log1p = map([](const At& at) { return at.g / (at.x() + 1.0); });
constinit const Rule rule_sin = map([](const At& at) { return at.g * cos(at.x()); });
constinit const Rule rule_cos = map([](const At& at) { return at.g * -sin(at.x()); });
constinit const Rule rule_tan = map([](const At& at) { return at.g * (1 + square(at.y())); });
constinit const Rule rule_asin = map([](const At& at) { return at.g * rsqrt(1 - square(at.x())); });
constinit const Rule rule_acos = map([](const At& at) { return at.g * -rsqrt(1 - square(at.x())); });
constinit const Rule rule_atan = map([](const At& at) { return at.g / (square(at.x()) + 1.0); });
constinit const Rule rule_sinh = map([](const At& at) { return at.g * cosh(at.x()); });
constinit const Rule rule_cosh = map([](const At& at) { return at.g * sinh(at.x()); });
constinit const Rule rule_tanh = map([](const At& at) { return at.g * (1 - square(at.y())); });
constinit const Rule rule_asinh = map([](const At& at) { return at.g / sqrt(square(at.x()) + 1.0); });
constinit const Rule rule_acosh = map([](const At& at) { return at.g / sqrt(square(at.x()) - 1.0); });
constinit const Rule rule_atanh = map([](const At& at) { return at.g * (1 / (1 - square(at.x()))); });
constinit const Rule rule_sigmoid = map([](const At& at) { return at.g * ((1 - at.y()) * at.y()); });
constinit const Rule rule_erf = map([](const At& at) { return at.g * (two_over_root_pi * exp(-square(at.x()))); });
constinit const Rule rule_erfc = map([](const At& at) { return at.g * (-two_over_root_pi * exp(-square(at.x()))); });
constinit const Rule rule_erfinv = map([](const At& at) { return at.g * (exp(square(at.y())) / two_over_root_pi); });
constinit const Rule rule_erfcx = map([](const At& at) { return at.g * (2 * at.x() * at.y() - two_over_root_pi); });
constinit const Rule rule_ndtri =
    map([](const At& at) { return at.g * (exp(square(at.y()) / 2.0) * (std::numbers::sqrt2 / std::numbers::inv_sqrtpi)); });
constinit const Rule rule_lgamma = map([](const At& at) { return at.g * digamma(at.x()); });
constinit const Rule rule_digamma = map([](const At& at) { return at.g * trigamma(at.x()); });

// ---- Bessel functions

constinit const Rule rule_i0 = map([](const At& at) { return at.g * i1(at.x()); });
constinit const Rule rule_i0e = map([](const At& at) { return at.g * (i1e(at.x()) - sign(at.x()) * at.y()); });
constinit const Rule rule_i1 =
    map([](const At& at) { return at.g * less_quotient(at.x(), 0.5, [&](const Expr& x) { return i0(x) - at.y() / x; }); });
constinit const Rule rule_i1e = map([](const At& at) {
  return at.g * less_quotient(at.x(), 0.5, [&](const Expr& x) { return i0e(x) - at.y() * (sign(x) + 1 / x); });
});
constinit const Rule rule_bessel_j0 = map([](const At& at) { return at.g * -bessel_j1(at.x()); });
constinit const Rule rule_bessel_j1 =
    map([](const At& at) { return at.g * less_quotient(at.x(), 0.5, [&](const Expr& x) { return bessel_j0(x) - at.y() / x; }); });
constinit const Rule rule_bessel_y0 = map([](const At& at) { return at.g * -bessel_y1(at.x()); });
constinit const Rule rule_bessel_y1 = map([](const At& at) { return at.g * (bessel_y0(at.x()) - at.y() / at.x()); });
constinit const Rule rule_scaled_modified_bessel_k0 =
    map([](const At& at) { return at.g * (at.y() - scaled_modified_bessel_k1(at.x())); });
constinit const Rule rule_scaled_modified_bessel_k1 = map([](const At& at) {
  const Expr x = at.x(), y = at.y();
  return at.g * (y - scaled_modified_bessel_k0(x) - y / x);
});

// ---- bits and truth

constinit const Rule rule_frexp_mantissa = map([](const At& at) { return at.g / exp2(frexp_exponent(at.x())); });
constinit const Rule rule_frexp_exponent = constant();
constinit const Rule rule_logical_not = constant();
constinit const Rule rule_bitwise_not = constant();
constinit const Rule rule_isnan = constant();
constinit const Rule rule_isinf = constant();
constinit const Rule rule_isfinite = constant();
constinit const Rule rule_signbit = constant();
constinit const Rule rule_eq = constant();
constinit const Rule rule_ne = constant();
constinit const Rule rule_lt = constant();
constinit const Rule rule_le = constant();
constinit const Rule rule_gt = constant();
constinit const Rule rule_ge = constant();
constinit const Rule rule_logical_and = constant();
constinit const Rule rule_logical_or = constant();
constinit const Rule rule_logical_xor = constant();
constinit const Rule rule_bitwise_and = constant();
constinit const Rule rule_bitwise_or = constant();
constinit const Rule rule_bitwise_xor = constant();
constinit const Rule rule_shift_left = constant();
constinit const Rule rule_shift_right = constant();
constinit const Rule rule_greatest_divisor = constant();

// ---- arithmetic

constinit const Rule rule_add = moves(keep, keep);
constinit const Rule rule_sub = moves(keep, negate);
constinit const Rule rule_mul =
    moves([](const At& at) { return at.g * at.a.operand(1); }, [](const At& at) { return at.g * at.a.operand(0); });
constinit const Rule rule_div =
    map([](const At& at) { return at.g / at.x(1); }, [](const At& at) { return -at.g * ((at.x(0) / at.x(1)) / at.x(1)); });
constinit const Rule rule_floor_divide = constant();
constinit const Rule rule_trunc_divide = constant();
constinit const Rule rule_remainder = map(keep, [](const At& at) { return -at.g * floor_divide(at.x(0), at.x(1)); });
constinit const Rule rule_fmod = map(keep, [](const At& at) { return -at.g * trunc_divide(at.x(0), at.x(1)); });
constinit const Rule rule_pow = map(
    [](const At& at) {
      const Expr a = at.x(0), b = at.x(1);
      return where(b == 0.0, 0.0, at.g * (b * pow(a, b - 1.0)));
    },
    [](const At& at) {
      const Expr a = at.x(0), b = at.x(1);
      return at.g * where(a == 0.0 && b >= 0.0, 0.0, at.y() * log(a));
    });
constinit const Rule rule_atan2 =
    map([](const At& at) { return over_square(at, at.x(1)); }, [](const At& at) { return over_square(at, -at.x(0)); });
constinit const Rule rule_hypot =
    map([](const At& at) { return at.g * (at.x(0) / at.y()); }, [](const At& at) { return at.g * (at.x(1) / at.y()); });
constinit const Rule rule_copysign = map([](const At& at) {
  const Expr x = at.x();
  return at.g * where(x == 0.0, 0.0, at.y() / x);
});
constinit const Rule rule_nextafter = refused();
constinit const Rule rule_ldexp =
    map([](const At& at) { return at.g * exp2(at.x(1)); }, [](const At& at) { return at.g * at.y() * ln2; });
constinit const Rule rule_zeta = map_second([](const At& at) { return at.g * -(at.x(0) * zeta(at.x(0) + 1.0, at.x(1))); });
constinit const Rule rule_gammainc = map_second([](const At& at) {
  const Expr a = at.x(0), b = at.x(1);
  return at.g * exp((a - 1.0) * log(b) - b - lgamma(a));
});
constinit const Rule rule_gammaincc = map_second([](const At& at) {
  const Expr a = at.x(0), b = at.x(1);
  return at.g * -exp((a - 1.0) * log(b) - b - lgamma(a));
});

// ---- choices

constinit const Rule rule_maximum = moves([](const At& at) { return chosen(at.g, at.x(0) < at.x(1), at.x(0) == at.x(1)); },
                                          [](const At& at) { return chosen(at.g, at.x(1) < at.x(0), at.x(0) == at.x(1)); });
constinit const Rule rule_minimum = moves([](const At& at) { return chosen(at.g, at.x(0) > at.x(1), at.x(0) == at.x(1)); },
                                          [](const At& at) { return chosen(at.g, at.x(1) > at.x(0), at.x(0) == at.x(1)); });
constinit const Rule rule_fmax =
    moves([](const At& at) { return chosen(at.g, at.x(0) < at.x(1) || lost_to_number(at), at.x(0) == at.x(1)); },
          [](const At& at) { return chosen(at.g, at.x(0) > at.x(1) || isnan(at.x(1)), at.x(0) == at.x(1)); });
constinit const Rule rule_fmin =
    moves([](const At& at) { return chosen(at.g, at.x(0) > at.x(1) || lost_to_number(at), at.x(0) == at.x(1)); },
          [](const At& at) { return chosen(at.g, at.x(0) < at.x(1) || isnan(at.x(1)), at.x(0) == at.x(1)); });
constinit const Rule rule_where = moves(
    nullptr, [](const At& at) { return where(at.a.operand(0), at.g, 0.0); },
    [](const At& at) { return where(at.a.operand(0), 0.0, at.g); });
constinit const Rule rule_fma =
    moves([](const At& at) { return at.g * at.a.operand(1); }, [](const At& at) { return at.g * at.a.operand(0); }, keep);

}  // namespace braze::passes
