// Random graphs over the whole op table. Every extent is a number or a symbol with a rule that computes it from earlier symbols, so
// one graph serves several sizes.
#include <algorithm>
#include <bit>
#include <numeric>

#include "ir/error.h"
#include "tests/fuzz/graph_case.h"
#include "tests/passes/host_arrays.h"

namespace braze::test {

namespace {

using ir::Extent, ir::Op, ir::Value;
using Numbers = std::vector<std::int64_t>;
using Rule = std::function<std::int64_t(const Numbers& symbols)>;  // of the earlier symbols

constexpr std::int64_t most_elements = 6000;

std::int64_t value_of(Extent e, const Numbers& symbols) { return e.is_symbol() ? symbols[e.symbol()] : e.number(); }

bool is_extreme(Op op) { return ir::info(op).reduction() && op != Op::sum && op != Op::prod && op != Op::any && op != Op::all; }
bool divides(Op op) { return op == Op::floor_divide || op == Op::trunc_divide || op == Op::remainder || op == Op::fmod; }

}  // namespace

struct RandomCase::State {
  Choices& choices;
  const bool exact;
  ir::Graph graph;
  std::vector<Rule> rules;
  Numbers now;  // the symbols' values while the graph grows
  std::vector<Value> pool;
  std::vector<Value> whole;            // values that are small integers and no -0
  std::vector<bool> whole_parameters;  // by parameter
  bool symbolic;
  std::vector<ir::Shape> themes;

  State(Choices& c, bool e) : choices(c), exact(e), symbolic(c.chance(40)) {
    graph.name = "fuzz";
    for (int i = 0; i < 2; ++i) themes.push_back(random_shape());
    pool.push_back(new_parameter(random_type(), themes[0]));
    if (choices.chance(60)) pool.push_back(new_parameter(random_type(), choices.pick(themes)));
    if (choices.chance(20)) pool.insert(pool.begin(), new_parameter(random_type(), {}));
    const std::int64_t length = choices.between(2, 14);
    for (std::int64_t i = 0; i < length && graph.size() < 28; ++i) grow();
    graph.results = {pool.back()};
    const auto keep = [this](Value v) {
      if (std::find(graph.results.begin(), graph.results.end(), v) == graph.results.end()) graph.results.push_back(v);
    };
    // Often scalars, so that what is computed from scalars alone is kept and read.
    if (choices.chance(20))
      for (Value v : pool)
        if (shape(v).empty() && choices.chance(40) && graph.results.size() < 3) keep(v);
    while (choices.chance(45) && graph.results.size() < 4) keep(choices.pick(pool));
  }

  // ---- extents ----

  Extent symbol(Rule rule) {
    const Extent e = graph.new_symbol();
    now.push_back(rule(now));
    rules.push_back(std::move(rule));
    return e;
  }
  // f of the extents' values: a number where they all are.
  Extent combine(std::vector<Extent> from, std::function<std::int64_t(const Numbers&)> f) {
    const auto values = [from](const Numbers& symbols) {
      Numbers out;
      for (Extent e : from) out.push_back(value_of(e, symbols));
      return out;
    };
    if (std::all_of(from.begin(), from.end(), [](Extent e) { return e.is_number(); })) return f(values({}));
    return symbol([f, values](const Numbers& symbols) { return f(values(symbols)); });
  }
  Extent product(const ir::Shape& shape) {
    if (shape.size() == 1) return shape[0];
    return combine({shape.begin(), shape.end()},
                   [](const Numbers& n) { return std::accumulate(n.begin(), n.end(), std::int64_t{1}, std::multiplies<>()); });
  }
  // Some numbers are symbols too, as the engine makes them.
  Extent number(std::int64_t n) {
    if (symbolic && choices.chance(15)) return symbol([n](const Numbers&) { return n; });
    return n;
  }
  std::int64_t at(Extent e) const { return value_of(e, now); }
  std::int64_t elements(const ir::Shape& s) const {
    return std::accumulate(s.begin(), s.end(), std::int64_t{1}, [&](std::int64_t a, Extent e) { return a * at(e); });
  }

