#include "braze/nn/losses.h"

#include "braze/functional.h"
#include "ir/error.h"

namespace braze::nn {

Tensor L1LossImpl::forward(const In& input, const Tensor& target) { return functional::l1_loss(input, target, options.reduction); }

Tensor MSELossImpl::forward(const In& input, const Tensor& target) {
  return functional::mse_loss(input, target, options.reduction);
}

Tensor SmoothL1LossImpl::forward(const In& input, const Tensor& target) {
  return functional::smooth_l1_loss(input, target, options.reduction, options.beta);
}

Tensor HuberLossImpl::forward(const In& input, const Tensor& target) {
  return functional::huber_loss(input, target, options.reduction, options.delta);
}

NLLLossImpl::NLLLossImpl(const Options& options) : Configured(options), weight(register_buffer("weight", options.weight)) {}
Tensor NLLLossImpl::forward(const In& input, const Tensor& target) {
  return functional::nll_loss(input, target, weight, options.ignore_index, options.reduction);
}

CrossEntropyLossImpl::CrossEntropyLossImpl(const Options& options)
    : Configured(options), weight(register_buffer("weight", options.weight)) {}
Tensor CrossEntropyLossImpl::forward(const In& input, const Tensor& target) {
  return functional::cross_entropy(input, target, weight, options.ignore_index, options.reduction, options.label_smoothing);
}

BCELossImpl::BCELossImpl(const Options& options) : Configured(options), weight(register_buffer("weight", options.weight)) {}
Tensor BCELossImpl::forward(const In& input, const Tensor& target) {
  return functional::binary_cross_entropy(input, target, weight, options.reduction);
}

BCEWithLogitsLossImpl::BCEWithLogitsLossImpl(const Options& options)
    : Configured(options),
      weight(register_buffer("weight", options.weight)),
      pos_weight(register_buffer("pos_weight", options.pos_weight)) {}
Tensor BCEWithLogitsLossImpl::forward(const In& input, const Tensor& target) {
  return functional::binary_cross_entropy_with_logits(input, target, weight, options.reduction, pos_weight);
}

Tensor KLDivLossImpl::forward(const In& input, const Tensor& target) {
  return functional::kl_div(input, target, options.reduction, options.log_target);
}

Tensor PoissonNLLLossImpl::forward(const In& input, const Tensor& target) {
  return functional::poisson_nll_loss(input, target, options.log_input, options.full, options.eps, options.reduction);
}

Tensor GaussianNLLLossImpl::forward(const In& input, const Tensor& target, const Tensor& var) {
  return functional::gaussian_nll_loss(input, target, var, options.full, options.eps, options.reduction);
}

Tensor SoftMarginLossImpl::forward(const In& input, const Tensor& target) {
  return functional::soft_margin_loss(input, target, options.reduction);
}

MultiMarginLossImpl::MultiMarginLossImpl(const Options& options)
    : Configured(options), weight(register_buffer("weight", options.weight)) {
  require<ValueError>(options.p == 1 || options.p == 2, "only p == 1 and p == 2 supported");
  require<ValueError>(!weight.defined() || weight.dim() == 1,
                      "MultiMarginLoss: expected weight to be None or 1D tensor, got {}D instead",
                      weight.defined() ? weight.dim() : 0);
}
Tensor MultiMarginLossImpl::forward(const In& input, const Tensor& target) {
  return functional::multi_margin_loss(input, target, options.p, options.margin, weight, options.reduction);
}

Tensor MultiLabelMarginLossImpl::forward(const In& input, const Tensor& target) {
  return functional::multilabel_margin_loss(input, target, options.reduction);
}

MultiLabelSoftMarginLossImpl::MultiLabelSoftMarginLossImpl(const Options& options)
    : Configured(options), weight(register_buffer("weight", options.weight)) {}
Tensor MultiLabelSoftMarginLossImpl::forward(const In& input, const Tensor& target) {
  return functional::multilabel_soft_margin_loss(input, target, weight, options.reduction);
}

Tensor HingeEmbeddingLossImpl::forward(const In& input, const Tensor& target) {
  return functional::hinge_embedding_loss(input, target, options.margin, options.reduction);
}

Tensor CosineEmbeddingLossImpl::forward(const In& input, const Tensor& input2, const Tensor& target) {
  return functional::cosine_embedding_loss(input, input2, target, options.margin, options.reduction);
}

Tensor MarginRankingLossImpl::forward(const In& input, const Tensor& input2, const Tensor& target) {
  return functional::margin_ranking_loss(input, input2, target, options.margin, options.reduction);
}

TripletMarginLossImpl::TripletMarginLossImpl(const Options& options) : Configured(options) {
  require<ValueError>(options.margin > 0, "TripletMarginLoss: expected margin to be greater than 0, got {} instead",
                      options.margin);
}
Tensor TripletMarginLossImpl::forward(const In& input, const Tensor& positive, const Tensor& negative) {
  return functional::triplet_margin_loss(input, positive, negative, options.margin, options.p, options.eps, options.swap,
                                         options.reduction);
}

Tensor PairwiseDistanceImpl::forward(const In& input, const Tensor& other) {
  return functional::pairwise_distance(input, other, options.p, options.eps, options.keepdim);
}

Tensor CosineSimilarityImpl::forward(const In& input, const Tensor& other) {
  return functional::cosine_similarity(input, other, options.dim, options.eps);
}

Tensor CTCLossImpl::forward(const In& log_probs, const Tensor& targets, const Sizes& input_lengths, const Sizes& target_lengths) {
  return functional::ctc_loss(log_probs, targets, input_lengths, target_lengths, options.blank, options.reduction,
                              options.zero_infinity);
}

}  // namespace braze::nn
