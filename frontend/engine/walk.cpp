#include <algorithm>

#include "frontend/engine/attributes_walk.h"
#include "frontend/engine/engine.h"
#include "frontend/engine/failures.h"
#include "frontend/engine/state.h"
#include "frontend/engine/tape.h"
#include "ir/error.h"

namespace braze::engine {

namespace {

// First bytes of a node's record; operations use their op's number.
enum class Tag : std::uint8_t { leaf = 0xf0, donated, scalar, constant, outputs };

struct KeyWriter {
  Walk& out;

  void structure(std::uint64_t value) {  // LEB128
    for (; value >= 0x80; value >>= 7) out.key.push_back(static_cast<std::uint8_t>(value | 0x80));
    out.key.push_back(static_cast<std::uint8_t>(value));
  }
  void tag(Tag t) { out.key.push_back(static_cast<std::uint8_t>(t)); }
  ir::Extent number(std::int64_t value) {
    out.numbers.push_back(value);
    return {};
  }
  void is_one(std::size_t axis, std::size_t = 0) { structure(16 + axis); }  // apart from the codes that `describe` writes itself
  ir::Extent same_as(std::size_t axis, std::int64_t) {
    structure(axis);
    return {};
  }
};

// Reads of a donated leaf must all be in this walk, and nobody else may hold its memory. Whether the readers themselves are done
// with it is keep_what_is_read_again's business.
bool may_be_overwritten(const Node& node, std::uint32_t uses) {
  return node.result_count == 1 && node.references.load(std::memory_order_acquire) == uses &&
         node.holders.load(std::memory_order_acquire) == 0 && node.buffers[0].unique() && !node.buffers[0].borrowed();
}

// Worth keeping when something outside this walk will read it: recomputing would be dear.
bool dear(ir::Op op) { return ir::info(op).reduction() || ir::info(op).routine() || op == ir::Op::dot; }

// Whose derivative's rule reads no values.
bool only_moves(ir::Op op) {
  switch (op) {
    case ir::Op::reshape:
    case ir::Op::permute:
    case ir::Op::expand:
    case ir::Op::view:
    case ir::Op::slice:
    case ir::Op::flip:
      return true;
    default:
      return false;
  }
}

// Numbers all nodes that `roots` need, operands first.
void collect(std::span<const Value> roots, Walk& out) {
  struct Frame {
    Node* node;
    std::uint32_t next;
  };
  thread_local std::vector<Frame> stack;
  stack.clear();
  const std::uint32_t epoch = ++engine_state().epoch;
  const auto enter = [&](Node* node) {
    if (node->mark == epoch) return;
    node->mark = epoch;
    const State state = node->state.load(std::memory_order_acquire);
    if (state == State::in_flight) out.busy = node;
    if (state == State::failed) rethrow_failure(node);
    stack.push_back({node, state == State::evaluated ? node->operand_count : 0});
  };
  for (const Value& root : roots) {
    enter(root.node());
    while (!stack.empty() && !out.busy) {
      Frame& top = stack.back();
      if (top.next < top.node->operand_count) {
        enter(top.node->in()[top.next++].node());
        continue;
      }
      top.node->number = static_cast<std::uint32_t>(out.nodes.size());
      out.nodes.push_back(top.node);
      stack.pop_back();
    }
    if (out.busy) return;
  }
}

Walk::Kind classify(const Node& node) {
  if (node.evaluated()) return Walk::Kind::leaf;
  if (node.is_scalar_argument()) return Walk::Kind::scalar;
  if (node.op == ir::Op::constant) return Walk::Kind::constant;
  return node.op == ir::Op::parameter ? Walk::Kind::leaf : Walk::Kind::operation;
}

void count_uses(const WalkOptions& options, Walk& out) {
  out.uses.assign(out.nodes.size(), 0);
  for (Node* node : out.nodes) {
    out.kinds.push_back(classify(*node));
    if (out.kinds.back() == Walk::Kind::operation)
      for (const Value& v : node->in()) ++out.uses[v->number];
    if (out.kinds.back() == Walk::Kind::leaf && !node->evaluated()) out.placeholder = node;
  }
  if (!options.donate) return;
  for (std::size_t i = 0; i < out.nodes.size(); ++i)
    if (out.kinds[i] == Walk::Kind::leaf && out.nodes[i]->evaluated() && may_be_overwritten(*out.nodes[i], out.uses[i]))
      out.kinds[i] = Walk::Kind::donated;
}

// Which operations a later backward pass may still come to: through readers that are not freed, from what somebody else holds. Rules of
// those read the operands, but where they only move elements, or a gradient is gathered or a function of its own stands there instead.
const std::vector<std::uint8_t>& find_awaiting(const Walk& walk) {
  thread_local std::vector<std::uint8_t> awaiting, reached;
  awaiting.assign(walk.nodes.size(), 0);
  reached.assign(walk.nodes.size(), 0);
  for (std::size_t i = walk.nodes.size(); i-- > 0;) {  // users first
    const Node& node = *walk.nodes[i];
    if (walk.kinds[i] != Walk::Kind::operation || !node.keeps_operands()) continue;
    if (!reached[i] && node.references.load(std::memory_order_acquire) <= walk.uses[i]) continue;
    for (const Value& v : node.in()) reached[v->number] = 1;
    awaiting[i] = !node.has(Node::has_gradient) && !only_moves(node.op);
  }
  return awaiting;
}

// A pending node whose result is not kept, but which a later evaluation needs, computes it again then: what it reads must last.
void keep_what_is_read_again(const std::vector<std::uint8_t>& awaiting, Walk& out) {
  if (std::find(out.kinds.begin(), out.kinds.end(), Walk::Kind::donated) == out.kinds.end()) return;
  thread_local std::vector<std::uint8_t> kept, needed;  // how many results of a node are outputs; whether a later reader needs it
  kept.assign(out.nodes.size(), 0);
  needed.assign(out.nodes.size(), 0);
  for (const auto& [node, result] : out.outputs) ++kept[node->number];
  for (std::size_t i = out.nodes.size(); i-- > 0;) {  // users first
    Node* node = out.nodes[i];
    if (out.kinds[i] == Walk::Kind::donated && needed[i]) out.kinds[i] = Walk::Kind::leaf;
    if (out.kinds[i] != Walk::Kind::operation) continue;
    const bool stays = awaiting[i];
    if (kept[i] == node->result_count && !stays) continue;
    if (stays || needed[i] || node->references.load(std::memory_order_acquire) > out.uses[i])
      for (const Value& v : node->in()) needed[v->number] = 1;
  }
}

// Finds operations that look at one operand in one way. Remembers the last few of each operand: a tensor is read in few ways.
class Twins {
 public:
  explicit Twins(const Walk& walk) : walk_(walk) {
    last_.assign(walk.nodes.size(), none);
    before_.assign(walk.nodes.size(), none);
  }

