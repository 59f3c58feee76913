// Normalisation: torch.nn.functional's, over a batch, a sample, groups of channels or the last dims.
// https://pytorch.org/docs/stable/nn.functional.html
//
// Halves compute in float32 and round once. The variance is the biased one, of two passes.
#pragma once

#include <optional>

#include "braze/tensor.h"

namespace braze {

// Normalises over the last `normalized_shape.size()` dims. https://pytorch.org/docs/stable/generated/torch.nn.functional.layer_norm.html
Tensor layer_norm(const In& x, SizesView normalized_shape, const Tensor& weight = {}, const Tensor& bias = {}, double eps = 1e-5);
// x / sqrt(mean(x²) + eps) over the last dims; eps is the dtype's own epsilon unless given.
Tensor rms_norm(const In& x, SizesView normalized_shape, const Tensor& weight = {}, std::optional<double> eps = {});
// x is [N, C, d...], and each sample's channels are normalised in groups of neighbours.
Tensor group_norm(const In& x, std::int64_t num_groups, const Tensor& weight = {}, const Tensor& bias = {}, double eps = 1e-5);

namespace nn::functional {

// x is [N, C, d...], and each channel is normalised over the batch, or with what was learnt unless `training`. Training moves the running
// statistics, where there are any, by `momentum` towards the batch's: in place, and the variance is then the unbiased one.
Tensor batch_norm(const In& x, const Tensor& running_mean, const Tensor& running_var, const Tensor& weight = {},
                  const Tensor& bias = {}, bool training = false, double momentum = 0.1, double eps = 1e-5);
// The same of each sample's channel by itself.
Tensor instance_norm(const In& x, const Tensor& running_mean = {}, const Tensor& running_var = {}, const Tensor& weight = {},
                     const Tensor& bias = {}, bool use_input_stats = true, double momentum = 0.1, double eps = 1e-5);
// x / (k + alpha * the mean of x² over `size` neighbouring channels)^beta.
Tensor local_response_norm(const In& x, std::int64_t size, double alpha = 1e-4, double beta = 0.75, double k = 1);

using braze::layer_norm, braze::rms_norm, braze::group_norm;

}  // namespace nn::functional

}  // namespace braze
