// Functions as rows of tables, as PyTorch's native_functions.yaml and python_arg_parser: a row is a signature in PyTorch's words and
// a lambda that calls the C++ function. The parser binds positional and keyword arguments, converts, chooses among overloads and
// raises PyTorch's TypeErrors; `out=`, `name_`, docstrings, stubs and docs/coverage.md come from the same row.
//
// A table is a file table_<family>.cpp:
//
//   namespace braze::python { namespace {
//   const Rows rows{
//       {"sum(Tensor input, *, ScalarType? dtype=None)", function | method,
//        [](Arguments& a) { return sum(a.in(0), a.dtype_or_none(1)); },
//        "The sum of all elements. Integers and bool give int64."},
//       {"sum(Tensor input, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None)", function | method | out,
//        [](Arguments& a) { return sum(a.in(0), a.ints(1), a.boolean(2), a.dtype_or_none(3)); }},
//       {"absolute = abs"},                                                    // another name, wherever `abs` is
//       {"max(Tensor input, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)", function | method | out,
//        [](Arguments& a) { return a.tensor(0).max(a.integer(1), a.boolean(2)); }},   // returns braze.return_types.max
//   };
//   } }
//
// * Rows with one name are overloads, tried in the order in which they stand. No file may split the overloads of one name.
// * Arguments are numbered as they stand in the signature, self included: it is called `input` and comes first. As a method the
//   tensor itself is argument 0.
// * Types:  Tensor  Tensor[]  Tensor?[]   Tensor|Scalar (a tensor or a number: In)   Scalar  int  int[]  int[2]  float  float[]  bool
//           bool[]  ScalarType  Layout  Device  MemoryFormat  Generator  str  object, and Options, which stands for
//           `ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=False, bool? requires_grad=False`.
//   `?` allows None. `int[N]` also takes one int. An `int[]` that is the only positional argument (self apart) may be spread:
//   zeros(2, 3), x.view(2, -1). After `*,` come keyword-only arguments. Defaults: None, True, 1, 1e-5, inf, [], [1, 1], "text".
// * NumPy's names are taken too: axis for dim, keepdims for keepdim, x and a for input, x2 for other.
// * `out` demands the result's dtype of the tensor; `out_casts` takes any that it may be cast to.
// * Flags: `function` (braze.f), `method` (Tensor.f), `linalg`, `special`, `functional` (braze.nn.functional.f), `fft`, `initial`
//   (braze.nn.init.f), `optim` (what braze.optim's classes call);
//   `out`: takes out=, resized where needed, written with PyTorch's rule for casts, returned;
//   `inplace`: there is Tensor.f_ too (and braze.f_ where there is a function): the result is written through the tensor by
//   PyTorch's rules. Where C++ has a real in-place function, give it a row of its own instead:
//       {"copy_(Tensor input, Tensor|Scalar source, bool non_blocking=False)", method, [](Arguments& a) { return a.self().copy_(a.in(1)); }}
//   Returning the very tensor that came in gives the very Python object back.
// * The result may be: Tensor (or Tensor&), a std::vector<Tensor> (a tuple), std::pair/std::tuple of any of these, ValuesAndIndices,
//   bool, an integer, double, Scalar, DType, std::string, Sizes (a braze.Size), std::vector<double>, an Object (anything Python), or
//   nothing (None). With `-> (Tensor values, Tensor indices)` a result of several is a named tuple, braze.return_types.<name>, or
//   braze.return_types.linalg_<name>.
// * Source lines: recorded ops take the Python line by themselves; a lambda passes none.
// * The lambda throws braze's errors, or raises Python's with `raise(PyExc_..., "text {}", x)`.
#pragma once

#include <array>
#include <deque>
#include <span>
#include <tuple>
#include <type_traits>

#include "frontend/python/object.h"

namespace braze::python {

inline constexpr unsigned function = 1, method = 2, linalg = 4, special = 8, functional = 16, fft = 32, out = 64, inplace = 128,
                          out_casts = 256 | out, optim = 512, initial = 1024;

struct Signature;

// One call's arguments, converted as they are asked for. The accessor without `_or_none` is for parameters that are never None.
class Arguments {
 public:
  static constexpr std::size_t most = 26;

