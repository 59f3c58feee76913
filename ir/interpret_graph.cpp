#include <bit>
#include <cmath>
#include <cstring>

#include "ir/error.h"
#include "ir/graph.h"
#include "ir/interpret_graph.h"
#include "ir/meaning.h"

namespace braze::ir {

using namespace host;

namespace {

// A sum wide enough that its own error does not count: f64 in long double, other floats in double, integers in wrapping 64 bits.
class WideSum {
 public:
  explicit WideSum(DType type) : type_(type) {}
  void add(std::uint64_t bits) {
    if (type_ == DType::f64)
      long_ += std::bit_cast<double>(bits);
    else if (is_float(type_))
      double_ += as_double(type_, bits);
    else
      whole_ += evaluate_cast(type_, DType::i64, bits);
  }
  void add_product(std::uint64_t a, std::uint64_t b) {
    if (type_ == DType::f64)
      long_ += static_cast<long double>(std::bit_cast<double>(a)) * std::bit_cast<double>(b);
    else if (is_float(type_))
      double_ += as_double(type_, a) * as_double(type_, b);
    else
      whole_ += evaluate_cast(type_, DType::i64, a) * evaluate_cast(type_, DType::i64, b);
  }
  std::uint64_t result(DType as) const {
    if (type_ == DType::f64) return from_double(as, static_cast<double>(long_));
    if (is_float(type_)) return from_double(as, double_);
    return evaluate_cast(DType::i64, as, whole_);
  }

 private:
  DType type_;
  double double_ = 0;
  long double long_ = 0;
  std::uint64_t whole_ = 0;
};

// The same for products.
class WideProduct {
 public:
  explicit WideProduct(DType type) : type_(type) {}
  void multiply(std::uint64_t bits) {
    if (is_float(type_))
      real_ *= type_ == DType::f64 ? std::bit_cast<double>(bits) : as_double(type_, bits);
    else
      whole_ *= evaluate_cast(type_, DType::i64, bits);
  }
  std::uint64_t result(DType as) const {
    return is_float(type_) ? from_double(as, static_cast<double>(real_)) : evaluate_cast(DType::i64, as, whole_);
  }

 private:
  DType type_;
  long double real_ = 1;
  std::uint64_t whole_ = 1;
};

// The running maximum (or minimum) and where it stands: the first of equals, the first NaN before all.
struct Extreme {
  std::uint64_t bits;
  std::int64_t index = 0;
  void meet(DType type, bool largest, std::uint64_t other, std::int64_t at) {
    if (is_nan(type, bits)) return;
    const std::uint64_t pair[] = {other, bits};
    if (!is_nan(type, other) && evaluate(largest ? Op::gt : Op::lt, type, pair) == 0) return;
    bits = other;
    index = at;
  }
};

class Interpreter {
 public:
  Interpreter(const Graph& graph, std::span<const HostArray> arguments, std::span<const std::int64_t> symbols)
      : graph_(graph), arguments_(arguments), symbols_(symbols), values_(graph.size()), readers_(graph.size()) {
    require<ValueError>(arguments.size() == graph.parameters().size(), "{} takes {} arguments, not {}", graph.name,
                        graph.parameters().size(), arguments.size());
    require<ValueError>(symbols.size() == graph.symbols.size(), "{} takes {} symbols, not {}", graph.name, graph.symbols.size(),
                        symbols.size());
  }

  std::vector<HostArray> run() {
    const std::vector<NodeId> order = postorder(graph_, graph_.results);
    for (NodeId id : order)
      for (Value v : graph_[id].in) ++readers_[v.node];
    for (Value v : graph_.results) ++readers_[v.node];
    for (NodeId id : order) {
      node(id);
      for (Value v : graph_[id].in)
        if (--readers_[v.node] == 0) values_[v.node].clear();
    }
    std::vector<HostArray> results;
    for (Value v : graph_.results) results.push_back(values_[v.node][v.result]);
    return results;
  }

 private:
  template <Op op>
  struct Tag {};

  // One node at hand, all of its extents numbers.
  struct Site {
    const Node& node;
    Attributes attributes;
    std::vector<const HostArray*> in;
    std::vector<HostArray> out;
    template <class A>
    const A& as() const {
      return std::get<A>(attributes);
    }
  };

