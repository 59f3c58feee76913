// In-place functions: f_(x, ...) is x.f_(...) and returns x. https://pytorch.org/docs/stable/torch.html#pointwise-ops
#pragma once

#include "braze/elementwise.h"
#include "braze/tensor.h"

namespace braze {

#define BRAZE_IN_PLACE_UNARY(name) \
  inline Tensor& name##_(Tensor& x, std::source_location where = std::source_location::current()) { return x.name##_(where); }
#define BRAZE_IN_PLACE_BINARY(name) \
  inline Tensor& name##_(Tensor& x, const In& other) { return x.name##_(other); }
#define BRAZE_UNARY(name, accepts, result) BRAZE_IN_PLACE_UNARY(name)
#define BRAZE_BINARY(name, accepts, result, algebra) BRAZE_IN_PLACE_BINARY(name)
#include "ir/ops.def"
#define BRAZE_COMPOSED_UNARY(name) BRAZE_IN_PLACE_UNARY(name)
#define BRAZE_COMPOSED_BINARY(name) BRAZE_IN_PLACE_BINARY(name)
#define BRAZE_UNARY_ALIAS(name, of) BRAZE_IN_PLACE_UNARY(name)
#define BRAZE_BINARY_ALIAS(name, of) BRAZE_IN_PLACE_BINARY(name)
#include "braze/elementwise.def"
#undef BRAZE_IN_PLACE_UNARY
#undef BRAZE_IN_PLACE_BINARY

inline Tensor& add_(Tensor& x, const In& other, Scalar alpha) { return x.add_(other, alpha); }
inline Tensor& sub_(Tensor& x, const In& other, Scalar alpha) { return x.sub_(other, alpha); }
inline Tensor& subtract_(Tensor& x, const In& other, Scalar alpha) { return x.subtract_(other, alpha); }
inline Tensor& div_(Tensor& x, const In& other, std::optional<std::string_view> mode) { return x.div_(other, mode); }
inline Tensor& divide_(Tensor& x, const In& other, std::optional<std::string_view> mode) { return x.divide_(other, mode); }
inline Tensor& addcmul_(Tensor& x, const In& a, const In& b, Scalar value = 1) { return x.addcmul_(a, b, value); }
inline Tensor& addcdiv_(Tensor& x, const In& a, const In& b, Scalar value = 1) { return x.addcdiv_(a, b, value); }
inline Tensor& lerp_(Tensor& x, const In& end, const In& weight) { return x.lerp_(end, weight); }
inline Tensor& round_(Tensor& x, std::int64_t decimals, std::source_location where = std::source_location::current()) {
  return x.round_(decimals, where);
}
inline Tensor& clamp_(Tensor& x, const Limit& min, const Limit& max = {}) { return x.clamp_(min, max); }
inline Tensor& clip_(Tensor& x, const Limit& min, const Limit& max = {}) { return x.clip_(min, max); }
inline Tensor& clamp_min_(Tensor& x, const In& min) { return x.clamp_min_(min); }
inline Tensor& clamp_max_(Tensor& x, const In& max) { return x.clamp_max_(max); }
inline Tensor& nan_to_num_(Tensor& x, std::optional<double> nan = {}, std::optional<double> posinf = {},
                           std::optional<double> neginf = {}, std::source_location where = std::source_location::current()) {
  return x.nan_to_num_(nan, posinf, neginf, where);
}
inline Tensor& logit_(Tensor& x, std::optional<double> eps = {}, std::source_location where = std::source_location::current()) {
  return x.logit_(eps, where);
}
inline Tensor& mvlgamma_(Tensor& x, std::int64_t p, std::source_location where = std::source_location::current()) {
  return x.mvlgamma_(p, where);
}
inline Tensor& addmv_(Tensor& x, const Tensor& mat, const Tensor& vec, Scalar beta = 1, Scalar alpha = 1) {
  return x.addmv_(mat, vec, beta, alpha);
}
inline Tensor& renorm_(Tensor& x, double p, std::int64_t dim, double maxnorm,
                       std::source_location where = std::source_location::current()) {
  return x.renorm_(p, dim, maxnorm, where);
}
inline Tensor& igamma_(Tensor& x, const In& other) { return x.igamma_(other); }
inline Tensor& igammac_(Tensor& x, const In& other) { return x.igammac_(other); }
inline Tensor& fill_(Tensor& x, const In& value) { return x.fill_(value); }
inline Tensor& zero_(Tensor& x, std::source_location where = std::source_location::current()) { return x.zero_(where); }
inline Tensor& detach_(Tensor& x) { return x.detach_(); }
inline Tensor& as_strided_(Tensor& x, SizesView sizes, SizesView strides, std::optional<std::int64_t> storage_offset = {}) {
  return x.as_strided_(sizes, strides, storage_offset);
}
inline Tensor& resize_as_(Tensor& x, const Tensor& other, MemoryFormat format = MemoryFormat::contiguous) {
  return x.resize_as_(other, format);
}
inline Tensor& index_put_(Tensor& x, std::span<const Index> indices, const In& value, bool accumulate = false) {
  return x.index_put_(indices, value, accumulate);
}

}  // namespace braze