  const Tensor& tensor(std::size_t i) const { return tensor_of(values_[i]); }
  Tensor& self() const { return tensor_of(values_[0]); }  // for in-place functions
  Tensor tensor_or_none(std::size_t i) const;             // undefined for None
  std::vector<Tensor> tensors(std::size_t i) const;       // undefined where an entry is None
  In in(std::size_t i) const;                             // Tensor, Scalar and Tensor|Scalar
  Scalar scalar(std::size_t i) const { return to_scalar(values_[i]); }
  std::int64_t integer(std::size_t i) const { return to_integer(values_[i]); }
  double number(std::size_t i) const { return to_real(values_[i]); }
  bool boolean(std::size_t i) const;
  std::string string(std::size_t i) const { return text_of(values_[i]); }
  Sizes ints(std::size_t i) const;  // one int is a list of one, None an empty list
  std::vector<double> numbers(std::size_t i) const;
  DType dtype(std::size_t i) const { return to_dtype(values_[i]); }
  MemoryFormat memory_format(std::size_t i) const { return to_memory_format(values_[i]); }
  PyObject* object(std::size_t i) const { return values_[i]; }  // borrowed; None as Py_None

  bool none(std::size_t i) const { return values_[i] == Py_None; }
  bool is_tensor(std::size_t i) const { return python::is_tensor(values_[i]); }
  std::optional<Scalar> scalar_or_none(std::size_t i) const {
    return optional(i, [&] { return scalar(i); });
  }
  std::optional<std::int64_t> integer_or_none(std::size_t i) const {
    return optional(i, [&] { return integer(i); });
  }
  std::optional<double> number_or_none(std::size_t i) const {
    return optional(i, [&] { return number(i); });
  }
  std::optional<bool> boolean_or_none(std::size_t i) const {
    return optional(i, [&] { return boolean(i); });
  }
  std::optional<std::string> string_or_none(std::size_t i) const {
    return optional(i, [&] { return string(i); });
  }
  std::optional<Sizes> ints_or_none(std::size_t i) const {
    return optional(i, [&] { return ints(i); });
  }
  std::optional<DType> dtype_or_none(std::size_t i) const {
    return optional(i, [&] { return dtype(i); });
  }
  // The same, or out='s.
  std::optional<DType> dtype_or_out(std::size_t i) const;
  // out= where it is one tensor.
  const Tensor* out_tensor() const { return out_ && python::is_tensor(out_) ? &tensor_of(out_) : nullptr; }
  // Of `Options`: dtype (or out='s); layout and device have been checked.
  TensorOptions options() const;

 private:
  friend struct Signature;
  friend class Function;
  template <class F>
  auto optional(std::size_t i, F get) const -> std::optional<decltype(get())> {
    if (none(i)) return std::nullopt;
    return get();
  }
  std::array<PyObject*, most> values_;  // borrowed; defaults are filled in
  Object spread_;                       // the tuple of a spread int[]
  PyObject* out_ = nullptr;
  const Signature* signature_ = nullptr;
};

// ---- results: a new reference ----
PyObject* to_python(const Tensor& tensor);
PyObject* to_python(Tensor&& tensor);
PyObject* to_python(const std::vector<Tensor>& tensors);
PyObject* to_python(bool value);
PyObject* to_python(double value);
PyObject* to_python(const Scalar& value);
PyObject* to_python(DType value);
PyObject* to_python(const std::string& value);
PyObject* to_python(const Sizes& value);
PyObject* to_python(const std::vector<double>& value);
PyObject* to_python(const ValuesAndIndices& value);
inline PyObject* to_python(Object value) { return value.release(); }
template <class T>
  requires(std::is_integral_v<T> && !std::is_same_v<T, bool>)
PyObject* to_python(T value) {
  return PyLong_FromLongLong(static_cast<long long>(value));
}
template <class... Ts>
PyObject* to_python(const std::tuple<Ts...>& values) {
  Object result = Object::steal(PyTuple_New(sizeof...(Ts)));
  std::apply(
      [&](const auto&... each) {
        Py_ssize_t i = 0;
        (PyTuple_SET_ITEM(result.get(), i++, Object::steal(to_python(each)).release()), ...);
      },
      values);
  return result.release();
}
template <class A, class B>
PyObject* to_python(const std::pair<A, B>& values) {
  return to_python(std::tuple<A, B>(values.first, values.second));
}

struct Row {
  using Call = PyObject* (*)(Arguments&);

