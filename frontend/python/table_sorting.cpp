// Rows of braze/sorting.h.
#include "braze/sorting.h"

#include "braze/finite_differences.h"
#include "frontend/python/signature.h"

namespace braze::python {

namespace {

constexpr unsigned both = function | method;

// The results that were asked for: one tensor, or a tuple.
Object asked_for(const Unique& unique, const UniqueOptions& options) {
  std::vector<Tensor> results{unique.output};
  if (options.return_inverse) results.push_back(unique.inverse_indices);
  if (options.return_counts) results.push_back(unique.counts);
  return Object::steal(results.size() == 1 ? to_python(results[0]) : to_python(results));
}

// `spacing` is a number, a list of numbers or a list of tensors.
template <class Spacing>
std::vector<Tensor> gradient_along(const Arguments& a, const Spacing& spacing) {
  const std::optional<Sizes> dims = a.ints_or_none(2);
  return gradient(a.in(0), spacing, dims ? DimsView(*dims) : DimsView(), a.integer(3));
}

std::vector<Scalar> scalars(PyObject* sequence) {
  std::vector<Scalar> list;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(sequence); ++i)
    list.push_back(to_scalar(PySequence_Fast_GET_ITEM(sequence, i)));
  return list;
}

std::pair<Tensor, Tensor> pair(const Histogram& h) { return {h.hist, h.bin_edges}; }

SearchOptions search_options(std::string_view function, const Arguments& a, std::size_t out_int32, std::size_t right,
                             std::size_t side) {
  SearchOptions options{.right = a.boolean(right), .out_int32 = a.boolean(out_int32)};
  if (a.none(side)) return options;
  const std::string text = a.string(side);
  if (text != "left" && text != "right")
    raise(PyExc_RuntimeError, "torch.{}(): side can only be 'left' or 'right' but got {}", function, text);
  if (options.right && text == "left")
    raise(PyExc_RuntimeError, "torch.{}(): side and right can't be set to opposites, got side of left while right was True",
          function);
  options.right = text == "right";
  return options;
}

const Rows rows{
    {"cumsum(Tensor input, int dim, *, ScalarType? dtype=None)", both | out,
     [](Arguments& a) { return cumsum(a.in(0), a.integer(1), a.dtype_or_out(2)); },
     "Sums of the elements up to each along `dim`. Integers and bool give int64."},
    {"cumsum_(Tensor input, int dim, *, ScalarType? dtype=None)", method,
     [](Arguments& a) { return a.self().cumsum_(a.integer(1), a.dtype_or_none(2)); }},
    {"cumprod(Tensor input, int dim, *, ScalarType? dtype=None)", both | out,
     [](Arguments& a) { return cumprod(a.in(0), a.integer(1), a.dtype_or_out(2)); },
     "Products of the elements up to each along `dim`. Integers and bool give int64."},
    {"cumprod_(Tensor input, int dim, *, ScalarType? dtype=None)", method,
     [](Arguments& a) { return a.self().cumprod_(a.integer(1), a.dtype_or_none(2)); }},
    {"cummax(Tensor input, int dim) -> (Tensor values, Tensor indices)", both | out,
     [](Arguments& a) { return cummax(a.in(0), a.integer(1)); },
     "The greatest element up to each along `dim`, and where the latest of them stands."},
    {"cummin(Tensor input, int dim) -> (Tensor values, Tensor indices)", both | out,
     [](Arguments& a) { return cummin(a.in(0), a.integer(1)); },
     "The least element up to each along `dim`, and where the latest of them stands."},
    {"logcumsumexp(Tensor input, int dim)", both | out, [](Arguments& a) { return logcumsumexp(a.in(0), a.integer(1)); },
     "log(cumsum(exp(input), dim)), without overflow."},
    {"diff(Tensor input, int n=1, int dim=-1, Tensor? prepend=None, Tensor? append=None)", both | out,
     [](Arguments& a) { return diff(a.in(0), a.integer(1), a.integer(2), a.tensor_or_none(3), a.tensor_or_none(4)); },
     "n-th differences of neighbours along `dim`."},
    {"gradient(Tensor input, *, Scalar? spacing=None, int[1]? dim=None, int edge_order=1) -> Tensor[]", function,
     [](Arguments& a) { return gradient_along(a, a.none(1) ? Scalar(1) : a.scalar(1)); },
     "The derivative along each of `dim` (all without it), by central differences; samples lie `spacing` apart: a number, one for "
     "each "
     "dim, or a vector of coordinates for each. https://pytorch.org/docs/stable/generated/torch.gradient.html"},
    {"gradient(Tensor input, *, Scalar[] spacing, int[1]? dim=None, int edge_order=1) -> Tensor[]", function,
     [](Arguments& a) { return gradient_along(a, std::span<const Scalar>(scalars(a.object(1)))); }},
    {"gradient(Tensor input, *, Tensor[] spacing, int[1]? dim=None, int edge_order=1) -> Tensor[]", function,
     [](Arguments& a) { return gradient_along(a, std::span<const Tensor>(a.tensors(1))); }},
    {"trapezoid(Tensor y, Tensor x, *, int dim=-1)", function,
     [](Arguments& a) { return trapezoid(a.in(0), a.tensor(1), a.integer(2)); }},
    {"trapezoid(Tensor y, *, Scalar dx=1, int dim=-1)", function,
     [](Arguments& a) { return trapezoid(a.in(0), a.number(1), a.integer(2)); },
     "The integral along `dim` by the trapezoidal rule."},
    {"trapz = trapezoid"},
    {"cumulative_trapezoid(Tensor y, Tensor x, *, int dim=-1)", function,
     [](Arguments& a) { return cumulative_trapezoid(a.in(0), a.tensor(1), a.integer(2)); }},
    {"cumulative_trapezoid(Tensor y, *, Scalar dx=1, int dim=-1)", function,
     [](Arguments& a) { return cumulative_trapezoid(a.in(0), a.number(1), a.integer(2)); },
     "Integrals up to each element along `dim`."},

    {"sort(Tensor input, int dim=-1, bool descending=False, bool stable=False) -> (Tensor values, Tensor indices)", both | out,
     [](Arguments& a) { return sort(a.in(0), a.integer(1), a.boolean(2)); },
     "Elements sorted along `dim`, always stably, and where they stood."},
    {"argsort(Tensor input, int dim=-1, bool descending=False, bool stable=False)", both,
     [](Arguments& a) { return argsort(a.in(0), a.integer(1), a.boolean(2)); }, "The indices that sort along `dim`."},
    {"msort(Tensor input)", both | out, [](Arguments& a) { return msort(a.in(0)); }, "Elements sorted along dim 0."},
    {"topk(Tensor input, int k, int dim=-1, bool largest=True, bool sorted=True) -> (Tensor values, Tensor indices)", both | out,
     [](Arguments& a) { return topk(a.in(0), a.integer(1), a.integer(2), a.boolean(3)); },
     "The k largest elements along `dim`, best first."},
    {"kthvalue(Tensor input, int k, int dim=-1, bool keepdim=False) -> (Tensor values, Tensor indices)", both | out,
     [](Arguments& a) { return kthvalue(a.in(0), a.integer(1), a.integer(2), a.boolean(3)); },
     "The k-th least element along `dim`."},

    {"median(Tensor input)", both, [](Arguments& a) { return median(a.in(0)); },
     "The lower of the two middle values; NaN if there is one."},
    {"median(Tensor input, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)", both | out,
     [](Arguments& a) { return median(a.in(0), a.integer(1), a.boolean(2)); }},
    {"nanmedian(Tensor input)", both, [](Arguments& a) { return nanmedian(a.in(0)); }, "The median of what is not NaN."},
    {"nanmedian(Tensor input, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)", both | out,
     [](Arguments& a) { return nanmedian(a.in(0), a.integer(1), a.boolean(2)); }},
    {"mode(Tensor input, int dim=-1, bool keepdim=False) -> (Tensor values, Tensor indices)", both | out,
     [](Arguments& a) { return mode(a.in(0), a.integer(1), a.boolean(2)); },
     "The most frequent value along `dim`, the least of several."},
    {"quantile(Tensor input, Tensor|Scalar q, int? dim=None, bool keepdim=False, *, str interpolation=\"linear\")", both | out,
     [](Arguments& a) { return quantile(a.in(0), a.in(1), a.integer_or_none(2), a.boolean(3), a.string(4)); },
     "The q-th quantiles along `dim`, or of all elements."},
    {"nanquantile(Tensor input, Tensor|Scalar q, int? dim=None, bool keepdim=False, *, str interpolation=\"linear\")", both | out,
     [](Arguments& a) { return nanquantile(a.in(0), a.in(1), a.integer_or_none(2), a.boolean(3), a.string(4)); },
     "quantile() of what is not NaN."},

    {"searchsorted(Tensor sorted_sequence, Tensor|Scalar input, *, bool out_int32=False, bool right=False, str? side=None, Tensor? "
     "sorter=None)",
     function | out,
     [](Arguments& a) { return searchsorted(a.in(0), a.in(1), search_options("searchsorted", a, 2, 3, 4), a.tensor_or_none(5)); },
     "Where in the sorted last dim each value would go: before its equals, after them with `right`."},
    {"bucketize(Tensor|Scalar input, Tensor boundaries, *, bool out_int32=False, bool right=False)", function | out,
     [](Arguments& a) { return bucketize(a.in(0), a.tensor(1), {.right = a.boolean(3), .out_int32 = a.boolean(2)}); },
     "searchsorted(boundaries, input)."},
    {"isin(Tensor|Scalar elements, Tensor|Scalar test_elements, *, bool assume_unique=False, bool invert=False)", function | out,
     [](Arguments& a) { return isin(a.in(0), a.in(1), a.boolean(3)); }, "Whether each element is among `test_elements`."},

    {"unique(Tensor input, bool sorted=True, bool return_inverse=False, bool return_counts=False, int? dim=None) -> object", both,
     [](Arguments& a) {
       const UniqueOptions options{a.boolean(2), a.boolean(3), a.integer_or_none(4)};
       return asked_for(unique(a.in(0), options), options);
     },
     "The different elements, or slices along `dim`, sorted; on request the inverse and counts."},
    {"unique_consecutive(Tensor input, bool return_inverse=False, bool return_counts=False, int? dim=None) -> object", both,
     [](Arguments& a) {
       const UniqueOptions options{a.boolean(1), a.boolean(2), a.integer_or_none(3)};
       return asked_for(unique_consecutive(a.in(0), options), options);
     },
     "Elements, or slices along `dim`, without those that equal the one before."},
    {"bincount(Tensor input, Tensor? weights=None, int minlength=0)", both,
     [](Arguments& a) { return bincount(a.in(0), a.tensor_or_none(1), a.integer(2)); },
     "How often 0, 1, ... occur in a vector of integers, or the sums of their weights."},
    {"histc(Tensor input, int bins=100, Scalar min=0, Scalar max=0)", both | out,
     [](Arguments& a) { return histc(a.in(0), a.integer(1), a.number(2), a.number(3)); },
     "Counts in equal bins from `min` to `max`."},
    {"histogram(Tensor input, Tensor bins, *, Tensor? weight=None, bool density=False) -> (Tensor hist, Tensor bin_edges)",
     both | out,
     [](Arguments& a) { return pair(histogram(a.in(0), a.tensor(1), {.weight = a.tensor_or_none(2), .density = a.boolean(3)})); }},
    {"histogram(Tensor input, int bins=100, *, float[]? range=None, Tensor? weight=None, bool density=False) -> (Tensor hist, "
     "Tensor bin_edges)",
     both | out,
     [](Arguments& a) {
       HistogramOptions options{.weight = a.tensor_or_none(3), .density = a.boolean(4)};
       if (!a.none(2)) {
         const std::vector<double> range = a.numbers(2);
         if (range.size() != 2)
           raise(PyExc_RuntimeError, "torch.histogramdd: for a 1-dimensional histogram range should have 2 elements, but got {}",
                 range.size());
         options.range = {range[0], range[1]};
       }
       return pair(histogram(a.in(0), a.integer(1), options));
     },
     "Counts, or sums of weights, in equal bins or between given edges, and the edges."},
};

}  // namespace

}  // namespace braze::python
