// Picking along a dim. All of it is PositionSum's arithmetic with one `take` or `put`; see indexing.cpp for x[...].
#include "braze/picking.h"

#include <algorithm>

#include "braze/functions.h"
#include "frontend/autograd/names.h"
#include "frontend/autograd/tracking.h"
#include "frontend/elementwise.h"
#include "frontend/formula.h"
#include "frontend/positions.h"
#include "frontend/promotion.h"

namespace braze {

namespace {

// `index` as i64; a 0-d tensor counts as one element.
Tensor checked_index(std::string_view what, const Tensor& index) {
  require(index.dtype() == DType::i64 || index.dtype() == DType::i32, "{}(): Expected dtype int32 or int64 for index, but got {}",
          what, info(index.dtype()).torch_name);
  return index.to(DType::i64);
}

// A 1-d index that names whole slices along `dim`.
struct Slices {
  std::size_t axis;
  Tensor index;     // i64[n]
  Geometry layout;  // of x, with one dim at least
  Dims sizes;       // of the slices together
};

Slices slices(std::string_view what, const Tensor& x, std::int64_t dim, const Tensor& index) {
  require<IndexError>(index.dim() <= 1, "{}(): Index is supposed to be a vector, but got dim: {}", what, index.dim());
  Slices s;
  s.axis = static_cast<std::size_t>(wrap_dim(dim, x.dim()));
  s.index = checked_index(what, index).reshape({-1});
  s.layout = checked(x).layout();
  if (x.dim() == 0) apply_newaxis(s.layout, 0);
  s.sizes = s.layout.sizes;
  s.sizes[s.axis] = s.index.numel();
  return s;
}

// What PyTorch says of an index outside: its functions differ.
enum class Outside { in_self, named };

engine::Value slice_positions(const Slices& s, const std::source_location& where, Outside outside = Outside::in_self) {
  PositionSum sum(s.sizes, s.layout.offset, where);
  for (std::size_t axis = 0; axis < s.sizes.size(); ++axis) {
    if (axis != s.axis) {
      sum.add_axis(axis, s.layout.strides[axis]);
      continue;
    }
    const auto beyond = known_out_of_bounds(s.index, s.layout.sizes[axis], false);
    require(!beyond || outside == Outside::in_self, "index {} is out of bounds for dimension {} with size {}", beyond.value_or(0),
            axis, s.layout.sizes[axis]);
    require<IndexError>(!beyond, "index out of range in self");
    Sizes alone(s.sizes.size(), 1);
    alone[axis] = s.sizes[axis];
    sum.add_checked_index(s.index.reshape(alone), s.layout.sizes[axis], s.layout.strides[axis]);
  }
  return sum.value();
}

// The positions that gather and scatter address: index's own sizes, its elements along `dim`, its place along the others.
engine::Value element_positions(std::string_view what, const Tensor& x, std::int64_t dim, const Tensor& index, bool within_x,
                                const std::source_location& where) {
  const auto axis = static_cast<std::size_t>(wrap_dim(dim, x.dim()));
  Geometry g = checked(x).layout();
  const Tensor picks = checked_index(what, index);
  Dims sizes = sizes_of(*checked(picks).type);
  if (picks.numel() == 0) return PositionSum(sizes, 0, where).value();
  require(std::max<std::size_t>(g.sizes.size(), 1) == std::max<std::size_t>(sizes.size(), 1),
          "Index tensor must have the same number of dimensions as {} tensor", within_x ? "input" : "self");
  if (g.sizes.empty()) apply_newaxis(g, 0);
  if (sizes.empty()) sizes.push_back(1);
  for (std::size_t i = 0; i < sizes.size(); ++i)
    require(i == axis || sizes[i] <= g.sizes[i],
            "Size does not match at dimension {} expected index {} to be no larger than self {} apart from dimension {}", i,
            sizes_text(picks.sizes()), sizes_text(x.sizes()), axis);
  PositionSum sum(sizes, g.offset, where);
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (i == axis) {
      if (const auto beyond = known_out_of_bounds(picks, g.sizes[i], false))
        fail("index {} is out of bounds for dimension {} with size {}", *beyond, i, g.sizes[i]);
      sum.add_checked_index(picks.reshape(Sizes(sizes.begin(), sizes.end())), g.sizes[i], g.strides[i]);
    } else {
      sum.add_axis(i, g.strides[i]);
    }
  }
  return reshape(sum.value(), sizes_of(*checked(picks).type), location(where));
}

// The part of `source` that an index of these sizes uses.
In scattered(const Tensor& x, const In& source, const Tensor& index, std::optional<Tensor>& kept) {
  if (source.is_scalar()) return source;
  const Tensor& from = source.tensor();
  require(from.dtype() == x.dtype(), "scatter(): Expected self.dtype to be equal to src.dtype, got {} and {}",
          info(x.dtype()).torch_name, info(from.dtype()).torch_name);
  Geometry g = checked(from).layout();
  const Dims sizes = sizes_of(*checked(index).type);
  require(g.sizes.size() == sizes.size() || index.numel() == 0,
          "Index tensor must have the same number of dimensions as src tensor");
  for (std::size_t i = 0; i < sizes.size() && index.numel() != 0; ++i)
    require(sizes[i] <= g.sizes[i], "Expected index {} to be no larger than src {}", sizes_text(sizes), sizes_text(g.sizes));
  if (index.numel() != 0) g.sizes = sizes;
  if (elements_of(checked(from))) return scattered(x, In(spread(from), source.where()), index, kept);
  kept = make_view(from, std::move(g));
  return In(*kept, source.where());
}

struct Reduction {
  ir::Put::Combine combine;
  bool mean = false;
};

Reduction reduction(std::string_view what, std::string_view name, std::string_view allowed) {
  using enum ir::Put::Combine;
  if (name == "sum" || name == "add") return {add};
  if (name == "prod" || name == "multiply") return {multiply};
  if (name == "mean") return {add, true};
  if (name == "amax") return {maximum};
  if (name == "amin") return {minimum};
  fail("{}(): reduce argument must be {}, got {}", what, allowed, name);
}

// What a reduction starts from where self does not count.
Tensor identity(ir::Put::Combine combine, DType type) {
  using enum ir::Put::Combine;
  const bool low = combine == maximum;
  if (combine == add || combine == assign) return zeros({}, {type});
  if (combine == multiply) return ones({}, {type});
  if (is_float(type))
    return full({}, low ? -std::numeric_limits<double>::infinity() : std::numeric_limits<double>::infinity(), {type});
  if (type == DType::boolean) return full({}, !low, {type});
  const int bits = size_of(type) * 8 - (is_signed(type) ? 1 : 0);
  const std::int64_t highest = bits == 63 ? std::numeric_limits<std::int64_t>::max() : (std::int64_t{1} << bits) - 1;
  return full({}, low ? (is_signed(type) ? -highest - 1 : 0) : highest, {type});
}

void reduce_into(Tensor& x, const engine::Value& at, const engine::Value& values, Reduction r, bool include_self,
                 ir::Location where) {
  TensorImpl& impl = checked(x);
  const Dims sizes = sizes_of(at.type());
  if (!include_self)
    write_at(impl, at, fitted(In(identity(r.combine, x.dtype())), x.dtype(), sizes, where), ir::Put::Combine::assign, where);
  if (r.mean && x.dtype() == DType::boolean) not_implemented_for("reduce_mean", x.dtype());
  write_at(impl, at, values, r.combine, where);
  if (!r.mean) return;
  // How many went into each element; untouched ones divide by one.
  const DType counted = component_type(x.dtype());
  Tensor count = include_self ? ones(x.sizes(), {counted}) : zeros(x.sizes(), {counted});
  Geometry flat = checked(x).layout();
  const Tensor ones_at = full({}, 1, {counted});
  Tensor storage_count = wrap(expand(read(checked(zeros({}, {counted})), where), Dims{impl.storage->elements(x.dtype())}, where));
  write_at(checked(storage_count), at, expand(read(checked(ones_at), where), sizes, where), ir::Put::Combine::add, where);
  count.add_(In(make_view(storage_count, std::move(flat))));
  const Tensor divisor = maximum(In(count), In(1));
  write_in_place(x, category(x.dtype()) >= 2 ? div(In(x), In(divisor)) : floor_divide(In(x), In(divisor)),
                 std::source_location::current());
}

}  // namespace

