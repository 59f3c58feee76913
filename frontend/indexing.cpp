// x(...) and x[...]: numbers, slices, ellipsis and newaxis give views; tensors, masks and bools pick elements.
// Both dialects as NumPy has them: https://numpy.org/doc/stable/user/basics.indexing.html
//
// Picking is arithmetic on flat positions in the storage: offset + sum of wrap_index(index) * stride over indexed dims + sum of
// iota * stride over the others, and one `take` or `put`. So it fuses with its neighbours, views are never copied first, and
// writing costs what it writes.
#include <algorithm>

#include "braze/func.h"
#include "braze/functions.h"
#include "frontend/autograd/names.h"
#include "frontend/autograd/tracking.h"
#include "frontend/elementwise.h"
#include "frontend/linalg.h"
#include "frontend/positions.h"

namespace braze {

namespace {

// Where a bound lands in [0, size], as Python slices clamp.
std::int64_t clamp_bound(std::int64_t bound, std::int64_t size) {
  return std::clamp<std::int64_t>(bound < 0 ? bound + size : bound, 0, size);
}

bool is_mask(const Tensor& t) { return t.dtype() == DType::boolean || t.dtype() == DType::u8; }

// A tensor index along one dim of the view that the basic indices leave.
struct Along {
  std::size_t axis;
  Tensor index;  // integers
};

struct Resolved {
  Geometry view;  // after numbers, slices and newaxis
  std::vector<Along> tensors;
  std::optional<Tensor> whole_mask;  // one mask that covers every dim, and nothing else
};

// How many dims of the indexed tensor an entry uses up.
std::int64_t dims_taken(const Index& i) {
  switch (i.kind) {
    case Index::Kind::number:
    case Index::Kind::slice:
      return 1;
    case Index::Kind::tensor:
      return is_mask(i.tensor) ? i.tensor.dim() : 1;
    default:
      return 0;
  }
}

class Resolver {
 public:
  Resolver(const Tensor& base, std::span<const Index> indices) : base_(base), indices_(indices) {
    out_.view = checked(base).layout();
  }

  Resolved run() {
    std::int64_t given = 0;
    for (const Index& i : indices_) given += dims_taken(i);
    require<IndexError>(given <= base_.dim(), "too many indices for tensor of dimension {}", base_.dim());
    bool ellipsis_seen = false;
    for (const Index& i : indices_) {
      if (i.kind == Index::Kind::ellipsis) {
        // A second ellipsis takes no dim, as in PyTorch.
        const std::int64_t skipped = ellipsis_seen ? 0 : base_.dim() - given;
        ellipsis_seen = true;
        axis_ += static_cast<std::size_t>(skipped);
        shown_ += skipped;
      } else {
        add(i);
      }
    }
    return std::move(out_);
  }

 private:
  void add(const Index& i) {
    switch (i.kind) {
      case Index::Kind::number:
        apply_select(out_.view, axis_, i.number, shown_++);
        break;
      case Index::Kind::slice:
        apply_slice(out_.view, axis_++, i.range);
        ++shown_;
        break;
      case Index::Kind::ellipsis:
        break;
      case Index::Kind::newaxis:
        apply_newaxis(out_.view, axis_++);
        break;
      case Index::Kind::boolean:
        add_truth(i.number != 0);
        break;
      case Index::Kind::tensor:
        add_tensor(i.tensor);
        break;
    }
  }

  // True picks the one element of a new axis, false none.
  void add_truth(bool value) {
    apply_newaxis(out_.view, axis_);
    out_.tensors.push_back({axis_++, zeros({value ? 1 : 0}, {DType::i64})});
  }

  void add_tensor(const Tensor& index) {
    const DType type = index.dtype();
    if (is_mask(index)) return add_mask(index);
    // PyTorch reads a single integer and selects: a view. One that differs along a batch cannot be read (func::vmap).
    if (index.dim() == 0 && is_integer(type) && !(func::mapping() && !engine::known(read(checked(index), {}))))
      return add(Index(index.item_int()));
    require<IndexError>(type == DType::i64 || type == DType::i32,
                        "tensors used as indices must be long, int, byte or bool tensors, not {}", info(type).torch_name);
    out_.tensors.push_back({axis_++, index.to(DType::i64)});
    ++shown_;
  }

