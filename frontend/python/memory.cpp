// Memory shared with others: NumPy's arrays both ways (by address, so that NumPy's headers are not needed) and DLPack.
#include "frontend/python/memory.h"

#include <cstring>
#include <memory>

#include "frontend/python/data.h"
#include "frontend/python/hooks.h"
#include "ir/error.h"

namespace braze::python {

namespace {

// dlpack.h, version 0.8: the structures that a capsule named "dltensor" points to.
struct DLDevice {
  std::int32_t device_type, device_id;
};
struct DLDataType {
  std::uint8_t code, bits;
  std::uint16_t lanes;
};
struct DLTensor {
  void* data;
  DLDevice device;
  std::int32_t ndim;
  DLDataType dtype;
  std::int64_t *shape, *strides;
  std::uint64_t byte_offset;
};
struct DLManagedTensor {
  DLTensor tensor;
  void* context;
  void (*deleter)(DLManagedTensor*);
};
constexpr std::int32_t dl_cpu = 1;
constexpr const char *fresh = "dltensor", *used = "used_dltensor";
enum : std::uint8_t { dl_int = 0, dl_uint = 1, dl_float = 2, dl_bfloat = 4, dl_complex = 5, dl_bool = 6 };

DLDataType dl_type(DType type) {
  const std::uint8_t code = type == DType::boolean ? dl_bool
                            : type == DType::bf16  ? dl_bfloat
                            : is_complex(type)     ? dl_complex
                            : is_float(type)       ? dl_float
                            : is_signed(type)      ? dl_int
                                                   : dl_uint;
  return {code, static_cast<std::uint8_t>(size_of(type) * 8), 1};
}

DType from_dl_type(DLDataType type) {
  for (const DType t : surface_dtypes) {
    const DLDataType ours = dl_type(t);
    if (ours.code == type.code && ours.bits == type.bits && type.lanes == 1) return t;
  }
  raise(PyExc_BufferError, "Unsupported DLPack type: code {}, {} bits, {} lanes", type.code, type.bits, type.lanes);
}

struct Exported {
  DLManagedTensor managed;
  Tensor::Exported memory;
  Sizes sizes, strides;
};

void delete_exported(DLManagedTensor* managed) { delete static_cast<Exported*>(managed->context); }

void drop_capsule(PyObject* capsule) {
  if (!PyCapsule_IsValid(capsule, fresh)) return;  // whoever consumed it deletes it
  auto* managed = static_cast<DLManagedTensor*>(PyCapsule_GetPointer(capsule, fresh));
  managed->deleter(managed);
}

}  // namespace

PyObject* to_dlpack(const Tensor& tensor) {
  auto exported = std::make_unique<Exported>();
  exported->memory = tensor.export_memory();
  exported->sizes = tensor.sizes();
  exported->strides = tensor.strides();
  exported->managed = {{exported->memory.data,
                        {dl_cpu, 0},
                        static_cast<std::int32_t>(tensor.dim()),
                        dl_type(tensor.dtype()),
                        exported->sizes.data(),
                        exported->strides.data(),
                        0},
                       exported.get(),
                       delete_exported};
  PyObject* capsule = PyCapsule_New(&exported->managed, fresh, drop_capsule);
  if (capsule) exported.release();
  return capsule;
}

Tensor from_dlpack(PyObject* capsule) {
  if (!PyCapsule_IsValid(capsule, fresh))
    raise(PyExc_RuntimeError,
          "from_dlpack received an invalid capsule. Note that DLTensor capsules can be consumed only once, so you might have "
          "already constructed a tensor from it once.");
  auto* managed = static_cast<DLManagedTensor*>(PyCapsule_GetPointer(capsule, fresh));
  const DLTensor& t = managed->tensor;
  if (t.device.device_type != dl_cpu)
    raise(PyExc_BufferError, "Unsupported device type {}: braze's tensors live on the CPU", t.device.device_type);
  const DType type = from_dl_type(t.dtype);
  const Sizes sizes(t.shape, t.shape + t.ndim);
  Sizes strides;
  std::int64_t step = 1;
  for (std::size_t i = sizes.size(); i-- > 0; step *= sizes[i]) strides.insert(strides.begin(), step);
  if (t.strides) strides.assign(t.strides, t.strides + t.ndim);
  auto* data = static_cast<std::byte*>(t.data) + t.byte_offset;
  const std::function<void()> deleter = [managed] {
    if (managed->deleter) managed->deleter(managed);
  };
  const Tensor tensor = from_blob(data, sizes, strides, type, deleter);
  check(PyCapsule_SetName(capsule, used));
  return tensor;
}

PyObject* export_memory(const Tensor& tensor) {
  auto token = std::make_unique<Tensor::Exported>(tensor.export_memory());
  void* data = token->data;
  const Object capsule = Object::steal(PyCapsule_New(token.get(), "braze.memory", [](PyObject* c) {
    delete static_cast<Tensor::Exported*>(PyCapsule_GetPointer(c, "braze.memory"));
  }));
  token.release();
  return Py_BuildValue("(NO)", PyLong_FromVoidPtr(data), capsule.get());
}

Tensor import_memory(std::uintptr_t address, const Sizes& sizes, const Sizes& strides, DType type, PyObject* owner, bool writable) {
  Py_INCREF(owner);
  return from_blob(
      reinterpret_cast<void*>(address), sizes, strides, type, [owner] { release_later(owner); },
      writable ? Access::shared : Access::frozen);
}

}  // namespace braze::python
