// Module: what holds parameters and computes. https://pytorch.org/docs/stable/generated/torch.nn.Module.html
//
//   struct NetImpl : nn::Module {
//     nn::Linear first = register_module("first", nn::Linear(2, 16)), second = register_module("second", nn::Linear(16, 1));
//     Tensor& scale = register_parameter("scale", ones({1}));
//     Tensor forward(const Tensor& x) { return second(relu(first(x))) * scale; }
//   };
//   using Net = nn::ModuleHolder<NetImpl>;
//
//   Net net;
//   net(x);                                          // forward, between its hooks
//   optim::SGD sgd(net->parameters(), {.lr = 0.1});
//   std::cout << net;
//
// A ModuleHolder is a handle: copies are the same module. Names, order of parameters, keys of state_dict, initial values and text are
// PyTorch's.
#pragma once

#include <concepts>
#include <functional>
#include <iosfwd>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <typeinfo>
#include <utility>
#include <vector>

#include "braze/autograd.h"
#include "braze/hooks.h"
#include "braze/recurrent.h"
#include "braze/state_dict.h"
#include "braze/tensor.h"

namespace braze {
class IValue;
}

namespace braze::nn {

class AnyModule;
class Module;

// The names that one side of load_state_dict alone had.
struct IncompatibleKeys {
  std::vector<std::string> missing, unexpected;
};

class Module : public std::enable_shared_from_this<Module> {
 public:
  using Tensors = std::vector<Tensor>;
  // What hooks return takes the place of the inputs or outputs; none leaves them.
  using PreHook = std::function<std::optional<Tensors>(Module&, const Tensors& inputs)>;
  using Hook = std::function<std::optional<Tensors>(Module&, const Tensors& inputs, const Tensors& outputs)>;
  using SaveHook = std::function<void(Module&, StateDict& state, const std::string& prefix)>;

  Module() = default;
  Module(const Module&) = delete;
  virtual ~Module();

  // ---- what belongs to it ----
  // The place of the parameter, for as long as the module lives: what is assigned to it is the parameter from then on. An undefined
  // tensor is the place of none. Throws ValueError for what an op made, and IndexError for a name that is empty, has a dot or is taken
  // by something else; the same name again replaces the parameter.
  Tensor& register_parameter(const std::string& name, Tensor value, bool requires_grad = true);
  // A tensor that is not trained; `persistent` says whether state_dict has it.
  Tensor& register_buffer(const std::string& name, Tensor value, bool persistent = true);
  template <class Handle>
  Handle register_module(const std::string& name, Handle module);
  void add_module(const std::string& name, const AnyModule& module);

  std::vector<Tensor> parameters(bool recurse = true) const;  // as optimizers take them: each once
  Named<Tensor> named_parameters(const std::string& prefix = "", bool recurse = true) const;
  std::vector<Tensor> buffers(bool recurse = true) const;
  Named<Tensor> named_buffers(const std::string& prefix = "", bool recurse = true) const;
  std::vector<AnyModule> children() const;
  Named<AnyModule> named_children() const;
  std::vector<AnyModule> modules() const;  // this one and all below it
  Named<AnyModule> named_modules(const std::string& prefix = "") const;
  // By dotted name. Throw IndexError in PyTorch's words.
  Tensor& get_parameter(std::string_view target);
  Tensor& get_buffer(std::string_view target);
  AnyModule get_submodule(std::string_view target);
  // The module as what it is, or null: `if (auto* linear = module.as<nn::Linear>())`.
  template <class Handle>
  auto as() {
    return dynamic_cast<typename Handle::Contained*>(this);
  }

  // ---- saving and loading ----
  // Parameters and persistent buffers by name, as they are: no copies.
  // https://pytorch.org/docs/stable/generated/torch.nn.Module.html#torch.nn.Module.state_dict
  StateDict state_dict(const std::string& prefix = "") const;
  // Writes tensors into the parameters and buffers of their names. Throws Error naming what is missing, unexpected (both only if
  // `strict`) or of another shape, all of it; what fits has been written then.
  // https://pytorch.org/docs/stable/generated/torch.nn.Module.html#torch.nn.Module.load_state_dict
  IncompatibleKeys load_state_dict(const StateDict& state, bool strict = true);
  template <std::same_as<IValue> Saved>  // a template, so that braces are a StateDict
  IncompatibleKeys load_state_dict(const Saved& saved, bool strict = true) {
    return load_state_dict(saved.to_state_dict(), strict);
  }

