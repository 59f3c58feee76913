// The sweep over the op table: each elementwise row x each dtype it accepts x dense, strided, negative stride, broadcast, zero-size
// and 0-d operands; each other row by what its attributes need. A new row is tested by existing.
#include <bit>
#include <random>

#include "ir/error.h"
#include "ir/graph.h"
#include "tests/catch.h"
#include "tests/fuzz/end_to_end.h"
#include "tests/passes/host_arrays.h"

using namespace braze;
using namespace braze::test;

namespace {

DType operand_type(ir::Op op, std::size_t operand, DType type) {
  return op == ir::Op::where && operand == 0 ? DType::boolean : type;
}

ir::Value add(ir::Graph& graph, ir::Op op, std::vector<ir::Value> in, ir::Attributes attributes = ir::None{}) {
  return {graph.add(op, in, std::move(attributes)), 0};
}

// How the operands of an elementwise op are laid out. Each is one graph over symbols, run with several sizes.
enum class Access { dense, strided, broadcast, scalar };
constexpr Access accesses[] = {Access::dense, Access::strided, Access::broadcast, Access::scalar};

struct Prepared {
  ir::Graph graph;
  Access access;
};

// dense: x[n]. strided: a view with offset, size and stride of its own an operand. broadcast: [m] against [n, m] and a scalar.
ir::Value operand(ir::Graph& graph, Access access, DType type, std::size_t i, ir::Extent n, ir::Extent m) {
  switch (access) {
    case Access::dense:
      return graph.parameter({type, {n}}, ir::Parameter::Kind::buffer, "x" + std::to_string(i));
    case Access::scalar:
      return graph.parameter({type, {}}, ir::Parameter::Kind::buffer, "x" + std::to_string(i));
    case Access::strided: {
      const ir::Value whole = graph.parameter({type, {graph.new_symbol("w" + std::to_string(i))}}, ir::Parameter::Kind::buffer,
                                              "x" + std::to_string(i));
      const ir::Layout layout{graph.new_symbol("o" + std::to_string(i)), {n}, {graph.new_symbol("s" + std::to_string(i))}};
      return add(graph, ir::Op::view, {whole}, layout);
    }
    case Access::broadcast:
      break;
  }
  if (i == 0) return graph.parameter({type, {n, m}}, ir::Parameter::Kind::buffer, "x0");
  const ir::Type narrow = i == 1 ? ir::Type{type, {m}} : ir::Type{type, {}};
  const auto kind = i == 1 ? ir::Parameter::Kind::buffer : ir::Parameter::Kind::scalar;
  return add(graph, ir::Op::expand, {graph.parameter(narrow, kind, "x" + std::to_string(i))}, ir::ToShape{{n, m}});
}

ir::Graph elementwise_graph(ir::Op op, DType type, Access access, const ir::Attributes& attributes = ir::None{}) {
  ir::Graph graph;
  const ir::Extent n = access == Access::scalar ? ir::Extent(1) : graph.new_symbol("n");
  const ir::Extent m = access == Access::broadcast ? graph.new_symbol("m") : ir::Extent(1);
  std::vector<ir::Value> in;
  for (std::size_t i = 0; i < static_cast<std::size_t>(ir::arity(op)); ++i)
    in.push_back(operand(graph, access, operand_type(op, i, type), i, n, m));
  graph.results = {add(graph, op, in, attributes)};
  return graph;
}

// Values for the graph's symbols, by name, for the k-th size; strides alternate in sign.
std::vector<std::int64_t> symbol_values(const ir::Graph& graph, std::int64_t n) {
  std::vector<std::int64_t> out;
  for (const std::string& name : graph.symbols) {
    const std::int64_t i = name.size() > 1 ? name[1] - '0' : 0, step = i % 2 ? -2 : 3;
    if (name == "n") out.push_back(n);
    if (name == "m") out.push_back(n == 0 ? 3 : 19);
    if (name[0] == 'w') out.push_back(3 * n + 5);
    if (name[0] == 'o') out.push_back(step > 0 ? 1 : std::max<std::int64_t>(2 * (n - 1), 0));
    if (name[0] == 's') out.push_back(step);
  }
  return out;
}

std::vector<ir::HostArray> arguments(const ir::Graph& graph, std::span<const std::int64_t> symbols, std::mt19937& random) {
  std::vector<ir::HostArray> out;
  for (const ir::Value parameter : graph.parameters()) {
    std::vector<std::int64_t> sizes;
    for (const ir::Extent& e : graph.type(parameter).shape) sizes.push_back(e.is_symbol() ? symbols[e.symbol()] : e.number());
    out.push_back(special_array(graph.type(parameter).dtype, sizes, random));
  }
  return out;
}

// Integer division by a zero would fault; the fault itself has its own test.
void avoid_zero_divisors(ir::Op op, std::vector<ir::HostArray>& in) {
  const bool divides = op == ir::Op::floor_divide || op == ir::Op::trunc_divide || op == ir::Op::remainder || op == ir::Op::fmod;
  if (!divides || in.size() < 2 || is_float(in[1].dtype)) return;
  for (std::int64_t i = 0; i < in[1].elements(); ++i)
    if (get(in[1], i) == 0) put(in[1], i, 3);
}

void sweep(ir::Op op, DType type, const ir::Attributes& attributes = ir::None{}) {
  std::mt19937 random(static_cast<unsigned>(op) * 16 + static_cast<unsigned>(type));
  for (const ir::CpuTarget& target : tested_targets())
    for (const Access access : accesses) {
      const ir::Graph graph = elementwise_graph(op, type, access, attributes);
      const CompiledGraph compiled(graph, target);
      for (const std::int64_t n : {0, 1, 7, 150}) {
        const std::vector<std::int64_t> symbols = symbol_values(graph, n);
        std::vector<ir::HostArray> in = arguments(graph, symbols, random);
        avoid_zero_divisors(op, in);
        INFO(ir::print(graph) << "n = " << n << ", vectors of " << target.vector_bytes << " bytes");
        CHECK(disagreement(graph, compiled, in, symbols) == "");
      }
    }
}

// ---- rows with attributes ----

// Runs a graph on small exact values, so that no order of summation matters, and compares bit for bit.
void check_exact(const ir::Graph& graph, std::span<const std::int64_t> symbols = {}) {
  std::mt19937 random(7);
  std::vector<ir::HostArray> in = arguments(graph, symbols, random);
  for (ir::HostArray& array : in)
    for (std::int64_t i = 0; i < array.elements(); ++i)
      put(array, i, ir::literal(array.dtype, static_cast<std::int64_t>(random() % (array.dtype == DType::boolean ? 2 : 5))).bits);
  for (const ir::CpuTarget& target : tested_targets()) {
    INFO(ir::print(graph) << "vectors of " << target.vector_bytes << " bytes");
    CHECK(disagreement(graph, CompiledGraph(graph, target), in, symbols) == "");
    CHECK(disagreement(graph, CompiledGraph(graph, target, false), in, symbols) == "");
  }
}

const std::vector<ir::Shape> shapes = {{}, {1}, {0}, {5}, {130}, {3, 4}, {4, 0, 2}, {33, 17}, {2, 3, 70}, {5000}, {3, 2, 1, 4}};

ir::Graph unary_graph(ir::Op op, DType type, const ir::Shape& shape, ir::Attributes attributes) {
  ir::Graph graph;
  const ir::Value x = graph.parameter({type, shape}, ir::Parameter::Kind::buffer, "x");
  const ir::NodeId id = graph.add(op, {&x, 1}, std::move(attributes));
  for (std::uint32_t r = 0; r < ir::info(op).results; ++r) graph.results.push_back({id, r});
  return graph;
}

void sweep_reduction(ir::Op op, DType type) {
  const bool one_axis = op == ir::Op::argmax || op == ir::Op::argmin || ir::info(op).results == 2;
  for (const ir::Shape& shape : shapes)
    for (std::uint64_t mask = 0; mask < (std::uint64_t{1} << shape.size()); ++mask) {
      if (one_axis && std::popcount(mask) != 1) continue;
      try {
        check_exact(unary_graph(op, type, shape, ir::Reduced{mask}));
      } catch (const IndexError&) {  // max of nothing
        continue;
      }
    }
}

void sweep_slice(DType type) {
  for (const ir::Shape& shape : shapes)
    for (const std::int64_t step : {1, 2, -1, -3}) {
      ir::Slice slice;
      for (const ir::Extent& e : shape) {
        const std::int64_t size = e.number(), count = size == 0 ? 0 : (size - 1) / std::abs(step) + 1;
        slice.starts.push_back(step > 0 || size == 0 ? 0 : size - 1);
        slice.sizes.push_back(count);
        slice.steps.push_back(step);
      }
      check_exact(unary_graph(ir::Op::slice, type, shape, slice));
    }
}

void sweep_layouts(ir::Op op, DType type) {
  struct Addressed {
    std::int64_t elements;
    ir::Layout layout;
  };
  const std::vector<Addressed> cases = {{12, {0, {3, 4}, {4, 1}}}, {12, {0, {4, 3}, {1, 4}}},        {40, {3, {5}, {7}}},
                                        {40, {39, {8}, {-5}}},     {64, {1, {3, 4, 2}, {20, 4, 2}}}, {9, {4, {}, {}}},
                                        {9, {0, {0, 3}, {3, 1}}},  {300, {10, {130}, {2}}}};
  for (const Addressed& c : cases) {
    ir::Graph graph;
    const ir::Value x = graph.parameter({type, {c.elements}}, ir::Parameter::Kind::donated, "x");
    std::vector<ir::Value> in{x};
    if (op != ir::Op::view) in.push_back(graph.parameter({type, c.layout.sizes}, ir::Parameter::Kind::buffer, "v"));
    graph.results = {add(graph, op, in, c.layout)};
    check_exact(graph);
  }
  if (op == ir::Op::store) return;
  // Repeats: a stride of zero, and windows that overlap.
  for (const ir::Layout& layout : {ir::Layout{2, {4, 3}, {0, 1}}, ir::Layout{0, {6, 3}, {1, 1}}}) {
    ir::Graph graph;
    std::vector<ir::Value> in{graph.parameter({type, {20}}, ir::Parameter::Kind::buffer, "x")};
    if (op != ir::Op::view) in.push_back(graph.parameter({type, layout.sizes}, ir::Parameter::Kind::buffer, "v"));
    graph.results = {add(graph, op, in, layout)};
    check_exact(graph);
  }
}

void sweep_concat(DType type) {
  for (const auto& [a, b, axis] : {std::tuple<ir::Shape, ir::Shape, std::uint32_t>{{3}, {5}, 0},
                                   {{2, 3}, {2, 40}, 1},
                                   {{4, 0}, {4, 2}, 1},
                                   {{1, 6, 2}, {1, 1, 2}, 1}}) {
    ir::Graph graph;
    const ir::Value x = graph.parameter({type, a}, ir::Parameter::Kind::buffer, "x"),
                    y = graph.parameter({type, b}, ir::Parameter::Kind::buffer, "y");
    graph.results = {add(graph, ir::Op::concat, {x, y, x}, ir::Concat{axis, 2 * a[axis].number() + b[axis].number()})};
    check_exact(graph);
  }
}

void sweep_pad(DType type) {
  for (const ir::Shape& shape : shapes) {
    ir::Padding padding;
    std::int64_t amount = 0;
    for (const ir::Extent& e : shape) {
      padding.low.push_back(amount % 3);
      padding.high.push_back((amount + 2) % 4);
      padding.sizes.push_back(e.number() + amount % 3 + (amount + 2) % 4);
      ++amount;
    }
    ir::Graph graph;
    const ir::Value x = graph.parameter({type, shape}, ir::Parameter::Kind::buffer, "x"),
                    v = graph.parameter({type, {}}, ir::Parameter::Kind::scalar, "v");
    graph.results = {add(graph, ir::Op::pad, {x, v}, padding)};
    check_exact(graph);
  }
}

void sweep_dot(DType type) {
  for (const auto& [a, b] : {std::pair<ir::Shape, ir::Shape>{{3, 4}, {4, 5}},
                             {{1, 70}, {70, 1}},
                             {{17, 33}, {33, 65}},
                             {{2, 5, 3}, {2, 3, 9}},
                             {{0, 3}, {3, 4}},
                             {{3, 0}, {0, 4}},
                             {{1, 70}, {70, 33}},
                             {{33, 70}, {70, 1}},
                             {{2, 1, 40}, {2, 40, 5}},
                             {{64, 1}, {1, 40}}})
    for (const auto order : {ir::Dot::Order::blocked, ir::Dot::Order::inner, ir::Dot::Order::outer}) {
      ir::Graph graph;
      const ir::Value x = graph.parameter({type, a}, ir::Parameter::Kind::buffer, "x"),
                      y = graph.parameter({type, b}, ir::Parameter::Kind::buffer, "y");
      graph.results = {add(graph, ir::Op::dot, {x, y}, ir::Dot{order})};
      check_exact(graph);
    }
}

void sweep_shape_op(ir::Op op, DType type) {
  for (const ir::Shape& shape : shapes) {
    const std::size_t rank = shape.size();
    if (op == ir::Op::flip) check_exact(unary_graph(op, type, shape, ir::Axes{rank ? (std::uint64_t{1} << rank) - 1 : 0}));
    if (op == ir::Op::permute) {
      ir::Permutation order;
      for (std::size_t i = rank; i-- > 0;) order.order.push_back(static_cast<std::uint8_t>(i));
      check_exact(unary_graph(op, type, shape, order));
    }
    if (op == ir::Op::reshape) {
      std::int64_t count = 1;
      for (const ir::Extent& e : shape) count *= e.number();
      check_exact(unary_graph(op, type, shape, ir::ToShape{{count, 1}}));
    }
    if (op == ir::Op::expand) {
      ir::ToShape to{{3}};
      for (const ir::Extent& e : shape) to.shape.push_back(e == 1 ? ir::Extent(4) : e);
      check_exact(unary_graph(op, type, shape, to));
    }
  }
}

// Arguments lie between 0 and 4, so that 5 elements and more hold every index.
ir::Value index_parameter(ir::Graph& graph, const ir::Shape& shape) {
  return graph.parameter({DType::i64, shape}, ir::Parameter::Kind::buffer, "i");
}

void sweep_take(DType type) {
  for (const ir::Shape& shape : shapes)
    for (const ir::Shape& from : {ir::Shape{5}, ir::Shape{7, 3}}) {
      ir::Graph graph;
      const ir::Value x = graph.parameter({type, from}, ir::Parameter::Kind::buffer, "x");
      graph.results = {add(graph, ir::Op::take, {x, index_parameter(graph, shape)})};
      check_exact(graph);
    }
}

void sweep_put(DType type) {
  for (const ir::Shape& shape : shapes)
    for (const auto combine : {ir::Put::Combine::assign, ir::Put::Combine::add, ir::Put::Combine::multiply,
                               ir::Put::Combine::maximum, ir::Put::Combine::minimum})
      for (const auto kind : {ir::Parameter::Kind::buffer, ir::Parameter::Kind::donated}) {
        if (shape.size() > 1 && kind == ir::Parameter::Kind::donated) continue;
        ir::Graph graph;
        const ir::Value x = graph.parameter({type, {6, 2}}, kind, "x"), i = index_parameter(graph, shape);
        graph.results = {
            add(graph, ir::Op::put, {x, i, graph.parameter({type, shape}, ir::Parameter::Kind::buffer, "v")}, ir::Put{combine})};
        check_exact(graph);
      }
}

void sweep_wrap_index(DType type) {
  if (type != DType::i64) return;
  for (const ir::Shape& shape : shapes) {
    ir::Graph graph;
    const ir::Value i = index_parameter(graph, shape), wrapped = add(graph, ir::Op::wrap_index, {i}, ir::WrapIndex{5});
    const ir::Value negative = add(graph, ir::Op::bitwise_not, {wrapped});
    graph.results = {wrapped, add(graph, ir::Op::wrap_index, {negative}, ir::WrapIndex{7})};
    check_exact(graph);
  }
}

// What a row's attributes need. The switch has every kind: a new one does not compile until it is swept.
void sweep_shaped(ir::Op op, DType type) {
  switch (ir::info(op).attributes) {
    case ir::AttributeKind::None:
      return sweep_take(type);
    case ir::AttributeKind::Parameter:
      return check_exact(unary_graph(ir::Op::reshape, type, {6}, ir::ToShape{{6}}));
    case ir::AttributeKind::Literal: {
      ir::Graph graph;
      graph.results = {add(graph, op, {}, ir::literal(type, std::int64_t{1}))};
      return check_exact(graph);
    }
    case ir::AttributeKind::Cast:
      for (const DType to : all_dtypes) sweep(op, type, ir::Cast{to});
      return;
    case ir::AttributeKind::ToShape:
      if (op != ir::Op::iota) return sweep_shape_op(op, type);
      for (const std::int64_t n : {0, 1, 100}) {
        ir::Graph graph;
        graph.results = {add(graph, op, {}, ir::ToShape{{n}})};
        check_exact(graph);
      }
      return;
    case ir::AttributeKind::Layout:
      return sweep_layouts(op, type);
    case ir::AttributeKind::Permutation:
      return sweep_shape_op(op, type);
    case ir::AttributeKind::Slice:
      return sweep_slice(type);
    case ir::AttributeKind::Axes:
      return sweep_shape_op(op, type);
    case ir::AttributeKind::Reduced:
      return sweep_reduction(op, type);
    case ir::AttributeKind::Padding:
      return sweep_pad(type);
    case ir::AttributeKind::Dot:
      return sweep_dot(type);
    case ir::AttributeKind::Concat:
      return sweep_concat(type);
    case ir::AttributeKind::WrapIndex:
      return sweep_wrap_index(type);
    case ir::AttributeKind::Put:
      return sweep_put(type);
    case ir::AttributeKind::Scan:
      for (const ir::Shape& shape : shapes)
        for (std::uint32_t axis = 0; axis < shape.size(); ++axis) check_exact(unary_graph(op, type, shape, ir::Scan{axis}));
      return;
    case ir::AttributeKind::Sort:
      for (const ir::Shape& shape : shapes)
        for (std::uint32_t axis = 0; axis < shape.size(); ++axis)
          for (const bool descending : {false, true}) check_exact(unary_graph(op, type, shape, ir::Sort{axis, descending}));
      return;
    // Draws and linear algebra have no second implementation: tests/runtime compares them with recorded values.
    case ir::AttributeKind::Draw:
    case ir::AttributeKind::Cholesky:
    case ir::AttributeKind::LuFactor:
    case ir::AttributeKind::LuSolve:
    case ir::AttributeKind::SolveTriangular:
    case ir::AttributeKind::Factor:
    case ir::AttributeKind::Eigh:
      return;
  }
}

enum class Part { axes, places, routines };
Part part_of(ir::Op op) {
  if (ir::info(op).routine()) return Part::routines;
  return op == ir::Op::wrap_index || op == ir::Op::take || op == ir::Op::put ? Part::places : Part::axes;
}

void sweep_rows(Part part) {
  for (int i = 0; i < ir::op_count; ++i) {
    const auto op = static_cast<ir::Op>(i);
    if (ir::info(op).op_class < ir::OpClass::shaped || op == ir::Op::eig || part_of(op) != part) continue;
    // Index movement does not look at values: one dtype of each size; the rest sees all.
    const bool moves = !ir::info(op).reduction() && !ir::info(op).routine() && op != ir::Op::dot && op != ir::Op::cast &&
                       op != ir::Op::accumulate && op != ir::Op::put;
    const bool refuses_boolean = op == ir::Op::dot || op == ir::Op::accumulate || op == ir::Op::cumsum || op == ir::Op::cumprod;
    for (const DType type : all_dtypes) {
      if (moves && type != DType::boolean && type != DType::bf16 && type != DType::f32 && type != DType::i64) continue;
      if (refuses_boolean && type == DType::boolean) continue;
      if (op == ir::Op::logcumsumexp && !is_float(type)) continue;
      sweep_shaped(op, type);
    }
  }
}

}  // namespace

