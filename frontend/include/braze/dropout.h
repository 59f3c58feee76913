// Dropout and its kin, drawn as PyTorch draws them. https://pytorch.org/docs/stable/nn.functional.html#dropout-functions
//
// The input itself unless `training`. A p outside [0, 1] throws ValueError.
#pragma once

#include "braze/tensor.h"

namespace braze::nn::functional {

// Each element 0 with probability p, else x / (1 - p).
Tensor dropout(const In& x, double p = 0.5, bool training = true);
// Whole channels: x is [N, C, d...], or [C, d...] with as many dims as the name says.
Tensor dropout1d(const In& x, double p = 0.5, bool training = true);
Tensor dropout2d(const In& x, double p = 0.5, bool training = true);
Tensor dropout3d(const In& x, double p = 0.5, bool training = true);
// What is dropped gets selu's limit, and all is scaled so that mean and variance stay.
Tensor alpha_dropout(const In& x, double p = 0.5, bool training = false);
Tensor feature_alpha_dropout(const In& x, double p = 0.5, bool training = false);  // whole channels

using Line = std::source_location;
Tensor& dropout_(Tensor& x, double p = 0.5, bool training = true, Line where = Line::current());

}  // namespace braze::nn::functional
