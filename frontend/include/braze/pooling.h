// Pooling by norms, and maxima put back: torch.nn.functional's. https://pytorch.org/docs/stable/nn.functional.html#pooling-functions
// Means and maxima of windows are in braze/convolution.h.
#pragma once

#include "braze/tensor.h"

namespace braze::nn::functional {

// (sum of x^p)^(1 / p) of each window; an empty stride is the kernel size.
Tensor lp_pool1d(const In& input, double norm_type, SizesView kernel_size, SizesView stride = {}, bool ceil_mode = false);
Tensor lp_pool2d(const In& input, double norm_type, SizesView kernel_size, SizesView stride = {}, bool ceil_mode = false);
Tensor lp_pool3d(const In& input, double norm_type, SizesView kernel_size, SizesView stride = {}, bool ceil_mode = false);
// What max_pool*_with_indices gave, where it stood, zeros elsewhere. The output's spatial sizes follow from the windows unless given.
Tensor max_unpool1d(const In& input, const Tensor& indices, SizesView kernel_size, SizesView stride = {}, SizesView padding = {0},
                    SizesView output_size = {});
Tensor max_unpool2d(const In& input, const Tensor& indices, SizesView kernel_size, SizesView stride = {}, SizesView padding = {0},
                    SizesView output_size = {});
Tensor max_unpool3d(const In& input, const Tensor& indices, SizesView kernel_size, SizesView stride = {}, SizesView padding = {0},
                    SizesView output_size = {});

}  // namespace braze::nn::functional
