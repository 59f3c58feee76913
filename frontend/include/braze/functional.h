// torch.nn.functional.
#pragma once

#include "braze/tensor.h"

namespace braze {

// Normalises over the last `normalized_shape.size()` dims. https://pytorch.org/docs/stable/generated/torch.nn.functional.layer_norm.html
Tensor layer_norm(const In& x, SizesView normalized_shape, const Tensor& weight = {}, const Tensor& bias = {}, double eps = 1e-5);

}  // namespace braze
