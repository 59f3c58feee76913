// Rows that concern the Tensor itself: attributes as methods, values, data.
#include "frontend/python/data.h"
#include "frontend/python/signature.h"
#include "ir/error.h"

namespace braze::python {

namespace {

Tensor convert(const Arguments& a, std::optional<DType> type, std::size_t copy, std::size_t format) {
  const bool must_copy = copy != 0 && a.boolean(copy);
  if (a.none(format)) return a.tensor(0).to(type, must_copy);
  return a.tensor(0).to(type, must_copy, a.memory_format(format));
}

const Rows rows{
    {"tensor(object data, *, Options) -> Tensor", function,
     [](Arguments& a) {
       if (a.is_tensor(0) &&
           PyErr_WarnEx(PyExc_UserWarning,
                        "To copy construct from a tensor, it is recommended to use sourceTensor.detach().clone() or "
                        "sourceTensor.detach().clone().requires_grad_(True), rather than torch.tensor(sourceTensor).",
                        1) < 0)
         throw PythonError{};
       return tensor_from_data(a.object(0), a.options().dtype);
     },
     "A copy of nested data: numbers, sequences, NumPy arrays, tensors. "
     "https://pytorch.org/docs/stable/generated/torch.tensor.html"},
    {"tolist(Tensor input) -> object", method, [](Arguments& a) { return Object::steal(to_list(a.tensor(0))); },
     "Nested lists of Python numbers; a number for a tensor without dims."},
    {"dim(Tensor input) -> int", method, [](Arguments& a) { return a.tensor(0).dim(); }, "The number of dims."},
    {"ndimension = dim"},
    {"numel(Tensor input) -> int", function | method, [](Arguments& a) { return a.tensor(0).numel(); }, "The number of elements."},
    {"nelement(Tensor input) -> int", method, [](Arguments& a) { return a.tensor(0).nelement(); }, "The number of elements."},
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
    {"element_size(Tensor input) -> int", method, [](Arguments& a) { return a.tensor(0).element_size(); },
     "Bytes an element takes."},
    {"is_floating_point(Tensor input) -> bool", function | method, [](Arguments& a) { return is_float(a.tensor(0).dtype()); },
     "Whether elements are floats."},
    {"is_signed(Tensor input) -> bool", function | method, [](Arguments& a) { return is_signed(a.tensor(0).dtype()); },
     "Whether elements may be negative."},
    // ---- conversions: the very same object where nothing changes ----
    {"to(Tensor input, ScalarType dtype, bool non_blocking=False, bool copy=False, *, MemoryFormat? memory_format=None)", method,
     [](Arguments& a) { return convert(a, a.dtype(1), 3, 4); },
     "As another dtype or on another device; itself where nothing changes. "
     "https://pytorch.org/docs/stable/generated/torch.Tensor.to.html"},
    {"to(Tensor input, Device? device=None, ScalarType? dtype=None, bool non_blocking=False, bool copy=False, *, "
     "MemoryFormat? memory_format=None)",
     method,
     [](Arguments& a) {
       if (!a.none(1)) require_supported_device(a.object(1));
       return convert(a, a.dtype_or_none(2), 4, 5);
     }},
    {"to(Tensor input, Tensor other, bool non_blocking=False, bool copy=False, *, MemoryFormat? memory_format=None)", method,
     [](Arguments& a) { return convert(a, a.tensor(1).dtype(), 3, 4); }},
    {"type_as(Tensor input, Tensor other)", method, [](Arguments& a) { return a.tensor(0).to(a.tensor(1).dtype()); },
     "As other's dtype."},
    {"cpu(Tensor input, *, MemoryFormat? memory_format=None)", method, [](Arguments& a) { return a.tensor(0).cpu(); },
     "The tensor itself: it is on the CPU."},
    {"float(Tensor input, *, MemoryFormat? memory_format=None)", method, [](Arguments& a) { return convert(a, DType::f32, 0, 1); },
     "As float32; the tensor itself where it is."},
    {"double(Tensor input, *, MemoryFormat? memory_format=None)", method, [](Arguments& a) { return convert(a, DType::f64, 0, 1); },
     "As float64; the tensor itself where it is."},
    {"half(Tensor input, *, MemoryFormat? memory_format=None)", method, [](Arguments& a) { return convert(a, DType::f16, 0, 1); },
     "As float16; the tensor itself where it is."},
    {"bfloat16(Tensor input, *, MemoryFormat? memory_format=None)", method,
     [](Arguments& a) { return convert(a, DType::bf16, 0, 1); }, "As bfloat16; the tensor itself where it is."},
    {"cfloat(Tensor input, *, MemoryFormat? memory_format=None)", method, [](Arguments& a) { return convert(a, complex64, 0, 1); },
     "As complex64; the tensor itself where it is."},
    {"cdouble(Tensor input, *, MemoryFormat? memory_format=None)", method,
     [](Arguments& a) { return convert(a, complex128, 0, 1); }, "As complex128; the tensor itself where it is."},
    {"int(Tensor input, *, MemoryFormat? memory_format=None)", method, [](Arguments& a) { return convert(a, DType::i32, 0, 1); },
     "As int32; the tensor itself where it is."},
    {"long(Tensor input, *, MemoryFormat? memory_format=None)", method, [](Arguments& a) { return convert(a, DType::i64, 0, 1); },
     "As int64; the tensor itself where it is."},
    {"short(Tensor input, *, MemoryFormat? memory_format=None)", method, [](Arguments& a) { return convert(a, DType::i16, 0, 1); },
     "As int16; the tensor itself where it is."},
    {"char(Tensor input, *, MemoryFormat? memory_format=None)", method, [](Arguments& a) { return convert(a, DType::i8, 0, 1); },
     "As int8; the tensor itself where it is."},
    {"byte(Tensor input, *, MemoryFormat? memory_format=None)", method, [](Arguments& a) { return convert(a, DType::u8, 0, 1); },
     "As uint8; the tensor itself where it is."},
    {"bool(Tensor input, *, MemoryFormat? memory_format=None)", method,
     [](Arguments& a) { return convert(a, DType::boolean, 0, 1); }, "As bool: what is not zero; the tensor itself where it is."},
    {"is_contiguous(Tensor input, *, MemoryFormat? memory_format=None) -> bool", method,
     [](Arguments& a) { return a.none(1) ? a.tensor(0).is_contiguous() : a.tensor(0).is_contiguous(a.memory_format(1)); },
     "Whether the elements lie row-major, or in the given format."},
    {"data_ptr(Tensor input) -> int", method,
     [](Arguments& a) { return a.tensor(0).numel() ? reinterpret_cast<std::intptr_t>(a.tensor(0).data_ptr()) : std::intptr_t{0}; },
     "The address of the first element; from now on the memory counts as shared with you."},
    {"is_set_to(Tensor input, Tensor tensor) -> bool", method, [](Arguments& a) { return a.tensor(0).is_set_to(a.tensor(1)); },
     "Whether both are the same elements of the same memory in the same order."},
    // ---- dtypes ----
    {"get_default_dtype() -> ScalarType", function, [](Arguments&) { return get_default_dtype(); },
     "What floating-point literals become."},
    {"set_default_dtype(ScalarType d) -> None", function, [](Arguments& a) { set_default_dtype(a.dtype(0)); },
     "What floating-point literals become from now on."},
    {"promote_types(ScalarType type1, ScalarType type2) -> ScalarType", function,
     [](Arguments& a) { return promote_types(a.dtype(0), a.dtype(1)); }, "The dtype of an operation on both."},
    {"can_cast(ScalarType from_, ScalarType to) -> bool", function, [](Arguments& a) { return can_cast(a.dtype(0), a.dtype(1)); },
     "Whether results of the first dtype may be written into the second."},
    // ---- the engine ----
    {"set_num_threads(object num) -> None", function,
     [](Arguments& a) {
       if (!PyLong_Check(a.object(0)) || PyBool_Check(a.object(0)))
         raise(PyExc_RuntimeError, "set_num_threads expects an int, but got {}", type_name(a.object(0)));
       require<Error>(a.integer(0) > 0, "set_num_threads expects a positive integer");
       set_num_threads(static_cast<int>(a.integer(0)));
     },
     "How many threads evaluate."},
    {"get_num_threads() -> int", function, [](Arguments&) { return get_num_threads(); }, "How many threads evaluate."},
    {"eval(Tensor[] tensors) -> None", function, [](Arguments& a) { eval(a.tensors(0)); },
     "Runs what all of them need, as one program: of one tensor, of several, or of a sequence of them."},
    {"dump(Tensor input, str stage=\"graph\") -> str", method, [](Arguments& a) { return a.tensor(0).dump(a.string(1)); },
     "A stage of this value's compilation: graph, fused, loops, steps, llvm, assembly, cuda. Evaluates nothing."},
};

}  // namespace

}  // namespace braze::python
