// dot and linear algebra, over the last two axes. A factorization's rules hold where its factors are unique: PyTorch's formulas
// (torch/csrc/autograd/FunctionsManual.cpp), for reals. Written: A^T as transpose(A), elementwise products as *, and
// cotangents g_, tangents d_.
#include "ir/error.h"
#include "passes/derivative_rules.h"

namespace braze::passes {

using namespace ir::formula;
using ir::Expr;
using ir::Expression;
using ir::Extent;
using ir::Op;
using ir::Shape;

namespace {

using Results = std::span<const Expression>;
using Tangents = std::span<const Expression>;

Expr given(const Application& a, Results all, std::size_t k) { return all[k] ? Expr{a.builder, all[k]} : Expr{}; }

Extent row_count(const Expr& x) { return x.shape()[x.rank() - 2]; }
Extent column_count(const Expr& x) { return x.shape()[x.rank() - 1]; }
Expr row_index(const Expr& x) { return index_along(x.builder(), x.shape(), x.rank() - 2); }
Expr column_index(const Expr& x) { return index_along(x.builder(), x.shape(), x.rank() - 1); }

Expr half_diagonal(const Expr& x) { return where(on_diagonal(x), x / 2.0, x); }
Expr symmetric(const Expr& x) { return (x + transpose(x)) / 2.0; }
Expr skew(const Expr& x) { return x - transpose(x); }
Expr identity_like(const Expr& x) { return cast(on_diagonal(x), x.dtype()); }
Expr diagonal_added(const Expr& x, const Expr& v) { return !v ? x : plus(x, diagonal_matrix(v)); }

Expr solve(const Expr& a, const Expr& b, const ir::SolveTriangular& how) {
  return ir::formula::emit(Op::solve_triangular, {a, b}, how);
}
constexpr ir::SolveTriangular upper_left{.upper = true}, lower_left{}, upper_right{.upper = true, .left = false},
    lower_right{.left = false}, unit_lower_left{.unit = true}, unit_upper_left{.upper = true, .unit = true};

// ---- dot

// In which order the products of its derivative are added, those for the left factor and those for the right one. `how` tells how a row's or
// a column's matrix lies; what is transposed lies the other way, and a cotangent is dense.
std::pair<ir::Dot, ir::Dot> orders_of_gradients(const Shape& left, const Shape& right, ir::Dot how) {
  using enum ir::Dot::Order;
  const std::size_t rank = left.size();
  const bool one_row = left[rank - 2] == Extent(1), one_column = right[rank - 1] == Extent(1),
             one_term = left[rank - 1] == Extent(1);
  const ir::Dot turned{how.order == inner ? outer : inner};
  std::pair<ir::Dot, ir::Dot> orders;
  if (one_row && !one_column)
    orders.first = turned;  // [1, n] by [n, k]
  else if (one_term && !one_column)
    orders.first = {inner};  // [m, n] by [n, 1]
  if (one_column && !one_row)
    orders.second = turned;  // [k, m] by [m, 1]
  else if (one_term && !one_row)
    orders.second = {outer};  // [1, m] by [m, n]
  return orders;
}

void pull_dot(const Application& a, Results g, Cotangents& operands) {
  const Expr out{a.builder, g[0]};
  const auto [left, right] = orders_of_gradients(a.operand(0).shape(), a.operand(1).shape(), a.as<ir::Dot>());
  if (operands.wants(0)) operands.add(0, dot(out, transpose(a.operand(1)), left));
  if (operands.wants(1)) operands.add(1, dot(transpose(a.operand(0)), out, right));
}
void push_dot(const Application& a, Tangents t, std::span<Expression> results) {
  Expr total;
  const auto how = a.as<ir::Dot>();
  if (t[0]) total = dot({a.builder, t[0]}, a.operand(1), how);
  if (t[1]) total = plus(total, dot(a.operand(0), {a.builder, t[1]}, how));
  results[0] = total.id();
}

// ---- triangles

void pull_cholesky(const Application& a, Results g, Cotangents& operands) {
  if (!operands.wants(0)) return;
  const Expr l = a.result();
  const Expr phi = half_diagonal(lower_part(dot(transpose(l), {a.builder, g[0]})));
  operands.add(0, symmetric(solve(l, solve(transpose(l), phi, upper_left), lower_right)));
}
void push_cholesky(const Application& a, Tangents t, std::span<Expression> results) {
  const Expr l = a.result(), d{a.builder, t[0]};
  const Expr inner = solve(transpose(l), solve(l, d, lower_left), upper_right);
  results[0] = dot(l, half_diagonal(lower_part(inner))).id();
}

Expr triangle(const Expr& x, const ir::SolveTriangular& s) { return s.upper ? upper_part(x, s.unit) : lower_part(x, s.unit); }

void pull_solve_triangular(const Application& a, Results g, Cotangents& operands) {
  const auto& s = a.as<ir::SolveTriangular>();
  ir::SolveTriangular adjoint = s;
  adjoint.upper = !s.upper;
  const Expr x = a.result(), g_b = solve(transpose(a.operand(0)), {a.builder, g[0]}, adjoint);
  operands.add(1, g_b);
  if (operands.wants(0)) operands.add(0, triangle(-(s.left ? dot(g_b, transpose(x)) : dot(transpose(x), g_b)), s));
}
void push_solve_triangular(const Application& a, Tangents t, std::span<Expression> results) {
  const auto& s = a.as<ir::SolveTriangular>();
  const Expr x = a.result();
  Expr right = given(a, t, 1);
  if (const Expr d = given(a, t, 0)) {
    const Expr triangular = triangle(d, s);
    right = plus(right, -(s.left ? dot(triangular, x) : dot(x, triangular)));
  }
  results[0] = solve(a.operand(0), right, s).id();
}

// ---- LU: a = p l u, held as one matrix

Expr times_unit_lower(const Expr& lu, const Expr& x) { return dot(lower_part(lu, 1) + identity_like(lu), x); }

// p x, or p^T x: a solution with factors that are ones.
Expr permuted(const Expr& pivots, const Expr& x, bool transposed) {
  const Extent n = row_count(x);
  Shape square = x.shape();
  square[x.rank() - 1] = n;
  const Expr one = identity_like(zeros(x.builder(), {x.dtype(), square}));
  return ir::formula::emit(Op::lu_solve, {one, pivots, x}, ir::LuSolve{!transposed});
}
// Pivots name `rank` of the rows; the rows after them stay, so that the permutation of all of them has those for pivots themselves.
Expr all_pivots(const Expr& pivots, Extent rows) {
  const std::size_t axis = pivots.rank() - 1;
  if (pivots.shape()[axis] == rows) return pivots;
  Shape shape = pivots.shape();
  const std::int64_t rank = shape[axis].number();
  shape[axis] = rows.number() - rank;
  const Expr rest = index_along(pivots.builder(), shape, axis) + splat(pivots.builder(), DType::i64, shape, rank + 1);
  return concat(pivots, cast(rest, DType::i32), axis, rows);
}

// The shape of a factorized matrix, whose rectangular forms need numbers.
struct Cut {
  Extent rows, columns, rank;
  bool tall() const { return rows != rank; }
  bool wide() const { return columns != rank; }
};
Cut cut_of(const Application& a, Extent rank) {
  Cut cut{row_count(a.operand(0)), column_count(a.operand(0)), rank};
  if (cut.rows == cut.columns) cut.rank = cut.rows;
  require<NotImplementedError>(!(cut.tall() || cut.wide()) || (cut.rows.is_number() && cut.columns.is_number()),
                               "the derivative for '{}' of matrices whose sizes are symbols is implemented for square ones alone",
                               ir::name(a.op));
  return cut;
}
Expr first_rows(const Expr& x, Extent n) { return narrow(x, x.rank() - 2, 0, n); }
Expr first_columns(const Expr& x, Extent n) { return narrow(x, x.rank() - 1, 0, n); }
Expr other_rows(const Expr& x, Extent n) { return narrow(x, x.rank() - 2, n, row_count(x).number() - n.number()); }
Expr other_columns(const Expr& x, Extent n) { return narrow(x, x.rank() - 1, n, column_count(x).number() - n.number()); }

void pull_lu_factor(const Application& a, Results results, Cotangents& operands) {
  if (!operands.wants(0) || !results[0]) return;
  const Cut cut = cut_of(a, a.as<ir::LuFactor>().rank);
  const Expr g{a.builder, results[0]}, lu = a.result(0), pivots = a.result(1);
  const Expr core = first_columns(first_rows(lu, cut.rank), cut.rank);
  Expr g_l = first_columns(first_rows(g, cut.rank), cut.rank), g_u = g_l, beside;
  if (cut.wide()) {  // a2 = l u2
    const Expr u2 = other_columns(lu, cut.rank);
    beside = solve(transpose(core), other_columns(g, cut.rank), unit_upper_left);
    g_l = g_l - dot(beside, transpose(u2));
  } else if (cut.tall()) {  // a2 = l2 u
    const Expr l2 = other_rows(lu, cut.rank);
    beside = solve(transpose(core), other_rows(g, cut.rank), lower_right);
    g_u = g_u - dot(transpose(l2), beside);
  }
  // l^-T (strictly_lower(l^T g_l) + upper(g_u u^T)) u^-T
  const Expr l = lower_part(core, 1) + identity_like(core);
  const Expr phi =
      lower_part(dot(transpose(l), lower_part(g_l, 1)), 1) + upper_part(dot(upper_part(g_u), transpose(upper_part(core))));
  Expr g_a = solve(transpose(core), solve(transpose(core), phi, lower_right), unit_upper_left);
  if (beside) g_a = concat(g_a, beside, g_a.rank() - (cut.wide() ? 1 : 2), cut.wide() ? cut.columns : cut.rows);
  operands.add(0, permuted(all_pivots(pivots, cut.rows), g_a, false));
}

void push_lu_factor(const Application& a, Tangents t, std::span<Expression> results) {
  const Cut cut = cut_of(a, a.as<ir::LuFactor>().rank);
  const Expr lu = a.result(0), d = permuted(all_pivots(a.result(1), cut.rows), {a.builder, t[0]}, true);
  const Expr core = first_columns(first_rows(lu, cut.rank), cut.rank);
  const Expr d_core = first_columns(first_rows(d, cut.rank), cut.rank);
  const Expr inner = solve(core, solve(core, d_core, unit_lower_left), upper_right);
  const Expr d_l = times_unit_lower(core, lower_part(inner, 1)), d_u = dot(upper_part(inner), upper_part(core));
  Expr all = lower_part(d_l, 1) + upper_part(d_u);
  if (cut.wide()) {
    const Expr right = other_columns(d, cut.rank) - dot(lower_part(d_l, 1), other_columns(lu, cut.rank));
    all = concat(all, solve(core, right, unit_lower_left), all.rank() - 1, cut.columns);
  } else if (cut.tall()) {
    const Expr right = other_rows(d, cut.rank) - dot(other_rows(lu, cut.rank), upper_part(d_u));
    all = concat(all, solve(core, right, upper_right), all.rank() - 2, cut.rows);
  }
  results[0] = all.id();
}

Expr lu_solve(const Expr& lu, const Expr& pivots, const Expr& b, bool transposed) {
  return ir::formula::emit(Op::lu_solve, {lu, pivots, b}, ir::LuSolve{transposed});
}

// p l u x = b, or its transpose u^T l^T z = b with z = p^T x.
void pull_lu_solve(const Application& a, Results results, Cotangents& operands) {
  const bool transposed = a.as<ir::LuSolve>().transposed;
  const Expr lu = a.operand(0), pivots = a.operand(1), x = a.result(), g{a.builder, results[0]};
  operands.add(2, lu_solve(lu, pivots, g, !transposed));
  if (!operands.wants(0)) return;
  Expr g_l, g_u;
  if (!transposed) {
    const Expr w = solve(transpose(lu), g, lower_left), g_y = solve(transpose(lu), w, unit_upper_left);
    g_u = -dot(w, transpose(x));
    g_l = -dot(g_y, transpose(dot(upper_part(lu), x)));
  } else {
    const Expr z = permuted(pivots, x, true), uv = solve(lu, permuted(pivots, g, true), unit_lower_left);
    const Expr v = solve(lu, uv, upper_left), l = lower_part(lu, 1) + identity_like(lu);
    g_u = -dot(dot(transpose(l), z), transpose(v));
    g_l = -dot(z, transpose(uv));
  }
  operands.add(0, lower_part(g_l, 1) + upper_part(g_u));
}

void push_lu_solve(const Application& a, Tangents t, std::span<Expression> results) {
  const bool transposed = a.as<ir::LuSolve>().transposed;
  const Expr lu = a.operand(0), pivots = a.operand(1), x = a.result();
  Expr total;
  if (const Expr d_b = given(a, t, 2)) total = lu_solve(lu, pivots, d_b, transposed);
  if (const Expr d = given(a, t, 0)) {
    const Expr d_l = lower_part(d, 1), d_u = upper_part(d);
    if (!transposed) {
      const Expr left = solve(lu, dot(d_l, dot(upper_part(lu), x)), unit_lower_left) + dot(d_u, x);
      total = plus(total, -solve(lu, left, upper_left));
    } else {
      const Expr z = permuted(pivots, x, true), l = lower_part(lu, 1) + identity_like(lu);
      const Expr right = dot(transpose(d_u), dot(transpose(l), z)) + dot(transpose(upper_part(lu)), dot(transpose(d_l), z));
      total = plus(total, -lu_solve(lu, pivots, right, true));
    }
  }
  results[0] = total.id();
}

// ---- QR

Cut qr_cut(const Application& a) {
  const auto& f = a.as<ir::Factor>();
  const Cut cut = cut_of(a, f.rank);
  require<NotImplementedError>(!f.full || !cut.tall(),
                               "The QR decomposition is not differentiable when mode='complete' and nrows > ncols");
  return cut;
}

// Of a = q r with r square: (g_q + q sym(r g_r^T - g_q^T q)) r^-T, sym from the lower triangle.
Expr pulled_square_qr(const Expr& q, const Expr& r, const Expr& g_q, const Expr& g_r) {
  Expr m;
  if (g_r) m = dot(r, transpose(g_r));
  if (g_q) m = plus(m, -dot(transpose(g_q), q));
  const Expr sym = lower_part(m) + transpose(lower_part(m, 1));
  return solve(transpose(r), plus(g_q, dot(q, sym)), lower_right);
}

void pull_qr(const Application& a, Results results, Cotangents& operands) {
  if (!operands.wants(0)) return;
  const Cut cut = qr_cut(a);
  const Expr q = a.result(0), r = a.result(1);
  Expr g_q = given(a, results, 0), g_r = given(a, results, 1);
  if (g_r) g_r = upper_part(g_r);
  if (!cut.wide()) return operands.add(0, pulled_square_qr(q, r, g_q, g_r));
  // a = [q u, y] with v = q^T y
  Expr g_y;
  if (g_r) {
    const Expr g_v = other_columns(g_r, cut.rank);
    g_y = dot(q, g_v);
    g_q = plus(g_q, dot(other_columns(a.operand(0), cut.rank), transpose(g_v)));
    g_r = first_columns(g_r, cut.rank);
  }
  const Expr g_x = pulled_square_qr(q, first_columns(r, cut.rank), g_q, g_r);
  if (!g_y) g_y = zeros_like(other_columns(a.operand(0), cut.rank));
  operands.add(0, concat(g_x, g_y, g_x.rank() - 1, cut.columns));
}

void push_qr(const Application& a, Tangents t, std::span<Expression> results) {
  const Cut cut = qr_cut(a);
  const Expr q = a.result(0), r = first_columns(a.result(1), cut.rank), d{a.builder, t[0]};
  const Expr c = solve(r, first_columns(d, cut.rank), upper_right);
  const Expr b = dot(transpose(q), c);
  const Expr turn = skew(lower_part(b, 1));
  const Expr d_q = dot(q, turn) + (c - dot(q, b));
  Expr d_r = upper_part(dot(b - turn, r));
  if (cut.wide()) {
    const Expr d_v = dot(transpose(d_q), other_columns(a.operand(0), cut.rank)) + dot(transpose(q), other_columns(d, cut.rank));
    d_r = concat(d_r, d_v, d_r.rank() - 1, cut.columns);
  }
  results[0] = d_q.id();
  results[1] = d_r.id();
}

// ---- eigenvalues and singular values

void pull_eigh(const Application& a, Results results, Cotangents& operands) {
  if (!operands.wants(0)) return;
  const Expr values = a.result(0), v = a.result(1);
  const Expr g_values = given(a, results, 0), g_v = given(a, results, 1);
  if (!g_v) return operands.add(0, dot(v * rows(g_values, row_count(v)), transpose(v)));
  const Expr inner = divided_off_diagonal(dot(transpose(v), g_v), differences(values));
  operands.add(0, symmetric(dot(v, dot(diagonal_added(inner, g_values), transpose(v)))));
}

void push_eigh(const Application& a, Tangents t, std::span<Expression> results) {
  const Expr values = a.result(0), v = a.result(1);
  const Expr inner = dot(transpose(v), dot({a.builder, t[0]}, v));
  results[0] = diagonal(inner).id();
  results[1] = dot(v, divided_off_diagonal(inner, differences(values))).id();
}

struct Singular {
  Expr u, s, vt;  // thin
  Extent rows, columns, rank;
};
Singular singular(const Application& a) {
  const Extent rank = a.as<ir::Factor>().rank;
  return {first_columns(a.result(0), rank), a.result(1), first_rows(a.result(2), rank), row_count(a.operand(0)),
          column_count(a.operand(0)),       rank};
}

// u (skew(u^T g_u) / e s + s skew(v^T g_v) / e + g_s) v^T, and what g_u and g_v have outside the span of u and of v.
void pull_svd(const Application& a, Results results, Cotangents& operands) {
  if (!operands.wants(0)) return;
  const Singular f = singular(a);
  Expr g_u = given(a, results, 0), g_vt = given(a, results, 2);
  const Expr g_s = given(a, results, 1);
  if (g_u) g_u = first_columns(g_u, f.rank);
  if (g_vt) g_vt = first_rows(g_vt, f.rank);
  if (!g_u && !g_vt) return operands.add(0, dot(f.u * rows(g_s, f.rows), f.vt));
  const Expr e = differences(f.s * f.s);
  Expr inner;
  if (g_u) inner = divided_off_diagonal(skew(dot(transpose(f.u), g_u)), e) * rows(f.s, f.rank);
  if (g_vt) inner = plus(inner, columns(f.s, f.rank) * divided_off_diagonal(skew(dot(f.vt, transpose(g_vt))), e));
  inner = diagonal_added(inner, g_s);
  Expr g_a = dot(f.u, dot(inner, f.vt));
  if (g_u && f.rows != f.rank) {
    const Expr scaled = g_u / rows(f.s, f.rows);
    g_a = g_a + dot(scaled - dot(f.u, dot(transpose(f.u), scaled)), f.vt);
  }
  if (g_vt && f.columns != f.rank) {
    const Expr scaled = g_vt / columns(f.s, f.columns);
    g_a = g_a + dot(f.u, scaled - dot(dot(scaled, transpose(f.vt)), f.vt));
  }
  operands.add(0, g_a);
}

void push_svd(const Application& a, Tangents t, std::span<Expression> results) {
  const Singular f = singular(a);
  require<NotImplementedError>(!a.as<ir::Factor>().full || (f.rows == f.rank && f.columns == f.rank),
                               "the forward derivative for 'svd' is implemented for full_matrices=False alone");
  const Expr d{a.builder, t[0]}, v = transpose(f.vt);
  const Expr d_v = dot(d, v), inner = dot(transpose(f.u), d_v), e = differences(f.s * f.s);
  const Expr right = inner * rows(f.s, f.rank), left = inner * columns(f.s, f.rank);
  Expr u = dot(f.u, divided_off_diagonal(right + transpose(right), e));
  Expr vt = transpose(dot(v, divided_off_diagonal(left + transpose(left), e)));
  if (f.rows != f.rank) u = u + (d_v - dot(f.u, inner)) / rows(f.s, f.rows);
  if (f.columns != f.rank) {
    const Expr u_d = dot(transpose(f.u), d);
    vt = vt + (u_d - dot(inner, f.vt)) / columns(f.s, f.columns);
  }
  results[0] = u.id();
  results[1] = diagonal(inner).id();
  results[2] = vt.id();
}

}  // namespace

Expr plus(const Expr& a, const Expr& b) { return !a ? b : !b ? a : a + b; }
Expr divided_off_diagonal(const Expr& x, const Expr& e) {
  const Expr diagonal = on_diagonal(x);
  return where(diagonal, 0.0, x / where(diagonal, 1.0, e));
}
Expr differences(const Expr& v) {
  const Extent n = v.shape().back();
  return rows(v, n) - columns(v, n);
}
Expr on_diagonal(const Expr& x) { return row_index(x) == column_index(x); }
Expr lower_part(const Expr& x, int below) {
  return where(below ? row_index(x) > column_index(x) : row_index(x) >= column_index(x), x, 0.0);
}
Expr upper_part(const Expr& x, int above) {
  return where(above ? row_index(x) < column_index(x) : row_index(x) <= column_index(x), x, 0.0);
}
Expr rows(const Expr& v, Extent n) {
  Shape shape = v.shape();
  shape.insert(v.rank() - 1, 1);
  const Expr row = reshape(v, shape);
  shape[v.rank() - 1] = n;
  return expand(row, shape);
}
Expr columns(const Expr& v, Extent n) {
  Shape shape = v.shape();
  shape.push_back(1);
  const Expr column = reshape(v, shape);
  shape.back() = n;
  return expand(column, shape);
}
Expr diagonal(const Expr& x) { return sum(where(on_diagonal(x), x, 0.0), std::uint64_t{1} << (x.rank() - 1)); }
Expr diagonal_matrix(const Expr& v) {
  const Expr square = rows(v, v.shape().back());
  return where(on_diagonal(square), square, 0.0);
}

constinit const Rule rule_dot = general(pull_dot, push_dot);
constinit const Rule rule_cholesky = general(pull_cholesky, push_cholesky);
constinit const Rule rule_lu_factor = general(pull_lu_factor, push_lu_factor);
constinit const Rule rule_lu_solve = general(pull_lu_solve, push_lu_solve);
constinit const Rule rule_solve_triangular = general(pull_solve_triangular, push_solve_triangular);
constinit const Rule rule_qr = general(pull_qr, push_qr);
constinit const Rule rule_svd = general(pull_svd, push_svd);
constinit const Rule rule_eigh = general(pull_eigh, push_eigh);

}  // namespace braze::passes
