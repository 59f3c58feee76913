// Derivatives of what was computed: backward() and what belongs to it. https://pytorch.org/docs/stable/autograd.html
//
//   Tensor x = tensor({1.0, 2.0}).requires_grad_();
//   (x * x).sum().backward();
//   x.grad();  // 2, 4
//
// backward() records, as every op does: a forward pass, its backward pass and an update of parameters are one program. Evaluating or
// printing something in between changes no gradient.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <typeinfo>
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

// As NoGradGuard: values are immutable, so there is nothing more to save.
class InferenceMode : public AutoGradMode {
 public:
  explicit InferenceMode(bool on = true) : AutoGradMode(is_grad_enabled() && !on) {}
};

// PyTorch's x.data: as detach(), but a write through it goes unnoticed: what a leaf's derivatives have saved of it is what was written.
Tensor tensor_data(const Tensor& x);

// What made a tensor, as a step of its derivative.
class GradFn {
 public:
  GradFn() = default;  // none
  explicit operator bool() const { return impl_ != nullptr; }
  std::string name() const;  // as PyTorch names it: "MulBackward0"
  // Where its gradients go, one an operand; none where an operand requires no grad.
  std::vector<std::pair<GradFn, std::int64_t>> next_functions() const;
  const void* id() const;   // equal for the same step
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

// A derivative that is written by hand.
struct OwnGradient {
  using Map = std::function<std::vector<Tensor>(std::span<const Tensor>)>;
  std::string name;                    // what grad_fn shows
  Map backward;                        // from the outputs' gradients to one an input, undefined where there is none
  Map jvp = {};                        // from the inputs' tangents to one an output, likewise; forward mode asks for it
  std::function<void()> release = {};  // runs when a backward pass has freed the graph
  bool materialize = true;             // gradients and tangents that did not come are zeros; else undefined
};
// The outputs, as what a function of the inputs made that has this derivative. Where nothing requires grad the outputs themselves come back.
std::vector<Tensor> with_gradient(std::span<const Tensor> inputs, std::span<const Tensor> outputs, OwnGradient gradient);
// Inside such a `backward`: output `number`, given as forward made it, as what the inputs are differentiable in.
Tensor output_again(const Tensor& output, std::uint32_t number);

// What forward leaves for backward.
class Context {
 public:
  void save_for_backward(std::vector<Tensor> tensors) { saved_ = std::move(tensors); }
  const std::vector<Tensor>& saved_tensors() const;  // throws Error once the graph has been freed
  void release() {
    saved_.clear();
    released_ = true;
  }

 private:
  std::vector<Tensor> saved_;
  bool released_ = false;
};

// An op with a derivative of its own. https://pytorch.org/docs/stable/autograd.html#function
//
//   struct Cube : autograd::Function<Cube> {
//     static Tensor forward(autograd::Context& c, const Tensor& x) {
//       c.save_for_backward({x});
//       return x * x * x;
//     }
//     static Tensor backward(autograd::Context& c, const Tensor& gradient) {
//       const Tensor& x = c.saved_tensors()[0];
//       return gradient * 3 * x * x;
//     }
//   };
//   Tensor y = Cube::apply(x);
//
// forward takes a Context and tensors; backward a Context and a gradient for each result, and returns one for each tensor. Several are a
// std::vector<Tensor>. func::jvp asks for a `jvp` from a Context and a tangent for each tensor to one for each result; func::vmap maps all
// of them op by op.
template <class F>
class Function {
 public:
  template <class... Tensors>
  static auto apply(const Tensors&... tensors) {
    const auto context = std::make_shared<Context>();
    const auto result = [&] {
      const NoGradGuard off;
      return F::forward(*context, tensors...);
    }();
    constexpr bool one = std::is_same_v<std::remove_const_t<decltype(result)>, Tensor>;
    std::vector<Tensor> outputs;
    if constexpr (one)
      outputs.push_back(result);
    else
      outputs = result;
    const Tensor inputs[] = {tensors...};
    OwnGradient own{.name = name(),
                    .backward = [context](std::span<const Tensor> gradients) -> std::vector<Tensor> {
                      if constexpr (one)
                        return as_list(F::backward(*context, gradients[0]));
                      else
                        return as_list(F::backward(*context, gradients));
                    },
                    .release = [context] { context->release(); }};
    if constexpr (requires { F::jvp(*context, tensors...); })
      own.jvp = [context](std::span<const Tensor> tangents) {
        return [&]<std::size_t... i>(std::index_sequence<i...>) {
          return as_list(F::jvp(*context, tangents[i]...));
        }(std::index_sequence_for<Tensors...>());
      };
    outputs = with_gradient(inputs, outputs, std::move(own));
    if constexpr (one)
      return outputs[0];
    else
      return outputs;
  }

 private:
  static std::vector<Tensor> as_list(Tensor one) { return {std::move(one)}; }
  static std::vector<Tensor> as_list(std::vector<Tensor> many) { return many; }
  static std::string name();
};

// "Cube" of a type's mangled name.
std::string type_name(const std::type_info& type);
template <class F>
std::string Function<F>::name() {
  return type_name(typeid(F)) + "Backward";
}

// Compares derivatives with finite differences; best in float64. Throws Error where they differ, or returns false.
// https://pytorch.org/docs/stable/generated/torch.autograd.gradcheck.gradcheck.html
struct GradcheckOptions {
  double eps = 1e-6, atol = 1e-5, rtol = 1e-3;
  bool raise_exception = true;
};
using TensorFunction = std::function<std::vector<Tensor>(std::span<const Tensor>)>;
bool gradcheck(const TensorFunction& function, std::span<const Tensor> inputs, const GradcheckOptions& options = {});
// The same of the derivative itself.
bool gradgradcheck(const TensorFunction& function, std::span<const Tensor> inputs, const GradcheckOptions& options = {});

namespace functional {

// Of a function of one tensor; [result's sizes, input's sizes]. https://pytorch.org/docs/stable/autograd.html#functional-higher-level-api
using Map = std::function<Tensor(const Tensor&)>;
Tensor jacobian(const Map& function, const Tensor& input, bool create_graph = false);
Tensor hessian(const Map& function, const Tensor& input, bool create_graph = false);
// The result, and its Jacobian times or under `v`.
std::pair<Tensor, Tensor> vjp(const Map& function, const Tensor& input, const Tensor& v = {}, bool create_graph = false);
std::pair<Tensor, Tensor> jvp(const Map& function, const Tensor& input, const Tensor& v, bool create_graph = false);
std::pair<Tensor, Tensor> hvp(const Map& function, const Tensor& input, const Tensor& v, bool create_graph = false);

}  // namespace functional

// While it is on, backward() evaluates each gradient and throws Error for the first that is NaN or infinite, naming the op and its line.
// https://pytorch.org/docs/stable/autograd.html#anomaly-detection
void set_detect_anomaly(bool on, bool check_nan = true);
bool is_anomaly_enabled();
class DetectAnomalyGuard {
 public:
  explicit DetectAnomalyGuard(bool on = true) : before_(is_anomaly_enabled()) { set_detect_anomaly(on); }
  ~DetectAnomalyGuard() { set_detect_anomaly(before_); }
  DetectAnomalyGuard(const DetectAnomalyGuard&) = delete;

 private:
  bool before_;
};

}  // namespace autograd
}  // namespace braze
