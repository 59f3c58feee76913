// Tensor's methods of autograd, and backward() and grad() with their checks.
#include <algorithm>
#include <atomic>

#include "braze/autograd.h"
#include "braze/functions.h"
#include "braze/host.h"
#include "frontend/autograd/backward.h"
#include "frontend/autograd/trace_notes.h"
#include "frontend/engine/host.h"

namespace braze {

namespace {

std::uint64_t next_hook() {
  static std::atomic<std::uint64_t> hooks{0};
  return ++hooks;
}

// Forgets a hook when it is called; the tensor may be gone by then.
template <class List>
HookHandle handle(AutogradMeta& meta, List AutogradMeta::* list, std::uint64_t id) {
  meta.retain();
  const std::shared_ptr<AutogradMeta> held(&meta, [](AutogradMeta* m) { m->drop(); });
  return HookHandle([held, list, id] { std::erase_if((*held).*list, [&](const auto& hook) { return hook.id == id; }); });
}

std::string shown_size(const Tensor& t) { return fmt::format("torch.Size({})", sizes_text(t.sizes())); }

// Tensors that begin a backward pass, each with its gradient.
std::vector<Root> roots_of(std::span<const Tensor> tensors, std::span<const Tensor> gradients, bool create_graph) {
  std::vector<Root> roots;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const Tensor& t = tensors[i];
    const TensorImpl& impl = checked(t);
    require(requires_grad(impl), "element {} of tensors does not require grad and does not have a grad_fn", i);
    Tensor gradient = i < gradients.size() ? gradients[i] : Tensor();
    if (!gradient.defined()) {
      require(t.numel() == 1, "grad can be implicitly created only for scalar outputs");
      require(is_float(t.dtype()), "grad can be implicitly created only for real scalar outputs but got {}",
              info(t.dtype()).torch_name);
      gradient = ones(t.sizes(), {t.dtype()});
    }
    require<ShapeError>(gradient.sizes() == t.sizes(),
                        "Mismatch in shape: grad_output[{}] has a shape of {} and output[{}] has a shape of {}.", i,
                        shown_size(gradient), i, shown_size(t));
    const EnableGradGuard on;
    const engine::Value value = read_as(impl, t.dtype(), {});
    const AutoGradMode mode(create_graph);
    roots.push_back({value, read_as(checked(gradient), t.dtype(), {})});
  }
  return roots;
}

std::vector<Target> targets_of(std::span<const Tensor> inputs, const char* what) {
  std::vector<Target> targets;
  for (const Tensor& t : inputs) {
    require(requires_grad(checked(t)), "One of the differentiated Tensors does not require grad");
    require_gradients_apart(*t.impl(), what);
    targets.push_back(target_of(*t.impl()));
  }
  return targets;
}

}  // namespace

bool is_grad_enabled() { return engine::grad_enabled(); }
void set_grad_enabled(bool on) { engine::set_grad_enabled(on); }

// ---- marks ----

bool AutogradMethods::requires_grad() const { return braze::requires_grad(checked(self_of(this))); }

bool AutogradMethods::is_leaf() const {
  const TensorImpl& impl = checked(self_of(this));
  return impl.leaf || !braze::requires_grad(impl);
}

namespace {

// Gradients are gathered as elements of the storage: elements that share a place would share a gradient. They get places of their own.
void unroll(TensorImpl& impl) {
  const Dims sizes = sizes_of(*impl.type);
  impl.storage = StoragePointer::adopt(new Storage(read_as(impl, impl.dtype(), {}), false));
  impl.base = {};
  impl.conjugate = false;
  impl.set_layout(impl.dtype(), {0, sizes, contiguous_strides(sizes)});
}

}  // namespace

Tensor& AutogradMethods::requires_grad_(bool on) {
  TensorImpl& impl = checked(self_of(this));
  if (impl.leaf != on) refuse_in_trace(impl, "changes requires_grad of");
  if (!impl.leaf && braze::requires_grad(impl)) {
    require(on,
            "you can only change requires_grad flags of leaf variables. If you want to use a computed variable in a subgraph that "
            "doesn't "
            "require differentiation use var_no_grad = var.detach().");
    return self_of(this);
  }
  require(!on || is_float(impl.dtype()) || is_complex(impl.dtype()), "only Tensors of floating point dtype can require gradients");
  if (on) {
    if (impl.geometry && overlaps_itself(*impl.geometry)) unroll(impl);
    AutogradMeta& meta = meta_of(impl);
    meta.tensor = &impl;
    meta.source = {};
  }
  impl.leaf = on;
  return self_of(this);
}

