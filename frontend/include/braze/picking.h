// Picking elements by index or mask, and writing to them. Indices are int64 (int32 is cast); those outside the dim are an
// IndexError when a value is first needed, and nothing outside a buffer is ever touched.
// https://pytorch.org/docs/stable/torch.html#indexing-slicing-joining-mutating-ops
#pragma once

#include <string_view>

#include "braze/tensor.h"

namespace braze {

// Rows (slices along `dim`) by a 0-d or 1-d index; no negative ones.
Tensor index_select(const In& x, std::int64_t dim, const Tensor& index);
// result[i][j] = x[i][index[i][j]] for dim 1. `index` has x's rank and is no larger than x but along `dim`. Throws ShapeError.
Tensor gather(const In& x, std::int64_t dim, const Tensor& index);
// gather whose other dims broadcast; without a dim, over the flattened tensors.
Tensor take_along_dim(const In& x, const Tensor& indices);
Tensor take_along_dim(const In& x, const Tensor& indices, std::int64_t dim);
// Elements of the flattened tensor, with the index's sizes; negative ones count from the end.
Tensor take(const In& x, const Tensor& index);
// The elements where the broadcast mask is true, 1-d. Evaluates the mask.
Tensor masked_select(const In& x, const Tensor& mask);
// i64[count, x.dim()]: where x is not zero, in row-major order. Evaluates x.
Tensor nonzero(const In& x);
Tensor argwhere(const In& x);
// One i64[count] a dim: what x(...) takes. A 0-d tensor counts as one of one element.
std::vector<Tensor> nonzero_as_tuple(const In& x);

// The out-of-place forms of Tensor's index_add_ and so on.
Tensor index_add(const In& x, std::int64_t dim, const Tensor& index, const In& source, Scalar alpha = 1);
Tensor index_copy(const In& x, std::int64_t dim, const Tensor& index, const In& source);
Tensor index_fill(const In& x, std::int64_t dim, const Tensor& index, const In& value);
Tensor index_reduce(const In& x, std::int64_t dim, const Tensor& index, const In& source, std::string_view reduce,
                    bool include_self = true);
Tensor scatter(const In& x, std::int64_t dim, const Tensor& index, const In& source, std::string_view reduce = "");
Tensor scatter_add(const In& x, std::int64_t dim, const Tensor& index, const In& source);
Tensor scatter_reduce(const In& x, std::int64_t dim, const Tensor& index, const In& source, std::string_view reduce,
                      bool include_self = true);
Tensor index_put(const In& x, std::span<const Index> indices, const In& value, bool accumulate = false);
Tensor put(const In& x, const Tensor& index, const In& source, bool accumulate = false);
Tensor masked_scatter(const In& x, const Tensor& mask, const Tensor& source);
// Copies of x with a view of it overwritten by `source`.
Tensor select_scatter(const In& x, const In& source, std::int64_t dim, std::int64_t index);
Tensor slice_scatter(const In& x, const In& source, std::int64_t dim = 0, std::optional<std::int64_t> start = {},
                     std::optional<std::int64_t> end = {}, std::int64_t step = 1);
Tensor diagonal_scatter(const In& x, const In& source, std::int64_t offset = 0, std::int64_t dim1 = 0, std::int64_t dim2 = 1);

}  // namespace braze