  // A module of its own with the same values, as copy.deepcopy: made anew (see remade), whose parameters, buffers, gradients, hooks, mode and
  // children are then copies; nothing is drawn. What is registered under two names stays one. Other members are as `remade` leaves them.
  // nn::clone gives what it is given: a handle, an AnyModule or a shared_ptr; none gives none.
  std::shared_ptr<Module> clone() const;
  // A module as the constructor makes it, for clone() to fill. A handle remembers what it made its module with; a module that was made
  // otherwise says it by overriding this, as in `return std::make_shared<NetImpl>(width_);`, or has a constructor without arguments. Throws
  // Error where none of these is so.
  virtual std::shared_ptr<Module> remade() const;

  // ---- changing all of it, here and below ----
  void train(bool on = true);  // what dropout and batch norm ask for
  void eval() { train(false); }
  bool is_training() const;
  void to(DType dtype);  // floating parameters and buffers; throws TypeError for an integer dtype
  void to(Device device);
  void requires_grad_(bool on = true);
  void zero_grad(bool set_to_none = true);
  // On all below this one and then on itself.
  void apply(const std::function<void(Module&)>& function);
  // `function` on every parameter, gradient and buffer; parameters stay the tensors they are.
  void convert(const std::function<Tensor(const Tensor&)>& function);

  // ---- hooks: around a call of the handle ----
  // hook(module, inputs) before forward; hook(module, inputs, outputs) after. A hook may return nothing, a tensor, or tensors that take the
  // place. https://pytorch.org/docs/stable/generated/torch.nn.Module.html#torch.nn.Module.register_forward_hook
  template <class F>
  HookHandle register_forward_pre_hook(F hook, bool prepend = false) {
    return add_pre_hook([hook = std::move(hook)](Module& m, const Tensors& in) { return answer([&] { return hook(m, in); }); },
                        prepend);
  }
  template <class F>
  HookHandle register_forward_hook(F hook, bool prepend = false) {
    return add_hook([hook = std::move(hook)](Module& m, const Tensors& in,
                                             const Tensors& out) { return answer([&] { return hook(m, in, out); }); },
                    prepend);
  }
  // hook(module, grad_inputs, grad_outputs) once backward has the gradients of the inputs, undefined where there is none; what it returns
  // takes the place of grad_inputs. hook(module, grad_outputs) before backward passes the module.
  // https://pytorch.org/docs/stable/generated/torch.nn.Module.html#torch.nn.Module.register_full_backward_hook
  template <class F>
  HookHandle register_full_backward_hook(F hook, bool prepend = false) {
    return add_backward_hook([hook = std::move(hook)](Module& m, const Tensors& in,
                                                      const Tensors& out) { return answer([&] { return hook(m, in, out); }); },
                             prepend);
  }
  template <class F>
  HookHandle register_full_backward_pre_hook(F hook, bool prepend = false) {
    return add_backward_pre_hook(
        [hook = std::move(hook)](Module& m, const Tensors& out) { return answer([&] { return hook(m, out); }); }, prepend);
  }
  // Before the module's own tensors are put into a state dict, and when they and those below are there; before they are loaded from one,
  // which hooks may change (the caller's stays), and when they and those below have been.
  HookHandle register_state_dict_pre_hook(std::function<void(Module&, const std::string& prefix)> hook);
  HookHandle register_state_dict_post_hook(SaveHook hook);
  HookHandle register_load_state_dict_pre_hook(SaveHook hook);
  HookHandle register_load_state_dict_post_hook(std::function<void(Module&, IncompatibleKeys& keys)> hook);

  // One call between its hooks: what the handle needs.
  bool has_hooks() const { return hooks_ != nullptr; }
  class HookedCall {
   public:
    explicit HookedCall(Module& module) : module_(module) {}
    void before_forward(Tensors& inputs);
    void after_forward(const Tensors& inputs, Tensors& outputs);

   private:
    struct Backward;
    Module& module_;
    std::shared_ptr<Backward> backward_;
  };

  // ---- printing ----
  virtual std::string name() const;                      // the type's, without "Impl"
  virtual std::string extra_repr() const { return ""; }  // what is printed in the brackets
  virtual std::string str() const;

  // forward of one tensor, where the module has it. Throws NotImplementedError in PyTorch's words where it has not.
  Tensor call(const In& input);

 protected:
  // For containers: the children, each as often as it was added, and what takes them away.
  Named<AnyModule> children_in_order() const;
  void clear_modules() { children_.clear(); }
  void remove_module(const std::string& name);
  void remove_parameter(const std::string& name);

 private:
  template <class, class...>
  friend class ModuleHolder;
  struct Slot {
    std::string name;
    Tensor tensor;
    bool persistent = true;
  };
  using Slots = std::vector<std::unique_ptr<Slot>>;  // references to tensors stay valid
  struct Hooks;
  struct Loading;
  struct Copying;

