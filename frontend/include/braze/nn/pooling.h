// Pooling: modules that keep their settings and call the functions of braze/convolution.h and braze/pooling.h. https://pytorch.org/docs/stable/nn.html#pooling-layers
#pragma once

#include "braze/nn/module.h"
#include "braze/nn/window.h"

namespace braze::nn {

// ---- maxima and means of windows; no stride is the kernel size ----

struct MaxPoolOptions {
  Window stride = {}, padding = 0, dilation = 1;
  bool ceil_mode = false;
};
class MaxPoolImpl : public Module {
 public:
  using Options = MaxPoolOptions;
  std::string extra_repr() const override;

  const Window kernel_size;
  const Options options;

 protected:
  MaxPoolImpl(const Window& kernel_size, const Options& options) : kernel_size(kernel_size), options(options) {}
};
struct AvgPoolOptions {
  Window stride = {}, padding = 0;
  bool ceil_mode = false, count_include_pad = true;
  std::optional<std::int64_t> divisor_override = {};  // not of AvgPool1d
};
class AvgPoolImpl : public Module {
 public:
  using Options = AvgPoolOptions;
  std::string extra_repr() const override;

  const Window kernel_size;
  const Options options;

 protected:
  AvgPoolImpl(const Window& kernel_size, const Options& options) : kernel_size(kernel_size), options(options) {}
};
struct LPPoolOptions {
  Window stride = {};
  bool ceil_mode = false;
};
class LPPoolImpl : public Module {
 public:
  using Options = LPPoolOptions;
  std::string extra_repr() const override;

  const double norm_type;
  const Window kernel_size;
  const Options options;

 protected:
  LPPoolImpl(double norm_type, const Window& kernel_size, const Options& options)
      : norm_type(norm_type), kernel_size(kernel_size), options(options) {}
};
// To a size of the output's choosing; -1 keeps a dim.
class AdaptivePoolImpl : public Module {
 public:
  std::string extra_repr() const override;

  const Window output_size;

 protected:
  explicit AdaptivePoolImpl(const Window& output_size) : output_size(output_size) {}
};
struct MaxUnpoolOptions {
  Window stride = {}, padding = 0;
};
// Maxima back where they stood, zeros elsewhere; `indices` are max_pool*_with_indices's.
class MaxUnpoolImpl : public Module {
 public:
  using Options = MaxUnpoolOptions;
  std::string extra_repr() const override;

  const Sizes kernel_size, stride, padding;

