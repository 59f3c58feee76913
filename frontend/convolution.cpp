// Convolutions and their transposes, unfold and fold: what is asked of them in PyTorch's words, and sliding windows.
#include "braze/functions.h"
#include "frontend/autograd/names.h"
#include "frontend/autograd/tracking.h"
#include "frontend/complex.h"
#include "frontend/formula.h"
#include "frontend/windows.h"

namespace braze {

Dims each_dim(std::string_view function, std::string_view name, SizesView given, std::size_t rank) {
  require(given.size() == 1 || given.size() == rank,
          "expected {} to be a single integer value or a list of {} values to match the {} dimensions, but got {}={}", name, rank,
          function, name, sizes_text(given));
  Dims out;
  for (std::size_t i = 0; i < rank; ++i) out.push_back(given[given.size() == 1 ? 0 : i]);
  return out;
}

Batched with_batch(std::string_view name, const Tensor& x, std::size_t rank) {
  const auto dims = static_cast<std::int64_t>(rank);
  require<ShapeError>(x.dim() == dims + 1 || x.dim() == dims + 2,
                      "Expected {}D (unbatched) or {}D (batched) input to {}, but got input of size: {}", dims + 1, dims + 2, name,
                      sizes_text(x.sizes()));
  return x.dim() == dims + 1 ? Batched{x.unsqueeze(0), true} : Batched{x, false};
}

Dims spatial_sizes(const Tensor& x) {
  const Sizes sizes = x.sizes();
  return {sizes.begin() + 2, sizes.end()};
}

namespace {

// The layout of the windows on one of [N, C, L...].
Geometry over_windows(const Geometry& g, const Windows& w, std::span<const std::int64_t> out) {
  Geometry view{g.offset, {g.sizes[0], g.sizes[1]}, {g.strides[0], g.strides[1]}};
  for (std::size_t i = 0; i < w.rank(); ++i) {
    view.sizes.push_back(w.kernel[i]);
    view.strides.push_back(g.strides[2 + i] * w.dilation[i]);
  }
  for (std::size_t i = 0; i < w.rank(); ++i) {
    view.sizes.push_back(out[i]);
    view.strides.push_back(g.strides[2 + i] * w.stride[i]);
  }
  return view;
}

}  // namespace

Tensor windows_of(const Tensor& padded, const Windows& w, std::span<const std::int64_t> out) {
  // Windows share places, but nobody asks for the gradient of one: as no view they get no elements of their own.
  const Tensor own = spread(padded);
  const Tensor alias = make_view(own, checked(own).layout());
  return relaid(*alias.impl(), alias.dtype(), over_windows(alias.impl()->layout(), w, out));
}

Sizes kernel_dims(std::size_t rank) {
  Sizes dims;
  for (std::size_t i = 0; i < rank; ++i) dims.push_back(static_cast<std::int64_t>(2 + i));
  return dims;
}

Places::Places(const Tensor& windows, std::size_t rank) : windows_(windows), rank_(rank) {
  for (const std::int64_t dim : kernel_dims(rank)) count_ *= windows.size(dim);
  if (!is_complex(windows.dtype())) whole_ = read(checked(windows), location({}));
}

Tensor Places::at(std::int64_t n) const {
  const Sizes& sizes = windows_.sizes();
  ir::Slice slice;
  Dims kept;
  for (const std::int64_t size : sizes) {
    slice.starts.push_back(0);
    slice.sizes.push_back(size);
    slice.steps.push_back(1);
  }
  for (std::size_t i = 2 + rank_; i-- > 2;) {
    slice.starts[i] = n % sizes[i];
    slice.sizes[i] = 1;
    n /= sizes[i];
  }
  for (std::size_t i = 0; i < sizes.size(); ++i)
    if (i < 2 || i >= 2 + rank_) kept.push_back(sizes[i]);
  if (!is_complex(windows_.dtype()))
    return wrap(reshape(engine::record(ir::Op::slice, {&whole_, 1}, std::move(slice), location({})), kept, location({})));
  Tensor at = windows_;
  for (std::size_t i = rank_; i-- > 0;) at = at.select(static_cast<std::int64_t>(2 + i), slice.starts[2 + i].number());
  return at;
}

bool are_few(const Tensor& windows, std::size_t rank) {
  std::int64_t count = 1;
  for (const std::int64_t dim : kernel_dims(rank)) count *= windows.size(dim);
  return count > 0 && count <= few_elements;
}

Tensor pad_spatial(const Tensor& x, std::span<const std::int64_t> low, std::span<const std::int64_t> high, Scalar value) {
  Sizes amounts;  // from the last dim
  bool any = false;
  for (std::size_t i = low.size(); i-- > 0;) {
    amounts.push_back(low[i]);
    amounts.push_back(high[i]);
    any |= low[i] != 0 || high[i] != 0;
  }
  return any ? pad(x, amounts, value) : x;
}

Tensor sum_windows(const Tensor& values, const Windows& w, const Around& around, std::span<const std::int64_t> size) {
  if (is_complex(values.dtype())) {
    const Parts z = parts_of(values, component_type(values.dtype()));
    return join({sum_windows(z.re, w, around, size), sum_windows(z.im, w, around, size)});
  }
  Geometry whole;
  whole.sizes = {values.size(0), values.size(1)};
  for (std::size_t i = 0; i < w.rank(); ++i) whole.sizes.push_back(size[i] + around.low[i] + around.high[i]);
  whole.strides = contiguous_strides(whole.sizes);
  const Dims both = spatial_sizes(values);  // kernel, then windows
  const Dims out(both.begin() + w.rank(), both.end());
  const Geometry places = over_windows(whole, w, out);
  ir::Layout layout;
  layout.offset = 0;
  for (std::size_t i = 0; i < places.sizes.size(); ++i) {
    layout.sizes.push_back(places.sizes[i]);
    layout.strides.push_back(places.strides[i]);
  }
  const Tensor nothing = zeros(std::span<const std::int64_t>(whole.sizes), {values.dtype()});
  const engine::Value operands[] = {read(checked(nothing), location({})), read(checked(values), location({}))};
  Tensor result = wrap(engine::record(ir::Op::accumulate, operands, std::move(layout), location({})));
  for (std::size_t i = 0; i < w.rank(); ++i) result = result.narrow(static_cast<std::int64_t>(2 + i), around.low[i], size[i]);
  return result;
}

namespace {

struct Convolution {
  std::string_view name;  // "conv2d"
  Windows windows;
  std::int64_t groups;
};

void require_types(const Tensor& x, const Tensor& weight, const Tensor& bias) {
  require(x.dtype() == weight.dtype(), "Input type ({}) and weight type ({}) should be the same", cpp_type(x.dtype()),
          cpp_type(weight.dtype()));
  require(!bias.defined() || x.dtype() == bias.dtype(), "Input type ({}) and bias type ({}) should be the same",
          cpp_type(x.dtype()), bias.defined() ? cpp_type(bias.dtype()) : "");
  if (x.dtype() == DType::boolean) fail<NotImplementedError>("\"slow_conv2d_cpu\" not implemented for 'Bool'");
}

void require_positive(const Windows& w, std::int64_t groups) {
  require(groups > 0, "non-positive groups is not supported");
  for (std::size_t i = 0; i < w.rank(); ++i) {
    require(w.padding[i] >= 0, "negative padding is not supported");
    require(w.stride[i] > 0, "non-positive stride is not supported");
    require(w.dilation[i] > 0, "dilation should be greater than zero");
  }
  if (std::all_of(w.kernel.begin(), w.kernel.end(), [](std::int64_t n) { return n > 0; })) return;
  if (w.rank() == 3) fail("kernel size should be greater than zero, but got: {} (TxHxW)", fmt::join(w.kernel, " x "));
  fail("kernel size should be greater than zero, but got kernel_height: {} kernel_width: {}", w.rank() == 1 ? 1 : w.kernel[0],
       w.kernel[w.rank() - 1]);
}

std::string by_text(std::span<const std::int64_t> sizes) { return fmt::format("({})", fmt::join(sizes, " x ")); }

void require_bias(const Tensor& weight, const Tensor& bias, std::int64_t channels) {
  require<ShapeError>(
      !bias.defined() || (bias.dim() == 1 && bias.size(0) == channels),
      "Given weight of size {}, expected bias to be 1-dimensional with {} elements, but got bias of size {} instead",
      sizes_text(weight.sizes()), channels, bias.defined() ? fmt::to_string(sizes_text(bias.sizes())) : "");
}

void require_fit(const Convolution& c, const Tensor& x, const Around& around, const Tensor& weight, const Tensor& bias) {
  require<ShapeError>(
      weight.size(0) >= c.groups && weight.size(0) % c.groups == 0,
      "Given groups={}, expected weight to be at least {} at dimension 0, and divisible by it, but got weight of size {} "
      "instead",
      c.groups, c.groups, sizes_text(weight.sizes()));
  require<ShapeError>(x.size(1) == weight.size(1) * c.groups,
                      "Given groups={}, weight of size {}, expected input{} to have {} channels, but got {} channels instead",
                      c.groups, sizes_text(weight.sizes()), sizes_text(x.sizes()), weight.size(1) * c.groups, x.size(1));
  require_bias(weight, bias, weight.size(0));
  Dims padded, reach;
  bool fits = true;
  for (std::size_t i = 0; i < c.windows.rank(); ++i) {
    padded.push_back(x.size(static_cast<std::int64_t>(2 + i)) + around.low[i] + around.high[i]);
    reach.push_back(c.windows.reach(i));
    fits &= padded[i] >= reach[i];
  }
  require<ShapeError>(
      fits, "Calculated padded input size per channel: {}. Kernel size: {}. Kernel size can't be greater than actual input size",
      by_text(padded), by_text(reach));
}

// What "same" adds, the odd one at the end.
Around to_keep_size(const Tensor& weight, const Windows& w) {
  for (const std::int64_t s : w.stride) require(s == 1, "padding='same' is not supported for strided convolutions");
  Around around;
  for (std::size_t i = 0; i < w.rank(); ++i) {
    const std::int64_t total = w.dilation[i] * (weight.size(static_cast<std::int64_t>(2 + i)) - 1);
    around.low.push_back(total / 2);
    around.high.push_back(total - total / 2);
  }
  return around;
}

Tensor conv(std::string_view name, std::size_t rank, const In& input, const Tensor& weight, const Tensor& bias, SizesView stride,
            const ConvolutionPadding& padding, SizesView dilation, std::int64_t groups) {
  const SourceLine line(input.where());
  const Batched x = with_batch(name, tensor_argument(input, name, "input"), rank);
  checked(weight);
  require<ShapeError>(weight.dim() == static_cast<std::int64_t>(rank + 2),
                      "Expected {}-dimensional weight for {}, but got weight of size {} instead", rank + 2, name,
                      sizes_text(weight.sizes()));
  require(padding.name().empty() || padding.name() == "same" || padding.name() == "valid", "Invalid padding string: '{}'",
          padding.name());
  const Sizes none{0};
  Convolution c{name,
                {spatial_sizes(weight), each_dim("convolution", "stride", stride, rank),
                 each_dim("convolution", "padding", padding.name().empty() ? padding.amounts() : none, rank),
                 each_dim("convolution", "dilation", dilation, rank)},
                groups};
  require_positive(c.windows, groups);
  require_types(x.tensor, weight, bias);
  const Around around = padding.name() == "same" ? to_keep_size(weight, c.windows) : Around{c.windows.padding, c.windows.padding};
  require_fit(c, x.tensor, around, weight, bias);
  return x.result(convolve(x.tensor, weight, bias, c.windows, around, groups));
}

Tensor conv_transpose(std::string_view name, std::size_t rank, const In& input, const Tensor& weight, const Tensor& bias,
                      SizesView stride, SizesView padding, SizesView output_padding, std::int64_t groups, SizesView dilation) {
  const SourceLine line(input.where());
  const Batched x = with_batch(name, tensor_argument(input, name, "input"), rank);
  require<ShapeError>(weight.dim() == static_cast<std::int64_t>(rank + 2),
                      "Expected {}-dimensional weight for {}, but got weight of size {} instead", rank + 2, name,
                      sizes_text(weight.sizes()));
  const Windows w{spatial_sizes(weight), each_dim("convolution", "stride", stride, rank),
                  each_dim("convolution", "padding", padding, rank), each_dim("convolution", "dilation", dilation, rank)};
  const Dims extra = each_dim("convolution", "output_padding", output_padding, rank);
  require_positive(w, groups);
  require_types(x.tensor, weight, bias);
  if (!is_float(x.tensor.dtype()) && x.tensor.dtype() != DType::i64)
    not_implemented_for(fmt::format("slow_conv_transpose{}d_out_cpu", std::max<std::size_t>(rank, 2)), x.tensor.dtype());
  require<ShapeError>(x.tensor.size(1) == weight.size(0) && weight.size(0) % groups == 0,
                      "Given transposed=1, weight of size {}, expected input{} to have {} channels, but got {} channels instead",
                      sizes_text(weight.sizes()), sizes_text(x.tensor.sizes()), weight.size(0), x.tensor.size(1));
  require_bias(weight, bias, weight.size(1) * groups);
  Dims size;
  Sizes value_sizes{x.tensor.size(0), weight.size(1) * groups};
  value_sizes.insert(value_sizes.end(), w.kernel.begin(), w.kernel.end());
  std::int64_t places = 1;
  for (std::size_t i = 0; i < rank; ++i) {
    require(extra[i] >= 0, "negative output_padding is not supported");
    require(extra[i] < std::max(w.stride[i], w.dilation[i]),
            "output padding must be smaller than either stride or dilation, but got output_padding {}, stride {}, dilation {}",
            sizes_text(output_padding), sizes_text(stride), sizes_text(dilation));
    const std::int64_t own = x.tensor.size(static_cast<std::int64_t>(2 + i));
    size.push_back((own - 1) * w.stride[i] - 2 * w.padding[i] + w.reach(i) + extra[i]);
    require<ShapeError>(size[i] > 0, "Given input size per channel: {}. Calculated output size per channel would be too small: {}",
                        by_text(spatial_sizes(x.tensor)), size[i]);
    value_sizes.push_back(own);
    places *= own;
  }
  const std::int64_t in_group = weight.size(0) / groups, depth = weight.numel() / std::max<std::int64_t>(weight.size(0), 1);
  const Tensor rows = weight.reshape({groups, in_group, depth}).transpose(1, 2);
  const Tensor columns = x.tensor.reshape({x.tensor.size(0), groups, in_group, places});
  const Tensor sum = sum_windows(batched_dot(rows, columns).reshape(value_sizes), w, {w.padding, w.padding}, size);
  return x.result(bias.defined() ? sum + along_channels(bias, rank) : sum.contiguous());
}

}  // namespace

#define BRAZE_CONVOLUTIONS(rank)                                                                                                 \
  Tensor conv##rank##d(const In& input, const Tensor& weight, const Tensor& bias, SizesView stride,                              \
                       const ConvolutionPadding& padding, SizesView dilation, std::int64_t groups) {                             \
    return conv("conv" #rank "d", rank, input, weight, bias, stride, padding, dilation, groups);                                 \
  }                                                                                                                              \
  Tensor conv_transpose##rank##d(const In& input, const Tensor& weight, const Tensor& bias, SizesView stride, SizesView padding, \
                                 SizesView output_padding, std::int64_t groups, SizesView dilation) {                            \
    const GradientScope scope(GradientName::ConvolutionBackward0);                                                               \
    return conv_transpose("conv_transpose" #rank "d", rank, input, weight, bias, stride, padding, output_padding, groups,        \
                          dilation);                                                                                             \
  }
