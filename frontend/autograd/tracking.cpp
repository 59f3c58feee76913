#include "frontend/autograd/tracking.h"

#include <algorithm>
#include <mutex>
#include <unordered_map>
#include <utility>

#include "braze/autograd.h"
#include "frontend/autograd/trace_notes.h"

namespace braze {

namespace {

// The derivative of a value that was written over another: that of the other, or zero.
class Overwritten final : public CustomGradient {
 public:
  Overwritten(const engine::Value& before, const engine::Value& now, bool constant) : constant_(constant) {
    inputs.push_back(before);
    outputs.push_back(now.type_ref());
  }
  std::vector<engine::Value> pull(std::span<const engine::Value> cotangents) override {
    const ir::Type& type = inputs[0].type();
    const Dims sizes = sizes_of(type);
    if (!constant_) return {reshape(cotangents[0], sizes, {})};
    return {expand(engine::constant(to_literal(0, type.dtype)), sizes, {})};
  }
  std::vector<engine::Value> push(std::span<const engine::Value> tangents) override {
    if (constant_) return {engine::Value()};
    return {reshape(tangents[0], sizes_of(*outputs[0]), {})};
  }
  std::string name() const override { return constant_ ? "FillBackward0" : "AliasBackward0"; }
  bool passes_on() const { return !constant_; }

 private:
  bool constant_;
};

// That of a value that took another one's place: its own, and zero in the other, so that both are part of one graph as in PyTorch.
class Replaced final : public CustomGradient {
 public:
  Replaced(const engine::Value& before, const engine::Value& now, bool through_view) : through_view_(through_view) {
    inputs = {before, now};
    outputs.push_back(now.type_ref());
  }
  std::vector<engine::Value> pull(std::span<const engine::Value> cotangents) override {
    const ir::Type& type = inputs[0].type();
    return {expand(engine::constant(to_literal(0, type.dtype)), sizes_of(type), {}), cotangents[0]};
  }
  std::vector<engine::Value> push(std::span<const engine::Value> tangents) override { return {tangents[1]}; }
  std::string name() const override { return through_view_ ? "CopySlices" : "CopyBackwards"; }

