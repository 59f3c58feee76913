// What is known of a Tensor without evaluating it, conversions by name, and storages.
#include "frontend/positions.h"
#include "frontend/tensor_impl.h"

#include "braze/functions.h"

namespace braze {

// ---- conversions ----

Tensor AttributeMethods::bool_(Line where) const { return self_of(this).to(DType::boolean, where); }
Tensor AttributeMethods::byte(Line where) const { return self_of(this).to(DType::u8, where); }
Tensor AttributeMethods::char_(Line where) const { return self_of(this).to(DType::i8, where); }
Tensor AttributeMethods::short_(Line where) const { return self_of(this).to(DType::i16, where); }
Tensor AttributeMethods::int_(Line where) const { return self_of(this).to(DType::i32, where); }
Tensor AttributeMethods::long_(Line where) const { return self_of(this).to(DType::i64, where); }
Tensor AttributeMethods::half(Line where) const { return self_of(this).to(DType::f16, where); }
Tensor AttributeMethods::bfloat16(Line where) const { return self_of(this).to(DType::bf16, where); }
Tensor AttributeMethods::float_(Line where) const { return self_of(this).to(DType::f32, where); }
Tensor AttributeMethods::double_(Line where) const { return self_of(this).to(DType::f64, where); }
Tensor AttributeMethods::type(DType dtype, Line where) const { return self_of(this).to(dtype, where); }
std::string AttributeMethods::type() const { return fmt::format("braze.{}Tensor", info(self_of(this).dtype()).scalar_name); }
Tensor AttributeMethods::cuda() const { return self_of(this).to(Device(Device::Type::cuda)); }

// ---- attributes ----

std::int64_t AttributeMethods::ndimension() const { return self_of(this).dim(); }
std::int64_t AttributeMethods::nelement() const { return self_of(this).numel(); }
std::int64_t AttributeMethods::itemsize() const { return self_of(this).element_size(); }
bool AttributeMethods::is_same_size(const Tensor& other) const { return self_of(this).sizes() == other.sizes(); }
bool AttributeMethods::is_set_to(const Tensor& other) const {
  const Tensor& x = self_of(this);
  return x.shares_storage(other) && x.storage_offset() == other.storage_offset() && x.sizes() == other.sizes() &&
         x.strides() == other.strides();
}
UntypedStorage AttributeMethods::untyped_storage() const { return UntypedStorage(self_of(this)); }
TypedStorage AttributeMethods::storage() const { return TypedStorage(self_of(this)); }
Tensor AttributeMethods::new_tensor(const NestedData& data, std::optional<DType> dtype) const {
  return tensor(data, {dtype.value_or(self_of(this).dtype())});
}

bool is_same_size(const Tensor& x, const Tensor& other) { return x.is_same_size(other); }
std::int64_t numel(const Tensor& x) { return x.numel(); }

// ---- storages ----

namespace {

Tensor whole_storage(const Tensor& x) { return x.detach().as_strided({x.storage_nbytes() / x.element_size()}, {1}, 0); }

std::int64_t position(std::int64_t index, std::int64_t size) {
  require<IndexError>(index >= -size && index < size, "index {} out of range for storage of size {}", index, size);
  return index < 0 ? index + size : index;
}

}  // namespace

UntypedStorage::UntypedStorage(const Tensor& tensor) : elements_(whole_storage(tensor)) {}
UntypedStorage::UntypedStorage(std::int64_t bytes) : elements_(empty({bytes}, {DType::u8})) {}
std::int64_t UntypedStorage::nbytes() const { return elements_.storage_nbytes(); }
const void* UntypedStorage::data() const { return elements_.storage_data(); }
void* UntypedStorage::data_ptr() const { return elements_.data_ptr(); }
std::uint8_t UntypedStorage::operator[](std::int64_t index) const {
  return static_cast<std::uint8_t>(tensor(DType::u8)(position(index, nbytes())).item_int());
}
void UntypedStorage::set(std::int64_t index, std::uint8_t byte) { tensor(DType::u8)(position(index, nbytes())) = byte; }
UntypedStorage UntypedStorage::clone() const { return UntypedStorage(elements_.clone()); }
UntypedStorage& UntypedStorage::copy_(const UntypedStorage& source) {
  tensor(DType::u8).copy_(source.tensor(DType::u8));
  return *this;
}
Tensor UntypedStorage::tensor(DType dtype) const { return dtype == elements_.dtype() ? elements_ : elements_.view(dtype); }
bool UntypedStorage::operator==(const UntypedStorage& other) const { return elements_.shares_storage(other.elements_); }

TypedStorage::TypedStorage(const Tensor& tensor) : elements_(whole_storage(tensor)) {}
Scalar TypedStorage::operator[](std::int64_t index) const {
  const Tensor element = elements_(position(index, size()));
  if (is_complex(dtype())) return element.item_complex();
  if (is_float(dtype())) return element.item_double();
  return dtype() == DType::boolean ? Scalar(element.item_int() != 0) : Scalar(element.item_int());
}
void TypedStorage::set(std::int64_t index, Scalar value) { elements_(position(index, size())) = In(value); }

}  // namespace braze
