// From rows to Python callables: rows are gathered by namespace and name, and each name becomes one object.
#include <algorithm>
#include <cstring>
#include <map>

#include "frontend/python/signature.h"
#include "ir/error.h"

namespace braze::python {

namespace {

std::vector<std::span<const Row>>& registered() {
  static std::vector<std::span<const Row>> tables;
  return tables;
}

struct Space {
  unsigned flag;
  const char* name;
};
constexpr Space spaces[] = {
    {function, ""}, {method, "Tensor"}, {linalg, "linalg"},  {special, "special"}, {functional, "nn.functional"},
    {fft, "fft"},   {optim, "optim"},   {initial, "nn.init"}};

std::string_view row_name(const Row& row) {
  const std::string_view text = row.signature;
  const std::size_t end = text.find_first_of("( ");
  return text.substr(0, end);
}

using Key = std::pair<std::string, std::string>;

void add_alias(std::deque<Function>& all, std::map<Key, Function*>& index, const Row& row) {
  const std::string_view text = row.signature;
  const std::string to(row_name(row)), from(text.substr(text.rfind(' ') + 1));
  bool found = false;
  for (const Space& space : spaces)
    for (const char* suffix : {"", "_"}) {
      const auto it = index.find({space.name, from + suffix});
      if (it == index.end() || index.contains({space.name, to + suffix})) continue;
      found = true;
      Function copy = *it->second;
      copy.name = to + suffix;
      Function& added = all.emplace_back(std::move(copy));
      index[{space.name, added.name}] = &added;
    }
  invariant(found, "the alias '{}' names no function", text);
}

std::deque<Function> gather() {
  std::deque<Function> all;
  std::map<Key, Function*> index;
  const auto add = [&](const char* space, const std::string& name, const Row& row, bool writes_back) {
    Function*& f = index[{space, name}];
    if (!f) f = &all.emplace_back(name, space, writes_back);
    if (f->writes_back == writes_back) f->rows.push_back(&row);  // a row of its own goes before a made one
  };
  for (const std::span<const Row> table : registered())
    for (const Row& row : table)
      for (const Space& space : spaces)
        if (row.flags & space.flag) add(space.name, std::string(row_name(row)), row, false);
  for (const std::span<const Row> table : registered())
    for (const Row& row : table) {
      if (!(row.flags & inplace)) continue;
      const std::string name = std::string(row_name(row)) + "_";
      if (row.flags & method) add("Tensor", name, row, true);
      if (row.flags & function) add("", name, row, true);
    }
  for (const std::span<const Row> table : registered())
    for (const Row& row : table)
      if (!row.call) add_alias(all, index, row);
  return all;
}

// ---- the callable ----

struct Callable {
  PyObject_HEAD const Function* function;
  vectorcallfunc call;
};
PyTypeObject* function_type = nullptr;
PyTypeObject* method_type = nullptr;

PyObject* call_function(PyObject* self, PyObject* const* args, std::size_t count, PyObject* keywords) {
  return reinterpret_cast<Callable*>(self)->function->call(nullptr, args, PyVectorcall_NARGS(count), keywords);
}

PyObject* call_method(PyObject* self, PyObject* const* args, std::size_t flagged, PyObject* keywords) {
  const Function& f = *reinterpret_cast<Callable*>(self)->function;
  const auto count = static_cast<std::size_t>(PyVectorcall_NARGS(flagged));
  if (count == 0 || !is_tensor(args[0])) {
    PyErr_Format(PyExc_TypeError, "descriptor '%s' for 'Tensor' objects doesn't apply to a '%s' object", f.name.c_str(),
                 count ? Py_TYPE(args[0])->tp_name : "nothing");
    return nullptr;
  }
  return f.call(args[0], args + 1, count - 1, keywords);
}

PyObject* bind_method(PyObject* self, PyObject* object, PyObject*) {
  return object && object != Py_None ? PyMethod_New(self, object) : Py_NewRef(self);
}

// A function in a class is no method, as Python's own built-in functions.
PyObject* stay(PyObject* self, PyObject*, PyObject*) { return Py_NewRef(self); }

PyObject* get_name(PyObject* self, void*) {
  return PyUnicode_FromString(reinterpret_cast<Callable*>(self)->function->name.c_str());
}

PyObject* get_qualified_name(PyObject* self, void*) {
  const Function& f = *reinterpret_cast<Callable*>(self)->function;
  return PyUnicode_FromString((f.is_method() ? "Tensor." + f.name : f.name).c_str());
}

PyObject* get_module(PyObject* self, void*) {
  const Function& f = *reinterpret_cast<Callable*>(self)->function;
  return PyUnicode_FromString((f.space.empty() || f.is_method() ? "braze" : "braze." + f.space).c_str());
}

std::string doc_text(const Function& f) {
  std::string text;
  for (const Signature& s : f.signatures()) {
    text += s.text + (s.result.empty() ? " -> Tensor" : "") + "\n";
    if (*s.row->doc) text += "\n" + std::string(s.row->doc) + "\n\n";
  }
  return text;
}

bool has_doc(const Function& f) {
  return std::any_of(f.rows.begin(), f.rows.end(), [](const Row* row) { return *row->doc; });
}

// Of a function that says nothing itself: the one of its name elsewhere, or the one that it is the in-place form of.
const Function* explained_by(const Function& f) {
  const bool in_place = f.name.ends_with('_');
  for (const std::string& name : {f.name, in_place ? f.name.substr(0, f.name.size() - 1) : std::string()})
    for (const std::string_view space :
         {std::string_view(f.space), std::string_view(), std::string_view("Tensor"), std::string_view("nn.functional")})
      if (const Function* other = find_function(space, name); other && has_doc(*other)) return other;
  return nullptr;
}

PyObject* get_doc(PyObject* self, void*) {
  return guarded([&] {
    const Function& f = *reinterpret_cast<Callable*>(self)->function;
    std::string text = doc_text(f);
    if (!has_doc(f))
      if (const Function* other = explained_by(f))
        text += (f.name.ends_with('_') && !other->name.ends_with('_') ? "\nIn place: " : "\nAs ") + doc_text(*other);
    return PyUnicode_FromString(text.c_str());
  });
}

PyObject* get_rows(PyObject* self, void*) {
  return guarded([&] {
    const Function& f = *reinterpret_cast<Callable*>(self)->function;
    Object list = Object::steal(PyList_New(0));
    for (const Row* row : f.rows) {
      const Object entry = Object::steal(Py_BuildValue("(sIs)", row->signature, row->flags, row->doc));
      check(PyList_Append(list.get(), entry.get()));
    }
    return list.release();
  });
}

PyObject* show(PyObject* self) {
  const Function& f = *reinterpret_cast<Callable*>(self)->function;
  return PyUnicode_FromFormat(f.is_method() ? "<method '%s' of 'Tensor' objects>" : "<built-in function %s>", f.name.c_str());
}

// The named tuples that calls return.
PyObject* get_result_types(PyObject* self, void*) {
  return guarded([&] {
    Object list = Object::steal(PyList_New(0));
    for (const Signature& s : reinterpret_cast<Callable*>(self)->function->signatures())
      if (s.result_type) check(PyList_Append(list.get(), reinterpret_cast<PyObject*>(s.result_type)));
    return list.release();
  });
}

// By its name in its module.
PyObject* reduce(PyObject* self, PyObject*) { return get_qualified_name(self, nullptr); }

PyGetSetDef attributes[] = {{"__name__", get_name, nullptr, nullptr, nullptr},
                            {"__qualname__", get_qualified_name, nullptr, nullptr, nullptr},
                            {"__module__", get_module, nullptr, nullptr, nullptr},
                            {"__doc__", get_doc, nullptr, nullptr, nullptr},
                            {"__rows__", get_rows, nullptr, "The table's rows: (signature, flags, doc).", nullptr},
                            {"__result_types__", get_result_types, nullptr, "The named tuples that calls return.", nullptr},
                            {}};
PyMethodDef methods[] = {{"__reduce__", reduce, METH_NOARGS, nullptr}, {}};
PyMemberDef members[] = {{"__vectorcalloffset__", T_PYSSIZET, offsetof(Callable, call), READONLY, nullptr}, {}};

PyTypeObject* make_type(const char* name, bool binds) {
  std::vector<PyType_Slot> slots{{Py_tp_getset, attributes},
                                 {Py_tp_members, members},
                                 {Py_tp_methods, methods},
                                 {Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
                                 {Py_tp_repr, reinterpret_cast<void*>(show)}};
  slots.push_back({Py_tp_descr_get, binds ? reinterpret_cast<void*>(bind_method) : reinterpret_cast<void*>(stay)});
  slots.push_back({0, nullptr});
  PyType_Spec spec{
      name, sizeof(Callable), 0,
      static_cast<unsigned>(Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL | (binds ? Py_TPFLAGS_METHOD_DESCRIPTOR : 0)),
      slots.data()};
  return reinterpret_cast<PyTypeObject*>(Object::steal(PyType_FromSpec(&spec)).release());
}

}  // namespace

Rows::Rows(std::initializer_list<Row> rows) {
  // The list lives only as long as the constructor runs.
  const auto* copy = new std::vector<Row>(rows);
  registered().push_back(*copy);
}

std::deque<Function>& all_functions() {
  static std::deque<Function> all = gather();
  return all;
}

const Function* find_function(std::string_view space, std::string_view name) {
  for (const Function& f : all_functions())
    if (f.space == space && f.name == name) return &f;
  return nullptr;
}

PyObject* make_callable(const Function& function) {
  PyTypeObject* type = function.is_method() ? method_type : function_type;
  auto* callable = PyObject_New(Callable, type);
  if (!callable) throw PythonError{};
  callable->function = &function;
  callable->call = function.is_method() ? call_method : call_function;
  return reinterpret_cast<PyObject*>(callable);
}

void add_functions(PyObject* module) {
  function_type = make_type("braze.builtin_function", false);
  method_type = make_type("braze.method_descriptor", true);
  const Object by_space = Object::steal(PyDict_New());
  for (const Space& space : spaces)
    if (space.flag != method) check(PyDict_SetItemString(by_space.get(), space.name, Object::steal(PyDict_New()).get()));
  for (const Function& f : all_functions()) {
    const Object callable = Object::steal(make_callable(f));
    if (f.is_method())
      check(PyDict_SetItemString(tensor_type->tp_dict, f.name.c_str(), callable.get()));
    else
      check(PyDict_SetItemString(PyDict_GetItemString(by_space.get(), f.space.c_str()), f.name.c_str(), callable.get()));
  }
  PyType_Modified(tensor_type);
  check(PyModule_AddObjectRef(module, "_functions", by_space.get()));
}

}  // namespace braze::python
