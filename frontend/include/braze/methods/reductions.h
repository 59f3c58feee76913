// Reductions as methods of Tensor; braze/reductions.h says what each computes.
#pragma once

#include <cstdint>
#include <optional>
#include <source_location>

#include "braze/scalar.h"
#include "braze/sizes.h"

namespace braze {

class In;
class Tensor;
struct ValuesAndIndices;

class ReductionMethods {
 public:
  // Over all dims, or the given ones.
  Tensor sum(std::source_location where = std::source_location::current()) const;
  Tensor sum(SizesView dims, bool keepdim = false, std::source_location where = std::source_location::current()) const;
  Tensor sum(std::int64_t dim, bool keepdim = false, std::source_location where = std::source_location::current()) const;
  Tensor mean(std::source_location where = std::source_location::current()) const;
  Tensor mean(SizesView dims, bool keepdim = false, std::source_location where = std::source_location::current()) const;
  Tensor mean(std::int64_t dim, bool keepdim = false, std::source_location where = std::source_location::current()) const;
  // Two passes: mean, then the mean of squared differences over n - correction.
  Tensor var(std::source_location where = std::source_location::current()) const;
  Tensor var(SizesView dims, double correction = 1, bool keepdim = false,
             std::source_location where = std::source_location::current()) const;
  Tensor var(std::int64_t dim, double correction = 1, bool keepdim = false,
             std::source_location where = std::source_location::current()) const;
  Tensor max(std::source_location where = std::source_location::current()) const;
  Tensor min(std::source_location where = std::source_location::current()) const;
  ValuesAndIndices max(std::int64_t dim, bool keepdim = false, std::source_location where = std::source_location::current()) const;
  ValuesAndIndices min(std::int64_t dim, bool keepdim = false, std::source_location where = std::source_location::current()) const;
  Tensor amax(SizesView dims = {}, bool keepdim = false, std::source_location where = std::source_location::current()) const;
  Tensor amin(SizesView dims = {}, bool keepdim = false, std::source_location where = std::source_location::current()) const;
  Tensor any(std::source_location where = std::source_location::current()) const;
  Tensor any(std::int64_t dim, bool keepdim = false, std::source_location where = std::source_location::current()) const;
  Tensor all(std::source_location where = std::source_location::current()) const;
  Tensor all(std::int64_t dim, bool keepdim = false, std::source_location where = std::source_location::current()) const;
  Tensor argmax(std::source_location where = std::source_location::current()) const;
  Tensor argmax(std::int64_t dim, bool keepdim = false, std::source_location where = std::source_location::current()) const;
  Tensor argmin(std::source_location where = std::source_location::current()) const;
  Tensor argmin(std::int64_t dim, bool keepdim = false, std::source_location where = std::source_location::current()) const;

  Tensor softmax(std::int64_t dim, std::source_location where = std::source_location::current()) const;
  Tensor log_softmax(std::int64_t dim, std::source_location where = std::source_location::current()) const;

 protected:
  ~ReductionMethods() = default;  // a base of Tensor, never used alone
};

}  // namespace braze
