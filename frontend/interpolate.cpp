// Resampling: each result along a dim is a weighted sum of a few elements, picked by index; dims are resampled one after another, the
// last first. Source positions and weights are computed as PyTorch computes them, in float for float32 and the halves.
// https://pytorch.org/docs/stable/generated/torch.nn.functional.interpolate.html
#include <algorithm>
#include <cmath>

#include "braze/functions.h"
#include "frontend/autograd/names.h"
#include "frontend/autograd/tracking.h"
#include "frontend/composing.h"
#include "frontend/formula.h"
#include "frontend/linalg.h"
#include "frontend/positions.h"

namespace braze {

namespace {

// A dim resampled: `taps` elements a result.
struct Taps {
  std::vector<std::vector<std::int64_t>> index;  // [tap][result]
  std::vector<std::vector<double>> weight;       // the same; empty: the element as it is
};

// One spatial dim: its sizes, and the factor that the user gave, where it is to be used as it is.
struct Dim {
  std::int64_t in, out;
  std::optional<double> factor;
};

// Source elements a result element.
template <class T>
T scale_of(const Dim& d, bool align_corners) {
  if (align_corners) return d.out > 1 ? static_cast<T>(d.in - 1) / static_cast<T>(d.out - 1) : T{0};
  if (d.factor && *d.factor > 0) return static_cast<T>(1.0 / *d.factor);
  return static_cast<T>(d.in) / static_cast<T>(d.out);
}

template <class T>
T source_of(std::int64_t o, T scale, bool align_corners, bool cubic) {
  if (align_corners) return scale * static_cast<T>(o);
  const T at = scale * (static_cast<T>(o) + T(0.5)) - T(0.5);
  return !cubic && at < 0 ? T{0} : at;
}

Taps nearest(const Dim& d, bool exact) {
  const float scale = scale_of<float>(d, false);
  Taps taps{{{}}, {}};
  for (std::int64_t o = 0; o < d.out; ++o) {
    const float at = exact ? (static_cast<float>(o) + 0.5f) * scale : static_cast<float>(o) * scale;
    taps.index[0].push_back(std::min(static_cast<std::int64_t>(std::floor(at)), d.in - 1));
  }
  return taps;
}

template <class T>
Taps linear_taps(const Dim& d, bool align_corners) {
  const T scale = scale_of<T>(d, align_corners);
  Taps taps{{{}, {}}, {{}, {}}};
  for (std::int64_t o = 0; o < d.out; ++o) {
    const T at = d.in == d.out ? static_cast<T>(o) : source_of(o, scale, align_corners, false);  // whatever factor was given
    const std::int64_t low = std::min(static_cast<std::int64_t>(at), d.in - 1);
    const T part = std::min(std::max(at - static_cast<T>(low), T{0}), T{1});
    taps.index[0].push_back(low);
    taps.index[1].push_back(std::min(low + 1, d.in - 1));
    taps.weight[0].push_back(static_cast<double>(T{1} - part));
    taps.weight[1].push_back(static_cast<double>(part));
  }
  return taps;
}

template <class T>
T near_cubic(T x, T a) {  // |x| <= 1
  return ((a + 2) * x - (a + 3)) * x * x + 1;
}
template <class T>
T far_cubic(T x, T a) {  // 1 < |x| < 2
  return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a;
}

template <class T>
Taps cubic_taps(const Dim& d, bool align_corners) {
  const T scale = scale_of<T>(d, align_corners), a = T(-0.75);
  Taps taps{std::vector<std::vector<std::int64_t>>(4), std::vector<std::vector<double>>(4)};
  for (std::int64_t o = 0; o < d.out; ++o) {
    const T at = source_of(o, scale, align_corners, true), low = std::floor(at), t = at - low;
    const T weights[] = {far_cubic(t + 1, a), near_cubic(t, a), near_cubic(1 - t, a), far_cubic(2 - t, a)};
    for (std::size_t k = 0; k < 4; ++k) {
      taps.index[k].push_back(
          std::clamp<std::int64_t>(static_cast<std::int64_t>(low) - 1 + static_cast<std::int64_t>(k), 0, d.in - 1));
      taps.weight[k].push_back(static_cast<double>(weights[k]));
    }
  }
  return taps;
}

// The kernel widened by the scale, so that shrinking averages: Pillow's filters.
template <class T>
Taps antialiased(const Dim& d, bool align_corners, bool cubic) {
  const T scale = scale_of<T>(d, align_corners), half = cubic ? T{2} : T{1}, a = T(-0.5);
  const T support = scale >= 1 ? half * scale : half, inverse = scale >= 1 ? 1 / scale : T{1};
  const auto filter = [&](T x) {
    x = std::abs(x);
    if (!cubic) return x < 1 ? 1 - x : T{0};
    return x < 1 ? near_cubic(x, a) : x < 2 ? far_cubic(x, a) : T{0};
  };
  const std::size_t most = static_cast<std::size_t>(std::ceil(support)) * 2 + 1;
  Taps taps{std::vector<std::vector<std::int64_t>>(most), std::vector<std::vector<double>>(most)};
  for (std::int64_t o = 0; o < d.out; ++o) {
    const T centre = scale * (static_cast<T>(o) + T(0.5));
    const std::int64_t first = std::max<std::int64_t>(static_cast<std::int64_t>(centre - support + T(0.5)), 0);
    const std::int64_t count = std::clamp<std::int64_t>(
        std::min(static_cast<std::int64_t>(centre + support + T(0.5)), d.in) - first, 0, static_cast<std::int64_t>(most));
    std::vector<T> weights;
    T total = 0;
    for (std::int64_t k = 0; k < count; ++k) {
      weights.push_back(filter((static_cast<T>(k + first) - centre + T(0.5)) * inverse));
      total += weights.back();
    }
    for (std::size_t k = 0; k < most; ++k) {
      const bool inside = static_cast<std::int64_t>(k) < count;
      taps.index[k].push_back(std::clamp<std::int64_t>(first + (inside ? static_cast<std::int64_t>(k) : count - 1), 0, d.in - 1));
      taps.weight[k].push_back(inside && total != 0 ? static_cast<double>(weights[k] / total) : 0);
    }
  }
  return taps;
}

Tensor resample(const Tensor& x, std::int64_t dim, const Taps& taps) {
  const auto n = static_cast<std::int64_t>(taps.index[0].size());
  Sizes along(static_cast<std::size_t>(x.dim() - dim), 1);
  along[0] = n;
  Tensor out;
  for (std::size_t k = 0; k < taps.index.size(); ++k) {
    const Tensor picked = index_select(x, dim, from_data(taps.index[k].data(), {n}));
    const Tensor weighted = picked * from_data(taps.weight[k].data(), along).to(x.dtype());
    out = out.defined() ? out + weighted : weighted;
  }
  return out;
}

// All dims at once, each element picked by itself.
Tensor pick(const Tensor& x, const std::vector<Taps>& dims) {
  constexpr std::source_location where;  // the line of the call, which a SourceLine holds
  if (elements_of(checked(x))) return pick(spread(x), dims);
  const Geometry g = checked(x).layout();
  Dims sizes = g.sizes;
  for (std::size_t i = 0; i < dims.size(); ++i) sizes[2 + i] = static_cast<std::int64_t>(dims[i].index[0].size());
  PositionSum sum(sizes, g.offset, where);
  sum.add_axis(0, g.strides[0]);
  sum.add_axis(1, g.strides[1]);
  for (std::size_t i = 0; i < dims.size(); ++i) {
    Sizes along(sizes.size() - 2 - i, 1);
    along[0] = sizes[2 + i];
    sum.add_index(from_data(dims[i].index[0].data(), along), g.sizes[2 + i], g.strides[2 + i]);
  }
  return wrap(read_at(checked(x), sum.value(), location(where)), x.dtype());
}

// ---- what the call asks for ----

struct Request {
  std::string_view mode;
  bool align_corners, antialias, is_double;
  std::vector<Dim> dims;
};

template <class T>
Taps taps_in(const Request& r, const Dim& d) {
  const bool cubic = r.mode == "bicubic";
  if (r.antialias) return antialiased<T>(d, r.align_corners, cubic);
  return cubic ? cubic_taps<T>(d, r.align_corners) : linear_taps<T>(d, r.align_corners);
}

Taps taps_of(const Request& r, const Dim& d) {
  // An index and a weight a tap, and their copies as tensors.
  const double widest = r.antialias ? 4.0 * static_cast<double>(d.in) / static_cast<double>(d.out) + 9 : 4;
  require_room(static_cast<double>(d.out) * widest * 32);
  if (r.mode == "nearest" || r.mode == "nearest-exact") return nearest(d, r.mode == "nearest-exact");
  return r.is_double ? taps_in<double>(r, d) : taps_in<float>(r, d);
}

void require_mode(const InterpolateOptions& o, std::int64_t rank) {
  const std::string& mode = o.mode;
  const bool interpolates = mode == "linear" || mode == "bilinear" || mode == "bicubic" || mode == "trilinear";
  require<NotImplementedError>(
      interpolates || mode == "nearest" || mode == "nearest-exact" || mode == "area",
      "Input Error: Only 3D, 4D and 5D input Tensors supported (got {}D) for the modes: nearest | linear | "
      "bilinear | bicubic | trilinear | area | nearest-exact (got {})",
      rank + 2, mode);
  require<ValueError>(interpolates || !o.align_corners,
                      "align_corners option can only be set with the interpolating modes: linear | bilinear | bicubic | trilinear");
  require<ValueError>(!o.antialias || ((mode == "bilinear" || mode == "bicubic") && rank == 2),
                      "Anti-alias option is restricted to bilinear and bicubic modes and requires a 4-D tensor as input");
  const std::int64_t wanted = mode == "linear" ? 1 : mode == "bilinear" || mode == "bicubic" ? 2 : mode == "trilinear" ? 3 : rank;
  require<NotImplementedError>(wanted == rank, "Got {}D input, but {} mode needs {}D input", rank + 2, mode, wanted + 2);
}

std::vector<Dim> requested_dims(const InterpolateOptions& o, std::span<const std::int64_t> sizes) {
  require<ValueError>(!o.size || !o.scale_factor, "only one of size or scale_factor should be defined");
  require<ValueError>(o.size || o.scale_factor, "either size or scale_factor should be defined");
  const std::size_t rank = sizes.size(), given = o.size ? o.size->size() : o.scale_factor->size();
  require<ValueError>(
      given == 1 || given == rank,
      "Input and {} must have the same number of spatial dimensions, but got input with spatial dimensions of {} and "
      "{} of {} values",
      o.size ? "output" : "scale_factor", sizes_text(sizes), o.size ? "output size" : "scale_factor", given);
  require<ValueError>(!o.size || !o.recompute_scale_factor.value_or(false),
                      "recompute_scale_factor is not meaningful with an explicit size.");
  std::vector<Dim> dims;
  for (std::size_t i = 0; i < rank; ++i) {
    const std::size_t n = given == 1 ? 0 : i;
    if (o.size) {
      dims.push_back({sizes[i], (*o.size)[n], {}});
    } else {
      const double factor = (*o.scale_factor)[n];
      dims.push_back({sizes[i], static_cast<std::int64_t>(std::floor(static_cast<double>(sizes[i]) * factor)), {}});
      if (!o.recompute_scale_factor.value_or(false)) dims.back().factor = factor;
    }
    require(dims[i].out > 0 && dims[i].in > 0,
            "Input and output sizes should be greater than 0, but got input (sizes {}) and output size {} in dimension {}",
            sizes_text(sizes), dims[i].out, i);
  }
  return dims;
}

Tensor area(const Tensor& x, const std::vector<Dim>& dims) {
  Sizes sizes;
  for (const Dim& d : dims) sizes.push_back(d.out);
  return dims.size() == 1   ? adaptive_avg_pool1d(x, sizes)
         : dims.size() == 2 ? adaptive_avg_pool2d(x, sizes)
                            : adaptive_avg_pool3d(x, sizes);
}

}  // namespace

namespace {

GradientName upsample_name(std::string_view mode, std::int64_t rank, bool antialias) {
  const auto of_rank = [&](GradientName one, GradientName two, GradientName three) {
    return rank == 1 ? one : rank == 2 ? two : three;
  };
  if (mode == "nearest")
    return of_rank(GradientName::UpsampleNearest1DBackward0, GradientName::UpsampleNearest2DBackward0,
                   GradientName::UpsampleNearest3DBackward0);
  if (mode == "nearest-exact")
    return of_rank(GradientName::UpsampleNearestExact1DBackward0, GradientName::UpsampleNearestExact2DBackward0,
                   GradientName::UpsampleNearestExact3DBackward0);
  if (mode == "linear") return GradientName::UpsampleLinear1DBackward0;
  if (mode == "trilinear") return GradientName::UpsampleTrilinear3DBackward0;
  if (mode == "bilinear")
    return antialias ? GradientName::UpsampleBilinear2DAaBackward0 : GradientName::UpsampleBilinear2DBackward0;
  return antialias ? GradientName::UpsampleBicubic2DAaBackward0 : GradientName::UpsampleBicubic2DBackward0;
}

}  // namespace

Tensor interpolate(const In& input, const InterpolateOptions& options) {
  const SourceLine line(input.where());
  const Tensor& x = tensor_argument(input, "interpolate", "input");
  require<NotImplementedError>(
      x.dim() >= 3 && x.dim() <= 5,
      "Input Error: Only 3D, 4D and 5D input Tensors supported (got {}D) for the modes: nearest | linear | "
      "bilinear | bicubic | trilinear | area | nearest-exact (got {})",
      x.dim(), options.mode);
  require_mode(options, x.dim() - 2);
  const Sizes sizes = x.sizes();
  const Request r{options.mode, options.align_corners.value_or(false), options.antialias, x.dtype() == DType::f64,
                  requested_dims(options, std::span(sizes).subspan(2))};
  if (r.mode == "area") return area(x, r.dims);
  const GradientScope scope(upsample_name(r.mode, x.dim() - 2, options.antialias));
  const bool picks = r.mode == "nearest" || r.mode == "nearest-exact";
  const bool bytes = x.dtype() == DType::u8 && (r.mode == "bilinear" || r.mode == "bicubic");
  if (!is_float(x.dtype()) && !bytes && !(picks && x.dtype() == DType::u8))
    not_implemented_for(picks                 ? "compute_indices_weights_nearest"
                        : r.mode == "bicubic" ? "compute_indices_weights_cubic"
                                              : "compute_indices_weights_linear",
                        x.dtype());
  const auto resampled = [&](Tensor out) {
    for (std::size_t i = r.dims.size(); i-- > 0;) {
      out = resample(out, static_cast<std::int64_t>(2 + i), taps_of(r, r.dims[i]));
      if (bytes) out = clamp(floor(out + 0.5), 0, 255);  // each pass leaves bytes
    }
    return out;
  };
  if (picks) {
    std::vector<Taps> taps;
    for (const Dim& d : r.dims) taps.push_back(taps_of(r, d));
    return pick(x, taps);
  }
  if (bytes) return resampled(x.to(DType::f32)).to(x.dtype());
  return in_compute_type(x, resampled);
}

// ---- shuffles: reshape, permute, reshape ----

Tensor pixel_shuffle(const In& input, std::int64_t upscale_factor) {
  const GradientScope scope(GradientName::PixelShuffleBackward0);
  const SourceLine line(input.where());
  const Tensor& x = tensor_argument(input, "pixel_shuffle", "input");
  const std::int64_t r = upscale_factor;
  require(x.dim() >= 3, "pixel_shuffle expects input to have at least 3 dimensions, but got input with {} dimension(s)", x.dim());
  require(r > 0, "pixel_shuffle expects a positive upscale_factor, but got {}", r);
  const std::int64_t channels = x.size(-3), h = x.size(-2), w = x.size(-1);
  require<ShapeError>(channels % (r * r) == 0,
                      "pixel_shuffle expects its input's 'channel' dimension to be divisible by the square of upscale_factor, but "
                      "input.size(-3)={} is not divisible by {}",
                      channels, r * r);
  Sizes out = x.sizes();
  const std::int64_t batch = x.numel() == 0 ? 0 : x.numel() / (channels * h * w), c = channels / (r * r);
  std::copy_n(Sizes{c, h * r, w * r}.begin(), 3, out.end() - 3);
  if (x.numel() == 0) return zeros(out, {x.dtype()});
  return x.reshape({batch, c, r, r, h, w}).permute({0, 1, 4, 2, 5, 3}).reshape(out);
}

Tensor pixel_unshuffle(const In& input, std::int64_t downscale_factor) {
  const SourceLine line(input.where());
  const Tensor& x = tensor_argument(input, "pixel_unshuffle", "input");
  const std::int64_t r = downscale_factor;
  require(x.dim() >= 3, "pixel_unshuffle expects input to have at least 3 dimensions, but got input with {} dimension(s)", x.dim());
  require(r > 0, "pixel_unshuffle expects a positive downscale_factor, but got {}", r);
  const std::int64_t c = x.size(-3), h = x.size(-2), w = x.size(-1);
  require<ShapeError>(
      h % r == 0,
      "pixel_unshuffle expects height to be divisible by downscale_factor, but input.size(-2)={} is not divisible by {}", h, r);
  require<ShapeError>(
      w % r == 0, "pixel_unshuffle expects width to be divisible by downscale_factor, but input.size(-1)={} is not divisible by {}",
      w, r);
  Sizes out = x.sizes();
  std::copy_n(Sizes{c * r * r, h / r, w / r}.begin(), 3, out.end() - 3);
  if (x.numel() == 0) return zeros(out, {x.dtype()});
  return x.reshape({x.numel() / (c * h * w), c, h / r, r, w / r, r}).permute({0, 1, 3, 5, 2, 4}).reshape(out);
}

Tensor channel_shuffle(const In& input, std::int64_t groups) {
  const GradientScope scope(GradientName::ChannelShuffleBackward0);
  const SourceLine line(input.where());
  const Tensor& x = tensor_argument(input, "channel_shuffle", "input");
  require(x.dim() > 2, "channel_shuffle expects input with > 2 dims, but got input with sizes {}", sizes_text(x.sizes()));
  require(groups > 0, "Number of groups to divide channels in must be positive. Value of groups:{}", groups);
  require<ShapeError>(x.size(1) % groups == 0, "Number of channels must be divisible by groups. Got {} channels and {} groups.",
                      x.size(1), groups);
  if (x.numel() == 0) return x;
  return x.unflatten(1, {groups, x.size(1) / groups}).transpose(1, 2).reshape(x.sizes());
}

}  // namespace braze
