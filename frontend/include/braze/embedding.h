// Rows of a table by their numbers: torch.nn.functional.embedding and embedding_bag. https://pytorch.org/docs/stable/nn.functional.html#sparse-functions
//
// A number outside the table is an IndexError: at the call where the numbers are in memory, else when a value is needed.
#pragma once

#include <optional>
#include <string_view>

#include "braze/tensor.h"

namespace braze::nn::functional {

struct EmbeddingOptions {
  std::optional<std::int64_t> padding_idx;  // a row that gets no gradient
  std::optional<double> max_norm;           // rows that are read are first scaled down to it, in place
  double norm_type = 2;
  bool scale_grad_by_freq = false;  // a row's gradient is divided by how often it was read
};

// The input's sizes, and the table's columns. Throws Error unless the input is int32 or int64 and the table a matrix.
Tensor embedding(const In& input, const Tensor& weight, const EmbeddingOptions& options = {});

struct EmbeddingBagOptions {
  std::optional<double> max_norm;
  double norm_type = 2;
  std::string_view mode = "mean";           // "sum", "mean", "max"
  bool include_last_offset = false;         // the last offset is the end
  std::optional<std::int64_t> padding_idx;  // numbers that count for nothing
  bool scale_grad_by_freq = false;          // as for embedding; not of "max"
};

// Rows put together in bags: those of each row of the input, or of a flat input those between offsets. An empty bag is zero. Weights of
// the input's sizes multiply rows before they are summed.
Tensor embedding_bag(const In& input, const Tensor& weight, const Tensor& offsets = {}, const EmbeddingBagOptions& options = {},
                     const Tensor& per_sample_weights = {});

}  // namespace braze::nn::functional