Tensor AutogradMethods::grad() const {
  const TensorImpl& impl = checked(self_of(this));
  if (!is_leaf() && !retains_grad())
    if (const Host* host = engine::current_host.load(std::memory_order_acquire); host && host->warn)
      host->warn(
          "The .grad attribute of a Tensor that is not a leaf Tensor is being accessed. Its .grad attribute won't be populated "
          "during "
          "autograd.backward(). If you indeed want the .grad field to be populated for a non-leaf Tensor, use .retain_grad() on "
          "the "
          "non-leaf Tensor. If you access the non-leaf Tensor by mistake, make sure you access the leaf Tensor instead.");
  if (TraceNotes* notes = TraceNotes::of(impl)) return notes->read_gradient(impl);
  return impl.autograd ? impl.autograd->grad : Tensor();
}

void AutogradMethods::set_grad(const Tensor& grad) const {
  const Tensor& self = self_of(this);
  TensorImpl& impl = checked(self);
  TraceNotes* notes = TraceNotes::of(impl);
  if (!grad.defined()) {
    if (notes) return notes->assign_gradient(impl, {});
    if (impl.autograd) impl.autograd->grad = {}, impl.autograd->roots.clear();
    return;
  }
  require(grad.impl() != &impl, "can't assign Variable as its own grad");
  require(
      grad.dtype() == self.dtype(),
      "attempting to assign a gradient with dtype '{}' to a tensor with dtype '{}'. Please ensure that the gradient and the tensor "
      "have the same dtype",
      info(grad.dtype()).torch_name, info(self.dtype()).torch_name);
  require(grad.sizes() == self.sizes(),
          "attempting to assign a gradient of size '{}' to a tensor of size '{}'. Please ensure that the gradient and the tensor "
          "are the "
          "same size",
          sizes_text(grad.sizes()), sizes_text(self.sizes()));
  if (notes) return notes->assign_gradient(impl, grad);
  meta_of(impl).grad = grad;
}

// ---- hooks ----

void AutogradMethods::retain_grad() const {
  TensorImpl& impl = checked(self_of(this));
  require(braze::requires_grad(impl), "can't retain_grad on Tensor that has requires_grad=False");
  refuse_in_trace(impl, "retains the gradient of");
  if (impl.leaf) return;
  require_gradients_apart(impl, "retain_grad()");
  meta_of(impl).retains_grad = true;
  observe(impl);
}

bool AutogradMethods::retains_grad() const {
  const TensorImpl& impl = checked(self_of(this));
  return !impl.leaf && impl.autograd && impl.autograd->retains_grad;
}

HookHandle AutogradMethods::register_hook(std::function<Tensor(const Tensor&)> hook) const {
  TensorImpl& impl = checked(self_of(this));
  require(braze::requires_grad(impl), "cannot register a hook on a tensor that doesn't require gradient");
  refuse_in_trace(impl, "registers a hook on");
  require_gradients_apart(impl, "register_hook()");
  AutogradMeta& meta = meta_of(impl);
  meta.hooks.push_back({next_hook(), std::move(hook)});
  if (!impl.leaf) observe(impl);
  return handle(meta, &AutogradMeta::hooks, meta.hooks.back().id);
}

HookHandle AutogradMethods::register_post_accumulate_grad_hook(std::function<void(const Tensor&)> hook) const {
  TensorImpl& impl = checked(self_of(this));
  require(braze::requires_grad(impl), "cannot register a hook on a tensor that doesn't require gradient");
  refuse_in_trace(impl, "registers a hook on");
  require(impl.leaf, "post accumulate grad hooks cannot be registered on non-leaf tensors");
  AutogradMeta& meta = meta_of(impl);
  meta.post_accumulate_hooks.push_back({next_hook(), std::move(hook)});
  return handle(meta, &AutogradMeta::post_accumulate_hooks, meta.post_accumulate_hooks.back().id);
}

// ---- backward ----

void AutogradMethods::backward() const { backward(Tensor()); }

void AutogradMethods::backward(const Tensor& gradient, std::optional<bool> retain_graph, bool create_graph,
                               std::span<const Tensor> inputs) const {
  autograd::backward(std::span(&self_of(this), 1), std::span(&gradient, 1), retain_graph, create_graph, inputs);
}