  Extent concrete(Extent e) const { return e.is_symbol() ? Extent(symbols_[e.symbol()]) : e; }

  // Substitutes symbols and infers again, so that what only numbers show is refused here: bounds, counts, sizes.
  void node(NodeId id) {
    Site site{graph_[id], *graph_[id].attributes, {}, {}};
    for_each_extent(site.attributes, [&](Extent& e) { e = concrete(e); });
    std::vector<Type> types;
    for (Value v : site.node.in) {
      site.in.push_back(&values_[v.node][v.result]);
      Shape shape;
      for (std::int64_t size : site.in.back()->sizes) shape.push_back(size);
      types.push_back({site.in.back()->dtype, shape});
    }
    std::vector<const Type*> in;
    for (const Type& type : types) in.push_back(&type);
    Type out[max_results];
    infer(site.node.op, site.attributes, in, std::span<Type>(out, site.node.out.size()));
    if (site.node.op == Op::parameter) {
      values_[id].push_back(argument(site.as<Parameter>(), out[0]));
      return;
    }
    for (std::size_t i = 0; i < site.node.out.size(); ++i) site.out.push_back(make_host_array(out[i].dtype, numbers(out[i].shape)));
    compute(site);
    values_[id] = std::move(site.out);
  }

  HostArray argument(const Parameter& parameter, const Type& type) const {
    const HostArray& given = arguments_[parameter.number];
    const std::string& name = graph_.parameter_name(parameter.number);
    require<TypeError>(given.dtype == type.dtype, "{}: the argument %{} must have dtype {}, not {}", graph_.name, name,
                       braze::name(type.dtype), braze::name(given.dtype));
    Shape shape;
    for (std::int64_t size : given.sizes) shape.push_back(size);
    require<ShapeError>(shape == type.shape, "{}: the argument %{} must have shape {}, not {}", graph_.name, name, text(type.shape),
                        text(shape));
    return given;
  }

  void compute(Site& site) const {
    switch (site.node.op) {
#define BRAZE_UNARY(name, accepts, result) case Op::name:
#define BRAZE_BINARY(name, accepts, result, algebra) case Op::name:
#define BRAZE_TERNARY(name, accepts, result) case Op::name:
#include "ir/ops.def"
      return elementwise(site);
#define BRAZE_SHAPED(name, attributes, results) \
  case Op::name:                                \
    return rule(Tag<Op::name>{}, site);
#define BRAZE_ROUTINE(name, attributes, results) case Op::name:
#include "ir/ops.def"
      return interpret_routine(site.node.op, site.attributes, site.in, site.out);
    }
  }

  static void elementwise(Site& site) {
    const Op op = site.node.op;
    const DType type = site.in.back()->dtype;
    HostArray& out = site.out[0];
    const std::int64_t count = out.elements();
    std::uint64_t bits[3];
    for (std::int64_t i = 0; i < count; ++i) {
      for (std::size_t k = 0; k < site.in.size(); ++k) bits[k] = load(*site.in[k], i);
      Fault fault = Fault::none;
      put(out, i, evaluate(op, type, std::span<const std::uint64_t>(bits, site.in.size()), &fault));
      if (fault != Fault::none)
        fail<ValueError>("{}: integer division by zero{}{}", ir::name(op), site.node.location.file ? " at " : "",
                         text(site.node.location));
    }
  }

  // ---- moves

  static void gather(Site& site, const Places& from) {
    walk(from, [&](std::int64_t n, std::int64_t place) { put(site.out[0], n, load(*site.in[0], place)); });
  }
  static void scatter(HostArray& out, const Places& to, const HostArray& values) {
    walk(to, [&](std::int64_t n, std::int64_t place) { put(out, place, load(values, n)); });
  }
  static void copy(HostArray& to, const HostArray& from) {
    std::memcpy(to.data.get(), from.data.get(),
                static_cast<std::size_t>(from.elements()) * static_cast<std::size_t>(size_of(from.dtype)));
  }

