#include "braze/nn/linear.h"

#include <cmath>

#include "braze/functions.h"
#include "braze/nn/init.h"
#include "frontend/nn/text.h"
#include "ir/error.h"

namespace braze::nn {

LinearImpl::LinearImpl(std::int64_t in_features, std::int64_t out_features, const Options& options)
    : in_features(in_features),
      out_features(out_features),
      weight(register_parameter("weight", empty({out_features, in_features}, {options.dtype}))),
      bias(register_parameter("bias", options.bias ? empty({out_features}, {options.dtype}) : Tensor())) {
  reset_parameters();
}

void LinearImpl::reset_parameters() {
  init::kaiming_uniform_(weight, std::sqrt(5.0));
  if (!bias.defined()) return;
  const double bound = in_features > 0 ? 1 / std::sqrt(static_cast<double>(in_features)) : 0;
  init::uniform_(bias, -bound, bound);
}

Tensor LinearImpl::forward(const In& input) { return linear(input, weight, bias); }

std::string LinearImpl::extra_repr() const {
  return fmt::format("in_features={}, out_features={}, bias={}", in_features, out_features, repr(bias.defined()));
}

BilinearImpl::BilinearImpl(std::int64_t in1_features, std::int64_t in2_features, std::int64_t out_features, const Options& options)
    : in1_features(in1_features),
      in2_features(in2_features),
      out_features(out_features),
      weight(register_parameter("weight", empty({out_features, in1_features, in2_features}, {options.dtype}))),
      bias(register_parameter("bias", options.bias ? empty({out_features}, {options.dtype}) : Tensor())) {
  require<ValueError>(in1_features > 0, "in1_features must be > 0, but got {}", in1_features);
  reset_parameters();
}

void BilinearImpl::reset_parameters() {
  const double bound = 1 / std::sqrt(static_cast<double>(in1_features));
  init::uniform_(weight, -bound, bound);
  if (bias.defined()) init::uniform_(bias, -bound, bound);
}

Tensor BilinearImpl::forward(const In& input1, const Tensor& input2) { return bilinear(input1, input2, weight, bias); }

std::string BilinearImpl::extra_repr() const {
  return fmt::format("in1_features={}, in2_features={}, out_features={}, bias={}", in1_features, in2_features, out_features,
                     repr(bias.defined()));
}

Tensor FlattenImpl::forward(const In& input) { return flatten(input, options.start_dim, options.end_dim); }
std::string FlattenImpl::extra_repr() const { return fmt::format("start_dim={}, end_dim={}", options.start_dim, options.end_dim); }

Tensor UnflattenImpl::forward(const In& input) { return unflatten(input, dim, sizes); }
std::string UnflattenImpl::extra_repr() const { return fmt::format("dim={}, unflattened_size={}", dim, repr(sizes)); }

}  // namespace braze::nn
