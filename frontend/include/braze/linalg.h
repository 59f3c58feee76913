// Products and linear algebra.
#pragma once

#include "braze/tensor.h"

namespace braze {

Tensor matmul(const In& a, const In& b);

}  // namespace braze