  static std::int64_t random_size(Choices& c, std::size_t rank) {
    if (rank == 1) return c.pick({0, 1, 2, 3, 5, 7, 8, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 129, 130, 500, 2047, 2050, 4500});
    if (rank == 2) return c.pick({1, 1, 2, 3, 4, 7, 8, 9, 15, 16, 17, 31, 33, 40, 64, 65, 70});
    return c.pick({1, 1, 2, 3, 4, 5, 8, 9, 17});
  }
  Extent random_extent(std::size_t rank) {
    if (!symbolic || choices.chance(40)) return choices.chance(2) ? 0 : random_size(choices, rank);
    Choices* c = &choices;
    return symbol([c, rank](const Numbers&) { return random_size(*c, rank); });
  }
  ir::Shape random_shape() {
    const auto rank = static_cast<std::size_t>(choices.pick({0, 1, 1, 1, 2, 2, 2, 2, 3, 3, 4}));
    ir::Shape shape;
    for (std::size_t i = 0; i < rank; ++i) shape.push_back(random_extent(rank));
    return shape;
  }

  // ---- values ----

  const ir::Shape& shape(Value v) const { return graph.type(v).shape; }
  DType type(Value v) const { return graph.type(v).dtype; }
  Value add(Op op, std::vector<Value> in, ir::Attributes a = ir::None{}) { return {graph.add(op, in, std::move(a)), 0}; }
  DType random_type() { return choices.chance(40) ? DType::f32 : all_dtypes[static_cast<std::size_t>(choices.below(dtype_count))]; }
  bool is_whole(Value v) const { return !is_float(type(v)) || std::find(whole.begin(), whole.end(), v) != whole.end(); }
  // Ops that move elements make no others.
  Value moved(Value v, std::initializer_list<Value> from) {
    if (std::all_of(from.begin(), from.end(), [&](Value f) { return is_whole(f); })) whole.push_back(v);
    return v;
  }

  Value new_parameter(DType t, const ir::Shape& s) {
    using Kind = ir::Parameter::Kind;
    const Kind kind = s.empty() && choices.chance(60) ? Kind::scalar : choices.chance(20) ? Kind::donated : Kind::buffer;
    const Value v = graph.parameter({t, s}, kind);
    whole_parameters.push_back(choices.chance(exact ? 50 : 20));
    if (whole_parameters.back()) whole.push_back(v);
    return v;
  }
  Value constant(DType t) {
    if (choices.chance(30)) return add(Op::constant, {}, ir::Literal{t, choices.pick(special_values(t))});
    return moved(add(Op::constant, {}, ir::literal(t, choices.below(4))), {});
  }
  Value filled(DType t, std::int64_t n, const ir::Shape& to) {
    return moved(expanded(add(Op::constant, {}, ir::literal(t, n)), to), {});
  }
  Value expanded(Value v, const ir::Shape& to) { return shape(v) == to ? v : moved(add(Op::expand, {v}, ir::ToShape{to}), {v}); }
  Value cast(Value v, DType t) {
    if (type(v) == t) return v;
    const bool small = type(v) == DType::boolean || type(v) == DType::i8 || type(v) == DType::u8 ||
                       (is_float(type(v)) && is_whole(v) && is_float(t));
    const Value out = add(Op::cast, {v}, ir::Cast{t});
    if (small) whole.push_back(out);
    return out;
  }
  // What floats may be summed exactly: numbers of i8.
  Value small_integers(Value v) { return !exact || is_whole(v) ? v : cast(cast(v, DType::i8), type(v)); }
  // max(+0, -0) may be either.
  Value without_negative_zero(Value v) { return !exact || is_whole(v) ? v : add(Op::add, {v, filled(type(v), 0, shape(v))}); }
  // A NaN's sign is nobody's business.
  Value without_nan(Value v) { return add(Op::where, {add(Op::isnan, {v}), filled(type(v), 1, shape(v)), v}); }

