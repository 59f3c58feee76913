// Picking elements by index or mask, and writing to them, as methods of Tensor; braze/picking.h says what each computes.
#pragma once

#include <cstdint>
#include <optional>
#include <source_location>
#include <string_view>
#include <vector>

#include "braze/scalar.h"
#include "braze/sizes.h"

namespace braze {

class In;
class Tensor;

class PickingMethods {
 public:
  Tensor index_select(std::int64_t dim, const Tensor& index, std::source_location where = std::source_location::current()) const;
  Tensor gather(std::int64_t dim, const Tensor& index, std::source_location where = std::source_location::current()) const;
  Tensor take_along_dim(const Tensor& indices, std::source_location where = std::source_location::current()) const;
  Tensor take_along_dim(const Tensor& indices, std::int64_t dim,
                        std::source_location where = std::source_location::current()) const;
  Tensor take(const Tensor& index, std::source_location where = std::source_location::current()) const;
  Tensor masked_select(const Tensor& mask, std::source_location where = std::source_location::current()) const;
  Tensor nonzero(std::source_location where = std::source_location::current()) const;
  Tensor argwhere(std::source_location where = std::source_location::current()) const;

  Tensor index_add(std::int64_t dim, const Tensor& index, const In& source, Scalar alpha = 1) const;
  Tensor index_copy(std::int64_t dim, const Tensor& index, const In& source) const;
  Tensor index_fill(std::int64_t dim, const Tensor& index, const In& value) const;
  Tensor index_reduce(std::int64_t dim, const Tensor& index, const In& source, std::string_view reduce,
                      bool include_self = true) const;
  Tensor scatter(std::int64_t dim, const Tensor& index, const In& source, std::string_view reduce = "") const;
  Tensor scatter_add(std::int64_t dim, const Tensor& index, const In& source) const;
  Tensor scatter_reduce(std::int64_t dim, const Tensor& index, const In& source, std::string_view reduce,
                        bool include_self = true) const;
  Tensor put(const Tensor& index, const In& source, bool accumulate = false) const;
  Tensor masked_scatter(const Tensor& mask, const Tensor& source,
                        std::source_location where = std::source_location::current()) const;
  Tensor select_scatter(const In& source, std::int64_t dim, std::int64_t index) const;
  Tensor slice_scatter(const In& source, std::int64_t dim = 0, std::optional<std::int64_t> start = {},
                       std::optional<std::int64_t> end = {}, std::int64_t step = 1) const;
  Tensor diagonal_scatter(const In& source, std::int64_t offset = 0, std::int64_t dim1 = 0, std::int64_t dim2 = 1) const;

  // In place, through this tensor's layout. Repeated indices combine in index order; of several assignments the last stays.
  Tensor& index_add_(std::int64_t dim, const Tensor& index, const In& source, Scalar alpha = 1);
  Tensor& index_copy_(std::int64_t dim, const Tensor& index, const In& source);
  Tensor& index_fill_(std::int64_t dim, const Tensor& index, const In& value);
  // reduce: "prod", "mean", "amax", "amin".
  Tensor& index_reduce_(std::int64_t dim, const Tensor& index, const In& source, std::string_view reduce, bool include_self = true);
  // A number or a tensor no smaller than `index`; reduce: "", "add", "multiply".
  Tensor& scatter_(std::int64_t dim, const Tensor& index, const In& source, std::string_view reduce = "");
  Tensor& scatter_add_(std::int64_t dim, const Tensor& index, const In& source);
  // reduce: "sum", "prod", "mean", "amax", "amin". Without include_self, what is written to starts from the reduction's identity.
  Tensor& scatter_reduce_(std::int64_t dim, const Tensor& index, const In& source, std::string_view reduce,
                          bool include_self = true);
  // Elements of the flattened tensor.
  Tensor& put_(const Tensor& index, const In& source, bool accumulate = false);
  Tensor& masked_fill_(const Tensor& mask, const In& value);
  // Elements of `source`, one after another, where the broadcast mask is true. Evaluates nothing; too short a source is an
  // IndexError when a value is needed.
  Tensor& masked_scatter_(const Tensor& mask, const Tensor& source, std::source_location where = std::source_location::current());

 protected:
  ~PickingMethods() = default;  // a base of Tensor, never used alone
};

}  // namespace braze
