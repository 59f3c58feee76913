#include "codegen/backend.h"

#include "codegen/cuda/emit.h"
#include "codegen/cuda/nvrtc.h"
#include "ir/error.h"

namespace braze::codegen {

namespace {

class CudaBackend final : public Backend {
 public:
  explicit CudaBackend(const ir::CudaTarget& target) : target_(target), nvrtc_(cuda::Nvrtc::instance()) {}

  std::string source(std::span<const ir::Kernel> kernels, SourceKind kind, const CompileOptions&) const override {
    require<ValueError>(kind == SourceKind::cuda || kind == SourceKind::ptx,
                        "the CUDA back end shows cuda and ptx, not llvm or assembly");
    const std::string text = cuda_source(kernels, target_);
    return kind == SourceKind::cuda ? text : nvrtc_.ptx(text, target_);
  }

  ir::Object compile(std::span<const ir::Kernel> kernels, const CompileOptions&) const override {
    cuda::Compilation compiled = nvrtc_.compile(cuda_source(kernels, target_), target_);
    return {compiled.format, std::move(compiled.bytes), cuda::entry_names(kernels)};
  }

  std::string identity() const override { return fmt::format("nvrtc {} sm_{}{}", nvrtc_.version(), target_.major, target_.minor); }

 private:
  const ir::CudaTarget target_;
  const cuda::Nvrtc& nvrtc_;
};

}  // namespace

std::unique_ptr<Backend> make_cuda_backend(const ir::CudaTarget& target) { return std::make_unique<CudaBackend>(target); }

std::string cuda_source(std::span<const ir::Kernel> kernels, const ir::CudaTarget& target) {
  for (const ir::Kernel& kernel : kernels) {
    const auto threads = cuda::launch_threads(kernel);
    invariant(threads[0] * threads[1] * threads[2] <= target.max_threads_per_block,
              "kernel {} has {} threads a block, the device {}", kernel.name, threads[0] * threads[1] * threads[2],
              target.max_threads_per_block);
  }
  return cuda::emit(kernels);
}

}  // namespace braze::codegen
