// Views as methods of Tensor: the result shares this tensor's memory, a write through either is seen by both. braze/views.h says
// what each computes.
#pragma once

#include <cstdint>
#include <optional>
#include <source_location>
#include <vector>

#include "braze/dtype.h"
#include "braze/memory_format.h"
#include "braze/sizes.h"

namespace braze {

class Tensor;

class ViewMethods {
 public:
  Tensor select(std::int64_t dim, std::int64_t index) const;
  Tensor narrow(std::int64_t dim, std::int64_t start, std::int64_t length) const;
  Tensor narrow(std::int64_t dim, const Tensor& start, std::int64_t length) const;  // start: an integer of no dims, evaluated
  Tensor slice(std::int64_t dim, std::optional<std::int64_t> start, std::optional<std::int64_t> stop, std::int64_t step = 1) const;
  Tensor transpose(std::int64_t dim0, std::int64_t dim1) const;
  Tensor swapaxes(std::int64_t dim0, std::int64_t dim1) const;
  Tensor swapdims(std::int64_t dim0, std::int64_t dim1) const;
  Tensor t() const;  // at most 2-d
  Tensor T() const;
  Tensor mT() const;
  Tensor H() const;
  Tensor mH() const;
  Tensor adjoint() const;
  Tensor permute(SizesView dims) const;
  Tensor movedim(std::int64_t source, std::int64_t destination) const;
  Tensor movedim(SizesView source, SizesView destination) const;
  Tensor moveaxis(std::int64_t source, std::int64_t destination) const;
  Tensor moveaxis(SizesView source, SizesView destination) const;
  Tensor unsqueeze(std::int64_t dim) const;
  Tensor squeeze() const;
  Tensor squeeze(std::int64_t dim) const;
  Tensor squeeze(SizesView dims) const;
  Tensor view(SizesView sizes) const;  // -1: inferred. Throws ShapeError where strides do not allow it
  Tensor view(DType dtype) const;      // the same bytes; the last dim grows or shrinks with the size of an element
  Tensor view_as(const Tensor& other) const;
  // A view where strides allow it, else a copy.
  Tensor reshape(SizesView sizes, std::source_location where = std::source_location::current()) const;
  Tensor reshape_as(const Tensor& other, std::source_location where = std::source_location::current()) const;
  Tensor flatten(std::int64_t start_dim = 0, std::int64_t end_dim = -1,
                 std::source_location where = std::source_location::current()) const;
  Tensor ravel(std::source_location where = std::source_location::current()) const;
  Tensor unflatten(std::int64_t dim, SizesView sizes) const;
  Tensor expand(SizesView sizes) const;  // -1 keeps
  Tensor expand_as(const Tensor& other) const;
  Tensor broadcast_to(SizesView sizes) const;
  Tensor diagonal(std::int64_t offset = 0, std::int64_t dim1 = 0, std::int64_t dim2 = 1) const;
  Tensor unfold(std::int64_t dim, std::int64_t size, std::int64_t step) const;
  Tensor as_strided(SizesView sizes, SizesView strides, std::optional<std::int64_t> storage_offset = {}) const;
  Tensor detach() const;

  std::vector<Tensor> chunk(std::int64_t chunks, std::int64_t dim = 0) const;
  std::vector<Tensor> split(std::int64_t size, std::int64_t dim = 0) const;
  std::vector<Tensor> split(SizesView sizes, std::int64_t dim = 0) const;
  std::vector<Tensor> split_with_sizes(SizesView sizes, std::int64_t dim = 0) const;
  std::vector<Tensor> tensor_split(std::int64_t sections, std::int64_t dim = 0) const;
  std::vector<Tensor> tensor_split(SizesView indices, std::int64_t dim = 0) const;
  std::vector<Tensor> tensor_split(const Tensor& indices_or_sections, std::int64_t dim = 0) const;  // evaluated
  std::vector<Tensor> hsplit(std::int64_t sections) const;
  std::vector<Tensor> hsplit(SizesView indices) const;
  std::vector<Tensor> vsplit(std::int64_t sections) const;
  std::vector<Tensor> vsplit(SizesView indices) const;
  std::vector<Tensor> dsplit(std::int64_t sections) const;
  std::vector<Tensor> dsplit(SizesView indices) const;
  std::vector<Tensor> unbind(std::int64_t dim = 0) const;
  std::vector<Tensor> unsafe_chunk(std::int64_t chunks, std::int64_t dim = 0) const;
  std::vector<Tensor> unsafe_split(std::int64_t size, std::int64_t dim = 0) const;
  std::vector<Tensor> unsafe_split_with_sizes(SizesView sizes, std::int64_t dim = 0) const;

  // ---- another layout for this very tensor, seen through every copy of the handle ----
  Tensor& squeeze_();
  Tensor& squeeze_(std::int64_t dim);
  Tensor& squeeze_(SizesView dims);
  Tensor& unsqueeze_(std::int64_t dim);
  Tensor& transpose_(std::int64_t dim0, std::int64_t dim1);
  Tensor& swapaxes_(std::int64_t dim0, std::int64_t dim1);
  Tensor& swapdims_(std::int64_t dim0, std::int64_t dim1);
  Tensor& t_();
  Tensor& as_strided_(SizesView sizes, SizesView strides, std::optional<std::int64_t> storage_offset = {});
  // The storage grows where it is too small; its elements stay, new ones are zero.
  Tensor& resize_(SizesView sizes, MemoryFormat format = MemoryFormat::contiguous);
  Tensor& resize_as_(const Tensor& other, MemoryFormat format = MemoryFormat::contiguous);
  // This handle leaves its storage: empty, another tensor's storage and layout, or another layout on it.
  Tensor& set_();
  Tensor& set_(const Tensor& source);
  Tensor& set_(const Tensor& source, std::int64_t storage_offset, SizesView sizes, SizesView strides = {});
  // x.data = other: like set_, and the dtype is the other's too.
  void set_data(const Tensor& other);
  Tensor& detach_();

 protected:
  ~ViewMethods() = default;  // a base of Tensor, never used alone
};

}  // namespace braze
