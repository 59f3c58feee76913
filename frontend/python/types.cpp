// dtype and Size; device, layout and memory_format are Python classes (braze/_types.py) that are made known here.
#include "frontend/python/types.h"

#include <array>
#include <cstddef>

#include "ir/error.h"

namespace braze::python {

namespace {

// ---- dtype ----

struct DTypeObject {
  PyObject_HEAD DType type;
};
PyTypeObject* dtype_type = nullptr;
std::array<PyObject*, surface_dtype_count> dtypes{};

DType type_of(PyObject* self) { return reinterpret_cast<DTypeObject*>(self)->type; }

PyObject* dtype_repr(PyObject* self) { return PyUnicode_FromFormat("braze.%s", info(type_of(self)).torch_name.data()); }
PyObject* dtype_reduce(PyObject* self, PyObject*) { return PyUnicode_FromString(info(type_of(self)).torch_name.data()); }
PyObject* dtype_is_floating(PyObject* self, void*) { return to_python_bool(is_float(type_of(self))); }
PyObject* dtype_is_complex(PyObject* self, void*) { return to_python_bool(is_complex(type_of(self))); }
PyObject* dtype_is_signed(PyObject* self, void*) { return to_python_bool(is_signed(type_of(self))); }
PyObject* dtype_itemsize(PyObject* self, void*) { return PyLong_FromLong(size_of(type_of(self))); }
PyObject* dtype_same(PyObject* self, PyObject*) { return Py_NewRef(self); }
PyObject* dtype_to_real(PyObject* self, PyObject*) { return Py_NewRef(dtype_object(component_type(type_of(self)))); }
PyObject* dtype_to_complex(PyObject* self, PyObject*) {
  return guarded([&] {
    const DType type = type_of(self);
    require(type != DType::f16, "braze has no complex numbers of halves: {} has no complex dtype", info(type).torch_name);
    return Py_NewRef(dtype_object(is_float(type) || is_complex(type) ? complex_type(type) : complex64));
  });
}

PyGetSetDef dtype_attributes[] = {{"is_floating_point", dtype_is_floating, nullptr, "Whether elements are floats.", nullptr},
                                  {"is_complex", dtype_is_complex, nullptr, "Whether elements are complex.", nullptr},
                                  {"is_signed", dtype_is_signed, nullptr, "Whether elements may be negative.", nullptr},
                                  {"itemsize", dtype_itemsize, nullptr, "Bytes an element takes.", nullptr},
                                  {}};
PyMethodDef dtype_methods[] = {{"__reduce__", dtype_reduce, METH_NOARGS, nullptr},
                               {"to_real", dtype_to_real, METH_NOARGS, "The dtype of a complex dtype's parts."},
                               {"to_complex", dtype_to_complex, METH_NOARGS, "The complex dtype that holds this one."},
                               {"__copy__", dtype_same, METH_NOARGS, nullptr},
                               {"__deepcopy__", dtype_same, METH_O, nullptr},
                               {}};
PyType_Slot dtype_slots[] = {{Py_tp_repr, reinterpret_cast<void*>(dtype_repr)},
                             {Py_tp_getset, dtype_attributes},
                             {Py_tp_methods, dtype_methods},
                             {Py_tp_doc, const_cast<char*>("An element type: braze.float32 and so on.")},
                             {0, nullptr}};
PyType_Spec dtype_spec{"braze.dtype", sizeof(DTypeObject), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, dtype_slots};

// ---- Size ----

PyTypeObject* size_type = nullptr;

PyObject* size_from_tuple(PyObject* tuple) {  // steals
  if (!tuple || !PyTuple_Check(tuple)) return tuple;
  const Py_ssize_t count = PyTuple_GET_SIZE(tuple);
  PyObject* size = size_type->tp_alloc(size_type, count);
  for (Py_ssize_t i = 0; size && i < count; ++i) PyTuple_SET_ITEM(size, i, Py_NewRef(PyTuple_GET_ITEM(tuple, i)));
  Py_DECREF(tuple);
  return size;
}

PyObject* size_new(PyTypeObject* type, PyObject* args, PyObject* keywords) {
  return guarded([&] {
    Object self = Object::steal(PyTuple_Type.tp_new(type, args, keywords));
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(self.get()); ++i) {
      PyObject* item = PyTuple_GET_ITEM(self.get(), i);
      if (PyLong_Check(item)) continue;
      if (!is_integer(item))
        raise(PyExc_TypeError, "braze.Size() takes an iterable of 'int' (item {} is '{}')", i, type_name(item));
      PyObject* number = PyLong_FromLongLong(to_integer(item));
      PyTuple_SET_ITEM(self.get(), i, number);
      Py_DECREF(item);
    }
    return self.release();
  });
}

PyObject* size_repr(PyObject* self) {
  return guarded([&] {
    std::string text = "braze.Size([";
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(self); ++i) text += (i ? ", " : "") + repr_text(PyTuple_GET_ITEM(self, i));
    return PyUnicode_FromString((text + "])").c_str());
  });
}

