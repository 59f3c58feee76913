// Copies, joins, repetitions and padding as methods of Tensor; braze/shaping.h says what each computes.
#pragma once

#include <cstdint>
#include <optional>
#include <source_location>

#include "braze/dtype.h"
#include "braze/memory_format.h"
#include "braze/scalar.h"
#include "braze/sizes.h"

namespace braze {

class In;
class Tensor;

class ShapingMethods {
  using Where = std::source_location;

 public:
  // A tensor with memory of its own. https://pytorch.org/docs/stable/generated/torch.clone.html
  Tensor clone(Where where = Where::current()) const;
  Tensor clone(MemoryFormat format, Where where = Where::current()) const;
  // Itself where its elements lie so already. https://pytorch.org/docs/stable/generated/torch.Tensor.contiguous.html
  Tensor contiguous(Where where = Where::current()) const;
  Tensor contiguous(MemoryFormat format, Where where = Where::current()) const;

  Tensor flip(SizesView dims, Where where = Where::current()) const;
  Tensor fliplr(Where where = Where::current()) const;
  Tensor flipud(Where where = Where::current()) const;
  Tensor roll(std::int64_t shift, std::optional<std::int64_t> dim = {}, Where where = Where::current()) const;
  Tensor roll(SizesView shifts, SizesView dims, Where where = Where::current()) const;
  Tensor rot90(std::int64_t k = 1, SizesView dims = {0, 1}, Where where = Where::current()) const;
  Tensor repeat(SizesView repeats, Where where = Where::current()) const;
  Tensor tile(SizesView repeats, Where where = Where::current()) const;
  Tensor repeat_interleave(std::int64_t repeats, std::optional<std::int64_t> dim = {}, Where where = Where::current()) const;
  Tensor repeat_interleave(const Tensor& repeats, std::optional<std::int64_t> dim = {}, Where where = Where::current()) const;

  Tensor tril(std::int64_t diagonal = 0, Where where = Where::current()) const;
  Tensor triu(std::int64_t diagonal = 0, Where where = Where::current()) const;
  Tensor& tril_(std::int64_t diagonal = 0, Where where = Where::current());
  Tensor& triu_(std::int64_t diagonal = 0, Where where = Where::current());
  Tensor diag(std::int64_t diagonal = 0, Where where = Where::current()) const;
  Tensor diagflat(std::int64_t offset = 0, Where where = Where::current()) const;
  Tensor diag_embed(std::int64_t offset = 0, std::int64_t dim1 = -2, std::int64_t dim2 = -1, Where where = Where::current()) const;
  Tensor& fill_diagonal_(Scalar value, bool wrap = false, Where where = Where::current());
  Tensor kron(const In& other) const;
  Tensor narrow_copy(std::int64_t dim, std::int64_t start, std::int64_t length, Where where = Where::current()) const;

  // ---- new tensors of this dtype, or of the given ----
  Tensor new_empty(SizesView sizes, std::optional<DType> dtype = {}) const;
  Tensor new_empty_strided(SizesView sizes, SizesView strides, std::optional<DType> dtype = {}) const;
  Tensor new_zeros(SizesView sizes, std::optional<DType> dtype = {}) const;
  Tensor new_ones(SizesView sizes, std::optional<DType> dtype = {}) const;
  Tensor new_full(SizesView sizes, Scalar value, std::optional<DType> dtype = {}) const;

 protected:
  ~ShapingMethods() = default;  // a base of Tensor, never used alone
};

}  // namespace braze