  template <class F>
  static std::optional<Tensors> answer(F call) {
    using R = decltype(call());
    if constexpr (std::is_void_v<R>) {
      call();
      return std::nullopt;
    } else if constexpr (std::is_same_v<std::remove_cvref_t<R>, Tensor>) {
      return Tensors{call()};
    } else {
      return call();
    }
  }
  HookHandle add_pre_hook(PreHook hook, bool prepend);
  HookHandle add_hook(Hook hook, bool prepend);
  HookHandle add_backward_hook(Hook hook, bool prepend);
  HookHandle add_backward_pre_hook(PreHook hook, bool prepend);
  Hooks& hooks();
  AnyModule self() const;
  void check_name(const char* kind, const std::string& name, bool known) const;
  const Slot* find(const Slots& slots, std::string_view name) const;
  Tensor& get_tensor(std::string_view target, Slots Module::* slots, const char* kind);
  Named<Tensor> named(Slots Module::* slots, const std::string& prefix, bool recurse) const;
  void load(const std::string& prefix, Loading& loading);

  Slots parameters_, buffers_;
  std::vector<std::pair<std::string, std::shared_ptr<Module>>> children_;
  std::shared_ptr<Hooks> hooks_;
  Tensor (*unary_)(Module&, const In&) = nullptr;    // set by the handle, which knows forward
  std::function<std::shared_ptr<Module>()> remake_;  // and by what it was made
  bool training_ = true;
};

// A handle on a module of any type.
class AnyModule {
 public:
  AnyModule() = default;
  explicit AnyModule(std::shared_ptr<Module> module) : module_(std::move(module)) {}
  Module* operator->() const { return module_.get(); }
  Module& operator*() const { return *module_; }
  explicit operator bool() const { return module_ != nullptr; }
  bool operator==(const AnyModule&) const = default;
  const std::shared_ptr<Module>& ptr() const { return module_; }
  // For modules whose forward takes one tensor and gives one.
  Tensor operator()(const In& input) const { return module_->call(input); }

 private:
  std::shared_ptr<Module> module_;
};

std::ostream& operator<<(std::ostream& out, const Module& module);
std::ostream& operator<<(std::ostream& out, const AnyModule& module);

namespace detail {

struct NoOptions {};
template <class Impl>
struct OptionsOf {
  using Type = NoOptions;
};
template <class Impl>
  requires requires { typename Impl::Options; }
struct OptionsOf<Impl> {
  using Type = typename Impl::Options;
};

[[noreturn]] void refuse_number(const Module& module);

// Results of forward as the list that hooks see, and back.
inline Module::Tensors listed(const Tensor& result) { return {result}; }
inline Module::Tensors listed(const std::vector<Tensor>& result) { return result; }
inline Module::Tensors listed(const RecurrentResult& result) { return {result.output, result.hidden}; }
inline Module::Tensors listed(const LstmResult& result) { return {result.output, result.hidden, result.cell}; }
template <class... T>
  requires(std::is_same_v<T, Tensor> && ...)
Module::Tensors listed(const std::tuple<T...>& result) {
  return std::apply([](const auto&... each) { return Module::Tensors{each...}; }, result);
}
inline Module::Tensors listed(const std::pair<Tensor, Tensor>& result) { return {result.first, result.second}; }
void require_outputs(std::size_t given, std::size_t wanted);
template <class R>
R unlisted(const Module::Tensors& list) {
  if constexpr (std::is_same_v<R, std::vector<Tensor>>) {
    return list;
  } else if constexpr (std::is_same_v<R, Tensor>) {
    require_outputs(list.size(), 1);
    return list[0];
  } else if constexpr (std::is_same_v<R, LstmResult> || requires { std::get<2>(std::declval<R>()); }) {
    require_outputs(list.size(), 3);
    return R{list[0], list[1], list[2]};
  } else {
    require_outputs(list.size(), 2);
    return R{list[0], list[1]};
  }
}

}  // namespace detail

// The handle of modules of one type. `Required` are what its constructor asks for; where Impl has a type Options, that comes last and may
// be left out, or written as {.bias = false}.
template <class Impl, class... Required>
class ModuleHolder {
 public:
  using Contained = Impl;
  using Options = typename detail::OptionsOf<Impl>::Type;

