#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "ir/meaning.h"
#include "passes/factor_reduction.h"
#include "passes/fuser.h"

namespace braze::passes::fusion {

using ir::Node;
using ir::NodeId;
using ir::Op;
using ir::Value;

// What a value costs an element, by itself.
int Fuser::cost_of(NodeId id) const {
  constexpr int pad_cost = 4;  // comparisons along each axis, and a select: dearer than reading it from memory many times
  const Node& node = graph_[id];
  if (node.op == Op::pad) return pad_cost;
  return ir::info(node.op).elementwise() && node.op != Op::cast ? ir::cost(node.op, graph_.type(node.in.back()).dtype) : 2;
}

// What computing a value once more takes.
Fuser::Again Fuser::again(NodeId id) {
  Again result;
  std::vector<NodeId> pending{id};
  std::set<NodeId> seen{id};
  constexpr std::size_t most = 24;
  const auto read = [&](NodeId at) { result.reads.push_back(at); };
  while (!pending.empty()) {
    const NodeId at = pending.back();
    pending.pop_back();
    if (fill_[at]) continue;
    const Node& node = graph_[at];
    const bool computed =
        role_[at] == Role::member && (at == id || !kept_[at]) && (ir::info(node.op).elementwise() || node.op == Op::pad);
    if (!computed && role_[at] == Role::member) {
      if (at == id) result.movable = false;
      read(at);
      if (!kept_[at]) result.keeps.push_back(at);
      continue;
    }
    if (role_[at] == Role::leaf) {
      read(at);
      continue;
    }
    // What is one a row is small: in memory, nobody computes it for each element.
    if (row_[at] && !row_[id] && role_[at] == Role::member) {
      read(at);
      if (!kept_[at]) result.keeps.push_back(at);
      continue;
    }
    if (computed) {
      result.cost += cost_of(at);
      ++result.nodes;
      result.computed.push_back(at);
      if (result.nodes > most) result.movable = false;
    }
    if (!result.movable) break;
    for (const Value in : node.in)
      if (seen.insert(in.node).second) pending.push_back(in.node);
  }
  std::sort(result.reads.begin(), result.reads.end());
  return result;
}

// Whether a kernel that reduces rows would compute the value once for each, before it goes along the row.
bool Fuser::once_a_row(NodeId id, std::uint32_t cluster) const {
  const Domain& domain = clusters_[cluster].domain;
  return domain.reduces && domain.order == ReduceOrder::inner && !domain.rows().empty() &&
         squeezed(graph_[id].out[0].shape) == domain.rows();
}

// Whether a value has fewer axes than another, as what is one a row has, or a bias; and not as many elements, as what was reshaped has.
bool Fuser::is_small(NodeId id, NodeId beside) const {
  const ir::Shape &own = graph_[id].out[0].shape, &other = graph_[beside].out[0].shape;
  if (squeezed(own).size() >= squeezed(other).size()) return false;
  if (options_.sizes.size() != graph_.symbols.size()) return true;
  const auto elements = [&](const ir::Shape& shape) {
    std::int64_t product = 1;
    for (const ir::Extent e : shape) product *= e.is_number() ? e.number() : options_.sizes[e.symbol()];
    return product;
  };
  return elements(own) != elements(other);
}

// Decides for each value that another group reads: memory, or again there. Operands come first, so that what is computed again
// reads what is decided already.
void Fuser::recompute() {
  struct Use {
    std::uint32_t cluster;
    NodeId reader;
    Relation::Kind kind;
  };
  std::vector<std::vector<Use>> uses(graph_.size());
  for (const NodeId id : order_) {
    if (role_[id] != Role::member) continue;
    const std::uint32_t own = find(cluster_of_[id]);
    for (const Operand& operand : operands(id)) {
      const NodeId base = operand.base.node;
      if (role_[base] == Role::member) uses[base].push_back({own, id, operand.relation.kind});
    }
  }
  // What of a value's own computing its group does anyway, for others that read it there.
  const auto computed_twice = [&](NodeId id, const Again& cost) {
    const std::uint32_t own = find(cluster_of_[id]);
    const std::set<NodeId> inside(cost.computed.begin(), cost.computed.end());
    std::vector<NodeId> pending;
    for (const NodeId at : cost.computed)
      if (at != id && std::any_of(uses[at].begin(), uses[at].end(),
                                  [&](const Use& use) { return use.cluster == own && !inside.contains(use.reader); }))
        pending.push_back(at);
    std::set<NodeId> seen(pending.begin(), pending.end());
    int total = 0;
    while (!pending.empty()) {
      const NodeId at = pending.back();
      pending.pop_back();
      if (inside.contains(at)) total += cost_of(at);
      for (const Value in : graph_[at].in)
        if (role_[in.node] != Role::leaf && (inside.contains(in.node) || role_[in.node] != Role::member) &&
            seen.insert(in.node).second)
          pending.push_back(in.node);
    }
    return total;
  };
  for (const NodeId id : order_) {
    if (role_[id] != Role::member || kept_[id] || uses[id].empty()) continue;
    const std::uint32_t own = find(cluster_of_[id]);
    std::set<std::uint32_t> users;
    std::size_t outside = 0;
    bool spread = false, into_dot = false;
    NodeId reader = none;
    for (const Use& use : uses[id]) {
      // A place other than the group's own point is one more computation there, too.
      users.insert(use.cluster);
      if (use.cluster == own) continue;
      ++outside;
      reader = use.reader;
      spread = spread || use.kind == Relation::Kind::spread || (use.kind == Relation::Kind::row && !once_a_row(id, use.cluster));
      into_dot = into_dot || graph_[use.reader].op == Op::dot;
    }
    if (outside == 0) continue;
    if (!options_.fuse) {
      kept_[id] = true;
      continue;
    }
    const Again cost = again(id);
    std::string why;
    const auto large = static_cast<std::size_t>(
        std::count_if(cost.reads.begin(), cost.reads.end(), [&](NodeId read) { return !is_small(read, id); }));
    const std::size_t again_read = into_dot ? cost.reads.size() : large;  // a dot reads its factors many times, small ones too
    const std::size_t repeats = (std::max<std::size_t>(again_read, 1) - 1) * (users.size() - 1);
    const Domain& home = clusters_[own].domain;
    if (row_[id] && (home.reduces || home.contracts) && !cost.keeps.empty()) {
      why = "what follows a reduction is stored once a row";
    } else if (!cost.movable) {
      why = fmt::format("{} is not computed twice", ir::name(graph_[id].op));
    } else if (into_dot && cost.cost > trivial) {
      why = "a dot reads each factor many times";
    } else if (spread && cost.cost > trivial) {
      why = fmt::format("costs {} and is read many times", cost.cost);
    } else if (users.size() > 1 && cost.cost > cheap) {
      why = fmt::format("costs {} and {} kernels use it", cost.cost, users.size());
    } else if (users.size() > 1 && repeats >= 2) {
      why = fmt::format("{} kernels would read {} buffers again", users.size(), cost.reads.size());
    } else if (outside > 1 && cost.cost > cheap) {
      why = fmt::format("costs {} and is read at {} places", cost.cost, outside);
    } else if (const int twice = computed_twice(id, cost); twice > cheap) {
      why = fmt::format("costs {} that its own kernel computes anyway", twice);
    }
    // The caps of those who would take it in.
    for (const std::uint32_t user : users) {
      if (!why.empty() || user == own) continue;
      const Cluster& c = clusters_[user];
      if (c.nodes.size() + cost.nodes > static_cast<std::size_t>(options_.group_nodes) ||
          c.reads.size() + cost.reads.size() + 2 > static_cast<std::size_t>(options_.group_buffers))
        why = "the kernel that reads it is full";
      // What is added is computed where it is added, unless that reads what it is added to.
      const Node& first = graph_[c.nodes[0]];
      const bool serial = first.op == Op::accumulate || first.op == Op::put;
      if (serial && (first.op == Op::put || users.size() > 1 || outside > 1 ||
                     std::ranges::binary_search(cost.reads, stored_value(graph_, first.in[0]).node)))
        why = "an accumulation runs alone, in index order";
    }
    if (!why.empty()) {
      kept_[id] = true;
      note(id, reader, std::move(why));
      continue;
    }
    again_[id] = true;
    for (const NodeId kept : cost.keeps) kept_[kept] = true;
    for (const std::uint32_t user : users) {
      if (user == own) continue;
      Cluster& c = clusters_[user];
      // Nodes are counted by placing them; what is read is read from memory that exists before.
      std::vector<NodeId> reads;
      std::erase(c.reads, id);
      std::set_union(c.reads.begin(), c.reads.end(), cost.reads.begin(), cost.reads.end(), std::back_inserter(reads));
      c.reads = std::move(reads);
      for (const NodeId read : cost.reads) {
        if (cluster_of_[read] == none) continue;
        const std::uint32_t other = find(cluster_of_[read]);
        if (other == user) continue;
        c.needs.push_back(other);
        clusters_[other].users.push_back(user);
      }
    }
  }
}

// Whether the group, all of it reductions of what a factor of the dot is, over k, and what follows from them, becomes part of the dot's
// kernel. A GPU's kernel would need a block for them.
bool Fuser::joins_dot(std::uint32_t dot, std::uint32_t other) {
  const Cluster &a = clusters_[dot], &b = clusters_[other];
  if (!std::holds_alternative<ir::CpuTarget>(options_.target) || !a.domain.contracts || !b.domain.reduces) return false;
  if (b.domain.contracts || b.domain.rows().size() != 1) return false;
  const NodeId product = *std::ranges::find_if(a.nodes, [&](NodeId id) { return graph_[id].op == Op::dot; });
  std::optional<FactorReduction> found;
  NodeId factor = none;
  for (const NodeId id : b.nodes) {
    const Node& node = graph_[id];
    if (!ir::info(node.op).reduction()) {
      if (!row_[id] || !ir::info(node.op).elementwise()) return false;
      continue;
    }
    const auto own = factor_reduction(graph_, extents_, product, id);
    if (!own || (found && own->left != found->left)) return false;
    found = own;
    factor = stored_value(graph_, node.in[0]).node;
  }
  if (!found || (role_[factor] != Role::leaf && !kept_[factor])) return false;
  // What both read one of them may write over, once the other no longer needs it.
  for (const NodeId read : b.reads)
    if (read != factor && std::ranges::binary_search(a.reads, read)) return false;
  if (a.nodes.size() + b.nodes.size() > static_cast<std::size_t>(options_.group_nodes)) return false;
  if (a.reads.size() + b.reads.size() + 2 > static_cast<std::size_t>(options_.group_buffers)) return false;
  if (depends(dot, other) || depends(other, dot)) return false;
  const std::uint32_t level = std::max(a.level, b.level);
  if (!raise(dot, level) || !raise(other, level)) return false;
  absorb(dot, other, true);
  return true;
}

// Groups over one domain that read the same memory, and what a dot's kernel does beside it.
void Fuser::siblings() {
  std::map<NodeId, std::vector<std::uint32_t>> readers;
  constexpr std::size_t most_tried = 4;
  for (std::uint32_t i = 0; i < clusters_.size(); ++i) {
    if (clusters_[i].parent != i) continue;
    const std::vector<NodeId> reads = clusters_[i].reads;
    std::uint32_t own = i;
    for (const NodeId read : reads) {
      std::vector<std::uint32_t>& others = readers[read];
      for (std::size_t back = 1; back <= std::min(others.size(), most_tried); ++back) {
        const std::uint32_t other = find(others[others.size() - back]);
        own = find(own);
        if (other == own || joins_dot(own, other) || joins_dot(other, own)) continue;
        if (clusters_[other].domain.extents != clusters_[own].domain.extents) continue;
        if (clusters_[other].domain.contracts || clusters_[own].domain.contracts) continue;
        if (depends(own, other) || depends(other, own)) continue;  // why they are apart is noted already
        std::string why;
        if (!try_merge(other, own, why)) note(clusters_[other].nodes.back(), clusters_[own].nodes.back(), why);
      }
      others.push_back(i);
    }
  }
}

}  // namespace braze::passes::fusion
