#include "frontend/python/compile.h"

#include <nanobind/stl/string.h>

#include <bit>
#include <utility>

#include "braze/compile.h"
#include "frontend/autograd/trace_notes.h"
#include "frontend/python/callbacks.h"

namespace nb = nanobind;

namespace braze::python {

namespace {

struct Compiled {
  CompiledFunction function;
};

PyObject* missing() {
  static PyObject* object = Object::steal(PyObject_CallNoArgs(reinterpret_cast<PyObject*>(&PyBaseObject_Type))).release();
  return object;
}

// The same object, or a number or text of the same type that is equal; floats by their bits.
bool same_value(PyObject* a, PyObject* b) {
  if (a == b) return true;
  if (!a || !b || Py_TYPE(a) != Py_TYPE(b)) return false;
  if (PyFloat_CheckExact(a))
    return std::bit_cast<std::uint64_t>(PyFloat_AS_DOUBLE(a)) == std::bit_cast<std::uint64_t>(PyFloat_AS_DOUBLE(b));
  if (!PyLong_CheckExact(a) && !PyUnicode_CheckExact(a)) return false;
  const int equal = PyObject_RichCompareBool(a, b, Py_EQ);
  if (equal < 0) PyErr_Clear();
  return equal == 1;
}

// The dict itself, or a class's; null for what has attributes.
PyObject* names_of(PyObject* owner) {
  if (PyType_Check(owner)) return reinterpret_cast<PyTypeObject*>(owner)->tp_dict;
  return PyDict_Check(owner) ? owner : nullptr;
}

bool same_entry(PyObject* owner, PyObject* name, PyObject* value) {
  PyObject* names = names_of(owner);
  Object attribute;
  if (!names)
    if (PyObject* found = PyObject_GetAttr(owner, name)) attribute = Object::steal(found);
  PyObject* now = names ? PyDict_GetItemWithError(names, name) : attribute.get();
  if (!now) PyErr_Clear();
  return value == missing() ? now == nullptr : same_value(now, value);
}

// The dict has these keys, in this order.
bool same_keys(PyObject* dict, PyObject* keys) {
  if (PyDict_GET_SIZE(dict) != PyTuple_GET_SIZE(keys)) return false;
  PyObject *key, *value;
  for (Py_ssize_t at = 0, i = 0; PyDict_Next(dict, &at, &key, &value); ++i)
    if (!same_value(key, PyTuple_GET_ITEM(keys, i))) return false;
  return true;
}

// What a Watch of Python found, and whether it is as it was.
class Watched {
 public:
  Watched(const nb::list& entries, const nb::list& sizes, const nb::list& lists, const nb::list& sets, const nb::list& cells) {
    for (const nb::handle e : entries) entries_.push_back({item(e, 0), item(e, 1), item(e, 2)});
    for (const nb::handle e : sizes) sizes_.emplace_back(item(e, 0), item(e, 1));
    for (const nb::handle e : lists) lists_.emplace_back(item(e, 0), item(e, 1));
    for (const nb::handle e : sets) sets_.emplace_back(item(e, 0), item(e, 1));
    for (const nb::handle e : cells) cells_.emplace_back(item(e, 0), item(e, 1));
  }

  bool unchanged() const {
    for (const Entry& e : entries_)
      if (!same_entry(e.names.get(), e.name.get(), e.value.get())) return false;
    for (const auto& [dict, keys] : sizes_) {
      const bool counted = PyLong_CheckExact(keys.get());  // of classes
      if (counted ? PyDict_GET_SIZE(names_of(dict.get())) != PyLong_AsSsize_t(keys.get()) : !same_keys(dict.get(), keys.get()))
        return false;
    }
    for (const auto& [list, values] : lists_) {
      if (PyList_GET_SIZE(list.get()) != PyList_GET_SIZE(values.get())) return false;
      for (Py_ssize_t i = 0; i < PyList_GET_SIZE(values.get()); ++i)
        if (!same_value(PyList_GET_ITEM(list.get(), i), PyList_GET_ITEM(values.get(), i))) return false;
    }
    for (const auto& [set, values] : sets_)
      if (PyObject_RichCompareBool(set.get(), values.get(), Py_EQ) != 1) return PyErr_Clear(), false;
    for (const auto& [cell, value] : cells_)
      if (!same_value(PyCell_GET(cell.get()), value.get())) return false;
    return true;
  }

