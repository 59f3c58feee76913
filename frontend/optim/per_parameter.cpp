// What each optimizer keeps for a parameter, and its settings by name. The updates themselves are in updates.cpp.
#include <algorithm>

#include "braze/autograd.h"
#include "braze/functions.h"
#include "braze/optim.h"
#include "braze/optim/updates.h"
#include "frontend/autograd/trace_notes.h"
#include "frontend/nn/text.h"
#include "ir/error.h"

namespace braze::optim {

namespace {

// ---- state ----

Tensor& zeros_for(const Tensor& param, StateDict& state, const char* name) {
  Tensor& value = state[name];
  if (!value.defined()) value = zeros_like(param).detach();
  return value;
}

// A state that is a number in a tensor, as PyTorch keeps it. The value comes from the host each time: reading it waits for nothing, and no
// kernel computes it.
void set_number(Tensor& place, double number) {
  const auto rounded = static_cast<float>(number);
  const Tensor fresh = from_data(&rounded, {});
  if (place.defined())
    place.set_data(fresh);
  else
    place = fresh;
}

double count_step(StateDict& state) {
  Tensor& step = state["step"];
  const double number = step.defined() ? step.item<double>() + 1 : 1;
  set_number(step, number);
  return number;
}

// A momentum's buffer that is not there yet must not show in state_dict.
void update_one(Tensor& param, const Tensor& gradient, StateDict& state, const SGDOptions& o) {
  if (o.momentum == 0) {
    Tensor none;
    sgd_update(param, gradient, none, o.lr, o);
  } else {
    sgd_update(param, gradient, state["momentum_buffer"], o.lr, o);
  }
}

void update_one(Tensor& param, const Tensor& gradient, StateDict& state, const ASGDOptions& o) {
  if (state.empty()) {
    for (const char* name : {"step", "eta", "mu"}) state[name] = Tensor();
    set_number(state["eta"], o.lr);
    set_number(state["mu"], 1);
  }
  const double step = count_step(state), eta = state["eta"].item<double>(), mu = state["mu"].item<double>();
  const auto [next_eta, next_mu] = asgd_update(param, gradient, zeros_for(param, state, "ax"), eta, mu, step, o.lr, o);
  set_number(state["eta"], next_eta);
  set_number(state["mu"], next_mu);
}

void update_one(Tensor& param, const Tensor& gradient, StateDict& state, const AdamOptions& o) {
  const double step = count_step(state);
  for (const char* name : {"exp_avg", "exp_avg_sq"}) zeros_for(param, state, name);
  Tensor none;
  Tensor& most = o.amsgrad ? zeros_for(param, state, "max_exp_avg_sq") : none;
  adam_update(param, gradient, state["exp_avg"], state["exp_avg_sq"], most, step, o.lr, o);
}

void update_one(Tensor& param, const Tensor& gradient, StateDict& state, const AdamWOptions& o) {
  update_one(param, gradient, state, AdamOptions{o.lr, o.betas, o.eps, o.weight_decay, o.amsgrad, o.maximize, true});
}

void update_one(Tensor& param, const Tensor& gradient, StateDict& state, const AdamaxOptions& o) {
  const double step = count_step(state);
  for (const char* name : {"exp_avg", "exp_inf"}) zeros_for(param, state, name);
  adamax_update(param, gradient, state["exp_avg"], state["exp_inf"], step, o.lr, o);
}

void update_one(Tensor& param, const Tensor& gradient, StateDict& state, const NAdamOptions& o) {
  const double step = count_step(state);
  const double before = state.contains("mu_product") ? state["mu_product"].item<double>() : 1;
  set_number(state["mu_product"], nadam_product(before, step, o));
  for (const char* name : {"exp_avg", "exp_avg_sq"}) zeros_for(param, state, name);
  const double product = state["mu_product"].item<double>();  // rounded, as the state keeps it
  nadam_update(param, gradient, state["exp_avg"], state["exp_avg_sq"], product, step, o.lr, o);
}

void update_one(Tensor& param, const Tensor& gradient, StateDict& state, const RAdamOptions& o) {
  const double step = count_step(state);
  for (const char* name : {"exp_avg", "exp_avg_sq"}) zeros_for(param, state, name);
  radam_update(param, gradient, state["exp_avg"], state["exp_avg_sq"], step, o.lr, o);
}

void update_one(Tensor& param, const Tensor& gradient, StateDict& state, const AdagradOptions& o) {
  const double step = count_step(state);
  adagrad_update(param, gradient, state["sum"], step, o.lr, o);
}

void update_one(Tensor& param, const Tensor& gradient, StateDict& state, const AdadeltaOptions& o) {
  count_step(state);
  for (const char* name : {"square_avg", "acc_delta"}) zeros_for(param, state, name);
  adadelta_update(param, gradient, state["square_avg"], state["acc_delta"], o.lr, o);
}

void update_one(Tensor& param, const Tensor& gradient, StateDict& state, const RMSpropOptions& o) {
  count_step(state);
  zeros_for(param, state, "square_avg");
  if (o.momentum > 0) zeros_for(param, state, "momentum_buffer");
  if (o.centered) zeros_for(param, state, "grad_avg");
  Tensor none;
  rmsprop_update(param, gradient, state["square_avg"], o.momentum > 0 ? state["momentum_buffer"] : none,
                 o.centered ? state["grad_avg"] : none, o.lr, o);
}

void update_one(Tensor& param, const Tensor& gradient, StateDict& state, const RpropOptions& o) {
  count_step(state);
  zeros_for(param, state, "prev");
  if (Tensor& size = state["step_size"]; !size.defined()) size = full_like(param, o.lr).detach();
  rprop_update(param, gradient, state["prev"], state["step_size"], o);
}

// What is there before the first step.
template <class Options>
void start(const Tensor&, StateDict&, const Options&) {}
void start(const Tensor& param, StateDict& state, const AdagradOptions& o) {
  set_number(state["step"], 0);
  state["sum"] = full_like(param, o.initial_accumulator_value).detach();
}

// ---- settings ----

void check_not_negative(const char* what, double value) {
  require<ValueError>(value >= 0, "Invalid {}: {}", what, value == 0 ? "0" : repr(value));
}

template <class Options>
void check(const Options& o) {
  check_not_negative("learning rate", o.lr);
  if constexpr (requires { o.eps; }) check_not_negative("epsilon value", o.eps);
  if constexpr (requires { o.momentum; }) check_not_negative("momentum value", o.momentum);
  if constexpr (requires { o.betas; }) {
    const double betas[] = {o.betas.first, o.betas.second};
    for (int i = 0; i < 2; ++i)
      require<ValueError>(betas[i] >= 0 && betas[i] < 1, "Invalid beta parameter at index {}: {}", i, repr(betas[i]));
  }
  if constexpr (requires { o.weight_decay; }) check_not_negative("weight_decay value", o.weight_decay);
  if constexpr (requires { o.lr_decay; }) check_not_negative("lr_decay value", o.lr_decay);
  if constexpr (requires { o.initial_accumulator_value; })
    check_not_negative("initial_accumulator_value value", o.initial_accumulator_value);
  if constexpr (requires { o.centered; }) check_not_negative("alpha value", o.alpha);
  if constexpr (requires { o.momentum_decay; }) check_not_negative("momentum_decay value", o.momentum_decay);
  if constexpr (requires { o.nesterov; })
    require<ValueError>(!o.nesterov || (o.momentum > 0 && o.dampening == 0),
                        "Nesterov momentum requires a momentum and zero dampening");
  if constexpr (requires { o.rho; }) require<ValueError>(o.rho >= 0 && o.rho <= 1, "Invalid rho value: {}", repr(o.rho));
  if constexpr (requires { o.etas; })
    require<ValueError>(0 < o.etas.first && o.etas.first < 1 && 1 < o.etas.second, "Invalid eta values: {}, {}", repr(o.etas.first),
                        repr(o.etas.second));
}

// A number that a checkpoint or a user gave, as the kind that the setting has.
void assign(double& place, const std::string& name, const Setting& value) {
  if (const auto* whole = std::get_if<std::int64_t>(&value)) {
    place = static_cast<double>(*whole);
    return;
  }
  const auto* number = std::get_if<double>(&value);
  require<ValueError>(number != nullptr, "setting '{}' is a number", name);
  place = *number;
}
template <class T>
void assign(T& place, const std::string& name, const Setting& value) {
  const auto* given = std::get_if<T>(&value);
  require<ValueError>(given != nullptr, "setting '{}' is {}", name,
                      std::is_same_v<T, bool> ? "true or false" : "a pair of numbers");
  place = *given;
}

}  // namespace

template <class Options>
PerParameter<Options>::PerParameter(std::vector<Tensor> params, const Options& options) : defaults_(options) {
  require<ValueError>(!params.empty(), "optimizer got an empty parameter list");
  add_param_group({std::move(params), {}});
}

template <class Options>
PerParameter<Options>::PerParameter(std::vector<Group> groups, const Options& options) : defaults_(options) {
  require<ValueError>(!groups.empty(), "optimizer got an empty parameter list");
  for (Group& group : groups) add_param_group(std::move(group));
}

template <class Options>
void PerParameter<Options>::add_param_group(Group group) {
  const Options options = group.options.value_or(defaults_);
  check(options);
  add_params(std::move(group.params));
  options_.push_back(options);
  for (const Tensor& param : params(groups() - 1)) {
    StateDict fresh;
    start(param, fresh, options);
    if (!fresh.empty()) state(param) = std::move(fresh);
  }
}

template <class Options>
Named<Setting> PerParameter<Options>::settings(std::size_t group) const {
  Named<Setting> all;
  Options::fields(options_.at(group), [&](const char* name, const auto& value) {
    if constexpr (std::is_same_v<std::remove_cvref_t<decltype(value)>, Fixed>)
      all.emplace_back(name, std::monostate());
    else
      all.emplace_back(name, value);
  });
  return all;
}

template <class Options>
void PerParameter<Options>::set(std::size_t group, const std::string& name, const Setting& value) {
  bool known = false;
  Options changed = options_.at(group);
  Options::fields(changed, [&]<class T>(const char* each, T&& place) {
    if (name != each) return;
    known = true;
    if constexpr (std::is_lvalue_reference_v<T>) assign(place, name, value);  // others are fixed: how a step is computed
  });
  require<ValueError>(known, "the optimizer has no setting '{}'", name);
  check(changed);
  options_[group] = changed;
}

namespace {

constexpr const char* numbers[] = {"step", "eta", "mu", "mu_product"};

// The state with other numbers, in the order of their names.
StateDict with_numbers(const StateDict& state, std::span<const std::string> names, std::span<const Tensor> values) {
  StateDict copy = state;
  for (std::size_t i = 0; i < names.size(); ++i) copy[names[i]] = values[i];
  return copy;
}

std::vector<Tensor> numbers_of(StateDict& state, std::span<const std::string> names) {
  std::vector<Tensor> values;
  for (const std::string& name : names) values.push_back(state[name]);
  return values;
}

bool same_tensors(const StateDict& a, const StateDict& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const auto& x, const auto& y) { return x.first == y.first && x.second.impl() == y.second.impl(); });
}

}  // namespace

