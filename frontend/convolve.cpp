// Convolutions as one batched dot of the weights with the input's sliding windows, which are a strided view of it.
#include "braze/autograd.h"
#include "frontend/autograd/names.h"
#include "frontend/autograd/tracking.h"
#include "frontend/complex.h"
#include "frontend/formula.h"
#include "frontend/windows.h"

namespace braze {

Tensor along_channels(const Tensor& bias, std::size_t rank) {
  Sizes sizes(rank + 1, 1);
  sizes[0] = bias.size(0);
  return bias.reshape(sizes);
}

namespace {

Dims windows_along(const Tensor& x, const Windows& w) {
  Dims out;
  for (std::size_t i = 0; i < w.rank(); ++i)
    out.push_back((x.size(static_cast<std::int64_t>(2 + i)) - w.reach(i)) / w.stride[i] + 1);
  return out;
}

// One filter a channel: no product of matrices, but a chain along the results, which joins what `dot` would in its order and as it does.
Tensor convolve_channels(const Tensor& windows, const Tensor& weight, std::size_t rank) {
  const Tensor flat = weight.flatten(1);
  const ir::Location where = location({});
  return in_compute_type(windows, [&](const Tensor& wide) {
    Tensor sum;
    for_each_place(wide, rank, [&](std::int64_t n, const Tensor& at) {
      const Tensor factor = along_channels(flat.select(1, n).to(wide.dtype()), rank);
      if (!sum.defined() || !is_float(wide.dtype())) {
        sum = sum.defined() ? sum + at * factor : at * factor;
        return;
      }
      const engine::Value operands[] = {read(checked(at), where), expand(read(checked(factor), where), at.sizes(), where),
                                        read(checked(sum), where)};
      sum = wrap(engine::record(ir::Op::fma, operands, where), wide.dtype());
    });
    return sum.contiguous();
  });
}

// How windows [N, C, k..., o...] become columns. Numbered in two steps, the places in a window and the windows, so that it is known that
// neither has a say in the other. Images of few windows share a matrix, as a dot works on strips of columns, the last of which would be
// half empty in each.
struct Columns {
  std::int64_t batch, groups, filters, depth, count;
  bool shared;

  Columns(const Tensor& windows, const Tensor& weight, std::int64_t groups)
      : batch(windows.size(0)),
        groups(groups),
        filters(weight.size(0)),
        depth(weight.numel() / std::max<std::int64_t>(filters, 1)) {
    const Dims both = spatial_sizes(windows);
    count = checked_numel(std::span(both).subspan(both.size() / 2));
    constexpr std::int64_t few_windows = 256, deep = 64;
    shared = batch > 1 && count < few_windows && depth >= deep && filters / groups > 1;
  }

