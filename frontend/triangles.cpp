// Triangles and diagonals of matrices, and matrices made of them.
#include <algorithm>

#include "braze/functions.h"
#include "frontend/autograd/names.h"
#include "frontend/composing.h"
#include "frontend/elementwise.h"
#include "frontend/positions.h"
#include "frontend/source_line.h"
#include "frontend/view_layout.h"

namespace braze {

namespace {

// Whether element (i, j) of the last two dims has j - i on the kept side of the diagonal.
Tensor kept_by_triangle(const Tensor& x, std::string_view name, std::int64_t diagonal, bool lower) {
  require(x.dim() >= 2, "{}: input tensor must have at least 2 dimensions", name);
  const Tensor rows = positions(x.size(-2)).unsqueeze(1), columns = positions(x.size(-1));
  return lower ? columns <= rows + diagonal : columns >= rows + diagonal;
}

Tensor triangle(const Tensor& x, std::string_view name, std::int64_t diagonal, bool lower, const std::source_location& where) {
  const SourceLine line(where);
  return braze::where(kept_by_triangle(x, name, diagonal, lower), x.contiguous(where), zeros({}, {x.dtype()}));
}

// Only what is dropped is written, so that PyTorch lets the tensor be expanded.
Tensor& keep_triangle(Tensor& x, std::string_view name, std::int64_t diagonal, bool lower, const std::source_location& where) {
  const SourceLine line(where);
  return fill_masked(x, logical_not(kept_by_triangle(x, name, diagonal, lower)), In(0, where));
}

}  // namespace

Tensor ShapingMethods::tril(std::int64_t diagonal, Where where) const {
  const GradientScope scope(GradientName::TrilBackward0);
  return triangle(self_of(this), "tril", diagonal, true, where);
}
Tensor ShapingMethods::triu(std::int64_t diagonal, Where where) const {
  const GradientScope scope(GradientName::TriuBackward0);
  return triangle(self_of(this), "triu", diagonal, false, where);
}
Tensor& ShapingMethods::tril_(std::int64_t diagonal, Where where) {
  const GradientScope scope(written_name(self_of(this), GradientName::TrilBackward0));
  return keep_triangle(self_of(this), "tril", diagonal, true, where);
}
Tensor& ShapingMethods::triu_(std::int64_t diagonal, Where where) {
  const GradientScope scope(written_name(self_of(this), GradientName::TriuBackward0));
  return keep_triangle(self_of(this), "triu", diagonal, false, where);
}

Tensor ShapingMethods::diag(std::int64_t diagonal, Where where) const {
  const Tensor& self = self_of(this);
  require(self.dim() == 1 || self.dim() == 2, "diag(): Supports 1D or 2D tensors. Got {}D", self.dim());
  if (self.dim() == 1) return diag_embed(diagonal, 0, 1, where);
  return self.diagonal(diagonal).clone(MemoryFormat::contiguous, where);
}

Tensor ShapingMethods::diagflat(std::int64_t offset, Where where) const {
  return self_of(this).flatten(0, -1, where).diag_embed(offset, 0, 1, where);
}

Tensor ShapingMethods::diag_embed(std::int64_t offset, std::int64_t dim1, std::int64_t dim2, Where where) const {
  const GradientScope scope(GradientName::DiagEmbedBackward0);
  const Tensor& self = self_of(this);
  require<IndexError>(self.dim() > 0, "Dimension specified as -1 but tensor has no dimensions");
  const std::int64_t rank = self.dim() + 1;
  const std::int64_t a = wrap_dim(dim1, rank), b = wrap_dim(dim2, rank);
  require(a != b, "diagonal dimensions cannot be identical {}, {}", dim1, dim2);
  std::int64_t length = 0;
  require<ShapeError>(!__builtin_add_overflow(std::abs(offset), self.size(-1), &length), "diag_embed: offset {} is too large",
                      offset);
  Sizes sizes = self.sizes();
  sizes.pop_back();
  sizes.insert(sizes.begin() + std::min(a, b), length);
  sizes.insert(sizes.begin() + std::max(a, b), length);
  Tensor out = zeros(sizes, {self.dtype()});
  out.diagonal(offset, a, b).copy_(In(self, where));
  return out;
}

// https://pytorch.org/docs/stable/generated/torch.Tensor.fill_diagonal_.html
Tensor& ShapingMethods::fill_diagonal_(Scalar value, bool wrap, Where where) {
  Tensor& self = self_of(this);
  require(self.dim() >= 2, "dimensions must larger than 1");
  const Sizes sizes = self.sizes();
  if (sizes.size() > 2)
    require(std::all_of(sizes.begin(), sizes.end(), [&](std::int64_t s) { return s == sizes[0]; }),
            "all dimensions of input must be of equal length");
  std::int64_t step = 0;
  for (const std::int64_t stride : self.strides()) step += stride;
  const std::int64_t length = *std::min_element(sizes.begin(), sizes.end());
  self.as_strided({length}, {step}).fill_(In(value, where));
  const std::int64_t height = sizes[0], width = sizes[1];
  if (wrap && sizes.size() == 2 && height > width + 1) {
    const std::int64_t period = width + 1, more = (self.numel() + period - 1) / period - length;
    self.as_strided({more}, {step}, self.storage_offset() + self.stride(0) * period).fill_(In(value, where));
  }
  return self;
}

Tensor tril(const In& x, std::int64_t diagonal) { return require_tensor("tril", x).tril(diagonal, x.where()); }
Tensor triu(const In& x, std::int64_t diagonal) { return require_tensor("triu", x).triu(diagonal, x.where()); }
Tensor diag(const In& x, std::int64_t diagonal) { return require_tensor("diag", x).diag(diagonal, x.where()); }
Tensor diagflat(const In& x, std::int64_t offset) { return require_tensor("diagflat", x).diagflat(offset, x.where()); }
Tensor diag_embed(const In& x, std::int64_t offset, std::int64_t dim1, std::int64_t dim2) {
  return require_tensor("diag_embed", x).diag_embed(offset, dim1, dim2, x.where());
}

Tensor block_diag(Tensors tensors, std::source_location where) {
  const GradientScope scope(GradientName::BlockDiagBackward0);
  DType type = tensors.empty() ? get_default_dtype() : tensors[0].dtype();
  std::vector<Tensor> blocks;
  std::int64_t rows = 0, columns = 0;
  for (const Tensor& t : tensors) {
    require(t.dim() <= 2, "torch.block_diag: Input tensors must have 2 or fewer dimensions. Input {} has {} dimensions",
            &t - tensors.data(), t.dim());
    type = promote_types(type, t.dtype());
    blocks.push_back(atleast_2d(In(t, where)));
    rows += blocks.back().size(0);
    columns += blocks.back().size(1);
  }
  if (tensors.empty()) return empty({1, 0});
  Tensor out = zeros({rows, columns}, {type});
  std::int64_t row = 0, column = 0;
  for (const Tensor& b : blocks) {
    out.narrow(0, row, b.size(0)).narrow(1, column, b.size(1)).copy_(In(b, where));
    row += b.size(0);
    column += b.size(1);
  }
  return out;
}

Tensor block_diag(TensorList tensors, std::source_location where) {
  const GradientScope scope(GradientName::BlockDiagBackward0);
  return block_diag(Tensors(tensors.begin(), tensors.size()), where);
}

// Each element of a times the whole of b: dims alternate, then join in pairs.
Tensor kron(const In& x, const In& y) {
  const Tensor &a = require_tensor("kron", x), &b = require_tensor("kron", y);
  const auto rank = static_cast<std::size_t>(std::max(a.dim(), b.dim()));
  Sizes left, right, sizes;
  for (std::size_t i = 0; i < rank; ++i) {
    const auto own = [&](const Tensor& t) {
      const std::size_t missing = rank - static_cast<std::size_t>(t.dim());
      return i < missing ? std::int64_t{1} : t.size(static_cast<std::int64_t>(i - missing));
    };
    left.insert(left.end(), {own(a), 1});
    right.insert(right.end(), {1, own(b)});
    sizes.push_back(own(a) * own(b));
  }
  const Tensor product = mul(In(a.reshape(left, x.where()), x.where()), In(b.reshape(right, x.where()), x.where()));
  return product.reshape(sizes, x.where());
}

Tensor ShapingMethods::kron(const In& other) const { return braze::kron(In(self_of(this), other.where()), other); }

}  // namespace braze
