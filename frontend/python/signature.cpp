// Binding: a Python call meets a Signature.
#include "frontend/python/signature.h"

#include <algorithm>
#include <string_view>
#include <unordered_set>

#include "braze/autograd.h"
#include "frontend/elementwise.h"
#include "frontend/python/generator.h"
#include "frontend/tensor_impl.h"
#include "frontend/view_layout.h"
#include "ir/error.h"

namespace braze::python {

namespace {

bool is_tensor_without_dims(PyObject* p) { return is_tensor(p) && tensor_of(p).dim() == 0; }

bool fits_list(const Parameter& p, PyObject* value) {
  const bool tuple = PyTuple_Check(value), sequence = tuple || PyList_Check(value);
  const auto each = [&](auto test) {
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(value); ++i)
      if (!test(PySequence_Fast_GET_ITEM(value, i))) return false;
    return true;
  };
  switch (p.kind) {
    case ParameterKind::integer:
      return sequence ? each(is_integer) : p.size > 0 && is_integer(value);
    case ParameterKind::number:
      return sequence ? each(is_real) : p.size > 0 && is_real(value);
    case ParameterKind::boolean:
      return sequence ? each(is_boolean) : p.size > 0 && is_boolean(value);
    case ParameterKind::tensor:
      return sequence && each([&](PyObject* item) { return is_tensor(item) || (p.optional_entries && item == Py_None); });
    case ParameterKind::operand:
      return sequence && each([](PyObject* item) { return is_tensor(item) || is_number(item); });
    case ParameterKind::scalar:
      return sequence && each(is_number);
    default:
      return false;
  }
}

bool fits(const Parameter& p, PyObject* value) {
  if (value == Py_None) return p.optional || p.kind == ParameterKind::object;
  if (p.list) return fits_list(p, value);
  switch (p.kind) {
    case ParameterKind::tensor:
      return is_tensor(value);
    case ParameterKind::operand:
      return is_tensor(value) || is_number(value);
    case ParameterKind::scalar:
      return is_number(value) || is_tensor_without_dims(value);
    case ParameterKind::integer:
      return is_integer(value);
    case ParameterKind::number:
      return is_real(value) || is_tensor_without_dims(value);
    case ParameterKind::boolean:
      return is_boolean(value);
    case ParameterKind::dtype:
      return is_dtype(value);
    case ParameterKind::layout:
      return is_layout(value);
    case ParameterKind::device:
      return is_device(value);
    case ParameterKind::memory_format:
      return is_memory_format(value);
    case ParameterKind::string:
      return PyUnicode_Check(value);
    case ParameterKind::generator:
      return is_generator(value);
    case ParameterKind::object:
      return true;
  }
  return false;
}

// PyTorch's names of types in messages.
std::string kind_name(const Parameter& p) {
  switch (p.kind) {
    case ParameterKind::tensor:
    case ParameterKind::operand:
      return p.list ? "tuple of Tensors" : "Tensor";
    case ParameterKind::scalar:
      return p.list ? "tuple of Scalars" : "Number";
    case ParameterKind::integer:
      return p.list ? "tuple of ints" : "int";
    case ParameterKind::number:
      return p.list ? "tuple of floats" : "float";
    case ParameterKind::boolean:
      return p.list ? "tuple of bools" : "bool";
    case ParameterKind::dtype:
      return "braze.dtype";
    case ParameterKind::layout:
      return "braze.layout";
    case ParameterKind::device:
      return "braze.device";
    case ParameterKind::memory_format:
      return "braze.memory_format";
    case ParameterKind::generator:
      return "braze.Generator";
    case ParameterKind::string:
      return "str";
    case ParameterKind::object:
      return "object";
  }
  return "object";
}

// Interned names, as a call's keywords nearly always are, differ where their addresses do.
bool same_name(PyObject* a, PyObject* b) {
  return a == b || (!(PyUnicode_CHECK_INTERNED(a) && PyUnicode_CHECK_INTERNED(b)) && PyUnicode_Compare(a, b) == 0);
}

bool is_numpy_name(const Parameter& p, PyObject* keyword) {
  for (PyObject* name : p.numpy_names)
    if (name && same_name(name, keyword)) return true;
  return false;
}

// One int that begins a spread list: x.view(2, -1).
bool begins_spread(const Signature& s, std::size_t first, PyObject* const* args, std::size_t count) {
  if (count == 0 || s.positional != first + 1) return false;
  const Parameter& p = s.parameters[first];
  return p.list && p.kind == ParameterKind::integer && is_integer(args[0]);
}

std::string got_text(const Parameter& p, PyObject* value) {
  if (p.list && (PyTuple_Check(value) || PyList_Check(value))) {
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(value); ++i) {
      Parameter entry = p;
      entry.list = false;
      entry.optional = p.optional_entries;
      PyObject* item = PySequence_Fast_GET_ITEM(value, i);
      if (!fits(entry, item)) return fmt::format("but found element of type {} at pos {}", type_name(item), i);
    }
  }
  return "not " + type_name(value);
}

