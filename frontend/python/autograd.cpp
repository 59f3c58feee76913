#include "frontend/python/autograd.h"

#include <nanobind/stl/string.h>

#include <memory>

#include "braze/autograd.h"
#include "frontend/autograd/tracking.h"
#include "frontend/python/callbacks.h"
#include "frontend/python/signature.h"
#include "frontend/python/types.h"

namespace nb = nanobind;

namespace braze::python {

namespace {

std::optional<bool> flag_or_none(nb::handle h) { return h.is_none() ? std::nullopt : std::optional(nb::cast<bool>(h)); }

std::string hook_name(PyObject* hook) {
  PyObject* name = PyObject_GetAttrString(hook, "__name__");
  if (!name) PyErr_Clear();
  const Object held = name ? Object::steal(name) : Object();
  return name && PyUnicode_Check(name) ? text_of(name) : "<unknown>";
}

Tensor call_hook(PyObject* hook, const Tensor& gradient) {
  const Gil gil;
  const Object result = Object::steal(PyObject_CallOneArg(hook, Object::steal(wrap(gradient)).get()));
  if (result.get() == Py_None) return {};
  if (!is_tensor(result.get())) raise(PyExc_TypeError, "expected Variable, but hook returned '{}'", type_name(result.get()));
  const Tensor& changed = tensor_of(result.get());
  if (changed.dtype() != gradient.dtype())
    raise(PyExc_RuntimeError, "hook '{}' has changed the type of value (was torch.{}Tensor got torch.{}Tensor)", hook_name(hook),
          info(gradient.dtype()).scalar_name, info(changed.dtype()).scalar_name);
  if (changed.sizes() != gradient.sizes()) raise(PyExc_RuntimeError, "hook '{}' has changed the size of value", hook_name(hook));
  return changed;
}

const Rows rows{
    {"backward(Tensor input, Tensor? gradient=None, bool? retain_graph=None, bool create_graph=False, object inputs=None) -> None",
     method,
     [](Arguments& a) {
       std::vector<Tensor> inputs;
       if (!a.none(4)) {
         if (is_tensor(a.object(4)))
           inputs.push_back(tensor_of(a.object(4)));
         else
           inputs = tensors_of(a.object(4));
         if (inputs.empty()) raise(PyExc_RuntimeError, "`inputs` argument to `backward()` cannot be empty.");
       }
       a.tensor(0).backward(a.tensor_or_none(1), a.boolean_or_none(2), a.boolean(3), inputs);
     },
     "Adds the gradient of this tensor to the .grad of the leaves that it was computed from. "
     "https://pytorch.org/docs/stable/generated/torch.Tensor.backward.html"},
    {"retain_grad(Tensor input) -> None", method, [](Arguments& a) { a.tensor(0).retain_grad(); },
     "From now on backward() sets the .grad of this tensor, which is no leaf."},
    {"requires_grad_(Tensor input, bool requires_grad=True)", method,
     [](Arguments& a) -> Tensor& { return a.self().requires_grad_(a.boolean(1)); },
     "Asks for gradients. https://pytorch.org/docs/stable/generated/torch.Tensor.requires_grad_.html"},
};

void add_backward(nb::module_& m) {
  m.def("evaluate_step", [](nb::handle tensors) {
    object([&] {
      evaluate_step(tensors_of(tensors));
      return Py_NewRef(Py_None);
    });
  });
  m.def(
      "autograd_backward",
      [](nb::handle tensors, nb::handle gradients, nb::handle retain_graph, bool create_graph, nb::handle inputs) {
        object([&] {
          autograd::backward(tensors_of(tensors), tensors_of(gradients), flag_or_none(retain_graph), create_graph,
                             tensors_of(inputs));
          return Py_NewRef(Py_None);
        });
      },
      nb::arg("tensors"), nb::arg("gradients"), nb::arg("retain_graph").none(), nb::arg("create_graph"), nb::arg("inputs"));
  m.def(
      "autograd_grad",
      [](nb::handle outputs, nb::handle inputs, nb::handle gradients, nb::handle retain_graph, bool create_graph, bool allow_unused,
         bool materialize) {
        return object([&] {
          return to_python(autograd::grad(tensors_of(outputs), tensors_of(inputs), tensors_of(gradients),
                                          {flag_or_none(retain_graph), create_graph, allow_unused, materialize}));
        });
      },
      nb::arg("outputs"), nb::arg("inputs"), nb::arg("gradients"), nb::arg("retain_graph").none(), nb::arg("create_graph"),
      nb::arg("allow_unused"), nb::arg("materialize_grads"));
  m.def("tensor_data", [](nb::handle t) { return object([&] { return wrap(tensor_data(tensor_argument(t))); }); });
  m.def("set_detect_anomaly", &autograd::set_detect_anomaly);
  m.def("is_anomaly_enabled", &autograd::is_anomaly_enabled);
  m.def("is_grad_enabled", &is_grad_enabled);
  m.def("set_grad_enabled", &set_grad_enabled);
}

void add_hooks(nb::module_& m) {
  nb::class_<HookHandle>(m, "RemovableHandle").def("remove", &HookHandle::remove);
  m.def("register_hook", [](nb::handle tensor, nb::handle hook) {
    HookHandle handle;
    object([&] {
      const std::shared_ptr<PyObject> held = shared(hook.ptr());
      handle = tensor_argument(tensor).register_hook([held](const Tensor& gradient) { return call_hook(held.get(), gradient); });
      return Py_NewRef(Py_None);
    });
    return handle;
  });
  m.def("register_post_accumulate_grad_hook", [](nb::handle tensor, nb::handle hook) {
    HookHandle handle;
    object([&] {
      const std::shared_ptr<PyObject> held = shared(hook.ptr());
      handle =
          tensor_argument(tensor).register_post_accumulate_grad_hook([held](const Tensor& leaf) { call_hook(held.get(), leaf); });
      return Py_NewRef(Py_None);
    });
    return handle;
  });
}

void add_user_functions(nb::module_& m) {
  m.def("with_gradient", [](nb::handle inputs, nb::handle outputs, const std::string& name, nb::handle backward, nb::handle jvp,
                            nb::handle release, bool materialize) {
    return object([&] {
      const auto map = [](nb::handle function) {
        return [held = shared(function.ptr())](std::span<const Tensor> tensors) {
          const Gil gil;
          return call_with_tensors(held.get(), tensors);
        };
      };
      const std::shared_ptr<PyObject> let_go = shared(release.ptr());
      return to_python(autograd::with_gradient(tensors_of(inputs), tensors_of(outputs),
                                               {.name = name,
                                                .backward = map(backward),
                                                .jvp = map(jvp),
                                                .release =
                                                    [let_go] {
                                                      if (!Py_IsInitialized()) return;
                                                      const Gil gil;
                                                      Py_XDECREF(PyObject_CallNoArgs(let_go.get()));
                                                      PyErr_Clear();
                                                    },
                                                .materialize = materialize}));
    });
  });
  const auto check_with = [](auto checker) {
    return [checker](nb::handle function, nb::handle inputs, double eps, double atol, double rtol, bool raise_exception) {
      return object([&] {
        const auto call = [&](std::span<const Tensor> tensors) { return call_with_tensors(function.ptr(), tensors); };
        return to_python(checker(call, tensors_of(inputs), {eps, atol, rtol, raise_exception}));
      });
    };
  };
  m.def("gradcheck", check_with(&autograd::gradcheck));
  m.def("gradgradcheck", check_with(&autograd::gradgradcheck));
  m.def("output_again",
        [](nb::handle t, std::uint32_t k) { return object([&] { return wrap(autograd::output_again(tensor_argument(t), k)); }); });
}

void add_steps(nb::module_& m) {
  nb::class_<GradFn>(m, "GradFn")
      .def("name", [](const GradFn& f) { return nb::str(f.name().c_str()); })
      .def("id", [](const GradFn& f) { return reinterpret_cast<std::uintptr_t>(f.id()); })
      .def("variable", [](const GradFn& f) { return object([&] { return wrap(f.variable()); }); })
      .def("next_functions", [](const GradFn& f) {
        nb::list next;
        for (const auto& [step, number] : f.next_functions())
          next.append(nb::make_tuple(step ? nb::cast(step) : nb::none(), nb::int_(number)));
        return next;
      });
  m.def("grad_fn", [](nb::handle tensor) -> nb::object {
    GradFn f;
    object([&] {
      f = tensor_argument(tensor).grad_fn();
      return Py_NewRef(Py_None);
    });
    return f ? nb::cast(f) : nb::none();
  });
}

}  // namespace

void add_autograd(nb::module_& m) {
  add_backward(m);
  add_user_functions(m);
  add_hooks(m);
  add_steps(m);
}

}  // namespace braze::python
