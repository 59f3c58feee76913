// Sorting, and the order statistics that are read off a sorted row.
#include <algorithm>
#include <limits>
#include <numeric>

#include "braze/functions.h"
#include "frontend/autograd/names.h"
#include "frontend/reductions.h"

namespace braze {

namespace {

ValuesAndIndices sorted_along(const Tensor& x, std::int64_t axis, bool descending) {
  const engine::Value value = read(checked(x), here());
  const engine::Value both =
      engine::record(ir::Op::sort, {&value, 1}, ir::Sort{static_cast<std::uint32_t>(axis), descending}, here());
  return {wrap(both), wrap(both.with_result(1))};
}

// Its axes, those with the greatest strides first.
Sizes storage_order(const Tensor& x) {
  Sizes order(static_cast<std::size_t>(x.dim()));
  std::iota(order.begin(), order.end(), 0);
  const Sizes strides = x.strides();
  std::stable_sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) {
    return strides[static_cast<std::size_t>(a)] > strides[static_cast<std::size_t>(b)];
  });
  return order;
}

// A tensor's rows along a dim, as its last axis: [..., n]; each becomes one element of the result.
struct Rows {
  Tensor x;
  std::int64_t axis, rank;

  std::int64_t length() const { return x.size(-1); }
  ValuesAndIndices sorted() const { return sorted_along(x, x.dim() - 1, false); }
  // [..., 1] back in its place.
  Tensor placed(const Tensor& one, bool keepdim) const {
    if (rank == 0) return one.reshape({});
    return keepdim ? one.squeeze(-1).unsqueeze(axis) : one.squeeze(-1);
  }
  ValuesAndIndices placed(const ValuesAndIndices& one, bool keepdim) const {
    return {placed(one.values, keepdim), placed(one.indices, keepdim)};
  }
};

Rows rows_along(const Tensor& x, std::int64_t dim) {
  const Along a = along(x, dim);
  return {a.x.movedim(a.axis, -1), a.axis, x.dim()};
}

Rows rows_along(std::string_view function, const Tensor& x, std::int64_t dim) {
  Rows rows = rows_along(x, dim);
  require<IndexError>(rows.length() != 0, "{}(): Expected reduction dim {} to have non-zero size.", function, rows.axis);
  return rows;
}

ValuesAndIndices at_position(const ValuesAndIndices& sorted, const Tensor& position) {
  return {gather(sorted.values, -1, position), gather(sorted.indices, -1, position)};
}

ValuesAndIndices at_position(const ValuesAndIndices& sorted, std::int64_t position) {
  return {sorted.values.narrow(-1, position, 1).contiguous(), sorted.indices.narrow(-1, position, 1).contiguous()};
}

// [..., 1]: how many of a row are numbers.
Tensor count_of_numbers(const Tensor& rows) { return (~isnan(rows)).sum(-1, true); }

ValuesAndIndices median_of(const Rows& rows, bool ignore_nan) {
  const ValuesAndIndices sorted = rows.sorted();
  if (!is_float(rows.x.dtype())) return at_position(sorted, (rows.length() - 1) / 2);
  if (ignore_nan) return at_position(sorted, trunc_divide(maximum(count_of_numbers(rows.x) - 1, 0), 2));
  const ValuesAndIndices middle = at_position(sorted, (rows.length() - 1) / 2);
  // The greatest is the first NaN where there is one.
  const ValuesAndIndices greatest = max(rows.x, -1, true);
  const Tensor spoilt = isnan(greatest.values);
  return {where(spoilt, greatest.values, middle.values), where(spoilt, greatest.indices, middle.indices)};
}

Tensor median_of_all(std::string_view function, const In& x, bool ignore_nan) {
  const SourceLine line(x.where());
  const Tensor& self = require_tensor(function, x);
  // Of nothing: NaN, or what it converts to.
  if (self.numel() == 0) return full({}, std::numeric_limits<double>::quiet_NaN(), {DType::f64}).to(self.dtype());
  if (self.dtype() == DType::boolean) not_implemented_for("median_cpu", self.dtype());
  const Rows rows = rows_along(self.reshape({self.numel()}), 0);
  return median_of(rows, ignore_nan).values.reshape({});
}

ValuesAndIndices median_along(std::string_view function, const In& x, std::int64_t dim, bool keepdim, bool ignore_nan) {
  const SourceLine line(x.where());
  const Tensor& self = require_tensor(function, x);
  if (self.dtype() == DType::boolean) not_implemented_for("median_out", self.dtype());
  const Rows rows = rows_along(function, self, dim);
  return rows.placed(median_of(rows, ignore_nan), keepdim);
}

