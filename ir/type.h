// The type of a value: dtype and shape.
#pragma once

#include <span>
#include <string>

#include "ir/dtype.h"
#include "ir/extent.h"

namespace braze::ir {

struct Type {
  DType dtype = DType::f32;
  Shape shape;

  int rank() const { return static_cast<int>(shape.size()); }
  friend bool operator==(const Type&, const Type&) = default;
};

// "f32[2, n]", symbols by name ("s3" past the names' end).
std::string text(const Type& type, std::span<const std::string> symbol_names = {});
// "[2, 3]", as PyTorch prints a size.
std::string text(const Shape& shape, std::span<const std::string> symbol_names = {});
std::string text(Extent extent, std::span<const std::string> symbol_names = {});

}  // namespace braze::ir