 protected:
  MaxUnpoolImpl(std::size_t rank, const Window& kernel_size, const Options& options);
};

// https://pytorch.org/docs/stable/generated/torch.nn.MaxPool1d.html
class MaxPool1dImpl : public MaxPoolImpl {
 public:
  explicit MaxPool1dImpl(const Window& kernel_size, const Options& options = {});
  Tensor forward(const In& input);
};
using MaxPool1d = ModuleHolder<MaxPool1dImpl, Window>;
// https://pytorch.org/docs/stable/generated/torch.nn.AvgPool1d.html
class AvgPool1dImpl : public AvgPoolImpl {
 public:
  explicit AvgPool1dImpl(const Window& kernel_size, const Options& options = {});
  Tensor forward(const In& input);
};
using AvgPool1d = ModuleHolder<AvgPool1dImpl, Window>;
// https://pytorch.org/docs/stable/generated/torch.nn.LPPool1d.html
class LPPool1dImpl : public LPPoolImpl {
 public:
  LPPool1dImpl(double norm_type, const Window& kernel_size, const Options& options = {})
      : LPPoolImpl(norm_type, kernel_size, options) {}
  Tensor forward(const In& input);
};
using LPPool1d = ModuleHolder<LPPool1dImpl, double, Window>;
// https://pytorch.org/docs/stable/generated/torch.nn.AdaptiveAvgPool1d.html
class AdaptiveAvgPool1dImpl : public AdaptivePoolImpl {
 public:
  explicit AdaptiveAvgPool1dImpl(const Window& output_size) : AdaptivePoolImpl(output_size) {}
  Tensor forward(const In& input);
};
using AdaptiveAvgPool1d = ModuleHolder<AdaptiveAvgPool1dImpl, Window>;
// https://pytorch.org/docs/stable/generated/torch.nn.AdaptiveMaxPool1d.html
class AdaptiveMaxPool1dImpl : public AdaptivePoolImpl {
 public:
  explicit AdaptiveMaxPool1dImpl(const Window& output_size) : AdaptivePoolImpl(output_size) {}
  Tensor forward(const In& input);
};
using AdaptiveMaxPool1d = ModuleHolder<AdaptiveMaxPool1dImpl, Window>;
// https://pytorch.org/docs/stable/generated/torch.nn.MaxUnpool1d.html
class MaxUnpool1dImpl : public MaxUnpoolImpl {
 public:
  explicit MaxUnpool1dImpl(const Window& kernel_size, const Options& options = {}) : MaxUnpoolImpl(1, kernel_size, options) {}
  Tensor forward(const In& input, const Tensor& indices, const Sizes& output_size = {});
};
using MaxUnpool1d = ModuleHolder<MaxUnpool1dImpl, Window>;

// https://pytorch.org/docs/stable/generated/torch.nn.MaxPool2d.html
class MaxPool2dImpl : public MaxPoolImpl {
 public:
  explicit MaxPool2dImpl(const Window& kernel_size, const Options& options = {});
  Tensor forward(const In& input);
};
using MaxPool2d = ModuleHolder<MaxPool2dImpl, Window>;
// https://pytorch.org/docs/stable/generated/torch.nn.AvgPool2d.html
class AvgPool2dImpl : public AvgPoolImpl {
 public:
  explicit AvgPool2dImpl(const Window& kernel_size, const Options& options = {});
  Tensor forward(const In& input);
};
using AvgPool2d = ModuleHolder<AvgPool2dImpl, Window>;
// https://pytorch.org/docs/stable/generated/torch.nn.LPPool2d.html
class LPPool2dImpl : public LPPoolImpl {
 public:
  LPPool2dImpl(double norm_type, const Window& kernel_size, const Options& options = {})
      : LPPoolImpl(norm_type, kernel_size, options) {}
  Tensor forward(const In& input);
};
using LPPool2d = ModuleHolder<LPPool2dImpl, double, Window>;
// https://pytorch.org/docs/stable/generated/torch.nn.AdaptiveAvgPool2d.html
class AdaptiveAvgPool2dImpl : public AdaptivePoolImpl {
 public:
  explicit AdaptiveAvgPool2dImpl(const Window& output_size) : AdaptivePoolImpl(output_size) {}
  Tensor forward(const In& input);
};
using AdaptiveAvgPool2d = ModuleHolder<AdaptiveAvgPool2dImpl, Window>;
// https://pytorch.org/docs/stable/generated/torch.nn.AdaptiveMaxPool2d.html
class AdaptiveMaxPool2dImpl : public AdaptivePoolImpl {
 public:
  explicit AdaptiveMaxPool2dImpl(const Window& output_size) : AdaptivePoolImpl(output_size) {}
  Tensor forward(const In& input);
};
using AdaptiveMaxPool2d = ModuleHolder<AdaptiveMaxPool2dImpl, Window>;
// https://pytorch.org/docs/stable/generated/torch.nn.MaxUnpool2d.html
class MaxUnpool2dImpl : public MaxUnpoolImpl {
 public:
  explicit MaxUnpool2dImpl(const Window& kernel_size, const Options& options = {}) : MaxUnpoolImpl(2, kernel_size, options) {}
  Tensor forward(const In& input, const Tensor& indices, const Sizes& output_size = {});
};
using MaxUnpool2d = ModuleHolder<MaxUnpool2dImpl, Window>;

// https://pytorch.org/docs/stable/generated/torch.nn.MaxPool3d.html
class MaxPool3dImpl : public MaxPoolImpl {
 public:
  explicit MaxPool3dImpl(const Window& kernel_size, const Options& options = {});
  Tensor forward(const In& input);
};
using MaxPool3d = ModuleHolder<MaxPool3dImpl, Window>;
// https://pytorch.org/docs/stable/generated/torch.nn.AvgPool3d.html
class AvgPool3dImpl : public AvgPoolImpl {
 public:
  explicit AvgPool3dImpl(const Window& kernel_size, const Options& options = {});
  Tensor forward(const In& input);
};
using AvgPool3d = ModuleHolder<AvgPool3dImpl, Window>;
// https://pytorch.org/docs/stable/generated/torch.nn.LPPool3d.html
class LPPool3dImpl : public LPPoolImpl {
 public:
  LPPool3dImpl(double norm_type, const Window& kernel_size, const Options& options = {})
      : LPPoolImpl(norm_type, kernel_size, options) {}
  Tensor forward(const In& input);
};
using LPPool3d = ModuleHolder<LPPool3dImpl, double, Window>;
// https://pytorch.org/docs/stable/generated/torch.nn.AdaptiveAvgPool3d.html
class AdaptiveAvgPool3dImpl : public AdaptivePoolImpl {
 public:
  explicit AdaptiveAvgPool3dImpl(const Window& output_size) : AdaptivePoolImpl(output_size) {}
  Tensor forward(const In& input);
};
using AdaptiveAvgPool3d = ModuleHolder<AdaptiveAvgPool3dImpl, Window>;
// https://pytorch.org/docs/stable/generated/torch.nn.AdaptiveMaxPool3d.html
class AdaptiveMaxPool3dImpl : public AdaptivePoolImpl {
 public:
  explicit AdaptiveMaxPool3dImpl(const Window& output_size) : AdaptivePoolImpl(output_size) {}
  Tensor forward(const In& input);
};
using AdaptiveMaxPool3d = ModuleHolder<AdaptiveMaxPool3dImpl, Window>;
// https://pytorch.org/docs/stable/generated/torch.nn.MaxUnpool3d.html
class MaxUnpool3dImpl : public MaxUnpoolImpl {
 public:
  explicit MaxUnpool3dImpl(const Window& kernel_size, const Options& options = {}) : MaxUnpoolImpl(3, kernel_size, options) {}
  Tensor forward(const In& input, const Tensor& indices, const Sizes& output_size = {});
};
using MaxUnpool3d = ModuleHolder<MaxUnpool3dImpl, Window>;

}  // namespace braze::nn
