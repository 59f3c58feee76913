// Signature texts become Signatures.
#include <algorithm>
#include <charconv>
#include <map>

#include "frontend/python/signature.h"
#include "ir/error.h"

namespace braze::python {

namespace {

std::string_view trim(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

// At commas outside brackets and quotes.
std::vector<std::string_view> split_list(std::string_view text) {
  std::vector<std::string_view> out;
  std::size_t begin = 0;
  int depth = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '"') quoted = !quoted;
    if (quoted) continue;
    if (text[i] == '[' || text[i] == '(') ++depth;
    if (text[i] == ']' || text[i] == ')') --depth;
    if (text[i] == ',' && depth == 0) {
      out.push_back(trim(text.substr(begin, i - begin)));
      begin = i + 1;
    }
  }
  if (const std::string_view last = trim(text.substr(begin)); !last.empty()) out.push_back(last);
  return out;
}

ParameterKind kind_of(std::string_view word) {
  static const std::map<std::string_view, ParameterKind> kinds{{"Tensor", ParameterKind::tensor},
                                                               {"Tensor|Scalar", ParameterKind::operand},
                                                               {"Scalar", ParameterKind::scalar},
                                                               {"int", ParameterKind::integer},
                                                               {"float", ParameterKind::number},
                                                               {"bool", ParameterKind::boolean},
                                                               {"ScalarType", ParameterKind::dtype},
                                                               {"Layout", ParameterKind::layout},
                                                               {"Device", ParameterKind::device},
                                                               {"str", ParameterKind::string},
                                                               {"MemoryFormat", ParameterKind::memory_format},
                                                               {"Generator", ParameterKind::generator},
                                                               {"object", ParameterKind::object}};
  const auto found = kinds.find(word);
  invariant(found != kinds.end(), "a signature has the unknown type '{}'", word);
  return found->second;
}

PyObject* default_value(std::string_view text) {
  if (text == "None") return Py_NewRef(Py_None);
  if (text == "True") return Py_NewRef(Py_True);
  if (text == "False") return Py_NewRef(Py_False);
  if (text == "inf" || text == "-inf") return PyFloat_FromDouble(text == "inf" ? Py_HUGE_VAL : -Py_HUGE_VAL);
  if (text.front() == '"') return PyUnicode_FromStringAndSize(text.data() + 1, static_cast<Py_ssize_t>(text.size()) - 2);
  if (text.front() == '[') {
    const std::vector<std::string_view> items = split_list(text.substr(1, text.size() - 2));
    PyObject* tuple = PyTuple_New(static_cast<Py_ssize_t>(items.size()));
    for (std::size_t i = 0; i < items.size(); ++i) PyTuple_SET_ITEM(tuple, static_cast<Py_ssize_t>(i), default_value(items[i]));
    return tuple;
  }
  const std::string number(text);
  if (number.find_first_of(".e") == std::string::npos) return PyLong_FromString(number.c_str(), nullptr, 10);
  return PyFloat_FromDouble(std::stod(number));
}

// NumPy's names for a parameter.
std::array<PyObject*, 3> numpy_names(std::string_view name) {
  if (name == "dim") return {interned("axis")};
  if (name == "keepdim") return {interned("keepdims")};
  if (name == "input") return {interned("x"), interned("a"), interned("x1")};
  if (name == "other") return {interned("x2")};
  return {};
}

Parameter parse_parameter(std::string_view text, bool keyword_only) {
  Parameter p;
  p.keyword_only = keyword_only;
  if (const std::size_t equal = text.find('='); equal != std::string_view::npos) {
    p.default_text = trim(text.substr(equal + 1));
    p.default_value = default_value(p.default_text);
    p.required = false;
    text = trim(text.substr(0, equal));
  }
  const std::size_t space = text.rfind(' ');
  invariant(space != std::string_view::npos, "a parameter needs a type and a name: '{}'", text);
  p.name = text.substr(space + 1);
  p.python_name = interned(p.name.c_str());
  p.numpy_names = numpy_names(p.name);
  std::string_view type = trim(text.substr(0, space));
  if (type.ends_with('?')) p.optional = true, type.remove_suffix(1);
  if (type.ends_with(']')) {
    const std::size_t open = type.find('[');
    const std::string_view size = type.substr(open + 1, type.size() - open - 2);
    if (!size.empty()) std::from_chars(size.data(), size.data() + size.size(), p.size);
    p.list = true;
    type = type.substr(0, open);
    if (type.ends_with('?')) p.optional_entries = true, type.remove_suffix(1);
  }
  p.kind = kind_of(type);
  return p;
}

// Field names of `-> (Tensor values, Tensor indices)`; none where a field has no name.
std::vector<std::string> parse_result_names(std::string_view text) {
  std::vector<std::string> names;
  if (!text.starts_with('(')) return names;
  for (const std::string_view field : split_list(text.substr(1, text.size() - 2))) {
    const std::size_t space = field.rfind(' ');
    if (space == std::string_view::npos) return {};
    names.emplace_back(field.substr(space + 1));
  }
  return names;
}

// As PyTorch prints it: one field a line.
PyObject* named_tuple_repr(PyObject* self) {
  return guarded([&] {
    const Object members = Object::steal(PyObject_GetAttrString(reinterpret_cast<PyObject*>(Py_TYPE(self)), "__match_args__"));
    std::string text = std::string(Py_TYPE(self)->tp_name) + "(";
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(members.get()); ++i) {
      text += i == 0 ? "\n" : ",\n";
      text += text_of(PyTuple_GET_ITEM(members.get(), i)) + "=" + repr_text(PyStructSequence_GET_ITEM(self, i));
    }
    text += ")";
    return PyUnicode_FromStringAndSize(text.data(), static_cast<Py_ssize_t>(text.size()));
  });
}

