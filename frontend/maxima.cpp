// The greatest elements of small windows where gradients may be asked for: with the place of each in its window, which its gradient goes to.
#include "braze/functions.h"
#include "frontend/autograd/tracking.h"
#include "frontend/formula.h"
#include "frontend/windows.h"

namespace braze {

namespace {

// The number of the place in each window that is the first inside the input: [o...].
Tensor first_inside(const Windows& w, const Dims& out) {
  Tensor first = tensor(0);
  for (std::size_t i = 0; i < w.rank(); ++i) {
    Sizes along(w.rank(), 1);
    along[i] = out[i];
    const std::int64_t dilation = w.dilation[i];
    std::vector<std::int64_t> places;
    for (std::int64_t o = 0; o < out[i]; ++o)
      places.push_back((std::max<std::int64_t>(w.padding[i] - o * w.stride[i], 0) + dilation - 1) / dilation);
    first = first * w.kernel[i] + from_data(places.data(), along);
  }
  return first.to(DType::u8);
}

bool has_padding(const Windows& w) {
  return std::any_of(w.padding.begin(), w.padding.end(), [](std::int64_t p) { return p > 0; });
}

// The gradient of the windows' maxima to the elements of an input of these sizes.
Tensor to_places(Tensor g, Tensor places, const Windows& w, const Around& around, const Dims& sizes) {
  Sizes kernel(w.kernel.begin(), w.kernel.end());
  std::int64_t count = 1;
  for (const std::int64_t k : w.kernel) {
    g = g.unsqueeze(2);
    places = places.unsqueeze(2);
    count *= k;
  }
  for (std::size_t i = 0; i < w.rank(); ++i) kernel.push_back(1);
  const Tensor values = where(places == arange(count).to(DType::u8).reshape(kernel), g, zeros({}, {g.dtype()}));
  return sum_windows(values, w, around, sizes);
}

}  // namespace

Tensor maxima_of_few(const Tensor& x, const Tensor& windows, const Windows& w, const Around& around) {
  const std::size_t rank = w.rank();
  const Dims both = spatial_sizes(windows);
  const bool padded = has_padding(w);
  const Tensor start = padded ? first_inside(w, Dims(both.begin() + rank, both.end())) : zeros({}, {DType::u8});
  Tensor best, place;
  for_each_place(windows, rank, [&](std::int64_t n, const Tensor& at) {
    if (n == 0) {
      best = at;
      place = start;
      return;
    }
    Tensor wins = (at > best) | isnan(at);
    if (padded)
      wins = wins | (start == full({}, n, {DType::u8}));  // nothing inside is less than the padding, but as small it may be
    best = where(wins, at, best);
    place = where(wins, full({}, n, {DType::u8}), place);
  });
  // Each window's gradient goes to its greatest element; that of the ops would go back through every comparison. Places are kept as a byte
  // each.
  const auto pull = [w, around, sizes = spatial_sizes(x)](const Tensor& g, std::span<const Tensor> saved) -> std::vector<Tensor> {
    return {to_places(g, saved[0], w, around, sizes)};
  };
  const char* name = rank == 3 ? "MaxPool3DWithIndicesBackward0" : "MaxPool2DWithIndicesBackward0";
  return with_shortcut(best.contiguous(), {name, {x}, {place.expand(best.sizes())}, pull});
}

}  // namespace braze
