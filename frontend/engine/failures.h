// Why failed nodes failed: kept beside the nodes, since hardly any fails.
#pragma once

#include <exception>

namespace braze::engine {

class Node;

void remember_failure(const Node* node, std::exception_ptr why);
[[noreturn]] void rethrow_failure(const Node* node);
void forget_failure(const Node* node);

// What a wrap_index that is recorded as a check says where it fails, instead of words about an index; an Error. `text` lives for ever.
// Kept in Node::bits.
void set_complaint(Node* node, const char* text);
const char* complaint(const Node* node);  // null for most

}  // namespace braze::engine
