// torch.linalg's solutions of linear systems, inverses and what is composed of them.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "braze/functions.h"
#include "frontend/autograd/names.h"
#include "frontend/factorizations.h"
#include "frontend/promotion.h"
#include "frontend/source_line.h"

namespace braze {

namespace {

Dims batch_of(const Tensor& t) {
  const Sizes sizes = t.sizes();
  return {sizes.begin(), sizes.end() - 2};
}

Tensor with_batch_sizes(const Tensor& t, const Dims& batch, std::int64_t own = 2) {
  Sizes sizes(batch.begin(), batch.end());
  for (std::int64_t i = own; i > 0; --i) sizes.push_back(t.size(-i));
  return t.expand(sizes);
}

void require_one_type(std::string_view function, const Tensor& a, const Tensor& b) {
  require(a.dtype() == b.dtype(), "{}: Expected A and B to have the same dtype, but found A of type {} and B of type {} instead",
          function, info(a.dtype()).scalar_name, info(b.dtype()).scalar_name);
}

void require_system(std::string_view function, const Tensor& a, const Tensor& b, bool left) {
  require(b.dim() >= 2, "{}: The input tensor B must have at least 2 dimensions.", function);
  require<ShapeError>(left ? a.size(-2) == b.size(-2) : a.size(-1) == b.size(-1),
                      "{}: Incompatible shapes of A and B for the equation {} ({}x{} and {}x{})", function,
                      left ? "AX = B" : "XA = B", a.size(-2), a.size(-1), b.size(-2), b.size(-1));
}

// x with lu x = b, or its transpose's; batches broadcast.
Tensor solve_factored(const Tensor& lu, const Tensor& pivots, const Tensor& b, bool transposed) {
  const Dims batch = broadcast_sizes(batch_of(lu), batch_of(b));
  return wrap(record_on(ir::Op::lu_solve,
                        {with_batch_sizes(lu, batch), with_batch_sizes(pivots, batch, 1), with_batch_sizes(b, batch)},
                        ir::LuSolve{transposed}));
}

Tensor triangular(const Tensor& a, const Tensor& b, ir::SolveTriangular how) {
  const Dims batch = broadcast_sizes(batch_of(a), batch_of(b));
  return wrap(record_on(ir::Op::solve_triangular, {with_batch_sizes(a, batch), with_batch_sizes(b, batch)}, how));
}

// B is vectors: 1-d, or as many dims as A's batches and one more.
bool is_vectors(const Tensor& a, const Tensor& b) {
  if (b.dim() == 1) return true;
  Sizes sizes = a.sizes();
  sizes.pop_back();
  return b.sizes() == sizes;
}

struct Solution {
  Tensor x, info;
};

Solution solve_checked(const In& A, const Tensor& B, bool left, ir::Checked check) {
  constexpr std::string_view name = "linalg.solve";
  const Tensor& a = square_matrices(A, name);
  checked(B);
  require_one_type(name, a, B);
  const bool vectors = is_vectors(a, B);
  require(left || !vectors,
          "linalg.solve: Vector broadcasting of the left hand side is not supported for left=False. In this case "
          "linalg.solve is equivalent to B / A.squeeze(-1)");
  const Tensor b = vectors ? B.unsqueeze(-1) : B;
  require_system(name, a, b, left);
  // A batch of vectors lies as a matrix does.
  const auto laid_out = [&](const Tensor& x) {
    if (!left) return x.mT().contiguous();
    const Tensor out = vectors ? x.squeeze(-1) : x;
    return out.dim() > 1 ? column_major(out) : out;
  };
  if (is_complex(a.dtype())) {
    const LuFactors f = factorize(real_blocks(left ? a : a.mT()), check);
    const Tensor x = from_real_rows(solve_factored(f.lu, f.pivots, real_rows(left ? b : b.mT()), false));
    return {laid_out(x), f.info};
  }
  const LuFactors f = factorize(a, check);
  return {laid_out(solve_factored(f.lu, f.pivots, left ? b : b.mT(), !left)), f.info};
}

Solution invert(const In& A, std::string_view name, ir::Checked check) {
  const Tensor& a = square_matrices(A, name);
  const bool pairs = is_complex(a.dtype());
  const Tensor real = pairs ? real_blocks(a) : a;
  const LuFactors f = factorize(real, check);
  const Tensor x = solve_factored(f.lu, f.pivots, eye(real.size(-1), {real.dtype()}), false);
  return {column_major(pairs ? from_real_blocks(x) : x), f.info};
}

}  // namespace

// ---- inverse and solve ----

Tensor linalg::inv(const In& A) {
  const GradientScope scope(GradientName::LinalgInvExBackward0);
  const SourceLine line(A.where());
  return invert(A, "linalg.inv", ir::Checked::inv).x;
}

std::tuple<Tensor, Tensor> linalg::inv_ex(const In& A, bool check_errors) {
  const GradientScope scope(GradientName::LinalgInvExBackward0);
  const SourceLine line(A.where());
  const Solution s = invert(A, "linalg.inv_ex", check_errors ? ir::Checked::inv : ir::Checked::none);
  return {s.x, s.info};
}

Tensor inverse(const In& A) { return linalg::inv(A); }

Tensor linalg::solve(const In& A, const Tensor& B, bool left) {
  const GradientScope scope(GradientName::LinalgSolveExBackward0);
  const SourceLine line(A.where());
  return solve_checked(A, B, left, ir::Checked::solve).x;
}

std::tuple<Tensor, Tensor> linalg::solve_ex(const In& A, const Tensor& B, bool left, bool check_errors) {
  const GradientScope scope(GradientName::LinalgSolveExBackward0);
  const SourceLine line(A.where());
  const Solution s = solve_checked(A, B, left, check_errors ? ir::Checked::solve : ir::Checked::none);
  return {s.x, s.info};
}

Tensor linalg::lu_solve(const In& LU, const Tensor& pivots, const Tensor& B, bool left, bool adjoint) {
  const SourceLine line(LU.where());
  constexpr std::string_view name = "linalg.lu_solve";
  const Tensor& lu = square_matrices(LU, name, "LU");
  require(pivots.dtype() == DType::i32, "linalg.lu_solve: pivots should be a Tensor of scalar type torch.int32");
  require_one_type(name, lu, B);
  require_system(name, lu, B, left);
  require<ShapeError>(pivots.dim() >= 1 && pivots.size(-1) == lu.size(-1),
                      "linalg.lu_solve: Number of pivots per batch should be same as the dimension of the matrix");
  const Tensor x = solve_factored(lu, pivots, left ? B : B.mT(), left == adjoint);
  return left ? column_major(x) : x.mT().contiguous();
}

Tensor lu_solve(const In& b, const Tensor& LU_data, const Tensor& LU_pivots) {
  return linalg::lu_solve(In(LU_data, b.where()), LU_pivots, tensor_argument(b, "lu_solve", "b"));
}

// ---- triangles ----

Tensor linalg::solve_triangular(const In& A, const Tensor& B, bool upper, bool left, bool unitriangular) {
  const GradientScope scope(GradientName::LinalgSolveTriangularBackward0);
  const SourceLine line(A.where());
  constexpr std::string_view name = "linalg.solve_triangular";
  const Tensor& a = square_matrices(A, name);
  require_one_type(name, a, B);
  require_system(name, a, B, left);
  return column_major(triangular(a, B, {upper, left, unitriangular}));
}

std::tuple<Tensor, Tensor> triangular_solve(const In& b, const Tensor& A, bool upper, bool transpose, bool unitriangular) {
  const GradientScope scope(GradientName::TriangularSolveBackward0);
  const SourceLine line(b.where());
  const Tensor& right = tensor_argument(b, "triangular_solve", "b");
  require_factorizable("triangular_solve", A);
  require(right.dim() >= 2, "torch.triangular_solve: Expected b to have at least 2 dimensions, but it has {} dimensions instead",
          right.dim());
  require(A.dim() >= 2, "torch.triangular_solve: Expected A to have at least 2 dimensions, but it has {} dimensions instead",
          A.dim());
  require_square("triangular_solve", A);
  require_one_type("triangular_solve", A, right);
  require_system("triangular_solve", A, right, true);
  return {column_major(triangular(transpose ? A.mT() : A, right, {upper != transpose, true, unitriangular})), column_major(A)};
}

Tensor cholesky_solve(const In& B, const Tensor& L, bool upper) {
  const GradientScope scope(GradientName::CholeskySolveBackward0);
  const SourceLine line(B.where());
  const Tensor& b = tensor_argument(B, "cholesky_solve", "B");
  require(b.dim() >= 2, "b should have at least 2 dimensions, but has {} dimensions instead", b.dim());
  require(L.dim() >= 2, "u should have at least 2 dimensions, but has {} dimensions instead", L.dim());
  require_factorizable("cholesky_solve", L);
  require_one_type("cholesky_solve", L, b);
  require_square("cholesky_solve", L);
  require<ShapeError>(L.size(-1) == b.size(-2),
                      "Incompatible matrix sizes for cholesky_solve: each A matrix is {} by {} but each b matrix is {} by {}",
                      L.size(-1), L.size(-1), b.size(-2), b.size(-1));
  const Tensor lower = upper ? L.mT() : L;
  return column_major(triangular(lower.mT(), triangular(lower, b, {false}), {true}));
}

Tensor cholesky_inverse(const In& L, bool upper) {
  const GradientScope scope(GradientName::CholeskyInverseBackward0);
  const SourceLine line(L.where());
  const Tensor& l = square_matrices(L, "cholesky_inverse", "L");
  return cholesky_solve(eye(l.size(-1), {l.dtype()}), l, upper);
}

// ---- by singular values ----

namespace {

constexpr const char other_types[] = "This function doesn't handle types other than float and double";
bool has_factorizations(const Tensor& x) { return category(x.dtype()) >= 2 && !is_half(x.dtype()); }

double default_tolerance(const Tensor& a) {
  const double epsilon =
      component_type(a.dtype()) == DType::f64 ? std::numeric_limits<double>::epsilon() : std::numeric_limits<float>::epsilon();
  return epsilon * static_cast<double>(std::max(a.size(-1), a.size(-2)));
}

// What counts as zero beside the largest of `values`, along the last dim.
Tensor cutoff(const Tensor& a, const Tensor& values, std::optional<double> atol, std::optional<double> rtol) {
  const double relative = rtol ? *rtol : atol.value_or(0) > 0 ? 0 : default_tolerance(a);
  return maximum(values.amax({-1}, true) * relative, atol.value_or(0));
}

Tensor inverse_of_large(const Tensor& values, const Tensor& limit) {
  return where(abs(values) > limit, reciprocal(values), zeros({}, {values.dtype()}));
}

}  // namespace

Tensor linalg::pinv(const In& A, std::optional<double> atol, std::optional<double> rtol, bool hermitian) {
  const GradientScope scope(GradientName::LinalgPinvBackward0);
  const SourceLine line(A.where());
  const Tensor& given = tensor_argument(A, "linalg.pinv", "A");
  require(has_factorizations(given) && given.dim() >= 2,
          "linalg.pinv({}{{{}}}): expected a tensor with 2 or more dimensions of float, double, cfloat or cdouble types",
          info(given.dtype()).scalar_name, sizes_text(given.sizes()));
  const Tensor& a = hermitian ? square_matrices(A, "linalg.pinv") : given;
  if (a.numel() == 0) {
    Sizes sizes = a.sizes();
    std::swap(sizes[sizes.size() - 1], sizes[sizes.size() - 2]);
    return zeros(sizes, {a.dtype()});
  }
  if (is_complex(a.dtype())) {
    // The tolerance is that of the matrix itself, not of the blocks.
    const std::optional<double> relative = rtol || atol.value_or(0) > 0 ? rtol : default_tolerance(a);
    return from_real_blocks(linalg::pinv(real_blocks(a), atol, relative, hermitian));
  }
  if (hermitian) {
    const auto [values, vectors] = eigh(a);
    const Tensor inverted = inverse_of_large(values, cutoff(a, abs(values), atol, rtol));
    return braze::matmul(vectors * inverted.unsqueeze(-2), vectors.mT());
  }
  const auto [u, s, vh] = linalg::svd(a, false);
  return braze::matmul(vh.mT() * inverse_of_large(s, cutoff(a, s, atol, rtol)).unsqueeze(-2), u.mT());
}

Tensor pinverse(const In& input, double rcond) { return linalg::pinv(input, {}, rcond); }

Tensor linalg::matrix_rank(const In& A, std::optional<double> atol, std::optional<double> rtol, bool hermitian) {
  const SourceLine line(A.where());
  require(has_factorizations(tensor_argument(A, "linalg.matrix_rank", "A")), other_types);
  const Tensor& a = hermitian ? square_matrices(A, "linalg.matrix_rank") : factorized(A, "linalg.matrix_rank");
  if (a.numel() == 0) {
    const Dims batch = batch_of(a);
    return zeros(std::span<const std::int64_t>(batch), {int64});
  }
  const Tensor values = hermitian ? abs(eigvalsh(a)) : svdvals(a);
  return (values > cutoff(a, values, atol, rtol)).sum(-1);
}

namespace {

// Columns that lie `stride` elements apart: the solution stands in the memory of the right-hand sides.
Tensor with_column_stride(const Tensor& x, std::int64_t stride) {
  const std::int64_t rows = x.size(-2);
  if (rows == stride) return column_major(x);
  Sizes rest = x.sizes();
  rest[rest.size() - 2] = stride - rows;
  return column_major(cat({x, zeros(rest, {x.dtype()})}, -2)).narrow(-2, 0, rows);
}

}  // namespace

std::tuple<Tensor, Tensor, Tensor, Tensor> linalg::lstsq(const In& A, const Tensor& B, std::optional<double> rcond,
                                                         std::string_view driver) {
  const GradientScope scope(GradientName::LinalgLstsqBackward0);
  const SourceLine line(A.where());
  constexpr std::string_view name = "torch.linalg.lstsq";
  require(has_factorizations(tensor_argument(A, name, "A")), other_types);
  const Tensor& a = factorized(A, name, "A");
  require(B.dim() > 0, "torch.linalg.lstsq: other must have at least 1 dimension.");
  require_one_type(name, a, B);
  require(driver == "gelsy" || driver == "gels" || driver == "gelsd" || driver == "gelss",
          "torch.linalg.lstsq: parameter `driver` should be one of (gels, gelsy, gelsd, gelss)");
  require(a.dim() - B.dim() <= 1,
          "torch.linalg.lstsq: input.dim() must be greater or equal to other.dim() and (input.dim() - other.dim()) <= 1");
  const bool vectors = is_vectors(a, B);
  const Tensor b = vectors ? B.unsqueeze(-1) : B;
  require<ShapeError>(b.size(-2) == a.size(-2), "torch.linalg.lstsq: input.size(-2) should match other.size(-{})", vectors ? 1 : 2);
  const bool full = driver == "gels";
  // Least squares of least norm: through the singular values that count.
  const auto [u, s, vh] = linalg::svd(a, false);
  const Tensor limit = a.numel() == 0 ? s : s.amax({-1}, true) * (full ? 0.0 : rcond.value_or(default_tolerance(a)));
  const Tensor inverted = inverse_of_large(s, limit);
  Tensor x = braze::matmul(vh.mT(), inverted.unsqueeze(-1) * braze::matmul(u.mT(), b));
  const Tensor rank = (s > limit).sum(-1);
  const Tensor nothing = zeros({0}, {a.dtype()});
  Tensor residuals = nothing;
  // Whether there are residuals depends on the ranks: they are needed now.
  if (a.size(-2) > a.size(-1) && (full || (rank == a.size(-1)).all().item<bool>()))
    residuals = square(braze::matmul(a, x) - b).sum(-2);
  if (vectors)
    x = x.squeeze(-1);
  else
    x = with_column_stride(x, std::max(a.size(-2), a.size(-1)));
  return {x, residuals, full ? zeros({0}, {int64}) : rank, driver == "gelsd" || driver == "gelss" ? s : nothing};
}

// ---- condition ----

namespace {

Tensor condition_by_inverse(const Tensor& a, const auto& norm) {
  const auto [inverse, info] = linalg::inv_ex(a);
  return where(info == 0, norm(a) * norm(inverse), std::numeric_limits<double>::infinity());
}

}  // namespace

Tensor linalg::cond(const In& A, std::optional<double> p) {
  const SourceLine line(A.where());
  const Tensor& a = factorized(A, "linalg.cond");
  if (p.value_or(2) == 2 || *p == -2) {
    const Tensor s = svdvals(a);
    const Tensor largest = s.select(-1, 0), least = s.select(-1, s.size(-1) - 1);
    return p.value_or(2) == 2 ? largest / least : least / largest;
  }
  require<ValueError>(std::abs(*p) == 1 || std::isinf(*p), "linalg.cond got an invalid norm type: {}", *p);
  square_matrices(A, "linalg.cond");
  const auto norm = [&](const Tensor& t) {
    const Tensor sums = abs(t).sum(std::isinf(*p) ? -1 : -2);
    return *p > 0 ? sums.amax({-1}) : sums.amin({-1});
  };
  return condition_by_inverse(a, norm);
}

Tensor linalg::cond(const In& A, std::string_view p) {
  const SourceLine line(A.where());
  const Tensor& a = square_matrices(A, "linalg.cond");
  if (p == "nuc") return condition_by_inverse(a, [](const Tensor& t) { return svdvals(t).sum(-1); });
  require<ValueError>(p == "fro", "linalg.cond got an invalid norm type: {}", p);
  return condition_by_inverse(a, [](const Tensor& t) { return sqrt(square(t).sum(Sizes{-2, -1})); });
}

// ---- powers and tensors as matrices ----

Tensor linalg::matrix_power(const In& A, std::int64_t n) {
  const SourceLine line(A.where());
  const Tensor& a = tensor_argument(A, "linalg.matrix_power", "A");
  require_square("linalg.matrix_power", a);
  if (n == 0) return eye(a.size(-1), {a.dtype()}).expand(a.sizes()).clone();
  if (n < 0) require_factorizable("linalg.inv", a);
  Tensor square = n < 0 ? inv(a) : a, out;
  for (std::uint64_t left = n < 0 ? -static_cast<std::uint64_t>(n) : static_cast<std::uint64_t>(n);;) {
    if (left & 1) out = out.defined() ? braze::matmul(out, square) : square;
    if (left >>= 1; left == 0) break;
    square = braze::matmul(square, square);
  }
  return n == 1 ? out.clone(MemoryFormat::contiguous) : out;
}

Tensor matrix_power(const In& input, std::int64_t n) { return linalg::matrix_power(input, n); }

namespace {

std::int64_t product_of(const Sizes& sizes, std::size_t first, std::size_t last) {
  return std::accumulate(sizes.begin() + static_cast<std::ptrdiff_t>(first), sizes.begin() + static_cast<std::ptrdiff_t>(last),
                         std::int64_t{1}, std::multiplies<>());
}

}  // namespace

Tensor linalg::tensorinv(const In& A, std::int64_t ind) {
  const SourceLine line(A.where());
  const Tensor& a = tensor_argument(A, "linalg.tensorinv", "A");
  require(ind > 0, "Expected a strictly positive integer for 'ind'");
  const Sizes sizes = a.sizes();
  const std::size_t split = std::min(static_cast<std::size_t>(ind), sizes.size());
  const std::int64_t rows = product_of(sizes, 0, split), columns = product_of(sizes, split, sizes.size());
  require<ShapeError>(rows == columns,
                      "Expected self to satisfy the requirement prod(self.shape[ind:]) == prod(self.shape[:ind]), but got {} != {}",
                      columns, rows);
  Sizes out(sizes.begin() + static_cast<std::ptrdiff_t>(split), sizes.end());
  out.insert(out.end(), sizes.begin(), sizes.begin() + static_cast<std::ptrdiff_t>(split));
  return inv(a.reshape({rows, columns})).reshape(out);
}

Tensor linalg::tensorsolve(const In& A, const Tensor& B, const std::optional<Sizes>& dims) {
  const SourceLine line(A.where());
  Tensor a = tensor_argument(A, "linalg.tensorsolve", "A");
  for (const std::int64_t dim : dims.value_or(Sizes{})) a = a.movedim(dim, -1);
  const Sizes sizes = a.sizes();
  require<ShapeError>(B.dim() <= a.dim(), "Expected self to have at least as many dims as other, but got {} and {}", a.dim(),
                      B.dim());
  const std::size_t split = static_cast<std::size_t>(B.dim());
  const std::int64_t rows = product_of(sizes, 0, split), columns = product_of(sizes, split, sizes.size());
  require<ShapeError>(
      rows == columns,
      "Expected self to satisfy the requirement prod(self.shape[other.ndim:]) == prod(self.shape[:other.ndim]), but got {} "
      "!= {}",
      columns, rows);
  return solve(a.reshape({rows, columns}), B.reshape({rows}))
      .reshape(Sizes(sizes.begin() + static_cast<std::ptrdiff_t>(split), sizes.end()));
}

}  // namespace braze