  std::uint32_t of(std::uint32_t number) {
    const Node& node = *walk_.nodes[number];
    if (!looks(node)) return number;
    std::uint32_t& last = last_[node.in()[0]->number];
    std::uint32_t other = last;
    for (int tries = 8; other != none && tries > 0; --tries, other = before_[other])
      if (same(*walk_.nodes[other], node)) return other;
    before_[number] = last;
    return last = number;
  }

 private:
  static constexpr std::uint32_t none = ~std::uint32_t{0};

  static bool looks(const Node& node) {
    return node.op == ir::Op::reshape || node.op == ir::Op::expand || node.op == ir::Op::view || node.op == ir::Op::slice;
  }
  static bool same(const Node& a, const Node& b) {
    if (a.op != b.op || !(a.in()[0] == b.in()[0]) || !(a.types[0] == b.types[0] || *a.types[0] == *b.types[0])) return false;
    return a.attributes == b.attributes || (a.attributes && b.attributes && *a.attributes == *b.attributes);
  }

  const Walk& walk_;
  // The last look at a node, and the one before a look. Of the thread, so that a walk allocates nothing.
  static thread_local std::vector<std::uint32_t> last_, before_;
};

thread_local std::vector<std::uint32_t> Twins::last_, Twins::before_;

void write_node(const Node& node, Walk::Kind kind, Twins& twins, KeyWriter& key) {
  const ir::Type& type = *node.types[0];
  switch (kind) {
    case Walk::Kind::leaf:
    case Walk::Kind::donated: {
      key.tag(kind == Walk::Kind::leaf ? Tag::leaf : Tag::donated);
      key.structure(node.result_count);
      for (unsigned r = 0; r < node.result_count; ++r) {
        key.structure(static_cast<std::uint64_t>(node.types[r]->dtype));
        key.structure(node.types[r]->shape.size());
        for (const ir::Extent& e : node.types[r]->shape) key.number(e.number());
      }
      return;
    }
    case Walk::Kind::scalar:
      key.tag(Tag::scalar);
      key.structure(static_cast<std::uint64_t>(type.dtype));
      key.out.scalars.push_back(node.bits);
      return;
    case Walk::Kind::constant:
      key.tag(Tag::constant);
      key.structure(static_cast<std::uint64_t>(type.dtype));
      key.structure(node.bits);
      return;
    case Walk::Kind::operation:
      break;
  }
  key.structure(static_cast<std::uint64_t>(node.op));
  key.structure(node.operand_count);
  for (const Value& v : node.in()) {
    key.out.operands.push_back(Walk::code(v->number, v.result()));
    key.structure(key.out.operands.back());
  }
  const std::uint32_t number = node.number, twin = twins.of(number);
  key.out.twins.push_back(twin);
  key.structure(number - twin);
  if (twin == number) describe(node, key);
}

void choose_outputs(std::span<const Value> roots, const WalkOptions& options, const std::vector<std::uint8_t>& awaiting,
                    Walk& out) {
  thread_local std::vector<std::uint8_t> chosen;  // bit r: result r
  chosen.assign(out.nodes.size(), 0);
  const auto add = [&](Node* node, unsigned result) {
    std::uint8_t& bits = chosen[node->number];
    if (bits & (1u << result)) return;
    bits = static_cast<std::uint8_t>(bits | (1u << result));
    out.outputs.emplace_back(node, result);
  };
  for (const Value& root : roots) add(root.node(), root.result());
  if (options.held_are_outputs) {
    // A node counts as evaluated when all of its results are in memory.
    for (const Value& root : roots)
      for (unsigned r = 0; r < root->result_count; ++r) add(root.node(), r);
    // What a backward pass will read.
    thread_local std::vector<std::uint8_t> awaited;
    awaited.assign(out.nodes.size(), 0);
    for (std::size_t i = 0; i < out.nodes.size(); ++i) {
      if (!awaiting[i]) continue;
      awaited[i] = 1;
      for (const Value& v : out.nodes[i]->in()) awaited[v->number] = 1;
    }
    // What goes on from something that is computed again. A state that is updated step by step, and of which each step evaluates but what
    // was made of it, would else be computed from its beginning every time.
    thread_local std::vector<std::uint8_t> again;
    again.assign(out.nodes.size(), 0);
    // What takes something dear to compute again, itself or on the way from what is kept.
    thread_local std::vector<std::uint8_t> takes_dear;
    takes_dear.assign(out.nodes.size(), 0);
    for (std::size_t i = 0; i < out.nodes.size(); ++i) {
      if (out.kinds[i] != Walk::Kind::operation) continue;
      Node* node = out.nodes[i];
      again[i] = node->has(swallowed);
      takes_dear[i] = dear(node->op);
      for (const Value& v : node->in()) {
        again[i] |= again[v->number];
        takes_dear[i] |= takes_dear[v->number] && !chosen[v->number];
      }
      const std::uint32_t holders = node->holders.load(std::memory_order_acquire);
      const bool read_elsewhere = node->references.load(std::memory_order_acquire) > out.uses[i] + holders;
      if (holders > 0 || (awaited[i] && dear(node->op)) || (read_elsewhere && (takes_dear[i] || again[i])))
        for (unsigned r = 0; r < node->result_count; ++r) add(node, r);
    }
  }
}

}  // namespace

void Walk::clear() {
  key.clear();
  numbers.clear();
  scalars.clear();
  nodes.clear();
  kinds.clear();
  uses.clear();
  operands.clear();
  twins.clear();
  outputs.clear();
  output_numbers.clear();
  busy = placeholder = nullptr;
}

namespace {

void walk_with(std::span<const Value> roots, const WalkOptions& options, std::span<Node* const> overwritable, Walk& out) {
  out.clear();
  collect(roots, out);
  if (out.busy) return;
  count_uses(options, out);
  const std::vector<std::uint8_t>& awaiting = find_awaiting(out);
  choose_outputs(roots, options, awaiting, out);
  keep_what_is_read_again(awaiting, out);
  for (Node* node : overwritable)
    if (node->mark == engine_state().epoch) out.kinds[node->number] = Walk::Kind::donated;
  KeyWriter key{out};
  key.structure(options.fuse);
  Twins twins(out);
  for (std::size_t i = 0; i < out.nodes.size(); ++i) write_node(*out.nodes[i], out.kinds[i], twins, key);
  key.tag(Tag::outputs);
  for (const auto& [node, result] : out.outputs) {
    out.output_numbers.push_back(Walk::code(node->number, result));
    key.structure(out.output_numbers.back());
  }
}

}  // namespace

void walk(std::span<const Value> roots, const WalkOptions& options, Walk& out) { walk_with(roots, options, {}, out); }

void walk_overwriting(std::span<const Value> roots, const WalkOptions& options, std::span<Node* const> overwritable, Walk& out) {
  std::unique_lock lock(engine_state().mutex);
  while (walk_with(roots, options, overwritable, out), out.busy) engine_state().published.wait(lock);
}

}  // namespace braze::engine
