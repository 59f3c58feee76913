// Loops in, LLVM IR out.
#pragma once

#include <string>

#include "ir/loops.h"
#include "ir/target.h"

namespace llvm {
class Module;
}

namespace braze::codegen::cpu {

struct EmitOptions {
  std::string symbol;      // of the function
  bool streaming = false;  // stores to streaming buffers pass the cache where they are aligned
};

// Adds `int32_t symbol(const KernelArgs*, int64_t begin, int64_t end, void* scratch)` to `module`.
void emit(llvm::Module& module, const ir::Kernel& kernel, const ir::CpuTarget& target, const EmitOptions& options);

}  // namespace braze::codegen::cpu
