// as_strided, and what gives this very tensor another layout or another storage.
#include <algorithm>

#include "frontend/autograd/names.h"
#include "frontend/autograd/trace_notes.h"
#include "frontend/autograd/tracking.h"
#include "frontend/view_layout.h"

namespace braze {

namespace {

// Throws where the layout leaves the storage.
Geometry strided(const Tensor& x, SizesView sizes, SizesView strides, std::optional<std::int64_t> storage_offset) {
  const TensorImpl& impl = checked(x);
  require(sizes.size() == strides.size(), "mismatch in length of strides and shape: {} and {}", sizes_text(strides),
          sizes_text(sizes));
  Geometry g{storage_offset.value_or(x.storage_offset()), Dims(sizes.begin(), sizes.end()), Dims(strides.begin(), strides.end())};
  const std::int64_t count = checked_numel(sizes);
  require(g.offset >= 0, "Tensor: invalid storage offset {}", g.offset);
  std::int64_t last = g.offset, bytes = 0;
  const auto require_64_bits = [&](bool fits) {
    require<ShapeError>(fits, "as_strided: sizes {} and strides {} reach past 64 bits", sizes_text(sizes), sizes_text(strides));
  };
  for (std::size_t i = 0; i < g.sizes.size(); ++i) {
    require(g.strides[i] >= 0, "as_strided: Negative strides are not supported at the moment, got strides: {}",
            sizes_text(strides));
    std::int64_t reach = 0;
    require_64_bits(!__builtin_mul_overflow(std::max<std::int64_t>(g.sizes[i] - 1, 0), g.strides[i], &reach) &&
                    !__builtin_add_overflow(last, reach, &last));
  }
  require_64_bits(!__builtin_add_overflow(last, 1, &bytes) && !__builtin_mul_overflow(bytes, size_of(impl.dtype()), &bytes));
  require(count == 0 || last < impl.storage->elements(impl.dtype()),
          "setStorage: sizes {}, strides {}, storage offset {}, and itemsize {} requiring a storage size of {} are out of bounds "
          "for storage of "
          "size {}",
          sizes_text(sizes), sizes_text(strides), g.offset, size_of(impl.dtype()), bytes, impl.storage->bytes());
  return g;
}

// `self` takes the layout of a view of itself.
Tensor& take_layout(Tensor& self, const Tensor& view) {
  refuse_in_trace(*self.impl(), "changes the layout of");
  self.impl()->set_layout(self.dtype(), view.impl()->layout());
  if (const AutogradMeta* own = elements_of(*view.impl())) set_elements(*self.impl(), *own, own->layout);
  return self;
}

}  // namespace

Tensor ViewMethods::as_strided(SizesView sizes, SizesView strides, std::optional<std::int64_t> storage_offset) const {
  const GradientScope scope(GradientName::AsStridedBackward0);
  return make_view(self_of(this), strided(self_of(this), sizes, strides, storage_offset));
}

Tensor& ViewMethods::as_strided_(SizesView sizes, SizesView strides, std::optional<std::int64_t> storage_offset) {
  return take_layout(self_of(this), as_strided(sizes, strides, storage_offset));
}

Tensor& ViewMethods::squeeze_() { return take_layout(self_of(this), squeeze()); }
Tensor& ViewMethods::squeeze_(std::int64_t dim) { return take_layout(self_of(this), squeeze(dim)); }
Tensor& ViewMethods::squeeze_(SizesView dims) { return take_layout(self_of(this), squeeze(dims)); }
Tensor& ViewMethods::unsqueeze_(std::int64_t dim) { return take_layout(self_of(this), unsqueeze(dim)); }
Tensor& ViewMethods::transpose_(std::int64_t dim0, std::int64_t dim1) { return take_layout(self_of(this), transpose(dim0, dim1)); }
Tensor& ViewMethods::swapaxes_(std::int64_t dim0, std::int64_t dim1) { return transpose_(dim0, dim1); }
Tensor& ViewMethods::swapdims_(std::int64_t dim0, std::int64_t dim1) { return transpose_(dim0, dim1); }
Tensor& ViewMethods::t_() { return take_layout(self_of(this), t()); }

Tensor& ViewMethods::resize_(SizesView sizes, MemoryFormat format) {
  Tensor& self = self_of(this);
  TensorImpl& impl = checked(self);
  require(!self.requires_grad(), "cannot resize variables that require grad");
  refuse_in_trace(impl, "changes the layout of");
  const std::int64_t count = checked_numel(sizes);
  require(format != MemoryFormat::preserve, "Unsupported memory format for resize_: torch.preserve_format");
  Geometry g{self.storage_offset(), Dims(sizes.begin(), sizes.end()), {}};
  const bool same = sizes_of(*impl.type) == g.sizes && format == MemoryFormat::contiguous;
  if (same) return self;
  g.strides = format_strides(g, format);
  std::int64_t needed = 0;
  require<ShapeError>(!__builtin_add_overflow(g.offset, count, &needed),
                      "resize_ to {} at offset {} needs more than 64 bits can count", sizes_text(sizes), g.offset);
  if (count > 0 && needed > impl.storage->elements(impl.dtype())) impl.storage->resize(needed, impl.dtype());
  impl.set_layout(impl.dtype(), std::move(g));
  return self;
}

Tensor& ViewMethods::resize_as_(const Tensor& other, MemoryFormat format) {
  Tensor& self = resize_(other.sizes());
  if (format == MemoryFormat::contiguous) return self;
  const Geometry g = checked(other).layout();
  self.impl()->set_layout(self.dtype(), {self.storage_offset(), g.sizes, format_strides(g, format)});
  return self;
}

Tensor& ViewMethods::set_() {
  Tensor& self = self_of(this);
  const std::int64_t none[] = {0};
  const std::int64_t one[] = {1};
  const DType type = checked(self).dtype();
  return set_(wrap(braze::expand(constant_value(0, type), value_sizes(type, none), {}), type), 0,
              SizesView(std::span<const std::int64_t>(none)), SizesView(std::span<const std::int64_t>(one)));
}

Tensor& ViewMethods::set_(const Tensor& source) {
  const Geometry g = checked(source).layout();
  return set_(source, g.offset, std::span<const std::int64_t>(g.sizes), std::span<const std::int64_t>(g.strides));
}

Tensor& ViewMethods::set_(const Tensor& source, std::int64_t storage_offset, SizesView sizes, SizesView strides) {
  Tensor& self = self_of(this);
  TensorImpl& impl = checked(self);
  require_no_leaf(impl);
  refuse_in_trace(impl, "changes the memory of");
  const Dims row_major = contiguous_strides(sizes);
  const bool given = strides.size() > 0 || sizes.size() == 0;
  require(checked(source).dtype() == impl.dtype(), "Could not set tensor of type {} to a tensor of type {}",
          info(source.dtype()).scalar_name, info(impl.dtype()).scalar_name);
  Geometry g = strided(source, sizes, given ? strides : SizesView(std::span<const std::int64_t>(row_major)), storage_offset);
  impl.storage = source.impl()->storage;
  impl.conjugate = source.impl()->conjugate;
  impl.base = {};
  forget_source(impl);
  impl.set_layout(impl.dtype(), std::move(g));
  return self;
}

void ViewMethods::set_data(const Tensor& other) {
  TensorImpl& impl = checked(self_of(this));
  refuse_in_trace(impl, "changes the memory of");
  const TensorImpl& from = checked(other);
  const DType type = from.dtype();
  require(!impl.leaf || is_float(type) || is_complex(type),
          "data set to a tensor that requires gradients must be floating point or complex dtype");
  Geometry g = from.layout();
  impl.storage = from.storage;
  impl.conjugate = from.conjugate;
  impl.base = {};
  forget_source(impl);
  impl.cut = !impl.leaf;  // what `other` was made from is not seen
  impl.set_layout(type, std::move(g));
}

Tensor& ViewMethods::detach_() {
  TensorImpl& impl = checked(self_of(this));
  require(!impl.base, "Can't detach views in-place. Use detach() instead.");
  refuse_in_trace(impl, "detaches");
  impl.leaf = false;
  impl.cut = true;
  return self_of(this);
}

}  // namespace braze
