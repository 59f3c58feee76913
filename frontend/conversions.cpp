// Other dtypes, devices and memory formats, and writing one tensor into another.
#include <algorithm>
#include <array>
#include <charconv>

#include "braze/functions.h"
#include "frontend/autograd/names.h"
#include "frontend/elementwise.h"
#include "frontend/linalg.h"
#include "frontend/positions.h"
#include "frontend/view_layout.h"

namespace braze {

namespace {

constexpr std::array<std::string_view, 5> device_names = {"cpu", "cuda", "xpu", "mps", "meta"};

}  // namespace

Device::Device(std::string_view text) {
  const std::size_t colon = text.find(':');
  const std::string_view name = text.substr(0, colon);
  const auto* found = std::find(device_names.begin(), device_names.end(), name);
  require(!text.empty(), "Device string must not be empty");
  require(found != device_names.end(), "Expected one of {} device type at start of device string: {}",
          fmt::join(device_names, ", "), text);
  type = static_cast<Type>(found - device_names.begin());
  if (colon == std::string_view::npos) return;
  const std::string_view digits = text.substr(colon + 1);
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), index);
  require(error == std::errc() && end == digits.data() + digits.size() && index >= 0, "Invalid device string: '{}'", text);
}

std::string Device::str() const {
  const std::string name(device_names[static_cast<std::size_t>(type)]);
  return index < 0 ? name : fmt::format("{}:{}", name, index);
}

void require_supported(const Device& device) {
  switch (device.type) {
    case Device::Type::cpu:
      return;
    case Device::Type::cuda:
      fail<DeviceError>("tensors on '{}' are not supported: Braze compiles CUDA kernels but has no CUDA memory yet", device.str());
    default:
      fail<DeviceError>("tensors on '{}' are not supported: Braze runs on the CPU only", device.str());
  }
}

namespace cuda {
bool is_available() { return false; }
std::int64_t device_count() { return 0; }
}  // namespace cuda

Tensor Tensor::to(DType dtype, std::source_location where) const { return to(dtype, false, MemoryFormat::preserve, where); }

Tensor Tensor::to(std::optional<DType> wanted, bool copy, MemoryFormat format, std::source_location where) const {
  TensorImpl& impl = checked(*this);
  const DType type = wanted.value_or(impl.dtype());
  const bool as_wanted = impl.dtype() == type && (format == MemoryFormat::preserve || is_contiguous(format));
  if (as_wanted && !copy) return *this;
  warn_discards_imaginary(impl.dtype(), type);
  const GradientScope scope(impl.dtype() == type ? GradientName::CloneBackward0 : GradientName::ToCopyBackward0);
  if (!impl.geometry && (format == MemoryFormat::preserve || format == MemoryFormat::contiguous))
    return wrap(read_as(impl, type, location(where)), type);
  return copy_laid_out(*this, type, format_strides(impl.layout(), format), location(where));
}

Tensor Tensor::to(const Tensor& other, std::source_location where) const { return to(other.dtype(), where); }

Tensor Tensor::to(Device device) const {
  require_supported(device);
  return *this;
}

// ---- in place ----

bool same_elements(const TensorImpl& a, const TensorImpl& b) {
  if (a.storage.get() != b.storage.get() || a.dtype() != b.dtype()) return false;
  const Geometry x = a.layout(), y = b.layout();
  return x.offset == y.offset && x.sizes == y.sizes && x.strides == y.strides;
}

Tensor& Tensor::copy_(const In& source) {
  const engine::FunctionScope call;
  TensorImpl& impl = checked(*this);
  if (source.is_scalar() && source.scalar().is_complex() && !braze::is_complex(impl.dtype())) {
    const std::complex<double> number = source.scalar().to_complex();
    warn_discards_imaginary(complex128, impl.dtype());
    return copy_(In(impl.dtype() == DType::boolean ? Scalar(number != 0.0) : Scalar(number.real()), source.where()));
  }
  if (!source.is_scalar()) {
    const Dims sizes = sizes_of(*impl.type), from = sizes_of(*checked(source.tensor()).type);
    // PyTorch's expand raises where the source does not fit; what assignment allows beyond it, leading dims of one, it refuses.
    if (from != sizes) source.tensor().expand(std::span<const std::int64_t>(sizes));
    if (same_elements(impl, checked(source.tensor()))) {
      require_no_leaf(impl);
      impl.storage->require_writable();
      impl.storage->set(impl.storage->value());  // counts as a write
      return *this;
    }
  }
  write_cast(impl, source, location(source.where()));
  return *this;
}