Tensor index_select(const In& x, std::int64_t dim, const Tensor& index) {
  const GradientScope scope(GradientName::IndexSelectBackward0);
  if (elements_of(checked(x.tensor()))) return index_select(In(spread(x.tensor()), x.where()), dim, index);
  const Slices s = slices("index_select", x.tensor(), dim, index);
  const engine::Value out = read_at(checked(x.tensor()), slice_positions(s, x.where()), location(x.where()));
  const DType type = x.tensor().dtype();
  return wrap(x.tensor().dim() == 0 ? reshape(out, value_sizes(type, Dims{}), location(x.where())) : out, type);
}

Tensor gather(const In& x, std::int64_t dim, const Tensor& index) {
  const GradientScope scope(GradientName::GatherBackward0);
  if (elements_of(checked(x.tensor()))) return gather(In(spread(x.tensor()), x.where()), dim, index);
  const engine::Value at = element_positions("gather", x.tensor(), dim, index, true, x.where());
  return wrap(read_at(checked(x.tensor()), at, location(x.where())), x.tensor().dtype());
}

Tensor take_along_dim(const In& x, const Tensor& indices, std::int64_t dim) {
  const Tensor& from = x.tensor();
  require(from.dim() == indices.dim(),
          "torch.take_along_dim(): input and indices should have the same number of dimensions, but got {} dimensions for input, "
          "and {} dimensions for indices",
          from.dim(), indices.dim());
  const std::int64_t axis = wrap_dim(dim, from.dim());
  Sizes picked = indices.sizes(), whole = from.sizes();
  if (from.dim() == 0) return gather(x, 0, indices);
  picked[static_cast<std::size_t>(axis)] = whole[static_cast<std::size_t>(axis)] = 1;
  const Dims common = broadcast_sizes(picked, whole);
  Sizes index_to(common.begin(), common.end()), x_to = index_to;
  index_to[static_cast<std::size_t>(axis)] = indices.size(axis);
  x_to[static_cast<std::size_t>(axis)] = from.size(axis);
  return gather(In(from.expand(x_to), x.where()), axis, indices.expand(index_to));
}

