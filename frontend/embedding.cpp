#include "braze/embedding.h"

#include "frontend/autograd/names.h"
#include "frontend/composing.h"

namespace braze::nn::functional {

namespace {

void require_operands(std::string_view function, const Tensor& input, const Tensor& weight) {
  require(weight.dim() == 2, "'weight' must be 2-D");
  require(input.dtype() == DType::i64 || input.dtype() == DType::i32,
          "Expected tensor for argument #1 'indices' to have one of the following scalar types: Long, Int; but got torch.{}Tensor "
          "instead (while checking arguments for {})",
          info(input.dtype()).scalar_name, function);
}

// A row's number, counted from the end where it is negative.
std::int64_t padding_row(std::int64_t padding_idx, std::int64_t rows) {
  require(padding_idx < rows && padding_idx >= -rows, "padding_idx must be within the number of embeddings");
  return padding_idx < 0 ? padding_idx + rows : padding_idx;
}

// Scales the rows that are read down to the norm. Several reads of a row write the same.
void renormalize(const Tensor& weight, const Tensor& rows, double max_norm, double norm_type) {
  Tensor table = weight.detach();
  const Tensor read = table.index_select(0, rows);
  const Tensor norms = linalg::vector_norm(read, norm_type, 1, true);
  table.index_copy_(0, rows, where(norms > max_norm, read * (max_norm / (norms + 1e-7)), read));
}

// `x`, whose gradient is multiplied by `factor`.
Tensor scale_gradient(const Tensor& x, const Tensor& factor) {
  const Tensor scaled = x * factor;
  return x.detach() + (scaled - scaled.detach());
}

// Rows whose gradient is divided by how often each was read.
Tensor scaled_by_frequency(const Tensor& rows, const Tensor& weight, const Tensor& flat) {
  const Tensor counts = zeros({weight.size(0)}, {weight.dtype()}).index_add(0, flat, ones(flat.sizes(), {weight.dtype()}));
  return scale_gradient(rows, (1 / counts.index_select(0, flat)).unsqueeze(1));
}

}  // namespace

Tensor embedding(const In& input, const Tensor& weight, const EmbeddingOptions& options) {
  const GradientScope scope(GradientName::EmbeddingBackward0);
  const Tensor& numbers = require_tensor("embedding", input);
  const SourceLine line(input.where());
  require_operands("embedding", numbers, weight);
  const Tensor flat = numbers.reshape({-1});
  if (options.max_norm) renormalize(weight, flat, *options.max_norm, options.norm_type);
  Tensor rows = weight.index_select(0, flat);
  if (options.scale_grad_by_freq) rows = scaled_by_frequency(rows, weight, flat);
  if (options.padding_idx)
    rows = where((flat == padding_row(*options.padding_idx, weight.size(0))).unsqueeze(1), rows.detach(), rows);
  Sizes sizes = numbers.sizes();
  sizes.push_back(weight.size(1));
  return rows.reshape(sizes);
}

namespace {

// The bag of each number of a flat input.
Tensor bags_of(const Tensor& flat, const Tensor& starts) {
  return searchsorted(starts, positions(flat.numel()), {.right = true}) - 1;
}

// Rows of [bags, columns] put together, by the bag of each.
Tensor combine(const Tensor& rows, const Tensor& bags, const Tensor& counted, std::int64_t count, std::string_view mode) {
  const Tensor empty = zeros({count, rows.size(1)}, {rows.dtype()});
  const Tensor weights = counted.to(rows.dtype());
  if (mode == "max") {
    const Tensor held = zeros({count}, {rows.dtype()}).index_add(0, bags, weights) > 0;
    const Tensor least = full({}, -std::numeric_limits<double>::infinity(), {rows.dtype()});
    const Tensor most =
        least.expand({count, rows.size(1)}).contiguous().index_reduce(0, bags, where(counted.unsqueeze(1), rows, least), "amax");
    return where(held.unsqueeze(1), most, empty);
  }
  const Tensor total = empty.index_add(0, bags, where(counted.unsqueeze(1), rows, 0));
  if (mode == "sum") return total;
  const Tensor sizes = zeros({count}, {rows.dtype()}).index_add(0, bags, weights);
  return total / maximum(sizes, 1).unsqueeze(1);
}

}  // namespace

Tensor embedding_bag(const In& input, const Tensor& weight, const Tensor& offsets, const EmbeddingBagOptions& options,
                     const Tensor& per_sample_weights) {
  const GradientScope scope(GradientName::EmbeddingBagBackward0);
  const Tensor& numbers = require_tensor("embedding_bag", input);
  const SourceLine line(input.where());
  require_operands("embedding_bag", numbers, weight);
  require<ValueError>(options.mode == "sum" || options.mode == "mean" || options.mode == "max",
                      "mode has to be one of sum, mean or max");
  require<ValueError>(!options.scale_grad_by_freq || options.mode != "max",
                      "max mode does not support scaling the gradient by the frequency");
  require<NotImplementedError>(
      !per_sample_weights.defined() || options.mode == "sum",
      "embedding_bag: per_sample_weights was not None. per_sample_weights is only supported for mode='sum' "
      "(got mode='{}'). Please open a feature request on GitHub.",
      options.mode);
  require<ValueError>(!per_sample_weights.defined() || per_sample_weights.sizes() == numbers.sizes(),
                      "embedding_bag: If per_sample_weights ({}) is not None, then it must have the same shape as the input ({})",
                      per_sample_weights.defined() ? fmt::to_string(sizes_text(per_sample_weights.sizes())) : "",
                      sizes_text(numbers.sizes()));
  Tensor starts = offsets;
  if (numbers.dim() == 2) {
    require<ValueError>(!offsets.defined(),
                        "if input is 2D, then offsets has to be None, as input is treated is a mini-batch of fixed "
                        "length sequences. However, found offsets of type Tensor");
    starts = positions(numbers.size(0)) * numbers.size(1);
  } else {
    require<ValueError>(numbers.dim() == 1, "input has to be 1D or 2D Tensor, but got Tensor of dimension {}", numbers.dim());
    require<ValueError>(offsets.defined(), "offsets has to be a 1D Tensor but got None");
    require<ValueError>(offsets.dim() == 1, "offsets has to be a 1D Tensor");
  }
  if (options.include_last_offset && offsets.defined()) starts = starts.narrow(0, 0, starts.size(0) - 1);
  const Tensor flat = numbers.reshape({-1});
  if (options.max_norm) renormalize(weight, flat, *options.max_norm, options.norm_type);
  Tensor rows = weight.index_select(0, flat);
  if (options.scale_grad_by_freq) rows = scaled_by_frequency(rows, weight, flat);
  if (per_sample_weights.defined()) rows = rows * per_sample_weights.reshape({-1, 1});
  const Tensor counted =
      options.padding_idx ? flat != padding_row(*options.padding_idx, weight.size(0)) : ones(flat.sizes(), {DType::boolean});
  return combine(rows, bags_of(flat, starts), counted, starts.size(0), options.mode);
}

}  // namespace braze::nn::functional
