#include "frontend/python/generator.h"

#include "frontend/python/object.h"

namespace nb = nanobind;

namespace braze::python {

namespace {

// Python's int of any sign, wrapped to 64 bits as torch.manual_seed does; past that a ValueError.
std::int64_t to_seed(nb::handle number) {
  if (!PyLong_Check(number.ptr()) && !is_integer(number.ptr()))
    raise(PyExc_RuntimeError, "manual_seed expected a long, but got {}", type_name(number.ptr()));
  const Object index = Object::steal(PyNumber_Index(number.ptr()));
  int overflow = 0;
  const long long value = PyLong_AsLongLongAndOverflow(index.get(), &overflow);
  if (!overflow) return value;
  const unsigned long long wide = PyLong_AsUnsignedLongLong(index.get());
  if (PyErr_Occurred()) {
    PyErr_Clear();
    raise(PyExc_ValueError, "Overflow when unpacking long long: seed {} is not of 64 bits", repr_text(index.get()));
  }
  return static_cast<std::int64_t>(wide);
}

// nanobind calls these: errors leave as its own exception.
template <class F>
auto translated(F&& f) {
  try {
    return f();
  } catch (...) {
    translate_exception();
    throw nb::python_error();
  }
}

nb::object as_object(const Tensor& t) { return nb::steal(wrap(t)); }

const Tensor& as_tensor(nb::handle h) {
  if (!is_tensor(h.ptr())) raise(PyExc_TypeError, "expected a Tensor, not {}", type_name(h.ptr()));
  return tensor_of(h.ptr());
}

}  // namespace

bool is_generator(PyObject* p) { return nb::isinstance<Generator>(nb::handle(p)); }

Generator* generator_or_none(PyObject* p) { return p == Py_None ? nullptr : nb::inst_ptr<Generator>(nb::handle(p)); }

void add_generator(nb::module_& m) {
  nb::class_<Generator>(m, "Generator",
                        "A random stream of its own. https://pytorch.org/docs/stable/generated/torch.Generator.html")
      .def(
          "__init__",
          [](Generator* self, nb::object device) {
            translated([&] {
              if (!device.is_none()) require_supported_device(device.ptr());
              new (self) Generator;
            });
          },
          nb::arg("device") = nb::none())
      .def_static(
          "philox",
          [](nb::handle seed, std::int64_t offset) { return translated([&] { return Generator::philox(to_seed(seed), offset); }); },
          nb::arg("seed") = 67280421310721, nb::arg("offset") = 0,
          "A counter-based stream, Philox4x32-10, whose draws fuse into what reads them.")
      .def(
          "manual_seed",
          [](nb::handle_t<Generator> self, nb::handle seed) {
            translated([&] { nb::inst_ptr<Generator>(self)->manual_seed(to_seed(seed)); });
            return nb::borrow(self);
          },
          nb::arg("seed"), "Starts the stream anew; returns the generator.")
      .def(
          "seed", [](Generator& self) { return translated([&] { return self.seed(); }); },
          "Seeds from the system's entropy; returns the seed.")
      .def("initial_seed", [](const Generator& self) { return translated([&] { return self.initial_seed(); }); })
      .def(
          "get_state", [](const Generator& self) { return translated([&] { return as_object(self.get_state()); }); }, "uint8[5056]")
      .def(
          "set_state", [](Generator& self, nb::handle state) { translated([&] { self.set_state(as_tensor(state)); }); },
          nb::arg("new_state"))
      .def_prop_ro("device", [](nb::handle) { return nb::module_::import_("braze").attr("device")("cpu"); });
  m.attr("default_generator") = nb::cast(default_generator());
  m.def(
      "manual_seed",
      [](nb::handle seed) {
        // Whatever int() takes, as in PyTorch.
        translated([&] {
          const Object number = Object::steal(PyNumber_Long(seed.ptr()));
          default_generator().manual_seed(to_seed(number.get()));
        });
        return nb::module_::import_("braze").attr("default_generator");
      },
      nb::arg("seed"), "Seeds the default generator and returns it.");
  m.def(
      "seed", [] { return translated([] { return seed(); }); },
      "Seeds the default generator from the system's entropy; returns the seed.");
  m.def("initial_seed", [] { return translated([] { return initial_seed(); }); });
}

}  // namespace braze::python
