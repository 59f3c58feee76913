// Scans, sorting and counting as methods of Tensor; braze/sorting.h says what each computes.
#pragma once

#include <cstdint>
#include <optional>
#include <source_location>
#include <string_view>

#include "braze/dtype.h"
#include "braze/scalar.h"
#include "braze/sizes.h"

namespace braze {

class In;
class Tensor;
struct ValuesAndIndices;
struct Histogram;
struct HistogramOptions;
struct Unique;
struct UniqueOptions;

class SortingMethods {
 public:
  using Where = std::source_location;

  Tensor cumsum(std::int64_t dim, std::optional<DType> dtype = {}, Where where = Where::current()) const;
  Tensor cumprod(std::int64_t dim, std::optional<DType> dtype = {}, Where where = Where::current()) const;
  Tensor& cumsum_(std::int64_t dim, std::optional<DType> dtype = {}, Where where = Where::current());
  Tensor& cumprod_(std::int64_t dim, std::optional<DType> dtype = {}, Where where = Where::current());
  ValuesAndIndices cummax(std::int64_t dim, Where where = Where::current()) const;
  ValuesAndIndices cummin(std::int64_t dim, Where where = Where::current()) const;
  Tensor logcumsumexp(std::int64_t dim, Where where = Where::current()) const;
  Tensor diff(std::int64_t n = 1, std::int64_t dim = -1, Where where = Where::current()) const;
  Tensor diff(std::int64_t n, std::int64_t dim, const Tensor& prepend, const Tensor& append, Where where = Where::current()) const;

  ValuesAndIndices sort(std::int64_t dim = -1, bool descending = false, Where where = Where::current()) const;
  Tensor argsort(std::int64_t dim = -1, bool descending = false, Where where = Where::current()) const;
  Tensor msort(Where where = Where::current()) const;
  ValuesAndIndices topk(std::int64_t k, std::int64_t dim = -1, bool largest = true, Where where = Where::current()) const;
  ValuesAndIndices kthvalue(std::int64_t k, std::int64_t dim = -1, bool keepdim = false, Where where = Where::current()) const;

  Tensor median(Where where = Where::current()) const;
  ValuesAndIndices median(std::int64_t dim, bool keepdim = false, Where where = Where::current()) const;
  Tensor nanmedian(Where where = Where::current()) const;
  ValuesAndIndices nanmedian(std::int64_t dim, bool keepdim = false, Where where = Where::current()) const;
  ValuesAndIndices mode(std::int64_t dim = -1, bool keepdim = false, Where where = Where::current()) const;
  Tensor quantile(const In& q, std::optional<std::int64_t> dim = {}, bool keepdim = false,
                  std::string_view interpolation = "linear") const;
  Tensor nanquantile(const In& q, std::optional<std::int64_t> dim = {}, bool keepdim = false,
                     std::string_view interpolation = "linear") const;

  Unique unique(Where where = Where::current()) const;
  Unique unique(const UniqueOptions& options, Where where = Where::current()) const;
  Unique unique_consecutive(Where where = Where::current()) const;
  Unique unique_consecutive(const UniqueOptions& options, Where where = Where::current()) const;
  Tensor bincount(Where where = Where::current()) const;
  Tensor bincount(const Tensor& weights, std::int64_t minlength = 0, Where where = Where::current()) const;
  Tensor histc(std::int64_t bins = 100, double min = 0, double max = 0, Where where = Where::current()) const;
  Histogram histogram(std::int64_t bins, const HistogramOptions& options, Where where = Where::current()) const;
  Histogram histogram(const Tensor& edges, const HistogramOptions& options, Where where = Where::current()) const;

 protected:
  ~SortingMethods() = default;  // a base of Tensor, never used alone
};

}  // namespace braze
