// Reductions as methods of Tensor; braze/reductions.h says what each computes.
#pragma once

#include <cstdint>
#include <optional>
#include <source_location>

#include "braze/dtype.h"
#include "braze/scalar.h"
#include "braze/sizes.h"

namespace braze {

class In;
class Order;
class Tensor;
struct ValuesAndIndices;
struct MinAndMax;

class ReductionMethods {
 public:
  using Where = std::source_location;

  Tensor sum(DimsView dims = {}, bool keepdim = false, std::optional<DType> dtype = {}, Where where = Where::current()) const;
  Tensor nansum(DimsView dims = {}, bool keepdim = false, std::optional<DType> dtype = {}, Where where = Where::current()) const;
  Tensor prod(DimsView dims = {}, bool keepdim = false, std::optional<DType> dtype = {}, Where where = Where::current()) const;
  Tensor mean(DimsView dims = {}, bool keepdim = false, std::optional<DType> dtype = {}, Where where = Where::current()) const;
  Tensor nanmean(DimsView dims = {}, bool keepdim = false, std::optional<DType> dtype = {}, Where where = Where::current()) const;

  Tensor max(Where where = Where::current()) const;
  Tensor min(Where where = Where::current()) const;
  ValuesAndIndices max(std::int64_t dim, bool keepdim = false, Where where = Where::current()) const;
  ValuesAndIndices min(std::int64_t dim, bool keepdim = false, Where where = Where::current()) const;
  Tensor max(const Tensor& other, Where where = Where::current()) const;
  Tensor min(const Tensor& other, Where where = Where::current()) const;
  Tensor amax(DimsView dims = {}, bool keepdim = false, Where where = Where::current()) const;
  Tensor amin(DimsView dims = {}, bool keepdim = false, Where where = Where::current()) const;
  MinAndMax aminmax(std::optional<std::int64_t> dim = {}, bool keepdim = false, Where where = Where::current()) const;
  Tensor argmax(std::optional<std::int64_t> dim = {}, bool keepdim = false, Where where = Where::current()) const;
  Tensor argmin(std::optional<std::int64_t> dim = {}, bool keepdim = false, Where where = Where::current()) const;

  Tensor any(DimsView dims = {}, bool keepdim = false, Where where = Where::current()) const;
  Tensor all(DimsView dims = {}, bool keepdim = false, Where where = Where::current()) const;
  Tensor count_nonzero(DimsView dims = {}, Where where = Where::current()) const;

  Tensor var(DimsView dims = {}, double correction = 1, bool keepdim = false, Where where = Where::current()) const;
  Tensor std(DimsView dims = {}, double correction = 1, bool keepdim = false, Where where = Where::current()) const;
  Tensor cov(std::int64_t correction = 1, Where where = Where::current()) const;
  Tensor corrcoef(Where where = Where::current()) const;

  Tensor logsumexp(DimsView dims, bool keepdim = false, Where where = Where::current()) const;
  Tensor softmax(std::int64_t dim, std::optional<DType> dtype = {}, Where where = Where::current()) const;
  Tensor log_softmax(std::int64_t dim, std::optional<DType> dtype = {}, Where where = Where::current()) const;

  Tensor norm(Where where = Where::current()) const;
  Tensor norm(const Order& p, DimsView dims = {}, bool keepdim = false, std::optional<DType> dtype = {},
              Where where = Where::current()) const;
  Tensor dist(const Tensor& other, double p = 2, Where where = Where::current()) const;
  Tensor renorm(double p, std::int64_t dim, double maxnorm, Where where = Where::current()) const;
  Tensor& renorm_(double p, std::int64_t dim, double maxnorm, Where where = Where::current());

 protected:
  ~ReductionMethods() = default;  // a base of Tensor, never used alone
};

}  // namespace braze
