// Activations as modules: each keeps its settings and calls its function of braze/functional.h.
// https://pytorch.org/docs/stable/nn.html#non-linear-activations-weighted-sum-nonlinearity
#pragma once

#include "braze/nn/module.h"

namespace braze::nn {

struct InPlaceOptions {
  bool inplace = false;
};

// 1 / (1 + exp(-x)). https://pytorch.org/docs/stable/generated/torch.nn.Sigmoid.html
class SigmoidImpl : public Module {
 public:
  Tensor forward(const In& input);
};
using Sigmoid = ModuleHolder<SigmoidImpl>;

// The hyperbolic tangent. https://pytorch.org/docs/stable/generated/torch.nn.Tanh.html
class TanhImpl : public Module {
 public:
  Tensor forward(const In& input);
};
using Tanh = ModuleHolder<TanhImpl>;

// log(sigmoid(x)). https://pytorch.org/docs/stable/generated/torch.nn.LogSigmoid.html
class LogSigmoidImpl : public Module {
 public:
  Tensor forward(const In& input);
};
using LogSigmoid = ModuleHolder<LogSigmoidImpl>;

// x / (1 + |x|). https://pytorch.org/docs/stable/generated/torch.nn.Softsign.html
class SoftsignImpl : public Module {
 public:
  Tensor forward(const In& input);
};
using Softsign = ModuleHolder<SoftsignImpl>;

// x - tanh(x). https://pytorch.org/docs/stable/generated/torch.nn.Tanhshrink.html
class TanhshrinkImpl : public Module {
 public:
  Tensor forward(const In& input);
};
using Tanhshrink = ModuleHolder<TanhshrinkImpl>;

// softmax over channels. https://pytorch.org/docs/stable/generated/torch.nn.Softmax2d.html
class Softmax2dImpl : public Module {
 public:
  Tensor forward(const In& input);
};
using Softmax2d = ModuleHolder<Softmax2dImpl>;

// max(x, 0). https://pytorch.org/docs/stable/generated/torch.nn.ReLU.html
class ReLUImpl : public Configured<InPlaceOptions> {
 public:
  using Configured::Configured;
  Tensor forward(const In& input);
  std::string extra_repr() const override;
};
using ReLU = ModuleHolder<ReLUImpl>;

// Between 0 and 6. https://pytorch.org/docs/stable/generated/torch.nn.ReLU6.html
class ReLU6Impl : public Configured<InPlaceOptions> {
 public:
  using Configured::Configured;
  Tensor forward(const In& input);
  std::string extra_repr() const override;
};
using ReLU6 = ModuleHolder<ReLU6Impl>;

// A scaled elu that keeps mean and variance. https://pytorch.org/docs/stable/generated/torch.nn.SELU.html
class SELUImpl : public Configured<InPlaceOptions> {
 public:
  using Configured::Configured;
  Tensor forward(const In& input);
  std::string extra_repr() const override;
};
using SELU = ModuleHolder<SELUImpl>;

// x sigmoid(x). https://pytorch.org/docs/stable/generated/torch.nn.SiLU.html
class SiLUImpl : public Configured<InPlaceOptions> {
 public:
  using Configured::Configured;
  Tensor forward(const In& input);
  std::string extra_repr() const override;
};
using SiLU = ModuleHolder<SiLUImpl>;

// x tanh(softplus(x)). https://pytorch.org/docs/stable/generated/torch.nn.Mish.html
class MishImpl : public Configured<InPlaceOptions> {
 public:
  using Configured::Configured;
  Tensor forward(const In& input);
  std::string extra_repr() const override;
};
using Mish = ModuleHolder<MishImpl>;

// x relu6(x + 3) / 6. https://pytorch.org/docs/stable/generated/torch.nn.Hardswish.html
class HardswishImpl : public Configured<InPlaceOptions> {
 public:
  using Configured::Configured;
  Tensor forward(const In& input);
  std::string extra_repr() const override;
};
using Hardswish = ModuleHolder<HardswishImpl>;

// relu6(x + 3) / 6. https://pytorch.org/docs/stable/generated/torch.nn.Hardsigmoid.html
class HardsigmoidImpl : public Configured<InPlaceOptions> {
 public:
  using Configured::Configured;
  Tensor forward(const In& input);
  std::string extra_repr() const override;
};
using Hardsigmoid = ModuleHolder<HardsigmoidImpl>;

struct LeakyReLUOptions {
  double negative_slope = 0.01;
  bool inplace = false;
};

// x, or negative_slope * x below 0. https://pytorch.org/docs/stable/generated/torch.nn.LeakyReLU.html
class LeakyReLUImpl : public Configured<LeakyReLUOptions> {
 public:
  using Configured::Configured;
  Tensor forward(const In& input);
  std::string extra_repr() const override;
};
using LeakyReLU = ModuleHolder<LeakyReLUImpl>;

struct ELUOptions {
  double alpha = 1;
  bool inplace = false;
};

// x, or alpha * (exp(x) - 1) below 0. https://pytorch.org/docs/stable/generated/torch.nn.ELU.html
class ELUImpl : public Configured<ELUOptions> {
 public:
  using Configured::Configured;
  Tensor forward(const In& input);
  std::string extra_repr() const override;
};
using ELU = ModuleHolder<ELUImpl>;

struct CELUOptions {
  double alpha = 1;
  bool inplace = false;
};

// x, or alpha * (exp(x / alpha) - 1) below 0. https://pytorch.org/docs/stable/generated/torch.nn.CELU.html
class CELUImpl : public Configured<CELUOptions> {
 public:
  using Configured::Configured;
  Tensor forward(const In& input);
  std::string extra_repr() const override;
};
using CELU = ModuleHolder<CELUImpl>;

struct GELUOptions {
  std::string approximate = "none";  // or "tanh"
};

// x times the normal distribution function of x. https://pytorch.org/docs/stable/generated/torch.nn.GELU.html
class GELUImpl : public Configured<GELUOptions> {
 public:
  using Configured::Configured;
  Tensor forward(const In& input);
  std::string extra_repr() const override;
};
using GELU = ModuleHolder<GELUImpl>;

struct SoftplusOptions {
  double beta = 1, threshold = 20;
};

// log(1 + exp(beta x)) / beta. https://pytorch.org/docs/stable/generated/torch.nn.Softplus.html
class SoftplusImpl : public Configured<SoftplusOptions> {
 public:
  using Configured::Configured;
  Tensor forward(const In& input);
  std::string extra_repr() const override;
};
using Softplus = ModuleHolder<SoftplusImpl>;

struct HardtanhOptions {
  Scalar min_val = -1., max_val = 1.;
  bool inplace = false;
};

// Between min_val and max_val. https://pytorch.org/docs/stable/generated/torch.nn.Hardtanh.html
class HardtanhImpl : public Configured<HardtanhOptions> {
 public:
  using Configured::Configured;
  Tensor forward(const In& input);
  std::string extra_repr() const override;
};
using Hardtanh = ModuleHolder<HardtanhImpl>;

struct HardshrinkOptions {
  double lambd = 0.5;
};

// 0 where |x| <= lambd. https://pytorch.org/docs/stable/generated/torch.nn.Hardshrink.html
class HardshrinkImpl : public Configured<HardshrinkOptions> {
 public:
  using Configured::Configured;
  Tensor forward(const In& input);
  std::string extra_repr() const override;
};
using Hardshrink = ModuleHolder<HardshrinkImpl>;

struct SoftshrinkOptions {
  double lambd = 0.5;
};

// Nearer to 0 by lambd. https://pytorch.org/docs/stable/generated/torch.nn.Softshrink.html
class SoftshrinkImpl : public Configured<SoftshrinkOptions> {
 public:
  using Configured::Configured;
  Tensor forward(const In& input);
  std::string extra_repr() const override;
};
using Softshrink = ModuleHolder<SoftshrinkImpl>;

struct GLUOptions {
  std::int64_t dim = -1;
};

// The first half of a dim times the sigmoid of the second. https://pytorch.org/docs/stable/generated/torch.nn.GLU.html
class GLUImpl : public Configured<GLUOptions> {
 public:
  using Configured::Configured;
  Tensor forward(const In& input);
  std::string extra_repr() const override;
};
using GLU = ModuleHolder<GLUImpl>;

// exp(x) over its sum along dim. https://pytorch.org/docs/stable/generated/torch.nn.Softmax.html
class SoftmaxImpl : public Module {
 public:
  explicit SoftmaxImpl(std::int64_t dim) : dim(dim) {}
  Tensor forward(const In& input);
  std::string extra_repr() const override;