Tensor take_along_dim(const In& x, const Tensor& indices) {
  return gather(In(x.tensor().reshape({-1}), x.where()), 0, indices.reshape({-1}));
}

Tensor take(const In& x, const Tensor& index) {
  const GradientScope scope(GradientName::TakeBackward0);
  const Tensor flat = spread(x.tensor().reshape({-1}));
  require(index.dtype() == DType::i64, "take(): Expected a long tensor for index, but got {}", info(index.dtype()).torch_name);
  PositionSum sum(sizes_of(*checked(index).type), flat.storage_offset(), x.where());
  sum.add_index(index, flat.numel(), flat.stride(0));
  return wrap(read_at(checked(flat), sum.value(), location(x.where())), flat.dtype());
}

Tensor nonzero(const In& x) {
  const Tensor truth = ne(x, In(0, x.where()));
  const std::vector<bool> hits = [&] {
    const auto bytes = std::make_unique<bool[]>(static_cast<std::size_t>(truth.numel()));
    truth.copy_to(bytes.get(), DType::boolean);
    return std::vector<bool>(bytes.get(), bytes.get() + truth.numel());
  }();
  const Sizes sizes = truth.sizes();
  const auto dims = static_cast<std::int64_t>(sizes.size());
  const std::int64_t count = std::count(hits.begin(), hits.end(), true);
  std::vector<std::int64_t> out(static_cast<std::size_t>(count * dims));  // a column a dim
  std::size_t row = 0;
  std::vector<std::int64_t> at(sizes.size(), 0);
  for (const bool hit : hits) {
    if (hit) {
      for (std::size_t axis = 0; axis < sizes.size(); ++axis) out[axis * static_cast<std::size_t>(count) + row] = at[axis];
      ++row;
    }
    for (std::size_t axis = sizes.size(); axis-- > 0;) {
      if (++at[axis] < sizes[axis]) break;
      at[axis] = 0;
    }
  }
  const Tensor columns = from_data(out.data(), {count * dims});
  return relaid(*columns.impl(), DType::i64, {0, {count, dims}, {1, count}});
}

