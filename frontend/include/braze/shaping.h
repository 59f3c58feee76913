// Joining, repeating, moving, padding: results are new tensors. braze/views.h has what shares memory instead.
#pragma once

#include <string_view>
#include <vector>

#include "braze/tensor.h"

namespace braze {

using Tensors = std::span<const Tensor>;
using TensorList = std::initializer_list<Tensor>;

// ---- joining ----
// One after another along `dim`; dtypes promote. Sizes must agree in all other dims (ShapeError); a tensor of shape [0] is skipped.
// Throws ValueError for an empty list. https://pytorch.org/docs/stable/generated/torch.cat.html
Tensor cat(Tensors tensors, std::int64_t dim = 0, std::source_location where = std::source_location::current());
Tensor cat(TensorList tensors, std::int64_t dim = 0, std::source_location where = std::source_location::current());
Tensor concat(Tensors tensors, std::int64_t dim = 0, std::source_location where = std::source_location::current());
Tensor concat(TensorList tensors, std::int64_t dim = 0, std::source_location where = std::source_location::current());
Tensor concatenate(Tensors tensors, std::int64_t dim = 0, std::source_location where = std::source_location::current());
Tensor concatenate(TensorList tensors, std::int64_t dim = 0, std::source_location where = std::source_location::current());
// Along a new dim; all sizes equal. https://pytorch.org/docs/stable/generated/torch.stack.html
Tensor stack(Tensors tensors, std::int64_t dim = 0, std::source_location where = std::source_location::current());
Tensor stack(TensorList tensors, std::int64_t dim = 0, std::source_location where = std::source_location::current());
// Along columns, rows, depth; tensors of fewer dims gain them. https://pytorch.org/docs/stable/generated/torch.hstack.html
Tensor hstack(Tensors tensors, std::source_location where = std::source_location::current());
Tensor hstack(TensorList tensors, std::source_location where = std::source_location::current());
Tensor vstack(Tensors tensors, std::source_location where = std::source_location::current());
Tensor vstack(TensorList tensors, std::source_location where = std::source_location::current());
Tensor row_stack(Tensors tensors, std::source_location where = std::source_location::current());
Tensor row_stack(TensorList tensors, std::source_location where = std::source_location::current());
Tensor dstack(Tensors tensors, std::source_location where = std::source_location::current());
Tensor dstack(TensorList tensors, std::source_location where = std::source_location::current());
Tensor column_stack(Tensors tensors, std::source_location where = std::source_location::current());
Tensor column_stack(TensorList tensors, std::source_location where = std::source_location::current());
// Matrices along the diagonal, zeros elsewhere. https://pytorch.org/docs/stable/generated/torch.block_diag.html
Tensor block_diag(Tensors tensors, std::source_location where = std::source_location::current());
Tensor block_diag(TensorList tensors, std::source_location where = std::source_location::current());

// ---- copies, repeated and moved ----
Tensor clone(const In& x, MemoryFormat format = MemoryFormat::preserve);
// x's sizes and dtype, every element `value`: a number or a tensor without dims. https://pytorch.org/docs/stable/generated/torch.Tensor.fill_.html
Tensor fill(const In& x, const In& value);
// Backwards along the dims. https://pytorch.org/docs/stable/generated/torch.flip.html
Tensor flip(const In& x, SizesView dims);
Tensor fliplr(const In& x);
Tensor flipud(const In& x);
// Shifted along dims, what leaves at one end enters at the other; without dims, in row-major order.
// https://pytorch.org/docs/stable/generated/torch.roll.html
Tensor roll(const In& x, std::int64_t shift, std::optional<std::int64_t> dim = {});
Tensor roll(const In& x, SizesView shifts, SizesView dims = {});
// By k quarter turns from dims[0] to dims[1]. https://pytorch.org/docs/stable/generated/torch.rot90.html
Tensor rot90(const In& x, std::int64_t k = 1, SizesView dims = {0, 1});
// The whole, repeats[i] times along each dim. https://pytorch.org/docs/stable/generated/torch.tile.html
Tensor tile(const In& x, SizesView repeats);
// Each element that many times; without a dim, of the flattened tensor. A tensor of repeats is evaluated, for the result's size.
// https://pytorch.org/docs/stable/generated/torch.repeat_interleave.html
Tensor repeat_interleave(const In& x, std::int64_t repeats, std::optional<std::int64_t> dim = {});
Tensor repeat_interleave(const In& x, const Tensor& repeats, std::optional<std::int64_t> dim = {});
Tensor repeat_interleave(const Tensor& repeats, std::source_location where = std::source_location::current());
Tensor narrow_copy(const In& x, std::int64_t dim, std::int64_t start, std::int64_t length);

// ---- triangles and diagonals, of matrices in the last two dims ----
// On and below, on and above a diagonal; zero elsewhere. https://pytorch.org/docs/stable/generated/torch.tril.html
Tensor tril(const In& x, std::int64_t diagonal = 0);
Tensor triu(const In& x, std::int64_t diagonal = 0);
// A vector as a matrix's diagonal, or a matrix's diagonal, copied. https://pytorch.org/docs/stable/generated/torch.diag.html
Tensor diag(const In& x, std::int64_t diagonal = 0);
Tensor diagflat(const In& x, std::int64_t offset = 0);
// The last dim as diagonals of new matrices. https://pytorch.org/docs/stable/generated/torch.diag_embed.html
Tensor diag_embed(const In& x, std::int64_t offset = 0, std::int64_t dim1 = -2, std::int64_t dim2 = -1);
// https://pytorch.org/docs/stable/generated/torch.kron.html
Tensor kron(const In& a, const In& b);

// ---- padding ----
// Pairs (low, high) from the last dim backwards; negative amounts crop. mode: constant, reflect, replicate, circular.
// https://pytorch.org/docs/stable/generated/torch.nn.functional.pad.html
Tensor pad(const In& x, SizesView amounts, std::string_view mode = "constant", std::optional<Scalar> value = {});
Tensor pad(const In& x, SizesView amounts, Scalar value);
Tensor constant_pad_nd(const In& x, SizesView amounts, Scalar value = 0);

// ---- combining vectors ----
// Coordinates: tensor i varies along dim i (indexing "ij"), or the first two change places ("xy").
// https://pytorch.org/docs/stable/generated/torch.meshgrid.html
std::vector<Tensor> meshgrid(Tensors tensors, std::string_view indexing = "ij");
std::vector<Tensor> meshgrid(TensorList tensors, std::string_view indexing = "ij");
// https://pytorch.org/docs/stable/generated/torch.cartesian_prod.html
Tensor cartesian_prod(Tensors tensors, std::source_location where = std::source_location::current());
Tensor cartesian_prod(TensorList tensors, std::source_location where = std::source_location::current());
// All choices of r elements. https://pytorch.org/docs/stable/generated/torch.combinations.html
Tensor combinations(const In& x, std::int64_t r = 2, bool with_replacement = false);
// Powers as columns, falling unless `increasing`. https://pytorch.org/docs/stable/generated/torch.vander.html
Tensor vander(const In& x, std::optional<std::int64_t> N = {}, bool increasing = false);
// int64 classes as rows of zeros and a one; without num_classes, one more than the largest (evaluated).
// https://pytorch.org/docs/stable/generated/torch.nn.functional.one_hot.html
Tensor one_hot(const In& x, std::int64_t num_classes = -1);

// Writes a result where the caller wants it: `out=` of PyTorch. Another size makes `out` take the result's. Throws Error where the
// result's dtype cannot be cast. Returns `out`.
Tensor& write_out(Tensor& out, const Tensor& result, std::source_location where = std::source_location::current());

}  // namespace braze
