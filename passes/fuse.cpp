// Which nodes share a kernel.
//
//  1. Forward, greedily: a node joins the groups of its operands where the domains agree (the same elements, or the rows of a
//     reduction), unless a cycle between groups or a cap forbids it.
//  2. A value that another group reads is written to memory, or computed again there: again if it is cheap and
//     (reads - 1) * (users - 1) < 2, or if that reader is its only one.
//  3. Groups that read the same memory over the same domain become one.
// Views belong to no group of their own: each reader sees through them. All work lists are linear in the graph; searches for cycles are
// cut off by a level per group (the longest path before it) and a cap.
#include <algorithm>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <queue>
#include <set>

#include "ir/error.h"
#include "ir/meaning.h"
#include "passes/affine.h"
#include "passes/fuse.h"
#include "passes/nest.h"

namespace braze::passes {

using ir::Extent;
using ir::Graph;
using ir::IndexId;
using ir::Node;
using ir::NodeId;
using ir::Op;
using ir::Shape;
using ir::Value;

namespace {

constexpr NodeId none = ~NodeId{0};
constexpr int cheap = 8;         // what computing an element again may cost
constexpr int trivial = 2;       // the same, many times over
constexpr int search_cap = 512;  // groups that a search for a cycle visits

// What a node is to fusion. free: constants, scalars, and what is computed from them alone: part of each reader.
enum class Role : std::uint8_t { dead, leaf, free, view, member };

// How an operand's elements lie to the point at which a node reads them.
struct Relation {
  enum class Kind : std::uint8_t {
    same,   // at the point itself
    row,    // at the point without some axes
    moved,  // elsewhere, each element at most once
    spread  // elsewhere, an element several times
  } kind;
  std::vector<std::uint8_t> axes;  // row: the point's axes that the operand has, outermost first
};

struct Domain {
  std::vector<IndexId> extents;  // without axes of extent number 1
  std::vector<bool> reduced;
  bool reduces = false, contracts = false;
  bool serial = false;  // its kernel holds nothing else
  ReduceOrder order = ReduceOrder::inner;

  std::vector<IndexId> rows() const {
    std::vector<IndexId> result;
    for (std::size_t i = 0; i < extents.size(); ++i)
      if (!reduced[i]) result.push_back(extents[i]);
    return result;
  }
};

struct Cluster {  // a group in the making
  Domain domain;
  std::vector<NodeId> nodes;
  std::vector<std::uint32_t> needs, users;  // other clusters, perhaps merged since
  std::vector<NodeId> reads;                // sorted: what it reads from memory
  std::uint32_t level = 0;
  std::uint32_t parent;
};

class Fuser {
 public:
  Fuser(const Graph& graph, const Options& options)
      : graph_(graph),
        options_(options),
        extents_(graph, index_),
        role_(graph.size(), Role::dead),
        cluster_of_(graph.size(), none),
        row_(graph.size()),
        kept_(graph.size()),
        again_(graph.size()),
        view_depth_(graph.size()) {}
  void run(Module& module);

 private:
  struct Operand {
    Value through;  // as the node names it
    Value base;     // behind the views
    Relation relation;
    bool storage = false;  // what a store writes over: in memory, whole, before its kernel runs
  };

  void classify();
  void keep_in_memory();
  bool merges_factor_axes(Value value) const;
  bool is_free(NodeId id) const;
  std::vector<Operand> operands(NodeId id);
  Operand look_through(Value value, const Shape& point) const;
  const Shape& point(NodeId id) const;
  Domain domain_of(NodeId id);
  std::vector<IndexId> squeezed(const Shape& shape) const;

  std::uint32_t find(std::uint32_t cluster);
  void place(NodeId id);
  std::uint32_t target_of(NodeId id, const std::vector<Operand>& reads);
  std::optional<std::uint32_t> fits(NodeId id, const Operand& operand, std::string& why);
  std::string merge_domains(std::uint32_t into, std::uint32_t other, bool& rows_only);
  bool try_merge(std::uint32_t a, std::uint32_t b, std::string& why);
  bool depends(std::uint32_t from, std::uint32_t to);
  bool again_within(NodeId base, std::uint32_t cluster);
  bool raise(std::uint32_t cluster, std::uint32_t level);
  void absorb(std::uint32_t into, std::uint32_t other, bool as_rows);
  void join(NodeId id, std::uint32_t cluster, bool row, const std::vector<Operand>& operands);
  void note(NodeId producer, NodeId consumer, std::string why);

