// Attention: torch.nn.functional's. https://pytorch.org/docs/stable/generated/torch.nn.functional.scaled_dot_product_attention.html
#pragma once

#include <optional>
#include <utility>

#include "braze/tensor.h"

namespace braze::nn::functional {

struct AttentionOptions {
  Tensor attn_mask;  // bool: true where a key counts; else added to the scores. Broadcasts to [..., L, S]
  double dropout_p = 0;
  bool is_causal = false;       // query i sees the keys up to i
  std::optional<double> scale;  // 1 / sqrt(E) unless given
  bool enable_gqa = false;      // keys and values have fewer heads, each for several neighbouring queries
};

// softmax(query key^T scale) value: query [..., L, E], key [..., S, E], value [..., S, Ev]. A query that sees no key gives 0.
Tensor scaled_dot_product_attention(const In& query, const Tensor& key, const Tensor& value, const AttentionOptions& options = {});

struct MultiHeadOptions {
  std::int64_t num_heads = 1;
  Tensor in_proj_weight, in_proj_bias;                 // [3 E, E] and [3 E]: query, key, value
  Tensor q_proj_weight, k_proj_weight, v_proj_weight;  // instead of in_proj_weight
  Tensor bias_k, bias_v;                               // one more key and value, [1, 1, E]
  bool add_zero_attn = false;                          // and one of zeros
  Tensor static_k, static_v;                           // [N heads, S, E / heads]: instead of the projected ones
  double dropout_p = 0;
  Tensor out_proj_weight, out_proj_bias;
  bool training = true;
  Tensor key_padding_mask;  // [N, S]: bool true where a key does not count, else added
  Tensor attn_mask;         // [L, S] or [N heads, L, S], alike
  bool need_weights = true, average_attn_weights = true;
};

// The attention of several heads between projections: query [L, N, E], key and value [S, N, ...], or all without N. Gives the output, and
// with need_weights the weights [N, L, S], of each head unless averaged: [N, heads, L, S].
std::pair<Tensor, Tensor> multi_head_attention_forward(const In& query, const Tensor& key, const Tensor& value,
                                                       const MultiHeadOptions& options);

}  // namespace braze::nn::functional
