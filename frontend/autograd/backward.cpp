#include "frontend/autograd/backward.h"

#include <array>
#include <optional>
#include <unordered_map>

#include "braze/autograd.h"
#include "braze/functions.h"
#include "frontend/autograd/node_builder.h"
#include "frontend/autograd/trace_notes.h"
#include "passes/derivative.h"

namespace braze {

namespace {

using engine::Node;
using engine::Value;

struct Anomaly {
  bool on = false, check_nan = true;
};
thread_local Anomaly anomaly;

// A node that a gradient passes through, or a custom gradient, whose outputs are nodes.
struct Vertex {
  Node* node = nullptr;
  CustomGradient* custom = nullptr;
  bool explored = false;
  bool needed = false;           // leads to a target
  bool processed = false;        // a gradient came
  bool read = false;             // its rule computed with values of the forward pass
  bool walkable = true;          // a second backward pass may come through
  std::vector<Value> gradients;  // one a result; none: zero
};

class Pass {
 public:
  Pass(std::span<const Target> targets, bool accumulate, const BackwardOptions& options, std::vector<Tensor>* captured)
      : targets_(targets), accumulate_(accumulate), options_(options), captured_(captured) {
    for (std::size_t i = 0; i < targets.size(); ++i)
      targets_at_[targets[i].leaf ? static_cast<const void*>(targets[i].leaf) : targets[i].value.node()].push_back(i);
    for (std::size_t i = 0; i < targets.size(); ++i)
      if (targets[i].bypass) targets_at_[targets[i].bypass.node()].push_back(i);
  }

  void run(std::span<const Root> roots) {
    for (const Root& root : roots) {
      explore(root.value.node(), nullptr);
      roots_.push_back(root.value);
    }
    mark_needed();
    for (const Vertex& v : vertices_)
      if (const auto* meta = leaf_of(v)) ++sinks_[meta].waiting;
    for (const Root& root : roots) add(vertex_of(root.value.node()), root.value.result(), root.cotangent);
    for (std::size_t i = order_.size(); i-- > 0;) process(vertices_[order_[i]]);
    if (!options_.retain_graph) free_graph();
  }

 private:
  struct Sink {
    std::size_t waiting = 0;
    Value sum;
  };

  static const AutogradMeta* leaf_of(const Vertex& v) {
    return v.node ? dynamic_cast<const AutogradMeta*>(v.node->gradient()) : nullptr;
  }
  static CustomOutput* output_of(const Vertex& v) { return v.node ? dynamic_cast<CustomOutput*>(v.node->gradient()) : nullptr; }

  // The vertices that v's gradient goes on to, in order; calls f(node, custom).
  template <class F>
  static void for_each_operand(const Vertex& v, F f) {
    if (v.custom) {
      for (const Value& input : v.custom->inputs)
        if (input && input.differentiable()) f(input.node(), nullptr);
    } else if (CustomOutput* output = output_of(v)) {
      f(nullptr, output->custom);
    } else if (!v.node->gradient() && !v.node->has(Node::freed)) {
      for (const Value& input : v.node->in())
        if (input.differentiable()) f(input.node(), nullptr);
    }
  }

  static const void* key(Node* node, CustomGradient* custom) { return custom ? static_cast<const void*>(custom) : node; }
  Vertex& vertex_of(const void* k) { return vertices_[numbers_.at(k)]; }
  bool knows(const void* k) const { return numbers_.contains(k); }

  // Numbers all vertices that gradients reach from here, operands first in `order_`.
  void explore(Node* node, CustomGradient* custom) {
    struct Frame {
      std::uint32_t number;
      std::uint32_t next;
      std::vector<std::uint32_t> operands;
    };
    std::vector<Frame> stack;
    std::vector<std::pair<Node*, CustomGradient*>> operands;
    const auto number_of = [&](Node* n, CustomGradient* c) {
      const auto [found, fresh] = numbers_.try_emplace(key(n, c), static_cast<std::uint32_t>(vertices_.size()));
      if (fresh) vertices_.push_back({n, c});
      return found->second;
    };
    const auto push = [&](std::uint32_t number) {
      if (vertices_[number].explored) return;
      vertices_[number].explored = true;
      stack.push_back({number, 0, {}});
      operands.clear();
      for_each_operand(vertices_[number], [&](Node* n, CustomGradient* c) { operands.emplace_back(n, c); });
      for (const auto& [n, c] : operands) stack.back().operands.push_back(number_of(n, c));
    };
    push(number_of(node, custom));
    while (!stack.empty()) {
      Frame& top = stack.back();
      if (top.next < top.operands.size()) {
        push(top.operands[top.next++]);
        continue;
      }
      order_.push_back(top.number);
      stack.pop_back();
    }
  }
  bool is_target(const Vertex& v) const {
    if (v.custom) return false;
    if (const auto* meta = leaf_of(v)) return targets_at_.contains(meta);
    return targets_at_.contains(v.node);
  }

