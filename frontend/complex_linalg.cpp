// Linear algebra of complex matrices by way of real ones. With each element a + ib replaced by the block [a -b; b a], sums, products,
// adjoints and inverses of matrices become those of the larger real ones, so that LAPACK's real routines solve, invert and factorize.
// Singular values and eigenvalues come twice each; the Cholesky factor of the blocks is the blocks of the Cholesky factor, since
// both are the only ones with a positive diagonal. What is not unique (Q of a singular matrix, eigenvectors) has no such form.
#include "frontend/complex.h"
#include "frontend/factorizations.h"
#include "frontend/source_line.h"

#include "braze/functions.h"
#include "frontend/autograd/names.h"

namespace braze {

namespace {

// Sizes with the last two replaced.
Sizes with_last(const Tensor& x, Sizes last) {
  Sizes sizes = x.sizes();
  sizes.resize(sizes.size() - 2);
  sizes.insert(sizes.end(), last.begin(), last.end());
  return sizes;
}

// Every other element: of values that come twice.
Tensor once_each(const Tensor& values) { return values.slice(-1, 0, std::nullopt, 2).contiguous(); }

// The whole of a matrix of which one triangle is given.
Tensor hermitian(const Tensor& a, bool upper) {
  const Tensor half = upper ? a.triu(1) : a.tril(-1);
  return half + half.mH() + a.diagonal(0, -2, -1).real().to(a.dtype()).diag_embed();
}

}  // namespace

Tensor real_blocks(const Tensor& a) {
  const Parts z = parts_of(a, component_type(a.dtype()));
  const Tensor top = stack({z.re, neg(z.im)}, -1), bottom = stack({z.im, z.re}, -1);
  return stack({top, bottom}, -3).reshape(with_last(a, {2 * a.size(-2), 2 * a.size(-1)}));
}

Tensor from_real_blocks(const Tensor& blocks) {
  const Tensor split = blocks.reshape(with_last(blocks, {blocks.size(-2) / 2, 2, blocks.size(-1) / 2, 2}));
  return join({split.select(-3, 0).select(-1, 0), split.select(-3, 1).select(-1, 0)});
}

Tensor real_rows(const Tensor& b) {
  const Parts z = parts_of(b, component_type(b.dtype()));
  return stack({z.re, z.im}, -2).reshape(with_last(b, {2 * b.size(-2), b.size(-1)}));
}

Tensor from_real_rows(const Tensor& rows) {
  const Tensor split = rows.reshape(with_last(rows, {rows.size(-2) / 2, 2, rows.size(-1)}));
  return join({split.select(-2, 0), split.select(-2, 1)});
}

Tensor complex_cholesky(const Tensor& a, bool upper, Tensor (*factor)(const Tensor& real)) {
  const Tensor lower = from_real_blocks(factor(real_blocks(hermitian(a, upper))));
  return upper ? lower.mH().resolve_conj() : lower;
}

Tensor complex_singular_values(const Tensor& a) { return once_each(linalg::svdvals(real_blocks(a))); }

Tensor complex_hermitian_values(const Tensor& a, bool upper) {
  return once_each(linalg::eigvalsh(real_blocks(hermitian(a, upper))));
}

// ---- eigenvalues of real matrices, which are complex ----

std::tuple<Tensor, Tensor> linalg::eig(const In& A) {
  const GradientScope scope(GradientName::LinalgEigBackward0);
  const SourceLine line(A.where());
  const Tensor& a = square_matrices(A, "linalg.eig");
  const engine::Value v = record_on(ir::Op::eig, {a}, ir::None{});
  return {join({wrap(v), wrap(v.with_result(1))}), column_major(join({wrap(v.with_result(2)), wrap(v.with_result(3))}))};
}

Tensor linalg::eigvals(const In& A) { return std::get<0>(linalg::eig(A)); }

}  // namespace braze
