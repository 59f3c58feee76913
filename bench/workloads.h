// What is timed fused against eager: an expression over inputs, and the bytes that it must move at least (inputs and outputs once).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "bench/by_hand.h"
#include "braze/braze.h"

namespace braze::bench {

struct Workload {
  std::string name;
  std::int64_t bytes;
  std::function<Tensor()> expression;  // records; the caller evaluates
  std::optional<ByHand> by_hand = {};
};

// Inputs are made, evaluated and warm when this returns. Values are ordinary: no subnormals, no NaN.
std::vector<Workload> workloads();

}  // namespace braze::bench
