// Optimizers: what changes parameters by their gradients. https://pytorch.org/docs/stable/optim.html
//
//   optim::Adam adam(model->parameters(), {.lr = 3e-4});
//   for (auto [x, y] : loader) {
//     adam.zero_grad();
//     nn::functional::mse_loss(model(x), y).backward();
//     adam.step();
//   }
//
// Parameters that share settings are a group; where they differ:
//
//   optim::SGD sgd({{model->first->parameters()}, {model->second->parameters(), {.lr = 0.1}}});
//
// A step runs as one program with the forward and backward pass before it, and writes into the memory that parameters and state have.
// Names of settings, state and text are PyTorch's.
#pragma once

#include <concepts>
#include <functional>
#include <iosfwd>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

#include "braze/hooks.h"
#include "braze/optim/options.h"
#include "braze/state_dict.h"
#include "braze/tensor.h"

namespace braze {
class IValue;
}

namespace braze::optim {

using Setting = std::variant<std::monostate, bool, std::int64_t, double, Betas, std::string>;

// What state_dict gives: parameters are numbered through all groups.
struct OptimizerState {
  std::map<std::int64_t, StateDict> state;
  struct Group {
    Named<Setting> settings;
    std::vector<std::int64_t> params;
  };
  std::vector<Group> param_groups;

  // As PyTorch's checkpoints have it: {"state": {0: {...}}, "param_groups": [...]}. Throws where it is something else.
  IValue to_ivalue() const;
  static OptimizerState from_ivalue(const IValue& saved);
};

class Optimizer {
 public:
  // Computes the loss anew, gradients included.
  using Closure = std::function<Tensor()>;

  Optimizer(const Optimizer&) = delete;  // schedulers refer to it
  virtual ~Optimizer();

  // Forgets the gradients of all parameters, or makes them zero.
  void zero_grad(bool set_to_none = true);
  // Updates all parameters that have a gradient. The closure is called before, with grad mode on; its value is returned.
  Tensor step(const Closure& closure = {});

  // ---- groups ----
  std::size_t groups() const { return params_.size(); }
  const std::vector<Tensor>& params(std::size_t group = 0) const { return params_.at(group); }
  double lr(std::size_t group = 0) const;
  void set_lr(double lr);  // of all groups
  void set_lr(double lr, std::size_t group);
  // The rate that a group had when a scheduler was first made for it.
  double initial_lr(std::size_t group);
  // By PyTorch's name. set throws ValueError for a name that the optimizer has not or a value of another kind.
  virtual Named<Setting> settings(std::size_t group = 0) const = 0;
  virtual void set(std::size_t group, const std::string& name, const Setting& value) = 0;

  // ---- state ----
  // What belongs to a parameter, by PyTorch's names; empty before its first step.
  StateDict& state(const Tensor& param);
  // https://pytorch.org/docs/stable/generated/torch.optim.Optimizer.state_dict.html
  OptimizerState state_dict() const;
  // Takes what state_dict gave. Throws ValueError where groups or their sizes differ.
  void load_state_dict(const OptimizerState& state);
  template <std::same_as<IValue> Saved>  // a template, so that braces are an OptimizerState
  void load_state_dict(const Saved& saved) {
    load_state_dict(OptimizerState::from_ivalue(saved));
  }

  // ---- hooks ----
  // Around step, and around taking and loading the state, which they may change.
  using Hook = std::function<void(Optimizer&)>;
  using StateHook = std::function<void(Optimizer&, OptimizerState&)>;
  HookHandle register_step_pre_hook(Hook hook) { return hooks_.before_step.add(std::move(hook)); }
  HookHandle register_step_post_hook(Hook hook) { return hooks_.after_step.add(std::move(hook)); }
  HookHandle register_state_dict_pre_hook(Hook hook, bool prepend = false) {
    return hooks_.before_save.add(std::move(hook), prepend);
  }
  HookHandle register_state_dict_post_hook(StateHook hook, bool prepend = false) {
    return hooks_.after_save.add(std::move(hook), prepend);
  }
  HookHandle register_load_state_dict_pre_hook(StateHook hook, bool prepend = false) {
    return hooks_.before_load.add(std::move(hook), prepend);
  }
  HookHandle register_load_state_dict_post_hook(Hook hook, bool prepend = false) {
    return hooks_.after_load.add(std::move(hook), prepend);
  }

  virtual std::string name() const;  // the type's
  std::string str() const;

 protected:
  Optimizer() = default;
  // Throws ValueError for parameters that are not leaves, or in a group already.
  void add_params(std::vector<Tensor> params);
  // The updates, recorded without grad mode; `updated` gets what was changed.
  virtual void update(std::vector<Tensor>& updated) = 0;
  // A step without its hooks, of what `update` does; for optimizers whose step calls the closure again and again.
  virtual Tensor step_once(const Closure& closure);
  // Whether braze::compile may repeat `update` for its numbers alone.
  virtual bool repeatable() const { return false; }
  // What a loaded state becomes: the parameter's dtype, and float32 for a count of steps.
  virtual DType state_dtype(const std::string& name, const Tensor& param, const Tensor& value) const;
  // Runs what a step has changed and all that it comes from, as one program.
  static void run(std::span<const Tensor> updated);

