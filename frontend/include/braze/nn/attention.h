// Attention of several heads, and the transformer of "Attention is all you need". https://pytorch.org/docs/stable/nn.html#transformer-layers
//
// A mask is bool, true where a key does not count, or is added to the scores.
#pragma once

#include "braze/nn/containers.h"
#include "braze/nn/dropout.h"
#include "braze/nn/linear.h"
#include "braze/nn/module.h"
#include "braze/nn/normalization.h"

namespace braze::nn {

// Linear under the name that PyTorch prints here.
class NonDynamicallyQuantizableLinearImpl : public LinearImpl {
 public:
  using LinearImpl::LinearImpl;
};
using NonDynamicallyQuantizableLinear = ModuleHolder<NonDynamicallyQuantizableLinearImpl, std::int64_t, std::int64_t>;

struct MultiheadAttentionOptions {
  double dropout = 0;
  bool bias = true, add_bias_kv = false, add_zero_attn = false;
  std::optional<std::int64_t> kdim = {}, vdim = {};  // embed_dim
  bool batch_first = false;
  std::optional<DType> dtype = {};
};

struct AttentionCall {
  Tensor key_padding_mask = {};  // [N, S]
  bool need_weights = true;
  Tensor attn_mask = {};  // [L, S] or [N heads, L, S]
  bool average_attn_weights = true;
  bool is_causal = false;  // says so of attn_mask
};

// Query [L, N, E], key and value [S, N, ...], with batch_first [N, L, E]; or all without N. Gives the output, and with need_weights the
// weights. https://pytorch.org/docs/stable/generated/torch.nn.MultiheadAttention.html
class MultiheadAttentionImpl : public Module {
 public:
  using Options = MultiheadAttentionOptions;
  MultiheadAttentionImpl(std::int64_t embed_dim, std::int64_t num_heads, const Options& options = {});
  void reset_parameters();
  std::pair<Tensor, Tensor> forward(const In& query, const Tensor& key, const Tensor& value, const AttentionCall& call = {});

  const std::int64_t embed_dim, num_heads, kdim, vdim;
  const Options options;
  Tensor &q_proj_weight, &k_proj_weight, &v_proj_weight;  // where the widths differ, instead of
  Tensor &in_proj_weight, &in_proj_bias;                  // [3 E, E], [3 E]
  const NonDynamicallyQuantizableLinear out_proj;
  Tensor &bias_k, &bias_v;
};
using MultiheadAttention = ModuleHolder<MultiheadAttentionImpl, std::int64_t, std::int64_t>;

struct TransformerLayerOptions {
  std::int64_t dim_feedforward = 2048;
  double dropout = 0.1;
  std::function<Tensor(const Tensor&)> activation = {};  // relu
  double layer_norm_eps = 1e-5;
  bool batch_first = false, norm_first = false, bias = true;
  std::optional<DType> dtype = {};
};

struct EncoderCall {
  Tensor mask = {}, key_padding_mask = {};
  bool is_causal = false;
};
struct DecoderCall {
  Tensor tgt_mask = {}, memory_mask = {}, tgt_key_padding_mask = {}, memory_key_padding_mask = {};
  bool tgt_is_causal = false, memory_is_causal = false;
};

// Self-attention and a feed-forward block, each with a residual. https://pytorch.org/docs/stable/generated/torch.nn.TransformerEncoderLayer.html
class TransformerEncoderLayerImpl : public Module {
 public:
  using Options = TransformerLayerOptions;
  TransformerEncoderLayerImpl(std::int64_t d_model, std::int64_t nhead, const Options& options = {});
  Tensor forward(const In& src, const EncoderCall& call);
  Tensor forward(const In& src) { return forward(src, {}); }

  const std::int64_t d_model, nhead;
  const Options options;
  const MultiheadAttention self_attn;
  const Linear linear1;
  const Dropout dropout;
  const Linear linear2;
  const LayerNorm norm1, norm2;
  const Dropout dropout1, dropout2;
};
using TransformerEncoderLayer = ModuleHolder<TransformerEncoderLayerImpl, std::int64_t, std::int64_t>;

// Self-attention, attention to the encoder, and a feed-forward block.
// https://pytorch.org/docs/stable/generated/torch.nn.TransformerDecoderLayer.html
class TransformerDecoderLayerImpl : public Module {
 public:
  using Options = TransformerLayerOptions;
  TransformerDecoderLayerImpl(std::int64_t d_model, std::int64_t nhead, const Options& options = {});
  Tensor forward(const In& tgt, const Tensor& memory, const DecoderCall& call = {});

  const std::int64_t d_model, nhead;
  const Options options;
  const MultiheadAttention self_attn, multihead_attn;
  const Linear linear1;
  const Dropout dropout;
  const Linear linear2;
  const LayerNorm norm1, norm2, norm3;
  const Dropout dropout1, dropout2, dropout3;
};
using TransformerDecoderLayer = ModuleHolder<TransformerDecoderLayerImpl, std::int64_t, std::int64_t>;

struct StackOptions {
  LayerNorm norm = nullptr;  // after the last layer
};

// Copies of a layer, one after another, with its values. https://pytorch.org/docs/stable/generated/torch.nn.TransformerEncoder.html
class TransformerEncoderImpl : public Module {
 public:
  using Options = StackOptions;
  TransformerEncoderImpl(const TransformerEncoderLayer& layer, std::int64_t num_layers, const Options& options = {});
  Tensor forward(const In& src, const EncoderCall& call);
  Tensor forward(const In& src) { return forward(src, {}); }

  const ModuleList layers;
  const LayerNorm norm;
};
using TransformerEncoder = ModuleHolder<TransformerEncoderImpl, TransformerEncoderLayer, std::int64_t>;

// https://pytorch.org/docs/stable/generated/torch.nn.TransformerDecoder.html
class TransformerDecoderImpl : public Module {
 public:
  using Options = StackOptions;
  TransformerDecoderImpl(const TransformerDecoderLayer& layer, std::int64_t num_layers, const Options& options = {});
  Tensor forward(const In& tgt, const Tensor& memory, const DecoderCall& call = {});

  const ModuleList layers;
  const LayerNorm norm;
};
using TransformerDecoder = ModuleHolder<TransformerDecoderImpl, TransformerDecoderLayer, std::int64_t>;

// 0 where a position sees another, minus infinity where that is a later one.
Tensor generate_square_subsequent_mask(std::int64_t size, std::optional<DType> dtype = {});

}  // namespace braze::nn
