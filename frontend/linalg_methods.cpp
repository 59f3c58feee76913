// Products and linear algebra as methods: each forwards to the function of its name.
#include "braze/functions.h"
#include "frontend/elementwise.h"
#include "frontend/tensor_impl.h"

namespace braze {

Tensor LinalgMethods::matmul(const In& other) const { return braze::matmul(In(self_of(this), other.where()), other); }

#define BRAZE_FORWARD(name, parameter)                                                    \
  Tensor LinalgMethods::name(const Tensor& parameter, std::source_location where) const { \
    return braze::name(In(self_of(this), where), parameter);                              \
  }
BRAZE_FORWARD(mm, mat2)
BRAZE_FORWARD(bmm, mat2)
BRAZE_FORWARD(mv, vec)
BRAZE_FORWARD(dot, tensor)
BRAZE_FORWARD(vdot, other)
BRAZE_FORWARD(inner, other)
BRAZE_FORWARD(outer, vec2)
BRAZE_FORWARD(ger, vec2)
#undef BRAZE_FORWARD

namespace {

Tensor& assign(Tensor& self, const Tensor& result, const std::source_location& where) {
  require<ShapeError>(self.sizes() == result.sizes(), "output with shape {} doesn't match the broadcast shape {}",
                      sizes_text(self.sizes()), sizes_text(result.sizes()));
  return write_in_place(self, result, where);
}

}  // namespace

#define BRAZE_BLENDING(name)                                                                                                  \
  Tensor LinalgMethods::name(const Tensor& a, const Tensor& b, Scalar beta, Scalar alpha, std::source_location where) const { \
    return braze::name(In(self_of(this), where), a, b, beta, alpha);                                                          \
  }                                                                                                                           \
  Tensor& LinalgMethods::name##_(const Tensor& a, const Tensor& b, Scalar beta, Scalar alpha, std::source_location where) {   \
    return assign(self_of(this), name(a, b, beta, alpha, where), where);                                                      \
  }
BRAZE_BLENDING(addmm)
BRAZE_BLENDING(addmv)
BRAZE_BLENDING(addr)
BRAZE_BLENDING(addbmm)
BRAZE_BLENDING(baddbmm)
#undef BRAZE_BLENDING

Tensor LinalgMethods::cross(const Tensor& other, std::optional<std::int64_t> dim, std::source_location where) const {
  return braze::cross(In(self_of(this), where), other, dim);
}
Tensor LinalgMethods::trace(std::source_location where) const { return braze::trace(In(self_of(this), where)); }
Tensor LinalgMethods::matrix_power(std::int64_t n, std::source_location where) const {
  return braze::matrix_power(In(self_of(this), where), n);
}
Tensor LinalgMethods::matrix_exp(std::source_location where) const { return braze::matrix_exp(In(self_of(this), where)); }
Tensor LinalgMethods::det(std::source_location where) const { return braze::det(In(self_of(this), where)); }
Tensor LinalgMethods::logdet(std::source_location where) const { return braze::logdet(In(self_of(this), where)); }
std::tuple<Tensor, Tensor> LinalgMethods::slogdet(std::source_location where) const {
  return braze::slogdet(In(self_of(this), where));
}
Tensor LinalgMethods::inverse(std::source_location where) const { return braze::inverse(In(self_of(this), where)); }
Tensor LinalgMethods::pinverse(double rcond, std::source_location where) const {
  return braze::pinverse(In(self_of(this), where), rcond);
}
Tensor LinalgMethods::cholesky(bool upper, std::source_location where) const {
  return braze::cholesky(In(self_of(this), where), upper);
}
Tensor LinalgMethods::cholesky_solve(const Tensor& L, bool upper, std::source_location where) const {
  return braze::cholesky_solve(In(self_of(this), where), L, upper);
}
Tensor LinalgMethods::cholesky_inverse(bool upper, std::source_location where) const {
  return braze::cholesky_inverse(In(self_of(this), where), upper);
}
std::tuple<Tensor, Tensor> LinalgMethods::qr(bool some, std::source_location where) const {
  return braze::qr(In(self_of(this), where), some);
}
std::tuple<Tensor, Tensor, Tensor> LinalgMethods::svd(bool some, bool compute_uv, std::source_location where) const {
  return braze::svd(In(self_of(this), where), some, compute_uv);
}
Tensor LinalgMethods::lu_solve(const Tensor& LU_data, const Tensor& LU_pivots, std::source_location where) const {
  return braze::lu_solve(In(self_of(this), where), LU_data, LU_pivots);
}
std::tuple<Tensor, Tensor> LinalgMethods::triangular_solve(const Tensor& A, bool upper, bool transpose, bool unitriangular,
                                                           std::source_location where) const {
  return braze::triangular_solve(In(self_of(this), where), A, upper, transpose, unitriangular);
}

}  // namespace braze
