// Losses of distances.
#include "braze/losses.h"

#include "frontend/composing.h"
#include "frontend/losses.h"

namespace braze::nn::functional {

namespace {

// The dtype of all together.
DType common_type(std::initializer_list<const Tensor*> tensors) {
  std::vector<In> operands;
  for (const Tensor* tensor : tensors) operands.emplace_back(*tensor);
  std::vector<const In*> pointers;
  for (const In& operand : operands) pointers.push_back(&operand);
  return result_type(pointers);
}

}  // namespace

Tensor hinge_embedding_loss(const In& input, const Tensor& target, double margin, std::string_view reduction) {
  require_reduction(reduction);
  const SourceLine line(input.where());
  return zip_floating("hinge_embedding_loss", input, target, [&](const Tensor& x, const Tensor& t) {
    return reduced(where(t != 1, where(margin - x > 0, margin - x, 0), 0) + where(t != -1, x, 0), reduction);
  });
}

Tensor cosine_embedding_loss(const In& input1, const Tensor& input2, const Tensor& target, double margin,
                             std::string_view reduction) {
  const Tensor& first = require_tensor("cosine_embedding_loss", input1);
  require_reduction(reduction);
  require(target.dim() <= 1, "0D or 1D target tensor expected, multi-target not supported");
  const std::int64_t rank = target.dim() + 1;
  require(first.dim() == rank && input2.dim() == rank,
          "{}D target tensor expects {}D input tensors, but found inputs with sizes {} and {}.", target.dim(), rank,
          sizes_text(first.sizes()), sizes_text(input2.sizes()));
  const SourceLine line(input1.where());
  const DType type = common_type({&first, &input2});
  if (!is_float(type)) not_implemented_for("cosine_embedding_loss", type);
  const DType compute = compute_type(type);
  const Tensor a = first.to(compute), b = input2.to(compute);
  constexpr double tiny = 1e-12;
  const Tensor lengths = ((a * a).sum(-1) + tiny) * ((b * b).sum(-1) + tiny);
  const Tensor cosine = (a * b).sum(-1) / sqrt(lengths);
  const Tensor each = where(target == 1, 1 - cosine, 0) + where(target == -1, clamp_min(cosine - margin, 0), 0);
  return reduced(each, reduction).to(type);
}

Tensor margin_ranking_loss(const In& input1, const Tensor& input2, const Tensor& target, double margin,
                           std::string_view reduction) {
  const Tensor& first = require_tensor("margin_ranking_loss", input1);
  require_reduction(reduction);
  require(first.dim() == input2.dim() && first.dim() == target.dim(),
          "margin_ranking_loss : All input tensors should have same dimension but got sizes: input1: {}, input2: {}, target: {} ",
          sizes_text(first.sizes()), sizes_text(input2.sizes()), sizes_text(target.sizes()));
  const SourceLine line(input1.where());
  const DType type = common_type({&first, &input2, &target});
  const DType compute = compute_type(type);
  const Tensor each = clamp_min(-target.to(compute) * (first.to(compute) - input2.to(compute)) + margin, 0);
  return reduced(each, reduction).to(type);
}

Tensor triplet_margin_loss(const In& anchor, const Tensor& positive, const Tensor& negative, double margin, double p, double eps,
                           bool swap, std::string_view reduction) {
  const Tensor& a = require_tensor("triplet_margin_loss", anchor);
  require_reduction(reduction);
  require<ValueError>(margin > 0, "margin must be greater than 0, got {}", margin);
  require(a.dim() == positive.dim() && a.dim() == negative.dim(),
          "The anchor, positive, and negative tensors are expected to have the same number of dimensions, but got: anchor {}D, "
          "positive {}D, and negative {}D inputs",
          a.dim(), positive.dim(), negative.dim());
  const SourceLine line(anchor.where());
  const Tensor near = pairwise_distance(a, positive, p, eps);
  Tensor far = pairwise_distance(a, negative, p, eps);
  if (swap) far = minimum(far, pairwise_distance(positive, negative, p, eps));
  return reduced(clamp_min(margin + near - far, 0), reduction);
}

}  // namespace braze::nn::functional
