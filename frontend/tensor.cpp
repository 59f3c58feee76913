// The handle itself: its life, its attributes, and what needs values.
#include "braze/tensor.h"

#include <cstring>

#include "braze/functions.h"
#include "braze/host.h"
#include "frontend/tensor_impl.h"
#include "frontend/view_layout.h"

namespace braze {

Tensor::Tensor(const Tensor& other) : impl_(other.impl_) {
  if (impl_) impl_->retain();
}

void Tensor::release() { impl_->drop(); }

Tensor& Tensor::operator=(const Tensor& other) & {
  Tensor copy(other);
  std::swap(impl_, copy.impl_);
  return *this;
}

Tensor& Tensor::operator=(Tensor&& other) & noexcept {
  std::swap(impl_, other.impl_);
  return *this;
}

// Unlike copy_, an assignment drops leading dims of one.
void Tensor::operator=(const In& value) && { index_assign({}, value); }
void Tensor::operator=(const Tensor& value) && { index_assign({}, In(value, {})); }

Tensor Tensor::adopt(TensorImpl* impl) {
  Tensor t;
  t.impl_ = impl;
  return t;
}

void* Tensor::host_object() const { return checked(*this).host; }
void Tensor::set_host_object(void* object) const { checked(*this).host = object; }

std::int64_t Tensor::dim() const { return checked(*this).type->rank(); }
std::int64_t Tensor::numel() const { return checked(*this).numel(); }
DType Tensor::dtype() const { return checked(*this).type->dtype; }
std::int64_t Tensor::element_size() const { return size_of(dtype()); }
std::int64_t Tensor::storage_offset() const { return checked(*this).geometry ? impl_->geometry->offset : 0; }
std::int64_t Tensor::version() const { return checked(*this).storage->version(); }
bool Tensor::is_contiguous() const { return !checked(*this).geometry || impl_->geometry->contiguous(); }
bool Tensor::is_contiguous(MemoryFormat format) const { return is_dense_in(checked(*this).layout(), format); }
bool Tensor::is_view() const { return static_cast<bool>(checked(*this).base); }
std::int64_t Tensor::storage_nbytes() const { return checked(*this).storage->bytes(); }
bool Tensor::shares_storage(const Tensor& other) const { return checked(*this).storage.get() == checked(other).storage.get(); }

Tensor Tensor::base() const {
  TensorImpl* base = checked(*this).base.get();
  if (base) base->retain();
  return adopt(base);
}

Sizes Tensor::sizes() const {
  const Dims dims = sizes_of(*checked(*this).type);
  return {dims.begin(), dims.end()};
}

Sizes Tensor::strides() const {
  const Geometry g = checked(*this).layout();
  return {g.strides.begin(), g.strides.end()};
}

std::int64_t Tensor::size(std::int64_t dim) const {
  const std::int64_t axis = wrap_dim(dim, this->dim());
  require<IndexError>(this->dim() > 0, "Dimension specified as {} but tensor has no dimensions", dim);
  return impl_->type->shape[static_cast<std::size_t>(axis)].number();
}

std::int64_t Tensor::stride(std::int64_t dim) const {
  const std::int64_t axis = wrap_dim(dim, this->dim());
  require<IndexError>(this->dim() > 0, "Dimension specified as {} but tensor has no dimensions", dim);
  return strides()[static_cast<std::size_t>(axis)];
}

// ---- values ----

namespace {

// Evaluates their values. Where a write has failed, the storage is left at its last good version, and the failure is thrown once.
void evaluate_storages(std::span<const StoragePointer> storages) {
  std::vector<engine::Value> values;
  for (const StoragePointer& s : storages) values.push_back(s->value());
  try {
    engine::evaluate(values);
  } catch (...) {
    for (const StoragePointer& s : storages) s->recover();
    throw;
  }
}

// The storage's memory, after running what it waits for.
const std::byte* evaluated_data(const TensorImpl& impl) {
  Storage& storage = *impl.storage;
  evaluate_storages({&impl.storage, 1});
  return static_cast<const std::byte*>(engine::buffer(storage.value()).data());
}

void copy_strided(const std::byte* from, const Geometry& g, std::int64_t element, std::byte* to) {
  if (g.numel() == 0) return;
  if (g.contiguous()) {
    std::memcpy(to, from + g.offset * element, static_cast<std::size_t>(g.numel() * element));
    return;
  }
  Dims index(g.sizes.size(), 0);
  std::int64_t at = g.offset;
  for (std::int64_t left = g.numel(); left-- > 0; to += element) {
    std::memcpy(to, from + at * element, static_cast<std::size_t>(element));
    for (std::size_t axis = g.sizes.size(); axis-- > 0;) {
      at += g.strides[axis];
      if (++index[axis] < g.sizes[axis]) break;
      at -= g.strides[axis] * g.sizes[axis];
      index[axis] = 0;
    }
  }
}

std::uint64_t only_element(const Tensor& tensor) {
  const TensorImpl& impl = checked(tensor);
  invariant(!is_complex(impl.dtype()), "a complex element has 64 bits and more");
  require(impl.numel() == 1, "a Tensor with {} elements cannot be converted to Scalar", impl.numel());
  const std::byte* data = evaluated_data(impl);
  const std::int64_t element = size_of(impl.type->dtype);
  std::uint64_t bits = 0;
  std::memcpy(&bits, data + (impl.geometry ? impl.geometry->offset : 0) * element, static_cast<std::size_t>(element));
  return bits;
}

}  // namespace

std::complex<double> Tensor::item_complex(std::source_location where) const {
  if (!braze::is_complex(checked(*this).dtype())) return item_double(where);
  require(numel() == 1, "a Tensor with {} elements cannot be converted to Scalar", numel());
  std::complex<double> z;
  to(complex128, where).copy_to(&z, complex128);
  return z;
}

double Tensor::item_double(std::source_location where) const {
  if (braze::is_complex(checked(*this).dtype())) return Scalar(item_complex(where)).to_double();
  const std::uint64_t bits = convert_element(only_element(*this), dtype(), DType::f64);
  return std::bit_cast<double>(bits);
}

std::int64_t Tensor::item_int(std::source_location where) const {
  if (braze::is_complex(checked(*this).dtype())) return Scalar(item_complex(where)).to_int();
  return static_cast<std::int64_t>(convert_element(only_element(*this), dtype(), DType::i64));
}

Tensor::operator bool() const {
  require(numel() != 0, "Boolean value of Tensor with no values is ambiguous");
  require(numel() == 1, "Boolean value of Tensor with more than one value is ambiguous");
  if (braze::is_complex(dtype())) return item_complex() != 0.0;
  return convert_element(only_element(*this), dtype(), DType::boolean) != 0;
}

void Tensor::copy_to(void* destination, DType dtype) const {
  const TensorImpl& impl = checked(*this);
  require<TypeError>(dtype == impl.type->dtype, "a tensor of {} is read as {}", info(impl.type->dtype).torch_name,
                     info(dtype).torch_name);
  if (impl.numel() == 0) return;
  if (impl.conjugate) return resolve_conj().copy_to(destination, dtype);
  const std::byte* data = evaluated_data(impl);
  copy_strided(data, impl.layout(), element_size(), static_cast<std::byte*>(destination));
}

namespace {

// Memory shows a conjugated view's elements as they are not.
const TensorImpl& not_conjugated(const Tensor& tensor) {
  const TensorImpl& impl = checked(tensor);
  require(!impl.conjugate, "a tensor that has its conjugate bit set shows no memory of its own: use resolve_conj() first");
  return impl;
}

}  // namespace

const void* Tensor::data() const {
  const TensorImpl& impl = not_conjugated(*this);
  return evaluated_data(impl) + storage_offset() * element_size();
}

const void* Tensor::storage_data() const { return evaluated_data(checked(*this)); }

Tensor::Exported Tensor::export_memory() const {
  const TensorImpl& impl = not_conjugated(*this);
  auto* start = static_cast<std::byte*>(impl.storage->share());
  void* data = start ? start + storage_offset() * element_size() : nullptr;
  return {data, std::shared_ptr<void>(data, [held = impl.storage](void*) { held->unshare(); })};
}

void* Tensor::data_ptr() const {
  auto* start = static_cast<std::byte*>(checked(*this).storage->share());
  return start ? start + storage_offset() * element_size() : nullptr;
}

const Tensor& Tensor::eval() const {
  evaluated_data(checked(*this));
  return *this;
}

bool Tensor::is_evaluated() const { return checked(*this).storage->value()->evaluated(); }

std::string Tensor::describe() const noexcept try {
  if (!defined()) return "undefined";
  const engine::Value& value = impl_->storage->value();
  const engine::State state = value->state.load(std::memory_order_acquire);
  std::string text = fmt::format("{}{} strides {}", info(dtype()).torch_name, sizes_text(sizes()), sizes_text(strides()));
  if (storage_offset() != 0) text += fmt::format(" offset {}", storage_offset());
  text += fmt::format(", {} {}",
                      state == engine::State::evaluated   ? "evaluated"
                      : state == engine::State::failed    ? "failed"
                      : state == engine::State::in_flight ? "being evaluated"
                                                          : "pending",
                      ir::name(value->op));
  if (const std::string where = ir::text(value->location()); !where.empty()) text += " at " + where;
  return text;
} catch (...) {
  return "(no memory to describe the tensor)";
}

std::string Tensor::dump(std::string_view stage) const {
  const engine::Value value = read_as(checked(*this), dtype(), {});
  return engine::stage_text(engine::pending_module({&value, 1}), stage);
}

void eval(std::span<const Tensor> tensors) {
  std::vector<StoragePointer> storages;
  for (const Tensor& t : tensors) storages.push_back(checked(t).storage);
  evaluate_storages(storages);
}

void eval(std::initializer_list<Tensor> tensors) { eval(std::span(tensors.begin(), tensors.size())); }

EagerScope::EagerScope(bool on) : before_(engine::eager()) { engine::set_eager(on); }
EagerScope::~EagerScope() { engine::set_eager(before_); }

EngineStatistics engine_statistics() {
  const engine::Statistics s = engine::statistics();
  return {s.recorded, s.evaluations, s.hits, s.compilations};
}

MemoryStatistics memory_statistics() {
  const runtime::AllocatorStatistics s = runtime::allocator_statistics();
  return {s.live_bytes, s.peak_bytes, s.cached_bytes};
}
void reset_memory_peak() { runtime::reset_peak(); }

void set_log_sink(void (*sink)(const char* line)) {
  if (!sink) return engine::set_log_sink({});
  engine::set_log_sink([sink](const std::string& line) { sink(line.c_str()); });
}

}  // namespace braze

extern "C" const char* braze_describe(const braze::Tensor* tensor) noexcept {
  thread_local std::string text;
  text = tensor->describe();
  return text.c_str();
}