// In a function that braze::compile traces. What the update changes in the state is numbers, which are copies, and elements of tensors,
// which the trace keeps.
template <class Options>
void PerParameter<Options>::trace_update(const Tensor& param, const Tensor& gradient, std::size_t group) {
  TraceNotes& notes = *TraceNotes::active();
  const StateDict kept = state(param);
  std::vector<std::string> names;
  std::vector<Tensor> counts;
  StateDict small;
  for (const auto& [name, value] : kept) {
    const bool counted =
        std::find_if(std::begin(numbers), std::end(numbers), [&](const char* n) { return name == n; }) != std::end(numbers);
    if (counted) {
      names.push_back(name);
      counts.push_back(value);
    } else {
      small[name] = stand_in_of(value);
    }
  }
  const auto run = [this, group, names](Tensor on, const Tensor& by, StateDict now) {
    const Options& options = options_[group];
    update_one(on, options.maximize ? -by : by, now, options);
    return now;
  };
  const auto record = [&](std::span<const Tensor> values) {
    const StateDict before = with_numbers(kept, names, values);
    StateDict after = run(param, gradient, before);
    if (!same_tensors(before, after)) notes.refuse("its first step makes the optimizer's state", true);
    return numbers_of(after, names);
  };
  const auto rehearse = [run, names, small, on = stand_in_of(param), by = stand_in_of(gradient)](std::span<const Tensor> values) {
    StateDict fresh;
    for (const auto& [name, value] : small) fresh[name] = stand_in_of(value);
    StateDict after = run(stand_in_of(on), by, with_numbers(fresh, names, values));
    return numbers_of(after, names);
  };
  notes.guard([this, param, group, kept, count = params(group).size()] {
    return params(group).size() == count && same_tensors(state(param), kept);
  });
  notes.update(this, group, counts, false, record, rehearse);
}

template <class Options>
void PerParameter<Options>::update(std::vector<Tensor>& updated) {
  for (std::size_t group = 0; group < groups(); ++group) {
    const Options& options = options_[group];
    for (Tensor param : params(group)) {
      const Tensor gradient = param.grad();
      if (!gradient.defined()) continue;
      if (TraceNotes::active()) {
        trace_update(param, gradient, group);
        continue;
      }
      StateDict& kept = state(param);
      update_one(param, options.maximize ? -gradient : gradient, kept, options);
      updated.push_back(param);
      for (const auto& [name, value] : kept) updated.push_back(value);
    }
  }
}

template class PerParameter<SGDOptions>;
template class PerParameter<ASGDOptions>;
template class PerParameter<AdamOptions>;
template class PerParameter<AdamWOptions>;
template class PerParameter<AdamaxOptions>;
template class PerParameter<NAdamOptions>;
template class PerParameter<RAdamOptions>;
template class PerParameter<AdagradOptions>;
template class PerParameter<AdadeltaOptions>;
template class PerParameter<RMSpropOptions>;
template class PerParameter<RpropOptions>;

}  // namespace braze::optim
