// Reductions and what is composed of them.
#pragma once

#include "braze/tensor.h"

namespace braze {

Tensor softmax(const In& x, std::int64_t dim);
Tensor log_softmax(const In& x, std::int64_t dim);

}  // namespace braze
