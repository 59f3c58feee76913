// Padding with a constant, or with the tensor's own elements.
#include <algorithm>

#include "braze/functions.h"
#include "frontend/autograd/names.h"
#include "frontend/complex.h"
#include "frontend/composing.h"

namespace braze {

namespace {

struct Amount {
  std::int64_t dim, low, high;
};

// Pairs from the last dim backwards, checked.
std::vector<Amount> amounts_of(const Tensor& x, SizesView amounts) {
  require(amounts.size() % 2 == 0, "Padding length must be divisible by 2");
  require(static_cast<std::int64_t>(amounts.size()) <= 2 * x.dim(),
          "Padding length should be less than or equal to two times the input dimension but got padding length {} and input of "
          "dimension {}",
          amounts.size(), x.dim());
  std::vector<Amount> out;
  for (std::size_t i = 0; 2 * i < amounts.size(); ++i)
    out.push_back({x.dim() - 1 - static_cast<std::int64_t>(i), amounts[2 * i], amounts[2 * i + 1]});
  return out;
}

std::int64_t padded_size(const Tensor& x, const Amount& a) {
  std::int64_t size = x.size(a.dim);
  require<ShapeError>(!__builtin_add_overflow(size, a.low, &size) && !__builtin_add_overflow(size, a.high, &size),
                      "pad: padding {} and {} reach past 64 bits", a.low, a.high);
  require<ShapeError>(
      size >= 0,
      "The input size {}, plus negative padding {} and {}, resulted in a negative output size, which is invalid. Check "
      "dimension {} of your input.",
      x.size(a.dim), a.low, a.high, a.dim);
  return size;
}

Tensor cropped(const Tensor& x, const Amount& a) {
  if (a.low >= 0 && a.high >= 0) return x;
  return x.slice(a.dim, std::max<std::int64_t>(-a.low, 0), x.size(a.dim) - std::max<std::int64_t>(-a.high, 0));
}

// The parts apart: a pad has one value.
Tensor pad_complex(const Tensor& x, ir::Padding padding, Scalar value, const std::source_location& where) {
  const auto padded = [&](const Tensor& part, double number) {
    const engine::Value operands[] = {read(checked(part), location(where)), scalar_value(number, part.dtype())};
    return wrap(engine::record(ir::Op::pad, operands, padding, location(where)));
  };
  const Parts parts = parts_of(x, component_type(x.dtype()));
  return join({padded(parts.re, value.to_complex().real()), padded(parts.im, value.to_complex().imag())});
}

Tensor pad_constant(const Tensor& x, SizesView given, Scalar value, const std::source_location& where) {
  const std::vector<Amount> amounts = amounts_of(x, given);
  if (x.dim() == 0) return x.clone(where);
  Tensor kept = x;
  ir::Padding padding;
  for (const std::int64_t size : x.sizes()) {
    padding.low.push_back(std::int64_t{0});
    padding.high.push_back(std::int64_t{0});
    padding.sizes.push_back(size);
  }
  for (const Amount& a : amounts) {
    const auto dim = static_cast<std::size_t>(a.dim);
    padding.sizes[dim] = padded_size(x, a);
    padding.low[dim] = std::max<std::int64_t>(a.low, 0);
    padding.high[dim] = std::max<std::int64_t>(a.high, 0);
    kept = cropped(kept, a);
  }
  const auto grows = [](const Amount& a) { return a.low > 0 || a.high > 0; };
  if (std::none_of(amounts.begin(), amounts.end(), grows)) return kept.clone(where);
  if (is_complex(x.dtype())) return pad_complex(kept, std::move(padding), value, where);
  const engine::Value operands[] = {read(checked(kept), location(where)), scalar_value(value, x.dtype())};
  return wrap(engine::record(ir::Op::pad, operands, std::move(padding), location(where)));
}

// What stands before and after the elements along one dim.
using Border = Tensor (*)(const Tensor& x, std::int64_t dim, std::int64_t amount, bool before);

Tensor reflected(const Tensor& x, std::int64_t dim, std::int64_t amount, bool before) {
  const std::int64_t size = x.size(dim);
  return (before ? x.slice(dim, 1, amount + 1) : x.slice(dim, size - 1 - amount, size - 1)).flip({dim});
}

Tensor repeated(const Tensor& x, std::int64_t dim, std::int64_t amount, bool before) {
  Sizes sizes = x.sizes();
  sizes[static_cast<std::size_t>(dim)] = amount;
  return x.slice(dim, before ? 0 : x.size(dim) - 1, before ? 1 : x.size(dim)).expand(sizes);
}

Tensor wrapped(const Tensor& x, std::int64_t dim, std::int64_t amount, bool before) {
  return before ? x.slice(dim, x.size(dim) - amount, x.size(dim)) : x.slice(dim, 0, amount);
}

Tensor pad_with(const Tensor& x, SizesView given, Border border, const std::source_location& where) {
  Tensor out = x;
  for (const Amount& a : amounts_of(x, given)) {
    padded_size(x, a);
    const std::int64_t size = x.size(a.dim);
    const std::int64_t most = std::max(a.low, a.high);
    if (border == reflected)
      require(most < size || most <= 0,
              "Argument #4: Padding size should be less than the corresponding input dimension, but got: padding ({}, {}) at "
              "dimension {} of input {}",
              a.low, a.high, a.dim, sizes_text(x.sizes()));
    if (border == wrapped)
      require(most <= size, "Padding value causes wrapping around more than once: padding ({}, {}) at dimension {} of input {}",
              a.low, a.high, a.dim, sizes_text(x.sizes()));
    if (border == repeated)
      require(size > 0 || most <= 0, "Expected a non-zero size at dimension {} of input {}", a.dim, sizes_text(x.sizes()));
    std::vector<Tensor> parts;
    if (a.low > 0) parts.push_back(border(out, a.dim, a.low, true));
    parts.push_back(cropped(out, a));
    if (a.high > 0) parts.push_back(border(out, a.dim, a.high, false));
    out = cat(parts, a.dim, where);
  }
  return amounts_of(x, given).empty() ? x.clone(where) : out;
}

}  // namespace

Tensor constant_pad_nd(const In& x, SizesView amounts, Scalar value) {
  return pad_constant(require_tensor("constant_pad_nd", x), amounts, value, x.where());
}

Tensor pad(const In& x, SizesView amounts, Scalar value) {
  const GradientScope scope(GradientName::ConstantPadNdBackward0);
  return pad_constant(require_tensor("pad", x), amounts, value, x.where());
}

Tensor pad(const In& x, SizesView amounts, std::string_view mode, std::optional<Scalar> value) {
  const Tensor& self = require_tensor("pad", x);
  if (mode == "constant") return pad(x, amounts, value.value_or(0));
  require(!value || *value == 0.0, "Padding mode \"{}\" doesn't take in value argument", mode);
  const Border border = mode == "reflect" ? reflected : mode == "replicate" ? repeated : mode == "circular" ? wrapped : nullptr;
  if (!border) fail<NotImplementedError>("Unrecognised padding mode {}", mode);
  const std::int64_t rank = self.dim(), pairs = static_cast<std::int64_t>(amounts.size() / 2);
  if (amounts.size() % 2 != 0 || pairs < 1 || pairs > 3 || (rank != pairs + 1 && rank != pairs + 2))
    fail<NotImplementedError>("Only 2D, 3D, 4D, 5D padding with non-constant padding are supported for now");
  if (self.dtype() == DType::boolean && border != wrapped)
    not_implemented_for(fmt::format("{}_pad{}d", border == reflected ? "reflection" : "replication", pairs), self.dtype());
  using enum GradientName;
  static constexpr GradientName reflection[] = {ReflectionPad1DBackward0, ReflectionPad2DBackward0, ReflectionPad3DBackward0},
                                replication[] = {ReplicationPad1DBackward0, ReplicationPad2DBackward0, ReplicationPad3DBackward0};
  const GradientScope scope(border == wrapped ? CopySlices : border == reflected ? reflection[pairs - 1] : replication[pairs - 1]);
  return pad_with(self, amounts, border, x.where());
}

}  // namespace braze
