// The graph IR: pure SSA values over dense row-major tensors. Nodes live in an arena, are numbered in an order where operands
// precede users, and are interned: equal nodes are one node, so `==` of values is structural equality and CSE is free.
//
// No node broadcasts, promotes or writes: `expand` and `cast` are nodes, a write is `store`, which yields the next value of a
// storage. Nothing here recurses; a chain of a million nodes is as good as one of ten.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "ir/attributes.h"
#include "ir/infer.h"
#include "ir/op.h"
#include "ir/type.h"

namespace braze::ir {

using NodeId = std::uint32_t;

struct Value {
  NodeId node = ~NodeId{0};
  std::uint32_t result = 0;
  friend constexpr bool operator==(Value, Value) = default;
  explicit operator bool() const { return node != ~NodeId{0}; }
};

// Where the user wrote the op. `file` lives as long as the process (source_location) or is interned.
struct Location {
  const char* file = nullptr;
  std::uint32_t line = 0;
  friend bool operator==(const Location&, const Location&) = default;
};
std::string text(const Location& location);      // "demo.cpp:12", or "" for none
const char* intern_file(std::string_view file);  // for locations that come from text

struct Node {
  Op op;
  Location location;
  std::span<const Value> in;
  std::span<const Type> out;
  const Attributes* attributes;

  template <class A>
  const A& as() const {
    return std::get<A>(*attributes);
  }
};

class Graph {
 public:
  Graph() = default;
  Graph(Graph&&) = default;
  Graph& operator=(Graph&&) = default;

  std::string name = "main";
  std::vector<std::string> symbols;  // names; Extent::symbol(i) is symbols[i]
  std::vector<Value> results;

  // Infers the result types (throws the user's errors) and returns the node, an equal earlier one when there is one. A
  // parameter's number must be that of an earlier one or the next.
  NodeId add(Op op, std::span<const Value> in, Attributes attributes = None{}, Location location = {});
  // A name that is no identifier, or taken, becomes "p<number>".
  Value parameter(Type type, Parameter::Kind kind = Parameter::Kind::buffer, std::string name = "");
  Extent new_symbol(std::string name = "");

  const Node& operator[](NodeId id) const { return nodes_[id]; }
  const Node& node(Value v) const { return nodes_[v.node]; }
  const Type& type(Value v) const { return nodes_[v.node].out[v.result]; }
  std::size_t size() const { return nodes_.size(); }
  std::span<const Value> parameters() const { return parameters_; }
  const std::string& parameter_name(std::size_t number) const { return parameter_names_[number]; }

  // Users of each node, once per operand position; index by NodeId. Computed on request.
  std::vector<std::uint32_t> use_counts() const;

 private:
  class SymbolNames;
  std::span<const Value> keep(std::span<const Value> in);
  std::span<const Type> keep(std::span<const Type> out, std::span<const Value> in);
  bool same(const Node& node, Op op, std::span<const Value> in, const Attributes& attributes) const;
  void grow();
  void rename_parameter(std::size_t number, std::string wanted);

  // Deques: what they hold never moves, so nodes point into them.
  std::deque<Node> nodes_;
  std::deque<Attributes> attributes_;         // but None
  std::deque<std::vector<Value>> operands_;   // pages that nodes' operands are cut from
  std::deque<Type> types_;                    // of nodes with one result, but those equal to the first operand's
  std::deque<std::vector<Type>> type_lists_;  // of the others
  std::vector<std::size_t> hashes_;           // by node
  std::vector<NodeId> table_;                 // open addressing, a power of two; ~0 is free
  std::vector<Value> parameters_;
  std::vector<std::string> parameter_names_;
  std::unordered_map<std::string, std::uint32_t> parameter_numbers_;
};

// The same graph, symbols and parameters in the same order (which text does not promise).
Graph copy(const Graph& graph);

// Nodes that `roots` need, operands first. Iterative.
std::vector<NodeId> postorder(const Graph& graph, std::span<const Value> roots);

// Canonical text, numbered in postorder of the results; parse_graph(print(g)) prints the same. Format: exemplars, and docs/ir.md.
//   braze.ir 1
//   graph saxpy(%x: f32[n], %y: f32[n], %a: f32[] scalar, m: index) {
//     %0 = expand %a {shape = [n]} : f32[n]
//     %1 = mul %0, %x : f32[n]            // saxpy.cpp:12
//     %2 = add %1, %y : f32[n]
//     return %2
//   }
std::string print(const Graph& graph);
// As they stand in text, with the space before them: " {axis = 1}", or "" for none.
std::string attributes_text(const Attributes& attributes, std::span<const std::string> symbol_names = {});
// `file` names the text in errors. Throws ParseError (line, column, caret, what was expected) and infer's errors as ParseError too.
Graph parse_graph(std::string_view text, std::string_view file = "<text>");

// Structural laws: operands precede users, types are what infer says, symbols exist. Throws InternalError.
void verify(const Graph& graph);

// A literal's bits from a double or integer, converted as PyTorch converts a Python number to `type`.
Literal literal(DType type, double value);
Literal literal(DType type, std::int64_t value);

// The naive oracle: one op at a time over dense row-major arrays, wide accumulators (double, int64). `arguments` follow the
// graph's parameters; each array holds elements of the parameter's dtype. Faults throw ValueError, out-of-range IndexError.
struct HostArray {
  DType dtype{};
  std::vector<std::int64_t> sizes;
  std::shared_ptr<std::byte[]> data;  // dense, row-major
  std::int64_t elements() const;
};
HostArray make_host_array(DType dtype, std::vector<std::int64_t> sizes);
std::vector<HostArray> interpret(const Graph& graph, std::span<const HostArray> arguments, std::span<const std::int64_t> symbols);

// What `|result - interpret's result|` may be for one op, relative to the sum of the magnitudes of what it combined (sum: the
// elements, dot: the products), given their number. 0 for all else: elementwise ops, moves and extremes must be equal, but for
// NaN payloads and the sign of a zero among extremes. (A half also rounds by half its least subnormal.)
double error_bound(Op op, DType type, std::int64_t combined);

}  // namespace braze::ir
