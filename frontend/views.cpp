// Views: arithmetic on (offset, sizes, strides), done at once and equal to PyTorch's. https://pytorch.org/docs/stable/tensor_view.html
#include <algorithm>
#include <numeric>

#include "frontend/tensor_impl.h"

namespace braze {

namespace {

std::size_t axis_of(const Tensor& t, std::int64_t dim) {
  return static_cast<std::size_t>(wrap_dim(dim, t.dim()));
}

void require_dims(std::string_view what, const Tensor& t) {
  require<IndexError>(t.dim() > 0, "{}() cannot be applied to a 0-dim tensor.", what);
}

// Sizes with -1 filled in. Throws ShapeError in PyTorch's words.
Dims inferred_sizes(std::span<const std::int64_t> sizes, std::int64_t numel) {
  Dims out(sizes);
  std::int64_t known = 1, unknown = -1;
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (out[i] == -1) {
      require<ShapeError>(unknown < 0, "only one dimension can be inferred, but {} has several -1", sizes_text(sizes));
      unknown = static_cast<std::int64_t>(i);
    } else {
      require<ShapeError>(out[i] >= 0, "invalid shape dimension {}", out[i]);
      require<ShapeError>(!__builtin_mul_overflow(known, out[i], &known), "shape {} has more elements than 64 bits can count", sizes_text(sizes));
    }
  }
  if (unknown >= 0) {
    require<ShapeError>(known != 0, "cannot reshape tensor of {} elements into shape {} because the unspecified dimension size -1 can be any value and is ambiguous", numel, sizes_text(sizes));
    require<ShapeError>(numel % known == 0, "shape '{}' is invalid for input of size {}", sizes_text(sizes), numel);
    out[static_cast<std::size_t>(unknown)] = numel / known;
  } else {
    require<ShapeError>(known == numel, "shape '{}' is invalid for input of size {}", sizes_text(sizes), numel);
  }
  return out;
}

// The strides that show `g`'s elements under other sizes, or nothing where a copy is needed: PyTorch's computeStride.
std::optional<Dims> view_strides(const Geometry& g, std::span<const std::int64_t> sizes) {
  if (g.numel() == 0) return g.sizes == Dims(sizes) ? g.strides : contiguous_strides(sizes);
  Dims out(sizes.size());
  std::ptrdiff_t to = static_cast<std::ptrdiff_t>(sizes.size()) - 1;
  std::int64_t base = g.strides.empty() ? 1 : g.strides.back(), run = 1, taken = 1;
  for (std::ptrdiff_t from = static_cast<std::ptrdiff_t>(g.sizes.size()) - 1; from >= 0; --from) {
    run *= g.sizes[static_cast<std::size_t>(from)];
    const bool ends = from == 0 || (g.sizes[static_cast<std::size_t>(from - 1)] != 1 && g.strides[static_cast<std::size_t>(from - 1)] != run * base);
    if (!ends) continue;
    for (; to >= 0 && (taken < run || sizes[static_cast<std::size_t>(to)] == 1); --to) {
      out[static_cast<std::size_t>(to)] = taken * base;
      taken *= sizes[static_cast<std::size_t>(to)];
    }
    if (taken != run) return std::nullopt;
    if (from > 0) {
      base = g.strides[static_cast<std::size_t>(from - 1)];
      run = taken = 1;
    }
  }
  if (g.sizes.empty())
    for (; to >= 0; --to) out[static_cast<std::size_t>(to)] = 1;
  return to == -1 ? std::optional<Dims>(out) : std::nullopt;
}

}  // namespace

Tensor Tensor::select(std::int64_t dim, std::int64_t index) const {
  require_dims("select", *this);
  Geometry g = checked(*this).layout();
  const std::size_t axis = axis_of(*this, dim);
  const std::int64_t size = g.sizes[axis];
  require<IndexError>(-size <= index && index < size, "select(): index {} out of range for tensor of size {} at dimension {}", index,
                      sizes_text(g.sizes), axis);
  apply_select(g, axis, index, dim);
  return make_view(*this, std::move(g));
}

Tensor Tensor::narrow(std::int64_t dim, std::int64_t start, std::int64_t length) const {
  require_dims("narrow", *this);
  Geometry g = checked(*this).layout();
  const std::size_t axis = axis_of(*this, dim);
  const std::int64_t size = g.sizes[axis];
  require(length >= 0, "narrow(): length must be non-negative, not {}", length);
  require<IndexError>(-size <= start && start <= size, "start out of range (expected to be in range of [{}, {}], but got {})", -size, size, start);
  if (start < 0) start += size;
  require(start <= size - length, "start ({}) + length ({}) exceeds dimension size ({}).", start, length, size);
  g.offset += start * g.strides[axis];
  g.sizes[axis] = length;
  return make_view(*this, std::move(g));
}

