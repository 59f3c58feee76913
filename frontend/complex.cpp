// Complex tensors: parts, pairs, views on them, and making them.
#include "frontend/complex.h"
#include "frontend/autograd/names.h"
#include "frontend/autograd/tracking.h"

#include <algorithm>
#include <atomic>

#include "braze/functions.h"
#include "braze/host.h"
#include "frontend/composing.h"
#include "frontend/elementwise.h"
#include "frontend/engine/host.h"
#include "frontend/view_layout.h"

namespace braze {

namespace {

constexpr std::uint64_t real_part = 0, imaginary_part = 1;

// One part of each element, where it lies: no conjugation.
Tensor stored_part(const Tensor& x, std::uint64_t part) {
  Geometry g = checked(x).layout();
  g.offset = 2 * g.offset + static_cast<std::int64_t>(part);
  for (std::int64_t& stride : g.strides) stride *= 2;
  return make_view(x, std::move(g), component_type(x.dtype()), [&](const Tensor& own) { return stored_part(own, part); });
}

// The layout in complex elements of reals whose last dim is two neighbours.
Geometry halved(Geometry g) {
  g.sizes.pop_back();
  g.strides.pop_back();
  g.offset /= 2;
  for (std::int64_t& stride : g.strides) stride /= 2;
  return g;
}

// Of float32 or float64 both, as complex() and polar() take them.
void require_one_type(const Tensor& a, const Tensor& b) {
  const auto holds = [](DType t) { return t == DType::f32 || t == DType::f64; };
  const std::string_view x = info(a.dtype()).scalar_name, y = info(b.dtype()).scalar_name;
  require<NotImplementedError>(holds(a.dtype()) && holds(b.dtype()),
                               "Expected both inputs to be Half, Float or Double tensors but got {} and {}{}", x, y,
                               is_half(a.dtype()) || is_half(b.dtype()) ? ": braze has no complex numbers of halves" : "");
  require(a.dtype() == b.dtype(), "Expected object of scalar type {} but got scalar type {} for second argument", x, y);
}

}  // namespace

void warn_discards_imaginary(DType from, DType to) {
  if (!is_complex(from) || is_complex(to) || to == DType::boolean) return;
  static std::atomic<bool> told{false};
  if (told.exchange(true, std::memory_order_relaxed)) return;
  if (const Host* host = engine::current_host.load(std::memory_order_acquire); host && host->warn)
    host->warn("Casting complex values to real discards the imaginary part");
}

// ---- parts and pairs ----

Tensor pairs(const Tensor& x) {
  const Tensor resolved = spread(x.resolve_conj({}));
  return relaid(*resolved.impl(), component_type(x.dtype()), pair_geometry(resolved.impl()->layout()));
}

Tensor of_pairs(const Tensor& reals) {
  const TensorImpl& impl = checked(reals);
  return relaid(impl, complex_type(impl.dtype()), halved(impl.layout()));
}

Parts parts_of(const In& x, DType type) {
  if (x.is_scalar()) {
    const std::complex<double> z = x.scalar().to_complex();
    return {full({}, z.real(), {type}), x.scalar().is_complex() ? full({}, z.imag(), {type}) : zeros({}, {type})};
  }
  const Tensor& t = x.tensor();
  if (!is_complex(checked(t).dtype())) return {t.to(type), zeros({}, {type})};
  const Tensor im = stored_part(t, imaginary_part).to(type);
  return {stored_part(t, real_part).to(type), t.impl()->conjugate ? neg(im) : im};
}

Tensor join(const Parts& z) {
  const Dims sizes = broadcast_sizes(z.re.sizes(), z.im.sizes());
  const Tensor re = z.re.expand(std::span<const std::int64_t>(sizes)), im = z.im.expand(std::span<const std::int64_t>(sizes));
  // As a dense tensor of re's order: what `re` is wherever it was computed.
  const Dims strides = format_strides(checked(re).layout(), MemoryFormat::preserve);
  Sizes order(strides.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<std::int64_t>(i);
  std::stable_sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) {
    return strides[static_cast<std::size_t>(a)] > strides[static_cast<std::size_t>(b)];
  });
  const Tensor columns[] = {re.permute(order).unsqueeze(-1), im.permute(order).unsqueeze(-1)};
  const Tensor joined = cat(columns, -1);
  return relaid(*joined.impl(), complex_type(re.dtype()), {0, sizes, strides});
}

Parts operator+(const Parts& a, const Parts& b) { return {a.re + b.re, a.im + b.im}; }
Parts operator-(const Parts& a, const Parts& b) { return {a.re - b.re, a.im - b.im}; }
Parts operator*(const Parts& a, const Parts& b) { return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re}; }
Parts operator-(const Parts& z) { return {neg(z.re), neg(z.im)}; }

