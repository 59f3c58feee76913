// Derivatives of what was computed: backward() and what belongs to it. https://pytorch.org/docs/stable/autograd.html
//
//   Tensor x = tensor({1.0, 2.0}).requires_grad_();
//   (x * x).sum().backward();
//   x.grad();  // 2, 4
//
// backward() records, as every op does: a forward pass, its backward pass and an update of parameters are one program. Evaluating or
// printing something in between changes no gradient.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "braze/tensor.h"

namespace braze {

// Grad mode is the thread's: whether what it computes can be differentiated.
bool is_grad_enabled();
void set_grad_enabled(bool on);

class AutoGradMode {
 public:
  explicit AutoGradMode(bool on) : before_(is_grad_enabled()) { set_grad_enabled(on); }
  ~AutoGradMode() { set_grad_enabled(before_); }
  AutoGradMode(const AutoGradMode&) = delete;

 private:
  bool before_;
};
class NoGradGuard : public AutoGradMode {
 public:
  NoGradGuard() : AutoGradMode(false) {}
};
class EnableGradGuard : public AutoGradMode {
 public:
  EnableGradGuard() : AutoGradMode(true) {}
};

// What made a tensor, as a step of its derivative.
class GradFn {
 public:
  GradFn() = default;  // none
  explicit operator bool() const { return impl_ != nullptr; }
  std::string name() const;  // as PyTorch names it: "MulBackward0"
  // Where its gradients go, one an operand; none where an operand requires no grad.
  std::vector<std::pair<GradFn, std::int64_t>> next_functions() const;
  const void* id() const;  // equal for the same step
  Tensor variable() const;  // of an AccumulateGrad: the leaf

  struct Impl;  // internal
  explicit GradFn(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}

 private:
  std::shared_ptr<const Impl> impl_;
};

// Takes a hook back.
class HookHandle {
 public:
  HookHandle() = default;
  explicit HookHandle(std::function<void()> remove) : remove_(std::move(remove)) {}
  void remove() {
    if (remove_) std::exchange(remove_, nullptr)();
  }

 private:
  std::function<void()> remove_;
};

namespace autograd {

struct Options {
  std::optional<bool> retain_graph;  // none: as create_graph
  bool create_graph = false;         // gradients can be differentiated themselves
  bool allow_unused = false;         // undefined where an input has no part in the outputs; otherwise Error
  bool materialize_grads = false;    // zeros there
};

// backward() of several tensors; undefined entries of `gradients`, or none at all: ones.
// https://pytorch.org/docs/stable/generated/torch.autograd.backward.html
void backward(std::span<const Tensor> tensors, std::span<const Tensor> gradients = {}, std::optional<bool> retain_graph = {},
              bool create_graph = false, std::span<const Tensor> inputs = {});
// The gradients of the outputs' sum, weighted by `grad_outputs`, in the inputs; no .grad changes.
// https://pytorch.org/docs/stable/generated/torch.autograd.grad.html
std::vector<Tensor> grad(std::span<const Tensor> outputs, std::span<const Tensor> inputs, std::span<const Tensor> grad_outputs = {},
                         const Options& options = {});
inline Tensor grad(const Tensor& output, const Tensor& input, const Options& options = {}) {
  return grad(std::span(&output, 1), std::span(&input, 1), {}, options)[0];
}

}  // namespace autograd
}  // namespace braze
