// Nested Python data becomes a tensor, and back: tensor([[1, 2], [3, 4]]) and tolist().
#include "frontend/python/data.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <complex>
#include <cstring>

#include "braze/host.h"
#include "frontend/python/signature.h"
#include "ir/error.h"

namespace braze::python {

namespace {

// Anything with a length and items that is no text: lists, tuples, ranges, NumPy arrays, tensors with dims.
bool is_sequence(PyObject* p) {
  if (PyList_Check(p) || PyTuple_Check(p)) return true;
  if (PyUnicode_Check(p) || PyBytes_Check(p) || is_tensor(p)) return false;
  return PySequence_Check(p) && PyObject_HasAttrString(p, "__len__");
}

// A list or tuple of the items.
Object items_of(PyObject* p) { return Object::steal(PySequence_Fast(p, "a sequence")); }

constexpr std::size_t most_dims = 64;

// As PyTorch: the shape that the first item of each level suggests. A tensor among the items stands for a number.
Sizes infer_sizes(PyObject* data) {
  Sizes sizes;
  Object level = Object::share(data);
  while (is_sequence(level.get())) {
    const Py_ssize_t length = PySequence_Size(level.get());
    if (length < 0) throw PythonError{};
    sizes.push_back(length);
    if (sizes.size() > most_dims) raise(PyExc_ValueError, "too many dimensions '{}'", type_name(data));
    if (length == 0) break;
    level = Object::steal(PySequence_GetItem(level.get(), 0));
    if (PyUnicode_Check(level.get())) raise(PyExc_ValueError, "too many dimensions 'str'");
  }
  return sizes;
}

// The dtype of a number as data.
DType dtype_of_item(PyObject* p) {
  if (PyFloat_CheckExact(p)) return get_default_dtype();
  if (PyBool_Check(p)) return DType::boolean;
  if (PyLong_Check(p)) return DType::i64;
  if (is_tensor(p)) return tensor_of(p).dtype();
  if (is_numpy_scalar(p)) return dtype_of_numpy(Object::steal(PyObject_GetAttrString(p, "dtype")).get());
  if (PyFloat_Check(p)) return get_default_dtype();
  if (PyComplex_Check(p)) return complex_type(get_default_dtype());
  if (p == Py_None) raise(PyExc_RuntimeError, "Could not infer dtype of NoneType");
  raise(PyExc_RuntimeError, "Could not infer dtype of {}", type_name(p));
}

void infer_dtype(PyObject* data, std::optional<DType>& type) {
  if (PyUnicode_Check(data) || PyBytes_Check(data)) raise(PyExc_TypeError, "new(): invalid data type '{}'", type_name(data));
  if (!is_sequence(data)) {
    const DType found = dtype_of_item(data);
    type = type ? promote_types(*type, found) : found;
    return;
  }
  const Object items = items_of(data);
  const Py_ssize_t count = PySequence_Fast_GET_SIZE(items.get());
  if (count == 0) type = type ? promote_types(*type, get_default_dtype()) : get_default_dtype();
  for (Py_ssize_t i = 0; i < count; ++i) infer_dtype(PySequence_Fast_GET_ITEM(items.get(), i), type);
}

class Filler {
 public:
  Filler(DType type, std::byte* to) : type_(type), to_(to) {}

  void fill(PyObject* data, std::span<const std::int64_t> sizes) {
    if (sizes.empty()) return put(data);
    if (is_tensor(data)) return fill_tensor(tensor_of(data), sizes);
    if (!is_sequence(data))
      raise(PyExc_TypeError, "expected a sequence of length {} at dim {} and got '{}'", sizes[0], dim_, type_name(data));
    const Object items = items_of(data);
    const Py_ssize_t length = PySequence_Fast_GET_SIZE(items.get());
    if (length != sizes[0]) raise(PyExc_ValueError, "expected sequence of length {} at dim {} (got {})", sizes[0], dim_, length);
    ++dim_;
    for (Py_ssize_t i = 0; i < length; ++i) fill(PySequence_Fast_GET_ITEM(items.get(), i), sizes.subspan(1));
    --dim_;
  }

