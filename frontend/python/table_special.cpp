// Rows of braze/special.h: braze.special, and those that PyTorch has beside it.
#include "braze/special.h"

#include "frontend/python/signature.h"

namespace braze::python {

namespace {

constexpr unsigned special_out = special | out_casts;

#define BRAZE_ROW_1(name, flags, doc) \
  {#name "(Tensor input)", flags, [](Arguments& a) { return braze::special::name(a.in(0)); }, doc}
#define BRAZE_ROW_N(name, flags, doc)                                                                                              \
  {#name "(Tensor|Scalar input, Tensor|Scalar other)", flags, [](Arguments& a) { return braze::special::name(a.in(0), a.in(1)); }, \
   doc}

const Rows rows{
    BRAZE_ROW_1(bessel_j0, special_out, "The Bessel function of the first kind of order 0."),
    BRAZE_ROW_1(bessel_j1, special_out, "The Bessel function of the first kind of order 1."),
    BRAZE_ROW_1(bessel_y0, special_out, "The Bessel function of the second kind of order 0."),
    BRAZE_ROW_1(bessel_y1, special_out, "The Bessel function of the second kind of order 1."),
    BRAZE_ROW_1(digamma, special_out, "The derivative of lgamma."),
    BRAZE_ROW_1(psi, special_out, "digamma."),
    BRAZE_ROW_1(entr, special_out, "-input * log(input); -inf below 0."),
    BRAZE_ROW_1(erf, special_out, "The error function."),
    BRAZE_ROW_1(erfc, special_out, "1 - erf(input)."),
    BRAZE_ROW_1(erfcx, special_out, "exp(input^2) * erfc(input)."),
    BRAZE_ROW_1(erfinv, special_out, "The inverse of erf."),
    BRAZE_ROW_1(exp2, special_out, "2 to the power of each element."),
    BRAZE_ROW_1(expit, special_out, "sigmoid."),
    BRAZE_ROW_1(expm1, special_out, "exp(input) - 1, exact near 0."),
    {"gammainc(Tensor input, Tensor other)", special_out, [](Arguments& a) { return gammainc(a.in(0), a.in(1)); },
     "The regularised lower incomplete gamma function of order input."},
    {"gammaincc(Tensor input, Tensor other)", special_out, [](Arguments& a) { return gammaincc(a.in(0), a.in(1)); },
     "1 - gammainc."},
    {"igamma(Tensor input, Tensor other)", function | method | out_casts | inplace,
     [](Arguments& a) { return igamma(a.in(0), a.in(1)); }, "special.gammainc."},
    {"igammac(Tensor input, Tensor other)", function | method | out_casts | inplace,
     [](Arguments& a) { return igammac(a.in(0), a.in(1)); }, "special.gammaincc."},
    BRAZE_ROW_1(gammaln, special_out, "lgamma."),
    BRAZE_ROW_1(i0, special_out | function | method | inplace, "The modified Bessel function of the first kind of order 0."),
    BRAZE_ROW_1(i0e, special_out, "exp(-|input|) * i0(input)."),
    BRAZE_ROW_1(i1, special_out, "The modified Bessel function of the first kind of order 1."),
    BRAZE_ROW_1(i1e, special_out, "exp(-|input|) * i1(input)."),
    BRAZE_ROW_1(modified_bessel_i0, special_out, "The modified Bessel function of the first kind of order 0."),
    BRAZE_ROW_1(modified_bessel_i1, special_out, "The modified Bessel function of the first kind of order 1."),
    BRAZE_ROW_1(modified_bessel_k0, special_out, "The modified Bessel function of the second kind of order 0."),
    BRAZE_ROW_1(modified_bessel_k1, special_out, "The modified Bessel function of the second kind of order 1."),
    BRAZE_ROW_1(scaled_modified_bessel_k0, special_out, "exp(input) * modified_bessel_k0(input)."),
    BRAZE_ROW_1(scaled_modified_bessel_k1, special_out, "exp(input) * modified_bessel_k1(input)."),
    BRAZE_ROW_1(spherical_bessel_j0, special_out, "sin(input) / input, 1 at 0."),
    BRAZE_ROW_1(log1p, special_out, "log(1 + input), exact near 0."),
    BRAZE_ROW_1(ndtr, special_out, "The standard normal distribution's function."),
    BRAZE_ROW_1(log_ndtr, special_out, "The logarithm of ndtr."),
    BRAZE_ROW_1(ndtri, special_out, "The inverse of ndtr."),
    {"logit(Tensor input, float? eps=None)", special_out, [](Arguments& a) { return logit(a.in(0), a.number_or_none(1)); },
     "log(x / (1 - x)), with x limited to [eps, 1 - eps]."},
    {"multigammaln(Tensor input, int p)", special_out, [](Arguments& a) { return mvlgamma(a.in(0), a.integer(1)); }, "mvlgamma."},
    {"polygamma(int n, Tensor input)", special_out, [](Arguments& a) { return polygamma(a.integer(0), a.in(1)); },
     "The n-th derivative of digamma."},
    {"round(Tensor input, *, int decimals=0)", special_out, [](Arguments& a) { return braze::round(a.in(0), a.integer(1)); },
     "To `decimals` decimals, ties to even."},
    BRAZE_ROW_1(sinc, special_out, "sin(pi x) / (pi x), 1 at 0."),
    BRAZE_ROW_N(xlogy, special_out, "input * log(other), 0 for input = 0 unless other is NaN."),
    BRAZE_ROW_N(xlog1py, special_out, "input * log1p(other), 0 for input = 0 unless other is NaN."),
    BRAZE_ROW_N(zeta, special_out, "Hurwitz's zeta function."),
};

#undef BRAZE_ROW_1
#undef BRAZE_ROW_N

}  // namespace

}  // namespace braze::python
