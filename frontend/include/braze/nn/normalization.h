// Normalisation over a batch, or of each sample. https://pytorch.org/docs/stable/nn.html#normalization-layers
#pragma once

#include "braze/nn/module.h"
#include "braze/nn/window.h"

namespace braze::nn {

struct BatchNormOptions {
  double eps = 1e-5;
  std::optional<double> momentum = 0.1;  // none: running statistics are the mean of all batches
  bool affine = true, track_running_stats = true;
  std::optional<DType> dtype = {};
  bool bias = true;
};
struct InstanceNormOptions {
  double eps = 1e-5;
  std::optional<double> momentum = 0.1;
  bool affine = false, track_running_stats = false;
  std::optional<DType> dtype = {};
  bool bias = true;
};

// Parameters and running statistics of channels.
class ChannelNormImpl : public Module {
 public:
  void reset_running_stats();
  void reset_parameters();
  std::string extra_repr() const override;

  const std::int64_t num_features;
  const BatchNormOptions options;
  Tensor &weight, &bias, &running_mean, &running_var, &num_batches_tracked;

 protected:
  ChannelNormImpl(std::int64_t num_features, const BatchNormOptions& options);
};

// Over the batch while training, with what was learnt afterwards. Throws ValueError for an input of other dims.
class BatchNormImpl : public ChannelNormImpl {
 protected:
  using ChannelNormImpl::ChannelNormImpl;
  Tensor normalize(const In& input, std::int64_t rank);
};

template <std::int64_t Rank>
class BatchNormNdImpl : public BatchNormImpl {
 public:
  using Options = BatchNormOptions;
  explicit BatchNormNdImpl(std::int64_t num_features, const Options& options = {}) : BatchNormImpl(num_features, options) {}
  Tensor forward(const In& input) { return normalize(input, Rank); }
  std::string name() const override { return "BatchNorm" + std::to_string(Rank) + "d"; }
};
// https://pytorch.org/docs/stable/generated/torch.nn.BatchNorm2d.html
using BatchNorm1d = ModuleHolder<BatchNormNdImpl<1>, std::int64_t>;
using BatchNorm2d = ModuleHolder<BatchNormNdImpl<2>, std::int64_t>;
using BatchNorm3d = ModuleHolder<BatchNormNdImpl<3>, std::int64_t>;

class InstanceNormImpl : public ChannelNormImpl {
 protected:
  using ChannelNormImpl::ChannelNormImpl;
  Tensor normalize(const In& input, std::int64_t rank);
};

template <std::int64_t Rank>
class InstanceNormNdImpl : public InstanceNormImpl {
 public:
  using Options = InstanceNormOptions;
  explicit InstanceNormNdImpl(std::int64_t num_features, const Options& o = {})
      : InstanceNormImpl(num_features, {o.eps, o.momentum, o.affine, o.track_running_stats, o.dtype, o.bias}) {}
  Tensor forward(const In& input) { return normalize(input, Rank); }
  std::string name() const override { return "InstanceNorm" + std::to_string(Rank) + "d"; }
};
// https://pytorch.org/docs/stable/generated/torch.nn.InstanceNorm2d.html
using InstanceNorm1d = ModuleHolder<InstanceNormNdImpl<1>, std::int64_t>;
using InstanceNorm2d = ModuleHolder<InstanceNormNdImpl<2>, std::int64_t>;
using InstanceNorm3d = ModuleHolder<InstanceNormNdImpl<3>, std::int64_t>;

struct LayerNormOptions {
  double eps = 1e-5;
  bool elementwise_affine = true, bias = true;
  std::optional<DType> dtype = {};
};

// Over the last dims. https://pytorch.org/docs/stable/generated/torch.nn.LayerNorm.html
class LayerNormImpl : public Module {
 public:
  using Options = LayerNormOptions;
  explicit LayerNormImpl(const Window& normalized_shape, const Options& options = {});
  void reset_parameters();
  Tensor forward(const In& input);
  std::string extra_repr() const override;

  const Sizes normalized_shape;
  const Options options;
  Tensor &weight, &bias;
};
using LayerNorm = ModuleHolder<LayerNormImpl, Window>;

struct RMSNormOptions {
  std::optional<double> eps = {};  // the dtype's own
  bool elementwise_affine = true;
  std::optional<DType> dtype = {};
};

// By the root of the mean square over the last dims. https://pytorch.org/docs/stable/generated/torch.nn.RMSNorm.html
class RMSNormImpl : public Module {
 public:
  using Options = RMSNormOptions;
  explicit RMSNormImpl(const Window& normalized_shape, const Options& options = {});
  void reset_parameters();
  Tensor forward(const In& input);
  std::string extra_repr() const override;

  const Sizes normalized_shape;
  const Options options;
  Tensor& weight;
};
using RMSNorm = ModuleHolder<RMSNormImpl, Window>;

struct GroupNormOptions {
  double eps = 1e-5;
  bool affine = true;
  std::optional<DType> dtype = {};
  bool bias = true;
};

// Over groups of channels. https://pytorch.org/docs/stable/generated/torch.nn.GroupNorm.html
class GroupNormImpl : public Module {
 public:
  using Options = GroupNormOptions;
  GroupNormImpl(std::int64_t num_groups, std::int64_t num_channels, const Options& options = {});
  void reset_parameters();
  Tensor forward(const In& input);
  std::string extra_repr() const override;

  const std::int64_t num_groups, num_channels;
  const Options options;
  Tensor &weight, &bias;
};
using GroupNorm = ModuleHolder<GroupNormImpl, std::int64_t, std::int64_t>;

struct LocalResponseNormOptions {
  double alpha = 1e-4, beta = 0.75, k = 1;
};

// By neighbouring channels. https://pytorch.org/docs/stable/generated/torch.nn.LocalResponseNorm.html
class LocalResponseNormImpl : public Module {
 public:
  using Options = LocalResponseNormOptions;
  explicit LocalResponseNormImpl(std::int64_t size, const Options& options = {}) : size(size), options(options) {}
  Tensor forward(const In& input);
  std::string extra_repr() const override;

  const std::int64_t size;
  const Options options;
};
using LocalResponseNorm = ModuleHolder<LocalResponseNormImpl, std::int64_t>;

}  // namespace braze::nn
