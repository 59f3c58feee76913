#include "ir/builder.h"

namespace braze::ir::formula {

Expr places(const Shape& target, const Shape& shape, std::size_t axis, const Expr& index) {
  Builder& b = index.builder();
  Expr place;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    Expr digit = i == axis ? index : index_along(b, shape, i);
    if (place) digit = place * expand(extent_value(b, target[i]), shape) + digit;
    place = digit;
  }
  return place;
}

}  // namespace braze::ir::formula
