// What PyTorch has as one function and Braze composes of the table's ops: fusion makes one kernel of each.
#include "braze/functions.h"
#include "frontend/promotion.h"
#include "frontend/tensor_impl.h"

namespace braze {

namespace {

// softmax and log_softmax share their first half; integers become the default dtype.
struct Shifted {
  Tensor shifted, exponentials, total;
};

Shifted shift_by_max(const In& x, std::int64_t dim) {
  const std::source_location& where = x.where();
  require(!x.is_scalar(), "softmax needs a tensor, not a number");
  const Tensor wide = x.tensor().to(is_half(x.tensor().dtype()) ? DType::f32 : to_floating(x.tensor().dtype()), where);
  const std::int64_t axis = wrap_dim(dim, wide.dim());
  if (wide.numel() == 0) return {wide, wide, wide};
  const Tensor rows = wide.dim() == 0 ? wide.reshape({1}) : wide;
  const Tensor shifted = sub(In(rows, where), In(rows.amax({axis}, true, where), where));
  const Tensor exponentials = exp(In(shifted, where));
  return {shifted, exponentials, exponentials.sum(axis, true, where)};
}

DType softmax_type(const In& x) { return to_floating(x.tensor().dtype()); }

Tensor shaped_as(const Tensor& result, const In& x) {
  return (x.tensor().dim() == 0 ? result.reshape({}) : result).to(softmax_type(x), x.where());
}

}  // namespace

Tensor softmax(const In& x, std::int64_t dim) {
  const Shifted s = shift_by_max(x, dim);
  if (s.shifted.numel() == 0) return s.shifted.to(softmax_type(x));
  return shaped_as(div(In(s.exponentials, x.where()), In(s.total, x.where())), x);
}

Tensor log_softmax(const In& x, std::int64_t dim) {
  const Shifted s = shift_by_max(x, dim);
  if (s.shifted.numel() == 0) return s.shifted.to(softmax_type(x));
  return shaped_as(sub(In(s.shifted, x.where()), In(log(In(s.total, x.where())), x.where())), x);
}

Tensor ReductionMethods::softmax(std::int64_t dim, std::source_location where) const {
  return braze::softmax(In(self_of(this), where), dim);
}
Tensor ReductionMethods::log_softmax(std::int64_t dim, std::source_location where) const {
  return braze::log_softmax(In(self_of(this), where), dim);
}

Tensor layer_norm(const In& x, SizesView normalized_shape, const Tensor& weight, const Tensor& bias, double eps) {
  const std::source_location& where = x.where();
  require(!x.is_scalar(), "layer_norm needs a tensor, not a number");
  const Sizes sizes = x.tensor().sizes();
  const std::size_t rank = normalized_shape.size();
  require(rank > 0 && rank <= sizes.size() &&
              std::equal(normalized_shape.begin(), normalized_shape.end(), sizes.end() - static_cast<std::ptrdiff_t>(rank)),
          "Given normalized_shape={}, expected input with shape [*, {}], but got input of size {}", sizes_text(normalized_shape),
          fmt::join(normalized_shape, ", "), sizes_text(sizes));
  for (const Tensor* affine : {&weight, &bias})
    require(!affine->defined() || affine->sizes() == Sizes(normalized_shape.begin(), normalized_shape.end()),
            "Expected weight and bias to be of same shape as normalized_shape {}, but got {}", sizes_text(normalized_shape),
            affine->defined() ? sizes_text(affine->sizes()) : "");
  require(is_float(x.tensor().dtype()), "layer_norm is not implemented for {}", info(x.tensor().dtype()).torch_name);
  const Tensor wide = is_half(x.tensor().dtype()) ? x.tensor().to(DType::f32, where) : x.tensor();
  Sizes dims;
  for (std::size_t i = 0; i < rank; ++i) dims.push_back(-static_cast<std::int64_t>(i) - 1);
  const Tensor centred = sub(In(wide, where), In(wide.mean(dims, true, where), where));
  const Tensor variance = braze::square(In(centred, where)).mean(dims, true, where);
  Tensor out = mul(In(centred, where), In(rsqrt(In(add(In(variance, where), In(eps, where)), where)), where));
  if (weight.defined()) out = mul(In(out, where), In(weight, where));
  if (bias.defined()) out = add(In(out, where), In(bias, where));
  return out.to(x.tensor().dtype(), where);
}

}  // namespace braze
