// Padding, shuffles, sliding blocks and resampling. https://pytorch.org/docs/stable/nn.html#padding-layers
#pragma once

#include "braze/nn/module.h"
#include "braze/nn/window.h"

namespace braze::nn {

// ---- padding: one number for all sides, or two for each dim, the last dim first ----

class PadImpl : public Module {
 public:
  Tensor forward(const In& input);
  std::string extra_repr() const override;

  const Sizes padding;
  const std::string mode;
  const std::optional<Scalar> value;  // of a constant border

 protected:
  PadImpl(std::size_t rank, const Window& padding, std::string mode, std::optional<Scalar> value = {});
};

// A border of one value. https://pytorch.org/docs/stable/generated/torch.nn.ConstantPad1d.html
class ConstantPad1dImpl : public PadImpl {
 public:
  ConstantPad1dImpl(const Window& padding, Scalar value) : PadImpl(1, padding, "constant", value) {}
};
using ConstantPad1d = ModuleHolder<ConstantPad1dImpl, Window, Scalar>;
// A border of one value. https://pytorch.org/docs/stable/generated/torch.nn.ConstantPad2d.html
class ConstantPad2dImpl : public PadImpl {
 public:
  ConstantPad2dImpl(const Window& padding, Scalar value) : PadImpl(2, padding, "constant", value) {}
};
using ConstantPad2d = ModuleHolder<ConstantPad2dImpl, Window, Scalar>;
// A border of one value. https://pytorch.org/docs/stable/generated/torch.nn.ConstantPad3d.html
class ConstantPad3dImpl : public PadImpl {
 public:
  ConstantPad3dImpl(const Window& padding, Scalar value) : PadImpl(3, padding, "constant", value) {}
};
using ConstantPad3d = ModuleHolder<ConstantPad3dImpl, Window, Scalar>;
// A border of zeros. https://pytorch.org/docs/stable/generated/torch.nn.ZeroPad1d.html
class ZeroPad1dImpl : public PadImpl {
 public:
  explicit ZeroPad1dImpl(const Window& padding) : PadImpl(1, padding, "constant") {}
};
using ZeroPad1d = ModuleHolder<ZeroPad1dImpl, Window>;
// A border of zeros. https://pytorch.org/docs/stable/generated/torch.nn.ZeroPad2d.html
class ZeroPad2dImpl : public PadImpl {
 public:
  explicit ZeroPad2dImpl(const Window& padding) : PadImpl(2, padding, "constant") {}
};
using ZeroPad2d = ModuleHolder<ZeroPad2dImpl, Window>;
// A border of zeros. https://pytorch.org/docs/stable/generated/torch.nn.ZeroPad3d.html
class ZeroPad3dImpl : public PadImpl {
 public:
  explicit ZeroPad3dImpl(const Window& padding) : PadImpl(3, padding, "constant") {}
};
using ZeroPad3d = ModuleHolder<ZeroPad3dImpl, Window>;
// The elements mirrored at the edge. https://pytorch.org/docs/stable/generated/torch.nn.ReflectionPad1d.html
class ReflectionPad1dImpl : public PadImpl {
 public:
  explicit ReflectionPad1dImpl(const Window& padding) : PadImpl(1, padding, "reflect") {}
};
using ReflectionPad1d = ModuleHolder<ReflectionPad1dImpl, Window>;
// The elements mirrored at the edge. https://pytorch.org/docs/stable/generated/torch.nn.ReflectionPad2d.html
class ReflectionPad2dImpl : public PadImpl {
 public:
  explicit ReflectionPad2dImpl(const Window& padding) : PadImpl(2, padding, "reflect") {}
};
using ReflectionPad2d = ModuleHolder<ReflectionPad2dImpl, Window>;
// The elements mirrored at the edge. https://pytorch.org/docs/stable/generated/torch.nn.ReflectionPad3d.html
class ReflectionPad3dImpl : public PadImpl {
 public:
  explicit ReflectionPad3dImpl(const Window& padding) : PadImpl(3, padding, "reflect") {}
};
using ReflectionPad3d = ModuleHolder<ReflectionPad3dImpl, Window>;
// The edge's elements. https://pytorch.org/docs/stable/generated/torch.nn.ReplicationPad1d.html
class ReplicationPad1dImpl : public PadImpl {
 public:
  explicit ReplicationPad1dImpl(const Window& padding) : PadImpl(1, padding, "replicate") {}
};
using ReplicationPad1d = ModuleHolder<ReplicationPad1dImpl, Window>;
// The edge's elements. https://pytorch.org/docs/stable/generated/torch.nn.ReplicationPad2d.html
class ReplicationPad2dImpl : public PadImpl {
 public:
  explicit ReplicationPad2dImpl(const Window& padding) : PadImpl(2, padding, "replicate") {}
};
using ReplicationPad2d = ModuleHolder<ReplicationPad2dImpl, Window>;
// The edge's elements. https://pytorch.org/docs/stable/generated/torch.nn.ReplicationPad3d.html
class ReplicationPad3dImpl : public PadImpl {
 public:
  explicit ReplicationPad3dImpl(const Window& padding) : PadImpl(3, padding, "replicate") {}
};
using ReplicationPad3d = ModuleHolder<ReplicationPad3dImpl, Window>;
// The other edge's elements. https://pytorch.org/docs/stable/generated/torch.nn.CircularPad1d.html
class CircularPad1dImpl : public PadImpl {
 public:
  explicit CircularPad1dImpl(const Window& padding) : PadImpl(1, padding, "circular") {}
};
using CircularPad1d = ModuleHolder<CircularPad1dImpl, Window>;
// The other edge's elements. https://pytorch.org/docs/stable/generated/torch.nn.CircularPad2d.html
class CircularPad2dImpl : public PadImpl {
 public:
  explicit CircularPad2dImpl(const Window& padding) : PadImpl(2, padding, "circular") {}
};
using CircularPad2d = ModuleHolder<CircularPad2dImpl, Window>;
// The other edge's elements. https://pytorch.org/docs/stable/generated/torch.nn.CircularPad3d.html
class CircularPad3dImpl : public PadImpl {
 public:
  explicit CircularPad3dImpl(const Window& padding) : PadImpl(3, padding, "circular") {}
};
using CircularPad3d = ModuleHolder<CircularPad3dImpl, Window>;

// ---- shuffles ----

// [*, C r r, H, W] as [*, C, H r, W r]. https://pytorch.org/docs/stable/generated/torch.nn.PixelShuffle.html
class PixelShuffleImpl : public Module {
 public:
  explicit PixelShuffleImpl(std::int64_t upscale_factor) : upscale_factor(upscale_factor) {}
  Tensor forward(const In& input);
  std::string extra_repr() const override;

