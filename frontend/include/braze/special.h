// torch.special. https://pytorch.org/docs/stable/special.html
// Integers and bool become the default dtype; halves compute in float32.
#pragma once

#include "braze/elementwise.h"
#include "braze/reductions.h"

namespace braze {

Tensor igamma(const In& a, const In& x);   // gammainc
Tensor igammac(const In& a, const In& x);  // gammaincc

namespace special {

using braze::bessel_j0, braze::bessel_j1, braze::bessel_y0, braze::bessel_y1, braze::digamma, braze::erf, braze::erfc, braze::erfcx,
    braze::erfinv, braze::exp2, braze::expm1, braze::gammainc, braze::gammaincc, braze::i0, braze::i0e, braze::i1, braze::i1e,
    braze::log1p, braze::log_softmax, braze::logit, braze::logsumexp, braze::ndtri, braze::polygamma, braze::round,
    braze::scaled_modified_bessel_k0, braze::scaled_modified_bessel_k1, braze::sinc, braze::softmax, braze::xlogy, braze::zeta;

Tensor entr(const In& x);                          // -x log(x); -infinity below 0
Tensor expit(const In& x);                         // sigmoid
Tensor gammaln(const In& x);                       // lgamma
Tensor psi(const In& x);                           // digamma
Tensor multigammaln(const In& x, std::int64_t p);  // mvlgamma
Tensor ndtr(const In& x);                          // the normal distribution's function
Tensor log_ndtr(const In& x);                      // its logarithm
Tensor xlog1py(const In& x, const In& y);          // x log1p(y), 0 for x = 0 unless y is NaN
Tensor spherical_bessel_j0(const In& x);           // sin(x) / x
Tensor modified_bessel_i0(const In& x);            // i0
Tensor modified_bessel_i1(const In& x);            // i1
Tensor modified_bessel_k0(const In& x);
Tensor modified_bessel_k1(const In& x);

}  // namespace special
}  // namespace braze
