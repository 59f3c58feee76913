// Random draws, equal to PyTorch's CPU generator draw for draw: a Mersenne twister in the layout of at::CPUGeneratorImpl's state, and
// its distributions (ATen/core/DistributionsHelper.h, ATen/native/cpu/DistributionTemplates.h). Integers and uniforms agree bit for
// bit; normals to the accuracy of log, cos and sin.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "ir/attributes.h"

namespace braze::runtime {

using GeneratorBytes = std::span<std::byte, ir::generator_bytes>;

// The state of a generator that manual_seed(seed) has just set.
void seed_generator(GeneratorBytes state, std::uint64_t seed);
// The seed that it was last set to.
std::uint64_t initial_seed(std::span<const std::byte, ir::generator_bytes> state);

// A distribution's parameter: one for all elements, or one an element. f64, or i64 for the integral kinds.
struct DrawParameter {
  const void* data;
  bool each = false;
};

// Draws `count` elements of `type` in order and advances `state`. False where a parameter is out of its range (a probability outside
// [0, 1], a negative rate): what was drawn until then is void.
// Throws routines::Stopped once a stop was requested and `may_stop`.
bool draw(ir::Draw::Kind kind, DType type, std::int64_t count, DrawParameter a, DrawParameter b, GeneratorBytes state, void* out,
          bool may_stop = false);
// Leaves `state` as such a draw would, without its values. False, and nothing done, where only drawing tells: how many words a draw
// takes depends on them (poisson), or a parameter may be out of its range.
bool advance(ir::Draw::Kind kind, DType type, std::int64_t count, DrawParameter a, DrawParameter b, GeneratorBytes state);

}  // namespace braze::runtime
