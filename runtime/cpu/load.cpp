// Links relocatable ELF objects into the process with JITLink alone: no ORC session, no thread pool, no view of the
// process's symbols. An object sees its own definitions and the closed list below, nothing else.
#include <llvm/ExecutionEngine/JITLink/JITLink.h>
#include <llvm/ExecutionEngine/JITLink/JITLinkMemoryManager.h>
#include <llvm/Support/MemoryBuffer.h>

#include <cmath>
#include <cstring>
#include <memory>
#include <string_view>
#include <vector>

#include "ir/error.h"
#include "runtime/run.h"

namespace braze::runtime {
namespace {

namespace jitlink = llvm::jitlink;
namespace orc = llvm::orc;

template <class Function>
void* address(Function* function) {
  return reinterpret_cast<void*>(function);
}

// The closed list: what LLVM emits for a copy of run-time length, fma where the machine has none, and the table's libm
// functions ("sin" in f64, "sinf" in f32), bound to the very functions that the interpreter calls. A unary one is declared
// with a second argument that it ignores; in the calling convention that is an unread register.
void* closed_list(std::string_view name) {
  if (name == "memcpy") return address(&::memcpy);
  if (name == "memset") return address(&::memset);
  if (name == "memmove") return address(&::memmove);
  if (name == "fma") return address(static_cast<double (*)(double, double, double)>(::fma));
  if (name == "fmaf") return address(&::fmaf);
  if (const auto function = ir::library_function_from_name(name)) return address(ir::info(*function).f64);
  if (!name.ends_with('f')) return nullptr;
  const auto function = ir::library_function_from_name(name.substr(0, name.size() - 1));
  return function ? address(ir::info(*function).f32) : nullptr;
}

// LLVM 19 keys symbols by plain text, later versions by pooled strings.
std::string_view text(llvm::StringRef name) { return {name.data(), name.size()}; }
template <class Pooled>
std::string_view text(const Pooled& name) {
  return text(*name);
}

// One for the process, and never destroyed: code may outlive static destructors.
jitlink::JITLinkMemoryManager& memory_manager() {
  static jitlink::JITLinkMemoryManager* const manager = [] {
    auto made = jitlink::InProcessMemoryManager::Create();
    invariant(static_cast<bool>(made), "no memory manager for compiled code");
    return made->release();
  }();
  return *manager;
}

class LinkedCode final : public Code {
 public:
  ~LinkedCode() override {
    if (!memory_) return;
    std::vector<jitlink::JITLinkMemoryManager::FinalizedAlloc> allocations;
    allocations.push_back(std::move(memory_));
    memory_manager().deallocate(std::move(allocations), [](llvm::Error error) { llvm::consumeError(std::move(error)); });
  }
  ir::KernelFunction entry(std::size_t kernel) const override {
    invariant(kernel < entries_.size(), "kernel {} of an object with {}", kernel, entries_.size());
    return entries_[kernel];
  }

  jitlink::JITLinkMemoryManager::FinalizedAlloc memory_;
  std::vector<ir::KernelFunction> entries_;
};

// What one link reports; JITLink calls back on this thread, and the context itself dies with the link.
struct Outcome {
  const ir::Object& object;
  std::shared_ptr<LinkedCode> code = std::make_shared<LinkedCode>();
  std::string failure;
};

class LinkContext final : public jitlink::JITLinkContext {
 public:
  explicit LinkContext(Outcome& outcome) : JITLinkContext(nullptr), outcome_(outcome) {}

  jitlink::JITLinkMemoryManager& getMemoryManager() override { return memory_manager(); }

  void notifyFailed(llvm::Error error) override {
    std::string message = llvm::toString(std::move(error));
    if (outcome_.failure.empty()) outcome_.failure = std::move(message);
  }

  void lookup(const LookupMap& symbols, std::unique_ptr<jitlink::JITLinkAsyncLookupContinuation> continuation) override {
    jitlink::AsyncLookupResult found;
    for (const auto& entry : symbols) {
      void* const target = closed_list(text(entry.first));
      if (!target) {
        outcome_.failure =
            fmt::format("compiled code asks for '{}', which is not in the closed list of symbols", text(entry.first));
        continuation->run(llvm::createStringError(llvm::inconvertibleErrorCode(), "symbol outside the closed list"));
        return;
      }
      found[entry.first] = {orc::ExecutorAddr::fromPtr(target), llvm::JITSymbolFlags::Exported};
    }
    continuation->run(std::move(found));
  }

  llvm::Error notifyResolved(jitlink::LinkGraph& graph) override {
    outcome_.code->entries_.assign(outcome_.object.entries.size(), nullptr);
    for (const jitlink::Symbol* symbol : graph.defined_symbols()) {
      if (!symbol->hasName()) continue;
      for (std::size_t i = 0; i < outcome_.object.entries.size(); ++i)
        if (text(symbol->getName()) == outcome_.object.entries[i])
          outcome_.code->entries_[i] = symbol->getAddress().toPtr<ir::KernelFunction>();
    }
    return llvm::Error::success();
  }

  void notifyFinalized(jitlink::JITLinkMemoryManager::FinalizedAlloc memory) override {
    outcome_.code->memory_ = std::move(memory);
  }

 private:
  Outcome& outcome_;
};

auto link_graph(const ir::Object& object) {
  const llvm::MemoryBufferRef bytes(llvm::StringRef(object.bytes.data(), object.bytes.size()), "kernel");
#if LLVM_VERSION_MAJOR >= 20
  static const auto* const pool = new std::shared_ptr<orc::SymbolStringPool>(std::make_shared<orc::SymbolStringPool>());
  return jitlink::createLinkGraphFromObject(bytes, *pool);
#else
  return jitlink::createLinkGraphFromObject(bytes);
#endif
}

}  // namespace

std::shared_ptr<const Code> load(const ir::Object& object) {
  require<CompileError>(object.format == ir::Object::Format::elf, "only ELF objects run on the CPU");
  auto graph = link_graph(object);
  if (!graph) fail<CompileError>("a compiled object cannot be read: {}", llvm::toString(graph.takeError()));
  Outcome outcome{.object = object};
  jitlink::link(std::move(*graph), std::make_unique<LinkContext>(outcome));
  require<CompileError>(outcome.failure.empty(), "a compiled object cannot be linked: {}", outcome.failure);
  for (std::size_t i = 0; i < object.entries.size(); ++i)
    require<CompileError>(outcome.code->entries_[i] != nullptr, "a compiled object lacks its kernel '{}'", object.entries[i]);
  return outcome.code;
}

}  // namespace braze::runtime