PyTypeObject* named_tuple(const std::string& name, const std::vector<std::string>& fields) {
  // One type a name and set of fields; CPython keeps pointers into the texts.
  static std::map<std::string, PyTypeObject*> made;
  std::string key = name;
  for (const std::string& f : fields) key += "," + f;
  PyTypeObject*& type = made[key];
  if (type) return type;
  auto* description = new std::vector<PyStructSequence_Field>;
  std::string doc = "What " + name + "() returns: ";
  for (const std::string& f : fields) {
    const std::string position = "Result " + std::to_string(description->size()) + " of " + name + "().";
    description->push_back({(new std::string(f))->c_str(), (new std::string(position))->c_str()});
    doc += f + (description->size() == fields.size() ? "." : ", ");
  }
  description->push_back({nullptr, nullptr});
  auto* full_name = new std::string("braze.return_types." + name);
  auto* desc = new PyStructSequence_Desc{full_name->c_str(), (new std::string(doc))->c_str(), description->data(),
                                         static_cast<int>(fields.size())};
  type = PyStructSequence_NewType(desc);
  if (!type) throw PythonError{};
  type->tp_repr = named_tuple_repr;
  PyObject* reduced = PyUnicode_FromString("braze.return_types");
  PyObject_SetAttrString(reinterpret_cast<PyObject*>(type), "__module__", reduced);
  Py_XDECREF(reduced);
  return type;
}

}  // namespace

Signature Signature::parse(const Row& row, std::string_view space) {
  Signature s;
  s.row = &row;
  s.text = row.signature;
  s.takes_out = row.flags & out;
  std::string_view text = s.text;
  const std::size_t open = text.find('(');
  invariant(open != std::string_view::npos, "a signature needs brackets: '{}'", text);
  s.name = text.substr(0, open);
  std::size_t close = open;
  for (int depth = 0; close < text.size(); ++close) {
    if (text[close] == '(') ++depth;
    if (text[close] == ')' && --depth == 0) break;
  }
  if (const std::size_t arrow = text.find("->", close); arrow != std::string_view::npos) s.result = trim(text.substr(arrow + 2));
  bool keyword_only = false;
  for (const std::string_view part : split_list(text.substr(open + 1, close - open - 1))) {
    if (part == "*") {
      keyword_only = true;
    } else if (part == "Options") {
      s.options_at = static_cast<int>(s.parameters.size());
      for (const char* option : {"ScalarType? dtype=None", "Layout? layout=None", "Device? device=None", "bool? pin_memory=False",
                                 "bool? requires_grad=False"})
        s.parameters.push_back(parse_parameter(option, true));
    } else {
      s.parameters.push_back(parse_parameter(part, keyword_only));
    }
  }
  invariant(s.parameters.size() <= Arguments::most, "'{}' has more than {} parameters", s.name, Arguments::most);
  s.positional = static_cast<std::size_t>(
      std::count_if(s.parameters.begin(), s.parameters.end(), [](const Parameter& p) { return !p.keyword_only; }));
  for (std::size_t i = 0; i < s.parameters.size(); ++i)
    if (s.parameters[i].required) s.required = i + 1;
  s.result_names = parse_result_names(s.result);
  // PyTorch names the type by the function's name in ATen, where those of torch.linalg begin with linalg_.
  if (!s.result_names.empty()) s.result_type = named_tuple((space == "linalg" ? "linalg_" : "") + s.name, s.result_names);
  return s;
}

}  // namespace braze::python