PyObject* text_object(std::string_view text) {
  return PyUnicode_FromStringAndSize(text.data(), static_cast<Py_ssize_t>(text.size()));
}

}  // namespace

// ---- arguments ----

Tensor Arguments::tensor_or_none(std::size_t i) const { return none(i) ? Tensor() : tensor(i); }

std::vector<Tensor> Arguments::tensors(std::size_t i) const {
  std::vector<Tensor> list;
  PyObject* sequence = values_[i];
  if (sequence == Py_None) return list;
  for (Py_ssize_t k = 0; k < PySequence_Fast_GET_SIZE(sequence); ++k) {
    PyObject* item = PySequence_Fast_GET_ITEM(sequence, k);
    list.push_back(item == Py_None ? Tensor() : tensor_of(item));
  }
  return list;
}

In Arguments::in(std::size_t i) const {
  if (is_tensor(i)) return In(tensor(i));
  return In(to_scalar(values_[i]));
}

bool Arguments::boolean(std::size_t i) const {
  const int truth = PyObject_IsTrue(values_[i]);
  check(truth);
  return truth;
}

Sizes Arguments::ints(std::size_t i) const {
  PyObject* value = values_[i];
  if (value == Py_None) return {};
  if (PyTuple_Check(value) || PyList_Check(value)) {
    const Parameter& p = signature_->parameters[i];
    Sizes out;
    for (Py_ssize_t k = 0; k < PySequence_Fast_GET_SIZE(value); ++k) {
      PyObject* item = PySequence_Fast_GET_ITEM(value, k);
      int overflow = 0;
      if (PyLong_Check(item) && (PyLong_AsLongLongAndOverflow(item, &overflow), overflow))
        raise(PyExc_TypeError,
              "{}(): argument '{}' failed to unpack the object at pos {} with error \"Overflow when unpacking long long: {}\"",
              signature_->name, p.name, k + 1, repr_text(item));
      out.push_back(to_integer(item));
    }
    return out;
  }
  const auto size = static_cast<std::size_t>(std::max(1, signature_->parameters[i].size));
  return Sizes(size, to_integer(value));
}

std::vector<double> Arguments::numbers(std::size_t i) const {
  PyObject* value = values_[i];
  if (value == Py_None) return {};
  if (!PyTuple_Check(value) && !PyList_Check(value))
    return std::vector<double>(static_cast<std::size_t>(std::max(1, signature_->parameters[i].size)), to_real(value));
  std::vector<double> list;
  for (Py_ssize_t k = 0; k < PySequence_Fast_GET_SIZE(value); ++k) list.push_back(to_real(PySequence_Fast_GET_ITEM(value, k)));
  return list;
}

std::optional<DType> Arguments::dtype_or_out(std::size_t i) const {
  return none(i) && out_tensor() ? out_tensor()->dtype() : dtype_or_none(i);
}

TensorOptions Arguments::options() const {
  const auto at = static_cast<std::size_t>(signature_->options_at);
  TensorOptions options;
  options.dtype = dtype_or_out(at);
  if (!none(at + 2)) require_supported_device(values_[at + 2], true);
  return options;
}

// ---- binding ----

