// cat, stack and pad.
#include <algorithm>

#include "braze/functions.h"
#include "frontend/tensor_impl.h"

namespace braze {

namespace {

// PyTorch's cat skips tensors of shape [0].
bool skipped(const Tensor& t) { return t.dim() == 1 && t.size(0) == 0; }

// One concat for each `most` values: where a part starts is a sum of all extents before it, and kernels grow with their number.
std::vector<engine::Value> join_groups(std::span<const engine::Value> values, std::uint32_t axis, ir::Location where) {
  constexpr std::size_t most = 32;
  std::vector<engine::Value> out;
  for (; !values.empty(); values = values.subspan(std::min(most, values.size()))) {
    const std::span<const engine::Value> group = values.first(std::min(most, values.size()));
    std::int64_t extent = 0;
    for (const engine::Value& v : group) extent += v.type().shape[axis].number();
    out.push_back(group.size() == 1 ? group[0] : engine::record(ir::Op::concat, group, ir::Concat{axis, extent}, where));
  }
  return out;
}

}  // namespace

Tensor cat(std::span<const Tensor> tensors, std::int64_t dim, std::source_location where) {
  require<ValueError>(!tensors.empty(), "torch.cat(): expected a non-empty list of Tensors");
  DType type = tensors[0].dtype();
  const Tensor* first = nullptr;
  for (const Tensor& t : tensors) {
    require(t.dim() > 0, "zero-dimensional tensor (at position {}) cannot be concatenated", &t - tensors.data());
    type = promote_types(type, t.dtype());
    if (!first && !skipped(t)) first = &t;
  }
  if (!first) return tensors[0].to(type, where).clone(where);
  const std::int64_t axis = wrap_dim(dim, first->dim());
  std::vector<engine::Value> values;
  for (const Tensor& t : tensors) {
    if (skipped(t)) continue;
    require<ShapeError>(t.dim() == first->dim(), "Tensors must have same number of dimensions: got {} and {}", first->dim(), t.dim());
    for (std::int64_t d = 0; d < t.dim(); ++d)
      require<ShapeError>(d == axis || t.size(d) == first->size(d),
                          "Sizes of tensors must match except in dimension {}. Expected size {} but got size {} for tensor number {} in the list.", axis,
                          first->size(d), t.size(d), &t - tensors.data());
    values.push_back(cast(read(checked(t), location(where)), type, location(where)));
  }
  while (values.size() > 1) values = join_groups(values, static_cast<std::uint32_t>(axis), location(where));
  return wrap(values[0]);
}

Tensor cat(std::initializer_list<Tensor> tensors, std::int64_t dim, std::source_location where) {
  return cat(std::span(tensors.begin(), tensors.size()), dim, where);
}

Tensor stack(std::span<const Tensor> tensors, std::int64_t dim, std::source_location where) {
  require<ValueError>(!tensors.empty(), "stack expects a non-empty TensorList");
  std::vector<Tensor> rows;
  for (const Tensor& t : tensors) {
    require<ShapeError>(t.sizes() == tensors[0].sizes(), "stack expects each tensor to be equal size, but got {} at entry 0 and {} at entry {}",
                        sizes_text(tensors[0].sizes()), sizes_text(t.sizes()), &t - tensors.data());
    rows.push_back(t.unsqueeze(dim));
  }
  return cat(rows, wrap_dim(dim, tensors[0].dim() + 1), where);
}

Tensor stack(std::initializer_list<Tensor> tensors, std::int64_t dim, std::source_location where) {
  return stack(std::span(tensors.begin(), tensors.size()), dim, where);
}

Tensor pad(const Tensor& x, SizesView amounts, Scalar value, std::source_location where) {
  require(amounts.size() % 2 == 0, "Padding length must be divisible by 2, not {}", amounts.size());
  require(static_cast<std::int64_t>(amounts.size()) <= 2 * x.dim(),
          "Padding length should be less than or equal to two times the input dimension but got padding length {} and input of dimension {}",
          amounts.size(), x.dim());
  Tensor kept = x;
  ir::Padding padding;
  for (std::int64_t d = 0; d < x.dim(); ++d) {
    const std::size_t from_end = static_cast<std::size_t>(x.dim() - 1 - d);
    const std::int64_t low = 2 * from_end < amounts.size() ? amounts[2 * from_end] : 0;
    const std::int64_t high = 2 * from_end < amounts.size() ? amounts[2 * from_end + 1] : 0;
    const std::int64_t left = x.size(d) + low + high;
    require<ShapeError>(left >= 0, "The input size {}, plus negative padding {} and {}, resulted in a negative output size, which is invalid. Check dimension {} of your input.",
                        x.size(d), low, high, d);
    kept = kept.slice(d, std::max<std::int64_t>(-low, 0), x.size(d) - std::max<std::int64_t>(-high, 0));
    padding.low.push_back(std::max<std::int64_t>(low, 0));
    padding.high.push_back(std::max<std::int64_t>(high, 0));
    padding.sizes.push_back(left);
  }
  const engine::Value operands[] = {read(checked(kept), location(where)), scalar_value(value, x.dtype())};
  if (x.dim() == 0) return wrap(operands[0]);
  return wrap(engine::record(ir::Op::pad, operands, std::move(padding), location(where)));
}

}  // namespace braze
