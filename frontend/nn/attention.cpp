#include "braze/nn/attention.h"

#include <limits>

#include "braze/attention.h"
#include "braze/functional.h"
#include "braze/functions.h"
#include "braze/nn/init.h"
#include "frontend/nn/text.h"
#include "ir/error.h"

namespace braze::nn {

namespace {

Tensor maybe(bool there, SizesView sizes, std::optional<DType> dtype) { return there ? empty(sizes, {dtype}) : Tensor(); }

std::int64_t checked(std::int64_t embed_dim, std::int64_t num_heads) {
  require<ValueError>(embed_dim > 0 && num_heads > 0,
                      "embed_dim and num_heads must be greater than 0, got embed_dim={} and num_heads={} instead", embed_dim,
                      num_heads);
  require<ValueError>(embed_dim % num_heads == 0, "embed_dim must be divisible by num_heads");
  return embed_dim;
}

}  // namespace

MultiheadAttentionImpl::MultiheadAttentionImpl(std::int64_t embed_dim, std::int64_t num_heads, const Options& o)
    : embed_dim(checked(embed_dim, num_heads)),
      num_heads(num_heads),
      kdim(o.kdim.value_or(embed_dim)),
      vdim(o.vdim.value_or(embed_dim)),
      options(o),
      q_proj_weight(
          register_parameter("q_proj_weight", maybe(kdim != embed_dim || vdim != embed_dim, {embed_dim, embed_dim}, o.dtype))),
      k_proj_weight(register_parameter("k_proj_weight", maybe(q_proj_weight.defined(), {embed_dim, kdim}, o.dtype))),
      v_proj_weight(register_parameter("v_proj_weight", maybe(q_proj_weight.defined(), {embed_dim, vdim}, o.dtype))),
      in_proj_weight(register_parameter("in_proj_weight", maybe(!q_proj_weight.defined(), {3 * embed_dim, embed_dim}, o.dtype))),
      in_proj_bias(register_parameter("in_proj_bias", maybe(o.bias, {3 * embed_dim}, o.dtype))),
      out_proj(register_module("out_proj", NonDynamicallyQuantizableLinear(embed_dim, embed_dim, {o.bias, o.dtype}))),
      bias_k(register_parameter("bias_k", maybe(o.add_bias_kv, {1, 1, embed_dim}, o.dtype))),
      bias_v(register_parameter("bias_v", maybe(o.add_bias_kv, {1, 1, embed_dim}, o.dtype))) {
  reset_parameters();
}

void MultiheadAttentionImpl::reset_parameters() {
  for (const Tensor& weight : {in_proj_weight, q_proj_weight, k_proj_weight, v_proj_weight})
    if (weight.defined()) init::xavier_uniform_(weight);
  if (in_proj_bias.defined()) {
    init::zeros_(in_proj_bias);
    init::zeros_(out_proj->bias);
  }
  for (const Tensor& bias : {bias_k, bias_v})
    if (bias.defined()) init::xavier_normal_(bias);
}

std::pair<Tensor, Tensor> MultiheadAttentionImpl::forward(const In& query, const Tensor& key, const Tensor& value,
                                                          const AttentionCall& call) {
  if (query.is_scalar()) detail::refuse_number(*this);
  require(!call.is_causal || call.attn_mask.defined(), "Need attn_mask if specifying the is_causal hint.");
  const bool flipped = options.batch_first && query.tensor().dim() == 3;
  const auto turned = [&](const Tensor& t) { return flipped ? t.transpose(0, 1) : t; };
  // Of one tensor there is one view, which tells the function that queries and keys are the same.
  const Tensor q = turned(query.tensor());
  const Tensor k = key.impl() == query.tensor().impl() ? q : turned(key);
  const Tensor v = value.impl() == key.impl() ? k : turned(value);
  functional::MultiHeadOptions o;
  o.num_heads = num_heads;
  o.in_proj_weight = in_proj_weight;
  o.in_proj_bias = in_proj_bias;
  o.q_proj_weight = q_proj_weight;
  o.k_proj_weight = k_proj_weight;
  o.v_proj_weight = v_proj_weight;
  o.bias_k = bias_k;
  o.bias_v = bias_v;
  o.add_zero_attn = options.add_zero_attn;
  o.dropout_p = options.dropout;
  o.out_proj_weight = out_proj->weight;
  o.out_proj_bias = out_proj->bias;
  o.training = is_training();
  o.key_padding_mask = call.key_padding_mask;
  o.attn_mask = call.attn_mask;
  o.need_weights = call.need_weights;
  o.average_attn_weights = call.average_attn_weights;
  const auto [output, weights] = functional::multi_head_attention_forward(In(q, query.where()), k, v, o);
  return {turned(output), weights};
}

// ---- layers ----

namespace {

// x + block(x), normalised before the block or after the sum.
template <class Block>
Tensor residual(const Tensor& x, const LayerNorm& norm, bool norm_first, Block block) {
  return norm_first ? x + block(norm(x)) : norm(x + block(x));
}

Tensor activated(const TransformerLayerOptions& options, const Tensor& x) {
  return options.activation ? options.activation(x) : relu(x);
}

const Tensor& tensor_of(const Module& module, const In& input) {
  if (input.is_scalar()) detail::refuse_number(module);
  return input.tensor();
}

MultiheadAttentionOptions attention_options(const TransformerLayerOptions& o) {
  return {.dropout = o.dropout, .bias = o.bias, .batch_first = o.batch_first, .dtype = o.dtype};
}
LayerNormOptions norm_options(const TransformerLayerOptions& o) {
  return {.eps = o.layer_norm_eps, .bias = o.bias, .dtype = o.dtype};
}

}  // namespace

TransformerEncoderLayerImpl::TransformerEncoderLayerImpl(std::int64_t d_model, std::int64_t nhead, const Options& o)
    : d_model(d_model),
      nhead(nhead),
      options(o),
      self_attn(register_module("self_attn", MultiheadAttention(d_model, nhead, attention_options(o)))),
      linear1(register_module("linear1", Linear(d_model, o.dim_feedforward, {o.bias, o.dtype}))),
      dropout(register_module("dropout", Dropout({o.dropout}))),
      linear2(register_module("linear2", Linear(o.dim_feedforward, d_model, {o.bias, o.dtype}))),
      norm1(register_module("norm1", LayerNorm(d_model, norm_options(o)))),
      norm2(register_module("norm2", LayerNorm(d_model, norm_options(o)))),
      dropout1(register_module("dropout1", Dropout({o.dropout}))),
      dropout2(register_module("dropout2", Dropout({o.dropout}))) {}

Tensor TransformerEncoderLayerImpl::forward(const In& src, const EncoderCall& call) {
  const AttentionCall how{call.key_padding_mask, false, call.mask, true, call.is_causal};
  const Tensor x = residual(tensor_of(*this, src), norm1, options.norm_first,
                            [&](const Tensor& t) { return dropout1(self_attn(t, t, t, how).first); });
  return residual(x, norm2, options.norm_first,
                  [&](const Tensor& t) { return dropout2(linear2(dropout(activated(options, linear1(t))))); });
}

TransformerDecoderLayerImpl::TransformerDecoderLayerImpl(std::int64_t d_model, std::int64_t nhead, const Options& o)
    : d_model(d_model),
      nhead(nhead),
      options(o),
      self_attn(register_module("self_attn", MultiheadAttention(d_model, nhead, attention_options(o)))),
      multihead_attn(register_module("multihead_attn", MultiheadAttention(d_model, nhead, attention_options(o)))),
      linear1(register_module("linear1", Linear(d_model, o.dim_feedforward, {o.bias, o.dtype}))),
      dropout(register_module("dropout", Dropout({o.dropout}))),
      linear2(register_module("linear2", Linear(o.dim_feedforward, d_model, {o.bias, o.dtype}))),
      norm1(register_module("norm1", LayerNorm(d_model, norm_options(o)))),
      norm2(register_module("norm2", LayerNorm(d_model, norm_options(o)))),
      norm3(register_module("norm3", LayerNorm(d_model, norm_options(o)))),
      dropout1(register_module("dropout1", Dropout({o.dropout}))),
      dropout2(register_module("dropout2", Dropout({o.dropout}))),
      dropout3(register_module("dropout3", Dropout({o.dropout}))) {}

Tensor TransformerDecoderLayerImpl::forward(const In& tgt, const Tensor& memory, const DecoderCall& call) {
  const AttentionCall own{call.tgt_key_padding_mask, false, call.tgt_mask, true, call.tgt_is_causal};
  const AttentionCall other{call.memory_key_padding_mask, false, call.memory_mask, true, call.memory_is_causal};
  Tensor x = residual(tensor_of(*this, tgt), norm1, options.norm_first,
                      [&](const Tensor& t) { return dropout1(self_attn(t, t, t, own).first); });
  x = residual(x, norm2, options.norm_first,
               [&](const Tensor& t) { return dropout2(multihead_attn(t, memory, memory, other).first); });
  return residual(x, norm3, options.norm_first,
                  [&](const Tensor& t) { return dropout3(linear2(dropout(activated(options, linear1(t))))); });
}

// ---- stacks ----

namespace {

// Copies with the same values; making them draws nothing that others would have drawn.
template <class Layer>
ModuleList copies(const Layer& layer, std::int64_t count) {
  const ForkRng unchanged;
  ModuleList list;
  for (std::int64_t i = 0; i < count; ++i) {
    list->push_back(clone(layer));
  }
  return list;
}

template <class Owner>
LayerNorm last(Owner& owner, const LayerNorm& norm) {
  if (norm) owner.add_module("norm", norm);
  return norm;
}

}  // namespace

TransformerEncoderImpl::TransformerEncoderImpl(const TransformerEncoderLayer& layer, std::int64_t num_layers,
                                               const Options& options)
    : layers(register_module("layers", copies(layer, num_layers))), norm(last(*this, options.norm)) {}

Tensor TransformerEncoderImpl::forward(const In& src, const EncoderCall& call) {
  Tensor x = tensor_of(*this, src);
  for (std::size_t i = 0; i < layers->size(); ++i) {
    const AnyModule layer = (*layers)[static_cast<std::int64_t>(i)];
    x = TransformerEncoderLayer(std::static_pointer_cast<TransformerEncoderLayerImpl>(layer.ptr()))(x, call);
  }
  return norm ? norm(x) : x;
}

TransformerDecoderImpl::TransformerDecoderImpl(const TransformerDecoderLayer& layer, std::int64_t num_layers,
                                               const Options& options)
    : layers(register_module("layers", copies(layer, num_layers))), norm(last(*this, options.norm)) {}

Tensor TransformerDecoderImpl::forward(const In& tgt, const Tensor& memory, const DecoderCall& call) {
  Tensor x = tensor_of(*this, tgt);
  for (std::size_t i = 0; i < layers->size(); ++i) {
    const AnyModule layer = (*layers)[static_cast<std::int64_t>(i)];
    x = TransformerDecoderLayer(std::static_pointer_cast<TransformerDecoderLayerImpl>(layer.ptr()))(x, memory, call);
  }
  return norm ? norm(x) : x;
}

Tensor generate_square_subsequent_mask(std::int64_t size, std::optional<DType> dtype) {
  return triu(full({size, size}, -std::numeric_limits<double>::infinity(), {dtype.value_or(get_default_dtype())}), 1);
}

}  // namespace braze::nn
