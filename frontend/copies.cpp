// Copies: the same elements in memory of their own, in another order, or several times.
#include <numeric>

#include "braze/autograd.h"
#include "braze/functions.h"
#include "frontend/autograd/names.h"
#include "frontend/composing.h"
#include "frontend/elementwise.h"
#include "frontend/view_layout.h"

namespace braze {

namespace {

// x's elements row-major under other sizes, in memory of their own even where a view would do.
Tensor reshaped_copy(const Tensor& x, SizesView sizes, ir::Location where) {
  return wrap(reshape(read_as(checked(x), x.dtype(), where), value_sizes(x.dtype(), sizes), where), x.dtype());
}

Tensor roll_one(const Tensor& x, std::int64_t shift, std::int64_t dim, const std::source_location& where) {
  const std::int64_t size = x.size(dim);
  if (size == 0) return x.clone(where);
  const std::int64_t start = ((-shift) % size + size) % size;  // of what comes first
  if (start == 0) return x.clone(where);
  return cat({x.slice(dim, start, std::nullopt), x.slice(dim, 0, start)}, dim, where);
}

}  // namespace

// ---- clone and contiguous ----

// A value is immutable, so a copy of a whole tensor is free until one is written.
Tensor ShapingMethods::clone(Where where) const { return clone(MemoryFormat::preserve, where); }
Tensor ShapingMethods::clone(MemoryFormat format, Where where) const { return self_of(this).to(std::nullopt, true, format, where); }
Tensor ShapingMethods::contiguous(Where where) const { return contiguous(MemoryFormat::contiguous, where); }
Tensor ShapingMethods::contiguous(MemoryFormat format, Where where) const {
  require(format != MemoryFormat::preserve, "preserve memory format is unsupported by the contiguous operator");
  const Tensor& self = self_of(this);
  return self.is_contiguous(format) ? self : clone(format, where);
}
Tensor fill(const In& x, const In& value) {
  Tensor copy = empty_like(require_tensor("fill", x));
  return copy.fill_(value);
}

Tensor clone(const In& x, MemoryFormat format) { return require_tensor("clone", x).clone(format, x.where()); }

// ---- turning and shifting ----

Tensor ShapingMethods::flip(SizesView dims, Where where) const {
  const Tensor& self = self_of(this);
  const std::uint64_t mask = dims_mask(dims, self.dim());
  if (self.dim() == 0 || mask == 0) return clone(where);
  return copy_laid_out(self, self.dtype(), format_strides(checked(self).layout(), MemoryFormat::preserve), location(where), mask);
}

Tensor ShapingMethods::fliplr(Where where) const {
  require(self_of(this).dim() >= 2, "Input must be >= 2-d.");
  return flip({1}, where);
}

Tensor ShapingMethods::flipud(Where where) const {
  require(self_of(this).dim() >= 1, "Input must be >= 1-d.");
  return flip({0}, where);
}

Tensor ShapingMethods::roll(std::int64_t shift, std::optional<std::int64_t> dim, Where where) const {
  const GradientScope scope(GradientName::RollBackward0);
  const std::int64_t shifts[] = {shift};
  const std::int64_t dims[] = {dim.value_or(0)};
  return roll(std::span<const std::int64_t>(shifts), std::span<const std::int64_t>(dims).first(dim.has_value()), where);
}

Tensor ShapingMethods::roll(SizesView shifts, SizesView dims, Where where) const {
  const GradientScope scope(GradientName::RollBackward0);
  const Tensor& self = self_of(this);
  require(shifts.size() > 0, "`shifts` required");
  if (self.numel() == 0) return clone(where);
  if (dims.size() == 0 && shifts.size() == 1) {
    const Tensor flat = self.contiguous(where).view({-1});
    return roll_one(flat, shifts[0], 0, where).view(self.sizes());
  }
  require(shifts.size() == dims.size(), "shifts and dimensions must align. shifts: {}, dims:{}", shifts.size(), dims.size());
  Tensor out = self;
  for (std::size_t i = 0; i < dims.size(); ++i) out = roll_one(out, shifts[i], dims[i], where);
  return out;
}

Tensor ShapingMethods::rot90(std::int64_t k, SizesView dims, Where where) const {
  const GradientScope scope(GradientName::Rot90Backward0);
  const Tensor& self = self_of(this);
  require(dims.size() == 2, "expected total rotation dims == 2, but got dims = {}", dims.size());
  require(self.dim() >= 2, "expected total dims >= 2, but got total dims = {}", self.dim());
  require(dims[0] != dims[1] && std::abs(dims[0] - dims[1]) != self.dim(),
          "expected rotation dims to be different, but got dim0 = {} and dim1 = {}", dims[0], dims[1]);
  for (const std::int64_t dim : dims)
    require(-self.dim() <= dim && dim < self.dim(), "Rotation dim{} out of range, dim{} = {}", dim == dims[0] ? 0 : 1,
            dim == dims[0] ? 0 : 1, dim);
  switch ((k % 4 + 4) % 4) {
    case 1:
      return flip({dims[1]}, where).transpose_(dims[0], dims[1]);
    case 2:
      return flip(dims, where);
    case 3:
      return flip({dims[0]}, where).transpose_(dims[0], dims[1]);
    default:
      return clone(MemoryFormat::contiguous, where);
  }
}

Tensor flip(const In& x, SizesView dims) { return require_tensor("flip", x).flip(dims, x.where()); }
Tensor fliplr(const In& x) { return require_tensor("fliplr", x).fliplr(x.where()); }
Tensor flipud(const In& x) { return require_tensor("flipud", x).flipud(x.where()); }
Tensor roll(const In& x, std::int64_t shift, std::optional<std::int64_t> dim) {
  return require_tensor("roll", x).roll(shift, dim, x.where());
}
Tensor roll(const In& x, SizesView shifts, SizesView dims) { return require_tensor("roll", x).roll(shifts, dims, x.where()); }
Tensor rot90(const In& x, std::int64_t k, SizesView dims) { return require_tensor("rot90", x).rot90(k, dims, x.where()); }

// ---- repeating ----

Tensor ShapingMethods::repeat(SizesView repeats, Where where) const {
  const GradientScope scope(GradientName::RepeatBackward0);
  const Tensor& self = self_of(this);
  const auto rank = static_cast<std::size_t>(self.dim());
  require(repeats.size() >= rank, "Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor");
  const std::size_t added = repeats.size() - rank;
  // Each dim becomes two: how often, and itself.
  Sizes pairs, expanded, sizes;
  for (std::size_t i = 0; i < repeats.size(); ++i) {
    const std::int64_t own = i < added ? 1 : self.size(static_cast<std::int64_t>(i - added));
    require(repeats[i] >= 0, "Trying to create tensor with negative dimension {}: {}", repeats[i], sizes_text(repeats));
    pairs.insert(pairs.end(), {1, own});
    expanded.insert(expanded.end(), {repeats[i], own});
    std::int64_t size = 0;
    require<ShapeError>(!__builtin_mul_overflow(repeats[i], own, &size),
                        "repeat: {} times {} elements are more than 64 bits can count", repeats[i], own);
    sizes.push_back(size);
  }
  checked_numel(sizes);
  return reshaped_copy(self.reshape(pairs, where).expand(expanded), sizes, location(where));
}

Tensor ShapingMethods::tile(SizesView repeats, Where where) const {
  const GradientScope scope(GradientName::RepeatBackward0);
  const auto rank = static_cast<std::size_t>(self_of(this).dim());
  Sizes all(std::max(rank, repeats.size()), 1);
  std::copy(repeats.begin(), repeats.end(), all.end() - static_cast<std::ptrdiff_t>(repeats.size()));
  return repeat(all, where);
}

Tensor ShapingMethods::repeat_interleave(std::int64_t repeats, std::optional<std::int64_t> dim, Where where) const {
  const Tensor& self = self_of(this);
  require(repeats >= 0, "Repeats must be non-negative");
  if (!dim) return self.flatten(0, -1, where).repeat_interleave(repeats, 0, where);
  require<IndexError>(self.dim() > 0, "Dimension out of range (expected to be in range of [-1, 0], but got 1)");
  const Tensor& rows = self;
  const auto axis = axis_of(rows, *dim);
  Sizes expanded = rows.sizes(), sizes = rows.sizes();
  expanded.insert(expanded.begin() + static_cast<std::ptrdiff_t>(axis) + 1, repeats);
  require<ShapeError>(!__builtin_mul_overflow(sizes[axis], repeats, &sizes[axis]),
                      "repeat_interleave: {} repeats are more than 64 bits can count", repeats);
  return reshaped_copy(rows.unsqueeze(static_cast<std::int64_t>(axis) + 1).expand(expanded), sizes, location(where));
}

Tensor repeat_interleave(const Tensor& repeats, std::source_location where) {
  require(repeats.dim() == 1, "repeat_interleave only accept 1D vector as repeat");
  require<NotImplementedError>(is_integer(repeats.dtype()), "\"repeat_interleave_cpu\" not implemented for '{}'",
                               info(repeats.dtype()).scalar_name);
  const std::vector<std::int64_t> counts = repeats.to(DType::i64, where).to_vector<std::int64_t>();
  std::int64_t total = 0;
  for (const std::int64_t count : counts) {
    require(count >= 0, "repeats can not be negative");
    require<ShapeError>(!__builtin_add_overflow(total, count, &total),
                        "repeat_interleave: the repeats sum to more than 64 bits can count");
  }
  std::vector<std::int64_t> indices;
  indices.reserve(static_cast<std::size_t>(total));
  for (std::size_t i = 0; i < counts.size(); ++i)
    indices.insert(indices.end(), static_cast<std::size_t>(counts[i]), static_cast<std::int64_t>(i));
  return from_data(indices.data(), {total}).to(repeats.dtype(), where);
}

Tensor ShapingMethods::repeat_interleave(const Tensor& repeats, std::optional<std::int64_t> dim, Where where) const {
  const Tensor& self = self_of(this);
  if (!dim) return self.flatten(0, -1, where).repeat_interleave(repeats, 0, where);
  require<IndexError>(self.dim() > 0, "Dimension specified as {} but tensor has no dimensions", *dim);
  const Tensor& rows = self;
  const std::int64_t length = rows.size(*dim);
  if (repeats.numel() == 1 && repeats.dim() <= 1) {
    require<NotImplementedError>(is_integer(repeats.dtype()), "\"repeat_interleave_cpu\" not implemented for '{}'",
                                 info(repeats.dtype()).scalar_name);
    return rows.repeat_interleave(repeats.item_int(where), dim, where);
  }
  require(repeats.dim() <= 1, "repeats must be 0-dim or 1-dim tensor");
  require(repeats.size(0) == length,
          "repeats must have the same size as input along dim, but got repeats.size(0) = {} and input.size({}) = {}",
          repeats.size(0), *dim, length);
  return rows.index_select(*dim, braze::repeat_interleave(repeats, where).to(DType::i64, where), where);
}

Tensor ShapingMethods::narrow_copy(std::int64_t dim, std::int64_t start, std::int64_t length, Where where) const {
  return self_of(this).narrow(dim, start, length).clone(MemoryFormat::contiguous, where);
}

Tensor tile(const In& x, SizesView repeats) { return require_tensor("tile", x).tile(repeats, x.where()); }
Tensor repeat_interleave(const In& x, std::int64_t repeats, std::optional<std::int64_t> dim) {
  return require_tensor("repeat_interleave", x).repeat_interleave(repeats, dim, x.where());
}
Tensor repeat_interleave(const In& x, const Tensor& repeats, std::optional<std::int64_t> dim) {
  return require_tensor("repeat_interleave", x).repeat_interleave(repeats, dim, x.where());
}
Tensor narrow_copy(const In& x, std::int64_t dim, std::int64_t start, std::int64_t length) {
  return require_tensor("narrow_copy", x).narrow_copy(dim, start, length, x.where());
}

// ---- out= ----

Tensor& write_out(Tensor& out, const Tensor& result, std::source_location where) {
  checked(out);
  require(!is_grad_enabled() || !(result.requires_grad() || out.requires_grad()),
          "functions with out=... arguments don't support automatic differentiation, but one of the arguments requires grad.");
  if (out.sizes() != result.sizes()) out.resize_(result.sizes());
  return write_in_place(out, result, where);
}

}  // namespace braze