  void mark_needed() {
    for (const std::uint32_t number : order_) {
      Vertex& v = vertices_[number];
      v.needed = targets_.empty() || is_target(v);
      if (!v.needed) for_each_operand(v, [&](Node* n, CustomGradient* c) { v.needed = v.needed || vertex_of(key(n, c)).needed; });
    }
  }

  void add(Vertex& v, unsigned result, const Value& cotangent) {
    if (v.gradients.empty()) v.gradients.resize(v.custom ? v.custom->outputs.size() : v.node->result_count);
    Value& sum = v.gradients[result];
    if (!sum) {
      sum = cotangent;
      return;
    }
    sum = sum_of(sum, cotangent, v.node ? v.node->location() : ir::Location{});
  }

  // Where one is the gradient of a part among zeros, as each of a chunk's is, it is added to that part of the other: what is not of it stays,
  // and nothing passes over the whole once more.
  static Value sum_of(const Value& sum, const Value& term, const ir::Location& where) {
    const Node* part = term.node();
    while (part->op == ir::Op::reshape && !part->evaluated()) part = part->in()[0].node();
    if (!lies_among_zeros(*part)) {
      const Value terms[] = {sum, term};
      return engine::record(ir::Op::add, terms, where);
    }
    const Value operands[] = {reshape(sum, sizes_of(*part->types[0]), where), part->in()[1]};
    return reshape(engine::record(ir::Op::accumulate, operands, engine::attributes_of(*part), where), sizes_of(sum.type()), where);
  }

  static bool lies_among_zeros(const Node& node) {
    if (node.op != ir::Op::store || node.evaluated()) return false;
    const Node* base = node.in()[0].node();
    while (base && (base->op == ir::Op::expand || base->op == ir::Op::reshape) && !base->evaluated()) base = base->in()[0].node();
    return base && base->op == ir::Op::constant && base->bits == 0;
  }

  void process(Vertex& v) {
    if (const auto* meta = leaf_of(v)) return reach_leaf(v, *const_cast<AutogradMeta*>(meta));
    if (!v.needed || v.gradients.empty()) return;
    v.processed = true;
    if (v.node) show(v);
    bool passes_on = false;
    for_each_operand(v, [&](Node* n, CustomGradient* c) { passes_on = passes_on || vertex_of(key(n, c)).needed; });
    if (v.node && v.node->has(Node::freed) && (targets_.empty() || !is_target(v))) complain_freed();
    if (!passes_on) return;
    if (v.custom)
      pull_custom(v);
    else if (CustomOutput* output = output_of(v))
      add(vertex_of(output->custom), output->number, v.gradients[0]);
    else
      pull(v);
    v.gradients.clear();
  }

  [[noreturn]] static void complain_freed() {
    fail<Error>(
        "Trying to backward through the graph a second time (or directly access saved tensors after they have already been freed). "
        "Saved intermediate values of the graph are freed when you call .backward() or autograd.grad(). Specify retain_graph=True "
        "if "
        "you need to backward through the graph a second time or if you need to access saved tensors after calling backward.");
  }

  [[noreturn]] static void complain_bypassed(const GradientLayout& layout) {
    fail<Error>(
        "the gradient of a view (sizes {}, strides {}) is asked for, of whose elements more than one refers to a single memory "
        "location, and the view was read as that memory (by as_strided or as another dtype), where they have no gradients of their "
        "own. Please clone() the view, and go on with the result.",
        sizes_text(layout.geometry.sizes), sizes_text(layout.geometry.strides));
  }

