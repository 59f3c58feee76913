// Reductions. Rows of the table reduce dense row-major values; here dims are checked, keepdim is
// undone and the operand is handed over in its storage order, so that a transposed tensor sums as it lies in memory.
#include <bit>
#include <numeric>

#include "braze/functions.h"
#include "frontend/tensor_impl.h"

namespace braze {

namespace {

using Mask = std::uint64_t;

Mask mask_of(std::span<const std::int64_t> dims, std::int64_t rank) {
  Mask mask = 0;
  for (const std::int64_t dim : dims) {
    const Mask bit = Mask{1} << wrap_dim(dim, rank);
    require(!(mask & bit), "dim {} appears multiple times in the list of dims", wrap_dim(dim, rank));
    mask |= bit;
  }
  return rank == 0 ? 0 : mask;
}

Mask all_dims(std::int64_t rank) { return rank == 64 ? ~Mask{0} : (Mask{1} << rank) - 1; }

// An empty list means all, as in PyTorch.
Mask mask_or_all(std::span<const std::int64_t> dims, std::int64_t rank) {
  return dims.empty() ? all_dims(rank) : mask_of(dims, rank);
}

Dims reduced_sizes(const Dims& sizes, Mask mask, bool keepdim) {
  Dims out;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (!(mask >> i & 1))
      out.push_back(sizes[i]);
    else if (keepdim)
      out.push_back(1);
  }
  return out;
}

// One result of a reduction; `keepdim` puts axes of one element where the reduced ones were.
Tensor finish(engine::Value value, const Dims& sizes, Mask mask, bool keepdim, ir::Location where) {
  return wrap(keepdim ? reshape(value, reduced_sizes(sizes, mask, true), where) : std::move(value));
}

// The operand with its axes in storage order, and the mask for them; the kept axes must keep their relative order.
struct Operand {
  engine::Value value;
  Mask mask;
};

Operand in_storage_order(const Tensor& x, Mask mask, ir::Location where) {
  const TensorImpl& impl = checked(x);
  const Operand as_it_is{read(impl, where), mask};
  if (!impl.geometry) return as_it_is;
  const Geometry& g = *impl.geometry;
  std::vector<std::uint8_t> axes(g.sizes.size());
  std::iota(axes.begin(), axes.end(), std::uint8_t{0});
  std::stable_sort(axes.begin(), axes.end(), [&](std::uint8_t a, std::uint8_t b) { return g.strides[a] > g.strides[b]; });
  std::int64_t last_kept = -1;
  Mask sorted = 0;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if (mask >> axes[i] & 1) {
      sorted |= Mask{1} << i;
    } else {
      if (axes[i] < last_kept) return as_it_is;
      last_kept = axes[i];
    }
  }
  return {permute(as_it_is.value, axes, where), sorted};
}

Tensor reduce(ir::Op op, const Tensor& x, Mask mask, bool keepdim, const std::source_location& where) {
  const ir::Location at = location(where);
  const Dims sizes = sizes_of(*checked(x).type);
  // Over no axis at all a reduction is over one element each: still an op, since it may change the dtype.
  const Operand operand = in_storage_order(x, mask, at);
  return finish(engine::record(op, {&operand.value, 1}, ir::Reduced{operand.mask}, at), sizes, mask, keepdim, at);
}

void require_elements(std::string_view name, const Tensor& x, Mask mask) {
  const Dims sizes = sizes_of(*checked(x).type);
  for (std::size_t i = 0; i < sizes.size(); ++i)
    require<IndexError>(!(mask >> i & 1) || sizes[i] != 0, "{}(): Expected reduction dim {} to have non-zero size.", name, i);
}

// A flat copy-free vector of all elements, for indices over the whole tensor.
engine::Value flattened(const Tensor& x, ir::Location where) {
  const std::int64_t flat[] = {x.numel()};
  return reshape(read(checked(x), where), flat, where);
}

