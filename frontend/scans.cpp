// Scans, and the differences and integrals that go with them.
#include <algorithm>

#include "braze/functions.h"
#include "frontend/autograd/names.h"
#include "frontend/complex.h"
#include "frontend/reductions.h"

namespace braze {

namespace {

engine::Value scanned(ir::Op op, const Tensor& x, std::int64_t axis) {
  const engine::Value value = read(checked(x), here());
  return engine::record(op, {&value, 1}, ir::Scan{static_cast<std::uint32_t>(axis)}, here());
}

// A scan that is no routine, by doubling: after the step of 2^k each element has joined the last 2^(k+1).
Tensor doubled(Tensor x, std::int64_t axis, auto join) {
  const std::int64_t n = x.size(axis);
  for (std::int64_t step = 1; step < n; step *= 2)
    x = cat({x.narrow(axis, 0, step), join(x.narrow(axis, step, n - step), x.narrow(axis, 0, n - step))}, axis);
  return x.clone();
}

Tensor accumulated_complex(ir::Op op, const Tensor& x, std::int64_t axis) {
  if (op == ir::Op::cumsum) return of_pairs(wrap(scanned(op, pairs(x), axis)));
  return doubled(x, axis, [](const Tensor& later, const Tensor& earlier) { return later * earlier; });
}

Tensor accumulated(ir::Op op, const In& x, std::int64_t dim, std::optional<DType> dtype) {
  const SourceLine line(x.where());
  const Tensor& self = require_tensor(ir::name(op), x);
  const Along a = along(self, dim);
  const DType type = dtype.value_or(is_float(self.dtype()) || is_complex(self.dtype()) ? self.dtype() : DType::i64);
  if (type == DType::boolean) not_implemented_for(op == ir::Op::cumsum ? "cumsum_out_cpu" : "cumprod_out_cpu", type);
  if (is_complex(type)) return accumulated_complex(op, a.x.to(type), a.axis).reshape(self.sizes());
  return wrap(scanned(op, a.x.to(type), a.axis)).reshape(self.sizes());
}

ValuesAndIndices running_extreme(ir::Op op, const In& x, std::int64_t dim) {
  const SourceLine line(x.where());
  const Tensor& self = require_tensor(ir::name(op), x);
  const Along a = along(self, dim);
  const engine::Value both = scanned(op, a.x, a.axis);
  return {wrap(both).reshape(self.sizes()), wrap(both.with_result(1)).reshape(self.sizes())};
}

// Twice the heights of the trapezoids between neighbours along `axis`.
Tensor heights(const Tensor& y, std::int64_t axis) {
  const std::int64_t n = std::max<std::int64_t>(0, y.size(axis) - 1);
  return y.narrow(axis, 0, n) + y.narrow(axis, y.size(axis) - n, n);
}

const Tensor& require_ordinates(std::string_view function, const In& y, const Tensor* x = nullptr) {
  const Tensor& self = require_tensor(function, y);
  require<NotImplementedError>(self.dtype() != DType::boolean && (!x || x->dtype() != DType::boolean),
                               "{}: received a bool input for {}, but bool is not supported", function, x ? "`x` or `y`" : "`y`");
  return self;
}

// The widths between neighbours of x, shaped so that they broadcast with y's heights along `axis`.
Tensor widths(std::string_view function, const Tensor& y, std::int64_t axis, const Tensor& x) {
  if (x.dim() != 1) return diff(x, 1, x.dim() == y.dim() ? axis : axis - y.dim());
  require(x.size(0) == y.size(axis), "{}: There must be one `x` value for each sample point", function);
  Sizes sizes(static_cast<std::size_t>(y.dim()), 1);
  sizes[static_cast<std::size_t>(axis)] = std::max<std::int64_t>(0, x.size(0) - 1);
  return diff(x, 1, 0).reshape(sizes);
}

}  // namespace

Tensor cumsum(const In& x, std::int64_t dim, std::optional<DType> dtype) {
  const GradientScope scope(GradientName::CumsumBackward0);
  return accumulated(ir::Op::cumsum, x, dim, dtype);
}
Tensor cumprod(const In& x, std::int64_t dim, std::optional<DType> dtype) {
  const GradientScope scope(GradientName::CumprodBackward0);
  return accumulated(ir::Op::cumprod, x, dim, dtype);
}

Tensor logcumsumexp(const In& x, std::int64_t dim) {
  const GradientScope scope(GradientName::LogcumsumexpBackward0);
  const Tensor& self = require_tensor("logcumsumexp", x);
  if (is_complex(self.dtype())) {
    const SourceLine line(x.where());
    const Along a = along(self, dim);
    return doubled(a.x, a.axis, [](const Tensor& later, const Tensor& earlier) { return logaddexp(later, earlier); })
        .reshape(self.sizes());
  }
  if (!is_float(self.dtype())) not_implemented_for("logcumsumexp_out_cpu", self.dtype());
  return accumulated(ir::Op::logcumsumexp, x, dim, {});
}

ValuesAndIndices cummax(const In& x, std::int64_t dim) {
  const GradientScope scope(GradientName::CummaxBackward0);
  return running_extreme(ir::Op::cummax, x, dim);
}
ValuesAndIndices cummin(const In& x, std::int64_t dim) {
  const GradientScope scope(GradientName::CumminBackward0);
  return running_extreme(ir::Op::cummin, x, dim);
}

Tensor diff(const In& x, std::int64_t n, std::int64_t dim, const Tensor& prepend, const Tensor& append) {
  const SourceLine line(x.where());
  const Tensor& self = require_tensor("diff", x);
  require(self.dim() >= 1, "diff expects input to be at least one-dimensional");
  require(n >= 0, "order must be non-negative but got {}", n);
  const std::int64_t axis = wrap_dim(dim, self.dim());
  std::vector<Tensor> pieces;
  for (const Tensor* piece : {&prepend, &self, &append})
    if (piece->defined()) {
      require(piece->dim() == self.dim(), "diff expects prepend or append to be the same dimension as input");
      for (std::int64_t i = 0; i < self.dim(); ++i)
        require(
            i == axis || piece->size(i) == self.size(i),
            "diff expects the shape of tensor to prepend or append to match that of input except along the differencing dimension; "
            "input.size({}) = {}, but got tensor.size({}) = {}",
            i, self.size(i), i, piece->size(i));
      pieces.push_back(*piece);
    }
  Tensor result = pieces.size() == 1 ? self : cat(pieces, axis);
  if (n == 0) return result.clone();
  for (n = std::min(n, result.size(axis)); n > 0; --n) {
    const std::int64_t left = std::max<std::int64_t>(0, result.size(axis) - 1);
    const Tensor later = result.narrow(axis, result.size(axis) - left, left), earlier = result.narrow(axis, 0, left);
    result = result.dtype() == DType::boolean ? logical_xor(later, earlier) : later - earlier;
  }
  return result;
}

Tensor trapezoid(const In& y, double dx, std::int64_t dim) {
  const SourceLine line(y.where());
  const Tensor& self = require_ordinates("trapezoid", y);
  const std::int64_t axis = wrap_dim(dim, self.dim());
  return heights(self, axis).sum(axis) * (dx / 2);
}

Tensor trapezoid(const In& y, const Tensor& x, std::int64_t dim) {
  const SourceLine line(y.where());
  const Tensor& self = require_ordinates("trapezoid", y, &x);
  const std::int64_t axis = wrap_dim(dim, self.dim());
  return (heights(self, axis) * widths("trapezoid", self, axis, x)).sum(axis - self.dim()) / 2.0;
}

Tensor trapz(const In& y, double dx, std::int64_t dim) { return trapezoid(y, dx, dim); }
Tensor trapz(const In& y, const Tensor& x, std::int64_t dim) { return trapezoid(y, x, dim); }

Tensor cumulative_trapezoid(const In& y, double dx, std::int64_t dim) {
  const SourceLine line(y.where());
  const Tensor& self = require_ordinates("cumulative_trapezoid", y);
  const std::int64_t axis = wrap_dim(dim, self.dim());
  return (heights(self, axis) * (dx / 2)).cumsum(axis);
}

Tensor cumulative_trapezoid(const In& y, const Tensor& x, std::int64_t dim) {
  const SourceLine line(y.where());
  const Tensor& self = require_ordinates("cumulative_trapezoid", y, &x);
  const std::int64_t axis = wrap_dim(dim, self.dim());
  return (heights(self, axis) * (widths("cumulative_trapezoid", self, axis, x) / 2.0)).cumsum(axis - self.dim());
}

}  // namespace braze