namespace {

// A layout that addresses each of g's elements once, or nothing where runs of them do not join into one: of axes that overlap the
// slower one adds its steps to the faster one's length.
std::optional<Geometry> without_repeats(const Geometry& g) {
  std::vector<std::pair<std::int64_t, std::int64_t>> axes;  // stride, size
  for (std::size_t i = 0; i < g.sizes.size(); ++i)
    if (g.sizes[i] != 1 && g.strides[i] != 0) axes.emplace_back(g.strides[i], g.sizes[i]);
  std::sort(axes.begin(), axes.end());
  Geometry out{g.offset, {}, {}};
  std::int64_t reach = 0;
  for (const auto& [stride, size] : axes) {
    if (stride > reach) {
      out.strides.push_back(stride);
      out.sizes.push_back(size);
    } else {
      std::int64_t &fastest = out.strides.back(), &length = out.sizes.back();
      if (stride % fastest != 0 || stride / fastest > length) return std::nullopt;
      length += stride / fastest * (size - 1);
    }
    reach += stride * (size - 1);
  }
  std::reverse(out.sizes.begin(), out.sizes.end());
  std::reverse(out.strides.begin(), out.strides.end());
  return out;
}

// By the place of each element, however they lie.
Tensor& fill_one_by_one(Tensor& x, const In& value) {
  const TensorImpl& impl = checked(x);
  const Geometry& g = *impl.geometry;
  PositionSum sum(g.sizes, g.offset, value.where());
  for (std::size_t axis = 0; axis < g.sizes.size(); ++axis) sum.add_axis(axis, g.strides[axis]);
  const Dims flat{impl.storage->elements(impl.dtype())};
  const Tensor whole = relaid(impl, impl.dtype(), {0, flat, {1}});
  const ir::Location where = location(value.where());
  whole.impl()->conjugate = impl.conjugate;
  write_at(checked(whole), sum.value(), fitted(value, impl.dtype(), g.sizes, where), ir::Put::Combine::assign, where);
  return x;
}

}  // namespace

// Filling may meet an element twice, which PyTorch allows here and nowhere else.
Tensor& Tensor::fill_(const In& value) {
  if (!value.is_scalar())
    require(checked(value.tensor()).type->rank() == 0,
            "fill_ only supports 0-dimension value tensor but got tensor with {} dimensions.", value.tensor().dim());
  if (!value.is_scalar()) require_writable(checked(*this));  // only a number may fill what overlaps itself
  if (value.is_scalar() && value.scalar().is_complex() && !braze::is_complex(dtype())) {
    require(dtype() == DType::boolean, "value cannot be converted to type {} without overflow", cpp_type(dtype()));
    return fill_(In(value.scalar().to_complex() != 0.0, value.where()));
  }
  // PyTorch takes the number out first: it may lie in what is filled.
  if (!value.is_scalar() && value.tensor().shares_storage(*this)) return fill_(In(value.tensor().clone(), value.where()));
  if (const TensorImpl& impl = checked(*this); impl.geometry && impl.numel() > 0) {
    const std::optional<Geometry> once = without_repeats(*impl.geometry);
    if (once && once->numel() != impl.numel()) {
      const Tensor unrepeated = relaid(impl, impl.dtype(), *once);
      unrepeated.impl()->conjugate = impl.conjugate;
      Tensor(unrepeated).copy_(value);
      return *this;
    }
    if (!once) return fill_one_by_one(*this, value);
  }
  return copy_(value);
}

Tensor& Tensor::zero_(std::source_location where) {
  const GradientScope scope(GradientName::ZeroBackward0);
  return fill_(In(0, where));
}

}  // namespace braze
