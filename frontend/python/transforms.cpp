#include "frontend/python/transforms.h"

#include <nanobind/stl/string.h>

#include "braze/func.h"
#include "frontend/autograd/mapping.h"
#include "frontend/python/callbacks.h"

namespace nb = nanobind;

namespace braze::python {

namespace {

// The callable lives as long as the call.
func::Function function_of(nb::handle callable) {
  return [callable = callable.ptr()](std::span<const Tensor> tensors) { return call_with_tensors(callable, tensors); };
}

Object pair(std::span<const Tensor> first, std::span<const Tensor> second) {
  return Object::steal(PyTuple_Pack(2, list_of(first).get(), list_of(second).get()));
}

Object table(const std::vector<func::Tensors>& rows) {
  Object list = Object::steal(PyList_New(0));
  for (const func::Tensors& row : rows) check(PyList_Append(list.get(), list_of(row).get()));
  return list;
}

std::vector<std::size_t> all_of(std::size_t count) {
  std::vector<std::size_t> numbers(count);
  for (std::size_t i = 0; i < count; ++i) numbers[i] = i;
  return numbers;
}

std::vector<std::optional<std::int64_t>> dims_of(nb::handle sequence) {
  std::vector<std::optional<std::int64_t>> dims;
  const Object list = Object::steal(PySequence_Fast(sequence.ptr(), "expected a sequence of dims"));
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(list.get()); ++i) {
    PyObject* item = PySequence_Fast_GET_ITEM(list.get(), i);
    dims.push_back(item == Py_None ? std::nullopt : std::optional(to_integer(item)));
  }
  return dims;
}

func::Randomness randomness_of(const std::string& name) {
  if (name == "same") return func::Randomness::same;
  return name == "different" ? func::Randomness::different : func::Randomness::error;
}

nb::object vmap(nb::handle f, nb::handle arguments, nb::handle in_dims, const std::string& randomness) {
  return object([&] {
    return list_of(func::vmap(function_of(f), tensors_of(arguments), dims_of(in_dims), {}, randomness_of(randomness))).release();
  });
}

std::string_view name_of(func::Randomness randomness) {
  if (randomness == func::Randomness::error) return "error";
  return randomness == func::Randomness::same ? "same" : "different";
}

Mapping& innermost_mapping() {
  Mapping* mapping = Mapping::innermost();
  if (!mapping) raise(PyExc_RuntimeError, "no vmap is at work");
  return *mapping;
}

// How a function that has a rule for batches of its own sees the innermost vmap through (braze/autograd/function.py).
void add_mappings(nb::module_& m) {
  // None where no transform is at work; else the batch's size (-1: no vmap), its randomness, and whether derivatives are taken inside of it.
  m.def("mapping_level", []() -> nb::object {
    if (!transforming()) return nb::none();
    const Mapping* mapping = Mapping::innermost();
    if (!mapping) return nb::make_tuple(-1, "error", true);
    const std::string_view randomness = name_of(mapping->randomness());
    return nb::make_tuple(mapping->size(), nb::str(randomness.data(), randomness.size()), mapping->derivatives_inside());
  });
  m.def("mapping_outside", [](nb::handle tensors) {
    return object([&] {
      std::vector<engine::Value> values;
      const std::vector<Tensor> inside = tensors_of(tensors);
      for (const Tensor& t : inside) values.push_back(read(*t.impl(), {}));
      const Mapping& mapping = innermost_mapping();
      const std::vector<Replacement> whole = [&] {
        const Mapping::Outside scope(mapping);
        return mapping.outside(values);
      }();
      std::vector<Tensor> out;
      const Object flags = Object::steal(PyList_New(0));
      for (std::size_t i = 0; i < whole.size(); ++i) {
        out.push_back(whole[i].value == values[i] ? inside[i] : braze::wrap(whole[i].value));
        check(PyList_Append(flags.get(), whole[i].batched ? Py_True : Py_False));
      }
      return PyTuple_Pack(2, list_of(out).get(), flags.get());
    });
  });
  // Calls outside of the vmap what returns tensors with the batch in front; gives one element of each. None stays None.
  m.def("mapping_call", [](nb::handle callable) {
    return object([&] {
      Mapping& mapping = innermost_mapping();
      std::vector<Tensor> results;
      {
        const Mapping::Outside scope(mapping);
        results = tensors_of(Object::steal(PyObject_CallNoArgs(callable.ptr())).get());
        for (Tensor& t : results)
          if (t.defined() && t.size(0) != mapping.size())
            raise(PyExc_RuntimeError, "the vmap staticmethod returned a batch of {}, and the batch is of {}", t.size(0),
                  mapping.size());
      }
      const Object list = Object::steal(PyList_New(0));
      for (const Tensor& t : results)
        check(PyList_Append(list.get(),
                            t.defined() ? Object::steal(wrap(braze::wrap(mapping.inside(read(*t.impl(), {}))))).get() : Py_None));
      return Py_NewRef(list.get());
    });
  });
}

}  // namespace

void add_transforms(nb::module_& m) {
  nb::class_<func::Pullback>(m, "Pullback").def("__call__", [](const func::Pullback& back, nb::handle cotangents) {
    return object([&] { return list_of(back.pull(tensors_of(cotangents))).release(); });
  });
  add_mappings(m);
  m.def("func_vmap", &vmap);
  m.def("func_grad_and_value", [](nb::handle f, nb::handle arguments) {
    return object([&] {
      const std::vector<Tensor> tensors = tensors_of(arguments);
      const auto [gradients, results] = func::grad_and_value(function_of(f), tensors, all_of(tensors.size()));
      return pair(gradients, results).release();
    });
  });
  m.def("func_vjp", [](nb::handle f, nb::handle arguments) {
    func::Pullback back;
    nb::object results = object([&] {
      back = func::vjp(function_of(f), tensors_of(arguments));
      return list_of(back.results).release();
    });
    return nb::make_tuple(std::move(results), std::move(back));
  });
  m.def("func_jvp", [](nb::handle f, nb::handle arguments, nb::handle tangents) {
    return object([&] {
      const auto [results, pushed] = func::jvp(function_of(f), tensors_of(arguments), tensors_of(tangents));
      return pair(results, pushed).release();
    });
  });
  m.def("func_jacrev", [](nb::handle f, nb::handle arguments) {
    return object([&] {
      const std::vector<Tensor> tensors = tensors_of(arguments);
      return table(func::jacrev(function_of(f), tensors, all_of(tensors.size()))).release();
    });
  });
  m.def("func_jacfwd", [](nb::handle f, nb::handle arguments, const std::string& randomness) {
    return object([&] {
      const std::vector<Tensor> tensors = tensors_of(arguments);
      return table(func::jacfwd(function_of(f), tensors, all_of(tensors.size()), randomness_of(randomness))).release();
    });
  });
}

}  // namespace braze::python