  // [N, G, depth, windows] or [G, depth, N * windows].
  Tensor of(const Tensor& windows) const {
    const std::size_t rank = spatial_sizes(windows).size() / 2;
    Tensor grouped = windows.unflatten(1, {groups, windows.size(1) / groups});  // [N, G, C / G, k..., o...]
    Sizes numbered{batch, groups, depth};
    if (shared) {
      grouped = grouped.movedim(0, static_cast<std::int64_t>(2 + rank));  // [G, C / G, k..., N, o...]
      numbered = {groups, depth, batch};
    }
    for (std::size_t i = 0; i < rank; ++i) numbered.push_back(windows.size(static_cast<std::int64_t>(2 + rank + i)));
    grouped = grouped.reshape(numbered);
    return grouped.reshape(shared ? Sizes{groups, depth, batch * count} : Sizes{batch, groups, depth, count});
  }
  // [G, filters of a group, depth]
  Tensor rows(const Tensor& weight) const { return weight.reshape({groups, filters / groups, depth}); }
  // The product of rows and columns as [N, filters, o...]; and the reverse.
  Tensor result(const Tensor& product, const Sizes& sizes) const {
    return shared ? product.reshape({filters, batch, count}).transpose(0, 1).contiguous().reshape(sizes) : product.reshape(sizes);
  }
  Tensor product(const Tensor& result) const {
    if (!shared) return result.reshape({batch, groups, filters / groups, count});
    return result.reshape({batch, filters, count}).transpose(0, 1).reshape({groups, filters / groups, batch * count});
  }
};

Tensor convolve_all(const Tensor& windows, const Tensor& weight, std::size_t rank, std::int64_t groups) {
  const Columns columns(windows, weight, groups);
  Sizes sizes{columns.batch, columns.filters};
  for (std::size_t i = 0; i < rank; ++i) sizes.push_back(windows.size(static_cast<std::int64_t>(2 + rank + i)));
  return columns.result(batched_dot(columns.rows(weight), columns.of(windows)), sizes);
}

// The gradient in the input as a convolution of the result's with the kernel reversed: each element of the input meets the places of the
// kernel in reverse. That of the ops is a matrix of columns, which has each element as often as windows do, and their sum.
Tensor in_input(const Tensor& g, const Tensor& weight, const Windows& w, const Around& before, std::int64_t groups) {
  const std::int64_t filters = weight.size(0) / groups, channels = weight.size(1);
  const Tensor grouped = weight.flip(kernel_dims(w.rank())).unflatten(0, {groups, filters}).transpose(1, 2);
  Around around;
  for (std::size_t i = 0; i < w.rank(); ++i) {
    around.low.push_back(w.reach(i) - 1 - before.low[i]);
    around.high.push_back(w.reach(i) - 1 - before.high[i]);
  }
  Sizes sizes{groups * channels, filters};
  sizes.insert(sizes.end(), w.kernel.begin(), w.kernel.end());
  return convolve(g, grouped.reshape(sizes), {}, w, around, groups);
}

Tensor in_weight(const Tensor& g, const Tensor& padded, const Tensor& weight, const Windows& w, std::int64_t groups) {
  const Tensor windows = windows_of(padded, w, windows_along(padded, w));
  const Columns columns(windows, weight, groups);
  const Tensor each = batched_dot(columns.product(g), columns.of(windows).transpose(-1, -2));
  return (columns.shared ? each : each.sum(0)).reshape(weight.sizes());
}

Tensor in_bias(const Tensor& g, const Windows& w) {
  Sizes dims = kernel_dims(w.rank());
  dims.push_back(0);
  return g.sum(dims);
}

// Whether the gradient in the input is taken as a convolution: it multiplies at each place of the input, where the columns do at each of
// the result, and few channels leave most rows of the product's tiles empty.
bool has_shortcut(const Tensor& x, const Tensor& weight, const Windows& w, const Dims& out) {
  constexpr std::int64_t few_channels = 4;
  const std::int64_t kernel = checked_numel(w.kernel), results = checked_numel(out), places = checked_numel(spatial_sizes(x));
  return is_float(x.dtype()) && x.numel() > 0 && weight.numel() > 0 && kernel > 1 && weight.size(1) >= few_channels &&
         5 * places <= 7 * results && std::all_of(w.stride.begin(), w.stride.end(), [](std::int64_t s) { return s == 1; });
}

}  // namespace

Tensor convolve(const Tensor& x, const Tensor& weight, const Tensor& bias, const Windows& w, const Around& around,
                std::int64_t groups) {
  const GradientScope scope(GradientName::ConvolutionBackward0);
  const Tensor padded = pad_spatial(x, around.low, around.high, 0);
  const Dims out = windows_along(padded, w);
  const Tensor windows = windows_of(padded, w, out);
  constexpr std::int64_t longest_chain = 128;
  const bool own_filter = x.size(1) == groups && weight.size(0) == groups && weight.numel() <= longest_chain * groups;
  const bool chain = own_filter && windows.numel() > 0;
  const Tensor sum = chain ? convolve_channels(windows, weight, w.rank()) : convolve_all(windows, weight, w.rank(), groups);
  const Tensor result = bias.defined() ? sum + along_channels(bias, w.rank()) : sum;
  if (chain || !is_grad_enabled() || !x.requires_grad() || !has_shortcut(x, weight, w, out)) return result;
  const bool of_weight = weight.requires_grad(), of_bias = bias.defined() && bias.requires_grad();
  const auto pull = [=](const Tensor& g, std::span<const Tensor> saved) -> std::vector<Tensor> {
    return {in_input(g, saved[1], w, around, groups), of_weight ? in_weight(g, saved[0], saved[1], w, groups) : Tensor(),
            of_bias ? in_bias(g, w) : Tensor()};
  };
  return with_shortcut(result, {"ConvolutionBackward0", {x, weight, bias}, {padded, weight}, pull});
}

}  // namespace braze
