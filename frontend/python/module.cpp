// The extension module: types, tables, and the few functions that are not rows.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <memory>
#include <mutex>

#include "braze/braze.h"
#include "braze/host.h"
#include "frontend/engine/engine.h"
#include "frontend/python/autograd.h"
#include "frontend/python/checkpoints.h"
#include "frontend/python/compile.h"
#include "frontend/python/data.h"
#include "frontend/python/generator.h"
#include "frontend/python/hooks.h"
#include "frontend/python/memory.h"
#include "frontend/python/signature.h"
#include "frontend/python/transforms.h"
#include "frontend/python/types.h"

namespace nb = nanobind;

namespace braze::python {

namespace {

// nanobind's functions report errors as the tables' do.
template <class F>
nb::object object(F&& f) {
  PyObject* result = guarded(std::forward<F>(f));
  if (!result) throw nb::python_error();
  return nb::steal(result);
}

Tensor& tensor_argument(nb::handle h) {
  if (!is_tensor(h.ptr())) throw nb::type_error("a Tensor is needed");
  return tensor_of(h.ptr());
}

void add_memory(nb::module_& m) {
  m.def("export_memory", [](nb::handle t) { return object([&] { return export_memory(tensor_argument(t)); }); });
  m.def("import_memory",
        [](std::uintptr_t address, nb::handle sizes, nb::handle strides, nb::handle type, nb::handle owner, bool writable) {
          return object([&] {
            return wrap(import_memory(address, to_integers(sizes.ptr()), to_integers(strides.ptr()), to_dtype(type.ptr()),
                                      owner.ptr(), writable));
          });
        });
  m.def("to_dlpack", [](nb::handle t) { return object([&] { return to_capsule(tensor_argument(t)); }); });
  m.def("from_dlpack_capsule", [](nb::handle capsule) { return object([&] { return wrap(from_capsule(capsule.ptr())); }); });
  m.def("from_bytes", [](nb::bytes bytes, nb::handle type) {
    return object([&] {
      const DType t = to_dtype(type.ptr());
      const auto count = static_cast<std::int64_t>(bytes.size()) / size_of(t);
      return wrap(from_bytes(bytes.c_str(), {count}, t));
    });
  });
  m.def("to_bytes", [](nb::handle tensor) {
    return object([&] {
      const Tensor& t = tensor_argument(tensor);
      Object bytes = Object::steal(PyBytes_FromStringAndSize(nullptr, t.nbytes()));
      t.copy_to(PyBytes_AS_STRING(bytes.get()), t.dtype());
      return bytes.release();
    });
  });
}

void add_tensor_helpers(nb::module_& m) {
  m.def("dtype_of_numpy",
        [](nb::handle type) { return object([&] { return Py_NewRef(dtype_object(dtype_of_numpy(type.ptr()))); }); });
  m.def("make_subclass", [](nb::handle type, nb::handle tensor) {
    return object([&] { return wrap_as(reinterpret_cast<PyTypeObject*>(type.ptr()), tensor_argument(tensor).detach()); });
  });
  m.def("storage_bytes", [](nb::handle t) { return tensor_argument(t).storage_nbytes(); });
  m.def("set_data", [](nb::handle t, nb::handle other) {
    object([&] {
      tensor_argument(t).set_data(tensor_argument(other));
      return Py_NewRef(Py_None);
    });
  });
  m.def("shares_storage", [](nb::handle a, nb::handle b) { return tensor_argument(a).shares_storage(tensor_argument(b)); });
}

// The engine's notes, from any thread.
std::mutex log_mutex;
std::vector<std::string> log_lines;
void keep_line(const char* line) {
  std::lock_guard lock(log_mutex);
  log_lines.emplace_back(line);
}

void add_engine(nb::module_& m) {
  // Returns what it was.
  m.def("set_eager", [](bool on) {
    static thread_local std::unique_ptr<EagerScope> scope;
    static thread_local bool is_on = false;
    const bool before = std::exchange(is_on, on);
    scope.reset();
    if (on) scope = std::make_unique<EagerScope>();
    return before;
  });
  m.def("set_explain", [](const std::string& kinds) { return set_explain(explain_bits(kinds.c_str())); });
  m.def("set_explain", [](unsigned bits) { return set_explain(bits); });
  m.def("gather_log", [](bool on) {
    std::lock_guard lock(log_mutex);
    log_lines.clear();
    set_log_sink(on ? keep_line : nullptr);
  });
  m.def("gathered_log", [] {
    std::lock_guard lock(log_mutex);
    nb::list lines;
    for (const std::string& line : log_lines) lines.append(nb::str(line.c_str()));
    return lines;
  });
  m.def("is_tracing", [] { return engine::tracing(); });
  m.def("statistics", [] {
    const EngineStatistics s = engine_statistics();
    nb::dict d;
    d["recorded"] = s.recorded;
    d["evaluations"] = s.evaluations;
    d["hits"] = s.hits;
    d["compilations"] = s.compilations;
    return d;
  });
  m.def("memory_statistics", [] {
    const MemoryStatistics s = memory_statistics();
    nb::dict d;
    d["live"] = s.live;
    d["peak"] = s.peak;
    d["cached"] = s.cached;
    return d;
  });
  m.def("reset_memory_peak", &reset_memory_peak);
  m.def("set_package_folder", &set_package_folder);
}

}  // namespace

}  // namespace braze::python

NB_MODULE(_braze, m) {
  using namespace braze::python;
  try {
    add_errors(m.ptr());
    add_types(m.ptr());
    add_tensor_type(m.ptr());
    add_functions(m.ptr());
    add_generator(m);
    install_hooks();
  } catch (...) {
    translate_exception();
    throw nb::python_error();
  }
  nb::set_leak_warnings(false);  // the default generator lives for ever
  m.def("_register_types", [](nb::handle device, nb::handle layout, nb::handle memory_format) {
    register_python_types(device.ptr(), layout.ptr(), memory_format.ptr());
  });
  add_autograd(m);
  add_transforms(m);
  add_memory(m);
  add_tensor_helpers(m);
  add_engine(m);
  add_compile(m);
  add_checkpoints(m);
}
