// Tensors by name: what modules and optimizers save and load.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "braze/tensor.h"

namespace braze {

template <class T>
using Named = std::vector<std::pair<std::string, T>>;

// Tensors by name, in the order in which they were put in.
class StateDict {
 public:
  StateDict() = default;
  StateDict(std::initializer_list<std::pair<std::string, Tensor>> items);
  Tensor& operator[](const std::string& name);        // put in at the end where it is new
  const Tensor& at(const std::string& name) const;    // throws IndexError where it is not
  const Tensor* find(const std::string& name) const;  // null where it is not
  bool contains(const std::string& name) const { return find(name) != nullptr; }
  void erase(const std::string& name);
  std::size_t size() const { return items_.size(); }
  bool empty() const { return items_.empty(); }
  auto begin() const { return items_.begin(); }
  auto end() const { return items_.end(); }

 private:
  Named<Tensor> items_;
  std::unordered_map<std::string, std::size_t> places_;
};

}  // namespace braze