  // Hooks see the gradient, and may change it; whoever asked for it gets it.
  void show(Vertex& v) {
    for (const Observer& observer : observers_of(v.node)) {
      Value& gradient = v.gradients[observer.result];
      if (gradient && observer.bypassed) {
        if (observer.meta->retains_grad || !observer.meta->hooks.empty()) complain_bypassed(observer.layout);
      } else if (gradient) {
        const Tensor before = tensor_of(gradient, observer.layout);
        const Tensor after = call_hooks(*observer.meta, before);
        if (after.impl() != before.impl()) gradient = with_part(gradient, after, observer.layout);
        if (Tensor& kept = observer.meta->grad; observer.meta->retains_grad)
          kept = kept.defined() ? braze::add(kept, after) : after;
      }
      observer.meta->drop();
    }
    if (const auto found = targets_at_.find(v.node); found != targets_at_.end())
      for (const std::size_t i : found->second) {
        const Target& target = targets_[i];
        if (target.bypass.node() == v.node) complain_bypassed(target.layout);
        if (const Value& gradient = v.gradients[target.value.result()]) deliver(i, tensor_of(gradient, target.layout));
      }
  }

  static Tensor call_hooks(const AutogradMeta& meta, Tensor gradient) {
    const std::vector<AutogradMeta::Hook> hooks = meta.hooks;  // a hook may remove itself
    for (const AutogradMeta::Hook& hook : hooks) {
      const Tensor changed = hook.call(gradient);
      if (!changed.defined()) continue;
      require(changed.dtype() == gradient.dtype(), "hook has changed the type of value (was {} got {})",
              info(gradient.dtype()).torch_name, info(changed.dtype()).torch_name);
      require(changed.sizes() == gradient.sizes(), "hook has changed the size of value: a gradient of size {} became one of {}",
              sizes_text(gradient.sizes()), sizes_text(changed.sizes()));
      gradient = changed;
    }
    return gradient;
  }

  // The gradient of what the storage holds, as the gradient of a tensor on it.
  static Tensor tensor_of(const Value& gradient, const GradientLayout& layout) {
    const Tensor whole =
        on_storage(StoragePointer::adopt(new Storage(owned_value(gradient), false)), layout.dtype, layout.geometry);
    whole.impl()->conjugate = layout.conjugate;
    if (!layout.conjugate && whole.numel() == whole.impl()->storage->elements(layout.dtype)) return whole;
    return whole.clone(MemoryFormat::contiguous);
  }

  static Value with_part(const Value& gradient, const Tensor& part, const GradientLayout& layout) {
    Tensor whole = on_storage(StoragePointer::adopt(new Storage(gradient, false)), layout.dtype, layout.geometry);
    whole.impl()->conjugate = layout.conjugate;
    whole.copy_(part);
    return reshape(whole.impl()->storage->value(), sizes_of(gradient.type()), {});
  }

  void deliver(std::size_t i, const Tensor& gradient) {
    if (captured_) (*captured_)[i] = gradient;
  }

  void reach_leaf(Vertex& v, AutogradMeta& meta) {
    Sink& sink = sinks_[&meta];
    if (v.needed && !v.gradients.empty() && v.gradients[0]) {
      if (sink.sum) {
        const Value terms[] = {sink.sum, reshape(v.gradients[0], sizes_of(sink.sum.type()), {})};
        sink.sum = engine::record(ir::Op::add, terms, {});
      } else {
        sink.sum = v.gradients[0];
      }
    }
    v.gradients.clear();
    if (--sink.waiting > 0 || !sink.sum || !meta.tensor) return;
    TraceNotes* notes = TraceNotes::of(*meta.tensor);
    if (notes && !(meta.hooks.empty() && meta.post_accumulate_hooks.empty()))
      notes->refuse("it calls hooks of a tensor from outside");
    const Tensor gradient = call_hooks(meta, tensor_of(sink.sum, gradient_layout(*meta.tensor)));
    if (const auto found = targets_at_.find(&meta); found != targets_at_.end())
      for (const std::size_t i : found->second) deliver(i, gradient);
    if (accumulate_) gather(meta, gradient);
  }

  Tensor gathered(Tensor& before, const Tensor& gradient) const {
    if (!before.defined()) return gradient;
    return options_.create_graph ? braze::add(before, gradient) : before += gradient;
  }