 private:
  bool through_view_;
};

engine::Value overwritten(engine::Value before, const engine::Value& now, bool constant) {
  // Of a chain of writes that pass on the first value's derivative, only that value is kept.
  if (!constant)
    if (const auto* output = dynamic_cast<const CustomOutput*>(before->gradient()))
      if (const auto* write = dynamic_cast<const Overwritten*>(output->custom); write && write->passes_on())
        before = write->inputs[0];
  auto* custom = new Overwritten(before, now, constant);
  auto* output = new CustomOutput(custom, 0);
  custom->drop();
  return engine::identity(now, true, output);
}

struct Observers {
  std::mutex mutex;
  std::unordered_map<const engine::Node*, std::vector<Observer>> all;
};
Observers& observers() {
  static auto* instance = [] {
    engine::set_observer([](const engine::Node* node) {
      Observers& o = observers();
      std::vector<Observer> gone;
      {
        std::lock_guard lock(o.mutex);
        if (const auto found = o.all.find(node); found != o.all.end()) {
          gone = std::move(found->second);
          o.all.erase(found);
        }
      }
      for (const Observer& observer : gone) observer.meta->drop();
    });
    return new Observers;
  }();
  return *instance;
}

bool is_float_value(const engine::Value& value) { return is_float(value.type().dtype); }

}  // namespace

TensorImpl::~TensorImpl() {
  if (!autograd) return;
  if (autograd->tensor == this) {
    // A pending gradient reads the leaf, through an identity that carries this very object.
    autograd->tensor = nullptr;
    autograd->roots.clear();
    autograd->grad = {};
  }
  autograd->drop();
}

AutogradMeta& meta_of(TensorImpl& tensor) {
  if (!tensor.autograd) tensor.autograd = new AutogradMeta;
  return *tensor.autograd;
}

void evaluate_step(std::span<const Tensor> changed) {
  std::vector<engine::Value> values;
  std::vector<StoragePointer> storages;
  for (const Tensor& t : changed) {
    storages.push_back(checked(t).storage);
    values.push_back(storages.back()->value());
  }
  for (const Tensor& t : changed) {
    if (!t.impl()->autograd) continue;
    for (engine::Value& root : std::exchange(t.impl()->autograd->roots, {})) {
      const bool awaited = root->state.load(std::memory_order_acquire) == engine::State::pending &&
                           root->holders.load(std::memory_order_acquire) > 0;
      if (awaited && std::find(values.begin(), values.end(), root) == values.end()) values.push_back(std::move(root));
    }
  }
  try {
    engine::evaluate(values);
  } catch (...) {
    for (const StoragePointer& s : storages) s->recover();
    throw;
  }
}

GradientLayout gradient_layout(const TensorImpl& tensor) { return {tensor.dtype(), tensor.layout(), tensor.conjugate}; }

void require_gradients_apart(const TensorImpl& tensor, const char* what) {
  if (tensor.leaf || !tensor.geometry || elements_of(tensor) || !overlaps_itself(*tensor.geometry)) return;
  const Geometry& g = *tensor.geometry;
  fail(
      "{}: more than one element of the view (sizes {}, strides {}) refers to a single memory location, so that elements have no "
      "gradients of their own. Please clone() the view, or make it contiguous(), and go on with the result.",
      what, sizes_text(g.sizes), sizes_text(g.strides));
}

bool requires_grad(const TensorImpl& tensor) {
  if (TraceNotes* notes = TraceNotes::of(tensor)) [[unlikely]]
    notes->see(tensor);
  if (tensor.leaf) return true;
  if (tensor.cut) return false;
  const bool has_gradient = is_float(tensor.dtype()) || is_complex(tensor.dtype());
  if (!has_gradient) return false;
  if (tensor.autograd && tensor.autograd->source && tensor.autograd->generation == tensor.storage->generation()) return true;
  if (tensor.base) return requires_grad(*tensor.base);
  const engine::Value& value = tensor.storage->value();
  return value.type().dtype == component_type(tensor.dtype()) && value.differentiable();
}

engine::Value source(const TensorImpl& tensor, DType type) {
  if (TraceNotes* notes = TraceNotes::of(tensor)) [[unlikely]]
    notes->see(tensor);
  if (tensor.leaf) {
    const engine::Value value = tensor.storage->value(type);
    if (!engine::grad_enabled()) return value;
    tensor.autograd->retain();
    return engine::identity(value, true, tensor.autograd);
  }
  if (tensor.cut) {
    const engine::Value value = tensor.storage->value(type);
    return value.differentiable() && engine::grad_enabled() ? engine::identity(value, false) : value;
  }
  if (const AutogradMeta* meta = tensor.autograd; meta && meta->source && meta->generation == tensor.storage->generation())
    if (meta->source.type().dtype == component_type(type)) return meta->source;
  return tensor.base ? source(*tensor.base, type) : tensor.storage->value(type);
}

void track_view(TensorImpl& view, const TensorImpl& of) {
  if (!requires_grad(of)) {
    view.cut = of.cut;
    return;
  }
  if (!engine::grad_enabled()) {
    view.cut = true;
    return;
  }
  const engine::Value from = source(of, view.dtype());
  if (!is_float_value(from) || !from.differentiable()) return;
  AutogradMeta& meta = meta_of(view);
  meta.source = engine::identity(from, true);
  meta.source->mark_as(engine::Node::kept);
  meta.generation = view.storage->generation();
  const Geometry g = view.layout();
  if (!overlaps_itself(g)) return;
  const bool pairs = is_complex(view.dtype());
  set_elements(view,
               read_through(engine::identity(from, true), view.storage->elements(component_type(view.dtype())),
                            pairs ? pair_geometry(g) : g, {}),
               from);
}

const AutogradMeta* elements_of(const TensorImpl& tensor) {
  AutogradMeta* meta = tensor.autograd;
  if (!meta || !meta->elements || !(meta->laid_out_as == tensor.type)) return nullptr;
  if (meta->generation != tensor.storage->generation()) {
    // Written to since: from here on the view is one of what is there now.
    if (!engine::grad_enabled() || tensor.cut || !tensor.base) return nullptr;
    meta->elements = meta->source = {};
    track_view(const_cast<TensorImpl&>(tensor), *tensor.base);
  }
  return meta->elements ? meta : nullptr;
}

engine::Value spread(const AutogradMeta& meta, DType dtype, ir::Location where) {
  const std::int64_t count = Geometry{0, sizes_of(meta.elements.type()), {}}.numel();
  return read_through(meta.elements, count, is_complex(dtype) ? pair_geometry(meta.layout) : meta.layout, where);
}

Tensor spread(const Tensor& x) {
  const TensorImpl& impl = checked(x);
  return elements_of(impl) ? wrap(read_as(impl, impl.dtype(), {}), impl.dtype()) : x;
}

void set_elements(TensorImpl& view, const engine::Value& value, const engine::Value& of) {
  if (!view.autograd || !view.autograd->source) return;
  AutogradMeta& meta = *view.autograd;
  // All that lies between is this step.
  for (engine::Node* node = value.node(); node != of.node() && node->in().size() == 1; node = node->in()[0].node())
    node->mark_as(same_step);
  meta.elements = engine::identity(value, true);
  meta.elements->mark_as(engine::Node::kept);
  const Dims sizes = sizes_of(*view.type);
  meta.layout = {0, sizes, contiguous_strides(sizes)};
  meta.laid_out_as = view.type;
}

void set_elements(TensorImpl& view, const AutogradMeta& of, const Geometry& layout) {
  if (!view.autograd || !view.autograd->source) return;
  const engine::Value value = engine::identity(of.elements, true);
  AutogradMeta& meta = *view.autograd;
  meta.elements = value;
  meta.elements->mark_as(engine::Node::kept);
  meta.layout = layout;
  meta.laid_out_as = view.type;
  if (overlaps_itself(layout)) set_elements(view, spread(meta, view.dtype(), {}), of.elements);
}

Tensor stand_in(const TensorImpl& tensor, const AutogradMeta& meta) {
  const engine::Value nothing = engine::constant(to_literal(0, component_type(tensor.dtype())));
  Tensor out = on_storage(StoragePointer::adopt(new Storage(nothing, true)), tensor.dtype(), meta.layout);
  out.impl()->conjugate = tensor.conjugate;
  return out;
}

void require_no_leaf(const TensorImpl& tensor) {
  if (!engine::grad_enabled()) return;
  require(!tensor.leaf, "a leaf Variable that requires grad is being used in an in-place operation.");
  if (tensor.cut || !tensor.base) {
    require(
        !tensor.cut || !tensor.base || !requires_grad(*tensor.base),
        "A view was created in no_grad mode and is being modified inplace with grad mode enabled. Given that this use case is "
        "ambiguous and error-prone, it is forbidden. You can clarify your code by moving both the view and the inplace either both "
        "inside the no_grad block (if you don't want the inplace to be tracked) or both outside (if you want the inplace to be "
        "tracked).");
    return;
  }
  require(!tensor.base->leaf, "a view of a leaf Variable that requires grad is being used in an in-place operation.");
}

void set_written(TensorImpl& tensor, engine::Value value) {
  const engine::Value& before = tensor.storage->value();
  if (tensor.autograd && tensor.autograd->unnoticed_by) {
    refuse_in_trace(tensor, "writes through .data of");
    tensor.autograd->unnoticed_by->overwritten = true;
  } else if (tensor.leaf) {
    tensor.autograd->overwritten = false;
  }
  value = held_apart(std::move(value));
  const bool hidden = !engine::grad_enabled() || (tensor.cut && !value.differentiable());
  if (before.differentiable() && !value.differentiable() && is_float_value(value) && before.type().dtype == value.type().dtype)
    value = overwritten(before, value, !hidden);
  else if (engine::grad_enabled() && value.differentiable())
    tensor.cut = false;
  tensor.storage->set(std::move(value));
}

engine::Value written_over(const TensorImpl& tensor, engine::Value value) {
  const engine::Value& before = tensor.storage->value();
  if (!engine::grad_enabled() || tensor.cut || !before.differentiable() || !value.differentiable()) return value;
  auto* custom = new Replaced(before, value, static_cast<bool>(tensor.base));
  auto* output = new CustomOutput(custom, 0);
  custom->drop();
  return engine::identity(value, true, output);
}

engine::Value in_place_of(const engine::Value& value, engine::Value memory) {
  if (!value.differentiable()) return memory;
  auto* custom = new Overwritten(value, memory, false);
  memory->bits = reinterpret_cast<std::uintptr_t>(static_cast<engine::Gradient*>(new CustomOutput(custom, 0)));
  custom->drop();
  memory->mark_as(engine::Node::differentiable | engine::Node::has_gradient);
  return memory;
}

engine::Value owned_value(const engine::Value& value) {
  engine::Value copy = engine::owned(value);
  return copy == value ? copy : in_place_of(value, std::move(copy));
}

engine::Value constant_in(const engine::Value& value, const engine::Value& of) { return overwritten(of, value, true); }

namespace {

class ShortcutGradient final : public CustomGradient {
 public:
  ShortcutGradient(Shortcut shortcut, engine::TypeRef result) : shortcut_(std::move(shortcut)) {
    const auto value_of = [](const Tensor& t) { return t.defined() ? read(checked(t), {}) : engine::Value(); };
    for (const Tensor& t : std::exchange(shortcut_.inputs, {}))
      inputs.push_back(t.defined() && t.requires_grad() ? value_of(t) : engine::Value());
    for (const Tensor& t : std::exchange(shortcut_.saved, {})) saved_.push_back(value_of(t));
    outputs.push_back(std::move(result));
  }
  std::string name() const override { return shortcut_.name; }
  bool is_shortcut() const override { return true; }
  bool reads_values() const override { return true; }
  void release() override {
    saved_.clear();
    inputs.clear();
  }
  std::vector<engine::Value> pull(std::span<const engine::Value> cotangents) override {
    std::vector<Tensor> saved;
    for (const engine::Value& v : saved_) saved.push_back(v ? wrap(v) : Tensor());
    std::vector<engine::Value> gradients;
    for (const Tensor& t : shortcut_.pull(wrap(cotangents[0]), saved))
      gradients.push_back(t.defined() ? read(checked(t), {}) : engine::Value());
    return gradients;
  }
  std::vector<engine::Value> push(std::span<const engine::Value>) override {
    invariant(false, "forward mode goes by the ops, not by the shortcut {}", shortcut_.name);
    return {};
  }

