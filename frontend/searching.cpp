// Binary search in sorted rows, and membership.
#include <algorithm>
#include <bit>
#include <cmath>

#include "braze/functions.h"
#include "frontend/reductions.h"

namespace braze {

namespace {

// Where in the rows of `sorted` ([..., n], flat) each value goes; `base` is where its row begins. All searches descend at once, from
// the highest power of two: an elementwise formula with a take in each step.
Tensor descend(const Tensor& flat, std::int64_t n, const Tensor& values, const Tensor& base, bool right) {
  Tensor found = zeros(values.sizes(), {DType::i64});
  for (std::int64_t step = n == 0 ? 0 : static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(n))); step > 0;
       step /= 2) {
    const Tensor next = found + step;
    const Tensor element = take(flat, base + minimum(next, n) - 1);
    // Negated, so that a NaN goes behind everything.
    const Tensor before = right ? ~(element > values) : ~(element >= values);
    found = where(logical_and(next <= n, before), next, found);
  }
  return found;
}

}  // namespace

Tensor searchsorted(const In& sorted_sequence, const In& values, SearchOptions options, const Tensor& sorter) {
  const SourceLine line(sorted_sequence.where());
  const Tensor& sequence = require_tensor("searchsorted", sorted_sequence);
  const Tensor wanted = as_tensor(values, result_type(sorted_sequence, values));
  if (wanted.dtype() == DType::boolean) not_implemented_for("searchsorted_out_cpu", wanted.dtype());
  require(sequence.dim() > 0,
          "torch.searchsorted(): input value can be a scalar only when boundary tensor dimension is 1, but we got boundary "
          "tensor dim({}) and input value's dim({}) numel({})",
          sequence.dim(), wanted.dim(), wanted.numel());
  require(wanted.dim() > 0 || wanted.numel() != 1 || sequence.dim() == 1,
          "torch.searchsorted(): input value can be a scalar only when boundary tensor dimension is 1, but we got boundary tensor "
          "dim({}) and "
          "input value's dim({}) numel({})",
          sequence.dim(), wanted.dim(), wanted.numel());
  const std::int64_t n = sequence.size(-1);
  if (sequence.dim() > 1) {
    const Sizes a = sequence.sizes(), b = wanted.sizes();
    require<ShapeError>(
        a.size() == b.size() && std::equal(a.begin(), a.end() - 1, b.begin()),
        "torch.searchsorted(): boundaries tensor should be 1 dimension or the first N-1 dimensions of boundaries tensor and "
        "input value tensor must match, but we got boundaries tensor {} and input value tensor {}",
        sizes_text(a), sizes_text(b));
  }
  Tensor ordered = sequence;
  if (sorter.defined()) {
    require<ShapeError>(
        sorter.sizes() == sequence.sizes(),
        "torch.searchsorted(): boundary and sorter must have the same size, but got boundary tensor {} and got sorter tensor {}",
        sizes_text(sequence.sizes()), sizes_text(sorter.sizes()));
    require(sorter.dtype() == DType::i64, "torch.searchsorted(): sorter must be a tensor of long dtype but got dtype {}",
            info(sorter.dtype()).scalar_name);
    ordered = gather(sequence, -1, sorter);
  }
  const DType type = wanted.dtype();
  Tensor base = full({}, 0, {DType::i64});
  if (sequence.dim() > 1) {
    Sizes rows = sequence.sizes();
    rows.back() = 1;
    const std::int64_t count = n == 0 ? 0 : sequence.numel() / n;
    if (count > 0) base = (positions(count) * n).reshape(rows);
  }
  const Tensor found =
      descend(ordered.to(type).reshape({sequence.numel()}), sequence.numel() == 0 ? 0 : n, wanted, base, options.right);
  return options.out_int32 ? found.to(DType::i32) : found;
}

Tensor bucketize(const In& x, const Tensor& boundaries, SearchOptions options) {
  require(boundaries.dim() == 1, "bucketize(): boundaries tensor must be 1 dimension, but got dim({})", boundaries.dim());
  return searchsorted(In(boundaries, x.where()), x, options);
}

Tensor isin(const In& elements, const In& test_elements, bool invert) {
  const SourceLine line(elements.where());
  require<TypeError>(!elements.is_scalar() || !test_elements.is_scalar(),
                     "isin(): one of elements and test_elements must be a Tensor");
  for (const In* operand : {&elements, &test_elements})
    require<NotImplementedError>(
        (operand->is_scalar() ? scalar_dtype(operand->scalar()) : operand->tensor().dtype()) != DType::boolean,
        "Unsupported input type encountered for isin(): Bool");
  const DType type = result_type(elements, test_elements);
  require<NotImplementedError>(!is_complex(type), "Unsupported input type encountered for isin(): {}", info(type).scalar_name);
  const Tensor x = as_tensor(elements, type), tests = as_tensor(test_elements, type);
  const std::int64_t count = tests.numel();
  Tensor found;
  if (count == 0) {
    found = zeros(x.sizes(), {DType::boolean});
  } else if (static_cast<double>(count) < 10 * std::pow(static_cast<double>(std::max<std::int64_t>(x.numel(), 1)), 0.145)) {
    found = any(eq(x.unsqueeze(-1), tests.reshape({count})), -1);
  } else {
    const Tensor ordered = sort(tests.reshape({count}), 0).values;
    const Tensor place = descend(ordered, count, x, full({}, 0, {DType::i64}), false);
    found = eq(take(ordered, minimum(place, count - 1)), x);
  }
  return invert ? ~found : found;
}

}  // namespace braze
