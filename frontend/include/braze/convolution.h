// Convolution, pooling and resampling: torch.nn.functional's functions over [batch, channels, spatial...], or without the batch.
// https://pytorch.org/docs/stable/nn.functional.html
//
// Kernel sizes, strides, paddings and dilations are one number for all spatial dims, or one for each.
#pragma once

#include <string_view>
#include <utility>

#include "braze/tensor.h"

namespace braze {

// ---- convolution ----
// input [N, C, L...], weight [O, C / groups, k...], bias [O]. Throws ShapeError in PyTorch's words where channels or sizes do not fit.
// padding "valid" is none, "same" keeps the size (stride 1 only).
class ConvolutionPadding {
 public:
  ConvolutionPadding(std::initializer_list<std::int64_t> amounts) : amounts_(amounts) {}  // NOLINT
  ConvolutionPadding(SizesView amounts) : amounts_(amounts.begin(), amounts.end()) {}     // NOLINT
  ConvolutionPadding(const Sizes& amounts) : amounts_(amounts) {}                         // NOLINT
  ConvolutionPadding(std::string_view name) : name_(name) {}                              // NOLINT
  ConvolutionPadding(const char* name) : name_(name) {}                                   // NOLINT
  ConvolutionPadding(const std::string& name) : name_(name) {}                            // NOLINT
  const Sizes& amounts() const { return amounts_; }
  const std::string& name() const { return name_; }  // empty: amounts

 private:
  Sizes amounts_;
  std::string name_;
};
Tensor conv1d(const In& input, const Tensor& weight, const Tensor& bias = {}, SizesView stride = {1},
              const ConvolutionPadding& padding = {0}, SizesView dilation = {1}, std::int64_t groups = 1);
Tensor conv2d(const In& input, const Tensor& weight, const Tensor& bias = {}, SizesView stride = {1},
              const ConvolutionPadding& padding = {0}, SizesView dilation = {1}, std::int64_t groups = 1);
Tensor conv3d(const In& input, const Tensor& weight, const Tensor& bias = {}, SizesView stride = {1},
              const ConvolutionPadding& padding = {0}, SizesView dilation = {1}, std::int64_t groups = 1);
// weight [C, O / groups, k...].
Tensor conv_transpose1d(const In& input, const Tensor& weight, const Tensor& bias = {}, SizesView stride = {1},
                        SizesView padding = {0}, SizesView output_padding = {0}, std::int64_t groups = 1, SizesView dilation = {1});
Tensor conv_transpose2d(const In& input, const Tensor& weight, const Tensor& bias = {}, SizesView stride = {1},
                        SizesView padding = {0}, SizesView output_padding = {0}, std::int64_t groups = 1, SizesView dilation = {1});
Tensor conv_transpose3d(const In& input, const Tensor& weight, const Tensor& bias = {}, SizesView stride = {1},
                        SizesView padding = {0}, SizesView output_padding = {0}, std::int64_t groups = 1, SizesView dilation = {1});
// Sliding blocks as columns, and their sum back: [N, C, H, W] <-> [N, C * k, blocks].
Tensor unfold(const In& input, SizesView kernel_size, SizesView dilation = {1}, SizesView padding = {0}, SizesView stride = {1});
Tensor fold(const In& input, SizesView output_size, SizesView kernel_size, SizesView dilation = {1}, SizesView padding = {0},
            SizesView stride = {1});

// ---- pooling ----
// An empty stride is the kernel size. Maxima: NaN wins; indices count in the input's own spatial dims, flattened.
Tensor max_pool1d(const In& input, SizesView kernel_size, SizesView stride = {}, SizesView padding = {0}, SizesView dilation = {1},
                  bool ceil_mode = false);
Tensor max_pool2d(const In& input, SizesView kernel_size, SizesView stride = {}, SizesView padding = {0}, SizesView dilation = {1},
                  bool ceil_mode = false);
Tensor max_pool3d(const In& input, SizesView kernel_size, SizesView stride = {}, SizesView padding = {0}, SizesView dilation = {1},
                  bool ceil_mode = false);
std::pair<Tensor, Tensor> max_pool1d_with_indices(const In& input, SizesView kernel_size, SizesView stride = {},
                                                  SizesView padding = {0}, SizesView dilation = {1}, bool ceil_mode = false);
std::pair<Tensor, Tensor> max_pool2d_with_indices(const In& input, SizesView kernel_size, SizesView stride = {},
                                                  SizesView padding = {0}, SizesView dilation = {1}, bool ceil_mode = false);
std::pair<Tensor, Tensor> max_pool3d_with_indices(const In& input, SizesView kernel_size, SizesView stride = {},
                                                  SizesView padding = {0}, SizesView dilation = {1}, bool ceil_mode = false);
Tensor avg_pool1d(const In& input, SizesView kernel_size, SizesView stride = {}, SizesView padding = {0}, bool ceil_mode = false,
                  bool count_include_pad = true);
Tensor avg_pool2d(const In& input, SizesView kernel_size, SizesView stride = {}, SizesView padding = {0}, bool ceil_mode = false,
                  bool count_include_pad = true, std::optional<std::int64_t> divisor_override = {});
Tensor avg_pool3d(const In& input, SizesView kernel_size, SizesView stride = {}, SizesView padding = {0}, bool ceil_mode = false,
                  bool count_include_pad = true, std::optional<std::int64_t> divisor_override = {});
// To a size of the output's choosing; -1 keeps a dim.
Tensor adaptive_avg_pool1d(const In& input, SizesView output_size);
Tensor adaptive_avg_pool2d(const In& input, SizesView output_size);
Tensor adaptive_avg_pool3d(const In& input, SizesView output_size);
Tensor adaptive_max_pool1d(const In& input, SizesView output_size);
Tensor adaptive_max_pool2d(const In& input, SizesView output_size);
Tensor adaptive_max_pool3d(const In& input, SizesView output_size);
std::pair<Tensor, Tensor> adaptive_max_pool1d_with_indices(const In& input, SizesView output_size);
std::pair<Tensor, Tensor> adaptive_max_pool2d_with_indices(const In& input, SizesView output_size);
std::pair<Tensor, Tensor> adaptive_max_pool3d_with_indices(const In& input, SizesView output_size);

// ---- resampling ----
// mode: nearest, nearest-exact, linear, bilinear, bicubic, trilinear, area. Either `size` or `scale_factor` is given (one number for
// all spatial dims, or one each). https://pytorch.org/docs/stable/generated/torch.nn.functional.interpolate.html
struct InterpolateOptions {
  std::optional<Sizes> size;
  std::optional<std::vector<double>> scale_factor;
  std::string mode = "nearest";
  std::optional<bool> align_corners;
  std::optional<bool> recompute_scale_factor;
  bool antialias = false;
};
Tensor interpolate(const In& input, const InterpolateOptions& options);
// [*, C * r * r, H, W] <-> [*, C, H * r, W * r].
Tensor pixel_shuffle(const In& input, std::int64_t upscale_factor);
Tensor pixel_unshuffle(const In& input, std::int64_t downscale_factor);
Tensor channel_shuffle(const In& input, std::int64_t groups);

}  // namespace braze
