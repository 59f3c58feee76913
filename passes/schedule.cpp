// The target enters here: each nest becomes one kernel or a few, by the target's own schedules.
#include "ir/loops.h"
#include "passes/nest.h"

namespace braze::passes {

Module schedule(Module module, const Options& options) {
  return std::visit(ir::match{[&](const ir::CpuTarget&) { return schedule_cpu(std::move(module), options); },
                              [&](const ir::CudaTarget&) { return schedule_gpu(std::move(module), options); }},
                    options.target);
}

}  // namespace braze::passes
