#include "frontend/autograd/replay.h"

#include "braze/autograd.h"
#include "frontend/autograd/node_builder.h"
#include "frontend/autograd/tracking.h"
#include "passes/batching.h"

namespace braze {

using engine::Node;
using engine::Value;

Value stand_in(engine::TypeRef type) {
  Value value = engine::placeholder(std::move(type));
  value->mark_as(Node::differentiable);
  return value;
}

Value stand_in(const Value& original) { return engine::identity(original, true); }

namespace {

// Whether derivatives begin at a differentiable node: at a leaf's identity, at another transform's stand-in.
bool begins(const Node& node) {
  if (!node.has(Node::differentiable)) return false;
  if (dynamic_cast<const AutogradMeta*>(node.gradient())) return true;
  if (node.gradient()) return false;
  for (const Value& v : node.in())
    if (v && v->has(Node::differentiable)) return false;
  return true;
}

}  // namespace

Trail::Trail(std::span<const Value> results, std::span<const Value> stand_ins) {
  struct Frame {
    Node* node;
    std::uint32_t next;
  };
  struct Seen {
    bool depends = false, otherwise = false;
  };
  std::unordered_map<const Node*, Seen> seen;
  for (const Value& v : stand_ins) {
    seen[v.node()] = {true, false};
    numbers_.emplace(v.node(), 0);
  }
  std::vector<Frame> stack;
  const auto enter = [&](Node* node) {
    if (seen.try_emplace(node).second) stack.push_back({node, 0});
  };
  for (const Value& result : results) {
    enter(result.node());
    while (!stack.empty()) {
      Frame& top = stack.back();
      if (top.next < top.node->operand_count) {
        if (const Value& operand = top.node->in()[top.next++]) enter(operand.node());
        continue;
      }
      Seen mine;
      mine.otherwise = begins(*top.node);
      for (const Value& v : top.node->in()) {
        if (!v) continue;
        const Seen& operand = seen.at(v.node());
        mine.depends |= operand.depends;
        mine.otherwise |= operand.otherwise && top.node->has(Node::differentiable);
      }
      seen[top.node] = mine;
      if (mine.depends) {
        numbers_.emplace(top.node, dependent_.size());
        dependent_.push_back(top.node);
      }
      stack.pop_back();
    }
    otherwise_ |= seen.at(result.node()).otherwise;
  }
}

namespace {

class Replayer {
 public:
  Replayer(std::span<const Value> stand_ins, std::span<const Replacement> replacements, std::int64_t size) : size_(size) {
    for (std::size_t i = 0; i < stand_ins.size(); ++i) made_[stand_ins[i].node()] = replacements[i];
  }

  void replay(Node& node) {
    const AutoGradMode mode(node.has(Node::differentiable) && is_grad_enabled());
    std::vector<Replacement> in;
    bool batched = false;
    for (const Value& v : node.in()) {
      in.push_back(now(v));
      batched |= in.back().batched;
    }
    if (is_identity(node)) {
      made_[&node] = {identity(node, in[0].value), batched};
      return;
    }
    NodeBuilder builder(node.location());
    const ir::Attributes attributes = engine::attributes_of(node);
    std::vector<ir::Expression> operands;
    for (const Replacement& r : in) operands.push_back(builder.add(r.value));
    if (!batched) {
      made_[&node] = {builder.value(builder.emit(node.op, operands, attributes)), false};
      return;
    }
    std::vector<const ir::Type*> types;
    std::vector<passes::Mapped> mapped;
    for (std::size_t k = 0; k < in.size(); ++k) {
      types.push_back(&node.in()[k].type());
      mapped.push_back({operands[k], in[k].batched});
    }
    made_[&node] = {builder.value(passes::batch({builder, node.op, attributes, types, mapped, size_})), true};
  }

  // What a value is now.
  Replacement now(const Value& v) const {
    const auto found = made_.find(v.node());
    if (found == made_.end()) return {v, false};
    return {v.result() == 0 ? found->second.value : found->second.value.with_result(v.result()), found->second.batched};
  }

 private:
  // What keeps derivatives apart, or is a user's: an op that does nothing.
  static bool is_identity(const Node& node) { return node.op == ir::Op::reshape && *node.types[0] == node.in()[0].type(); }

  static Value identity(const Node& node, const Value& value) {
    if (!node.has(Node::differentiable) || !is_grad_enabled()) return engine::identity(value, false);
    require<NotImplementedError>(
        !value.differentiable() || !has_own_derivative(node),
        "a derivative of this transform would pass through an autograd Function or a write that was made without "
        "grad mode; transforms know the derivatives of ops alone");
    return engine::identity(value, value.differentiable());
  }

  std::unordered_map<const Node*, Replacement> made_;  // of result 0
  std::int64_t size_;
};

}  // namespace

std::vector<Replacement> replay(std::span<const Value> results, std::span<const Value> stand_ins,
                                std::span<const Replacement> replacements, std::int64_t size) {
  const Trail trail(results, stand_ins);
  Replayer replayer(stand_ins, replacements, size);
  for (Node* node : trail.dependent()) replayer.replay(*node);
  std::vector<Replacement> out;
  for (const Value& v : results) out.push_back(replayer.now(v));
  return out;
}

}  // namespace braze
