// Dropout and its kin: while training, by braze/dropout.h. https://pytorch.org/docs/stable/nn.html#dropout-layers
#pragma once

#include "braze/nn/module.h"

namespace braze::nn {

struct DropoutOptions {
  double p = 0.5;
  bool inplace = false;
};

// Throws ValueError for a p outside of [0, 1].
class DropoutBase : public Module {
 public:
  using Options = DropoutOptions;
  std::string extra_repr() const override;

  const Options options;

 protected:
  using Function = Tensor (*)(const In& x, double p, bool training);
  DropoutBase(Function function, const Options& options);

 public:
  Tensor forward(const In& input);

 private:
  Function function_;
};

// Elements are zero with probability p. https://pytorch.org/docs/stable/generated/torch.nn.Dropout.html
class DropoutImpl : public DropoutBase {
 public:
  explicit DropoutImpl(const Options& options = {});
};
// Whole channels. https://pytorch.org/docs/stable/generated/torch.nn.Dropout2d.html
class Dropout1dImpl : public DropoutBase {
 public:
  explicit Dropout1dImpl(const Options& options = {});
};
class Dropout2dImpl : public DropoutBase {
 public:
  explicit Dropout2dImpl(const Options& options = {});
};
class Dropout3dImpl : public DropoutBase {
 public:
  explicit Dropout3dImpl(const Options& options = {});
};
// Keeps what SELU keeps. https://pytorch.org/docs/stable/generated/torch.nn.AlphaDropout.html
class AlphaDropoutImpl : public DropoutBase {
 public:
  explicit AlphaDropoutImpl(const Options& options = {});
};
class FeatureAlphaDropoutImpl : public DropoutBase {
 public:
  explicit FeatureAlphaDropoutImpl(const Options& options = {});
};
using Dropout = ModuleHolder<DropoutImpl>;
using Dropout1d = ModuleHolder<Dropout1dImpl>;
using Dropout2d = ModuleHolder<Dropout2dImpl>;
using Dropout3d = ModuleHolder<Dropout3dImpl>;
using AlphaDropout = ModuleHolder<AlphaDropoutImpl>;
using FeatureAlphaDropout = ModuleHolder<FeatureAlphaDropoutImpl>;

}  // namespace braze::nn
