#include "frontend/engine/failures.h"

#include <mutex>
#include <unordered_map>

#include "frontend/engine/node.h"
#include "ir/error.h"

namespace braze::engine {

namespace {

struct Failures {
  std::mutex mutex;
  std::unordered_map<const Node*, std::exception_ptr> reasons;
};

Failures& failures() {
  static auto* instance = new Failures;  // nodes may die after static destruction began
  return *instance;
}

}  // namespace

void remember_failure(const Node* node, std::exception_ptr why) {
  std::lock_guard lock(failures().mutex);
  failures().reasons[node] = std::move(why);
}

void rethrow_failure(const Node* node) {
  std::exception_ptr why;
  {
    std::lock_guard lock(failures().mutex);
    const auto found = failures().reasons.find(node);
    invariant(found != failures().reasons.end(), "a failed node has no reason");
    why = found->second;
  }
  std::rethrow_exception(why);
}

void set_complaint(Node* node, const char* text) {
  invariant(node->op == ir::Op::wrap_index, "{} has no complaint", ir::name(node->op));
  node->bits = reinterpret_cast<std::uintptr_t>(text);
}

const char* complaint(const Node* node) {
  return node->op == ir::Op::wrap_index && !node->has(Node::has_gradient) ? reinterpret_cast<const char*>(node->bits) : nullptr;
}

void forget_failure(const Node* node) {
  std::lock_guard lock(failures().mutex);
  failures().reasons.erase(node);
}

}  // namespace braze::engine
