// Rows of braze/picking.h.
#include "braze/picking.h"

#include "frontend/python/signature.h"

namespace braze::python {

namespace {

// The entries of index_put's tuple: None stands for a whole dim.
std::vector<Index> indices_of(const Arguments& a, std::size_t i) {
  std::vector<Index> list;
  for (const Tensor& t : a.tensors(i)) list.push_back(t.defined() ? Index(t) : Index(slice()));
  return list;
}

const Rows rows{
    {"index_select(Tensor input, int dim, Tensor index)", function | method | out,
     [](Arguments& a) { return index_select(a.in(0), a.integer(1), a.tensor(2)); },
     "Slices along `dim`, chosen by a 0-d or 1-d index."},
    {"gather(Tensor input, int dim, Tensor index, *, bool sparse_grad=False)", function | method | out,
     [](Arguments& a) { return gather(a.in(0), a.integer(1), a.tensor(2)); },
     "result[i][j] = input[i][index[i][j]] for dim 1; the sizes of `index`."},
    {"take_along_dim(Tensor input, Tensor indices, int? dim=None)", function | method | out,
     [](Arguments& a) {
       return a.none(2) ? take_along_dim(a.in(0), a.tensor(1)) : take_along_dim(a.in(0), a.tensor(1), a.integer(2));
     },
     "gather whose other dims broadcast; without a dim, over the flattened tensors."},
    {"take(Tensor input, Tensor index)", function | method | out, [](Arguments& a) { return take(a.in(0), a.tensor(1)); },
     "Elements of the flattened tensor, with the index's sizes."},
    {"masked_select(Tensor input, Tensor mask)", function | method | out,
     [](Arguments& a) { return masked_select(a.in(0), a.tensor(1)); }, "The elements where the broadcast mask is true, 1-d."},
    {"nonzero(Tensor input, *, bool as_tuple=False) -> object", function | method,
     [](Arguments& a) {
       return a.boolean(1) ? Object::steal(to_python(nonzero_as_tuple(a.in(0)))) : Object::steal(to_python(nonzero(a.in(0))));
     },
     "Where elements are not zero: int64[count, dims], or with as_tuple one int64[count] a dim."},
    {"argwhere(Tensor input)", function | method, [](Arguments& a) { return argwhere(a.in(0)); }, "nonzero()."},

    {"index_put(Tensor input, Tensor?[] indices, Tensor values, bool accumulate=False)", function | method,
     [](Arguments& a) { return a.tensor(0).index_put(indices_of(a, 1), a.in(2), a.boolean(3)); },
     "A copy with input[indices] = values."},
    {"index_put_(Tensor input, Tensor?[] indices, Tensor values, bool accumulate=False)", function | method,
     [](Arguments& a) { return a.self().index_put_(indices_of(a, 1), a.in(2), a.boolean(3)); },
     "input[indices] = values, or added."},
    {"index_add(Tensor input, int dim, Tensor index, Tensor source, *, Scalar alpha=1)", function | method | out,
     [](Arguments& a) { return index_add(a.in(0), a.integer(1), a.tensor(2), a.in(3), a.scalar(4)); },
     "A copy with alpha * source added to the slices that `index` names."},
    {"index_add_(Tensor input, int dim, Tensor index, Tensor source, *, Scalar alpha=1)", method,
     [](Arguments& a) { return a.self().index_add_(a.integer(1), a.tensor(2), a.in(3), a.scalar(4)); }},
    {"index_copy(Tensor input, int dim, Tensor index, Tensor source)", function | method,
     [](Arguments& a) { return index_copy(a.in(0), a.integer(1), a.tensor(2), a.in(3)); },
     "A copy with the slices that `index` names replaced."},
    {"index_copy_(Tensor input, int dim, Tensor index, Tensor source)", method,
     [](Arguments& a) { return a.self().index_copy_(a.integer(1), a.tensor(2), a.in(3)); }},
    {"index_fill(Tensor input, int dim, Tensor index, Tensor|Scalar value)", function | method,
     [](Arguments& a) { return index_fill(a.in(0), a.integer(1), a.tensor(2), a.in(3)); },
     "A copy with the slices that `index` names filled."},
    {"index_fill_(Tensor input, int dim, Tensor index, Tensor|Scalar value)", method,
     [](Arguments& a) { return a.self().index_fill_(a.integer(1), a.tensor(2), a.in(3)); }},
    {"index_reduce(Tensor input, int dim, Tensor index, Tensor source, str reduce, *, bool include_self=True)", function | method,
     [](Arguments& a) { return index_reduce(a.in(0), a.integer(1), a.tensor(2), a.in(3), a.string(4), a.boolean(5)); },
     "A copy with source's slices combined in: prod, mean, amax or amin."},
    {"index_reduce_(Tensor input, int dim, Tensor index, Tensor source, str reduce, *, bool include_self=True)", method,
     [](Arguments& a) { return a.self().index_reduce_(a.integer(1), a.tensor(2), a.in(3), a.string(4), a.boolean(5)); }},
    {"scatter(Tensor input, int dim, Tensor index, Tensor src, *, str reduce=\"\")", function | method | out,
     [](Arguments& a) { return scatter(a.in(0), a.integer(1), a.tensor(2), a.in(3), a.string(4)); },
     "A copy with input[i][index[i][j]] = src[i][j] for dim 1; reduce: add or multiply."},
    {"scatter(Tensor input, int dim, Tensor index, Scalar value, *, str reduce=\"\")", function | method | out,
     [](Arguments& a) { return scatter(a.in(0), a.integer(1), a.tensor(2), a.in(3), a.string(4)); }},
    {"scatter_(Tensor input, int dim, Tensor index, Tensor src, *, str reduce=\"\")", method,
     [](Arguments& a) { return a.self().scatter_(a.integer(1), a.tensor(2), a.in(3), a.string(4)); }},
    {"scatter_(Tensor input, int dim, Tensor index, Scalar value, *, str reduce=\"\")", method,
     [](Arguments& a) { return a.self().scatter_(a.integer(1), a.tensor(2), a.in(3), a.string(4)); }},
    {"scatter_add(Tensor input, int dim, Tensor index, Tensor src)", function | method | out,
     [](Arguments& a) { return scatter_add(a.in(0), a.integer(1), a.tensor(2), a.in(3)); }, "scatter with reduce=\"add\"."},
    {"scatter_add_(Tensor input, int dim, Tensor index, Tensor src)", method,
     [](Arguments& a) { return a.self().scatter_add_(a.integer(1), a.tensor(2), a.in(3)); }},
    {"scatter_reduce(Tensor input, int dim, Tensor index, Tensor src, str reduce, *, bool include_self=True)",
     function | method | out,
     [](Arguments& a) { return scatter_reduce(a.in(0), a.integer(1), a.tensor(2), a.in(3), a.string(4), a.boolean(5)); },
     "A copy with src combined in: sum, prod, mean, amax or amin."},
    {"scatter_reduce_(Tensor input, int dim, Tensor index, Tensor src, str reduce, *, bool include_self=True)", method,
     [](Arguments& a) { return a.self().scatter_reduce_(a.integer(1), a.tensor(2), a.in(3), a.string(4), a.boolean(5)); }},
    {"put(Tensor input, Tensor index, Tensor source, bool accumulate=False)", function | method,
     [](Arguments& a) { return put(a.in(0), a.tensor(1), a.in(2), a.boolean(3)); },
     "A copy with elements of the flattened tensor replaced or added to."},
    {"put_(Tensor input, Tensor index, Tensor source, bool accumulate=False)", method,
     [](Arguments& a) { return a.self().put_(a.tensor(1), a.in(2), a.boolean(3)); }},
    {"masked_scatter(Tensor input, Tensor mask, Tensor source)", function | method,
     [](Arguments& a) { return masked_scatter(a.in(0), a.tensor(1), a.tensor(2)); },
     "A copy with source's elements, one after another, where the broadcast mask is true."},
    {"masked_scatter_(Tensor input, Tensor mask, Tensor source)", method,
     [](Arguments& a) { return a.self().masked_scatter_(a.tensor(1), a.tensor(2)); }},
    {"masked_fill_(Tensor input, Tensor mask, Tensor|Scalar value)", method,
     [](Arguments& a) { return a.self().masked_fill_(a.tensor(1), a.in(2)); }},
    {"select_scatter(Tensor input, Tensor src, int dim, int index)", function | method,
     [](Arguments& a) { return select_scatter(a.in(0), a.in(1), a.integer(2), a.integer(3)); },
     "A copy whose select(dim, index) is src."},
    {"slice_scatter(Tensor input, Tensor src, int dim=0, int? start=None, int? end=None, int step=1)", function | method,
     [](Arguments& a) {
       return slice_scatter(a.in(0), a.in(1), a.integer(2), a.integer_or_none(3), a.integer_or_none(4), a.integer(5));
     },
     "A copy whose slice along dim is src."},
    {"diagonal_scatter(Tensor input, Tensor src, int offset=0, int dim1=0, int dim2=1)", function | method,
     [](Arguments& a) { return diagonal_scatter(a.in(0), a.in(1), a.integer(2), a.integer(3), a.integer(4)); },
     "A copy whose diagonal is src."},
};

}  // namespace

}  // namespace braze::python
