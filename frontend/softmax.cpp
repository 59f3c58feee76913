// softmax and its kin: exponentials of differences from the largest, so that none overflows.
#include <limits>

#include "braze/functions.h"
#include "frontend/promotion.h"
#include "frontend/reductions.h"

namespace braze {

namespace {

// A vector this long is one row of one kernel; a longer one is worth a kernel for each step, which threads share.
constexpr std::int64_t longest_row = 1 << 14;

struct Shifted {
  Tensor shifted, exponentials, total;
};

Shifted shift_by_max(const Tensor& wide, std::int64_t axis, const At& at) {
  const Tensor shifted = sub(at(wide), at(wide.amax(axis, true, at.where())));
  const Tensor exponentials = exp(at(shifted));
  return {shifted, exponentials, exponentials.sum(axis, true, {}, at.where())};
}

// What softmax and log_softmax share: conversion before, `finish` over the shifted values, shape and dtype after.
template <class F>
Tensor over_rows(std::string_view function, const In& x, std::int64_t dim, std::optional<DType> dtype, F finish) {
  const Tensor& self = require_tensor(function, x);
  const At at(x);
  const Tensor converted = dtype ? self.to(*dtype, at.where()) : self;
  const std::int64_t axis = wrap_dim(dim, self.dim());
  if (!is_float(converted.dtype()))
    not_implemented(axis + 1 >= self.dim() ? (function == "softmax" ? "softmax_lastdim_kernel_impl" : "log_softmax_lastdim_kernel_impl")
                                           : (function == "softmax" ? "softmax_kernel_impl" : "log_softmax_kernel_impl"),
                    converted.dtype());
  if (self.numel() == 0) return converted.clone(at.where());
  const Tensor wide = widened(converted, at);
  const bool one_row = self.dim() == 0 || (self.dim() == 1 && self.numel() <= longest_row);
  const Tensor result = one_row ? finish(shift_by_max(wide.reshape({1, self.numel()}), 1, at), at).reshape(self.sizes())
                                : finish(shift_by_max(wide, axis, at), at);
  return result.to(converted.dtype(), at.where());
}

}  // namespace

Tensor softmax(const In& x, std::int64_t dim, std::optional<DType> dtype) {
  return over_rows("softmax", x, dim, dtype, [](const Shifted& s, const At& at) { return div(at(s.exponentials), at(s.total)); });
}

Tensor log_softmax(const In& x, std::int64_t dim, std::optional<DType> dtype) {
  return over_rows("log_softmax", x, dim, dtype, [](const Shifted& s, const At& at) { return sub(at(s.shifted), at(log(at(s.total)))); });
}

Tensor softmin(const In& x, std::int64_t dim, std::optional<DType> dtype) {
  const Tensor negative = neg(x);
  return softmax(In(negative, x.where()), dim, dtype);
}

Tensor logsumexp(const In& x, DimsView dims, bool keepdim) {
  const Tensor& self = require_tensor("logsumexp", x);
  const At at(x);
  const DType type = to_floating(self.dtype());
  const AxisMask mask = axis_mask(dims, self.dim());
  const Tensor wide = widened(self.to(type, at.where()), at);
  if (self.numel() == 0) return log(at(reduce(ir::Op::sum, exp(at(wide)), mask, keepdim, at))).to(type, at.where());
  // An infinite maximum would make differences NaN; of it the sum of exponentials knows already.
  const Tensor largest = reduce(ir::Op::max, wide, mask, true, at);
  const Tensor base = where(at(isinf(at(largest))), at(0), at(largest));
  const Tensor total = reduce(ir::Op::sum, exp(at(sub(at(wide), at(base)))), mask, keepdim, at);
  return add(at(log(at(total))), at(keepdim ? base : base.reshape(total.sizes()))).to(type, at.where());
}

}  // namespace braze