Tensor argwhere(const In& x) { return nonzero(x); }

std::vector<Tensor> nonzero_as_tuple(const In& x) {
  return nonzero(x.tensor().dim() == 0 ? In(x.tensor().reshape({1}), x.where()) : x).unbind(1);
}

Tensor masked_select(const In& x, const Tensor& mask) {
  const GradientScope scope(GradientName::MaskedSelectBackward0);
  require(mask.dtype() == DType::boolean, "masked_select: expected BoolTensor for mask");
  const Dims common = broadcast_sizes(x.tensor().sizes(), mask.sizes());
  const Sizes sizes(common.begin(), common.end());
  const Tensor from = x.tensor().expand(sizes);
  if (sizes.empty()) return from.reshape({1}).index(std::vector<Index>{Index(mask.reshape({1}))}, x.where());
  return from.index(std::vector<Index>{Index(mask.expand(sizes))}, x.where());
}

// ---- in place ----

namespace {

void require_as_many(std::string_view what, const Slices& s, const In& source) {
  if (source.is_scalar() || source.tensor().dim() != static_cast<std::int64_t>(s.layout.sizes.size())) return;
  const std::int64_t given = source.tensor().size(static_cast<std::int64_t>(s.axis));
  require(given == s.index.numel(), "{}(): Number of indices ({}) should be equal to source.size(dim): ({}), for dim: {}", what,
          s.index.numel(), given, s.axis);
}

// What is written at picked places must not be read there.
void require_apart(const Tensor& target, const Tensor& index, const In& source) {
  require_no_overlap(checked(target), In(index, source.where()));
  require_no_overlap(checked(target), source);
}

}  // namespace

Tensor& PickingMethods::index_copy_(std::int64_t dim, const Tensor& index, const In& source) {
  const GradientScope scope(written_name(self_of(this), GradientName::IndexCopyBackward0));
  Tensor& x = self_of(this);
  const Slices s = slices("index_copy", x, dim, index);
  const ir::Location where = location(source.where());
  require(source.is_scalar() || source.tensor().dtype() == x.dtype(),
          "index_copy_(): self and source expected to have the same dtype, but got (self) {} and (source) {}",
          info(x.dtype()).torch_name, source.is_scalar() ? "" : info(source.tensor().dtype()).torch_name);
  if (!source.is_scalar() && source.tensor().dim() == x.dim() && x.dim() > 0) {
    const std::int64_t given = source.tensor().size(static_cast<std::int64_t>(s.axis));
    require<IndexError>(given == s.index.numel(), "index_copy_(): Number of indices ({}) should be equal to source.size(dim) ({})",
                        s.index.numel(), given);
  }
  require_apart(x, index, source);
  write_at(checked(x), slice_positions(s, source.where()), fitted(source, x.dtype(), s.sizes, where), ir::Put::Combine::assign,
           where);
  return x;
}

Tensor& PickingMethods::index_add_(std::int64_t dim, const Tensor& index, const In& source, Scalar alpha) {
  const GradientScope scope(written_name(self_of(this), GradientName::IndexAddBackward0));
  Tensor& x = self_of(this);
  const Slices s = slices("index_add", x, dim, index);
  const ir::Location where = location(source.where());
  require(source.is_scalar() || source.tensor().dtype() == x.dtype(),
          "index_add_(): self ({}) and source ({}) must have the same scalar type", info(x.dtype()).torch_name,
          source.is_scalar() ? "" : info(source.tensor().dtype()).torch_name);
  require(source.is_scalar() || source.tensor().dim() == 0 || source.tensor().dim() == x.dim(),
          "index_add_(): source {} and self {} differ in dims",
          source.is_scalar() ? "" : fmt::to_string(sizes_text(source.tensor().sizes())), sizes_text(x.sizes()));
  require_as_many("index_add_", s, source);
  require_apart(x, index, source);
  const Tensor added = source.is_scalar() ? full({}, source.scalar(), {x.dtype()}) : source.tensor();
  const Tensor scaled = alpha == 1 ? added : mul(In(added, source.where()), In(full({}, alpha, {x.dtype()}), source.where()));
  write_at(checked(x), slice_positions(s, source.where(), Outside::named),
           fitted(In(scaled, source.where()), x.dtype(), s.sizes, where), ir::Put::Combine::add, where);
  return x;
}

