// Moments: variance, deviation, covariance.
#include <algorithm>

#include "braze/autograd.h"
#include "braze/functions.h"
#include "frontend/autograd/names.h"
#include "frontend/reductions.h"

namespace braze {

namespace {

void require_moments(std::string_view function, const Tensor& x) {
  require<NotImplementedError>(is_float(x.dtype()) || is_complex(x.dtype()), "{} only support floating point and complex dtypes",
                               function);
}

// In a wider type than x's, so that what is far from zero keeps its digits.
struct Moments {
  Tensor mean, var;
};

Moments moments(const Tensor& x, DimsView dims, double correction, bool keepdim) {
  if (is_complex(x.dtype())) {
    const Moments re = moments(x.real(), dims, correction, keepdim), im = moments(x.imag(), dims, correction, keepdim);
    return {complex(re.mean, im.mean), re.var + im.var};
  }
  const AxisMask mask = axis_mask(dims, x.dim());
  const Tensor wide = x.to(is_half(x.dtype()) ? DType::f32 : DType::f64);
  const double n = static_cast<double>(reduced_count(x, mask));
  const Tensor mean = div(reduce(ir::Op::sum, wide, mask, true), n);
  const Tensor squares = square(sub(wide, mean));
  const Tensor var = div(reduce(ir::Op::sum, squares, mask, keepdim), std::max(0.0, n - correction));
  return {keepdim ? mean : mean.reshape(var.sizes()), var};
}

}  // namespace

Tensor var(const In& x, DimsView dims, double correction, bool keepdim) {
  const GradientScope scope(GradientName::VarBackward0);
  const SourceLine line(x.where());
  const Tensor& self = require_tensor("var", x);
  require_moments("std and var", self);
  return moments(self, dims, correction, keepdim).var.to(component_type(self.dtype()));
}

Tensor std(const In& x, DimsView dims, double correction, bool keepdim) {
  const GradientScope scope(GradientName::StdBackward0);
  const Tensor& self = require_tensor("std", x);
  require_moments("std and var", self);
  const SourceLine line(x.where());
  return sqrt_of_sum(moments(self, dims, correction, keepdim).var).to(component_type(self.dtype()));
}

VarAndMean var_mean(const In& x, DimsView dims, double correction, bool keepdim) {
  const GradientScope scope(GradientName::VarMeanBackward0);
  const SourceLine line(x.where());
  const Tensor& self = require_tensor("var_mean", x);
  require_moments("var_mean", self);
  const Moments m = moments(self, dims, correction, keepdim);
  return {m.var.to(component_type(self.dtype())), m.mean.to(self.dtype())};
}

StdAndMean std_mean(const In& x, DimsView dims, double correction, bool keepdim) {
  const GradientScope scope(GradientName::StdMeanBackward0);
  const Tensor& self = require_tensor("std_mean", x);
  require_moments("std_mean", self);
  const SourceLine line(x.where());
  const Moments m = moments(self, dims, correction, keepdim);
  return {sqrt_of_sum(m.var).to(component_type(self.dtype())), m.mean.to(self.dtype())};
}

Tensor sqrt_of_sum(const Tensor& x) {
  if (!is_grad_enabled() || !x.requires_grad()) return sqrt(x);
  const Tensor zero = x == 0;
  return where(zero, 0, sqrt(where(zero, 1, x)));
}

Tensor cov(const In& x, std::int64_t correction, const Tensor& fweights, const Tensor& aweights) {
  const Tensor& self = require_tensor("cov", x);
  require(self.dim() <= 2, "cov(): expected input to have two or fewer dimensions but got an input with {} dimensions", self.dim());
  require<NotImplementedError>(self.dtype() != DType::boolean, "cov(): bool dtype is not supported for input");
  const SourceLine line(x.where());
  const Tensor rows = self.dim() < 2 ? self.reshape({1, self.numel()}) : self;
  const std::int64_t n = rows.size(1);
  const auto check = [&](const Tensor& w, std::string_view name, bool integral) {
    require(w.dim() <= 1, "cov(): expected {} to have one or fewer dimensions but got {} with {} dimensions", name, name, w.dim());
    require(integral ? is_integer(w.dtype()) : is_float(w.dtype()), "cov(): expected {} to have {} dtype but got {} with {} dtype",
            name, integral ? "integral" : "floating point", name, info(w.dtype()).scalar_name);
    require(w.numel() == n, "cov(): expected {} to have the same numel as there are observations in the input but got {} != {}",
            name, w.numel(), n);
    require(n == 0 || w.min().item<double>() >= 0, "cov(): {} cannot be negative", name);
  };
  Tensor weights;
  if (fweights.defined()) {
    check(fweights, "fweights", true);
    weights = fweights;
  }
  if (aweights.defined()) {
    check(aweights, "aweights", false);
    weights = weights.defined() ? mul(weights, aweights) : aweights;
  }
  const Tensor weighted_rows = weights.defined() ? mul(rows, weights) : rows;
  const Tensor sums = weighted_rows.sum(1, true);
  if (!weights.defined()) {
    const Tensor centred = sub(rows, div(sums, n));
    return div(matmul(centred, centred.t().conj()), std::max<std::int64_t>(0, n - correction)).squeeze();
  }
  const Tensor total = weights.sum({}, false);
  const Tensor centred = sub(rows, div(sums, total));
  // What the estimated mean takes away, in weights.
  Tensor lost = full({}, correction, {total.dtype()});
  if (aweights.defined()) lost = div(mul(mul(weights, aweights).sum({}, false), correction), total);
  const Tensor divisor = maximum(sub(total, lost), 0);
  return div(matmul(mul(centred, weights), centred.t().conj()), divisor).squeeze();
}

Tensor corrcoef(const In& x) {
  const Tensor& self = require_tensor("corrcoef", x);
  require(self.dim() <= 2, "corrcoef(): expected input to have two or fewer dimensions but got an input with {} dimensions",
          self.dim());
  const SourceLine line(x.where());
  const Tensor c = cov(x);
  if (c.dim() == 0) return div(c, c);
  const Tensor deviations = sqrt(c.diagonal().real());
  const Tensor scaled = div(div(c, deviations.unsqueeze(1)), deviations.unsqueeze(0));
  return is_complex(c.dtype()) ? complex(scaled.real().clamp(-1, 1), scaled.imag().clamp(-1, 1)) : scaled.clamp(-1, 1);
}

}  // namespace braze
