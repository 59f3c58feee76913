// Rows of the table reduce dense row-major values; here dims are checked, keepdim is undone and the operand is handed over in its
// storage order, so that a transposed tensor sums as it lies in memory.
#include "frontend/reductions.h"
#include "frontend/autograd/names.h"

#include <bit>
#include <numeric>

#include "braze/functions.h"
#include "frontend/complex.h"
#include "frontend/promotion.h"

namespace braze {

AxisMask all_axes(std::int64_t rank) { return rank == 64 ? ~AxisMask{0} : (AxisMask{1} << rank) - 1; }

AxisMask axis_mask(DimsView dims, std::int64_t rank) {
  if (dims.values().empty()) return all_axes(rank);
  AxisMask mask = 0;
  for (const std::int64_t dim : dims.values()) {
    const AxisMask bit = AxisMask{1} << wrap_dim(dim, rank);
    require(!(mask & bit), "dim {} appears multiple times in the list of dims", wrap_dim(dim, rank));
    mask |= bit;
  }
  return rank == 0 ? 0 : mask;
}

bool has_axis(AxisMask mask, std::size_t axis) { return mask >> axis & 1; }

namespace {

Dims reduced_sizes(const Dims& sizes, AxisMask mask) {
  Dims out;
  for (std::size_t i = 0; i < sizes.size(); ++i) out.push_back(has_axis(mask, i) ? 1 : sizes[i]);
  return out;
}

// One result of a reduction; `keepdim` puts axes of one element where the reduced ones were.
Tensor finish(engine::Value value, const Dims& sizes, AxisMask mask, bool keepdim) {
  return wrap(keepdim ? reshape(value, reduced_sizes(sizes, mask), here()) : std::move(value));
}

// The operand with its axes in storage order, and the mask for them; the kept axes must keep their relative order.
struct Operand {
  engine::Value value;
  AxisMask mask;
};

Operand in_storage_order(const Tensor& x, AxisMask mask, ir::Location where) {
  const TensorImpl& impl = checked(x);
  const Operand as_it_is{read(impl, where), mask};
  if (!impl.geometry) return as_it_is;
  const Geometry& g = *impl.geometry;
  std::vector<std::uint8_t> axes(g.sizes.size());
  std::iota(axes.begin(), axes.end(), std::uint8_t{0});
  std::stable_sort(axes.begin(), axes.end(), [&](std::uint8_t a, std::uint8_t b) { return g.strides[a] > g.strides[b]; });
  std::int64_t last_kept = -1;
  AxisMask sorted = 0;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if (has_axis(mask, axes[i])) {
      sorted |= AxisMask{1} << i;
    } else {
      if (axes[i] < last_kept) return as_it_is;
      last_kept = axes[i];
    }
  }
  return {permute(as_it_is.value, axes, where), sorted};
}

Tensor converted(const Tensor& x, std::optional<DType> dtype) { return dtype ? x.to(*dtype) : x; }

// Converted before the reduction, and after it again: rows count in int64 where they are given integers or bool.
Tensor accumulate(ir::Op op, const Tensor& x, DimsView dims, bool keepdim, std::optional<DType> dtype) {
  const AxisMask mask = axis_mask(dims, x.dim());
  return dtype ? reduce(op, x.to(*dtype), mask, keepdim).to(*dtype) : reduce(op, x, mask, keepdim);
}

constexpr std::string_view no_dim =
    "{}(): Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim with the 'dim' argument.";

Tensor extreme_of_all(ir::Op op, const In& x) {
  const SourceLine line(x.where());
  const Tensor& self = require_tensor(ir::name(op), x);
  require(self.numel() > 0, no_dim, ir::name(op));
  return reduce(op, self, all_axes(self.dim()), false);
}

Tensor extreme(std::string_view name, ir::Op op, const In& x, DimsView dims, bool keepdim) {
  const SourceLine line(x.where());
  const Tensor& self = require_tensor(name, x);
  const AxisMask mask = axis_mask(dims, self.dim());
  if (self.numel() == 0) {
    require(!dims.values().empty(), no_dim, name);
    require_elements(name, self, mask);
  }
  return reduce(op, self, mask, keepdim);
}

void require_ordered(std::string_view function, const Tensor& x) {
  require<TypeError>(!is_complex(x.dtype()), "{}(): does not support complex input ('{}')", function, info(x.dtype()).scalar_name);
}

ValuesAndIndices extreme_with_index(std::string_view name, ir::Op op, const In& x, std::int64_t dim, bool keepdim) {
  const Tensor& self = require_tensor(name, x);
  require_ordered(name, self);
  const SourceLine line(x.where());
  const std::int64_t axis = wrap_dim(dim, self.dim());
  if (self.dim() == 0) return {self.clone(), zeros({}, {DType::i64})};
  const AxisMask mask = AxisMask{1} << axis;
  require_elements(name, self, mask);
  const engine::Value value = read(checked(self), here());
  const engine::Value both = engine::record(op, {&value, 1}, ir::Reduced{mask}, here());
  const Dims sizes = sizes_of(*checked(self).type);
  return {finish(both, sizes, mask, keepdim), finish(both.with_result(1), sizes, mask, keepdim)};
}

Tensor index_of_extreme(ir::Op op, const In& x, std::optional<std::int64_t> dim, bool keepdim) {
  const Tensor& self = require_tensor(ir::name(op), x);
  require_ordered(ir::name(op), self);
  const SourceLine line(x.where());
  if (self.dtype() == DType::boolean) not_implemented_for(op == ir::Op::argmax ? "argmax_cpu" : "argmin_cpu", self.dtype());
  if (dim) {
    const std::int64_t axis = wrap_dim(*dim, self.dim());
    if (self.dim() > 0) {
      const AxisMask mask = AxisMask{1} << axis;
      require_elements(ir::name(op), self, mask);
      const engine::Value value = read(checked(self), here());
      return finish(engine::record(op, {&value, 1}, ir::Reduced{mask}, here()), sizes_of(*checked(self).type), mask, keepdim);
    }
  }
  require<IndexError>(self.numel() > 0, no_dim, ir::name(op));
  const std::int64_t flat[] = {self.numel()};
  const engine::Value value = reshape(read(checked(self), here()), flat, here());
  return finish(engine::record(op, {&value, 1}, ir::Reduced{1}, here()), sizes_of(*checked(self).type), all_axes(self.dim()),
                keepdim);
}

Tensor logical(ir::Op op, const In& x, DimsView dims, bool keepdim) {
  const Tensor& self = require_tensor(ir::name(op), x);
  const SourceLine line(x.where());
  const bool none = dims.has_value() && dims.values().empty();
  const Tensor result =
      reduce(op, is_complex(self.dtype()) ? self.to(DType::boolean) : self, none ? 0 : axis_mask(dims, self.dim()), keepdim);
  return self.dtype() == DType::u8 ? result.to(DType::u8) : result;
}

void require_floating(std::string_view function, const Tensor& x, std::optional<DType> dtype) {
  const DType type = dtype.value_or(x.dtype());
  require<NotImplementedError>(
      is_float(type) || is_complex(type),
      "{}(): could not infer output dtype. {} dtype must be either a floating point or complex dtype. Got: {}", function,
      dtype ? "Optional" : "Input", info(type).scalar_name);
}

// Halves times halves along the last axis until one element is left: log2(n) products, where the IR has a reduction of reals.
Tensor product_of_last(Tensor x) {
  if (x.size(-1) == 0) {
    Sizes sizes = x.sizes();
    sizes.pop_back();
    return ones(sizes, {x.dtype()});
  }
  while (x.size(-1) > 1) {
    const std::int64_t n = x.size(-1), half = n / 2;
    const Tensor halved = x.narrow(-1, 0, half) * x.narrow(-1, half, half);
    x = n % 2 ? cat({halved, x.narrow(-1, n - 1, 1)}, -1) : halved;
  }
  return x.squeeze(-1);
}

Tensor reduce_complex(ir::Op op, const Tensor& x, AxisMask mask, bool keepdim) {
  if (op == ir::Op::sum) return of_pairs(reduce(op, pairs(x), mask, keepdim));
  if (op != ir::Op::prod) not_implemented_for(ir::name(op), x.dtype());
  const Dims own = sizes_of(*checked(x).type);
  Sizes order, removed, sizes;
  std::int64_t count = 1;
  for (std::size_t i = 0; i < own.size(); ++i) {
    (has_axis(mask, i) ? removed : order).push_back(static_cast<std::int64_t>(i));
    if (has_axis(mask, i)) count *= own[i];
    if (!has_axis(mask, i)) sizes.push_back(own[i]);
  }
  order.insert(order.end(), removed.begin(), removed.end());
  sizes.push_back(count);
  const Tensor product = product_of_last(x.permute(order).reshape(sizes));
  const Dims kept = reduced_sizes(own, mask);
  return keepdim ? product.reshape(std::span<const std::int64_t>(kept)) : product;
}

}  // namespace

