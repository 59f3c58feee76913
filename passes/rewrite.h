// The rewrite engine: named rules, one driver.
//
// A Rule is a pattern, and either the pattern it becomes or a function that builds it, or declines. Its laws, which the driver
// checks each time one fires:
//  * the type is unchanged;
//  * what is new weighs less than what was matched (fewer nodes, or cheaper ones), so that rewriting ends.
// And one that tests check: values keep their bits (NaN payloads apart), unless the rule is marked fast_math.
//
// The driver rebuilds the graph bottom-up. Each node is made from rewritten operands, put in canonical order (splats to the right
// of a commutative op, else the operand made first) and offered to the rules of its op; what a rule builds is made the same way.
// So one walk reaches the fixed point, a memo by node keeps it linear, and equal nodes meet. Nothing recurses over the graph.
#pragma once

#include <array>
#include <functional>
#include <initializer_list>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "ir/graph.h"
#include "passes/pattern.h"

namespace braze::passes {

class Rewriter;

// The literal that all elements of `value` equal, if they do.
std::optional<ir::Literal> splat(const ir::Graph& graph, ir::Value value);

// What a rule's right side sees: the slots' values, and means to build.
class Match {
 public:
  Match(Rewriter& rewriter, ir::Value root) : root(root), rewriter_(rewriter) {}

  const ir::Graph& graph() const;
  ir::Value operator[](int slot) const { return bindings.values[static_cast<std::size_t>(slot)]; }
  const ir::Literal& constant(int slot) const { return bindings.literals[static_cast<std::size_t>(slot)]; }
  const ir::Type& type(ir::Value v) const { return graph().type(v); }
  const ir::Type& type() const { return type(root); }
  DType dtype() const { return type(root).dtype; }
  // The n-th operand of a value's node.
  ir::Value in(ir::Value v, std::size_t n = 0) const { return graph().node(v).in[n]; }
  template <class A>
  const A& as(ir::Value v) const {
    return graph().node(v).as<A>();
  }

  // A pattern of elementwise ops; numbers and literals in it get the root's type and shape.
  ir::Value build(const Pattern& pattern) const;
  // An op on values; a literal in all elements of a shape.
  ir::Value make(ir::Op op, std::initializer_list<ir::Value> in, ir::Attributes attributes = ir::None{}) const;
  ir::Value splat(const ir::Literal& literal, const ir::Shape& shape) const;

  const ir::Value root;
  struct Slots {
    std::array<ir::Value, 4> values{};
    std::array<ir::Literal, 4> literals{};
    std::uint32_t bound = 0, bound_literals = 0;
    int weight = 0;  // of what the pattern's ops and numbers matched
  } bindings;

 private:
  Rewriter& rewriter_;
};

using Condition = bool (*)(const Match&);
using Replacement = std::function<std::optional<ir::Value>(const Match&)>;
enum class Bits : std::uint8_t { kept, fast_math };

struct Rule {
  Rule(std::string_view name, Pattern pattern, Pattern becomes, Condition when = nullptr, Bits bits = Bits::kept);
  template <class F>
    requires std::is_invocable_r_v<std::optional<ir::Value>, F, const Match&>
  Rule(std::string_view name, Pattern pattern, F becomes, Bits bits = Bits::kept)
      : name(name), pattern(std::move(pattern)), becomes(std::move(becomes)), bits(bits) {}

  std::string_view name;
  Pattern pattern;
  Replacement becomes;
  Bits bits;
};

class RuleSet {
 public:
  explicit RuleSet(std::vector<Rule> rules);
  std::span<const Rule> rules() const { return rules_; }
  std::span<const std::uint32_t> of(ir::Op op) const { return buckets_[static_cast<std::size_t>(op)]; }

 private:
  std::vector<Rule> rules_;
  std::vector<std::vector<std::uint32_t>> buckets_;  // by root op, in the order of the rules
};

// How much a node weighs in the law above: by ir::cost where the op is elementwise.
int weight(const ir::Graph& graph, const ir::Node& node);

// Called as a rule fires: its name and the place of the op that it replaced.
using Fired = std::function<void(std::string_view rule, const ir::Location&)>;

// A graph with the same parameters, symbols and name, whose results are the rewritten ones; dead nodes may remain.
ir::Graph rewrite(const ir::Graph& graph, const RuleSet& rules, bool fast_math = false, const Fired& fired = {});

// The rules of simplify (elementwise in simplify.cpp, the others in simplify_shapes.cpp), for tests and for skipping by name.
const RuleSet& simplify_rules();
std::vector<Rule> shape_rules();

}  // namespace braze::passes