Tensor& PickingMethods::index_fill_(std::int64_t dim, const Tensor& index, const In& value) {
  const GradientScope scope(written_name(self_of(this), GradientName::IndexFillBackward0));
  Tensor& x = self_of(this);
  require(value.is_scalar() || value.tensor().dim() == 0,
          "index_fill_ only supports a 0-dimensional value tensor, but got tensor with {} dimension(s).",
          value.is_scalar() ? 0 : value.tensor().dim());
  require<IndexError>(index.dtype() == DType::i64, "index_fill_(): Expected dtype int64 for index.");
  const Slices s = slices("index_fill", x, dim, index);
  require(s.index.numel() == 0 || s.layout.sizes[s.axis] > 0, "index_fill_(): index given for dimension {} of size 0", s.axis);
  // Negative indices count from the end here, unlike in index_select.
  if (const auto beyond = known_out_of_bounds(s.index, s.layout.sizes[s.axis], true))
    fail<IndexError>("index {} is out of bounds for dimension {} with size {}", *beyond, s.axis, s.layout.sizes[s.axis]);
  PositionSum sum(s.sizes, s.layout.offset, value.where());
  for (std::size_t axis = 0; axis < s.sizes.size(); ++axis) {
    if (axis != s.axis) {
      sum.add_axis(axis, s.layout.strides[axis]);
      continue;
    }
    Sizes alone(s.sizes.size(), 1);
    alone[axis] = s.sizes[axis];
    sum.add_index(s.index.reshape(alone), s.layout.sizes[axis], s.layout.strides[axis]);
  }
  const ir::Location where = location(value.where());
  warn_where_expanded(checked(x).layout(), "index_fill_", "tensor[mask] = scalar");
  write_at_repeated(checked(x), sum.value(), fitted(value, x.dtype(), s.sizes, where), ir::Put::Combine::assign, where);
  return x;
}

Tensor& PickingMethods::index_reduce_(std::int64_t dim, const Tensor& index, const In& source, std::string_view reduce,
                                      bool include_self) {
  const GradientScope scope(written_name(self_of(this), GradientName::IndexReduceBackward0));
  Tensor& x = self_of(this);
  const Reduction r = reduction("index_reduce", reduce, "either prod, mean, amax or amin");
  const Slices s = slices("index_reduce", x, dim, index);
  require_as_many("index_reduce_", s, source);
  require_apart(x, index, source);
  const ir::Location where = location(source.where());
  reduce_into(x, slice_positions(s, source.where()), fitted(source, x.dtype(), s.sizes, where), r, include_self, where);
  return x;
}

Tensor& PickingMethods::scatter_(std::int64_t dim, const Tensor& index, const In& source, std::string_view reduce) {
  const GradientScope scope(
      written_name(self_of(this), source.is_scalar() ? GradientName::ScatterBackward1 : GradientName::ScatterBackward0));
  Tensor& x = self_of(this);
  const ir::Location where = location(source.where());
  ir::Put::Combine combine = ir::Put::Combine::assign;
  if (!reduce.empty()) {
    require(reduce == "add" || reduce == "multiply", "reduce argument must be either add or multiply, got {}", reduce);
    combine = reduction("scatter", reduce, "").combine;
  }
  const engine::Value at = element_positions("scatter", x, dim, index, false, source.where());
  require_apart(x, index, source);
  std::optional<Tensor> kept;
  write_at(checked(x), at, fitted(scattered(x, source, index, kept), x.dtype(), sizes_of(at.type()), where), combine, where);
  return x;
}

