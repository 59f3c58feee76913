// Tables whose rows are picked by number. https://pytorch.org/docs/stable/nn.html#sparse-layers
#pragma once

#include "braze/nn/module.h"

namespace braze::nn {

struct EmbeddingOptions {
  std::optional<std::int64_t> padding_idx = {};  // a row of zeros that gets no gradient
  std::optional<double> max_norm = {};           // rows that are read are first scaled down to it, in place
  double norm_type = 2;
  bool scale_grad_by_freq = false;
  Tensor weight = {};   // the table, instead of drawn values
  bool freeze = false;  // it is not trained
  std::optional<DType> dtype = {};
};

// https://pytorch.org/docs/stable/generated/torch.nn.Embedding.html
class EmbeddingImpl : public Module {
 public:
  using Options = EmbeddingOptions;
  EmbeddingImpl(std::int64_t num_embeddings, std::int64_t embedding_dim, const Options& options = {});
  void reset_parameters();
  Tensor forward(const In& input);
  std::string extra_repr() const override;

  const std::int64_t num_embeddings, embedding_dim;
  const Options options;
  const std::optional<std::int64_t> padding_idx;  // from the first row
  Tensor& weight;                                 // [num_embeddings, embedding_dim]
};
using Embedding = ModuleHolder<EmbeddingImpl, std::int64_t, std::int64_t>;

struct EmbeddingBagOptions {
  std::optional<double> max_norm = {};
  double norm_type = 2;
  bool scale_grad_by_freq = false;
  std::string mode = "mean";  // "sum", "mean", "max"
  Tensor weight = {};
  bool include_last_offset = false;
  std::optional<std::int64_t> padding_idx = {};  // numbers that count for nothing
  std::optional<DType> dtype = {};
};

// Rows put together in bags. https://pytorch.org/docs/stable/generated/torch.nn.EmbeddingBag.html
class EmbeddingBagImpl : public Module {
 public:
  using Options = EmbeddingBagOptions;
  EmbeddingBagImpl(std::int64_t num_embeddings, std::int64_t embedding_dim, const Options& options = {});
  void reset_parameters();
  Tensor forward(const In& input, const Tensor& offsets = {}, const Tensor& per_sample_weights = {});
  std::string extra_repr() const override;

  const std::int64_t num_embeddings, embedding_dim;
  const Options options;
  const std::optional<std::int64_t> padding_idx;
  Tensor& weight;
};
using EmbeddingBag = ModuleHolder<EmbeddingBagImpl, std::int64_t, std::int64_t>;

}  // namespace braze::nn