 private:
  struct Hooks {
    HookList<Hook> before_step, after_step, before_save, after_load;
    HookList<StateHook> after_save, before_load;
  };
  std::vector<std::vector<Tensor>> params_;
  Hooks hooks_;
  std::map<std::size_t, double> initial_lrs_;
  std::unordered_map<const TensorImpl*, StateDict> state_;
};

std::ostream& operator<<(std::ostream& out, const Optimizer& optimizer);

// Parameters that share settings; without options those of the optimizer.
template <class Options>
struct ParamGroup {
  std::vector<Tensor> params;
  std::optional<Options> options = {};
};

// An optimizer that updates each parameter by itself, by braze/optim/updates.h. Throws ValueError in PyTorch's words for settings out of
// range and for no parameters at all.
template <class OptionsType>
class PerParameter : public Optimizer {
 public:
  using Options = OptionsType;
  using Group = ParamGroup<Options>;

  explicit PerParameter(std::vector<Tensor> params, const Options& options = {});
  explicit PerParameter(std::vector<Group> groups, const Options& options = {});
  void add_param_group(Group group);
  Options& options(std::size_t group = 0) { return options_.at(group); }
  Named<Setting> settings(std::size_t group = 0) const override;
  void set(std::size_t group, const std::string& name, const Setting& value) override;

 protected:
  void update(std::vector<Tensor>& updated) override;
  bool repeatable() const override { return true; }

 private:
  void trace_update(const Tensor& param, const Tensor& gradient, std::size_t group);
  Options defaults_;
  std::vector<Options> options_;
};

// Down the gradient, with momentum. https://pytorch.org/docs/stable/generated/torch.optim.SGD.html
class SGD : public PerParameter<SGDOptions> {
  using PerParameter::PerParameter;
};
// Averaged gradient descent. https://pytorch.org/docs/stable/generated/torch.optim.ASGD.html
class ASGD : public PerParameter<ASGDOptions> {
  using PerParameter::PerParameter;
};
// https://pytorch.org/docs/stable/generated/torch.optim.Adam.html
class Adam : public PerParameter<AdamOptions> {
  using PerParameter::PerParameter;
};
// Adam whose weight decay is apart from the gradient. https://pytorch.org/docs/stable/generated/torch.optim.AdamW.html
class AdamW : public PerParameter<AdamWOptions> {
  using PerParameter::PerParameter;
};
// Adam by the largest gradient. https://pytorch.org/docs/stable/generated/torch.optim.Adamax.html
class Adamax : public PerParameter<AdamaxOptions> {
  using PerParameter::PerParameter;
};
// Adam with Nesterov's momentum. https://pytorch.org/docs/stable/generated/torch.optim.NAdam.html
class NAdam : public PerParameter<NAdamOptions> {
  using PerParameter::PerParameter;
};
// Adam that starts with plain momentum. https://pytorch.org/docs/stable/generated/torch.optim.RAdam.html
class RAdam : public PerParameter<RAdamOptions> {
  using PerParameter::PerParameter;
};
// By the sum of squares. https://pytorch.org/docs/stable/generated/torch.optim.Adagrad.html
class Adagrad : public PerParameter<AdagradOptions> {
  using PerParameter::PerParameter;
};
// By running means of squares of gradients and steps. https://pytorch.org/docs/stable/generated/torch.optim.Adadelta.html
class Adadelta : public PerParameter<AdadeltaOptions> {
  using PerParameter::PerParameter;
};
// By a running mean of squares. https://pytorch.org/docs/stable/generated/torch.optim.RMSprop.html
class RMSprop : public PerParameter<RMSpropOptions> {
  using PerParameter::PerParameter;
};
// By the signs of gradients alone. https://pytorch.org/docs/stable/generated/torch.optim.Rprop.html
class Rprop : public PerParameter<RpropOptions> {
  using PerParameter::PerParameter;
};

// Steps along an estimate of the inverse Hessian; step needs a closure, and works until max_iter or a tolerance. In its state numbers are
// tensors without dims, and elements of lists are named "old_dirs.0". https://pytorch.org/docs/stable/generated/torch.optim.LBFGS.html
class LBFGS : public Optimizer {
 public:
  using Options = LBFGSOptions;
  explicit LBFGS(std::vector<Tensor> params, const LBFGSOptions& options = {});
  Named<Setting> settings(std::size_t group = 0) const override;
  void set(std::size_t group, const std::string& name, const Setting& value) override;

 private:
  void update(std::vector<Tensor>&) override {}
  Tensor step_once(const Closure& closure) override;
  DType state_dtype(const std::string& name, const Tensor& param, const Tensor& value) const override;

  LBFGSOptions options_;
};

}  // namespace braze::optim
