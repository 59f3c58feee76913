// What each thread keeps while it records, in one struct of plain data: no constructor, no destructor, no call to reach it. (The
// initial-exec model takes it from the thread's static block, of which every dynamic library may have a little.)
#pragma once

#include <cstdint>

#include "ir/graph.h"

#define BRAZE_THREAD_LOCAL constinit thread_local __attribute__((tls_model("initial-exec")))

namespace braze {
class Trace;
}

namespace braze::engine {

class Node;

struct ThreadState {
  bool grad_mode = true, eager = false;
  bool destroying = false;  // Node::destroy is at work
  std::int32_t tracing_depth = 0;
  std::int32_t mapping_depth = 0;  // calls of vmap
  std::int64_t recorded_since_evaluation = 0;
  struct {
    std::uint16_t call = 0, calls = 0;
    std::uint8_t name = 0;
  } function_scope;
  const ir::Location* source_line = nullptr;  // of the outermost SourceLine
  Trace* trace = nullptr;                     // the innermost
  Node* doomed = nullptr;                     // nodes that wait for their destruction, linked
};

extern BRAZE_THREAD_LOCAL ThreadState thread_state;

}  // namespace braze::engine
