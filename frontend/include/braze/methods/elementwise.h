// Elementwise methods of Tensor: what braze/elementwise.h has as functions, and the in-place forms.
#pragma once

#include <cstdint>
#include <optional>
#include <source_location>

#include "braze/scalar.h"
#include "braze/sizes.h"

namespace braze {

class In;
class Tensor;

class ElementwiseMethods {
 public:
  // One method an op of the table: x.exp(), x.maximum(y), x.exp_().
#define BRAZE_UNARY(name, accepts, result)                                         \
  Tensor name(std::source_location where = std::source_location::current()) const; \
  Tensor& name##_(std::source_location where = std::source_location::current());
#define BRAZE_BINARY(name, accepts, result, algebra) \
  Tensor name(const In& other) const;                \
  Tensor& name##_(const In& other);
#include "ir/ops.def"
  Tensor square(std::source_location where = std::source_location::current()) const;
  Tensor relu(std::source_location where = std::source_location::current()) const;
  Tensor clamp(std::optional<Scalar> min, std::optional<Scalar> max = {},
               std::source_location where = std::source_location::current()) const;
  Tensor masked_fill(const Tensor& mask, Scalar value, std::source_location where = std::source_location::current()) const;

 protected:
  ~ElementwiseMethods() = default;  // a base of Tensor, never used alone
};

}  // namespace braze
