// Special functions, composed of the table's ops. https://pytorch.org/docs/stable/special.html
#include <cmath>
#include <limits>
#include <numbers>

#include "braze/special.h"
#include "frontend/autograd/names.h"
#include "frontend/complex.h"
#include "frontend/formula.h"

namespace braze {

Tensor deg2rad(const In& x) {
  const GradientScope scope(GradientName::Deg2RadBackward0);
  refuse_complex("deg2rad", x);
  return map_real(x, [](const Tensor& x) { return x * (std::numbers::pi / 180); });
}

Tensor rad2deg(const In& x) {
  const GradientScope scope(GradientName::Rad2DegBackward0);
  refuse_complex("rad2deg", x);
  return map_real(x, [](const Tensor& x) { return x * (180 / std::numbers::pi); });
}

Tensor sinc(const In& x) {
  const GradientScope scope(GradientName::SincBackward0);
  return map_real(x, [](const Tensor& x) {
    const Tensor angle = x * std::numbers::pi;
    return where(x == 0, 1, sin(angle) / angle);
  });
}

Tensor logit(const In& x, std::optional<double> eps) {
  const GradientScope scope(GradientName::LogitBackward0);
  refuse_complex("logit_cpu", x);
  return map_real(x, [&](const Tensor& x) {
    // In this order NaN stays, and of crossed limits the upper one counts.
    const Tensor p = eps ? where(x < *eps, *eps, where(x > 1 - *eps, 1 - *eps, x)) : x;
    return log(p / (1 - p));
  });
}

// The larger operand is taken out; of infinities of one sign the sum is that infinity.
namespace {

// From the one with the larger real part.
Tensor logaddexp_complex(const Tensor& a, const Tensor& b) {
  const Tensor first = a.real() >= b.real(), largest = where(first, a, b);
  const Tensor sum = largest + log1p(exp(where(first, b, a) - largest));
  return where((a == b) & isinf(a), a, sum);
}

}  // namespace

Tensor logaddexp(const In& a, const In& b) {
  const GradientScope scope(GradientName::LogaddexpBackward0);
  if (const DType type = result_type(a, b); is_complex(type)) return zip_in(type, a, b, logaddexp_complex);
  return zip_floating("logaddexp_cpu", a, b, [](const Tensor& a, const Tensor& b) {
    return where((a == b) & isinf(a), a, maximum(a, b) + log1p(exp(-abs(a - b))));
  });
}

Tensor logaddexp2(const In& a, const In& b) {
  const GradientScope scope(GradientName::Logaddexp2Backward0);
  return zip_floating("logaddexp2_cpu", a, b, [](const Tensor& a, const Tensor& b) {
    return where((a == b) & isinf(a), a, maximum(a, b) + log1p(exp2(-abs(a - b))) * std::numbers::log2e);
  });
}

Tensor xlogy(const In& x, const In& y) {
  const GradientScope scope(GradientName::XlogyBackward0);
  if (const DType type = result_type(x, y); is_complex(type)) not_implemented_for("xlogy_cpu", type);
  return zip_real(x, y, [](const Tensor& x, const Tensor& y) { return where(isnan(y), y, where(x == 0, 0, x * log(y))); });
}

Tensor polygamma(std::int64_t n, const In& x) {
  const GradientScope scope(GradientName::PolygammaBackward0);
  require(n >= 0, "polygamma(n, x) does not support negative n.");
  if (n == 0) return digamma(x);
  return map_real(x, [&](const Tensor& x) {
    const double factorial = std::tgamma(static_cast<double>(n) + 1);
    return (n % 2 == 0 ? -factorial : factorial) * zeta(static_cast<double>(n) + 1, x);
  });
}

Tensor mvlgamma(const In& x, std::int64_t p) {
  const GradientScope scope(GradientName::MvlgammaBackward0);
  require(p >= 1, "p has to be greater than or equal to 1");
  return map_real(x, [&](const Tensor& x) {
    Tensor sum = lgamma(x);
    for (std::int64_t j = 1; j < p; ++j) sum = sum + lgamma(x - 0.5 * static_cast<double>(j));
    return sum + 0.25 * static_cast<double>(p * (p - 1)) * std::log(std::numbers::pi);
  });
}

Tensor igamma(const In& a, const In& x) { return gammainc(a, x); }
Tensor igammac(const In& a, const In& x) { return gammaincc(a, x); }

namespace special {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

// f on x; integers and bool become the default dtype, halves are refused.
template <class F>
Tensor map_wide(std::string_view kernel, const In& x, F f) {
  const DType type = as_tensor(x).dtype();
  if (is_half(type)) not_implemented_for(kernel, type);
  return map_real(x, f);
}

}  // namespace

Tensor entr(const In& x) {
  const GradientScope scope(GradientName::SpecialEntrBackward0);
  return map_real(x, [](const Tensor& x) { return where(isnan(x), x, where(x > 0, -x * log(x), where(x == 0, 0, -infinity))); });
}

Tensor expit(const In& x) { return sigmoid(x); }
Tensor gammaln(const In& x) { return lgamma(x); }
Tensor psi(const In& x) { return digamma(x); }
Tensor multigammaln(const In& x, std::int64_t p) { return mvlgamma(x, p); }

// erfc on the left, where 1 + erf would cancel.
Tensor ndtr(const In& x) {
  const GradientScope scope(GradientName::MulBackward1);
  return map_real(x, [](const Tensor& x) {
    const Tensor scaled = x * std::sqrt(0.5);
    return where(abs(scaled) < std::sqrt(0.5), 0.5 + 0.5 * erf(scaled), where(x < 0, 0.5 * erfc(-scaled), 1 - 0.5 * erfc(scaled)));
  });
}

Tensor log_ndtr(const In& x) {
  return map_wide("log_ndtr_cpu", x, [](const Tensor& x) {
    const Tensor scaled = x * std::sqrt(0.5);
    return where(x < -1, log(erfcx(-scaled) / 2) - scaled * scaled, log1p(-erfc(scaled) / 2));
  });
}

Tensor xlog1py(const In& x, const In& y) {
  if (const DType type = result_type(x, y); is_complex(type)) not_implemented_for("xlog1py_cpu", type);
  return zip_real(x, y, [](const Tensor& x, const Tensor& y) { return where(isnan(y), y, where(x == 0, 0, x * log1p(y))); });
}

Tensor spherical_bessel_j0(const In& x) {
  refuse_complex("spherical_bessel_j0_cpu", x);
  return map_wide("spherical_bessel_j0_cpu", x, [](const Tensor& x) { return where(isinf(x), 0, where(x == 0, 1, sin(x) / x)); });
}

Tensor modified_bessel_i0(const In& x) {
  return map_wide("modified_bessel_i0_cpu", x, [](const Tensor& x) { return i0(x); });
}
Tensor modified_bessel_i1(const In& x) {
  return map_wide("modified_bessel_i1_cpu", x, [](const Tensor& x) { return i1(x); });
}
Tensor modified_bessel_k0(const In& x) {
  return map_wide("modified_bessel_k0_cpu", x, [](const Tensor& x) { return scaled_modified_bessel_k0(x) * exp(-x); });
}
Tensor modified_bessel_k1(const In& x) {
  return map_wide("modified_bessel_k1_cpu", x, [](const Tensor& x) { return scaled_modified_bessel_k1(x) * exp(-x); });
}

}  // namespace special

}  // namespace braze