namespace autograd {

void backward(std::span<const Tensor> tensors, std::span<const Tensor> gradients, std::optional<bool> retain_graph,
              bool create_graph, std::span<const Tensor> inputs) {
  require(gradients.empty() || gradients.size() == tensors.size(), "got {} tensors and {} gradients", tensors.size(),
          gradients.size());
  const std::vector<Target> targets = targets_of(inputs, "backward()");
  run_backward(roots_of(tensors, gradients, create_graph), targets, true, {retain_graph.value_or(create_graph), create_graph},
               nullptr);
}

std::vector<Tensor> grad(std::span<const Tensor> outputs, std::span<const Tensor> inputs, std::span<const Tensor> grad_outputs,
                         const Options& options) {
  require(grad_outputs.empty() || grad_outputs.size() == outputs.size(), "got {} tensors and {} gradients", outputs.size(),
          grad_outputs.size());
  require<ValueError>(!inputs.empty(), "grad requires non-empty inputs.");
  const std::vector<Target> targets = targets_of(inputs, "grad()");
  std::vector<Tensor> found(inputs.size());
  run_backward(roots_of(outputs, grad_outputs, options.create_graph), targets, false,
               {options.retain_graph.value_or(options.create_graph), options.create_graph}, &found);
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (found[i].defined()) continue;
    require(
        options.allow_unused || options.materialize_grads,
        "The differentiated Tensor at index {} appears to not have been used in the graph. Set allow_unused=True if this is the "
        "desired behavior.",
        i);
    if (options.materialize_grads) found[i] = zeros(inputs[i].sizes(), {inputs[i].dtype()});
  }
  return found;
}

}  // namespace autograd

// ---- grad_fn ----

struct GradFn::Impl {
  engine::Value value;               // a node that carries the step
  CustomGradient* custom = nullptr;  // or the function that its outputs stand for, held by `value`
};

namespace {

GradFn grad_fn_of(engine::Value value) {
  while (value->has(same_step) && value->in()[0]) value = engine::Value(value->in()[0]);
  auto impl = std::make_shared<GradFn::Impl>();
  impl->value = value;
  return GradFn(impl);
}

}  // namespace

GradFn AutogradMethods::grad_fn() const {
  const TensorImpl& impl = checked(self_of(this));
  if (is_leaf()) return {};
  const AutogradMeta* own = elements_of(impl);
  return grad_fn_of(own ? own->elements : source(impl, impl.dtype()));
}

std::string GradFn::name() const { return gradient_name(*impl_->value.node()); }

const void* GradFn::id() const {
  if (!impl_) return nullptr;
  const engine::Gradient* gradient = impl_->value->gradient();
  if (const auto* output = dynamic_cast<const CustomOutput*>(gradient)) return output->custom;
  return gradient ? static_cast<const void*>(gradient) : impl_->value.node();
}

Tensor GradFn::variable() const {
  const auto* meta = impl_ ? dynamic_cast<const AutogradMeta*>(impl_->value->gradient()) : nullptr;
  if (!meta || !meta->tensor) return {};
  meta->tensor->retain();
  return Tensor::adopt(meta->tensor);
}

// What one public function recorded is one step: its operands are those that come from elsewhere.
std::vector<std::pair<GradFn, std::int64_t>> GradFn::next_functions() const {
  std::vector<std::pair<GradFn, std::int64_t>> next;
  const auto leads_on = [&](const engine::Value& v) {
    if (!v.differentiable()) return next.emplace_back(GradFn(), 0);
    return next.emplace_back(grad_fn_of(v), v.result());
  };
  const engine::Node& node = *impl_->value.node();
  std::vector<const engine::Value*> stack;
  const auto push = [&](std::span<const engine::Value> values) {
    for (std::size_t i = values.size(); i-- > 0;) stack.push_back(&values[i]);
  };
  // What a node of this step stands for.
  const auto function_of = [&](const engine::Node& n) -> const CustomGradient* {
    const auto* output = dynamic_cast<const CustomOutput*>(n.gradient());
    const bool own = &n == &node || (output && output->custom->is_shortcut() && node.call != 0 && n.call == node.call);
    return output && own ? output->custom : nullptr;
  };
  if (const CustomGradient* function = function_of(node))
    push(function->inputs);
  else if (!node.gradient() && node.keeps_operands())
    push(node.in());
  while (!stack.empty()) {
    const engine::Value& v = *stack.back();
    stack.pop_back();
    if (!v) {
      next.emplace_back(GradFn(), 0);
    } else if (const CustomGradient* function = function_of(*v.node())) {
      push(function->inputs);
    } else if (v.differentiable() && !v->gradient() && ((node.call != 0 && v->call == node.call) || v->has(same_step))) {
      if (v->keeps_operands()) push(v->in());
    } else {
      leads_on(v);
    }
  }
  return next;
}

}  // namespace braze
