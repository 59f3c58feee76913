// Scans, sorting, order statistics, searching and counting. https://pytorch.org/docs/stable/torch.html#reduction-ops
//
// `dim` counts from the end where negative; out of range it throws IndexError. A NaN counts as greater than any number.
// A tensor without dims is a vector of one element. What has a size that depends on values evaluates its operand at the call.
#pragma once

#include <string_view>
#include <utility>

#include "braze/tensor.h"

namespace braze {

// ---- scans: element i of the result combines elements 0 ... i along `dim` ----
// Integers and bool give int64 unless `dtype` says otherwise.
Tensor cumsum(const In& x, std::int64_t dim, std::optional<DType> dtype = {});
Tensor cumprod(const In& x, std::int64_t dim, std::optional<DType> dtype = {});
// With the index of the latest extreme. NaN propagates.
ValuesAndIndices cummax(const In& x, std::int64_t dim);
ValuesAndIndices cummin(const In& x, std::int64_t dim);
Tensor logcumsumexp(const In& x, std::int64_t dim);  // floats only
// n-th differences of neighbours along `dim`, after joining `prepend`, x and `append`; of bool whether they differ.
Tensor diff(const In& x, std::int64_t n = 1, std::int64_t dim = -1, const Tensor& prepend = {}, const Tensor& append = {});
// Integrals by the trapezoidal rule, with spacing 1, `dx`, or the differences of `x`.
Tensor trapezoid(const In& y, double dx = 1, std::int64_t dim = -1);
Tensor trapezoid(const In& y, const Tensor& x, std::int64_t dim = -1);
Tensor trapz(const In& y, double dx = 1, std::int64_t dim = -1);  // trapezoid's first name
Tensor trapz(const In& y, const Tensor& x, std::int64_t dim = -1);
Tensor cumulative_trapezoid(const In& y, double dx = 1, std::int64_t dim = -1);
Tensor cumulative_trapezoid(const In& y, const Tensor& x, std::int64_t dim = -1);

// ---- sorting: always stable ----
ValuesAndIndices sort(const In& x, std::int64_t dim = -1, bool descending = false);
Tensor argsort(const In& x, std::int64_t dim = -1, bool descending = false);
Tensor msort(const In& x);  // along dim 0
// The k largest or smallest, best first. Throws Error where k is out of range.
ValuesAndIndices topk(const In& x, std::int64_t k, std::int64_t dim = -1, bool largest = true);
ValuesAndIndices kthvalue(const In& x, std::int64_t k, std::int64_t dim = -1, bool keepdim = false);  // k counts from 1

// ---- order statistics ----
// The lower of the two middle values. median: NaN where there is one; nanmedian: of the rest.
Tensor median(const In& x);
ValuesAndIndices median(const In& x, std::int64_t dim, bool keepdim = false);
Tensor nanmedian(const In& x);
ValuesAndIndices nanmedian(const In& x, std::int64_t dim, bool keepdim = false);
// The most frequent value, the least of several, and its last index.
ValuesAndIndices mode(const In& x, std::int64_t dim = -1, bool keepdim = false);
// `q` in [0, 1]: a number, or a tensor of at most one dim, which is then the result's first. Floats only. `interpolation` is linear,
// lower, higher, midpoint or nearest. https://pytorch.org/docs/stable/generated/torch.quantile.html
Tensor quantile(const In& x, const In& q, std::optional<std::int64_t> dim = {}, bool keepdim = false,
                std::string_view interpolation = "linear");
Tensor nanquantile(const In& x, const In& q, std::optional<std::int64_t> dim = {}, bool keepdim = false,
                   std::string_view interpolation = "linear");

// ---- searching ----
// Where in the sorted last dim each value would go: before its equals, after them with `right`. int64, or int32.
struct SearchOptions {
  bool right = false, out_int32 = false;
};
Tensor searchsorted(const In& sorted_sequence, const In& values, SearchOptions options = {}, const Tensor& sorter = {});
Tensor bucketize(const In& x, const Tensor& boundaries, SearchOptions options = {});
// Whether each element is among the others; `invert`: is not.
Tensor isin(const In& elements, const In& test_elements, bool invert = false);

// ---- counting ----
struct UniqueOptions {
  bool return_inverse = false, return_counts = false;
  std::optional<std::int64_t> dim;  // slices along it rather than elements
};
struct Unique {
  Tensor output, inverse_indices, counts;  // the latter two undefined unless asked for
};
Unique unique(const In& x, UniqueOptions options = {});              // sorted
Unique unique_consecutive(const In& x, UniqueOptions options = {});  // in order, repeats of neighbours removed
// How often 0, 1, ... occur in a vector of integers that are not negative; with `weights` their sums.
Tensor bincount(const In& x, const Tensor& weights = {}, std::int64_t minlength = 0);
// Counts in `bins` equal bins from `min` to `max`; where both are equal, from the least to the greatest element. Floats only.
Tensor histc(const In& x, std::int64_t bins = 100, double min = 0, double max = 0);
// Counts, or sums of weights, in equal bins over `range` (by default from the least to the greatest element), or in bins between
// given edges. `density` divides by the total and by each bin's width. Floats only.
// https://pytorch.org/docs/stable/generated/torch.histogram.html
struct HistogramOptions {
  std::optional<std::pair<double, double>> range;
  Tensor weight;
  bool density = false;
};
struct Histogram {
  Tensor hist, bin_edges;
};
Histogram histogram(const In& x, std::int64_t bins, const HistogramOptions& options = {});
Histogram histogram(const In& x, const Tensor& edges, const HistogramOptions& options = {});

}  // namespace braze
