// Tensor: PyTorch's names and semantics, lazily evaluated. An operation checks shapes and dtypes at the call, records itself and
// returns; printing, item(), to_vector(), data(), bool(t) and eval() are what needs values, and runs everything pending at once.
//
// A Tensor is a handle on (storage, offset, sizes, strides). Views share their base's storage: a write through any alias is
// seen by all, exactly as in PyTorch, although nothing has run yet. `=` on a named Tensor rebinds it; `=` on the result of x(...)
// writes through.
//
// Concurrent reads of one tensor, evaluation included, are safe; a write concurrent with any use is the caller's race.
// Every function throws ShapeError, TypeError, IndexError or ValueError (kinds of braze::Error) at the call, with both shapes.
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <iosfwd>
#include <memory>
#include <source_location>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "braze/device.h"
#include "braze/dtype.h"
#include "braze/error.h"
#include "braze/indexing.h"
#include "braze/memory_format.h"
#include "braze/methods/attributes.h"
#include "braze/methods/autograd.h"
#include "braze/methods/complex.h"
#include "braze/methods/elementwise.h"
#include "braze/methods/linalg.h"
#include "braze/methods/picking.h"
#include "braze/methods/random.h"
#include "braze/methods/reductions.h"
#include "braze/methods/shaping.h"
#include "braze/methods/sorting.h"
#include "braze/methods/views.h"
#include "braze/scalar.h"
#include "braze/sizes.h"

