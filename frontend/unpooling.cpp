// Pooling by norms, and maxima put back.
#include "braze/pooling.h"

#include "braze/functional.h"
#include "frontend/autograd/names.h"
#include "frontend/composing.h"

namespace braze::nn::functional {

namespace {

// One number for all spatial dims, or one for each.
Sizes for_each(std::string_view function, std::string_view what, SizesView given, std::size_t rank) {
  require(given.size() == 1 || given.size() == rank, "{}: {} must be one int, or a list of {}", function, what, rank);
  return given.size() == 1 ? Sizes(rank, given[0]) : Sizes(given.begin(), given.end());
}

template <class Mean>
Tensor lp_pool(const In& input, double p, const Sizes& kernel, Mean mean) {
  require_tensor("lp_pool", input);
  const SourceLine line(input.where());
  std::int64_t count = 1;
  for (const std::int64_t k : kernel) count *= k;
  return map_floating("lp_pool", input, [&](const Tensor& x) {
    const Tensor means = mean(pow(x, p));
    return pow(sign(means) * relu(abs(means)) * count, 1 / p);
  });
}

Tensor max_unpool(std::string_view function, const In& input, const Tensor& indices, SizesView kernel_size, SizesView stride,
                  SizesView padding, SizesView output_size, std::size_t rank) {
  const Tensor& x = require_tensor(function, input);
  const SourceLine line(input.where());
  const auto all = static_cast<std::size_t>(x.dim());
  require(all == rank + 1 || all == rank + 2, "{}(): Input to {} should be a {}d or {}d Tensor, but got a tensor with dim: {}",
          function, function, rank + 1, rank + 2, all);
  require(x.sizes() == indices.sizes(),
          "Expected shape of indices to be same as that of the input tensor ({}) but got indices tensor "
          "with shape: {}",
          sizes_text(x.sizes()), sizes_text(indices.sizes()));
  const Sizes kernel = for_each(function, "kernel_size", kernel_size, rank);
  const Sizes steps = stride.size() == 0 ? kernel : for_each(function, "stride", stride, rank);
  const Sizes pads = for_each(function, "padding", padding, rank);
  Sizes sizes = x.sizes();
  std::int64_t plane = 1, elements = 1;
  const std::size_t given = output_size.size();
  require<ValueError>(given == 0 || given == rank || given == all,
                      "output_size should be a sequence containing {} or {} elements, but it has a length of '{}'", rank, all,
                      given);
  for (std::size_t i = 0; i < rank; ++i) {
    std::int64_t& size = sizes[all - rank + i];
    elements *= size;
    const std::int64_t usual = (size - 1) * steps[i] - 2 * pads[i] + kernel[i];
    const std::int64_t wanted = given == 0 ? usual : output_size[given - rank + i];
    require<ValueError>(given == 0 || (usual - steps[i] < wanted && wanted < usual + steps[i]),
                        "invalid output_size (dim {} must be between {} and {})", i, usual - steps[i], usual + steps[i]);
    size = wanted;
    plane *= wanted;
  }
  const Tensor values = x.reshape({-1, elements}), places = indices.reshape({-1, elements});
  return zeros({values.size(0), plane}, {x.dtype()}).scatter(1, places, values).reshape(sizes);
}

}  // namespace

Tensor lp_pool1d(const In& input, double norm_type, SizesView kernel_size, SizesView stride, bool ceil_mode) {
  return lp_pool(input, norm_type, for_each("lp_pool1d", "kernel_size", kernel_size, 1),
                 [&](const Tensor& x) { return avg_pool1d(x, kernel_size, stride, {0}, ceil_mode); });
}
Tensor lp_pool2d(const In& input, double norm_type, SizesView kernel_size, SizesView stride, bool ceil_mode) {
  return lp_pool(input, norm_type, for_each("lp_pool2d", "kernel_size", kernel_size, 2),
                 [&](const Tensor& x) { return avg_pool2d(x, kernel_size, stride, {0}, ceil_mode); });
}
Tensor lp_pool3d(const In& input, double norm_type, SizesView kernel_size, SizesView stride, bool ceil_mode) {
  return lp_pool(input, norm_type, for_each("lp_pool3d", "kernel_size", kernel_size, 3),
                 [&](const Tensor& x) { return avg_pool3d(x, kernel_size, stride, {0}, ceil_mode); });
}

Tensor max_unpool1d(const In& input, const Tensor& indices, SizesView kernel_size, SizesView stride, SizesView padding,
                    SizesView output_size) {
  return max_unpool("max_unpool1d", input, indices, kernel_size, stride, padding, output_size, 1);
}
Tensor max_unpool2d(const In& input, const Tensor& indices, SizesView kernel_size, SizesView stride, SizesView padding,
                    SizesView output_size) {
  const GradientScope scope(GradientName::MaxUnpool2DBackward0);
  return max_unpool("max_unpool2d", input, indices, kernel_size, stride, padding, output_size, 2);
}
Tensor max_unpool3d(const In& input, const Tensor& indices, SizesView kernel_size, SizesView stride, SizesView padding,
                    SizesView output_size) {
  const GradientScope scope(GradientName::MaxUnpool3DBackward0);
  return max_unpool("max_unpool3d", input, indices, kernel_size, stride, padding, output_size, 3);
}

// The noise is minus the logarithm of exponentially distributed numbers.
Tensor gumbel_softmax(const In& logits, double tau, bool hard, std::int64_t dim) {
  const Tensor& x = require_tensor("gumbel_softmax", logits);
  const SourceLine line(logits.where());
  if (!is_float(x.dtype())) not_implemented_for("gumbel_softmax", x.dtype());
  Tensor noise = empty(x.sizes(), {x.dtype()});
  noise.exponential_();
  const Tensor soft = softmax((x - log(noise)) / tau, dim);
  if (!hard) return soft;
  const Tensor index = soft.detach().max(dim, true).indices;
  const Tensor one = zeros(x.sizes(), {x.dtype()}).scatter(dim, index, 1);
  return one - soft.detach() + soft;  // the gradient is soft's
}

}  // namespace braze::nn::functional
