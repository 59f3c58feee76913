// Back ends: loops in, bytes out. Neither needs a device.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "ir/loops.h"
#include "ir/object.h"
#include "ir/target.h"

namespace braze::codegen {

enum class SourceKind { llvm, assembly, cuda, ptx };

struct CompileOptions {
  // Also emit, beside each kernel K that has a streaming buffer, only the variant whose stores pass the cache. Same bits.
  bool streaming = false;
};

class Backend {
 public:
  virtual ~Backend() = default;
  // What dumps show and tests read. Throws ValueError for a kind that the back end does not have.
  virtual std::string source(std::span<const ir::Kernel> kernels, SourceKind kind, const CompileOptions& options = {}) const = 0;
  // Thread-safe: several calls may run at once. Throws CompileError with the tool's own log.
  virtual ir::Object compile(std::span<const ir::Kernel> kernels, const CompileOptions& options = {}) const = 0;
  // Names everything besides kernel text that the bytes depend on: tool and version, CPU features.
  virtual std::string identity() const = 0;
};

std::unique_ptr<Backend> make_cpu_backend(const ir::CpuTarget& target);

// Throws DeviceError, saying where it looked, when no NVRTC library can be loaded.
std::unique_ptr<Backend> make_cuda_backend(const ir::CudaTarget& target);
// CUDA C++ text needs no NVRTC.
std::string cuda_source(std::span<const ir::Kernel> kernels, const ir::CudaTarget& target);

}  // namespace braze::codegen