Tensor reduce(ir::Op op, const Tensor& x, AxisMask mask, bool keepdim) {
  if (is_complex(x.dtype())) return reduce_complex(op, x, mask, keepdim);
  const Dims sizes = sizes_of(*checked(x).type);
  // Over no axis at all a reduction is over one element each: still an op, since it may change the dtype.
  const Operand operand = in_storage_order(x, mask, here());
  return finish(engine::record(op, {&operand.value, 1}, ir::Reduced{operand.mask}, here()), sizes, mask, keepdim);
}

std::int64_t reduced_count(const Tensor& x, AxisMask mask) {
  std::int64_t n = 1;
  const Dims sizes = sizes_of(*checked(x).type);
  for (std::size_t i = 0; i < sizes.size(); ++i)
    if (has_axis(mask, i)) n *= sizes[i];
  return n;
}

void require_elements(std::string_view function, const Tensor& x, AxisMask mask) {
  const Dims sizes = sizes_of(*checked(x).type);
  for (std::size_t i = 0; i < sizes.size(); ++i)
    require<IndexError>(!has_axis(mask, i) || sizes[i] != 0, "{}(): Expected reduction dim {} to have non-zero size.", function, i);
}

Tensor widened(const Tensor& x) { return is_half(x.dtype()) ? x.to(DType::f32) : x; }

