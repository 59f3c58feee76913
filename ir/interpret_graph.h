// What the parts of the graph interpreter share: elements as raw bits, and walks over dense arrays.
#pragma once

#include <bit>
#include <cmath>
#include <cstring>
#include <span>
#include <vector>

#include "ir/graph.h"
#include "ir/meaning.h"

namespace braze::ir {

// The rows of class routine. Scans and sort are computed here; draws and linear algebra have no second implementation to be
// compared with, and throw.
void interpret_routine(Op op, const Attributes& attributes, std::span<const HostArray* const> in, std::span<HostArray> out);

namespace host {

using Sizes = std::vector<std::int64_t>;

// Elements as raw bits, whatever their dtype.
inline std::uint64_t load(const HostArray& a, std::int64_t i) {
  const int size = size_of(a.dtype);
  std::uint64_t bits = 0;
  std::memcpy(&bits, a.data.get() + i * size, static_cast<std::size_t>(size));
  return a.dtype == DType::boolean ? bits != 0 : bits;
}

inline void put(HostArray& a, std::int64_t i, std::uint64_t bits) {
  const int size = size_of(a.dtype);
  std::memcpy(a.data.get() + i * size, &bits, static_cast<std::size_t>(size));
}

inline Sizes dense_strides(const Sizes& sizes) {
  Sizes strides(sizes.size(), 1);
  for (std::size_t i = sizes.size(); i-- > 1;) strides[i - 1] = strides[i] * sizes[i];
  return strides;
}

// Places of a dense array: element (i0, i1, ...) of the walk is at offset + i0 * strides[0] + ...
struct Places {
  std::int64_t offset = 0;
  Sizes sizes, strides;
};

// Calls f(n, place) for the n-th element of the walk, row-major.
template <class F>
void walk(const Places& p, F&& f) {
  Sizes index(p.sizes.size());
  std::int64_t total = 1, place = p.offset;
  for (std::int64_t size : p.sizes) total *= size;
  for (std::int64_t n = 0; n < total; ++n) {
    f(n, place);
    for (std::size_t axis = p.sizes.size(); axis-- > 0;) {
      place += p.strides[axis];
      if (++index[axis] < p.sizes[axis]) break;
      place -= p.strides[axis] * p.sizes[axis];
      index[axis] = 0;
    }
  }
}

inline Sizes numbers(const Shape& shape) {
  Sizes sizes;
  for (Extent e : shape) sizes.push_back(e.number());
  return sizes;
}

inline Places places(const Layout& layout) { return {layout.offset.number(), numbers(layout.sizes), numbers(layout.strides)}; }

inline double as_double(DType type, std::uint64_t bits) { return std::bit_cast<double>(evaluate_cast(type, DType::f64, bits)); }
inline std::uint64_t from_double(DType type, double value) {
  return evaluate_cast(DType::f64, type, std::bit_cast<std::uint64_t>(value));
}

inline bool is_nan(DType type, std::uint64_t bits) { return is_float(type) && std::isnan(as_double(type, bits)); }

}  // namespace host
}  // namespace braze::ir
