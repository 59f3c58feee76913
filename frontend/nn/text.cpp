#include "frontend/nn/text.h"

#include <fmt/format.h>

#include <cmath>

namespace braze {

std::string repr(double value) {
  if (std::isfinite(value) && value == std::trunc(value) && std::abs(value) < 1e16) return fmt::format("{:.1f}", value);
  return fmt::format("{}", value);
}

std::string repr(const Scalar& value) {
  switch (value.kind()) {
    case Scalar::Kind::boolean:
      return repr(value.to_int() != 0);
    case Scalar::Kind::integer:
      return repr(value.to_int());
    case Scalar::Kind::floating:
      return repr(value.to_double());
    case Scalar::Kind::complex:
      break;
  }
  return fmt::format("({}{:+}j)", value.to_complex().real(), value.to_complex().imag());
}

std::string repr(std::string_view text) { return fmt::format("'{}'", text); }

std::string repr(std::span<const std::int64_t> tuple) {
  return tuple.size() == 1 ? fmt::format("({},)", tuple[0]) : fmt::format("({})", fmt::join(tuple, ", "));
}

std::string size_text(const Sizes& sizes) { return fmt::format("torch.Size([{}])", fmt::join(sizes, ", ")); }

std::string dtype_text(DType dtype) { return fmt::format("torch.{}", info(dtype).torch_name); }

std::string arguments(std::initializer_list<std::pair<const char*, std::string>> named, bool inplace) {
  std::string text;
  for (const auto& [name, value] : named) text += fmt::format("{}{}={}", text.empty() ? "" : ", ", name, value);
  if (inplace) text += text.empty() ? "inplace=True" : ", inplace=True";
  return text;
}

std::string indented(const std::string& text) {
  std::string result;
  for (const char c : text) {
    result += c;
    if (c == '\n') result += "  ";
  }
  return result;
}

}  // namespace braze
