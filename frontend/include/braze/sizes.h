// Sizes, dims and strides, as results and as parameters.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
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

// The dims that a reduction takes away: one number, a list, or none for all of them.
class DimsView {
 public:
  DimsView() = default;
  DimsView(std::nullopt_t) {}  // NOLINT
  template <std::integral T>
    requires(!std::same_as<T, bool>)
  DimsView(T dim) : one_(static_cast<std::int64_t>(dim)), kind_(Kind::one) {}                                      // NOLINT
  DimsView(std::initializer_list<std::int64_t> dims) : list_(dims.begin(), dims.size()), kind_(Kind::list) {}      // NOLINT
  DimsView(const Sizes& dims) : list_(dims), kind_(Kind::list) {}                                                  // NOLINT
  DimsView(std::span<const std::int64_t> dims) : list_(dims), kind_(Kind::list) {}                                 // NOLINT
  DimsView(SizesView dims) : list_(dims), kind_(Kind::list) {}                                                     // NOLINT
  DimsView(const std::optional<std::int64_t>& dim) : one_(dim.value_or(0)), kind_(dim ? Kind::one : Kind::all) {}  // NOLINT

  bool has_value() const { return kind_ != Kind::all; }
  bool is_one() const { return kind_ == Kind::one; }
  std::span<const std::int64_t> values() const { return is_one() ? std::span(&one_, 1) : list_; }

 private:
  enum class Kind : unsigned char { all, one, list };
  std::span<const std::int64_t> list_;
  std::int64_t one_ = 0;
  Kind kind_ = Kind::all;
};

}  // namespace braze