  static void rule(Tag<Op::parameter>, Site&) {}
  static void rule(Tag<Op::constant>, Site& site) { put(site.out[0], 0, site.as<Literal>().bits); }
  static void rule(Tag<Op::cast>, Site& site) {
    const std::int64_t count = site.out[0].elements();
    for (std::int64_t i = 0; i < count; ++i)
      put(site.out[0], i, evaluate_cast(site.in[0]->dtype, site.out[0].dtype, load(*site.in[0], i)));
  }
  static void rule(Tag<Op::iota>, Site& site) {
    for (std::int64_t i = 0; i < site.out[0].elements(); ++i) put(site.out[0], i, static_cast<std::uint64_t>(i));
  }
  static void rule(Tag<Op::view>, Site& site) { gather(site, places(site.as<Layout>())); }
  static void rule(Tag<Op::store>, Site& site) {
    copy(site.out[0], *site.in[0]);
    scatter(site.out[0], places(site.as<Layout>()), *site.in[1]);
  }
  static void rule(Tag<Op::accumulate>, Site& site) {
    HostArray& out = site.out[0];
    copy(out, *site.in[0]);
    walk(places(site.as<Layout>()), [&](std::int64_t n, std::int64_t place) {
      const std::uint64_t pair[] = {load(out, place), load(*site.in[1], n)};
      put(out, place, evaluate(Op::add, out.dtype, pair));
    });
  }
  static void rule(Tag<Op::reshape>, Site& site) { copy(site.out[0], *site.in[0]); }
  static void rule(Tag<Op::permute>, Site& site) {
    const Sizes strides = dense_strides(site.in[0]->sizes);
    Places from{0, site.out[0].sizes, {}};
    for (std::uint8_t axis : site.as<Permutation>().order) from.strides.push_back(strides[axis]);
    gather(site, from);
  }
  static void rule(Tag<Op::expand>, Site& site) {
    const HostArray& x = *site.in[0];
    Sizes strides = dense_strides(x.sizes);
    for (std::size_t i = 0; i < strides.size(); ++i)
      if (x.sizes[i] == 1) strides[i] = 0;
    strides.insert(strides.begin(), site.out[0].sizes.size() - strides.size(), 0);
    gather(site, {0, site.out[0].sizes, strides});
  }
  static void rule(Tag<Op::slice>, Site& site) {
    const auto& a = site.as<Slice>();
    Places from{0, site.out[0].sizes, dense_strides(site.in[0]->sizes)};
    for (std::size_t i = 0; i < from.strides.size(); ++i) {
      from.offset += a.starts[i].number() * from.strides[i];
      from.strides[i] *= a.steps[i].number();
    }
    gather(site, from);
  }
  static void rule(Tag<Op::flip>, Site& site) {
    Places from{0, site.out[0].sizes, dense_strides(site.in[0]->sizes)};
    for (std::size_t i = 0; i < from.strides.size(); ++i) {
      if (!(site.as<Axes>().mask >> i & 1)) continue;
      from.offset += (from.sizes[i] - 1) * from.strides[i];
      from.strides[i] = -from.strides[i];
    }
    gather(site, from);
  }
  static void rule(Tag<Op::pad>, Site& site) {
    const auto& a = site.as<Padding>();
    HostArray& out = site.out[0];
    for (std::int64_t i = 0; i < out.elements(); ++i) put(out, i, load(*site.in[1], 0));
    Places to{0, site.in[0]->sizes, dense_strides(out.sizes)};
    for (std::size_t i = 0; i < to.strides.size(); ++i) to.offset += a.low[i].number() * to.strides[i];
    scatter(out, to, *site.in[0]);
  }
  static void rule(Tag<Op::concat>, Site& site) {
    HostArray& out = site.out[0];
    const std::size_t axis = site.as<Concat>().axis;
    Places to{0, {}, dense_strides(out.sizes)};
    for (const HostArray* x : site.in) {
      to.sizes = x->sizes;
      scatter(out, to, *x);
      to.offset += x->sizes[axis] * to.strides[axis];
    }
  }

  // ---- reductions

  // Calls f(n, m, bits) for the m-th of the elements, in row-major order of the reduced axes, that make the n-th result.
  template <class F>
  static void reduce(const Site& site, F&& f) {
    const HostArray& x = *site.in[0];
    const Sizes strides = dense_strides(x.sizes);
    Places kept, reduced;
    for (std::size_t i = 0; i < strides.size(); ++i) {
      Places& side = site.as<Reduced>().mask >> i & 1 ? reduced : kept;
      side.sizes.push_back(x.sizes[i]);
      side.strides.push_back(strides[i]);
    }
    walk(kept, [&](std::int64_t n, std::int64_t base) {
      reduced.offset = base;
      walk(reduced, [&](std::int64_t m, std::int64_t place) { f(n, m, load(x, place)); });
    });
  }

