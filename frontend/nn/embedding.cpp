#include "braze/nn/embedding.h"

#include "braze/autograd.h"
#include "braze/embedding.h"
#include "braze/functions.h"
#include "braze/nn/init.h"
#include "frontend/nn/text.h"
#include "ir/error.h"

namespace braze::nn {

namespace {

std::optional<std::int64_t> row(std::optional<std::int64_t> padding_idx, std::int64_t rows) {
  if (!padding_idx) return {};
  require<ValueError>(*padding_idx >= -rows && *padding_idx < rows, "Padding_idx must be within num_embeddings");
  return (*padding_idx + rows) % rows;
}

Tensor table(const Tensor& given, std::int64_t rows, std::int64_t columns, std::optional<DType> dtype) {
  if (!given.defined()) return empty({rows, columns}, {dtype});
  require<ValueError>(given.sizes() == Sizes{rows, columns}, "Shape of weight does not match num_embeddings and embedding_dim");
  return given.detach();
}

void draw(const Tensor& weight, std::optional<std::int64_t> padding_idx) {
  init::normal_(weight);
  if (padding_idx) init::zeros_(weight.detach().select(0, *padding_idx));
}

}  // namespace

EmbeddingImpl::EmbeddingImpl(std::int64_t num_embeddings, std::int64_t embedding_dim, const Options& o)
    : num_embeddings(num_embeddings),
      embedding_dim(embedding_dim),
      options(o),
      padding_idx(row(o.padding_idx, num_embeddings)),
      weight(register_parameter("weight", table(o.weight, num_embeddings, embedding_dim, o.dtype), !o.freeze)) {
  if (!o.weight.defined()) reset_parameters();
}

void EmbeddingImpl::reset_parameters() { draw(weight, padding_idx); }

Tensor EmbeddingImpl::forward(const In& input) {
  return functional::embedding(input, weight, {padding_idx, options.max_norm, options.norm_type, options.scale_grad_by_freq});
}

std::string EmbeddingImpl::extra_repr() const {
  std::string text = fmt::format("{}, {}", num_embeddings, embedding_dim);
  if (padding_idx) text += fmt::format(", padding_idx={}", *padding_idx);
  if (options.max_norm) text += ", max_norm=" + repr(*options.max_norm);
  if (options.norm_type != 2) text += ", norm_type=" + repr(options.norm_type);
  if (options.scale_grad_by_freq) text += ", scale_grad_by_freq=True";
  return text;
}

EmbeddingBagImpl::EmbeddingBagImpl(std::int64_t num_embeddings, std::int64_t embedding_dim, const Options& o)
    : num_embeddings(num_embeddings),
      embedding_dim(embedding_dim),
      options(o),
      padding_idx(row(o.padding_idx, num_embeddings)),
      weight(register_parameter("weight", table(o.weight, num_embeddings, embedding_dim, o.dtype))) {
  if (!o.weight.defined()) reset_parameters();
}

void EmbeddingBagImpl::reset_parameters() { draw(weight, padding_idx); }

Tensor EmbeddingBagImpl::forward(const In& input, const Tensor& offsets, const Tensor& per_sample_weights) {
  return functional::embedding_bag(
      input, weight, offsets,
      {options.max_norm, options.norm_type, options.mode, options.include_last_offset, padding_idx, options.scale_grad_by_freq},
      per_sample_weights);
}

std::string EmbeddingBagImpl::extra_repr() const {
  std::string text = fmt::format("{}, {}", num_embeddings, embedding_dim);
  if (options.max_norm) text += ", max_norm=" + repr(*options.max_norm);
  if (options.norm_type != 2) text += ", norm_type=" + repr(options.norm_type);
  if (options.scale_grad_by_freq) text += ", scale_grad_by_freq=True";
  text += ", mode=" + repr(std::string_view(options.mode));
  if (padding_idx) text += fmt::format(", padding_idx={}", *padding_idx);
  return text;
}

}  // namespace braze::nn
