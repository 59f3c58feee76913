// The names that derivatives go by: PyTorch's, for what prints as grad_fn=<MulBackward0>. An op of the table has the name of its own;
// a function that is composed of several names itself by a scope at its top:
//
//   Tensor mean(...) {
//     const GradientScope scope(GradientName::MeanBackward0);
#pragma once

#include <cstdint>
#include <string>

#include "frontend/engine/engine.h"

namespace braze {

enum class GradientName : std::uint8_t {
#define BRAZE_GRADIENT(name) name,
#include "frontend/autograd/names.def"
};

class GradientScope {
 public:
  explicit GradientScope(GradientName name) : scope_(static_cast<std::uint8_t>(name)) {}

 private:
  engine::FunctionScope scope_;
};

// "MulBackward0"
std::string gradient_name(const engine::Node& node);

}  // namespace braze
