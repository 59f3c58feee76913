#include "braze/state_dict.h"

#include "ir/error.h"

namespace braze {

StateDict::StateDict(std::initializer_list<std::pair<std::string, Tensor>> items) {
  for (const auto& [name, tensor] : items) (*this)[name] = tensor;
}

Tensor& StateDict::operator[](const std::string& name) {
  const auto [found, fresh] = places_.try_emplace(name, items_.size());
  if (fresh) items_.emplace_back(name, Tensor());
  return items_[found->second].second;
}

const Tensor* StateDict::find(const std::string& name) const {
  const auto found = places_.find(name);
  return found == places_.end() ? nullptr : &items_[found->second].second;
}

const Tensor& StateDict::at(const std::string& name) const {
  const Tensor* found = find(name);
  require<IndexError>(found != nullptr, "'{}' is not in the state dict", name);
  return *found;
}

void StateDict::erase(const std::string& name) {
  const auto found = places_.find(name);
  if (found == places_.end()) return;
  items_.erase(items_.begin() + static_cast<std::ptrdiff_t>(found->second));
  places_.clear();
  for (std::size_t i = 0; i < items_.size(); ++i) places_[items_[i].first] = i;
}

}  // namespace braze
