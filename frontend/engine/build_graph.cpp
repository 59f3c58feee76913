#include <algorithm>
#include <array>
#include <numeric>
#include <unordered_map>

#include "frontend/engine/attributes_walk.h"
#include "frontend/engine/engine.h"
#include "ir/error.h"

namespace braze::engine {

namespace {

// Union-find over the walk's numbers; a class may also be a known number.
class Extents final : public ir::Equality {
 public:
  explicit Extents(std::size_t symbols) : parent_(symbols), value_(symbols, ir::Extent::symbol(0)) {
    std::iota(parent_.begin(), parent_.end(), 0u);
  }

  ir::Extent resolve(ir::Extent e) {
    if (!e.is_symbol()) return e;
    const std::uint32_t root = find(e.symbol());
    return value_[root].is_number() ? value_[root] : ir::Extent::symbol(root);
  }

  // Recording has checked the integers, so a demand is a fact.
  bool equal(ir::Extent a, ir::Extent b) override {
    a = resolve(a);
    b = resolve(b);
    if (a == b) return true;
    if (!a.is_symbol() && !b.is_symbol()) return false;
    if (!a.is_symbol()) std::swap(a, b);
    if (!b.is_symbol()) {
      value_[a.symbol()] = b;
    } else {
      const auto [first, second] = std::minmax({a.symbol(), b.symbol()});
      parent_[second] = first;
    }
    return true;
  }

 private:
  std::uint32_t find(std::uint32_t i) {
    while (parent_[i] != i) i = parent_[i] = parent_[parent_[i]];
    return i;
  }
  std::vector<std::uint32_t> parent_;
  std::vector<ir::Extent> value_;
};

// Hands out the walk's numbers as symbols, in the order in which the walk wrote them.
struct SymbolVisitor {
  std::uint32_t& next;
  Extents& extents;
  std::span<const ir::Type* const> operands;

  void structure(std::uint64_t) {}
  ir::Extent number(std::int64_t) { return ir::Extent::symbol(next++); }
  void is_one(std::size_t axis, std::size_t operand = 0) { extents.equal(operands[operand]->shape[axis], 1); }
  ir::Extent same_as(std::size_t axis, std::int64_t) { return operands[0]->shape[axis]; }
};

class GraphBuilder {
 public:
  explicit GraphBuilder(const Walk& walk) : walk_(walk), extents_(walk.numbers.size()) {}

  WalkedGraph build() {
    infer_all();
    emit_all();
    return std::move(out_);
  }

 private:
  // First pass: types over one symbol a number, collecting which are equal.
  void infer_all() {
    types_.resize(walk_.nodes.size());
    attributes_.resize(walk_.nodes.size());
    for (std::size_t i = 0; i < walk_.nodes.size(); ++i) {
      const Node& node = *walk_.nodes[i];
      ir::Type type{node.types[0]->dtype, {}};
      switch (walk_.kinds[i]) {
        case Walk::Kind::leaf:
        case Walk::Kind::donated:
          for (unsigned r = 0; r < node.result_count; ++r) {
            types_[i][r].dtype = node.types[r]->dtype;
            for (std::size_t axis = 0; axis < node.types[r]->shape.size(); ++axis)
              types_[i][r].shape.push_back(ir::Extent::symbol(next_++));
          }
          break;
        case Walk::Kind::scalar:
        case Walk::Kind::constant:
          types_[i][0] = std::move(type);
          break;
        case Walk::Kind::operation:
          infer_operation(node, i);
          break;
      }
    }
    invariant(next_ == walk_.numbers.size(), "the walk wrote {} numbers, the graph read {}", walk_.numbers.size(), next_);
  }

  // The walk's operands of the next operation; each pass takes them in order.
  std::span<const std::uint32_t> next_operands(const Node& node) {
    const std::span<const std::uint32_t> operands = std::span(walk_.operands).subspan(next_operand_, node.operand_count);
    next_operand_ += node.operand_count;
    return operands;
  }

  std::uint32_t next_twin() { return walk_.twins[next_operation_++]; }

  const ir::Type& resolved_type(std::uint32_t operand) {
    ir::Type& type = types_[Walk::node_of(operand)][Walk::result_of(operand)];
    for (ir::Extent& e : type.shape) e = extents_.resolve(e);
    return type;
  }