  static void rule(Tag<Op::sum>, Site& site) {
    std::vector<WideSum> sums(static_cast<std::size_t>(site.out[0].elements()), WideSum(site.in[0]->dtype));
    reduce(site, [&](std::int64_t n, std::int64_t, std::uint64_t bits) { sums[static_cast<std::size_t>(n)].add(bits); });
    for (std::size_t n = 0; n < sums.size(); ++n) put(site.out[0], static_cast<std::int64_t>(n), sums[n].result(site.out[0].dtype));
  }

  static void rule(Tag<Op::prod>, Site& site) {
    std::vector<WideProduct> products(static_cast<std::size_t>(site.out[0].elements()), WideProduct(site.in[0]->dtype));
    reduce(site, [&](std::int64_t n, std::int64_t, std::uint64_t bits) { products[static_cast<std::size_t>(n)].multiply(bits); });
    for (std::size_t n = 0; n < products.size(); ++n)
      put(site.out[0], static_cast<std::int64_t>(n), products[n].result(site.out[0].dtype));
  }

  static void quantify(Site& site, bool all) {
    HostArray& out = site.out[0];
    for (std::int64_t n = 0; n < out.elements(); ++n) put(out, n, all);
    reduce(site, [&](std::int64_t n, std::int64_t, std::uint64_t bits) {
      if ((evaluate_cast(site.in[0]->dtype, DType::boolean, bits) != 0) != all) put(out, n, !all);
    });
  }
  static void rule(Tag<Op::any>, Site& site) { quantify(site, false); }
  static void rule(Tag<Op::all>, Site& site) { quantify(site, true); }

  static std::vector<Extreme> extremes(const Site& site, bool largest) {
    std::vector<Extreme> found(static_cast<std::size_t>(site.out[0].elements()));
    reduce(site, [&](std::int64_t n, std::int64_t m, std::uint64_t bits) {
      Extreme& extreme = found[static_cast<std::size_t>(n)];
      if (m == 0)
        extreme = {bits, 0};
      else
        extreme.meet(site.in[0]->dtype, largest, bits, m);
    });
    return found;
  }
  static void values_of(Site& site, const std::vector<Extreme>& found) {
    for (std::size_t n = 0; n < found.size(); ++n) put(site.out[0], static_cast<std::int64_t>(n), found[n].bits);
  }
  static void indices_of(HostArray& out, const std::vector<Extreme>& found) {
    for (std::size_t n = 0; n < found.size(); ++n)
      put(out, static_cast<std::int64_t>(n), static_cast<std::uint64_t>(found[n].index));
  }
  static void with_index(Site& site, bool largest) {
    const std::vector<Extreme> found = extremes(site, largest);
    values_of(site, found);
    indices_of(site.out[1], found);
  }
  static void rule(Tag<Op::max>, Site& site) { values_of(site, extremes(site, true)); }
  static void rule(Tag<Op::min>, Site& site) { values_of(site, extremes(site, false)); }
  static void rule(Tag<Op::argmax>, Site& site) { indices_of(site.out[0], extremes(site, true)); }
  static void rule(Tag<Op::argmin>, Site& site) { indices_of(site.out[0], extremes(site, false)); }
  static void rule(Tag<Op::max_with_index>, Site& site) { with_index(site, true); }
  static void rule(Tag<Op::min_with_index>, Site& site) { with_index(site, false); }

  // ---- elements at computed places

