#include "braze/attention.h"

#include <cmath>
#include <limits>

#include "braze/functional.h"
#include "frontend/autograd/names.h"
#include "frontend/composing.h"

namespace braze::nn::functional {

namespace {

constexpr double minus_infinity = -std::numeric_limits<double>::infinity();

// What is added to scores: a bool mask's false is minus infinity.
Tensor added(const Tensor& mask, DType type) {
  if (mask.dtype() != DType::boolean) return mask.to(type);
  return where(mask, full({}, 0, {type}), full({}, minus_infinity, {type}));
}

// softmax along the last dim, where a row of minus infinities is 0.
Tensor weights_of(const Tensor& scores, bool masked) {
  const Tensor weights = softmax(scores, -1);
  if (!masked) return weights;
  return where(scores.amax(-1, true) == minus_infinity, 0, weights);
}

}  // namespace

Tensor scaled_dot_product_attention(const In& query, const Tensor& key, const Tensor& value, const AttentionOptions& options) {
  const Tensor& q = require_tensor("scaled_dot_product_attention", query);
  const bool flash = q.dim() == 4 && options.dropout_p == 0 && !options.enable_gqa && key.dim() == 4;
  const GradientScope scope(flash          ? GradientName::ScaledDotProductFlashAttentionForCpuBackward0
                            : q.dim() == 3 ? GradientName::SqueezeBackward1
                                           : GradientName::UnsafeViewBackward0);
  const SourceLine line(query.where());
  require(
      q.dtype() == key.dtype() && q.dtype() == value.dtype(),
      "Expected query, key, and value to have the same dtype, but got query.dtype: {} key.dtype: {} and value.dtype: {} instead.",
      info(q.dtype()).torch_name, info(key.dtype()).torch_name, info(value.dtype()).torch_name);
  require(q.dim() >= 2 && key.dim() >= 2 && value.dim() >= 2,
          "Expected query, key, and value to all be  at least 2 dimensional, but got query.dim: {}, key.dim: {} and value.dim: {} "
          "instead.",
          q.dim(), key.dim(), value.dim());
  if (!is_float(q.dtype())) not_implemented_for("scaled_dot_product_attention", q.dtype());
  const Tensor& mask = options.attn_mask;
  require(!mask.defined() || !options.is_causal, "Explicit attn_mask should not be set when is_causal=True");
  require(!mask.defined() || mask.dtype() == DType::boolean || is_float(mask.dtype()),
          "Expected attn_mask dtype to be bool or float or to match query dtype, but got attn_mask.dtype: {} and query.dtype: {} "
          "instead.",
          mask.defined() ? info(mask.dtype()).torch_name : "", info(q.dtype()).torch_name);
  Tensor keys = key, values = value;
  if (options.enable_gqa) {
    require(q.dim() >= 3 && key.size(-3) > 0 && q.size(-3) % key.size(-3) == 0 && q.size(-3) % value.size(-3) == 0,
            "Number of heads in key and value must divide the number of heads in query");
    keys = key.repeat_interleave(q.size(-3) / key.size(-3), -3);
    values = value.repeat_interleave(q.size(-3) / value.size(-3), -3);
  }
  const DType type = compute_type(q.dtype());
  const double scale = options.scale.value_or(1 / std::sqrt(static_cast<double>(q.size(-1))));
  Tensor scores = matmul(q.to(type), keys.to(type).transpose(-2, -1)) * scale;
  if (options.is_causal) scores = where(positions(q.size(-2)).unsqueeze(1) >= positions(key.size(-2)), scores, minus_infinity);
  if (mask.defined()) scores = scores + added(mask, type);
  const Tensor weights = dropout(weights_of(scores, mask.defined()), options.dropout_p, options.dropout_p > 0);
  return matmul(weights, values.to(type)).to(q.dtype());
}

namespace {

// A mask of the multi-head form, where true means: does not count.
Tensor excluded(const Tensor& mask, DType type) {
  if (mask.dtype() != DType::boolean) return mask.to(type);
  return where(mask, full({}, minus_infinity, {type}), full({}, 0, {type}));
}

void require_mask(std::string_view name, const Tensor& mask) {
  require(!mask.defined() || mask.dtype() == DType::boolean || is_float(mask.dtype()),
          "only bool and floating types of {} are supported", name);
}

struct Projected {
  Tensor q, k, v;
};

Projected project(const Tensor& q, const Tensor& k, const Tensor& v, const MultiHeadOptions& o) {
  const std::int64_t width = q.size(-1);
  const auto bias = [&](std::int64_t part) {
    return o.in_proj_bias.defined() ? o.in_proj_bias.narrow(0, part * width, width) : Tensor{};
  };
  if (o.q_proj_weight.defined())
    return {linear(q, o.q_proj_weight, bias(0)), linear(k, o.k_proj_weight, bias(1)), linear(v, o.v_proj_weight, bias(2))};
  const auto rows = [&](std::int64_t part, std::int64_t parts) { return o.in_proj_weight.narrow(0, part * width, parts * width); };
  if (q.impl() == k.impl() && k.impl() == v.impl()) {  // one product for all three
    const Tensor all = linear(q, o.in_proj_weight, o.in_proj_bias);
    return {all.narrow(-1, 0, width), all.narrow(-1, width, width), all.narrow(-1, 2 * width, width)};
  }
  return {linear(q, rows(0, 1), bias(0)), linear(k, rows(1, 1), bias(1)), linear(v, rows(2, 1), bias(2))};
}

}  // namespace

std::pair<Tensor, Tensor> multi_head_attention_forward(const In& query, const Tensor& key, const Tensor& value,
                                                       const MultiHeadOptions& o) {
  const Tensor& given = require_tensor("multi_head_attention_forward", query);
  const SourceLine line(query.where());
  require(given.dim() == 2 || given.dim() == 3, "query should be unbatched 2D or batched 3D tensor but received {}-D query tensor",
          given.dim());
  const bool batched = given.dim() == 3;
  require(key.dim() == given.dim() && value.dim() == given.dim(),
          "For {} (3-D) `query`, expected `key` and `value` to be 3-D but found {}-D and {}-D tensors respectively",
          batched ? "batched" : "unbatched", key.dim(), value.dim());
  require_mask("key_padding_mask", o.key_padding_mask);
  require_mask("attn_mask", o.attn_mask);
  const bool one = given.impl() == key.impl() && key.impl() == value.impl();
  const Tensor q = batched ? given : given.unsqueeze(1);
  const Tensor k = one ? q : batched ? key : key.unsqueeze(1);
  const Tensor v = one ? q : batched ? value : value.unsqueeze(1);
  const std::int64_t length = q.size(0), batch = q.size(1), width = q.size(2), heads = o.num_heads, part = width / heads;
  require(part * heads == width, "embed_dim {} not divisible by num_heads {}", width, heads);
  require(k.size(0) == v.size(0) && k.size(1) == v.size(1),
          "key shape torch.Size([{}]) does not match value shape torch.Size([{}])", fmt::join(k.sizes(), ", "),
          fmt::join(v.sizes(), ", "));
  Projected p = project(q, k, v, o);
  std::int64_t extra = 0;
  const auto append = [&](Tensor& x, const Tensor& row) { x = cat({x, row.expand({1, batch, width})}, 0); };
  if (o.bias_k.defined()) {
    append(p.k, o.bias_k);
    append(p.v, o.bias_v);
    ++extra;
  }
  // [N heads, S, part] as [S, N, E]
  const auto replace = [&](Tensor& x, const Tensor& fixed, const Tensor& bias, std::string_view kind, char letter) {
    if (!fixed.defined()) return;
    require(!bias.defined(), "bias cannot be added to static {}.", kind);
    require(fixed.dim() == 3, "static_{} must be 3-D, but it is {}-D", letter, fixed.dim());
    require(fixed.size(0) == batch * heads, "expecting static_{}.size(0) of {}, but got {}", letter, batch * heads, fixed.size(0));
    require(fixed.size(2) == part, "expecting static_{}.size(2) of {}, but got {}", letter, part, fixed.size(2));
    x = fixed.reshape({batch, heads, fixed.size(1), part}).permute({2, 0, 1, 3}).reshape({fixed.size(1), batch, width});
  };
  replace(p.k, o.static_k, o.bias_k, "key", 'k');
  replace(p.v, o.static_v, o.bias_v, "value", 'v');
  const std::int64_t sources = o.static_k.defined() ? o.static_k.size(1) : k.size(0);
  // [S, N, E] as [N, heads, S, part]
  const auto split = [&](const Tensor& x) { return x.reshape({x.size(0), batch, heads, part}).permute({1, 2, 0, 3}); };
  if (o.add_zero_attn) {
    const Tensor zero = zeros({1, 1, 1}, {p.k.dtype()});
    append(p.k, zero);
    append(p.v, zero);
    ++extra;
  }
  const DType type = p.q.dtype();
  Tensor mask;
  if (o.attn_mask.defined()) {
    const Sizes sizes = o.attn_mask.sizes();
    const bool flat = sizes.size() == 2;
    require(flat || sizes.size() == 3, "attn_mask's dimension {} is not supported", sizes.size());
    const Sizes expected = flat ? Sizes{length, sources} : Sizes{batch * heads, length, sources};
    require(sizes == expected, "The shape of the {}D attn_mask is torch.Size([{}]), but should be ({}).", sizes.size(),
            fmt::join(sizes, ", "), fmt::join(expected, ", "));
    mask = excluded(o.attn_mask, type);
    if (!flat) mask = mask.reshape({batch, heads, length, sources});
  }
  if (o.key_padding_mask.defined()) {
    const Tensor padding = batched ? o.key_padding_mask : o.key_padding_mask.unsqueeze(0);
    require(padding.sizes() == (Sizes{batch, sources}), "expecting key_padding_mask shape of ({}, {}), but got torch.Size([{}])",
            batch, sources, fmt::join(padding.sizes(), ", "));
    const Tensor keys = excluded(padding, type).reshape({batch, 1, 1, sources});
    mask = mask.defined() ? mask + keys : keys;
  }
  if (mask.defined() && extra > 0) mask = braze::pad(mask, {0, extra});
  const double dropout_p = o.training ? o.dropout_p : 0;
  Tensor scores = matmul(split(p.q) * (1 / std::sqrt(static_cast<double>(part))), split(p.k).transpose(-2, -1));
  if (mask.defined()) scores = scores + mask;
  const Tensor weights = dropout(softmax(scores, -1), dropout_p, dropout_p > 0);
  const Tensor joined = matmul(weights, split(p.v)).permute({2, 0, 1, 3}).reshape({length, batch, width});
  Tensor output = linear(joined, o.out_proj_weight, o.out_proj_bias);
  if (!batched) output = output.squeeze(1);
  if (!o.need_weights) return {output, {}};
  const Tensor shown = o.average_attn_weights ? weights.mean(1) : weights;
  return {output, batched ? shown : shown.squeeze(0)};
}

}  // namespace braze::nn::functional
