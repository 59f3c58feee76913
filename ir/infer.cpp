#include "ir/infer.h"

#include <algorithm>
#include <bit>
#include <numeric>

#include "ir/error.h"

namespace braze::ir {
namespace {

using Operands = std::span<const Type* const>;

// What a rule sees of the op at hand.
struct Site {
  Op op;
  Operands in;
  std::span<Type> out;
  Equality& equality;

  std::string shape(const Type& type) const { return text(type.shape, equality.symbol_names()); }
  std::string shape(const Shape& s) const { return text(s, equality.symbol_names()); }
  std::string extent(Extent e) const { return text(e, equality.symbol_names()); }
  bool same(Extent a, Extent b) const { return a == b || equality.equal(a, b); }
  // -1 when the shapes agree, else the first axis at which they do not; ranks are equal.
  int mismatch(const Shape& a, const Shape& b) const {
    for (std::size_t i = 0; i < a.size(); ++i)
      if (!same(a[i], b[i])) return static_cast<int>(i);
    return -1;
  }
};

// As PyTorch's messages call a dtype.
std::string_view scalar_type(DType t) {
  constexpr std::string_view names[dtype_count] = {"Bool", "Byte", "Char",     "Short", "Int",
                                                   "Long", "Half", "BFloat16", "Float", "Double"};
  return names[static_cast<int>(t)];
}

bool all_numbers(const Shape& shape) {
  for (Extent e : shape)
    if (e.is_symbol()) return false;
  return true;
}

// A shape that an op was given rather than one it derived: ranks, signs and the byte count must be sane.
void check_shape(const Site& site, DType dtype, const Shape& shape) {
  require<ShapeError>(shape.size() <= max_rank, "{}: {} dimensions, at most {} are supported", name(site.op), shape.size(),
                      max_rank);
  std::int64_t bytes = size_of(dtype);
  bool overflow = false, empty = false;
  for (Extent e : shape) {
    if (e.is_symbol()) continue;
    if (e.number() < 0) fail<ShapeError>("Trying to create tensor with negative dimension {}: {}", e.number(), site.shape(shape));
    if (e.number() == 0)
      empty = true;
    else
      overflow |= __builtin_mul_overflow(bytes, e.number(), &bytes);
  }
  if (overflow && !empty) fail<ShapeError>("Storage size calculation overflowed with sizes={}", site.shape(shape));
}

// Number of elements of a checked shape without symbols.
std::int64_t elements(const Shape& shape) {
  std::int64_t product = 1;
  for (Extent e : shape)
    if (e.number() == 0) return 0;
  for (Extent e : shape) product *= e.number();
  return product;
}

// ---- elementwise

[[noreturn]] void dtype_refused(const Site& site, DType t) {
  if (t == DType::boolean && site.op == Op::sub)
    fail(
        "Subtraction, the `-` operator, with two bool tensors is not supported. If you are trying to invert a mask, use the `~` or "
        "`logical_not()` operator instead.");
  if (t == DType::boolean && site.op == Op::neg)
    fail(
        "Negation, the `-` operator, on a bool tensor is not supported. If you are trying to invert a mask, use the `~` or "
        "`logical_not()` operator instead.");
  fail("\"{}\" not implemented for '{}'", name(site.op), scalar_type(t));
}

[[noreturn]] void shapes_differ(const Site& site, const Shape& a, const Shape& b) {
  if (a.size() == b.size()) {
    const int axis = site.mismatch(a, b);
    fail<ShapeError>(
        "The size of tensor a ({}) must match the size of tensor b ({}) at non-singleton dimension {} (shapes {} and {})",
        site.extent(a[axis]), site.extent(b[axis]), axis, site.shape(a), site.shape(b));
  }
  fail<ShapeError>("{}: the operands must have one shape, not {} and {}; expand one of them first", name(site.op), site.shape(a),
                   site.shape(b));
}

[[noreturn]] void dtypes_differ(const Site& site, DType a, DType b) {
  fail<TypeError>("{}: the operands must have one dtype, not {} and {}; cast one of them first", name(site.op), name(a), name(b));
}

// What names shapes in its message says `if ... fail` here: the texts are written only where they are needed.
void require_same_shape(const Site& site, const Shape& a, const Shape& b) {
  if (a.size() != b.size()) [[unlikely]]
    shapes_differ(site, a, b);
  const Extent *p = a.data(), *q = b.data();
  for (std::size_t i = 0; i < a.size(); ++i)
    if (p[i] != q[i] && !site.equality.equal(p[i], q[i])) [[unlikely]]
      shapes_differ(site, a, b);
}

void infer_elementwise(const Site& site) {
  const OpInfo& row = info(site.op);
  std::size_t first = 0;
  if (site.op == Op::where) {
    if (site.in[0]->dtype != DType::boolean) [[unlikely]]
      fail("where expected condition to be a boolean tensor, but got a tensor with dtype {}", scalar_type(site.in[0]->dtype));
    require_same_shape(site, site.in[1]->shape, site.in[0]->shape);
    first = 1;
  }
  const Type& a = *site.in[first];
  if (!accepts(site.op, a.dtype)) [[unlikely]]
    dtype_refused(site, a.dtype);
  for (std::size_t i = first + 1; i < site.in.size(); ++i) {
    const Type& b = *site.in[i];
    if (b.dtype != a.dtype) [[unlikely]]
      dtypes_differ(site, a.dtype, b.dtype);
    require_same_shape(site, a.shape, b.shape);
  }
  site.out[0].dtype = row.result == ResultType::boolean ? DType::boolean : a.dtype;
  site.out[0].shape = a.shape;
}

// ---- one rule for each row of BRAZE_SHAPED; a missing one does not compile

template <Op op>
struct Tag {};

void give(const Site& site, DType dtype, const Shape& shape) {
  check_shape(site, dtype, shape);
  site.out[0].dtype = dtype;
  site.out[0].shape = shape;
}

void rule(Tag<Op::parameter>, const Parameter& a, const Site& site) {
  if (!(a.kind != Parameter::Kind::scalar || a.shape.empty())) [[unlikely]]
    fail<ShapeError>("a scalar parameter has rank 0, not the shape {}", site.shape(a.shape));
  give(site, a.type, a.shape);
}

void rule(Tag<Op::constant>, const Literal& a, const Site& site) { give(site, a.type, Shape{}); }

void rule(Tag<Op::cast>, const Cast& a, const Site& site) {
  site.out[0].dtype = a.type;
  site.out[0].shape = site.in[0]->shape;
}

void rule(Tag<Op::iota>, const ToShape& a, const Site& site) {
  if (!(a.shape.size() == 1)) [[unlikely]]
    fail<ShapeError>("iota makes one dimension, not the shape {}", site.shape(a.shape));
  give(site, DType::i64, a.shape);
}

// The element counts differ for all values of the symbols. Symbols that occur on both sides cancel.
bool surely_differ(const Shape& a, const Shape& b) {
  Shape left = a, right;
  for (Extent e : b) {
    const Extent* at = std::find(left.begin(), left.end(), e);
    if (e.is_symbol() && at != left.end())
      left.erase(static_cast<std::size_t>(at - left.begin()));
    else
      right.push_back(e);
  }
  return all_numbers(left) && all_numbers(right) && elements(left) != elements(right);
}

void rule(Tag<Op::reshape>, const ToShape& a, const Site& site) {
  give(site, site.in[0]->dtype, a.shape);
  if (surely_differ(site.in[0]->shape, a.shape)) {
    if (all_numbers(site.in[0]->shape))
      fail<ShapeError>("shape '{}' is invalid for input of size {}", site.shape(a.shape), elements(site.in[0]->shape));
    fail<ShapeError>("shape '{}' is invalid for input of shape {}", site.shape(a.shape), site.shape(*site.in[0]));
  }
}

void rule(Tag<Op::expand>, const ToShape& a, const Site& site) {
  const Shape& from = site.in[0]->shape;
  if (a.shape.size() < from.size()) [[unlikely]]
    fail<ShapeError>(
        "expand(torch.{}Tensor{{{}}}, size={}): the number of sizes provided ({}) must be greater or equal to the number "
        "of dimensions in the tensor ({})",
        scalar_type(site.in[0]->dtype), site.shape(from), site.shape(a.shape), a.shape.size(), from.size());
  const std::size_t lead = a.shape.size() - from.size();
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (from[i] == Extent(1) || site.same(a.shape[lead + i], from[i])) continue;
    fail<ShapeError>(
        "The expanded size of the tensor ({}) must match the existing size ({}) at non-singleton dimension {}.  Target "
        "sizes: {}.  Tensor sizes: {}",
        site.extent(a.shape[lead + i]), site.extent(from[i]), lead + i, site.shape(a.shape), site.shape(from));
  }
  give(site, site.in[0]->dtype, a.shape);
}

// Checks that a layout's elements lie within the operand, as far as numbers tell.
void check_layout(const Site& site, const Layout& a) {
  const Type& storage = *site.in[0];
  if (!(a.sizes.size() == a.strides.size())) [[unlikely]]
    fail<ShapeError>("{}: mismatch in length of strides and shape: {} and {}", name(site.op), site.shape(a.strides),
                     site.shape(a.sizes));
  check_shape(site, storage.dtype, a.sizes);
  if (a.offset.is_symbol() || !all_numbers(a.sizes) || !all_numbers(a.strides) || !all_numbers(storage.shape)) return;
  if (elements(a.sizes) == 0) return;
  std::int64_t low = a.offset.number(), high = low, reach;
  bool overflow = false;
  for (std::size_t i = 0; i < a.sizes.size(); ++i) {
    overflow |= __builtin_mul_overflow(a.sizes[i].number() - 1, a.strides[i].number(), &reach);
    overflow |= __builtin_add_overflow(reach < 0 ? low : high, reach, reach < 0 ? &low : &high);
  }
  if (overflow || low < 0 || high >= elements(storage.shape))
    fail<ShapeError>(
        "setStorage: sizes {}, strides {}, storage offset {}, and itemsize {} requiring elements {} to {} are out of bounds "
        "for storage of size {}",
        site.shape(a.sizes), site.shape(a.strides), a.offset.number(), size_of(storage.dtype), low, high, elements(storage.shape));
}

void rule(Tag<Op::view>, const Layout& a, const Site& site) {
  check_layout(site, a);
  site.out[0].dtype = site.in[0]->dtype;
  site.out[0].shape = a.sizes;
}

void check_write(const Site& site, const Layout& a) {
  check_layout(site, a);
  const Type &storage = *site.in[0], &value = *site.in[1];
  if (value.dtype != storage.dtype) dtypes_differ(site, storage.dtype, value.dtype);
  if (!(value.shape.size() == a.sizes.size() && site.mismatch(value.shape, a.sizes) < 0)) [[unlikely]]
    fail<ShapeError>("{}: the value's shape {} must equal the layout's sizes {}", name(site.op), site.shape(value),
                     site.shape(a.sizes));
  site.out[0] = storage;
}

void rule(Tag<Op::store>, const Layout& a, const Site& site) {
  check_write(site, a);
  for (std::size_t i = 0; i < a.sizes.size(); ++i)
    if (!(a.strides[i] != Extent(0) || a.sizes[i].is_symbol() || a.sizes[i].number() <= 1)) [[unlikely]]
      fail<Error>(
          "unsupported operation: more than one element of the written-to tensor refers to a single memory location. Please "
          "clone() "
          "the tensor before performing the operation. (sizes {}, strides {})",
          site.shape(a.sizes), site.shape(a.strides));
}

void rule(Tag<Op::accumulate>, const Layout& a, const Site& site) { check_write(site, a); }

void rule(Tag<Op::permute>, const Permutation& a, const Site& site) {
  const Shape& from = site.in[0]->shape;
  require<ShapeError>(a.order.size() == from.size(),
                      "permute: number of dimensions in the tensor input does not match the length of the desired ordering "
                      "of dimensions i.e. input.dim() = {} is not equal to len(dims) = {}",
                      from.size(), a.order.size());
  std::uint64_t seen = 0;
  Shape shape;
  for (std::uint8_t axis : a.order) {
    require<IndexError>(axis < from.size(), "Dimension out of range (expected to be in range of [-{}, {}], but got {})",
                        from.size(), from.size() - 1, axis);
    require(!(seen >> axis & 1), "permute(): duplicate dims are not allowed.");
    seen |= std::uint64_t{1} << axis;
    shape.push_back(from[axis]);
  }
  site.out[0].dtype = site.in[0]->dtype;
  site.out[0].shape = shape;
}

void rule(Tag<Op::slice>, const Slice& a, const Site& site) {
  const Shape& from = site.in[0]->shape;
  if (!(a.starts.size() == from.size() && a.sizes.size() == from.size() && a.steps.size() == from.size())) [[unlikely]]
    fail<ShapeError>("slice: starts {}, sizes {} and steps {} must have one entry for each axis of {}", site.shape(a.starts),
                     site.shape(a.sizes), site.shape(a.steps), site.shape(from));
  give(site, site.in[0]->dtype, a.sizes);
  for (std::size_t i = 0; i < from.size(); ++i) {
    const Extent start = a.starts[i], size = a.sizes[i], step = a.steps[i];
    require<ValueError>(step != Extent(0), "slice step cannot be zero (dimension {})", i);
    if (start.is_symbol() || size.is_symbol() || step.is_symbol() || from[i].is_symbol() || size.number() == 0) continue;
    std::int64_t last;
    const bool overflow =
        __builtin_mul_overflow(size.number() - 1, step.number(), &last) || __builtin_add_overflow(last, start.number(), &last);
    if (overflow || start.number() < 0 || last < 0 || start.number() >= from[i].number() || last >= from[i].number())
      fail<IndexError>("slice: start {}, size {}, step {} reach outside dimension {} of shape {}", start.number(), size.number(),
                       step.number(), i, site.shape(from));
  }
}

void check_axes(const Site& site, std::uint64_t mask) {
  const int rank = site.in[0]->rank();
  if (rank == max_rank || mask >> rank == 0) return;
  const int axis = max_rank - 1 - std::countl_zero(mask);
  require<IndexError>(rank != 0, "Dimension specified as {} but tensor has no dimensions", axis);
  fail<IndexError>("Dimension out of range (expected to be in range of [{}, {}], but got {})", -rank, rank - 1, axis);
}

void rule(Tag<Op::flip>, const Axes& a, const Site& site) {
  check_axes(site, a.mask);
  site.out[0] = *site.in[0];
}

void rule(Tag<Op::pad>, const Padding& a, const Site& site) {
  const Type &x = *site.in[0], &value = *site.in[1];
  const std::size_t rank = x.shape.size();
  if (value.dtype != x.dtype) dtypes_differ(site, x.dtype, value.dtype);
  if (!(value.shape.empty())) [[unlikely]]
    fail<ShapeError>("pad: the value must have rank 0, not the shape {}", site.shape(value));
  if (!(a.low.size() == rank && a.high.size() == rank && a.sizes.size() == rank)) [[unlikely]]
    fail<ShapeError>("pad: low {}, high {} and sizes {} must have one entry for each axis of {}", site.shape(a.low),
                     site.shape(a.high), site.shape(a.sizes), site.shape(x));
  for (std::size_t i = 0; i < rank; ++i) {
    const Extent low = a.low[i], high = a.high[i], size = x.shape[i];
    if (!((low.is_symbol() || low.number() >= 0) && (high.is_symbol() || high.number() >= 0))) [[unlikely]]
      fail<ValueError>("pad: low {} and high {} must not be negative; slice instead", site.shape(a.low), site.shape(a.high));
    if (low.is_symbol() || high.is_symbol() || size.is_symbol() || a.sizes[i].is_symbol()) continue;
    std::int64_t whole;
    const bool overflow =
        __builtin_add_overflow(low.number(), size.number(), &whole) || __builtin_add_overflow(whole, high.number(), &whole);
    if (!(!overflow && whole == a.sizes[i].number())) [[unlikely]]
      fail<ShapeError>("pad: dimension {} of {} padded by {} and {} is not {}", i, site.shape(x), low.number(), high.number(),
                       a.sizes[i].number());
  }
  give(site, x.dtype, a.sizes);
}

void rule(Tag<Op::concat>, const Concat& a, const Site& site) {
  require(!site.in.empty(), "torch.cat(): expected a non-empty list of Tensors");
  const Type& first = *site.in[0];
  std::int64_t total = 0;
  bool known = a.extent.is_number(), overflow = false;
  for (std::size_t n = 0; n < site.in.size(); ++n) {
    const Type& x = *site.in[n];
    if (x.dtype != first.dtype) dtypes_differ(site, first.dtype, x.dtype);
    require<ShapeError>(!x.shape.empty(), "zero-dimensional tensor (at position {}) cannot be concatenated", n);
    if (!(x.shape.size() == first.shape.size())) [[unlikely]]
      fail<ShapeError>("Tensors must have same number of dimensions: got {} and {} (shapes {} and {})", first.rank(), x.rank(),
                       site.shape(first), site.shape(x));
    require<IndexError>(a.axis < x.shape.size(), "Dimension out of range (expected to be in range of [-{}, {}], but got {})",
                        x.rank(), x.rank() - 1, a.axis);
    for (std::size_t i = 0; i < x.shape.size(); ++i)
      if (i != a.axis && !site.same(x.shape[i], first.shape[i]))
        fail<ShapeError>(
            "Sizes of tensors must match except in dimension {}. Expected size {} but got size {} for tensor number {} in "
            "the list (shapes {} and {}).",
            a.axis, site.extent(first.shape[i]), site.extent(x.shape[i]), n, site.shape(first), site.shape(x));
    if (x.shape[a.axis].is_number())
      overflow |= __builtin_add_overflow(total, x.shape[a.axis].number(), &total);
    else
      known = false;
  }
  if (!(!overflow && (!known || total == a.extent.number()))) [[unlikely]]
    fail<ShapeError>("concat: the operands have {} along dimension {}, not {}", total, a.axis, site.extent(a.extent));
  Shape shape = first.shape;
  shape[a.axis] = a.extent;
  give(site, first.dtype, shape);
}

template <Op op>
  requires(info(op).reduction())
void rule(Tag<op>, const Reduced& a, const Site& site) {
  constexpr bool logical = op == Op::any || op == Op::all;
  constexpr bool indexed = op == Op::argmax || op == Op::argmin || info(op).results == 2;
  const Type& x = *site.in[0];
  check_axes(site, a.mask);
  if constexpr (indexed)
    require<ShapeError>(std::popcount(a.mask) == 1, "{} reduces one dimension, not {}", name(op), std::popcount(a.mask));
  Shape shape;
  for (std::size_t i = 0; i < x.shape.size(); ++i) {
    if (!(a.mask >> i & 1))
      shape.push_back(x.shape[i]);
    else if (op != Op::sum && op != Op::prod && !logical)
      if (!(x.shape[i] != Extent(0))) [[unlikely]]
        fail<IndexError>("{}(): Expected reduction dim {} to have non-zero size. (shape {})",
                         name(op).substr(0, name(op).find('_')), i, site.shape(x));
  }
  site.out[0].dtype = op == Op::sum || op == Op::prod        ? sum_type(x.dtype)
                      : logical                              ? DType::boolean
                      : op == Op::argmax || op == Op::argmin ? DType::i64
                                                             : x.dtype;
  check_shape(site, site.out[0].dtype, shape);  // an empty operand may hide extents whose product overflows
  site.out[0].shape = shape;
  if constexpr (info(op).results == 2) site.out[1] = {DType::i64, shape};
}

void rule(Tag<Op::dot>, const Dot&, const Site& site) {
  const Type &a = *site.in[0], &b = *site.in[1];
  require(a.dtype == b.dtype, "expected m1 and m2 to have the same dtype, but got: {} != {}", info(a.dtype).torch_name,
          info(b.dtype).torch_name);
  if (a.dtype == DType::boolean) dtype_refused(site, a.dtype);
  if (!(a.rank() >= 2 && b.rank() == a.rank())) [[unlikely]]
    fail<ShapeError>("dot: the operands must have one rank of at least 2, not the shapes {} and {}", site.shape(a), site.shape(b));
  const std::size_t rank = a.shape.size();
  Shape shape;
  for (std::size_t i = 0; i + 2 < rank; ++i) {
    if (!(site.same(a.shape[i], b.shape[i]))) [[unlikely]]
      fail<ShapeError>(
          "Expected size for first two dimensions of batch2 tensor to be: [{}, {}] but got: [{}, {}]. (shapes {} and {})",
          site.extent(a.shape[i]), site.extent(a.shape[rank - 1]), site.extent(b.shape[i]), site.extent(b.shape[rank - 2]),
          site.shape(a), site.shape(b));
    shape.push_back(a.shape[i]);
  }
  if (!(site.same(a.shape[rank - 1], b.shape[rank - 2]))) [[unlikely]]
    fail<ShapeError>("mat1 and mat2 shapes cannot be multiplied ({}x{} and {}x{})", site.extent(a.shape[rank - 2]),
                     site.extent(a.shape[rank - 1]), site.extent(b.shape[rank - 2]), site.extent(b.shape[rank - 1]));
  shape.push_back(a.shape[rank - 2]);
  shape.push_back(b.shape[rank - 1]);
  give(site, a.dtype, shape);
}

// ---- elements at computed places

void require_index(const Site& site, const Type& index) {
  require<IndexError>(index.dtype == DType::i64,
                      "tensors used as indices must be long, int, byte or bool tensors ({} takes i64, not {})", name(site.op),
                      name(index.dtype));
}

void rule(Tag<Op::wrap_index>, const WrapIndex& a, const Site& site) {
  require_index(site, *site.in[0]);
  if (!(a.extent.is_symbol() || a.extent.number() >= 0)) [[unlikely]]
    fail<ValueError>("wrap_index: the extent {} must not be negative", site.extent(a.extent));
  site.out[0] = *site.in[0];
}

void rule(Tag<Op::take>, const None&, const Site& site) {
  require_index(site, *site.in[1]);
  give(site, site.in[0]->dtype, site.in[1]->shape);
}

void rule(Tag<Op::put>, const Put&, const Site& site) {
  const Type &x = *site.in[0], &index = *site.in[1], &value = *site.in[2];
  require_index(site, index);
  if (value.dtype != x.dtype) dtypes_differ(site, x.dtype, value.dtype);
  require_same_shape(site, index.shape, value.shape);
  site.out[0] = x;
}

// ---- scans, sort, draws

void check_axis(const Site& site, std::uint32_t axis) {
  const int rank = site.in[0]->rank();
  if (static_cast<int>(axis) < rank) return;
  require<IndexError>(rank != 0, "Dimension specified as {} but tensor has no dimensions", axis);
  fail<IndexError>("Dimension out of range (expected to be in range of [{}, {}], but got {})", -rank, rank - 1, axis);
}

template <Op op>
void rule(Tag<op>, const Scan& a, const Site& site) {
  constexpr bool indexed = info(op).results == 2;
  const DType type = site.in[0]->dtype;
  if (op == Op::logcumsumexp ? !is_float(type) : !indexed && type == DType::boolean) dtype_refused(site, type);
  check_axis(site, a.axis);
  site.out[0] = *site.in[0];
  if constexpr (indexed) site.out[1] = {DType::i64, site.in[0]->shape};
}

void rule(Tag<Op::sort>, const Sort& a, const Site& site) {
  check_axis(site, a.axis);
  site.out[0] = *site.in[0];
  site.out[1] = {DType::i64, site.in[0]->shape};
}

void rule(Tag<Op::draw>, const Draw& a, const Site& site) {
  const Type &state = *site.in[0], &first = *site.in[1], &second = *site.in[2];
  require<TypeError>(state.dtype == DType::u8, "RNG state must be a torch.ByteTensor");
  if (!(state.shape.size() == 1 && site.same(state.shape[0], generator_bytes))) [[unlikely]]
    fail<ShapeError>("RNG state is wrong size: {}, not [{}]", site.shape(state), generator_bytes);
  const DType wanted = a.integral() ? DType::i64 : DType::f64;
  for (const Type* parameter : {&first, &second}) {
    require<TypeError>(parameter->dtype == wanted, "draw: the parameters of {} are {}, not {}",
                       draw_names[static_cast<int>(a.kind)], name(wanted), name(parameter->dtype));
    if (!parameter->shape.empty()) require_same_shape(site, a.shape, parameter->shape);
  }
  if (!(a.kind != Draw::Kind::permutation || a.shape.size() == 1)) [[unlikely]]
    fail<ShapeError>("draw: a permutation has one dimension, not the shape {}", site.shape(a.shape));
  const bool floats = a.kind == Draw::Kind::uniform || a.kind == Draw::Kind::normal || a.kind == Draw::Kind::log_normal ||
                      a.kind == Draw::Kind::exponential || a.kind == Draw::Kind::cauchy;
  require(!floats || is_float(a.type), "draw: {} gives floats, not {}", draw_names[static_cast<int>(a.kind)], name(a.type));
  give(site, a.type, a.shape);
  site.out[1] = {DType::u8, {generator_bytes}};
}

// ---- linear algebra, over the last two axes

// The operand's shape without its last `axes`.
Shape batch_of(const Type& x, std::size_t axes) {
  Shape shape;
  for (std::size_t i = 0; i + axes < x.shape.size(); ++i) shape.push_back(x.shape[i]);
  return shape;
}
Shape with(Shape shape, std::initializer_list<Extent> axes) {
  for (Extent e : axes) shape.push_back(e);
  return shape;
}

struct Matrix {
  Extent rows, columns;
  Shape batch;
};
Matrix matrix(const Site& site, std::size_t operand) {
  const Type& x = *site.in[operand];
  if (x.dtype != DType::f32 && x.dtype != DType::f64) dtype_refused(site, x.dtype);
  if (!(x.rank() >= 2)) [[unlikely]]
    fail<ShapeError>("linalg.{}: The input tensor must have at least 2 dimensions. (shape {})", name(site.op), site.shape(x));
  const std::size_t rank = x.shape.size();
  return {x.shape[rank - 2], x.shape[rank - 1], batch_of(x, 2)};
}
Matrix square(const Site& site, std::size_t operand = 0) {
  Matrix a = matrix(site, operand);
  if (!(site.same(a.rows, a.columns))) [[unlikely]]
    fail<ShapeError>("linalg.{}: A must be batches of square matrices, but they are {} by {} matrices", name(site.op),
                     site.extent(a.rows), site.extent(a.columns));
  return a;
}
void check_rank(const Site& site, const Matrix& a, Extent rank) {
  if (!(rank.is_symbol() || rank.number() >= 0)) [[unlikely]]
    fail<ShapeError>("{}: the rank {} must not be negative", name(site.op), site.extent(rank));
  if (rank.is_symbol() || a.rows.is_symbol() || a.columns.is_symbol()) return;
  require<ShapeError>(rank.number() == std::min(a.rows.number(), a.columns.number()), "{}: the rank of {} by {} matrices is not {}",
                      name(site.op), a.rows.number(), a.columns.number(), rank.number());
}
// b goes with a: one dtype, one batch.
void check_system(const Site& site, const Matrix& a, std::size_t operand, const Matrix& b) {
  const DType first = site.in[0]->dtype, second = site.in[operand]->dtype;
  if (first != second) dtypes_differ(site, first, second);
  if (!(a.batch.size() == b.batch.size() && site.mismatch(a.batch, b.batch) < 0)) [[unlikely]]
    fail<ShapeError>("{}: the batches of {} and {} must be one; expand one of them first", name(site.op), site.shape(*site.in[0]),
                     site.shape(*site.in[operand]));
}

void rule(Tag<Op::cholesky>, const Cholesky&, const Site& site) {
  const Matrix a = square(site);
  site.out[0] = *site.in[0];
  site.out[1] = {DType::i32, a.batch};
}
void rule(Tag<Op::lu_factor>, const LuFactor& l, const Site& site) {
  const Matrix a = matrix(site, 0);
  check_rank(site, a, l.rank);
  site.out[0] = *site.in[0];
  site.out[1] = {DType::i32, with(a.batch, {l.rank})};
  site.out[2] = {DType::i32, a.batch};
}
void rule(Tag<Op::lu_solve>, const LuSolve&, const Site& site) {
  const Matrix a = square(site), b = matrix(site, 2);
  const Type& pivots = *site.in[1];
  check_system(site, a, 2, b);
  require<TypeError>(pivots.dtype == DType::i32, "linalg.lu_solve: pivots should be a Tensor of scalar type torch.int32, not {}",
                     name(pivots.dtype));
  const Shape wanted = with(a.batch, {a.rows});
  if (!(pivots.shape.size() == wanted.size() && site.mismatch(pivots.shape, wanted) < 0)) [[unlikely]]
    fail<ShapeError>("linalg.lu_solve: Number of pivots per batch should be same as the dimension of the matrix (shapes {} and {})",
                     site.shape(pivots), site.shape(*site.in[0]));
  if (!(site.same(a.rows, b.rows))) [[unlikely]]
    fail<ShapeError>("linalg.lu_solve: Incompatible shapes of A and B for the equation AX = B ({}x{} and {}x{})",
                     site.extent(a.rows), site.extent(a.columns), site.extent(b.rows), site.extent(b.columns));
  site.out[0] = *site.in[2];
}
void rule(Tag<Op::solve_triangular>, const SolveTriangular& s, const Site& site) {
  const Matrix a = square(site), b = matrix(site, 1);
  check_system(site, a, 1, b);
  if (!(site.same(a.rows, s.left ? b.rows : b.columns))) [[unlikely]]
    fail<ShapeError>("linalg.solve_triangular: Incompatible shapes of A and B for the equation {} ({}x{} and {}x{})",
                     s.left ? "AX = B" : "XA = B", site.extent(a.rows), site.extent(a.columns), site.extent(b.rows),
                     site.extent(b.columns));
  site.out[0] = *site.in[1];
}
void rule(Tag<Op::qr>, const Factor& f, const Site& site) {
  const Matrix a = matrix(site, 0);
  check_rank(site, a, f.rank);
  const DType type = site.in[0]->dtype;
  const Extent inner = f.full ? a.rows : f.rank;
  site.out[0] = {type, with(a.batch, {a.rows, inner})};
  site.out[1] = {type, with(a.batch, {inner, a.columns})};
}
void rule(Tag<Op::svd>, const Factor& f, const Site& site) {
  const Matrix a = matrix(site, 0);
  check_rank(site, a, f.rank);
  const DType type = site.in[0]->dtype;
  site.out[0] = {type, with(a.batch, {a.rows, f.full ? a.rows : f.rank})};
  site.out[1] = {type, with(a.batch, {f.rank})};
  site.out[2] = {type, with(a.batch, {f.full ? a.columns : f.rank, a.columns})};
}
void rule(Tag<Op::eigh>, const Eigh&, const Site& site) {
  const Matrix a = square(site);
  site.out[0] = {site.in[0]->dtype, with(a.batch, {a.rows})};
  site.out[1] = *site.in[0];
}
void rule(Tag<Op::eig>, const None&, const Site& site) {
  const Matrix a = square(site);
  site.out[0] = site.out[1] = {site.in[0]->dtype, with(a.batch, {a.rows})};
  site.out[2] = site.out[3] = *site.in[0];
}

}  // namespace

