// What the engine's files share among themselves.
#pragma once

#include <atomic>
#include <condition_variable>
#include <mutex>

#include "frontend/engine/engine.h"

namespace braze::engine {

struct EngineState {
  std::mutex mutex;                   // walks and publishing
  std::condition_variable published;  // an evaluation in flight has ended
  std::uint32_t epoch = 0;            // of the last walk
};
EngineState& engine_state();

struct Counters {
  std::atomic<std::uint64_t> recorded{0}, evaluations{0}, hits{0}, compilations{0};
};
Counters& counters();

// Bytes of evaluated buffers that only pending nodes own.
std::atomic<std::int64_t>& pinned_bytes();

// One of Node's flags: an evaluation has computed the node. Needing it again, pending as it still is, says that a state goes on from
// step to step unread; see choose_outputs.
inline constexpr std::uint8_t swallowed = 64;

// Another: a storage went over from a buffer to this node, which was pending. Eager execution would have that one buffer, too, so it counts
// as pinned only when the storage lets the node go while it is pending still.
inline constexpr std::uint8_t overwrites = 128;

// Rank-0 types and the attributes of scalar parameters, one of each a dtype.
const TypeRef& scalar_type(DType type);
const AttributesRef& scalar_attributes(DType type);

}  // namespace braze::engine
