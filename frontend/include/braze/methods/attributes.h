// What is known of a Tensor without evaluating it, and conversions by name, as methods of Tensor.
// https://pytorch.org/docs/stable/tensors.html#torch.Tensor
#pragma once

#include <cstdint>
#include <optional>
#include <source_location>
#include <string>

#include "braze/dtype.h"
#include "braze/memory_format.h"
#include "braze/sizes.h"

namespace braze {

class NestedData;
class Tensor;
class TypedStorage;
class UntypedStorage;

class AttributeMethods {
  using Line = std::source_location;

 public:
  // ---- to a dtype: itself where nothing changes. Where C++ has PyTorch's word for itself, with a `_` ----
  Tensor bool_(Line where = Line::current()) const;
  Tensor byte(Line where = Line::current()) const;   // uint8
  Tensor char_(Line where = Line::current()) const;  // int8
  Tensor short_(Line where = Line::current()) const;
  Tensor int_(Line where = Line::current()) const;
  Tensor long_(Line where = Line::current()) const;
  Tensor half(Line where = Line::current()) const;
  Tensor bfloat16(Line where = Line::current()) const;
  Tensor float_(Line where = Line::current()) const;
  Tensor double_(Line where = Line::current()) const;
  Tensor type(DType dtype, Line where = Line::current()) const;
  // As PyTorch names the type: "braze.FloatTensor". https://pytorch.org/docs/stable/generated/torch.Tensor.type.html
  std::string type() const;
  // Throws DeviceError: there is no CUDA memory.
  Tensor cuda() const;

  // ---- attributes ----
  std::int64_t ndimension() const;  // dim()
  std::int64_t nelement() const;    // numel()
  std::int64_t itemsize() const;    // element_size()
  Layout layout() const { return Layout::strided; }
  std::int64_t get_device() const { return -1; }  // PyTorch's number for the CPU
  bool is_cpu() const { return true; }
  bool is_cuda() const { return false; }
  bool is_xpu() const { return false; }
  bool is_mps() const { return false; }
  bool is_meta() const { return false; }
  bool is_sparse() const { return false; }
  bool is_quantized() const { return false; }
  bool is_same_size(const Tensor& other) const;
  // The same elements of the same memory, in the same layout.
  bool is_set_to(const Tensor& other) const;

  // ---- the memory behind this tensor and its views (braze/storage.h) ----
  UntypedStorage untyped_storage() const;
  TypedStorage storage() const;

  // A copy of nested data, of this dtype unless told.
  Tensor new_tensor(const NestedData& data, std::optional<DType> dtype = {}) const;

 protected:
  ~AttributeMethods() = default;  // a base of Tensor, never used alone
};

}  // namespace braze
