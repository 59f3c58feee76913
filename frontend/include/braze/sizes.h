// Sizes, dims and strides, as results and as parameters.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <vector>

namespace braze {

using Sizes = std::vector<std::int64_t>;
// Sizes, dims and strides as parameters: {2, 3}, a vector, or one number.
class SizesView {
 public:
  SizesView(std::initializer_list<std::int64_t> values) : view_(values.begin(), values.size()) {}  // NOLINT
  SizesView(const Sizes& values) : view_(values) {}                                                // NOLINT
  SizesView(std::span<const std::int64_t> values) : view_(values) {}                               // NOLINT
  operator std::span<const std::int64_t>() const { return view_; }                                 // NOLINT
  std::size_t size() const { return view_.size(); }
  std::int64_t operator[](std::size_t i) const { return view_[i]; }
  auto begin() const { return view_.begin(); }
  auto end() const { return view_.end(); }

 private:
  std::span<const std::int64_t> view_;
};

}  // namespace braze
