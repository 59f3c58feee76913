#include "frontend/view_layout.h"
#include "frontend/autograd/tracking.h"

#include <algorithm>
#include <numeric>

namespace braze {

std::size_t axis_of(const Tensor& t, std::int64_t dim) { return static_cast<std::size_t>(wrap_dim(dim, t.dim())); }

Dims inferred_sizes(std::span<const std::int64_t> sizes, std::int64_t numel) {
  Dims out(sizes);
  std::int64_t known = 1, unknown = -1;
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (out[i] == -1) {
      require<ShapeError>(unknown < 0, "only one dimension can be inferred, but {} has several", sizes_text(sizes));
      unknown = static_cast<std::int64_t>(i);
    } else {
      require<ShapeError>(out[i] >= 0, "invalid shape dimension {}", out[i]);
      require<ShapeError>(!__builtin_mul_overflow(known, out[i], &known), "shape {} has more elements than 64 bits can count",
                          sizes_text(sizes));
    }
  }
  if (unknown >= 0) {
    require<ShapeError>(known != 0,
                        "cannot reshape tensor of {} elements into shape {} because the unspecified dimension size -1 can be any "
                        "value and is ambiguous",
                        numel, sizes_text(sizes));
    require<ShapeError>(numel % known == 0, "shape '{}' is invalid for input of size {}", sizes_text(sizes), numel);
    out[static_cast<std::size_t>(unknown)] = numel / known;
  } else {
    require<ShapeError>(known == numel, "shape '{}' is invalid for input of size {}", sizes_text(sizes), numel);
  }
  return out;
}

std::optional<Dims> view_strides(const Geometry& g, std::span<const std::int64_t> sizes) {
  if (g.numel() == 0) return g.sizes == Dims(sizes) ? g.strides : contiguous_strides(sizes);
  Dims out(sizes.size());
  std::ptrdiff_t to = static_cast<std::ptrdiff_t>(sizes.size()) - 1;
  std::int64_t base = g.strides.empty() ? 1 : g.strides.back(), run = 1, taken = 1;
  for (std::ptrdiff_t from = static_cast<std::ptrdiff_t>(g.sizes.size()) - 1; from >= 0; --from) {
    run *= g.sizes[static_cast<std::size_t>(from)];
    const bool ends = from == 0 || (g.sizes[static_cast<std::size_t>(from - 1)] != 1 &&
                                    g.strides[static_cast<std::size_t>(from - 1)] != run * base);
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

std::uint64_t dims_mask(SizesView dims, std::int64_t rank) {
  std::uint64_t mask = 0;
  for (const std::int64_t dim : dims) {
    const std::int64_t axis = wrap_dim(dim, rank);
    require(!(mask >> axis & 1), "dim {} appears multiple times in the list of dims", axis);
    mask |= std::uint64_t{1} << axis;
  }
  return mask;
}

namespace {

// Strides of `sizes` where axes from slowest to fastest are `order`.
Dims strides_in_order(std::span<const std::int64_t> sizes, std::span<const std::uint8_t> order) {
  Dims strides(sizes.size());
  std::int64_t step = 1;
  for (std::size_t i = order.size(); i-- > 0;) {
    strides[order[i]] = step;
    step *= std::max<std::int64_t>(sizes[order[i]], 1);
  }
  return strides;
}

std::span<const std::uint8_t> channels_last_order(MemoryFormat format) {
  static constexpr std::uint8_t flat[] = {0, 2, 3, 1}, deep[] = {0, 2, 3, 4, 1};
  return format == MemoryFormat::channels_last ? std::span<const std::uint8_t>(flat) : std::span<const std::uint8_t>(deep);
}

bool is_non_overlapping_and_dense(const Geometry& g) {
  if (std::find(g.sizes.begin(), g.sizes.end(), 0) != g.sizes.end()) return true;
  Dims order(g.sizes.size());
  std::iota(order.begin(), order.end(), std::int64_t{0});
  const auto stride = [&](std::int64_t axis) { return g.strides[static_cast<std::size_t>(axis)]; };
  const auto size = [&](std::int64_t axis) { return g.sizes[static_cast<std::size_t>(axis)]; };
  std::stable_sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) {
    if (size(a) < 2 || size(b) < 2) return size(a) >= 2 && size(b) < 2;
    return stride(a) < stride(b);
  });
  std::int64_t step = 1;
  for (const std::int64_t axis : order) {
    if (size(axis) < 2) return true;
    if (stride(axis) != step) return false;
    step *= size(axis);
  }
  return true;
}

Dims inferred_dense_strides(const Geometry& g) {
  const std::size_t rank = g.sizes.size();
  const auto compare = [&](std::size_t a, std::size_t b) {
    if (g.strides[a] == 0 || g.strides[b] == 0) return 0;
    if (g.strides[a] != g.strides[b]) return g.strides[a] < g.strides[b] ? -1 : 1;
    return g.sizes[a] > g.sizes[b] ? 1 : 0;
  };
  Dims strides(rank);
  std::int64_t step = 1;
  for (const std::size_t axis : fastest_first(rank, compare)) {
    strides[axis] = step;
    step *= std::max<std::int64_t>(g.sizes[axis], 1);
  }
  return strides;
}

}  // namespace

Dims format_strides(const Geometry& g, MemoryFormat format) {
  if (format == MemoryFormat::contiguous) return contiguous_strides(g.sizes);
  if (format == MemoryFormat::preserve) return is_non_overlapping_and_dense(g) ? g.strides : inferred_dense_strides(g);
  const std::span<const std::uint8_t> order = channels_last_order(format);
  require(g.sizes.size() == order.size(), "required rank {} tensor to use channels_last{} format", order.size(),
          format == MemoryFormat::channels_last ? "" : "_3d");
  return strides_in_order(g.sizes, order);
}

Tensor copy_laid_out(const Tensor& x, DType type, const Dims& strides, ir::Location where, std::uint64_t flipped) {
  if (elements_of(checked(x))) return copy_laid_out(spread(x), type, strides, where, flipped);
  const Geometry g = checked(x).layout();
  std::vector<std::size_t> order(strides.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return strides[a] > strides[b]; });
  // Permuting the layout, not the value: the elements are read as they will lie.
  Geometry slowest_first{g.offset, {}, {}};
  std::uint64_t mask = 0;
  for (const std::size_t axis : order) {
    mask |= (flipped >> axis & 1) << slowest_first.sizes.size();
    slowest_first.sizes.push_back(g.sizes[axis]);
    slowest_first.strides.push_back(g.strides[axis]);
  }
  const Tensor ordered = relaid(*x.impl(), x.dtype(), std::move(slowest_first));
  ordered.impl()->conjugate = x.impl()->conjugate;
  engine::Value value = read_as(*ordered.impl(), type, where);
  if (mask != 0) value = engine::record(ir::Op::flip, {&value, 1}, ir::Axes{mask}, where);
  value = owned_value(value);
  return on_storage(StoragePointer::adopt(new Storage(std::move(value), false)), type, {0, g.sizes, strides});
}

bool is_dense_in(const Geometry& g, MemoryFormat format) {
  if (format == MemoryFormat::contiguous || format == MemoryFormat::preserve) return g.contiguous();
  const std::span<const std::uint8_t> order = channels_last_order(format);
  if (g.sizes.size() != order.size()) return false;
  std::int64_t step = 1;
  for (std::size_t i = order.size(); i-- > 0;) {
    const std::int64_t size = g.sizes[order[i]];
    if (size == 0) return true;
    if (size != 1 && g.strides[order[i]] != step) return false;
    step *= size;
  }
  return true;
}

}  // namespace braze
