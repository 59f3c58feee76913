// Elementwise methods of Tensor: what braze/elementwise.h has as functions, and the in-place forms, which return the tensor.
#pragma once

#include <cstdint>
#include <optional>
#include <source_location>
#include <string_view>
#include <utility>

#include "braze/dtype.h"
#include "braze/scalar.h"
#include "braze/sizes.h"

namespace braze {

class In;
class Limit;
class Tensor;

class ElementwiseMethods {
  using Line = std::source_location;

 public:
  // x.exp(), x.exp_(), x.maximum(y), x.absolute(), ...
#define BRAZE_METHOD_UNARY(name)                   \
  Tensor name(Line where = Line::current()) const; \
  Tensor& name##_(Line where = Line::current());
#define BRAZE_METHOD_BINARY(name)     \
  Tensor name(const In& other) const; \
  Tensor& name##_(const In& other);
#define BRAZE_UNARY(name, accepts, result) BRAZE_METHOD_UNARY(name)
#define BRAZE_BINARY(name, accepts, result, algebra) BRAZE_METHOD_BINARY(name)
#include "ir/ops.def"
#define BRAZE_COMPOSED_UNARY(name) BRAZE_METHOD_UNARY(name)
#define BRAZE_COMPOSED_BINARY(name) BRAZE_METHOD_BINARY(name)
#define BRAZE_UNARY_ALIAS(name, of) BRAZE_METHOD_UNARY(name)
#define BRAZE_BINARY_ALIAS(name, of) BRAZE_METHOD_BINARY(name)
#include "braze/elementwise.def"
#undef BRAZE_METHOD_UNARY
#undef BRAZE_METHOD_BINARY

  Tensor add(const In& other, Scalar alpha) const;
  Tensor& add_(const In& other, Scalar alpha);
  Tensor sub(const In& other, Scalar alpha) const;
  Tensor& sub_(const In& other, Scalar alpha);
  Tensor subtract(const In& other, Scalar alpha) const;
  Tensor& subtract_(const In& other, Scalar alpha);
  Tensor div(const In& other, std::optional<std::string_view> rounding_mode) const;
  Tensor& div_(const In& other, std::optional<std::string_view> rounding_mode);
  Tensor divide(const In& other, std::optional<std::string_view> rounding_mode) const;
  Tensor& divide_(const In& other, std::optional<std::string_view> rounding_mode);
  Tensor addcmul(const In& a, const In& b, Scalar value = 1) const;
  Tensor& addcmul_(const In& a, const In& b, Scalar value = 1);
  Tensor addcdiv(const In& a, const In& b, Scalar value = 1) const;
  Tensor& addcdiv_(const In& a, const In& b, Scalar value = 1);
  Tensor lerp(const In& end, const In& weight) const;
  Tensor& lerp_(const In& end, const In& weight);
  Tensor round(std::int64_t decimals, Line where = Line::current()) const;
  Tensor& round_(std::int64_t decimals, Line where = Line::current());
  std::pair<Tensor, Tensor> frexp(Line where = Line::current()) const;

  Tensor clamp(const Limit& min) const;
  Tensor clamp(const Limit& min, const Limit& max, Line where = Line::current()) const;
  Tensor& clamp_(const Limit& min);
  Tensor& clamp_(const Limit& min, const Limit& max, Line where = Line::current());
  Tensor clip(const Limit& min) const;
  Tensor clip(const Limit& min, const Limit& max, Line where = Line::current()) const;
  Tensor& clip_(const Limit& min);
  Tensor& clip_(const Limit& min, const Limit& max, Line where = Line::current());
  Tensor clamp_min(const In& min) const;
  Tensor& clamp_min_(const In& min);
  Tensor clamp_max(const In& max) const;
  Tensor& clamp_max_(const In& max);
  Tensor nan_to_num(std::optional<double> nan = {}, std::optional<double> posinf = {}, std::optional<double> neginf = {},
                    Line where = Line::current()) const;
  Tensor& nan_to_num_(std::optional<double> nan = {}, std::optional<double> posinf = {}, std::optional<double> neginf = {},
                      Line where = Line::current());
  Tensor where(const Tensor& condition, const In& other) const;  // this where the condition holds
  Tensor masked_fill(const Tensor& mask, const In& value) const;

  Tensor isclose(const In& other, double rtol = 1e-5, double atol = 1e-8, bool equal_nan = false) const;
  bool allclose(const In& other, double rtol = 1e-5, double atol = 1e-8, bool equal_nan = false) const;
  bool equal(const Tensor& other) const;

  Tensor sum_to_size(SizesView size, Line where = Line::current()) const;

  Tensor logit(std::optional<double> eps = {}, Line where = Line::current()) const;
  Tensor& logit_(std::optional<double> eps = {}, Line where = Line::current());
  Tensor polygamma(std::int64_t n, Line where = Line::current()) const;
  Tensor& polygamma_(std::int64_t n, Line where = Line::current());
  Tensor mvlgamma(std::int64_t p, Line where = Line::current()) const;
  Tensor& mvlgamma_(std::int64_t p, Line where = Line::current());

  Tensor igamma(const In& other) const;  // gammainc
  Tensor& igamma_(const In& other);
  Tensor igammac(const In& other) const;  // gammaincc
  Tensor& igammac_(const In& other);
  Tensor hardshrink(double lambd = 0.5, Line where = Line::current()) const;
  Tensor prelu(const Tensor& weight, Line where = Line::current()) const;

  bool is_floating_point() const;
  bool is_complex() const;
  bool is_signed() const;
  bool is_nonzero() const;

 protected:
  ~ElementwiseMethods() = default;  // a base of Tensor, never used alone
};

}  // namespace braze
