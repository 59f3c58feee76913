// Rows of braze/views.h and of the views that only the Tensor has.
#include "braze/views.h"

#include "frontend/python/signature.h"

namespace braze::python {

namespace {

const Rows rows{
    {"select(Tensor input, int dim, int index)", function | method,
     [](Arguments& a) { return a.tensor(0).select(a.integer(1), a.integer(2)); },
     "input[:, index] at `dim`, a view of one dim less. https://pytorch.org/docs/stable/generated/torch.select.html"},
    {"narrow(Tensor input, int dim, int start, int length)", function | method,
     [](Arguments& a) { return a.tensor(0).narrow(a.integer(1), a.integer(2), a.integer(3)); },
     "`length` elements from `start` along `dim`, a view. https://pytorch.org/docs/stable/generated/torch.narrow.html"},
    {"narrow(Tensor input, int dim, Tensor start, int length)", function | method,
     [](Arguments& a) { return a.tensor(0).narrow(a.integer(1), a.tensor(2), a.integer(3)); }},
    {"transpose(Tensor input, int dim0, int dim1)", function | method,
     [](Arguments& a) { return a.tensor(0).transpose(a.integer(1), a.integer(2)); },
     "Two dims exchanged, a view. https://pytorch.org/docs/stable/generated/torch.transpose.html"},
    {"swapaxes(Tensor input, int axis0, int axis1)", function | method,
     [](Arguments& a) { return a.tensor(0).transpose(a.integer(1), a.integer(2)); }, "transpose()."},
    {"swapdims(Tensor input, int dim0, int dim1)", function | method,
     [](Arguments& a) { return a.tensor(0).transpose(a.integer(1), a.integer(2)); }, "transpose()."},
    {"t(Tensor input)", function | method, [](Arguments& a) { return a.tensor(0).t(); },
     "A matrix transposed, a view. https://pytorch.org/docs/stable/generated/torch.t.html"},
    {"adjoint(Tensor input)", function | method, [](Arguments& a) { return a.tensor(0).adjoint(); },
     "The conjugate transpose of the last two dims, a view."},
    {"permute(Tensor input, int[] dims)", function | method, [](Arguments& a) { return a.tensor(0).permute(a.ints(1)); },
     "Dim i of the result is dim dims[i], a view. https://pytorch.org/docs/stable/generated/torch.permute.html"},
    {"movedim(Tensor input, int source, int destination)", function | method,
     [](Arguments& a) { return a.tensor(0).movedim(a.integer(1), a.integer(2)); },
     "Dims moved, the others in their order: a view. https://pytorch.org/docs/stable/generated/torch.movedim.html"},
    {"movedim(Tensor input, int[] source, int[] destination)", function | method,
     [](Arguments& a) { return a.tensor(0).movedim(a.ints(1), a.ints(2)); }},
    {"moveaxis = movedim"},
    {"unsqueeze(Tensor input, int dim)", function | method, [](Arguments& a) { return a.tensor(0).unsqueeze(a.integer(1)); },
     "A new dim of one, a view. https://pytorch.org/docs/stable/generated/torch.unsqueeze.html"},
    {"squeeze(Tensor input)", function | method, [](Arguments& a) { return a.tensor(0).squeeze(); },
     "Without dims of one, a view. https://pytorch.org/docs/stable/generated/torch.squeeze.html"},
    {"squeeze(Tensor input, int[1] dim)", function | method,
     [](Arguments& a) { return a.tensor(0).squeeze(SizesView(a.ints(1))); }},
    {"view(Tensor input, ScalarType dtype)", method, [](Arguments& a) { return a.tensor(0).view(a.dtype(1)); },
     "Other sizes, or the same bytes as another dtype, on the same memory; RuntimeError where strides do not allow it. "
     "https://pytorch.org/docs/stable/generated/torch.Tensor.view.html"},
    {"view(Tensor input, int[] size)", method, [](Arguments& a) { return a.tensor(0).view(a.ints(1)); }},
    {"view_as(Tensor input, Tensor other)", method, [](Arguments& a) { return a.tensor(0).view_as(a.tensor(1)); },
     "view(other.size())."},
    {"reshape(Tensor input, int[] shape)", function | method, [](Arguments& a) { return a.tensor(0).reshape(a.ints(1)); },
     "Other sizes, -1 inferred: a view where strides allow it, else a copy. "
     "https://pytorch.org/docs/stable/generated/torch.reshape.html"},
    {"reshape_as(Tensor input, Tensor other)", method, [](Arguments& a) { return a.tensor(0).reshape_as(a.tensor(1)); }},
    {"flatten(Tensor input, int start_dim=0, int end_dim=-1)", function | method,
     [](Arguments& a) { return a.tensor(0).flatten(a.integer(1), a.integer(2)); },
     "Dims joined into one. https://pytorch.org/docs/stable/generated/torch.flatten.html"},
    {"ravel(Tensor input)", function | method, [](Arguments& a) { return a.tensor(0).ravel(); }, "As one dim."},
    {"unflatten(Tensor input, int dim, int[] sizes)", function | method,
     [](Arguments& a) { return a.tensor(0).unflatten(a.integer(1), a.ints(2)); },
     "One dim as several, a view. https://pytorch.org/docs/stable/generated/torch.unflatten.html"},
    {"expand(Tensor input, int[] size, *, bool implicit=False)", method, [](Arguments& a) { return a.tensor(0).expand(a.ints(1)); },
     "Dims of one repeated without a copy, a view. https://pytorch.org/docs/stable/generated/torch.Tensor.expand.html"},
    {"expand_as(Tensor input, Tensor other)", method, [](Arguments& a) { return a.tensor(0).expand_as(a.tensor(1)); }},
    {"broadcast_to(Tensor input, int[] size)", function | method, [](Arguments& a) { return a.tensor(0).broadcast_to(a.ints(1)); },
     "expand(), as a function too. https://pytorch.org/docs/stable/generated/torch.broadcast_to.html"},
    {"diagonal(Tensor input, int offset=0, int dim1=0, int dim2=1)", function | method,
     [](Arguments& a) { return a.tensor(0).diagonal(a.integer(1), a.integer(2), a.integer(3)); },
     "A diagonal as the last dim, a view. https://pytorch.org/docs/stable/generated/torch.diagonal.html"},
    {"unfold(Tensor input, int dimension, int size, int step)", method,
     [](Arguments& a) { return a.tensor(0).unfold(a.integer(1), a.integer(2), a.integer(3)); },
     "Windows of `size`, `step` apart, as a last dim: a view. https://pytorch.org/docs/stable/generated/torch.Tensor.unfold.html"},
    {"as_strided(Tensor input, int[] size, int[] stride, int? storage_offset=None)", function | method,
     [](Arguments& a) { return a.tensor(0).as_strided(a.ints(1), a.ints(2), a.integer_or_none(3)); },
     "Any layout on the same storage. https://pytorch.org/docs/stable/generated/torch.as_strided.html"},
    {"detach(Tensor input)", function | method, [](Arguments& a) { return a.tensor(0).detach(); },
     "The same memory, no gradient. https://pytorch.org/docs/stable/generated/torch.Tensor.detach.html"},
    {"_is_view(Tensor input) -> bool", method, [](Arguments& a) { return a.tensor(0).is_view(); },
     "Whether it is a view of another."},
    {"_base_or_none(Tensor input) -> object", method,
     [](Arguments& a) {
       const Tensor base = a.tensor(0).base();
       return base.defined() ? Object::steal(to_python(base)) : Object::share(Py_None);
     },
     "The tensor that it is a view of, or None: what the attribute _base reads."},

    // ---- several views ----
    {"chunk(Tensor input, int chunks, int dim=0)", function | method,
     [](Arguments& a) { return a.tensor(0).chunk(a.integer(1), a.integer(2)); },
     "At most `chunks` views that cover the tensor. https://pytorch.org/docs/stable/generated/torch.chunk.html"},
    {"unsafe_chunk = chunk"},
    {"split(Tensor input, int split_size_or_sections, int dim=0)", function | method,
     [](Arguments& a) { return a.tensor(0).split(a.integer(1), a.integer(2)); },
     "Views of a size each, or of the sizes given. https://pytorch.org/docs/stable/generated/torch.split.html"},
    {"split(Tensor input, int[] split_size_or_sections, int dim=0)", function | method,
     [](Arguments& a) { return a.tensor(0).split(SizesView(a.ints(1)), a.integer(2)); }},
    {"split(Tensor input, int split_size, int dim=0)", function | method,
     [](Arguments& a) { return a.tensor(0).split(a.integer(1), a.integer(2)); }},
    {"split(Tensor input, int[] split_size, int dim=0)", function | method,
     [](Arguments& a) { return a.tensor(0).split(SizesView(a.ints(1)), a.integer(2)); }},
    {"unsafe_split = split"},
    {"split_with_sizes(Tensor input, int[] split_sizes, int dim=0)", function | method,
     [](Arguments& a) { return a.tensor(0).split_with_sizes(a.ints(1), a.integer(2)); }},
    {"unsafe_split_with_sizes = split_with_sizes"},
    {"tensor_split(Tensor input, int sections, int dim=0)", function | method,
     [](Arguments& a) { return a.tensor(0).tensor_split(a.integer(1), a.integer(2)); },
     "Exactly so many views, or cut at indices. https://pytorch.org/docs/stable/generated/torch.tensor_split.html"},
    {"tensor_split(Tensor input, int[] indices, int dim=0)", function | method,
     [](Arguments& a) { return a.tensor(0).tensor_split(SizesView(a.ints(1)), a.integer(2)); }},
    {"tensor_split(Tensor input, Tensor tensor_indices_or_sections, int dim=0)", function | method,
     [](Arguments& a) { return a.tensor(0).tensor_split(a.tensor(1), a.integer(2)); }},
    {"hsplit(Tensor input, int sections)", function | method, [](Arguments& a) { return a.tensor(0).hsplit(a.integer(1)); },
     "Cut along columns. https://pytorch.org/docs/stable/generated/torch.hsplit.html"},
    {"hsplit(Tensor input, int[] indices)", function | method,
     [](Arguments& a) { return a.tensor(0).hsplit(SizesView(a.ints(1))); }},
    {"vsplit(Tensor input, int sections)", function | method, [](Arguments& a) { return a.tensor(0).vsplit(a.integer(1)); },
     "Cut along rows. https://pytorch.org/docs/stable/generated/torch.vsplit.html"},
    {"vsplit(Tensor input, int[] indices)", function | method,
     [](Arguments& a) { return a.tensor(0).vsplit(SizesView(a.ints(1))); }},
    {"dsplit(Tensor input, int sections)", function | method, [](Arguments& a) { return a.tensor(0).dsplit(a.integer(1)); },
     "Cut along depth. https://pytorch.org/docs/stable/generated/torch.dsplit.html"},
    {"dsplit(Tensor input, int[] indices)", function | method,
     [](Arguments& a) { return a.tensor(0).dsplit(SizesView(a.ints(1))); }},
    {"unbind(Tensor input, int dim=0)", function | method, [](Arguments& a) { return a.tensor(0).unbind(a.integer(1)); },
     "A view for each index. https://pytorch.org/docs/stable/generated/torch.unbind.html"},

    // ---- another layout for the tensor itself ----
    {"squeeze_(Tensor input)", method, [](Arguments& a) -> Tensor& { return a.self().squeeze_(); }},
    {"squeeze_(Tensor input, int[1] dim)", method, [](Arguments& a) -> Tensor& { return a.self().squeeze_(SizesView(a.ints(1))); }},
    {"unsqueeze_(Tensor input, int dim)", method, [](Arguments& a) -> Tensor& { return a.self().unsqueeze_(a.integer(1)); }},
    {"transpose_(Tensor input, int dim0, int dim1)", method,
     [](Arguments& a) -> Tensor& { return a.self().transpose_(a.integer(1), a.integer(2)); }},
    {"swapaxes_(Tensor input, int axis0, int axis1)", method,
     [](Arguments& a) -> Tensor& { return a.self().transpose_(a.integer(1), a.integer(2)); }},
    {"swapdims_(Tensor input, int dim0, int dim1)", method,
     [](Arguments& a) -> Tensor& { return a.self().transpose_(a.integer(1), a.integer(2)); }},
    {"t_(Tensor input)", method, [](Arguments& a) -> Tensor& { return a.self().t_(); }},
    {"as_strided_(Tensor input, int[] size, int[] stride, int? storage_offset=None)", function | method,
     [](Arguments& a) -> Tensor& { return a.self().as_strided_(a.ints(1), a.ints(2), a.integer_or_none(3)); }},
    {"resize_(Tensor input, int[] size, *, MemoryFormat? memory_format=None)", method,
     [](Arguments& a) -> Tensor& {
       return a.none(2) ? a.self().resize_(a.ints(1)) : a.self().resize_(a.ints(1), a.memory_format(2));
     },
     "Other sizes on the same storage, which grows where needed. "
     "https://pytorch.org/docs/stable/generated/torch.Tensor.resize_.html"},
    {"resize_as_(Tensor input, Tensor the_template, *, MemoryFormat? memory_format=None)", method,
     [](Arguments& a) -> Tensor& {
       return a.none(2) ? a.self().resize_as_(a.tensor(1)) : a.self().resize_as_(a.tensor(1), a.memory_format(2));
     }},
    {"set_(Tensor input)", method, [](Arguments& a) -> Tensor& { return a.self().set_(); }},
    {"set_(Tensor input, Tensor source)", method, [](Arguments& a) -> Tensor& { return a.self().set_(a.tensor(1)); },
     "Another tensor's storage and layout. https://pytorch.org/docs/stable/generated/torch.Tensor.set_.html"},
    {"set_(Tensor input, Tensor source, int storage_offset, int[] size, int[] stride=[])", method,
     [](Arguments& a) -> Tensor& { return a.self().set_(a.tensor(1), a.integer(2), a.ints(3), a.ints(4)); }},
    {"set_data(Tensor input, Tensor new_data) -> None", method, [](Arguments& a) { a.self().set_data(a.tensor(1)); }},
    {"detach_(Tensor input)", function | method, [](Arguments& a) -> Tensor& { return a.self().detach_(); }},

    // ---- of several tensors ----
    // braze/_shaping.py lets these be given one by one too.
    {"broadcast_tensors(Tensor[] tensors)", function, [](Arguments& a) { return broadcast_tensors(a.tensors(0)); },
     "All expanded to their common sizes. https://pytorch.org/docs/stable/generated/torch.broadcast_tensors.html"},
    {"_broadcast_shapes(object shapes) -> Size", function,
     [](Arguments& a) {
       std::vector<Sizes> shapes;
       const Object list = Object::steal(PySequence_Tuple(a.object(0)));
       for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(list.get()); ++i) shapes.push_back(to_integers(PyTuple_GET_ITEM(list.get(), i)));
       return broadcast_shapes(shapes);
     }},
    {"atleast_1d(Tensor input)", function, [](Arguments& a) { return atleast_1d(a.in(0)); },
     "At least one dim. https://pytorch.org/docs/stable/generated/torch.atleast_1d.html"},
    {"atleast_1d(Tensor[] tensors)", function, [](Arguments& a) { return atleast_1d(a.tensors(0)); }},
    {"atleast_2d(Tensor input)", function, [](Arguments& a) { return atleast_2d(a.in(0)); },
     "At least two dims. https://pytorch.org/docs/stable/generated/torch.atleast_2d.html"},
    {"atleast_2d(Tensor[] tensors)", function, [](Arguments& a) { return atleast_2d(a.tensors(0)); }},
    {"atleast_3d(Tensor input)", function, [](Arguments& a) { return atleast_3d(a.in(0)); },
     "At least three dims. https://pytorch.org/docs/stable/generated/torch.atleast_3d.html"},
    {"atleast_3d(Tensor[] tensors)", function, [](Arguments& a) { return atleast_3d(a.tensors(0)); }},
};

}  // namespace

}  // namespace braze::python