  void add_mask(const Tensor& mask) {
    if (mask.dim() == 0) return add_truth(static_cast<bool>(mask));
    for (std::int64_t d = 0; d < mask.dim(); ++d)
      require<IndexError>(mask.size(d) == out_.view.sizes[axis_ + static_cast<std::size_t>(d)],
                          "The shape of the mask {} at index {} does not match the shape of the indexed tensor {} at index {}",
                          sizes_text(mask.sizes()), d, sizes_text(base_.sizes()), shown_ + d);
    if (indices_.size() == 1 && mask.dim() == base_.dim()) out_.whole_mask = mask;
    const Tensor places = nonzero(mask);
    for (std::int64_t d = 0; d < mask.dim(); ++d) {
      out_.tensors.push_back({axis_++, places.select(1, d)});
      ++shown_;
    }
  }

  const Tensor& base_;
  std::span<const Index> indices_;
  Resolved out_;
  std::size_t axis_ = 0;    // of the view
  std::int64_t shown_ = 0;  // of the indexed tensor, for messages
};

Dims index_sizes(const std::vector<Along>& tensors) {
  Dims sizes;
  for (const Along& along : tensors) {
    try {
      sizes = broadcast_sizes(sizes, along.index.sizes());
    } catch (const ShapeError&) {
      std::string shapes;
      for (const Along& each : tensors) shapes += fmt::format("{}{}", shapes.empty() ? "" : ", ", sizes_text(each.index.sizes()));
      fail<IndexError>("shape mismatch: indexing tensors could not be broadcast together with shapes {}", shapes);
    }
  }
  return sizes;
}

// Flat positions in the storage, with the sizes of the result: dims of neighbouring index tensors stand where those were, those of
// index tensors apart stand first.
engine::Value positions(const Resolved& r, const std::source_location& where) {
  const Dims picked = index_sizes(r.tensors);
  const std::size_t first = r.tensors.front().axis;
  const bool together = r.tensors.back().axis - first + 1 == r.tensors.size();
  const std::size_t at = together ? first : 0;
  const auto indexed = [&](std::size_t axis) {
    return std::any_of(r.tensors.begin(), r.tensors.end(), [&](const Along& along) { return along.axis == axis; });
  };
  Dims sizes;
  std::vector<std::size_t> rest;  // axes that are not indexed
  for (std::size_t axis = 0; axis < r.view.sizes.size(); ++axis)
    if (!indexed(axis)) rest.push_back(axis);
  for (std::size_t i = 0; i < at; ++i) sizes.push_back(r.view.sizes[rest[i]]);
  for (const std::int64_t s : picked) sizes.push_back(s);
  for (std::size_t i = at; i < rest.size(); ++i) sizes.push_back(r.view.sizes[rest[i]]);
  PositionSum sum(sizes, r.view.offset, where);
  const bool nothing = std::find(sizes.begin(), sizes.end(), 0) != sizes.end();  // is picked: PyTorch looks at no index then
  for (const Along& along : r.tensors) {
    const std::int64_t extent = r.view.sizes[along.axis];
    if (const auto beyond = nothing ? std::nullopt : known_out_of_bounds(along.index, extent, true))
      fail<IndexError>("index {} is out of bounds for dimension {} with size {}", *beyond, along.axis, extent);
    // Aligned at the last of the picked dims.
    Dims aligned(sizes.size(), 1);
    const Sizes own = along.index.sizes();
    for (std::size_t i = 0; i < own.size(); ++i) aligned[at + picked.size() - own.size() + i] = own[i];
    sum.add_index(along.index.reshape(Sizes(aligned.begin(), aligned.end())), extent, r.view.strides[along.axis]);
  }
  for (std::size_t i = 0; i < rest.size(); ++i) sum.add_axis(i < at ? i : picked.size() + i, r.view.strides[rest[i]]);
  return sum.value();
}

// Numbers are converted, tensors are not.
void require_same_dtype(const Tensor& x, const In& value) {
  require(value.is_scalar() || value.tensor().dtype() == x.dtype(),
          "Index put requires the source and destination dtypes match, got {} for the destination and {} for the source.",
          info(x.dtype()).scalar_name, value.is_scalar() ? "" : info(value.tensor().dtype()).scalar_name);
}

// One mask picks: PyTorch then fills with a single value, whatever its dtype.
bool masks_alone(std::span<const Index> indices) {
  const auto mask = [](const Index& i) { return i.kind == Index::Kind::tensor && is_mask(i.tensor); };
  const auto other = [&](const Index& i) {
    return i.kind == Index::Kind::boolean || (i.kind == Index::Kind::tensor && !is_mask(i.tensor) && i.tensor.dim() > 0);
  };
  return std::count_if(indices.begin(), indices.end(), mask) == 1 && std::none_of(indices.begin(), indices.end(), other);
}

// A single value fills as masked_fill_ does, which takes no other masks.
void require_masks(std::span<const Index> indices) {
  for (const Index& i : indices)
    if (i.kind == Index::Kind::tensor && is_mask(i.tensor) && i.tensor.dtype() != DType::boolean)
      fail("masked_fill_ only supports boolean masks, but got mask with dtype {}", cpp_type(i.tensor.dtype()));
}

constexpr std::string_view put_example = "tensor[indices] = tensor", fill_example = "tensor[mask] = scalar";

// PyTorch puts a tensor, of which one element under a mask then fills, and fills with a number.
void warn_of_expanded(const Geometry& written, std::span<const Index> indices, const In& value, bool fills) {
  if (indices.size() == 1 && indices[0].kind == Index::Kind::boolean) return;  // x[True] = v assigns all of it
  const auto one_vector = [&] {
    return std::count_if(indices.begin(), indices.end(), [](const Index& i) {
             return i.kind == Index::Kind::boolean || (i.kind == Index::Kind::tensor && i.tensor.dim() > 0);
           }) == 1;
  };
  const bool by_index = value.is_scalar() && !fills && one_vector();
  if (by_index) warn_where_expanded(written, "index_fill_", fill_example);
  if (!by_index && !(fills && value.is_scalar())) warn_where_expanded(written, "index_put_", put_example);
  if (fills) warn_where_expanded(written, "masked_fill_", fill_example);
}

// What basic indices name: filled with one value, copied where nothing repeats, else written with the value expanded, of which
// PyTorch asks no overlap.
void assign_view(Tensor view, const In& value) {
  if (value.is_scalar()) {
    view.fill_(value);
    return;
  }
  Tensor given = value.tensor();
  if (given.dim() == 0 && view.dim() > 0) {
    view.fill_(value);
    return;
  }
  while (given.dim() > view.dim() && given.size(0) == 1) given = given.select(0, 0);
  const Sizes have = given.sizes(), wanted = view.sizes();
  const auto added = wanted.end() - static_cast<std::ptrdiff_t>(std::min(have.size(), wanted.size()));
  const bool one = std::all_of(wanted.begin(), added, [](std::int64_t size) { return size == 1; });
  if (one && std::equal(have.begin(), have.end(), added, wanted.end())) {
    view.copy_(In(given, value.where()));
    return;
  }
  const ir::Location where = location(value.where());
  TensorImpl& impl = checked(view);
  engine::Value values = fitted(In(given, value.where()), impl.dtype(), sizes_of(*impl.type), where);
  if (const Tensor expanded = given.expand(wanted); same_elements(impl, checked(expanded))) {
    view.copy_(In(expanded, value.where()));
    return;
  }
  write(impl, std::move(values), where);
}

}  // namespace

void apply_slice(Geometry& g, std::size_t axis, const Slice& s) {
  require<ValueError>(s.step > 0, "slice step must be positive, not {}", s.step);
  const std::int64_t size = g.sizes[axis];
  const std::int64_t start = clamp_bound(s.start.value_or(0), size), stop = clamp_bound(s.stop.value_or(size), size);
  const std::int64_t span = std::max<std::int64_t>(stop - start, 0);
  g.offset += start * g.strides[axis];
  g.sizes[axis] = span / s.step + (span % s.step != 0);
  g.strides[axis] *= s.step;
}

void apply_select(Geometry& g, std::size_t axis, std::int64_t index, std::int64_t shown_dim) {
  const std::int64_t size = g.sizes[axis];
  require<IndexError>(-size <= index && index < size, "index {} is out of bounds for dimension {} with size {}", index, shown_dim,
                      size);
  g.offset += (index < 0 ? index + size : index) * g.strides[axis];
  g.sizes.erase(axis);
  g.strides.erase(axis);
}

void apply_newaxis(Geometry& g, std::size_t axis) {
  g.sizes.insert(axis, 1);
  g.strides.insert(axis, axis + 1 < g.sizes.size() ? g.sizes[axis + 1] * g.strides[axis] : 1);
}

namespace {

// PyTorch applies the entries one after another, and its last view names the step.
GradientName view_name(std::span<const Index> indices) {
  GradientName name = GradientName::AliasBackward0;
  for (const Index& i : indices) {
    if (i.kind == Index::Kind::number) name = GradientName::SelectBackward0;
    if (i.kind == Index::Kind::slice && (i.range.start || i.range.stop || i.range.step != 1)) name = GradientName::SliceBackward0;
    if (i.kind == Index::Kind::newaxis) name = GradientName::UnsqueezeBackward0;
  }
  return name;
}

}  // namespace

Tensor Tensor::index(std::span<const Index> indices, std::source_location where) const {
  const Resolved r = Resolver(*this, indices).run();
  if (r.tensors.empty()) {
    const GradientScope scope(view_name(indices));
    return make_view(*this, r.view, dtype(), [&](const Tensor& own) { return own.index(indices, where); });
  }
  const GradientScope scope(GradientName::IndexBackward0);
  if (elements_of(checked(*this))) return spread(*this).index(indices, where);
  return wrap(read_at(checked(*this), positions(r, where), location(where)), dtype());
}

Tensor& Tensor::index_assign(std::span<const Index> indices, const In& value) {
  const bool scalar = value.is_scalar() || value.tensor().numel() == 1;
  const ir::Location where = location(value.where());
  // One value under a mask needs no count: nothing is evaluated.
  if (scalar && indices.size() == 1 && indices[0].kind == Index::Kind::tensor && indices[0].tensor.dtype() == DType::boolean &&
      indices[0].tensor.sizes() == sizes() && dim() > 0) {
    warn_of_expanded(checked(*this).layout(), indices, value, true);
    return fill_masked(*this, indices[0].tensor, value);
  }
  const Resolved r = Resolver(*this, indices).run();
  if (r.tensors.empty()) {
    assign_view(make_view(*this, r.view), value);
    return *this;
  }
  const bool fills = scalar && masks_alone(indices);
  if (fills) require_masks(indices);
  if (!fills) require_same_dtype(*this, value);
  require_no_overlap(checked(*this), value);
  for (const Index& i : indices)
    if (i.kind == Index::Kind::tensor) require_no_overlap(checked(*this), In(i.tensor, value.where()));
  warn_of_expanded(r.view, indices, value, fills);
  const engine::Value at = positions(r, value.where());
  write_at_repeated(checked(*this), at, fitted(value, dtype(), sizes_of(at.type()), where), ir::Put::Combine::assign, where);
  return *this;
}

Tensor& Tensor::index_put_(std::span<const Index> indices, const In& value, bool accumulate) {
  const ir::Location where = location(value.where());
  if (!accumulate) return index_assign(indices, value);
  require_same_dtype(*this, value);
  const Resolved r = Resolver(*this, indices).run();
  if (r.tensors.empty()) {
    Tensor view = make_view(*this, r.view);
    view.add_(value);
    return *this;
  }
  require_no_overlap(checked(*this), value);
  for (const Index& i : indices)
    if (i.kind == Index::Kind::tensor) require_no_overlap(checked(*this), In(i.tensor, value.where()));
  warn_where_expanded(r.view, "index_put_", put_example);
  const engine::Value at = positions(r, value.where());
  write_at_repeated(checked(*this), at, fitted(value, dtype(), sizes_of(at.type()), where), ir::Put::Combine::add, where);
  return *this;
}

Tensor index_put(const In& x, std::span<const Index> indices, const In& value, bool accumulate) {
  return x.tensor().index_put(indices, value, accumulate);
}

Tensor Tensor::index_put(std::span<const Index> indices, const In& value, bool accumulate) const {
  Tensor copy = clone(value.where());
  copy.index_put_(indices, value, accumulate);
  return copy;
}

// ---- x(index) in C++ ----

const Tensor& Picked::value(std::source_location where) const {
  if (!value_.defined()) value_ = base_.index(indices_, where);
  return value_;
}

void Picked::operator=(const In& value) const { Tensor(base_).index_assign(indices_, value); }
void Picked::operator=(const Picked& other) const { Tensor(base_).index_assign(indices_, In(other.value())); }
void Picked::operator+=(const In& other) const { *this = In(add(In(value(), other.where()), other), other.where()); }
void Picked::operator-=(const In& other) const { *this = In(sub(In(value(), other.where()), other), other.where()); }
void Picked::operator*=(const In& other) const { *this = In(mul(In(value(), other.where()), other), other.where()); }
void Picked::operator/=(const In& other) const { *this = In(div(In(value(), other.where()), other), other.where()); }

}  // namespace braze
