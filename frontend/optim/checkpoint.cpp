// An optimizer's state as checkpoints have it.
#include "braze/functions.h"
#include "braze/ivalue.h"
#include "braze/optim.h"
#include "ir/error.h"

namespace braze::optim {

namespace {

IValue saved(const Setting& setting) {
  if (const auto* flag = std::get_if<bool>(&setting)) return *flag;
  if (const auto* number = std::get_if<std::int64_t>(&setting)) return *number;
  if (const auto* number = std::get_if<double>(&setting)) return *number;
  if (const auto* pair = std::get_if<Betas>(&setting)) return IValue::tuple({pair->first, pair->second});
  if (const auto* text = std::get_if<std::string>(&setting)) return *text;
  return {};
}

Setting setting(const std::string& name, const IValue& value) {
  if (value.is_none()) return {};
  if (value.is_bool()) return value.to_bool();
  if (value.is_int()) return value.to_int();
  if (value.is_double()) return value.to_double();
  if (value.is_string()) return value.to_string();
  if (value.is_tensor()) return value.to_tensor().item<double>();  // PyTorch's rates may be tensors
  const bool is_pair = (value.is_tuple() || value.is_list()) && value.size() == 2;
  require<TypeError>(is_pair, "setting '{}' of an optimizer is a value of type {}", name, value.kind());
  return Betas{value[0].to_double(), value[1].to_double()};
}

// Of PyTorch's lists a StateDict has each element under "name.i".
IValue with_lists(const StateDict& state) {
  IValue::Items items;
  std::vector<IValue> open;
  std::string list;
  const auto close = [&] {
    if (!open.empty()) items.emplace_back(list, IValue::list(std::exchange(open, {})));
  };
  for (const auto& [name, tensor] : state) {
    const std::size_t dot = name.rfind('.');
    const std::string owner = dot == std::string::npos ? "" : name.substr(0, dot);
    if (owner != list) close();
    list = owner;
    if (owner.empty())
      items.emplace_back(name, tensor);
    else
      open.push_back(tensor);
  }
  close();
  return IValue::dict(items);
}

void put(StateDict& state, const std::string& name, const IValue& value) {
  if (value.is_list()) {
    for (std::size_t i = 0; i < value.size(); ++i) put(state, fmt::format("{}.{}", name, i), value[i]);
  } else if (value.is_int()) {
    const std::int64_t number = value.to_int();
    state[name] = from_bytes(&number, {}, int64);
  } else if (value.is_double()) {
    const double number = value.to_double();
    state[name] = from_bytes(&number, {}, float64);
  } else if (!value.is_none()) {  // as the momentum of PyTorch's SGD without one
    state[name] = value.to_tensor();
  }
}

}  // namespace

IValue OptimizerState::to_ivalue() const {
  IValue::Items by_number;
  for (const auto& [number, tensors] : state) by_number.emplace_back(number, with_lists(tensors));
  std::vector<IValue> groups;
  for (const Group& group : param_groups) {
    IValue::Items items;
    for (const auto& [name, value] : group.settings) items.emplace_back(name, saved(value));
    items.emplace_back("params", group.params);
    groups.push_back(IValue::dict(items));
  }
  return {{"state", IValue::dict(by_number)}, {"param_groups", IValue::list(std::move(groups))}};
}

OptimizerState OptimizerState::from_ivalue(const IValue& saved) {
  OptimizerState result;
  for (const auto& [number, items] : saved["state"].items())
    for (const auto& [name, value] : items.items()) put(result.state[number.to_int()], name.to_string(), value);
  for (const IValue& group : saved["param_groups"].elements()) {
    Group& target = result.param_groups.emplace_back();
    for (const auto& [name, value] : group.items()) {
      if (name.to_string() == "params") {
        for (const IValue& param : value.elements()) target.params.push_back(param.to_int());
      } else {
        target.settings.emplace_back(name.to_string(), setting(name.to_string(), value));
      }
    }
  }
  return result;
}

}  // namespace braze::optim
