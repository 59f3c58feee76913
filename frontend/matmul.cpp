// Matrix products over the one primitive, batched `dot`.
#include "braze/functions.h"
#include "frontend/tensor_impl.h"

namespace braze {

namespace {

// Two operands of rank >= 2 with equal batch dims.
engine::Value dot(engine::Value a, engine::Value b, ir::Location where) {
  const Dims left = sizes_of(a.type()), right = sizes_of(b.type());
  const auto batch = [](const Dims& d) { return std::span(d.begin(), d.size() - 2); };
  require(left.back() == right[right.size() - 2], "mat1 and mat2 shapes cannot be multiplied ({}x{} and {}x{})",
          left[left.size() - 2], left.back(), right[right.size() - 2], right.back());
  const Dims common = broadcast_sizes(batch(left), batch(right));
  const auto widen = [&](const engine::Value& v, const Dims& sizes) {
    Dims full = common;
    full.push_back(sizes[sizes.size() - 2]);
    full.push_back(sizes.back());
    return expand(v, full, where);
  };
  const engine::Value operands[] = {widen(a, left), widen(b, right)};
  return engine::record(ir::Op::dot, operands, where);
}

}  // namespace

// https://pytorch.org/docs/stable/generated/torch.matmul.html
Tensor matmul(const In& a, const In& b) {
  const ir::Location where = location(a.where());
  require(!a.is_scalar() && !b.is_scalar(), "matmul needs two tensors, not numbers");
  const Tensor &left = a.tensor(), &right = b.tensor();
  require(left.dim() > 0 && right.dim() > 0, "both arguments to matmul need to be at least 1D, but they are {}D and {}D",
          left.dim(), right.dim());
  require(left.dtype() == right.dtype(), "expected m1 and m2 to have the same dtype, but got: {} != {}",
          info(left.dtype()).torch_name, info(right.dtype()).torch_name);
  if (left.dim() == 1 && right.dim() == 1)
    require(left.size(0) == right.size(0),
            "inconsistent tensor size, expected tensor {} and src {} to have the same number of elements", sizes_text(left.sizes()),
            sizes_text(right.sizes()));
  const auto matrix = [&](const Tensor& t, bool row) {
    const engine::Value v = read(checked(t), where);
    if (t.dim() > 1) return v;
    const std::int64_t sizes[] = {row ? 1 : t.numel(), row ? t.numel() : 1};
    return reshape(v, sizes, where);
  };
  const engine::Value product = dot(matrix(left, true), matrix(right, false), where);
  Dims sizes = sizes_of(product.type());
  if (right.dim() == 1) sizes.pop_back();
  if (left.dim() == 1) sizes.erase(sizes.size() - (right.dim() == 1 ? 1 : 2));
  return wrap(reshape(product, sizes, where));
}

Tensor LinalgMethods::matmul(const In& other) const { return braze::matmul(In(self_of(this), other.where()), other); }

Tensor LinalgMethods::mm(const In& other) const {
  require(!other.is_scalar() && self_of(this).dim() == 2 && other.tensor().dim() == 2, "mm needs two matrices, not {} and {}",
          sizes_text(self_of(this).sizes()), other.is_scalar() ? "a number" : sizes_text(other.tensor().sizes()));
  return matmul(other);
}

Tensor LinalgMethods::bmm(const In& other) const {
  require(!other.is_scalar() && self_of(this).dim() == 3 && other.tensor().dim() == 3,
          "batch1 and batch2 must be 3D tensors, not {} and {}", sizes_text(self_of(this).sizes()),
          other.is_scalar() ? "a number" : sizes_text(other.tensor().sizes()));
  require(self_of(this).size(0) == other.tensor().size(0),
          "Expected size for first two dimensions of batch2 tensor to be: [{}, {}] but got: [{}, {}].", self_of(this).size(0),
          self_of(this).size(2), other.tensor().size(0), other.tensor().size(1));
  return matmul(other);
}

}  // namespace braze
