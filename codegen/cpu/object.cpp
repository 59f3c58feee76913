// Kernels to object files. A pool of compilers, each an LLVMContext with a TargetMachine, lets several threads compile at
// once without sharing anything. No pass of LLVM's optimiser runs: the emitter writes SSA that needs none, and selection
// costs what it costs.
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Support/CommandLine.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/Target/TargetOptions.h>

#include <cstdlib>
#include <mutex>
#include <set>
#include <type_traits>
#include <vector>

#include "codegen/backend.h"
#include "codegen/cpu/emit.h"
#include "codegen/cpu/llvm_compat.h"
#include "ir/error.h"

namespace braze::codegen {
namespace {

// Loop strength reduction takes up to a third of a small reduction's compile time and finds nothing: addresses are written
// with their invariant part first. Its switch is an option of the (private) LLVM.
void switch_off_strength_reduction() {
  auto& options = llvm::cl::getRegisteredOptions();
  const auto found = options.find("disable-lsr");
  if (found != options.end()) static_cast<llvm::cl::opt<bool>*>(found->second)->setValue(true);
}

// A context keeps every type and constant that it has seen, so one that has compiled this many kernels is dropped.
constexpr int uses_of_a_context = 512;

const llvm::Triple& triple() {
  static const llvm::Triple name("x86_64-unknown-linux-gnu");
  return name;
}

const llvm::Target& initialise_llvm() {
  static const llvm::Target* const target = [] {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
    switch_off_strength_reduction();
    std::string error;
    const llvm::Target* const found = cpu::lookup_target(triple(), error);
    invariant(found != nullptr, "LLVM has no x86-64 target: {}", error);
    return found;
  }();
  return *target;
}

struct Compiler {
  explicit Compiler(const std::string& features) {
    llvm::TargetOptions options;
    options.AllowFPOpFusion = llvm::FPOpFusion::Strict;
    // The CPU's name would bring features that the machine may not have; it tunes each function by attribute instead.
    machine = cpu::create_target_machine(initialise_llvm(), triple(), "x86-64", features, options, llvm::CodeGenOptLevel::Default);
    invariant(machine != nullptr, "LLVM makes no machine for x86-64");
  }

  // What the module becomes. The passes are set up once and run on module after module, which LLVM supports (llc
  // -compile-twice) and which saves a tenth of a small kernel's time.
  std::vector<char> object(llvm::Module& module) {
    if (!to_object_) {
      to_object_ = std::make_unique<llvm::legacy::PassManager>();
      add_passes(*to_object_, out_, llvm::CodeGenFileType::ObjectFile);
    }
    bytes_.clear();
    to_object_->run(module);
    return {bytes_.begin(), bytes_.end()};
  }
  std::string assembly(llvm::Module& module) {
    llvm::SmallVector<char, 0> text;
    llvm::raw_svector_ostream out(text);
    llvm::legacy::PassManager passes;
    add_passes(passes, out, llvm::CodeGenFileType::AssemblyFile);
    passes.run(module);
    return {text.begin(), text.end()};
  }

  llvm::LLVMContext context;
  std::unique_ptr<llvm::TargetMachine> machine;
  int uses = 0;

 private:
  void add_passes(llvm::legacy::PassManager& passes, llvm::raw_pwrite_stream& out, llvm::CodeGenFileType kind) {
    const bool refused = machine->addPassesToEmitFile(passes, out, nullptr, kind, /*DisableVerify=*/true);
    invariant(!refused, "LLVM writes no such file");
  }

  llvm::SmallVector<char, 0> bytes_;
  llvm::raw_svector_ostream out_{bytes_};
  std::unique_ptr<llvm::legacy::PassManager> to_object_;
};

class CpuBackend final : public Backend {
 public:
  explicit CpuBackend(const ir::CpuTarget& target) : target_(target) {
    for (const std::string& feature : target.features) features_ += (features_.empty() ? "" : ",") + feature;
  }

  std::string source(std::span<const ir::Kernel> kernels, SourceKind kind, const CompileOptions& options) const override {
    require<ValueError>(kind == SourceKind::llvm || kind == SourceKind::assembly, "the CPU back end shows llvm and assembly only");
    return with_compiler([&](Compiler& compiler) {
      llvm::Module module("braze", compiler.context);
      emit_all(compiler, module, kernels, options);
      std::string text;
      if (kind == SourceKind::llvm) {
        llvm::raw_string_ostream out(text);
        module.print(out, nullptr);
        return text;
      }
      return compiler.assembly(module);
    });
  }

  ir::Object compile(std::span<const ir::Kernel> kernels, const CompileOptions& options) const override {
    return with_compiler([&](Compiler& compiler) {
      llvm::Module module("braze", compiler.context);
      ir::Object object;
      object.entries = emit_all(compiler, module, kernels, options);
      object.bytes = compiler.object(module);
      return object;
    });
  }

  std::string identity() const override {
    return fmt::format("cpu 1, LLVM {}, tuned for {}, {}", LLVM_VERSION_STRING, target_.cpu, features_);
  }

 private:
  // The entry points' names, in order.
  std::vector<std::string> emit_all(Compiler& compiler, llvm::Module& module, std::span<const ir::Kernel> kernels,
                                    const CompileOptions& options) const {
    module.setDataLayout(compiler.machine->createDataLayout());
    cpu::set_target_triple(module, triple());
    std::set<std::string> taken;
    std::vector<std::string> entries;
    for (const ir::Kernel& kernel : kernels) {
      // The prefix keeps a kernel named "exp2" apart from the library function.
      std::string symbol = "k_" + kernel.name;
      for (int n = 2; !taken.insert(symbol).second; ++n) symbol = fmt::format("k_{}_{}", kernel.name, n);
      cpu::emit(module, kernel, target_, {.symbol = symbol, .streaming = options.streaming});
      entries.push_back(std::move(symbol));
    }
    if (verifies()) {
      std::string broken;
      llvm::raw_string_ostream out(broken);
      invariant(!llvm::verifyModule(module, &out), "the CPU back end wrote bad LLVM IR: {}", broken);
    }
    return entries;
  }

  static bool verifies() {
    static const bool wanted = [] {
      const char* const value = std::getenv("BRAZE_VERIFY");
      return value && *value && std::string_view(value) != "0";
    }();
    return wanted;
  }

  template <class Work>
  std::invoke_result_t<Work, Compiler&> with_compiler(const Work& work) const {
    std::unique_ptr<Compiler> compiler;
    {
      const std::lock_guard lock(mutex_);
      if (!idle_.empty()) {
        compiler = std::move(idle_.back());
        idle_.pop_back();
      }
    }
    if (!compiler) compiler = std::make_unique<Compiler>(features_);
    auto result = work(*compiler);
    if (++compiler->uses < uses_of_a_context) {
      const std::lock_guard lock(mutex_);
      idle_.push_back(std::move(compiler));
    }
    return result;
  }

  const ir::CpuTarget target_;
  std::string features_;
  mutable std::mutex mutex_;
  mutable std::vector<std::unique_ptr<Compiler>> idle_;
};

}  // namespace

std::unique_ptr<Backend> make_cpu_backend(const ir::CpuTarget& target) { return std::make_unique<CpuBackend>(target); }

}  // namespace braze::codegen
