// Values as Python's repr writes them, for the text of modules and optimizers.
#pragma once

#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "braze/scalar.h"
#include "braze/sizes.h"

namespace braze {

std::string repr(double value);  // 1.0, 0.1, 1e-05, inf
std::string repr(const Scalar& value);
std::string repr(std::string_view text);  // 'text'
inline std::string repr(const char* text) { return repr(std::string_view(text)); }
inline std::string repr(bool value) { return value ? "True" : "False"; }
inline std::string repr(std::int64_t value) { return std::to_string(value); }
std::string repr(std::span<const std::int64_t> tuple);  // (3, 3), (3,)
inline std::string repr(const Sizes& tuple) { return repr(std::span<const std::int64_t>(tuple)); }
std::string size_text(const Sizes& sizes);  // torch.Size([2, 3])
std::string dtype_text(DType dtype);        // torch.float32
// a=1, b=2, and inplace=True where so.
std::string arguments(std::initializer_list<std::pair<const char*, std::string>> named, bool inplace = false);
// Lines after the first moved by two places.
std::string indented(const std::string& text);

}  // namespace braze