 private:
  void fill_tensor(const Tensor& t, std::span<const std::int64_t> sizes) {
    if (t.sizes() != Sizes(sizes.begin(), sizes.end()))
      raise(PyExc_ValueError, "expected a tensor of sizes [{}] at dim {} (got [{}])", fmt::join(sizes, ", "), dim_,
            fmt::join(t.sizes(), ", "));
    const Tensor same = t.to(type_);
    same.copy_to(to_, type_);
    to_ += same.nbytes();
  }

  void put(PyObject* p) {
    if (is_tensor(p)) {
      require<ValueError>(tensor_of(p).numel() == 1, "only one element tensors can be converted to Python scalars");
      const Tensor one = tensor_of(p).to(type_);
      one.copy_to(to_, type_);
      to_ += size_of(type_);
      return;
    }
    if (is_sequence(p)) raise(PyExc_TypeError, "not a sequence");
    if (is_complex(type_)) return put_complex(p);
    std::uint64_t bits = 0;
    if (is_float(type_)) {
      const double value = number(p);
      bits = convert_element(std::bit_cast<std::uint64_t>(value), DType::f64, type_);
    } else if (type_ == DType::boolean) {
      const int truth = PyObject_IsTrue(p);
      check(truth);
      bits = truth;
    } else {
      bits = static_cast<std::uint64_t>(integer(p));
    }
    std::memcpy(to_, &bits, static_cast<std::size_t>(size_of(type_)));  // little-endian, as every target
    to_ += size_of(type_);
  }

  void put_complex(PyObject* p) {
    if (!is_number(p)) raise(PyExc_TypeError, "must be complex number, not {}", type_name(p));
    const std::complex<double> z = to_scalar(p).to_complex();
    const DType part = component_type(type_);
    for (const double value : {z.real(), z.imag()}) {
      const std::uint64_t bits = convert_element(std::bit_cast<std::uint64_t>(value), DType::f64, part);
      std::memcpy(to_, &bits, static_cast<std::size_t>(size_of(part)));
      to_ += size_of(part);
    }
  }

  static double number(PyObject* p) {
    if (!is_real(p)) raise(PyExc_TypeError, "must be real number, not {}", type_name(p));
    return to_real(p);
  }

  // A float is cut off, as by int(); what does not fit is an error, as in PyTorch.
  std::int64_t integer(PyObject* p) const {
    if (!is_real(p)) raise(PyExc_TypeError, "an integer is required (got type {})", type_name(p));
    if (PyFloat_Check(p) || (is_numpy_scalar(p) && !is_integer(p) && !is_boolean(p))) {
      const double value = std::trunc(to_real(p));
      require<Error>(value >= -0x1p63 && value < 0x1p63, "value cannot be converted to type {} without overflow",
                     info(type_).torch_name);
      return fitting(static_cast<std::int64_t>(value));
    }
    return fitting(whole(p));
  }

  // Negative numbers wrap in uint8.
  std::int64_t fitting(std::int64_t value) const {
    const IntegerInfo range = iinfo(type_);
    require<Error>((is_signed(type_) ? range.min : -range.max) <= value && value <= range.max,
                   "value cannot be converted to type {} without overflow", info(type_).torch_name);
    return value;
  }

  static std::int64_t whole(PyObject* p) {
    const Object number = Object::steal(PyNumber_Index(p));
    int overflow = 0;
    const long long value = PyLong_AsLongLongAndOverflow(number.get(), &overflow);
    if (overflow) raise(PyExc_ValueError, "Overflow when unpacking long long: {} does not fit in 64 bits", repr_text(p));
    return value;
  }

