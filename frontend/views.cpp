// Views: arithmetic on (offset, sizes, strides), done at once and equal to PyTorch's. https://pytorch.org/docs/stable/tensor_view.html
#include "braze/views.h"

#include <algorithm>
#include <numeric>

#include "frontend/autograd/names.h"
#include "frontend/autograd/tracking.h"
#include "frontend/view_layout.h"

namespace braze {

namespace {

// A view, and the same one of what `self` has of elements of its own.
template <class Function>
Tensor view_by(const Tensor& self, Geometry g, const Function& same) {
  return make_view(self, std::move(g), self.dtype(), same);
}

// The elements in another shape. Side by side they need not lie as the shape asks.
Tensor view_in_order(const Tensor& self, Geometry g) {
  Tensor view = make_view(self, std::move(g));
  if (const AutogradMeta* own = elements_of(*self.impl()))
    set_elements(*view.impl(), spread(*own, self.dtype(), {}), own->elements);
  return view;
}

Tensor alias(const Tensor& x) {
  return view_by(x, checked(x).layout(), [](const Tensor& own) { return own; });
}

// A view even where the conjugate is the number itself.
Tensor conj_view(const Tensor& x) { return is_complex(checked(x).dtype()) ? x.conj() : alias(x); }

void drop_axis(Geometry& g, std::size_t axis) {
  g.sizes.erase(axis);
  g.strides.erase(axis);
}

std::vector<std::size_t> axes_of(const Tensor& x, std::string_view what, SizesView dims) {
  std::vector<std::size_t> axes;
  std::uint64_t seen = 0;
  for (const std::int64_t dim : dims) {
    axes.push_back(axis_of(x, dim));
    require(!(seen >> axes.back() & 1), "movedim: repeated dim in `{}` ({})", what, sizes_text(dims));
    seen |= std::uint64_t{1} << axes.back();
  }
  return axes;
}

}  // namespace

Tensor ViewMethods::select(std::int64_t dim, std::int64_t index) const {
  const GradientScope scope(GradientName::SelectBackward0);
  const Tensor& self = self_of(this);
  require<IndexError>(self.dim() > 0, "select() cannot be applied to a 0-dim tensor.");
  Geometry g = checked(self).layout();
  const std::size_t axis = axis_of(self, dim);
  const std::int64_t size = g.sizes[axis];
  require<IndexError>(-size <= index && index < size, "select(): index {} out of range for tensor of size {} at dimension {}",
                      index, sizes_text(g.sizes), axis);
  apply_select(g, axis, index, dim);
  return view_by(self, std::move(g), [&](const Tensor& own) { return own.select(dim, index); });
}

Tensor ViewMethods::narrow(std::int64_t dim, std::int64_t start, std::int64_t length) const {
  const GradientScope scope(GradientName::SliceBackward0);
  const Tensor& self = self_of(this);
  require(self.dim() > 0, "narrow() cannot be applied to a 0-dim tensor.");
  Geometry g = checked(self).layout();
  const std::size_t axis = axis_of(self, dim);
  const std::int64_t size = g.sizes[axis];
  require(length >= 0, "narrow(): length must be non-negative, not {}", length);
  require<IndexError>(-size <= start && start <= size, "start out of range (expected to be in range of [{}, {}], but got {})",
                      -size, size, start);
  if (start < 0) start += size;
  require(start <= size - length, "start ({}) + length ({}) exceeds dimension size ({}).", start, length, size);
  g.offset += start * g.strides[axis];
  g.sizes[axis] = length;
  return view_by(self, std::move(g), [&](const Tensor& own) { return own.narrow(dim, start, length); });
}

Tensor ViewMethods::narrow(std::int64_t dim, const Tensor& start, std::int64_t length) const {
  require(start.dim() == 0 && is_integer(start.dtype()), "start must be an 0-dim integral Tensor.");
  return narrow(dim, start.item_int(), length);
}

Tensor ViewMethods::slice(std::int64_t dim, std::optional<std::int64_t> start, std::optional<std::int64_t> stop,
                          std::int64_t step) const {
  const GradientScope scope(GradientName::SliceBackward0);
  const Tensor& self = self_of(this);
  require<IndexError>(self.dim() > 0, "slice() cannot be applied to a 0-dim tensor.");
  Geometry g = checked(self).layout();
  apply_slice(g, axis_of(self, dim), {start, stop, step});
  return view_by(self, std::move(g), [&](const Tensor& own) { return own.slice(dim, start, stop, step); });
}

Tensor ViewMethods::transpose(std::int64_t dim0, std::int64_t dim1) const {
  const GradientScope scope(GradientName::TransposeBackward0);
  const Tensor& self = self_of(this);
  Geometry g = checked(self).layout();
  const std::size_t a = axis_of(self, dim0), b = axis_of(self, dim1);
  if (!g.sizes.empty()) {
    std::swap(g.sizes[a], g.sizes[b]);
    std::swap(g.strides[a], g.strides[b]);
  }
  return view_by(self, std::move(g), [&](const Tensor& own) { return own.transpose(dim0, dim1); });
}

Tensor ViewMethods::swapaxes(std::int64_t dim0, std::int64_t dim1) const { return transpose(dim0, dim1); }
Tensor ViewMethods::swapdims(std::int64_t dim0, std::int64_t dim1) const { return transpose(dim0, dim1); }

Tensor ViewMethods::t() const {
  const GradientScope scope(GradientName::TBackward0);
  const Tensor& self = self_of(this);
  require(self.dim() <= 2, "t() expects a tensor with <= 2 dimensions, but self is {}D", self.dim());
  return self.dim() < 2 ? alias(self) : transpose(0, 1);
}

Tensor ViewMethods::T() const {
  const GradientScope scope(GradientName::PermuteBackward0);
  Sizes dims(static_cast<std::size_t>(self_of(this).dim()));
  std::iota(dims.rbegin(), dims.rend(), 0);
  return permute(dims);
}

Tensor ViewMethods::mT() const {
  const std::int64_t rank = self_of(this).dim();
  if (rank == 0) return self_of(this).view_as(self_of(this));  // as PyTorch, which warns of it
  require(rank >= 2, "tensor.mT is only supported on matrices or batches of matrices. Got {}-D tensor.", rank);
  return transpose(-2, -1);
}

Tensor ViewMethods::H() const {
  const GradientScope scope(GradientName::TransposeBackward0);
  const std::int64_t rank = self_of(this).dim();
  require(rank == 0 || rank == 2, "tensor.H is only supported on matrices (2-D tensors). Got {}-D tensor.{}", rank,
          rank > 2 ? " For batches of matrices, consider using tensor.mH" : "");
  return rank == 0 ? conj_view(self_of(this)) : conj_view(transpose(0, 1));
}

Tensor ViewMethods::mH() const {
  const GradientScope scope(GradientName::TransposeBackward0);
  const std::int64_t rank = self_of(this).dim();
  if (rank == 0) return conj_view(self_of(this));  // as PyTorch, which warns of it
  require(rank >= 2, "tensor.mH is only supported on matrices or batches of matrices. Got {}-D tensor.", rank);
  return conj_view(transpose(-2, -1));
}

Tensor ViewMethods::adjoint() const {
  const GradientScope scope(GradientName::TransposeBackward0);
  const std::int64_t rank = self_of(this).dim();
  if (rank == 0) return conj_view(self_of(this));  // as PyTorch, which warns of it
  require(rank >= 2, "tensor.adjoint() is only supported on matrices or batches of matrices. Got {}-D tensor.", rank);
  return conj_view(transpose(-2, -1));
}

Tensor ViewMethods::permute(SizesView dims) const {
  const GradientScope scope(GradientName::PermuteBackward0);
  const Tensor& self = self_of(this);
  const Geometry g = checked(self).layout();
  require(dims.size() == g.sizes.size(),
          "permute(sparse_coo): number of dimensions in the tensor input does not match the length of the desired ordering of "
          "dimensions i.e. "
          "input.dim() = {} is not equal to len(dims) = {}",
          g.sizes.size(), dims.size());
  Geometry out{g.offset, {}, {}};
  std::uint64_t seen = 0;
  for (const std::int64_t dim : dims) {
    const std::size_t axis = axis_of(self, dim);
    require(!(seen >> axis & 1), "permute(): duplicate dims are not allowed: {}", sizes_text(dims));
    seen |= std::uint64_t{1} << axis;
    out.sizes.push_back(g.sizes[axis]);
    out.strides.push_back(g.strides[axis]);
  }
  return view_by(self, std::move(out), [&](const Tensor& own) { return own.permute(dims); });
}

Tensor ViewMethods::movedim(std::int64_t source, std::int64_t destination) const {
  return movedim(SizesView{source}, SizesView{destination});
}

Tensor ViewMethods::movedim(SizesView source, SizesView destination) const {
  const Tensor& self = self_of(this);
  require(source.size() == destination.size(),
          "movedim: Invalid source or destination dims: source ({} dims) should contain the same number of dims as destination ({} "
          "dims)",
          sizes_text(source), sizes_text(destination));
  const std::vector<std::size_t> from = axes_of(self, "source", source), to = axes_of(self, "destination", destination);
  if (self.dim() == 0) return alias(self);
  const auto rank = static_cast<std::size_t>(self.dim());
  Sizes dims(rank, -1);
  std::vector<bool> moved(rank);
  for (std::size_t i = 0; i < from.size(); ++i) {
    dims[to[i]] = static_cast<std::int64_t>(from[i]);
    moved[from[i]] = true;
  }
  std::size_t next = 0;
  for (std::int64_t& dim : dims) {
    if (dim >= 0) continue;
    while (moved[next]) ++next;
    dim = static_cast<std::int64_t>(next++);
  }
  return permute(dims);
}

Tensor ViewMethods::moveaxis(std::int64_t source, std::int64_t destination) const { return movedim(source, destination); }
Tensor ViewMethods::moveaxis(SizesView source, SizesView destination) const { return movedim(source, destination); }

Tensor ViewMethods::unsqueeze(std::int64_t dim) const {
  const GradientScope scope(GradientName::UnsqueezeBackward0);
  const Tensor& self = self_of(this);
  Geometry g = checked(self).layout();
  const auto axis = static_cast<std::size_t>(wrap_dim(dim, self.dim() + 1));
  const std::int64_t stride = axis < g.sizes.size() ? g.sizes[axis] * g.strides[axis] : 1;
  g.sizes.insert(axis, 1);
  g.strides.insert(axis, stride);
  return view_by(self, std::move(g), [&](const Tensor& own) { return own.unsqueeze(dim); });
}

Tensor ViewMethods::squeeze() const {
  const GradientScope scope(GradientName::SqueezeBackward0);
  const Tensor& self = self_of(this);
  Sizes all(static_cast<std::size_t>(self.dim()));
  std::iota(all.begin(), all.end(), 0);
  return squeeze(SizesView(all));
}

Tensor ViewMethods::squeeze(std::int64_t dim) const {
  const GradientScope scope(GradientName::SqueezeBackward1);
  return squeeze(SizesView{dim});
}

Tensor ViewMethods::squeeze(SizesView dims) const {
  const GradientScope scope(GradientName::SqueezeBackward2);
  const Tensor& self = self_of(this);
  const std::uint64_t mask = dims_mask(dims, self.dim());
  Geometry g = checked(self).layout();
  for (std::size_t axis = g.sizes.size(); axis-- > 0;)
    if (mask >> axis & 1 && g.sizes[axis] == 1) drop_axis(g, axis);
  return view_by(self, std::move(g), [&](const Tensor& own) { return own.squeeze(dims); });
}

Tensor ViewMethods::view(SizesView sizes) const {
  const GradientScope scope(GradientName::ViewBackward0);
  const Tensor& self = self_of(this);
  const Geometry g = checked(self).layout();
  const Dims wanted = inferred_sizes(sizes, g.numel());
  const std::optional<Dims> strides = view_strides(g, wanted);
  require<ShapeError>(
      strides.has_value(),
      "view size is not compatible with input tensor's size and stride (at least one dimension spans across two contiguous "
      "subspaces). Use .reshape(...) instead.");
  return view_in_order(self, {g.offset, wanted, *strides});
}

Tensor ViewMethods::view(DType dtype) const {
  const GradientScope scope(GradientName::ViewBackward0);
  const Tensor& self = self_of(this);
  Geometry g = checked(self).layout();
  const std::int64_t from = size_of(self.dtype()), to = size_of(dtype);
  require(!self.impl()->conjugate || dtype == self.dtype(),
          "torch.Tensor.view is not supported for conjugate view tensors when converting to a different dtype.");
  if (from == to) return make_view(self, std::move(g), dtype);
  const std::string_view a = info(self.dtype()).scalar_name, b = info(dtype).scalar_name;
  require(!g.sizes.empty(), "self.dim() cannot be 0 to view {} as {} (different element sizes)", a, b);
  const std::size_t last = g.sizes.size() - 1;
  require(g.strides[last] == 1, "self.stride(-1) must be 1 to view {} as {} (different element sizes), but got {}", a, b,
          g.strides[last]);
  if (from > to) {
    const std::int64_t parts = from / to;
    g.offset *= parts;
    g.sizes[last] *= parts;
    for (std::size_t i = 0; i < last; ++i) g.strides[i] *= parts;
    return make_view(self, std::move(g), dtype);
  }
  const std::int64_t parts = to / from;
  require(g.sizes[last] % parts == 0,
          "self.size(-1) must be divisible by {} to view {} as {} (different element sizes), but got {}", parts, a, b,
          g.sizes[last]);
  require(g.offset % parts == 0,
          "self.storage_offset() must be divisible by {} to view {} as {} (different element sizes), but got {}", parts, a, b,
          g.offset);
  g.offset /= parts;
  g.sizes[last] /= parts;
  for (std::size_t i = 0; i < last; ++i) {
    require(g.strides[i] % parts == 0,
            "self.stride({}) must be divisible by {} to view {} as {} (different element sizes), but got {}", i, parts, a, b,
            g.strides[i]);
    g.strides[i] /= parts;
  }
  return make_view(self, std::move(g), dtype);
}

Tensor ViewMethods::view_as(const Tensor& other) const { return view(other.sizes()); }

Tensor ViewMethods::reshape(SizesView sizes, std::source_location where) const {
  const GradientScope scope(GradientName::ViewBackward0);
  const Tensor& self = self_of(this);
  const Geometry g = checked(self).layout();
  const Dims wanted = inferred_sizes(sizes, g.numel());
  if (const std::optional<Dims> strides = view_strides(g, wanted)) return view_in_order(self, {g.offset, wanted, *strides});
  const DType type = self.dtype();
  return wrap(braze::reshape(read_as(*self.impl(), type, location(where)), value_sizes(type, wanted), location(where)), type);
}

Tensor ViewMethods::reshape_as(const Tensor& other, std::source_location where) const { return reshape(other.sizes(), where); }

Tensor ViewMethods::flatten(std::int64_t start_dim, std::int64_t end_dim, std::source_location where) const {
  const Tensor& self = self_of(this);
  const Dims sizes = sizes_of(*checked(self).type);
  const std::size_t first = axis_of(self, start_dim), last = axis_of(self, end_dim);
  if (sizes.empty()) return reshape({1}, where);
  require(first <= last, "flatten() has invalid args: start_dim cannot come after end_dim");
  // One dim is itself, and PyTorch hands the very tensor back.
  if (first == last) return self;
  Sizes out(sizes.begin(), sizes.begin() + first);
  out.push_back(std::accumulate(sizes.begin() + first, sizes.begin() + last + 1, std::int64_t{1}, std::multiplies<>()));
  out.insert(out.end(), sizes.begin() + last + 1, sizes.end());
  return reshape(out, where);
}

Tensor ViewMethods::ravel(std::source_location where) const {
  const std::int64_t flat[] = {self_of(this).numel()};
  return self_of(this).contiguous(where).view(SizesView(std::span<const std::int64_t>(flat)));
}

Tensor ViewMethods::unflatten(std::int64_t dim, SizesView sizes) const {
  const Tensor& self = self_of(this);
  const Dims own = sizes_of(*checked(self).type);
  const std::size_t axis = axis_of(self, dim);
  require(!own.empty(), "unflatten got an unexpected error:\nDimension specified as {} but tensor has no dimensions", dim);
  require(sizes.size() > 0, "unflatten: sizes must be non-empty");
  std::int64_t product = 1;
  for (const std::int64_t s : sizes) product *= s;
  require(product == own[axis] || std::find(sizes.begin(), sizes.end(), -1) != sizes.end(),
          "unflatten: Provided sizes {} don't multiply up to the size of dim {} ({}) in the input tensor", sizes_text(sizes), axis,
          own[axis]);
  const Dims inner = inferred_sizes(sizes, own[axis]);
  Sizes out(own.begin(), own.begin() + axis);
  out.insert(out.end(), inner.begin(), inner.end());
  out.insert(out.end(), own.begin() + axis + 1, own.end());
  return view(out);
}

Tensor ViewMethods::expand(SizesView sizes) const {
  const GradientScope scope(GradientName::ExpandBackward0);
  const Tensor& self = self_of(this);
  const Geometry g = checked(self).layout();
  require<ShapeError>(
      sizes.size() >= g.sizes.size(),
      "expand(torch.{}Tensor{{{}}}, size={}): the number of sizes provided ({}) must be greater or equal to the number of "
      "dimensions in the tensor ({})",
      info(self.dtype()).scalar_name, sizes_text(g.sizes), sizes_text(sizes), sizes.size(), g.sizes.size());
  const std::size_t added = sizes.size() - g.sizes.size();
  Geometry out{g.offset, Dims(sizes.size()), Dims(sizes.size())};
  for (std::size_t i = sizes.size(); i-- > 0;) {
    const std::int64_t own = i < added ? 1 : g.sizes[i - added];
    // A dim that is new is as far apart as all that lies within it.
    const std::int64_t stride = i >= added             ? g.strides[i - added]
                                : i + 1 < sizes.size() ? out.sizes[i + 1] * out.strides[i + 1]
                                                       : 1;
    std::int64_t wanted = sizes[i];
    require<ShapeError>(wanted >= 0 || (wanted == -1 && i >= added),
                        "The expanded size of the tensor ({}) isn't allowed in a leading, non-existing dimension {}", wanted, i);
    if (wanted == -1) wanted = own;
    require<ShapeError>(
        own == wanted || own == 1,
        "The expanded size of the tensor ({}) must match the existing size ({}) at non-singleton dimension {}.  Target sizes: {}. "
        " Tensor sizes: {}",
        wanted, own, i, sizes_text(sizes), sizes_text(g.sizes));
    out.sizes[i] = wanted;
    out.strides[i] = own == wanted && !g.sizes.empty() ? stride : 0;
  }
  checked_numel(out.sizes);
  return view_by(self, std::move(out), [&](const Tensor& own) { return own.expand(sizes); });
}

Tensor ViewMethods::expand_as(const Tensor& other) const { return expand(other.sizes()); }
Tensor ViewMethods::broadcast_to(SizesView sizes) const { return expand(sizes); }

Tensor ViewMethods::diagonal(std::int64_t offset, std::int64_t dim1, std::int64_t dim2) const {
  const GradientScope scope(GradientName::DiagonalBackward0);
  const Tensor& self = self_of(this);
  Geometry g = checked(self).layout();
  const std::size_t a = axis_of(self, dim1), b = axis_of(self, dim2);
  require(a != b && self.dim() > 1, "diagonal dimensions cannot be identical {}, {}", dim1, dim2);
  const std::int64_t length = std::max<std::int64_t>(
      0, offset >= 0 ? std::min(g.sizes[a], g.sizes[b] - offset) : std::min(g.sizes[a] + offset, g.sizes[b]));
  if (length > 0) g.offset += offset >= 0 ? offset * g.strides[b] : -offset * g.strides[a];
  const std::int64_t stride = g.strides[a] + g.strides[b];
  drop_axis(g, std::max(a, b));
  drop_axis(g, std::min(a, b));
  g.sizes.push_back(length);
  g.strides.push_back(stride);
  return view_by(self, std::move(g), [&](const Tensor& own) { return own.diagonal(offset, dim1, dim2); });
}

Tensor ViewMethods::unfold(std::int64_t dim, std::int64_t size, std::int64_t step) const {
  const GradientScope scope(GradientName::UnfoldBackward0);
  const Tensor& self = self_of(this);
  Geometry g = checked(self).layout();
  const std::size_t axis = axis_of(self, dim);
  const std::int64_t own = g.sizes.empty() ? 1 : g.sizes[axis];
  require(size >= 0, "size is {} but must be >= 0", size);
  require(size <= own, "maximum size for tensor at dimension {} is {} but size is {}", axis, own, size);
  require(step > 0, "step is {} but must be > 0", step);
  const auto same = [&](const Tensor& own) { return own.unfold(dim, size, step); };
  if (g.sizes.empty()) return view_by(self, {g.offset, {size}, {1}}, same);
  const std::int64_t stride = g.strides[axis];
  g.sizes[axis] = (own - size) / step + 1;
  g.strides[axis] *= step;
  g.sizes.push_back(size);
  g.strides.push_back(stride);
  return view_by(self, std::move(g), same);
}

Tensor ViewMethods::detach() const {
  const TensorImpl& impl = checked(self_of(this));
  Tensor out = on_storage(impl.storage, impl.dtype(), impl.layout());
  out.impl()->conjugate = impl.conjugate;
  out.impl()->cut = true;
  return out;
}

}  // namespace braze
