#include "braze/nn/conv.h"

#include <algorithm>
#include <cmath>

#include "braze/functions.h"
#include "braze/nn/init.h"
#include "frontend/nn/text.h"
#include "ir/error.h"

namespace braze::nn {

Sizes Window::of(std::size_t rank) const {
  if (sizes_.size() == rank) return sizes_;
  require<ValueError>(sizes_.size() == 1, "expected one number or {}, but got {}", rank, repr(sizes_));
  return Sizes(rank, sizes_[0]);
}

namespace {

ConvOptions checked(std::size_t rank, bool transposed, std::int64_t in, std::int64_t out, const ConvOptions& o) {
  require<ValueError>(o.groups > 0, "groups must be a positive integer");
  require<ValueError>(in % o.groups == 0, "in_channels must be divisible by groups");
  require<ValueError>(out % o.groups == 0, "out_channels must be divisible by groups");
  const std::string& padding = o.padding.name();
  require<ValueError>(padding.empty() || padding == "same" || padding == "valid",
                      "Invalid padding string {}, should be one of {{'same', 'valid'}}", repr(padding));
  const Sizes stride = o.stride.of(rank);
  require<ValueError>(padding != "same" || std::all_of(stride.begin(), stride.end(), [](std::int64_t s) { return s == 1; }),
                      "padding='same' is not supported for strided convolutions");
  const std::string_view modes[] = {"zeros", "reflect", "replicate", "circular"};
  require<ValueError>(transposed || std::find(std::begin(modes), std::end(modes), o.padding_mode) != std::end(modes),
                      "padding_mode must be one of {{'zeros', 'reflect', 'replicate', 'circular'}}, but got padding_mode='{}'",
                      o.padding_mode);
  return o;
}

Sizes weight_sizes(bool transposed, std::int64_t in, std::int64_t out, std::int64_t groups, const Sizes& window) {
  Sizes sizes(2 + window.size());
  sizes[0] = transposed ? in : out;
  sizes[1] = (transposed ? out : in) / groups;
  std::copy(window.begin(), window.end(), sizes.begin() + 2);
  return sizes;
}

}  // namespace

ConvImpl::ConvImpl(std::size_t rank, bool transposed, std::int64_t in_channels, std::int64_t out_channels,
                   const Window& kernel_size, const ConvOptions& options, const Window& output_padding)
    : in_channels(in_channels),
      out_channels(out_channels),
      groups(checked(rank, transposed, in_channels, out_channels, options).groups),
      kernel_size(kernel_size.of(rank)),
      stride(options.stride.of(rank)),
      padding_name(options.padding.name()),
      padding(padding_name.empty() ? options.padding.of(rank) : Sizes(rank, 0)),
      dilation(options.dilation.of(rank)),
      output_padding(output_padding.of(rank)),
      padding_mode(options.padding_mode),
      weight(register_parameter(
          "weight", empty(weight_sizes(transposed, in_channels, out_channels, groups, this->kernel_size), {options.dtype}))),
      bias(register_parameter("bias", options.bias ? empty({out_channels}, {options.dtype}) : Tensor())) {
  reset_parameters();
}

void ConvImpl::reset_parameters() {
  init::kaiming_uniform_(weight, std::sqrt(5.0));
  const std::int64_t fan_in = init::calculate_fan_in_and_fan_out(weight).first;
  if (!bias.defined() || fan_in == 0) return;
  const double bound = 1 / std::sqrt(static_cast<double>(fan_in));
  init::uniform_(bias, -bound, bound);
}

// What pad adds where zeros will not do: the last dim first.
Sizes ConvImpl::sides() const {
  Sizes all;
  for (std::size_t d = kernel_size.size(); d-- > 0;) {
    const std::int64_t total = dilation[d] * (kernel_size[d] - 1);
    const bool same = padding_name == "same";
    all.push_back(same ? total / 2 : padding[d]);
    all.push_back(same ? total - total / 2 : padding[d]);
  }
  return all;
}

Tensor ConvImpl::convolve(const In& input) {
  const bool zeros = padding_mode == "zeros";
  const Tensor padded = zeros ? Tensor() : pad(input, sides(), padding_mode);
  const In x = zeros ? input : In(padded, input.where());
  const ConvolutionPadding amounts = !zeros                 ? ConvolutionPadding({0})
                                     : padding_name.empty() ? ConvolutionPadding(padding)
                                                            : ConvolutionPadding(padding_name);
  const auto function = kernel_size.size() == 1 ? conv1d : kernel_size.size() == 2 ? conv2d : conv3d;
  return function(x, weight, bias, stride, amounts, dilation, groups);
}

std::string ConvImpl::extra_repr() const {
  const Sizes zeros(kernel_size.size(), 0), ones(kernel_size.size(), 1);
  std::string text = fmt::format("{}, {}, kernel_size={}, stride={}", in_channels, out_channels, repr(kernel_size), repr(stride));
  if (!padding_name.empty())
    text += ", padding=" + padding_name;
  else if (padding != zeros)
    text += ", padding=" + repr(padding);
  if (dilation != ones) text += ", dilation=" + repr(dilation);
  if (output_padding != zeros) text += ", output_padding=" + repr(output_padding);
  if (groups != 1) text += fmt::format(", groups={}", groups);
  if (!bias.defined()) text += ", bias=False";
  if (padding_mode != "zeros") text += ", padding_mode=" + padding_mode;
  return text;
}

namespace {

ConvOptions as_conv(const ConvTransposeOptions& o) {
  ConvOptions options{.stride = o.stride, .dilation = o.dilation, .groups = o.groups, .bias = o.bias, .dtype = o.dtype};
  options.padding = o.padding.is_one() ? WindowPadding(o.padding.sizes()[0]) : WindowPadding(o.padding.sizes());
  return options;
}

}  // namespace

ConvTransposeImpl::ConvTransposeImpl(std::size_t rank, std::int64_t in_channels, std::int64_t out_channels,
                                     const Window& kernel_size, const ConvTransposeOptions& options)
    : ConvImpl(rank, true, in_channels, out_channels, kernel_size, as_conv(options), options.output_padding) {}

Tensor ConvTransposeImpl::transposed(const In& input, const Sizes& output_padding) {
  const std::size_t rank = kernel_size.size();
  const auto function = rank == 1 ? conv_transpose1d : rank == 2 ? conv_transpose2d : conv_transpose3d;
  return function(input, weight, bias, stride, padding, output_padding, groups, dilation);
}

Tensor ConvTransposeImpl::forward(const In& input, SizesView output_size) {
  if (input.is_scalar()) detail::refuse_number(*this);
  const Sizes given = input.tensor().sizes();
  const std::size_t rank = kernel_size.size();
  Sizes wanted(output_size.begin(), output_size.end());
  if (wanted.size() == given.size() && wanted.size() > rank)
    wanted.erase(wanted.begin(), wanted.end() - static_cast<std::ptrdiff_t>(rank));
  require<ValueError>(wanted.size() == rank,
                      "ConvTranspose{0}D: for {1}D input, output_size must have {0} or {1} elements (got {2})", rank, given.size(),
                      output_size.size());
  require<ValueError>(given.size() > rank, "ConvTranspose{}D: expected input with channels, but got {}D input", rank, given.size());
  Sizes least, most, extra;
  bool possible = true;
  for (std::size_t d = 0; d < rank; ++d) {
    const std::int64_t size = given[given.size() - rank + d];
    least.push_back((size - 1) * stride[d] - 2 * padding[d] + dilation[d] * (kernel_size[d] - 1) + 1);
    most.push_back(least[d] + stride[d] - 1);
    extra.push_back(wanted[d] - least[d]);
    possible = possible && least[d] <= wanted[d] && wanted[d] <= most[d];
  }
  require<ValueError>(possible, "requested an output size of [{}], but valid sizes range from [{}] to [{}] (for an input of {})",
                      fmt::join(wanted, ", "), fmt::join(least, ", "), fmt::join(most, ", "),
                      size_text(Sizes(given.end() - static_cast<std::ptrdiff_t>(rank), given.end())));
  return transposed(input, extra);
}

}  // namespace braze::nn