Along along(const Tensor& x, std::int64_t dim) {
  const std::int64_t axis = wrap_dim(dim, x.dim());
  return {x.dim() == 0 ? x.unsqueeze(0) : x, axis};
}

// ---- totals ----

Tensor sum(const In& x, DimsView dims, bool keepdim, std::optional<DType> dtype) {
  const GradientScope scope(dims.values().empty() ? GradientName::SumBackward0 : GradientName::SumBackward1);
  const SourceLine line(x.where());
  return accumulate(ir::Op::sum, require_tensor("sum", x), dims, keepdim, dtype);
}

Tensor prod(const In& x, DimsView dims, bool keepdim, std::optional<DType> dtype) {
  const GradientScope scope(dims.values().empty() ? GradientName::ProdBackward0 : GradientName::ProdBackward1);
  const SourceLine line(x.where());
  return accumulate(ir::Op::prod, require_tensor("prod", x), dims, keepdim, dtype);
}

Tensor nansum(const In& x, DimsView dims, bool keepdim, std::optional<DType> dtype) {
  const GradientScope scope(GradientName::NansumBackward0);
  const Tensor& self = require_tensor("nansum", x);
  if (is_complex(self.dtype()))
    fail<NotImplementedError>("nansum on CPU does not support complex inputs ('{}')", info(self.dtype()).scalar_name);
  if (!is_float(self.dtype())) return sum(x, dims, keepdim, dtype);
  const SourceLine line(x.where());
  return sum(where(isnan(x), 0, x), dims, keepdim, dtype);
}

