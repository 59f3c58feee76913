// Memory shared with others: NumPy's arrays both ways (by address, so that NumPy's headers are not needed) and DLPack.
#include "frontend/python/memory.h"

#include <memory>

#include "braze/dlpack.h"
#include "frontend/dlpack.h"
#include "frontend/python/data.h"
#include "frontend/python/hooks.h"
#include "ir/error.h"

namespace braze::python {

namespace {

constexpr const char *fresh = "dltensor", *used = "used_dltensor";

void drop_capsule(PyObject* capsule) {
  if (!PyCapsule_IsValid(capsule, fresh)) return;  // whoever consumed it deletes it
  auto* managed = static_cast<DLManagedTensor*>(PyCapsule_GetPointer(capsule, fresh));
  managed->deleter(managed);
}

}  // namespace

PyObject* to_capsule(const Tensor& tensor) {
  DLManagedTensor* managed = to_dlpack(tensor);
  PyObject* capsule = PyCapsule_New(managed, fresh, drop_capsule);
  if (!capsule) managed->deleter(managed);
  return capsule;
}

Tensor from_capsule(PyObject* capsule) {
  if (!PyCapsule_IsValid(capsule, fresh))
    raise(PyExc_RuntimeError,
          "from_dlpack received an invalid capsule. Note that DLTensor capsules can be consumed only once, so you might have "
          "already constructed a tensor from it once.");
  const auto taken = [&] {
    try {
      return from_dlpack(static_cast<DLManagedTensor*>(PyCapsule_GetPointer(capsule, fresh)));
    } catch (const DeviceError& e) {
      raise(PyExc_BufferError, "{}", e.what());
    } catch (const TypeError& e) {
      raise(PyExc_BufferError, "{}", e.what());
    }
  };
  const Tensor tensor = taken();
  check(PyCapsule_SetName(capsule, used));
  return tensor;
}

PyObject* export_memory(const Tensor& tensor) {
  auto token = std::make_unique<Tensor::Exported>(tensor.export_memory());
  void* data = token->data;
  const Object capsule = Object::steal(PyCapsule_New(token.get(), "braze.memory", [](PyObject* c) {
    delete static_cast<Tensor::Exported*>(PyCapsule_GetPointer(c, "braze.memory"));
  }));
  [[maybe_unused]] const Tensor::Exported* const owned_by_the_capsule = token.release();
  return Py_BuildValue("(NO)", PyLong_FromVoidPtr(data), capsule.get());
}

Tensor import_memory(std::uintptr_t address, const Sizes& sizes, const Sizes& strides, DType type, PyObject* owner, bool writable) {
  Py_INCREF(owner);
  return from_blob(
      reinterpret_cast<void*>(address), sizes, strides, type, [owner] { release_later(owner); },
      writable ? Access::shared : Access::frozen);
}

}  // namespace braze::python
