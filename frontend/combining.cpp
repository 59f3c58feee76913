// Grids, products and choices of vectors.
#include <algorithm>

#include "braze/functions.h"
#include "frontend/autograd/mapping.h"
#include "frontend/composing.h"
#include "frontend/source_line.h"
#include "frontend/view_layout.h"

namespace braze {

std::vector<Tensor> meshgrid(Tensors tensors, std::string_view indexing) {
  require(!tensors.empty(), "meshgrid expects a non-empty TensorList");
  require(indexing == "ij" || indexing == "xy", "torch.meshgrid: indexing must be one of \"xy\" or \"ij\", but received: {}",
          indexing);
  for (const Tensor& t : tensors) {
    if (t.dim() > 1) fail("torch.meshgrid: Expected 0D or 1D tensor in the tensor list but got: {}", t.str());
    require(t.dtype() == tensors[0].dtype(), "torch.meshgrid expects all tensors to have the same dtype");
  }
  // "xy" is "ij" with the first two exchanged before and after.
  std::vector<Tensor> inputs(tensors.begin(), tensors.end());
  const bool exchange = indexing == "xy" && inputs.size() >= 2;
  if (exchange) std::swap(inputs[0], inputs[1]);
  Sizes sizes;
  for (const Tensor& t : inputs) sizes.push_back(t.numel());
  std::vector<Tensor> grids;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    Sizes along(inputs.size(), 1);
    along[i] = sizes[i];
    grids.push_back(inputs[i].reshape(along).expand(sizes));
  }
  if (exchange) std::swap(grids[0], grids[1]);
  return grids;
}

std::vector<Tensor> meshgrid(TensorList tensors, std::string_view indexing) {
  return meshgrid(Tensors(tensors.begin(), tensors.size()), indexing);
}

Tensor cartesian_prod(Tensors tensors, std::source_location where) {
  require(!tensors.empty(), "meshgrid expects a non-empty TensorList");
  for (const Tensor& t : tensors) require(t.dim() == 1, "Expect a 1D vector, but got shape {}", sizes_text(t.sizes()));
  if (tensors.size() == 1) return tensors[0];
  std::vector<Tensor> columns;
  for (const Tensor& grid : meshgrid(tensors)) columns.push_back(grid.flatten(0, -1, where));
  return stack(columns, 1, where);
}

Tensor cartesian_prod(TensorList tensors, std::source_location where) {
  return cartesian_prod(Tensors(tensors.begin(), tensors.size()), where);
}

Tensor combinations(const In& x, std::int64_t r, bool with_replacement) {
  const Tensor& self = require_tensor("combinations", x);
  require(self.dim() == 1, "Expect a 1D vector, but got shape {}", sizes_text(self.sizes()));
  require(r >= 0, "Expect a non-negative number, but got {}", r);
  const std::int64_t n = self.size(0);
  if (r == 0) return empty({0}, {self.dtype()});
  // Rows of rising indices, in lexicographic order.
  std::vector<std::int64_t> rows, row(static_cast<std::size_t>(r));
  const auto length = static_cast<std::size_t>(r);
  for (std::size_t i = 0; i < length; ++i) row[i] = with_replacement ? 0 : static_cast<std::int64_t>(i);
  const auto limit = [&](std::size_t i) { return with_replacement ? n : n - static_cast<std::int64_t>(length - 1 - i); };
  for (bool more = n > 0 && row[length - 1] < n; more;) {
    rows.insert(rows.end(), row.begin(), row.end());
    std::size_t i = length;
    for (; i > 0; --i)
      if (++row[i - 1] < limit(i - 1)) break;
    more = i > 0;
    for (std::size_t j = i; more && j < length; ++j) row[j] = with_replacement ? row[i - 1] : row[j - 1] + 1;
  }
  const std::int64_t count = static_cast<std::int64_t>(rows.size()) / r;
  const Tensor indices = from_data(rows.data(), {count * r});
  return self.index_select(0, indices, x.where()).view({count, r});
}

Tensor vander(const In& x, std::optional<std::int64_t> N, bool increasing) {
  const Tensor& self = require_tensor("vander", x);
  require(self.dim() == 1, "x must be a one-dimensional tensor.");
  const std::int64_t n = N.value_or(self.size(0));
  require(n >= 0, "N must be non-negative.");
  const SourceLine line(x.where());
  const DType type = is_float(self.dtype()) || is_complex(self.dtype()) ? self.dtype() : DType::i64;
  if (n == 0) return zeros({self.size(0), 0}, {type});
  // Powers by multiplying on, in float64 where PyTorch's cumprod accumulates in it.
  const Tensor base = self.to(is_complex(type) ? complex128 : is_float(type) ? DType::f64 : DType::i64);
  std::vector<Tensor> columns{ones_like(base)};
  while (static_cast<std::int64_t>(columns.size()) < n) columns.push_back(columns.back() * base);
  if (!increasing) std::reverse(columns.begin(), columns.end());
  return stack(columns, 1, x.where()).to(type);
}

Tensor one_hot(const In& x, std::int64_t num_classes) {
  const Tensor& self = require_tensor("one_hot", x);
  require(self.dtype() == DType::i64, "one_hot is only applicable to index tensor of type LongTensor, but got {}",
          info(self.dtype()).scalar_name);
  Sizes sizes = self.sizes();
  if (self.numel() == 0) {
    require(num_classes > 0, "Can not infer total number of classes from empty tensor.");
    sizes.push_back(num_classes);
    return zeros(sizes, {DType::i64});
  }
  const SourceLine line(x.where());
  require(holds_for_all(self >= 0), "Class values must be non-negative.");
  require(num_classes == -1 || num_classes >= 1, "num_classes should be positive");
  if (num_classes == -1)
    num_classes = self.max().item_int() + 1;
  else
    require(holds_for_all(self < num_classes), "Class values must be smaller than num_classes.");
  return (self.contiguous().unsqueeze(-1) == positions(num_classes)).to(DType::i64);
}

}  // namespace braze