  const std::int64_t dim;
};
using Softmax = ModuleHolder<SoftmaxImpl, std::int64_t>;

// softmax(-x). https://pytorch.org/docs/stable/generated/torch.nn.Softmin.html
class SoftminImpl : public Module {
 public:
  explicit SoftminImpl(std::int64_t dim) : dim(dim) {}
  Tensor forward(const In& input);
  std::string extra_repr() const override;

  const std::int64_t dim;
};
using Softmin = ModuleHolder<SoftminImpl, std::int64_t>;

// log(softmax(x)). https://pytorch.org/docs/stable/generated/torch.nn.LogSoftmax.html
class LogSoftmaxImpl : public Module {
 public:
  explicit LogSoftmaxImpl(std::int64_t dim) : dim(dim) {}
  Tensor forward(const In& input);
  std::string extra_repr() const override;

  const std::int64_t dim;
};
using LogSoftmax = ModuleHolder<LogSoftmaxImpl, std::int64_t>;

// `value` where x <= threshold. https://pytorch.org/docs/stable/generated/torch.nn.Threshold.html
class ThresholdImpl : public Module {
 public:
  using Options = InPlaceOptions;
  ThresholdImpl(Scalar threshold, Scalar value, const Options& options = {})
      : threshold(threshold), value(value), options(options) {}
  Tensor forward(const In& input);
  std::string extra_repr() const override;

  const Scalar threshold, value;
  const Options options;
};
using Threshold = ModuleHolder<ThresholdImpl, Scalar, Scalar>;

struct RReLUOptions {
  double lower = 1. / 8, upper = 1. / 3;
  bool inplace = false;
};

// leaky_relu with the mean of both slopes; in training mode with slopes drawn between them.
// https://pytorch.org/docs/stable/generated/torch.nn.RReLU.html
class RReLUImpl : public Configured<RReLUOptions> {
 public:
  using Configured::Configured;
  Tensor forward(const In& input);
  std::string extra_repr() const override;
};
using RReLU = ModuleHolder<RReLUImpl>;

struct PReLUOptions {
  std::int64_t num_parameters = 1;
  double init = 0.25;
  std::optional<DType> dtype = {};
};

// leaky_relu with a slope that is trained. https://pytorch.org/docs/stable/generated/torch.nn.PReLU.html
class PReLUImpl : public Configured<PReLUOptions> {
 public:
  explicit PReLUImpl(const Options& options = {});
  void reset_parameters();
  Tensor forward(const In& input);
  std::string extra_repr() const override;

  Tensor& weight;
};
using PReLU = ModuleHolder<PReLUImpl>;

}  // namespace braze::nn
