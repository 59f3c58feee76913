#include "frontend/nn/hooks.h"

#include "ir/error.h"

namespace braze::nn {

Module::Hooks& Module::hooks() {
  if (!hooks_) hooks_ = std::make_shared<Hooks>();
  return *hooks_;
}

HookHandle Module::add_pre_hook(PreHook hook, bool prepend) { return hooks().before_forward.add(std::move(hook), prepend); }
HookHandle Module::add_hook(Hook hook, bool prepend) { return hooks().after_forward.add(std::move(hook), prepend); }
HookHandle Module::add_backward_hook(Hook hook, bool prepend) { return hooks().after_backward.add(std::move(hook), prepend); }
HookHandle Module::add_backward_pre_hook(PreHook hook, bool prepend) {
  return hooks().before_backward.add(std::move(hook), prepend);
}
HookHandle Module::register_state_dict_pre_hook(std::function<void(Module&, const std::string&)> hook) {
  return hooks().before_save.add(std::move(hook));
}
HookHandle Module::register_state_dict_post_hook(SaveHook hook) { return hooks().after_save.add(std::move(hook)); }
HookHandle Module::register_load_state_dict_pre_hook(SaveHook hook) { return hooks().before_load.add(std::move(hook)); }
HookHandle Module::register_load_state_dict_post_hook(std::function<void(Module&, IncompatibleKeys&)> hook) {
  return hooks().after_load.add(std::move(hook));
}

// ---- one call ----

// The call lies between two borders of identities, one at its inputs and one at its outputs; hooks see the gradients that pass
// them. It lives as long as the graph does.
struct Module::HookedCall::Backward : std::enable_shared_from_this<Backward> {
  std::weak_ptr<Module> module;
  std::size_t inputs = 0;
  std::vector<std::size_t> places;  // of the inputs that require grad
  Tensors from_outputs;

  using OnGradients = Tensors (Backward::*)(Tensors);
  // Gives those of `tensors` that require grad an identity whose gradients pass `on_gradients`.
  std::vector<std::size_t> pass(Tensors& tensors, OnGradients on_gradients) {
    std::vector<std::size_t> at;
    Tensors inside, views;
    for (std::size_t i = 0; i < tensors.size(); ++i)
      if (tensors[i].defined() && tensors[i].requires_grad()) {
        at.push_back(i);
        inside.push_back(tensors[i]);
        const NoGradGuard off;
        views.push_back(tensors[i].view_as(tensors[i]));
      }
    if (at.empty()) return at;
    const Tensors passed =
        autograd::with_gradient(inside, views,
                                {.name = "BackwardHookFunctionBackward",
                                 .backward =
                                     [self = shared_from_this(), on_gradients](std::span<const Tensor> gradients) {
                                       return ((*self).*on_gradients)({gradients.begin(), gradients.end()});
                                     },
                                 .jvp = [](std::span<const Tensor> tangents) { return Tensors(tangents.begin(), tangents.end()); },
                                 .materialize = false});
    for (std::size_t i = 0; i < at.size(); ++i) tensors[at[i]] = passed[i];
    return at;
  }

  Tensors at_outputs(Tensors gradients) {
    if (const auto alive = module.lock()) {
      alive->hooks().before_backward.each([&](const PreHook& hook) {
        if (std::optional<Tensors> changed = hook(*alive, gradients)) {
          require(changed->size() == gradients.size(), "a backward pre-hook returned {} gradients for {} outputs", changed->size(),
                  gradients.size());
          gradients = std::move(*changed);
        }
      });
    }
    from_outputs = gradients;
    if (places.empty()) call(Tensors(inputs));
    return gradients;
  }

  Tensors at_inputs(Tensors gradients) {
    Tensors all(inputs);
    for (std::size_t i = 0; i < places.size(); ++i) all[places[i]] = gradients[i];
    all = call(std::move(all));
    for (std::size_t i = 0; i < places.size(); ++i) gradients[i] = all[places[i]];
    return gradients;
  }

  Tensors call(Tensors gradients) {
    if (const auto alive = module.lock())
      alive->hooks().after_backward.each([&](const Hook& hook) {
        std::optional<Tensors> changed = hook(*alive, gradients, from_outputs);
        if (!changed) return;
        require(changed->size() == gradients.size(),
                "Backward hook returned an invalid number of grad_input, got {}, but expected {}", changed->size(),
                gradients.size());
        gradients = std::move(*changed);
      });
    return gradients;
  }
};

void Module::HookedCall::before_forward(Tensors& inputs) {
  const Hooks& hooks = *module_.hooks_;
  hooks.before_forward.each([&](const PreHook& hook) {
    if (std::optional<Tensors> changed = hook(module_, inputs)) {
      require(changed->size() == inputs.size(), "a forward pre-hook returned {} tensors for {} inputs", changed->size(),
              inputs.size());
      inputs = std::move(*changed);
    }
  });
  if (hooks.after_backward.empty() && hooks.before_backward.empty()) return;
  backward_ = std::make_shared<Backward>();
  backward_->module = module_.weak_from_this();
  backward_->inputs = inputs.size();
  backward_->places = backward_->pass(inputs, &Backward::at_inputs);
}

void Module::HookedCall::after_forward(const Tensors& inputs, Tensors& outputs) {
  module_.hooks_->after_forward.each([&](const Hook& hook) {
    if (std::optional<Tensors> changed = hook(module_, inputs, outputs)) outputs = std::move(*changed);
  });
  if (backward_) backward_->pass(outputs, &Backward::at_outputs);
}

}  // namespace braze::nn
