#include "braze/nn/module.h"

#include <algorithm>
#include <ostream>
#include <unordered_set>

#include "frontend/autograd/trace_notes.h"
#include "frontend/autograd/tracking.h"
#include "frontend/nn/text.h"
#include "ir/error.h"

namespace braze::nn {

Module::~Module() = default;

void detail::require_outputs(std::size_t given, std::size_t wanted) {
  require(given == wanted, "a forward hook returned {} tensors for {} outputs", given, wanted);
}

void detail::refuse_number(const Module& module) { fail<TypeError>("{}: expected a tensor and got a number", module.name()); }

Tensor Module::call(const In& input) {
  require<NotImplementedError>(unary_ != nullptr, "Module [{}] is missing the required \"forward\" function", name());
  if (!has_hooks()) return unary_(*this, input);
  if (input.is_scalar()) detail::refuse_number(*this);
  Tensors inputs{input.tensor()};
  HookedCall hooked(*this);
  hooked.before_forward(inputs);
  Tensors outputs{unary_(*this, In(inputs.at(0), input.where()))};
  hooked.after_forward(inputs, outputs);
  return detail::unlisted<Tensor>(outputs);
}

// ---- what belongs to it ----

const Module::Slot* Module::find(const Slots& slots, std::string_view name) const {
  for (const auto& slot : slots)
    if (slot->name == name) return slot.get();
  return nullptr;
}

void Module::check_name(const char* kind, const std::string& name, bool known) const {
  require<IndexError>(name.find('.') == std::string::npos, "{} name can't contain \".\"", kind);
  require<IndexError>(!name.empty(), "{} name can't be empty string \"\"", kind);
  const bool taken = find(parameters_, name) || find(buffers_, name) ||
                     std::any_of(children_.begin(), children_.end(), [&](const auto& child) { return child.first == name; });
  require<IndexError>(known || !taken, "attribute '{}' already exists", name);
}

Tensor& Module::register_parameter(const std::string& name, Tensor value, bool requires_grad) {
  const Slot* known = find(parameters_, name);
  check_name("parameter", name, known != nullptr);
  if (value.defined()) {
    require<ValueError>(!value.grad_fn(),
                        "Cannot assign non-leaf Tensor to parameter '{0}'. Model parameters must be created explicitly. To express "
                        "'{0}' as a function of another Tensor, compute the value in the forward() method.",
                        name);
    if (value.requires_grad() != requires_grad) value.requires_grad_(requires_grad);
  }
  if (!known) known = parameters_.emplace_back(std::make_unique<Slot>(Slot{name, {}})).get();
  Tensor& place = const_cast<Slot*>(known)->tensor;
  place = std::move(value);
  return place;
}

Tensor& Module::register_buffer(const std::string& name, Tensor value, bool persistent) {
  const Slot* known = find(buffers_, name);
  check_name("buffer", name, known != nullptr);
  if (!known) known = buffers_.emplace_back(std::make_unique<Slot>(Slot{name, {}})).get();
  auto* slot = const_cast<Slot*>(known);
  slot->tensor = std::move(value);
  slot->persistent = persistent;
  return slot->tensor;
}

void Module::add_module(const std::string& name, const AnyModule& module) {
  const auto child = std::find_if(children_.begin(), children_.end(), [&](const auto& c) { return c.first == name; });
  check_name("module", name, child != children_.end());
  require<ValueError>(static_cast<bool>(module), "module '{}' is empty", name);
  if (child != children_.end())
    child->second = module.ptr();
  else
    children_.emplace_back(name, module.ptr());
}

Named<AnyModule> Module::children_in_order() const {
  Named<AnyModule> all;
  for (const auto& [name, child] : children_) all.emplace_back(name, AnyModule(child));
  return all;
}

void Module::remove_module(const std::string& name) {
  std::erase_if(children_, [&](const auto& child) { return child.first == name; });
}

void Module::remove_parameter(const std::string& name) {
  std::erase_if(parameters_, [&](const auto& slot) { return slot->name == name; });
}

// ---- walking ----

namespace {

std::string joined(const std::string& prefix, const std::string& name) { return prefix.empty() ? name : prefix + "." + name; }

template <class T>
std::vector<T> values(Named<T> named) {
  std::vector<T> all;
  all.reserve(named.size());
  for (auto& [name, value] : named) all.push_back(std::move(value));
  return all;
}

}  // namespace

AnyModule Module::self() const {
  auto* self = const_cast<Module*>(this);
  if (const auto shared = self->weak_from_this().lock()) return AnyModule(shared);
  return AnyModule(std::shared_ptr<Module>(std::shared_ptr<void>(), self));  // not made by a handle: nobody's to keep alive
}

Named<AnyModule> Module::named_modules(const std::string& prefix) const {
  Named<AnyModule> all;
  std::unordered_set<const Module*> seen;
  std::vector<std::pair<std::string, AnyModule>> open{{prefix, self()}};
  while (!open.empty()) {
    auto [name, module] = std::move(open.back());
    open.pop_back();
    if (!seen.insert(&*module).second) continue;
    for (auto child = module->children_.rbegin(); child != module->children_.rend(); ++child)
      open.emplace_back(joined(name, child->first), AnyModule(child->second));
    all.emplace_back(std::move(name), std::move(module));
  }
  return all;
}

std::vector<AnyModule> Module::modules() const { return values(named_modules()); }

Named<AnyModule> Module::named_children() const {
  Named<AnyModule> all;
  for (const auto& [name, child] : children_)
    if (std::none_of(all.begin(), all.end(), [&](const auto& known) { return known.second.ptr() == child; }))
      all.emplace_back(name, AnyModule(child));
  return all;
}

std::vector<AnyModule> Module::children() const { return values(named_children()); }

Named<Tensor> Module::named(Slots Module::* slots, const std::string& prefix, bool recurse) const {
  Named<Tensor> all;
  std::unordered_set<const TensorImpl*> seen;
  for (const auto& [path, module] : recurse ? named_modules(prefix) : Named<AnyModule>{{prefix, self()}})
    for (const auto& slot : (*module).*slots)
      if (slot->tensor.defined() && seen.insert(slot->tensor.impl()).second)
        all.emplace_back(joined(path, slot->name), slot->tensor);
  return all;
}

Named<Tensor> Module::named_parameters(const std::string& prefix, bool recurse) const {
  return named(&Module::parameters_, prefix, recurse);
}
Named<Tensor> Module::named_buffers(const std::string& prefix, bool recurse) const {
  return named(&Module::buffers_, prefix, recurse);
}
std::vector<Tensor> Module::parameters(bool recurse) const { return values(named_parameters("", recurse)); }
std::vector<Tensor> Module::buffers(bool recurse) const { return values(named_buffers("", recurse)); }

AnyModule Module::get_submodule(std::string_view target) {
  AnyModule module = self();
  while (!target.empty()) {
    const std::string_view name = target.substr(0, target.find('.'));
    target = name.size() == target.size() ? std::string_view() : target.substr(name.size() + 1);
    const auto& below = module->children_;
    const auto child = std::find_if(below.begin(), below.end(), [&](const auto& c) { return c.first == name; });
    require<IndexError>(child != below.end(), "{} has no attribute `{}`", module->name(), name);
    module = AnyModule(child->second);
  }
  return module;
}

Tensor& Module::get_tensor(std::string_view target, Slots Module::* slots, const char* kind) {
  const std::size_t dot = target.rfind('.');
  const AnyModule module = get_submodule(dot == std::string_view::npos ? std::string_view() : target.substr(0, dot));
  const std::string_view name = dot == std::string_view::npos ? target : target.substr(dot + 1);
  const Slot* slot = module->find((*module).*slots, name);
  require<IndexError>(slot != nullptr || find(module->parameters_, name) || find(module->buffers_, name),
                      "{} has no attribute `{}`", module->name(), name);
  require<IndexError>(slot != nullptr, "`{}` is not {}", name, kind);
  return const_cast<Slot*>(slot)->tensor;
}

Tensor& Module::get_parameter(std::string_view target) { return get_tensor(target, &Module::parameters_, "an nn.Parameter"); }
Tensor& Module::get_buffer(std::string_view target) { return get_tensor(target, &Module::buffers_, "a buffer"); }

// ---- changing all of it ----

// A function that is being traced is another one in the other mode.
bool Module::is_training() const {
  if (TraceNotes* notes = TraceNotes::active())
    notes->guard([module = shared_from_this(), on = training_] { return module->training_ == on; });
  return training_;
}

void Module::train(bool on) {
  if (TraceNotes* notes = TraceNotes::active()) notes->refuse("it switches modules between training and evaluation");
  for (const AnyModule& module : modules()) module->training_ = on;
}

void Module::requires_grad_(bool on) {
  for (Tensor& parameter : parameters()) parameter.requires_grad_(on);
}

void Module::zero_grad(bool set_to_none) {
  for (const Tensor& parameter : parameters()) forget_gradient(parameter, set_to_none);
}

void Module::apply(const std::function<void(Module&)>& function) {
  // Each module where it stands last before its parent, once: the order of a walk over children first.
  std::vector<std::pair<AnyModule, bool>> open{{self(), false}};
  while (!open.empty()) {
    const auto [module, below_done] = open.back();
    open.pop_back();
    if (below_done) {
      function(*module);
      continue;
    }
    open.emplace_back(module, true);
    const std::vector<AnyModule> children = module->children();
    for (auto child = children.rbegin(); child != children.rend(); ++child) open.emplace_back(*child, false);
  }
}

void Module::convert(const std::function<Tensor(const Tensor&)>& function) {
  const NoGradGuard off;
  for (const AnyModule& module : modules()) {
    for (const auto& slot : module->parameters_) {
      Tensor& parameter = slot->tensor;
      if (!parameter.defined()) continue;
      const Tensor gradient = parameter.grad(), changed = function(parameter);
      if (changed.impl() != parameter.impl()) {
        if (gradient.defined()) parameter.set_grad({});
        parameter.set_data(changed.detach());
      }
      if (gradient.defined()) parameter.set_grad(function(gradient));
    }
    for (const auto& slot : module->buffers_)
      if (slot->tensor.defined()) slot->tensor = function(slot->tensor);
  }
}

void Module::to(DType dtype) {
  require<TypeError>(is_float(dtype) || is_complex(dtype),
                     "nn.Module.to only accepts floating point or complex dtypes, but got desired dtype={}", dtype_text(dtype));
  convert([&](const Tensor& t) { return is_float(t.dtype()) || is_complex(t.dtype()) ? t.to(dtype) : t; });
}

void Module::to(Device device) {
  convert([&](const Tensor& t) { return t.to(device); });
}

// ---- printing ----

std::string Module::name() const {
  std::string name = autograd::type_name(typeid(*this));
  if (name.size() > 4 && name.ends_with("Impl")) name.resize(name.size() - 4);
  return name;
}

std::string Module::str() const {
  const std::string extra = extra_repr();
  if (children_.empty() && extra.find('\n') == std::string::npos) return name() + "(" + extra + ")";
  std::string inside;
  if (!extra.empty()) inside += "\n  " + indented(extra);
  for (const auto& [name, child] : children_) inside += "\n  (" + name + "): " + indented(child->str());
  return name() + "(" + inside + "\n)";
}

std::ostream& operator<<(std::ostream& out, const Module& module) { return out << module.str(); }
std::ostream& operator<<(std::ostream& out, const AnyModule& module) { return out << *module; }

}  // namespace braze::nn
