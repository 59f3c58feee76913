#include "braze/nn/pooling.h"

#include "braze/functional.h"
#include "braze/functions.h"
#include "frontend/nn/text.h"
#include "ir/error.h"

namespace braze::nn {

namespace {

std::string repr(const Window& w) { return w.is_one() ? std::to_string(w.sizes()[0]) : braze::repr(w.sizes()); }
const Window& or_kernel(const Window& stride, const Window& kernel_size) { return stride.empty() ? kernel_size : stride; }

}  // namespace

std::string MaxPoolImpl::extra_repr() const {
  return fmt::format("kernel_size={}, stride={}, padding={}, dilation={}, ceil_mode={}", repr(kernel_size),
                     repr(or_kernel(options.stride, kernel_size)), repr(options.padding), repr(options.dilation),
                     braze::repr(options.ceil_mode));
}
std::string AvgPoolImpl::extra_repr() const {
  return fmt::format("kernel_size={}, stride={}, padding={}", repr(kernel_size), repr(or_kernel(options.stride, kernel_size)),
                     repr(options.padding));
}
std::string LPPoolImpl::extra_repr() const {
  return fmt::format("norm_type={}, kernel_size={}, stride={}, ceil_mode={}", norm_type, repr(kernel_size),
                     options.stride.empty() ? "None" : repr(options.stride), braze::repr(options.ceil_mode));
}
std::string AdaptivePoolImpl::extra_repr() const { return "output_size=" + repr(output_size); }

MaxUnpoolImpl::MaxUnpoolImpl(std::size_t rank, const Window& kernel_size, const Options& options)
    : kernel_size(kernel_size.of(rank)),
      stride(or_kernel(options.stride, kernel_size).of(rank)),
      padding(options.padding.of(rank)) {}
std::string MaxUnpoolImpl::extra_repr() const {
  return fmt::format("kernel_size={}, stride={}, padding={}", braze::repr(kernel_size), braze::repr(stride), braze::repr(padding));
}

MaxPool1dImpl::MaxPool1dImpl(const Window& kernel_size, const Options& options) : MaxPoolImpl(kernel_size, options) {}
Tensor MaxPool1dImpl::forward(const In& input) {
  return max_pool1d(input, kernel_size.sizes(), options.stride.sizes(), options.padding.sizes(), options.dilation.sizes(),
                    options.ceil_mode);
}

// As PyTorch prints it: tuples.
AvgPool1dImpl::AvgPool1dImpl(const Window& kernel_size, const Options& o)
    : AvgPoolImpl(kernel_size.of(1),
                  {or_kernel(o.stride, kernel_size).of(1), o.padding.of(1), o.ceil_mode, o.count_include_pad, {}}) {}
Tensor AvgPool1dImpl::forward(const In& input) {
  return avg_pool1d(input, kernel_size.sizes(), options.stride.sizes(), options.padding.sizes(), options.ceil_mode,
                    options.count_include_pad);
}

Tensor LPPool1dImpl::forward(const In& input) {
  return functional::lp_pool1d(input, norm_type, kernel_size.sizes(), options.stride.sizes(), options.ceil_mode);
}

Tensor AdaptiveAvgPool1dImpl::forward(const In& input) { return adaptive_avg_pool1d(input, output_size.sizes()); }

Tensor AdaptiveMaxPool1dImpl::forward(const In& input) { return adaptive_max_pool1d(input, output_size.sizes()); }

Tensor MaxUnpool1dImpl::forward(const In& input, const Tensor& indices, const Sizes& output_size) {
  return functional::max_unpool1d(input, indices, kernel_size, stride, padding, output_size);
}

MaxPool2dImpl::MaxPool2dImpl(const Window& kernel_size, const Options& options) : MaxPoolImpl(kernel_size, options) {}
Tensor MaxPool2dImpl::forward(const In& input) {
  return max_pool2d(input, kernel_size.sizes(), options.stride.sizes(), options.padding.sizes(), options.dilation.sizes(),
                    options.ceil_mode);
}

AvgPool2dImpl::AvgPool2dImpl(const Window& kernel_size, const Options& options) : AvgPoolImpl(kernel_size, options) {}
Tensor AvgPool2dImpl::forward(const In& input) {
  return avg_pool2d(input, kernel_size.sizes(), options.stride.sizes(), options.padding.sizes(), options.ceil_mode,
                    options.count_include_pad, options.divisor_override);
}

Tensor LPPool2dImpl::forward(const In& input) {
  return functional::lp_pool2d(input, norm_type, kernel_size.sizes(), options.stride.sizes(), options.ceil_mode);
}

Tensor AdaptiveAvgPool2dImpl::forward(const In& input) { return adaptive_avg_pool2d(input, output_size.sizes()); }

Tensor AdaptiveMaxPool2dImpl::forward(const In& input) { return adaptive_max_pool2d(input, output_size.sizes()); }

Tensor MaxUnpool2dImpl::forward(const In& input, const Tensor& indices, const Sizes& output_size) {
  return functional::max_unpool2d(input, indices, kernel_size, stride, padding, output_size);
}

MaxPool3dImpl::MaxPool3dImpl(const Window& kernel_size, const Options& options) : MaxPoolImpl(kernel_size, options) {}
Tensor MaxPool3dImpl::forward(const In& input) {
  return max_pool3d(input, kernel_size.sizes(), options.stride.sizes(), options.padding.sizes(), options.dilation.sizes(),
                    options.ceil_mode);
}

AvgPool3dImpl::AvgPool3dImpl(const Window& kernel_size, const Options& options) : AvgPoolImpl(kernel_size, options) {}
Tensor AvgPool3dImpl::forward(const In& input) {
  return avg_pool3d(input, kernel_size.sizes(), options.stride.sizes(), options.padding.sizes(), options.ceil_mode,
                    options.count_include_pad, options.divisor_override);
}

Tensor LPPool3dImpl::forward(const In& input) {
  return functional::lp_pool3d(input, norm_type, kernel_size.sizes(), options.stride.sizes(), options.ceil_mode);
}

Tensor AdaptiveAvgPool3dImpl::forward(const In& input) { return adaptive_avg_pool3d(input, output_size.sizes()); }

Tensor AdaptiveMaxPool3dImpl::forward(const In& input) { return adaptive_max_pool3d(input, output_size.sizes()); }

Tensor MaxUnpool3dImpl::forward(const In& input, const Tensor& indices, const Sizes& output_size) {
  return functional::max_unpool3d(input, indices, kernel_size, stride, padding, output_size);
}

}  // namespace braze::nn