Tensor& PickingMethods::scatter_add_(std::int64_t dim, const Tensor& index, const In& source) {
  const GradientScope scope(written_name(self_of(this), GradientName::ScatterAddBackward0));
  return scatter_(dim, index, source, "add");
}

Tensor& PickingMethods::scatter_reduce_(std::int64_t dim, const Tensor& index, const In& source, std::string_view reduce,
                                        bool include_self) {
  const GradientScope scope(written_name(self_of(this), GradientName::ScatterReduceBackward0));
  Tensor& x = self_of(this);
  const ir::Location where = location(source.where());
  const Reduction r = reduction("scatter_reduce", reduce, "either sum, prod, mean, amax or amin");
  const engine::Value at = element_positions("scatter_reduce", x, dim, index, false, source.where());
  require_apart(x, index, source);
  std::optional<Tensor> kept;
  reduce_into(x, at, fitted(scattered(x, source, index, kept), x.dtype(), sizes_of(at.type()), where), r, include_self, where);
  return x;
}

Tensor& PickingMethods::put_(const Tensor& index, const In& source, bool accumulate) {
  const GradientScope scope(written_name(self_of(this), GradientName::PutBackward0));
  Tensor& x = self_of(this);
  require(index.dtype() == DType::i64, "put_(): Expected a long tensor for index, but got {}", info(index.dtype()).torch_name);
  require(source.is_scalar() || source.tensor().dtype() == x.dtype(),
          "put_(): self and source expected to have the same dtype, but got self.dtype = {} and source.dtype = {}",
          info(x.dtype()).torch_name, source.is_scalar() ? "" : info(source.tensor().dtype()).torch_name);
  require<IndexError>(
      source.is_scalar() || source.tensor().numel() == index.numel(),
      "put_(): Expected source and index to have the same number of elements, but got source.numel() = {}, index.numel() = {}",
      source.is_scalar() ? 1 : source.tensor().numel(), index.numel());
  require_apart(x, index, source);
  const ir::Location where = location(source.where());
  // Row-major numbers of this tensor's elements, as places in its storage.
  const Geometry g = checked(x).layout();
  const Dims sizes = sizes_of(*checked(index).type);
  PositionSum number(sizes, 0, source.where());
  number.add_index(index, g.numel(), 1);
  Tensor left = wrap(number.value());
  PositionSum sum(sizes, g.offset, source.where());
  for (std::size_t axis = g.sizes.size(); axis-- > 0;) {
    const In extent(std::max<std::int64_t>(g.sizes[axis], 1), source.where());
    sum.add(remainder(In(left, source.where()), extent), g.strides[axis]);
    left = floor_divide(In(left, source.where()), extent);
  }
  const Tensor values =
      source.is_scalar() ? full({}, source.scalar(), {x.dtype()}) : source.tensor().reshape(Sizes(sizes.begin(), sizes.end()));
  write_at(checked(x), sum.value(), fitted(In(values, source.where()), x.dtype(), sizes, where),
           accumulate ? ir::Put::Combine::add : ir::Put::Combine::assign, where);
  return x;
}

Tensor& PickingMethods::masked_fill_(const Tensor& mask, const In& value) {
  const GradientScope scope(
      written_name(self_of(this), value.is_scalar() ? GradientName::MaskedFillBackward0 : GradientName::MaskedFillBackward1));
  Tensor& x = self_of(this);
  require(mask.dtype() == DType::boolean, "masked_fill only supports boolean masks, but got mask with dtype {}",
          info(mask.dtype()).torch_name);
  require(value.is_scalar() || value.tensor().dim() == 0,
          "masked_fill_ only supports a 0-dimensional value tensor, but got tensor with {} dimension(s).",
          value.is_scalar() ? 0 : value.tensor().dim());
  warn_where_expanded(checked(x).layout(), "masked_fill_", "tensor[mask] = scalar");
  return fill_masked(x, mask, value);
}