BRAZE_CONVOLUTIONS(1)
BRAZE_CONVOLUTIONS(2)
BRAZE_CONVOLUTIONS(3)
#undef BRAZE_CONVOLUTIONS

// ---- unfold, fold ----

namespace {

Windows two_dims(std::string_view function, SizesView kernel, SizesView dilation, SizesView padding, SizesView stride) {
  const Windows w{each_dim(function, "kernel_size", kernel, 2), each_dim(function, "stride", stride, 2),
                  each_dim(function, "padding", padding, 2), each_dim(function, "dilation", dilation, 2)};
  for (std::size_t i = 0; i < 2; ++i) {
    require(w.kernel[i] > 0, "kernel size should be greater than zero, but got kernel_height: {} kernel_width: {}", w.kernel[0],
            w.kernel[1]);
    require(w.dilation[i] > 0, "dilation should be greater than zero, but got dilation_height: {} dilation_width: {}",
            w.dilation[0], w.dilation[1]);
    require(w.padding[i] >= 0, "padding should be non-negative, but got pad_height: {} pad_width: {}", w.padding[0], w.padding[1]);
    require(w.stride[i] > 0, "stride should be greater than zero, but got stride_height: {} stride_width: {}", w.stride[0],
            w.stride[1]);
  }
  return w;
}

std::int64_t blocks(const Windows& w, std::size_t i, std::int64_t size) {
  return (size + 2 * w.padding[i] - w.reach(i) + w.stride[i]) / w.stride[i];
}

}  // namespace

