// x[...]: Python's keys become the entries that Tensor::index takes.
#include "frontend/python/signature.h"
#include "frontend/python/tensor_type.h"
#include "ir/error.h"

namespace braze::python {

namespace {

std::optional<std::int64_t> bound(PyObject* p) {
  if (p == Py_None) return std::nullopt;
  if (!is_integer(p) && !PyIndex_Check(p))
    raise(PyExc_TypeError, "slice indices must be integers or None or have an __index__ method");
  const Object number = Object::steal(PyNumber_Index(p));
  int overflow = 0;
  const long long value = PyLong_AsLongLongAndOverflow(number.get(), &overflow);
  if (overflow) return overflow > 0 ? std::numeric_limits<std::int64_t>::max() : std::numeric_limits<std::int64_t>::min();
  return value;
}

Index slice_of(PyObject* p) {
  const auto* s = reinterpret_cast<PySliceObject*>(p);
  const std::optional<std::int64_t> step = bound(s->step);
  if (step && *step <= 0) raise(PyExc_ValueError, "step must be greater than zero");
  return slice(bound(s->start), bound(s->stop), step.value_or(1));
}

// A list, an array: positions or a mask.
Object as_tensor(PyObject* p) {
  static PyObject* convert =
      Object::steal(PyObject_GetAttrString(Object::steal(PyImport_ImportModule("braze._creation")).get(), "index_tensor"))
          .release();
  return Object::steal(PyObject_CallOneArg(convert, p));
}

Index entry(PyObject* p) {
  if (PySlice_Check(p)) return slice_of(p);
  if (p == Py_Ellipsis) return ellipsis;
  if (p == Py_None) return newaxis;
  if (is_boolean(p)) return PyObject_IsTrue(p) == 1;
  if (is_tensor(p)) return tensor_of(p);
  if (is_integer(p)) return to_integer(p);
  if (PyList_Check(p) || PyTuple_Check(p) || PySequence_Check(p)) return tensor_of(as_tensor(p).get());
  if (PyIndex_Check(p)) return to_integer(Object::steal(PyNumber_Index(p)).get());
  raise(PyExc_IndexError,
        "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid indices (got {})", type_name(p));
}

// A tuple is one entry a dim; so is a short list that holds a tensor, a sequence, a slice, an ellipsis or None: PyTorch's
// treatSequenceAsTuple.
bool is_tuple_of_entries(PyObject* key) {
  if (PyTuple_Check(key)) return true;
  if (!PyList_Check(key) || PyList_GET_SIZE(key) >= 32) return false;
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(key); ++i) {
    PyObject* item = PyList_GET_ITEM(key, i);
    if (is_tensor(item) || PySlice_Check(item) || item == Py_Ellipsis || item == Py_None) return true;
    if (PySequence_Check(item) && !PyUnicode_Check(item)) return true;
  }
  return false;
}

class Entries {
 public:
  explicit Entries(PyObject* key) {
    if (!is_tuple_of_entries(key)) {
      list_.push_back(entry(key));
      return;
    }
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(key); ++i) list_.push_back(entry(PySequence_Fast_GET_ITEM(key, i)));
  }
  std::span<const Index> view() const { return list_; }

 private:
  std::vector<Index> list_;
};

}  // namespace

PyObject* get_item(PyObject* self, PyObject* key) {
  return guarded([&] {
    const Tensor& t = tensor_of(self);
    if (PyLong_CheckExact(key)) {
      if (t.dim() == 0)
        raise(PyExc_IndexError,
              "invalid index of a 0-dim tensor. Use `tensor.item()` in Python or `tensor.item<T>()` in C++ to convert a 0-dim "
              "tensor to a number");
      return wrap(t.select(0, to_integer(key)));
    }
    return wrap(t.index(Entries(key).view()));
  });
}

int set_item(PyObject* self, PyObject* key, PyObject* value) {
  return guarded_status([&] {
    if (!value) raise(PyExc_TypeError, "Tensor does not support deleting items");
    Tensor& t = tensor_of(self);
    const Entries entries(key);
    if (is_tensor(value)) {
      t.index_assign(entries.view(), tensor_of(value));
    } else if (PyLong_Check(value) && !PyBool_Check(value)) {
      t.index_assign(entries.view(), to_integer(value));
    } else if (PyFloat_Check(value) || PyBool_Check(value) ||
               PyComplex_Check(value)) {  // NumPy's other scalars are refused, as in PyTorch
      t.index_assign(entries.view(), to_scalar(value));
    } else {
      const Object name = Object::steal(PyObject_CallMethod(self, "type", nullptr));
      raise(PyExc_TypeError, "can't assign a {} to a {}", type_name(value), text_of(name.get()));
    }
  });
}

}  // namespace braze::python
