// Storages: the memory behind a tensor and its views, seen as bytes or as elements of the tensor's dtype.
// https://pytorch.org/docs/stable/storage.html
#pragma once

#include "braze/tensor.h"

namespace braze {

class UntypedStorage {
 public:
  explicit UntypedStorage(const Tensor& tensor);  // what x.untyped_storage() gives
  explicit UntypedStorage(std::int64_t bytes);    // new memory
  std::int64_t nbytes() const;
  std::int64_t size() const { return nbytes(); }
  Device device() const { return elements_.device(); }
  const void* data() const;  // as Tensor::data()
  void* data_ptr() const;    // as Tensor::data_ptr()
  // Throws IndexError outside the storage; negative indices count from the end.
  std::uint8_t operator[](std::int64_t index) const;
  void set(std::int64_t index, std::uint8_t byte);
  UntypedStorage clone() const;
  // Throws Error where the sizes differ.
  UntypedStorage& copy_(const UntypedStorage& source);
  // All elements, on this memory: a vector. Throws Error where the bytes are no multiple of the element's.
  Tensor tensor(DType dtype) const;
  // The same memory.
  bool operator==(const UntypedStorage& other) const;

 private:
  Tensor elements_;  // all of them, from the first byte
};

class TypedStorage {
 public:
  explicit TypedStorage(const Tensor& tensor);  // what x.storage() gives
  DType dtype() const { return elements_.dtype(); }
  Device device() const { return elements_.device(); }
  std::int64_t size() const { return elements_.numel(); }
  std::int64_t nbytes() const { return elements_.nbytes(); }
  std::int64_t element_size() const { return elements_.element_size(); }
  void* data_ptr() const { return elements_.data_ptr(); }
  UntypedStorage untyped() const { return UntypedStorage(elements_); }
  // Throws IndexError outside the storage.
  Scalar operator[](std::int64_t index) const;
  void set(std::int64_t index, Scalar value);
  template <class T>
  std::vector<T> to_vector() const {
    return elements_.to_vector<T>();
  }

 private:
  Tensor elements_;
};

}  // namespace braze