Tensor& PickingMethods::masked_scatter_(const Tensor& mask, const Tensor& source, std::source_location where) {
  const GradientScope scope(written_name(self_of(this), GradientName::MaskedScatterBackward0));
  Tensor& x = self_of(this);
  require(mask.dtype() == DType::boolean, "masked_scatter_ only supports boolean masks, but got mask with dtype {}",
          info(mask.dtype()).torch_name);
  require(source.dtype() == x.dtype(), "masked_scatter_: expected self and source to have same dtypes but got {} and {}",
          info(x.dtype()).torch_name, info(source.dtype()).torch_name);
  require_writable(checked(x));
  // PyTorch lets it overlap what it reads, unlike the other picked writes.
  const Tensor flat = (source.shares_storage(x) ? source.clone() : source).reshape({-1});
  const Tensor places = braze::nonzero(In(mask.expand(x.sizes()), where));
  require(places.size(0) <= flat.numel(),
          "masked_scatter: expected mask to have at most as many true elements as source has, but got {} and {}", places.size(0),
          flat.numel());
  std::vector<Index> picks;
  if (x.dim() == 0) return places.size(0) == 0 ? x : x.copy_(In(flat.select(0, 0), where));
  for (std::int64_t d = 0; d < x.dim(); ++d) picks.emplace_back(places.select(1, d));
  return x.index_assign(picks, In(flat.narrow(0, 0, places.size(0)), where));
}

// ---- methods, and copies that are then written to ----

#define BRAZE_COPY_THEN_WRITE(name, parameters, arguments, where)         \
  Tensor name(const In& x, BRAZE_UNPACK parameters) {                     \
    Tensor copy = x.tensor().clone(where);                                \
    copy.name##_ arguments;                                               \
    return copy;                                                          \
  }                                                                       \
  Tensor PickingMethods::name(BRAZE_UNPACK parameters) const {            \
    return braze::name(In(self_of(this), where), BRAZE_UNPACK arguments); \
  }
#define BRAZE_UNPACK(...) __VA_ARGS__
BRAZE_COPY_THEN_WRITE(index_add, (std::int64_t dim, const Tensor& index, const In& source, Scalar alpha),
                      (dim, index, source, alpha), source.where())
BRAZE_COPY_THEN_WRITE(index_copy, (std::int64_t dim, const Tensor& index, const In& source), (dim, index, source), source.where())
BRAZE_COPY_THEN_WRITE(index_fill, (std::int64_t dim, const Tensor& index, const In& value), (dim, index, value), value.where())
BRAZE_COPY_THEN_WRITE(index_reduce,
                      (std::int64_t dim, const Tensor& index, const In& source, std::string_view reduce, bool include_self),
                      (dim, index, source, reduce, include_self), source.where())
BRAZE_COPY_THEN_WRITE(scatter, (std::int64_t dim, const Tensor& index, const In& source, std::string_view reduce),
                      (dim, index, source, reduce), source.where())
BRAZE_COPY_THEN_WRITE(scatter_add, (std::int64_t dim, const Tensor& index, const In& source), (dim, index, source), source.where())
BRAZE_COPY_THEN_WRITE(scatter_reduce,
                      (std::int64_t dim, const Tensor& index, const In& source, std::string_view reduce, bool include_self),
                      (dim, index, source, reduce, include_self), source.where())
BRAZE_COPY_THEN_WRITE(put, (const Tensor& index, const In& source, bool accumulate), (index, source, accumulate), source.where())
#undef BRAZE_COPY_THEN_WRITE
#undef BRAZE_UNPACK

Tensor masked_scatter(const In& x, const Tensor& mask, const Tensor& source) {
  const Dims common = broadcast_sizes(x.tensor().sizes(), mask.sizes());
  Tensor copy = x.tensor().expand(Sizes(common.begin(), common.end())).clone(x.where());
  copy.masked_scatter_(mask, source, x.where());
  return copy;
}

