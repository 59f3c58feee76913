// The order in which groups run, where the sizes that it should be good for are known. Fusion gives one that follows the graph; this
// tries two sweeps over it and keeps what needs least memory at its fullest step:
//
//  * late: from the end, a group goes right before the first that needs it if what it puts out is more than what it alone keeps alive
//    until then. Zeros that a gradient is gathered in are made when the gathering begins.
//  * early: from the start, a group goes as soon as it can if it lets more memory go than it takes, by itself or with the one that alone
//    reads what it makes. The gradient and the update of a weight run as soon as the weight has been read for the last time, and what was
//    saved for them is gone.
//
// Readers of a storage that ran before what writes to it still do, and so does all that may fault, where it ran before what changes memory
// of the caller's. The work is linear in the graph but for a queue.
#include <algorithm>
#include <numeric>
#include <set>
#include <unordered_map>

#include "ir/error.h"
#include "ir/meaning.h"
#include "passes/fuse.h"
#include "passes/nest.h"

namespace braze::passes {

using ir::Graph;
using ir::Node;
using ir::NodeId;
using ir::Op;
using ir::Value;

namespace {

using Number = std::uint32_t;
constexpr Number none = ~Number{0};

class Orderer {
 public:
  Orderer(const Graph& graph, const std::vector<Group>& groups, const std::vector<std::int64_t>& sizes);
  // Of the groups, by number.
  std::vector<Number> best() const;

 private:
  struct Memory {
    double bytes = 0;  // that are free again after the last reader: none for what is the caller's or leaves with it
    Number maker = none;
    std::vector<Number> readers;
    ir::NodeId node = 0;
    bool callers = false;  // who may see it change
  };
  struct Item {  // a group, or a point in the order that groups are before or after
    std::vector<Number> reads, makes;
    Number overwrites = none;  // one of `reads`, whose memory becomes that of what it makes
    std::vector<Number> after, before;
    bool may_fault = false, changes_callers = false;
  };

  Number memory_of(Value stored);
  // An earlier group puts it out, as is done with a number that something takes from or writes over.
  bool made(Value stored) const;
  double bytes_of(const ir::Type& type) const;
  void read(Number item, Value stored);
  void add_group(Number item, const Group& group);
  void add_edges();
  void edge(Number from, Number to);
  bool may_take(const Item& item, Number memory) const;
  void keep_readers_before_writers();
  void keep_faults_before_writes();
  std::vector<Number> late(const std::vector<Number>& order) const;
  std::vector<Number> early(const std::vector<Number>& order, bool with_reader) const;
  double peak(const std::vector<Number>& order) const;