bool Signature::bind_positional(PyObject* const* args, std::size_t count, std::size_t first, Arguments& arguments) const {
  if (first + count > positional || first + count < required) return false;
  const Parameter* p = parameters.data() + first;
  PyObject** values = arguments.values_.data() + first;
  for (std::size_t i = 0; i < count; ++i, ++p) {
    if (!fits(*p, args[i])) return false;
    values[i] = args[i];
  }
  for (const Parameter* end = parameters.data() + parameters.size(); p != end; ++p)
    arguments.values_[static_cast<std::size_t>(p - parameters.data())] = p->default_value;
  return true;
}

bool Signature::bind(PyObject* self, PyObject* const* args, std::size_t count, PyObject* keywords, bool as_method,
                     Arguments& arguments, std::string* why) const {
  const std::size_t first = as_method ? 1 : 0, named = keywords ? static_cast<std::size_t>(PyTuple_GET_SIZE(keywords)) : 0;
  arguments.signature_ = this;
  arguments.out_ = nullptr;
  if (as_method) arguments.values_[0] = self;
  if (named == 0 && !why && !begins_spread(*this, first, args, count)) return bind_positional(args, count, first, arguments);
  const auto wrong = [&](const char* text, const auto&... with) {
    if (why) *why = fmt::format(fmt::runtime(text), with...);
    return false;
  };
  std::size_t given = count;
  if (begins_spread(*this, first, args, count)) {
    PyObject* tuple = PyTuple_New(static_cast<Py_ssize_t>(count));
    for (std::size_t i = 0; i < count; ++i) PyTuple_SET_ITEM(tuple, static_cast<Py_ssize_t>(i), Py_NewRef(args[i]));
    arguments.spread_ = Object::steal(tuple);
    given = 1;
  } else if (count > positional - first) {
    const std::size_t most = positional - first;
    return wrong("{}() takes {} positional argument{} but {} {} given", name, most, most == 1 ? "" : "s", count,
                 count == 1 ? "was" : "were");
  }
  std::size_t keywords_used = 0;
  std::string missing;
  std::size_t missing_count = 0;
  for (std::size_t i = first; i < parameters.size(); ++i) {
    const Parameter& p = parameters[i];
    PyObject* value = nullptr;
    const bool by_position = i - first < given && !p.keyword_only;
    if (by_position) value = arguments.spread_ && i == first ? arguments.spread_.get() : args[i - first];
    for (std::size_t k = 0; k < named; ++k) {
      PyObject* keyword = PyTuple_GET_ITEM(keywords, static_cast<Py_ssize_t>(k));
      if (!same_name(p.python_name, keyword) && !is_numpy_name(p, keyword)) continue;
      if (value) return wrong("{}() got multiple values for argument '{}'", name, p.name);
      value = args[count + k];
      ++keywords_used;
    }
    if (!value) {
      if (p.required) {
        missing += (missing_count++ ? ", \"" : "\"") + p.name + "\"";
        continue;
      }
      arguments.values_[i] = p.default_value;
      continue;
    }
    if (!fits(p, value)) {
      const std::string got = got_text(p, value);
      if (by_position)
        return wrong("{}(): argument '{}' (position {}) must be {}, {}", name, p.name, i - first + 1, kind_name(p), got);
      return wrong("{}(): argument '{}' must be {}, {}", name, p.name, kind_name(p), got);
    }
    arguments.values_[i] = value;
  }
  if (missing_count)
    return wrong("{}() missing {} required positional argument{}: {}", name, missing_count, missing_count == 1 ? "" : "s", missing);
  if (keywords_used == named) return true;
  static PyObject* const out_name = interned("out");
  for (std::size_t k = 0; k < named; ++k) {
    PyObject* keyword = PyTuple_GET_ITEM(keywords, static_cast<Py_ssize_t>(k));
    if (takes_out && same_name(out_name, keyword)) {
      PyObject* value = args[count + k];
      const bool several = !result_names.empty() || result.starts_with('(');
      if (value != Py_None && !(several ? PyTuple_Check(value) || PyList_Check(value) : is_tensor(value)))
        return wrong("{}(): argument 'out' must be {}, not {}", name, several ? "tuple of Tensors" : "Tensor", type_name(value));
      arguments.out_ = value == Py_None ? nullptr : value;
      continue;
    }
    const bool known =
        std::any_of(parameters.begin() + static_cast<std::ptrdiff_t>(first), parameters.end(),
                    [&](const Parameter& p) { return same_name(p.python_name, keyword) || is_numpy_name(p, keyword); });
    if (!known) return wrong("{}() got an unexpected keyword argument '{}'", name, text_of(keyword));
  }
  return true;
}

