// Eigenvalues of general matrices: PyTorch's formulas in pairs of reals. An eigenvector is only known up to a phase, and LAPACK's choice of
// it has no derivative here: the formulas are right for what does not depend on it.
#include "ir/error.h"
#include "passes/derivative_rules.h"

namespace braze::passes {

using namespace ir::formula;
using ir::Expr;
using ir::Expression;
using ir::Op;

namespace {

using ir::formula::dot;
using ir::formula::operator+;
using ir::formula::operator-;
using passes::diagonal;
using passes::diagonal_matrix;

struct Complex {
  Expr re, im;
};

Complex operator+(const Complex& a, const Complex& b) { return {a.re + b.re, a.im + b.im}; }
Complex operator-(const Complex& a, const Complex& b) { return {a.re - b.re, a.im - b.im}; }
Complex dot(const Complex& a, const Complex& b) { return {dot(a.re, b.re) - dot(a.im, b.im), dot(a.re, b.im) + dot(a.im, b.re)}; }
Complex adjoint(const Complex& a) { return {transpose(a.re), -transpose(a.im)}; }
Complex diagonal(const Complex& a) { return {diagonal(a.re), diagonal(a.im)}; }
Complex diagonal_matrix(const Complex& v) { return {diagonal_matrix(v.re), diagonal_matrix(v.im)}; }
// Each column by a real factor.
Complex scaled(const Complex& a, const Expr& factors) {
  const Expr f = rows(factors, a.re.shape()[a.re.rank() - 2]);
  return {a.re * f, a.im * f};
}

// Of a system a x = b of complex numbers, as one of twice as many reals: [re -im; im re].
Complex solve(const Complex& a, const Complex& b) {
  const std::size_t column = a.re.rank() - 1, row = column - 1;
  const std::int64_t n = a.re.shape()[row].number();
  const Expr matrix = concat(concat(a.re, -a.im, column, 2 * n), concat(a.im, a.re, column, 2 * n), row, 2 * n);
  const Expr lu = ir::formula::emit(Op::lu_factor, {matrix}, ir::LuFactor{2 * n, ir::Checked::none});
  const Expr x = ir::formula::emit(Op::lu_solve, {lu, lu.result(1), concat(b.re, b.im, row, 2 * n)}, ir::LuSolve{});
  return {narrow(x, row, 0, n), narrow(x, row, n, n)};
}

// x / (l[k] - l[j]) off the diagonal, by the conjugate where asked; zeros on it.
Complex divided(const Complex& x, const Complex& values, bool conjugate) {
  const Complex e{differences(values.re), conjugate ? -differences(values.im) : differences(values.im)};
  const Expr square = e.re * e.re + e.im * e.im;
  return {divided_off_diagonal(x.re * e.re + x.im * e.im, square), divided_off_diagonal(x.im * e.re - x.re * e.im, square)};
}

struct Eigen {
  Complex values, vectors;
};
Eigen eigen(const Application& a) {
  require<NotImplementedError>(a.operand(0).shape().back().is_number(),
                               "the derivative for 'eig' of matrices whose sizes are symbols is not implemented");
  return {{a.result(0), a.result(1)}, {a.result(2), a.result(3)}};
}

void pull_eig(const Application& a, std::span<const Expression> g, Cotangents& operands) {
  if (!operands.wants(0)) return;
  const Eigen f = eigen(a);
  const auto given = [&](std::size_t k) {
    return g[k] ? Expr{a.builder, g[k]} : zeros_like(a.result(static_cast<std::uint32_t>(k)));
  };
  Complex inner = diagonal_matrix(Complex{given(0), given(1)});
  if (g[2] || g[3]) {
    const Complex along = dot(adjoint(f.vectors), {given(2), given(3)});
    // Vectors have length 1: what changes it is taken out.
    const Complex kept = along - dot(adjoint(f.vectors), scaled(f.vectors, diagonal(along.re)));
    inner = inner + divided(kept, f.values, true);
  }
  const Complex vt = adjoint(f.vectors);
  operands.add(0, solve(vt, dot(inner, vt)).re);
}

void push_eig(const Application& a, std::span<const Expression> t, std::span<Expression> results) {
  const Eigen f = eigen(a);
  const Expr d{a.builder, t[0]};
  const Complex inner = solve(f.vectors, {dot(d, f.vectors.re), dot(d, f.vectors.im)});
  const Complex values = diagonal(inner), moved = dot(f.vectors, divided(inner, f.values, false));
  const Complex vectors = moved - scaled(f.vectors, diagonal(dot(adjoint(f.vectors), moved).re));
  results[0] = values.re.id();
  results[1] = values.im.id();
  results[2] = vectors.re.id();
  results[3] = vectors.im.id();
}

}  // namespace

constinit const Rule rule_eig = general(pull_eig, push_eig);

}  // namespace braze::passes
