// torch.nn.functional: activations, and by inclusion the rest of it. https://pytorch.org/docs/stable/nn.functional.html
//
//  * Floating tensors only, where nothing else is said: others throw NotImplementedError. relu, relu6, hardtanh and threshold take
//    integers too; softsign and tanhshrink make them floats.
//  * Halves compute in float32 and round once.
//  * f_(x) is f in place and returns x.
#pragma once

#include "braze/attention.h"
#include "braze/convolution.h"
#include "braze/dropout.h"
#include "braze/elementwise.h"
#include "braze/embedding.h"
#include "braze/in_place.h"
#include "braze/linalg.h"
#include "braze/losses.h"
#include "braze/normalization.h"
#include "braze/pooling.h"
#include "braze/recurrent.h"
#include "braze/reductions.h"
#include "braze/shaping.h"
#include "braze/tensor.h"

namespace braze {

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
// leaky_relu with the mean of both slopes; in training with a slope drawn for each element that is not positive, in their order, so that x is
// evaluated to count them. https://pytorch.org/docs/stable/generated/torch.nn.functional.rrelu.html
Tensor rrelu(const In& x, double lower = 1. / 8, double upper = 1. / 3, bool training = false, Generator* generator = nullptr);
// The first half of `dim` times the sigmoid of the second. Throws Error where the dim has an odd size.
Tensor glu(const In& x, std::int64_t dim = -1);
// A draw from the classes with these logits, soft by tau; with `hard` 1 for the class drawn, and still the soft one's gradient.
Tensor gumbel_softmax(const In& logits, double tau = 1, bool hard = false, std::int64_t dim = -1);

using Line = std::source_location;
Tensor& elu_(Tensor& x, double alpha = 1, Line where = Line::current());
Tensor& celu_(Tensor& x, double alpha = 1, Line where = Line::current());
Tensor& selu_(Tensor& x, Line where = Line::current());
Tensor& leaky_relu_(Tensor& x, double negative_slope = 0.01, Line where = Line::current());
Tensor& hardtanh_(Tensor& x, Scalar min_val = -1., Scalar max_val = 1., Line where = Line::current());
Tensor& threshold_(Tensor& x, Scalar threshold, Scalar value, Line where = Line::current());

Tensor& rrelu_(Tensor& x, double lower = 1. / 8, double upper = 1. / 3, bool training = false, Generator* generator = nullptr,
               Line where = Line::current());

// What torch.nn.functional has too.
using braze::adaptive_avg_pool1d, braze::adaptive_avg_pool2d, braze::adaptive_avg_pool3d, braze::adaptive_max_pool1d,
    braze::adaptive_max_pool2d, braze::adaptive_max_pool3d, braze::adaptive_max_pool1d_with_indices,
    braze::adaptive_max_pool2d_with_indices, braze::adaptive_max_pool3d_with_indices, braze::avg_pool1d, braze::avg_pool2d,
    braze::avg_pool3d, braze::bilinear, braze::channel_shuffle, braze::conv1d, braze::conv2d, braze::conv3d,
    braze::conv_transpose1d, braze::conv_transpose2d, braze::conv_transpose3d, braze::cosine_similarity, braze::fold,
    braze::interpolate, braze::linear, braze::log_softmax, braze::max_pool1d, braze::max_pool2d, braze::max_pool3d,
    braze::max_pool1d_with_indices, braze::max_pool2d_with_indices, braze::max_pool3d_with_indices, braze::normalize,
    braze::one_hot, braze::pad, braze::pairwise_distance, braze::pixel_shuffle, braze::pixel_unshuffle, braze::relu, braze::relu_,
    braze::sigmoid, braze::softmax, braze::softmin, braze::tanh, braze::unfold;

}  // namespace nn::functional

// What torch itself has too.
using nn::functional::celu, nn::functional::celu_, nn::functional::dropout, nn::functional::dropout_, nn::functional::hardshrink,
    nn::functional::prelu, nn::functional::rrelu, nn::functional::rrelu_, nn::functional::selu, nn::functional::selu_,
    nn::functional::threshold, nn::functional::threshold_;

}  // namespace braze