  const std::int64_t upscale_factor;
};
using PixelShuffle = ModuleHolder<PixelShuffleImpl, std::int64_t>;

// The reverse of PixelShuffle. https://pytorch.org/docs/stable/generated/torch.nn.PixelUnshuffle.html
class PixelUnshuffleImpl : public Module {
 public:
  explicit PixelUnshuffleImpl(std::int64_t downscale_factor) : downscale_factor(downscale_factor) {}
  Tensor forward(const In& input);
  std::string extra_repr() const override;

  const std::int64_t downscale_factor;
};
using PixelUnshuffle = ModuleHolder<PixelUnshuffleImpl, std::int64_t>;

// Channels dealt out among groups. https://pytorch.org/docs/stable/generated/torch.nn.ChannelShuffle.html
class ChannelShuffleImpl : public Module {
 public:
  explicit ChannelShuffleImpl(std::int64_t groups) : groups(groups) {}
  Tensor forward(const In& input);
  std::string extra_repr() const override;

  const std::int64_t groups;
};
using ChannelShuffle = ModuleHolder<ChannelShuffleImpl, std::int64_t>;

// ---- sliding blocks as columns, and their sum back ----

struct UnfoldOptions {
  Window dilation = 1, padding = 0, stride = 1;
};

// https://pytorch.org/docs/stable/generated/torch.nn.Unfold.html
class UnfoldImpl : public Module {
 public:
  using Options = UnfoldOptions;
  explicit UnfoldImpl(const Window& kernel_size, const Options& options = {}) : kernel_size(kernel_size), options(options) {}
  Tensor forward(const In& input);
  std::string extra_repr() const override;

  const Window kernel_size;
  const Options options;
};
using Unfold = ModuleHolder<UnfoldImpl, Window>;

// https://pytorch.org/docs/stable/generated/torch.nn.Fold.html
class FoldImpl : public Module {
 public:
  using Options = UnfoldOptions;
  FoldImpl(const Window& output_size, const Window& kernel_size, const Options& options = {})
      : output_size(output_size), kernel_size(kernel_size), options(options) {}
  Tensor forward(const In& input);
  std::string extra_repr() const override;

  const Window output_size, kernel_size;
  const Options options;
};
using Fold = ModuleHolder<FoldImpl, Window, Window>;

// ---- resampling ----

struct UpsampleOptions {
  Window size = {};                       // either this
  std::vector<double> scale_factor = {};  // or this: one for all spatial dims, or one for each
  std::string mode = "nearest";           // "linear", "bilinear", "bicubic", "trilinear"
  std::optional<bool> align_corners = {};
};

// https://pytorch.org/docs/stable/generated/torch.nn.Upsample.html
class UpsampleImpl : public Configured<UpsampleOptions> {
 public:
  using Configured::Configured;
  Tensor forward(const In& input);
  std::string extra_repr() const override;
};
using Upsample = ModuleHolder<UpsampleImpl>;

}  // namespace braze::nn
