// Products of vectors and matrices, and linear algebra. https://pytorch.org/docs/stable/linalg.html
//
// Matrices stand in the last two dims; the dims before them are batches, which broadcast. Products take every dtype but bool;
// what factorizes takes float32 and float64. Of complex matrices there are inv, solve, pinv, cholesky, svdvals, eigvalsh and what
// follows from them (norms, cond, matrix_rank, matrix_exp, matrix_power). Wrong shapes and dtypes throw at the call; what depends on values (a singular matrix)
// throws when the result is first needed, naming the line of the call.
#pragma once

#include <string_view>
#include <tuple>
#include <utility>

#include "braze/tensor.h"

namespace braze {

// ---- products ----
// Ranks as PyTorch: 1-d operands are a row on the left, a column on the right; batches broadcast.
// https://pytorch.org/docs/stable/generated/torch.matmul.html
Tensor matmul(const In& input, const In& other);
Tensor mm(const In& input, const Tensor& mat2);     // [n, k] x [k, m]
Tensor bmm(const In& input, const Tensor& mat2);    // [b, n, k] x [b, k, m]
Tensor mv(const In& input, const Tensor& vec);      // [n, k] x [k]
Tensor dot(const In& input, const Tensor& tensor);  // [k] x [k]
Tensor vdot(const In& input, const Tensor& other);
Tensor inner(const In& input, const Tensor& other);  // over the last dims; numbers (0-d) multiply
Tensor outer(const In& input, const Tensor& vec2);   // [n] x [m]
Tensor ger(const In& input, const Tensor& vec2);
// beta * input + alpha * product. With beta 0 `input` is not read: its NaNs do not matter.
Tensor addmm(const In& input, const Tensor& mat1, const Tensor& mat2, Scalar beta = 1, Scalar alpha = 1);
Tensor addmv(const In& input, const Tensor& mat, const Tensor& vec, Scalar beta = 1, Scalar alpha = 1);
Tensor addr(const In& input, const Tensor& vec1, const Tensor& vec2, Scalar beta = 1, Scalar alpha = 1);
Tensor addbmm(const In& input, const Tensor& batch1, const Tensor& batch2, Scalar beta = 1,
              Scalar alpha = 1);  // summed over batches
Tensor baddbmm(const In& input, const Tensor& batch1, const Tensor& batch2, Scalar beta = 1, Scalar alpha = 1);
// In the order of least work. https://pytorch.org/docs/stable/generated/torch.linalg.multi_dot.html
Tensor chain_matmul(std::span<const Tensor> matrices, std::source_location where = std::source_location::current());
// Letters, any number of operands, "...", repeated letters (diagonals), spaces, with or without "->".
// https://pytorch.org/docs/stable/generated/torch.einsum.html
Tensor einsum(std::string_view equation, std::span<const Tensor> operands,
              std::source_location where = std::source_location::current());
Tensor einsum(std::string_view equation, std::initializer_list<Tensor> operands,
              std::source_location where = std::source_location::current());
// The sublist form: labels 0 ... 51 a dim, -1 for the ellipsis. No `output`: as an equation without "->".
struct Subscripted {
  Tensor operand;
  Sizes labels;
};
inline constexpr std::int64_t einsum_ellipsis = -1;
Tensor einsum(std::span<const Subscripted> operands, const std::optional<Sizes>& output = {},
              std::source_location where = std::source_location::current());
// Over the last `dims` of input and the first of other, or over the dims listed.
Tensor tensordot(const In& input, const Tensor& other, std::int64_t dims = 2);
Tensor tensordot(const In& input, const Tensor& other, SizesView dims_self, SizesView dims_other);
// input @ weight.T + bias. https://pytorch.org/docs/stable/generated/torch.nn.functional.linear.html
Tensor linear(const In& input, const Tensor& weight, const Tensor& bias = {});
// x1' A x2 + bias for each of the weight's matrices.
Tensor bilinear(const In& input1, const Tensor& input2, const Tensor& weight, const Tensor& bias = {});
// No dim: the first of size 3.
Tensor cross(const In& input, const Tensor& other, std::optional<std::int64_t> dim = {});
Tensor trace(const In& input);
// p-norm distances between rows, any p in [0, inf]. compute_mode as PyTorch names it: whether Euclidean distances go through a product.
Tensor cdist(const In& x1, const Tensor& x2, double p = 2, std::string_view compute_mode = "use_mm_for_euclid_dist_if_necessary");
Tensor matrix_power(const In& input, std::int64_t n);  // n < 0: of the inverse
Tensor matrix_exp(const In& input);

// ---- linear algebra ----
// The names that are functions of torch itself; torch.linalg's are in braze::linalg.
Tensor det(const In& A);
Tensor logdet(const In& A);                       // NaN where det < 0
std::tuple<Tensor, Tensor> slogdet(const In& A);  // sign, log |det|
Tensor inverse(const In& A);
Tensor pinverse(const In& input, double rcond = 1e-15);
Tensor cholesky(const In& input, bool upper = false);
Tensor cholesky_solve(const In& B, const Tensor& L, bool upper = false);
Tensor cholesky_inverse(const In& L, bool upper = false);
std::tuple<Tensor, Tensor> qr(const In& input, bool some = true);
std::tuple<Tensor, Tensor, Tensor> svd(const In& input, bool some = true, bool compute_uv = true);  // U, S, V: not transposed
Tensor lu_solve(const In& b, const Tensor& LU_data, const Tensor& LU_pivots);
std::tuple<Tensor, Tensor, Tensor> lu_unpack(const In& LU_data, const Tensor& LU_pivots, bool unpack_data = true,
                                             bool unpack_pivots = true);
std::tuple<Tensor, Tensor> triangular_solve(const In& b, const Tensor& A, bool upper = true, bool transpose = false,
                                            bool unitriangular = false);  // solution, A

namespace linalg {

Tensor det(const In& A);
std::tuple<Tensor, Tensor> slogdet(const In& A);
// Throws where a matrix is singular. https://pytorch.org/docs/stable/generated/torch.linalg.inv.html
Tensor inv(const In& A);
std::tuple<Tensor, Tensor> inv_ex(const In& A, bool check_errors = false);  // inverse, info
// A x = B; B is a vector (or a batch of them) where PyTorch takes it as one. left false: x A = B.
Tensor solve(const In& A, const Tensor& B, bool left = true);
std::tuple<Tensor, Tensor> solve_ex(const In& A, const Tensor& B, bool left = true, bool check_errors = false);
Tensor solve_triangular(const In& A, const Tensor& B, bool upper, bool left = true, bool unitriangular = false);
// Throws where a matrix is not positive-definite. Reads one triangle, the lower one, or with `upper` the upper.
Tensor cholesky(const In& A, bool upper = false);
std::tuple<Tensor, Tensor> cholesky_ex(const In& A, bool upper = false, bool check_errors = false);
// mode: "reduced", "complete", "r" (Q is then empty).
std::tuple<Tensor, Tensor> qr(const In& A, std::string_view mode = "reduced");
std::tuple<Tensor, Tensor, Tensor> svd(const In& A, bool full_matrices = true);  // U, S, Vh
Tensor svdvals(const In& A);
std::tuple<Tensor, Tensor> eigh(const In& A, std::string_view UPLO = "L");  // eigenvalues rising, eigenvectors in columns
Tensor eigvalsh(const In& A, std::string_view UPLO = "L");
std::tuple<Tensor, Tensor> eig(const In& A);  // complex eigenvalues in no order, eigenvectors in columns; of a real matrix
Tensor eigvals(const In& A);
std::tuple<Tensor, Tensor, Tensor> lu(const In& A, bool pivot = true);  // P, L, U
std::tuple<Tensor, Tensor> lu_factor(const In& A, bool pivot = true);   // LU, pivots from 1
std::tuple<Tensor, Tensor, Tensor> lu_factor_ex(const In& A, bool pivot = true, bool check_errors = false);
Tensor lu_solve(const In& LU, const Tensor& pivots, const Tensor& B, bool left = true, bool adjoint = false);
// solution, residuals, rank, singular values; empty where the driver does not give them. driver: "gelsy" (default), "gels", "gelsd", "gelss".
std::tuple<Tensor, Tensor, Tensor, Tensor> lstsq(const In& A, const Tensor& B, std::optional<double> rcond = {},
                                                 std::string_view driver = "gelsy");
Tensor pinv(const In& A, std::optional<double> atol = {}, std::optional<double> rtol = {}, bool hermitian = false);
Tensor matrix_rank(const In& A, std::optional<double> atol = {}, std::optional<double> rtol = {}, bool hermitian = false);
Tensor cond(const In& A, std::optional<double> p = {});
Tensor cond(const In& A, std::string_view p);  // "fro", "nuc"
Tensor matrix_power(const In& A, std::int64_t n);
Tensor matrix_exp(const In& A);
Tensor multi_dot(std::span<const Tensor> tensors, std::source_location where = std::source_location::current());
Tensor multi_dot(std::initializer_list<Tensor> tensors, std::source_location where = std::source_location::current());
Tensor cross(const In& input, const Tensor& other, std::int64_t dim = -1);
Tensor matmul(const In& input, const In& other);
Tensor vecdot(const In& x, const Tensor& y, std::int64_t dim = -1);
Tensor vander(const In& x, std::optional<std::int64_t> N = {});
Tensor diagonal(const In& A, std::int64_t offset = 0, std::int64_t dim1 = -2, std::int64_t dim2 = -1);  // a view
Tensor tensorinv(const In& A, std::int64_t ind = 2);
Tensor tensorsolve(const In& A, const Tensor& B, const std::optional<Sizes>& dims = {});

}  // namespace linalg

}  // namespace braze
