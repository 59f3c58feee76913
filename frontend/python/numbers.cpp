// Python's numbers, NumPy's scalars and tensors without dims as numbers.
#include "frontend/python/object.h"
#include "ir/error.h"

namespace braze::python {

namespace {

// NumPy's abstract types; looked up once NumPy is imported by someone, never imported by us.
struct NumpyTypes {
  PyObject *generic = nullptr, *integer = nullptr, *floating = nullptr, *complex = nullptr, *boolean = nullptr;
};

const NumpyTypes* numpy_types() {
  static NumpyTypes types;
  if (types.generic) return &types;
  PyObject* numpy = PyDict_GetItemString(PyImport_GetModuleDict(), "numpy");
  if (!numpy) return nullptr;
  NumpyTypes found;
  found.generic = PyObject_GetAttrString(numpy, "generic");
  found.integer = PyObject_GetAttrString(numpy, "integer");
  found.floating = PyObject_GetAttrString(numpy, "floating");
  found.complex = PyObject_GetAttrString(numpy, "complexfloating");
  found.boolean = PyObject_GetAttrString(numpy, "bool_");
  if (!found.generic || !found.integer || !found.floating || !found.complex || !found.boolean) {  // half imported
    PyErr_Clear();
    return nullptr;
  }
  types = found;
  return &types;
}

bool is_a(PyObject* p, PyObject* NumpyTypes::* type) {
  // What is built in is not NumPy's: most calls end here.
  if (PyUnicode_Check(p) || PyTuple_Check(p) || PyList_Check(p) || p == Py_None || is_tensor(p)) return false;
  const NumpyTypes* types = numpy_types();
  return types && PyObject_TypeCheck(p, reinterpret_cast<PyTypeObject*>(types->*type));
}

bool is_integer_tensor(PyObject* p) { return is_tensor(p) && tensor_of(p).dim() == 0 && is_integer(tensor_of(p).dtype()); }

std::int64_t from_python_int(PyObject* p, PyObject* error = PyExc_ValueError,
                             const char* words = "Overflow when unpacking long long") {
  int overflow = 0;
  const long long value = PyLong_AsLongLongAndOverflow(p, &overflow);
  if (value == -1 && PyErr_Occurred()) throw PythonError{};
  if (overflow) raise(error, "{}: {}", words, repr_text(p));
  return value;
}

}  // namespace

bool is_numpy_scalar(PyObject* p) { return is_a(p, &NumpyTypes::generic); }

bool is_integer(PyObject* p) {
  if (PyLong_Check(p)) return !PyBool_Check(p);
  return is_integer_tensor(p) || is_a(p, &NumpyTypes::integer);
}

bool is_boolean(PyObject* p) { return PyBool_Check(p) || is_a(p, &NumpyTypes::boolean); }

bool is_real(PyObject* p) {
  return PyFloat_Check(p) || PyLong_Check(p) || is_a(p, &NumpyTypes::floating) || is_a(p, &NumpyTypes::integer) ||
         is_a(p, &NumpyTypes::boolean);
}

bool is_number(PyObject* p) { return is_real(p) || PyComplex_Check(p) || is_a(p, &NumpyTypes::complex); }

std::int64_t to_integer(PyObject* p) {
  if (PyLong_Check(p)) return from_python_int(p);
  if (is_tensor(p)) return tensor_of(p).item_int();
  return from_python_int(Object::steal(PyNumber_Index(p)).get());
}

double to_real(PyObject* p) {
  if (PyFloat_Check(p)) return PyFloat_AS_DOUBLE(p);
  if (is_tensor(p)) return tensor_of(p).item_double();
  const double value = PyFloat_AsDouble(p);
  if (value == -1 && PyErr_Occurred()) throw PythonError{};
  return value;
}

Scalar to_scalar(PyObject* p) {
  if (PyFloat_Check(p)) return PyFloat_AS_DOUBLE(p);
  if (PyBool_Check(p)) return p == Py_True;
  if (PyLong_Check(p)) return from_python_int(p, PyExc_OverflowError, "int too big to convert");
  if (is_tensor(p)) {
    const Tensor& t = tensor_of(p);
    if (is_complex(t.dtype())) return t.item_complex();
    if (is_float(t.dtype())) return t.item_double();
    if (t.dtype() == DType::boolean) return static_cast<bool>(t);
    return t.item_int();
  }
  if (is_boolean(p)) return PyObject_IsTrue(p) == 1;
  if (is_integer(p)) return to_integer(p);
  if (PyComplex_Check(p) || is_a(p, &NumpyTypes::complex)) {
    const Py_complex z = PyComplex_AsCComplex(p);
    if (PyErr_Occurred()) throw PythonError{};
    return std::complex<double>(z.real, z.imag);
  }
  return to_real(p);
}

PyObject* from_scalar(const Scalar& scalar) {
  switch (scalar.kind()) {
    case Scalar::Kind::boolean:
      return Py_NewRef(scalar.to_int() ? Py_True : Py_False);
    case Scalar::Kind::integer:
      return PyLong_FromLongLong(scalar.to_int());
    case Scalar::Kind::complex:
      return PyComplex_FromDoubles(scalar.to_complex().real(), scalar.to_complex().imag());
    default:
      return PyFloat_FromDouble(scalar.to_double());
  }
}

bool is_integers(PyObject* p) {
  if (!PyTuple_Check(p) && !PyList_Check(p)) return false;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(p); ++i)
    if (!is_integer(PySequence_Fast_GET_ITEM(p, i))) return false;
  return true;
}

Sizes to_integers(PyObject* p) {
  Sizes out;
  const Py_ssize_t count = PySequence_Fast_GET_SIZE(p);
  out.reserve(static_cast<std::size_t>(count));
  for (Py_ssize_t i = 0; i < count; ++i) out.push_back(to_integer(PySequence_Fast_GET_ITEM(p, i)));
  return out;
}

}  // namespace braze::python