// ---- results ----

PyObject* to_python(const Tensor& tensor) { return wrap(tensor); }
PyObject* to_python(Tensor&& tensor) { return wrap(std::move(tensor)); }
PyObject* to_python(bool value) { return Py_NewRef(value ? Py_True : Py_False); }
PyObject* to_python(double value) { return PyFloat_FromDouble(value); }
PyObject* to_python(const Scalar& value) { return from_scalar(value); }
PyObject* to_python(DType value) { return Py_NewRef(dtype_object(value)); }
PyObject* to_python(const std::string& value) { return text_object(value); }
PyObject* to_python(const Sizes& value) { return make_size(value); }
PyObject* to_python(const ValuesAndIndices& value) { return to_python(std::tuple<Tensor, Tensor>(value.values, value.indices)); }

PyObject* to_python(const std::vector<Tensor>& tensors) {
  Object result = Object::steal(PyTuple_New(static_cast<Py_ssize_t>(tensors.size())));
  for (std::size_t i = 0; i < tensors.size(); ++i) PyTuple_SET_ITEM(result.get(), static_cast<Py_ssize_t>(i), wrap(tensors[i]));
  return result.release();
}

PyObject* to_python(const std::vector<double>& value) {
  Object result = Object::steal(PyTuple_New(static_cast<Py_ssize_t>(value.size())));
  for (std::size_t i = 0; i < value.size(); ++i)
    PyTuple_SET_ITEM(result.get(), static_cast<Py_ssize_t>(i), PyFloat_FromDouble(value[i]));
  return result.release();
}

// ---- writing results into tensors that exist ----

