// Modules one after another, in lists and in dicts. https://pytorch.org/docs/stable/nn.html#containers
#pragma once

#include "braze/nn/module.h"

namespace braze::nn {

// Children by number, or by name. Indices count from the end where they are negative; IndexError outside.
class ListedImpl : public Module {
 public:
  std::size_t size() const { return children_in_order().size(); }
  AnyModule operator[](std::int64_t index) const;
  void push_back(const AnyModule& module);
  void insert(std::int64_t index, const AnyModule& module);
  AnyModule pop(std::int64_t index = -1);
  void extend(const std::vector<AnyModule>& modules);

 protected:
  std::size_t position(std::int64_t index) const;
  std::vector<AnyModule> in_order() const;
  void renumber(const std::vector<AnyModule>& modules);
};

// Each takes what the one before gives. https://pytorch.org/docs/stable/generated/torch.nn.Sequential.html
class SequentialImpl : public ListedImpl {
 public:
  Tensor forward(const In& input);
};

class Sequential : public ModuleHolder<SequentialImpl> {
 public:
  Sequential() = default;
  // nn::Sequential{nn::Linear(2, 3), nn::ReLU()}: in braces, where C++ makes them from the left to the right, as their draws are
  // PyTorch's.
  Sequential(std::initializer_list<AnyModule> modules);
  // {{"first", nn::Linear(2, 3)}, {"act", nn::ReLU()}}
  Sequential(std::initializer_list<std::pair<std::string, AnyModule>> named);
  explicit Sequential(const std::vector<AnyModule>& modules);
  AnyModule operator[](std::int64_t index) const { return (**this)[index]; }
};

// A list of modules, which is not called. https://pytorch.org/docs/stable/generated/torch.nn.ModuleList.html
class ModuleListImpl : public ListedImpl {
 public:
  std::string str() const override;  // equal neighbours once
};

class ModuleList : public ModuleHolder<ModuleListImpl> {
 public:
  ModuleList() = default;
  ModuleList(std::initializer_list<AnyModule> modules);
  explicit ModuleList(const std::vector<AnyModule>& modules);
  AnyModule operator[](std::int64_t index) const { return (**this)[index]; }
};

// https://pytorch.org/docs/stable/generated/torch.nn.ModuleDict.html
class ModuleDictImpl : public Module {
 public:
  std::size_t size() const { return children_in_order().size(); }
  bool contains(const std::string& key) const;
  AnyModule operator[](const std::string& key) const;  // throws IndexError where there is none
  void insert(const std::string& key, const AnyModule& module);
  AnyModule pop(const std::string& key);
  std::vector<std::string> keys() const;
};

class ModuleDict : public ModuleHolder<ModuleDictImpl> {
 public:
  ModuleDict() = default;
  ModuleDict(std::initializer_list<std::pair<std::string, AnyModule>> named);
  AnyModule operator[](const std::string& key) const { return (**this)[key]; }
};

// https://pytorch.org/docs/stable/generated/torch.nn.ParameterList.html
class ParameterListImpl : public Module {
 public:
  std::size_t size() const { return parameters(false).size(); }
  Tensor& operator[](std::int64_t index);
  void push_back(Tensor parameter);
  std::string extra_repr() const override;
};

class ParameterList : public ModuleHolder<ParameterListImpl> {
 public:
  ParameterList() = default;
  explicit ParameterList(const std::vector<Tensor>& parameters);
};

// https://pytorch.org/docs/stable/generated/torch.nn.ParameterDict.html
class ParameterDictImpl : public Module {
 public:
  std::size_t size() const { return parameters(false).size(); }
  bool contains(const std::string& key) const;
  Tensor& operator[](const std::string& key);  // throws IndexError where there is none
  void insert(const std::string& key, Tensor parameter);
  std::string extra_repr() const override;
};

class ParameterDict : public ModuleHolder<ParameterDictImpl> {
 public:
  ParameterDict() = default;
  ParameterDict(std::initializer_list<std::pair<std::string, Tensor>> named);
};

}  // namespace braze::nn
