// Layers of a matrix product, and changes of shape. https://pytorch.org/docs/stable/nn.html#linear-layers
#pragma once

#include "braze/nn/module.h"

namespace braze::nn {

class IdentityImpl : public Module {
 public:
  Tensor forward(const Tensor& input) { return input; }
};
using Identity = ModuleHolder<IdentityImpl>;

struct LinearOptions {
  bool bias = true;
  std::optional<DType> dtype = {};
};

// x W^T + b. https://pytorch.org/docs/stable/generated/torch.nn.Linear.html
class LinearImpl : public Module {
 public:
  using Options = LinearOptions;
  LinearImpl(std::int64_t in_features, std::int64_t out_features, const Options& options = {});
  void reset_parameters();
  Tensor forward(const In& input);
  std::string extra_repr() const override;

  const std::int64_t in_features, out_features;
  Tensor &weight, &bias;  // [out, in], [out]
};
using Linear = ModuleHolder<LinearImpl, std::int64_t, std::int64_t>;

// x1 A x2 + b. https://pytorch.org/docs/stable/generated/torch.nn.Bilinear.html
class BilinearImpl : public Module {
 public:
  using Options = LinearOptions;
  BilinearImpl(std::int64_t in1_features, std::int64_t in2_features, std::int64_t out_features, const Options& options = {});
  void reset_parameters();
  Tensor forward(const In& input1, const Tensor& input2);
  std::string extra_repr() const override;

  const std::int64_t in1_features, in2_features, out_features;
  Tensor &weight, &bias;  // [out, in1, in2], [out]
};
using Bilinear = ModuleHolder<BilinearImpl, std::int64_t, std::int64_t, std::int64_t>;

struct FlattenOptions {
  std::int64_t start_dim = 1, end_dim = -1;
};

// Dims from start_dim to end_dim as one. https://pytorch.org/docs/stable/generated/torch.nn.Flatten.html
class FlattenImpl : public Module {
 public:
  using Options = FlattenOptions;
  explicit FlattenImpl(const Options& options = {}) : options(options) {}
  Tensor forward(const In& input);
  std::string extra_repr() const override;

  const Options options;
};
using Flatten = ModuleHolder<FlattenImpl>;

// One dim as several. https://pytorch.org/docs/stable/generated/torch.nn.Unflatten.html
class UnflattenImpl : public Module {
 public:
  UnflattenImpl(std::int64_t dim, Sizes sizes) : dim(dim), sizes(std::move(sizes)) {}
  Tensor forward(const In& input);
  std::string extra_repr() const override;

  const std::int64_t dim;
  const Sizes sizes;
};
using Unflatten = ModuleHolder<UnflattenImpl, std::int64_t, Sizes>;

}  // namespace braze::nn
