// What PyTorch has as one function and Braze composes of the table's ops: fusion makes one kernel of each.
#include "frontend/formula.h"

namespace braze {

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
  if (!is_float(x.tensor().dtype())) not_implemented_for("LayerNormKernelImpl", x.tensor().dtype());
  const Tensor wide = is_half(x.tensor().dtype()) ? x.tensor().to(DType::f32, where) : x.tensor();
  Sizes dims;
  for (std::size_t i = 0; i < rank; ++i) dims.push_back(-static_cast<std::int64_t>(i) - 1);
  const Tensor centred = sub(In(wide, where), In(wide.mean(dims, true, {}, where), where));
  const Tensor variance = braze::square(In(centred, where)).mean(dims, true, {}, where);
  Tensor out = mul(In(centred, where), In(rsqrt(In(add(In(variance, where), In(eps, where)), where)), where));
  if (weight.defined()) out = mul(In(out, where), In(weight, where));
  if (bias.defined()) out = add(In(out, where), In(bias, where));
  return out.to(x.tensor().dtype(), where);
}

}  // namespace braze