Tensor unfold(const In& input, SizesView kernel_size, SizesView dilation, SizesView padding, SizesView stride) {
  const GradientScope scope(GradientName::Im2ColBackward0);
  const SourceLine line(input.where());
  const Tensor& given = tensor_argument(input, "unfold", "input");
  require<IndexError>(given.dim() > 2, "Dimension out of range (expected to be in range of [{}, {}], but got {})", -given.dim(),
                      given.dim() - 1, given.dim());
  const Windows w = two_dims("im2col", kernel_size, dilation, padding, stride);
  if (is_integer(given.dtype())) not_implemented_for("im2col_out_cpu", given.dtype());
  require<ShapeError>(
      given.dim() == 3 || given.dim() == 4,
      "Expected 3D or 4D (batch mode) tensor with possibly 0 batch size and other non-zero dimensions for input, but got: {}",
      sizes_text(given.sizes()));
  const Batched x{given.dim() == 3 ? given.unsqueeze(0) : given, given.dim() == 3};
  const Dims out{blocks(w, 0, x.tensor.size(2)), blocks(w, 1, x.tensor.size(3))};
  require<ShapeError>(
      out[0] > 0 && out[1] > 0,
      "Given input with spatial size ({}, {}), kernel_size=({}, {}), dilation=({}, {}), padding=({}, {}), stride=({}, {}), "
      "calculated shape of the array of sliding blocks as ({}, {}), but its components must be at least one.",
      x.tensor.size(2), x.tensor.size(3), w.kernel[0], w.kernel[1], w.dilation[0], w.dilation[1], w.padding[0], w.padding[1],
      w.stride[0], w.stride[1], out[0], out[1]);
  const Tensor view = windows_of(pad_spatial(x.tensor, w.padding, w.padding, 0), w, out);
  return x.result(view.reshape({x.tensor.size(0), x.tensor.size(1) * w.kernel[0] * w.kernel[1], out[0] * out[1]}));
}

