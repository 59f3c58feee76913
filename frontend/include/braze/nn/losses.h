// Losses as modules: each keeps its settings and calls its function of braze/losses.h. https://pytorch.org/docs/stable/nn.html#loss-functions
//
// `reduction` is "mean", "sum" or "none". Weights are buffers, so that they follow the module.
#pragma once

#include "braze/nn/module.h"

namespace braze::nn {

struct ReductionOptions {
  std::string reduction = "mean";
};

class MSELossImpl : public Module {
 public:
  using Options = ReductionOptions;
  explicit MSELossImpl(const Options& options = {}) : options(options) {}
  Tensor forward(const In& input, const Tensor& target);

  const Options options;
};
using MSELoss = ModuleHolder<MSELossImpl>;

}  // namespace braze::nn
