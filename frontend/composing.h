// Writing composites: operands that carry the line of the composite's caller, and what the families share.
//
//   const At at(x);
//   return sum(at(exp(at(y) - at(z))), dims);
#pragma once

#include <source_location>
#include <string_view>

#include "frontend/tensor_impl.h"

namespace braze {

class At {
 public:
  explicit At(const In& caller) : where_(caller.where()) {}
  explicit At(const std::source_location& where) : where_(where) {}
  In operator()(const Tensor& tensor) const { return In(tensor, where_); }
  template <class N>
    requires std::is_arithmetic_v<N>
  In operator()(N number) const {
    return In(number, where_);
  }
  In operator()(Scalar number) const { return In(number, where_); }
  In operator()(const In& operand) const { return operand; }
  const std::source_location& where() const { return where_; }
  ir::Location location() const { return braze::location(where_); }

 private:
  std::source_location where_;
};

// The tensor of an operand that must be one.
const Tensor& require_tensor(std::string_view function, const In& x);

// Throws NotImplementedError: "kernel" not implemented for 'Bool'.
[[noreturn]] void not_implemented(std::string_view kernel, DType type);

// 0, 1, ..., n - 1 as int64.
Tensor positions(std::int64_t n, const At& at);

}  // namespace braze
