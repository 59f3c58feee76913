// The CPU's schedules: one function a shape of nest, each writing whole kernels. Shared by schedule_cpu*.cpp only.
#pragma once

#include <string>
#include <vector>

#include "ir/target.h"
#include "passes/nest.h"
#include "passes/nest_emitter.h"

namespace braze::passes::cpu {

struct Context {
  Module& module;  // where kernels and temporaries go
  const ir::CpuTarget& target;
  const Nest& nest;

  ir::IndexTable& index() const { return module.index; }
  // A kernel under construction for the nest.
  Lowered start(const std::string& suffix = "") const;
  void finish(Lowered lowered, ir::IndexId extent, ir::IndexId work) const;
};

// Lanes of a vector loop over elements of the nest: two vectors of its widest type.
std::int32_t lanes(const Context& context);
ir::IndexId elements(const Context& context, bool reduced_too = true);

// One element at a time, no reduction.
void schedule_elementwise(const Context& context);

}  // namespace braze::passes::cpu
