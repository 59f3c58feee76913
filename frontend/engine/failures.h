// Why failed nodes failed: kept beside the nodes, since hardly any fails.
#pragma once

#include <exception>

namespace braze::engine {

class Node;

void remember_failure(const Node* node, std::exception_ptr why);
[[noreturn]] void rethrow_failure(const Node* node);
void forget_failure(const Node* node);

}  // namespace braze::engine