Tensor Tensor::slice(std::int64_t dim, std::optional<std::int64_t> start, std::optional<std::int64_t> stop, std::int64_t step) const {
  require_dims("slice", *this);
  Geometry g = checked(*this).layout();
  apply_slice(g, axis_of(*this, dim), {start, stop, step});
  return make_view(*this, std::move(g));
}

Tensor Tensor::transpose(std::int64_t dim0, std::int64_t dim1) const {
  Geometry g = checked(*this).layout();
  const std::size_t a = axis_of(*this, dim0), b = axis_of(*this, dim1);
  if (g.sizes.empty()) return *this;
  std::swap(g.sizes[a], g.sizes[b]);
  std::swap(g.strides[a], g.strides[b]);
  return make_view(*this, std::move(g));
}

Tensor Tensor::t() const {
  require(dim() <= 2, "t() expects a tensor with <= 2 dimensions, but self is {}D", dim());
  return dim() < 2 ? *this : transpose(0, 1);
}

Tensor Tensor::T() const {
  Sizes dims(static_cast<std::size_t>(dim()));
  std::iota(dims.rbegin(), dims.rend(), 0);
  return permute(dims);
}

Tensor Tensor::mT() const {
  require(dim() >= 2, "tensor.mT is only supported on matrices or batches of matrices. Got {}-D tensor.", dim());
  return transpose(-2, -1);
}

Tensor Tensor::permute(SizesView dims) const {
  const Geometry g = checked(*this).layout();
  require(dims.size() == g.sizes.size(),
          "permute(sparse_coo): number of dimensions in the tensor input does not match the length of the desired ordering of dimensions i.e. "
          "input.dim() = {} is not equal to len(dims) = {}",
          g.sizes.size(), dims.size());
  Geometry out{g.offset, {}, {}};
  std::uint64_t seen = 0;
  for (const std::int64_t dim : dims) {
    const std::size_t axis = axis_of(*this, dim);
    require(!(seen >> axis & 1), "permute(): duplicate dims are not allowed: {}", sizes_text(dims));
    seen |= std::uint64_t{1} << axis;
    out.sizes.push_back(g.sizes[axis]);
    out.strides.push_back(g.strides[axis]);
  }
  return make_view(*this, std::move(out));
}

Tensor Tensor::movedim(std::int64_t source, std::int64_t destination) const {
  const std::size_t from = axis_of(*this, source), to = axis_of(*this, destination);
  Sizes dims(static_cast<std::size_t>(dim()));
  std::iota(dims.begin(), dims.end(), 0);
  if (dims.empty()) return *this;
  dims.erase(dims.begin() + static_cast<std::ptrdiff_t>(from));
  dims.insert(dims.begin() + static_cast<std::ptrdiff_t>(to), static_cast<std::int64_t>(from));
  return permute(dims);
}

Tensor Tensor::unsqueeze(std::int64_t dim) const {
  Geometry g = checked(*this).layout();
  const std::size_t axis = static_cast<std::size_t>(wrap_dim(dim, this->dim() + 1));
  const std::int64_t stride = axis < g.sizes.size() ? g.sizes[axis] * g.strides[axis] : 1;
  g.sizes.insert(axis, 1);
  g.strides.insert(axis, stride);
  return make_view(*this, std::move(g));
}

Tensor Tensor::squeeze() const {
  const Geometry g = checked(*this).layout();
  Geometry out{g.offset, {}, {}};
  for (std::size_t i = 0; i < g.sizes.size(); ++i) {
    if (g.sizes[i] == 1) continue;
    out.sizes.push_back(g.sizes[i]);
    out.strides.push_back(g.strides[i]);
  }
  return make_view(*this, std::move(out));
}

Tensor Tensor::squeeze(std::int64_t dim) const {
  Geometry g = checked(*this).layout();
  const std::size_t axis = axis_of(*this, dim);
  if (g.sizes.empty() || g.sizes[axis] != 1) return *this;
  g.sizes.erase(axis);
  g.strides.erase(axis);
  return make_view(*this, std::move(g));
}

Tensor Tensor::view(SizesView sizes) const {
  const Geometry g = checked(*this).layout();
  const Dims wanted = inferred_sizes(sizes, g.numel());
  const std::optional<Dims> strides = view_strides(g, wanted);
  require<ShapeError>(strides.has_value(),
                      "view size is not compatible with input tensor's size and stride (at least one dimension spans across two contiguous "
                      "subspaces): sizes {} and strides {} as {}. Use .reshape(...) instead.",
                      sizes_text(g.sizes), sizes_text(g.strides), sizes_text(wanted));
  return make_view(*this, {g.offset, wanted, *strides});
}

