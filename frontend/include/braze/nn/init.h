// Values that training starts from, drawn as PyTorch draws them, and written without a gradient. https://pytorch.org/docs/stable/nn.init.html
#pragma once

#include <optional>
#include <string_view>

#include "braze/random.h"
#include "braze/tensor.h"

namespace braze::nn::init {

// The factor by which a nonlinearity asks weights to be larger; `param` is leaky_relu's slope. Throws ValueError for an unknown one.
double calculate_gain(std::string_view nonlinearity, std::optional<double> param = {});
// How many inputs and outputs an element of the result has. Throws ValueError for fewer than two dims.
std::pair<std::int64_t, std::int64_t> calculate_fan_in_and_fan_out(const Tensor& tensor);

Tensor uniform_(Tensor tensor, double a = 0, double b = 1, Generator* generator = nullptr);
Tensor normal_(Tensor tensor, double mean = 0, double std = 1, Generator* generator = nullptr);
// Normally distributed between a and b.
Tensor trunc_normal_(Tensor tensor, double mean = 0, double std = 1, double a = -2, double b = 2, Generator* generator = nullptr);
Tensor constant_(Tensor tensor, Scalar value);
Tensor ones_(Tensor tensor);
Tensor zeros_(Tensor tensor);
Tensor eye_(Tensor tensor);  // a matrix
// The weights of a convolution that gives its input back, as far as there are channels.
Tensor dirac_(Tensor tensor, std::int64_t groups = 1);
// Bounds that keep the variance of both directions. Glorot and Bengio, 2010
Tensor xavier_uniform_(Tensor tensor, double gain = 1, Generator* generator = nullptr);
Tensor xavier_normal_(Tensor tensor, double gain = 1, Generator* generator = nullptr);
// Bounds that keep the variance through rectifiers; `mode` is "fan_in" or "fan_out". He et al., 2015
Tensor kaiming_uniform_(Tensor tensor, double a = 0, std::string_view mode = "fan_in", std::string_view nonlinearity = "leaky_relu",
                        Generator* generator = nullptr);
Tensor kaiming_normal_(Tensor tensor, double a = 0, std::string_view mode = "fan_in", std::string_view nonlinearity = "leaky_relu",
                       Generator* generator = nullptr);
// An orthogonal matrix, times gain; further dims count as columns.
Tensor orthogonal_(Tensor tensor, double gain = 1, Generator* generator = nullptr);
// Normally distributed, with that fraction of each column zero.
Tensor sparse_(Tensor tensor, double sparsity, double std = 0.01, Generator* generator = nullptr);

}  // namespace braze::nn::init
