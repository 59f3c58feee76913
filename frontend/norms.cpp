// Norms of vectors and matrices, and what is scaled by them.
#include <cmath>
#include <limits>

#include "braze/functions.h"
#include "frontend/autograd/names.h"
#include "frontend/promotion.h"
#include "frontend/reductions.h"

namespace braze {

namespace {

// The operand in the dtype that the norm has, which `dtype` may only widen.
Tensor norm_operand(std::string_view function, const Tensor& x, std::optional<DType> dtype) {
  require<NotImplementedError>(is_float(x.dtype()) || is_complex(x.dtype()),
                               "{}: Expected a floating point or complex tensor as input. Got {}", function,
                               info(x.dtype()).scalar_name);
  if (!dtype) return x;
  require(is_float(*dtype) || is_complex(*dtype), "{}: dtype should be floating point or complex. Got {}", function,
          info(*dtype).scalar_name);
  require(is_complex(x.dtype()) || !is_complex(*dtype), "{}: dtype should be real for real inputs, but got {}", function,
          info(*dtype).scalar_name);
  require(promote_types(x.dtype(), *dtype) == *dtype,
          "{}: the dtype of the input ({}) should be convertible without narrowing to the specified dtype ({})", function,
          info(x.dtype()).scalar_name, info(*dtype).scalar_name);
  return x.to(*dtype);
}

std::string order_text(double ord) {
  return std::isinf(ord)          ? (ord < 0 ? "-inf" : "inf")
         : std::trunc(ord) == ord ? fmt::format("{}", static_cast<std::int64_t>(ord))
                                  : fmt::format("{}", ord);
}

// inf and negative orders have no value over nothing.
void require_identity(const Tensor& x, AxisMask mask, bool over_all, double ord) {
  if (ord >= 0 && !std::isinf(ord)) return;
  require(!over_all || x.numel() != 0,
          "linalg.vector_norm cannot compute the {} norm on an empty tensor because the operation does not have an identity",
          order_text(ord));
  const Sizes sizes = x.sizes();
  for (std::size_t i = 0; i < sizes.size(); ++i)
    require(!has_axis(mask, i) || sizes[i] != 0,
            "linalg.vector_norm cannot compute the {} norm on the dimension {} because this dimension is empty and the operation "
            "does not "
            "have an identity",
            order_text(ord), i);
}

Tensor vector_norm_over(const Tensor& x, double ord, AxisMask mask, bool keepdim) {
  const GradientScope scope(GradientName::LinalgVectorNormBackward0);
  const Tensor wide = widened(x);
  const Tensor size = abs(wide);
  const auto total = [&](const Tensor& terms) { return reduce(ir::Op::sum, terms, mask, keepdim); };
  Tensor result;
  if (ord == std::numeric_limits<double>::infinity())
    result = reduce(ir::Op::max, size, mask, keepdim);
  else if (ord == -std::numeric_limits<double>::infinity())
    result = reduce(ir::Op::min, size, mask, keepdim);
  else if (ord == 0)
    result = total(ne(wide, 0).to(size.dtype()));
  else if (ord == 1)
    result = total(size);
  else if (ord == 2)
    result = sqrt_of_sum(total(is_complex(wide.dtype()) ? square(wide.real()) + square(wide.imag()) : square(wide)));
  else
    result = pow(total(pow(size, ord)), 1 / ord);
  return result.to(component_type(x.dtype()));
}

}  // namespace

Tensor linalg::vector_norm(const In& x, double ord, DimsView dims, bool keepdim, std::optional<DType> dtype) {
  const SourceLine line(x.where());
  const Tensor operand = norm_operand("linalg.vector_norm", require_tensor("linalg_vector_norm", x), dtype);
  const AxisMask mask = axis_mask(dims, operand.dim());
  require_identity(operand, mask, dims.values().empty(), ord);
  return vector_norm_over(operand, ord, mask, keepdim);
}

Tensor linalg::matrix_norm(const In& x, Order ord, SizesView dims, bool keepdim, std::optional<DType> dtype) {
  const SourceLine line(x.where());
  const Tensor operand = norm_operand("linalg.matrix_norm", require_tensor("linalg_matrix_norm", x), dtype);
  const std::int64_t rank = operand.dim();
  require(rank >= 2, "linalg.matrix_norm: The input tensor A must have at least 2 dimensions.");
  require(dims.size() == 2, "linalg.matrix_norm: dim must be a 2-tuple. Got {}", fmt::join(dims, " "));
  const std::int64_t rows = wrap_dim(dims[0], rank), columns = wrap_dim(dims[1], rank);
  require(rows != columns, "linalg.matrix_norm: dims must be different. Got ({}, {})", dims[0], dims[1]);
  const Sizes both{rows, columns};
  if (ord.name() == "fro") return vector_norm(operand, 2, both, keepdim);
  require(ord.is_number() || ord.name() == "nuc", "linalg.matrix_norm: Order {} not supported.", ord.name());
  const double size = std::abs(ord.number());
  require(!ord.is_number() || size == 1 || size == 2 || std::isinf(size), "linalg.matrix_norm: Order {} not supported.",
          order_text(ord.number()));
  if (ord.is_number() && size != 2) {
    // The largest or smallest sum of a column (1) or row (inf).
    const Tensor sums = vector_norm(operand, 1, size == 1 ? rows : columns, true);
    const std::int64_t left = size == 1 ? columns : rows;
    const Tensor extreme = ord.number() > 0 ? amax(sums, left, true) : amin(sums, left, true);
    return keepdim ? extreme : extreme.squeeze(std::max(rows, columns)).squeeze(std::min(rows, columns));
  }
  const Tensor matrices = operand.movedim(rows, -1).movedim(columns < rows ? columns : columns - 1, -1);
  const Tensor values = linalg::svdvals(matrices);
  Tensor result = !ord.is_number() ? values.sum(-1, false) : ord.number() > 0 ? amax(values, -1) : amin(values, -1);
  if (keepdim) result = result.unsqueeze(std::min(rows, columns)).unsqueeze(std::max(rows, columns));
  return result;
}

Tensor linalg::norm(const In& x, std::optional<Order> ord, DimsView dims, bool keepdim, std::optional<DType> dtype) {
  const Tensor& self = require_tensor("linalg_norm", x);
  const auto listed = dims.values();
  if (dims.has_value())
    require(listed.size() == 1 || listed.size() == 2, "linalg.norm: If dim is specified, it must be of length 1 or 2. Got [{}]",
            fmt::join(listed, ", "));
  else if (ord)
    require(self.dim() == 1 || self.dim() == 2,
            "linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. Got {}D.", self.dim());
  if (ord && (dims.has_value() ? listed.size() == 2 : self.dim() == 2)) {
    if (dims.has_value()) return matrix_norm(x, *ord, listed, keepdim, dtype);
    return matrix_norm(x, *ord, {0, 1}, keepdim, dtype);
  }
  require(!ord || ord->is_number(), "linalg.norm: Order {} not supported for a vector.", ord ? ord->name() : "");
  return vector_norm(x, ord ? ord->number() : 2, dims, keepdim, dtype);
}

Tensor norm(const In& x, Order p, DimsView dims, bool keepdim, std::optional<DType> dtype) {
  if (p.is_number()) return linalg::vector_norm(x, p.number(), dims, keepdim, dtype);
  if (p.name() == "nuc") {
    if (dims.has_value()) return linalg::matrix_norm(x, p, dims.values(), keepdim, dtype);
    return linalg::matrix_norm(x, p, {-2, -1}, keepdim, dtype);
  }
  require(p.name() == "fro", "Only p being \"fro\" or \"nuc\" or a number is supported, not \"{}\"", p.name());
  return linalg::vector_norm(x, 2, dims, keepdim, dtype);
}

Tensor dist(const In& x, const Tensor& other, double p) {
  const GradientScope scope(GradientName::DistBackward0);
  const SourceLine line(x.where());
  return linalg::vector_norm(sub(x, other), p);
}

Tensor renorm(const In& x, double p, std::int64_t dim, double maxnorm) {
  const GradientScope scope(GradientName::RenormBackward0);
  const Tensor& self = require_tensor("renorm", x);
  const SourceLine line(x.where());
  require(p > 0, "renorm: non-positive-norm not supported");
  require(maxnorm >= 0, "renorm: expected maxnorm to be >= 0 but got {}", maxnorm);
  require(self.dim() > 1, "renorm: input needs at least 2 dimensions, got {} dimensions", self.dim());
  if (!is_float(self.dtype()) && !is_complex(self.dtype())) not_implemented_for("renorm_scale_factor_cpu", self.dtype());
  const AxisMask others = all_axes(self.dim()) & ~(AxisMask{1} << wrap_dim(dim, self.dim()));
  const Tensor wide = widened(self.contiguous());
  const Tensor norms = vector_norm_over(wide, p, others, true);
  // PyTorch's guard against dividing by a norm that rounding made too small.
  const Tensor scale = div(maxnorm, add(norms, 1e-7));
  const Tensor factor = where(gt(norms, maxnorm), scale, 1);
  return mul(wide, factor).to(self.dtype());
}

Tensor normalize(const In& x, double p, std::int64_t dim, double eps) {
  const SourceLine line(x.where());
  const Tensor norms = linalg::vector_norm(x, p, dim, true);
  return div(x, maximum(norms, eps));
}

Tensor pairwise_distance(const In& x1, const Tensor& x2, double p, double eps, bool keepdim) {
  const SourceLine line(x1.where());
  return linalg::vector_norm(sub(x1, x2) + eps, p, -1, keepdim);
}

Tensor cosine_similarity(const In& x1, const Tensor& x2, std::int64_t dim, double eps) {
  const Tensor& first = require_tensor("cosine_similarity", x1);
  const SourceLine line(x1.where());
  const In second(x2);
  const In* operands[] = {&x1, &second};
  const DType type = result_type(operands);
  require(is_float(type), "expected common dtype to be floating point, yet common dtype is {}", info(type).scalar_name);
  const Dims a = sizes_of(*checked(first).type), b = sizes_of(*checked(x2).type);
  const Dims common = broadcast_sizes(a, b);
  const std::span<const std::int64_t> sizes(common.begin(), common.size());
  const Tensor left = widened(first.to(type)).expand(sizes), right = widened(x2.to(type)).expand(sizes);
  const auto unit = [&](const Tensor& x) { return div(x, maximum(linalg::vector_norm(x, 2, dim, true), eps)); };
  return mul(unit(left), unit(right)).sum(dim, false).to(type);
}

}  // namespace braze
