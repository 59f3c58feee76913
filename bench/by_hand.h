// What a programmer gets from intrinsics: softmax and layer norm over rows of float32, written for AVX-512 with the passes that a fused
// kernel makes, results stored past the cache, on the same threads. Beside the copy it tells how much of a workload's time is arithmetic.
#pragma once

#include <functional>
#include <optional>

#include "braze/braze.h"

namespace braze::bench {

struct ByHand {
  std::function<void()> run;
  std::function<Tensor()> result;  // of the last run
};

// x: [rows, columns] with columns a multiple of 64; weight, bias: [columns]. None where the processor lacks AVX-512.
std::optional<ByHand> softmax_by_hand(const Tensor& x);
std::optional<ByHand> layer_norm_by_hand(const Tensor& x, const Tensor& weight, const Tensor& bias, float epsilon);

}  // namespace braze::bench
