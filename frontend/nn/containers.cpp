#include "braze/nn/containers.h"

#include <algorithm>

#include "frontend/nn/text.h"
#include "ir/error.h"

namespace braze::nn {

// ---- lists ----

std::size_t ListedImpl::position(std::int64_t index) const {
  const auto count = static_cast<std::int64_t>(size());
  require<IndexError>(index >= -count && index < count, "index {} is out of range", index);
  return static_cast<std::size_t>(index < 0 ? index + count : index);
}

AnyModule ListedImpl::operator[](std::int64_t index) const {
  const std::size_t at = position(index);
  return children_in_order()[at].second;
}

void ListedImpl::push_back(const AnyModule& module) { add_module(std::to_string(size()), module); }

void ListedImpl::extend(const std::vector<AnyModule>& modules) {
  for (const AnyModule& module : modules) push_back(module);
}

void ListedImpl::renumber(const std::vector<AnyModule>& modules) {
  clear_modules();
  extend(modules);
}

void ListedImpl::insert(std::int64_t index, const AnyModule& module) {
  const auto count = static_cast<std::int64_t>(size());
  require<IndexError>(index >= -count && index <= count, "Index out of range: {}", index);
  std::vector<AnyModule> modules = in_order();
  modules.insert(modules.begin() + (index < 0 ? index + count : index), module);
  renumber(modules);
}

AnyModule ListedImpl::pop(std::int64_t index) {
  const std::size_t at = position(index);
  std::vector<AnyModule> modules = in_order();
  const AnyModule taken = modules[at];
  modules.erase(modules.begin() + static_cast<std::ptrdiff_t>(at));
  renumber(modules);
  return taken;
}

std::vector<AnyModule> ListedImpl::in_order() const {
  std::vector<AnyModule> modules;
  for (const auto& [name, module] : children_in_order()) modules.push_back(module);
  return modules;
}

Tensor SequentialImpl::forward(const In& input) {
  std::optional<Tensor> result;
  for (const auto& [name, module] : children_in_order()) result = module->call(result ? In(*result, input.where()) : input);
  if (result) return *result;
  if (input.is_scalar()) detail::refuse_number(*this);
  return input.tensor();
}

Sequential::Sequential(std::initializer_list<std::pair<std::string, AnyModule>> named) {
  for (const auto& [name, module] : named) (*this)->add_module(name, module);
}
Sequential::Sequential(const std::vector<AnyModule>& modules) { (*this)->extend(modules); }
Sequential::Sequential(std::initializer_list<AnyModule> modules) { (*this)->extend(modules); }
ModuleList::ModuleList(const std::vector<AnyModule>& modules) { (*this)->extend(modules); }
ModuleList::ModuleList(std::initializer_list<AnyModule> modules) { (*this)->extend(modules); }

std::string ModuleListImpl::str() const {
  std::string lines;
  const std::vector<AnyModule> modules = in_order();
  for (std::size_t at = 0; at < modules.size();) {
    const std::string text = modules[at]->str();
    std::size_t end = at + 1;
    while (end < modules.size() && modules[end]->str() == text) ++end;
    lines += end - at == 1 ? fmt::format("\n  ({}): ", at) : fmt::format("\n  ({}-{}): {} x ", at, end - 1, end - at);
    lines += indented(text);
    at = end;
  }
  return name() + "(" + lines + (lines.empty() ? ")" : "\n)");
}

// ---- dicts ----

ModuleDict::ModuleDict(std::initializer_list<std::pair<std::string, AnyModule>> named) {
  for (const auto& [key, module] : named) (*this)->insert(key, module);
}

std::vector<std::string> ModuleDictImpl::keys() const {
  std::vector<std::string> all;
  for (const auto& [key, module] : children_in_order()) all.push_back(key);
  return all;
}

bool ModuleDictImpl::contains(const std::string& key) const {
  const Named<AnyModule> all = children_in_order();
  return std::any_of(all.begin(), all.end(), [&](const auto& each) { return each.first == key; });
}

AnyModule ModuleDictImpl::operator[](const std::string& key) const {
  for (const auto& [name, module] : children_in_order())
    if (name == key) return module;
  fail<IndexError>("'{}'", key);
}

void ModuleDictImpl::insert(const std::string& key, const AnyModule& module) { add_module(key, module); }

AnyModule ModuleDictImpl::pop(const std::string& key) {
  const AnyModule taken = (*this)[key];
  remove_module(key);
  return taken;
}

// ---- parameters ----

namespace {

// As PyTorch: a list names the dtype, a dict the type.
std::string listed(const Named<Tensor>& parameters, bool types) {
  std::string text;
  for (const auto& [name, parameter] : parameters) {
    const std::string kind =
        types ? "torch." + parameter.type().substr(parameter.type().find('.') + 1) : dtype_text(parameter.dtype());
    text += fmt::format("{}  ({}): Parameter containing: [{} of size {}]", text.empty() ? "" : "\n", name, kind,
                        fmt::join(parameter.sizes(), "x"));
  }
  return text;
}

}  // namespace

ParameterList::ParameterList(const std::vector<Tensor>& parameters) {
  for (const Tensor& parameter : parameters) (*this)->push_back(parameter);
}

Tensor& ParameterListImpl::operator[](std::int64_t index) {
  const auto count = static_cast<std::int64_t>(size());
  require<IndexError>(index >= -count && index < count, "index {} is out of range", index);
  return get_parameter(std::to_string(index < 0 ? index + count : index));
}

void ParameterListImpl::push_back(Tensor parameter) { register_parameter(std::to_string(size()), std::move(parameter)); }
std::string ParameterListImpl::extra_repr() const { return listed(named_parameters("", false), false); }

ParameterDict::ParameterDict(std::initializer_list<std::pair<std::string, Tensor>> named) {
  for (const auto& [key, parameter] : named) (*this)->insert(key, parameter);
}

bool ParameterDictImpl::contains(const std::string& key) const {
  const Named<Tensor> all = named_parameters("", false);
  return std::any_of(all.begin(), all.end(), [&](const auto& each) { return each.first == key; });
}

Tensor& ParameterDictImpl::operator[](const std::string& key) {
  require<IndexError>(contains(key), "'{}'", key);
  return get_parameter(key);
}

void ParameterDictImpl::insert(const std::string& key, Tensor parameter) { register_parameter(key, std::move(parameter)); }
std::string ParameterDictImpl::extra_repr() const { return listed(named_parameters("", false), true); }

}  // namespace braze::nn