  void gather(AutogradMeta& meta, const Tensor& gradient) {
    if (TraceNotes* notes = TraceNotes::of(*meta.tensor)) {
      Tensor before = notes->read_gradient(*meta.tensor);
      return notes->assign_gradient(*meta.tensor, gathered(before, gradient));
    }
    meta.roots = roots_;
    meta.grad = gathered(meta.grad, gradient);
    if (meta.post_accumulate_hooks.empty()) return;
    meta.tensor->retain();
    const Tensor leaf = Tensor::adopt(meta.tensor);
    const std::vector<AutogradMeta::PostHook> hooks = meta.post_accumulate_hooks;
    for (const AutogradMeta::PostHook& hook : hooks) hook.call(leaf);
  }

  void pull_custom(Vertex& v) {
    const std::vector<Value> found = v.custom->pull(v.gradients);
    v.read = v.custom->reads_values();
    for (std::size_t k = 0; k < v.custom->inputs.size(); ++k) {
      const Value& input = v.custom->inputs[k];
      if (!input || !input.differentiable() || !found[k]) continue;
      if (anomaly.on && anomaly.check_nan) require_finite(found[k], k, v.custom->name(), {});
      if (Vertex& operand = vertex_of(input.node()); operand.needed) add(operand, input.result(), found[k]);
    }
  }

  // The running cotangents of a node's operands, kept at their vertices.
  class Operands final : public passes::Cotangents {
   public:
    Operands(Pass& pass, Node& node, NodeBuilder& builder) : pass_(pass), node_(node), builder_(builder) {}
    bool wants(std::size_t k) const override {
      const Value& v = node_.in()[k];
      return v.differentiable() && pass_.vertex_of(v.node()).needed;
    }
    ir::Expression running(std::size_t k) const override {
      const Value* value = find(k);
      return value && *value ? builder_.add(*value) : ir::Expression{};
    }
    ir::Expression sum(ir::Expression before, const ir::Expr& value) const override {
      return builder_.add(sum_of(builder_.value(before), builder_.value(value.id()), node_.location()));
    }
    void replace(std::size_t k, ir::Expression e) override {
      const Value& v = node_.in()[k];
      if (!wants(k)) return;
      Vertex& vertex = pass_.vertex_of(v.node());
      if (vertex.gradients.empty()) vertex.gradients.resize(v->result_count);
      vertex.gradients[v.result()] = builder_.value(e);
    }
    bool has(std::size_t k) const {
      const Value* value = find(k);
      return value && *value;
    }

   private:
    const Value* find(std::size_t k) const {
      const Value& v = node_.in()[k];
      if (!v.differentiable()) return nullptr;
      const Vertex& vertex = pass_.vertex_of(v.node());
      return vertex.gradients.empty() ? nullptr : &vertex.gradients[v.result()];
    }
    Pass& pass_;
    Node& node_;
    NodeBuilder& builder_;
  };

  void pull(Vertex& v) {
    Node& node = *v.node;
    NodeBuilder builder(node.location());
    std::vector<ir::Expression> in;
    std::array<ir::Expression, ir::max_results> out, gradients;
    for (const Value& operand : node.in()) in.push_back(builder.add(as_saved(operand)));
    node.references.fetch_add(1, std::memory_order_relaxed);
    const ir::Expression whole = builder.add(Value::adopt(&node));
    builder.end_forward();
    for (std::uint32_t r = 0; r < node.result_count; ++r) {
      out[r] = {whole.node, r};
      gradients[r] = v.gradients[r] ? builder.add(v.gradients[r]) : ir::Expression{};
    }
    const ir::Attributes attributes = engine::attributes_of(node);
    Operands operands(*this, node, builder);
    const bool of_power = options_.create_graph && is_of_power(node);
    std::optional<GradientScope> scope;
    if (of_power) scope.emplace(GradientName::MulBackward0OfPower);
    passes::pull({builder, node.op, attributes, in, {out.data(), node.result_count}}, {gradients.data(), node.result_count},
                 operands);
    v.read = builder.read_forward();
    if (anomaly.on && anomaly.check_nan) require_finite(v, operands);
    // Where the derivative is zero everywhere there is a gradient still: zeros. Its own derivative is zero where it reads a differentiable
    // value by comparing it alone.
    for (std::size_t k = 0; k < in.size(); ++k) {
      if (!operands.wants(k)) continue;
      if (!operands.has(k)) operands.replace(k, ir::formula::zeros(builder, node.in()[k].type()).id());
      if (!options_.create_graph || !(of_power || builder.read_differentiable())) continue;
      Value& gradient = vertex_of(node.in()[k].node()).gradients[node.in()[k].result()];
      if (!gradient.differentiable()) gradient = constant_in(gradient, node.in()[k]);
    }
  }

