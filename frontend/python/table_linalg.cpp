// Rows of braze/linalg.h.
#include "braze/linalg.h"

#include "frontend/python/signature.h"
#include "ir/error.h"

namespace braze::python {

namespace {

void require_no_driver(std::string_view function, const Arguments& a, std::size_t i) {
  require(a.none(i), "torch.linalg.{}: keyword argument `driver=` is only supported on CUDA inputs with cuSOLVER backend.",
          function);
}

// tensordot's two lists; each may be one number.
std::pair<Sizes, Sizes> pair_of_dims(PyObject* dims) {
  const Object pair = Object::steal(PySequence_Tuple(dims));
  if (PyTuple_GET_SIZE(pair.get()) != 2)
    raise(PyExc_RuntimeError, "tensordot expects dims to be an int or two lists of dims, but got {}", repr_text(dims));
  const auto list = [&](Py_ssize_t i) {
    PyObject* entry = PyTuple_GET_ITEM(pair.get(), i);
    return is_integer(entry) ? Sizes{to_integer(entry)} : to_integers(entry);
  };
  return {list(0), list(1)};
}

const Rows rows{
    // ---- products ----
    {"matmul(Tensor input, Tensor other)", function | method | linalg | out, [](Arguments& a) { return matmul(a.in(0), a.in(1)); },
     "The product of vectors, matrices and batches of them: a 1-d operand is a row on the left, a column on the right; batches "
     "broadcast."},
    {"mm(Tensor input, Tensor mat2)", function | method | out, [](Arguments& a) { return mm(a.in(0), a.tensor(1)); },
     "[n, k] times [k, m]."},
    {"bmm(Tensor input, Tensor mat2)", function | method | out, [](Arguments& a) { return bmm(a.in(0), a.tensor(1)); },
     "[b, n, k] times [b, k, m]."},
    {"mv(Tensor input, Tensor vec)", function | method | out, [](Arguments& a) { return mv(a.in(0), a.tensor(1)); },
     "[n, k] times [k]."},
    {"dot(Tensor input, Tensor tensor)", function | method | out, [](Arguments& a) { return dot(a.in(0), a.tensor(1)); },
     "The sum of products of two vectors."},
    {"vdot(Tensor input, Tensor other)", function | method | out, [](Arguments& a) { return vdot(a.in(0), a.tensor(1)); },
     "dot, with the first operand conjugated."},
    {"inner(Tensor input, Tensor other)", function | method | out, [](Arguments& a) { return inner(a.in(0), a.tensor(1)); },
     "Sums of products over the last dims."},
    {"outer(Tensor input, Tensor vec2)", function | method | out, [](Arguments& a) { return outer(a.in(0), a.tensor(1)); },
     "[n] times [m] as [n, m]."},
    {"ger = outer"},
    {"addmm(Tensor input, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1)", function | method | out,
     [](Arguments& a) { return addmm(a.in(0), a.tensor(1), a.tensor(2), a.scalar(3), a.scalar(4)); },
     "beta * input + alpha * (mat1 @ mat2); with beta 0 input is not read."},
    {"addmm_(Tensor input, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1)", method,
     [](Arguments& a) { return a.self().addmm_(a.tensor(1), a.tensor(2), a.scalar(3), a.scalar(4)); }},
    {"addmv(Tensor input, Tensor mat, Tensor vec, *, Scalar beta=1, Scalar alpha=1)", function | method | out,
     [](Arguments& a) { return addmv(a.in(0), a.tensor(1), a.tensor(2), a.scalar(3), a.scalar(4)); },
     "beta * input + alpha * (mat @ vec); with beta 0 input is not read."},
    {"addmv_(Tensor input, Tensor mat, Tensor vec, *, Scalar beta=1, Scalar alpha=1)", method,
     [](Arguments& a) { return a.self().addmv_(a.tensor(1), a.tensor(2), a.scalar(3), a.scalar(4)); }},
    {"addr(Tensor input, Tensor vec1, Tensor vec2, *, Scalar beta=1, Scalar alpha=1)", function | method | out,
     [](Arguments& a) { return addr(a.in(0), a.tensor(1), a.tensor(2), a.scalar(3), a.scalar(4)); },
     "beta * input + alpha * (outer(vec1, vec2)); with beta 0 input is not read."},
    {"addr_(Tensor input, Tensor vec1, Tensor vec2, *, Scalar beta=1, Scalar alpha=1)", method,
     [](Arguments& a) { return a.self().addr_(a.tensor(1), a.tensor(2), a.scalar(3), a.scalar(4)); }},
    {"addbmm(Tensor input, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1)", function | method | out,
     [](Arguments& a) { return addbmm(a.in(0), a.tensor(1), a.tensor(2), a.scalar(3), a.scalar(4)); },
     "beta * input + alpha * (sum over batches of batch1 @ batch2); with beta 0 input is not read."},
    {"addbmm_(Tensor input, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1)", method,
     [](Arguments& a) { return a.self().addbmm_(a.tensor(1), a.tensor(2), a.scalar(3), a.scalar(4)); }},
    {"baddbmm(Tensor input, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1)", function | method | out,
     [](Arguments& a) { return baddbmm(a.in(0), a.tensor(1), a.tensor(2), a.scalar(3), a.scalar(4)); },
     "beta * input + alpha * (batch1 @ batch2); with beta 0 input is not read."},
    {"baddbmm_(Tensor input, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1)", method,
     [](Arguments& a) { return a.self().baddbmm_(a.tensor(1), a.tensor(2), a.scalar(3), a.scalar(4)); }},
    {"einsum(str equation, Tensor[] operands)", function, [](Arguments& a) { return einsum(a.string(0), a.tensors(1)); },
     "Sums of products over named dims."},
    {"chain_matmul(Tensor[] matrices)", function | out, [](Arguments& a) { return chain_matmul(a.tensors(0)); },
     "The product of matrices in the order of least work."},
    {"tensordot(Tensor input, Tensor other, int dims=2)", function | out,
     [](Arguments& a) { return tensordot(a.in(0), a.tensor(1), a.integer(2)); },
     "Sums over the last `dims` dims of input and the first of other, or over the two lists of dims."},
    {"tensordot(Tensor input, Tensor other, object dims)", function | out,
     [](Arguments& a) {
       const auto [left, right] = pair_of_dims(a.object(2));
       return tensordot(a.in(0), a.tensor(1), left, right);
     }},
    {"linear(Tensor input, Tensor weight, Tensor? bias=None)", functional,
     [](Arguments& a) { return linear(a.in(0), a.tensor(1), a.tensor_or_none(2)); }, "input @ weight.T + bias."},
    {"bilinear(Tensor input1, Tensor input2, Tensor weight, Tensor? bias=None)", function | functional,
     [](Arguments& a) { return bilinear(a.in(0), a.tensor(1), a.tensor(2), a.tensor_or_none(3)); },
     "input1 @ weight[o] @ input2 for each o, plus bias."},
    {"cross(Tensor input, Tensor other, int? dim=None)", function | method | out,
     [](Arguments& a) { return cross(a.in(0), a.tensor(1), a.integer_or_none(2)); },
     "The vector product along a dim of size 3; without dim, along the first such."},
    {"trace(Tensor input)", function | method, [](Arguments& a) { return trace(a.in(0)); }, "The sum of a matrix' diagonal."},
    {"cdist(Tensor x1, Tensor x2, float p=2.0, str? compute_mode=None)", function,
     [](Arguments& a) {
       return cdist(a.in(0), a.tensor(1), a.number(2), a.string_or_none(3).value_or("use_mm_for_euclid_dist_if_necessary"));
     },
     "p-norm distances between the rows of x1 and those of x2."},
    {"matrix_power(Tensor input, int n)", function | method | out, [](Arguments& a) { return matrix_power(a.in(0), a.integer(1)); },
     "The n-th power of square matrices; n < 0: of the inverse."},
    {"matrix_exp(Tensor input)", function | method, [](Arguments& a) { return matrix_exp(a.in(0)); },
     "The exponential of square matrices."},

    // ---- linear algebra under torch's own names ----
    {"det(Tensor input)", function | method, [](Arguments& a) { return det(a.in(0)); }, "The determinant."},
    {"logdet(Tensor input)", function | method, [](Arguments& a) { return logdet(a.in(0)); },
     "The logarithm of the determinant; NaN where it is negative."},
    {"slogdet(Tensor input) -> (Tensor sign, Tensor logabsdet)", function | method | out,
     [](Arguments& a) { return slogdet(a.in(0)); }, "Sign and logarithm of the determinant."},
    {"inverse(Tensor input)", function | method | out, [](Arguments& a) { return inverse(a.in(0)); },
     "The inverse; raises where a matrix is singular."},
    {"pinverse(Tensor input, float rcond=1e-15)", function | method, [](Arguments& a) { return pinverse(a.in(0), a.number(1)); },
     "The Moore-Penrose inverse."},
    {"cholesky(Tensor input, bool upper=False)", function | method | out,
     [](Arguments&) -> Tensor {
       fail(
           "This function was deprecated since version 1.9 and is now removed. `torch.cholesky` is deprecated in favor of "
           "`torch.linalg.cholesky`.");
     },
     "Refused: linalg.cholesky."},
    {"cholesky_solve(Tensor input, Tensor input2, bool upper=False)", function | method | out,
     [](Arguments& a) { return cholesky_solve(a.in(0), a.tensor(1), a.boolean(2)); },
     "X with A X = input, given the Cholesky factor of A."},
    {"cholesky_inverse(Tensor input, bool upper=False)", function | method | out,
     [](Arguments& a) { return cholesky_inverse(a.in(0), a.boolean(1)); }, "The inverse, given the Cholesky factor."},
    {"qr(Tensor input, bool some=True) -> (Tensor Q, Tensor R)", function | method | out,
     [](Arguments& a) { return qr(a.in(0), a.boolean(1)); }, "Orthogonal and triangular factor."},
    {"svd(Tensor input, bool some=True, bool compute_uv=True) -> (Tensor U, Tensor S, Tensor V)", function | method | out,
     [](Arguments& a) { return svd(a.in(0), a.boolean(1), a.boolean(2)); }, "Singular value decomposition U diag(S) V.mT."},
    {"lu_solve(Tensor input, Tensor LU_data, Tensor LU_pivots)", function | method | out,
     [](Arguments& a) { return lu_solve(a.in(0), a.tensor(1), a.tensor(2)); }, "X with A X = input, given the LU factors of A."},
    {"lu_unpack(Tensor LU_data, Tensor LU_pivots, bool unpack_data=True, bool unpack_pivots=True) -> (Tensor P, Tensor L, Tensor "
     "U)",
     function | out, [](Arguments& a) { return lu_unpack(a.in(0), a.tensor(1), a.boolean(2), a.boolean(3)); },
     "P, L and U of packed factors."},
    {"triangular_solve(Tensor input, Tensor A, bool upper=True, bool transpose=False, bool unitriangular=False) -> (Tensor "
     "solution, Tensor cloned_coefficient)",
     function | method | out,
     [](Arguments& a) { return triangular_solve(a.in(0), a.tensor(1), a.boolean(2), a.boolean(3), a.boolean(4)); },
     "X with A X = input for triangular A."},

    // ---- torch.linalg ----
    {"det(Tensor A)", linalg | out, [](Arguments& a) { return linalg::det(a.in(0)); }, "The determinant."},
    {"slogdet(Tensor A) -> (Tensor sign, Tensor logabsdet)", linalg | out, [](Arguments& a) { return linalg::slogdet(a.in(0)); },
     "Sign and logarithm of the determinant."},
    {"inv(Tensor A)", linalg | out, [](Arguments& a) { return linalg::inv(a.in(0)); },
     "The inverse; raises where a matrix is singular."},
    {"inv_ex(Tensor A, *, bool check_errors=False) -> (Tensor inverse, Tensor info)", linalg | out,
     [](Arguments& a) { return linalg::inv_ex(a.in(0), a.boolean(1)); }, "inv without the check: info names the first zero pivot."},
    {"solve(Tensor A, Tensor B, *, bool left=True)", linalg | out,
     [](Arguments& a) { return linalg::solve(a.in(0), a.tensor(1), a.boolean(2)); }, "X with A X = B, or X A = B."},
    {"solve_ex(Tensor A, Tensor B, *, bool left=True, bool check_errors=False) -> (Tensor result, Tensor info)", linalg | out,
     [](Arguments& a) { return linalg::solve_ex(a.in(0), a.tensor(1), a.boolean(2), a.boolean(3)); }, "solve without the check."},
    {"solve_triangular(Tensor A, Tensor B, *, bool upper, bool left=True, bool unitriangular=False)", linalg | out,
     [](Arguments& a) { return linalg::solve_triangular(a.in(0), a.tensor(1), a.boolean(2), a.boolean(3), a.boolean(4)); },
     "X with A X = B, or X A = B, for triangular A."},
    {"cholesky(Tensor A, *, bool upper=False)", linalg | out, [](Arguments& a) { return linalg::cholesky(a.in(0), a.boolean(1)); },
     "The triangular factor of positive-definite matrices."},
    {"cholesky_ex(Tensor A, *, bool upper=False, bool check_errors=False) -> (Tensor L, Tensor info)", linalg | out,
     [](Arguments& a) { return linalg::cholesky_ex(a.in(0), a.boolean(1), a.boolean(2)); }, "cholesky without the check."},
    {"qr(Tensor A, str mode=\"reduced\") -> (Tensor Q, Tensor R)", linalg | out,
     [](Arguments& a) { return linalg::qr(a.in(0), a.string(1)); },
     "Orthogonal and triangular factor: reduced, complete, or r alone."},
    {"svd(Tensor A, bool full_matrices=True, *, str? driver=None) -> (Tensor U, Tensor S, Tensor Vh)", linalg | out,
     [](Arguments& a) {
       require_no_driver("svd", a, 2);
       return linalg::svd(a.in(0), a.boolean(1));
     },
     "Singular value decomposition U diag(S) Vh."},
    {"svdvals(Tensor A, *, str? driver=None)", linalg | out, [](Arguments& a) { return linalg::svdvals(a.in(0)); },
     "Singular values, falling."},
    {"eigh(Tensor A, str UPLO=\"L\") -> (Tensor eigenvalues, Tensor eigenvectors)", linalg | out,
     [](Arguments& a) { return linalg::eigh(a.in(0), a.string(1)); },
     "Eigenvalues, rising, and eigenvectors of symmetric matrices."},
    {"eigvalsh(Tensor A, str UPLO=\"L\")", linalg | out, [](Arguments& a) { return linalg::eigvalsh(a.in(0), a.string(1)); },
     "Eigenvalues of symmetric matrices, rising."},
    {"eig(Tensor A) -> (Tensor eigenvalues, Tensor eigenvectors)", linalg | out, [](Arguments& a) { return linalg::eig(a.in(0)); },
     "Complex eigenvalues and eigenvectors of a real matrix."},
    {"eigvals(Tensor A)", linalg | out, [](Arguments& a) { return linalg::eigvals(a.in(0)); }, "The eigenvalues alone."},
    {"lu(Tensor A, *, bool pivot=True) -> (Tensor P, Tensor L, Tensor U)", linalg | out,
     [](Arguments& a) { return linalg::lu(a.in(0), a.boolean(1)); }, "A = P L U."},
    {"lu_factor(Tensor A, *, bool pivot=True) -> (Tensor LU, Tensor pivots)", linalg | out,
     [](Arguments& a) { return linalg::lu_factor(a.in(0), a.boolean(1)); }, "L and U in one matrix, and pivots from 1."},
    {"lu_factor_ex(Tensor A, *, bool pivot=True, bool check_errors=False) -> (Tensor LU, Tensor pivots, Tensor info)", linalg | out,
     [](Arguments& a) { return linalg::lu_factor_ex(a.in(0), a.boolean(1), a.boolean(2)); }, "lu_factor without the check."},
    {"lu_solve(Tensor LU, Tensor pivots, Tensor B, *, bool left=True, bool adjoint=False)", linalg | out,
     [](Arguments& a) { return linalg::lu_solve(a.in(0), a.tensor(1), a.tensor(2), a.boolean(3), a.boolean(4)); },
     "X with A X = B, given the LU factors of A."},
    {"lstsq(Tensor A, Tensor B, float? rcond=None, *, str? driver=None) -> (Tensor solution, Tensor residuals, Tensor rank, Tensor "
     "singular_values)",
     linalg | out,
     [](Arguments& a) { return linalg::lstsq(a.in(0), a.tensor(1), a.number_or_none(2), a.string_or_none(3).value_or("gelsy")); },
     "Least squares of least norm."},
    {"pinv(Tensor A, *, float? atol=None, float? rtol=None, bool hermitian=False)", linalg | out,
     [](Arguments& a) { return linalg::pinv(a.in(0), a.number_or_none(1), a.number_or_none(2), a.boolean(3)); },
     "The Moore-Penrose inverse."},
    {"pinv(Tensor A, float rcond, bool hermitian=False)", linalg | out,
     [](Arguments& a) { return linalg::pinv(a.in(0), 0, a.number(1), a.boolean(2)); }},
    {"matrix_rank(Tensor A, *, float? atol=None, float? rtol=None, bool hermitian=False)", linalg | out,
     [](Arguments& a) { return linalg::matrix_rank(a.in(0), a.number_or_none(1), a.number_or_none(2), a.boolean(3)); },
     "How many singular values are above the tolerance."},
    {"matrix_rank(Tensor A, float tol, bool hermitian=False)", linalg | out,
     [](Arguments& a) { return linalg::matrix_rank(a.in(0), a.number(1), 0, a.boolean(2)); }},
    {"cond(Tensor A, float? p=None)", linalg | out, [](Arguments& a) { return linalg::cond(a.in(0), a.number_or_none(1)); },
     "The condition number in a matrix norm."},
    {"cond(Tensor A, str p)", linalg | out, [](Arguments& a) { return linalg::cond(a.in(0), a.string(1)); }},
    {"matrix_power(Tensor A, int n)", linalg | out, [](Arguments& a) { return linalg::matrix_power(a.in(0), a.integer(1)); },
     "The n-th power of square matrices; n < 0: of the inverse."},
    {"matrix_exp(Tensor A)", linalg, [](Arguments& a) { return linalg::matrix_exp(a.in(0)); },
     "The exponential of square matrices."},
    {"multi_dot(Tensor[] tensors)", linalg | out, [](Arguments& a) { return linalg::multi_dot(a.tensors(0)); },
     "The product of matrices in the order of least work."},
    {"cross(Tensor input, Tensor other, *, int dim=-1)", linalg | out,
     [](Arguments& a) { return linalg::cross(a.in(0), a.tensor(1), a.integer(2)); }, "The vector product along a dim of size 3."},
    {"vecdot(Tensor x, Tensor y, *, int dim=-1)", linalg | out,
     [](Arguments& a) { return linalg::vecdot(a.in(0), a.tensor(1), a.integer(2)); }, "Sums of products along a dim."},
    {"vander(Tensor x, *, int? N=None)", linalg, [](Arguments& a) { return linalg::vander(a.in(0), a.integer_or_none(1)); },
     "Powers 0 ... N - 1 as columns."},
    {"diagonal(Tensor A, *, int offset=0, int dim1=-2, int dim2=-1)", linalg,
     [](Arguments& a) { return linalg::diagonal(a.in(0), a.integer(1), a.integer(2), a.integer(3)); }, "A view of diagonals."},
    {"tensorinv(Tensor A, int ind=2)", linalg | out, [](Arguments& a) { return linalg::tensorinv(a.in(0), a.integer(1)); },
     "The inverse of a tensor taken as a square matrix."},
    {"tensorsolve(Tensor A, Tensor B, int[]? dims=None)", linalg | out,
     [](Arguments& a) { return linalg::tensorsolve(a.in(0), a.tensor(1), a.ints_or_none(2)); },
     "X with tensordot(A, X, X.ndim) = B."},
};

}  // namespace

}  // namespace braze::python