// Smith's: divided by the larger part of b, so that nothing overflows on the way; a division by zero divides each part. What `where` leaves
// out divides by no zero, or its derivative would be no number.
Parts operator/(const Parts& a, const Parts& b) {
  const Tensor size_re = abs(b.re), size_im = abs(b.im);
  const Tensor re_larger = size_re >= size_im, zero = (size_re == 0) & (size_im == 0);
  const Tensor larger = where(re_larger, b.re, b.im), smaller = where(re_larger, b.im, b.re), ratio = smaller / larger;
  const Tensor scale = reciprocal(larger + smaller * ratio);
  const Tensor re = where(re_larger, a.re + a.im * ratio, a.re * ratio + a.im) * scale;
  const Tensor im = where(re_larger, a.im - a.re * ratio, a.im * ratio - a.re) * scale;
  const Tensor divisor = where(zero, size_re, 1);
  return {where(zero, a.re / divisor, re), where(zero, a.im / divisor, im)};
}

// ---- making ----

Tensor complex(const In& real, const Tensor& imag) {
  const GradientScope scope(GradientName::ComplexBackward0);
  const SourceLine line(real.where());
  const Tensor& re = require_tensor("complex", real);
  require_one_type(re, imag);
  return join({re, imag});
}

Tensor polar(const In& abs, const Tensor& angle) {
  const SourceLine line(abs.where());
  const Tensor& size = require_tensor("polar", abs);
  require_one_type(size, angle);
  return join({size * cos(angle), size * sin(angle)});
}

// ---- views ----

Tensor ComplexMethods::view_as_real() const {
  const Tensor& self = self_of(this);
  require<TypeError>(braze::is_complex(checked(self).dtype()), "view_as_real is only supported for complex tensors");
  require(
      !is_conj(),
      "view_as_real doesn't work on unresolved conjugated tensors.  To resolve the conjugate tensor so you can view it as real, "
      "use self.resolve_conj(); however, be warned that the resulting tensor will NOT alias the original.");
  return make_view(self, pair_geometry(self.impl()->layout()), component_type(self.dtype()),
                   [](const Tensor& own) { return own.view_as_real(); });
}

Tensor ComplexMethods::view_as_complex() const {
  const Tensor& self = self_of(this);
  const DType type = checked(self).dtype();
  require<NotImplementedError>(
      type == DType::f32 || type == DType::f64,
      "view_as_complex is only supported for half, float and double tensors, but got a tensor of scalar type: {}",
      info(type).scalar_name);
  const Geometry g = self.impl()->layout();
  require(!g.sizes.empty(), "Input tensor must have one or more dimensions");
  require(g.sizes.back() == 2, "Tensor must have a last dimension of size 2");
  require(g.strides.back() == 1, "Tensor must have a last dimension with stride 1");
  for (std::size_t i = 0; i + 1 < g.strides.size(); ++i)
    require(g.strides[i] % 2 == 0, "Tensor must have a stride divisible by 2 for all but last dimension");
  require(g.offset % 2 == 0, "Tensor must have a storage_offset divisible by 2");
  Tensor view = make_view(self, halved(g), complex_type(type));
  if (const AutogradMeta* own = elements_of(*self.impl())) set_elements(*view.impl(), spread(*own, type, {}), own->elements);
  return view;
}

Tensor ComplexMethods::real() const {
  const Tensor& self = self_of(this);
  return braze::is_complex(checked(self).dtype()) ? stored_part(self, real_part) : self;
}

// Of a conjugated view the parts are negated, which no layout shows: a copy, and one that refuses to be written.
Tensor ComplexMethods::imag() const {
  const Tensor& self = self_of(this);
  require<TypeError>(braze::is_complex(checked(self).dtype()), "imag is not implemented for tensors with non-complex dtypes.");
  const Tensor stored = stored_part(self, imaginary_part);
  if (!is_conj()) return stored;
  const engine::Value negated = owned_value(read(checked(neg(stored)), location({})));
  const Geometry g{0, sizes_of(negated.type()), contiguous_strides(stored.sizes())};
  return on_storage(StoragePointer::adopt(new Storage(negated, true)), stored.dtype(), g);
}

bool ComplexMethods::is_conj() const { return checked(self_of(this)).conjugate; }
Tensor ComplexMethods::resolve_conj(Line where) const {
  return is_conj() ? self_of(this).clone(MemoryFormat::preserve, where) : self_of(this);
}
Tensor ComplexMethods::resolve_neg() const { return self_of(this); }

Tensor view_as_real(const In& x) { return require_tensor("view_as_real", x).view_as_real(); }
Tensor view_as_complex(const In& x) { return require_tensor("view_as_complex", x).view_as_complex(); }
Tensor real(const In& x) { return require_tensor("real", x).real(); }
Tensor imag(const In& x) { return require_tensor("imag", x).imag(); }
bool is_conj(const Tensor& x) { return x.is_conj(); }
Tensor resolve_conj(const In& x) { return require_tensor("resolve_conj", x).resolve_conj(x.where()); }
Tensor resolve_neg(const In& x) { return require_tensor("resolve_neg", x).resolve_neg(); }

}  // namespace braze