  DType type_;
  std::byte* to_;
  int dim_ = 0;
};

}  // namespace

DType dtype_of_numpy(PyObject* numpy_dtype) {
  const std::string name = text_of(Object::steal(PyObject_GetAttrString(numpy_dtype, "name")).get());
  for (const DType t : surface_dtypes)
    if (name == info(t).torch_name) return t;
  raise(PyExc_TypeError,
        "can't convert np.ndarray of type {}. The only supported types are: float64, float32, float16, complex64, complex128, "
        "int64, int32, "
        "int16, int8, uint8, and bool.",
        name == "str" || name.starts_with("str") ? "numpy.str_" : "numpy." + name);
}

namespace {

bool is_numpy_array(PyObject* p) { return std::string_view(Py_TYPE(p)->tp_name) == "numpy.ndarray"; }

bool is_list_of_arrays(PyObject* p) {
  return (PyList_Check(p) || PyTuple_Check(p)) && PySequence_Fast_GET_SIZE(p) > 0 && is_numpy_array(PySequence_Fast_GET_ITEM(p, 0));
}

Object array_tensor(PyObject* array) {
  static PyObject* convert =
      Object::steal(PyObject_GetAttrString(Object::steal(PyImport_ImportModule("braze._creation")).get(), "array_tensor"))
          .release();
  return Object::steal(PyObject_CallOneArg(convert, array));
}

}  // namespace

Tensor tensor_from_data(PyObject* data, std::optional<DType> type) {
  if (is_tensor(data)) return tensor_of(data).to(type, true);
  if (is_numpy_array(data)) return tensor_of(array_tensor(data).get()).to(type, false);
  const Sizes sizes = infer_sizes(data);
  if (is_list_of_arrays(data) &&
      PyErr_WarnEx(PyExc_UserWarning,
                   "Creating a tensor from a list of numpy.ndarrays is extremely slow. Please consider converting the list to a "
                   "single numpy.ndarray with numpy.array() before converting to a tensor.",
                   1) < 0)
    throw PythonError{};
  if (!type) {
    infer_dtype(data, type);
    if (!type) type = get_default_dtype();
  } else if (PyUnicode_Check(data)) {
    raise(PyExc_TypeError, "new(): invalid data type 'str'");
  }
  std::int64_t count = 1;
  for (const std::int64_t s : sizes) count *= s;
  std::vector<std::byte> bytes(static_cast<std::size_t>(count * size_of(*type)));
  if (count > 0) Filler(*type, bytes.data()).fill(data, sizes);
  return from_bytes(bytes.data(), sizes, *type);
}

namespace {

PyObject* element(const std::byte* at, DType type) {
  if (type == complex64) {
    std::complex<float> z;
    std::memcpy(&z, at, sizeof z);
    return PyComplex_FromDoubles(z.real(), z.imag());
  }
  if (type == complex128) {
    std::complex<double> z;
    std::memcpy(&z, at, sizeof z);
    return PyComplex_FromDoubles(z.real(), z.imag());
  }
  std::uint64_t bits = 0;
  std::memcpy(&bits, at, static_cast<std::size_t>(size_of(type)));
  if (type == DType::boolean) return Py_NewRef(bits ? Py_True : Py_False);
  const DType to = is_float(type) ? DType::f64 : DType::i64;
  bits = convert_element(bits, type, to);
  return is_float(type) ? PyFloat_FromDouble(std::bit_cast<double>(bits)) : PyLong_FromLongLong(static_cast<std::int64_t>(bits));
}

PyObject* nest(const std::byte*& at, DType type, std::span<const std::int64_t> sizes) {
  if (sizes.empty()) {
    PyObject* number = element(at, type);
    at += size_of(type);
    return number;
  }
  Object list = Object::steal(PyList_New(sizes[0]));
  for (std::int64_t i = 0; i < sizes[0]; ++i)
    PyList_SET_ITEM(list.get(), i, Object::steal(nest(at, type, sizes.subspan(1))).release());
  return list.release();
}

}  // namespace

PyObject* to_list(const Tensor& t) {
  const DType type = t.dtype();
  std::vector<std::byte> bytes(static_cast<std::size_t>(t.nbytes()));
  t.copy_to(bytes.data(), type);
  const std::byte* at = bytes.data();
  const Sizes sizes = t.sizes();
  return nest(at, type, sizes);
}

}  // namespace braze::python
