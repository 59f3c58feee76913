#include "braze/nn/reshaping.h"

#include "braze/functional.h"
#include "braze/functions.h"
#include "frontend/nn/text.h"
#include "ir/error.h"

namespace braze::nn {

namespace {

std::string text(const Window& w) { return w.is_one() ? std::to_string(w.sizes()[0]) : w.empty() ? "None" : repr(w.sizes()); }

}  // namespace

PadImpl::PadImpl(std::size_t rank, const Window& padding, std::string mode, std::optional<Scalar> value)
    : padding(padding.of(2 * rank)), mode(std::move(mode)), value(value) {}
Tensor PadImpl::forward(const In& input) { return pad(input, padding, mode, value); }
std::string PadImpl::extra_repr() const {
  return value ? arguments({{"padding", repr(padding)}, {"value", repr(*value)}}) : repr(padding);
}

Tensor PixelShuffleImpl::forward(const In& input) { return pixel_shuffle(input, upscale_factor); }
std::string PixelShuffleImpl::extra_repr() const { return arguments({{"upscale_factor", repr(upscale_factor)}}); }

Tensor PixelUnshuffleImpl::forward(const In& input) { return pixel_unshuffle(input, downscale_factor); }
std::string PixelUnshuffleImpl::extra_repr() const { return arguments({{"downscale_factor", repr(downscale_factor)}}); }

Tensor ChannelShuffleImpl::forward(const In& input) { return channel_shuffle(input, groups); }
std::string ChannelShuffleImpl::extra_repr() const { return arguments({{"groups", repr(groups)}}); }

Tensor UnfoldImpl::forward(const In& input) {
  return unfold(input, kernel_size.sizes(), options.dilation.sizes(), options.padding.sizes(), options.stride.sizes());
}
std::string UnfoldImpl::extra_repr() const {
  return arguments({{"kernel_size", text(kernel_size)},
                    {"dilation", text(options.dilation)},
                    {"padding", text(options.padding)},
                    {"stride", text(options.stride)}});
}

Tensor FoldImpl::forward(const In& input) {
  return fold(input, output_size.sizes(), kernel_size.sizes(), options.dilation.sizes(), options.padding.sizes(),
              options.stride.sizes());
}
std::string FoldImpl::extra_repr() const {
  return arguments({{"output_size", text(output_size)},
                    {"kernel_size", text(kernel_size)},
                    {"dilation", text(options.dilation)},
                    {"padding", text(options.padding)},
                    {"stride", text(options.stride)}});
}

Tensor UpsampleImpl::forward(const In& input) {
  InterpolateOptions o{.mode = options.mode, .align_corners = options.align_corners};
  if (!options.size.empty()) o.size = options.size.sizes();
  if (!options.scale_factor.empty()) o.scale_factor = options.scale_factor;
  return interpolate(input, o);
}

std::string UpsampleImpl::extra_repr() const {
  const auto& factors = options.scale_factor;
  std::string amount = "size=" + text(options.size);
  if (factors.size() == 1) amount = "scale_factor=" + repr(factors[0]);
  if (factors.size() > 1) {
    amount = "scale_factor=(";
    for (std::size_t i = 0; i < factors.size(); ++i) amount += (i ? ", " : "") + repr(factors[i]);
    amount += ")";
  }
  return amount + ", mode=" + repr(std::string_view(options.mode));
}

}  // namespace braze::nn
