#include "frontend/engine/node.h"

#include <algorithm>
#include <new>
#include <utility>

#include "frontend/engine/failures.h"
#include "frontend/engine/pool.h"
#include "frontend/engine/state.h"
#include "frontend/engine/thread_state.h"
#include "ir/error.h"
#include "ir/meaning.h"

namespace braze::engine {

namespace {

constexpr std::size_t pooled_bytes = 128;
constexpr std::size_t pooled_operands = (pooled_bytes - sizeof(Node)) / sizeof(Value);
static_assert(pooled_operands >= 2, "a node of two operands is at most 128 bytes");
static_assert(alignof(Node) >= ir::max_results, "the lowest bits of a node's address are the result number");

using NodePool = Pool<pooled_bytes>;

void unpin(const Node& node) {
  std::int64_t bytes = size_of(node.types[0]->dtype);
  for (const ir::Extent& e : node.types[0]->shape) bytes *= e.number();
  pinned_bytes().fetch_sub(bytes, std::memory_order_relaxed);
}

}  // namespace

// Operands are moved where V is Value, shared where it is const.
template <class V>
Node* Node::build(ir::Op op, std::span<V> in, unsigned results, ir::Location location) {
  std::uint32_t height = 0;
  bool may_fault = !in.empty() && ir::may_fault(op, in[0].type().dtype);
  for (const Value& v : in) {
    if (v->evaluated()) continue;
    height = std::max(height, v->height);
    may_fault = may_fault || v->may_fault;
  }
  void* memory = in.size() <= pooled_operands ? NodePool::allocate() : ::operator new(sizeof(Node) + in.size() * sizeof(Value));
  Node* node = ::new (memory) Node(op, static_cast<std::uint32_t>(in.size()), static_cast<std::uint8_t>(results), height + 1);
  for (std::size_t i = 0; i < in.size(); ++i) ::new (static_cast<void*>(node->in().data() + i)) Value(std::move(in[i]));
  node->may_fault = may_fault;
  node->file = location.file;
  node->line = location.line;
  return node;
}

Node* Node::create(ir::Op op, std::span<const Value> in, unsigned results, ir::Location location) {
  return build(op, in, results, location);
}

Node* Node::create_taking(ir::Op op, std::span<Value> in, unsigned results, ir::Location location) {
  return build(op, in, results, location);
}

// Operands whose last reference this was are put on the thread's list instead of being destroyed from within their user.
void Node::destroy(Node* root) {
  // No reference to thread_state: linkers turn the `add` that makes its address into a `lea`, and UBSan reads the flags of the one.
  const auto doom = [](Node* node) { node->next_doomed = std::exchange(thread_state.doomed, node); };
  doom(root);
  if (thread_state.destroying) return;
  thread_state.destroying = true;
  while (Node* node = thread_state.doomed) {
    thread_state.doomed = node->next_doomed;
    for (Value& v : node->in()) {
      Node* operand = v.node();
      if (v.release() && was_last(operand->references)) doom(operand);
    }
    if (node->state.load(std::memory_order_relaxed) == State::failed) forget_failure(node);
    if (node->has(observed)) forget_observed(node);
    if (Gradient* gradient = node->gradient()) gradient->drop();
    if (node->pinned.load(std::memory_order_relaxed)) unpin(*node);
    const bool pooled = node->operand_count <= pooled_operands;
    node->~Node();
    if (pooled)
      NodePool::release(node);
    else
      ::operator delete(static_cast<void*>(node));
  }
  thread_state.destroying = false;
}

void Node::sever() {
  for (Value& v : in()) v = Value{};
}

}  // namespace braze::engine
