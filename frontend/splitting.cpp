// One tensor as several views that cover it.
#include <algorithm>
#include <numeric>

#include "braze/views.h"
#include "frontend/autograd/names.h"
#include "frontend/view_layout.h"

namespace braze {

namespace {

// The dim that hsplit, vsplit and dsplit cut, after checking that it is there.
std::int64_t split_dim(const Tensor& x, std::string_view name, std::int64_t rank, std::int64_t dim) {
  require(x.dim() >= rank, "torch.{} requires a tensor with at least {} dimension, but got a tensor with {} dimensions!", name,
          rank, x.dim());
  return name == "hsplit" && x.dim() == 1 ? 0 : dim;
}

std::vector<Tensor> split_evenly(const Tensor& x, std::string_view name, std::int64_t rank, std::int64_t dim,
                                 std::int64_t sections) {
  dim = split_dim(x, name, rank, dim);
  require(sections > 0 && x.size(dim) % sections == 0,
          "torch.{} attempted to split along dimension {}, but the size of the dimension {} is not divisible by the split_size {}!",
          name, dim, x.size(dim), sections);
  return x.tensor_split(sections, dim);
}

std::vector<Tensor> split_at(const Tensor& x, std::string_view name, std::int64_t rank, std::int64_t dim, SizesView indices) {
  return x.tensor_split(indices, split_dim(x, name, rank, dim));
}

}  // namespace

std::vector<Tensor> ViewMethods::split(std::int64_t size, std::int64_t dim) const {
  const GradientScope scope(GradientName::SplitBackward0);
  const Tensor& self = self_of(this);
  require(self.dim() > 0, "split expects at least a 1-dimensional tensor");
  require(size >= 0, "split expects split_size be non-negative, but got split_size={}", size);
  const std::int64_t length = self.size(dim);
  require(size > 0 || length == 0, "split_size can only be 0 if dimension size is 0, but got dimension size of {}", length);
  std::vector<Tensor> parts;
  for (std::int64_t start = 0; start < length; start += std::min(size, length - start))
    parts.push_back(self.narrow(dim, start, std::min(size, length - start)));
  if (parts.empty()) parts.push_back(self.narrow(dim, 0, length));
  return parts;
}

std::vector<Tensor> ViewMethods::split(SizesView sizes, std::int64_t dim) const { return split_with_sizes(sizes, dim); }

std::vector<Tensor> ViewMethods::split_with_sizes(SizesView sizes, std::int64_t dim) const {
  const GradientScope scope(GradientName::SplitWithSizesBackward0);
  const Tensor& self = self_of(this);
  require(self.dim() > 0, "split expects at least a 1-dimensional tensor");
  const std::int64_t length = self.size(dim);
  std::int64_t left = length;
  for (const std::int64_t size : sizes) {
    require(size >= 0, "split_with_sizes expects split_sizes have only non-negative entries, but got split_sizes={}",
            sizes_text(sizes));
    left -= std::min(size, left + 1);
    if (left < 0) break;
  }
  require(left == 0,
          "split_with_sizes expects split_sizes to sum exactly to {} (input tensor's size at dimension {}), but got split_sizes={}",
          length, dim, sizes_text(sizes));
  std::vector<Tensor> parts;
  std::int64_t start = 0;
  for (const std::int64_t size : sizes) {
    parts.push_back(self.narrow(dim, start, size));
    start += size;
  }
  return parts;
}

std::vector<Tensor> ViewMethods::unsafe_chunk(std::int64_t chunks, std::int64_t dim) const { return chunk(chunks, dim); }
std::vector<Tensor> ViewMethods::unsafe_split(std::int64_t size, std::int64_t dim) const { return split(size, dim); }
std::vector<Tensor> ViewMethods::unsafe_split_with_sizes(SizesView sizes, std::int64_t dim) const {
  return split_with_sizes(sizes, dim);
}

std::vector<Tensor> ViewMethods::chunk(std::int64_t chunks, std::int64_t dim) const {
  const Tensor& self = self_of(this);
  require(self.dim() > 0, "chunk expects at least a 1-dimensional tensor");
  require(chunks > 0, "chunk expects `chunks` to be greater than 0, got: {}", chunks);
  const std::int64_t length = self.size(dim);
  if (length == 0) return split_with_sizes(Sizes(static_cast<std::size_t>(chunks), 0), dim);
  return split(length / chunks + (length % chunks != 0), dim);
}

std::vector<Tensor> ViewMethods::tensor_split(std::int64_t sections, std::int64_t dim) const {
  const Tensor& self = self_of(this);
  require(self.dim() > 0, "tensor_split expected at least a 1-dimensional tensor, but got a tensor with {} dims", self.dim());
  require(sections > 0, "number of sections must be larger than 0, got {}", sections);
  const std::int64_t length = self.size(dim), longer = length % sections;
  std::vector<Tensor> parts;
  std::int64_t start = 0;
  for (std::int64_t i = 0; i < sections; ++i) {
    const std::int64_t size = length / sections + (i < longer);
    parts.push_back(self.narrow(dim, start, size));
    start += size;
  }
  return parts;
}

std::vector<Tensor> ViewMethods::tensor_split(SizesView indices, std::int64_t dim) const {
  const Tensor& self = self_of(this);
  require(self.dim() > 0, "tensor_split expected at least a 1-dimensional tensor, but got a tensor with {} dims", self.dim());
  self.size(dim);  // raises where the dim is not there
  std::vector<Tensor> parts;
  std::int64_t start = 0;
  for (const std::int64_t end : indices) {
    parts.push_back(self.slice(dim, start, end));
    start = end;
  }
  parts.push_back(self.slice(dim, start, std::nullopt));
  return parts;
}

std::vector<Tensor> ViewMethods::tensor_split(const Tensor& where, std::int64_t dim) const {
  require(where.dtype() == DType::i64, "tensor_split expected tensor_indices_or_sections to have dtype of long, but got {}",
          info(where.dtype()).scalar_name);
  require(where.dim() <= 1,
          "tensor_split expected tensor_indices_or_sections to be a zero-dimensional or one-dimensional tensor, but got a "
          "tensor with {} dims",
          where.dim());
  if (where.dim() == 0) return tensor_split(where.item_int(), dim);
  return tensor_split(where.to_vector<std::int64_t>(), dim);
}

std::vector<Tensor> ViewMethods::hsplit(std::int64_t sections) const {
  return split_evenly(self_of(this), "hsplit", 1, 1, sections);
}
std::vector<Tensor> ViewMethods::hsplit(SizesView indices) const { return split_at(self_of(this), "hsplit", 1, 1, indices); }
std::vector<Tensor> ViewMethods::vsplit(std::int64_t sections) const {
  return split_evenly(self_of(this), "vsplit", 2, 0, sections);
}
std::vector<Tensor> ViewMethods::vsplit(SizesView indices) const { return split_at(self_of(this), "vsplit", 2, 0, indices); }
std::vector<Tensor> ViewMethods::dsplit(std::int64_t sections) const {
  return split_evenly(self_of(this), "dsplit", 3, 2, sections);
}
std::vector<Tensor> ViewMethods::dsplit(SizesView indices) const { return split_at(self_of(this), "dsplit", 3, 2, indices); }

std::vector<Tensor> ViewMethods::unbind(std::int64_t dim) const {
  const GradientScope scope(GradientName::UnbindBackward0);
  const Tensor& self = self_of(this);
  require<IndexError>(self.dim() > 0, "Dimension specified as {} but tensor has no dimensions", dim);
  std::vector<Tensor> parts;
  for (std::int64_t i = 0; i < self.size(dim); ++i) parts.push_back(self.select(dim, i));
  return parts;
}

}  // namespace braze
