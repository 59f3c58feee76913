// Formatting tensors with fmt and std::format: fmt::format("{}", x) is x.str(). Include it after fmt, which it does not include.
#pragma once

#include <version>

#include "braze/tensor.h"

#ifdef __cpp_lib_format
#include <format>

template <>
struct std::formatter<braze::Tensor> : std::formatter<std::string> {
  template <class Context>
  auto format(const braze::Tensor& tensor, Context& context) const {
    return std::formatter<std::string>::format(tensor.str(), context);
  }
};
#endif

#ifdef FMT_VERSION
template <>
struct fmt::formatter<braze::Tensor> : fmt::formatter<fmt::string_view> {
  template <class Context>
  auto format(const braze::Tensor& tensor, Context& context) const {
    const std::string text = tensor.str();
    return fmt::formatter<fmt::string_view>::format(text, context);
  }
};
#endif
