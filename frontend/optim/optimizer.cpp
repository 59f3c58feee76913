#include <algorithm>
#include <cmath>
#include <ostream>
#include <unordered_set>

#include "braze/autograd.h"
#include "braze/functions.h"
#include "braze/optim.h"
#include "frontend/autograd/trace_notes.h"
#include "frontend/autograd/tracking.h"
#include "frontend/nn/text.h"
#include "frontend/tensor_impl.h"
#include "ir/error.h"

namespace braze::optim {

Optimizer::~Optimizer() = default;

void Optimizer::add_params(std::vector<Tensor> params) {
  std::unordered_set<const TensorImpl*> known;
  for (const auto& group : params_)
    for (const Tensor& param : group) known.insert(param.impl());
  for (const Tensor& param : params) {
    require<TypeError>(param.defined(), "optimizer can only optimize Tensors, but one of the params is undefined");
    require<ValueError>(param.is_leaf() || param.retains_grad(), "can't optimize a non-leaf Tensor");
    require<ValueError>(!known.contains(param.impl()), "some parameters appear in more than one parameter group");
  }
  params_.push_back(std::move(params));
}

void Optimizer::zero_grad(bool set_to_none) {
  for (const auto& group : params_)
    for (const Tensor& param : group) forget_gradient(param, set_to_none);
}

Tensor Optimizer::step(const Closure& closure) {
  hooks_.before_step.each([&](const Hook& hook) { hook(*this); });
  Tensor loss = step_once(closure);
  hooks_.after_step.each([&](const Hook& hook) { hook(*this); });
  return loss;
}

Tensor Optimizer::step_once(const Closure& closure) {
  if (TraceNotes* notes = TraceNotes::active(); notes && !repeatable())
    notes->refuse("the step of " + name() + " cannot be repeated");
  Tensor loss;
  if (closure) {
    const EnableGradGuard on;
    loss = closure();
  }
  std::vector<Tensor> updated;
  {
    const NoGradGuard off;
    update(updated);
  }
  run(updated);
  return loss;
}

// With the losses that the gradients are of. Otherwise the parameters that a step started from would belong to nobody, and each later step would compute all earlier ones again.
void Optimizer::run(std::span<const Tensor> updated) {
  if (!updated.empty() && !engine::tracing()) evaluate_step(updated);
}

namespace {

const Setting& setting(const Named<Setting>& settings, std::string_view name) {
  const auto found = std::find_if(settings.begin(), settings.end(), [&](const auto& each) { return each.first == name; });
  require<ValueError>(found != settings.end(), "the optimizer has no setting '{}'", name);
  return found->second;
}

}  // namespace

double Optimizer::lr(std::size_t group) const { return std::get<double>(setting(settings(group), "lr")); }
void Optimizer::set_lr(double lr, std::size_t group) { set(group, "lr", lr); }
void Optimizer::set_lr(double lr) {
  for (std::size_t group = 0; group < groups(); ++group) set(group, "lr", lr);
}

double Optimizer::initial_lr(std::size_t group) { return initial_lrs_.try_emplace(group, lr(group)).first->second; }

StateDict& Optimizer::state(const Tensor& param) { return state_[param.impl()]; }

DType Optimizer::state_dtype(const std::string& name, const Tensor& param, const Tensor& value) const {
  if (name == "step") return float32;
  return is_float(param.dtype()) ? param.dtype() : value.dtype();
}

OptimizerState Optimizer::state_dict() const {
  auto& self = const_cast<Optimizer&>(*this);  // for hooks, as in PyTorch
  hooks_.before_save.each([&](const Hook& hook) { hook(self); });
  OptimizerState result;
  std::int64_t number = 0;
  for (std::size_t group = 0; group < groups(); ++group) {
    result.param_groups.push_back({settings(group), {}});
    for (const Tensor& param : params_[group]) {
      if (const auto found = state_.find(param.impl()); found != state_.end() && !found->second.empty())
        result.state[number] = found->second;
      result.param_groups.back().params.push_back(number++);
    }
  }
  hooks_.after_save.each([&](const StateHook& hook) { hook(self, result); });
  return result;
}

void Optimizer::load_state_dict(const OptimizerState& state) {
  const NoGradGuard off;
  OptimizerState given = state;
  hooks_.before_load.each([&](const StateHook& hook) { hook(*this, given); });
  require<ValueError>(given.param_groups.size() == groups(), "loaded state dict has a different number of parameter groups");
  std::map<std::int64_t, Tensor> params;
  for (std::size_t group = 0; group < groups(); ++group) {
    const auto& numbers = given.param_groups[group].params;
    require<ValueError>(numbers.size() == params_[group].size(),
                        "loaded state dict contains a parameter group that doesn't match the size of optimizer's group");
    for (std::size_t i = 0; i < numbers.size(); ++i) params[numbers[i]] = params_[group][i];
  }
  std::unordered_map<const TensorImpl*, StateDict> fresh;
  for (const auto& [number, tensors] : given.state) {
    const auto param = params.find(number);
    if (param == params.end()) continue;
    // What needs no conversion is shared with the dict, as in PyTorch.
    for (const auto& [name, value] : tensors) fresh[param->second.impl()][name] = value.to(state_dtype(name, param->second, value));
  }
  for (std::size_t group = 0; group < groups(); ++group) {
    const Named<Setting> known = settings(group);
    for (const auto& [name, value] : given.param_groups[group].settings)
      if (std::any_of(known.begin(), known.end(), [&, &name = name](const auto& each) { return each.first == name; }))
        set(group, name, value);
  }
  state_ = std::move(fresh);
  hooks_.after_load.each([&](const Hook& hook) { hook(*this); });
}

std::string Optimizer::name() const { return autograd::type_name(typeid(*this)); }

namespace {

std::string text_of(const Setting& value) {
  if (const auto* flag = std::get_if<bool>(&value)) return repr(*flag);
  if (const auto* number = std::get_if<std::int64_t>(&value)) return repr(*number);
  if (const auto* number = std::get_if<double>(&value)) return *number == 0 ? "0" : repr(*number);  // as the defaults are written
  if (const auto* pair = std::get_if<Betas>(&value)) return fmt::format("({}, {})", pair->first, pair->second);
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  return "None";
}

}  // namespace

std::string Optimizer::str() const {
  std::string text = name() + " (";
  for (std::size_t group = 0; group < groups(); ++group) {
    Named<Setting> sorted = settings(group);
    std::sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    text += fmt::format("\nParameter Group {}\n", group);
    for (const auto& [name, value] : sorted) text += fmt::format("    {}: {}\n", name, text_of(value));
  }
  return text + ")";
}

std::ostream& operator<<(std::ostream& out, const Optimizer& optimizer) { return out << optimizer.str(); }

}  // namespace braze::optim