PyObject* size_numel(PyObject* self, PyObject*) {
  return guarded([&] {
    std::int64_t count = 1;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(self); ++i) count *= to_integer(PyTuple_GET_ITEM(self, i));
    return PyLong_FromLongLong(count);
  });
}

PyObject* size_reduce(PyObject* self, PyObject*) {
  return guarded([&] {
    const Object tuple = Object::steal(PySequence_Tuple(self)),
                 items = Object::steal(PyTuple_GetSlice(tuple.get(), 0, PyTuple_GET_SIZE(self)));
    const Object list = Object::steal(PySequence_List(items.get())), plain = Object::steal(PyList_AsTuple(list.get()));
    return Py_BuildValue("O(O)", size_type, plain.get());
  });
}

PyObject* size_concat(PyObject* a, PyObject* b) {
  if (!PyTuple_Check(a) || !PyTuple_Check(b)) {
    PyErr_Format(PyExc_TypeError, "can only concatenate tuple (not \"%s\") to Size", Py_TYPE(PyTuple_Check(a) ? b : a)->tp_name);
    return nullptr;
  }
  return size_from_tuple(PyTuple_Type.tp_as_sequence->sq_concat(a, b));
}
PyObject* size_repeat(PyObject* self, Py_ssize_t count) {
  return size_from_tuple(PyTuple_Type.tp_as_sequence->sq_repeat(self, count));
}
PyObject* size_subscript(PyObject* self, PyObject* key) {
  PyObject* result = PyTuple_Type.tp_as_mapping->mp_subscript(self, key);
  return PySlice_Check(key) ? size_from_tuple(result) : result;
}

PyMethodDef size_methods[] = {{"numel", size_numel, METH_NOARGS, "The number of elements a tensor of this size has."},
                              {"__reduce__", size_reduce, METH_NOARGS, nullptr},
                              {}};
PyType_Slot size_slots[] = {{Py_tp_new, reinterpret_cast<void*>(size_new)},
                            {Py_tp_repr, reinterpret_cast<void*>(size_repr)},
                            {Py_tp_methods, size_methods},
                            {Py_sq_concat, reinterpret_cast<void*>(size_concat)},
                            {Py_sq_repeat, reinterpret_cast<void*>(size_repeat)},
                            {Py_mp_subscript, reinterpret_cast<void*>(size_subscript)},
                            {Py_tp_doc, const_cast<char*>("A tensor's sizes: a tuple.")},
                            {0, nullptr}};
PyType_Spec size_spec{"braze.Size", 0, 0, Py_TPFLAGS_DEFAULT, size_slots};

PyTypeObject* device_type = nullptr;
PyTypeObject* layout_type = nullptr;
PyTypeObject* memory_format_type = nullptr;

}  // namespace

PyObject* to_python_bool(bool value) { return Py_NewRef(value ? Py_True : Py_False); }