Tensor fold(const In& input, SizesView output_size, SizesView kernel_size, SizesView dilation, SizesView padding,
            SizesView stride) {
  const GradientScope scope(GradientName::Col2ImBackward0);
  const SourceLine line(input.where());
  const Tensor& given = tensor_argument(input, "fold", "input");
  const Windows w = two_dims("col2im", kernel_size, dilation, padding, stride);
  if (is_integer(given.dtype())) not_implemented_for("col2im_out_cpu", given.dtype());
  const Dims size = each_dim("col2im", "output_size", output_size, 2);
  require<ShapeError>(
      given.dim() == 2 || given.dim() == 3,
      "Expected 2D or 3D (batch mode) tensor for input with possibly 0 batch size and non-zero dimensions for input, but "
      "got: {}",
      sizes_text(given.sizes()));
  const Batched x{given.dim() == 2 ? given.unsqueeze(0) : given, given.dim() == 2};
  const std::int64_t kernel = w.kernel[0] * w.kernel[1];
  require<ShapeError>(
      x.tensor.size(1) % kernel == 0,
      "Expected size of input's dimension 1 to be divisible by the product of kernel_size, but got input.size(1)={} and "
      "kernel_size=({}, {}).",
      x.tensor.size(1), w.kernel[0], w.kernel[1]);
  const Dims out{blocks(w, 0, size[0]), blocks(w, 1, size[1])};
  require<ShapeError>(
      out[0] > 0 && out[1] > 0 && out[0] * out[1] == x.tensor.size(2),
      "Given output_size=({}, {}), kernel_size=({}, {}), dilation=({}, {}), padding=({}, {}), stride=({}, {}), expected size "
      "of input's dimension 2 to match the calculated number of sliding blocks {} * {} = {}, but got input.size(2)={}.",
      size[0], size[1], w.kernel[0], w.kernel[1], w.dilation[0], w.dilation[1], w.padding[0], w.padding[1], w.stride[0],
      w.stride[1], out[0], out[1], out[0] * out[1], x.tensor.size(2));
  const Tensor values = x.tensor.reshape({x.tensor.size(0), x.tensor.size(1) / kernel, w.kernel[0], w.kernel[1], out[0], out[1]});
  return x.result(sum_windows(values, w, {w.padding, w.padding}, size).contiguous());
}

}  // namespace braze
