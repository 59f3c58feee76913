// Joining tensors: cat, stack and their kin.
#include <algorithm>

#include "braze/functions.h"
#include "frontend/autograd/names.h"
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
  const GradientScope scope(GradientName::CatBackward0);
  require<ValueError>(!tensors.empty(), "torch.cat(): expected a non-empty list of Tensors");
  DType type = checked(tensors[0]).dtype();
  const Tensor* first = nullptr;
  for (const Tensor& t : tensors) {
    require(t.dim() > 0, "zero-dimensional tensor (at position {}) cannot be concatenated", &t - tensors.data());
    type = promote_types(type, t.dtype());
    if (!first && !skipped(t)) first = &t;
  }
  if (!first) {
    wrap_dim(dim, 1);
    return tensors[0].to(type, true, MemoryFormat::contiguous, where);
  }
  const std::int64_t axis = wrap_dim(dim, first->dim());
  std::vector<engine::Value> values;
  for (const Tensor& t : tensors) {
    if (skipped(t)) continue;
    require<ShapeError>(t.dim() == first->dim(), "Tensors must have same number of dimensions: got {} and {}", first->dim(),
                        t.dim());
    for (std::int64_t d = 0; d < t.dim(); ++d)
      require<ShapeError>(
          d == axis || t.size(d) == first->size(d),
          "Sizes of tensors must match except in dimension {}. Expected size {} but got size {} for tensor number {} in the list.",
          axis, first->size(d), t.size(d), &t - tensors.data());
    values.push_back(read_as(checked(t), type, location(where)));
  }
  while (values.size() > 1) values = join_groups(values, static_cast<std::uint32_t>(axis), location(where));
  return wrap(std::move(values[0]), type);
}

Tensor cat(std::initializer_list<Tensor> tensors, std::int64_t dim, std::source_location where) {
  return cat(std::span(tensors.begin(), tensors.size()), dim, where);
}

Tensor stack(std::span<const Tensor> tensors, std::int64_t dim, std::source_location where) {
  const GradientScope scope(GradientName::StackBackward0);
  require(!tensors.empty(), "stack expects a non-empty TensorList");
  std::vector<Tensor> rows;
  for (const Tensor& t : tensors) {
    require<ShapeError>(t.sizes() == tensors[0].sizes(),
                        "stack expects each tensor to be equal size, but got {} at entry 0 and {} at entry {}",
                        sizes_text(tensors[0].sizes()), sizes_text(t.sizes()), &t - tensors.data());
    rows.push_back(t.unsqueeze(dim));
  }
  return cat(rows, wrap_dim(dim, tensors[0].dim() + 1), where);
}

Tensor stack(std::initializer_list<Tensor> tensors, std::int64_t dim, std::source_location where) {
  return stack(std::span(tensors.begin(), tensors.size()), dim, where);
}

// ---- along rows, columns, depth ----

namespace {

template <class F>
std::vector<Tensor> each(Tensors tensors, const std::source_location& where, F f) {
  std::vector<Tensor> out;
  for (const Tensor& t : tensors) out.push_back(f(In(t, where)));
  return out;
}

}  // namespace

Tensor concat(Tensors tensors, std::int64_t dim, std::source_location where) { return cat(tensors, dim, where); }
Tensor concatenate(Tensors tensors, std::int64_t dim, std::source_location where) { return cat(tensors, dim, where); }

Tensor hstack(Tensors tensors, std::source_location where) {
  require(!tensors.empty(), "hstack expects a non-empty TensorList");
  const std::vector<Tensor> rows = each(tensors, where, [](const In& x) { return atleast_1d(x); });
  return cat(rows, rows[0].dim() == 1 ? 0 : 1, where);
}

Tensor vstack(Tensors tensors, std::source_location where) {
  require(!tensors.empty(), "vstack expects a non-empty TensorList");
  return cat(each(tensors, where, [](const In& x) { return atleast_2d(x); }), 0, where);
}

Tensor row_stack(Tensors tensors, std::source_location where) { return vstack(tensors, where); }

Tensor dstack(Tensors tensors, std::source_location where) {
  require(!tensors.empty(), "dstack expects a non-empty TensorList");
  return cat(each(tensors, where, [](const In& x) { return atleast_3d(x); }), 2, where);
}

Tensor column_stack(Tensors tensors, std::source_location where) {
  require(!tensors.empty(), "column_stack expects a non-empty TensorList");
  const auto column = [](const In& x) {
    return x.tensor().dim() <= 1 ? x.tensor().reshape({x.tensor().numel(), 1}, x.where()) : x.tensor();
  };
  return hstack(each(tensors, where, column), where);
}

Tensor concat(TensorList tensors, std::int64_t dim, std::source_location where) { return cat(tensors, dim, where); }
Tensor concatenate(TensorList tensors, std::int64_t dim, std::source_location where) { return cat(tensors, dim, where); }
Tensor hstack(TensorList tensors, std::source_location where) { return hstack(Tensors(tensors.begin(), tensors.size()), where); }
Tensor vstack(TensorList tensors, std::source_location where) { return vstack(Tensors(tensors.begin(), tensors.size()), where); }
Tensor row_stack(TensorList tensors, std::source_location where) { return vstack(tensors, where); }
Tensor dstack(TensorList tensors, std::source_location where) { return dstack(Tensors(tensors.begin(), tensors.size()), where); }
Tensor column_stack(TensorList tensors, std::source_location where) {
  return column_stack(Tensors(tensors.begin(), tensors.size()), where);
}

}  // namespace braze