enum class Interpolation { linear, lower, higher, midpoint, nearest };

Interpolation interpolation_of(std::string_view function, std::string_view name) {
  constexpr std::string_view names[] = {"linear", "lower", "higher", "midpoint", "nearest"};
  const auto* found = std::find(std::begin(names), std::end(names), name);
  require(found != std::end(names), "{}() interpolation must be one of linear, lower, higher, midpoint or nearest, but got {}",
          function, name);
  return static_cast<Interpolation>(found - std::begin(names));
}

// q as [Q] in x's dtype.
Tensor fractions(std::string_view function, const Tensor& x, const In& q) {
  if (q.is_scalar()) {
    const double number = q.scalar().to_double();
    require(number >= 0 && number <= 1, "{}() q must be in the range [0, 1] but got {}", function, number);
    return full({1}, number, {x.dtype()});
  }
  const Tensor& list = q.tensor();
  require(list.dim() <= 1, "{}() q must be a scalar or 1D tensor", function);
  require(list.dtype() == x.dtype(), "{}() q tensor must be same dtype as the input tensor", function);
  require(list.numel() == 0 || all(logical_and(list >= 0, list <= 1)).item<bool>(), "{}() q values must be in the range [0, 1]",
          function);
  return list.reshape({list.numel()});
}

// [..., Q]: the quantiles of sorted rows.
Tensor interpolated(const Tensor& sorted, const Tensor& ranks, Interpolation how) {
  const auto element = [&](const Tensor& rank) { return gather(sorted, -1, rank.to(DType::i64)); };
  switch (how) {
    case Interpolation::lower:
      return element(floor(ranks));
    case Interpolation::higher:
      return element(ceil(ranks));
    case Interpolation::nearest:
      return element(round(ranks));
    case Interpolation::linear:
    case Interpolation::midpoint:
      break;
  }
  const Tensor below = floor(ranks);
  const Tensor weight = how == Interpolation::midpoint ? full({}, 0.5, {ranks.dtype()}) : ranks - below;
  return lerp(element(below), element(ceil(ranks)), weight);
}

Tensor quantile_of(std::string_view function, const In& x, const In& q, std::optional<std::int64_t> dim, bool keepdim,
                   std::string_view interpolation, bool ignore_nan) {
  const SourceLine line(x.where());
  const Tensor& self = require_tensor(function, x);
  require(self.numel() > 0, "{}() input tensor must be non-empty", function);
  require(self.dtype() == DType::f32 || self.dtype() == DType::f64, "{}() input tensor must be either float or double dtype",
          function);
  const Interpolation how = interpolation_of(function, interpolation);
  const Tensor list = fractions(function, self, q);
  const Rows rows = dim ? rows_along(self, *dim) : rows_along(self.reshape({self.numel()}), 0);
  const Tensor sorted = rows.sorted().values;
  const Tensor last = full({}, rows.length() - 1, {self.dtype()});
  Tensor ranks;
  if (ignore_nan)
    ranks = maximum(list * (count_of_numbers(rows.x) - 1).to(self.dtype()), 0);
  else
    ranks = where(any(isnan(rows.x), -1, true), last, list * last);  // to a NaN, which stands last
  const Tensor found = interpolated(sorted, ranks, how);
  // The fractions come first if they are a vector, and vanish if they are a number.
  const auto shaped = [&](const Tensor& one) {
    if (dim) return rows.placed(one, keepdim);
    return one.reshape(Sizes(keepdim ? static_cast<std::size_t>(self.dim()) : 0, 1));
  };
  if (q.is_scalar() || q.tensor().dim() == 0) return shaped(found);
  if (list.numel() == 0) {
    Sizes sizes = shaped(sorted.narrow(-1, 0, 1)).sizes();
    sizes.insert(sizes.begin(), 0);
    return zeros(sizes, {self.dtype()});
  }
  std::vector<Tensor> each;
  for (std::int64_t i = 0; i < list.numel(); ++i) each.push_back(shaped(found.narrow(-1, i, 1)));
  // The fractions are the last axis in memory.
  const Tensor last_in_memory = stack(each, -1);
  return last_in_memory.movedim(-1, 0);
}

}  // namespace