Tensor index_of_all(ir::Op op, const Tensor& x, const std::source_location& where) {
  require<IndexError>(
      x.numel() > 0,
      "{}(): Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim with the 'dim' argument.",
      ir::name(op));
  const ir::Location at = location(where);
  const engine::Value flat = flattened(x, at);
  return wrap(engine::record(op, {&flat, 1}, ir::Reduced{1}, at));
}

Tensor index_along(ir::Op op, const Tensor& x, std::int64_t dim, bool keepdim, const std::source_location& where) {
  const std::int64_t axis = wrap_dim(dim, x.dim());
  if (x.dim() == 0) return index_of_all(op, x, where);
  require_elements(ir::name(op), x, Mask{1} << axis);
  const ir::Location at = location(where);
  const engine::Value value = read(checked(x), at);
  return finish(engine::record(op, {&value, 1}, ir::Reduced{Mask{1} << axis}, at), sizes_of(*checked(x).type), Mask{1} << axis,
                keepdim, at);
}

ValuesAndIndices with_index(ir::Op op, const Tensor& x, std::int64_t dim, bool keepdim, const std::source_location& where) {
  const std::int64_t axis = wrap_dim(dim, x.dim());
  const ir::Location at = location(where);
  if (x.dim() == 0) return {x.clone(where), zeros({}, {DType::i64})};
  require_elements(op == ir::Op::max_with_index ? "max" : "min", x, Mask{1} << axis);
  const engine::Value value = read(checked(x), at);
  const engine::Value both = engine::record(op, {&value, 1}, ir::Reduced{Mask{1} << axis}, at);
  const Dims sizes = sizes_of(*checked(x).type);
  return {finish(both, sizes, Mask{1} << axis, keepdim, at), finish(both.with_result(1), sizes, Mask{1} << axis, keepdim, at)};
}

std::int64_t count(const Tensor& x, Mask mask) {
  std::int64_t n = 1;
  const Dims sizes = sizes_of(*checked(x).type);
  for (std::size_t i = 0; i < sizes.size(); ++i)
    if (mask >> i & 1) n *= sizes[i];
  return n;
}

void require_floating(std::string_view name, const Tensor& x) {
  require(is_float(x.dtype()), "{}(): could not infer output dtype. Input dtype must be a floating point dtype. Got: {}", name,
          info(x.dtype()).torch_name);
}

Tensor mean_over(const Tensor& x, Mask mask, bool keepdim, const std::source_location& where) {
  require_floating("mean", x);
  const Tensor total = reduce(ir::Op::sum, x, mask, keepdim, where);
  return div(In(total, where), In(static_cast<double>(count(x, mask)), where));
}

// Differences from the mean in f32 at least: the halves would lose them.
Tensor var_over(const Tensor& x, Mask mask, double correction, bool keepdim, const std::source_location& where) {
  require(is_float(x.dtype()), "std and var only support floating point and complex dtypes, not {}", info(x.dtype()).torch_name);
  const Tensor wide = is_half(x.dtype()) ? x.to(DType::f32, where) : x;
  const Tensor centred = sub(In(wide, where), In(mean_over(wide, mask, true, where), where));
  const Tensor squares = square(In(centred, where));
  const Tensor total = reduce(ir::Op::sum, squares, mask, keepdim, where);
  const double divisor = std::max(0.0, static_cast<double>(count(x, mask)) - correction);
  return div(In(total, where), In(divisor, where)).to(x.dtype(), where);
}

}  // namespace

#define BRAZE_OVER_ALL(function, expression)                            \
  Tensor ReductionMethods::function(std::source_location where) const { \
    const Mask mask = all_dims(self_of(this).dim());                    \
    const bool keepdim = false;                                         \
    return expression;                                                  \
  }
