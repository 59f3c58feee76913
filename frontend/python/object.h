// The small change of CPython: owned references, errors on their way to Python, and conversions between Python's objects and
// Braze's types. The GIL is held wherever these are used.
//
// A Python error is set and PythonError thrown; every function that Python calls runs inside `guarded`, which turns any exception
// into the Python class that PyTorch raises.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <structmember.h>

#include <fmt/format.h>

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "braze/functions.h"
#include "braze/tensor.h"

namespace braze::python {

// A Python error is set; unwinds to `guarded`.
struct PythonError {};

// An owned reference.
class Object {
 public:
  Object() = default;
  static Object steal(PyObject* p) {  // a new reference, or null with an error set
    if (!p) throw PythonError{};
    return Object(p);
  }
  static Object share(PyObject* p) { return Object(Py_XNewRef(p)); }
  Object(const Object& other) : p_(Py_XNewRef(other.p_)) {}
  Object(Object&& other) noexcept : p_(std::exchange(other.p_, nullptr)) {}
  Object& operator=(Object other) noexcept {
    std::swap(p_, other.p_);
    return *this;
  }
  ~Object() { Py_XDECREF(p_); }
  PyObject* get() const { return p_; }
  PyObject* release() { return std::exchange(p_, nullptr); }
  explicit operator bool() const { return p_ != nullptr; }

 private:
  explicit Object(PyObject* p) : p_(p) {}
  PyObject* p_ = nullptr;
};

// Sets a Python error and throws PythonError.
[[noreturn]] void raise(PyObject* type, const std::string& message);
template <class... Args>
[[noreturn]] void raise(PyObject* type, fmt::format_string<Args...> text, Args&&... args) {
  raise(type, fmt::format(text, std::forward<Args>(args)...));
}
inline void check(int status) {
  if (status < 0) throw PythonError{};
}

extern PyObject* linalg_error;  // the class of LinAlgError
void add_errors(PyObject* module);

// In a catch block: sets the Python error that stands for the exception in flight.
void translate_exception() noexcept;
template <class F>
PyObject* guarded(F&& f) noexcept {
  try {
    return f();
  } catch (...) {
    translate_exception();
    return nullptr;
  }
}
template <class F>
int guarded_status(F&& f) noexcept {
  try {
    f();
    return 0;
  } catch (...) {
    translate_exception();
    return -1;
  }
}

// The name in error messages: "int", "numpy.ndarray", "Tensor".
std::string type_name(PyObject* object);
// As repr(object), for messages.
std::string repr_text(PyObject* object);
std::string text_of(PyObject* string);  // a str as UTF-8
PyObject* interned(const char* text);   // never released

// ---- tensors (tensor_type.cpp) ----
struct TensorObject {
  PyObject_HEAD Tensor tensor;
  PyObject* dict;
  PyObject* weak_references;
};
extern PyTypeObject* tensor_type;  // braze.Tensor
inline bool is_tensor(PyObject* p) { return Py_TYPE(p) == tensor_type || PyType_IsSubtype(Py_TYPE(p), tensor_type); }
inline Tensor& tensor_of(PyObject* p) { return reinterpret_cast<TensorObject*>(p)->tensor; }
// The Python object that stands for the tensor: always the same one while it lives.
PyObject* wrap(const Tensor& tensor);
PyObject* wrap(Tensor&& tensor);
// A new object of a subclass for a tensor that has none yet.
PyObject* wrap_as(PyTypeObject* type, const Tensor& tensor);

// ---- numbers (numbers.cpp) ----
// What PyTorch takes for each: Python's own, NumPy's scalars, tensors without dims (integers only of integer dtype, not bool).
bool is_integer(PyObject* p);
bool is_real(PyObject* p);     // bool, int, float and NumPy's
bool is_boolean(PyObject* p);  // bool and numpy.bool_
bool is_number(PyObject* p);   // is_real, and complex
bool is_numpy_scalar(PyObject* p);
std::int64_t to_integer(PyObject* p);  // past 64 bits a ValueError
double to_real(PyObject* p);
Scalar to_scalar(PyObject* p);  // past 64 bits an OverflowError
PyObject* from_scalar(const Scalar& scalar);
// A tuple or list of integers.
bool is_integers(PyObject* p);
Sizes to_integers(PyObject* p);

// ---- dtypes, sizes, devices (types.cpp) ----
PyObject* dtype_object(DType type);  // borrowed; one for ever
bool is_dtype(PyObject* p);          // also the types float, int and bool
DType to_dtype(PyObject* p);
PyObject* make_size(std::span<const std::int64_t> sizes);  // braze.Size
bool is_device(PyObject* p);                               // a device, its name, or an index
// Raises where the device is unknown, or known and not supported.
void require_supported_device(PyObject* p, bool creating = false);
bool is_layout(PyObject* p);
bool is_memory_format(PyObject* p);
MemoryFormat to_memory_format(PyObject* p);

}  // namespace braze::python
