#include "tests/fuzz/graph_case.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <set>
#include <unordered_map>

#include "ir/error.h"
#include "tests/passes/host_arrays.h"

namespace braze::test {

namespace {

std::string compare(const Outcome& a, const Outcome& b, const std::string& which) {
  if (a.fault != b.fault)
    return fmt::format("{} disagree about a fault ({} and {})", which, static_cast<int>(a.fault), static_cast<int>(b.fault));
  for (std::size_t r = 0; r < a.results.size(); ++r)
    if (!same_bits(a.results[r], b.results[r]))
      return fmt::format("result {}: {} differ: {}", r, which, first_difference(a.results[r], b.results[r]));
  return "";
}

// ---- reduction ----

// One step of it. Without a change it drops what no result needs.
struct Change {
  std::optional<std::vector<ir::Value>> results;
  ir::Value replaced;  // none: ~0
  ir::Value by;        // another value, or none: a new parameter that holds `elements`
  ir::HostArray elements;
  std::function<ir::Extent(ir::Extent)> extent;
};

std::int64_t value_of(ir::Extent e, const GraphCase& c) { return e.is_symbol() ? c.symbols[e.symbol()] : e.number(); }

std::vector<std::int64_t> sizes_of(const ir::Shape& shape, const GraphCase& c) {
  std::vector<std::int64_t> out;
  for (ir::Extent e : shape) out.push_back(value_of(e, c));
  return out;
}

// The first elements of `from`, again from the start where there are too few.
ir::HostArray cut(const ir::HostArray& from, std::vector<std::int64_t> sizes) {
  if (from.sizes == sizes) return from;
  ir::HostArray out = ir::make_host_array(from.dtype, std::move(sizes));
  for (std::int64_t i = 0, n = from.elements(); i < out.elements(); ++i) put(out, i, n == 0 ? 0 : get(from, i % n));
  return out;
}

// The case with a change made; nothing where that breaks an op's rules.
std::optional<GraphCase> rebuild(const GraphCase& c, const Change& change) {
  GraphCase out;
  out.exact = c.exact;
  out.symbols = c.symbols;
  out.graph.name = c.graph.name;
  for (const std::string& name : c.graph.symbols) out.graph.new_symbol(name);
  std::vector<ir::Value> roots = change.results ? *change.results : c.graph.results;
  std::unordered_map<ir::NodeId, ir::NodeId> moved;
  ir::Value fresh;
  const auto parameter = [&](ir::Parameter::Kind kind, DType type, ir::Shape shape, const ir::HostArray& elements) {
    if (change.extent)
      for (ir::Extent& e : shape) e = change.extent(e);
    out.arguments.push_back(cut(elements, sizes_of(shape, out)));
    return out.graph.parameter({type, shape}, kind);
  };
  const auto find = [&](ir::Value v) -> ir::Value {
    if (v == change.replaced) {
      if (change.by) return {moved.at(change.by.node), change.by.result};
      if (!fresh) fresh = parameter(ir::Parameter::Kind::buffer, c.graph.type(v).dtype, c.graph.type(v).shape, change.elements);
      return fresh;
    }
    return {moved.at(v.node), v.result};
  };
  try {
    for (ir::NodeId id : ir::postorder(c.graph, roots)) {
      const ir::Node& node = c.graph[id];
      if (node.op == ir::Op::parameter) {
        const auto& p = node.as<ir::Parameter>();
        moved[id] = parameter(p.kind, p.type, p.shape, c.arguments[p.number]).node;
        continue;
      }
      ir::Attributes attributes = *node.attributes;
      if (change.extent) ir::for_each_extent(attributes, [&](ir::Extent& e) { e = change.extent(e); });
      std::vector<ir::Value> in;
      for (ir::Value v : node.in) in.push_back(find(v));
      moved[id] = out.graph.add(node.op, in, attributes);
    }
    for (ir::Value v : roots) out.graph.results.push_back(find(v));
    ir::interpret(out.graph, out.arguments, out.symbols);  // refuses what the rules only see with numbers
  } catch (const Error&) {
    return {};
  }
  return out;
}

class Reducer {
 public:
  Reducer(GraphCase c, Check check) : case_(std::move(c)), check_(std::move(check)) {}

  GraphCase take() {
    Change numbers;
    numbers.extent = [this](ir::Extent e) { return ir::Extent(value_of(e, case_)); };
    attempt(numbers);
    for (bool progress = true; progress && !late();) progress = results() || nodes() || extents();
    return std::move(case_);
  }

 private:
  bool late() const { return std::chrono::steady_clock::now() > end_; }

  bool attempt(const Change& change) {
    if (late()) return false;
    std::optional<GraphCase> next = rebuild(case_, change);
    if (next) next = rebuild(*next, {});
    if (!next || check_(*next).empty()) return false;
    case_ = std::move(*next);
    return true;
  }

  bool results() {
    bool progress = false;
    for (std::size_t i = 0; case_.graph.results.size() > 1 && i < case_.graph.results.size();) {
      std::vector<ir::Value> rest = case_.graph.results;
      rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(i));
      Change change;
      change.results = rest;
      if (attempt(change))
        progress = true;
      else
        ++i;
    }
    return progress;
  }

