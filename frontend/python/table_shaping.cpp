// Rows of braze/shaping.h, and of writing into a tensor.
#include "braze/shaping.h"

#include "braze/functions.h"
#include "frontend/python/signature.h"

namespace braze::python {

namespace {

// A joined tensor that out= can take.
Tensor joined(const Arguments& a, const Tensor& result) {
  if (const Tensor* to = a.out_tensor(); to && !can_cast(result.dtype(), to->dtype()))
    raise(PyExc_TypeError, "torch.cat(): input types can't be cast to the desired output type {}", info(to->dtype()).scalar_name);
  return result;
}

const Rows rows{
    {"cat(Tensor[] tensors, int dim=0)", function | out_casts,
     [](Arguments& a) { return joined(a, cat(a.tensors(0), a.integer(1))); },
     "One after another along a dim. https://pytorch.org/docs/stable/generated/torch.cat.html"},
    {"concat = cat"},
    {"concatenate(Tensor[] tensors, int dim=0)", function | out_casts,
     [](Arguments& a) { return joined(a, cat(a.tensors(0), a.integer(1))); }, "cat()."},
    {"stack(Tensor[] tensors, int dim=0)", function | out_casts,
     [](Arguments& a) { return joined(a, stack(a.tensors(0), a.integer(1))); },
     "Along a new dim. https://pytorch.org/docs/stable/generated/torch.stack.html"},
    {"hstack(Tensor[] tensors)", function | out_casts, [](Arguments& a) { return joined(a, hstack(a.tensors(0))); },
     "Side by side. https://pytorch.org/docs/stable/generated/torch.hstack.html"},
    {"vstack(Tensor[] tensors)", function | out_casts, [](Arguments& a) { return joined(a, vstack(a.tensors(0))); },
     "One above the other. https://pytorch.org/docs/stable/generated/torch.vstack.html"},
    {"row_stack = vstack"},
    {"dstack(Tensor[] tensors)", function | out_casts, [](Arguments& a) { return joined(a, dstack(a.tensors(0))); },
     "Along depth. https://pytorch.org/docs/stable/generated/torch.dstack.html"},
    {"column_stack(Tensor[] tensors)", function | out_casts, [](Arguments& a) { return joined(a, column_stack(a.tensors(0))); },
     "Vectors as columns. https://pytorch.org/docs/stable/generated/torch.column_stack.html"},
    // braze/_shaping.py lets these be given one by one too.
    {"block_diag(Tensor[] tensors)", function, [](Arguments& a) { return block_diag(a.tensors(0)); },
     "Matrices along the diagonal. https://pytorch.org/docs/stable/generated/torch.block_diag.html"},
    {"meshgrid(Tensor[] tensors, *, str? indexing=None) -> Tensor[]", function,
     [](Arguments& a) { return meshgrid(a.tensors(0), a.none(1) ? "ij" : a.string(1)); },
     "Coordinates of a grid. https://pytorch.org/docs/stable/generated/torch.meshgrid.html"},
    {"cartesian_prod(Tensor[] tensors)", function, [](Arguments& a) { return cartesian_prod(a.tensors(0)); },
     "All choices of one element each, as rows. https://pytorch.org/docs/stable/generated/torch.cartesian_prod.html"},
    {"combinations(Tensor input, int r=2, bool with_replacement=False)", function,
     [](Arguments& a) { return combinations(a.in(0), a.integer(1), a.boolean(2)); },
     "All choices of r elements, as rows. https://pytorch.org/docs/stable/generated/torch.combinations.html"},
    {"vander(Tensor x, int? N=None, bool increasing=False)", function,
     [](Arguments& a) { return vander(a.in(0), a.integer_or_none(1), a.boolean(2)); },
     "Powers as columns. https://pytorch.org/docs/stable/generated/torch.vander.html"},
    {"one_hot(Tensor tensor, int num_classes=-1)", functional, [](Arguments& a) { return one_hot(a.in(0), a.integer(1)); },
     "Classes as rows of zeros and a one. https://pytorch.org/docs/stable/generated/torch.nn.functional.one_hot.html"},

    {"clone(Tensor input, *, MemoryFormat? memory_format=None)", function | method,
     [](Arguments& a) { return a.none(1) ? a.tensor(0).clone() : a.tensor(0).clone(a.memory_format(1)); },
     "A copy. https://pytorch.org/docs/stable/generated/torch.clone.html"},
    {"contiguous(Tensor input, *, MemoryFormat? memory_format=None)", method,
     [](Arguments& a) { return a.none(1) ? a.tensor(0).contiguous() : a.tensor(0).contiguous(a.memory_format(1)); },
     "Itself where its elements lie row by row, else a copy. "
     "https://pytorch.org/docs/stable/generated/torch.Tensor.contiguous.html"},
    {"flip(Tensor input, int[] dims)", function | method, [](Arguments& a) { return a.tensor(0).flip(a.ints(1)); },
     "Backwards along dims, a copy. https://pytorch.org/docs/stable/generated/torch.flip.html"},
    {"fliplr(Tensor input)", function | method, [](Arguments& a) { return a.tensor(0).fliplr(); },
     "https://pytorch.org/docs/stable/generated/torch.fliplr.html"},
    {"flipud(Tensor input)", function | method, [](Arguments& a) { return a.tensor(0).flipud(); },
     "https://pytorch.org/docs/stable/generated/torch.flipud.html"},
    {"roll(Tensor input, int[1] shifts, int[1] dims=[])", function | method,
     [](Arguments& a) { return a.tensor(0).roll(SizesView(a.ints(1)), a.ints(2)); },
     "Shifted round along dims. https://pytorch.org/docs/stable/generated/torch.roll.html"},
    {"rot90(Tensor input, int k=1, int[] dims=[0, 1])", function | method,
     [](Arguments& a) { return a.tensor(0).rot90(a.integer(1), a.ints(2)); },
     "Quarter turns. https://pytorch.org/docs/stable/generated/torch.rot90.html"},
    {"repeat(Tensor input, int[] repeats)", method, [](Arguments& a) { return a.tensor(0).repeat(a.ints(1)); },
     "The whole, several times along each dim. https://pytorch.org/docs/stable/generated/torch.Tensor.repeat.html"},
    {"tile(Tensor input, int[] dims)", function | method, [](Arguments& a) { return a.tensor(0).tile(a.ints(1)); },
     "repeat() with dims added in front. https://pytorch.org/docs/stable/generated/torch.tile.html"},
    {"repeat_interleave(Tensor input, int repeats, int? dim=None, *, int? output_size=None)", function | method,
     [](Arguments& a) { return a.tensor(0).repeat_interleave(a.integer(1), a.integer_or_none(2)); },
     "Each element several times. https://pytorch.org/docs/stable/generated/torch.repeat_interleave.html"},
    {"repeat_interleave(Tensor input, Tensor repeats, int? dim=None, *, int? output_size=None)", function | method,
     [](Arguments& a) { return a.tensor(0).repeat_interleave(a.tensor(1), a.integer_or_none(2)); }},
    {"repeat_interleave(Tensor repeats, *, int? output_size=None)", function,
     [](Arguments& a) { return repeat_interleave(a.tensor(0)); }},
    {"narrow_copy(Tensor input, int dim, int start, int length)", function | method,
     [](Arguments& a) { return a.tensor(0).narrow_copy(a.integer(1), a.integer(2), a.integer(3)); }, "narrow(), copied."},

    {"tril(Tensor input, int diagonal=0)", function | method | out, [](Arguments& a) { return a.tensor(0).tril(a.integer(1)); },
     "The lower triangle, zero above. https://pytorch.org/docs/stable/generated/torch.tril.html"},
    {"triu(Tensor input, int diagonal=0)", function | method | out, [](Arguments& a) { return a.tensor(0).triu(a.integer(1)); },
     "The upper triangle, zero below. https://pytorch.org/docs/stable/generated/torch.triu.html"},
    {"tril_(Tensor input, int diagonal=0)", method, [](Arguments& a) -> Tensor& { return a.self().tril_(a.integer(1)); }},
    {"triu_(Tensor input, int diagonal=0)", method, [](Arguments& a) -> Tensor& { return a.self().triu_(a.integer(1)); }},
    {"diag(Tensor input, int diagonal=0)", function | method | out, [](Arguments& a) { return a.tensor(0).diag(a.integer(1)); },
     "A vector as a diagonal, or a matrix's diagonal. https://pytorch.org/docs/stable/generated/torch.diag.html"},
    {"diagflat(Tensor input, int offset=0)", function | method, [](Arguments& a) { return a.tensor(0).diagflat(a.integer(1)); },
     "https://pytorch.org/docs/stable/generated/torch.diagflat.html"},
    {"diag_embed(Tensor input, int offset=0, int dim1=-2, int dim2=-1)", function | method,
     [](Arguments& a) { return a.tensor(0).diag_embed(a.integer(1), a.integer(2), a.integer(3)); },
     "The last dim as diagonals. https://pytorch.org/docs/stable/generated/torch.diag_embed.html"},
    {"fill_diagonal_(Tensor input, Scalar fill_value, bool wrap=False)", method,
     [](Arguments& a) -> Tensor& { return a.self().fill_diagonal_(a.scalar(1), a.boolean(2)); },
     "Writes the value on the main diagonal, of all dims; wrap=True starts anew below a square of a tall matrix."},
    {"kron(Tensor input, Tensor other)", function | method | out, [](Arguments& a) { return kron(a.in(0), a.in(1)); },
     "Each element of input times the whole of other. https://pytorch.org/docs/stable/generated/torch.kron.html"},
    {"pad(Tensor input, int[] pad, str mode=\"constant\", Scalar? value=None)", functional,
     [](Arguments& a) { return pad(a.in(0), a.ints(1), a.string(2), a.scalar_or_none(3)); },
     "Pairs (low, high) from the last dim backwards. https://pytorch.org/docs/stable/generated/torch.nn.functional.pad.html"},
    {"constant_pad_nd(Tensor input, int[] pad, Scalar value=0)", function,
     [](Arguments& a) { return constant_pad_nd(a.in(0), a.ints(1), a.scalar(2)); },
     "Padded with a value: (before, after) of the last dim, then of the one before it, and so on."},

    {"copy_(Tensor input, Tensor|Scalar source, bool non_blocking=False)", method,
     [](Arguments& a) -> Tensor& { return a.self().copy_(a.in(1)); }, "Written, broadcast and cast to this dtype."},
    {"fill_(Tensor input, Tensor|Scalar value)", method | function, [](Arguments& a) -> Tensor& { return a.self().fill_(a.in(1)); },
     "A number, or a tensor without dims, everywhere."},
    {"fill(Tensor input, Tensor|Scalar value)", function,
     [](Arguments& a) {
       Tensor filled = a.tensor(0).clone();
       filled.fill_(a.in(1));
       return filled;
     },
     "A copy filled with a value."},
    {"zero_(Tensor input)", method | function, [](Arguments& a) -> Tensor& { return a.self().zero_(); }, "Writes zeros."},
    {"is_same_size(Tensor input, Tensor other) -> bool", method | function,
     [](Arguments& a) { return a.tensor(0).sizes() == a.tensor(1).sizes(); }, "Whether both have the same shape."},
};

}  // namespace

}  // namespace braze::python
