// Counting equals: results whose size depends on values, which are read at the call.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <tuple>

#include "braze/functions.h"
#include "frontend/reductions.h"

namespace braze {

namespace {

using Integers = std::vector<std::int64_t>;

Integers integers(const Tensor& x) { return x.contiguous().to_vector<std::int64_t>(); }
Tensor vector_of(const Integers& values) { return from_data(values.data(), {static_cast<std::int64_t>(values.size())}); }

// What remains of n things in a row once repeats of neighbours are removed: `first` of each group, and the group of each.
struct Groups {
  Integers first, group;

  explicit Groups(const Integers& starts_group) {
    for (std::size_t i = 0; i < starts_group.size(); ++i) {
      if (starts_group[i] != 0) first.push_back(static_cast<std::int64_t>(i));
      group.push_back(static_cast<std::int64_t>(first.size()) - 1);
    }
  }
  Integers counts() const {
    Integers out(first.size());
    for (std::size_t g = 0; g < first.size(); ++g)
      out[g] = (g + 1 < first.size() ? first[g + 1] : static_cast<std::int64_t>(group.size())) - first[g];
    return out;
  }
};

// Whether each element of a vector differs from the one before it; the first does.
Tensor differs_from_previous(const Tensor& x) {
  const std::int64_t n = x.numel();
  if (n == 0) return zeros({0}, {DType::i64});
  return cat({ones({1}, {DType::i64}), ne(x.narrow(0, 1, n - 1), x.narrow(0, 0, n - 1)).to(DType::i64)}, 0);
}

// The groups of `order[i]` put back to where they came from.
Integers scattered(const Integers& order, const Integers& group) {
  Integers out(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) out[static_cast<std::size_t>(order[i])] = group[i];
  return out;
}

Unique of_elements(const Tensor& x, const UniqueOptions& options, bool sorted) {
  const Tensor flat = x.reshape({x.numel()});
  ValuesAndIndices s;
  if (sorted) s = sort(flat, 0);
  const Tensor& ordered = sorted ? s.values : flat;
  const Groups groups(integers(differs_from_previous(ordered)));
  Unique result;
  result.output = index_select(ordered, 0, vector_of(groups.first));
  if (options.return_inverse)
    result.inverse_indices = vector_of(sorted ? scattered(integers(s.indices), groups.group) : groups.group).reshape(x.sizes());
  if (options.return_counts) result.counts = vector_of(groups.counts());
  return result;
}

// Slices are compared by the ranks of their elements: integers, whatever the dtype.
Unique of_slices(const Tensor& x, const UniqueOptions& options, bool sorted) {
  require<IndexError>(x.dim() > 0, "Dimension specified as {} but tensor has no dimensions", *options.dim);
  const Along a = along(x, *options.dim);
  const std::int64_t n = a.x.size(a.axis);
  require(a.x.numel() != 0 || n == 0, "There are 0 sized dimensions, and they aren't selected, so unique cannot be applied");
  const std::int64_t width = n == 0 ? 0 : a.x.numel() / n;
  const Integers ranks = integers(of_elements(a.x.movedim(a.axis, 0).contiguous(), {.return_inverse = true}, true).inverse_indices);
  const auto slice = [&](std::int64_t i) { return ranks.begin() + i * width; };
  Integers order(static_cast<std::size_t>(n));
  std::iota(order.begin(), order.end(), 0);
  if (sorted)
    std::stable_sort(order.begin(), order.end(), [&](std::int64_t i, std::int64_t j) {
      return std::lexicographical_compare(slice(i), slice(i) + width, slice(j), slice(j) + width);
    });
  Integers starts;
  for (std::size_t i = 0; i < order.size(); ++i)
    starts.push_back(i == 0 || !std::equal(slice(order[i]), slice(order[i]) + width, slice(order[i - 1])));
  const Groups groups(starts);
  Integers kept;
  for (const std::int64_t first : groups.first) kept.push_back(order[static_cast<std::size_t>(first)]);
  Unique result;
  result.output = index_select(a.x, a.axis, vector_of(kept));
  if (options.return_inverse) result.inverse_indices = vector_of(scattered(order, groups.group));
  if (options.return_counts) result.counts = vector_of(groups.counts());
  return result;
}

// From `min` to `max`; where they are equal, from the least to the greatest element; where those are, one more to either side.
std::pair<double, double> bin_range(std::string_view function, const Tensor& x, double min, double max) {
  if (min == max && x.numel() > 0) {
    min = x.min().item<double>();
    max = x.max().item<double>();
  }
  require(std::isfinite(min) && std::isfinite(max), "{}: range of [{}, {}] is not finite", function, min, max);
  require(min <= max, "{}: max must be larger than min", function);
  if (min == max) return {min - 1, max + 1};
  return {min, max};
}

void require_histogram(const Tensor& x, const Tensor& weight) {
  if (!is_float(x.dtype())) not_implemented_for("histogram_cpu", x.dtype());
  if (!weight.defined()) return;
  require(weight.sizes() == x.sizes(),
          "torch.histogramdd: if weight tensor is provided it should have the same shape as the input tensor excluding its "
          "innermost dimension, "
          "but got input with shape {} and weight with shape {}",
          sizes_text(x.sizes()), sizes_text(weight.sizes()));
  require<TypeError>(
      weight.dtype() == x.dtype(),
      "torch.histogramdd: if weight tensor is provided, input tensor and weight tensor should have the same dtype, but got "
      "input({}), and weight({})",
      info(x.dtype()).scalar_name, info(weight.dtype()).scalar_name);
}

}  // namespace

Unique unique(const In& x, UniqueOptions options) {
  const SourceLine line(x.where());
  const Tensor& self = require_tensor("unique", x);
  if (is_complex(self.dtype())) not_implemented_for("unique", self.dtype());
  return options.dim ? of_slices(self, options, true) : of_elements(self, options, true);
}

Unique unique_consecutive(const In& x, UniqueOptions options) {
  const SourceLine line(x.where());
  const Tensor& self = require_tensor("unique_consecutive", x);
  if (is_complex(self.dtype())) not_implemented_for("unique", self.dtype());
  return options.dim ? of_slices(self, options, false) : of_elements(self, options, false);
}

Tensor bincount(const In& x, const Tensor& weights, std::int64_t minlength) {
  const SourceLine line(x.where());
  const Tensor& self = require_tensor("bincount", x);
  if (is_float(self.dtype()) || self.dtype() == DType::boolean) not_implemented_for("bincount_cpu", self.dtype());
  require(minlength >= 0, "minlength should be >= 0");
  require(self.dim() == 1, "bincount only supports 1-d non-negative integral inputs.");
  require(!weights.defined() || (weights.dim() == 1 && weights.size(0) == self.size(0)),
          "weights should be 1-d and have the same length as input");
  const DType type = !weights.defined() ? DType::i64 : weights.dtype() == DType::f32 ? DType::f32 : DType::f64;
  if (self.numel() == 0) return zeros({minlength}, {DType::i64});
  require(self.min().item<std::int64_t>() >= 0, "bincount only supports 1-d non-negative integral inputs.");
  const std::int64_t bins = std::max(minlength, self.max().item<std::int64_t>() + 1);
  const Tensor each = weights.defined() ? weights.to(type) : ones({self.size(0)}, {type});
  return scatter_add(zeros({bins}, {type}), 0, self.to(DType::i64), each);
}

Tensor histc(const In& x, std::int64_t bins, double min, double max) {
  const SourceLine line(x.where());
  const Tensor& self = require_tensor("histc", x);
  if (!is_float(self.dtype())) not_implemented_for("histogram_cpu", self.dtype());
  require(bins > 0, "torch.histc(): bins must be > 0, but got {}", bins);
  std::tie(min, max) = bin_range("torch.histc", self, min, max);
  const Tensor flat = widened(self.reshape({self.numel()}));
  const Tensor inside = logical_and(flat >= min, flat <= max);
  // The last bin holds its upper edge too. What is outside counts nothing in bin 0.
  const Tensor place = minimum(((flat - min) * static_cast<double>(bins) / (max - min)).to(DType::i64), bins - 1);
  const Tensor counts = scatter_add(zeros({bins}, {flat.dtype()}), 0, where(inside, place, 0), inside.to(flat.dtype()));
  return counts.to(self.dtype());
}

Histogram histogram(const In& x, std::int64_t bins, const HistogramOptions& options) {
  const SourceLine line(x.where());
  const Tensor& self = require_tensor("histogram", x);
  require_histogram(self, options.weight);
  require(bins > 0, "torch.histogram(): bins must be > 0, but got {}", bins);
  double min = 0, max = 0;
  if (options.range) {
    std::tie(min, max) = *options.range;
    require(min <= max, "torch.histogram(): min should not exceed max, but got min {} max {}", min, max);
  }
  std::tie(min, max) = bin_range("torch.histogram()", self, min, max);
  return histogram(x, linspace(min, max, bins + 1, {self.dtype()}), options);
}

Histogram histogram(const In& x, const Tensor& edges, const HistogramOptions& options) {
  const SourceLine line(x.where());
  const Tensor& self = require_tensor("histogram", x);
  require_histogram(self, options.weight);
  require(edges.dim() == 1 && edges.numel() > 0,
          "torch.histogram(): bins tensor should have one dimension and one element at least, but got {}",
          sizes_text(edges.sizes()));
  require(edges.dtype() == self.dtype(),
          "torch.histogram(): input tensor and bins tensors should have the same dtype, but got input with dtype {} and bins with "
          "dtype {}",
          info(self.dtype()).scalar_name, info(edges.dtype()).scalar_name);
  const std::int64_t bins = edges.numel() - 1;
  if (bins == 0) return {zeros({0}, {self.dtype()}), edges.clone()};
  const Tensor flat = self.reshape({self.numel()});
  // The last bin holds its upper edge too. What is outside weighs nothing in bin 0.
  const Tensor inside = logical_and(flat >= edges(0), flat <= edges(bins));
  const Tensor place = minimum(searchsorted(edges, flat, {.right = true}) - 1, bins - 1);
  const Tensor weight = options.weight.defined() ? options.weight.reshape({self.numel()}) : ones({self.numel()}, {self.dtype()});
  Tensor hist = scatter_add(zeros({bins}, {self.dtype()}), 0, where(inside, place, 0), where(inside, weight, 0));
  if (options.density) hist = hist / (hist.sum() * diff(edges));
  return {hist, edges.clone()};
}

}  // namespace braze
