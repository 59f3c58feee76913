// What is left over when a group's outputs are lowered is dropped, and its axes are joined.
#include <algorithm>

#include "passes/lowering.h"

namespace braze::passes::lowering {

namespace {

// Calls f with every affine that the nest uses, derived ones' operands included.
template <class F>
void each_affine(Nest& nest, const F& f) {
  for (Expr& expr : nest.exprs)
    if (has_affine(expr)) f(expr.affine);
  for (Derived& derived : nest.derived) f(derived.of);
  for (auto& guard : nest.guards)
    for (Condition& condition : guard) f(condition.index);
  for (Reduction& reduction : nest.reductions) f(reduction.position);
  for (Output& output : nest.outputs) f(output.address);
}

IndexId coefficient(const Affine& affine, Variable variable, IndexId zero) {
  for (const Affine::Term& term : affine.terms)
    if (term.variable == variable) return term.coefficient;
  return zero;
}

void drop_unused_guards(Nest& nest) {
  std::vector<std::vector<Condition>> guards{{}};
  for (Expr& expr : nest.exprs) {
    const auto& wanted = nest.guards[expr.guard];
    const auto at = std::find(guards.begin(), guards.end(), wanted);
    expr.guard = static_cast<GuardId>(at - guards.begin());
    if (at == guards.end()) guards.push_back(wanted);
  }
  nest.guards = std::move(guards);
}

// Quotients and remainders that something reads, in an order where each reads earlier ones only, and the affines in use.
void compact_affines(Nest& nest) {
  std::vector<bool> live(nest.derived.size());
  const auto mark = [&](const AffineId id) {
    for (const Affine::Term& term : nest.affines[id].terms)
      if (term.variable >= derived_base) live[term.variable - derived_base] = true;
  };
  const std::vector<Derived> derived = std::move(nest.derived);
  nest.derived.clear();
  each_affine(nest, [&](AffineId& id) { mark(id); });
  for (std::size_t i = derived.size(); i-- > 0;)
    if (live[i]) mark(derived[i].of);
  std::vector<Variable> renamed(derived.size());
  for (std::size_t i = 0; i < derived.size(); ++i) {
    renamed[i] = derived_base + static_cast<Variable>(nest.derived.size());
    if (live[i]) nest.derived.push_back(derived[i]);
  }
  const std::vector<Affine> affines = std::move(nest.affines);
  nest.affines.clear();
  std::vector<AffineId> place(affines.size(), ~AffineId{0});
  each_affine(nest, [&](AffineId& id) {
    if (place[id] == ~AffineId{0}) {
      place[id] = static_cast<AffineId>(nest.affines.size());
      nest.affines.push_back(affines[id]);
      for (Affine::Term& term : nest.affines.back().terms)
        if (term.variable >= derived_base) term.variable = renamed[term.variable - derived_base];
    }
    id = place[id];
  });
}

// Joins axis `outer` and the next one if every address steps through both as through one.
bool collapse(Nest& nest, IndexTable& index, Variable outer) {
  const Variable inner = outer + 1;
  if (nest.axes[outer].reduced != nest.axes[inner].reduced) return false;
  const IndexId zero = index.number(0), extent = nest.axes[inner].extent;
  for (const Affine& affine : nest.affines)
    if (coefficient(affine, outer, zero) != index.mul(coefficient(affine, inner, zero), extent)) return false;
  nest.axes[outer].extent = index.mul(nest.axes[outer].extent, extent);
  nest.axes.erase(nest.axes.begin() + inner);
  for (Affine& affine : nest.affines) {
    InlineVector<Affine::Term, 4> terms;
    for (Affine::Term term : affine.terms) {
      if (term.variable == outer) continue;
      if (term.variable >= inner && term.variable < derived_base) --term.variable;
      terms.push_back(term);
    }
    affine.terms = terms;
  }
  return true;
}

void collapse_axes(Nest& nest, IndexTable& index) {
  if (!nest.contractions.empty()) return;
  for (std::size_t i = nest.axes.size(); i-- > 0;)
    if (i + 1 < nest.axes.size()) collapse(nest, index, static_cast<Variable>(i));
}

// A reduction's stage is one past those that its operand reads.
void number_stages(Nest& nest) {
  std::vector<std::uint32_t> stage(nest.exprs.size());
  for (std::size_t i = 0; i < nest.exprs.size(); ++i) {
    const Expr& expr = nest.exprs[i];
    for (const ExprId in : expr.in) stage[i] = std::max(stage[i], stage[in]);
    if (expr.kind != Expr::Kind::reduced || expr.number == contraction_number) continue;
    Reduction& reduction = nest.reductions[expr.number];
    reduction.stage = stage[reduction.operand] + 1;
    stage[i] = reduction.stage;
  }
}

}  // namespace

void tidy(Nest& nest, IndexTable& index) {
  drop_unused_guards(nest);
  compact_affines(nest);
  collapse_axes(nest, index);
  number_stages(nest);
}

}  // namespace braze::passes::lowering