namespace {

enum class Writing { in_place, out_exact, out_cast };

void write_result(const Tensor& result, Tensor& target, Writing how, const std::string& name) {
  require(how == Writing::in_place || !is_grad_enabled() || !(result.requires_grad() || target.requires_grad()),
          "{}(): functions with out=... arguments don't support automatic differentiation, but one of the arguments requires grad.",
          name);
  const DType from = result.dtype(), to = target.dtype();
  require(can_cast(from, to), "result type {} can't be cast to the desired output type {}", info(from).scalar_name,
          info(to).scalar_name);
  require(from == to || how != Writing::out_exact, "Expected out tensor to have dtype {}, but got {} instead",
          info(from).torch_name, info(to).torch_name);
  const Sizes have = target.sizes(), want = result.sizes();
  if (have != want) {
    require<ShapeError>(how != Writing::in_place, "output with shape [{}] doesn't match the broadcast shape [{}]",
                        fmt::join(have, ", "), fmt::join(want, ", "));
    if (target.numel() != 0 &&
        PyErr_WarnEx(
            PyExc_UserWarning,
            fmt::format(
                "An output with one or more elements was resized since it had shape [{}], which does not match the required "
                "output shape [{}].",
                fmt::join(have, ", "), fmt::join(want, ", "))
                .c_str(),
            1) < 0)
      throw PythonError{};
    target.resize_(want);
    // In memory the new elements lie as the result's do.
    const Geometry from_layout = result.impl()->layout();
    TensorImpl& impl = *target.impl();
    impl.set_layout(to, {impl.layout().offset, from_layout.sizes, format_strides(from_layout, MemoryFormat::preserve)});
  }
  if (how == Writing::in_place)
    write_in_place(target, result, {});  // its derivative is the function's, no copy's
  else
    target.copy_(result);
}

void write_results(PyObject* results, PyObject* targets, Writing how, const std::string& name) {
  if (is_tensor(results)) return write_result(tensor_of(results), tensor_of(targets), how, name);
  const Py_ssize_t count = PyTuple_Check(results) ? PyTuple_GET_SIZE(results) : -1;
  if (PySequence_Fast_GET_SIZE(targets) != count)
    raise(PyExc_TypeError, "{}(): argument 'out' must be a tuple of {} Tensors, not of {}", name, count,
          PySequence_Fast_GET_SIZE(targets));
  for (Py_ssize_t i = 0; i < count; ++i) {
    PyObject* target = PySequence_Fast_GET_ITEM(targets, i);
    if (!is_tensor(target))
      raise(PyExc_TypeError, "{}(): argument 'out' must be tuple of Tensors, not tuple with {}", name, type_name(target));
    write_result(tensor_of(PyTuple_GET_ITEM(results, i)), tensor_of(target), how, name);
  }
}

// Functions whose `out` PyTorch lets overlap their operands: reductions and linear algebra, which compute apart from it. (Recorded by
// calling every function so.)
bool computes_apart(const std::string& name) {
  static const std::unordered_set<std::string_view> names{"all",
                                                          "amax",
                                                          "amin",
                                                          "any",
                                                          "argmax",
                                                          "argmin",
                                                          "bucketize",
                                                          "chain_matmul",
                                                          "cholesky_inverse",
                                                          "cond",
                                                          "det",
                                                          "diag",
                                                          "dot",
                                                          "eigvalsh",
                                                          "histc",
                                                          "inner",
                                                          "inv",
                                                          "cholesky_solve",
                                                          "inverse",
                                                          "log_softmax",
                                                          "linear",
                                                          "logsigmoid",
                                                          "logsumexp",
                                                          "matmul",
                                                          "matrix_norm",
                                                          "matrix_power",
                                                          "mean",
                                                          "mm",
                                                          "mvlgamma",
                                                          "nanmean",
                                                          "nanquantile",
                                                          "multigammaln",
                                                          "nansum",
                                                          "norm",
                                                          "pinv",
                                                          "prod",
                                                          "quantile",
                                                          "searchsorted",
                                                          "ndtr",
                                                          "slice_scatter",
                                                          "softmax",
                                                          "solve",
                                                          "std",
                                                          "sum",
                                                          "svdvals",
                                                          "tensordot",
                                                          "tril",
                                                          "triu",
                                                          "var",
                                                          "vdot",
                                                          "vecdot",
                                                          "vector_norm",
                                                          "bmm",
                                                          "mv"};
  return names.contains(name);
}

void require_no_partial_overlap(const Arguments& arguments, std::size_t count, PyObject* target) {
  if (is_tensor(target)) {
    const TensorImpl& written = *tensor_of(target).impl();
    const auto check = [&](PyObject* p) {
      if (is_tensor(p)) require_no_partial_overlap(written, tensor_of(p));
    };
    for (std::size_t i = 0; i < count; ++i) {
      PyObject* given = arguments.object(i);
      if (PyTuple_Check(given) || PyList_Check(given))
        for (Py_ssize_t k = 0; k < PySequence_Fast_GET_SIZE(given); ++k) check(PySequence_Fast_GET_ITEM(given, k));
      else
        check(given);
    }
    return;
  }
  for (Py_ssize_t k = 0; k < PySequence_Fast_GET_SIZE(target); ++k)
    if (is_tensor(PySequence_Fast_GET_ITEM(target, k)))
      require_no_partial_overlap(arguments, count, PySequence_Fast_GET_ITEM(target, k));
}

Object named(PyTypeObject* type, const Object& tuple) {
  Object result = Object::steal(PyStructSequence_New(type));
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple.get()); ++i)
    PyStructSequence_SetItem(result.get(), i, Py_NewRef(PyTuple_GET_ITEM(tuple.get(), i)));
  return result;
}

std::string shown_signature(const Signature& s, bool as_method) {
  std::string text;
  bool star = false;
  for (std::size_t i = as_method ? 1 : 0; i < s.parameters.size(); ++i) {
    const Parameter& p = s.parameters[i];
    if (!text.empty()) text += ", ";
    if (p.keyword_only && !star) text += "*, ", star = true;
    text += kind_name(p) + " " + p.name;
    if (!p.required) text += " = " + p.default_text;
  }
  return "(" + text + ")";
}

}  // namespace

// ---- functions ----

