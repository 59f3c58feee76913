// ir::Builder over pending nodes: derivative rules write to it what a backward pass records.
#pragma once

#include "frontend/engine/engine.h"
#include "ir/builder.h"

namespace braze {

class NodeBuilder final : public ir::Builder {
 public:
  explicit NodeBuilder(ir::Location where) : where_(where) {}

  ir::Expression add(engine::Value value) {
    values_.push_back(std::move(value));
    return {static_cast<ir::NodeId>(values_.size() - 1), 0};
  }
  // What was added so far belongs to the forward pass.
  void end_forward() { forward_ = values_.size(); }
  // Whether a rule computed with one of those values; with one that is differentiable.
  bool read_forward() const { return read_forward_; }
  bool read_differentiable() const { return read_differentiable_; }

  engine::Value value(ir::Expression e) const {
    const engine::Value& v = values_[e.node];
    return e.result == 0 ? v : v.with_result(e.result);
  }
  const ir::Type& type(ir::Expression e) const override { return *values_[e.node]->types[values_[e.node].result() + e.result]; }
  ir::Expression emit(ir::Op op, std::span<const ir::Expression> in, ir::Attributes attributes) override {
    if (op == ir::Op::constant) return add(engine::constant(std::get<ir::Literal>(attributes)));
    std::vector<engine::Value> operands;
    for (const ir::Expression e : in) {
      operands.push_back(value(e));
      if (e.node >= forward_) continue;
      read_forward_ = true;
      read_differentiable_ = read_differentiable_ || looks_at_differentiable(operands.back(), 4);
    }
    if (std::holds_alternative<ir::None>(attributes)) return add(engine::record(op, operands, where_));
    return add(engine::record(op, operands, std::move(attributes), where_));
  }

 private:
  // Comparisons and indices are not differentiable themselves.
  static bool looks_at_differentiable(const engine::Value& value, int depth) {
    if (is_float(value.type().dtype) || depth == 0) return value.differentiable();
    for (const engine::Value& v : value->in())
      if (v && looks_at_differentiable(v, depth - 1)) return true;
    return false;
  }

  std::vector<engine::Value> values_;
  std::size_t forward_ = 0;
  bool read_forward_ = false, read_differentiable_ = false;
  ir::Location where_;
};

}  // namespace braze
