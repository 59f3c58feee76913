#include "braze/dropout.h"

#include <cmath>

#include "braze/functional.h"
#include "frontend/elementwise.h"
#include "frontend/formula.h"

namespace braze::nn::functional {

namespace {

void require_probability(double p) {
  require<ValueError>(p >= 0 && p <= 1, "dropout probability has to be between 0 and 1, but got {}", p);
}

// 1 with probability 1 - p: for each element, or for each sample's channel.
Tensor kept(const Tensor& x, double p, bool channels) {
  Sizes sizes = x.sizes();
  if (channels) {
    require(x.dim() >= 2, "Feature dropout requires at least 2 dimensions in the input");
    for (std::size_t i = 2; i < sizes.size(); ++i) sizes[i] = 1;
  }
  const TensorOptions options{component_type(x.dtype())};
  Tensor noise = channels ? empty(sizes, options) : zeros_like(x, options);
  return noise.bernoulli_(1 - p);
}

Tensor drop(const In& input, double p, bool training, bool channels) {
  require_probability(p);
  const SourceLine line(input.where());
  const Tensor x = as_tensor(input);
  if (!training || p == 0 || x.numel() == 0) return x;
  if (p == 1) return x * zeros({}, {x.dtype()});
  return x * kept(x, p, channels).div_(1 - p);
}

Tensor drop_alpha(const In& input, double p, bool training, bool channels) {
  require_probability(p);
  const SourceLine line(input.where());
  const Tensor x = as_tensor(input);
  if (!training || p == 0 || x.numel() == 0) return x;
  if (p == 1) return x * zeros({}, {x.dtype()});
  constexpr double alpha = 1.7580993408473766;  // -selu(-inf)
  const double scale = 1 / std::sqrt((alpha * alpha * p + 1) * (1 - p));
  const Tensor noise = kept(x, p, channels);
  return x * (noise * scale) + ((noise - 1) * (alpha * scale) + alpha * scale * p);
}

// dropout2d and its kin of a sample without a batch.
Tensor drop_channels(const In& input, double p, bool training, std::int64_t rank) {
  require_probability(p);
  const SourceLine line(input.where());
  const Tensor x = as_tensor(input);
  if (x.dim() != rank + 1) return drop(x, p, training, true);
  if (!training) return x;
  return drop(x.unsqueeze(0), p, training, true).squeeze(0);
}

}  // namespace

Tensor dropout(const In& x, double p, bool training) { return drop(x, p, training, false); }

Tensor dropout1d(const In& x, double p, bool training) {
  require(
      x.is_scalar() || x.tensor().dim() == 2 || x.tensor().dim() == 3,
      "dropout1d: Expected 2D or 3D input, but received a {}D input. Note that dropout1d exists to provide channel-wise dropout on "
      "inputs with 1 spatial dimension, a channel dimension, and an optional batch dimension (i.e. 2D or 3D inputs).",
      x.is_scalar() ? 0 : x.tensor().dim());
  return drop_channels(x, p, training, 1);
}

// A 3-d input is [N, C, L] here: so PyTorch has it, for old programs' sake.
Tensor dropout2d(const In& x, double p, bool training) { return drop(x, p, training, true); }

Tensor dropout3d(const In& x, double p, bool training) { return drop_channels(x, p, training, 3); }

Tensor alpha_dropout(const In& x, double p, bool training) { return drop_alpha(x, p, training, false); }

Tensor feature_alpha_dropout(const In& x, double p, bool training) { return drop_alpha(x, p, training, true); }

Tensor& dropout_(Tensor& x, double p, bool training, Line where) {
  return write_in_place(x, dropout(In(x, where), p, training), where);
}

}  // namespace braze::nn::functional