  const Graph& graph_;
  const std::vector<std::int64_t>& sizes_;
  std::vector<Item> items_;
  std::vector<Memory> memory_;
  std::vector<Number> natural_;  // items in the order that came
  std::unordered_map<std::uint64_t, Number> numbers_;
  std::vector<Number> inside_;  // by node: the last group seen that has it
};

bool may_fault(const Node& node) {
  return ir::info(node.op).routine() || node.op == Op::take || node.op == Op::put ||
         (ir::info(node.op).elementwise() && ir::may_fault(node.op, node.out[0].dtype));
}

Orderer::Orderer(const Graph& graph, const std::vector<Group>& groups, const std::vector<std::int64_t>& sizes)
    : graph_(graph), sizes_(sizes), items_(groups.size()), inside_(graph.size(), none) {
  for (const Value parameter : graph.parameters())
    memory_[memory_of(parameter)].callers = graph.node(parameter).as<ir::Parameter>().kind == ir::Parameter::Kind::donated;
  for (Number g = 0; g < groups.size(); ++g) add_group(g, groups[g]);
  for (const Value result : graph.results) memory_[memory_of(stored_value(graph, result))].bytes = 0;
  natural_.resize(groups.size());
  std::iota(natural_.begin(), natural_.end(), Number{0});
  add_edges();
}

double Orderer::bytes_of(const ir::Type& type) const {
  double bytes = size_of(type.dtype);
  for (const ir::Extent e : type.shape) bytes *= static_cast<double>(e.is_number() ? e.number() : sizes_[e.symbol()]);
  return bytes;
}

Number Orderer::memory_of(Value stored) {
  const auto [at, fresh] = numbers_.emplace(std::uint64_t{stored.node} << 32 | stored.result, static_cast<Number>(memory_.size()));
  if (fresh) memory_.push_back({.node = stored.node});
  return at->second;
}

bool Orderer::made(Value stored) const {
  const auto at = numbers_.find(std::uint64_t{stored.node} << 32 | stored.result);
  return at != numbers_.end() && memory_[at->second].maker != none;
}

void Orderer::read(Number item, Value stored) {
  const Number memory = memory_of(stored);
  std::vector<Number>& readers = memory_[memory].readers;
  if (!readers.empty() && readers.back() == item) return;
  readers.push_back(item);
  items_[item].reads.push_back(memory);
}

void Orderer::add_group(Number number, const Group& group) {
  for (const NodeId id : group.nodes) inside_[id] = number;
  Item& item = items_[number];
  for (const NodeId id : group.nodes) {
    const Node& node = graph_[id];
    item.may_fault = item.may_fault || may_fault(node);
    for (std::size_t i = 0; i < node.in.size(); ++i) {
      const Value in = node.in[i];
      const Value stored = stored_value(graph_, in);
      if ((is_immediate(graph_.node(in)) && !made(stored)) || (!reads_whole(node, i) && inside_[in.node] == number)) continue;
      read(number, stored);
    }
  }
  for (const Value output : group.outputs) {
    const Number memory = memory_of(output);
    memory_[memory].maker = number;
    memory_[memory].bytes = bytes_of(graph_.type(output));
    item.makes.push_back(memory);
    if (!is_write(graph_.node(output).op)) continue;
    item.overwrites = memory_of(stored_value(graph_, graph_.node(output).in[0]));
    memory_[memory].callers = memory_[item.overwrites].callers;
    if (memory_[memory].callers) memory_[memory].bytes = 0;
  }
}

void Orderer::edge(Number from, Number to) {
  items_[from].after.push_back(to);
  items_[to].before.push_back(from);
}

void Orderer::add_edges() {
  for (const Memory& memory : memory_)
    for (const Number reader : memory.readers)
      if (memory.maker != none) edge(memory.maker, reader);
  keep_readers_before_writers();
  keep_faults_before_writes();
}

// Whether one of the values that the item makes may take the place of memory that it reads: a store's value does, and others do that have
// as many elements.
bool Orderer::may_take(const Item& item, Number memory) const {
  if (item.overwrites == memory) return true;
  if (!memory_[memory].callers) return false;
  const ir::Type& type = graph_[memory_[memory].node].out[0];
  return std::any_of(item.makes.begin(), item.makes.end(), [&](Number m) {
    const auto& out = graph_[memory_[m].node].out;
    return std::any_of(out.begin(), out.end(),
                       [&](const ir::Type& other) { return other.dtype == type.dtype && bytes_of(other) == bytes_of(type); });
  });
}

// Of several that may take a storage's place only the last does.
void Orderer::keep_readers_before_writers() {
  for (Number m = 0; m < memory_.size(); ++m) {
    Number writer = none;
    for (const Number reader : memory_[m].readers)
      if (may_take(items_[reader], m)) writer = reader;
    if (writer == none) continue;
    items_[writer].changes_callers = items_[writer].changes_callers || memory_[m].callers;
    for (const Number reader : memory_[m].readers)
      if (reader < writer) edge(reader, writer);
  }
}

void Orderer::keep_faults_before_writes() {
  Number end = 0;  // one past the last that may fault
  for (Number i = 0; i < natural_.size(); ++i)
    if (items_[i].may_fault) end = i + 1;
  const auto door = static_cast<Number>(items_.size());
  items_.emplace_back();
  for (Number i = 0; i < door; ++i) {
    if (items_[i].may_fault) edge(i, door);
    if (i >= end && items_[i].changes_callers) edge(door, i);
  }
  natural_.insert(natural_.begin() + end, door);
}

std::vector<Number> Orderer::late(const std::vector<Number>& order) const {
  std::vector<std::size_t> waits;  // for those after it
  for (const Item& item : items_) waits.push_back(item.after.size());
  std::vector<bool> done(items_.size()), alive(memory_.size());
  const auto pays = [&](const Item& item) {
    double gain = 0;
    for (const Number m : item.makes) gain += memory_[m].bytes;
    for (const Number m : item.reads)
      if (!alive[m]) gain -= memory_[m].bytes;
    return gain > 0;
  };
  std::vector<Number> backwards, pending;
  for (auto next = order.rbegin(); next != order.rend(); ++next) {
    if (!done[*next]) pending.push_back(*next);
    while (!pending.empty()) {
      const Number i = pending.back();
      pending.pop_back();
      done[i] = true;
      backwards.push_back(i);
      for (const Number m : items_[i].reads) alive[m] = true;
      for (const Number b : items_[i].before)
        if (--waits[b] == 0 && pays(items_[b])) {
          done[b] = true;
          pending.push_back(b);
        }
    }
  }
  std::reverse(backwards.begin(), backwards.end());
  return backwards;
}

std::vector<Number> Orderer::early(const std::vector<Number>& order, bool with_reader) const {
  std::vector<std::size_t> waits, readers;
  for (const Item& item : items_) waits.push_back(item.before.size());
  for (const Memory& memory : memory_) readers.push_back(memory.readers.size());
  std::vector<bool> done(items_.size());
  std::set<std::pair<double, Number>> pending;  // what they take first
  std::vector<Number> sequence;
  const auto takes = [&](const Item& item) {
    double bytes = 0;
    for (const Number m : item.makes) bytes += memory_[m].bytes;
    return bytes;
  };
  const auto reads = [](const Item& item, Number m) {
    return std::find(item.reads.begin(), item.reads.end(), m) != item.reads.end();
  };
  // What an item and the one that alone reads what it makes let go, if that one waits for nothing else.
  const auto pays_with_reader = [&](const Item& item) {
    if (item.makes.size() != 1 || memory_[item.makes[0]].readers.size() != 1) return false;
    const Number next = memory_[item.makes[0]].readers[0];
    if (done[next] || waits[next] != 1) return false;
    double frees = memory_[item.makes[0]].bytes;
    for (const Number m : item.reads)
      if (readers[m] == 1) frees += memory_[m].bytes;
    for (const Number m : items_[next].reads)
      if (m != item.makes[0] && (readers[m] == 1 || (readers[m] == 2 && reads(item, m)))) frees += memory_[m].bytes;
    return frees > takes(item) + takes(items_[next]);
  };
  const auto consider = [&](Number i) {
    if (done[i] || waits[i] != 0) return;
    double frees = 0;
    for (const Number m : items_[i].reads)
      if (readers[m] == 1) frees += memory_[m].bytes;
    if (frees <= takes(items_[i]) && !(with_reader && pays_with_reader(items_[i]))) return;
    done[i] = true;
    pending.emplace(takes(items_[i]), i);
  };
  for (const Number next : order) {
    if (!done[next]) pending.emplace(0, next);
    done[next] = true;
    while (!pending.empty()) {
      const Number i = pending.begin()->second;
      pending.erase(pending.begin());
      sequence.push_back(i);
      for (const Number a : items_[i].after) --waits[a];
      for (const Number m : items_[i].reads)
        if (--readers[m] <= 2)
          for (const Number reader : memory_[m].readers) consider(reader);
      for (const Number a : items_[i].after) consider(a);
    }
  }
  return sequence;
}

double Orderer::peak(const std::vector<Number>& order) const {
  std::vector<std::size_t> readers;
  for (const Memory& memory : memory_) readers.push_back(memory.readers.size());
  double live = 0, most = 0;
  for (const Number i : order) {
    const Item& item = items_[i];
    double made = 0, freed = 0;
    for (const Number m : item.makes) made += memory_[m].bytes;
    for (const Number m : item.reads)
      if (--readers[m] == 0) freed += memory_[m].bytes;
    const bool in_place = item.overwrites != none && readers[item.overwrites] == 0;
    most = std::max(most, live + made - (in_place ? memory_[item.overwrites].bytes : 0));
    live += made - freed;
  }
  return most;
}

std::vector<Number> Orderer::best() const {
  std::vector<Number> best = natural_;
  double least = peak(best);
  const std::vector<Number> lately = late(natural_);
  for (const auto& other : {early(natural_, false), lately, early(lately, false), early(natural_, true), early(lately, true)})
    if (const double height = peak(other); height < least) {
      best = other;
      least = height;
    }
  std::erase_if(best, [&](Number i) { return i + 1 == items_.size(); });
  return best;
}

}  // namespace

void order_groups(const Graph& graph, std::vector<Group>& groups, const std::vector<std::int64_t>& sizes) {
  if (sizes.size() != graph.symbols.size() || groups.size() < 3) return;
  std::vector<Group> ordered;
  for (const Number g : Orderer(graph, groups, sizes).best()) ordered.push_back(std::move(groups[g]));
  invariant(ordered.size() == groups.size(), "{} of {} groups have a place in the order", ordered.size(), groups.size());
  groups = std::move(ordered);
}

}  // namespace braze::passes
