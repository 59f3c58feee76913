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
  // Whether a rule computed with one of those values.
  bool read_forward() const { return read_forward_; }

  engine::Value value(ir::Expression e) const {
    const engine::Value& v = values_[e.node];
    return e.result == 0 ? v : v.with_result(e.result);
  }
  const ir::Type& type(ir::Expression e) const override { return *values_[e.node]->types[values_[e.node].result() + e.result]; }
  ir::Expression emit(ir::Op op, std::span<const ir::Expression> in, ir::Attributes attributes) override {
    if (op == ir::Op::constant) return add(engine::constant(std::get<ir::Literal>(attributes)));
    std::vector<engine::Value> operands;
    for (const ir::Expression e : in) {
      read_forward_ = read_forward_ || e.node < forward_;
      operands.push_back(value(e));
    }
    if (std::holds_alternative<ir::None>(attributes)) return add(engine::record(op, operands, where_));
    return add(engine::record(op, operands, std::move(attributes), where_));
  }

 private:
  std::vector<engine::Value> values_;
  std::size_t forward_ = 0;
  bool read_forward_ = false;
  ir::Location where_;
};

}  // namespace braze