PyObject* dtype_object(DType type) { return dtypes[static_cast<std::size_t>(type)]; }

bool is_dtype(PyObject* p) {
  return Py_TYPE(p) == dtype_type || p == reinterpret_cast<PyObject*>(&PyFloat_Type) ||
         p == reinterpret_cast<PyObject*>(&PyLong_Type) || p == reinterpret_cast<PyObject*>(&PyBool_Type) ||
         p == reinterpret_cast<PyObject*>(&PyComplex_Type);
}

DType to_dtype(PyObject* p) {
  if (Py_TYPE(p) == dtype_type) return type_of(p);
  if (p == reinterpret_cast<PyObject*>(&PyFloat_Type)) return DType::f64;
  if (p == reinterpret_cast<PyObject*>(&PyLong_Type)) return DType::i64;
  if (p == reinterpret_cast<PyObject*>(&PyComplex_Type)) return complex128;
  return DType::boolean;
}

PyObject* make_size(std::span<const std::int64_t> sizes) {
  PyObject* size = size_type->tp_alloc(size_type, static_cast<Py_ssize_t>(sizes.size()));
  for (std::size_t i = 0; size && i < sizes.size(); ++i)
    PyTuple_SET_ITEM(size, static_cast<Py_ssize_t>(i), PyLong_FromLongLong(sizes[i]));
  return size;
}

bool is_device(PyObject* p) { return Py_TYPE(p) == device_type || PyUnicode_Check(p) || (PyLong_Check(p) && !PyBool_Check(p)); }

void require_supported_device(PyObject* p, bool creating) {
  const Object device = Py_TYPE(p) == device_type ? Object::share(p)
                                                  : Object::steal(PyObject_CallOneArg(reinterpret_cast<PyObject*>(device_type), p));
  Object::steal(PyObject_CallMethod(device.get(), "_require_supported", "O", creating ? Py_True : Py_False));
}

bool is_layout(PyObject* p) { return Py_TYPE(p) == layout_type; }
bool is_memory_format(PyObject* p) { return Py_TYPE(p) == memory_format_type; }

MemoryFormat to_memory_format(PyObject* p) {
  return static_cast<MemoryFormat>(to_integer(Object::steal(PyObject_GetAttrString(p, "_number")).get()));
}

void register_python_types(PyObject* device, PyObject* layout, PyObject* memory_format) {
  device_type = reinterpret_cast<PyTypeObject*>(Py_NewRef(device));
  layout_type = reinterpret_cast<PyTypeObject*>(Py_NewRef(layout));
  memory_format_type = reinterpret_cast<PyTypeObject*>(Py_NewRef(memory_format));
}

void add_types(PyObject* module) {
  dtype_type = reinterpret_cast<PyTypeObject*>(Object::steal(PyType_FromSpec(&dtype_spec)).release());
  check(PyObject_SetAttrString(reinterpret_cast<PyObject*>(dtype_type), "__module__",
                               Object::steal(PyUnicode_FromString("braze")).get()));
  check(PyModule_AddObjectRef(module, "dtype", reinterpret_cast<PyObject*>(dtype_type)));
  for (const DType t : surface_dtypes) {
    auto* object = PyObject_New(DTypeObject, dtype_type);
    if (!object) throw PythonError{};
    object->type = t;
    dtypes[static_cast<std::size_t>(t)] = reinterpret_cast<PyObject*>(object);
    check(PyModule_AddObjectRef(module, info(t).torch_name.data(), reinterpret_cast<PyObject*>(object)));
  }
  const Object bases = Object::steal(PyTuple_Pack(1, &PyTuple_Type));
  size_type = reinterpret_cast<PyTypeObject*>(Object::steal(PyType_FromSpecWithBases(&size_spec, bases.get())).release());
  check(PyModule_AddObjectRef(module, "Size", reinterpret_cast<PyObject*>(size_type)));
}

}  // namespace braze::python
