// Making tensors. https://pytorch.org/docs/stable/torch.html#creation-ops
#pragma once

#include <functional>

#include "braze/tensor.h"

namespace braze {

struct TensorOptions {
  std::optional<DType> dtype;  // the default dtype, or what the data says
};

// Nested data of any depth: tensor({{1, 2}, {3, 4}}). Booleans give bool, integers int64, anything with a float the default dtype.
// Throws ValueError when rows differ in length.
class NestedData {
 public:
  template <class T>
    requires std::is_arithmetic_v<T>
  NestedData(T value) : scalar_(value) {}  // NOLINT
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

Tensor zeros(SizesView sizes, TensorOptions options = {});
Tensor ones(SizesView sizes, TensorOptions options = {});
Tensor full(SizesView sizes, Scalar value, TensorOptions options = {});
Tensor empty(SizesView sizes, TensorOptions options = {});
Tensor zeros_like(const Tensor& other);
Tensor ones_like(const Tensor& other);
Tensor full_like(const Tensor& other, Scalar value);
// start, start + step, ... before end. Integer arguments give int64. Throws ValueError for a zero step or the wrong direction.
Tensor arange(Scalar end, TensorOptions options = {});
Tensor arange(Scalar start, Scalar end, Scalar step = 1, TensorOptions options = {});
Tensor linspace(double start, double end, std::int64_t steps, TensorOptions options = {});
Tensor eye(std::int64_t n, TensorOptions options = {});
Tensor eye(std::int64_t n, std::int64_t m, TensorOptions options = {});

}  // namespace braze
