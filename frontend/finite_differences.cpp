#include "braze/finite_differences.h"

#include <numeric>

#include "braze/functions.h"
#include "frontend/composing.h"

namespace braze {

namespace {

// The dims to differentiate along, checked.
Sizes differentiated(const Tensor& x, std::optional<std::size_t> spacings, DimsView dim, std::int64_t edge_order) {
  const auto rank = static_cast<std::size_t>(x.dim());
  require<NotImplementedError>(x.dtype() != DType::u8, "torch.gradient does not support uint8 input.");
  require(!spacings || dim.has_value() || *spacings == rank,
          "torch.gradient expected spacing to be unspecified, a scalar, or a list of length equal to 'self.dim() = {}', since dim "
          "argument was not given, but got a list of length {}",
          rank, spacings.value_or(0));
  require(
      !spacings || !dim.has_value() || *spacings == dim.values().size(),
      "torch.gradient expected spacing to be unspecified, a scalar or it's spacing and dim arguments to have the same length, but "
      "got a spacing argument of length {} and a dim argument of length {}.",
      spacings.value_or(0), dim.values().size());
  require(edge_order == 1 || edge_order == 2, "torch.gradient only supports edge_order=1 and edge_order=2.");
  Sizes axes(dim.values().begin(), dim.values().end());
  if (!dim.has_value()) {
    axes.resize(rank);
    std::iota(axes.begin(), axes.end(), 0);
  }
  std::vector<bool> seen(rank + 1);
  for (std::int64_t& axis : axes) {
    axis = wrap_dim(axis, x.dim());
    require(!seen[static_cast<std::size_t>(axis)], "dim {} appears multiple times in the list of dims", axis);
    seen[static_cast<std::size_t>(axis)] = true;
  }
  for (const std::int64_t axis : axes)
    require(rank > 0 && x.size(axis) >= edge_order + 1, "torch.gradient expected each dimension size to be at least edge_order+1");
  return axes;
}

// Element number `i` along an axis, from the end where negative, as a slice.
struct Samples {
  const Tensor& x;
  std::int64_t axis;
  Tensor operator()(std::int64_t i) const { return x.narrow(axis, i < 0 ? i + x.size(axis) : i, 1); }
  // All but `before` at the front and `after` at the end.
  Tensor without(std::int64_t before, std::int64_t after) const { return x.narrow(axis, before, x.size(axis) - before - after); }
};

Tensor along(const Tensor& x, std::int64_t axis, const Scalar& h, std::int64_t edge_order) {
  const Samples at{x, axis};
  const In step(h);
  const Tensor inner = (at.without(2, 0) - at.without(0, 2)) / step / 2;
  if (edge_order == 1) return cat({(at(1) - at(0)) / step, inner, (at(-1) - at(-2)) / step}, axis);
  return cat({(-1.5 * at(0) + 2 * at(1) - 0.5 * at(2)) / step, inner, (0.5 * at(-3) - 2 * at(-2) + 1.5 * at(-1)) / step}, axis);
}

Tensor along(const Tensor& x, std::int64_t axis, const Tensor& coordinates, std::int64_t edge_order) {
  require(coordinates.dim() == 1,
          "torch.gradient expected each element of spacing to have one dimension, but got an element with {}", coordinates.dim());
  const Samples at{x, axis};
  const Tensor steps = diff(coordinates, 1, 0);
  const std::int64_t count = steps.size(0), inner_count = std::max<std::int64_t>(count - 1, 0);
  const Tensor before = steps.narrow(0, 0, inner_count), after = steps.narrow(0, count - inner_count, inner_count);
  Sizes shape(static_cast<std::size_t>(x.dim()), 1);
  shape[static_cast<std::size_t>(axis)] = -1;
  const Tensor a = (-after / (before * (before + after))).reshape(shape), b = ((after - before) / (before * after)).reshape(shape),
               c = (before / (after * (before + after))).reshape(shape);
  const Tensor inner = a * at.without(0, 2) + b * at.without(1, 1) + c * at.without(2, 0);
  if (edge_order == 1) return cat({(at(1) - at(0)) / steps.select(0, 0), inner, (at(-1) - at(-2)) / steps.select(0, -1)}, axis);
  const Tensor h = steps.select(0, 0), k = steps.select(0, 1), l = steps.select(0, -1), m = steps.select(0, -2);
  const Tensor first = -(2 * h + k) / (h * (h + k)) * at(0) + (h + k) / (h * k) * at(1) + -h / (k * (h + k)) * at(2);
  const Tensor last = l / (m * (l + m)) * at(-3) + -(l + m) / (l * m) * at(-2) + (2 * l + m) / (l * (l + m)) * at(-1);
  return cat({first, inner, last}, axis);
}

}  // namespace

std::vector<Tensor> gradient(const In& x, Scalar spacing, DimsView dim, std::int64_t edge_order) {
  const SourceLine line(x.where());
  const Tensor& self = require_tensor("gradient", x);
  std::vector<Tensor> out;
  for (const std::int64_t axis : differentiated(self, {}, dim, edge_order)) out.push_back(along(self, axis, spacing, edge_order));
  return out;
}

std::vector<Tensor> gradient(const In& x, std::span<const Scalar> spacing, DimsView dim, std::int64_t edge_order) {
  const SourceLine line(x.where());
  const Tensor& self = require_tensor("gradient", x);
  const Sizes axes = differentiated(self, spacing.size(), dim, edge_order);
  std::vector<Tensor> out;
  for (std::size_t i = 0; i < axes.size(); ++i) out.push_back(along(self, axes[i], spacing[i], edge_order));
  return out;
}

std::vector<Tensor> gradient(const In& x, std::span<const Tensor> coordinates, DimsView dim, std::int64_t edge_order) {
  const SourceLine line(x.where());
  const Tensor& self = require_tensor("gradient", x);
  const Sizes axes = differentiated(self, coordinates.size(), dim, edge_order);
  std::vector<Tensor> out;
  for (std::size_t i = 0; i < axes.size(); ++i) out.push_back(along(self, axes[i], coordinates[i], edge_order));
  return out;
}

}  // namespace braze
