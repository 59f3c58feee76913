// Gradients, as methods of Tensor. https://pytorch.org/docs/stable/autograd.html
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace braze {

class GradFn;
class HookHandle;
class Tensor;

class AutogradMethods {
 public:
  bool requires_grad() const;
  // Throws Error unless the dtype is floating or complex, and for false on what a differentiable op made.
  // https://pytorch.org/docs/stable/generated/torch.Tensor.requires_grad_.html
  Tensor& requires_grad_(bool requires_grad = true);
  bool is_leaf() const;  // made by the user, or requires no grad
  // What backward() has gathered; undefined before. https://pytorch.org/docs/stable/generated/torch.Tensor.grad.html
  Tensor grad() const;
  // An undefined tensor clears it. Throws Error where sizes or dtype differ.
  void set_grad(const Tensor& grad) const;
  GradFn grad_fn() const;  // what made the tensor; false for leaves

  // Adds to the .grad of the leaves that this was computed from. `gradient` is that of the result in this tensor; none: one, for a tensor
  // of one element. Throws Error where nothing requires grad, where a gradient is missing, and where the graph has been freed.
  // https://pytorch.org/docs/stable/generated/torch.Tensor.backward.html
  void backward() const;
  void backward(const Tensor& gradient, std::optional<bool> retain_graph = {}, bool create_graph = false,
                std::span<const Tensor> inputs = {}) const;

  // From now on backward() also sets the .grad of this tensor, which is no leaf.
  void retain_grad() const;
  bool retains_grad() const;
  // `hook` gets each gradient of this tensor and returns one to go on with, or an undefined tensor.
  // https://pytorch.org/docs/stable/generated/torch.Tensor.register_hook.html
  HookHandle register_hook(std::function<Tensor(const Tensor& gradient)> hook) const;
  // Called with the leaf when backward() has changed its .grad.
  HookHandle register_post_accumulate_grad_hook(std::function<void(const Tensor& leaf)> hook) const;

 protected:
  ~AutogradMethods() = default;  // a base of Tensor, never used alone
};

}  // namespace braze