  explicit ModuleHolder(Required... required)
    requires(std::is_same_v<Options, detail::NoOptions>)
      : ModuleHolder(std::make_shared<Impl>(required...)) {
    remember(std::move(required)...);
  }
  explicit ModuleHolder(Required... required, const Options& options = {})  // NOLINT: some Impl keeps it
    requires(!std::is_same_v<Options, detail::NoOptions>)
      : ModuleHolder(std::make_shared<Impl>(required..., options)) {
    remember(std::move(required)..., options);
  }
  template <std::same_as<std::nullptr_t> None>  // a template, so that 0 is a number
  ModuleHolder(None) {}                         // NOLINT: no module
  explicit ModuleHolder(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {
    if (!impl_) return;
    if constexpr (sizeof...(Required) == 0 && std::is_same_v<Options, detail::NoOptions> && std::is_default_constructible_v<Impl>)
      if (!impl_->remake_) impl_->remake_ = [] { return std::shared_ptr<Module>(ModuleHolder().ptr()); };
    if constexpr (requires(Impl& m, const In& x) {
                    { m.forward(x) } -> std::same_as<Tensor>;
                  })
      impl_->unary_ = [](Module& m, const In& x) { return static_cast<Impl&>(m).forward(x); };
    else if constexpr (requires(Impl& m, const Tensor& x) {
                         { m.forward(x) } -> std::same_as<Tensor>;
                       })
      impl_->unary_ = [](Module& m, const In& x) { return static_cast<Impl&>(m).forward(tensor(m, x)); };
  }

  Impl* operator->() const { return impl_.get(); }
  Impl& operator*() const { return *impl_; }
  explicit operator bool() const { return impl_ != nullptr; }
  const std::shared_ptr<Impl>& ptr() const { return impl_; }
  operator AnyModule() const { return AnyModule(impl_); }  // NOLINT: of any type

  // forward between the hooks. The first argument carries the caller's line.
  template <class... Rest>
  auto operator()(const In& input, Rest&&... rest) const {
    if (impl_->has_hooks()) return between_hooks(input, std::forward<Rest>(rest)...);
    return forward(input, std::forward<Rest>(rest)...);
  }

  // A module of its own with the same values; see Module::clone.
  template <class Handle>
  friend Handle clone(const Handle& module);

 private:
  template <class... Arguments>
  void remember(Arguments... arguments) {
    impl_->remake_ = [... arguments = std::move(arguments)] { return std::shared_ptr<Module>(ModuleHolder(arguments...).ptr()); };
  }
  static const Tensor& tensor(const Module& module, const In& input) {
    if (input.is_scalar()) detail::refuse_number(module);
    return input.tensor();
  }
  template <class... Rest>
  auto forward(const In& input, Rest&&... rest) const {
    if constexpr (requires { impl_->forward(input, std::forward<Rest>(rest)...); })
      return impl_->forward(input, std::forward<Rest>(rest)...);
    else
      return impl_->forward(tensor(*impl_, input), std::forward<Rest>(rest)...);
  }
  template <class... Rest>
  auto between_hooks(const In& input, Rest&&... rest) const {
    Module::Tensors inputs{tensor(*impl_, input)};
    [[maybe_unused]] const auto keep = [&](const auto& argument) {
      if constexpr (std::is_convertible_v<decltype(argument), const Tensor&>) inputs.push_back(argument);
    };
    (keep(rest), ...);
    Module::HookedCall hooked(*impl_);
    hooked.before_forward(inputs);
    [[maybe_unused]] std::size_t next = 1;
    [[maybe_unused]] const auto taken = [&]<class A>(A&& argument) -> decltype(auto) {
      if constexpr (std::is_convertible_v<A, const Tensor&>)
        return static_cast<const Tensor&>(inputs.at(next++));
      else
        return std::forward<A>(argument);
    };
    // Braces: from the left to the right.
    const std::tuple<decltype(taken(std::forward<Rest>(rest)))...> arguments{taken(std::forward<Rest>(rest))...};
    auto result = std::apply([&](auto&&... each) { return forward(In(inputs.at(0), input.where()), each...); }, arguments);
    Module::Tensors outputs = detail::listed(result);
    hooked.after_forward(inputs, outputs);
    return detail::unlisted<decltype(result)>(outputs);
  }

  std::shared_ptr<Impl> impl_;
};

template <class Handle>
Handle clone(const Handle& module) {
  Handle copy = module;
  if (module) copy.impl_ = std::static_pointer_cast<typename Handle::Contained>(module->clone());
  return copy;
}

inline AnyModule clone(const AnyModule& module) { return module ? AnyModule(module->clone()) : module; }
template <std::derived_from<Module> Impl>
std::shared_ptr<Impl> clone(const std::shared_ptr<Impl>& module) {
  if (!module) return nullptr;
  if constexpr (std::is_default_constructible_v<Impl>) {
    const Impl& made = *module;
    if (typeid(made) == typeid(Impl)) ModuleHolder<Impl>{module};  // which tells it how it is made anew
  }
  return std::dynamic_pointer_cast<Impl>(module->clone());
}

template <class Impl, class... Required>
std::ostream& operator<<(std::ostream& out, const ModuleHolder<Impl, Required...>& module) {
  return out << static_cast<const Module&>(*module);
}

// A module that is made with options and keeps them.
template <class OptionsType>
class Configured : public Module {
 public:
  using Options = OptionsType;
  explicit Configured(const Options& options = {}) : options(options) {}

  const Options options;
};

template <class Handle>
Handle Module::register_module(const std::string& name, Handle module) {
  add_module(name, module);
  return module;
}

}  // namespace braze::nn