Tensor Tensor::reshape(SizesView sizes) const {
  const Geometry g = checked(*this).layout();
  const Dims wanted = inferred_sizes(sizes, g.numel());
  if (const std::optional<Dims> strides = view_strides(g, wanted)) return make_view(*this, {g.offset, wanted, *strides});
  return wrap(braze::reshape(read(*impl_, {}), wanted, {}));
}

Tensor Tensor::flatten(std::int64_t start_dim, std::int64_t end_dim) const {
  const Dims sizes = sizes_of(*checked(*this).type);
  if (sizes.empty()) return reshape({1});
  const std::size_t first = axis_of(*this, start_dim), last = axis_of(*this, end_dim);
  require(first <= last, "flatten() has invalid args: start_dim cannot come after end_dim");
  Sizes out(sizes.begin(), sizes.begin() + first);
  out.push_back(std::accumulate(sizes.begin() + first, sizes.begin() + last + 1, std::int64_t{1}, std::multiplies<>()));
  out.insert(out.end(), sizes.begin() + last + 1, sizes.end());
  return reshape(out);
}

Tensor Tensor::unflatten(std::int64_t dim, SizesView sizes) const {
  require_dims("unflatten", *this);
  const Dims own = sizes_of(*checked(*this).type);
  const std::size_t axis = axis_of(*this, dim);
  require(sizes.size() > 0, "unflatten: sizes must be non-empty");
  const Dims inner = inferred_sizes(sizes, own[axis]);
  Sizes out(own.begin(), own.begin() + axis);
  out.insert(out.end(), inner.begin(), inner.end());
  out.insert(out.end(), own.begin() + axis + 1, own.end());
  return view(out);
}

Tensor Tensor::expand(SizesView sizes) const {
  const Geometry g = checked(*this).layout();
  require<ShapeError>(sizes.size() >= g.sizes.size(),
                      "expand({}, size={}): the number of sizes provided ({}) must be greater or equal to the number of dimensions in the "
                      "tensor ({})",
                      sizes_text(g.sizes), sizes_text(sizes), sizes.size(), g.sizes.size());
  const std::size_t added = sizes.size() - g.sizes.size();
  Geometry out{g.offset, {}, {}};
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const std::int64_t own = i < added ? 1 : g.sizes[i - added];
    std::int64_t wanted = sizes[i];
    require<ShapeError>(wanted >= 0 || (wanted == -1 && i >= added), "The expanded size of the tensor ({}) isn't allowed at dimension {}", wanted, i);
    if (wanted == -1) wanted = own;
    require<ShapeError>(own == wanted || own == 1,
                        "The expanded size of the tensor ({}) must match the existing size ({}) at non-singleton dimension {}.  Target sizes: {}. "
                        " Tensor sizes: {}",
                        wanted, own, i, sizes_text(sizes), sizes_text(g.sizes));
    out.sizes.push_back(wanted);
    out.strides.push_back(i < added ? (wanted == 1 && i + 1 == sizes.size() ? 1 : 0) : own == wanted ? g.strides[i - added] : 0);
  }
  return make_view(*this, std::move(out));
}

Tensor Tensor::diagonal(std::int64_t offset, std::int64_t dim1, std::int64_t dim2) const {
  Geometry g = checked(*this).layout();
  const std::size_t a = axis_of(*this, dim1), b = axis_of(*this, dim2);
  require(a != b && dim() > 1, "diagonal dimensions cannot be identical {}, {}", dim1, dim2);
  const std::int64_t length = std::max<std::int64_t>(0, offset >= 0 ? std::min(g.sizes[a], g.sizes[b] - offset) : std::min(g.sizes[a] + offset, g.sizes[b]));
  if (length > 0) g.offset += offset >= 0 ? offset * g.strides[b] : -offset * g.strides[a];
  const std::int64_t stride = g.strides[a] + g.strides[b];
  for (const std::size_t axis : {std::max(a, b), std::min(a, b)}) {
    g.sizes.erase(axis);
    g.strides.erase(axis);
  }
  g.sizes.push_back(length);
  g.strides.push_back(stride);
  return make_view(*this, std::move(g));
}

Tensor Tensor::unfold(std::int64_t dim, std::int64_t size, std::int64_t step) const {
  Geometry g = checked(*this).layout();
  const std::size_t axis = axis_of(*this, dim);
  const std::int64_t own = g.sizes.empty() ? 1 : g.sizes[axis];
  require(step > 0, "step is {} but must be > 0", step);
  require(0 <= size && size <= own, "maximum size for tensor at dimension {} is {} but size is {}", axis, own, size);
  const std::int64_t stride = g.sizes.empty() ? 1 : g.strides[axis];
  if (g.sizes.empty()) return make_view(*this, {g.offset, {size}, {1}});
  g.sizes[axis] = (own - size) / step + 1;
  g.strides[axis] *= step;
  g.sizes.push_back(size);
  g.strides.push_back(stride);
  return make_view(*this, std::move(g));
}

