#include "ir/graph.h"

#include <fmt/format.h>

#include <mutex>
#include <set>

#include "ir/error.h"
#include "ir/identifier.h"

namespace braze::ir {
namespace {

constexpr NodeId no_node = ~NodeId{0};
constexpr std::size_t page_values = 4096;
const Attributes no_attributes = None{};

std::size_t mix(std::size_t hash, std::uint64_t value) {
  hash = (hash ^ value) * 0x9e3779b97f4a7c15u;
  return hash ^ hash >> 32;
}

std::size_t mix(std::size_t hash, const Shape& shape) {
  for (Extent e : shape) hash = mix(hash, static_cast<std::uint64_t>(e.bits()));
  return mix(hash, shape.size());
}

struct HashAttributes {
  std::size_t h;
  std::size_t operator()(const None&) const { return h; }
  std::size_t operator()(const Parameter& a) const { return mix(h, a.number); }
  std::size_t operator()(const Literal& a) const { return mix(mix(h, static_cast<std::uint64_t>(a.type)), a.bits); }
  std::size_t operator()(const Cast& a) const { return mix(h, static_cast<std::uint64_t>(a.type)); }
  std::size_t operator()(const ToShape& a) const { return mix(h, a.shape); }
  std::size_t operator()(const Layout& a) const {
    return mix(mix(mix(h, static_cast<std::uint64_t>(a.offset.bits())), a.sizes), a.strides);
  }
  std::size_t operator()(const Permutation& a) const {
    std::size_t hash = h;
    for (std::uint8_t axis : a.order) hash = mix(hash, axis);
    return hash;
  }
  std::size_t operator()(const Slice& a) const { return mix(mix(mix(h, a.starts), a.sizes), a.steps); }
  std::size_t operator()(const Axes& a) const { return mix(h, a.mask); }
  std::size_t operator()(const Reduced& a) const { return mix(h, a.mask); }
  std::size_t operator()(const Padding& a) const { return mix(mix(mix(h, a.low), a.high), a.sizes); }
  std::size_t operator()(const Dot& a) const { return mix(h, static_cast<std::uint64_t>(a.order)); }
  std::size_t operator()(const WrapIndex& a) const { return mix(h, static_cast<std::uint64_t>(a.extent.bits())); }
  std::size_t operator()(const Put& a) const { return mix(h, static_cast<std::uint64_t>(a.combine)); }
  std::size_t operator()(const Scan& a) const { return mix(h, a.axis); }
  std::size_t operator()(const Sort& a) const { return mix(mix(h, a.axis), a.descending); }
  std::size_t operator()(const Draw& a) const {
    return mix(mix(mix(h, static_cast<std::uint64_t>(a.kind)), static_cast<std::uint64_t>(a.type)), a.shape);
  }
  std::size_t operator()(const Cholesky& a) const { return mix(h, static_cast<std::uint64_t>(a.check)); }
  std::size_t operator()(const LuFactor& a) const {
    return mix(mix(h, static_cast<std::uint64_t>(a.rank.bits())), static_cast<std::uint64_t>(a.check));
  }
  std::size_t operator()(const LuSolve& a) const { return mix(h, a.transposed); }
  std::size_t operator()(const SolveTriangular& a) const { return mix(mix(mix(h, a.upper), a.left), a.unit); }
  std::size_t operator()(const Factor& a) const { return mix(mix(h, static_cast<std::uint64_t>(a.rank.bits())), a.full); }
  std::size_t operator()(const Eigh& a) const { return mix(h, a.upper); }
  std::size_t operator()(const Concat& a) const { return mix(mix(h, a.axis), static_cast<std::uint64_t>(a.extent.bits())); }
};

std::size_t hash(Op op, std::span<const Value> in, const Attributes& attributes) {
  std::size_t h = mix(in.size(), static_cast<std::uint64_t>(op));
  for (Value v : in) h = mix(h, std::uint64_t{v.node} << 32 | v.result);
  return std::visit(HashAttributes{h}, attributes);
}

}  // namespace

// Messages of infer name a graph's symbols.
class Graph::SymbolNames final : public Equality {
 public:
  explicit SymbolNames(const Graph& graph) : graph_(graph) {}
  std::span<const std::string> symbol_names() const override { return graph_.symbols; }