namespace {

Tensor with_view_written(const In& x, const In& source, Tensor (*view)(const Tensor&, std::span<const std::int64_t>),
                         std::span<const std::int64_t> arguments) {
  Tensor copy = x.tensor().clone(source.where());
  Tensor target = view(copy, arguments);
  require(source.is_scalar() || source.tensor().sizes() == target.sizes(),
          "expected src to have a size equal to the slice of self. src size = {}, slice size = {}",
          source.is_scalar() ? "[]" : fmt::to_string(sizes_text(source.tensor().sizes())), sizes_text(target.sizes()));
  target.copy_(source);
  return copy;
}

}  // namespace

Tensor select_scatter(const In& x, const In& source, std::int64_t dim, std::int64_t index) {
  const GradientScope scope(GradientName::SelectScatterBackward0);
  const std::int64_t arguments[] = {dim, index};
  return with_view_written(
      x, source, [](const Tensor& t, std::span<const std::int64_t> a) { return t.select(a[0], a[1]); }, arguments);
}

Tensor slice_scatter(const In& x, const In& source, std::int64_t dim, std::optional<std::int64_t> start,
                     std::optional<std::int64_t> end, std::int64_t step) {
  const GradientScope scope(GradientName::SliceScatterBackward0);
  const std::int64_t arguments[] = {dim, start.value_or(0), end.value_or(std::numeric_limits<std::int64_t>::max()), step};
  return with_view_written(
      x, source, [](const Tensor& t, std::span<const std::int64_t> a) { return t.slice(a[0], a[1], a[2], a[3]); }, arguments);
}

Tensor diagonal_scatter(const In& x, const In& source, std::int64_t offset, std::int64_t dim1, std::int64_t dim2) {
  const GradientScope scope(GradientName::DiagonalScatterBackward0);
  const std::int64_t arguments[] = {offset, dim1, dim2};
  return with_view_written(
      x, source, [](const Tensor& t, std::span<const std::int64_t> a) { return t.diagonal(a[0], a[1], a[2]); }, arguments);
}

Tensor PickingMethods::index_select(std::int64_t dim, const Tensor& index, std::source_location where) const {
  return braze::index_select(In(self_of(this), where), dim, index);
}
Tensor PickingMethods::gather(std::int64_t dim, const Tensor& index, std::source_location where) const {
  return braze::gather(In(self_of(this), where), dim, index);
}
Tensor PickingMethods::take_along_dim(const Tensor& indices, std::source_location where) const {
  return braze::take_along_dim(In(self_of(this), where), indices);
}
Tensor PickingMethods::take_along_dim(const Tensor& indices, std::int64_t dim, std::source_location where) const {
  return braze::take_along_dim(In(self_of(this), where), indices, dim);
}
Tensor PickingMethods::take(const Tensor& index, std::source_location where) const {
  return braze::take(In(self_of(this), where), index);
}
Tensor PickingMethods::masked_select(const Tensor& mask, std::source_location where) const {
  return braze::masked_select(In(self_of(this), where), mask);
}
Tensor PickingMethods::nonzero(std::source_location where) const { return braze::nonzero(In(self_of(this), where)); }
Tensor PickingMethods::argwhere(std::source_location where) const { return braze::argwhere(In(self_of(this), where)); }
Tensor PickingMethods::masked_scatter(const Tensor& mask, const Tensor& source, std::source_location where) const {
  return braze::masked_scatter(In(self_of(this), where), mask, source);
}
Tensor PickingMethods::select_scatter(const In& source, std::int64_t dim, std::int64_t index) const {
  return braze::select_scatter(In(self_of(this), source.where()), source, dim, index);
}
Tensor PickingMethods::slice_scatter(const In& source, std::int64_t dim, std::optional<std::int64_t> start,
                                     std::optional<std::int64_t> end, std::int64_t step) const {
  return braze::slice_scatter(In(self_of(this), source.where()), source, dim, start, end, step);
}
Tensor PickingMethods::diagonal_scatter(const In& source, std::int64_t offset, std::int64_t dim1, std::int64_t dim2) const {
  return braze::diagonal_scatter(In(self_of(this), source.where()), source, offset, dim1, dim2);
}

}  // namespace braze