  void recompute();
  struct Again {
    int cost = 0;
    std::size_t nodes = 0;
    std::vector<NodeId> reads;  // sorted
    std::vector<NodeId> keeps;  // what must be in memory for it
    bool movable = true;
  };
  Again again(NodeId id);
  void siblings();
  std::vector<std::uint32_t> sequence_of_clusters();
  void emit(Module& module);
  std::vector<NodeId> closure(std::uint32_t cluster, const std::vector<Value>& roots, std::vector<Value>& reads);

  const Graph& graph_;
  const Options& options_;
  ir::IndexTable index_;
  Extents extents_;
  std::vector<Role> role_;
  std::vector<NodeId> order_;
  std::vector<std::uint32_t> cluster_of_;
  std::vector<bool> row_;    // a value of the row, not of the element
  std::vector<bool> kept_;   // must be in memory
  std::vector<bool> again_;  // computed by each group that reads it from elsewhere
  std::vector<std::uint8_t> view_depth_;
  std::vector<Cluster> clusters_;
  std::vector<Note> notes_;
};

bool is_view(Op op) {
  switch (ir::info(op).attributes) {
    case ir::AttributeKind::ToShape:
    case ir::AttributeKind::Permutation:
    case ir::AttributeKind::Slice:
    case ir::AttributeKind::Axes:
      return true;
    case ir::AttributeKind::Layout:
      return op == Op::view;
    default:
      return false;
  }
}

bool is_buffer(const Node& node) {
  return node.op == Op::parameter && node.as<ir::Parameter>().kind != ir::Parameter::Kind::scalar;
}

// What must be in memory whoever reads it: results, what a write goes over, a take picks from, or a routine reads. A reshape of what
// is in memory is in memory.
void Fuser::keep_in_memory() {
  const auto keep = [&](Value value) { kept_[stored_value(graph_, value).node] = true; };
  for (const Value result : graph_.results) keep(result);
  for (const NodeId id : order_)
    for (std::size_t i = 0; i < graph_[id].in.size(); ++i)
      if (reads_whole(graph_[id], i) && !(ir::info(graph_[id].op).routine() && is_immediate(graph_.node(graph_[id].in[i]))))
        keep(graph_[id].in[i]);
  // A dot's factor whose dims merge others that do not lie in a row would be found by a division for each element packed; in memory it
  // is a copy, which is cheap beside the dot. The CPU's schedule finds the right factor's elements while it packs them.
  for (const NodeId id : order_) {
    const Node& node = graph_[id];
    if (node.op != Op::dot) continue;
    for (std::size_t i = 0; i < node.in.size(); ++i) {
      Value factor = node.in[i];
      while (graph_.node(factor).op == Op::expand) factor = graph_.node(factor).in[0];
      if (graph_.node(factor).op != Op::reshape || !is_view(graph_.node(stored_value(graph_, factor)).op)) continue;
      const Shape& shape = node.out[0].shape;
      const bool packs = i == 1 && std::holds_alternative<ir::CpuTarget>(options_.target) && !extents_.is_one(shape.back()) &&
                         !extents_.is_one(shape[shape.size() - 2]);
      if (!packs || merges_factor_axes(node.in[i])) keep(factor);
    }
  }
}

// Whether a reshape on the way to what is computed or in memory mixes the last two axes of a value: where one is, the other has a say.
bool Fuser::merges_factor_axes(Value value) const {
  const std::size_t rank = graph_.type(value).shape.size();
  std::vector<std::uint8_t> axes(rank);  // bit 0: the last but one has a say in where along this axis an element is, bit 1: the last
  axes[rank - 2] = 1;
  axes[rank - 1] = 2;
  while (true) {
    const Node& node = graph_.node(value);
    if (node.in.empty()) return false;
    const Shape& from = graph_.type(node.in[0]).shape;
    const Shape& shape = node.out[0].shape;
    std::vector<std::uint8_t> next(from.size());
    if (node.op == Op::reshape) {
      const KeptAxes kept(extents_, shape, from);
      std::uint8_t all = 0;
      for (const std::size_t axis : kept.merged) all |= axes[axis];
      if (all == 3) return true;
      for (const std::size_t axis : kept.split) next[axis] = all;
      for (const auto& [to, axis] : kept.same) next[axis] = axes[to];
    } else if (node.op == Op::permute) {
      const auto& order = node.as<ir::Permutation>().order;
      for (std::size_t i = 0; i < order.size(); ++i) next[order[i]] = axes[i];
    } else if (node.op == Op::expand) {
      for (std::size_t i = 0; i < from.size(); ++i) next[i] = axes[i + shape.size() - from.size()];
    } else {
      return false;
    }
    axes = std::move(next);
    value = node.in[0];
  }
}

bool Fuser::is_free(NodeId id) const {
  const Node& node = graph_[id];
  if (kept_[id]) return false;
  if (node.op == Op::constant) return true;
  if (node.op == Op::parameter) return node.as<ir::Parameter>().kind == ir::Parameter::Kind::scalar;
  if (!is_view(node.op) && !ir::info(node.op).elementwise()) return false;
  return !node.in.empty() && std::all_of(node.in.begin(), node.in.end(), [&](Value v) { return role_[v.node] == Role::free; });
}

// A long chain of views is cut: a reader sees through this many.
constexpr std::uint8_t deepest_view = 48;

void Fuser::classify() {
  order_ = ir::postorder(graph_, graph_.results);
  std::sort(order_.begin(), order_.end());
  keep_in_memory();
  for (const NodeId id : order_) {
    const Node& node = graph_[id];
    Role& role = role_[id];
    if (is_view(node.op) && !node.in.empty() && role_[node.in[0].node] == Role::view)
      view_depth_[id] = std::min(view_depth_[node.in[0].node] + 1, 255);
    const bool cut = is_view(node.op) && view_depth_[id] >= deepest_view && node.op != Op::reshape;
    if (is_free(id)) {
      role = Role::free;
    } else if (is_buffer(node)) {
      role = Role::leaf;
    } else if (is_view(node.op) && !kept_[id] && !cut) {
      role = Role::view;
    } else {
      role = Role::member;
      if (is_write(node.op) || ir::info(node.op).routine() || cut) kept_[id] = true;
    }
  }
}

std::vector<IndexId> Fuser::squeezed(const Shape& shape) const {
  std::vector<IndexId> result;
  for (const Extent e : shape)
    if (!extents_.is_one(e)) result.push_back(extents_.of(e));
  return result;
}

// The shape over which a node reads its operands.
const Shape& Fuser::point(NodeId id) const {
  const Node& node = graph_[id];
  if (ir::info(node.op).reduction()) return graph_.type(node.in[0]).shape;
  if (is_write(node.op)) return graph_.type(write_point(node)).shape;
  return node.out[0].shape;
}

Domain Fuser::domain_of(NodeId id) {
  const Node& node = graph_[id];
  const Shape& shape = point(id);
  Domain domain;
  domain.extents = squeezed(shape);
  domain.reduced.assign(domain.extents.size(), false);
  domain.contracts = node.op == Op::dot;
  domain.serial = node.op == Op::accumulate || node.op == Op::put || node.op == Op::concat || ir::info(node.op).routine();
  if (!ir::info(node.op).reduction()) return domain;
  domain.reduces = true;
  const std::uint64_t mask = node.as<ir::Reduced>().mask;
  if (!shape.empty() && !(mask >> (shape.size() - 1) & 1)) domain.order = ReduceOrder::outer;
  for (std::size_t i = 0, at = 0; i < shape.size(); ++i)
    if (!extents_.is_one(shape[i])) domain.reduced[at++] = mask >> i & 1;
  return domain;
}

// Follows views from a node's operand down to what is computed or in memory, and an axis of the point to each axis there.
Fuser::Operand Fuser::look_through(Value value, const Shape& point) const {
  constexpr int nowhere = -1, lost = -2;
  std::vector<int> axis;
  for (std::size_t i = 0; i < point.size(); ++i) axis.push_back(extents_.is_one(point[i]) ? nowhere : static_cast<int>(i));
  bool moved = false, spread = false;
  Operand result{value, value, {}};
  while (role_[result.base.node] == Role::view) {
    const Node& node = graph_.node(result.base);
    if (node.in.empty()) break;
    const Shape& shape = node.out[0].shape;
    const Shape& from = graph_.type(node.in[0]).shape;
    std::vector<int> next(from.size(), lost);
    if (node.op == Op::permute) {
      const auto& order = node.as<ir::Permutation>().order;
      for (std::size_t i = 0; i < order.size(); ++i) next[order[i]] = axis[i];
    } else if (node.op == Op::expand) {
      for (std::size_t i = 0; i < from.size(); ++i)
        next[i] = extents_.is_one(from[i]) ? nowhere : axis[i + shape.size() - from.size()];
      spread = true;
    } else if (node.op == Op::reshape) {
      if (squeezed(shape) == squeezed(from)) {
        std::vector<int> kept;
        for (std::size_t i = 0; i < shape.size(); ++i)
          if (!extents_.is_one(shape[i])) kept.push_back(axis[i]);
        std::size_t at = 0;
        for (std::size_t i = 0; i < from.size(); ++i) next[i] = extents_.is_one(from[i]) ? nowhere : kept[at++];
      } else {
        moved = true;
      }
    } else {
      moved = true;
      spread = spread || node.op == Op::view;  // an arbitrary layout may repeat
    }
    axis = std::move(next);
    result.base = node.in[0];
  }
  std::vector<std::uint8_t> axes;
  for (const int a : axis) {
    if (a == nowhere) continue;
    moved = moved || a == lost || (!axes.empty() && a <= axes.back());
    axes.push_back(static_cast<std::uint8_t>(std::max(a, 0)));
  }
  const std::size_t all = squeezed(point).size();
  if (moved)
    result.relation.kind = spread ? Relation::Kind::spread : Relation::Kind::moved;
  else
    result.relation = {axes.size() == all ? Relation::Kind::same : Relation::Kind::row, axes};
  return result;
}

std::vector<Fuser::Operand> Fuser::operands(NodeId id) {
  const Node& node = graph_[id];
  std::vector<Operand> result;
  const bool elsewhere =
      node.op == Op::pad || node.op == Op::concat || node.op == Op::dot || role_[id] != Role::member || is_view(node.op);
  for (std::size_t i = 0; i < node.in.size(); ++i) {
    if (reads_whole(node, i)) continue;
    const Value in = node.in[i];
    Operand operand = look_through(in, elsewhere ? graph_.type(in).shape : point(id));
    if (elsewhere && (operand.relation.kind == Relation::Kind::same || operand.relation.kind == Relation::Kind::row))
      operand.relation.kind = node.op == Op::dot || operand.relation.kind == Relation::Kind::row || node.op == Op::expand
                                  ? Relation::Kind::spread
                                  : Relation::Kind::moved;
    result.push_back(std::move(operand));
  }
  return result;
}

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

// The cluster that the operands' clusters have become, with room for the node, or none.
std::uint32_t Fuser::target_of(NodeId id, const std::vector<Operand>& reads) {
  std::uint32_t target = none;
  for (const Operand& operand : reads) {
    const NodeId base = operand.base.node;
    if (cluster_of_[base] == none || (target != none && find(cluster_of_[base]) == target)) continue;
    std::string why;
    const auto fit = fits(id, operand, why);
    if (fit && target == none) {
      target = *fit;
    } else if (fit && try_merge(target, *fit, why)) {
      target = find(target);
    } else {
      note(base, id, std::move(why));
    }
  }
  if (target == none) return none;
  std::string why;
  for (const Operand& operand : reads) {
    const NodeId base = operand.base.node;
    std::string misfit;
    if (cluster_of_[base] == none || find(cluster_of_[base]) != target || fits(id, operand, misfit)) continue;
    if (operand.storage || !again_within(base, target)) why = misfit;
  }
  std::uint32_t level = 0;
  for (const Operand& operand : reads) {
    const NodeId base = operand.base.node;
    if (cluster_of_[base] == none || find(cluster_of_[base]) == target) continue;
    const std::uint32_t other = find(cluster_of_[base]);
    level = std::max(level, clusters_[other].level + 1);
    if (depends(other, target)) why = "a kernel between them needs one and feeds the other";
  }
  const Cluster& cluster = clusters_[target];
  if (cluster.nodes.size() + 1 > static_cast<std::size_t>(options_.group_nodes))
    why = fmt::format("one kernel would hold {} nodes", cluster.nodes.size() + 1);
  else if (cluster.reads.size() + reads.size() + 1 > static_cast<std::size_t>(options_.group_buffers))
    why = fmt::format("one kernel would read {} buffers", cluster.reads.size() + reads.size());
  if (why.empty() && !raise(target, level)) why = "too many kernels depend on them to prove that none lies between";
  if (why.empty()) return target;
  note(cluster.nodes.back(), id, why);
  return none;
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
    if (computed) {
      constexpr int pad_cost = 4;  // comparisons along each axis, and a select: dearer than reading it from memory many times
      result.cost += node.op == Op::pad                                       ? pad_cost
                     : ir::info(node.op).elementwise() && node.op != Op::cast ? ir::cost(node.op, graph_.type(node.in.back()).dtype)
                                                                              : 2;
      ++result.nodes;
      if (result.nodes > most) result.movable = false;
    }
    if (!result.movable) break;
    for (const Value in : node.in)
      if (seen.insert(in.node).second) pending.push_back(in.node);
  }
  std::sort(result.reads.begin(), result.reads.end());
  return result;
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
      spread = spread || use.kind == Relation::Kind::spread || use.kind == Relation::Kind::row;
      into_dot = into_dot || graph_[use.reader].op == Op::dot;
    }
    if (outside == 0) continue;
    if (!options_.fuse) {
      kept_[id] = true;
      continue;
    }
    const Again cost = again(id);
    std::string why;
    const std::size_t repeats = (std::max<std::size_t>(cost.reads.size(), 1) - 1) * (users.size() - 1);
    const Domain& home = clusters_[own].domain;
    if (row_[id] && (home.reduces || home.contracts)) {
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
    }
    // The caps of those who would take it in.
    for (const std::uint32_t user : users) {
      if (!why.empty() || user == own) continue;
      const Cluster& c = clusters_[user];
      if (c.nodes.size() + cost.nodes > static_cast<std::size_t>(options_.group_nodes) ||
          c.reads.size() + cost.reads.size() + 2 > static_cast<std::size_t>(options_.group_buffers))
        why = "the kernel that reads it is full";
      if (graph_[c.nodes[0]].op == Op::accumulate || graph_[c.nodes[0]].op == Op::put)
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

// Groups over one domain that read the same memory.
void Fuser::siblings() {
  std::map<NodeId, std::vector<std::uint32_t>> readers;
  constexpr std::size_t most_tried = 4;
  for (std::uint32_t i = 0; i < clusters_.size(); ++i) {
    if (clusters_[i].parent != i) continue;
    const std::vector<NodeId> reads = clusters_[i].reads;
    std::uint32_t own = i;
    for (const NodeId read : reads) {
      std::vector<std::uint32_t>& others = readers[read];
      for (std::size_t k = others.size(); k-- > 0 && others.size() - k <= most_tried;) {
        const std::uint32_t other = find(others[k]);
        own = find(own);
        if (other == own || clusters_[other].domain.extents != clusters_[own].domain.extents) continue;
        if (clusters_[other].domain.contracts || clusters_[own].domain.contracts) continue;
        if (depends(own, other) || depends(other, own)) continue;  // why they are apart is noted already
        std::string why;
        if (!try_merge(other, own, why)) note(clusters_[other].nodes.back(), clusters_[own].nodes.back(), why);
      }
      others.push_back(i);
    }
  }
}

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
    if (elsewhere && kept_[stored.node]) {
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

}  // namespace

Module fuse(Module module, const Options& options) {
  module.graph = split_mixed_reductions(std::move(module.graph));
  Fuser(module.graph, options).run(module);
  module.stage = Stage::fused;
  return module;
}

}  // namespace braze::passes
