#include "frontend/python/object.h"

#include <cstring>
#include <new>
#include <stdexcept>

namespace braze::python {

void raise(PyObject* type, const std::string& message) {
  PyErr_SetString(type, message.c_str());
  throw PythonError{};
}

PyObject* linalg_error = nullptr;

void add_errors(PyObject* module) {
  linalg_error = PyErr_NewExceptionWithDoc(
      "braze.linalg.LinAlgError",
      "A matrix does not allow what was asked: it is singular, not positive-definite, or a decomposition did not converge.",
      PyExc_RuntimeError, nullptr);
  if (!linalg_error) throw PythonError{};
  check(PyModule_AddObjectRef(module, "LinAlgError", linalg_error));
}

void translate_exception() noexcept {
  // A stopped evaluation is Ctrl-C's: Python's own handler says what it means.
  const auto set = [](PyObject* type, const char* text) {
    if (PyErr_CheckSignals() != 0) return;
    // It may name what a damaged file has for a name.
    PyObject* message = PyUnicode_DecodeUTF8(text, static_cast<Py_ssize_t>(std::strlen(text)), "backslashreplace");
    if (message) PyErr_SetObject(type, message);
    Py_XDECREF(message);
  };
  try {
    throw;
  } catch (const PythonError&) {
    if (!PyErr_Occurred()) PyErr_SetString(PyExc_SystemError, "braze: a Python error was announced and none is set");
  } catch (const IndexError& e) {
    set(PyExc_IndexError, e.what());
  } catch (const TypeError& e) {
    set(PyExc_TypeError, e.what());
  } catch (const ValueError& e) {
    set(PyExc_ValueError, e.what());
  } catch (const NotImplementedError& e) {
    set(PyExc_NotImplementedError, e.what());
  } catch (const LinAlgError& e) {
    set(linalg_error, e.what());
  } catch (const std::bad_alloc&) {
    set(PyExc_RuntimeError, "braze: can't allocate memory: you tried to allocate more than there is");
  } catch (const std::exception& e) {
    set(PyExc_RuntimeError, e.what());
  }
}

std::string type_name(PyObject* object) {
  PyTypeObject* type = Py_TYPE(object);
  const std::string_view name = type->tp_name;
  if (name.starts_with("numpy.")) return std::string(name);
  return std::string(name.substr(name.rfind('.') + 1));
}

std::string text_of(PyObject* string) {
  Py_ssize_t size = 0;
  const char* text = PyUnicode_AsUTF8AndSize(string, &size);
  if (!text) throw PythonError{};
  return {text, static_cast<std::size_t>(size)};
}

std::string repr_text(PyObject* object) { return text_of(Object::steal(PyObject_Repr(object)).get()); }

PyObject* interned(const char* text) {
  PyObject* string = PyUnicode_InternFromString(text);
  if (!string) throw PythonError{};
  return string;
}

}  // namespace braze::python
