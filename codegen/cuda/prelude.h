// The device functions that printed kernels call: whatever C++ leaves undefined or does otherwise than ir/primitive.h says
// (wrapping, shifts, division by zero, conversions out of range) and the half types, for which NVRTC has no headers. A source
// gets only what its kernels use.
#pragma once

#include <set>
#include <string>
#include <string_view>

#include "ir/dtype.h"
#include "ir/primitive.h"

namespace braze::codegen::cuda {

// How a value of the type is declared: "float", "i64", "bool".
std::string_view cpp_type(DType type);
// What a buffer of it is made of: bool's bytes are u8, as foreign memory may hold others than 0 and 1.
std::string_view memory_type(DType type);

class Prelude {
 public:
  // Both note what is used and return its name.
  std::string_view type(DType type);
  std::string_view memory(DType type);
  // "add_i32": a primitive whose operands (of type `from` for conversions) C++ would not treat alike.
  std::string call(std::string name);
  // Whether `call` knows it.
  bool has(std::string_view name) const;

  // Declarations before their users; empty when nothing is used.
  std::string text() const;

 private:
  std::set<std::string, std::less<>> used_;
};

}  // namespace braze::codegen::cuda
