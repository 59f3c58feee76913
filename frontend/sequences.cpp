// Tensors counted out: ranges, the identity, indices of triangles.
#include <cmath>

#include "braze/functions.h"
#include "frontend/composing.h"

namespace braze {

namespace {

// 0, 1, ..., n - 1 in `type`.
engine::Value iota(std::int64_t n, DType type) { return cast(engine::record(ir::Op::iota, {}, ir::ToShape{{n}}, {}), type, {}); }

engine::Value scaled(const engine::Value& index, const engine::Value& start, const engine::Value& step) {
  const Dims sizes = sizes_of(index.type());
  const engine::Value factors[] = {index, expand(step, sizes, {})};
  const engine::Value terms[] = {expand(start, sizes, {}), engine::record(ir::Op::mul, factors, {})};
  return engine::record(ir::Op::add, terms, {});
}

// How many integers from start to before end: exact where doubles would round.
std::int64_t count_integers(std::int64_t start, std::int64_t end, std::int64_t step) {
  const __int128 span = static_cast<__int128>(end) - start, one = step;
  return static_cast<std::int64_t>((span + one + (one > 0 ? -1 : 1)) / one);
}

// The numbers of linspace in the type that PyTorch computes them in: counted from the nearer end, so that both are exact.
Tensor spaced(Scalar first, Scalar last, std::int64_t steps, DType type) {
  const bool single = type == DType::f32 || is_half(type);
  const DType computed = single ? DType::f32 : DType::f64;
  const auto rounded = [&](Scalar s) {
    if (!is_float(type)) return static_cast<double>(s.to_int());
    return single ? static_cast<double>(static_cast<float>(s.to_double())) : s.to_double();
  };
  const double start = rounded(first), end = rounded(last);
  const double step =
      single ? static_cast<double>((static_cast<float>(end) - static_cast<float>(start)) / static_cast<float>(steps - 1))
             : (end - start) / static_cast<double>(steps - 1);
  const Tensor index = positions(steps);
  const Tensor low = wrap(scaled(iota(steps, computed), scalar_value(start, computed), scalar_value(step, computed)));
  const Tensor high = end - (steps - 1 - index).to(computed) * step;
  return where(index < steps / 2, low, high);
}

Tensor triangle_indices(std::string_view name, std::int64_t rows, std::int64_t columns, std::int64_t offset, bool lower,
                        TensorOptions options) {
  require(rows >= 0, "row must be non-negative, got {}", rows);
  require(columns >= 0, "col must be non-negative, got {}", columns);
  const DType type = options.dtype.value_or(DType::i64);
  if (type != DType::i64 && type != DType::i32) not_implemented_for(name, type);
  std::vector<std::int64_t> row, column;
  for (std::int64_t i = 0; i < rows; ++i) {
    // Column j is on the kept side of the diagonal j - i = offset.
    const std::int64_t edge = std::clamp<std::int64_t>(i + offset + lower, 0, columns);
    for (std::int64_t j = lower ? 0 : edge; j < (lower ? edge : columns); ++j) {
      row.push_back(i);
      column.push_back(j);
    }
  }
  const auto count = static_cast<std::int64_t>(row.size());
  row.insert(row.end(), column.begin(), column.end());
  return from_data(row.data(), {2, count}).to(type);
}

}  // namespace

Tensor arange(Scalar end, TensorOptions options) { return arange(0, end, 1, options); }

Tensor arange(Scalar start, Scalar end, Scalar step, TensorOptions options) {
  const bool integral = !start.is_floating() && !end.is_floating() && !step.is_floating();
  const DType type = options.dtype.value_or(integral ? DType::i64 : get_default_dtype());
  if (is_complex(type) || type == DType::boolean) not_implemented_for("arange_cpu", type);
  const double from = start.to_double(), to = end.to_double(), by = step.to_double();
  require(integral ? step.to_int() != 0 : by != 0, "step must be nonzero");
  require(std::isfinite(from) && std::isfinite(to), "unsupported range: {} -> {}", from, to);
  require((by > 0 && to >= from) || (by < 0 && to <= from), "upper bound and lower bound inconsistent with step sign");
  const double counted = std::ceil((to - from) / by);
  require<ShapeError>(counted < 9.2e18, "arange from {} to {} by {} has more elements than 64 bits can count", from, to, by);
  const std::int64_t n =
      integral ? count_integers(start.to_int(), end.to_int(), step.to_int()) : static_cast<std::int64_t>(counted);
  const DType computed = integral || !is_float(type) ? DType::i64 : DType::f64;
  return wrap(cast(scaled(iota(n, computed), scalar_value(start, computed), scalar_value(step, computed)), type, {}));
}

Tensor linspace(Scalar start, Scalar end, std::int64_t steps, TensorOptions options) {
  require(steps >= 0, "number of steps must be non-negative");
  const DType type = options.dtype.value_or(get_default_dtype());
  if (type == DType::boolean && steps > 0) not_implemented_for("linspace_cpu", type);
  if (steps == 0) return empty({0}, {type});
  if (steps == 1) return full({1}, start, {type});
  return spaced(start, end, steps, type).to(type);
}

Tensor logspace(Scalar start, Scalar end, std::int64_t steps, double base, TensorOptions options) {
  require(steps >= 0, "number of steps must be non-negative");
  const DType type = options.dtype.value_or(get_default_dtype());
  if (type == DType::boolean && steps > 0) not_implemented_for("logspace_cpu", type);
  if (steps == 0) return empty({0}, {type});
  const Tensor exponents = steps == 1 ? full({1}, start, {DType::f64}) : spaced(start, end, steps, type).to(DType::f64);
  return pow(base, exponents).to(type);
}

Tensor eye(std::int64_t n, TensorOptions options) { return eye(n, n, options); }
Tensor eye(std::int64_t n, std::int64_t m, TensorOptions options) {
  require(n >= 0, "n must be greater or equal to 0, got {}", n);
  require(m >= 0, "m must be greater or equal to 0, got {}", m);
  return (positions(n).unsqueeze(1) == positions(m)).to(options.dtype.value_or(get_default_dtype()));
}

Tensor tril_indices(std::int64_t row, std::int64_t col, std::int64_t offset, TensorOptions options) {
  return triangle_indices("tril_indices", row, col, offset, true, options);
}
Tensor triu_indices(std::int64_t row, std::int64_t col, std::int64_t offset, TensorOptions options) {
  return triangle_indices("triu_indices", row, col, offset, false, options);
}

}  // namespace braze