const std::vector<Signature>& Function::signatures() const {
  if (parsed_.empty())
    for (const Row* row : rows) {
      parsed_.push_back(Signature::parse(*row, space));
      if (writes_back) parsed_.back().name = name;
    }
  return parsed_;
}

PyObject* Function::invoke(const Signature& signature, Arguments& arguments) const {
  if (arguments.out_ && !computes_apart(name)) require_no_partial_overlap(arguments, signature.parameters.size(), arguments.out_);
  Object result = Object::steal(signature.row->call(arguments));
  if (writes_back) {
    for (std::size_t i = 1; i < signature.parameters.size(); ++i)
      if (arguments.is_tensor(i)) require_no_partial_overlap(*arguments.tensor(0).impl(), arguments.tensor(i));
    write_results(result.get(), arguments.values_[0], Writing::in_place, name);
    return Py_NewRef(arguments.values_[0]);
  }
  if (arguments.out_) {
    const bool casts = (signature.row->flags & out_casts) == out_casts;
    write_results(result.get(), arguments.out_, casts ? Writing::out_cast : Writing::out_exact, name);
    result = PyList_Check(arguments.out_) ? Object::steal(PySequence_Tuple(arguments.out_)) : Object::share(arguments.out_);
  }
  if (signature.options_at >= 0) {
    const auto requires_grad = static_cast<std::size_t>(signature.options_at) + 4;
    if (!arguments.none(requires_grad) && arguments.boolean(requires_grad)) {
      const DType type = tensor_of(result.get()).dtype();
      require(is_float(type) || is_complex(type), "Only Tensors of floating point and complex dtype can require gradients");
      Object::steal(PyObject_CallMethod(result.get(), "requires_grad_", nullptr));
    }
  }
  if (signature.result_type) result = named(signature.result_type, result);
  return result.release();
}

PyObject* Function::call(PyObject* self, PyObject* const* args, std::size_t count, PyObject* keywords) const {
  return guarded([&] {
    for (const Signature& s : signatures()) {
      Arguments arguments;
      if (s.bind(self, args, count, keywords, is_method(), arguments, nullptr)) return invoke(s, arguments);
    }
    complain(self, args, count, keywords);
  });
}

PyObject* Function::call_or_null(PyObject* self, PyObject* const* args, std::size_t count) const {
  return guarded([&]() -> PyObject* {
    for (const Signature& s : signatures()) {
      Arguments arguments;
      if (s.bind(self, args, count, nullptr, is_method(), arguments, nullptr)) return invoke(s, arguments);
    }
    return nullptr;
  });
}

void Function::complain(PyObject* self, PyObject* const* args, std::size_t count, PyObject* keywords) const {
  const std::size_t named = keywords ? static_cast<std::size_t>(PyTuple_GET_SIZE(keywords)) : 0, first = is_method() ? 1 : 0;
  // As PyTorch: of several overloads only those that take as many arguments are plausible; one plausible overload says what it lacks.
  std::vector<const Signature*> plausible;
  for (const Signature& s : signatures()) {
    std::size_t least = 0;
    for (std::size_t i = first; i < s.parameters.size(); ++i) least += s.parameters[i].required;
    const std::size_t most = s.parameters.size() - first + s.takes_out;
    if (least <= count + named && count + named <= most && count <= s.positional - first) plausible.push_back(&s);
  }
  if (plausible.size() == 1 || signatures().size() == 1) {
    Arguments arguments;
    std::string why;
    (plausible.size() == 1 ? *plausible[0] : signatures()[0]).bind(self, args, count, keywords, is_method(), arguments, &why);
    raise(PyExc_TypeError, why);
  }
  std::string got;
  for (std::size_t i = 0; i < count + named; ++i) {
    if (!got.empty()) got += ", ";
    if (i >= count) got += text_of(PyTuple_GET_ITEM(keywords, static_cast<Py_ssize_t>(i - count))) + "=";
    got += type_name(args[i]);
  }
  std::string expected;
  for (const Signature& s : signatures()) expected += "\n * " + shown_signature(s, is_method());
  raise(PyExc_TypeError, "{}() received an invalid combination of arguments - got ({}), but expected one of:{}\n", name, got,
        expected);
}

}  // namespace braze::python
