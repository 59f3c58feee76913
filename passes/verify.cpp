#include "passes/groups.h"

namespace braze::passes {

void verify(const Module& module) {
  ir::verify(module.graph);
  if (module.stage >= Stage::fused) check_groups(module);
  if (module.stage == Stage::loops)  // plan moves them into the program
    for (const Lowered& lowered : module.kernels)
      if (!lowered.call) ir::verify(lowered.loops);
  if (module.stage == Stage::steps)
    for (const ir::Kernel& kernel : module.program.kernels) ir::verify(kernel);
}

}  // namespace braze::passes
