// Rows of braze/reductions.h.
#include "braze/reductions.h"

#include "frontend/python/signature.h"
#include "ir/error.h"

namespace braze::python {

namespace {

constexpr unsigned both = function | method;

std::pair<Tensor, Tensor> pair(const MinAndMax& m) { return {m.min, m.max}; }
std::pair<Tensor, Tensor> pair(const VarAndMean& m) { return {m.var, m.mean}; }
std::pair<Tensor, Tensor> pair(const StdAndMean& m) { return {m.std, m.mean}; }

// The deprecated spelling of correction=1 and correction=0.
double correction(bool unbiased) { return unbiased ? 1 : 0; }
double correction(const Arguments& a, std::size_t i) { return a.number_or_none(i).value_or(1); }

// all and any, whose out= is of bool or uint8, whichever they give.
Tensor truth(const Arguments& a, std::string_view function, const Tensor& result) {
  const Tensor* out_tensor = a.out_tensor();
  if (!out_tensor) return result;
  const DType type = out_tensor->dtype();
  require(type == DType::boolean || type == DType::u8, "{} only supports bool tensor for result, got: {}", function,
          info(type).scalar_name);
  return result.to(type);
}

// Calls f with the dims of argument i: none, one or several.
template <class F>
auto over(const Arguments& a, std::size_t i, F f) {
  if (a.none(i)) return f(DimsView());
  const Sizes dims = a.ints(i);
  return f(DimsView(dims));
}

Order order(const Arguments& a, std::size_t i) { return a.none(i) ? Order("fro") : Order(a.number(i)); }

Tensor normalized_rows(const Arguments& a, Tensor (*f)(const In&, std::int64_t, std::optional<DType>)) {
  // Without a dim PyTorch guesses, and warns: along dim 0 of ranks 0, 1 and 3, else 1.
  const std::int64_t rank = a.tensor(0).dim();
  if (a.none(1) && PyErr_WarnEx(PyExc_UserWarning,
                                "Implicit dimension choice for softmax has been deprecated. Change the call to include dim=X as an "
                                "argument.",
                                1) < 0)
    throw PythonError{};
  return f(a.in(0), a.integer_or_none(1).value_or(rank == 0 || rank == 1 || rank == 3 ? 0 : 1), a.dtype_or_none(3));
}

const Rows rows{
    {"sum(Tensor input, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None)", both | out_casts,
     [](Arguments& a) { return sum(a.in(0), a.ints(1), a.boolean(2), a.dtype_or_out(3)); },
     "The sum over `dim`, or over all elements. Integers and bool give int64."},
    {"nansum(Tensor input, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None)", both | out_casts,
     [](Arguments& a) { return nansum(a.in(0), a.ints(1), a.boolean(2), a.dtype_or_none(3)); }, "The sum where NaN counts as 0."},
    {"prod(Tensor input, *, ScalarType? dtype=None)", both | out_casts,
     [](Arguments& a) { return prod(a.in(0), {}, false, a.dtype_or_out(1)); },
     "The product of all elements. Integers and bool give int64."},
    {"prod(Tensor input, int dim, bool keepdim=False, *, ScalarType? dtype=None)", both | out_casts,
     [](Arguments& a) { return prod(a.in(0), a.integer(1), a.boolean(2), a.dtype_or_out(3)); }},
    {"mean(Tensor input, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None)", both | out_casts,
     [](Arguments& a) { return mean(a.in(0), a.ints(1), a.boolean(2), a.dtype_or_none(3)); },
     "The mean over `dim`, or over all elements. Floats only, unless `dtype` is given."},
    {"nanmean(Tensor input, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None)", both | out_casts,
     [](Arguments& a) { return nanmean(a.in(0), a.ints(1), a.boolean(2), a.dtype_or_none(3)); }, "The mean of what is not NaN."},

    {"max(Tensor input)", both | out, [](Arguments& a) { return max(a.in(0)); }, "The greatest element; NaN if there is one."},
    {"max(Tensor input, Tensor other)", both | out, [](Arguments& a) { return max(a.in(0), a.tensor(1)); }},
    {"max(Tensor input, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)", both | out,
     [](Arguments& a) { return max(a.in(0), a.integer(1), a.boolean(2)); }},
    {"min(Tensor input)", both | out, [](Arguments& a) { return min(a.in(0)); }, "The least element; NaN if there is one."},
    {"min(Tensor input, Tensor other)", both | out, [](Arguments& a) { return min(a.in(0), a.tensor(1)); }},
    {"min(Tensor input, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)", both | out,
     [](Arguments& a) { return min(a.in(0), a.integer(1), a.boolean(2)); }},
    {"amax(Tensor input, int[1]? dim=[], bool keepdim=False)", both | out,
     [](Arguments& a) { return amax(a.in(0), a.ints(1), a.boolean(2)); }, "The greatest elements over `dim`."},
    {"amin(Tensor input, int[1]? dim=[], bool keepdim=False)", both | out,
     [](Arguments& a) { return amin(a.in(0), a.ints(1), a.boolean(2)); }, "The least elements over `dim`."},
    {"aminmax(Tensor input, *, int? dim=None, bool keepdim=False) -> (Tensor min, Tensor max)", both | out,
     [](Arguments& a) { return pair(aminmax(a.in(0), a.integer_or_none(1), a.boolean(2))); }, "amin and amax."},
    {"argmax(Tensor input, int? dim=None, bool keepdim=False)", both | out,
     [](Arguments& a) { return argmax(a.in(0), a.integer_or_none(1), a.boolean(2)); },
     "Where the first greatest element stands, along `dim` or among all elements."},
    {"argmin(Tensor input, int? dim=None, bool keepdim=False)", both | out,
     [](Arguments& a) { return argmin(a.in(0), a.integer_or_none(1), a.boolean(2)); },
     "Where the first least element stands, along `dim` or among all elements."},

    {"any(Tensor input, int[1]? dim=None, bool keepdim=False)", both | out_casts,
     [](Arguments& a) { return truth(a, "any", over(a, 1, [&](DimsView dims) { return any(a.in(0), dims, a.boolean(2)); })); },
     "Whether an element is not zero. bool; uint8 for uint8."},
    {"all(Tensor input, int[1]? dim=None, bool keepdim=False)", both | out_casts,
     [](Arguments& a) { return truth(a, "all", over(a, 1, [&](DimsView dims) { return all(a.in(0), dims, a.boolean(2)); })); },
     "Whether no element is zero. bool; uint8 for uint8."},
    {"count_nonzero(Tensor input, int[1]? dim=None)", both, [](Arguments& a) { return count_nonzero(a.in(0), a.ints(1)); },
     "How many elements are not zero."},

    {"var(Tensor input, bool unbiased)", both, [](Arguments& a) { return var(a.in(0), {}, correction(a.boolean(1))); }},
    {"var(Tensor input, int[1]? dim=None, *, Scalar? correction=1, bool keepdim=False)", both | out_casts,
     [](Arguments& a) { return var(a.in(0), a.ints(1), correction(a, 2), a.boolean(3)); },
     "The variance over `dim`, or over all elements: squared differences from the mean over n - correction. Floats only."},
    {"var(Tensor input, int[1]? dim, bool unbiased=True, bool keepdim=False)", both | out_casts,
     [](Arguments& a) { return var(a.in(0), a.ints(1), correction(a.boolean(2)), a.boolean(3)); }},
    {"std(Tensor input, bool unbiased)", both, [](Arguments& a) { return std(a.in(0), {}, correction(a.boolean(1))); }},
    {"std(Tensor input, int[1]? dim=None, *, Scalar? correction=1, bool keepdim=False)", both | out_casts,
     [](Arguments& a) { return std(a.in(0), a.ints(1), correction(a, 2), a.boolean(3)); }, "The square root of var()."},
    {"std(Tensor input, int[1]? dim, bool unbiased=True, bool keepdim=False)", both | out_casts,
     [](Arguments& a) { return std(a.in(0), a.ints(1), correction(a.boolean(2)), a.boolean(3)); }},
    {"var_mean(Tensor input, bool unbiased) -> (Tensor, Tensor)", function,
     [](Arguments& a) { return pair(var_mean(a.in(0), {}, correction(a.boolean(1)))); }},
    {"var_mean(Tensor input, int[1]? dim=None, *, Scalar? correction=1, bool keepdim=False) -> (Tensor, Tensor)", function,
     [](Arguments& a) { return pair(var_mean(a.in(0), a.ints(1), correction(a, 2), a.boolean(3))); }, "var() and mean()."},
    {"var_mean(Tensor input, int[1]? dim, bool unbiased=True, bool keepdim=False) -> (Tensor, Tensor)", function,
     [](Arguments& a) { return pair(var_mean(a.in(0), a.ints(1), correction(a.boolean(2)), a.boolean(3))); }},
    {"std_mean(Tensor input, bool unbiased) -> (Tensor, Tensor)", function,
     [](Arguments& a) { return pair(std_mean(a.in(0), {}, correction(a.boolean(1)))); }},
    {"std_mean(Tensor input, int[1]? dim=None, *, Scalar? correction=1, bool keepdim=False) -> (Tensor, Tensor)", function,
     [](Arguments& a) { return pair(std_mean(a.in(0), a.ints(1), correction(a, 2), a.boolean(3))); }, "std() and mean()."},
    {"std_mean(Tensor input, int[1]? dim, bool unbiased=True, bool keepdim=False) -> (Tensor, Tensor)", function,
     [](Arguments& a) { return pair(std_mean(a.in(0), a.ints(1), correction(a.boolean(2)), a.boolean(3))); }},
    {"cov(Tensor input, *, int correction=1, Tensor? fweights=None, Tensor? aweights=None)", both,
     [](Arguments& a) { return cov(a.in(0), a.integer(1), a.tensor_or_none(2), a.tensor_or_none(3)); },
     "The covariance of the variables in the rows; columns are observations."},
    {"corrcoef(Tensor input)", both, [](Arguments& a) { return corrcoef(a.in(0)); },
     "The correlation of the variables in the rows."},

    {"logsumexp(Tensor input, int[1] dim, bool keepdim=False)", both | special | out_casts,
     [](Arguments& a) { return logsumexp(a.in(0), a.ints(1), a.boolean(2)); },
     "log(sum(exp(input))) over `dim`, without overflow."},
    {"softmax(Tensor input, int dim, ScalarType? dtype=None)", both | special | out,
     [](Arguments& a) { return softmax(a.in(0), a.integer(1), a.dtype_or_none(2)); }, "exp(input) over its sum along `dim`."},
    {"log_softmax(Tensor input, int dim, ScalarType? dtype=None)", both | special | out,
     [](Arguments& a) { return log_softmax(a.in(0), a.integer(1), a.dtype_or_none(2)); },
     "log(softmax(input, dim)), without overflow."},
    {"softmax(Tensor input, int? dim=None, int _stacklevel=3, ScalarType? dtype=None)", functional,
     [](Arguments& a) { return normalized_rows(a, softmax); }, "exp(input) over its sum along `dim`."},
    {"log_softmax(Tensor input, int? dim=None, int _stacklevel=3, ScalarType? dtype=None)", functional,
     [](Arguments& a) { return normalized_rows(a, log_softmax); }, "log(softmax(input, dim)), without overflow."},
    {"softmin(Tensor input, int? dim=None, int _stacklevel=3, ScalarType? dtype=None)", functional,
     [](Arguments& a) { return normalized_rows(a, softmin); }, "softmax(-input, dim)."},

    {"norm(Tensor input, Scalar? p, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None)", both | out,
     [](Arguments& a) { return norm(a.in(0), order(a, 1), a.ints(2), a.boolean(3), a.dtype_or_none(4)); }},
    {"norm(Tensor input, str p=\"fro\", int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None)", both | out,
     [](Arguments& a) {
       const std::string p = a.string(1);
       return over(a, 2, [&](DimsView dims) { return norm(a.in(0), std::string_view(p), dims, a.boolean(3), a.dtype_or_none(4)); });
     },
     "(sum |input|^p)^(1/p) over `dim`, or over all elements. Floats only."},
    {"dist(Tensor input, Tensor other, Scalar p=2)", both, [](Arguments& a) { return dist(a.in(0), a.tensor(1), a.number(2)); },
     "norm(input - other, p)."},
    {"renorm(Tensor input, Scalar p, int dim, Scalar maxnorm)", both | out | inplace,
     [](Arguments& a) { return renorm(a.in(0), a.number(1), a.integer(2), a.number(3)); },
     "Slices along `dim` whose p-norm is above `maxnorm`, scaled down to it."},
    {"normalize(Tensor input, float p=2.0, int dim=1, float eps=1e-12)", functional | out,
     [](Arguments& a) { return normalize(a.in(0), a.number(1), a.integer(2), a.number(3)); },
     "input / max(norm(input, p, dim), eps)."},
    {"pairwise_distance(Tensor x1, Tensor x2, float p=2.0, float eps=1e-06, bool keepdim=False)", functional | function,
     [](Arguments& a) { return pairwise_distance(a.in(0), a.tensor(1), a.number(2), a.number(3), a.boolean(4)); },
     "norm(x1 - x2 + eps, p) over the last dim."},
    {"cosine_similarity(Tensor x1, Tensor x2, int dim=1, float eps=1e-08)", functional | function,
     [](Arguments& a) { return cosine_similarity(a.in(0), a.tensor(1), a.integer(2), a.number(3)); },
     "The cosine of the angle between x1 and x2 along `dim`."},

    {"vector_norm(Tensor x, Scalar ord=2, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None)", linalg | out,
     [](Arguments& a) { return braze::linalg::vector_norm(a.in(0), a.number(1), a.ints(2), a.boolean(3), a.dtype_or_none(4)); },
     "(sum |x|^ord)^(1/ord) over `dim`, or over all elements."},
    {"matrix_norm(Tensor A, Scalar ord, int[] dim=[-2, -1], bool keepdim=False, *, ScalarType? dtype=None)", linalg | out,
     [](Arguments& a) { return braze::linalg::matrix_norm(a.in(0), a.number(1), a.ints(2), a.boolean(3), a.dtype_or_none(4)); }},
    {"matrix_norm(Tensor A, str ord=\"fro\", int[] dim=[-2, -1], bool keepdim=False, *, ScalarType? dtype=None)", linalg | out,
     [](Arguments& a) {
       const std::string ord = a.string(1);
       return braze::linalg::matrix_norm(a.in(0), std::string_view(ord), a.ints(2), a.boolean(3), a.dtype_or_none(4));
     },
     "Norms of the matrices in two dims: \"fro\", \"nuc\", inf, -inf, 1, -1, 2, -2."},
    {"norm(Tensor A, Scalar? ord=None, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None)", linalg | out,
     [](Arguments& a) {
       const std::optional<Order> ord = a.none(1) ? std::nullopt : std::optional<Order>(a.number(1));
       return over(a, 2, [&](DimsView dims) { return braze::linalg::norm(a.in(0), ord, dims, a.boolean(3), a.dtype_or_none(4)); });
     },
     "A vector's or a matrix's norm, as `dim` or the rank say."},
    {"norm(Tensor A, str ord, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None)", linalg | out,
     [](Arguments& a) {
       const std::string ord = a.string(1);
       return over(a, 2, [&](DimsView dims) {
         return braze::linalg::norm(a.in(0), Order(std::string_view(ord)), dims, a.boolean(3), a.dtype_or_none(4));
       });
     }},
};

}  // namespace

}  // namespace braze::python
