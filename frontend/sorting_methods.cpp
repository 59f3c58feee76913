// Scans, sorting and counting as methods: each calls its function with the caller's line.
#include "braze/functions.h"
#include "frontend/elementwise.h"
#include "frontend/tensor_impl.h"

namespace braze {

#define BRAZE_SCAN(name)                                                                                                    \
  Tensor SortingMethods::name(std::int64_t dim, std::optional<DType> dtype, Where where) const {                            \
    return braze::name(In(self_of(this), where), dim, dtype);                                                               \
  }                                                                                                                         \
  Tensor& SortingMethods::name##_(std::int64_t dim, std::optional<DType> dtype, Where where) {                              \
    return write_in_place(self_of(this), braze::name(In(self_of(this), where), dim, dtype.value_or(self_of(this).dtype())), \
                          where);                                                                                           \
  }
BRAZE_SCAN(cumsum)
BRAZE_SCAN(cumprod)
#undef BRAZE_SCAN

ValuesAndIndices SortingMethods::cummax(std::int64_t dim, Where where) const {
  return braze::cummax(In(self_of(this), where), dim);
}
ValuesAndIndices SortingMethods::cummin(std::int64_t dim, Where where) const {
  return braze::cummin(In(self_of(this), where), dim);
}
Tensor SortingMethods::logcumsumexp(std::int64_t dim, Where where) const {
  return braze::logcumsumexp(In(self_of(this), where), dim);
}
Tensor SortingMethods::diff(std::int64_t n, std::int64_t dim, Where where) const {
  return braze::diff(In(self_of(this), where), n, dim);
}
Tensor SortingMethods::diff(std::int64_t n, std::int64_t dim, const Tensor& prepend, const Tensor& append, Where where) const {
  return braze::diff(In(self_of(this), where), n, dim, prepend, append);
}

ValuesAndIndices SortingMethods::sort(std::int64_t dim, bool descending, Where where) const {
  return braze::sort(In(self_of(this), where), dim, descending);
}
Tensor SortingMethods::argsort(std::int64_t dim, bool descending, Where where) const {
  return braze::argsort(In(self_of(this), where), dim, descending);
}
Tensor SortingMethods::msort(Where where) const { return braze::msort(In(self_of(this), where)); }
ValuesAndIndices SortingMethods::topk(std::int64_t k, std::int64_t dim, bool largest, Where where) const {
  return braze::topk(In(self_of(this), where), k, dim, largest);
}
ValuesAndIndices SortingMethods::kthvalue(std::int64_t k, std::int64_t dim, bool keepdim, Where where) const {
  return braze::kthvalue(In(self_of(this), where), k, dim, keepdim);
}

#define BRAZE_MIDDLE(name)                                                                         \
  Tensor SortingMethods::name(Where where) const { return braze::name(In(self_of(this), where)); } \
  ValuesAndIndices SortingMethods::name(std::int64_t dim, bool keepdim, Where where) const {       \
    return braze::name(In(self_of(this), where), dim, keepdim);                                    \
  }
BRAZE_MIDDLE(median)
BRAZE_MIDDLE(nanmedian)
#undef BRAZE_MIDDLE

ValuesAndIndices SortingMethods::mode(std::int64_t dim, bool keepdim, Where where) const {
  return braze::mode(In(self_of(this), where), dim, keepdim);
}
Tensor SortingMethods::quantile(const In& q, std::optional<std::int64_t> dim, bool keepdim, std::string_view interpolation) const {
  return braze::quantile(In(self_of(this), q.where()), q, dim, keepdim, interpolation);
}
Tensor SortingMethods::nanquantile(const In& q, std::optional<std::int64_t> dim, bool keepdim,
                                   std::string_view interpolation) const {
  return braze::nanquantile(In(self_of(this), q.where()), q, dim, keepdim, interpolation);
}

Unique SortingMethods::unique(Where where) const { return braze::unique(In(self_of(this), where)); }
Unique SortingMethods::unique(const UniqueOptions& options, Where where) const {
  return braze::unique(In(self_of(this), where), options);
}
Unique SortingMethods::unique_consecutive(Where where) const { return braze::unique_consecutive(In(self_of(this), where)); }
Unique SortingMethods::unique_consecutive(const UniqueOptions& options, Where where) const {
  return braze::unique_consecutive(In(self_of(this), where), options);
}
Tensor SortingMethods::bincount(Where where) const { return braze::bincount(In(self_of(this), where)); }
Tensor SortingMethods::bincount(const Tensor& weights, std::int64_t minlength, Where where) const {
  return braze::bincount(In(self_of(this), where), weights, minlength);
}
Tensor SortingMethods::histc(std::int64_t bins, double min, double max, Where where) const {
  return braze::histc(In(self_of(this), where), bins, min, max);
}
Histogram SortingMethods::histogram(std::int64_t bins, const HistogramOptions& options, Where where) const {
  return braze::histogram(In(self_of(this), where), bins, options);
}
Histogram SortingMethods::histogram(const Tensor& edges, const HistogramOptions& options, Where where) const {
  return braze::histogram(In(self_of(this), where), edges, options);
}

}  // namespace braze
