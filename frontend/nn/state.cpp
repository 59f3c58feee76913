// state_dict and load_state_dict.
#include <algorithm>

#include "braze/nn/module.h"
#include "frontend/nn/hooks.h"
#include "frontend/nn/text.h"
#include "ir/error.h"

namespace braze::nn {

namespace {

// A module on the way down, and again when all below it is done.
struct Visit {
  std::string path;
  Module* module;
  bool is_done;
};

}  // namespace

StateDict Module::state_dict(const std::string& prefix) const {
  StateDict state;
  // Not named_parameters: a tensor or module of two names is under both.
  std::vector<Visit> open{{prefix, const_cast<Module*>(this), false}};  // for hooks, as in PyTorch
  while (!open.empty()) {
    const auto [path, module, is_done] = open.back();
    open.pop_back();
    const std::shared_ptr<Hooks> hooks = module->hooks_;
    if (is_done) {
      hooks->after_save.each([&, &path = path, &module = module](const SaveHook& hook) { hook(*module, state, path); });
      continue;
    }
    if (hooks) {
      hooks->before_save.each([&path = path, &module = module](const auto& hook) { hook(*module, path); });
      open.push_back({path, module, true});
    }
    for (const Slots* slots : {&module->parameters_, &module->buffers_})
      for (const auto& slot : *slots)
        if (slot->tensor.defined() && slot->persistent) state[path + slot->name] = slot->tensor.detach();
    for (auto child = module->children_.rbegin(); child != module->children_.rend(); ++child)
      open.push_back({path + child->first + ".", child->second.get(), false});
  }
  return state;
}

struct Module::Loading {
  StateDict state;
  IncompatibleKeys keys;
  std::vector<std::string> errors;
};

// One module's own tensors, and the names in the state that it should have and has not.
void Module::load(const std::string& prefix, Loading& loading) {
  for (const Slots* slots : {&parameters_, &buffers_})
    for (const auto& slot : *slots) {
      Tensor& target = slot->tensor;
      if (!target.defined() || !slot->persistent) continue;
      const Tensor* given = loading.state.find(prefix + slot->name);
      if (!given || !given->defined()) {
        loading.keys.missing.push_back(prefix + slot->name);
        continue;
      }
      // Written by a PyTorch before 0.4.
      const Tensor value = target.dim() == 0 && given->dim() == 1 && given->numel() == 1 ? given->reshape({}) : *given;
      if (value.sizes() != target.sizes())
        loading.errors.push_back(
            fmt::format("size mismatch for {}: copying a param with shape {} from checkpoint, the shape in current model is {}.",
                        prefix + slot->name, size_text(value.sizes()), size_text(target.sizes())));
      else
        target.copy_(value);
    }
  for (const auto& [key, tensor] : loading.state) {
    if (!key.starts_with(prefix)) continue;
    const std::string_view rest = std::string_view(key).substr(prefix.size());
    const std::string_view first = rest.substr(0, rest.find('.'));
    const bool below = first.size() < rest.size();
    const bool child = std::any_of(children_.begin(), children_.end(), [&](const auto& c) { return c.first == first; });
    const auto holds = [&](const Slots& slots) {
      const Slot* slot = find(slots, first);
      return slot && slot->persistent && slot->tensor.defined();
    };
    if (below ? !child : child || !(holds(parameters_) || holds(buffers_))) loading.keys.unexpected.push_back(key);
  }
}

IncompatibleKeys Module::load_state_dict(const StateDict& state, bool strict) {
  const NoGradGuard off;
  Loading loading{state, {}, {}};
  std::vector<Visit> open{{"", this, false}};
  while (!open.empty()) {
    const auto [path, module, is_done] = open.back();
    open.pop_back();
    const std::shared_ptr<Hooks> hooks = module->hooks_;
    if (is_done) {
      hooks->after_load.each([&, &module = module](const auto& hook) { hook(*module, loading.keys); });
      continue;
    }
    if (hooks) {
      hooks->before_load.each([&, &path = path, &module = module](const SaveHook& hook) { hook(*module, loading.state, path); });
      open.push_back({path, module, true});
    }
    module->load(path, loading);
    for (auto child = module->children_.rbegin(); child != module->children_.rend(); ++child)
      open.push_back({path + child->first + ".", child->second.get(), false});
  }
  std::vector<std::string> errors;
  const auto name_keys = [&](const std::vector<std::string>& keys, const char* kind) {
    if (strict && !keys.empty())
      errors.push_back(fmt::format("{} key(s) in state_dict: \"{}\". ", kind, fmt::join(keys, "\", \"")));
  };
  name_keys(loading.keys.missing, "Missing");
  name_keys(loading.keys.unexpected, "Unexpected");
  errors.insert(errors.end(), loading.errors.begin(), loading.errors.end());
  require(errors.empty(), "Error(s) in loading state_dict for {}:\n\t{}", name(), fmt::join(errors, "\n\t"));
  return loading.keys;
}

}  // namespace braze::nn
