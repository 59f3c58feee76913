// Matrix products over the one primitive, batched `dot`.
#include <cstdlib>

#include "braze/functions.h"
#include "frontend/autograd/names.h"
#include "frontend/complex.h"
#include "frontend/linalg.h"
#include "frontend/source_line.h"
#include "frontend/tensor_impl.h"

namespace braze {

std::string_view cpp_type(DType type) {
  constexpr std::string_view names[surface_dtype_count] = {"bool",  "unsigned char", "signed char",         "short int",
                                                           "int",   "long int",      "c10::Half",           "c10::BFloat16",
                                                           "float", "double",        "c10::complex<float>", "c10::complex<double>"};
  return names[static_cast<int>(type)];
}

const Tensor& tensor_argument(const In& x, std::string_view function, std::string_view parameter) {
  require<TypeError>(!x.is_scalar(), "{}(): argument '{}' must be Tensor, not {}", function, parameter,
                     x.is_scalar() && x.scalar().is_floating() ? "float" : "int");
  checked(x.tensor());
  return x.tensor();
}

void require_floating(std::string_view function, const Tensor& x) {
  require<NotImplementedError>(is_float(x.dtype()) || is_complex(x.dtype()),
                               "{}: Expected a floating point or complex tensor as input. Got {}", function,
                               info(x.dtype()).scalar_name);
}

void require_square(std::string_view function, const Tensor& x, std::string_view parameter) {
  require(x.dim() >= 2, "{}: The input tensor {} must have at least 2 dimensions.", function, parameter);
  require<ShapeError>(x.size(-1) == x.size(-2), "{}: {} must be batches of square matrices, but they are {} by {} matrices",
                      function, parameter, x.size(-2), x.size(-1));
}

namespace {

void require_product_type(const Tensor& a, const Tensor& b) {
  require(a.dtype() == b.dtype(), "expected m1 and m2 to have the same dtype, but got: {} != {}", cpp_type(a.dtype()),
          cpp_type(b.dtype()));
  require<NotImplementedError>(a.dtype() != DType::boolean, "\"addmm_impl_cpu_\" not implemented for 'Bool'");
}

void require_multiply(const Tensor& a, const Tensor& b) {
  require<ShapeError>(a.size(-1) == b.size(-2), "mat1 and mat2 shapes cannot be multiplied ({}x{} and {}x{})", a.size(-2),
                      a.size(-1), b.size(-2), b.size(-1));
}

void require_batches(const Tensor& a, const Tensor& b) {
  require(a.dim() == 3, "batch1 must be a 3D tensor");
  require(b.dim() == 3, "batch2 must be a 3D tensor");
  require<ShapeError>(b.size(0) == a.size(0) && b.size(1) == a.size(2),
                      "Expected size for first two dimensions of batch2 tensor to be: [{}, {}] but got: [{}, {}].", a.size(0),
                      a.size(2), b.size(0), b.size(1));
}

std::span<const std::int64_t> batch_sizes(const Dims& sizes) { return std::span(sizes.begin(), sizes.size() - 2); }

// A matrix on the right of many: their rows are the rows of one matrix.
Tensor fold_rows(const Tensor& a, const Tensor& b) {
  Sizes sizes = a.sizes();
  std::int64_t rows = 1;
  for (std::size_t i = 0; i + 1 < sizes.size(); ++i) rows *= sizes[i];
  const Tensor flat = a.reshape({rows, sizes.back()});
  require_multiply(flat, b);
  sizes.back() = b.size(1);
  return batched_dot(flat, b).reshape(sizes);
}

// With one row or one column a product is memory read once, and its sums go along the memory of the factor that is a matrix. The tensors
// decide, not the graph: there a stride or a size of 1 shows in one program and not in the next, and bits must not depend on that.
ir::Dot dot_order(const Tensor& a, const Tensor& b) {
  const auto along = [](const Tensor& matrix, int k, int other) {
    return matrix.size(other) == 1 || std::abs(matrix.stride(k)) <= std::abs(matrix.stride(other)) ? ir::Dot::Order::inner
                                                                                                   : ir::Dot::Order::outer;
  };
  if (a.size(-2) == 1) return {along(b, -2, -1)};
  if (b.size(-1) == 1) return {along(a, -1, -2)};
  return {};
}

}  // namespace

Tensor batched_dot(const Tensor& a, const Tensor& b) {
  require_product_type(a, b);
  const Dims left = sizes_of(*checked(a).type), right = sizes_of(*checked(b).type);
  const Dims common = broadcast_sizes(batch_sizes(left), batch_sizes(right));
  if (common.empty())
    require_multiply(a, b);
  else
    require<ShapeError>(left.back() == right[right.size() - 2],
                        "Expected size for first two dimensions of batch2 tensor to be: [{}, {}] but got: [{}, {}].",
                        checked_numel(common), left.back(), checked_numel(common), right[right.size() - 2]);
  if (is_complex(a.dtype())) {
    const DType part = component_type(a.dtype());
    const Parts x = parts_of(a, part), y = parts_of(b, part);
    return join({batched_dot(x.re, y.re) - batched_dot(x.im, y.im), batched_dot(x.re, y.im) + batched_dot(x.im, y.re)});
  }
  const ir::Location at = location({});
  const auto widened = [&](const Tensor& t, const Dims& sizes) {
    Dims full = common;
    full.push_back(sizes[sizes.size() - 2]);
    full.push_back(sizes.back());
    return expand(read(checked(t), at), full, at);
  };
  const engine::Value operands[] = {widened(a, left), widened(b, right)};
  return wrap(engine::record(ir::Op::dot, operands, dot_order(a, b), at));
}

Tensor matmul(const In& input, const In& other) {
  const SourceLine line(input.where());
  const Tensor &a = tensor_argument(input, "matmul", "input"), &b = tensor_argument(other, "matmul", "other");
  require(a.dim() > 0 && b.dim() > 0, "both arguments to matmul need to be at least 1D, but they are {}D and {}D", a.dim(),
          b.dim());
  if (a.dim() == 1 && b.dim() == 1) return dot(input, b);
  if (a.dim() == 2 && b.dim() == 1) return mv(input, b);
  const GradientScope scope(a.dim() == 1                   ? GradientName::SqueezeBackward4
                            : a.dim() == 2 && b.dim() == 2 ? GradientName::MmBackward0
                                                           : GradientName::UnsafeViewBackward0);
  if (a.dim() == 1) return matmul(a.unsqueeze(0), other).squeeze(-2);
  if (b.dim() == 1) {
    require<ShapeError>(a.size(-1) == b.size(0), "size mismatch, got input ({}), mat ({}x{}), vec ({})",
                        a.numel() / std::max<std::int64_t>(a.size(-1), 1), a.numel() / std::max<std::int64_t>(a.size(-1), 1),
                        a.size(-1), b.size(0));
    return fold_rows(a, b.unsqueeze(1)).squeeze(-1);
  }
  if (a.dim() == 2 && b.dim() == 2) return batched_dot(a, b);
  return b.dim() == 2 ? fold_rows(a, b) : batched_dot(a, b);
}

Tensor mm(const In& input, const Tensor& mat2) {
  const GradientScope scope(GradientName::MmBackward0);
  const SourceLine line(input.where());
  const Tensor& a = tensor_argument(input, "mm", "input");
  require(a.dim() == 2, "self must be a matrix");
  require(mat2.dim() == 2, "mat2 must be a matrix");
  return batched_dot(a, mat2);
}

Tensor bmm(const In& input, const Tensor& mat2) {
  const GradientScope scope(GradientName::BmmBackward0);
  const SourceLine line(input.where());
  const Tensor& a = tensor_argument(input, "bmm", "input");
  require_batches(a, mat2);
  return batched_dot(a, mat2);
}

Tensor mv(const In& input, const Tensor& vec) {
  const GradientScope scope(GradientName::MvBackward0);
  const SourceLine line(input.where());
  const Tensor& a = tensor_argument(input, "mv", "input");
  require(a.dim() == 2 && vec.dim() == 1, "vector + matrix @ vector expected, got 1, {}, {}", a.dim(), vec.dim());
  require<ShapeError>(a.size(1) == vec.size(0), "size mismatch, got input ({}), mat ({}x{}), vec ({})", a.size(0), a.size(0),
                      a.size(1), vec.size(0));
  return batched_dot(a, vec.unsqueeze(1)).squeeze(1);
}

Tensor dot(const In& input, const Tensor& tensor) {
  const GradientScope scope(GradientName::DotBackward0);
  const SourceLine line(input.where());
  const Tensor& a = tensor_argument(input, "dot", "input");
  require(a.dim() == 1 && tensor.dim() == 1, "1D tensors expected, but got {}D and {}D tensors", a.dim(), tensor.dim());
  require(a.dtype() == tensor.dtype(), "dot : expected both vectors to have same dtype, but found {} and {}",
          info(a.dtype()).scalar_name, info(tensor.dtype()).scalar_name);
  require<NotImplementedError>(a.dtype() != DType::boolean, "\"dot\" not implemented for 'Bool'");
  require<ShapeError>(
      a.numel() == tensor.numel(),
      "inconsistent tensor size, expected tensor [{}] and src [{}] to have the same number of elements, but got {} and "
      "{} elements respectively",
      a.numel(), tensor.numel(), a.numel(), tensor.numel());
  return batched_dot(a.unsqueeze(0), tensor.unsqueeze(1)).reshape({});
}

Tensor vdot(const In& input, const Tensor& other) {
  const GradientScope scope(GradientName::VdotBackward0);
  if (!is_complex(input)) return dot(input, other);
  return dot(In(conj(input), input.where()), other);
}

Tensor inner(const In& input, const Tensor& other) {
  const SourceLine line(input.where());
  const Tensor& a = tensor_argument(input, "inner", "input");
  if (a.dim() == 0 || other.dim() == 0) return a * other;
  require<ShapeError>(a.size(-1) == other.size(-1),
                      "inner() the last dimension must match on both input tensors but got shapes {} and {}", sizes_text(a.sizes()),
                      sizes_text(other.sizes()));
  const GradientScope scope(GradientName::ViewBackward0);
  return tensordot(input, other, {-1}, {-1});
}

Tensor outer(const In& input, const Tensor& vec2) {
  const SourceLine line(input.where());
  const Tensor& a = tensor_argument(input, "outer", "input");
  require(a.dim() == 1, "outer: Expected 1-D argument self, but got {}-D", a.dim());
  require(vec2.dim() == 1, "outer: Expected 1-D argument vec2, but got {}-D", vec2.dim());
  return a.unsqueeze(1) * vec2;
}

Tensor ger(const In& input, const Tensor& vec2) { return outer(input, vec2); }

// ---- beta * input + alpha * product ----

namespace {

// A number that multiplies `x` without changing its dtype.
Tensor scale(const Tensor& x, Scalar factor) {
  if (factor == 1) return x;
  return is_float(x.dtype()) || is_complex(x.dtype()) ? x * factor : x * full({}, factor, {x.dtype()});
}

// What addmv and addr demand; the others round the number.
void require_integral(const Tensor& x, Scalar factor, std::string_view name) {
  require(is_float(x.dtype()) || is_complex(x.dtype()) || !factor.is_floating(),
          "For integral input tensors, argument {} must not be a floating point number.", name);
}

void require_addmm_type(const In& input, const Tensor& mat1, const Tensor& mat2) {
  const Tensor& self = tensor_argument(input, "addmm", "input");
  require(self.dtype() == mat2.dtype(), "self and mat2 must have the same dtype, but got {} and {}", info(self.dtype()).scalar_name,
          info(mat2.dtype()).scalar_name);
  require(mat1.dtype() == mat2.dtype(), "mat1 and mat2 must have the same dtype, but got {} and {}", info(mat1.dtype()).scalar_name,
          info(mat2.dtype()).scalar_name);
}

}  // namespace

Tensor blend(const In& input, const Tensor& product, Scalar beta, Scalar alpha) {
  const SourceLine line(input.where());
  const Tensor self = input.tensor().expand(product.sizes());
  const Tensor scaled = scale(product, alpha), base = scale(self, beta);
  return beta == 0 ? scaled : base + scaled;
}

Tensor addmm(const In& input, const Tensor& mat1, const Tensor& mat2, Scalar beta, Scalar alpha) {
  const GradientScope scope(GradientName::AddmmBackward0);
  const SourceLine line(input.where());
  require_addmm_type(input, mat1, mat2);
  require(mat1.dim() == 2, "mat1 must be a matrix, got {}-D tensor", mat1.dim());
  require(mat2.dim() == 2, "mat2 must be a matrix, got {}-D tensor", mat2.dim());
  return blend(input, batched_dot(mat1, mat2), beta, alpha);
}

Tensor addmv(const In& input, const Tensor& mat, const Tensor& vec, Scalar beta, Scalar alpha) {
  const GradientScope scope(GradientName::AddmvBackward0);
  const SourceLine line(input.where());
  const Tensor& self = tensor_argument(input, "addmv", "input");
  require(mat.dim() == 2 && vec.dim() == 1 && self.dim() <= 1, "vector + matrix @ vector expected, got {}, {}, {}", self.dim(),
          mat.dim(), vec.dim());
  require<ShapeError>(mat.size(1) == vec.size(0) && (mat.size(0) == self.numel() || self.numel() == 1),
                      "size mismatch, got input ({}), mat ({}x{}), vec ({})", self.numel(), mat.size(0), mat.size(1), vec.size(0));
  require_integral(self, beta, "beta");
  require_integral(self, alpha, "alpha");
  return blend(input, mv(mat, vec), beta, alpha);
}

Tensor addr(const In& input, const Tensor& vec1, const Tensor& vec2, Scalar beta, Scalar alpha) {
  const GradientScope scope(GradientName::AddrBackward0);
  const SourceLine line(input.where());
  tensor_argument(input, "addr", "input");
  require(vec1.dim() == 1, "addr: Expected 1-D argument vec1, but got {}-D", vec1.dim());
  require(vec2.dim() == 1, "addr: Expected 1-D argument vec2, but got {}-D", vec2.dim());
  const Tensor product = outer(vec1, vec2);
  require_integral(product, beta, "beta");
  require_integral(product, alpha, "alpha");
  return blend(input, product, beta, alpha);
}

Tensor addbmm(const In& input, const Tensor& batch1, const Tensor& batch2, Scalar beta, Scalar alpha) {
  const GradientScope scope(GradientName::AddbmmBackward0);
  const SourceLine line(input.where());
  tensor_argument(input, "addbmm", "input");
  require_batches(batch1, batch2);
  // The sum over batches and over k is one sum: batch1 as [n, b * k], batch2 as [b * k, m].
  const std::int64_t depth = batch1.size(0) * batch1.size(2);
  const Tensor rows = batch1.transpose(0, 1).reshape({batch1.size(1), depth}), columns = batch2.reshape({depth, batch2.size(2)});
  return blend(input, batched_dot(rows, columns), beta, alpha);
}

Tensor baddbmm(const In& input, const Tensor& batch1, const Tensor& batch2, Scalar beta, Scalar alpha) {
  const GradientScope scope(GradientName::BaddbmmBackward0);
  const SourceLine line(input.where());
  const Tensor& self = tensor_argument(input, "baddbmm", "input");
  require_batches(batch1, batch2);
  require(self.dtype() == batch1.dtype(), "Input dtypes must be the same, got: input {}, batch1: {}, batch2: {}",
          cpp_type(self.dtype()), cpp_type(batch1.dtype()), cpp_type(batch2.dtype()));
  return blend(input, batched_dot(batch1, batch2), beta, alpha);
}

// ---- layers ----

Tensor linear(const In& input, const Tensor& weight, const Tensor& bias) {
  const SourceLine line(input.where());
  const Tensor& x = tensor_argument(input, "linear", "input");
  require(x.dim() > 0 && weight.dim() > 0, "both arguments to linear need to be at least 1D, but they are {}D and {}D", x.dim(),
          weight.dim());
  require(weight.dim() <= 2, "linear: the weight must have 1 or 2 dims, not {}", weight.dim());
  const bool matrix = x.dim() == 2, addmm = matrix && bias.defined();
  const GradientScope scope(addmm                          ? GradientName::AddmmBackward0
                            : !matrix && x.is_contiguous() ? GradientName::UnsafeViewBackward0
                                                           : GradientName::None);
  // The bias is added to the rows that the product has, before they are put under the dims that they came with.
  const bool folds = x.dim() > 2 && x.is_contiguous() && weight.dim() == 2 && bias.defined() && bias.dim() == 1;
  if (folds && bias.size(0) == weight.size(0) && x.size(-1) == weight.size(1) && x.numel() > 0) {
    Sizes sizes = x.sizes();
    const Tensor rows = linear(x.reshape({x.numel() / sizes.back(), sizes.back()}), weight, bias);
    sizes.back() = weight.size(0);
    return rows.reshape(sizes);
  }
  const Tensor product = matmul(input, weight.t());
  if (!bias.defined()) return product;
  require_addmm_type(bias, x, weight);
  const Dims both = broadcast_sizes(product.sizes(), bias.sizes());
  require<ShapeError>(both == Dims(std::span<const std::int64_t>(product.sizes())),
                      "output with shape {} doesn't match the broadcast shape {}", sizes_text(product.sizes()), sizes_text(both));
  return product + bias;
}

}  // namespace braze