  bool expands(const ir::Shape& from, const ir::Shape& to) const {
    if (from.size() > to.size()) return false;
    for (std::size_t i = 0; i < from.size(); ++i)
      if (from[i] != Extent(1) && from[i] != to[to.size() - from.size() + i]) return false;
    return true;
  }
  // A value of this type: from the pool where one fits, else a new parameter, narrower at times, or a constant.
  Value operand(DType t, const ir::Shape& s) {
    std::vector<Value> fitting;
    for (Value v : pool)
      if (expands(shape(v), s)) fitting.push_back(v);
    if (!fitting.empty() && choices.chance(75)) return expanded(cast(choices.pick(fitting), t), s);
    if (choices.chance(40)) return expanded(constant(t), s);
    ir::Shape narrow = s;
    if (choices.chance(40))
      for (Extent& e : narrow)
        if (choices.chance(50)) e = 1;
    while (!narrow.empty() && choices.chance(20)) narrow.erase(0);
    return expanded(new_parameter(t, narrow), s);
  }

  // ---- ops ----

  void grow() {
    const Value x = choices.chance(60) ? pool.back() : choices.pick(pool);
    Value out;
    if (const std::int64_t n = choices.below(100); n < 50)
      out = elementwise(x);
    else if (n < 64)
      out = reduction(x);
    else if (n < 68)
      out = dot(x);
    else
      out = move(x);
    pool.push_back(out);
    if (ir::info(graph.node(out).op).results == 2 && choices.chance(60)) pool.push_back({out.node, 1});
  }

  Value elementwise(Value x) {
    Op op;
    do op = static_cast<Op>(choices.below(ir::op_count));
    while (!ir::info(op).elementwise());
    if (op == Op::wrap_index) return index(shape(x), random_extent(2));
    if (op == Op::cast) return cast(x, random_type());
    DType t = type(x);
    while (!ir::accepts(op, t)) t = random_type();
    x = cast(x, t);
    std::vector<Value> in{x};
    if (op == Op::where) in = {operand(DType::boolean, shape(x)), x};
    while (in.size() < static_cast<std::size_t>(ir::arity(op))) in.push_back(operand(t, shape(x)));
    if (op != Op::where && in.size() == 2 && choices.chance(25)) std::swap(in[0], in[1]);
    if (divides(op) && !is_float(t)) in[1] = add(Op::bitwise_or, {in[1], filled(t, 1, shape(x))});
    if (is_float(t) && (op == Op::signbit || op == Op::copysign)) in.back() = without_nan(in.back());
    return add(op, in);
  }

  Value reduction(Value x) {
    Op op;
    do op = choices.chance(35) ? Op::sum : static_cast<Op>(choices.below(ir::op_count));
    while (!ir::info(op).reduction());
    const auto rank = static_cast<std::int64_t>(shape(x).size());
    const bool one = op == Op::argmax || op == Op::argmin || ir::info(op).results == 2;
    if (one && rank == 0) return x;
    const std::uint64_t mask =
        one ? std::uint64_t{1} << choices.below(rank) : static_cast<std::uint64_t>(choices.below(std::int64_t{1} << rank));
    if (is_extreme(op)) {
      for (std::size_t i = 0; i < shape(x).size(); ++i)
        if (mask >> i & 1 && at(shape(x)[i]) == 0) return x;
      x = is_float(type(x)) ? without_negative_zero(x) : x;
    }
    if (op == Op::sum) x = small_integers(x);
    if (op == Op::prod) x = add(Op::sign, {x});  // products of more would round
    return add(op, {x}, ir::Reduced{mask});
  }

