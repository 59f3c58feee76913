// Losses: torch.nn.functional's measures of how far an input is from its target. https://pytorch.org/docs/stable/nn.functional.html#loss-functions
//
//  * `reduction` is "mean", "sum" or "none"; another word throws ValueError. Of no element the mean is NaN.
//  * Input and target broadcast where nothing else is said. Halves compute in float32 and round once.
//  * A class outside its range is an IndexError: at the call where the classes are in memory, else when a value is needed.
#pragma once

#include <string_view>

#include "braze/tensor.h"

namespace braze::nn::functional {

// ---- element by element ----
// A weight multiplies the elements' losses; the mean is then over the sum of weights.
Tensor mse_loss(const In& input, const Tensor& target, std::string_view reduction = "mean", const Tensor& weight = {});
Tensor l1_loss(const In& input, const Tensor& target, std::string_view reduction = "mean", const Tensor& weight = {});
// Quadratic nearer than beta. Throws Error for a negative one.
Tensor smooth_l1_loss(const In& input, const Tensor& target, std::string_view reduction = "mean", double beta = 1);
// Quadratic nearer than delta. Throws Error unless it is positive.
Tensor huber_loss(const In& input, const Tensor& target, std::string_view reduction = "mean", double delta = 1,
                  const Tensor& weight = {});
// Of probabilities, whose logarithms count as -100 at least. Throws ValueError where the sizes differ.
Tensor binary_cross_entropy(const In& input, const Tensor& target, const Tensor& weight = {}, std::string_view reduction = "mean");
// Of logits; pos_weight multiplies what positive targets cost. Throws ValueError where the sizes differ.
Tensor binary_cross_entropy_with_logits(const In& input, const Tensor& target, const Tensor& weight = {},
                                        std::string_view reduction = "mean", const Tensor& pos_weight = {});
// Of log probabilities. "batchmean" divides the sum by the size of dim 0.
Tensor kl_div(const In& input, const Tensor& target, std::string_view reduction = "mean", bool log_target = false);
Tensor poisson_nll_loss(const In& input, const Tensor& target, bool log_input = true, bool full = false, double eps = 1e-8,
                        std::string_view reduction = "mean");
// `var` has the input's sizes, or one element for each row of the last dim.
Tensor gaussian_nll_loss(const In& input, const Tensor& target, const Tensor& var, bool full = false, double eps = 1e-6,
                         std::string_view reduction = "mean");
Tensor soft_margin_loss(const In& input, const Tensor& target, std::string_view reduction = "mean");  // targets 1 and -1

// ---- of classes: input [N, C], [C] or [N, C, d...], target [N], [] or [N, d...] of int64 ----
// Of log probabilities. ignore_index counts for nothing; the mean is over the weights of the targets.
Tensor nll_loss(const In& input, const Tensor& target, const Tensor& weight = {}, std::int64_t ignore_index = -100,
                std::string_view reduction = "mean");
// Of logits. A target of the input's sizes and a floating dtype has probabilities. label_smoothing moves that much of each target to all
// classes alike.
Tensor cross_entropy(const In& input, const Tensor& target, const Tensor& weight = {}, std::int64_t ignore_index = -100,
                     std::string_view reduction = "mean", double label_smoothing = 0);
Tensor multi_margin_loss(const In& input, const Tensor& target, std::int64_t p = 1, double margin = 1, const Tensor& weight = {},
                         std::string_view reduction = "mean");
// target [N, C] or [C]: the classes that hold, up to the first -1.
Tensor multilabel_margin_loss(const In& input, const Tensor& target, std::string_view reduction = "mean");
// target [N, C]: 1 where a class holds.
Tensor multilabel_soft_margin_loss(const In& input, const Tensor& target, const Tensor& weight = {},
                                   std::string_view reduction = "mean");
// log_probs [T, N, C] or [T, C]; targets [N, S] or all in a row; the lengths of both. https://www.cs.toronto.edu/~graves/icml_2006.pdf
Tensor ctc_loss(const In& log_probs, const Tensor& targets, SizesView input_lengths, SizesView target_lengths,
                std::int64_t blank = 0, std::string_view reduction = "mean", bool zero_infinity = false);

// ---- of distances ----
Tensor hinge_embedding_loss(const In& input, const Tensor& target, double margin = 1, std::string_view reduction = "mean");
Tensor cosine_embedding_loss(const In& input1, const Tensor& input2, const Tensor& target, double margin = 0,
                             std::string_view reduction = "mean");
Tensor margin_ranking_loss(const In& input1, const Tensor& input2, const Tensor& target, double margin = 0,
                           std::string_view reduction = "mean");
Tensor triplet_margin_loss(const In& anchor, const Tensor& positive, const Tensor& negative, double margin = 1, double p = 2,
                           double eps = 1e-6, bool swap = false, std::string_view reduction = "mean");

}  // namespace braze::nn::functional
