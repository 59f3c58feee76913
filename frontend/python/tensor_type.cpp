// The Python type Tensor. Methods come from the tables; here are life, attributes, operators and indexing.
//
// One Python object a TensorImpl: the impl remembers it, so the same tensor is always the same object. Objects come from a free list
// and are known to the garbage collector only once they have a __dict__: a plain tensor refers to nothing.
#include "frontend/python/tensor_type.h"

#include <cstddef>
#include <limits>
#include <new>

#include "frontend/python/signature.h"
#include "frontend/python/types.h"
#include "ir/error.h"

namespace braze::python {

PyTypeObject* tensor_type = nullptr;

namespace {

// ---- life ----

constexpr std::size_t kept = 256;
TensorObject* free_list[kept];
std::size_t free_count = 0;

TensorObject* allocate() {
  if (free_count > 0) {
    TensorObject* self = free_list[--free_count];
    return reinterpret_cast<TensorObject*>(PyObject_Init(reinterpret_cast<PyObject*>(self), tensor_type));
  }
  return PyObject_GC_New(TensorObject, tensor_type);
}

void track_dict(PyObject* self) {
  if (reinterpret_cast<TensorObject*>(self)->dict && !PyObject_GC_IsTracked(self)) PyObject_GC_Track(self);
}

int traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(reinterpret_cast<TensorObject*>(self)->dict);
  return 0;
}

int clear(PyObject* self) {
  Py_CLEAR(reinterpret_cast<TensorObject*>(self)->dict);
  return 0;
}

void deallocate(PyObject* object) {
  auto* self = reinterpret_cast<TensorObject*>(object);
  PyTypeObject* type = Py_TYPE(object);
  if (PyObject_GC_IsTracked(object)) PyObject_GC_UnTrack(object);
  if (self->weak_references) PyObject_ClearWeakRefs(object);
  Py_CLEAR(self->dict);
  if (self->tensor.defined() && self->tensor.host_object() == object) self->tensor.set_host_object(nullptr);
  self->tensor.~Tensor();
  if (type == tensor_type && free_count < kept)
    free_list[free_count++] = self;
  else
    type->tp_free(object);
  Py_DECREF(type);
}

PyObject* finish(TensorObject* self, Tensor tensor) {
  if (!self) return nullptr;
  tensor.set_host_object(self);
  new (&self->tensor) Tensor(std::move(tensor));
  self->dict = nullptr;
  self->weak_references = nullptr;
  return reinterpret_cast<PyObject*>(self);
}

// ---- operands ----

// A tensor or one of Python's own numbers, without any search; everything else takes the tables' way.
std::optional<In> quick_operand(PyObject* p) {
  if (is_tensor(p)) return In(tensor_of(p));
  if (PyFloat_CheckExact(p)) return In(PyFloat_AS_DOUBLE(p));
  if (PyLong_CheckExact(p)) {
    int overflow = 0;
    const long long value = PyLong_AsLongLongAndOverflow(p, &overflow);
    if (!overflow) return In(static_cast<std::int64_t>(value));
    return std::nullopt;
  }
  if (PyBool_Check(p)) return In(p == Py_True);
  if (PyComplex_CheckExact(p)) return In(std::complex<double>(PyComplex_RealAsDouble(p), PyComplex_ImagAsDouble(p)));
  return std::nullopt;
}

bool is_numpy_array(PyObject* p) { return std::string_view(Py_TYPE(p)->tp_name) == "numpy.ndarray"; }

// A NumPy array beside a tensor is one.
Object operand(PyObject* p) {
  if (!is_numpy_array(p)) return Object::share(p);
  static PyObject* convert =
      Object::steal(PyObject_GetAttrString(Object::steal(PyImport_ImportModule("braze")).get(), "as_tensor")).release();
  return Object::steal(PyObject_CallOneArg(convert, p));
}

// By the table's row, which knows NumPy's scalars and whatever else; NotImplemented lets the other operand try.
PyObject* by_table(const Function* f, PyObject* a, PyObject* b) {
  const Object left = operand(a), right = operand(b);
  PyObject* operands[] = {left.get(), right.get()};
  PyObject* result = f ? f->call_or_null(nullptr, operands, 2) : nullptr;
  if (!result && !PyErr_Occurred()) Py_RETURN_NOTIMPLEMENTED;
  if (!result) throw PythonError{};
  return result;
}

template <auto operation, const auto& name>
PyObject* binary(PyObject* a, PyObject* b) {
  return guarded([&] {
    const std::optional<In> left = quick_operand(a), right = quick_operand(b);
    if (left && right) return wrap(operation(*left, *right));
    static const Function* f = find_function("", name);
    return by_table(f, a, b);
  });
}

template <auto operation, const auto& name>
PyObject* binary_in_place(PyObject* a, PyObject* b) {
  return guarded([&]() -> PyObject* {
    if (const std::optional<In> right = quick_operand(b)) {
      operation(tensor_of(a), *right);
      return Py_NewRef(a);
    }
    static const Function* f = find_function("Tensor", name);
    if (!f || is_numpy_array(b)) Py_RETURN_NOTIMPLEMENTED;
    PyObject* result = f->call_or_null(a, &b, 1);
    if (!result && !PyErr_Occurred()) Py_RETURN_NOTIMPLEMENTED;
    return result;
  });
}

#define BRAZE_OPERATOR(slot, function, expression) \
  constexpr char slot##_name[] = function;         \
  constexpr auto slot##_of = [](const In& a, const In& b) { return expression; };
BRAZE_OPERATOR(op_add, "add", a + b)
BRAZE_OPERATOR(op_subtract, "sub", a - b)
BRAZE_OPERATOR(op_multiply, "mul", a* b)
BRAZE_OPERATOR(op_divide, "true_divide", a.is_scalar() ? reciprocal(b) * a : a / b)  // as PyTorch: a scalar times the reciprocal
BRAZE_OPERATOR(op_floor_divide, "floor_divide", floor_divide(a, b))
BRAZE_OPERATOR(op_remainder, "remainder", remainder(a, b))
BRAZE_OPERATOR(op_and, "bitwise_and", a& b)
BRAZE_OPERATOR(op_or, "bitwise_or", a | b)
BRAZE_OPERATOR(op_xor, "bitwise_xor", a ^ b)
BRAZE_OPERATOR(op_shift_left, "bitwise_left_shift", a << b)
BRAZE_OPERATOR(op_shift_right, "bitwise_right_shift", a >> b)
BRAZE_OPERATOR(op_matmul, "matmul", matmul(a, b))
BRAZE_OPERATOR(op_power, "pow", pow(a, b))
BRAZE_OPERATOR(op_eq, "eq", a == b)
BRAZE_OPERATOR(op_ne, "ne", a != b)
BRAZE_OPERATOR(op_lt, "lt", a < b)
BRAZE_OPERATOR(op_le, "le", a <= b)
BRAZE_OPERATOR(op_gt, "gt", a > b)
BRAZE_OPERATOR(op_ge, "ge", a >= b)
#undef BRAZE_OPERATOR

#define BRAZE_IN_PLACE(slot, function, expression) \
  constexpr char slot##_name[] = function;         \
  constexpr auto slot##_of = [](Tensor& a, const In& b) { expression; };
BRAZE_IN_PLACE(in_place_add, "add_", a += b)
BRAZE_IN_PLACE(in_place_subtract, "sub_", a -= b)
BRAZE_IN_PLACE(in_place_multiply, "mul_", a *= b)
BRAZE_IN_PLACE(in_place_divide, "div_", a /= b)
BRAZE_IN_PLACE(in_place_floor_divide, "floor_divide_", a.floor_divide_(b))
BRAZE_IN_PLACE(in_place_remainder, "remainder_", a.remainder_(b))
BRAZE_IN_PLACE(in_place_and, "bitwise_and_", a.bitwise_and_(b))
BRAZE_IN_PLACE(in_place_or, "bitwise_or_", a.bitwise_or_(b))
BRAZE_IN_PLACE(in_place_xor, "bitwise_xor_", a.bitwise_xor_(b))
BRAZE_IN_PLACE(in_place_power, "pow_", a.pow_(b))
BRAZE_IN_PLACE(in_place_shift_left, "bitwise_left_shift_", a.shift_left_(b))
BRAZE_IN_PLACE(in_place_shift_right, "bitwise_right_shift_", a.shift_right_(b))
#undef BRAZE_IN_PLACE

PyObject* power(PyObject* a, PyObject* b, PyObject*) { return binary<op_power_of, op_power_name>(a, b); }
PyObject* power_in_place(PyObject* a, PyObject* b, PyObject*) {
  return binary_in_place<in_place_power_of, in_place_power_name>(a, b);
}

PyObject* negate(PyObject* self) {
  return guarded([&] { return wrap(-In(tensor_of(self))); });
}
PyObject* invert(PyObject* self) {
  return guarded([&] {
    require<TypeError>(!is_float(tensor_of(self).dtype()) && !is_complex(tensor_of(self).dtype()),
                       "~ (operator.invert) is only implemented on integer and Boolean-type tensors");
    return wrap(~In(tensor_of(self)));
  });
}
PyObject* absolute(PyObject* self) {
  return guarded([&] { return wrap(abs(tensor_of(self))); });
}
PyObject* positive(PyObject* self) {
  return guarded([&] {
    require<NotImplementedError>(tensor_of(self).dtype() != DType::boolean, "The `+` operator, on a bool tensor is not supported.");
    return Py_NewRef(self);
  });
}

PyObject* compare(PyObject* a, PyObject* b, int operation) {
  switch (operation) {
    case Py_EQ:
      return binary<op_eq_of, op_eq_name>(a, b);
    case Py_NE:
      return binary<op_ne_of, op_ne_name>(a, b);
    case Py_LT:
      return binary<op_lt_of, op_lt_name>(a, b);
    case Py_LE:
      return binary<op_le_of, op_le_name>(a, b);
    case Py_GT:
      return binary<op_gt_of, op_gt_name>(a, b);
    default:
      return binary<op_ge_of, op_ge_name>(a, b);
  }
}

// ---- as numbers ----

PyObject* item(const Tensor& t) {
  if (is_complex(t.dtype())) return from_scalar(t.item_complex());
  if (is_float(t.dtype())) return PyFloat_FromDouble(t.item_double());
  const std::int64_t value = t.item_int();
  if (t.dtype() == DType::boolean) return to_python_bool(value != 0);
  return PyLong_FromLongLong(value);
}

int truth(PyObject* self) {
  int value = -1;
  guarded_status([&] { value = static_cast<bool>(tensor_of(self)); });
  return value;
}

PyObject* as_int(PyObject* self) {
  return guarded([&] {
    require<ValueError>(tensor_of(self).numel() == 1, "only one element tensors can be converted to Python scalars");
    if (is_complex(tensor_of(self).dtype())) return PyLong_FromLongLong(tensor_of(self).item_int());
    const Object number = Object::steal(item(tensor_of(self)));
    return PyNumber_Long(number.get());
  });
}

PyObject* as_float(PyObject* self) {
  return guarded([&] {
    require<ValueError>(tensor_of(self).numel() == 1, "only one element tensors can be converted to Python scalars");
    return PyFloat_FromDouble(tensor_of(self).item_double());
  });
}

PyObject* as_index(PyObject* self) {
  return guarded([&] {
    const Tensor& t = tensor_of(self);
    if (t.numel() != 1 || !(is_integer(t.dtype()) || t.dtype() == DType::boolean))
      raise(PyExc_TypeError, "only integer tensors of a single element can be converted to an index");
    return PyLong_FromLongLong(t.item_int());
  });
}

Py_hash_t hash(PyObject* self) { return _Py_HashPointer(self); }

PyObject* show(PyObject* self) {
  return guarded([&] {
    const std::string text = tensor_of(self).str();
    return PyUnicode_FromStringAndSize(text.data(), static_cast<Py_ssize_t>(text.size()));
  });
}

// ---- as a sequence ----

Py_ssize_t length(PyObject* self) {
  Py_ssize_t count = -1;
  guarded_status([&] {
    const Tensor& t = tensor_of(self);
    if (t.dim() == 0) raise(PyExc_TypeError, "len() of a 0-d tensor");
    count = t.size(0);
  });
  return count;
}

PyObject* iterate(PyObject* self) {
  return guarded([&] {
    const Tensor& t = tensor_of(self);
    if (t.dim() == 0) raise(PyExc_TypeError, "iteration over a 0-d tensor");
    return PyObject_GetIter(Object::steal(to_python(t.unbind(0))).get());
  });
}

// ---- attributes ----

using Getter = PyObject* (*)(const Tensor&);
template <Getter get>
PyObject* attribute(PyObject* self, void*) {
  return guarded([&] { return get(tensor_of(self)); });
}

PyObject* size_of_tensor(const Tensor& t) {
  const Sizes sizes = t.sizes();
  return make_size(sizes);
}

// x.real = y and x.imag = y write through the views.
template <Tensor (ComplexMethods::*part)() const>
int set_part(PyObject* self, PyObject* value, void*) {
  return guarded_status([&] {
    if (!value) raise(PyExc_AttributeError, "a part of a tensor cannot be deleted");
    Tensor target = (tensor_of(self).*part)();
    if (is_tensor(value)) return static_cast<void>(target.copy_(tensor_of(value)));
    if (!is_number(value)) raise(PyExc_TypeError, "a part of a tensor is a tensor or a number, not {}", type_name(value));
    target.copy_(In(to_scalar(value)));
  });
}

PyObject* get_dict(PyObject* self, void*) {
  auto* object = reinterpret_cast<TensorObject*>(self);
  if (!object->dict) object->dict = PyDict_New();
  track_dict(self);
  return Py_XNewRef(object->dict);
}

int set_dict(PyObject* self, PyObject* value, void*) {
  if (!value || !PyDict_Check(value)) {
    PyErr_SetString(PyExc_TypeError, "__dict__ must be set to a dictionary");
    return -1;
  }
  Py_XSETREF(reinterpret_cast<TensorObject*>(self)->dict, Py_NewRef(value));
  track_dict(self);
  return 0;
}

int set_attribute(PyObject* self, PyObject* name, PyObject* value) {
  const int status = PyObject_GenericSetAttr(self, name, value);
  track_dict(self);
  return status;
}

int set_requires_grad(PyObject* self, PyObject* value, void*) {
  return guarded_status([&] {
    if (!value || !PyBool_Check(value)) raise(PyExc_RuntimeError, "requires_grad must be a bool");
    const DType type = tensor_of(self).dtype();
    require(value != Py_True || is_float(type) || is_complex(type),
            "only Tensors of floating point and complex dtype can require gradients");
    tensor_of(self).requires_grad_(value == Py_True);
  });
}

int set_grad(PyObject* self, PyObject* value, void*) {
  return guarded_status([&] {
    if (!value || value == Py_None) return tensor_of(self).set_grad({});
    if (!is_tensor(value))
      raise(PyExc_TypeError, "assigned grad expected to be a Tensor or None but got grad of type {}", type_name(value));
    tensor_of(self).set_grad(tensor_of(value));
  });
}

PyGetSetDef attributes[] = {
    {"shape", attribute<size_of_tensor>, nullptr, "The sizes, a braze.Size.", nullptr},
    {"dtype", attribute<[](const Tensor& t) { return Py_NewRef(dtype_object(t.dtype())); }>, nullptr, "The element type.", nullptr},
    {"ndim", attribute<[](const Tensor& t) { return PyLong_FromLongLong(t.dim()); }>, nullptr, "The number of dims.", nullptr},
    {"itemsize", attribute<[](const Tensor& t) { return PyLong_FromLongLong(t.element_size()); }>, nullptr,
     "Bytes an element takes.", nullptr},
    {"nbytes", attribute<[](const Tensor& t) { return PyLong_FromLongLong(t.nbytes()); }>, nullptr, "Bytes all elements take.",
     nullptr},
    {"T", attribute<[](const Tensor& t) { return wrap(t.T()); }>, nullptr, "The dims reversed: a view.", nullptr},
    {"mT", attribute<[](const Tensor& t) { return wrap(t.mT()); }>, nullptr, "The last two dims swapped: a view.", nullptr},
    {"real", attribute<[](const Tensor& t) { return wrap(t.real()); }>, set_part<&ComplexMethods::real>,
     "The real parts: a view; a real tensor itself.", nullptr},
    {"imag", attribute<[](const Tensor& t) { return wrap(t.imag()); }>, set_part<&ComplexMethods::imag>,
     "The imaginary parts: a view. Refuses real tensors.", nullptr},
    {"_version", attribute<[](const Tensor& t) { return PyLong_FromLongLong(t.version()); }>, nullptr,
     "Writes to the storage so far.", nullptr},
    {"requires_grad", attribute<[](const Tensor& t) { return PyBool_FromLong(t.requires_grad()); }>, set_requires_grad,
     "Whether gradients are gathered for it, or pass through it.", nullptr},
    {"grad", attribute<[](const Tensor& t) { return wrap(t.grad()); }>, set_grad, "The gradient that backward() gathered, or None.",
     nullptr},
    {"retains_grad", attribute<[](const Tensor& t) { return PyBool_FromLong(t.retains_grad()); }>, nullptr,
     "Whether backward() sets .grad of this tensor, which is no leaf.", nullptr},
    {"is_leaf", attribute<[](const Tensor& t) { return PyBool_FromLong(t.is_leaf()); }>, nullptr, "Whether the user made it.",
     nullptr},
    {"__dict__", get_dict, set_dict, nullptr, nullptr},
    {}};

PyMemberDef members[] = {{"__dictoffset__", T_PYSSIZET, offsetof(TensorObject, dict), READONLY, nullptr},
                         {"__weaklistoffset__", T_PYSSIZET, offsetof(TensorObject, weak_references), READONLY, nullptr},
                         {}};

PyObject* method_item(PyObject* self, PyObject*) {
  return guarded([&] { return item(tensor_of(self)); });
}

PyMethodDef methods[] = {{"item", method_item, METH_NOARGS, "The one element, as a Python number."}, {}};

PyObject* new_tensor(PyTypeObject* type, PyObject* args, PyObject* keywords) {
  return guarded([&] {
    // What Tensor(...) means is written in Python (braze/_tensor.py).
    static PyObject* construct =
        Object::steal(PyObject_GetAttrString(Object::steal(PyImport_ImportModule("braze._tensor")).get(), "_construct")).release();
    const Object made = Object::steal(PyObject_Call(construct, args, keywords));
    if (type == tensor_type) return Py_NewRef(made.get());
    return wrap_as(type, tensor_of(made.get()).detach());
  });
}

template <class F>
void* slot(F function) {
  return reinterpret_cast<void*>(function);
}

PyType_Slot slots[] = {{Py_tp_new, slot(new_tensor)},
                       {Py_tp_dealloc, slot(deallocate)},
                       {Py_tp_traverse, slot(traverse)},
                       {Py_tp_clear, slot(clear)},
                       {Py_tp_getset, attributes},
                       {Py_tp_members, members},
                       {Py_tp_methods, methods},
                       {Py_tp_repr, slot(show)},
                       {Py_tp_hash, slot(hash)},
                       {Py_tp_iter, slot(iterate)},
                       {Py_tp_setattro, slot(set_attribute)},
                       {Py_tp_richcompare, slot(compare)},
                       {Py_tp_doc, const_cast<char*>("A tensor: PyTorch's semantics, lazily evaluated.")},
                       {Py_nb_add, slot(binary<op_add_of, op_add_name>)},
                       {Py_nb_subtract, slot(binary<op_subtract_of, op_subtract_name>)},
                       {Py_nb_multiply, slot(binary<op_multiply_of, op_multiply_name>)},
                       {Py_nb_true_divide, slot(binary<op_divide_of, op_divide_name>)},
                       {Py_nb_floor_divide, slot(binary<op_floor_divide_of, op_floor_divide_name>)},
                       {Py_nb_remainder, slot(binary<op_remainder_of, op_remainder_name>)},
                       {Py_nb_power, slot(power)},
                       {Py_nb_matrix_multiply, slot(binary<op_matmul_of, op_matmul_name>)},
                       {Py_nb_and, slot(binary<op_and_of, op_and_name>)},
                       {Py_nb_or, slot(binary<op_or_of, op_or_name>)},
                       {Py_nb_xor, slot(binary<op_xor_of, op_xor_name>)},
                       {Py_nb_lshift, slot(binary<op_shift_left_of, op_shift_left_name>)},
                       {Py_nb_rshift, slot(binary<op_shift_right_of, op_shift_right_name>)},
                       {Py_nb_inplace_add, slot(binary_in_place<in_place_add_of, in_place_add_name>)},
                       {Py_nb_inplace_subtract, slot(binary_in_place<in_place_subtract_of, in_place_subtract_name>)},
                       {Py_nb_inplace_multiply, slot(binary_in_place<in_place_multiply_of, in_place_multiply_name>)},
                       {Py_nb_inplace_true_divide, slot(binary_in_place<in_place_divide_of, in_place_divide_name>)},
                       {Py_nb_inplace_floor_divide, slot(binary_in_place<in_place_floor_divide_of, in_place_floor_divide_name>)},
                       {Py_nb_inplace_remainder, slot(binary_in_place<in_place_remainder_of, in_place_remainder_name>)},
                       {Py_nb_inplace_power, slot(power_in_place)},
                       {Py_nb_inplace_and, slot(binary_in_place<in_place_and_of, in_place_and_name>)},
                       {Py_nb_inplace_or, slot(binary_in_place<in_place_or_of, in_place_or_name>)},
                       {Py_nb_inplace_xor, slot(binary_in_place<in_place_xor_of, in_place_xor_name>)},
                       {Py_nb_inplace_lshift, slot(binary_in_place<in_place_shift_left_of, in_place_shift_left_name>)},
                       {Py_nb_inplace_rshift, slot(binary_in_place<in_place_shift_right_of, in_place_shift_right_name>)},
                       {Py_nb_negative, slot(negate)},
                       {Py_nb_positive, slot(positive)},
                       {Py_nb_absolute, slot(absolute)},
                       {Py_nb_invert, slot(invert)},
                       {Py_nb_bool, slot(truth)},
                       {Py_nb_int, slot(as_int)},
                       {Py_nb_float, slot(as_float)},
                       {Py_nb_index, slot(as_index)},
                       {Py_mp_length, slot(length)},
                       {Py_mp_subscript, slot(get_item)},
                       {Py_mp_ass_subscript, slot(set_item)},
                       {0, nullptr}};
PyType_Spec spec{"braze.Tensor", sizeof(TensorObject), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC, slots};

}  // namespace

PyObject* wrap(Tensor&& tensor) {
  if (!tensor.defined()) Py_RETURN_NONE;
  if (void* existing = tensor.host_object()) return Py_NewRef(static_cast<PyObject*>(existing));
  return finish(allocate(), std::move(tensor));
}

PyObject* wrap(const Tensor& tensor) {
  if (!tensor.defined()) Py_RETURN_NONE;
  if (void* existing = tensor.host_object()) return Py_NewRef(static_cast<PyObject*>(existing));
  return finish(allocate(), tensor);
}

PyObject* wrap_as(PyTypeObject* type, const Tensor& tensor) {
  if (type == tensor_type) return wrap(tensor);
  return finish(reinterpret_cast<TensorObject*>(type->tp_alloc(type, 0)), tensor);
}

void add_tensor_type(PyObject* module) {
  tensor_type = reinterpret_cast<PyTypeObject*>(Object::steal(PyType_FromSpec(&spec)).release());
  tensor_type->tp_name = "Tensor";  // as PyTorch's messages call it
  check(PyModule_AddObjectRef(module, "Tensor", reinterpret_cast<PyObject*>(tensor_type)));
}

}  // namespace braze::python
