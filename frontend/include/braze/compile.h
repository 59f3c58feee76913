// compile(fn): record once, call often. The first call with given shapes, dtypes, layouts traces `fn`; later ones run its Program on
// the new arguments, without recording.
//
// Arguments are tensors. Captured tensors are read at each call, and writes to them are committed. Needing a value (item(), printing)
// while tracing throws and names the line. New shapes trace again, usually without compiling. The last 64 kinds of
// arguments are kept.
//
// `fn` may be a whole training step: zero_grad, loss, backward and an optimizer's step. Gradients, parameters and state are then as after
// `fn` itself, bit for bit; an optimizer's settings (a rate that changes) and modules' training flags are read at each call. Other numbers
// that `fn` reads from outside are those of the trace: pass them as tensors. A function through which derivatives pass runs as it is, recorded
// at each call, where a trace could not repeat it: docs/autograd.md lists when, BRAZE_EXPLAIN=compile says why.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <tuple>
#include <vector>

#include "braze/tensor.h"

namespace braze {

// The untyped form.
class CompiledFunction {
 public:
  using Function = std::function<std::vector<Tensor>(std::span<const Tensor>)>;
  explicit CompiledFunction(Function function);
  // Thread-safe. Throws what `function` throws while tracing.
  std::vector<Tensor> operator()(std::span<const Tensor> arguments) const;
  // The single result, without the vector. Throws Error when there are several.
  Tensor call_one(std::span<const Tensor> arguments) const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

namespace detail {

template <class R>
struct Results;
template <>
struct Results<Tensor> {
  static std::vector<Tensor> pack(Tensor t) { return {std::move(t)}; }
};
template <>
struct Results<std::vector<Tensor>> {
  static std::vector<Tensor> pack(std::vector<Tensor> t) { return t; }
  static std::vector<Tensor> unpack(std::vector<Tensor> t) { return t; }
};
template <class... Ts>
struct Results<std::tuple<Ts...>> {
  static std::vector<Tensor> pack(std::tuple<Ts...> t) {
    return std::apply([](auto&... each) { return std::vector<Tensor>{each...}; }, t);
  }
  static std::tuple<Ts...> unpack(const std::vector<Tensor>& t) {
    return
        [&]<std::size_t... I>(std::index_sequence<I...>) { return std::tuple<Ts...>{t[I]...}; }(std::index_sequence_for<Ts...>{});
  }
};

template <class F, class R, class... Args>
auto compile_as(F fn) {
  CompiledFunction compiled([fn = std::move(fn)](std::span<const Tensor> a) {
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      return Results<R>::pack(fn(a[I]...));
    }(std::index_sequence_for<Args...>{});
  });
  return [compiled](const std::type_identity_t<Args>&... arguments) -> R {
    const Tensor list[] = {arguments...};
    if constexpr (std::is_same_v<R, Tensor>)
      return compiled.call_one(list);
    else
      return Results<R>::unpack(compiled(list));
  };
}

template <class F, class R, class C, class... Args>
auto compile_call(F fn, R (C::*)(Args...) const) {
  return compile_as<F, std::decay_t<R>, std::decay_t<Args>...>(std::move(fn));
}

}  // namespace detail

// `fn` takes tensors and returns a Tensor, a tuple of them or a vector of them.
template <class F>
auto compile(F fn) {
  if constexpr (std::is_pointer_v<F> || std::is_function_v<F>) {
    return []<class R, class... Args>(R (*f)(Args...)) {
      return detail::compile_as<R (*)(Args...), std::decay_t<R>, std::decay_t<Args>...>(f);
    }(fn);
  } else {
    return detail::compile_call(std::move(fn), &F::operator());
  }
}

}  // namespace braze
