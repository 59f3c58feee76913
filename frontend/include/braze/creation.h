// Making tensors. https://pytorch.org/docs/stable/torch.html#creation-ops
#pragma once

#include <functional>

#include "braze/tensor.h"

namespace braze {

struct TensorOptions {
  std::optional<DType> dtype;  // the default dtype, or what the data says
};

// Nested data of any depth: tensor({{1, 2}, {3, 4}}). Booleans give bool, integers int64, anything with a float the default dtype, with
// a std::complex the complex type of that.
// Throws ValueError when rows differ in length.
class NestedData {
 public:
  template <class T>
    requires std::is_arithmetic_v<T>
  NestedData(T value) : scalar_(value) {}  // NOLINT
  template <std::floating_point T>
  NestedData(std::complex<T> value) : scalar_(value) {}  // NOLINT
  NestedData(std::initializer_list<NestedData> list) : list_(list), is_list_(true) {}
  bool is_list() const { return is_list_; }
  const std::vector<NestedData>& list() const { return list_; }
  Scalar scalar() const { return scalar_; }

 private:
  std::vector<NestedData> list_;
  Scalar scalar_;
  bool is_list_ = false;
};
Tensor tensor(const NestedData& data, TensorOptions options = {});
// Copies row-major elements.
Tensor from_bytes(const void* data, SizesView sizes, DType dtype);
template <class T>
Tensor from_data(const T* data, SizesView sizes) {
  return from_bytes(data, sizes, dtype_of<T>());
}

// The host's memory as a tensor, nothing copied. Element (i, j, ...) lies at data + (i * strides[0] + ...) elements; without strides,
// row-major. `deleter` runs when the last tensor on the memory is gone.
// https://docs.pytorch.org/cppdocs/api/function_namespacetorch_1ad7fb2a7759ef8c9443b489ddde494787.html
enum class Access : std::uint8_t {
  shared,  // the host may read and write at any moment, so an op that reads the memory runs at once, and a write too
  frozen,  // nobody writes while the tensor lives: fully lazy; a write throws Error
};
Tensor from_blob(void* data, SizesView sizes, DType dtype, std::function<void()> deleter = {}, Access access = Access::shared);
Tensor from_blob(void* data, SizesView sizes, SizesView strides, DType dtype, std::function<void()> deleter = {},
                 Access access = Access::shared);

// ---- constants: of the default dtype unless told ----
// Throws ShapeError for negative sizes, and for more elements than 64 bits can count.
Tensor zeros(SizesView sizes, TensorOptions options = {});
Tensor ones(SizesView sizes, TensorOptions options = {});
// The dtype is the value's: bool, int64, the default dtype or its complex type. https://pytorch.org/docs/stable/generated/torch.full.html
Tensor full(SizesView sizes, Scalar value, TensorOptions options = {});
// Uninitialised for whoever relies on it: Braze's is zero, or with BRAZE_FILL=nan NaN, the largest integer or true, which finds
// reads of what was never written. https://pytorch.org/docs/stable/generated/torch.empty.html
Tensor empty(SizesView sizes, TensorOptions options = {}, MemoryFormat format = MemoryFormat::contiguous);
Tensor empty_strided(SizesView sizes, SizesView strides, TensorOptions options = {});
// No dims, of the default dtype whatever the value is. https://pytorch.org/docs/stable/generated/torch.scalar_tensor.html
Tensor scalar_tensor(Scalar value, TensorOptions options = {});

// With another tensor's sizes, dtype and, unless told, order in memory.
Tensor zeros_like(const Tensor& other, TensorOptions options = {}, MemoryFormat format = MemoryFormat::preserve);
Tensor ones_like(const Tensor& other, TensorOptions options = {}, MemoryFormat format = MemoryFormat::preserve);
Tensor full_like(const Tensor& other, Scalar value, TensorOptions options = {}, MemoryFormat format = MemoryFormat::preserve);
Tensor empty_like(const Tensor& other, TensorOptions options = {}, MemoryFormat format = MemoryFormat::preserve);

// ---- sequences ----
// start, start + step, ... before end. Integer arguments give int64. Throws for a zero step or the wrong direction.
// https://pytorch.org/docs/stable/generated/torch.arange.html
Tensor arange(Scalar end, TensorOptions options = {});
Tensor arange(Scalar start, Scalar end, Scalar step = 1, TensorOptions options = {});
// `steps` numbers from start to end, both exact. https://pytorch.org/docs/stable/generated/torch.linspace.html
Tensor linspace(Scalar start, Scalar end, std::int64_t steps, TensorOptions options = {});
// base to the power of each of them. https://pytorch.org/docs/stable/generated/torch.logspace.html
Tensor logspace(Scalar start, Scalar end, std::int64_t steps, double base = 10, TensorOptions options = {});
// Ones on the diagonal. https://pytorch.org/docs/stable/generated/torch.eye.html
Tensor eye(std::int64_t n, TensorOptions options = {});
Tensor eye(std::int64_t n, std::int64_t m, TensorOptions options = {});
// Row and column of each element of a triangle, as two rows of int64. https://pytorch.org/docs/stable/generated/torch.tril_indices.html
Tensor tril_indices(std::int64_t row, std::int64_t col, std::int64_t offset = 0, TensorOptions options = {DType::i64});
Tensor triu_indices(std::int64_t row, std::int64_t col, std::int64_t offset = 0, TensorOptions options = {DType::i64});

}  // namespace braze
