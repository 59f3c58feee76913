#include "ir/primitive.h"

namespace braze::ir {

std::optional<Primitive> primitive_from_name(std::string_view name) {
  for (std::size_t i = 0; i < std::size(primitive_table); ++i)
    if (primitive_table[i].name == name) return static_cast<Primitive>(i);
  return std::nullopt;
}

}  // namespace braze::ir