namespace braze {

class In;
class Picked;
class Tensor;
class TensorImpl;  // internal
struct Index;

template <class I>
concept basic_index =
    (std::integral<I> && !std::same_as<I, bool>) || std::same_as<I, Slice> || std::same_as<I, Ellipsis> || std::same_as<I, NewAxis>;

// max and min over a dim: `auto [values, indices] = x.max(1)`.
struct ValuesAndIndices;

// The families of operations are bases, one header each under braze/methods/: x.exp(), x.sum(1), x.matmul(y).
class Tensor : public ElementwiseMethods,
               public ComplexMethods,
               public ReductionMethods,
               public SortingMethods,
               public ViewMethods,
               public ShapingMethods,
               public PickingMethods,
               public LinalgMethods,
               public RandomMethods,
               public AutogradMethods,
               public AttributeMethods {
 public:
  Tensor() = default;  // undefined: defined() is false, every use throws Error
  Tensor(const Tensor& other);
  Tensor(Tensor&& other) noexcept : impl_(std::exchange(other.impl_, nullptr)) {}
  ~Tensor() {
    if (impl_) release();
  }

  // A named tensor is rebound; what x(...) returns is written through (broadcasting `value`, casting to this dtype).
  Tensor& operator=(const Tensor& other) &;
  Tensor& operator=(Tensor&& other) & noexcept;
  void operator=(const In& value) &&;
  void operator=(const Tensor& value) &&;

  bool defined() const { return impl_ != nullptr; }

  // ---- attributes ----
  std::int64_t dim() const;
  std::int64_t ndim() const { return dim(); }
  std::int64_t size(std::int64_t dim) const;
  Sizes sizes() const;
  Sizes shape() const { return sizes(); }
  Sizes strides() const;
  std::int64_t stride(std::int64_t dim) const;
  std::int64_t storage_offset() const;
  std::int64_t numel() const;
  DType dtype() const;
  Device device() const { return {}; }
  bool is_contiguous() const;
  bool is_contiguous(MemoryFormat format) const;
  std::int64_t element_size() const;
  std::int64_t nbytes() const { return numel() * element_size(); }
  std::int64_t version() const;                    // PyTorch's _version: writes to the storage so far
  bool shares_storage(const Tensor& other) const;  // views of one base
  bool is_view() const;                            // made by a view of another tensor, which base() is; undefined for others
  Tensor base() const;
  std::int64_t storage_nbytes() const;
  const void* storage_data() const;  // the storage's first byte; as data()

  // ---- values: these evaluate ----
  // The one element, converted to T. Throws Error unless numel() == 1.
  template <class T>
  T item(std::source_location where = std::source_location::current()) const;
  double item_double(std::source_location where = std::source_location::current()) const;  // Error for an imaginary part
  std::complex<double> item_complex(std::source_location where = std::source_location::current()) const;
  std::int64_t item_int(std::source_location where = std::source_location::current()) const;
  explicit operator bool() const;
  // All elements in row-major order; T must be this dtype's C++ type (throws TypeError).
  template <class T>
  std::vector<T> to_vector() const {
    std::vector<T> out(static_cast<std::size_t>(numel()));
    copy_to(out.data(), dtype_of<T>());
    return out;
  }
  // Copies nbytes() bytes of row-major elements; `dtype` must be this tensor's.
  void copy_to(void* destination, DType dtype) const;
  // The first element in memory, strides() apart; read only, valid until the storage is written to or dies.
  const void* data() const;
  // The first element in memory, for the host to read and write at any moment while `token` lives. Meanwhile an op that reads or
  // writes the storage runs at once.
  struct Exported {
    void* data;
    std::shared_ptr<void> token;
  };
  Exported export_memory() const;
  void* data_ptr() const;  // the same, for ever
  // Runs what this value needs and returns itself.
  const Tensor& eval() const;
  bool is_evaluated() const;
  std::string str() const;  // the text that operator<< prints, as PyTorch's print
  // For debuggers: dtype, sizes, strides and what the value waits for. Never evaluates, never throws.
  std::string describe() const noexcept;
  // A stage of this value's compilation: "graph", "fused", "loops", "steps", "llvm", "assembly", "cuda". Evaluates nothing.
  std::string dump(std::string_view stage = "graph") const;

  // ---- views: nothing is copied ----
  // Numbers, slices, ellipsis and newaxis: a view.
  template <class... Indices>
    requires(sizeof...(Indices) > 0 && (basic_index<Indices> && ...))
  Tensor operator()(Indices... indices) const;
  // A tensor or bool among the indices: elements picked, a copy; on the left of `=` the elements are written.
  template <class... Indices>
    requires(!(basic_index<Indices> && ...))
  Picked operator()(const Indices&... indices) const;
  Tensor index(std::span<const Index> indices, std::source_location where = std::source_location::current()) const;
  // x[indices] = value: broadcasts; picks want a value of this dtype; of repeated elements the last write stays.
  Tensor& index_assign(std::span<const Index> indices, const In& value);
  // The same for a value of this dtype, or added: `accumulate`. https://pytorch.org/docs/stable/generated/torch.Tensor.index_put_.html
  Tensor& index_put_(std::span<const Index> indices, const In& value, bool accumulate = false);
  Tensor index_put(std::span<const Index> indices, const In& value, bool accumulate = false) const;

  // ---- conversions: itself where nothing changes ----
  Tensor to(DType dtype, std::source_location where = std::source_location::current()) const;
  Tensor to(std::optional<DType> dtype, bool copy, MemoryFormat format = MemoryFormat::preserve,
            std::source_location where = std::source_location::current()) const;
  Tensor to(const Tensor& other, std::source_location where = std::source_location::current()) const;  // other's dtype
  Tensor to(Device device) const;  // Throws DeviceError where there is nothing to run on
  Tensor cpu() const { return *this; }
  Tensor type_as(const Tensor& other, std::source_location where = std::source_location::current()) const {
    return to(other, where);
  }

  // ---- in place: through this tensor's layout into the storage ----
  Tensor& copy_(const In& source);  // broadcasts, casts to this dtype
  Tensor& fill_(const In& value);   // a number, or a tensor without dims
  Tensor& zero_(std::source_location where = std::source_location::current());
  Tensor& operator+=(const In& other);
  Tensor& operator-=(const In& other);
  Tensor& operator*=(const In& other);
  Tensor& operator/=(const In& other);
  Tensor& operator%=(const In& other) { return remainder_(other); }
  Tensor& operator&=(const In& other) { return bitwise_and_(other); }
  Tensor& operator|=(const In& other) { return bitwise_or_(other); }
  Tensor& operator^=(const In& other) { return bitwise_xor_(other); }
  Tensor& operator<<=(const In& other) { return shift_left_(other); }
  Tensor& operator>>=(const In& other) { return shift_right_(other); }

  // Internal: what the library's own files work with.
  TensorImpl* impl() const { return impl_; }
  static Tensor adopt(TensorImpl* impl);
  // Internal, for a host language: the object that stands for this tensor there, so that it is always the same one.
  void* host_object() const;
  void set_host_object(void* object) const;

 private:
  void release();
  TensorImpl* impl_ = nullptr;
};

struct ValuesAndIndices {
  Tensor values, indices;
};

// An operand: a tensor or a number, with the line where it became one. Functions and operators take `const In&`, so that every
// recorded op knows its source line.
class In {
 public:
  In(const Tensor& tensor, std::source_location where = std::source_location::current())  // NOLINT
      : tensor_(&tensor), where_(where) {}
  template <class N>
    requires std::is_arithmetic_v<N>
  In(N number, std::source_location where = std::source_location::current()) : scalar_(number), where_(where) {}  // NOLINT
  template <std::floating_point T>
  In(std::complex<T> number, std::source_location where = std::source_location::current())
      : scalar_(number), where_(where) {}                                                                              // NOLINT
  In(const Picked& picked, std::source_location where = std::source_location::current());                              // NOLINT
  In(Scalar number, std::source_location where = std::source_location::current()) : scalar_(number), where_(where) {}  // NOLINT