 private:
  Shortcut shortcut_;
  std::vector<engine::Value> saved_;
};

}  // namespace

Tensor with_shortcut(const Tensor& composed, Shortcut shortcut) {
  const engine::Value value = read(checked(composed), {});
  auto* custom = new ShortcutGradient(std::move(shortcut), value.type_ref());
  auto* output = new CustomOutput(custom, 0);
  custom->drop();
  return wrap(engine::identity(value, true, output));
}

const CustomOutput* own_derivative(const engine::Node& node) {
  const auto* output = dynamic_cast<const CustomOutput*>(node.gradient());
  return output && !output->custom->is_shortcut() ? output : nullptr;
}

const engine::Value* source_of_derivative(const engine::Node& node, std::size_t number) {
  if (number < node.operand_count) return &node.in()[number];
  number -= node.operand_count;
  const CustomOutput* own = own_derivative(node);
  return own && number < own->custom->inputs.size() ? &own->custom->inputs[number] : nullptr;
}

Tensor tensor_data(const Tensor& x) {
  const TensorImpl& impl = checked(x);
  Tensor alias = x.detach();
  if (!impl.leaf) return alias;
  impl.autograd->retain();
  meta_of(*alias.impl()).unnoticed_by = impl.autograd;
  return alias;
}

engine::Value held_apart(engine::Value value) {
  if (!value->has(engine::Node::differentiable)) [[likely]]
    return value;
  if (!engine::grad_enabled()) return engine::identity(value, false);
  const bool others = value->has(engine::Node::kept | engine::Node::has_gradient) ||
                      (value->result_count == 1 && value->holders.load(std::memory_order_relaxed) > 0);
  if (!others || !value.differentiable()) return value;
  engine::Value apart = engine::identity(value, true);
  if (apart->name == 0) apart->mark_as(same_step);
  return apart;
}

void forget_gradient(const Tensor& param, bool set_to_none) {
  if (set_to_none) return param.set_grad({});
  const Tensor gradient = param.grad();
  if (gradient.defined()) param.set_grad(gradient.detach().zero_());
}

void forget_source(TensorImpl& tensor) {
  if (tensor.autograd) tensor.autograd->source = tensor.autograd->elements = {};
}

namespace {

void observe(const engine::Value& value, const Observer& observer) {
  Observers& o = observers();
  std::lock_guard lock(o.mutex);
  std::vector<Observer>& all = o.all[value.node()];
  if (std::any_of(all.begin(), all.end(), [&](const Observer& known) { return known.meta == observer.meta; })) return;
  observer.meta->retain();
  all.push_back(observer);
  value->mark_as(engine::Node::observed);
}

}  // namespace

void observe(TensorImpl& tensor) {
  AutogradMeta& meta = meta_of(tensor);
  if (!elements_of(tensor)) {
    const engine::Value node = source(tensor, tensor.dtype());
    return observe(node, {&meta, node.result(), gradient_layout(tensor)});
  }
  observe(meta.elements, {&meta, meta.elements.result(), {tensor.dtype(), meta.layout, tensor.conjugate}});
  observe(meta.source, {&meta, meta.source.result(), gradient_layout(tensor), true});
}

std::vector<Observer> observers_of(const engine::Node* node) {
  if (!node->has(engine::Node::observed)) return {};
  Observers& o = observers();
  std::lock_guard lock(o.mutex);
  const auto found = o.all.find(node);
  if (found == o.all.end()) return {};
  for (const Observer& observer : found->second) observer.meta->retain();
  return found->second;
}

Tensor relaid(const TensorImpl& tensor, DType dtype, Geometry geometry) {
  Tensor out = on_storage(tensor.storage, dtype, std::move(geometry));
  TensorImpl& impl = *out.impl();
  impl.conjugate = tensor.conjugate && is_complex(dtype);
  impl.leaf = tensor.leaf;
  impl.cut = tensor.cut;
  impl.base = tensor.base;
  impl.autograd = tensor.autograd;
  if (impl.autograd) impl.autograd->retain();
  return out;
}

}  // namespace braze
