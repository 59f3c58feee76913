// Writes a nest's expressions into a kernel under construction. A schedule opens the loops, says what each axis is at the moment, and
// asks for values; scopes here follow the loops there, so that a value is computed once in the outermost loop where it is asked for.
#pragma once

#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "ir/loops.h"
#include "passes/nest.h"

namespace braze::passes {

using AxisSet = std::uint64_t;  // bit i: axis i, from 63 on bit 63

class NestEmitter {
 public:
  // Adds sizes, scalars and buffers to `lowered` as the kernel takes them.
  NestEmitter(const Nest& nest, const ir::Graph& graph, ir::IndexTable& index, Lowered& lowered);

  const Nest& nest() const { return nest_; }
  ir::KernelBuilder& builder() { return builder_; }
  ir::IndexTable& index() { return index_; }

  // Sizes as what a stride or an extent takes, and as an i64 value. Numbers stay numbers, so that back ends see contiguous accesses.
  ir::Size size(ir::IndexId id);
  ir::ValueId size_value(ir::IndexId id);
  // i64 arithmetic.
  ir::ValueId number(std::int64_t value) { return builder_.index_constant(value); }
  ir::ValueId add(ir::ValueId a, ir::ValueId b) { return arithmetic(ir::Primitive::add, a, b); }
  ir::ValueId sub(ir::ValueId a, ir::ValueId b) { return arithmetic(ir::Primitive::sub, a, b); }
  ir::ValueId mul(ir::ValueId a, ir::ValueId b) { return arithmetic(ir::Primitive::mul, a, b); }
  ir::ValueId quo(ir::ValueId a, ir::ValueId b) { return arithmetic(ir::Primitive::quo, a, b); }
  ir::ValueId rem(ir::ValueId a, ir::ValueId b) { return arithmetic(ir::Primitive::rem, a, b); }
  ir::ValueId min(ir::ValueId a, ir::ValueId b);
  ir::ValueId max(ir::ValueId a, ir::ValueId b);
  // The digits of `position` in the mixed radix of `extents`, outermost first.
  std::vector<ir::ValueId> digits(ir::ValueId position, std::span<const ir::IndexId> extents);

  ir::ValueId open(ir::LoopKind kind, ir::Size extent, std::int32_t step = 1);
  std::vector<ir::ValueId> close();
  // For a loop that somebody else opens and closes with builder(). What is in a scope that stands alone sees nothing of the scopes
  // around it: other axes are bound there, and all values are other ones. A scope that was left may be entered again, further in.
  struct Scope {
    bool alone = false;
    std::unordered_map<ExprId, ir::ValueId> values{};
    std::unordered_map<Variable, std::vector<ir::ValueId>> variables{};
    struct Part {
      std::vector<Variable> of;
      ir::ValueId value;
    };
    std::unordered_map<AffineId, Part> parts{};
  };
  void enter() { scopes_.emplace_back(); }
  void enter(Scope scope) { scopes_.push_back(std::move(scope)); }
  Scope leave() {
    Scope scope = std::move(scopes_.back());
    scopes_.pop_back();
    return scope;
  }
  // The axis is the sum of `parts` in the innermost open scope.
  void bind(Variable axis, std::vector<ir::ValueId> parts);
  // What these variables add to an address is `value` in the innermost open scope.
  void bind_part(AffineId address, std::vector<Variable> of, ir::ValueId value) {
    scopes_.back().parts[address] = {std::move(of), value};
  }

  // Values of what `roots` need. Operands that were computed in an open scope are reused.
  void compute(std::span<const ExprId> roots);
  // Of what `roots` need, what depends on none of `axes` and on no reduction that is still open.
  void compute_invariant(std::span<const ExprId> roots, AxisSet axes);
  bool has(ExprId expr) const;
  ir::ValueId value(ExprId expr);       // in its own type
  ir::ValueId wide_value(ExprId expr);  // halves as f32
  void define(ExprId expr, ir::ValueId value);
  AxisSet axes_of(ExprId expr) const { return axes_[expr]; }
  AxisSet axes_of_affine(AffineId affine) const { return affine_axes_[affine]; }

  ir::Access access(std::uint32_t buffer, AffineId address);
  ir::ValueId affine_value(AffineId affine);
  ir::ValueId variable_value(Variable v);  // where it is one value
  // Where the predicate holds, if it is a value.
  void store(const Output& output, ir::ValueId predicate = ir::no_value);
  // What may fault on the way to a put, and its place.
  void check(const Output& output);
  // What is out of range is left out and faults no more: an earlier kernel has checked it.
  void omit_checks() { checks_ = false; }
  std::uint32_t buffer(std::uint32_t nest_buffer);  // the kernel's number
  // A buffer that is not the graph's: number `temporary` of the module's.
  std::uint32_t temporary(ir::Value value, DType type, bool writes);

 private:
  const ir::ValueId* find(ExprId expr) const;
  const Scope::Part* part_of(AffineId address) const;
  ir::ValueId arithmetic(ir::Primitive op, ir::ValueId a, ir::ValueId b);
  const std::vector<ir::ValueId>& variable(Variable v);
  void compute_one(ExprId id);
  ir::ValueId guard_value(GuardId guard);
  ir::ValueId compare(ir::Primitive op, ir::ValueId a, ir::ValueId b);
  ir::ValueId logical(ir::Primitive op, ir::ValueId a, ir::ValueId b);
  ir::ValueId outside(ir::ValueId place, AffineId count);
  // Faults where the guard holds and the place is none of `count`.
  void check_place(ir::ValueId place, AffineId count, ir::ValueId guard);
  // The same; whether the place is one of `count`, and the guard holds.
  ir::ValueId within(ir::ValueId place, AffineId count, ir::ValueId guard);
  ir::ValueId combined(const Output& output, const ir::Access& at, ir::ValueId predicate);
  ir::ValueId convert(ir::ValueId value, DType to);
  bool reduction_open(ExprId expr) const;

  const Nest& nest_;
  const ir::Graph& graph_;
  ir::IndexTable& index_;
  Lowered& lowered_;
  ir::KernelBuilder builder_;
  bool checks_ = true;
  std::vector<Scope> scopes_{1};
  std::vector<AxisSet> axes_, affine_axes_;
  std::vector<std::uint32_t> buffers_;  // by the nest's number; ~0: not yet taken
  std::unordered_map<ir::IndexId, ir::ValueId> sizes_;
  std::unordered_map<std::uint32_t, ir::ValueId> scalars_;
};

}  // namespace braze::passes
