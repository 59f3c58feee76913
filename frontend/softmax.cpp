// softmax and its kin: exponentials of differences from the largest, so that none overflows.
#include <limits>

#include "braze/autograd.h"
#include "braze/functions.h"
#include "frontend/autograd/names.h"
#include "frontend/autograd/tracking.h"
#include "frontend/promotion.h"
#include "frontend/reductions.h"

namespace braze {

namespace {

struct Shifted {
  Tensor shifted, exponentials, total;
};

Shifted shift_by_max(const Tensor& wide, std::int64_t axis) {
  const Tensor shifted = sub(wide, wide.amax(axis, true).detach());  // which largest it is changes no result
  const Tensor exponentials = exp(shifted);
  return {shifted, exponentials, exponentials.sum(axis, true)};
}

// What softmax and log_softmax share: conversion before, `finish` over the shifted values, shape and dtype after.
template <class F>
Tensor over_rows(std::string_view function, const In& x, std::int64_t dim, std::optional<DType> dtype, F finish) {
  const Tensor& self = require_tensor(function, x);
  const SourceLine line(x.where());
  const Tensor converted = dtype ? self.to(*dtype) : self;
  if (!is_float(converted.dtype())) {
    const bool last = wrap_dim(dim, self.dim()) + 1 >= self.dim();
    not_implemented_for(fmt::format("{}{}_kernel_impl", function, last ? "_lastdim" : ""), converted.dtype());
  }
  if (self.numel() == 0) {
    wrap_dim(dim, self.dim());
    return converted.clone();
  }
  const Along rows = along(widened(converted), dim);
  const Tensor result = finish(shift_by_max(rows.x, rows.axis)).reshape(self.sizes());
  return result.to(converted.dtype()).contiguous();
}

}  // namespace

Tensor softmax(const In& x, std::int64_t dim, std::optional<DType> dtype) {
  const GradientScope scope(GradientName::SoftmaxBackward0);
  const Tensor y = over_rows("softmax", x, dim, dtype, [](const Shifted& s) { return div(s.exponentials, s.total); });
  if (!is_grad_enabled() || !x.tensor().requires_grad() || y.numel() == 0) return y;
  // By the result alone: the exponentials need not last.
  const auto pull = [type = y.dtype(), dim](const Tensor& gradient, std::span<const Tensor> saved) -> std::vector<Tensor> {
    const Tensor g = widened(gradient), result = widened(saved[0]);
    const auto mean = [&](const Tensor& t) { return (t * result).sum(dim, true); };
    // Of cotangents that are nearly alike the distances from their mean count, which rounding of the mean would drown: it is taken twice.
    const Tensor distance = g - mean(g), rest = mean(distance);
    return {((distance - where(isnan(rest), 0, rest)) * result).to(type)};
  };
  return with_shortcut(y, {"SoftmaxBackward0", {x.tensor().to(y.dtype())}, {y}, pull});
}

Tensor log_softmax(const In& x, std::int64_t dim, std::optional<DType> dtype) {
  const GradientScope scope(GradientName::LogSoftmaxBackward0);
  return over_rows("log_softmax", x, dim, dtype, [](const Shifted& s) { return sub(s.shifted, log(s.total)); });
}

Tensor softmin(const In& x, std::int64_t dim, std::optional<DType> dtype) {
  const SourceLine line(x.where());
  const Tensor negative = neg(x);
  return softmax(negative, dim, dtype);
}

Tensor logsumexp(const In& x, DimsView dims, bool keepdim) {
  const GradientScope scope(GradientName::LogsumexpBackward0);
  const Tensor& self = require_tensor("logsumexp", x);
  const SourceLine line(x.where());
  const DType type = to_floating(self.dtype());
  const AxisMask mask = axis_mask(dims, self.dim());
  const Tensor wide = widened(self.to(type));
  if (self.numel() == 0) return log(reduce(ir::Op::sum, exp(wide), mask, keepdim)).to(type);
  // An infinite maximum would make differences NaN; of it the sum of exponentials knows already.
  const Tensor largest = reduce(ir::Op::max, wide.real(), mask, true).detach();
  const Tensor base = where(isinf(largest), 0, largest);
  const Tensor total = reduce(ir::Op::sum, exp(sub(wide, base)), mask, keepdim);
  return add(log(total), keepdim ? base : base.reshape(total.sizes())).to(type);
}

}  // namespace braze
