// Functions of tensors between C++ and Python, in both directions.
#pragma once

#include <nanobind/nanobind.h>

#include <memory>
#include <span>
#include <vector>

#include "frontend/python/hooks.h"
#include "frontend/python/object.h"

namespace braze::python {

// What `f` returns, a new reference; an error on its way becomes Python's, as everywhere (see guarded).
template <class F>
nanobind::object object(F&& f) {
  PyObject* result = guarded(std::forward<F>(f));
  if (!result) throw nanobind::python_error();
  return nanobind::steal(result);
}

inline const Tensor& tensor_argument(nanobind::handle h) {
  if (!is_tensor(h.ptr())) raise(PyExc_TypeError, "expected a Tensor, got {}", type_name(h.ptr()));
  return tensor_of(h.ptr());
}

// None stands for an undefined tensor.
inline std::vector<Tensor> tensors_of(nanobind::handle sequence) {
  std::vector<Tensor> tensors;
  const Object list = Object::steal(PySequence_Fast(sequence.ptr(), "expected a sequence of tensors"));
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(list.get()); ++i) {
    PyObject* item = PySequence_Fast_GET_ITEM(list.get(), i);
    tensors.push_back(item == Py_None ? Tensor() : tensor_argument(item));
  }
  return tensors;
}

inline Object list_of(std::span<const Tensor> tensors) {
  Object list = Object::steal(PyList_New(static_cast<Py_ssize_t>(tensors.size())));
  for (std::size_t i = 0; i < tensors.size(); ++i)
    PyList_SET_ITEM(list.get(), static_cast<Py_ssize_t>(i), Object::steal(wrap(tensors[i])).release());
  return list;
}

// A callable of one list of tensors that returns a sequence of tensors.
inline std::vector<Tensor> call_with_tensors(PyObject* callable, std::span<const Tensor> tensors) {
  return tensors_of(Object::steal(PyObject_CallOneArg(callable, list_of(tensors).get())).get());
}

// Kept from any thread.
inline std::shared_ptr<PyObject> shared(PyObject* object) { return {Py_NewRef(object), release_later}; }

class Gil {
 public:
  Gil() : state_(PyGILState_Ensure()) {}
  ~Gil() { PyGILState_Release(state_); }
  Gil(const Gil&) = delete;

 private:
  PyGILState_STATE state_;
};

}  // namespace braze::python
