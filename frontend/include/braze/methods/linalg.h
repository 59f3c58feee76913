// Products and linear algebra as methods of Tensor; braze/linalg.h says what each computes.
#pragma once

#include <cstdint>
#include <optional>
#include <source_location>
#include <tuple>

#include "braze/scalar.h"
#include "braze/sizes.h"

namespace braze {

class In;
class Tensor;

class LinalgMethods {
 public:
  Tensor matmul(const In& other) const;
  Tensor mm(const Tensor& mat2, std::source_location where = std::source_location::current()) const;
  Tensor bmm(const Tensor& mat2, std::source_location where = std::source_location::current()) const;
  Tensor mv(const Tensor& vec, std::source_location where = std::source_location::current()) const;
  Tensor dot(const Tensor& tensor, std::source_location where = std::source_location::current()) const;
  Tensor vdot(const Tensor& other, std::source_location where = std::source_location::current()) const;
  Tensor inner(const Tensor& other, std::source_location where = std::source_location::current()) const;
  Tensor outer(const Tensor& vec2, std::source_location where = std::source_location::current()) const;
  Tensor ger(const Tensor& vec2, std::source_location where = std::source_location::current()) const;
  // In place: the result must have this tensor's sizes.
  Tensor addmm(const Tensor& mat1, const Tensor& mat2, Scalar beta = 1, Scalar alpha = 1,
               std::source_location where = std::source_location::current()) const;
  Tensor& addmm_(const Tensor& mat1, const Tensor& mat2, Scalar beta = 1, Scalar alpha = 1,
                 std::source_location where = std::source_location::current());
  Tensor addmv(const Tensor& mat, const Tensor& vec, Scalar beta = 1, Scalar alpha = 1,
               std::source_location where = std::source_location::current()) const;
  Tensor& addmv_(const Tensor& mat, const Tensor& vec, Scalar beta = 1, Scalar alpha = 1,
                 std::source_location where = std::source_location::current());
  Tensor addr(const Tensor& vec1, const Tensor& vec2, Scalar beta = 1, Scalar alpha = 1,
              std::source_location where = std::source_location::current()) const;
  Tensor& addr_(const Tensor& vec1, const Tensor& vec2, Scalar beta = 1, Scalar alpha = 1,
                std::source_location where = std::source_location::current());
  Tensor addbmm(const Tensor& batch1, const Tensor& batch2, Scalar beta = 1, Scalar alpha = 1,
                std::source_location where = std::source_location::current()) const;
  Tensor& addbmm_(const Tensor& batch1, const Tensor& batch2, Scalar beta = 1, Scalar alpha = 1,
                  std::source_location where = std::source_location::current());
  Tensor baddbmm(const Tensor& batch1, const Tensor& batch2, Scalar beta = 1, Scalar alpha = 1,
                 std::source_location where = std::source_location::current()) const;
  Tensor& baddbmm_(const Tensor& batch1, const Tensor& batch2, Scalar beta = 1, Scalar alpha = 1,
                   std::source_location where = std::source_location::current());
  Tensor cross(const Tensor& other, std::optional<std::int64_t> dim = {},
               std::source_location where = std::source_location::current()) const;
  Tensor trace(std::source_location where = std::source_location::current()) const;
  Tensor matrix_power(std::int64_t n, std::source_location where = std::source_location::current()) const;
  Tensor matrix_exp(std::source_location where = std::source_location::current()) const;
  Tensor det(std::source_location where = std::source_location::current()) const;
  Tensor logdet(std::source_location where = std::source_location::current()) const;
  std::tuple<Tensor, Tensor> slogdet(std::source_location where = std::source_location::current()) const;
  Tensor inverse(std::source_location where = std::source_location::current()) const;
  Tensor pinverse(double rcond = 1e-15, std::source_location where = std::source_location::current()) const;
  Tensor cholesky(bool upper = false, std::source_location where = std::source_location::current()) const;
  Tensor cholesky_solve(const Tensor& L, bool upper = false, std::source_location where = std::source_location::current()) const;
  Tensor cholesky_inverse(bool upper = false, std::source_location where = std::source_location::current()) const;
  std::tuple<Tensor, Tensor> qr(bool some = true, std::source_location where = std::source_location::current()) const;
  std::tuple<Tensor, Tensor, Tensor> svd(bool some = true, bool compute_uv = true,
                                         std::source_location where = std::source_location::current()) const;
  Tensor lu_solve(const Tensor& LU_data, const Tensor& LU_pivots,
                  std::source_location where = std::source_location::current()) const;
  std::tuple<Tensor, Tensor> triangular_solve(const Tensor& A, bool upper = true, bool transpose = false,
                                              bool unitriangular = false,
                                              std::source_location where = std::source_location::current()) const;

 protected:
  ~LinalgMethods() = default;  // a base of Tensor, never used alone
};

}  // namespace braze