  // PyTorch's derivative of x^n is n x^(n - 1), down to x^0: also where it is constant, it is a function of x.
  static bool is_of_power(const Node& node) {
    return node.name == static_cast<std::uint8_t>(GradientName::PowBackward0) ||
           node.name == static_cast<std::uint8_t>(GradientName::MulBackward0OfPower);
  }

  // What PyTorch's saved tensor would hold now.
  static Value as_saved(const Value& operand) {
    auto* meta = const_cast<AutogradMeta*>(dynamic_cast<const AutogradMeta*>(operand->gradient()));
    if (!meta || !meta->overwritten || !meta->tensor) return operand;
    const Value now = meta->tensor->storage->value();
    if (!(now.type() == operand.type())) return operand;
    meta->retain();
    return engine::identity(now, true, meta);
  }

  // PyTorch looks for NaN alone; an infinity becomes one soon.
  static void require_finite(const Value& gradient, std::size_t k, const std::string& name, const ir::Location& location) {
    if (static_cast<bool>(isfinite(wrap(gradient)).all())) return;
    const std::string line = location.file ? "; recorded at " + ir::text(location) : "";
    fail<Error>("Function '{}' returned nan values in its {}th output. (an infinity counts{})", name, k, line);
  }
  void require_finite(const Vertex& v, const Operands& operands) {
    for (std::size_t k = 0; k < v.node->in().size(); ++k) {
      if (!operands.wants(k) || !operands.has(k)) continue;
      const Value& in = v.node->in()[k];
      require_finite(vertex_of(in.node()).gradients[in.result()], k, gradient_name(*v.node), v.node->location());
    }
  }

  void free_graph() {
    std::vector<Node*> done;
    for (const std::uint32_t number : order_) {
      Vertex& v = vertices_[number];
      if (leaf_of(v)) continue;
      v.walkable = !v.read;
      for_each_operand(v, [&](Node* n, CustomGradient* c) { v.walkable = v.walkable && vertex_of(key(n, c)).walkable; });
      if (v.walkable || !v.processed) continue;
      if (v.custom)
        v.custom->release();
      else
        done.push_back(v.node);
    }
    engine::free_nodes(done);
  }

  std::span<const Target> targets_;
  bool accumulate_;
  BackwardOptions options_;
  std::vector<Tensor>* captured_;
  std::vector<Value> roots_;
  std::unordered_map<const void*, std::vector<std::size_t>> targets_at_;
  std::unordered_map<const void*, std::uint32_t> numbers_;
  std::vector<Vertex> vertices_;
  std::vector<std::uint32_t> order_;
  std::unordered_map<const AutogradMeta*, Sink> sinks_;
};

}  // namespace

void autograd::set_detect_anomaly(bool on, bool check_nan) { anomaly = {on, check_nan}; }
bool autograd::is_anomaly_enabled() { return anomaly.on; }

Target target_of(const TensorImpl& tensor) {
  if (tensor.leaf) return {tensor.autograd, {}, gradient_layout(tensor), {}};
  if (const AutogradMeta* meta = elements_of(tensor))
    return {nullptr, meta->elements, {tensor.dtype(), meta->layout, tensor.conjugate}, meta->source};
  return {nullptr, source(tensor, tensor.dtype()), gradient_layout(tensor), {}};
}

void run_backward(std::span<const Root> roots, std::span<const Target> targets, bool accumulate, const BackwardOptions& options,
                  std::vector<Tensor>* captured) {
  const AutoGradMode mode(options.create_graph);
  Pass(targets, accumulate, options, captured).run(roots);
}

}  // namespace braze
