// Graphs of random nodes over small integers, which every dtype and every order of summation computes exactly, so that the graph's
// interpreter is matched bit for bit; a few smooth functions at the end make values that only the kernels must agree on.
#include <cstdlib>
#include <random>

#include "ir/error.h"
#include "tests/catch.h"
#include "tests/passes/run_program.h"

using namespace braze;
using namespace braze::ir;
using namespace braze::test;

namespace {

class Generator {
 public:
  explicit Generator(std::uint64_t seed) : random_(seed) {}

  Graph graph() {
    for (int i = 0; i < 2 + pick(2); ++i) {
      Type type{pick_type(), {}};
      const int rank = pick(4);
      for (int axis = 0; axis < rank; ++axis) type.shape.push_back(extent(size()));
      keep(graph_.parameter(type, pick(4) == 0 ? Parameter::Kind::donated : Parameter::Kind::buffer, "x" + std::to_string(i)));
    }
    const int nodes = 3 + pick(14);
    for (int i = 0; i < nodes; ++i) {
      try {
        step();
      } catch (const Error&) {
        continue;  // an op that does not take what was picked
      }
    }
    const int results = 1 + pick(4);
    for (int i = 0; i < results; ++i)
      graph_.results.push_back(values_[values_.size() - 1 - pick(std::min<int>(6, values_.size()))]);
    return std::move(graph_);
  }
  const std::map<std::string, std::int64_t>& symbols() const { return sizes_; }

 private:
  int pick(int count) { return count <= 0 ? 0 : static_cast<int>(random_() % static_cast<std::uint64_t>(count)); }
  std::int64_t size() {
    constexpr std::int64_t sizes[] = {0, 1, 2, 3, 5, 7, 16, 17, 33, 65};
    return sizes[pick(24) ? 1 + pick(9) : 0];
  }
  DType pick_type() {
    constexpr DType types[] = {DType::f32,  DType::f32, DType::f64,     DType::i32, DType::i64,
                               DType::bf16, DType::f16, DType::boolean, DType::u8};
    return types[pick(9)];
  }
  // A number, or a symbol that stands for it.
  Extent extent(std::int64_t value) {
    if (pick(3) == 0 || value == 1) return value;
    const std::string name = "n" + std::to_string(sizes_.size());
    sizes_[name] = value;
    return graph_.new_symbol(name);
  }
  std::int64_t value(Extent e) const { return e.is_number() ? e.number() : sizes_.at(graph_.symbols[e.symbol()]); }
  void keep(Value v) { values_.push_back(v); }
  Value any() {
    return values_[static_cast<std::size_t>(pick(2) ? pick(static_cast<int>(values_.size()))
                                                    : static_cast<int>(values_.size()) - 1 -
                                                          pick(std::min<int>(3, static_cast<int>(values_.size()))))];
  }
  const Shape& shape(Value v) const { return graph_.type(v).shape; }
  Value add(Op op, std::vector<Value> in, Attributes attributes = None{}) { return {graph_.add(op, in, std::move(attributes)), 0}; }
  std::int64_t elements(Value v) const {
    std::int64_t count = 1;
    for (const Extent e : shape(v)) count *= value(e);
    return count;
  }
  // Another value of the shape and dtype, by a constant if there is none.
  Value like(Value v) {
    std::vector<Value> found;
    for (const Value other : values_)
      if (graph_.type(other) == graph_.type(v)) found.push_back(other);
    if (found.size() > 1 || pick(2)) return found[static_cast<std::size_t>(pick(static_cast<int>(found.size())))];
    const Value constant = add(Op::constant, {}, literal(graph_.type(v).dtype, std::int64_t{1 + pick(3)}));
    return shape(v).empty() ? constant : add(Op::expand, {constant}, ToShape{shape(v)});
  }

  void step() {
    const Value v = any();
    const DType type = graph_.type(v).dtype;
    const int rank = static_cast<int>(shape(v).size());
    switch (pick(18)) {
      case 0:
      case 1:
      case 2: {
        constexpr Op ops[] = {Op::add, Op::sub, Op::maximum, Op::minimum, Op::add, Op::mul};
        keep(add(ops[pick(6)], {v, like(v)}));
        return;
      }
      case 3: {
        constexpr Op ops[] = {Op::neg, Op::abs, Op::sign, Op::logical_not};
        keep(add(ops[pick(4)], {v}));
        return;
      }
      case 4:
        keep(add(Op::where, {add(Op::lt, {v, like(v)}), v, like(v)}));
        return;
      case 5:
        keep(add(Op::cast, {v}, Cast{pick_type()}));
        return;
      case 6: {
        Permutation permutation;
        for (int i = 0; i < rank; ++i) permutation.order.push_back(static_cast<std::uint8_t>(i));
        std::shuffle(permutation.order.begin(), permutation.order.end(), random_);
        keep(add(Op::permute, {v}, permutation));
        return;
      }
      case 7:
        reshape(v);
        return;
      case 8: {  // a new axis, repeated
        Shape with_unit = shape(v);
        const auto at = static_cast<std::size_t>(pick(rank + 1));
        with_unit.insert(at, Extent(1));
        Shape wide = with_unit;
        wide[at] = extent(1 + pick(9));
        if (elements(v) < 5000) keep(add(Op::expand, {add(Op::reshape, {v}, ToShape{with_unit})}, ToShape{wide}));
        return;
      }
      case 9: {
        Slice slice;
        for (const Extent e : shape(v)) {
          const std::int64_t n = value(e), step = 1 + pick(3);
          const std::int64_t count = n == 0 ? 0 : 1 + pick(static_cast<int>((n + step - 1) / step));
          const std::int64_t room = n == 0 ? 0 : n - 1 - (count - 1) * step;
          const std::int64_t start = pick(static_cast<int>(room) + 1);
          const bool back = pick(3) == 0 && count > 0;
          slice.starts.push_back(extent(back ? start + (count - 1) * step : start));
          slice.sizes.push_back(extent(count));
          slice.steps.push_back(extent(back ? -step : step));
        }
        keep(add(Op::slice, {v}, slice));
        return;
      }
      case 10:
        keep(add(Op::flip, {v}, Axes{random_() & ((std::uint64_t{1} << rank) - 1)}));
        return;
      case 11: {
        Padding padding;
        for (const Extent e : shape(v)) {
          const std::int64_t low = pick(3), high = pick(3);
          padding.low.push_back(extent(low));
          padding.high.push_back(extent(high));
          padding.sizes.push_back(low + high ? extent(value(e) + low + high) : e);
        }
        keep(add(Op::pad, {v, add(Op::constant, {}, literal(type, std::int64_t{pick(2)}))}, padding));
        return;
      }
      case 12: {
        if (rank == 0) return;
        const auto axis = static_cast<std::uint32_t>(pick(rank));
        const Value other = like(v);
        keep(add(Op::concat, {v, other}, Concat{axis, extent(2 * value(shape(v)[axis]))}));
        return;
      }
      case 13:
      case 14:
      case 15:
        reduce(v, rank);
        return;
      case 16:
        store(v);
        return;
      default:
        dot(v);
        return;
    }
  }

