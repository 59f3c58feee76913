// Sizes of windows as settings of layers: one number for all spatial dims, or one for each.
#pragma once

#include <concepts>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

#include "braze/sizes.h"

namespace braze::nn {

class Window {
 public:
  Window() = default;
  template <std::integral I>
  Window(I number) : sizes_{static_cast<std::int64_t>(number)}, one_(true) {}  // NOLINT
  Window(std::initializer_list<std::int64_t> sizes) : sizes_(sizes) {}         // NOLINT
  Window(Sizes sizes) : sizes_(std::move(sizes)) {}                            // NOLINT
  const Sizes& sizes() const { return sizes_; }
  bool empty() const { return sizes_.empty(); }
  bool is_one() const { return one_; }
  // For `rank` dims. Throws ValueError where there are neither one nor as many.
  Sizes of(std::size_t rank) const;

 private:
  Sizes sizes_;
  bool one_ = false;
};

// Or "same", "valid".
class WindowPadding : public Window {
 public:
  using Window::Window;
  WindowPadding(const char* name) : name_(name) {}             // NOLINT
  WindowPadding(std::string name) : name_(std::move(name)) {}  // NOLINT
  const std::string& name() const { return name_; }            // empty: amounts

 private:
  std::string name_;
};

}  // namespace braze::nn
