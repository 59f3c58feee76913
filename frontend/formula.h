// Composites of elementwise ops, written as formulas on tensors. A formula computes in one dtype: halves are widened to float32 and
// the result is rounded once, as PyTorch's kernels do. Everything is recorded at the caller's line.
//
//   Tensor silu(const In& x) {
//     return map_floating("silu_cpu", x, [](const Tensor& x) { return x / (1 + exp(-x)); });
//   }
#pragma once

#include <optional>
#include <string_view>

#include "braze/functions.h"
#include "frontend/promotion.h"
#include "frontend/source_line.h"
#include "frontend/tensor_impl.h"

namespace braze {

// The operand as a tensor: a number becomes one without dims, of its own dtype.
inline Tensor as_tensor(const In& x) { return x.is_scalar() ? full({}, x.scalar()) : x.tensor(); }
// The same in `type`.
inline Tensor as_tensor(const In& x, DType type) {
  return x.is_scalar() ? full({}, x.scalar(), {type}) : x.tensor().to(type, x.where());
}

[[noreturn]] inline void not_implemented_for(std::string_view kernel, DType type) {
  fail<NotImplementedError>("\"{}\" not implemented for '{}'", kernel, info(type).scalar_name);
}

inline Tensor rounded_to(const Tensor& result, DType type) { return result.to(type); }
inline std::optional<Tensor> rounded_to(const std::optional<Tensor>& result, DType type) {
  return result ? std::optional(result->to(type)) : std::nullopt;
}

// f on x in the dtype that x computes in, rounded to x's.
template <class F>
auto in_compute_type(const Tensor& x, F f) {
  const DType type = x.dtype();
  if (!is_half(type)) return f(x);
  return rounded_to(f(x.to(DType::f32)), type);
}

// f on x; integers and bool become the default dtype.
template <class F>
Tensor map_real(const In& x, F f) {
  const SourceLine line(x.where());
  const Tensor t = as_tensor(x);
  return in_compute_type(t.to(to_floating(t.dtype())), f);
}

// f on x, which must be floating; `kernel` is PyTorch's name in the message.
template <class F>
Tensor map_floating(std::string_view kernel, const In& x, F f) {
  const SourceLine line(x.where());
  const Tensor t = as_tensor(x);
  if (!is_float(t.dtype())) not_implemented_for(kernel, t.dtype());
  return in_compute_type(t, f);
}

// f on both in `type`, which they have been promoted to.
template <class F>
Tensor zip_in(DType type, const In& a, const In& b, F f) {
  const SourceLine line(a.where());
  const DType compute = compute_type(type);
  return f(as_tensor(a, compute), as_tensor(b, compute)).to(type);
}

template <class F>
Tensor zip_real(const In& a, const In& b, F f) {
  return zip_in(to_floating(result_type(a, b)), a, b, f);
}

template <class F>
Tensor zip_floating(std::string_view kernel, const In& a, const In& b, F f) {
  const DType type = result_type(a, b);
  if (!is_float(type)) not_implemented_for(kernel, type);
  return zip_in(type, a, b, f);
}

}  // namespace braze
