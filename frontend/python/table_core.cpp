// Rows that concern the Tensor itself: attributes as methods, values, data.
#include "frontend/python/data.h"
#include "frontend/python/signature.h"
#include "ir/error.h"

namespace braze::python {

namespace {

const Rows rows{
    {"tensor(object data, *, Options) -> Tensor", function,
     [](Arguments& a) { return tensor_from_data(a.object(0), a.options().dtype); },
     "A copy of nested data: numbers, sequences, NumPy arrays, tensors. https://pytorch.org/docs/stable/generated/torch.tensor.html"},
    {"tolist(Tensor input) -> object", method, [](Arguments& a) { return Object::steal(to_list(a.tensor(0))); },
     "Nested lists of Python numbers; a number for a tensor without dims."},
    {"dim(Tensor input) -> int", method, [](Arguments& a) { return a.tensor(0).dim(); }, "The number of dims."},
    {"ndimension = dim"},
    {"numel(Tensor input) -> int", function | method, [](Arguments& a) { return a.tensor(0).numel(); }, "The number of elements."},
    {"nelement = numel"},
    {"size(Tensor input) -> Size", method, [](Arguments& a) { return a.tensor(0).sizes(); }, "All sizes, or that of one dim."},
    {"size(Tensor input, int dim) -> int", method, [](Arguments& a) { return a.tensor(0).size(a.integer(1)); }},
    {"stride(Tensor input) -> object", method,
     [](Arguments& a) {
       const Object size = Object::steal(to_python(a.tensor(0).strides()));
       return Object::steal(PyList_AsTuple(Object::steal(PySequence_List(size.get())).get()));
     },
     "All strides in elements, or that of one dim."},
    {"stride(Tensor input, int dim) -> int", method, [](Arguments& a) { return a.tensor(0).stride(a.integer(1)); }},
    {"storage_offset(Tensor input) -> int", method, [](Arguments& a) { return a.tensor(0).storage_offset(); },
     "Where the first element lies in the storage, in elements."},
    {"element_size(Tensor input) -> int", method, [](Arguments& a) { return a.tensor(0).element_size(); }, "Bytes an element takes."},
    {"is_floating_point(Tensor input) -> bool", function | method, [](Arguments& a) { return is_float(a.tensor(0).dtype()); }},
    {"is_signed(Tensor input) -> bool", function | method, [](Arguments& a) { return is_signed(a.tensor(0).dtype()); }},
    {"dump(Tensor input, str stage=\"graph\") -> str", method, [](Arguments& a) { return a.tensor(0).dump(a.string(1)); },
     "A stage of this value's compilation: graph, fused, loops, steps, llvm, assembly, cuda. Evaluates nothing."},
};

}  // namespace

}  // namespace braze::python