TEST_CASE("elementwise rows: machine code, loops and graph agree bit for bit", "[sweep]") {
  const ir::OpClass part = GENERATE(ir::OpClass::unary, ir::OpClass::binary, ir::OpClass::ternary);
  for (int i = 0; i < ir::op_count; ++i) {
    const auto op = static_cast<ir::Op>(i);
    if (ir::info(op).op_class != part) continue;
    for (const DType type : all_dtypes)
      if (ir::accepts(op, type)) sweep(op, type);
  }
}

TEST_CASE("rows with attributes agree on every shape", "[sweep]") { sweep_rows(Part::axes); }
TEST_CASE("elements at computed places agree on every shape", "[sweep]") { sweep_rows(Part::places); }
TEST_CASE("routines agree on every shape", "[sweep]") { sweep_rows(Part::routines); }

TEST_CASE("an integer divided by zero faults on every target", "[sweep]") {
  for (const ir::Op op : {ir::Op::floor_divide, ir::Op::trunc_divide, ir::Op::remainder, ir::Op::fmod})
    for (const DType type : {DType::u8, DType::i8, DType::i16, DType::i32, DType::i64}) {
      const ir::Graph graph = elementwise_graph(op, type, Access::dense);
      for (const ir::CpuTarget& target : tested_targets()) {
        const CompiledGraph compiled(graph, target);
        std::vector<ir::HostArray> in{ir::make_host_array(type, {37}), ir::make_host_array(type, {37})};
        for (std::int64_t i = 0; i < 37; ++i) put(in[1], i, i == 31 ? 0 : 1);
        const std::int64_t symbols[] = {37};
        CHECK(compiled.run(in, symbols).fault == ir::Fault::division_by_zero);
      }
    }
}
