// Functions of vectors and matrices that are compositions of products, sums and elementwise ops.
#include <algorithm>
#include <cmath>
#include <limits>

#include "braze/functions.h"
#include "frontend/autograd/names.h"
#include "frontend/formula.h"
#include "frontend/linalg.h"
#include "frontend/source_line.h"
#include "frontend/tensor_impl.h"

namespace braze {

Tensor trace(const In& input) {
  const GradientScope scope(GradientName::TraceBackward0);
  const SourceLine line(input.where());
  const Tensor& x = tensor_argument(input, "trace", "input");
  require(x.dim() == 2, "trace: expected a matrix, but got tensor with dim {}", x.dim());
  if (x.dtype() == DType::boolean) not_implemented_for("trace", x.dtype());
  return x.diagonal().sum();
}

// ---- cross ----

Tensor cross(const In& input, const Tensor& other, std::optional<std::int64_t> dim) {
  const GradientScope scope(GradientName::LinalgCrossBackward0);
  const Tensor& x = tensor_argument(input, "cross", "input");
  if (dim) return linalg::cross(input, other, *dim);
  const Sizes sizes = x.sizes();
  const auto three = std::find(sizes.begin(), sizes.end(), 3);
  require(three != sizes.end(), "no dimension of size 3 in input");
  return linalg::cross(input, other, three - sizes.begin());
}

Tensor linalg::cross(const In& input, const Tensor& other, std::int64_t dim) {
  const GradientScope scope(GradientName::LinalgCrossBackward0);
  const SourceLine line(input.where());
  const Tensor& x = tensor_argument(input, "cross", "input");
  require(x.dim() == other.dim(), "linalg.cross: inputs must have the same number of dimensions.");
  require(x.size(dim) == 3 && other.size(dim) == 3, "linalg.cross: inputs dimension {} must have length 3. Got {} and {}", dim,
          x.size(dim), other.size(dim));
  if (x.dtype() == DType::boolean) not_implemented_for("cross", x.dtype());
  require(x.dtype() == other.dtype(), "linalg.cross: Expected input and other to have the same dtype, but got {} and {}",
          info(x.dtype()).scalar_name, info(other.dtype()).scalar_name);
  const auto product = [&](std::int64_t i, std::int64_t j) { return x.select(dim, i % 3) * other.select(dim, j % 3); };
  std::vector<Tensor> parts;
  for (std::int64_t i = 0; i < 3; ++i) parts.push_back(product(i + 1, i + 2) - product(i + 2, i + 1));
  return stack(parts, wrap_dim(dim, x.dim()));
}

// ---- cdist ----

namespace {

// |x|^2 - 2 x.y + |y|^2 as one product, as PyTorch computes it for many rows.
Tensor euclidean_by_product(const Tensor& x, const Tensor& y) {
  const Tensor nx = square(x).sum(-1, true), ny = square(y).sum(-1, true);
  const Tensor left = cat({x * -2, nx, ones_like(nx)}, -1), right = cat({y, ones_like(ny), ny}, -1);
  return sqrt(maximum(matmul(left, right.mT()), 0));
}

}  // namespace

Tensor cdist(const In& x1, const Tensor& x2, double p, std::string_view compute_mode) {
  const GradientScope scope(GradientName::CdistBackward0);
  const SourceLine line(x1.where());
  const Tensor& a = tensor_argument(x1, "cdist", "x1");
  require(is_float(a.dtype()), "cdist only supports floating-point dtypes, X1 got: {}", info(a.dtype()).scalar_name);
  require(is_float(x2.dtype()), "cdist only supports floating-point dtypes, X2 got: {}", info(x2.dtype()).scalar_name);
  require(a.dim() >= 2, "cdist only supports at least 2D tensors, X1 got: {}D", a.dim());
  require(x2.dim() >= 2, "cdist only supports at least 2D tensors, X2 got: {}D", x2.dim());
  require<ShapeError>(a.size(-1) == x2.size(-1), "X1 and X2 must have the same number of columns. X1: {} X2: {}", a.size(-1),
                      x2.size(-1));
  require(a.dtype() == x2.dtype(), "X1 and X2 must have the same dtype, but got {} and {}", info(a.dtype()).scalar_name,
          info(x2.dtype()).scalar_name);
  if (is_half(a.dtype())) not_implemented_for("cdist", a.dtype());
  require(p >= 0, "cdist only supports non-negative p values");
  const bool never = compute_mode == "donot_use_mm_for_euclid_dist", always = compute_mode == "use_mm_for_euclid_dist";
  require<ValueError>(never || always || compute_mode == "use_mm_for_euclid_dist_if_necessary",
                      "{} is not a valid value for compute_mode", compute_mode);
  if (p == 2 && !never && (always || a.size(-2) > 25 || x2.size(-2) > 25)) return euclidean_by_product(a, x2);
  const Tensor difference = abs(a.unsqueeze(-2) - x2.unsqueeze(-3));
  if (a.size(-1) == 0 || p == 1) return difference.sum(-1);
  if (p == 0) return (difference != 0).to(a.dtype()).sum(-1);
  if (p == 2) return sqrt(square(difference).sum(-1));
  if (std::isinf(p)) return difference.amax({-1});
  return pow(pow(difference, p).sum(-1), 1 / p);
}

// ---- products of many ----

namespace {

// Splits that cost least: split[i][j] is where i ... j parts.
std::vector<std::vector<std::size_t>> best_splits(std::span<const Tensor> m) {
  const std::size_t n = m.size();
  std::vector<std::vector<double>> cost(n, std::vector<double>(n, 0));
  std::vector<std::vector<std::size_t>> split(n, std::vector<std::size_t>(n, 0));
  for (std::size_t length = 1; length < n; ++length)
    for (std::size_t i = 0; i + length < n; ++i) {
      const std::size_t j = i + length;
      cost[i][j] = std::numeric_limits<double>::infinity();
      for (std::size_t k = i; k < j; ++k) {
        const double c = cost[i][k] + cost[k + 1][j] +
                         static_cast<double>(m[i].size(0)) * static_cast<double>(m[k].size(1)) * static_cast<double>(m[j].size(1));
        if (c < cost[i][j]) {
          cost[i][j] = c;
          split[i][j] = k;
        }
      }
    }
  return split;
}

// In an explicit stack: the chain may be long.
Tensor multiply_chain(std::span<const Tensor> matrices) {
  const auto split = best_splits(matrices);
  struct Part {
    std::size_t first, last;
    bool ready;
  };
  std::vector<Part> parts{{0, matrices.size() - 1, false}};
  std::vector<Tensor> products;
  while (!parts.empty()) {
    const Part part = parts.back();
    parts.pop_back();
    if (part.first == part.last) {
      products.push_back(matrices[part.first]);
    } else if (part.ready) {
      const Tensor right = products.back();
      products.pop_back();
      products.back() = mm(products.back(), right);
    } else {
      const std::size_t k = split[part.first][part.last];
      parts.push_back({part.first, part.last, true});
      parts.push_back({k + 1, part.last, false});
      parts.push_back({part.first, k, false});
    }
  }
  return products[0];
}

}  // namespace

Tensor linalg::multi_dot(std::span<const Tensor> tensors, std::source_location where) {
  const SourceLine line(where);
  require(tensors.size() >= 2, "multi_dot(): expected at least 2 tensors but got {}", tensors.size());
  const Tensor &first = tensors.front(), &last = tensors.back();
  checked(first), checked(last);
  require(first.dim() == 1 || first.dim() == 2, "multi_dot(): the first tensor must be 1D or 2D but got {}D", first.dim());
  require(last.dim() == 1 || last.dim() == 2, "multi_dot(): the last tensor must be 1D or 2D but got {}D", last.dim());
  std::vector<Tensor> matrices(tensors.begin(), tensors.end());
  if (first.dim() == 1) matrices.front() = first.unsqueeze(0);
  if (last.dim() == 1) matrices.back() = last.unsqueeze(1);
  for (std::size_t i = 0; i < matrices.size(); ++i) {
    require(matrices[i].dim() == 2, "multi_dot(): tensor {} must be 2D but got {}D", i, matrices[i].dim());
    require(matrices[i].dtype() == first.dtype(),
            "multi_dot(): all tensors must have be the same dtype but tensor 0 is {} and tensor {} {}",
            info(first.dtype()).scalar_name, i, info(matrices[i].dtype()).scalar_name);
    if (i == 0) continue;
    require<ShapeError>(matrices[i - 1].size(1) == matrices[i].size(0),
                        "multi_dot(): tensors {} and {} with shapes {} and {} cannot be multiplied", i - 1, i,
                        sizes_text(tensors[i - 1].sizes()), sizes_text(tensors[i].sizes()));
  }
  Tensor out = multiply_chain(matrices);
  if (last.dim() == 1) out = out.squeeze(1);
  return first.dim() == 1 ? out.squeeze(0) : out;
}

Tensor linalg::multi_dot(std::initializer_list<Tensor> tensors, std::source_location where) {
  const SourceLine line(where);
  return multi_dot(std::span(tensors.begin(), tensors.size()));
}

Tensor chain_matmul(std::span<const Tensor> matrices, std::source_location where) {
  const SourceLine line(where);
  require(!matrices.empty(), "chain_matmul(): Expected one or more matrices");
  for (const Tensor& m : matrices)
    require(m.dim() == 2, "Tensor {} has dimension {}, but expected 2", &m - matrices.data(), m.dim());
  return matrices.size() == 1 ? matrices[0] : linalg::multi_dot(matrices);
}

// ---- matrix_exp ----

Tensor matrix_exp(const In& input) { return linalg::matrix_exp(input); }

// exp(A) = exp(A / 2^s)^(2^s): s so large that the Taylor polynomial of degree 20 is exact to the last place. The largest s of
// the batch is needed now, so the operand is evaluated; each matrix is squared as often as its own norm demands.
Tensor linalg::matrix_exp(const In& input) {
  const GradientScope scope(GradientName::LinalgMatrixExpBackward0);
  const SourceLine line(input.where());
  const Tensor& a = tensor_argument(input, "matrix_exp", "input");
  require_floating("linalg.matrix_exp", a);
  require_square("linalg.matrix_exp", a);
  if (a.numel() == 0) return a.clone();
  const double limit = a.dtype() == DType::f64 ? 1 : is_half(a.dtype()) ? 4 : 3;
  // A choice of ours, not a part of the derivative: at zero the logarithm has none.
  const Tensor norm = abs(a.detach()).sum(-2).amax({-1}).unsqueeze(-1).unsqueeze(-1);
  const Tensor doublings = log2(norm / limit);
  const Tensor steps = maximum(ceil(where(isfinite(doublings), doublings, 0)), 0);
  const Tensor x = a * exp2(-steps);
  const Tensor x2 = braze::matmul(x, x), x3 = braze::matmul(x2, x), x4 = braze::matmul(x2, x2);
  const Tensor one = eye(a.size(-1), {a.dtype()}).expand(a.sizes());
  const auto coefficient = [](int degree) { return 1 / std::tgamma(degree + 1.0); };
  // Horner's rule in x^4.
  Tensor out = one * coefficient(20);
  for (int i = 16; i >= 0; i -= 4)
    out =
        one * coefficient(i) + x * coefficient(i + 1) + x2 * coefficient(i + 2) + x3 * coefficient(i + 3) + braze::matmul(out, x4);
  const int most = static_cast<int>(steps.amax().item<double>());
  for (int step = 0; step < most; ++step) out = where(steps > step, braze::matmul(out, out), out);
  return out;
}

// ---- smaller ones of torch.linalg ----

Tensor linalg::matmul(const In& input, const In& other) { return braze::matmul(input, other); }

Tensor linalg::vecdot(const In& x, const Tensor& y, std::int64_t dim) {
  const SourceLine line(x.where());
  const Tensor& a = tensor_argument(x, "vecdot", "x");
  require_floating("linalg.vecdot", a);
  require(a.dtype() == y.dtype(),
          "linalg.vecdot: Expected x and y to have the same dtype, but found x of type {} and y of type {} instead",
          info(a.dtype()).scalar_name, info(y.dtype()).scalar_name);
  return (a.conj() * y).sum(dim);
}

namespace {

Sizes last_repeated(const Tensor& x, std::int64_t times) {
  Sizes repeats(static_cast<std::size_t>(x.dim()) + 1, 1);
  repeats.back() = times;
  return repeats;
}

}  // namespace

Tensor linalg::vander(const In& x, std::optional<std::int64_t> N) {
  const SourceLine line(x.where());
  const Tensor& a = tensor_argument(x, "vander", "x");
  require(a.dim() > 0, "Expected dim(x) >= 1, but got 0");
  const std::int64_t n = N.value_or(a.size(-1));
  require(n > 1 || (!N && n >= 0), "N must be greater than 1.");
  require<NotImplementedError>(a.dtype() != DType::boolean && !is_half(a.dtype()),
                               "linalg.vander supports floating point, complex, and integer tensors, but got {}",
                               info(a.dtype()).scalar_name);
  if (is_complex(a.dtype())) {
    const Tensor first = ones_like(a.unsqueeze(-1));
    return n < 2 ? first.narrow(-1, 0, n) : cat({first, cumprod(a.unsqueeze(-1).repeat(last_repeated(a, n - 1)), -1)}, -1);
  }
  const DType type = is_float(a.dtype()) ? a.dtype() : DType::i64;
  return pow(a.to(type).unsqueeze(-1), arange(n, {type}));
}

Tensor linalg::diagonal(const In& A, std::int64_t offset, std::int64_t dim1, std::int64_t dim2) {
  const SourceLine line(A.where());
  return tensor_argument(A, "diagonal", "A").diagonal(offset, dim1, dim2);
}

}  // namespace braze
