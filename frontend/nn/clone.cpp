#include <typeinfo>
#include <unordered_map>

#include "braze/random.h"
#include "frontend/nn/hooks.h"
#include "ir/error.h"

namespace braze::nn {

// A module and its copy, which a constructor has made: what is registered in the one is put into the places of the other.
struct Module::Copying {
  std::unordered_map<const Module*, std::shared_ptr<Module>> modules;
  std::unordered_map<const TensorImpl*, Tensor> tensors;
  std::vector<std::pair<const Module*, Module*>> open;

  static std::shared_ptr<Module> remade(const Module& module) {
    std::shared_ptr<Module> made = module.remade();
    const Module& ours = *made;
    require(typeid(ours) == typeid(module) && ours.extra_repr() == module.extra_repr(),
            "{} cannot be cloned: made anew it is a {}({}), and not a {}({})", module.name(), ours.name(), ours.extra_repr(),
            module.name(), module.extra_repr());
    if (!made->unary_) made->unary_ = module.unary_;
    if (!made->remake_) made->remake_ = module.remake_;
    return made;
  }

  Tensor copy(const Tensor& tensor) {
    if (!tensor.defined()) return tensor;
    const auto [found, fresh] = tensors.try_emplace(tensor.impl());
    if (fresh) {
      const NoGradGuard off;
      found->second = tensor.detach().clone();
      if (tensor.requires_grad()) found->second.requires_grad_();
      if (const Tensor gradient = tensor.is_leaf() ? tensor.grad() : Tensor(); gradient.defined())
        found->second.set_grad(gradient.detach().clone());
    }
    return found->second;
  }

  // The places of those slots that both have stay: members refer to them.
  void copy(const Slots& from, Slots& to) {
    Slots result;
    for (const auto& slot : from) {
      const auto known = std::find_if(to.begin(), to.end(), [&](const auto& each) { return each && each->name == slot->name; });
      auto& place = result.emplace_back(known == to.end() ? std::make_unique<Slot>(Slot{slot->name, {}}) : std::move(*known));
      place->tensor = copy(slot->tensor);
      place->persistent = slot->persistent;
    }
    to = std::move(result);
  }

  // The same of children, whose handles are members, too: one that the constructor has made is filled.
  void copy_children(const Module& from, Module& to) {
    const auto made = std::exchange(to.children_, {});
    for (const auto& [name, child] : from.children_) {
      auto [found, fresh] = modules.try_emplace(child.get());
      if (fresh) {
        const auto known =
            std::find_if(made.begin(), made.end(), [&, &name = name](const auto& each) { return each.first == name; });
        if (known == made.end()) {
          found->second = remade(*child);
        } else {
          const Module &ours = *known->second, &theirs = *child;
          require(typeid(ours) == typeid(theirs) && ours.extra_repr() == theirs.extra_repr(),
                  "{} cannot be cloned: its constructor makes '{}' a {}({}), which is a {}({}) by now", from.name(), name,
                  ours.name(), ours.extra_repr(), theirs.name(), theirs.extra_repr());
          found->second = known->second;
        }
        open.emplace_back(child.get(), found->second.get());
      }
      to.children_.emplace_back(name, found->second);
    }
  }
};

std::shared_ptr<Module> Module::remade() const {
  require(static_cast<bool>(remake_), "{} cannot be cloned: it was not made by its handle, and does not override remade()", name());
  return remake_();
}

std::shared_ptr<Module> Module::clone() const {
  Generator& generator = default_generator();
  const Tensor state = generator.get_state();
  Copying copying;
  const std::shared_ptr<Module> root = Copying::remade(*this);
  copying.modules[this] = root;
  copying.open.emplace_back(this, root.get());
  while (!copying.open.empty()) {
    const auto [from, to] = copying.open.back();
    copying.open.pop_back();
    copying.copy(from->parameters_, to->parameters_);
    copying.copy(from->buffers_, to->buffers_);
    copying.copy_children(*from, *to);
    to->training_ = from->training_;
    if (from->hooks_) to->hooks_ = std::make_shared<Hooks>(*from->hooks_);
  }
  generator.set_state(state);  // as if the constructors had drawn nothing
  return root;
}

}  // namespace braze::nn
