// Draws from the counter-based generator Philox4x32-10 (Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3",
// SC11), composed of elementwise ops, so that they fuse into what reads them. Element i of a draw is a function of a key and a counter
// alone: nothing is passed from element to element, and no memory is read but the key and where the counter starts.
#pragma once

#include <array>

#include "frontend/tensor_impl.h"

namespace braze::philox {

// 32-bit words, as i64 values of one shape.
using Block = std::array<engine::Value, 4>;

// The generator's function. `counter` has sizes `sizes`; the two words of `key` have them too, or rank 0.
Block block(const Block& counter, const std::array<engine::Value, 2>& key, const Dims& sizes, ir::Location where);

// `sizes` elements of a distribution, one block each: element i has the counter start + i, its upper 64 bits zero. `start` and `key` are i64
// of rank 0; `a` and `b` as ir::Draw has them. Throws NotImplementedError for poisson, which takes as many words as it happens to
// need, and ValueError for a range of integers past 63 bits.
engine::Value draw(const ir::Draw& what, const Dims& sizes, const engine::Value& key, const engine::Value& start,
                   const engine::Value& a, const engine::Value& b, ir::Location where);

}  // namespace braze::philox
