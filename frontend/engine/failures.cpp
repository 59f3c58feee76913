#include "frontend/engine/failures.h"

#include <mutex>
#include <unordered_map>

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

void forget_failure(const Node* node) {
  std::lock_guard lock(failures().mutex);
  failures().reasons.erase(node);
}

}  // namespace braze::engine
