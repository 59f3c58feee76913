#include "frontend/autograd/replay.h"

#include <algorithm>

#include "braze/autograd.h"
#include "frontend/autograd/mapping.h"
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
      if (const Value* source = source_of_derivative(*top.node, top.next)) {
        ++top.next;
        if (*source) enter(source->node());
        continue;
      }
      Seen mine;
      mine.otherwise = begins(*top.node);
      for (std::size_t i = 0; const Value* v = source_of_derivative(*top.node, i); ++i) {
        if (!*v) continue;
        const Seen& operand = seen.at(v->node());
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

// A derivative of its own, of values in the place of others: the original is asked, and what it records is replayed.
class Replayed final : public CustomGradient {
 public:
  struct Place {
    bool batched = false;
    ir::Type original;
  };

  Replayed(CustomGradient& original, std::vector<Value> stand_ins, std::vector<Replacement> replacements, std::int64_t size)
      : original_(&original), stand_ins_(std::move(stand_ins)), replacements_(std::move(replacements)), size_(size) {
    original_->retain();
  }
  ~Replayed() override { original_->drop(); }

  void add_input(const Value& original, const Replacement& now) {
    inputs.push_back(original ? now.value : Value());
    inputs_.push_back(original ? Place{now.batched, original.type()} : Place{});
  }
  bool any_batched_input() const {
    return std::any_of(inputs_.begin(), inputs_.end(), [](const Place& p) { return p.batched; });
  }
  void add_output(std::uint32_t number, bool batched, const ir::Type& original, const Value& now) {
    if (outputs.size() <= number) {
      outputs.resize(number + 1);
      outputs_.resize(number + 1);
    }
    outputs[number] = now.type_ref();
    outputs_[number] = {batched, original};
  }

  std::string name() const override { return original_->name(); }
  bool reads_values() const override { return original_->reads_values(); }

  std::vector<Value> pull(std::span<const Value> cotangents) override {
    return ask(cotangents, outputs_, original_->outputs.size(), inputs_,
               [&](std::span<const Value> v) { return original_->pull(v); });
  }
  std::vector<Value> push(std::span<const Value> tangents) override {
    return ask(tangents, inputs_, inputs_.size(), outputs_, [&](std::span<const Value> v) { return original_->push(v); });
  }

 private:
  template <class Rule>
  std::vector<Value> ask(std::span<const Value> given, std::span<const Place> from, std::size_t count, std::span<const Place> to,
                         Rule rule) const {
    std::vector<Value> elements(count);
    if (size_ == 0) {
      std::copy(given.begin(), given.end(), elements.begin());
      std::vector<Value> found;
      for (const Replacement& r :
           replayed(rule(elements), [&](std::span<const Value> v) { return braze::replay(v, stand_ins_, replacements_); }))
        found.push_back(r.value);
      return found;
    }
    Mapping mapping(size_, func::Randomness::error, stand_ins_, replacements_);
    for (std::size_t k = 0; k < given.size(); ++k)
      if (given[k]) elements[k] = from[k].batched ? mapping.inside(given[k]) : given[k];
    const std::vector<Value> one = rule(elements);
    const Mapping::Outside scope(mapping);
    std::vector<Value> found;
    for (const Replacement& r : replayed(one, [&](std::span<const Value> v) { return mapping.outside(v); })) {
      const std::size_t k = found.size();
      found.push_back(r.value && k < to.size() ? fitting(r, to[k]) : Value());
    }
    return found;
  }

  // Of those that are there.
  template <class Replay>
  static std::vector<Replacement> replayed(const std::vector<Value>& values, Replay replay) {
    std::vector<Value> there;
    for (const Value& v : values)
      if (v) there.push_back(v);
    std::vector<Replacement> all(values.size());
    std::size_t next = 0;
    const std::vector<Replacement> now = replay(there);
    for (std::size_t k = 0; k < values.size(); ++k)
      if (values[k]) all[k] = now[next++];
    return all;
  }

  // For all elements if the place is; else the elements' sum.
  Value fitting(const Replacement& r, const Place& place) const {
    if (r.batched == place.batched) return r.value;
    if (!r.batched) {
      Dims sizes{size_};
      for (const std::int64_t n : sizes_of(place.original)) sizes.push_back(n);
      return expand(r.value, sizes, {});
    }
    return read(checked(wrap(r.value).sum(0)), {});
  }

  CustomGradient* original_;
  std::vector<Value> stand_ins_;
  std::vector<Replacement> replacements_;
  std::int64_t size_;
  std::vector<Place> inputs_, outputs_;
};

class Replayer {
 public:
  Replayer(std::span<const Value> stand_ins, std::span<const Replacement> replacements, std::int64_t size)
      : stand_ins_(stand_ins), replacements_(replacements), size_(size) {
    for (std::size_t i = 0; i < stand_ins.size(); ++i) made_[stand_ins[i].node()] = replacements[i];
  }
  ~Replayer() {
    for (const auto& [original, now] : customs_) now->drop();
  }
  Replayer(const Replayer&) = delete;

  void replay(Node& node) {
    const AutoGradMode mode(node.has(Node::differentiable) && is_grad_enabled());
    if (const CustomOutput* own = own_derivative(node)) {
      made_[&node] = with_own_derivative(node, *own);
      return;
    }
    std::vector<Replacement> in;
    bool batched = false;
    for (const Value& v : node.in()) {
      in.push_back(now(v));
      batched |= in.back().batched;
    }
    if (is_identity(node)) {
      made_[&node] = {engine::identity(in[0].value, is_grad_enabled() && in[0].value.differentiable()), batched};
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
  // What keeps derivatives apart: an op that does nothing.
  static bool is_identity(const Node& node) { return node.op == ir::Op::reshape && *node.types[0] == node.in()[0].type(); }

  Replacement with_own_derivative(Node& node, const CustomOutput& own) {
    node.references.fetch_add(1, std::memory_order_relaxed);
    const Value whole = Value::adopt(&node);
    Replacement value = node.operand_count > 0 ? now(node.in()[0]) : Replacement{whole, false};
    Replayed& custom = replayed(*own.custom);
    const bool any = is_grad_enabled() && std::any_of(custom.inputs.begin(), custom.inputs.end(),
                                                      [](const Value& v) { return v && v.differentiable(); });
    if (!any) return {engine::identity(value.value, false), value.batched};
    if (!value.batched && custom.any_batched_input()) {
      Dims sizes{size_};
      for (const std::int64_t n : sizes_of(whole.type())) sizes.push_back(n);
      value = {expand(value.value, sizes, {}), true};
    }
    custom.add_output(own.number, value.batched, whole.type(), value.value);
    return {engine::identity(value.value, true, new CustomOutput(&custom, own.number)), value.batched};
  }

  Replayed& replayed(CustomGradient& original) {
    const auto [found, fresh] = customs_.try_emplace(&original);
    if (fresh) {
      found->second =
          new Replayed(original, {stand_ins_.begin(), stand_ins_.end()}, {replacements_.begin(), replacements_.end()}, size_);
      for (const Value& v : original.inputs) found->second->add_input(v, v ? now(v) : Replacement());
    }
    return *found->second;
  }

  std::unordered_map<const Node*, Replacement> made_;  // of result 0
  std::unordered_map<const CustomGradient*, Replayed*> customs_;
  std::span<const Value> stand_ins_;
  std::span<const Replacement> replacements_;
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