 private:
  const Graph& graph_;
};

std::string text(const Location& location) { return location.file ? fmt::format("{}:{}", location.file, location.line) : ""; }

const char* intern_file(std::string_view file) {
  static std::mutex mutex;
  static auto& files = *new std::set<std::string, std::less<>>;  // never destroyed: locations outlive static destructors
  const std::lock_guard lock(mutex);
  const auto found = files.find(file);
  return (found != files.end() ? found : files.emplace(file).first)->c_str();
}

std::span<const Value> Graph::keep(std::span<const Value> in) {
  if (in.empty()) return {};
  if (operands_.empty() || operands_.back().capacity() - operands_.back().size() < in.size())
    operands_.emplace_back().reserve(std::max(page_values, in.size()));
  std::vector<Value>& page = operands_.back();
  page.insert(page.end(), in.begin(), in.end());
  return {page.data() + page.size() - in.size(), in.size()};
}

std::span<const Type> Graph::keep(std::span<const Type> out, std::span<const Value> in) {
  if (out.size() == 1) {
    if (!in.empty() && type(in[0]) == out[0]) return {&type(in[0]), 1};
    return {&types_.emplace_back(out[0]), 1};
  }
  return type_lists_.emplace_back(out.begin(), out.end());
}

bool Graph::same(const Node& node, Op op, std::span<const Value> in, const Attributes& attributes) const {
  return node.op == op && std::equal(node.in.begin(), node.in.end(), in.begin(), in.end()) && *node.attributes == attributes;
}

void Graph::grow() {
  const std::size_t slots = std::max<std::size_t>(64, 2 * table_.size()), mask = slots - 1;
  table_.assign(slots, no_node);
  for (NodeId id = 0; id < nodes_.size(); ++id) {
    std::size_t at = hashes_[id] & mask;
    while (table_[at] != no_node) at = (at + 1) & mask;
    table_[at] = id;
  }
}

NodeId Graph::add(Op op, std::span<const Value> in, Attributes attributes, Location location) {
  if (2 * (nodes_.size() + 1) > table_.size()) grow();
  const std::size_t h = hash(op, in, attributes), mask = table_.size() - 1;
  std::size_t at = h & mask;
  for (; table_[at] != no_node; at = (at + 1) & mask)
    if (hashes_[table_[at]] == h && same(nodes_[table_[at]], op, in, attributes)) return table_[at];

  InlineVector<const Type*, 4> types;
  for (Value v : in) {
    invariant(v.node < nodes_.size() && v.result < nodes_[v.node].out.size(), "{}: operand %{}#{} does not exist", ir::name(op),
              v.node, v.result);
    types.push_back(&type(v));
  }
  Type out[max_results];
  const std::span<Type> results(out, info(op).results);
  SymbolNames names(*this);
  infer(op, attributes, types, results, names);

  const auto id = static_cast<NodeId>(nodes_.size());
  if (op == Op::parameter) {
    invariant(std::get<Parameter>(attributes).number == parameters_.size(), "parameter {} comes after {} others",
              std::get<Parameter>(attributes).number, parameters_.size());
    parameters_.push_back({id, 0});
    parameter_names_.emplace_back();
    rename_parameter(parameters_.size() - 1, "");
  }
  const bool plain = std::holds_alternative<None>(attributes);
  const Attributes* kept = plain ? &no_attributes : &attributes_.emplace_back(std::move(attributes));
  nodes_.push_back({op, location, keep(in), keep(results, in), kept});
  hashes_.push_back(h);
  table_[at] = id;
  return id;
}

Value Graph::parameter(Type type, Parameter::Kind kind, std::string parameter_name) {
  const auto number = static_cast<std::uint32_t>(parameters_.size());
  const NodeId id = add(Op::parameter, {}, Parameter{kind, number, type.dtype, std::move(type.shape)});
  rename_parameter(number, std::move(parameter_name));
  return {id, 0};
}

void Graph::rename_parameter(std::size_t number, std::string wanted) {
  std::string& current = parameter_names_[number];
  if (!current.empty()) parameter_numbers_.erase(current);
  if (!is_identifier(wanted) || parameter_numbers_.contains(wanted)) {
    wanted = fmt::format("p{}", number);
    while (parameter_numbers_.contains(wanted)) wanted += '_';
  }
  parameter_numbers_.emplace(wanted, static_cast<std::uint32_t>(number));
  current = std::move(wanted);
}

Extent Graph::new_symbol(std::string symbol_name) {
  const auto taken = [&](const std::string& s) { return std::find(symbols.begin(), symbols.end(), s) != symbols.end(); };
  if (!is_identifier(symbol_name) || taken(symbol_name)) {
    symbol_name = fmt::format("s{}", symbols.size());
    while (taken(symbol_name)) symbol_name += '_';
  }
  symbols.push_back(std::move(symbol_name));
  return Extent::symbol(static_cast<std::uint32_t>(symbols.size() - 1));
}

std::vector<std::uint32_t> Graph::use_counts() const {
  std::vector<std::uint32_t> counts(nodes_.size());
  for (const Node& node : nodes_)
    for (Value v : node.in) ++counts[v.node];
  return counts;
}

std::vector<NodeId> postorder(const Graph& graph, std::span<const Value> roots) {
  struct Visit {
    NodeId node;
    std::uint32_t next;  // operand
  };
  std::vector<NodeId> order;
  std::vector<Visit> stack;
  std::vector<bool> seen(graph.size());
  const auto enter = [&](NodeId node) {
    if (!seen[node]) stack.push_back({node, 0});
    seen[node] = true;
  };
  for (Value root : roots) {
    enter(root.node);
    while (!stack.empty()) {
      const std::span<const Value> in = graph[stack.back().node].in;
      if (stack.back().next < in.size()) {
        enter(in[stack.back().next++].node);
      } else {
        order.push_back(stack.back().node);
        stack.pop_back();
      }
    }
  }
  return order;
}

}  // namespace braze::ir
