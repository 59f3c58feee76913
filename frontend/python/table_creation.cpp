// Rows of braze/creation.h and braze/printing.h.
#include "braze/creation.h"

#include <cmath>

#include "braze/printing.h"
#include "frontend/python/data.h"
#include "frontend/python/signature.h"

namespace braze::python {

namespace {

constexpr std::size_t options_length = 5;  // parameters that Options stands for

MemoryFormat format_or(const Arguments& a, std::size_t i, MemoryFormat otherwise) {
  return a.none(i) ? otherwise : a.memory_format(i);
}

// A number of elements, which may be float("inf").
std::optional<std::int64_t> count_or_none(const Arguments& a, std::size_t i) {
  const std::optional<double> number = a.number_or_none(i);
  if (!number) return {};
  return *number >= 9.2e18 ? std::numeric_limits<std::int64_t>::max() : static_cast<std::int64_t>(*number);
}

Object print_options() {
  const PrintOptions o = get_printoptions();
  const Object scientific = o.sci_mode ? Object::steal(PyBool_FromLong(*o.sci_mode)) : Object::share(Py_None);
  const bool all = *o.threshold == std::numeric_limits<std::int64_t>::max();
  const Object threshold = all ? Object::steal(PyFloat_FromDouble(HUGE_VAL)) : Object::steal(PyLong_FromLongLong(*o.threshold));
  return Object::steal(Py_BuildValue("{s:L,s:O,s:L,s:L,s:O}", "precision", static_cast<long long>(*o.precision), "threshold",
                                     threshold.get(), "edgeitems", static_cast<long long>(*o.edgeitems), "linewidth",
                                     static_cast<long long>(*o.linewidth), "sci_mode", scientific.get()));
}

const Rows rows{
    {"zeros(int[] size, *, Options)", function | out_casts, [](Arguments& a) { return zeros(a.ints(0), a.options()); },
     "Filled with 0. RuntimeError for a negative size. https://pytorch.org/docs/stable/generated/torch.zeros.html"},
    {"ones(int[] size, *, Options)", function | out_casts, [](Arguments& a) { return ones(a.ints(0), a.options()); },
     "Filled with 1. https://pytorch.org/docs/stable/generated/torch.ones.html"},
    {"full(int[] size, Scalar fill_value, *, Options)", function | out_casts,
     [](Arguments& a) { return full(a.ints(0), a.scalar(1), a.options()); },
     "Filled with a value, of its dtype unless told. https://pytorch.org/docs/stable/generated/torch.full.html"},
    {"empty(int[] size, *, Options, MemoryFormat? memory_format=None)", function | out_casts,
     [](Arguments& a) { return empty(a.ints(0), a.options(), format_or(a, 1 + options_length, MemoryFormat::contiguous)); },
     "Not to be read before it is written; zeros, or NaN with BRAZE_FILL=nan. "
     "https://pytorch.org/docs/stable/generated/torch.empty.html"},
    {"empty_strided(int[] size, int[] stride, *, Options)", function,
     [](Arguments& a) { return empty_strided(a.ints(0), a.ints(1), a.options()); },
     "Of any layout. https://pytorch.org/docs/stable/generated/torch.empty_strided.html"},
    {"scalar_tensor(Scalar s, *, Options)", function, [](Arguments& a) { return scalar_tensor(a.scalar(0), a.options()); },
     "A number as a tensor of the default dtype."},

    {"zeros_like(Tensor input, *, Options, MemoryFormat? memory_format=None)", function,
     [](Arguments& a) { return zeros_like(a.tensor(0), a.options(), format_or(a, 1 + options_length, MemoryFormat::preserve)); },
     "With input's sizes, dtype and layout. https://pytorch.org/docs/stable/generated/torch.zeros_like.html"},
    {"ones_like(Tensor input, *, Options, MemoryFormat? memory_format=None)", function,
     [](Arguments& a) { return ones_like(a.tensor(0), a.options(), format_or(a, 1 + options_length, MemoryFormat::preserve)); },
     "https://pytorch.org/docs/stable/generated/torch.ones_like.html"},
    {"full_like(Tensor input, Scalar fill_value, *, Options, MemoryFormat? memory_format=None)", function,
     [](Arguments& a) {
       return full_like(a.tensor(0), a.scalar(1), a.options(), format_or(a, 2 + options_length, MemoryFormat::preserve));
     },
     "https://pytorch.org/docs/stable/generated/torch.full_like.html"},
    {"empty_like(Tensor input, *, Options, MemoryFormat? memory_format=None)", function,
     [](Arguments& a) { return empty_like(a.tensor(0), a.options(), format_or(a, 1 + options_length, MemoryFormat::preserve)); },
     "https://pytorch.org/docs/stable/generated/torch.empty_like.html"},
    {"new_empty(Tensor input, int[] size, *, Options)", method,
     [](Arguments& a) { return a.tensor(0).new_empty(a.ints(1), a.options().dtype); }, "empty() of input's dtype."},
    {"new_empty_strided(Tensor input, int[] size, int[] stride, *, Options)", method,
     [](Arguments& a) { return a.tensor(0).new_empty_strided(a.ints(1), a.ints(2), a.options().dtype); },
     "empty_strided() of input's dtype."},
    {"new_zeros(Tensor input, int[] size, *, Options)", method,
     [](Arguments& a) { return a.tensor(0).new_zeros(a.ints(1), a.options().dtype); }, "zeros() of input's dtype."},
    {"new_ones(Tensor input, int[] size, *, Options)", method,
     [](Arguments& a) { return a.tensor(0).new_ones(a.ints(1), a.options().dtype); }, "ones() of input's dtype."},
    {"new_full(Tensor input, int[] size, Scalar fill_value, *, Options)", method,
     [](Arguments& a) { return a.tensor(0).new_full(a.ints(1), a.scalar(2), a.options().dtype); }, "full() of input's dtype."},
    {"new_tensor(Tensor input, object data, *, Options)", method,
     [](Arguments& a) { return tensor_from_data(a.object(1), a.options().dtype.value_or(a.tensor(0).dtype())); },
     "tensor() of input's dtype."},

    {"arange(Scalar end, *, Options)", function | out_casts, [](Arguments& a) { return arange(a.scalar(0), a.options()); },
     "Numbers from start to before end; integers give int64. https://pytorch.org/docs/stable/generated/torch.arange.html"},
    {"arange(Scalar start, Scalar end, Scalar step=1, *, Options)", function | out_casts,
     [](Arguments& a) { return arange(a.scalar(0), a.scalar(1), a.scalar(2), a.options()); }},
    {"linspace(Scalar start, Scalar end, int steps, *, Options)", function | out_casts,
     [](Arguments& a) { return linspace(a.scalar(0), a.scalar(1), a.integer(2), a.options()); },
     "Evenly spaced, both ends included. https://pytorch.org/docs/stable/generated/torch.linspace.html"},
    {"logspace(Scalar start, Scalar end, int steps, float base=10.0, *, Options)", function | out_casts,
     [](Arguments& a) { return logspace(a.scalar(0), a.scalar(1), a.integer(2), a.number(3), a.options()); },
     "base to the power of evenly spaced numbers. https://pytorch.org/docs/stable/generated/torch.logspace.html"},
    {"eye(int n, *, Options)", function | out_casts, [](Arguments& a) { return eye(a.integer(0), a.options()); },
     "The identity. https://pytorch.org/docs/stable/generated/torch.eye.html"},
    {"eye(int n, int m, *, Options)", function | out_casts,
     [](Arguments& a) { return eye(a.integer(0), a.integer(1), a.options()); }},
    {"tril_indices(int row, int col, int offset=0, *, Options)", function,
     [](Arguments& a) { return tril_indices(a.integer(0), a.integer(1), a.integer(2), a.options()); },
     "Rows and columns of a lower triangle. https://pytorch.org/docs/stable/generated/torch.tril_indices.html"},
    {"triu_indices(int row, int col, int offset=0, *, Options)", function,
     [](Arguments& a) { return triu_indices(a.integer(0), a.integer(1), a.integer(2), a.options()); },
     "Rows and columns of an upper triangle. https://pytorch.org/docs/stable/generated/torch.triu_indices.html"},

    {"set_printoptions(int? precision=None, float? threshold=None, int? edgeitems=None, int? linewidth=None, str? profile=None, "
     "bool? sci_mode=None) -> None",
     function,
     [](Arguments& a) {
       std::optional<std::string> profile = a.string_or_none(4);
       if (profile && *profile != "default" && *profile != "short" && *profile != "full") profile.reset();  // as PyTorch
       set_printoptions({a.integer_or_none(0), count_or_none(a, 1), a.integer_or_none(2), a.integer_or_none(3),
                         a.boolean_or_none(5), profile ? std::string_view(*profile) : std::string_view()});
     },
     "How tensors print. https://pytorch.org/docs/stable/generated/torch.set_printoptions.html"},
    {"get_printoptions() -> object", function, [](Arguments&) { return print_options(); }, "The options now, as a dict."},
};

}  // namespace

}  // namespace braze::python
