#include "braze/nn/activations.h"
#include "braze/functional.h"
#include "braze/functions.h"
#include "frontend/nn/text.h"
#include "ir/error.h"

namespace braze::nn {

namespace {

// The result, or the input with the result in it.
Tensor placed(const Tensor& result, const In& input, bool inplace) {
  if (!inplace) return result;
  Tensor x = input.tensor();
  return x.copy_(result);
}

}  // namespace

Tensor SigmoidImpl::forward(const In& input) { return functional::sigmoid(input); }
Tensor TanhImpl::forward(const In& input) { return functional::tanh(input); }
Tensor LogSigmoidImpl::forward(const In& input) { return functional::logsigmoid(input); }
Tensor SoftsignImpl::forward(const In& input) { return functional::softsign(input); }
Tensor TanhshrinkImpl::forward(const In& input) { return functional::tanhshrink(input); }
Tensor Softmax2dImpl::forward(const In& input) {
  if (input.is_scalar()) detail::refuse_number(*this);
  const std::int64_t dims = input.tensor().dim();
  require<ValueError>(dims == 3 || dims == 4, "Softmax2d: expected input to be 3D or 4D, got {}D instead", dims);
  return softmax(input, -3);
}

Tensor ReLUImpl::forward(const In& input) { return placed(functional::relu(input), input, options.inplace); }
std::string ReLUImpl::extra_repr() const { return arguments({}, options.inplace); }

Tensor ReLU6Impl::forward(const In& input) { return placed(functional::relu6(input), input, options.inplace); }
std::string ReLU6Impl::extra_repr() const { return arguments({}, options.inplace); }

Tensor SELUImpl::forward(const In& input) { return placed(functional::selu(input), input, options.inplace); }
std::string SELUImpl::extra_repr() const { return arguments({}, options.inplace); }

Tensor SiLUImpl::forward(const In& input) { return placed(functional::silu(input), input, options.inplace); }
std::string SiLUImpl::extra_repr() const { return arguments({}, options.inplace); }

Tensor MishImpl::forward(const In& input) { return placed(functional::mish(input), input, options.inplace); }
std::string MishImpl::extra_repr() const { return arguments({}, options.inplace); }

Tensor HardswishImpl::forward(const In& input) { return placed(functional::hardswish(input), input, options.inplace); }
std::string HardswishImpl::extra_repr() const { return arguments({}, options.inplace); }

Tensor HardsigmoidImpl::forward(const In& input) { return placed(functional::hardsigmoid(input), input, options.inplace); }
std::string HardsigmoidImpl::extra_repr() const { return arguments({}, options.inplace); }

Tensor LeakyReLUImpl::forward(const In& input) {
  return placed(functional::leaky_relu(input, options.negative_slope), input, options.inplace);
}
std::string LeakyReLUImpl::extra_repr() const {
  return arguments({{"negative_slope", repr(options.negative_slope)}}, options.inplace);
}

Tensor ELUImpl::forward(const In& input) { return placed(functional::elu(input, options.alpha), input, options.inplace); }
std::string ELUImpl::extra_repr() const { return arguments({{"alpha", repr(options.alpha)}}, options.inplace); }

Tensor CELUImpl::forward(const In& input) { return placed(functional::celu(input, options.alpha), input, options.inplace); }
std::string CELUImpl::extra_repr() const { return arguments({{"alpha", repr(options.alpha)}}, options.inplace); }

Tensor GELUImpl::forward(const In& input) { return functional::gelu(input, options.approximate); }
std::string GELUImpl::extra_repr() const { return arguments({{"approximate", repr(std::string_view(options.approximate))}}); }

Tensor SoftplusImpl::forward(const In& input) { return functional::softplus(input, options.beta, options.threshold); }
std::string SoftplusImpl::extra_repr() const {
  return arguments({{"beta", repr(options.beta)}, {"threshold", repr(options.threshold)}});
}

Tensor HardtanhImpl::forward(const In& input) {
  return placed(functional::hardtanh(input, options.min_val, options.max_val), input, options.inplace);
}
std::string HardtanhImpl::extra_repr() const {
  return arguments({{"min_val", repr(options.min_val)}, {"max_val", repr(options.max_val)}}, options.inplace);
}

Tensor HardshrinkImpl::forward(const In& input) { return functional::hardshrink(input, options.lambd); }
std::string HardshrinkImpl::extra_repr() const { return repr(options.lambd); }

Tensor SoftshrinkImpl::forward(const In& input) { return functional::softshrink(input, options.lambd); }
std::string SoftshrinkImpl::extra_repr() const { return repr(options.lambd); }

Tensor GLUImpl::forward(const In& input) { return functional::glu(input, options.dim); }
std::string GLUImpl::extra_repr() const { return arguments({{"dim", repr(options.dim)}}); }

Tensor SoftmaxImpl::forward(const In& input) { return functional::softmax(input, dim); }
std::string SoftmaxImpl::extra_repr() const { return arguments({{"dim", repr(dim)}}); }

Tensor SoftminImpl::forward(const In& input) { return functional::softmin(input, dim); }
std::string SoftminImpl::extra_repr() const { return arguments({{"dim", repr(dim)}}); }

Tensor LogSoftmaxImpl::forward(const In& input) { return functional::log_softmax(input, dim); }
std::string LogSoftmaxImpl::extra_repr() const { return arguments({{"dim", repr(dim)}}); }

Tensor ThresholdImpl::forward(const In& input) {
  return placed(functional::threshold(input, threshold, value), input, options.inplace);
}
std::string ThresholdImpl::extra_repr() const {
  return arguments({{"threshold", repr(threshold)}, {"value", repr(value)}}, options.inplace);
}

Tensor RReLUImpl::forward(const In& input) {
  return placed(functional::rrelu(input, options.lower, options.upper, is_training()), input, options.inplace);
}
std::string RReLUImpl::extra_repr() const {
  return arguments({{"lower", repr(options.lower)}, {"upper", repr(options.upper)}}, options.inplace);
}

PReLUImpl::PReLUImpl(const Options& options)
    : Configured(options), weight(register_parameter("weight", full({options.num_parameters}, options.init, {options.dtype}))) {}
void PReLUImpl::reset_parameters() { weight.detach().fill_(options.init); }
Tensor PReLUImpl::forward(const In& input) { return functional::prelu(input, weight); }
std::string PReLUImpl::extra_repr() const { return arguments({{"num_parameters", repr(options.num_parameters)}}); }

}  // namespace braze::nn
