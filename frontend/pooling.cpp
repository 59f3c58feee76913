// Pooling: reductions over sliding windows, which are a strided view of the padded input. Adaptive pooling whose windows are not all
// alike picks their elements by index first.
#include <algorithm>
#include <cmath>
#include <limits>

#include "braze/autograd.h"
#include "braze/functions.h"
#include "frontend/autograd/names.h"
#include "frontend/composing.h"
#include "frontend/formula.h"
#include "frontend/windows.h"

namespace braze {

namespace {

struct Pooling {
  std::string_view name;  // "max_pool2d"
  Windows windows;
  Dims size, out;  // of the input, of the result
  Dims high;       // padding at the end, which ceil_mode may lengthen
};

std::int64_t out_size(std::int64_t size, const Windows& w, std::size_t i, bool ceil_mode) {
  const std::int64_t span = size + 2 * w.padding[i] - w.reach(i) + (ceil_mode ? w.stride[i] - 1 : 0);
  std::int64_t out = (span >= 0 ? span / w.stride[i] : -((-span + w.stride[i] - 1) / w.stride[i])) + 1;
  // The last window must start inside the input or its left padding.
  if (ceil_mode && (out - 1) * w.stride[i] >= size + w.padding[i]) --out;
  return out;
}

Dims pooling_sizes(std::string_view name, std::string_view parameter, SizesView given, std::size_t rank) {
  static constexpr std::string_view numbers[] = {"", "one int", "two ints", "three ints"};
  require(given.size() == 1 || given.size() == rank, "{}: {} must either be a single int, or a tuple of {}", name, parameter,
          numbers[rank]);
  Dims out;
  for (std::size_t i = 0; i < rank; ++i) out.push_back(given[given.size() == 1 ? 0 : i]);
  return out;
}

Batched pooled_input(std::string_view name, const Tensor& x, std::size_t rank) {
  const auto dims = static_cast<std::int64_t>(rank);
  bool fits = x.dim() == dims + 1 || x.dim() == dims + 2;
  for (std::int64_t d = x.dim() == dims + 2 ? 1 : 0; fits && d < x.dim(); ++d) fits = x.size(d) > 0;
  require<ShapeError>(fits, "{}: Expected {}D or {}D (batch mode) tensor with optional 0 dim batch size for input, but got: {}",
                      name, dims + 1, dims + 2, sizes_text(x.sizes()));
  return x.dim() == dims + 1 ? Batched{x.unsqueeze(0), true} : Batched{x, false};
}

Pooling pooling(std::string_view name, const Tensor& x, std::size_t rank, SizesView kernel, SizesView stride, SizesView padding,
                SizesView dilation, bool ceil_mode) {
  Pooling p{name,
            {pooling_sizes(name, "kernel_size", kernel, rank),
             stride.size() == 0 ? pooling_sizes(name, "kernel_size", kernel, rank) : pooling_sizes(name, "stride", stride, rank),
             pooling_sizes(name, "padding", padding, rank), pooling_sizes(name, "dilation", dilation, rank)},
            spatial_sizes(x),
            {},
            {}};
  const Windows& w = p.windows;
  for (std::size_t i = 0; i < rank; ++i) {
    require(w.kernel[i] > 0, "kernel size should be greater than zero, but got {}", sizes_text(w.kernel));
    require(w.stride[i] > 0, "stride should not be zero");
    require(w.dilation[i] > 0, "dilation should be greater than zero, but got {}", sizes_text(w.dilation));
    require(w.padding[i] >= 0, "pad must be non-negative, but got pad: {}", w.padding[i]);
    require(w.padding[i] <= w.reach(i) / 2,
            "pad should be at most half of effective kernel size, but got pad={}, kernel_size={} and dilation={}", w.padding[i],
            w.kernel[i], w.dilation[i]);
    p.out.push_back(out_size(p.size[i], w, i, ceil_mode));
    p.high.push_back(std::max<std::int64_t>(0, (p.out[i] - 1) * w.stride[i] + w.reach(i) - p.size[i] - w.padding[i]));
  }
  if (std::any_of(p.out.begin(), p.out.end(), [](std::int64_t n) { return n < 1; }))
    fail<ShapeError>("Given input size: ({}x{}). Calculated output size: ({}x{}). Output size is too small", x.size(1),
                     fmt::join(p.size, "x"), x.size(1), fmt::join(p.out, "x"));
  return p;
}

// All elements of each window by a binary operation, or by a reduction where they are many.
template <class F, class R>
Tensor combine(const Tensor& windows, std::size_t rank, F&& binary, R&& reduction) {
  if (!are_few(windows, rank)) return reduction(windows);
  Tensor out;
  for_each_place(windows, rank, [&](std::int64_t, const Tensor& at) { out = out.defined() ? binary(out, at) : at; });
  return out.contiguous();
}

Tensor maxima_of(const Tensor& windows, std::size_t rank) {
  return combine(
      windows, rank, [](const Tensor& a, const Tensor& b) { return maximum(a, b); },
      [&](const Tensor& w) { return w.amax(kernel_dims(rank)); });
}

Tensor sums_of(const Tensor& windows, std::size_t rank) {
  return combine(
      windows, rank, [](const Tensor& a, const Tensor& b) { return a + b; },
      [&](const Tensor& w) { return w.sum(kernel_dims(rank)).to(w.dtype()); });
}

Scalar least(DType type) {
  switch (type) {
    case DType::u8:
      return 0;
    case DType::i8:
      return std::numeric_limits<std::int8_t>::min();
    case DType::i16:
      return std::numeric_limits<std::int16_t>::min();
    case DType::i32:
      return std::numeric_limits<std::int32_t>::min();
    case DType::i64:
      return std::numeric_limits<std::int64_t>::min();
    default:
      return -std::numeric_limits<double>::infinity();
  }
}

// ---- maxima ----

// Positions along one dim that the windows read, as [1..., k, 1..., o, 1...] of [k..., o...].
Tensor along_window(const Tensor& positions, std::size_t i, std::size_t rank) {
  Sizes sizes(2 * rank, 1);
  sizes[i] = positions.size(0);
  sizes[rank + i] = positions.size(1);
  return positions.reshape(sizes);
}

// A dim's positions in the input: [k, o]; outside [0, size) in the padding.
Tensor positions_of(const Pooling& p, std::size_t i) {
  const Windows& w = p.windows;
  return arange(w.kernel[i]).unsqueeze(1) * w.dilation[i] + arange(p.out[i]) * w.stride[i] - w.padding[i];
}

// Where in the input the maxima stand: of equal ones the first, of NaNs the last, as PyTorch's loops find them.
Tensor places_of_maxima(const Tensor& windows, const Tensor& maxima, std::span<const Tensor> positions, const Dims& size) {
  const std::size_t rank = size.size();
  Tensor flat = tensor(0), inside;
  for (std::size_t i = 0; i < rank; ++i) {
    const Tensor at = along_window(positions[i], i, rank);
    flat = flat * size[i] + at;
    const Tensor within = (at >= 0) & (at < size[i]);
    inside = inside.defined() ? inside & within : within;
  }
  const Sizes dims = kernel_dims(rank);
  Tensor here = maxima;
  for (std::size_t i = 0; i < rank; ++i) here = here.unsqueeze(2);
  const Tensor first = where((windows == here) & inside, flat, std::numeric_limits<std::int64_t>::max()).amin(dims);
  if (!is_float(windows.dtype())) return first;
  const Tensor last_nan = where(isnan(windows), flat, -1).amax(dims);
  return where(last_nan >= 0, last_nan, first);
}

struct Maxima {
  Tensor values, indices;
};

// The same in one pass over small windows: a greater element takes over, and so does any NaN.
Maxima maxima_with_places(const Tensor& windows, const Pooling& p) {
  const Windows& w = p.windows;
  const std::size_t rank = w.rank();
  // The place of a window's first element, and that of its first element inside.
  Tensor start = tensor(0), first = start;
  for (std::size_t i = 0; i < rank; ++i) {
    Sizes along(rank, 1);
    along[i] = p.out[i];
    const Tensor at = (arange(p.out[i]) * w.stride[i] - w.padding[i]).reshape(along);
    start = start * p.size[i] + at;
    first = first * p.size[i] + maximum(at, at % w.dilation[i]);
  }
  Maxima best;
  for_each_place(windows, rank, [&](std::int64_t n, const Tensor& at) {
    std::int64_t offset = 0, step = 1;
    for (std::size_t i = rank; i-- > 0;) {
      offset += n % w.kernel[i] * w.dilation[i] * step;
      step *= p.size[i];
      n /= w.kernel[i];
    }
    if (!best.values.defined()) {
      best = {at, first.expand(at.sizes())};
      return;
    }
    const Tensor wins = is_float(at.dtype()) ? (at > best.values) | isnan(at) : at > best.values;
    best = {where(wins, at, best.values), where(wins, start + offset, best.indices)};
  });
  return {best.values.contiguous(), best.indices.contiguous()};
}

// Whether gradients may be asked for. They then go where the maxima stand, one element a window; through the comparisons, each element
// would get a share from each window that it is in.
bool is_differentiated(const Tensor& x) { return is_grad_enabled() && x.requires_grad(); }

// The elements of x at places in its planes: [N, C, o...].
Tensor at_places(const Tensor& x, const Tensor& places) {
  const Sizes out = places.sizes();
  return gather(x.flatten(2), 2, places.flatten(2)).reshape(out);
}

Maxima max_pool(std::string_view name, std::size_t rank, const In& input, SizesView kernel, SizesView stride, SizesView padding,
                SizesView dilation, bool ceil_mode, bool indices) {
  const GradientScope scope(rank == 1   ? GradientName::SqueezeBackward1
                            : rank == 2 ? GradientName::MaxPool2DWithIndicesBackward0
                                        : GradientName::MaxPool3DWithIndicesBackward0);
  const SourceLine line(input.where());
  const Batched x = pooled_input(name, tensor_argument(input, name, "input"), rank);
  if (x.tensor.dtype() == DType::boolean || is_complex(x.tensor.dtype())) not_implemented_for("max_pool2d", x.tensor.dtype());
  if (rank == 1 && !indices && !is_float(x.tensor.dtype())) not_implemented_for("max_pool1d_impl", x.tensor.dtype());
  const Pooling p = pooling(name, x.tensor, rank, kernel, stride, padding, dilation, ceil_mode);
  const Tensor windows = windows_of(pad_spatial(x.tensor, p.windows.padding, p.high, least(x.tensor.dtype())), p.windows, p.out);
  const bool differentiated = is_differentiated(x.tensor);
  const auto result = [&](const Maxima& m) {
    return Maxima{x.result(differentiated ? at_places(x.tensor, m.indices) : m.values), x.result(m.indices)};
  };
  if (!indices && !differentiated) return {x.result(maxima_of(windows, rank)), {}};
  if (are_few(windows, rank)) {
    if (!differentiated) return result(maxima_with_places(windows, p));
    const Tensor values = maxima_of_few(x.tensor, windows, p.windows, {p.windows.padding, p.high});
    return {x.result(values), indices ? x.result(maxima_with_places(windows, p).indices) : Tensor()};
  }
  const Tensor values = maxima_of(windows, rank);
  std::vector<Tensor> positions;
  for (std::size_t i = 0; i < rank; ++i) positions.push_back(positions_of(p, i));
  return result({values, places_of_maxima(windows, values, positions, p.size)});
}

// ---- averages ----

// How many elements each window counts along a dim.
std::vector<std::int64_t> counted(const Pooling& p, std::size_t i, bool count_include_pad) {
  const std::int64_t padding = p.windows.padding[i];
  std::vector<std::int64_t> counts;
  for (std::int64_t o = 0; o < p.out[i]; ++o) {
    const std::int64_t start = o * p.windows.stride[i] - padding;
    const std::int64_t stop = std::min(start + p.windows.kernel[i], p.size[i] + padding);
    counts.push_back(count_include_pad ? stop - start : std::min(stop, p.size[i]) - std::max<std::int64_t>(start, 0));
  }
  return counts;
}

bool uniform(const std::vector<std::int64_t>& counts) {
  return std::all_of(counts.begin(), counts.end(), [&](std::int64_t c) { return c == counts[0]; });
}

// Along one dim of [o...].
Tensor along_out(const std::vector<std::int64_t>& counts, std::size_t i, std::size_t rank) {
  Sizes sizes(rank, 1);
  sizes[i] = static_cast<std::int64_t>(counts.size());
  return from_data(counts.data(), sizes);
}

Tensor divided(const Tensor& total, const In& divisor) {
  return is_float(total.dtype()) ? total / divisor : trunc_divide(total, divisor);
}

Tensor averages(const Tensor& total, const Pooling& p, bool count_include_pad) {
  std::int64_t everywhere = 1;
  Tensor varying;
  for (std::size_t i = 0; i < p.out.size(); ++i) {
    const std::vector<std::int64_t> counts = counted(p, i, count_include_pad);
    if (uniform(counts)) {
      everywhere *= counts[0];
      continue;
    }
    const Tensor along = along_out(counts, i, p.out.size());
    varying = varying.defined() ? varying * along : along;
  }
  return varying.defined() ? divided(total, (varying * everywhere).to(total.dtype())) : divided(total, everywhere);
}

Tensor avg_pool(std::string_view name, std::size_t rank, const In& input, SizesView kernel, SizesView stride, SizesView padding,
                bool ceil_mode, bool count_include_pad, std::optional<std::int64_t> divisor_override) {
  const GradientScope scope(rank == 1   ? GradientName::SqueezeBackward1
                            : rank == 2 ? GradientName::AvgPool2DBackward0
                                        : GradientName::AvgPool3DBackward0);
  const SourceLine line(input.where());
  const Batched x = pooled_input(name, tensor_argument(input, name, "input"), rank);
  if (!is_float(x.tensor.dtype()) && x.tensor.dtype() != DType::i64) not_implemented_for("avg_pool2d", x.tensor.dtype());
  if (rank == 3 && is_half(x.tensor.dtype())) not_implemented_for("avg_pool3d_out_frame", x.tensor.dtype());
  require(!divisor_override || *divisor_override != 0, "divisor must be not zero");
  const Pooling p = pooling(name, x.tensor, rank, kernel, stride, padding, {1}, ceil_mode);
  return x.result(in_compute_type(x.tensor, [&](const Tensor& wide) {
    const Tensor windows = windows_of(pad_spatial(wide, p.windows.padding, p.high, 0), p.windows, p.out);
    const Tensor total = sums_of(windows, rank);
    return divisor_override ? divided(total, *divisor_override) : averages(total, p, count_include_pad);
  }));
}

// ---- adaptive ----

std::int64_t adaptive_start(std::int64_t o, std::int64_t out, std::int64_t size) { return o * size / out; }
std::int64_t adaptive_stop(std::int64_t o, std::int64_t out, std::int64_t size) { return ((o + 1) * size + out - 1) / out; }

// The windows of adaptive pooling, as long as the longest: a shorter one repeats its last element.
struct Adaptive {
  Tensor windows;                 // [N, C, k..., o...]
  std::vector<Tensor> positions;  // [k, o] a dim
  std::vector<std::vector<std::int64_t>> counts;
  bool alike = true;  // no window is shorter
  Dims size;
};

Dims adaptive_sizes(std::string_view name, SizesView given, const Tensor& x, std::size_t rank) {
  require(given.size() == 1 || given.size() == rank, "{}: internal error: output_size.size() must be {}", name, rank);
  Dims out;
  for (std::size_t i = 0; i < rank; ++i) {
    const std::int64_t wanted = given[given.size() == 1 ? 0 : i];
    out.push_back(wanted == -1 ? x.size(static_cast<std::int64_t>(2 + i)) : wanted);
    require(out[i] >= 0, "{}: elements of output_size must be greater than or equal to 0, but received {}", name,
            sizes_text(given));
  }
  return out;
}

Adaptive adaptive_windows(const Tensor& x, const Dims& out) {
  const std::size_t rank = out.size();
  Adaptive a{x, {}, {}, true, spatial_sizes(x)};
  Windows w;
  for (std::size_t i = 0; i < rank; ++i) {
    require_room((static_cast<double>(a.size[i]) + 3 * static_cast<double>(out[i])) * 16);
    std::int64_t longest = 0;
    a.counts.emplace_back();
    for (std::int64_t o = 0; o < out[i]; ++o) {
      a.counts[i].push_back(adaptive_stop(o, out[i], a.size[i]) - adaptive_start(o, out[i], a.size[i]));
      longest = std::max(longest, a.counts[i].back());
    }
    std::vector<std::int64_t> at;
    for (std::int64_t k = 0; k < longest; ++k)
      for (std::int64_t o = 0; o < out[i]; ++o)
        at.push_back(std::min(adaptive_start(o, out[i], a.size[i]) + k, adaptive_stop(o, out[i], a.size[i]) - 1));
    a.positions.push_back(from_data(at.data(), {longest, out[i]}));
    a.alike &= uniform(a.counts[i]) && a.size[i] % out[i] == 0;
    w.kernel.push_back(longest);
    w.stride.push_back(longest);
    w.padding.push_back(0);
    w.dilation.push_back(1);
  }
  if (a.alike) {
    a.windows = windows_of(x, w, out);
    return a;
  }
  // [N, C, k, o, k, o, ...], then the kernels first.
  Sizes sizes{x.size(0), x.size(1)}, order{0, 1};
  for (std::size_t i = 0; i < rank; ++i) {
    a.windows = index_select(a.windows, static_cast<std::int64_t>(2 + i), a.positions[i].flatten());
    sizes.insert(sizes.end(), {w.kernel[i], out[i]});
    order.push_back(static_cast<std::int64_t>(2 + 2 * i));
  }
  for (std::size_t i = 0; i < rank; ++i) order.push_back(static_cast<std::int64_t>(3 + 2 * i));
  a.windows = a.windows.reshape(sizes).permute(order);
  return a;
}

bool any_empty(const Dims& out) {
  return std::any_of(out.begin(), out.end(), [](std::int64_t n) { return n == 0; });
}

// No window at all, and so nothing of x.
Tensor no_windows(const Tensor& x, const Dims& out) {
  Sizes sizes{x.size(0), x.size(1)};
  sizes.insert(sizes.end(), out.begin(), out.end());
  return x.flatten(2).narrow(2, 0, 0).reshape(sizes).clone(MemoryFormat::contiguous);
}

Maxima adaptive_max_pool(std::string_view name, std::size_t rank, const In& input, SizesView output_size, bool indices) {
  const GradientScope scope(rank == 1   ? GradientName::SqueezeBackward1
                            : rank == 2 ? GradientName::AdaptiveMaxPool2DBackward0
                                        : GradientName::AdaptiveMaxPool3DBackward0);
  const SourceLine line(input.where());
  const Batched x = pooled_input(name, tensor_argument(input, name, "input"), rank);
  if (!is_float(x.tensor.dtype())) not_implemented_for("adaptive_max_pool2d", x.tensor.dtype());
  const Dims out = adaptive_sizes(name, output_size, x.tensor, rank);
  if (any_empty(out)) {
    const Tensor none = no_windows(x.tensor, out);
    return {x.result(none), x.result(none.detach().to(DType::i64))};
  }
  const Adaptive a = adaptive_windows(x.tensor, out);
  const Tensor values = maxima_of(a.windows, rank);
  const bool differentiated = is_differentiated(x.tensor);
  if (!indices && !differentiated) return {x.result(values), {}};
  const Tensor places = places_of_maxima(a.windows, values, a.positions, a.size);
  return {x.result(differentiated ? at_places(x.tensor, places) : values), x.result(places)};
}

// Whether element k of a window is its own: [k, o].
Tensor belongs(const std::vector<std::int64_t>& counts, std::int64_t longest) {
  return arange(longest).unsqueeze(1) < from_data(counts.data(), {static_cast<std::int64_t>(counts.size())});
}

Tensor adaptive_avg_pool(std::string_view name, std::size_t rank, const In& input, SizesView output_size) {
  const bool one = std::all_of(output_size.begin(), output_size.end(), [](std::int64_t size) { return size == 1; });
  const GradientScope scope(rank == 1   ? GradientName::SqueezeBackward1
                            : one       ? GradientName::MeanBackward1
                            : rank == 2 ? GradientName::AdaptiveAvgPool2DBackward0
                                        : GradientName::AdaptiveAvgPool3DBackward0);
  const SourceLine line(input.where());
  const Batched x = pooled_input(name, tensor_argument(input, name, "input"), rank);
  if (!is_float(x.tensor.dtype())) not_implemented_for("adaptive_avg_pool2d", x.tensor.dtype());
  const Dims out = adaptive_sizes(name, output_size, x.tensor, rank);
  if (any_empty(out)) return x.result(no_windows(x.tensor, out));
  return x.result(in_compute_type(x.tensor, [&](const Tensor& wide) {
    Adaptive a = adaptive_windows(wide, out);
    Tensor count = tensor(1);
    for (std::size_t i = 0; i < rank; ++i) {
      count = count * along_out(a.counts[i], i, rank);
      if (!a.alike)
        a.windows =
            where(along_window(belongs(a.counts[i], a.positions[i].size(0)), i, rank), a.windows, zeros({}, {wide.dtype()}));
    }
    return sums_of(a.windows, rank) / count.to(wide.dtype());
  }));
}

}  // namespace

#define BRAZE_POOLS(rank)                                                                                                   \
  Tensor max_pool##rank##d(const In& input, SizesView kernel_size, SizesView stride, SizesView padding, SizesView dilation, \
                           bool ceil_mode) {                                                                                \
    return max_pool("max_pool" #rank "d", rank, input, kernel_size, stride, padding, dilation, ceil_mode, false).values;    \
  }                                                                                                                         \
  std::pair<Tensor, Tensor> max_pool##rank##d_with_indices(const In& input, SizesView kernel_size, SizesView stride,        \
                                                           SizesView padding, SizesView dilation, bool ceil_mode) {         \
    Maxima m = max_pool("max_pool" #rank "d", rank, input, kernel_size, stride, padding, dilation, ceil_mode, true);        \
    return {m.values, m.indices};                                                                                           \
  }                                                                                                                         \
  Tensor adaptive_avg_pool##rank##d(const In& input, SizesView output_size) {                                               \
    return adaptive_avg_pool("adaptive_avg_pool" #rank "d", rank, input, output_size);                                      \
  }                                                                                                                         \
  Tensor adaptive_max_pool##rank##d(const In& input, SizesView output_size) {                                               \
    return adaptive_max_pool("adaptive_max_pool" #rank "d", rank, input, output_size, false).values;                        \
  }                                                                                                                         \
  std::pair<Tensor, Tensor> adaptive_max_pool##rank##d_with_indices(const In& input, SizesView output_size) {               \
    Maxima m = adaptive_max_pool("adaptive_max_pool" #rank "d", rank, input, output_size, true);                            \
    return {m.values, m.indices};                                                                                           \
  }
BRAZE_POOLS(1)
BRAZE_POOLS(2)
BRAZE_POOLS(3)
#undef BRAZE_POOLS

Tensor avg_pool1d(const In& input, SizesView kernel_size, SizesView stride, SizesView padding, bool ceil_mode,
                  bool count_include_pad) {
  return avg_pool("avg_pool1d", 1, input, kernel_size, stride, padding, ceil_mode, count_include_pad, {});
}

Tensor avg_pool2d(const In& input, SizesView kernel_size, SizesView stride, SizesView padding, bool ceil_mode,
                  bool count_include_pad, std::optional<std::int64_t> divisor_override) {
  return avg_pool("avg_pool2d", 2, input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override);
}

Tensor avg_pool3d(const In& input, SizesView kernel_size, SizesView stride, SizesView padding, bool ceil_mode,
                  bool count_include_pad, std::optional<std::int64_t> divisor_override) {
  return avg_pool("avg_pool3d", 3, input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override);
}

}  // namespace braze
