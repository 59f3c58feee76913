// torch.nn.functional: activations. https://pytorch.org/docs/stable/nn.functional.html
//
//  * Floating tensors only, where nothing else is said: others throw NotImplementedError. relu, relu6, hardtanh and threshold take
//    integers too; softsign and tanhshrink make them floats.
//  * Halves compute in float32 and round once.
//  * f_(x) is f in place and returns x.
#pragma once

#include "braze/tensor.h"

namespace braze {

// Normalises over the last `normalized_shape.size()` dims. https://pytorch.org/docs/stable/generated/torch.nn.functional.layer_norm.html
Tensor layer_norm(const In& x, SizesView normalized_shape, const Tensor& weight = {}, const Tensor& bias = {}, double eps = 1e-5);

namespace nn::functional {

// `approximate`: "none" (by erf) or "tanh".
Tensor gelu(const In& x, std::string_view approximate = "none");
Tensor silu(const In& x);  // x sigmoid(x)
Tensor mish(const In& x);  // x tanh(softplus(x))
Tensor softplus(const In& x, double beta = 1,
                double threshold = 20);  // log(1 + e^(beta x)) / beta; x itself where beta x > threshold
Tensor elu(const In& x, double alpha = 1);
Tensor celu(const In& x, double alpha = 1);
Tensor selu(const In& x);
Tensor leaky_relu(const In& x, double negative_slope = 0.01);
Tensor relu6(const In& x);
Tensor hardtanh(const In& x, Scalar min_val = -1., Scalar max_val = 1.);
Tensor hardswish(const In& x);    // x relu6(x + 3) / 6
Tensor hardsigmoid(const In& x);  // relu6(x + 3) / 6
Tensor logsigmoid(const In& x);
Tensor softsign(const In& x);                                   // x / (1 + |x|)
Tensor tanhshrink(const In& x);                                 // x - tanh(x)
Tensor hardshrink(const In& x, double lambd = 0.5);             // 0 where |x| <= lambd
Tensor softshrink(const In& x, double lambd = 0.5);             // x nearer to 0 by lambd
Tensor threshold(const In& x, Scalar threshold, Scalar value);  // `value` where x <= threshold
// weight * x where x < 0; one weight, or one for each element of dim 1.
Tensor prelu(const In& x, const Tensor& weight);
// leaky_relu with the mean of both slopes: the evaluated form alone, as training draws one slope for each negative element.
Tensor rrelu(const In& x, double lower = 1. / 8, double upper = 1. / 3);
// Each element 0 with probability p, else x / (1 - p), drawn as PyTorch draws it; x itself unless `training`. A p outside [0, 1] throws
// ValueError.
Tensor dropout(const In& x, double p = 0.5, bool training = true);
// The first half of `dim` times the sigmoid of the second. Throws Error where the dim has an odd size.
Tensor glu(const In& x, std::int64_t dim = -1);

using Line = std::source_location;
Tensor& elu_(Tensor& x, double alpha = 1, Line where = Line::current());
Tensor& celu_(Tensor& x, double alpha = 1, Line where = Line::current());
Tensor& selu_(Tensor& x, Line where = Line::current());
Tensor& leaky_relu_(Tensor& x, double negative_slope = 0.01, Line where = Line::current());
Tensor& hardtanh_(Tensor& x, Scalar min_val = -1., Scalar max_val = 1., Line where = Line::current());
Tensor& threshold_(Tensor& x, Scalar threshold, Scalar value, Line where = Line::current());

}  // namespace nn::functional
}  // namespace braze