  // From the results down, so that much goes at once: a node becomes an operand, or an operand's operand, of its type; else a parameter.
  bool nodes() {
    for (ir::NodeId id = static_cast<ir::NodeId>(case_.graph.size()); id-- > 0;) {
      const ir::Node& node = case_.graph[id];
      if (node.op == ir::Op::parameter) continue;
      for (std::uint32_t r = 0; r < node.out.size(); ++r)
        if (replace({id, r})) return true;
      // A result that is a later node's operand: the node itself goes.
      for (ir::Value operand : node.in)
        if (drop_user(id, operand)) return true;
    }
    return false;
  }
  bool drop_user(ir::NodeId id, ir::Value operand) {
    std::vector<ir::Value> roots = case_.graph.results;
    bool found = false;
    for (ir::Value& v : roots)
      if (v.node == id) v = operand, found = true;
    if (!found) return false;
    Change change;
    change.results = roots;
    return attempt(change);
  }
  bool replace(ir::Value v) {
    Change change;
    change.replaced = v;
    const ir::Node& node = case_.graph.node(v);
    std::vector<ir::Value> below(node.in.begin(), node.in.end());
    for (ir::Value operand : node.in)
      below.insert(below.end(), case_.graph.node(operand).in.begin(), case_.graph.node(operand).in.end());
    for (ir::Value operand : below)
      if (change.by = operand; case_.graph.type(operand) == case_.graph.type(v) && attempt(change)) return true;
    if (node.op == ir::Op::constant || node.in.empty()) return false;
    change.by = {};
    ir::Graph prefix = ir::copy(case_.graph);
    prefix.results = {v};
    change.elements = ir::interpret(prefix, case_.arguments, case_.symbols)[0];
    return attempt(change);
  }

  bool extents() {
    std::set<std::int64_t, std::greater<>> seen;
    for (ir::NodeId id = 0; id < case_.graph.size(); ++id) {
      ir::Attributes attributes = *case_.graph[id].attributes;
      ir::for_each_extent(attributes, [&](ir::Extent e) {
        if (e.is_number() && e.number() > 1) seen.insert(e.number());
      });
    }
    for (std::int64_t from : seen)
      for (std::int64_t to : {std::int64_t{1}, std::int64_t{2}, from / 2, from - 1}) {
        if (to < 1 || to >= from) continue;
        Change change;
        change.extent = [=](ir::Extent e) { return e == ir::Extent(from) ? ir::Extent(to) : e; };
        if (attempt(change)) return true;
      }
    return false;
  }

  GraphCase case_;
  const Check check_;
  const std::chrono::steady_clock::time_point end_ = std::chrono::steady_clock::now() + std::chrono::seconds(60);
};

}  // namespace

Comparison::Comparison(const ir::Graph& graph, bool exact, bool everywhere) : graph_(graph), exact_(exact) {
  for (const ir::CpuTarget& target : tested_targets()) {
    const bool last = target.vector_bytes == tested_targets().back().vector_bytes;
    ways_.push_back({fmt::format("vectors of {} bytes", target.vector_bytes), std::make_unique<CompiledGraph>(graph, target),
                     everywhere || last ? std::make_unique<CompiledGraph>(graph, target, false) : nullptr});
  }
}

std::string Comparison::run(std::span<const ir::HostArray> arguments, std::span<const std::int64_t> symbols) const {
  std::vector<ir::HostArray> wanted;
  if (exact_) wanted = ir::interpret(graph_, arguments, symbols);
  for (const Ways& way : ways_) {
    const Outcome fused = way.fused->run(arguments, symbols);
    std::string why = compare(fused, way.fused->interpret(arguments, symbols), "machine code and loop interpreter");
    if (why.empty() && way.apart) {
      const Outcome apart = way.apart->run(arguments, symbols);
      why = compare(apart, way.apart->interpret(arguments, symbols), "unfused machine code and loop interpreter");
      if (why.empty()) why = compare(fused, apart, "fused and unfused");
    }
    if (why.empty() && exact_) why = compare(fused, {ir::Fault::none, wanted}, "compiled code and graph interpreter");
    if (!why.empty()) return why + ", " + way.target;
  }
  return "";
}

std::string disagreement(const GraphCase& c) {
  try {
    return Comparison(c.graph, c.exact, true).run(c.arguments, c.symbols);
  } catch (const std::exception& e) {
    return e.what();
  }
}

GraphCase reduce(GraphCase c, Check check) { return Reducer(std::move(c), std::move(check)).take(); }

std::string save(const GraphCase& c, const std::string& name, const std::string& why) {
  std::string head = why;
  for (std::size_t at = 0; (at = head.find('\n', at)) != std::string::npos; at += 4) head.replace(at, 1, "\n// ");
  if (!c.symbols.empty()) {
    head += "\n// symbols:";
    for (std::size_t i = 0; i < c.symbols.size(); ++i) head += fmt::format(" {} = {}", c.graph.symbols[i], c.symbols[i]);
  }
  for (std::size_t p = 0; p < c.arguments.size(); ++p) {
    const ir::HostArray& array = c.arguments[p];
    head += fmt::format("\n// {} {}:", c.graph.parameter_name(p), array.elements() > 40 ? "begins with bits" : "has bits");
    for (std::int64_t i = 0; i < std::min<std::int64_t>(array.elements(), 40); ++i) head += fmt::format(" {:x}", get(array, i));
  }
  return save_case(c.graph, name, head);
}

}  // namespace braze::test