  // Indices of this shape into `count` elements, some from the end; of none only where the shape has no elements.
  Value index(const ir::Shape& s, Extent count) {
    if (at(count) == 0) return operand(DType::i64, s);
    Value size = add(Op::constant, {}, ir::literal(DType::i64, count.is_number() ? count.number() : 1));
    if (count.is_symbol()) size = add(Op::add, {add(Op::max, {add(Op::iota, {}, ir::ToShape{{count}})}, ir::Reduced{1}), size});
    size = expanded(size, s);
    Value i = add(Op::remainder, {operand(DType::i64, s), size});
    if (choices.chance(30)) i = add(Op::sub, {i, size});
    return add(Op::wrap_index, {i}, ir::WrapIndex{count});
  }
  Value take(Value x) {
    const Extent count = product(shape(x));
    const ir::Shape s = choices.chance(50) ? shape(x) : choices.pick(themes);
    if (at(count) == 0) return x;
    return moved(add(Op::take, {x, index(s, count)}), {x});
  }
  Value put(Value x) {
    const Extent count = product(shape(x));
    const ir::Shape s = choices.chance(30) ? shape(x) : choices.pick(themes);
    if (at(count) == 0) return x;
    const Value i = index(s, count);
    return add(Op::put, {x, i, operand(type(x), s)}, ir::Put{static_cast<ir::Put::Combine>(choices.below(5))});
  }
  // Scans and sorts are defined to the bit, whatever the values.
  Value routine(Value x) {
    if (shape(x).empty()) return x;
    const auto axis = static_cast<std::uint32_t>(choices.below(static_cast<std::int64_t>(shape(x).size())));
    const Op op = choices.pick({Op::sort, Op::sort, Op::cumsum, Op::cumprod, Op::logcumsumexp, Op::cummax, Op::cummin});
    if (op == Op::sort) return add(op, {x}, ir::Sort{axis, choices.chance(50)});
    if (op == Op::logcumsumexp && !is_float(type(x))) x = cast(x, DType::f32);
    if ((op == Op::cumsum || op == Op::cumprod) && type(x) == DType::boolean) x = cast(x, DType::u8);
    return add(op, {x}, ir::Scan{axis});
  }

  Value dot(Value x) {
    if (type(x) == DType::boolean) x = cast(x, DType::u8);
    if (shape(x).size() < 2) {
      ir::Shape s{1, product(shape(x))};
      x = moved(add(Op::reshape, {x}, ir::ToShape{s}), {x});
    }
    const ir::Shape a = shape(x);
    ir::Shape b = a;
    const std::size_t m = a.size() - 2, k = a.size() - 1;
    b[m] = a[k];
    Value y;
    if (choices.chance(30)) {
      ir::Permutation p;
      for (std::size_t i = 0; i < a.size(); ++i) p.order.push_back(static_cast<std::uint8_t>(i));
      std::swap(p.order[m], p.order[k]);
      y = moved(add(Op::permute, {x}, p), {x});
    } else {
      b[k] = choices.chance(30) ? a[m] : random_extent(3);
      y = operand(type(x), b);
    }
    ir::Shape out = a;
    out[k] = shape(y)[k];
    if (elements(a) > most_elements || elements(b) > most_elements ||
        elements(out) * std::max<std::int64_t>(at(a[k]), 1) > 8 * most_elements)
      return x;
    return add(Op::dot, {small_integers(x), small_integers(y)}, ir::Dot{static_cast<ir::Dot::Order>(choices.below(3))});
  }

  // Where a slice along one axis of extent n starts, and how many elements it takes, whatever n.
  struct Range {
    std::int64_t low, high, step;
    bool back;
    std::int64_t size(std::int64_t n) const {
      return std::max<std::int64_t>(n - low - high, 0) / step + (std::max<std::int64_t>(n - low - high, 0) % step != 0);
    }
    bool whole() const { return low == 0 && high == 0 && step == 1; }
    std::int64_t start(std::int64_t n) const { return size(n) == 0 ? 0 : back ? low + (size(n) - 1) * step : low; }
  };
  Range random_range() {
    if (choices.chance(30)) return {0, 0, 1, false};
    return {choices.pick({0, 0, 1, 2, 3}), choices.pick({0, 0, 1, 2}), choices.pick({1, 1, 1, 2, 3}), choices.chance(30)};
  }