  void infer_operation(const Node& node, std::size_t i) {
    const std::span<const std::uint32_t> operands = next_operands(node);
    std::vector<const ir::Type*> in;
    for (const std::uint32_t operand : operands) in.push_back(&resolved_type(operand));
    if (const std::uint32_t twin = next_twin(); twin != i) {
      types_[i] = types_[twin];
      return;
    }
    SymbolVisitor visitor{next_, extents_, in};
    attributes_[i] = describe(node, visitor);
    // Describing may have found axes of one element.
    for (const std::uint32_t operand : operands) resolved_type(operand);
    ir::infer(node.op, attributes_[i], in, {types_[i].data(), node.result_count}, extents_);
  }

  // Second pass: the graph, over one symbol a class.
  void emit_all() {
    out_.graph.name = "main";
    next_operand_ = next_operation_ = 0;
    values_.resize(walk_.nodes.size());
    for (std::size_t i = 0; i < walk_.nodes.size(); ++i) {
      const Node& node = *walk_.nodes[i];
      switch (walk_.kinds[i]) {
        case Walk::Kind::leaf:
        case Walk::Kind::donated: {
          const auto kind = walk_.kinds[i] == Walk::Kind::leaf ? ir::Parameter::Kind::buffer : ir::Parameter::Kind::donated;
          for (unsigned r = 0; r < node.result_count; ++r) values_[i][r] = parameter(i, r, kind);
          break;
        }
        case Walk::Kind::scalar:
          values_[i][0] = parameter(i, 0, ir::Parameter::Kind::scalar);
          break;
        case Walk::Kind::constant:
          values_[i][0] = {out_.graph.add(ir::Op::constant, {}, ir::Literal{node.types[0]->dtype, node.bits}, node.location()), 0};
          break;
        case Walk::Kind::operation: {
          std::vector<ir::Value> in;
          for (const std::uint32_t operand : next_operands(node))
            in.push_back(values_[Walk::node_of(operand)][Walk::result_of(operand)]);
          if (const std::uint32_t twin = next_twin(); twin != i) {
            values_[i] = values_[twin];
            break;
          }
          ir::for_each_extent(attributes_[i], [&](ir::Extent& e) { e = final_extent(e); });
          const ir::NodeId id = out_.graph.add(node.op, in, std::move(attributes_[i]), node.location());
          for (unsigned r = 0; r < node.result_count; ++r) values_[i][r] = {id, r};
          break;
        }
      }
    }
    for (const std::uint32_t output : walk_.output_numbers)
      out_.graph.results.push_back(values_[Walk::node_of(output)][Walk::result_of(output)]);
  }

  ir::Value parameter(std::size_t i, unsigned result, ir::Parameter::Kind kind) {
    ir::Type type = std::move(types_[i][result]);
    for (ir::Extent& e : type.shape) e = final_extent(e);
    return out_.graph.parameter(std::move(type), kind);
  }

  ir::Extent final_extent(ir::Extent e) {
    e = extents_.resolve(e);
    if (!e.is_symbol()) return e;
    const auto [found, fresh] = renamed_.try_emplace(e.symbol());
    if (fresh) {
      static constexpr const char* letters[] = {"n", "m", "k", "p", "q"};
      const std::size_t number = out_.sources.size();
      found->second = out_.graph.new_symbol(number < std::size(letters) ? letters[number] : fmt::format("s{}", number));
      out_.sources.push_back(e.symbol());
    }
    return found->second;
  }

  const Walk& walk_;
  Extents extents_;
  std::uint32_t next_ = 0;                             // number of the walk
  std::size_t next_operand_ = 0, next_operation_ = 0;  // of the walk's operands and twins
  std::vector<std::array<ir::Type, ir::max_results>> types_;
  std::vector<ir::Attributes> attributes_;
  std::vector<std::array<ir::Value, ir::max_results>> values_;
  std::unordered_map<std::uint32_t, ir::Extent> renamed_;
  WalkedGraph out_;
};

}  // namespace

WalkedGraph build_graph(const Walk& walk) { return GraphBuilder(walk).build(); }

}  // namespace braze::engine