  // `where` in an array that has `size` places, or PyTorch's error.
  static std::int64_t checked(const Site& site, std::int64_t where, std::int64_t size) {
    if (where < 0 || where >= size)
      fail<IndexError>("{}: index {} is out of bounds for {} elements{}{}", ir::name(site.node.op), where, size,
                       site.node.location.file ? " at " : "", text(site.node.location));
    return where;
  }
  static void rule(Tag<Op::wrap_index>, Site& site) {
    const std::int64_t extent = site.as<WrapIndex>().extent.number();
    for (std::int64_t i = 0; i < site.out[0].elements(); ++i) {
      const auto given = static_cast<std::int64_t>(load(*site.in[0], i));
      if (given < -extent || given >= extent)
        fail<IndexError>("index {} is out of bounds for dimension with size {}{}{}", given, extent,
                         site.node.location.file ? " at " : "", text(site.node.location));
      put(site.out[0], i, static_cast<std::uint64_t>(given < 0 ? given + extent : given));
    }
  }
  static void rule(Tag<Op::take>, Site& site) {
    for (std::int64_t i = 0; i < site.out[0].elements(); ++i) {
      const auto from = static_cast<std::int64_t>(load(*site.in[1], i));
      put(site.out[0], i, load(*site.in[0], checked(site, from, site.in[0]->elements())));
    }
  }
  static void rule(Tag<Op::put>, Site& site) {
    constexpr Op ops[] = {Op::add /* unused */, Op::add, Op::mul, Op::maximum, Op::minimum};
    HostArray& out = site.out[0];
    copy(out, *site.in[0]);
    const Put::Combine combine = site.as<Put>().combine;
    for (std::int64_t i = 0; i < site.in[1]->elements(); ++i) {
      const std::int64_t to = checked(site, static_cast<std::int64_t>(load(*site.in[1], i)), out.elements());
      const std::uint64_t pair[] = {load(out, to), load(*site.in[2], i)};
      put(out, to, combine == Put::Combine::assign ? pair[1] : evaluate(ops[static_cast<int>(combine)], out.dtype, pair));
    }
  }

  static void rule(Tag<Op::dot>, Site& site) {
    const HostArray &a = *site.in[0], &b = *site.in[1];
    HostArray& out = site.out[0];
    const std::size_t rank = out.sizes.size();
    const std::int64_t m = out.sizes[rank - 2], n = out.sizes[rank - 1], k = a.sizes[rank - 1];
    const std::int64_t batches = m * n == 0 ? 0 : out.elements() / (m * n);
    for (std::int64_t i = 0; i < batches * m; ++i)
      for (std::int64_t j = 0; j < n; ++j) {
        WideSum sum(a.dtype);
        for (std::int64_t p = 0; p < k; ++p) sum.add_product(load(a, i * k + p), load(b, (i / m * k + p) * n + j));
        put(out, i * n + j, sum.result(out.dtype));
      }
  }

  const Graph& graph_;
  std::span<const HostArray> arguments_;
  std::span<const std::int64_t> symbols_;
  std::vector<std::vector<HostArray>> values_;  // by node; dropped after the last reader
  std::vector<std::uint32_t> readers_;
};

}  // namespace

std::int64_t HostArray::elements() const {
  std::int64_t count = 1;
  for (std::int64_t size : sizes) count *= size;
  return count;
}

HostArray make_host_array(DType dtype, std::vector<std::int64_t> sizes) {
  HostArray array{dtype, std::move(sizes), nullptr};
  const auto bytes = static_cast<std::size_t>(array.elements()) * static_cast<std::size_t>(size_of(dtype));
  array.data = std::shared_ptr<std::byte[]>(new std::byte[std::max<std::size_t>(bytes, 1)]());
  return array;
}

std::vector<HostArray> interpret(const Graph& graph, std::span<const HostArray> arguments, std::span<const std::int64_t> symbols) {
  return Interpreter(graph, arguments, symbols).run();
}

// A sum of n in the order of ir/reduce_order.h passes each element through at most 32 + 6 + log2(n) additions, a dot through as many as
// it has products; each may round by half a unit. Halves round once more at the end.
double error_bound(Op op, DType type, std::int64_t combined) {
  if (!is_float(type) || (op != Op::sum && op != Op::dot)) return 0;
  const double unit = type == DType::f64 ? 0x1p-53 : 0x1p-24;
  const auto n = static_cast<double>(combined);
  const double rounds = op == Op::dot ? n + 1 : std::min(n, 38 + std::ceil(std::log2(std::max(n, 1.0)))) + 1;
  const double last = type == DType::f16 ? 0x1p-11 : type == DType::bf16 ? 0x1p-8 : 0;
  return 1.01 * rounds * unit + 1.01 * last;
}

}  // namespace braze::ir
