// Elementwise functions and operators. Shapes broadcast and dtypes promote as in PyTorch; results are new tensors.
#pragma once

#include "braze/tensor.h"

namespace braze {

// One function an op of the table: exp(x), maximum(x, y), where(c, x, y).
// Integer operands of real functions (exp, sin, div, ...) become the default dtype. https://pytorch.org/docs/stable/torch.html
#define BRAZE_UNARY(name, accepts, result) Tensor name(const In& x);
#define BRAZE_BINARY(name, accepts, result, algebra) Tensor name(const In& a, const In& b);
#define BRAZE_TERNARY(name, accepts, result) Tensor name(const In& a, const In& b, const In& c);
#include "ir/ops.def"

Tensor operator+(const In& a, const In& b);
Tensor operator-(const In& a, const In& b);
Tensor operator*(const In& a, const In& b);
Tensor operator/(const In& a, const In& b);  // true division
Tensor operator%(const In& a, const In& b);  // remainder: the divisor's sign
Tensor operator==(const In& a, const In& b);
Tensor operator!=(const In& a, const In& b);
Tensor operator<(const In& a, const In& b);
Tensor operator<=(const In& a, const In& b);
Tensor operator>(const In& a, const In& b);
Tensor operator>=(const In& a, const In& b);
Tensor operator&(const In& a, const In& b);
Tensor operator|(const In& a, const In& b);
Tensor operator^(const In& a, const In& b);
Tensor operator<<(const In& a, const In& b);
Tensor operator>>(const In& a, const In& b);
Tensor operator-(const In& x);
Tensor operator~(const In& x);

Tensor square(const In& x);
Tensor relu(const In& x);

}  // namespace braze
