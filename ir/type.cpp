#include "ir/type.h"

#include <fmt/format.h>

namespace braze::ir {
namespace {

void append(std::string& out, Extent extent, std::span<const std::string> symbol_names) {
  if (extent.is_number())
    fmt::format_to(std::back_inserter(out), "{}", extent.number());
  else if (extent.symbol() < symbol_names.size())
    out += symbol_names[extent.symbol()];
  else
    fmt::format_to(std::back_inserter(out), "s{}", extent.symbol());
}

void append(std::string& out, const Shape& shape, std::span<const std::string> symbol_names) {
  out += '[';
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (i != 0) out += ", ";
    append(out, shape[i], symbol_names);
  }
  out += ']';
}

}  // namespace

std::string text(Extent extent, std::span<const std::string> symbol_names) {
  std::string out;
  append(out, extent, symbol_names);
  return out;
}

std::string text(const Shape& shape, std::span<const std::string> symbol_names) {
  std::string out;
  append(out, shape, symbol_names);
  return out;
}

std::string text(const Type& type, std::span<const std::string> symbol_names) {
  std::string out(name(type.dtype));
  append(out, type.shape, symbol_names);
  return out;
}

}  // namespace braze::ir
