#include "passes/groups.h"

#include <algorithm>
#include <unordered_set>
#include <vector>

#include "passes/affine.h"
#include "passes/factor_reduction.h"
#include "passes/nest.h"

namespace braze::passes {

using ir::Node;
using ir::NodeId;
using ir::Op;
using ir::Value;

namespace {

// The axes of a reduction, without those of extent 1.
struct Rows {
  std::vector<ir::IndexId> extents;
  std::vector<bool> reduced;
  bool last;  // the operand's last axis is reduced
  friend bool operator==(const Rows&, const Rows&) = default;
};

class GroupChecker {
 public:
  explicit GroupChecker(const Module& module) : module_(module), graph_(module.graph), extents_(graph_, index_) {}

  void run() {
    for (const Group& group : module_.groups)
      for (const NodeId node : group.nodes)
        group_law(node < graph_.size(), "kernel {} has node {}, the graph has {}", group.name, node, graph_.size());
    for (const Value parameter : graph_.parameters())
      if (!is_immediate(graph_.node(parameter))) in_memory_.insert(key(parameter));
    for (const Group& group : module_.groups) {
      inside_ = {group.nodes.begin(), group.nodes.end()};
      check_reads(group);
      check_outputs(group);
      check_domain(group);
      for (const Value output : group.outputs) in_memory_.insert(key(output));
    }
    for (const Value result : graph_.results)
      group_law(is_in_memory(result), "the result {} is put out by no kernel", describe(result));
  }

 private:
  // Texts have names of their own, so a value is what it is: "exp : f32[n]", "%x".
  std::string describe(Value value) const {
    const Node& node = graph_.node(value);
    if (node.op == Op::parameter) return fmt::format("%{}", graph_.parameter_name(node.as<ir::Parameter>().number));
    return fmt::format("{} : {}", ir::name(node.op), ir::text(graph_.type(value), graph_.symbols));
  }
  static std::uint64_t key(Value value) { return std::uint64_t{value.node} << 32 | value.result; }
  bool is_in_memory(Value value) const { return in_memory_.contains(key(stored_value(graph_, value))); }

  void check_reads(const Group& group) const {
    for (const NodeId id : group.nodes) {
      const Node& node = graph_[id];
      for (std::size_t i = 0; i < node.in.size(); ++i) {
        const Value in = node.in[i];
        if (reads_whole(node, i) && !(ir::info(node.op).routine() && is_immediate(graph_.node(in))))
          group_law(is_in_memory(in), "kernel {}: {} {} ({}), which must be in memory before: an earlier kernel must put it out",
                    group.name, ir::name(node.op), is_write(node.op) ? "writes over" : "takes from", describe(in));
        else
          group_law(inside_.contains(in.node) || is_immediate(graph_.node(in)) || is_in_memory(in),
                    "kernel {}: {} reads ({}), which is neither in the kernel nor put out by an earlier one", group.name,
                    ir::name(node.op), describe(in));
      }
    }
  }

  void check_outputs(const Group& group) const {
    std::unordered_set<NodeId> needed;
    for (const Value output : group.outputs) {
      group_law(inside_.contains(output.node) || is_immediate(graph_.node(output)),
                "kernel {} puts out ({}), which it does not compute", group.name, describe(output));
      group_law(stored_value(graph_, output) == output, "kernel {} puts out ({}): put out what it reshapes, whose elements it has",
                group.name, describe(output));
      needed.insert(output.node);
    }
    for (std::size_t i = group.nodes.size(); i-- > 0;) {
      const Node& node = graph_[group.nodes[i]];
      group_law(needed.contains(group.nodes[i]), "kernel {} computes ({}), which nothing that it puts out needs", group.name,
                describe({group.nodes[i], 0}));
      for (const Value in : node.in) needed.insert(in.node);
    }
  }

  void check_domain(const Group& group) const {
    const Node *dot = nullptr, *reduction = nullptr, *alone = nullptr;
    std::optional<NodeId> product;
    for (const NodeId id : group.nodes)
      if (graph_[id].op == Op::dot) product = id;
    for (const NodeId id : group.nodes) {
      const Node& node = graph_[id];
      if (node.op == Op::dot) {
        group_law(dot == nullptr, "kernel {} holds more than one dot", group.name);
        dot = &node;
      }
      if (node.op == Op::accumulate || node.op == Op::put) alone = &node;
      const bool only = group.nodes.size() == 1 &&
                        std::all_of(group.outputs.begin(), group.outputs.end(), [&](Value output) { return output.node == id; });
      group_law(!ir::info(node.op).routine() || only, "kernel {}: {} is a routine, which stands alone", group.name,
                ir::name(node.op));
      if (!ir::info(node.op).reduction()) continue;
      group_law(!is_mixed(node), "kernel {}: {} reduces axes that do not stand together: reduce the last ones first", group.name,
                ir::name(node.op));
      const bool beside = product && factor_reduction(graph_, extents_, *product, id);
      group_law(!product || beside, "kernel {} holds a dot and a reduction that is of no factor of it, over what the dot sums",
                group.name);
      group_law(beside || reduction == nullptr || rows_of(node) == rows_of(*reduction), "kernel {}: {} and {} reduce other axes",
                group.name, ir::name(reduction == nullptr ? node.op : reduction->op), ir::name(node.op));
      reduction = &node;
    }
    if (group.outputs.size() == 1 && graph_.node(group.outputs[0]).op == Op::concat) alone = &graph_.node(group.outputs[0]);
    if (alone == nullptr) return;
    group_law(dot == nullptr && reduction == nullptr, "kernel {} holds {} and a reduction or a dot", group.name,
              ir::name(alone->op));
    group_law(group.outputs.size() == 1 && &graph_.node(group.outputs[0]) == alone, "kernel {}: {} must be all that it puts out",
              group.name, ir::name(alone->op));
  }

  Rows rows_of(const Node& node) const {
    const ir::Shape& shape = graph_.type(node.in[0]).shape;
    const std::uint64_t mask = node.as<ir::Reduced>().mask;
    Rows rows{{}, {}, shape.empty() || (mask >> (shape.size() - 1) & 1)};
    for (std::size_t i = 0; i < shape.size(); ++i) {
      if (extents_.is_one(shape[i])) continue;
      rows.extents.push_back(extents_.of(shape[i]));
      rows.reduced.push_back(mask >> i & 1);
    }
    return rows;
  }

  const Module& module_;
  const ir::Graph& graph_;
  ir::IndexTable index_;
  const Extents extents_;
  std::unordered_set<std::uint64_t> in_memory_;
  std::unordered_set<NodeId> inside_;
};

}  // namespace

void refuse(const Module& module, const BadGroup& bad) {
  if (module.groups_from_text) fail<ValueError>("{}", bad.why);
  internal_failure(bad.why, std::source_location::current());
}

void check_groups(const Module& module) {
  try {
    GroupChecker(module).run();
  } catch (const BadGroup& bad) {
    refuse(module, bad);
  }
}

}  // namespace braze::passes
