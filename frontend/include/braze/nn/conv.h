// Convolutions. https://pytorch.org/docs/stable/nn.html#convolution-layers
#pragma once

#include "braze/nn/module.h"
#include "braze/nn/window.h"

namespace braze::nn {

struct ConvOptions {
  Window stride = 1;
  WindowPadding padding = 0;
  Window dilation = 1;
  std::int64_t groups = 1;
  bool bias = true;
  std::string padding_mode = "zeros";  // or "reflect", "replicate", "circular"
  std::optional<DType> dtype = {};
};

// What all convolutions share. Throws ValueError in PyTorch's words for settings that do not go together.
class ConvImpl : public Module {
 public:
  void reset_parameters();
  std::string extra_repr() const override;

  const std::int64_t in_channels, out_channels, groups;
  const Sizes kernel_size, stride;
  const std::string padding_name;  // "same", "valid", or empty
  const Sizes padding, dilation, output_padding;
  const std::string padding_mode;
  Tensor &weight, &bias;  // [out, in / groups, k...], of the transposed ones [in, out / groups, k...]; [out]

 protected:
  ConvImpl(std::size_t rank, bool transposed, std::int64_t in_channels, std::int64_t out_channels, const Window& kernel_size,
           const ConvOptions& options, const Window& output_padding = 0);
  Tensor convolve(const In& input);

 private:
  Sizes sides() const;
};

template <std::size_t Rank>
class ConvNdImpl : public ConvImpl {
 public:
  using Options = ConvOptions;
  ConvNdImpl(std::int64_t in_channels, std::int64_t out_channels, const Window& kernel_size, const Options& options = {})
      : ConvImpl(Rank, false, in_channels, out_channels, kernel_size, options) {}
  Tensor forward(const In& input) { return convolve(input); }
  std::string name() const override { return "Conv" + std::to_string(Rank) + "d"; }
};
// https://pytorch.org/docs/stable/generated/torch.nn.Conv2d.html
using Conv1d = ModuleHolder<ConvNdImpl<1>, std::int64_t, std::int64_t, Window>;
using Conv2d = ModuleHolder<ConvNdImpl<2>, std::int64_t, std::int64_t, Window>;
using Conv3d = ModuleHolder<ConvNdImpl<3>, std::int64_t, std::int64_t, Window>;

struct ConvTransposeOptions {
  Window stride = 1, padding = 0, output_padding = 0;
  std::int64_t groups = 1;
  bool bias = true;
  Window dilation = 1;
  std::optional<DType> dtype = {};
};

class ConvTransposeImpl : public ConvImpl {
 public:
  // The output's spatial sizes, where several are possible. Throws ValueError for ones that are not.
  Tensor forward(const In& input, SizesView output_size);
  Tensor forward(const In& input) { return transposed(input, output_padding); }

 protected:
  ConvTransposeImpl(std::size_t rank, std::int64_t in_channels, std::int64_t out_channels, const Window& kernel_size,
                    const ConvTransposeOptions& options);

 private:
  Tensor transposed(const In& input, const Sizes& output_padding);
};

template <std::size_t Rank>
class ConvTransposeNdImpl : public ConvTransposeImpl {
 public:
  using Options = ConvTransposeOptions;
  ConvTransposeNdImpl(std::int64_t in_channels, std::int64_t out_channels, const Window& kernel_size, const Options& options = {})
      : ConvTransposeImpl(Rank, in_channels, out_channels, kernel_size, options) {}
  std::string name() const override { return "ConvTranspose" + std::to_string(Rank) + "d"; }
};
// https://pytorch.org/docs/stable/generated/torch.nn.ConvTranspose2d.html
using ConvTranspose1d = ModuleHolder<ConvTransposeNdImpl<1>, std::int64_t, std::int64_t, Window>;
using ConvTranspose2d = ModuleHolder<ConvTransposeNdImpl<2>, std::int64_t, std::int64_t, Window>;
using ConvTranspose3d = ModuleHolder<ConvTransposeNdImpl<3>, std::int64_t, std::int64_t, Window>;

}  // namespace braze::nn