  template <class F>
  Row(const char* signature, unsigned flags, F, const char* doc = "")
      : signature(signature), flags(flags), call(&run<F>), doc(doc) {
    static_assert(std::is_empty_v<F>, "a lambda that captures nothing: of a function the type alone would be kept");
  }
  Row(const char* alias) : signature(alias), flags(0), call(nullptr), doc("") {}  // NOLINT: "absolute = abs"

  const char* signature;
  unsigned flags;
  Call call;
  const char* doc;

 private:
  template <class F>
  static PyObject* run(Arguments& arguments) {
    if constexpr (std::is_void_v<decltype(F{}(arguments))>) {
      F{}(arguments);
      Py_RETURN_NONE;
    } else {
      return to_python(F{}(arguments));
    }
  }
};

// Registers its rows when the module is loaded.
class Rows {
 public:
  Rows(std::initializer_list<Row> rows);
};

// ---- below: the parser's own business ----

enum class ParameterKind : std::uint8_t {
  tensor,
  operand,
  scalar,
  integer,
  number,
  boolean,
  dtype,
  layout,
  device,
  memory_format,
  generator,
  string,
  object
};

struct Parameter {
  ParameterKind kind;
  bool list = false, optional = false, keyword_only = false, required = true, optional_entries = false;
  int size = 0;  // of int[2]
  std::string name, default_text;
  PyObject* python_name = nullptr;         // interned
  std::array<PyObject*, 3> numpy_names{};  // NumPy's, interned
  PyObject* default_value = nullptr;       // owned for ever
};

// A parsed row.
struct Signature {
  const Row* row;
  std::string name, text, result;
  std::vector<Parameter> parameters;
  std::vector<std::string> result_names;
  PyTypeObject* result_type = nullptr;  // the named tuple
  int options_at = -1;
  std::size_t positional = 0;  // parameters that may be given by position: the first ones
  std::size_t required = 0;    // parameters up to the last one without a default
  bool takes_out = false;

  static Signature parse(const Row& row, std::string_view space);
  // Fills `arguments`. False where they do not fit; `why` then gets PyTorch's words if it is not null.
  bool bind(PyObject* self, PyObject* const* args, std::size_t count, PyObject* keywords, bool as_method, Arguments& arguments,
            std::string* why) const;

 private:
  // The same for arguments by position alone.
  bool bind_positional(PyObject* const* args, std::size_t count, std::size_t first, Arguments& arguments) const;
};

// All overloads of one name in one namespace: a Python callable.
class Function {
 public:
  Function(std::string name, std::string space, bool writes_back)
      : name(std::move(name)), space(std::move(space)), writes_back(writes_back) {}

  std::string name, space;  // space: "" for braze, "Tensor", "linalg", ...
  bool writes_back;         // the in-place form made from a row without one
  std::vector<const Row*> rows;

  bool is_method() const { return space == "Tensor"; }
  // As vectorcall; self is null for functions.
  PyObject* call(PyObject* self, PyObject* const* args, std::size_t count, PyObject* keywords) const;
  // The same; where no overload takes the arguments, returns null without an error (operators try the other operand then).
  PyObject* call_or_null(PyObject* self, PyObject* const* args, std::size_t count) const;
  const std::vector<Signature>& signatures() const;

 private:
  PyObject* invoke(const Signature& signature, Arguments& arguments) const;
  [[noreturn]] void complain(PyObject* self, PyObject* const* args, std::size_t count, PyObject* keywords) const;
  mutable std::vector<Signature> parsed_;
};

// Every function there is, by namespace and name, made from the tables once.
std::deque<Function>& all_functions();
const Function* find_function(std::string_view space, std::string_view name);
// Makes the types and puts methods on Tensor, functions into a dict for each namespace.
void add_functions(PyObject* module);
PyObject* make_callable(const Function& function);

}  // namespace braze::python