bool Equality::equal(Extent a, Extent b) { return a == b; }
std::span<const std::string> Equality::symbol_names() const { return {}; }

void infer(Op op, const Attributes& attributes, Operands in, std::span<Type> out, Equality& equality) {
  const Site site{op, in, out, equality};
  if (arity(op) >= 0 && static_cast<std::size_t>(arity(op)) != in.size()) [[unlikely]]
    invariant(false, "{} takes {} operands, not {}", name(op), arity(op), in.size());
  if (kind(attributes) != info(op).attributes) [[unlikely]]
    invariant(false, "{} carries attributes of another op", name(op));
  switch (op) {
#define BRAZE_UNARY(name, accepts, result) case Op::name:
#define BRAZE_BINARY(name, accepts, result, algebra) case Op::name:
#define BRAZE_TERNARY(name, accepts, result) case Op::name:
#include "ir/ops.def"
    return infer_elementwise(site);
#define BRAZE_SHAPED(name, attributes_type, results) \
  case Op::name:                                     \
    return rule(Tag<Op::name>{}, std::get<attributes_type>(attributes), site);
#define BRAZE_ROUTINE(name, attributes_type, results) BRAZE_SHAPED(name, attributes_type, results)
#include "ir/ops.def"
  }
}

void infer(Op op, const Attributes& attributes, Operands in, std::span<Type> out) {
  static Equality by_value;
  infer(op, attributes, in, out, by_value);
}

}  // namespace braze::ir
