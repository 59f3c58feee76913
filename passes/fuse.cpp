// Which nodes share a kernel.
//
//  0. Reductions and dots are put into the form that groups best (fuse.h).
//  1. Forward, greedily: a node joins the groups of its operands where the domains agree (the same elements, or the rows of a
//     reduction), unless a cycle between groups or a cap forbids it: all of them as one, or else one of them.
//  2. A value that another group reads is written to memory, or computed again there: again if it is cheap and
//     (reads - 1) * (users - 1) < 2, or if that reader is its only one; reads of what has fewer axes do not count. What is one a row is
//     cheap to a kernel that reduces rows, and nobody computes it for each element.
//  3. Groups that read the same memory over the same domain become one; reductions of a dot's factor over k join the dot.
//  4. They are put into the order that needs least memory (fuse_order.cpp).
// Views belong to no group of their own: each reader sees through them. All work lists are linear in the graph; searches for cycles are
// cut off by a level per group (the longest path before it) and a cap.
#include "passes/fuse.h"

#include <algorithm>
#include <map>
#include <set>

#include "ir/error.h"
#include "passes/fuser.h"

namespace braze::passes::fusion {

using ir::Node;
using ir::NodeId;
using ir::Op;
using ir::Value;

// What a group computes for `roots`: its own nodes, views, and what is computed again; `reads` is what it finds in memory.
std::vector<NodeId> Fuser::closure(std::uint32_t cluster, const std::vector<Value>& roots, std::vector<Value>& reads) {
  std::set<NodeId> seen;
  std::vector<NodeId> pending, result;
  const auto visit = [&](Value value) {
    const NodeId id = value.node;
    if (graph_[id].op == Op::parameter || graph_[id].op == Op::constant) return;
    const Value stored = stored_value(graph_, value);
    const bool elsewhere = cluster_of_[stored.node] != none && find(cluster_of_[stored.node]) != cluster;
    if (role_[stored.node] == Role::leaf) return;
    if (elsewhere && kept_[stored.node] && !fill_[stored.node]) {
      reads.push_back(stored);
      return;
    }
    if (seen.insert(id).second) pending.push_back(id);
  };
  for (const Value root : roots) visit(root);
  while (!pending.empty()) {
    const NodeId id = pending.back();
    pending.pop_back();
    result.push_back(id);
    const Node& node = graph_[id];
    for (std::size_t i = 0; i < node.in.size(); ++i) {
      if (reads_whole(node, i)) {
        const Value storage = stored_value(graph_, node.in[i]);
        if (role_[storage.node] == Role::member || role_[storage.node] == Role::view) reads.push_back(storage);
        continue;
      }
      visit(node.in[i]);
    }
  }
  std::sort(result.begin(), result.end());
  return result;
}

// Clusters in an order in which they can run: by their first node, but readers of a storage, where nothing forbids it, before what writes
// to it, so that the write may go in place.
std::vector<std::uint32_t> Fuser::sequence_of_clusters() {
  const std::size_t count = clusters_.size();
  std::vector<std::vector<std::uint32_t>> users(count), writers_after(count);
  std::vector<std::uint32_t> waits(count), readers_before(count);
  std::vector<NodeId> first(count, none);
  std::map<NodeId, std::uint32_t> writer;  // of a storage's value
  std::size_t live = 0;
  for (std::uint32_t c = 0; c < count; ++c) {
    if (clusters_[c].parent != c) continue;
    ++live;
    std::set<std::uint32_t> needs;
    for (const std::uint32_t need : clusters_[c].needs)
      if (find(need) != c) needs.insert(find(need));
    waits[c] = static_cast<std::uint32_t>(needs.size());
    for (const std::uint32_t need : needs) users[need].push_back(c);
    for (const NodeId id : clusters_[c].nodes) {
      first[c] = std::min(first[c], id);
      if (is_write(graph_[id].op)) writer.emplace(stored_value(graph_, graph_[id].in[0]).node, c);
    }
  }
  for (std::uint32_t c = 0; c < count && !writer.empty(); ++c)
    for (const NodeId read : clusters_[c].reads) {
      const auto at = writer.find(read);
      if (at == writer.end() || at->second == c) continue;
      writers_after[c].push_back(at->second);
      ++readers_before[at->second];
    }
  using Ready = std::set<std::pair<NodeId, std::uint32_t>>;
  Ready ready, early;  // early: somebody still reads what they overwrite
  const auto enqueue = [&](std::uint32_t c) { (readers_before[c] ? early : ready).emplace(first[c], c); };
  for (std::uint32_t c = 0; c < count; ++c)
    if (clusters_[c].parent == c && waits[c] == 0) enqueue(c);
  std::vector<std::uint32_t> sequence;
  while (!ready.empty() || !early.empty()) {
    Ready& from = ready.empty() ? early : ready;
    const std::uint32_t c = from.begin()->second;
    from.erase(from.begin());
    sequence.push_back(c);
    for (const std::uint32_t w : writers_after[c])
      if (--readers_before[w] == 0 && early.erase({first[w], w})) ready.emplace(first[w], w);
    for (const std::uint32_t user : users[c])
      if (--waits[user] == 0) enqueue(user);
  }
  invariant(sequence.size() == live, "fusion made a cycle among {} groups", live - sequence.size());
  return sequence;
}

void Fuser::emit(Module& module) {
  // What leaves each group: what is kept and somebody reads. Readers first, so that unread values are dropped.
  std::vector<std::vector<bool>> wanted(graph_.size());
  const auto want = [&](Value v) {
    auto& results = wanted[v.node];
    if (results.empty()) results.resize(graph_[v.node].out.size());
    results[v.result] = true;
  };
  for (const Value result : graph_.results) {
    const Value stored = stored_value(graph_, result);
    if (role_[stored.node] != Role::leaf) want(stored);
  }
  const std::vector<std::uint32_t> sequence = sequence_of_clusters();
  std::vector<Group> groups;
  for (auto c = sequence.rbegin(); c != sequence.rend(); ++c) {
    Group group;
    std::vector<NodeId>& nodes = clusters_[*c].nodes;
    std::sort(nodes.begin(), nodes.end());
    for (const NodeId id : nodes)
      for (std::uint32_t r = 0; r < wanted[id].size(); ++r)
        if (wanted[id][r]) group.outputs.push_back({id, r});
    if (group.outputs.empty()) continue;
    std::vector<Value> reads;
    group.nodes = closure(*c, group.outputs, reads);
    for (const Value read : reads) want(read);
    groups.push_back(std::move(group));
  }
  std::reverse(groups.begin(), groups.end());
  order_groups(graph_, groups, options_.sizes);
  name_groups(graph_, groups);
  module.groups = std::move(groups);
}

void Fuser::run(Module& module) {
  classify();
  for (const NodeId id : order_)
    if (role_[id] == Role::member) place(id);
  recompute();
  if (options_.fuse) siblings();
  emit(module);
  module.notes = std::move(notes_);
}

}  // namespace braze::passes::fusion

namespace braze::passes {

Module fuse(Module module, const Options& options) {
  module.graph = turn_dots(std::move(module.graph));
  if (options.fuse) module.graph = sink_reshapes(std::move(module.graph));
  module.graph = split_mixed_reductions(std::move(module.graph));
  fusion::Fuser(module.graph, options).run(module);
  module.stage = Stage::fused;
  return module;
}

}  // namespace braze::passes
