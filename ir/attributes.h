// What an op carries besides its operands. One struct a kind, one printer/parser pair a struct (ir/print.cpp, ir/parse.cpp).
// Extents may be symbols; axis numbers and permutations are structure, never symbols.
#pragma once

#include <cstdint>
#include <string_view>
#include <variant>

#include "ir/dtype.h"
#include "ir/extent.h"
#include "ir/op.h"

namespace braze::ir {

struct None {
  friend bool operator==(const None&, const None&) = default;
};

struct Parameter {
  enum class Kind : std::uint8_t {
    buffer,   // dense row-major memory
    donated,  // the same, and the Program may overwrite it: no reader is left outside
    scalar    // rank 0, passed by value
  } kind = Kind::buffer;
  std::uint32_t number = 0;  // among the graph's parameters
  DType type{};
  Shape shape;
  friend bool operator==(const Parameter&, const Parameter&) = default;
};

struct Literal {
  DType type{};
  std::uint64_t bits = 0;  // of the value in `type`, low bits first
  friend bool operator==(const Literal&, const Literal&) = default;
};

struct Cast {
  DType type{};
  friend bool operator==(const Cast&, const Cast&) = default;
};

struct ToShape {  // iota, reshape, expand: the result's shape
  Shape shape;
  friend bool operator==(const ToShape&, const ToShape&) = default;
};

// Element (i0, i1, ...) lies at offset + i0 * strides[0] + i1 * strides[1] + ... of the dense operand's row-major elements.
struct Layout {
  Extent offset;
  Shape sizes, strides;
  friend bool operator==(const Layout&, const Layout&) = default;
};

struct Permutation {  // result axis i is operand axis order[i]
  InlineVector<std::uint8_t, 8> order;
  friend bool operator==(const Permutation&, const Permutation&) = default;
};

struct Slice {  // one entry an axis; `sizes` is the result's shape
  Shape starts, sizes, steps;
  friend bool operator==(const Slice&, const Slice&) = default;
};

struct Axes {
  std::uint64_t mask = 0;
  friend bool operator==(const Axes&, const Axes&) = default;
};

// Axes that a reduction removes. The order of combination follows from the operand's dense row-major shape and dtype alone
// (ir/reduce_order.h): the recorder hands over the operand in its storage order.
struct Reduced {
  std::uint64_t mask = 0;
  friend bool operator==(const Reduced&, const Reduced&) = default;
};

struct Padding {  // >= 0 each; `sizes` is the result's shape
  Shape low, high, sizes;
  friend bool operator==(const Padding&, const Padding&) = default;
};

// How `dot` adds the products of one element. The recorder chooses by the sizes and strides of the operands, which are the same however
// much of a program is one graph; a graph's own extents may hide that a size is 1.
struct Dot {
  enum class Order : std::uint8_t {
    blocked,  // as matrix products do: along k, in blocks
    inner,    // as `sum` over a last axis: one row or one column, the other factor has k contiguous
    outer     // as `sum` over an axis before the last: one row or one column, the other factor has k strided
  } order = Order::blocked;
  friend bool operator==(const Dot&, const Dot&) = default;
};
inline constexpr std::string_view dot_order_names[] = {"blocked", "inner", "outer"};

struct Concat {
  std::uint32_t axis = 0;
  Extent extent;  // the result's, along `axis`
  friend bool operator==(const Concat&, const Concat&) = default;
};

struct WrapIndex {
  Extent extent;
  friend bool operator==(const WrapIndex&, const WrapIndex&) = default;
};

// How `put` joins an element with what stands in its place. Adding booleans is or; a NaN wins as maximum and minimum; halves round
// once for each element.
struct Put {
  enum class Combine : std::uint8_t { assign, add, multiply, maximum, minimum } combine = Combine::assign;
  friend bool operator==(const Put&, const Put&) = default;
};
inline constexpr std::string_view combine_names[] = {"assign", "add", "multiply", "maximum", "minimum"};

struct Scan {
  std::uint32_t axis = 0;
  friend bool operator==(const Scan&, const Scan&) = default;
};

struct Sort {
  std::uint32_t axis = 0;
  bool descending = false;
  friend bool operator==(const Sort&, const Sort&) = default;
};

// A draw from a Mersenne state, as PyTorch's CPU generator makes it (runtime/routines/random.cpp). Its operands are the state,
// u8[generator_bytes], and two parameters of dtype f64, or i64 for the kinds that range over integers; each has rank 0 or the
// result's shape.
inline constexpr std::int64_t generator_bytes = 5056;  // at::CPUGeneratorImpl's own layout
struct Draw {
  enum class Kind : std::uint8_t {
    uniform,         // [a, b)
    normal,          // mean a, standard deviation b; from sixteen elements on in blocks, as PyTorch fills contiguous memory
    normal_serial,   // the same, always one after another
    log_normal,      // of that normal
    bernoulli,       // 1 with probability a, compared with b random bits: 24 or 53
    exponential,     // rate a
    cauchy,          // median a, width b
    geometric,       // probability a
    poisson,         // rate a
    randint,         // i64: [a, b)
    randint_to_end,  // i64: [a, 2^63 - 1], all 2^64 for the least a
    random,          // i64, both unused: [0, greatest] of the dtype, for floats [0, 2^mantissa]
    permutation      // i64, both unused: of 0 ... n - 1
  } kind = Kind::uniform;
  DType type{};
  Shape shape;
  constexpr bool integral() const { return kind >= Kind::randint; }
  friend bool operator==(const Draw&, const Draw&) = default;
};
inline constexpr std::string_view draw_names[] = {"uniform",        "normal", "normal_serial", "log_normal", "bernoulli",
                                                  "exponential",    "cauchy", "geometric",     "poisson",    "randint",
                                                  "randint_to_end", "random", "permutation"};

// The PyTorch function that a failed factorization names in its error; none: `info` tells, and nothing fails.
enum class Checked : std::uint8_t { none, cholesky, lu_factor, solve, inv };
inline constexpr std::string_view checked_names[] = {"none", "cholesky", "lu_factor", "solve", "inv"};

struct Cholesky {
  Checked check = Checked::none;
  friend bool operator==(const Cholesky&, const Cholesky&) = default;
};
struct LuFactor {
  Extent rank;  // the lesser of rows and columns
  Checked check = Checked::none;
  friend bool operator==(const LuFactor&, const LuFactor&) = default;
};
struct LuSolve {
  bool transposed = false;  // solves a^T x = b
  friend bool operator==(const LuSolve&, const LuSolve&) = default;
};
struct SolveTriangular {  // left: a x = b, else x a = b; unit: the diagonal counts as 1 and is not read
  bool upper = false, left = true, unit = false;
  friend bool operator==(const SolveTriangular&, const SolveTriangular&) = default;
};
struct Factor {
  Extent rank;        // the lesser of rows and columns
  bool full = false;  // square orthogonal factors; else `rank` columns (of v: rows)
  friend bool operator==(const Factor&, const Factor&) = default;
};
struct Eigh {
  bool upper = false;
  friend bool operator==(const Eigh&, const Eigh&) = default;
};

// clang-format off
using Attributes = std::variant<
  None, Parameter, Literal, Cast, ToShape, Layout, Permutation, Slice, Axes, Reduced, Padding, Dot, Concat, WrapIndex, Put, Scan,
  Sort, Draw, Cholesky, LuFactor, LuSolve, SolveTriangular, Factor, Eigh>;
// clang-format on

// Calls f(extent) for each extent that the attributes hold; f may take it by reference and change it.
template <class A, class F>
void for_each_extent(A& attributes, F&& f) {
  const auto each = [&f](auto& shape) {
    for (auto& extent : shape) f(extent);
  };
  if (auto* parameter = std::get_if<Parameter>(&attributes)) each(parameter->shape);
  if (auto* to = std::get_if<ToShape>(&attributes)) each(to->shape);
  if (auto* concat = std::get_if<Concat>(&attributes)) f(concat->extent);
  if (auto* wrap = std::get_if<WrapIndex>(&attributes)) f(wrap->extent);
  if (auto* draw = std::get_if<Draw>(&attributes)) each(draw->shape);
  if (auto* lu = std::get_if<LuFactor>(&attributes)) f(lu->rank);
  if (auto* factor = std::get_if<Factor>(&attributes)) f(factor->rank);
  if (auto* layout = std::get_if<Layout>(&attributes)) f(layout->offset), each(layout->sizes), each(layout->strides);
  if (auto* slice = std::get_if<Slice>(&attributes)) each(slice->starts), each(slice->sizes), each(slice->steps);
  if (auto* padding = std::get_if<Padding>(&attributes)) each(padding->low), each(padding->high), each(padding->sizes);
}

constexpr AttributeKind kind(const Attributes& a) { return static_cast<AttributeKind>(a.index()); }

}  // namespace braze::ir