  void reshape(Value v) {
    const std::int64_t count = elements(v);
    Shape to;
    if (pick(2) || shape(v).size() < 2) {
      to.push_back(extent(count));
    } else {  // the last two as one
      to = shape(v);
      const std::int64_t both = value(to[to.size() - 1]) * value(to[to.size() - 2]);
      to.pop_back();
      to.back() = extent(both);
    }
    keep(add(Op::reshape, {v}, ToShape{to}));
  }

  void reduce(Value v, int rank) {
    constexpr Op ops[] = {Op::sum, Op::sum, Op::max, Op::min, Op::any, Op::all, Op::argmax, Op::argmin, Op::max_with_index};
    const Op op = ops[pick(9)];
    std::uint64_t mask = random_() & ((std::uint64_t{1} << rank) - 1);
    if (op == Op::argmax || op == Op::argmin || op == Op::max_with_index) mask = rank ? std::uint64_t{1} << pick(rank) : 0;
    for (int axis = 0; axis < rank; ++axis)
      if ((mask >> axis & 1) && op != Op::sum && value(shape(v)[static_cast<std::size_t>(axis)]) == 0) return;
    const Value reduced = add(op, {v}, Reduced{mask});
    keep(reduced);
    if (op == Op::max_with_index) keep({reduced.node, 1});
    if (pick(2) == 0 || rank == 0) return;
    // Back over the rows, as softmax does.
    Shape kept = shape(v);
    for (int axis = 0; axis < rank; ++axis)
      if (mask >> axis & 1) kept[static_cast<std::size_t>(axis)] = 1;
    const Value rows = add(Op::expand, {add(Op::reshape, {reduced}, ToShape{kept})}, ToShape{shape(v)});
    if (graph_.type(rows) == graph_.type(v))
      keep(add(pick(2) ? Op::sub : Op::maximum, {v, rows}));
    else
      keep(rows);
  }

  void store(Value v) {
    const std::int64_t count = elements(v);
    if (count == 0) return;
    Value storage =
        add(Op::expand, {add(Op::constant, {}, literal(graph_.type(v).dtype, std::int64_t{1}))}, ToShape{{extent(2 * count + 3)}});
    for (const Value other : values_)
      if (graph_.type(other).dtype == graph_.type(v).dtype && elements(other) >= 2 * count + 1 && pick(2)) storage = other;
    Layout layout{extent(pick(2)), shape(v), {}};
    std::int64_t stride = 1 + pick(2);
    Shape strides(shape(v).size());
    for (std::size_t i = strides.size(); i-- > 0;) {
      strides[i] = extent(stride);
      stride *= value(shape(v)[i]);
    }
    layout.strides = strides;
    keep(add(pick(3) ? Op::store : Op::accumulate, {storage, v}, layout));
  }

  void dot(Value v) {
    const std::size_t rank = shape(v).size();
    if (rank < 2 || graph_.type(v).dtype == DType::boolean) return;
    Permutation swap;
    for (std::size_t i = 0; i < rank; ++i) swap.order.push_back(static_cast<std::uint8_t>(i));
    std::swap(swap.order[rank - 1], swap.order[rank - 2]);
    keep(add(Op::dot, {v, add(Op::permute, {like(v)}, swap)}, ir::Dot{static_cast<ir::Dot::Order>(random_() % 3)}));
  }

  std::mt19937_64 random_;
  Graph graph_;
  std::map<std::string, std::int64_t> sizes_;
  std::vector<Value> values_;
};

}  // namespace

TEST_CASE("random graphs: fused and unfused, on any vectors, as the graph's interpreter") {
  const char* wanted = std::getenv("BRAZE_FUZZ");
  const int graphs = wanted ? std::stoi(wanted) : 150;
  const char* base = std::getenv("BRAZE_SEED");
  for (int i = 0; i < graphs; ++i) {
    const std::uint64_t seed = (base ? std::strtoull(base, nullptr, 10) : 1) + static_cast<std::uint64_t>(i);
    INFO("BRAZE_FUZZ=1 BRAZE_SEED=" << seed);
    Generator generator(seed);
    const Graph graph = generator.graph();
    check_graph(graph, {.symbols = generator.symbols(), .seed = seed, .tolerance = 1e-6, .integers = true});
  }
}
