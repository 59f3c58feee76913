// torch.linalg's factorizations, and what is read off one: rows of the op table that run as routines over LAPACK, batched.
#include <algorithm>
#include <limits>

#include "braze/functions.h"
#include "frontend/autograd/names.h"
#include "frontend/factorizations.h"
#include "frontend/source_line.h"
#include "frontend/view_layout.h"

namespace braze {

const Tensor& factorized(const In& x, std::string_view function, std::string_view parameter) {
  const Tensor& t = tensor_argument(x, function, parameter);
  require(t.dim() >= 2, "{}: The input tensor {} must have at least 2 dimensions.", function, parameter);
  require_factorizable(function, t);
  return t;
}

void require_factorizable(std::string_view function, const Tensor& t) {
  require_floating(function, t);
  require<NotImplementedError>(!is_half(t.dtype()), "{}: Low precision dtypes not supported. Got {}", function,
                               info(t.dtype()).scalar_name);
}

const Tensor& square_matrices(const In& x, std::string_view function, std::string_view parameter) {
  const Tensor& t = factorized(x, function, parameter);
  require_square(function, t, parameter);
  return t;
}

engine::Value record_on(ir::Op op, std::initializer_list<Tensor> operands, ir::Attributes attributes) {
  const ir::Location at = location({});
  std::vector<engine::Value> values;
  for (const Tensor& t : operands) values.push_back(read(checked(t), at));
  return engine::record(op, values, std::move(attributes), at);
}

Tensor column_major(const Tensor& t) {
  if (t.numel() == 0) return t;
  const Sizes sizes = t.sizes();
  Dims strides(sizes.size());
  const std::size_t row = sizes.size() - 2, column = row + 1;
  strides[row] = 1;
  strides[column] = sizes[row];
  std::int64_t step = sizes[row] * sizes[column];
  for (std::size_t i = row; i-- > 0; step *= sizes[i]) strides[i] = step;
  return copy_laid_out(t, t.dtype(), strides, location({}));
}

std::int64_t lesser_size(const Tensor& a) { return std::min(a.size(-2), a.size(-1)); }

Tensor lower_triangle(const Tensor& a, std::int64_t diagonal) {
  const Tensor rows = arange(a.size(-2)).unsqueeze(1), columns = arange(a.size(-1));
  return where(columns - rows <= diagonal, a, zeros({}, {a.dtype()}));
}

Tensor upper_triangle(const Tensor& a, std::int64_t diagonal) {
  const Tensor rows = arange(a.size(-2)).unsqueeze(1), columns = arange(a.size(-1));
  return where(columns - rows >= diagonal, a, zeros({}, {a.dtype()}));
}

LuFactors factorize(const Tensor& a, ir::Checked check) {
  const engine::Value v = record_on(ir::Op::lu_factor, {a}, ir::LuFactor{lesser_size(a), check});
  return {wrap(v), wrap(v.with_result(1)), wrap(v.with_result(2))};
}

// ---- LU ----

namespace {

void require_pivots(std::string_view function, bool pivot) {
  require(pivot, "{}: LU without pivoting is not implemented on the CPU", function);
}

// The permutation as a matrix. lu_solve on unit factors only swaps rows, so it makes one of the identity.
Tensor permutation_matrix(const Tensor& pivots, std::int64_t rows, DType type) {
  Sizes batch = pivots.sizes();
  const std::int64_t given = batch.back();
  batch.back() = rows - given;
  const Tensor rest = (arange(given, rows) + 1).to(int32).expand(batch);
  const Tensor all = rows == given ? pivots : cat({pivots, rest}, -1);
  batch.back() = rows;
  batch.push_back(rows);
  const Tensor one = eye(rows, {type}).expand(batch);
  return wrap(record_on(ir::Op::lu_solve, {one, all, one}, ir::LuSolve{})).mT().contiguous();
}

std::tuple<Tensor, Tensor> unpack_factors(const Tensor& lu) {
  const std::int64_t k = lesser_size(lu);
  const Tensor lower = lower_triangle(lu.narrow(-1, 0, k), -1) + eye(lu.size(-2), k, {lu.dtype()});
  return {lower, upper_triangle(lu.narrow(-2, 0, k))};
}

}  // namespace

std::tuple<Tensor, Tensor, Tensor> linalg::lu(const In& A, bool pivot) {
  const GradientScope scope(GradientName::LinalgLuBackward0);
  const SourceLine line(A.where());
  const Tensor& a = factorized(A, "linalg.lu");
  require_pivots("linalg.lu", pivot);
  const LuFactors f = factorize(a, ir::Checked::none);
  const auto [lower, upper] = unpack_factors(f.lu);
  return {permutation_matrix(f.pivots, a.size(-2), a.dtype()), lower, upper};
}

std::tuple<Tensor, Tensor> linalg::lu_factor(const In& A, bool pivot) {
  const GradientScope scope(GradientName::LinalgLuFactorExBackward0);
  const SourceLine line(A.where());
  const Tensor& a = factorized(A, "linalg.lu_factor");
  require_pivots("linalg.lu_factor", pivot);
  const LuFactors f = factorize(a, ir::Checked::lu_factor);
  return {column_major(f.lu), f.pivots};
}

std::tuple<Tensor, Tensor, Tensor> linalg::lu_factor_ex(const In& A, bool pivot, bool check_errors) {
  const GradientScope scope(GradientName::LinalgLuFactorExBackward0);
  const SourceLine line(A.where());
  const Tensor& a = factorized(A, "linalg.lu_factor_ex");
  require_pivots("linalg.lu_factor_ex", pivot);
  const LuFactors f = factorize(a, check_errors ? ir::Checked::lu_factor : ir::Checked::none);
  return {column_major(f.lu), f.pivots, f.info};
}

std::tuple<Tensor, Tensor, Tensor> lu_unpack(const In& LU_data, const Tensor& LU_pivots, bool unpack_data, bool unpack_pivots) {
  const SourceLine line(LU_data.where());
  const Tensor& lu = tensor_argument(LU_data, "lu_unpack", "LU_data");
  require(lu.dim() >= 2, "torch.lu_unpack: The input tensor LU_data must have at least 2 dimensions.");
  require(LU_pivots.dtype() == DType::i32,
          "torch.lu_unpack: LU_pivots is expected to be a contiguous tensor of torch.int32 dtype.\nNote: this function is intended "
          "to be "
          "used with the output produced by torch.linalg.lu_factor");
  const Tensor none = zeros({0}, {lu.dtype()});
  std::tuple<Tensor, Tensor, Tensor> out{none, none, none};
  if (unpack_pivots) std::get<0>(out) = permutation_matrix(LU_pivots, lu.size(-2), DType::f32).to(lu.dtype());
  if (unpack_data) std::tie(std::get<1>(out), std::get<2>(out)) = unpack_factors(lu);
  return out;
}

// ---- determinants ----

namespace {

// Products of rows that a determinant's factorization swapped: 1 or -1.
Tensor parity(const LuFactors& f, DType type) {
  const Tensor swapped = f.pivots != (arange(f.pivots.size(-1)) + 1).to(int32);
  return 1 - (swapped.sum(-1) % 2).to(type) * 2;
}

}  // namespace

Tensor linalg::det(const In& A) {
  const GradientScope scope(GradientName::LinalgDetBackward0);
  const SourceLine line(A.where());
  const Tensor& a = square_matrices(A, "linalg.det");
  const LuFactors f = factorize(a, ir::Checked::none);
  return parity(f, a.dtype()) * prod(f.lu.diagonal(0, -2, -1), -1);
}

std::tuple<Tensor, Tensor> linalg::slogdet(const In& A) {
  const GradientScope scope(GradientName::LinalgSlogdetBackward0);
  const SourceLine line(A.where());
  const Tensor& a = square_matrices(A, "linalg.slogdet");
  const LuFactors f = factorize(a, ir::Checked::none);
  const Tensor diagonal = f.lu.diagonal(0, -2, -1);
  return {parity(f, a.dtype()) * prod(sign(diagonal), -1), log(abs(diagonal)).sum(-1)};
}

Tensor det(const In& A) { return linalg::det(A); }
std::tuple<Tensor, Tensor> slogdet(const In& A) { return linalg::slogdet(A); }

Tensor logdet(const In& A) {
  const SourceLine line(A.where());
  square_matrices(A, "logdet");
  const auto [sign, logarithm] = linalg::slogdet(A);
  return where(sign == -1, std::numeric_limits<double>::quiet_NaN(), logarithm);
}

// ---- Cholesky ----

namespace {

std::tuple<Tensor, Tensor> cholesky_factor(const Tensor& a, bool upper, ir::Checked check) {
  const engine::Value v = record_on(ir::Op::cholesky, {upper ? a.mT() : a}, ir::Cholesky{check});
  return {column_major(upper ? wrap(v).mT() : wrap(v)), wrap(v.with_result(1))};
}

}  // namespace

Tensor linalg::cholesky(const In& A, bool upper) {
  const GradientScope scope(GradientName::LinalgCholeskyExBackward0);
  const SourceLine line(A.where());
  if (const Tensor& a = square_matrices(A, "linalg.cholesky"); is_complex(a.dtype()))
    return column_major(complex_cholesky(a, upper, [](const Tensor& real) { return linalg::cholesky(real); }));
  return std::get<0>(cholesky_factor(square_matrices(A, "linalg.cholesky"), upper, ir::Checked::cholesky));
}

std::tuple<Tensor, Tensor> linalg::cholesky_ex(const In& A, bool upper, bool check_errors) {
  const GradientScope scope(GradientName::LinalgCholeskyExBackward0);
  const SourceLine line(A.where());
  return cholesky_factor(square_matrices(A, "linalg.cholesky_ex"), upper, check_errors ? ir::Checked::cholesky : ir::Checked::none);
}

Tensor cholesky(const In& input, bool upper) {
  const SourceLine line(input.where());
  if (is_complex(square_matrices(input, "cholesky").dtype())) return linalg::cholesky(input, upper);
  return std::get<0>(cholesky_factor(square_matrices(input, "cholesky"), upper, ir::Checked::cholesky));
}

// ---- QR ----

std::tuple<Tensor, Tensor> linalg::qr(const In& A, std::string_view mode) {
  const GradientScope scope(GradientName::LinalgQrBackward0);
  const SourceLine line(A.where());
  const Tensor& a = factorized(A, "linalg.qr");
  require(mode == "reduced" || mode == "complete" || mode == "r",
          "qr received unrecognized mode '{}' but expected one of 'reduced' (default), 'r', or 'complete'", mode);
  const engine::Value v = record_on(ir::Op::qr, {a}, ir::Factor{lesser_size(a), mode == "complete"});
  return {mode == "r" ? zeros({0}, {a.dtype()}) : column_major(wrap(v)), column_major(wrap(v.with_result(1)))};
}

std::tuple<Tensor, Tensor> qr(const In& input, bool some) { return linalg::qr(input, some ? "reduced" : "complete"); }

// ---- SVD and eigenvalues ----

std::tuple<Tensor, Tensor, Tensor> linalg::svd(const In& A, bool full_matrices) {
  const GradientScope scope(GradientName::LinalgSvdBackward0);
  const SourceLine line(A.where());
  const Tensor& a = factorized(A, "linalg.svd");
  const engine::Value v = record_on(ir::Op::svd, {a}, ir::Factor{lesser_size(a), full_matrices});
  return {column_major(wrap(v)), wrap(v.with_result(1)), column_major(wrap(v.with_result(2)))};
}

Tensor linalg::svdvals(const In& A) {
  const SourceLine line(A.where());
  const Tensor& a = factorized(A, "linalg.svdvals");
  return is_complex(a.dtype()) ? complex_singular_values(a) : std::get<1>(linalg::svd(a, false));
}

std::tuple<Tensor, Tensor, Tensor> svd(const In& input, bool some, bool compute_uv) {
  const SourceLine line(input.where());
  const auto [u, s, vh] = linalg::svd(input, !some);
  if (compute_uv) return {u, s, vh.mT()};
  const auto nothing = [](const Tensor& t) {
    Sizes sizes = t.sizes();
    sizes.back() = sizes[sizes.size() - 2];
    return zeros(sizes, {t.dtype()});
  };
  return {nothing(u), s, column_major(nothing(vh.mT()))};
}

namespace {

// Whether it is the upper one.
bool triangle_named(std::string_view UPLO) {
  require(UPLO == "L" || UPLO == "U" || UPLO == "l" || UPLO == "u", "Expected UPLO argument to be 'L' or 'U', but got {}", UPLO);
  return UPLO == "U" || UPLO == "u";
}

}  // namespace

std::tuple<Tensor, Tensor> linalg::eigh(const In& A, std::string_view UPLO) {
  const GradientScope scope(GradientName::LinalgEighBackward0);
  const SourceLine line(A.where());
  const Tensor& a = square_matrices(A, "linalg.eigh");
  const engine::Value v = record_on(ir::Op::eigh, {a}, ir::Eigh{triangle_named(UPLO)});
  return {wrap(v), column_major(wrap(v.with_result(1)))};
}

Tensor linalg::eigvalsh(const In& A, std::string_view UPLO) {
  if (const Tensor& a = square_matrices(A, "linalg.eigvalsh"); is_complex(a.dtype())) {
    const SourceLine line(A.where());
    return complex_hermitian_values(a, triangle_named(UPLO));
  }
  return std::get<0>(eigh(A, UPLO));
}

}  // namespace braze