#define BRAZE_OVER_DIMS(function, expression)                                                           \
  BRAZE_OVER_ALL(function, expression)                                                                  \
  Tensor ReductionMethods::function(SizesView dims, bool keepdim, std::source_location where) const {   \
    const Mask mask = mask_or_all(dims, self_of(this).dim());                                           \
    return expression;                                                                                  \
  }                                                                                                     \
  Tensor ReductionMethods::function(std::int64_t one, bool keepdim, std::source_location where) const { \
    const std::int64_t dims[] = {one};                                                                  \
    const Mask mask = mask_of(dims, self_of(this).dim());                                               \
    return expression;                                                                                  \
  }
BRAZE_OVER_DIMS(sum, reduce(ir::Op::sum, self_of(this), mask, keepdim, where))
BRAZE_OVER_DIMS(mean, mean_over(self_of(this), mask, keepdim, where))
#undef BRAZE_OVER_DIMS

#define BRAZE_OVER_DIM(function)                                                                        \
  BRAZE_OVER_ALL(function, reduce(ir::Op::function, self_of(this), mask, keepdim, where))               \
  Tensor ReductionMethods::function(std::int64_t one, bool keepdim, std::source_location where) const { \
    const std::int64_t dims[] = {one};                                                                  \
    return reduce(ir::Op::function, self_of(this), mask_of(dims, self_of(this).dim()), keepdim, where); \
  }
BRAZE_OVER_DIM(any)
BRAZE_OVER_DIM(all)
#undef BRAZE_OVER_DIM
#undef BRAZE_OVER_ALL

Tensor ReductionMethods::var(std::source_location where) const {
  return var_over(self_of(this), all_dims(self_of(this).dim()), 1, false, where);
}
Tensor ReductionMethods::var(SizesView dims, double correction, bool keepdim, std::source_location where) const {
  return var_over(self_of(this), mask_or_all(dims, self_of(this).dim()), correction, keepdim, where);
}
Tensor ReductionMethods::var(std::int64_t one, double correction, bool keepdim, std::source_location where) const {
  const std::int64_t dims[] = {one};
  return var_over(self_of(this), mask_of(dims, self_of(this).dim()), correction, keepdim, where);
}

Tensor ReductionMethods::max(std::source_location where) const { return amax({}, false, where); }
Tensor ReductionMethods::min(std::source_location where) const { return amin({}, false, where); }
Tensor ReductionMethods::amax(SizesView dims, bool keepdim, std::source_location where) const {
  const Mask mask = mask_or_all(dims, self_of(this).dim());
  require_elements("amax", self_of(this), mask);
  return reduce(ir::Op::max, self_of(this), mask, keepdim, where);
}
Tensor ReductionMethods::amin(SizesView dims, bool keepdim, std::source_location where) const {
  const Mask mask = mask_or_all(dims, self_of(this).dim());
  require_elements("amin", self_of(this), mask);
  return reduce(ir::Op::min, self_of(this), mask, keepdim, where);
}
ValuesAndIndices ReductionMethods::max(std::int64_t dim, bool keepdim, std::source_location where) const {
  return with_index(ir::Op::max_with_index, self_of(this), dim, keepdim, where);
}
ValuesAndIndices ReductionMethods::min(std::int64_t dim, bool keepdim, std::source_location where) const {
  return with_index(ir::Op::min_with_index, self_of(this), dim, keepdim, where);
}
Tensor ReductionMethods::argmax(std::source_location where) const { return index_of_all(ir::Op::argmax, self_of(this), where); }
Tensor ReductionMethods::argmin(std::source_location where) const { return index_of_all(ir::Op::argmin, self_of(this), where); }
Tensor ReductionMethods::argmax(std::int64_t dim, bool keepdim, std::source_location where) const {
  return index_along(ir::Op::argmax, self_of(this), dim, keepdim, where);
}
Tensor ReductionMethods::argmin(std::int64_t dim, bool keepdim, std::source_location where) const {
  return index_along(ir::Op::argmin, self_of(this), dim, keepdim, where);
}

}  // namespace braze