Tensor Tensor::as_strided(SizesView sizes, SizesView strides, std::optional<std::int64_t> storage_offset) const {
  const TensorImpl& impl = checked(*this);
  require(sizes.size() == strides.size(), "mismatch in length of strides and shape: {} and {}", sizes_text(strides), sizes_text(sizes));
  Geometry g{storage_offset.value_or(this->storage_offset()), Dims(sizes.begin(), sizes.end()), Dims(strides.begin(), strides.end())};
  const std::int64_t count = checked_numel(sizes);
  require(g.offset >= 0, "as_strided: storage_offset must not be negative: {}", g.offset);
  std::int64_t last = g.offset;
  for (std::size_t i = 0; i < g.sizes.size(); ++i) {
    require(g.strides[i] >= 0, "as_strided: Negative strides are not supported at the moment, got strides: {}", sizes_text(strides));
    std::int64_t reach = 0;
    require<ShapeError>(!__builtin_mul_overflow(std::max<std::int64_t>(g.sizes[i] - 1, 0), g.strides[i], &reach) && !__builtin_add_overflow(last, reach, &last),
                        "as_strided: sizes {} and strides {} reach past 64 bits", sizes_text(sizes), sizes_text(strides));
  }
  require(count == 0 || last < impl.storage->elements(),
          "setStorage: sizes {}, strides {}, storage offset {} are out of bounds for storage of {} elements", sizes_text(sizes), sizes_text(strides),
          g.offset, impl.storage->elements());
  return make_view(*this, std::move(g));
}

std::vector<Tensor> Tensor::split(std::int64_t size, std::int64_t dim) const {
  require_dims("split", *this);
  require(size >= 0, "split expects split_size be non-negative, but got split_size={}", size);
  const std::int64_t length = this->size(dim);
  require(size > 0 || length == 0, "split_size can only be 0 if dimension size is 0, but got dimension size of {}", length);
  std::vector<Tensor> parts;
  for (std::int64_t start = 0; start < length; start += size) parts.push_back(narrow(dim, start, std::min(size, length - start)));
  if (parts.empty()) parts.push_back(*this);
  return parts;
}

std::vector<Tensor> Tensor::chunk(std::int64_t chunks, std::int64_t dim) const {
  require_dims("chunk", *this);
  require(chunks > 0, "chunk expects `chunks` to be greater than 0, got: {}", chunks);
  const std::int64_t length = size(dim);
  return split(std::max<std::int64_t>((length + chunks - 1) / chunks, length == 0 ? 0 : 1), dim);
}

std::vector<Tensor> Tensor::unbind(std::int64_t dim) const {
  require_dims("unbind", *this);
  std::vector<Tensor> parts;
  for (std::int64_t i = 0; i < size(dim); ++i) parts.push_back(select(dim, i));
  return parts;
}

Tensor Tensor::detach() const { return make_view(*this, checked(*this).layout()); }

// ---- copies ----

// Keeps dense layouts, as PyTorch's preserve_format; a value is immutable, so a copy of a whole tensor is free until one is written.
Tensor Tensor::clone(std::source_location where) const {
  const TensorImpl& impl = checked(*this);
  if (!impl.geometry) return wrap(read(impl, location(where)));
  const Geometry& g = *impl.geometry;
  std::vector<std::uint8_t> order(g.sizes.size());
  std::iota(order.begin(), order.end(), std::uint8_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::uint8_t a, std::uint8_t b) { return g.strides[a] > g.strides[b]; });
  Geometry sorted{g.offset, {}, {}};
  std::vector<std::uint8_t> back(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    sorted.sizes.push_back(g.sizes[order[i]]);
    sorted.strides.push_back(g.strides[order[i]]);
    back[order[i]] = static_cast<std::uint8_t>(i);
  }
  if (!sorted.contiguous()) return wrap(read(impl, location(where)));
  return wrap_permuted(read(*make_view(*this, std::move(sorted)).impl(), location(where)), back);
}

Tensor Tensor::contiguous(std::source_location where) const {
  return is_contiguous() ? *this : wrap(read(checked(*this), location(where)));
}

Tensor Tensor::flip(SizesView dims, std::source_location where) const {
  std::uint64_t mask = 0;
  for (const std::int64_t dim : dims) {
    const std::uint64_t bit = std::uint64_t{1} << axis_of(*this, dim);
    require(!(mask & bit), "dim {} appears multiple times in the list of dims", dim);
    mask |= bit;
  }
  const engine::Value value = read(checked(*this), location(where));
  if (this->dim() == 0) return wrap(value);
  return wrap(engine::record(ir::Op::flip, {&value, 1}, ir::Axes{mask}, location(where)));
}

}  // namespace braze
