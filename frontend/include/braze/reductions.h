// Reductions and what is composed of them. https://pytorch.org/docs/stable/torch.html#reduction-ops
//
// `dims` is one dim, a list, or none: all of them; an empty list means all too, except for any() and all(), where it means no dim.
// `keepdim` leaves axes of one element. Dims out of range throw IndexError, repeated ones Error. Results are new and row-major.
// A NaN among what is reduced makes the result NaN unless said otherwise. `dtype` converts the operand first.
#pragma once

#include <string_view>

#include "braze/tensor.h"

namespace braze {

// Integers and bool give int64. Over no element 0.
Tensor sum(const In& x, DimsView dims = {}, bool keepdim = false, std::optional<DType> dtype = {});
Tensor nansum(const In& x, DimsView dims = {}, bool keepdim = false, std::optional<DType> dtype = {});  // NaN counts as 0
// Integers and bool give int64. Over no element 1.
Tensor prod(const In& x, DimsView dims = {}, bool keepdim = false, std::optional<DType> dtype = {});
// Floats only, or `dtype`. Over no element NaN.
Tensor mean(const In& x, DimsView dims = {}, bool keepdim = false, std::optional<DType> dtype = {});
Tensor nanmean(const In& x, DimsView dims = {}, bool keepdim = false, std::optional<DType> dtype = {});  // of what is not NaN

// Over all elements. Throw Error over none.
Tensor max(const In& x);
Tensor min(const In& x);
// Along a dim, with the index of the first extreme, or of the first NaN. Throw IndexError where the dim is empty.
ValuesAndIndices max(const In& x, std::int64_t dim, bool keepdim = false);
ValuesAndIndices min(const In& x, std::int64_t dim, bool keepdim = false);
// Of two tensors: maximum and minimum.
Tensor max(const In& x, const Tensor& other);
Tensor min(const In& x, const Tensor& other);
Tensor amax(const In& x, DimsView dims = {}, bool keepdim = false);
Tensor amin(const In& x, DimsView dims = {}, bool keepdim = false);
struct MinAndMax {
  Tensor min, max;
};
MinAndMax aminmax(const In& x, std::optional<std::int64_t> dim = {}, bool keepdim = false);
// The first extreme, or the first NaN; without `dim`, among all elements in row-major order.
Tensor argmax(const In& x, std::optional<std::int64_t> dim = {}, bool keepdim = false);
Tensor argmin(const In& x, std::optional<std::int64_t> dim = {}, bool keepdim = false);

// bool, for uint8 uint8. NaN is true.
Tensor any(const In& x, DimsView dims = {}, bool keepdim = false);
Tensor all(const In& x, DimsView dims = {}, bool keepdim = false);
Tensor count_nonzero(const In& x, DimsView dims = {});  // int64

// Floats only. Two passes in a wider type than the operand's (float64 for float32): the mean, then the squared differences from it over
// max(0, n - correction). https://pytorch.org/docs/stable/generated/torch.var.html
Tensor var(const In& x, DimsView dims = {}, double correction = 1, bool keepdim = false);
Tensor std(const In& x, DimsView dims = {}, double correction = 1, bool keepdim = false);
struct VarAndMean {
  Tensor var, mean;
};
struct StdAndMean {
  Tensor std, mean;
};
VarAndMean var_mean(const In& x, DimsView dims = {}, double correction = 1, bool keepdim = false);
StdAndMean std_mean(const In& x, DimsView dims = {}, double correction = 1, bool keepdim = false);
// Rows are variables, columns observations; without weights. https://pytorch.org/docs/stable/generated/torch.cov.html
Tensor cov(const In& x, std::int64_t correction = 1, const Tensor& fweights = {}, const Tensor& aweights = {});
Tensor corrcoef(const In& x);

// log(sum(exp(x))), without overflow. Integers become the default dtype.
Tensor logsumexp(const In& x, DimsView dims, bool keepdim = false);
// exp(x) over its sum along `dim`. Floats only, or `dtype`; a row of -inf gives NaN.
Tensor softmax(const In& x, std::int64_t dim, std::optional<DType> dtype = {});
Tensor log_softmax(const In& x, std::int64_t dim, std::optional<DType> dtype = {});
Tensor softmin(const In& x, std::int64_t dim, std::optional<DType> dtype = {});

// ---- norms: floats only ----
// An order is a number, "fro" or "nuc".
class Order {
 public:
  template <class N>
    requires std::is_arithmetic_v<N>
  Order(N p) : number_(static_cast<double>(p)) {}  // NOLINT
  Order(const char* name) : name_(name) {}         // NOLINT
  Order(std::string_view name) : name_(name) {}    // NOLINT
  bool is_number() const { return name_.empty(); }
  double number() const { return number_; }
  std::string_view name() const { return name_; }

 private:
  double number_ = 2;
  std::string_view name_;
};
// (sum |x|^p)^(1/p); inf and -inf give the extremes of |x|, 0 counts what is not 0.
// https://pytorch.org/docs/stable/generated/torch.norm.html
Tensor norm(const In& x, Order p = "fro", DimsView dims = {}, bool keepdim = false, std::optional<DType> dtype = {});
Tensor dist(const In& x, const Tensor& other, double p = 2);  // norm of the difference
// Slices along `dim` whose p-norm is above `maxnorm`, scaled down to it.
Tensor renorm(const In& x, double p, std::int64_t dim, double maxnorm);
// torch.nn.functional: x / max(norm, eps); and the cosine of the angle between rows, broadcasting.
Tensor normalize(const In& x, double p = 2, std::int64_t dim = 1, double eps = 1e-12);
// The p-norm of x1 - x2 + eps over the last dim.
Tensor pairwise_distance(const In& x1, const Tensor& x2, double p = 2, double eps = 1e-6, bool keepdim = false);
Tensor cosine_similarity(const In& x1, const Tensor& x2, std::int64_t dim = 1, double eps = 1e-8);

namespace linalg {
Tensor vector_norm(const In& x, double ord = 2, DimsView dims = {}, bool keepdim = false, std::optional<DType> dtype = {});
// "fro", "nuc", inf, -inf, 1, -1, 2, -2. https://pytorch.org/docs/stable/generated/torch.linalg.matrix_norm.html
Tensor matrix_norm(const In& x, Order ord = "fro", SizesView dims = {-2, -1}, bool keepdim = false,
                   std::optional<DType> dtype = {});
// A vector's or a matrix's, as `dims` or the rank say; without `ord` the 2-norm of all elements.
Tensor norm(const In& x, std::optional<Order> ord = {}, DimsView dims = {}, bool keepdim = false, std::optional<DType> dtype = {});
}  // namespace linalg

}  // namespace braze
