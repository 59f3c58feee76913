#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "ir/meaning.h"
#include "passes/fuser.h"

namespace braze::passes::fusion {

using ir::IndexId;
using ir::Node;
using ir::NodeId;
using ir::Op;
using ir::Shape;
using ir::Value;

std::uint32_t Fuser::find(std::uint32_t cluster) {
  while (clusters_[cluster].parent != cluster) cluster = clusters_[cluster].parent = clusters_[clusters_[cluster].parent].parent;
  return cluster;
}

void Fuser::note(NodeId producer, NodeId consumer, std::string why) { notes_.push_back({producer, consumer, std::move(why)}); }

// Whether a path of needs leads from `from` to `to`. Past the cap: yes.
bool Fuser::depends(std::uint32_t from, std::uint32_t to) {
  std::vector<std::uint32_t> pending{from};
  std::set<std::uint32_t> seen;
  while (!pending.empty()) {
    const std::uint32_t at = pending.back();
    pending.pop_back();
    for (const std::uint32_t need : clusters_[at].needs) {
      const std::uint32_t n = find(need);
      if (n == to) return true;
      // What `to` precedes has a greater level.
      if (clusters_[n].level > clusters_[to].level && seen.insert(n).second) pending.push_back(n);
    }
    if (seen.size() > search_cap) return true;
  }
  return false;
}

// Gives the cluster at least this level and its users greater ones; false, with nothing changed, if that would touch too many.
bool Fuser::raise(std::uint32_t cluster, std::uint32_t level) {
  std::map<std::uint32_t, std::uint32_t> raised;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> pending{{cluster, level}};
  while (!pending.empty()) {
    const auto [at, wanted] = pending.back();
    pending.pop_back();
    if (clusters_[at].level >= wanted) continue;
    std::uint32_t& now = raised[at];
    if (now >= wanted) continue;
    now = wanted;
    if (raised.size() > search_cap || clusters_[at].users.size() > search_cap) return false;
    for (const std::uint32_t user : clusters_[at].users)
      if (find(user) != at) pending.emplace_back(find(user), wanted + 1);
  }
  for (const auto& [at, wanted] : raised) clusters_[at].level = wanted;
  return true;
}

// Empty if the two domains make one; rows_only: `other` becomes part of the rows of `into`.
std::string Fuser::merge_domains(std::uint32_t into, std::uint32_t other, bool& rows_only) {
  const Domain &a = clusters_[into].domain, &b = clusters_[other].domain;
  rows_only = false;
  if (a.serial || b.serial) return "an accumulation, a concat or a routine runs alone";
  if (a.contracts && b.contracts) return "a kernel holds one dot";
  if (a.extents == b.extents && !a.contracts && !b.contracts) {
    if (!a.reduces || !b.reduces) return {};
    if (a.reduced == b.reduced && a.order == b.order) return {};
    return "they reduce other axes";
  }
  if (!b.reduces && !b.contracts && ((a.contracts && a.extents == b.extents) || (a.reduces && a.rows() == b.extents))) {
    rows_only = true;
    return {};
  }
  return "their shapes differ";
}

void Fuser::absorb(std::uint32_t into, std::uint32_t other, bool as_rows) {
  Cluster &a = clusters_[into], &b = clusters_[other];
  if (as_rows)
    for (const NodeId id : b.nodes) row_[id] = true;
  if (!as_rows && b.domain.reduces) a.domain = b.domain;
  a.nodes.insert(a.nodes.end(), b.nodes.begin(), b.nodes.end());
  a.needs.insert(a.needs.end(), b.needs.begin(), b.needs.end());
  a.users.insert(a.users.end(), b.users.begin(), b.users.end());
  std::vector<NodeId> reads;
  std::set_union(a.reads.begin(), a.reads.end(), b.reads.begin(), b.reads.end(), std::back_inserter(reads));
  b.parent = into;
  std::erase_if(reads, [&](NodeId id) { return cluster_of_[id] != none && find(cluster_of_[id]) == into; });
  a.reads = std::move(reads);
  b.nodes.clear();
  b.needs.clear();
  b.users.clear();
  b.reads.clear();
}

bool Fuser::try_merge(std::uint32_t a, std::uint32_t b, std::string& why) {
  bool rows_only = false;
  why = merge_domains(a, b, rows_only);
  if (!why.empty()) {
    bool other_way = false;
    if (!merge_domains(b, a, other_way).empty()) return false;
    std::swap(a, b);
    rows_only = other_way;
  }
  const Cluster &x = clusters_[a], &y = clusters_[b];
  if (x.nodes.size() + y.nodes.size() > static_cast<std::size_t>(options_.group_nodes)) {
    why = fmt::format("one kernel would hold {} nodes", x.nodes.size() + y.nodes.size());
    return false;
  }
  if (x.reads.size() + y.reads.size() + 2 > static_cast<std::size_t>(options_.group_buffers)) {
    why = fmt::format("one kernel would read {} buffers", x.reads.size() + y.reads.size());
    return false;
  }
  // A direct need is one that did not fit.
  if (depends(a, b) || depends(b, a)) {
    why = "one needs the other, but not at the same elements";
    return false;
  }
  const std::uint32_t level = std::max(x.level, y.level);
  if (!raise(a, level) || !raise(b, level)) {
    why = "too many kernels depend on them to prove that none lies between";
    return false;
  }
  absorb(a, b, rows_only);
  return true;
}

// The operand's cluster if the node can stand in it.
std::optional<std::uint32_t> Fuser::fits(NodeId id, const Operand& operand, std::string& why) {
  const NodeId base = operand.base.node;
  const std::uint32_t cluster = find(cluster_of_[base]);
  const Domain& domain = clusters_[cluster].domain;
  const Node& node = graph_[id];
  const bool reduces = ir::info(node.op).reduction();
  if (is_write(graph_[base].op) || ir::info(graph_[base].op).routine()) {
    why = "what is stored is read from memory";
    return std::nullopt;
  }
  if (ir::info(node.op).routine()) {
    why = fmt::format("{} is a routine, which reads memory", ir::name(node.op));
    return std::nullopt;
  }
  if (graph_[base].op == Op::concat || node.op == Op::concat) {
    why = "a concat is written part by part";
    return std::nullopt;
  }
  if (node.op == Op::accumulate || node.op == Op::put) {
    why = "an accumulation runs alone, in index order";
    return std::nullopt;
  }
  if (operand.storage) {
    why = node.op == Op::take ? "what it takes from must be in memory before" : "what it writes over must be in memory before";
    return std::nullopt;
  }
  if (operand.relation.kind == Relation::Kind::same) {
    if (!reduces) return cluster;
    const Domain own = domain_of(id);
    if (row_[base]) {
      why = "it reduces what the kernel has one of a row";
    } else if (domain.reduces && (domain.reduced != own.reduced || domain.order != own.order)) {
      why = "they reduce other axes";
    } else {
      return cluster;
    }
    return std::nullopt;
  }
  if (operand.relation.kind != Relation::Kind::row || !row_[base] || domain.contracts) {
    why = operand.relation.kind == Relation::Kind::row ? "it is read once a row" : "its elements are read at other places";
    return std::nullopt;
  }
  std::vector<IndexId> rows;
  std::size_t at = 0;
  const Shape& shape = point(id);
  bool same_rows = squeezed(shape) == domain.extents;
  for (std::size_t i = 0, axis = 0; same_rows && i < shape.size(); ++i) {
    if (extents_.is_one(shape[i])) continue;
    const bool has = at < operand.relation.axes.size() && operand.relation.axes[at] == i;
    if (has) ++at;
    same_rows = has == !domain.reduced[axis++];
  }
  if (!same_rows) {
    why = "its rows are others than those reduced";
  } else if (domain.order == ReduceOrder::outer) {
    why = "a column would be read twice, far apart";
  } else if (domain.rows().empty()) {
    why = "the whole tensor is one row, which several threads reduce";
  } else if (reduces && domain_of(id).reduced != domain.reduced) {
    why = "they reduce other axes";
  } else {
    return cluster;
  }
  return std::nullopt;
}

void Fuser::join(NodeId id, std::uint32_t cluster, bool row, const std::vector<Operand>& operands) {
  Cluster& c = clusters_[cluster];
  c.nodes.push_back(id);
  cluster_of_[id] = cluster;
  row_[id] = row;
  if (ir::info(graph_[id].op).reduction() && !c.domain.reduces) c.domain = domain_of(id);
  for (const Operand& operand : operands) {
    const NodeId base = operand.base.node;
    if (role_[base] == Role::free || role_[base] == Role::view) continue;  // a view without operands is iota
    const std::uint32_t other = cluster_of_[base] == none ? none : find(cluster_of_[base]);
    if (other == cluster) continue;
    const auto at = std::lower_bound(c.reads.begin(), c.reads.end(), base);
    if (at == c.reads.end() || *at != base) c.reads.insert(at, base);
    if (other == none) continue;
    if (std::find(c.needs.begin(), c.needs.end(), other) == c.needs.end()) {
      c.needs.push_back(other);
      clusters_[other].users.push_back(cluster);
    }
  }
}

// Whether a value of the cluster can be computed at another place, too, in the same kernel.
bool Fuser::again_within(NodeId base, std::uint32_t cluster) {
  std::vector<NodeId> pending{base};
  std::set<NodeId> seen{base};
  int cost = 0;
  while (!pending.empty()) {
    const NodeId at = pending.back();
    pending.pop_back();
    const Node& node = graph_[at];
    if (role_[at] == Role::member && cluster_of_[at] != none && find(cluster_of_[at]) != cluster) continue;
    if (role_[at] == Role::leaf) continue;
    if (role_[at] == Role::member) {
      if (!ir::info(node.op).elementwise()) return false;
      cost += node.op == Op::cast ? 1 : ir::cost(node.op, graph_.type(node.in.back()).dtype);
      if (cost > cheap) return false;
    }
    for (const Value in : node.in)
      if (seen.insert(in.node).second) pending.push_back(in.node);
  }
  return true;
}

// The cluster that the operands' clusters have become, with room for the node, or none: all of those that fit as one, or else one of them.
std::uint32_t Fuser::target_of(NodeId id, const std::vector<Operand>& reads) {
  std::vector<std::uint32_t> fitting;
  std::uint32_t target = none;
  for (const Operand& operand : reads) {
    const NodeId base = operand.base.node;
    if (cluster_of_[base] == none || (target != none && find(cluster_of_[base]) == target)) continue;
    std::string why;
    const auto fit = fits(id, operand, why);
    if (fit) fitting.push_back(*fit);
    if (fit && target == none) {
      target = *fit;
    } else if (fit && try_merge(target, *fit, why)) {
      target = find(target);
    } else {
      note(base, id, std::move(why));
    }
  }
  std::string first;
  for (const std::uint32_t cluster : fitting) {
    const std::string why = refusal(id, find(cluster), reads);
    if (why.empty()) return find(cluster);
    if (first.empty()) first = why;
  }
  if (target != none) note(clusters_[target].nodes.back(), id, first);
  return none;
}

// Why the node cannot stand in the cluster; empty if it can, which then comes after all that the node reads elsewhere.
std::string Fuser::refusal(NodeId id, std::uint32_t target, const std::vector<Operand>& reads) {
  const Cluster& cluster = clusters_[target];
  if (ir::info(graph_[id].op).reduction()) {  // whatever fitted before the operands' clusters became one
    const Domain own = domain_of(id);
    if (cluster.domain.contracts) return "a kernel with a dot reduces nothing else";
    if (own.extents != cluster.domain.extents) return "their shapes differ";
    if (cluster.domain.reduces && (own.reduced != cluster.domain.reduced || own.order != cluster.domain.order))
      return "they reduce other axes";
  }
  std::uint32_t level = 0;
  for (const Operand& operand : reads) {
    const NodeId base = operand.base.node;
    if (cluster_of_[base] == none) continue;
    const std::uint32_t other = find(cluster_of_[base]);
    if (other == target) {
      std::string misfit;
      if (!fits(id, operand, misfit) && (operand.storage || !again_within(base, target))) return misfit;
      continue;
    }
    level = std::max(level, clusters_[other].level + 1);
    if (depends(other, target)) return "a kernel between them needs one and feeds the other";
  }
  if (cluster.nodes.size() + 1 > static_cast<std::size_t>(options_.group_nodes))
    return fmt::format("one kernel would hold {} nodes", cluster.nodes.size() + 1);
  if (cluster.reads.size() + reads.size() + 1 > static_cast<std::size_t>(options_.group_buffers))
    return fmt::format("one kernel would read {} buffers", cluster.reads.size() + reads.size());
  if (!raise(target, level)) return "too many kernels depend on them to prove that none lies between";
  return {};
}

void Fuser::place(NodeId id) {
  std::vector<Operand> reads = operands(id);
  const Node& node = graph_[id];
  for (std::size_t i = 0; i < node.in.size(); ++i)  // the storage's value before
    if (reads_whole(node, i)) reads.push_back({node.in[i], stored_value(graph_, node.in[i]), {Relation::Kind::moved, {}}, true});
  std::uint32_t target = options_.fuse ? target_of(id, reads) : none;
  bool row = ir::info(node.op).reduction() || node.op == Op::dot;
  if (target != none && !row) {
    // Of the row if all that it reads in the group is, at the row itself.
    row = true;
    for (const Operand& operand : reads) {
      const NodeId base = operand.base.node;
      if (cluster_of_[base] == none || find(cluster_of_[base]) != target) continue;
      row = row && row_[base] && operand.relation.kind == Relation::Kind::same;
    }
  }
  if (target == none) {
    target = static_cast<std::uint32_t>(clusters_.size());
    Cluster fresh;
    fresh.domain = domain_of(id);
    for (const Operand& operand : reads)
      if (cluster_of_[operand.base.node] != none)
        fresh.level = std::max(fresh.level, clusters_[find(cluster_of_[operand.base.node])].level + 1);
    fresh.parent = target;
    clusters_.push_back(std::move(fresh));
  }
  join(id, target, row, reads);
}

}  // namespace braze::passes::fusion