Tensor mean(const In& x, DimsView dims, bool keepdim, std::optional<DType> dtype) {
  const GradientScope scope(dims.values().empty() ? GradientName::MeanBackward0 : GradientName::MeanBackward1);
  const Tensor& self = require_tensor("mean", x);
  require_floating("mean", self, dtype);
  const SourceLine line(x.where());
  const AxisMask mask = axis_mask(dims, self.dim());
  const Tensor wide = widened(converted(self, dtype));
  const Tensor total = reduce(ir::Op::sum, wide, mask, keepdim);
  return div(total, static_cast<double>(reduced_count(self, mask))).to(dtype.value_or(self.dtype()));
}

Tensor nanmean(const In& x, DimsView dims, bool keepdim, std::optional<DType> dtype) {
  const Tensor& self = require_tensor("nanmean", x);
  require<NotImplementedError>(is_float(self.dtype()) || is_complex(self.dtype()),
                               "nanmean(): expected input to have floating point or complex dtype but got {}",
                               info(self.dtype()).scalar_name);
  require(!dtype || is_float(*dtype) || is_complex(*dtype),
          "nanmean(): could not infer output dtype. Optional dtype must be either a floating point or complex dtype. Got: {}",
          info(dtype.value_or(self.dtype())).scalar_name);
  const SourceLine line(x.where());
  const Tensor counted = sum(logical_not(isnan(x)), dims, keepdim);
  return div(nansum(x, dims, keepdim, dtype), counted);
}

// ---- extremes ----

Tensor max(const In& x) {
  const GradientScope scope(GradientName::MaxBackward1);
  return extreme_of_all(ir::Op::max, x);
}
Tensor min(const In& x) {
  const GradientScope scope(GradientName::MinBackward1);
  return extreme_of_all(ir::Op::min, x);
}
ValuesAndIndices max(const In& x, std::int64_t dim, bool keepdim) {
  const GradientScope scope(GradientName::MaxBackward0);
  return extreme_with_index("max", ir::Op::max_with_index, x, dim, keepdim);
}
ValuesAndIndices min(const In& x, std::int64_t dim, bool keepdim) {
  const GradientScope scope(GradientName::MinBackward0);
  return extreme_with_index("min", ir::Op::min_with_index, x, dim, keepdim);
}
Tensor max(const In& x, const Tensor& other) { return maximum(x, In(other, x.where())); }
Tensor min(const In& x, const Tensor& other) { return minimum(x, In(other, x.where())); }
Tensor amax(const In& x, DimsView dims, bool keepdim) {
  const GradientScope scope(GradientName::AmaxBackward0);
  return extreme("amax", ir::Op::max, x, dims, keepdim);
}
Tensor amin(const In& x, DimsView dims, bool keepdim) {
  const GradientScope scope(GradientName::AminBackward0);
  return extreme("amin", ir::Op::min, x, dims, keepdim);
}

MinAndMax aminmax(const In& x, std::optional<std::int64_t> dim, bool keepdim) {
  const GradientScope scope(GradientName::AminmaxBackward0);
  const Tensor& self = require_tensor("aminmax", x);
  require_ordered("aminmax", self);
  require(dim || self.numel() > 0, "aminmax(): cannot compute aminmax over an empty dimension as the operation has no identity.");
  return {extreme("aminmax", ir::Op::min, x, dim, keepdim), extreme("aminmax", ir::Op::max, x, dim, keepdim)};
}

Tensor argmax(const In& x, std::optional<std::int64_t> dim, bool keepdim) {
  return index_of_extreme(ir::Op::argmax, x, dim, keepdim);
}
Tensor argmin(const In& x, std::optional<std::int64_t> dim, bool keepdim) {
  return index_of_extreme(ir::Op::argmin, x, dim, keepdim);
}

// ---- truth ----

Tensor any(const In& x, DimsView dims, bool keepdim) { return logical(ir::Op::any, x, dims, keepdim); }
Tensor all(const In& x, DimsView dims, bool keepdim) { return logical(ir::Op::all, x, dims, keepdim); }

Tensor count_nonzero(const In& x, DimsView dims) {
  const Tensor& self = require_tensor("count_nonzero", x);
  const SourceLine line(x.where());
  return reduce(ir::Op::sum, ne(x, 0), axis_mask(dims, self.dim()), false);
}

}  // namespace braze
