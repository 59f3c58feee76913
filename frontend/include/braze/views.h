// Views: other sizes, strides and offsets on the same memory; nothing is copied, and a write through any of them is seen by all.
// Strides, offsets and what is refused are PyTorch's. https://pytorch.org/docs/stable/tensor_view.html
//
// A dim may be negative and then counts from the end; a dim that is not there is an IndexError. Every function is a method too.
#pragma once

#include <vector>

#include "braze/tensor.h"

namespace braze {

// x[:, index] at `dim`: one dim less. https://pytorch.org/docs/stable/generated/torch.select.html
Tensor select(const In& x, std::int64_t dim, std::int64_t index);
// `length` elements from `start`. Throws IndexError for the start, Error where they do not fit.
// https://pytorch.org/docs/stable/generated/torch.narrow.html
Tensor narrow(const In& x, std::int64_t dim, std::int64_t start, std::int64_t length);
Tensor narrow(const In& x, std::int64_t dim, const Tensor& start, std::int64_t length);
// Two dims change places. https://pytorch.org/docs/stable/generated/torch.transpose.html
Tensor transpose(const In& x, std::int64_t dim0, std::int64_t dim1);
Tensor swapaxes(const In& x, std::int64_t dim0, std::int64_t dim1);
Tensor swapdims(const In& x, std::int64_t dim0, std::int64_t dim1);
// Of at most two dims. https://pytorch.org/docs/stable/generated/torch.t.html
Tensor t(const In& x);
// The conjugate transpose of the last two dims. https://pytorch.org/docs/stable/generated/torch.adjoint.html
Tensor adjoint(const In& x);
// Dim i of the result is dim dims[i]. https://pytorch.org/docs/stable/generated/torch.permute.html
Tensor permute(const In& x, SizesView dims);
// The others keep their order. https://pytorch.org/docs/stable/generated/torch.movedim.html
Tensor movedim(const In& x, std::int64_t source, std::int64_t destination);
Tensor movedim(const In& x, SizesView source, SizesView destination);
Tensor moveaxis(const In& x, std::int64_t source, std::int64_t destination);
Tensor moveaxis(const In& x, SizesView source, SizesView destination);
// A new dim of one. https://pytorch.org/docs/stable/generated/torch.unsqueeze.html
Tensor unsqueeze(const In& x, std::int64_t dim);
// Without the dims of one: all, or those of the given that are. https://pytorch.org/docs/stable/generated/torch.squeeze.html
Tensor squeeze(const In& x);
Tensor squeeze(const In& x, std::int64_t dim);
Tensor squeeze(const In& x, SizesView dims);
// Other sizes, -1 inferred; a view where strides allow it, else a copy. https://pytorch.org/docs/stable/generated/torch.reshape.html
Tensor reshape(const In& x, SizesView sizes);
Tensor flatten(const In& x, std::int64_t start_dim = 0, std::int64_t end_dim = -1);
Tensor ravel(const In& x);
// https://pytorch.org/docs/stable/generated/torch.unflatten.html
Tensor unflatten(const In& x, std::int64_t dim, SizesView sizes);
// Dims of one repeat without being copied; -1 keeps. https://pytorch.org/docs/stable/generated/torch.broadcast_to.html
Tensor broadcast_to(const In& x, SizesView sizes);
// All of them expanded to their common sizes. https://pytorch.org/docs/stable/generated/torch.broadcast_tensors.html
std::vector<Tensor> broadcast_tensors(std::span<const Tensor> tensors);
std::vector<Tensor> broadcast_tensors(std::initializer_list<Tensor> tensors);
// The common sizes. Throws ShapeError. https://pytorch.org/docs/stable/generated/torch.broadcast_shapes.html
Sizes broadcast_shapes(std::span<const Sizes> shapes);
Sizes broadcast_shapes(std::initializer_list<Sizes> shapes);
// Elements whose index at dim2 is that at dim1 plus `offset`, as a last dim. https://pytorch.org/docs/stable/generated/torch.diagonal.html
Tensor diagonal(const In& x, std::int64_t offset = 0, std::int64_t dim1 = 0, std::int64_t dim2 = 1);
// Any layout on x's storage; offset and strides in elements. Throws Error where it reaches past the end.
// https://pytorch.org/docs/stable/generated/torch.as_strided.html
Tensor as_strided(const In& x, SizesView sizes, SizesView strides, std::optional<std::int64_t> storage_offset = {});
// Under another handle, which no gradient flows through. https://pytorch.org/docs/stable/generated/torch.Tensor.detach.html
Tensor detach(const In& x);

// At least one, two, three dims. https://pytorch.org/docs/stable/generated/torch.atleast_3d.html
Tensor atleast_1d(const In& x);
Tensor atleast_2d(const In& x);
Tensor atleast_3d(const In& x);
std::vector<Tensor> atleast_1d(std::span<const Tensor> tensors);
std::vector<Tensor> atleast_2d(std::span<const Tensor> tensors);
std::vector<Tensor> atleast_3d(std::span<const Tensor> tensors);

// ---- several views that cover a tensor ----
// At most `chunks` of them, all but the last as long as the first. https://pytorch.org/docs/stable/generated/torch.chunk.html
std::vector<Tensor> chunk(const In& x, std::int64_t chunks, std::int64_t dim = 0);
// Of `size` elements each, or of the given sizes. https://pytorch.org/docs/stable/generated/torch.split.html
std::vector<Tensor> split(const In& x, std::int64_t size, std::int64_t dim = 0);
std::vector<Tensor> split(const In& x, SizesView sizes, std::int64_t dim = 0);
std::vector<Tensor> split_with_sizes(const In& x, SizesView sizes, std::int64_t dim = 0);
// PyTorch's names for the same without its check of writes through several of them, which Braze has no need of.
std::vector<Tensor> unsafe_chunk(const In& x, std::int64_t chunks, std::int64_t dim = 0);
std::vector<Tensor> unsafe_split(const In& x, std::int64_t size, std::int64_t dim = 0);
std::vector<Tensor> unsafe_split_with_sizes(const In& x, SizesView sizes, std::int64_t dim = 0);
// Exactly `sections`, or cut at the indices. https://pytorch.org/docs/stable/generated/torch.tensor_split.html
std::vector<Tensor> tensor_split(const In& x, std::int64_t sections, std::int64_t dim = 0);
std::vector<Tensor> tensor_split(const In& x, SizesView indices, std::int64_t dim = 0);
std::vector<Tensor> tensor_split(const In& x, const Tensor& indices_or_sections, std::int64_t dim = 0);
// Along columns (dim 1, or 0 of a vector), rows (0), depth (2). https://pytorch.org/docs/stable/generated/torch.hsplit.html
std::vector<Tensor> hsplit(const In& x, std::int64_t sections);
std::vector<Tensor> hsplit(const In& x, SizesView indices);
std::vector<Tensor> vsplit(const In& x, std::int64_t sections);
std::vector<Tensor> vsplit(const In& x, SizesView indices);
std::vector<Tensor> dsplit(const In& x, std::int64_t sections);
std::vector<Tensor> dsplit(const In& x, SizesView indices);
// One for each index. https://pytorch.org/docs/stable/generated/torch.unbind.html
std::vector<Tensor> unbind(const In& x, std::int64_t dim = 0);

}  // namespace braze