 private:
  struct Entry {
    Object names, name, value;
  };
  static Object item(nb::handle tuple, std::size_t i) {
    return Object::share(PyTuple_GET_ITEM(tuple.ptr(), static_cast<Py_ssize_t>(i)));
  }

  std::vector<Entry> entries_;
  std::vector<std::pair<Object, Object>> sizes_, lists_, sets_, cells_;
};

// What the trace that served this thread's last call returned beside tensors.
thread_local std::shared_ptr<PyObject> served;

TraceNotes& notes() {
  if (!TraceNotes::active()) raise(PyExc_RuntimeError, "nothing is being traced");
  return *TraceNotes::active();
}

// What a function that is being traced tells of itself.
void add_notes(nb::module_& m) {
  m.attr("watch_missing") = nb::borrow(missing());
  nb::class_<Watched>(m, "Watch")
      .def(nb::init<nb::list, nb::list, nb::list, nb::list, nb::list>())
      .def("unchanged", &Watched::unchanged);
  m.def("guard_trace", [](nb::handle watch) {
    object([&] {
      const std::shared_ptr<PyObject> held = shared(watch.ptr());
      const auto* watched = nb::cast<const Watched*>(watch);
      notes().guard([held, watched] {
        const Gil gil;
        return watched->unchanged();
      });
      return Py_NewRef(Py_None);
    });
  });
  m.def(
      "serve",
      [](nb::handle result) {
        served = shared(result.ptr());
        if (TraceNotes::active())
          TraceNotes::active()->guard([kept = served] {
            served = kept;
            return true;
          });
      },
      nb::arg("result").none());
  m.def("served", [] { return nb::borrow(std::exchange(served, {}).get()); });
  m.def("see_tensor", [](nb::handle t) { notes().see(*tensor_argument(t).impl()); });
  m.def("is_trained", [](nb::handle t) { return tensor_argument(t).impl()->leaf; });  // asked without being noted
  m.def("is_noted", [] { return TraceNotes::active() != nullptr; });
  m.def("trace_is_refused", [] { return TraceNotes::active() && TraceNotes::active()->refused(); });
  m.def("trace_has_derivatives", [] { return notes().derivatives(); });
  m.def("expect_derivatives", [] { notes().expect_derivatives(); });
  m.def(
      "note_refusal", [](const std::string& why, bool for_now) { notes().note_refusal(why, for_now); }, nb::arg("why"),
      nb::arg("for_now") = false);
  m.def(
      "refuse_trace", [](const std::string& why, bool for_now) { object([&]() -> PyObject* { notes().refuse(why, for_now); }); },
      nb::arg("why"), nb::arg("for_now") = false);
  m.def("stand_in", [](nb::handle like) { return object([&] { return wrap(stand_in_of(tensor_argument(like))); }); });
  m.def("trace_update",
        [](nb::handle owner, std::size_t group, nb::handle numbers, bool alone, nb::handle record, nb::handle rehearse) {
          object([&] {
            const std::shared_ptr<PyObject> again = shared(rehearse.ptr());
            notes().update(
                owner.ptr(), group, tensors_of(numbers), alone,
                [&](std::span<const Tensor> values) { return call_with_tensors(record.ptr(), values); },
                [again](std::span<const Tensor> values) {
                  const Gil gil;
                  return call_with_tensors(again.get(), values);
                });
            return Py_NewRef(Py_None);
          });
        });
}

}  // namespace

void add_compile(nb::module_& m) {
  nb::class_<Compiled>(m, "CompiledFunction")
      .def("__init__",
           [](Compiled* self, const nb::callable& function) {
             const std::shared_ptr<PyObject> owned = shared(function.ptr());
             new (self)
                 Compiled{CompiledFunction([owned](std::span<const Tensor> a) { return call_with_tensors(owned.get(), a); })};
           })
      .def("__call__", [](const Compiled& self, nb::list tensors) {
        return object([&] { return list_of(self.function(tensors_of(tensors))).release(); });
      });
  add_notes(m);
}

}  // namespace braze::python
