// Function transforms: functions of tensors in, functions of tensors out. https://pytorch.org/docs/stable/func.html
//
//   auto square = [](const Tensor& x) { return (x * x).sum(); };
//   func::grad(square)(x);                         // 2 x
//   func::vmap(func::grad(square))(xs);            // of each row of xs
//
// Transforms nest in any order. The function is called once, whatever the size of a batch: what it records is recorded again for all
// elements (passes/batching.h). Inside of `vmap` values cannot be looked at; inside of derivatives they can.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <type_traits>
#include <vector>

#include "braze/tensor.h"

namespace braze::func {

using Tensors = std::vector<Tensor>;
using Function = std::function<Tensors(std::span<const Tensor>)>;

// ---- the untyped forms

// f over dim in_dims[i] of argument i (none: the argument is the same for all elements; an empty list: 0 for all); the new dim of result i is
// out_dims[i] (a single one serves for all). Throws ValueError where sizes differ or nothing is mapped.
// `randomness`: whether f may draw; `same`: the same numbers for all elements; `different`: one draw for all of them, as if of the sizes with
// the batch in front (of permutations one after another).
enum class Randomness { error, same, different };
Tensors vmap(const Function& f, std::span<const Tensor> arguments, std::span<const std::optional<std::int64_t>> in_dims = {},
             std::span<const std::int64_t> out_dims = {}, Randomness randomness = Randomness::error);

// Whether this thread is inside of the function of a vmap.
bool mapping();

struct Gradients {
  Tensors gradients;  // of result 0, in the arguments asked for
  Tensors results;    // what f returned
};
// Result 0 of f must have no dims: else Error. `arguments_asked`: positions; empty: the first.
Gradients grad_and_value(const Function& f, std::span<const Tensor> arguments, std::span<const std::size_t> arguments_asked = {});

struct Pullback {
  Tensors results;
  // From a cotangent for each result to one for each argument; as often as wished.
  std::function<Tensors(std::span<const Tensor> cotangents)> pull;
};
Pullback vjp(const Function& f, std::span<const Tensor> arguments);

struct Pushed {
  Tensors results, tangents;
};
// One tangent an argument, of its sizes and dtype.
Pushed jvp(const Function& f, std::span<const Tensor> arguments, std::span<const Tensor> tangents);

// [result][argument asked]: the derivative of each result in each argument, of their sizes together; by one backward pass (forward pass),
// mapped over a basis.
std::vector<Tensors> jacrev(const Function& f, std::span<const Tensor> arguments,
                            std::span<const std::size_t> arguments_asked = {});
std::vector<Tensors> jacfwd(const Function& f, std::span<const Tensor> arguments, std::span<const std::size_t> arguments_asked = {},
                            Randomness randomness = Randomness::error);

// ---- of plain functions

// A function of tensors that returns one: a lambda, a function, or what a transform makes of one.
class TensorFunction {
 public:
  template <class F>
    requires(!std::is_same_v<std::decay_t<F>, TensorFunction>)
  TensorFunction(F&& f) : function_(untyped(std::decay_t<F>(std::forward<F>(f)))) {}
  // `f` returns one tensor.
  static TensorFunction of(Function f) {
    TensorFunction result;
    result.function_ = std::move(f);
    return result;
  }

  template <class... Arguments>
  Tensor operator()(const Arguments&... arguments) const {
    const Tensor list[] = {arguments...};
    return function_(list)[0];
  }
  const Function& untyped() const { return function_; }

 private:
  TensorFunction() = default;
  template <class... Arguments>
  static Function untyped(Tensor (*f)(Arguments...)) {
    return [f](std::span<const Tensor> a) {
      return
          [&]<std::size_t... I>(std::index_sequence<I...>) { return Tensors{f(a[I]...)}; }(std::index_sequence_for<Arguments...>{});
    };
  }
  template <class F, class... Arguments>
  static Function untyped(F f, Tensor (F::*)(Arguments...) const) {
    return [f = std::move(f)](std::span<const Tensor> a) {
      return
          [&]<std::size_t... I>(std::index_sequence<I...>) { return Tensors{f(a[I]...)}; }(std::index_sequence_for<Arguments...>{});
    };
  }
  template <class F>
    requires std::is_class_v<F>
  static Function untyped(F f) {
    return untyped(std::move(f), &F::operator());
  }

  Function function_;
};

TensorFunction vmap(TensorFunction f, std::vector<std::optional<std::int64_t>> in_dims = {}, std::int64_t out_dim = 0);
// In argument `argument`.
TensorFunction grad(TensorFunction f, std::size_t argument = 0);
TensorFunction jacrev(TensorFunction f, std::size_t argument = 0);
TensorFunction jacfwd(TensorFunction f, std::size_t argument = 0);
// Forward over reverse: [sizes of f's result, the argument's, the argument's].
TensorFunction hessian(TensorFunction f, std::size_t argument = 0);

}  // namespace braze::func

namespace braze {
using func::vmap;  // as torch.vmap
}
