// Running Programs on the CPU.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "ir/object.h"
#include "ir/program.h"
#include "runtime/storage.h"

namespace braze::runtime {

// Machine code in memory; unloaded when the last reference dies. Thread-safe.
class Code {
 public:
  virtual ~Code() = default;
  virtual ir::KernelFunction entry(std::size_t kernel) const = 0;
};
// Links `object` into this process; throws CompileError when it asks for a symbol outside the closed list.
std::shared_ptr<const Code> load(const ir::Object& object);

// A slot's elements: dense, row-major, from `data` on.
struct Buffer {
  Block block;
  void* data = nullptr;
};

// Where a kernel's entry points come from; the engine compiles the streaming variants only when a run asks for one.
struct KernelEntry {
  ir::KernelFunction regular = nullptr;
  std::shared_ptr<const void> owner;
};
using StreamingSource = std::function<KernelEntry(std::uint32_t kernel)>;

// Thrown by run for a Fault; the step says which op of the user's failed.
struct Failure {
  ir::Fault fault;
  std::uint32_t step;
  std::string message = {};  // Fault::refused and not_decomposed: the routine's words
};

class Executable {
 public:
  // `interpret`: run the loop interpreter in place of machine code (the oracle, and targets without LLVM).
  Executable(ir::Program program, std::vector<KernelEntry> entries, StreamingSource streaming);
  static std::shared_ptr<const Executable> interpreted(ir::Program program);
  ~Executable();

  const ir::Program& program() const;

  // Inputs in the Program's order (their memory must outlive the call), symbols and raw scalar bits likewise; `results` receives
  // one buffer a result: fresh memory, or the in_out input's own. Thread-safe; allocates only results, and scratch at the first
  // call of a size. Returns nullopt-like fault none on success; throws Error only for memory. In-place stores have happened or
  // not as a whole when a Failure is returned.
  Failure run(std::span<const Buffer> inputs, std::span<const std::int64_t> symbols, std::span<const std::uint64_t> scalars,
              std::span<Buffer> results) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// A stop requested from another thread (Ctrl-C) makes running kernels return Fault::stopped within 20 ms.
void request_stop();
void clear_stop();

}  // namespace braze::runtime