  Value slice(Value x) {
    ir::Slice a;
    for (Extent e : ir::Shape(shape(x))) {
      const Range r = random_range();
      a.sizes.push_back(combine({e}, [r](const Numbers& n) { return r.size(n[0]); }));
      a.starts.push_back(combine({e}, [r](const Numbers& n) { return r.start(n[0]); }));
      a.steps.push_back(number(r.back ? -r.step : r.step));
    }
    return moved(add(Op::slice, {x}, a), {x});
  }

  // Ranges of the axes, permuted: what views of PyTorch are.
  ir::Layout structured_layout(const ir::Shape& s) {
    ir::Layout l;
    std::vector<Range> ranges;
    std::vector<std::size_t> order(s.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    if (choices.chance(60)) std::shuffle(order.begin(), order.end(), choices.engine());
    for (std::size_t i = 0; i < s.size(); ++i) ranges.push_back(random_range());
    const std::vector<Extent> all(s.begin(), s.end());
    const auto dense = [](const Numbers& n, std::size_t axis) {
      return std::accumulate(n.begin() + static_cast<std::ptrdiff_t>(axis) + 1, n.end(), std::int64_t{1},
                             [](std::int64_t a, std::int64_t b) { return a * std::max<std::int64_t>(b, 1); });
    };
    l.offset = combine(all, [ranges, dense](const Numbers& n) {
      std::int64_t offset = 0, count = 1;
      for (std::size_t i = 0; i < n.size(); ++i) offset += ranges[i].start(n[i]) * dense(n, i), count *= ranges[i].size(n[i]);
      return count == 0 ? 0 : offset;
    });
    for (std::size_t axis : order) {
      const Range r = ranges[axis];
      // A whole axis may be known to be one, or only happen to be.
      const bool known = r.whole() && choices.chance(50);
      l.sizes.push_back(known ? s[axis] : combine({s[axis]}, [r](const Numbers& n) { return r.size(n[0]); }));
      const std::vector<Extent> inner(s.begin() + static_cast<std::ptrdiff_t>(axis), s.end());
      l.strides.push_back(combine(inner, [r, dense](const Numbers& n) { return (r.back ? -r.step : r.step) * dense(n, 0); }));
    }
    return l;
  }
  // Axes cut from the element count, in any order and direction, each element at most once.
  ir::Layout free_layout(std::int64_t room) {
    ir::Layout l{0, {}, {}};
    std::int64_t stride = 1, left = room, offset = 0;
    for (std::int64_t axis = choices.below(4); axis >= 0 && left > 0; --axis) {
      const std::int64_t extent = std::min<std::int64_t>(left, choices.pick({1, 2, 3, 4, 8, 9, 17, 64, 200}));
      const std::int64_t size = choices.chance(70) ? extent : choices.between(1, extent),
                         step = (size - 1) * 2 < extent && choices.chance(20) ? 2 : 1;
      const bool back = choices.chance(25);
      const auto place = static_cast<std::size_t>(choices.below(static_cast<std::int64_t>(l.sizes.size()) + 1));
      l.sizes.insert(place, size);
      l.strides.insert(place, stride * (back ? -step : step));
      if (back) offset += (size - 1) * step * stride;
      stride *= extent;
      left /= extent;
    }
    std::int64_t reach = 0;
    for (std::size_t i = 0; i < l.sizes.size(); ++i) reach += (l.sizes[i].number() - 1) * std::abs(l.strides[i].number());
    l.offset = offset + choices.below(room - reach);
    return l;
  }
  ir::Layout random_layout(Value x) {
    const ir::Shape s = shape(x);
    const bool numbers = std::all_of(s.begin(), s.end(), [](Extent e) { return e.is_number(); });
    if (!numbers || elements(s) == 0 || choices.chance(40)) return structured_layout(s);
    return free_layout(elements(s));
  }
  // Elements addressed more than once: an axis without a stride, or windows that overlap.
  void repeat(ir::Layout& l) {
    const bool plain = std::all_of(l.sizes.begin(), l.sizes.end(), [](Extent e) { return e.is_number(); });
    const auto place = static_cast<std::size_t>(choices.below(static_cast<std::int64_t>(l.sizes.size()) + 1));
    if (plain && l.sizes.size() == 1 && l.strides[0] == Extent(1) && l.sizes[0].number() > 4 && choices.chance(60)) {
      l.sizes[0] = l.sizes[0].number() - 2;
      l.sizes.insert(place, 3);
      l.strides.insert(place, 1);
    } else {
      l.sizes.insert(place, choices.between(1, 3));
      l.strides.insert(place, 0);
    }
  }

  Value reshape(Value x) {
    const ir::Shape s = shape(x);
    ir::Shape to;
    if (choices.chance(25)) {
      to = {product(s)};
    } else if (std::all_of(s.begin(), s.end(), [](Extent e) { return e.is_number(); }) && elements(s) > 0) {
      std::int64_t left = elements(s);
      for (std::int64_t d : {choices.between(1, 3), choices.between(1, 5), choices.between(2, 17)})
        if (left % d == 0 && choices.chance(70)) to.push_back(d), left /= d;
      to.insert(static_cast<std::size_t>(choices.below(static_cast<std::int64_t>(to.size()) + 1)), left);
    } else {  // two neighbours join, and axes of one element come
      for (std::size_t i = 0; i < s.size(); ++i)
        if (i + 1 < s.size() && choices.chance(40))
          to.push_back(product({s[i], s[i + 1]})), ++i;
        else
          to.push_back(s[i]);
      if (choices.chance(50)) to.insert(static_cast<std::size_t>(choices.below(static_cast<std::int64_t>(to.size()) + 1)), 1);
    }
    return moved(add(Op::reshape, {x}, ir::ToShape{to}), {x});
  }

  Value concat(Value x) {
    const ir::Shape s = shape(x);
    if (s.empty()) return x;
    const auto axis = static_cast<std::size_t>(choices.below(static_cast<std::int64_t>(s.size())));
    std::vector<Value> parts{x};
    for (std::int64_t i = choices.below(3); i >= 0; --i) {
      ir::Shape other = s;
      if (choices.chance(40)) other[axis] = random_extent(s.size());
      parts.push_back(choices.chance(30) ? x : operand(type(x), other));
    }
    if (choices.chance(30)) std::swap(parts.front(), parts.back());
    std::vector<Extent> lengths;
    for (Value part : parts) lengths.push_back(shape(part)[axis]);
    const Extent extent = combine(lengths, [](const Numbers& n) { return std::accumulate(n.begin(), n.end(), std::int64_t{0}); });
    const Value out = add(Op::concat, parts, ir::Concat{static_cast<std::uint32_t>(axis), extent});
    if (std::all_of(parts.begin(), parts.end(), [&](Value v) { return is_whole(v); })) whole.push_back(out);
    return out;
  }

  Value pad(Value x) {
    ir::Padding a;
    for (Extent e : ir::Shape(shape(x))) {
      const std::int64_t low = choices.pick({0, 0, 1, 3}), high = choices.pick({0, 0, 1, 17});
      a.low.push_back(number(low));
      a.high.push_back(number(high));
      a.sizes.push_back(combine({e, a.low.back(), a.high.back()}, [](const Numbers& n) { return n[0] + n[1] + n[2]; }));
    }
    const Value value = choices.chance(50) ? constant(type(x)) : operand(type(x), {});
    return moved(add(Op::pad, {x, value}, a), {x, value});
  }

  Value move(Value x) {
    const auto rank = static_cast<std::int64_t>(shape(x).size());
    switch (choices.below(15)) {
      case 0: {
        ir::Permutation p;
        for (std::int64_t i = 0; i < rank; ++i) p.order.push_back(static_cast<std::uint8_t>(i));
        std::shuffle(p.order.begin(), p.order.end(), choices.engine());
        return moved(add(Op::permute, {x}, p), {x});
      }
      case 1:
        return reshape(x);
      case 2: {
        ir::Shape s = shape(x);
        for (Extent& e : s)
          if (e == Extent(1) && choices.chance(60)) e = random_extent(3);
        if (s.size() < 4 && choices.chance(50)) s.insert(0, random_extent(4));
        return elements(s) > most_elements ? x : expanded(x, s);
      }
      case 3:
      case 4:
        return slice(x);
      case 5:
        return moved(add(Op::flip, {x}, ir::Axes{static_cast<std::uint64_t>(choices.below(std::int64_t{1} << rank))}), {x});
      case 6:
        return elements(shape(x)) > most_elements / 4 ? x : pad(x);
      case 7:
        return elements(shape(x)) > most_elements / 4 ? x : concat(x);
      case 8: {
        ir::Layout l = random_layout(x);
        if (choices.chance(20)) repeat(l);
        return elements(l.sizes) > most_elements ? x : moved(add(Op::view, {x}, l), {x});
      }
      case 9: {
        const ir::Layout l = random_layout(x);
        // At times what is stored comes from the storage itself: where the layout has its shape, the same value.
        const bool own = choices.chance(30);
        const Value v = !own ? operand(type(x), l.sizes) : l.sizes == shape(x) ? x : moved(add(Op::view, {x}, l), {x});
        return moved(add(Op::store, {x, v}, l), {x, v});
      }
      case 10: {
        ir::Layout l = random_layout(x);
        if (choices.chance(50)) repeat(l);
        return elements(l.sizes) > most_elements ? x : add(Op::accumulate, {x, operand(type(x), l.sizes)}, l);
      }
      case 11:
        return take(x);
      case 12:
        return put(x);
      case 13:
        return routine(x);
      default: {
        const ir::Shape s = shape(x);
        if (s.empty()) return x;
        const Value i = add(Op::iota, {}, ir::ToShape{{s[s.size() - 1]}});
        return choices.chance(50) ? i : add(Op::add, {expanded(cast(i, type(x)), s), x});
      }
    }
  }
};

RandomCase::RandomCase(Choices& choices, bool exact) : state_(std::make_unique<State>(choices, exact)) {}
RandomCase::~RandomCase() = default;
const ir::Graph& RandomCase::graph() const { return state_->graph; }
bool RandomCase::exact() const { return state_->exact; }

bool RandomCase::draw(std::vector<ir::HostArray>& arguments, std::vector<std::int64_t>& symbols) {
  State& s = *state_;
  symbols.clear();
  for (const Rule& rule : s.rules) symbols.push_back(rule(symbols));
  const auto count = [&](const ir::Shape& shape) {
    return std::accumulate(shape.begin(), shape.end(), std::int64_t{1},
                           [&](std::int64_t a, Extent e) { return a * value_of(e, symbols); });
  };
  for (ir::NodeId id = 0; id < s.graph.size(); ++id) {
    const ir::Node& node = s.graph[id];
    for (const ir::Type& type : node.out)
      if (count(type.shape) > 8 * most_elements) return false;
    if (node.op == Op::dot &&
        count(node.out[0].shape) * value_of(s.shape(node.in[0])[s.shape(node.in[0]).size() - 1], symbols) > 40 * most_elements)
      return false;
    if (!is_extreme(node.op)) continue;
    const ir::Shape& from = s.shape(node.in[0]);
    for (std::size_t i = 0; i < from.size(); ++i)
      if (node.as<ir::Reduced>().mask >> i & 1 && value_of(from[i], symbols) == 0) return false;
  }
  arguments.clear();
  for (std::size_t p = 0; p < s.graph.parameters().size(); ++p) {
    const ir::Type& type = s.graph.type(s.graph.parameters()[p]);
    Numbers sizes;
    for (Extent e : type.shape) sizes.push_back(value_of(e, symbols));
    ir::HostArray array = special_array(type.dtype, sizes, s.choices.engine());
    const bool whole = s.whole_parameters[p];
    for (std::int64_t i = 0; i < array.elements(); ++i)
      if (whole || s.choices.chance(30))
        put(array, i,
            ir::literal(type.dtype,
                        type.dtype == DType::boolean ? s.choices.below(2) : s.choices.between(is_signed(type.dtype) ? -3 : 0, 4))
                .bits);
    arguments.push_back(std::move(array));
  }
  return true;
}

}  // namespace braze::test