  bool is_scalar() const { return tensor_ == nullptr; }
  const Tensor& tensor() const { return *tensor_; }
  Scalar scalar() const { return scalar_; }
  const std::source_location& where() const { return where_; }

 private:
  const Tensor* tensor_ = nullptr;
  Scalar scalar_;
  std::source_location where_;
};

// One entry of x(...). https://numpy.org/doc/stable/user/basics.indexing.html
struct Index {
  enum class Kind : std::uint8_t { number, slice, ellipsis, newaxis, boolean, tensor } kind;
  std::int64_t number = 0;  // of a boolean: 0 or 1
  Slice range;
  // int32 or int64: positions along one dim, negative ones from the end; bool or uint8: a mask over as many dims as it has.
  Tensor tensor;

  template <class T>
    requires std::is_integral_v<T>
  Index(T n) : kind(std::same_as<T, bool> ? Kind::boolean : Kind::number), number(static_cast<std::int64_t>(n)) {}  // NOLINT
  Index(Slice s) : kind(Kind::slice), range(s) {}                                                                   // NOLINT
  Index(Ellipsis) : kind(Kind::ellipsis) {}                                                                         // NOLINT
  Index(NewAxis) : kind(Kind::newaxis) {}                                                                           // NOLINT
  Index(Tensor t) : kind(Kind::tensor), tensor(std::move(t)) {}                                                     // NOLINT
};

// What x(...) with a tensor among the indices gives: a copy of the elements when read, and a way to write them.
class Picked {
 public:
  Picked(const Tensor& base, std::vector<Index> indices) : base_(base), indices_(std::move(indices)) {}
  // The picked elements, as a tensor of their own. A mask is evaluated, for its count.
  const Tensor& value(std::source_location where = std::source_location::current()) const;
  operator const Tensor&() const { return value(); }  // NOLINT
  // Writes, broadcasting and casting; where an element is picked several times, the last write stays.
  void operator=(const In& value) const;
  void operator=(const Picked& value) const;
  void operator+=(const In& value) const;
  void operator-=(const In& value) const;
  void operator*=(const In& value) const;
  void operator/=(const In& value) const;

 private:
  Tensor base_;
  std::vector<Index> indices_;
  mutable Tensor value_;
};

inline In::In(const Picked& picked, std::source_location where) : tensor_(&picked.value(where)), where_(where) {}

template <class... Indices>
  requires(sizeof...(Indices) > 0 && (basic_index<Indices> && ...))
Tensor Tensor::operator()(Indices... indices) const {
  const Index list[] = {Index(indices)...};
  return index(list);
}

template <class... Indices>
  requires(!(basic_index<Indices> && ...))
Picked Tensor::operator()(const Indices&... indices) const {
  return Picked(*this, {Index(indices)...});
}

template <class T>
T Tensor::item(std::source_location where) const {
  if constexpr (std::is_same_v<T, std::complex<float>> || std::is_same_v<T, std::complex<double>>)
    return static_cast<T>(item_complex(where));
  else if constexpr (std::is_floating_point_v<T>)
    return static_cast<T>(item_double(where));
  else
    return static_cast<T>(item_int(where));
}

std::ostream& operator<<(std::ostream& out, const Tensor& tensor);

}  // namespace braze

// describe() for debuggers, which call C functions easily (frontend/gdb.py). The text lives until this thread's next call.
extern "C" const char* braze_describe(const braze::Tensor* tensor) noexcept;