ValuesAndIndices sort(const In& x, std::int64_t dim, bool descending) {
  const GradientScope scope(GradientName::SortBackward0);
  const SourceLine line(x.where());
  const Tensor& self = require_tensor("sort", x);
  require<TypeError>(!is_complex(self.dtype()), "Sort does not support complex dtypes on CPU: got '{}'",
                     info(self.dtype()).scalar_name);
  const Along a = along(self, dim);
  // The results lie in memory as the operand does.
  const Sizes order = storage_order(a.x);
  const std::int64_t axis = std::find(order.begin(), order.end(), a.axis) - order.begin();
  const ValuesAndIndices sorted = sorted_along(a.x.permute(order), axis, descending);
  Sizes back(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) back[static_cast<std::size_t>(order[i])] = static_cast<std::int64_t>(i);
  const auto placed = [&](const Tensor& t) { return self.dim() == 0 ? t.reshape({}) : t.permute(back); };
  return {placed(sorted.values), placed(sorted.indices)};
}

Tensor argsort(const In& x, std::int64_t dim, bool descending) { return sort(x, dim, descending).indices; }
Tensor msort(const In& x) { return sort(x, 0).values; }

ValuesAndIndices topk(const In& x, std::int64_t k, std::int64_t dim, bool largest) {
  const GradientScope scope(GradientName::TopkBackward0);
  const SourceLine line(x.where());
  const Tensor& self = require_tensor("topk", x);
  require<TypeError>(!is_complex(self.dtype()), "topk does not support complex dtypes on CPU: got '{}'",
                     info(self.dtype()).scalar_name);
  const Along a = along(self, dim);
  require(k >= 0 && k <= a.x.size(a.axis), "selected index k out of range");
  if (self.dtype() == DType::boolean) not_implemented_for("topk_cpu", self.dtype());
  const ValuesAndIndices sorted = sorted_along(a.x, a.axis, largest);
  const auto first = [&](const Tensor& t) {
    const Tensor some = t.narrow(a.axis, 0, k).contiguous();
    return self.dim() == 0 && k == 1 ? some.reshape({}) : some;
  };
  return {first(sorted.values), first(sorted.indices)};
}

ValuesAndIndices kthvalue(const In& x, std::int64_t k, std::int64_t dim, bool keepdim) {
  const GradientScope scope(GradientName::KthvalueBackward0);
  const SourceLine line(x.where());
  const Tensor& self = require_tensor("kthvalue", x);
  if (self.dtype() == DType::boolean) not_implemented_for("kthvalue_cpu", self.dtype());
  const Rows rows = rows_along("kthvalue", self, dim);
  require(k > 0 && k <= rows.length(), "kthvalue(): selected number k out of range for dimension {}", rows.axis);
  return rows.placed(at_position(rows.sorted(), k - 1), keepdim);
}

Tensor median(const In& x) {
  const GradientScope scope(GradientName::MedianBackward0);
  return median_of_all("median", x, false);
}
Tensor nanmedian(const In& x) { return median_of_all("nanmedian", x, true); }
ValuesAndIndices median(const In& x, std::int64_t dim, bool keepdim) {
  const GradientScope scope(GradientName::MedianBackward1);
  return median_along("median", x, dim, keepdim, false);
}
ValuesAndIndices nanmedian(const In& x, std::int64_t dim, bool keepdim) { return median_along("nanmedian", x, dim, keepdim, true); }

ValuesAndIndices mode(const In& x, std::int64_t dim, bool keepdim) {
  const GradientScope scope(GradientName::ModeBackward0);
  const SourceLine line(x.where());
  const Tensor& self = require_tensor("mode", x);
  const Rows rows = rows_along("mode", self, dim);
  const ValuesAndIndices sorted = rows.sorted();
  const std::int64_t n = rows.length();
  if (n == 1) return rows.placed(sorted, keepdim);
  // Counting along each run of equals, the first place where the count is highest ends the longest run.
  const Tensor& v = sorted.values;
  const Tensor starts =
      cat({zeros_like(v.narrow(-1, 0, 1)).to(DType::i64),
           (ne(v.narrow(-1, 1, n - 1), v.narrow(-1, 0, n - 1)) * positions(n).narrow(0, 1, n - 1)).to(DType::i64)},
          -1);
  const Tensor counts = positions(n) - cummax(starts, -1).values;
  return rows.placed(at_position(sorted, argmax(counts, -1, true)), keepdim);
}

Tensor quantile(const In& x, const In& q, std::optional<std::int64_t> dim, bool keepdim, std::string_view interpolation) {
  return quantile_of("quantile", x, q, dim, keepdim, interpolation, false);
}
Tensor nanquantile(const In& x, const In& q, std::optional<std::int64_t> dim, bool keepdim, std::string_view interpolation) {
  return quantile_of("nanquantile", x, q, dim, keepdim, interpolation, true);
}

}  // namespace braze
