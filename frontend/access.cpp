// Reading and writing through layouts: how a (storage, offset, sizes, strides) becomes values of pure ops, and a write the
// storage's next value.
#include <algorithm>
#include <array>
#include <numeric>

#include "frontend/autograd/tracking.h"
#include "frontend/positions.h"
#include "frontend/tensor_impl.h"

namespace braze {

namespace {

using AxisOrder = InlineVector<std::uint8_t, 8>;

// Axes that repeat elements, and the rest with strides falling: how the storage itself would list the elements.
struct Decomposition {
  AxisOrder axes;   // non-repeating axes of the layout, by falling stride
  Geometry stored;  // of those axes
  bool repeats = false;
};

Decomposition decompose(const Geometry& g) {
  Decomposition d;
  for (std::size_t i = 0; i < g.sizes.size(); ++i) {
    if (g.strides[i] == 0 && g.sizes[i] > 1)
      d.repeats = true;
    else
      d.axes.push_back(static_cast<std::uint8_t>(i));
  }
  // Where the order falls already, nothing moves; else axes of one element, whose strides say nothing, go first.
  const auto one = [&](std::uint8_t axis) { return g.sizes[axis] == 1; };
  const auto falls = [&](std::uint8_t a, std::uint8_t b) { return g.strides[a] > g.strides[b]; };
  AxisOrder moving;
  for (const std::uint8_t axis : d.axes)
    if (!one(axis)) moving.push_back(axis);
  if (!std::is_sorted(moving.begin(), moving.end(), falls)) {
    std::stable_sort(moving.begin(), moving.end(), falls);
    AxisOrder sorted;
    for (const std::uint8_t axis : d.axes)
      if (one(axis)) sorted.push_back(axis);
    for (const std::uint8_t axis : moving) sorted.push_back(axis);
    d.axes = sorted;
  }
  d.stored.offset = g.offset;
  for (const std::uint8_t axis : d.axes) {
    d.stored.sizes.push_back(g.sizes[axis]);
    d.stored.strides.push_back(g.strides[axis]);
  }
  return d;
}

ir::Layout to_layout(const Geometry& g) {
  ir::Layout layout;
  layout.offset = g.offset;
  for (std::size_t i = 0; i < g.sizes.size(); ++i) {
    layout.sizes.push_back(g.sizes[i]);
    layout.strides.push_back(g.strides[i]);
  }
  return layout;
}

// A run of neighbouring elements needs no strides.
ir::Layout run_layout(std::int64_t offset, std::int64_t count) { return {offset, {count}, {1}}; }

engine::Value read_stored(const engine::Value& value, std::int64_t elements, const Geometry& g, ir::Location where) {
  const std::int64_t count = g.numel();
  if (g.contiguous()) {
    if (count == elements) return reshape(value, g.sizes, where);
    const engine::Value run = engine::record(ir::Op::view, {&value, 1}, run_layout(g.offset, count), where);
    return reshape(run, g.sizes, where);
  }
  return engine::record(ir::Op::view, {&value, 1}, to_layout(g), where);
}

// Undoes the sort: axis i of the result is the position of axis i among `axes`.
AxisOrder inverse(const AxisOrder& axes, std::size_t rank) {
  AxisOrder out(rank);
  for (std::size_t i = 0; i < axes.size(); ++i) out[axes[i]] = static_cast<std::uint8_t>(i);
  return out;
}

// Whether the elements fill a stretch of memory, in whatever order of axes.
bool is_dense(const Geometry& g) {
  AxisOrder axes;
  for (std::size_t i = 0; i < g.sizes.size(); ++i)
    if (g.sizes[i] != 1) axes.push_back(static_cast<std::uint8_t>(i));
  std::sort(axes.begin(), axes.end(), [&](std::uint8_t a, std::uint8_t b) { return g.strides[a] < g.strides[b]; });
  std::int64_t step = 1;
  for (const std::uint8_t axis : axes) {
    if (g.strides[axis] != step) return false;
    step *= g.sizes[axis];
  }
  return true;
}

}  // namespace

bool overlaps_itself(const Geometry& g) {
  if (g.numel() <= 1) return false;
  std::vector<std::pair<std::int64_t, std::int64_t>> axes;  // |stride|, size
  for (std::size_t i = 0; i < g.sizes.size(); ++i)
    if (g.sizes[i] > 1) axes.emplace_back(std::abs(g.strides[i]), g.sizes[i]);
  std::sort(axes.begin(), axes.end());
  std::int64_t reach = 0;
  bool nests = true;
  for (const auto& [stride, size] : axes) {
    if (stride == 0) return true;
    nests &= stride > reach;
    reach += stride * (size - 1);
  }
  if (nests) return false;
  std::vector<bool> seen(static_cast<std::size_t>(reach) + 1);
  std::vector<std::int64_t> index(axes.size(), 0);
  std::int64_t at = 0;
  for (;;) {
    if (seen[static_cast<std::size_t>(at)]) return true;
    seen[static_cast<std::size_t>(at)] = true;
    std::size_t axis = 0;
    for (; axis < axes.size(); ++axis) {
      at += axes[axis].first;
      if (++index[axis] < axes[axis].second) break;
      at -= axes[axis].first * axes[axis].second;
      index[axis] = 0;
    }
    if (axis == axes.size()) return false;
  }
}

Geometry pair_geometry(Geometry g) {
  g.offset *= 2;
  for (std::int64_t& stride : g.strides) stride *= 2;
  g.sizes.push_back(2);
  g.strides.push_back(1);
  return g;
}

TensorImpl& checked(const Tensor& tensor) {
  if (!tensor.defined()) [[unlikely]]
    fail("an undefined tensor (default-constructed) has no value");
  return *tensor.impl();
}

engine::Value read_through(const engine::Value& value, std::int64_t elements, const Geometry& g, ir::Location where) {
  const Decomposition d = decompose(g);
  const engine::Value stored = read_stored(value, elements, d.stored, where);
  if (!d.repeats) return permute(stored, inverse(d.axes, g.sizes.size()), where);
  // The axes that are left, in the layout's order, then one element for each that repeats, then the repetition.
  AxisOrder kept = d.axes;
  std::sort(kept.begin(), kept.end());
  AxisOrder order;
  Dims with_ones(g.sizes.size(), 1);
  for (const std::uint8_t axis : kept) {
    order.push_back(static_cast<std::uint8_t>(std::find(d.axes.begin(), d.axes.end(), axis) - d.axes.begin()));
    with_ones[axis] = g.sizes[axis];
  }
  return expand(reshape(permute(stored, order, where), with_ones, where), g.sizes, where);
}

engine::Value read(const TensorImpl& tensor, ir::Location where) {
  if (const AutogradMeta* meta = tensor.autograd ? elements_of(tensor) : nullptr; meta && !is_complex(tensor.dtype())) [[unlikely]]
    return spread(*meta, tensor.dtype(), where);
  if (!tensor.geometry) {
    const bool plain = !tensor.leaf && !tensor.cut && !tensor.base;
    engine::Value value = plain ? tensor.storage->value() : source(tensor, tensor.dtype());
    if (value.type_ref() == tensor.type || value.type() == *tensor.type) return value;
    if (value.type().dtype == tensor.dtype() && tensor.whole_storage())
      return engine::record_to_shape(ir::Op::reshape, value, tensor.type, where);
  }
  require<NotImplementedError>(!is_complex(tensor.dtype()), "this operation is not implemented for '{}'",
                               info(tensor.dtype()).scalar_name);
  const Geometry& g = tensor.geometry ? *tensor.geometry : tensor.layout();
  const DType type = tensor.dtype();
  return read_through(source(tensor, type), tensor.storage->elements(type), g, where);
}

namespace {

void require_each_once(const TensorImpl& tensor) {
  if (!tensor.geometry) return;
  const Geometry& g = *tensor.geometry;
  require(
      !overlaps_itself(g),
      "unsupported operation: more than one element of the written-to tensor refers to a single memory location (sizes {}, strides "
      "{}). Please clone() the tensor before performing the operation.",
      sizes_text(g.sizes), sizes_text(g.strides));
}

}  // namespace

void require_writable(const TensorImpl& tensor) {
  require_no_leaf(tensor);
  tensor.storage->require_writable();
  require_each_once(tensor);
}

namespace {

// Whether a written value was made from the one before it.
enum class Written : std::uint8_t { from_before, anew };

// All of a storage, anew. A value that may fail is recorded as a store, whose first operand is the version to go back to.
void replace(TensorImpl& tensor, engine::Value value, Written how, ir::Location where) {
  Storage& storage = *tensor.storage;
  if (!value->may_fault || value->evaluated() || storage.writes_at_once()) {
    if (how == Written::anew) value = written_over(tensor, std::move(value));
    return set_written(tensor, std::move(value));
  }
  const std::int64_t flat[] = {storage.elements(tensor.dtype())};
  const engine::Value operands[] = {source(tensor, tensor.dtype()), reshape(value, flat, where)};
  set_written(tensor, engine::record(ir::Op::store, operands, run_layout(0, flat[0]), where));
}

// A complex tensor's memory as reals, conjugated or not.
Tensor stored_pairs(const TensorImpl& tensor) {
  return relaid(tensor, component_type(tensor.dtype()), pair_geometry(tensor.layout()));
}

engine::Value conjugated(const engine::Value& pairs, ir::Location where) {
  const engine::Value sign = constant_value(std::complex<double>(1, -1), complex_type(pairs.type().dtype));
  const engine::Value operands[] = {pairs, expand(sign, sizes_of(pairs.type()), where)};
  return engine::record(ir::Op::mul, operands, where);
}

engine::Value read_pairs(const TensorImpl& tensor, ir::Location where) {
  const AutogradMeta* own = elements_of(tensor);
  const engine::Value pairs = own ? spread(*own, tensor.dtype(), where) : read(*stored_pairs(tensor).impl(), where);
  return tensor.conjugate ? conjugated(pairs, where) : pairs;
}

// One part of all elements of a value of pairs.
engine::Value part(const engine::Value& pairs, std::int64_t number, ir::Location where) {
  Dims sizes = sizes_of(pairs.type());
  sizes.pop_back();
  const std::int64_t count = Geometry{0, sizes, {}}.numel();
  return reshape(engine::record(ir::Op::view, {&pairs, 1}, ir::Layout{number, {count}, {2}}, where), sizes, where);
}

// Places of complex elements as places of their parts.
engine::Value pair_positions(const engine::Value& positions, ir::Location where) {
  Dims sizes = sizes_of(positions.type());
  const engine::Value doubled[] = {positions, positions};
  sizes.push_back(1);
  const engine::Value start = reshape(engine::record(ir::Op::add, doubled, where), sizes, where);
  sizes.back() = 2;
  const engine::Value terms[] = {expand(start, sizes, where),
                                 expand(engine::record(ir::Op::iota, {}, ir::ToShape{{2}}, where), sizes, where)};
  return engine::record(ir::Op::add, terms, where);
}

}  // namespace

engine::Value read_as(const TensorImpl& tensor, DType type, ir::Location where) {
  if (!is_complex(tensor.dtype())) {
    const engine::Value reals = cast(read(tensor, where), component_type(type), where);
    if (!is_complex(type)) return reals;
    Dims sizes = sizes_of(reals.type());
    ir::Padding padding;
    for (const std::int64_t size : sizes) {
      padding.low.push_back(std::int64_t{0});
      padding.high.push_back(std::int64_t{0});
      padding.sizes.push_back(size);
    }
    padding.low.push_back(std::int64_t{0});
    padding.high.push_back(std::int64_t{1});
    padding.sizes.push_back(std::int64_t{2});
    sizes.push_back(1);
    const engine::Value operands[] = {reshape(reals, sizes, where), engine::constant(to_literal(0, reals.type().dtype))};
    return engine::record(ir::Op::pad, operands, std::move(padding), where);
  }
  const engine::Value pairs = read_pairs(tensor, where);
  if (is_complex(type)) return cast(pairs, component_type(type), where);
  if (type != DType::boolean) return cast(part(pairs, 0, where), type, where);
  const engine::Value truths[] = {cast(part(pairs, 0, where), type, where), cast(part(pairs, 1, where), type, where)};
  return engine::record(ir::Op::logical_or, truths, where);
}

namespace {

void write(TensorImpl& tensor, engine::Value value, Written how, ir::Location where) {
  require_writable(tensor);
  if (is_complex(tensor.dtype())) {
    const Tensor reals = stored_pairs(tensor);
    write(*reals.impl(), tensor.conjugate ? conjugated(value, where) : std::move(value), how, where);
    tensor.cut = reals.impl()->cut;
    return;
  }
  Storage& storage = *tensor.storage;
  if (tensor.whole_storage()) return replace(tensor, std::move(value), how, where);
  const Geometry& g = tensor.geometry ? *tensor.geometry : tensor.layout();
  if (g.numel() == 0) return;
  if (storage.writes_at_once()) return storage.write_at_once(g, value);
  const Decomposition d = decompose(g);
  value = permute(value, d.axes, where);
  if (d.stored.contiguous() && d.stored.numel() == storage.elements(tensor.dtype()))
    return replace(tensor, std::move(value), how, where);
  ir::Layout layout = to_layout(d.stored);
  if (d.stored.contiguous()) {
    layout = run_layout(g.offset, g.numel());
    const std::int64_t flat[] = {g.numel()};
    value = reshape(value, flat, where);
  }
  // A stride of 0 is structure: the kernel would be one whose lanes all store to one place. Of one element any stride is right.
  for (std::size_t axis = 0; axis < layout.sizes.size(); ++axis)
    if (layout.sizes[axis] == 1 && layout.strides[axis] == 0) layout.strides[axis] = std::int64_t{1};
  const engine::Value operands[] = {source(tensor, tensor.dtype()), std::move(value)};
  set_written(tensor, engine::record(ir::Op::store, operands, std::move(layout), where));
}

enum class Overlap : std::uint8_t { none, same, partial };

// Of dense tensors alone, as PyTorch has it: of others it does not ask.
Overlap overlap(const TensorImpl& target, const TensorImpl& source) {
  if (&source == &target) return Overlap::same;
  if (source.storage.get() != target.storage.get() || source.numel() == 0 || target.numel() == 0) return Overlap::none;
  const Geometry a = target.layout(), b = source.layout();
  if (!is_dense(a) || !is_dense(b)) return Overlap::none;
  // In bytes: two dtypes may look at one storage.
  const std::int64_t a_size = size_of(target.dtype()), b_size = size_of(source.dtype());
  const std::int64_t a_begin = a.offset * a_size, a_end = a_begin + a.numel() * a_size;
  const std::int64_t b_begin = b.offset * b_size, b_end = b_begin + b.numel() * b_size;
  if (a_begin == b_begin && a_end == b_end && a.strides == b.strides) return Overlap::same;
  return a_begin >= b_end || b_begin >= a_end ? Overlap::none : Overlap::partial;
}

[[noreturn]] void refuse_overlap() {
  fail(
      "unsupported operation: some elements of the input tensor and the written-to tensor refer to a single memory location. "
      "Please clone() the tensor before performing the operation.");
}

}  // namespace

void write(TensorImpl& tensor, engine::Value value, ir::Location where) {
  write(tensor, std::move(value), Written::from_before, where);
}

void require_no_partial_overlap(const TensorImpl& target, const In& operand) {
  if (!operand.is_scalar() && overlap(target, checked(operand.tensor())) == Overlap::partial) refuse_overlap();
}

void require_no_overlap(const TensorImpl& target, const In& operand) {
  if (!operand.is_scalar() && overlap(target, checked(operand.tensor())) != Overlap::none) refuse_overlap();
}

void write_cast(TensorImpl& tensor, const In& value, ir::Location where) {
  require_no_partial_overlap(tensor, value);
  if (!value.is_scalar()) warn_discards_imaginary(checked(value.tensor()).dtype(), tensor.dtype());
  write(tensor, fitted(value, tensor.dtype(), sizes_of(*tensor.type), where), Written::anew, where);
}

engine::Value read_at(const TensorImpl& tensor, const engine::Value& positions, ir::Location where) {
  if (is_complex(tensor.dtype())) {
    const engine::Value pairs = read_at(*stored_pairs(tensor).impl(), pair_positions(positions, where), where);
    return tensor.conjugate ? conjugated(pairs, where) : pairs;
  }
  const engine::Value operands[] = {source(tensor, tensor.dtype()), positions};
  return engine::record(ir::Op::take, operands, where);
}

void write_at(TensorImpl& tensor, const engine::Value& positions, const engine::Value& values, ir::Put::Combine combine,
              ir::Location where) {
  require_writable(tensor);
  write_at_repeated(tensor, positions, values, combine, where);
}

void write_at_repeated(TensorImpl& tensor, const engine::Value& positions, const engine::Value& values, ir::Put::Combine combine,
                       ir::Location where) {
  require_no_leaf(tensor);
  tensor.storage->require_writable();
  for (const ir::Extent& e : positions.type().shape)
    if (e.number() == 0) return;
  if (is_complex(tensor.dtype())) {
    using enum ir::Put::Combine;
    require<NotImplementedError>(combine == assign || combine == add,
                                 "reducing into a tensor of '{}' is not implemented but by sums", info(tensor.dtype()).scalar_name);
    const Tensor reals = stored_pairs(tensor);
    write_at_repeated(*reals.impl(), pair_positions(positions, where), tensor.conjugate ? conjugated(values, where) : values,
                      combine, where);
    tensor.cut = reals.impl()->cut;
    return;
  }
  const engine::Value operands[] = {source(tensor, tensor.dtype()), positions, values};
  set_written(tensor, engine::record(ir::Op::put, operands, ir::Put{combine}, where));
}

Tensor wrap(engine::Value value) {
  if (value->shared.load(std::memory_order_relaxed)) [[unlikely]]
    value = owned_value(value);
  engine::TypeRef type = value.type_ref();
  auto storage = StoragePointer::adopt(new Storage(std::move(value), false));
  return Tensor::adopt(new TensorImpl(std::move(storage), std::move(type)));
}

Tensor wrap(engine::Value value, DType dtype) {
  if (!is_complex(dtype)) return wrap(std::move(value));
  Dims sizes = sizes_of(value.type());
  sizes.pop_back();
  const Dims strides = contiguous_strides(sizes);
  return on_storage(StoragePointer::adopt(new Storage(owned_value(value), false)), dtype, {0, std::move(sizes), strides});
}

Tensor wrap_permuted(engine::Value value, std::span<const std::uint8_t> order) {
  const Dims stored = sizes_of(value.type());
  const Dims strides = contiguous_strides(stored);
  Geometry g;
  for (const std::uint8_t axis : order) {
    g.sizes.push_back(stored[axis]);
    g.strides.push_back(strides[axis]);
  }
  value = owned_value(value);
  const DType type = value.type().dtype;
  return on_storage(StoragePointer::adopt(new Storage(std::move(value), false)), type, std::move(g));
}

Tensor on_storage(StoragePointer storage, DType dtype, Geometry geometry) {
  auto* impl = new TensorImpl(std::move(storage), {});
  Tensor out = Tensor::adopt(impl);
  impl->set_layout(dtype, std::move(geometry));
  return out;
}

void TensorImpl::set_layout(DType dtype, Geometry g) {
  type = engine::TypeRef::make(make_type(dtype, g.sizes));
  const bool whole = g.offset == 0 && g.numel() == storage->elements(dtype) && g.strides == contiguous_strides(g.sizes);
  geometry = whole ? GeometryRef() : GeometryRef::make(std::move(g));
}

Tensor make_view(const Tensor& base, Geometry geometry) { return make_view(base, std::move(geometry), checked(base).dtype()); }

Tensor make_view(const Tensor& base, Geometry geometry, DType dtype) {
  TensorImpl& impl = checked(base);
  Tensor view = on_storage(impl.storage, dtype, std::move(geometry));
  view.impl()->conjugate = impl.conjugate && is_complex(dtype);
  view.impl()->base = impl.base ? impl.base : Pointer<TensorImpl>::share(&impl);
  if (impl.leaf || impl.cut || impl.autograd || impl.storage->value()->has(engine::Node::differentiable))
    track_view(*view.impl(), impl);
  return view;
}

}  // namespace braze
