#include "braze/nn/dropout.h"

#include "braze/dropout.h"
#include "frontend/nn/text.h"
#include "ir/error.h"

namespace braze::nn {

DropoutBase::DropoutBase(Function function, const Options& options) : options(options), function_(function) {
  require<ValueError>(options.p >= 0 && options.p <= 1, "dropout probability has to be between 0 and 1, but got {}",
                      repr(options.p));
}

Tensor DropoutBase::forward(const In& input) {
  const Tensor result = function_(input, options.p, is_training());
  if (!options.inplace || !is_training() || input.is_scalar()) return result;
  Tensor x = input.tensor();
  return x.copy_(result);
}

std::string DropoutBase::extra_repr() const { return fmt::format("p={}, inplace={}", repr(options.p), repr(options.inplace)); }

DropoutImpl::DropoutImpl(const Options& options) : DropoutBase(functional::dropout, options) {}
Dropout1dImpl::Dropout1dImpl(const Options& options) : DropoutBase(functional::dropout1d, options) {}
Dropout2dImpl::Dropout2dImpl(const Options& options) : DropoutBase(functional::dropout2d, options) {}
Dropout3dImpl::Dropout3dImpl(const Options& options) : DropoutBase(functional::dropout3d, options) {}
AlphaDropoutImpl::AlphaDropoutImpl(const Options& options) : DropoutBase(functional::alpha_dropout, options) {}
FeatureAlphaDropoutImpl::FeatureAlphaDropoutImpl(const Options& options)
    : DropoutBase(functional::feature_alpha_dropout, options) {}

}  // namespace braze::nn
