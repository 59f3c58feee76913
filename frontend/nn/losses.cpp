#include "braze/nn/losses.h"

#include "braze/functional.h"

namespace braze::nn {

Tensor MSELossImpl::forward(const In& input, const Tensor& target) {
  return functional::mse_loss(input, target, options.reduction);
}

}  // namespace braze::nn
