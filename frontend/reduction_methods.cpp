// Reductions as methods: each calls its function with the caller's line.
#include "braze/functions.h"
#include "frontend/elementwise.h"
#include "frontend/tensor_impl.h"

namespace braze {

#define BRAZE_TOTAL(name)                                                                                     \
  Tensor ReductionMethods::name(DimsView dims, bool keepdim, std::optional<DType> dtype, Where where) const { \
    return braze::name(In(self_of(this), where), dims, keepdim, dtype);                                       \
  }
BRAZE_TOTAL(sum)
BRAZE_TOTAL(nansum)
BRAZE_TOTAL(prod)
BRAZE_TOTAL(mean)
BRAZE_TOTAL(nanmean)
#undef BRAZE_TOTAL

#define BRAZE_EXTREME(name)                                                                                                      \
  Tensor ReductionMethods::name(Where where) const { return braze::name(In(self_of(this), where)); }                             \
  ValuesAndIndices ReductionMethods::name(std::int64_t dim, bool keepdim, Where where) const {                                   \
    return braze::name(In(self_of(this), where), dim, keepdim);                                                                  \
  }                                                                                                                              \
  Tensor ReductionMethods::name(const Tensor& other, Where where) const { return braze::name(In(self_of(this), where), other); } \
  Tensor ReductionMethods::a##name(DimsView dims, bool keepdim, Where where) const {                                             \
    return braze::a##name(In(self_of(this), where), dims, keepdim);                                                              \
  }                                                                                                                              \
  Tensor ReductionMethods::arg##name(std::optional<std::int64_t> dim, bool keepdim, Where where) const {                         \
    return braze::arg##name(In(self_of(this), where), dim, keepdim);                                                             \
  }
BRAZE_EXTREME(max)
BRAZE_EXTREME(min)
#undef BRAZE_EXTREME

MinAndMax ReductionMethods::aminmax(std::optional<std::int64_t> dim, bool keepdim, Where where) const {
  return braze::aminmax(In(self_of(this), where), dim, keepdim);
}
Tensor ReductionMethods::any(DimsView dims, bool keepdim, Where where) const {
  return braze::any(In(self_of(this), where), dims, keepdim);
}
Tensor ReductionMethods::all(DimsView dims, bool keepdim, Where where) const {
  return braze::all(In(self_of(this), where), dims, keepdim);
}
Tensor ReductionMethods::count_nonzero(DimsView dims, Where where) const {
  return braze::count_nonzero(In(self_of(this), where), dims);
}

Tensor ReductionMethods::var(DimsView dims, double correction, bool keepdim, Where where) const {
  return braze::var(In(self_of(this), where), dims, correction, keepdim);
}
Tensor ReductionMethods::std(DimsView dims, double correction, bool keepdim, Where where) const {
  return braze::std(In(self_of(this), where), dims, correction, keepdim);
}
Tensor ReductionMethods::cov(std::int64_t correction, Where where) const {
  return braze::cov(In(self_of(this), where), correction);
}
Tensor ReductionMethods::corrcoef(Where where) const { return braze::corrcoef(In(self_of(this), where)); }

Tensor ReductionMethods::logsumexp(DimsView dims, bool keepdim, Where where) const {
  return braze::logsumexp(In(self_of(this), where), dims, keepdim);
}
Tensor ReductionMethods::softmax(std::int64_t dim, std::optional<DType> dtype, Where where) const {
  return braze::softmax(In(self_of(this), where), dim, dtype);
}
Tensor ReductionMethods::log_softmax(std::int64_t dim, std::optional<DType> dtype, Where where) const {
  return braze::log_softmax(In(self_of(this), where), dim, dtype);
}

Tensor ReductionMethods::norm(Where where) const { return braze::norm(In(self_of(this), where)); }
Tensor ReductionMethods::norm(const Order& p, DimsView dims, bool keepdim, std::optional<DType> dtype, Where where) const {
  return braze::norm(In(self_of(this), where), p, dims, keepdim, dtype);
}
Tensor ReductionMethods::dist(const Tensor& other, double p, Where where) const {
  return braze::dist(In(self_of(this), where), other, p);
}
Tensor ReductionMethods::renorm(double p, std::int64_t dim, double maxnorm, Where where) const {
  return braze::renorm(In(self_of(this), where), p, dim, maxnorm);
}
Tensor& ReductionMethods::renorm_(double p, std::int64_t dim, double maxnorm, Where where) {
  return write_in_place(self_of(this), braze::renorm(In(self_of(this), where), p, dim, maxnorm), where);
}

}  // namespace braze
