// Views as functions: braze::transpose(x, 0, 1) is x.transpose(0, 1).
#include "braze/views.h"
#include "frontend/composing.h"

namespace braze {

Tensor select(const In& x, std::int64_t dim, std::int64_t index) { return require_tensor("select", x).select(dim, index); }
Tensor narrow(const In& x, std::int64_t dim, std::int64_t start, std::int64_t length) {
  return require_tensor("narrow", x).narrow(dim, start, length);
}
Tensor narrow(const In& x, std::int64_t dim, const Tensor& start, std::int64_t length) {
  return require_tensor("narrow", x).narrow(dim, start, length);
}
Tensor transpose(const In& x, std::int64_t dim0, std::int64_t dim1) { return require_tensor("transpose", x).transpose(dim0, dim1); }
Tensor swapaxes(const In& x, std::int64_t dim0, std::int64_t dim1) { return require_tensor("swapaxes", x).transpose(dim0, dim1); }
Tensor swapdims(const In& x, std::int64_t dim0, std::int64_t dim1) { return require_tensor("swapdims", x).transpose(dim0, dim1); }
Tensor t(const In& x) { return require_tensor("t", x).t(); }
Tensor adjoint(const In& x) { return require_tensor("adjoint", x).adjoint(); }
Tensor permute(const In& x, SizesView dims) { return require_tensor("permute", x).permute(dims); }
Tensor movedim(const In& x, std::int64_t source, std::int64_t destination) {
  return require_tensor("movedim", x).movedim(source, destination);
}
Tensor movedim(const In& x, SizesView source, SizesView destination) {
  return require_tensor("movedim", x).movedim(source, destination);
}
Tensor moveaxis(const In& x, std::int64_t source, std::int64_t destination) {
  return require_tensor("moveaxis", x).movedim(source, destination);
}
Tensor moveaxis(const In& x, SizesView source, SizesView destination) {
  return require_tensor("moveaxis", x).movedim(source, destination);
}
Tensor unsqueeze(const In& x, std::int64_t dim) { return require_tensor("unsqueeze", x).unsqueeze(dim); }
Tensor squeeze(const In& x) { return require_tensor("squeeze", x).squeeze(); }
Tensor squeeze(const In& x, std::int64_t dim) { return require_tensor("squeeze", x).squeeze(dim); }
Tensor squeeze(const In& x, SizesView dims) { return require_tensor("squeeze", x).squeeze(dims); }
Tensor reshape(const In& x, SizesView sizes) { return require_tensor("reshape", x).reshape(sizes, x.where()); }
Tensor flatten(const In& x, std::int64_t start_dim, std::int64_t end_dim) {
  return require_tensor("flatten", x).flatten(start_dim, end_dim, x.where());
}
Tensor ravel(const In& x) { return require_tensor("ravel", x).ravel(x.where()); }
Tensor unflatten(const In& x, std::int64_t dim, SizesView sizes) { return require_tensor("unflatten", x).unflatten(dim, sizes); }
Tensor broadcast_to(const In& x, SizesView sizes) { return require_tensor("broadcast_to", x).expand(sizes); }
Tensor diagonal(const In& x, std::int64_t offset, std::int64_t dim1, std::int64_t dim2) {
  return require_tensor("diagonal", x).diagonal(offset, dim1, dim2);
}
Tensor as_strided(const In& x, SizesView sizes, SizesView strides, std::optional<std::int64_t> storage_offset) {
  return require_tensor("as_strided", x).as_strided(sizes, strides, storage_offset);
}
Tensor detach(const In& x) { return require_tensor("detach", x).detach(); }

std::vector<Tensor> chunk(const In& x, std::int64_t chunks, std::int64_t dim) {
  return require_tensor("chunk", x).chunk(chunks, dim);
}
std::vector<Tensor> split(const In& x, std::int64_t size, std::int64_t dim) { return require_tensor("split", x).split(size, dim); }
std::vector<Tensor> split(const In& x, SizesView sizes, std::int64_t dim) { return require_tensor("split", x).split(sizes, dim); }
std::vector<Tensor> split_with_sizes(const In& x, SizesView sizes, std::int64_t dim) {
  return require_tensor("split_with_sizes", x).split(sizes, dim);
}
std::vector<Tensor> tensor_split(const In& x, std::int64_t sections, std::int64_t dim) {
  return require_tensor("tensor_split", x).tensor_split(sections, dim);
}
std::vector<Tensor> tensor_split(const In& x, SizesView indices, std::int64_t dim) {
  return require_tensor("tensor_split", x).tensor_split(indices, dim);
}
std::vector<Tensor> tensor_split(const In& x, const Tensor& indices_or_sections, std::int64_t dim) {
  return require_tensor("tensor_split", x).tensor_split(indices_or_sections, dim);
}
std::vector<Tensor> hsplit(const In& x, std::int64_t sections) { return require_tensor("hsplit", x).hsplit(sections); }
std::vector<Tensor> hsplit(const In& x, SizesView indices) { return require_tensor("hsplit", x).hsplit(indices); }
std::vector<Tensor> vsplit(const In& x, std::int64_t sections) { return require_tensor("vsplit", x).vsplit(sections); }
std::vector<Tensor> vsplit(const In& x, SizesView indices) { return require_tensor("vsplit", x).vsplit(indices); }
std::vector<Tensor> dsplit(const In& x, std::int64_t sections) { return require_tensor("dsplit", x).dsplit(sections); }
std::vector<Tensor> dsplit(const In& x, SizesView indices) { return require_tensor("dsplit", x).dsplit(indices); }
std::vector<Tensor> unbind(const In& x, std::int64_t dim) { return require_tensor("unbind", x).unbind(dim); }

std::vector<Tensor> broadcast_tensors(std::span<const Tensor> tensors) {
  Dims sizes;
  for (const Tensor& each : tensors) sizes = broadcast_sizes(sizes, each.sizes());
  std::vector<Tensor> out;
  for (const Tensor& each : tensors) out.push_back(each.expand(std::span<const std::int64_t>(sizes)));
  return out;
}

std::vector<Tensor> broadcast_tensors(std::initializer_list<Tensor> tensors) {
  return broadcast_tensors(std::span(tensors.begin(), tensors.size()));
}

Sizes broadcast_shapes(std::span<const Sizes> shapes) {
  Dims sizes;
  for (const Sizes& each : shapes) {
    checked_numel(each);
    sizes = broadcast_sizes(sizes, each);
  }
  return {sizes.begin(), sizes.end()};
}

Sizes broadcast_shapes(std::initializer_list<Sizes> shapes) { return broadcast_shapes(std::span(shapes.begin(), shapes.size())); }

Tensor atleast_1d(const In& x) {
  const Tensor& self = require_tensor("atleast_1d", x);
  return self.dim() == 0 ? self.reshape({1}) : self;
}

Tensor atleast_2d(const In& x) {
  const Tensor& self = require_tensor("atleast_2d", x);
  return self.dim() == 0 ? self.reshape({1, 1}) : self.dim() == 1 ? self.unsqueeze(0) : self;
}

Tensor atleast_3d(const In& x) {
  const Tensor& self = require_tensor("atleast_3d", x);
  switch (self.dim()) {
    case 0:
      return self.reshape({1, 1, 1});
    case 1:
      return self.unsqueeze(0).unsqueeze(-1);
    case 2:
      return self.unsqueeze(-1);
    default:
      return self;
  }
}

namespace {

template <class F>
std::vector<Tensor> each(std::span<const Tensor> tensors, F f) {
  std::vector<Tensor> out;
  for (const Tensor& x : tensors) out.push_back(f(In(x)));
  return out;
}

}  // namespace

std::vector<Tensor> atleast_1d(std::span<const Tensor> tensors) {
  return each(tensors, [](const In& x) { return atleast_1d(x); });
}
std::vector<Tensor> atleast_2d(std::span<const Tensor> tensors) {
  return each(tensors, [](const In& x) { return atleast_2d(x); });
}
std::vector<Tensor> atleast_3d(std::span<const Tensor> tensors) {
  return each(tensors, [](const In& x) { return atleast_3d(x); });
}

std::vector<Tensor> unsafe_chunk(const In& x, std::int64_t chunks, std::int64_t dim) { return chunk(x, chunks, dim); }
std::vector<Tensor> unsafe_split(const In& x, std::int64_t size, std::int64_t dim) { return split(x, size, dim); }
std::vector<Tensor> unsafe_split_with_sizes(const In& x, SizesView sizes, std::int64_t dim) {
  return split_with_sizes(x, sizes, dim);
}

}  // namespace braze
