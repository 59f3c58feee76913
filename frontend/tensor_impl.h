// What a Tensor handle points to. Storage is the one mutable thing: its current value and a version. A TensorImpl is a layout on
// a storage; composing views is arithmetic on it, done at once.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <source_location>

#include "braze/tensor.h"
#include "frontend/engine/engine.h"
#include "frontend/engine/pool.h"
#include "ir/error.h"

namespace braze {

// Counted from within, pooled.
template <class T>
class Counted {
 public:
  void retain() { references_.fetch_add(1, std::memory_order_relaxed); }
  void drop() {
    if (engine::was_last(references_)) delete static_cast<T*>(this);
  }
  static void* operator new(std::size_t) { return engine::Pool<sizeof(T)>::allocate(); }
  static void operator delete(void* block) { engine::Pool<sizeof(T)>::release(block); }

 private:
  std::atomic<std::uint32_t> references_{1};
};

template <class T>
class Pointer {
 public:
  Pointer() = default;
  static Pointer adopt(T* object) {
    Pointer p;
    p.object_ = object;
    return p;
  }
  static Pointer share(T* object) {
    if (object) object->retain();
    return adopt(object);
  }
  Pointer(const Pointer& other) : object_(other.object_) {
    if (object_) object_->retain();
  }
  Pointer(Pointer&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  Pointer& operator=(Pointer other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~Pointer() {
    if (object_) object_->drop();
  }
  T* get() const { return object_; }
  T* operator->() const { return object_; }
  T& operator*() const { return *object_; }
  explicit operator bool() const { return object_ != nullptr; }

 private:
  T* object_ = nullptr;
};

struct Geometry;

// The memory behind a base tensor and its views: a dense value of `elements` elements, replaced by each write. The value's own
// shape may be any; its row-major order is what layouts address.
class Storage : public Counted<Storage> {
 public:
  Storage(engine::Value value, bool read_only);
  ~Storage();

  // The current value; while this thread traces a function, what the trace made of it.
  const engine::Value& value() const;
  DType dtype() const { return value_.type().dtype; }
  std::int64_t elements() const { return elements_; }
  std::int64_t version() const { return version_; }
  // Changes with each write, also while this thread traces a function.
  std::uint64_t generation() const;
  std::int64_t bytes() const { return elements_ * size_of(dtype()); }
  // The same memory as elements of another type, which x.view(dtype) looks at it as; reinterpreting evaluates.
  std::int64_t elements(DType type) const { return bytes() / size_of(type); }
  engine::Value value(DType type) const;
  // A write. `value` has as many bytes, and its dtype becomes the storage's; or as many as its dtype has whole elements here.
  void set(engine::Value value);
  // To `count` elements of `type` (complex ones count as such): the first ones stay, new ones are zero. Throws Error where the host shares the memory.
  void resize(std::int64_t count, DType type);
  // Where the current value is a write that failed: back to the last good version.
  void recover();
  void require_writable() const;
  bool read_only() const { return read_only_; }

  // From now on the host may read and write the memory at any moment, until `unshare` was called as often. Evaluates; where others
  // still read the memory, the storage first moves to memory of its own. Returns its start.
  void* share();
  void unshare();
  // Whether a write has to reach the memory before it returns.
  bool writes_at_once() const;
  // Such a write through a layout; `value` has its sizes.
  void write_at_once(const Geometry& geometry, const engine::Value& value);

 private:
  friend class Trace;
  void hold(const engine::Value& value);
  void let_go(const engine::Value& value);
  engine::Value completed(const engine::Value& value) const;
  engine::Value value_;
  std::int64_t elements_;
  std::int64_t version_ = 0;
  std::uint64_t birth_;  // counts traces
  std::atomic<std::int32_t> shares_{0};
  bool read_only_;
};
using StoragePointer = Pointer<Storage>;

// While one lives, this thread records a function instead of running it: a storage that existed before is read through a
// placeholder and keeps its value, whatever the function writes. Other threads see nothing of it.
class Trace {
 public:
  struct Captured {
    StoragePointer storage;
    engine::Value placeholder;  // stands for the storage's value at each call
    engine::Value current;      // what the function has made of it
    std::uint64_t writes;
    bool written() const { return !(current == placeholder); }
  };

  Trace();
  ~Trace();
  Trace(const Trace&) = delete;

  static Trace* active();
  bool existed(const Storage& storage) const { return storage.birth_ < start_; }
  Captured& captured(const Storage& storage);  // captures it at the first use
  const std::deque<Captured>& all() const { return captured_; }

 private:
  std::uint64_t start_;
  std::deque<Captured> captured_;  // references stay valid
  engine::Tracing tracing_;
  Trace* outer_;
};

using Dims = InlineVector<std::int64_t, 5>;

// Element (i0, i1, ...) lies at offset + i0 * strides[0] + ... of the storage, in elements.
struct Geometry {
  std::int64_t offset = 0;
  Dims sizes, strides;

  std::int64_t numel() const;
  bool contiguous() const;  // row-major within its own elements; true when empty
};
using GeometryRef = engine::Shared<Geometry>;

Dims contiguous_strides(std::span<const std::int64_t> sizes);

class AutogradMeta;

class TensorImpl : public Counted<TensorImpl> {
 public:
  // The whole storage, row-major.
  TensorImpl(StoragePointer storage, engine::TypeRef type) : storage(std::move(storage)), type(std::move(type)) {}
  TensorImpl(StoragePointer storage, engine::TypeRef type, GeometryRef geometry)
      : storage(std::move(storage)), type(std::move(type)), geometry(std::move(geometry)) {}

  StoragePointer storage;
  engine::TypeRef type;      // dtype and sizes, all numbers
  GeometryRef geometry;      // none: row-major from the storage's start, nearly always the whole of it
  Pointer<TensorImpl> base;  // of a view: the tensor that is no view
  bool conjugate = false;    // of a complex tensor: it shows the storage's elements conjugated
  void* host = nullptr;      // see Tensor::host_object
  // Of derivatives (frontend/autograd/tracking.h). A leaf gathers a gradient; what reads a cut tensor sees a constant.
  bool leaf = false, cut = false;
  AutogradMeta* autograd = nullptr;  // counted; absent for most

  ~TensorImpl();

  DType dtype() const { return type->dtype; }
  std::int64_t numel() const {
    std::int64_t count = 1;
    for (const ir::Extent& e : type->shape) count *= e.number();
    return count;
  }
  bool whole_storage() const { return !geometry && numel() == storage->elements(dtype()); }
  // The same elements under another layout, seen through every handle.
  void set_layout(DType dtype, Geometry g);
  Geometry layout() const;  // always spelled out
};

// ---- making tensors ----
// A new storage that holds `value`, whole and row-major.
Tensor wrap(engine::Value value);
// The same for elements of `dtype`; of a complex one `value` has a last axis of two more, real and imaginary part.
Tensor wrap(engine::Value value, DType dtype);
// A new storage that holds `value`, seen by axes permuted: axis i of the tensor is axis order[i] of the value.
Tensor wrap_permuted(engine::Value value, std::span<const std::uint8_t> order);
// Another layout on the same storage: a view of `base`, or of what that is a view of.
Tensor make_view(const Tensor& base, Geometry geometry);
// The same as elements of another type.
Tensor make_view(const Tensor& base, Geometry geometry, DType dtype);
// The same tensor for derivatives, in another layout: no view of it.
Tensor relaid(const TensorImpl& tensor, DType dtype, Geometry geometry);
// A tensor that is no view, of memory that no tensor with a gradient has.
Tensor on_storage(StoragePointer storage, DType dtype, Geometry geometry);

// The tensor that a family of methods (braze/methods/*.h) is a base of.
template <class Methods>
const Tensor& self_of(const Methods* methods) {
  return *static_cast<const Tensor*>(methods);
}
template <class Methods>
Tensor& self_of(Methods* methods) {
  return *static_cast<Tensor*>(methods);
}

// ---- access ----
// The impl, or Error when the tensor is undefined.
TensorImpl& checked(const Tensor& tensor);
// The storage's value as elements of `type`, as the tensor reads it: with its place among derivatives.
engine::Value source(const TensorImpl& tensor, DType type);
// Throws where a write through the tensor would change a leaf that requires grad, as PyTorch does.
void require_no_leaf(const TensorImpl& tensor);
// The value as one that a storage holds: not the very node that another tensor's gradients come to.
engine::Value held_apart(engine::Value value);
// A write: the storage's next value, made from source().
void set_written(TensorImpl& tensor, engine::Value value);
// The tensor's elements now, as a value of its sizes. Throws NotImplementedError for a complex tensor: whoever knows what to do with
// one calls read_as.
engine::Value read(const TensorImpl& tensor, ir::Location where);
// The same cast to `type`. Elements of a complex type are pairs of reals: the value has a last axis of two more.
engine::Value read_as(const TensorImpl& tensor, DType type, ir::Location where);
// The sizes of the value that holds elements of `type`: `sizes`, and a last axis of two for a complex type.
Dims value_sizes(DType type, std::span<const std::int64_t> sizes);
// Writes `value` (the tensor's value_sizes and dtype) through the layout. Throws Error where elements overlap or memory is read-only.
void write(TensorImpl& tensor, engine::Value value, ir::Location where);
// The same, for a number or a tensor of other sizes or dtype: broadcasts and casts first.
void write_cast(TensorImpl& tensor, const In& value, ir::Location where);
// Warns where elements of `from` lose their imaginary part as `to`, once in a process.
void warn_discards_imaginary(DType from, DType to);
// Throws where `operand` shares memory with the tensor that a write to it would change under it, as PyTorch does; the very same elements
// may be written from themselves.
void require_no_partial_overlap(const TensorImpl& target, const In& operand);
// Not even these: for a write whose places are picked.
void require_no_overlap(const TensorImpl& target, const In& operand);
// Whether these are views of the very same memory: copying the one to the other would change nothing, and PyTorch does not, even where
// elements overlap.
bool same_elements(const TensorImpl& a, const TensorImpl& b);
// Throws where write would: read-only memory, elements that overlap.
void require_writable(const TensorImpl& tensor);
// A complex tensor's layout as one of reals: a last axis of two neighbours, real and imaginary part.
Geometry pair_geometry(Geometry g);
// Elements at flat positions (i64) of the tensor's storage; of a complex tensor pairs, as read_as gives them.
engine::Value read_at(const TensorImpl& tensor, const engine::Value& positions, ir::Location where);
// Combines `values` (this dtype, value_sizes of positions' sizes) into the storage, in order. Refuses what write refuses.
void write_at(TensorImpl& tensor, const engine::Value& positions, const engine::Value& values, ir::Put::Combine combine,
              ir::Location where);

// ---- basic indexing, on a layout ----
void apply_slice(Geometry& g, std::size_t axis, const Slice& slice);
// `shown_dim` is the dim to name in the error.
void apply_select(Geometry& g, std::size_t axis, std::int64_t index, std::int64_t shown_dim);
void apply_newaxis(Geometry& g, std::size_t axis);

// ---- values ----
ir::Location location(const std::source_location& where);
engine::Value cast(const engine::Value& value, DType type, ir::Location where);
engine::Value expand(const engine::Value& value, std::span<const std::int64_t> sizes, ir::Location where);
engine::Value reshape(const engine::Value& value, std::span<const std::int64_t> sizes, ir::Location where);
engine::Value permute(const engine::Value& value, std::span<const std::uint8_t> order, ir::Location where);
// A user's scalar, as an argument of rank 0 in `type`, converted as PyTorch converts it; two of them in a complex type.
engine::Value scalar_value(Scalar scalar, DType type);
// The same for a number that a composite writes, seen by passes.
engine::Value constant_value(Scalar scalar, DType type);
ir::Literal to_literal(Scalar scalar, DType type);

ir::Type make_type(DType type, std::span<const std::int64_t> sizes);
Dims sizes_of(const ir::Type& type);
// "[2, 3]", written where a message is formatted: what is never thrown costs nothing. The sizes must live as long.
struct SizesText {
  std::span<const std::int64_t> sizes;
};
inline SizesText sizes_text(std::span<const std::int64_t> sizes) { return {sizes}; }

// A dim in [-rank, rank) as [0, rank); rank 0 allows -1 and 0. Throws IndexError in PyTorch's words.
std::int64_t wrap_dim(std::int64_t dim, std::int64_t rank);
// Sizes broadcast together. Throws ShapeError in PyTorch's words.
Dims broadcast_sizes(std::span<const std::int64_t> a, std::span<const std::int64_t> b);
// Product with overflow check; negative sizes throw.
std::int64_t checked_numel(std::span<const std::int64_t> sizes);

}  // namespace braze

template <>
struct fmt::formatter<braze::SizesText> {
  constexpr auto parse(format_parse_context& context) { return context.begin(); }
  template <class Context>
  auto format(const braze::SizesText& text, Context& context) const {
    return fmt::format_to(context.out(), "[{}]", fmt::join(text.sizes, ", "));
  }
};
