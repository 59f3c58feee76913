// From a graph to machine code in memory: where passes, code generation and runtime meet.
#include <chrono>
#include <cstdlib>
#include <list>
#include <mutex>
#include <unordered_map>

#include "codegen/backend.h"
#include "frontend/engine/engine.h"
#include "frontend/engine/state.h"
#include "ir/error.h"
#include "runtime/launch.h"
#include "runtime/threads.h"

namespace braze::engine {

namespace {

using passes::Stage;

const codegen::Backend& cpu_backend() {
  static const auto* backend = codegen::make_cpu_backend(ir::host_target()).release();
  return *backend;
}

// Machine code by kernel text: programs share kernels, and one program often holds a kernel many times. The text decides, so a
// collision of hashes is no danger; the least recently used go first. Running programs keep theirs alive.
class KernelCache {
 public:
  runtime::KernelEntry get(const ir::Kernel& kernel, bool streaming) {
    const std::shared_ptr<Slot> slot = find_or_add((streaming ? "streaming " : "") + nameless_text(kernel));
    std::lock_guard building(slot->building);  // the others wait for the first
    if (!slot->entry.regular) {
      const codegen::CompileOptions options{.streaming = streaming};
      std::shared_ptr<const runtime::Code> code = runtime::load(cpu_backend().compile({&kernel, 1}, options));
      slot->entry = {code->entry(0), code};
    }
    return slot->entry;
  }

 private:
  struct Slot {
    std::mutex building;
    runtime::KernelEntry entry;
    std::list<std::string>::iterator recent;
  };

  // What a kernel and its sizes are called does not change its code.
  static std::string nameless_text(ir::Kernel kernel) {
    kernel.name = "kernel";
    for (std::size_t i = 0; i < kernel.size_names.size(); ++i) kernel.size_names[i] = fmt::format("s{}", i);
    return ir::print(kernel);
  }

  std::shared_ptr<Slot> find_or_add(std::string text) {
    std::lock_guard lock(mutex_);
    if (const auto found = slots_.find(text); found != slots_.end()) {
      recent_.splice(recent_.begin(), recent_, found->second->recent);
      return found->second;
    }
    recent_.push_front(text);
    auto slot = std::make_shared<Slot>();
    slot->recent = recent_.begin();
    slots_.emplace(std::move(text), slot);
    if (slots_.size() > capacity) {
      slots_.erase(recent_.back());
      recent_.pop_back();
    }
    return slot;
  }

  static constexpr std::size_t capacity = 4096;
  std::mutex mutex_;
  std::list<std::string> recent_;
  std::unordered_map<std::string, std::shared_ptr<Slot>> slots_;
};

runtime::KernelEntry compile_kernel(const ir::Kernel& kernel, bool streaming) {
  static auto* cache = new KernelCache;  // threads may still compile while statics die
  return cache->get(kernel, streaming);
}

constexpr std::string_view stages[] = {"graph", "fused", "loops", "steps", "llvm", "assembly", "cuda", "ptx"};

bool listed(const char* variable, std::string_view word) {
  const char* text = std::getenv(variable);
  if (!text) return false;
  for (std::string_view rest = text; !rest.empty();) {
    const std::size_t comma = rest.find(',');
    if (rest.substr(0, comma) == word) return true;
    rest = comma == std::string_view::npos ? std::string_view{} : rest.substr(comma + 1);
  }
  return false;
}

std::vector<ir::Kernel> kernels_of(passes::Module& module) {
  std::vector<ir::Kernel> kernels;
  for (passes::Lowered& lowered : module.kernels)
    if (!lowered.call) kernels.push_back(std::move(lowered.loops));
  return kernels;
}

passes::Module copy_of_graph(const passes::Module& module) {
  passes::Module copy;
  copy.graph = ir::copy(module.graph);
  return copy;
}

// BRAZE_DUMP=fused,llvm: each named stage of what is about to be compiled.
void dump_stages(const passes::Module& module) {
  if (!std::getenv("BRAZE_DUMP")) return;
  for (const std::string_view stage : stages)
    if (listed("BRAZE_DUMP", stage)) log(fmt::format("{}", stage_text(copy_of_graph(module), stage)));
}

void explain_fusion(const passes::Module& module) {
  if (!explains(Explain::fuse)) return;
  for (const passes::Note& note : module.notes) {
    const ir::Node& producer = module.graph[note.producer];
    const ir::Node& consumer = module.graph[note.consumer];
    log(fmt::format("not fused: {} into {}: {} {}", ir::name(producer.op), ir::name(consumer.op), note.reason,
                    ir::text(producer.location)));
  }
}

// Between passes and between kernels; nothing has run by then, so what was pending stays pending.
void answer_stop() {
  if (runtime::stopping()) fail<Error>("evaluation was stopped");
}

}  // namespace

std::span<const std::string_view> stage_names() { return stages; }

passes::Options compile_options(bool fuse) {
  passes::Options options;
  options.target = ir::host_target();
  options.fuse = fuse;
  return options;
}

std::shared_ptr<const runtime::Executable> build_executable(passes::Module module, const passes::Options& options) {
  const auto start = std::chrono::steady_clock::now();
  dump_stages(module);
  passes::Trace trace;
  trace.after = [](std::string_view, const passes::Module&, double) { answer_stop(); };
  module = passes::run_pipeline(std::move(module), options, Stage::steps, trace);
  explain_fusion(module);
  ir::Program program = std::move(module.program);
  std::vector<runtime::KernelEntry> entries(program.kernels.size());
  // Kernels compile in parallel; one alone stays on the caller.
  runtime::executor().run(static_cast<std::int64_t>(entries.size()), [&](std::int64_t i) {
    answer_stop();
    entries[static_cast<std::size_t>(i)] = compile_kernel(program.kernels[static_cast<std::size_t>(i)], false);
  });
  if (explains(Explain::compile)) {
    std::string names;
    for (const ir::Kernel& kernel : program.kernels) names += " " + kernel.name;
    const std::chrono::duration<double, std::milli> spent = std::chrono::steady_clock::now() - start;
    log(fmt::format("compile: {} kernels in {:.1f} ms:{}", entries.size(), spent.count(), names));
  }
  auto kernels = std::make_shared<const std::vector<ir::Kernel>>(program.kernels);
  auto streaming = [kernels](std::uint32_t kernel) { return compile_kernel((*kernels)[kernel], true); };
  return std::make_shared<const runtime::Executable>(std::move(program), std::move(entries), std::move(streaming));
}

std::string stage_text(passes::Module module, std::string_view stage) {
  passes::Options options = compile_options(true);
  if (stage == "graph") return passes::print(module);
  if (stage == "fused") return passes::print(passes::run_pipeline(std::move(module), options, Stage::fused));
  if (stage == "loops") return passes::print(passes::run_pipeline(std::move(module), options, Stage::loops));
  if (stage == "steps") return passes::print(passes::run_pipeline(std::move(module), options, Stage::steps));
  const bool cuda = stage == "cuda" || stage == "ptx";
  if (!cuda && stage != "llvm" && stage != "assembly")
    fail<ValueError>("unknown stage '{}'; there are {}", stage, fmt::join(stages, ", "));
  if (cuda) options.target = ir::CudaTarget{};
  module = passes::run_pipeline(std::move(module), options, Stage::loops);
  const std::vector<ir::Kernel> kernels = kernels_of(module);
  if (stage == "cuda") return codegen::cuda_source(kernels, ir::CudaTarget{});
  if (stage == "ptx") return codegen::make_cuda_backend(ir::CudaTarget{})->source(kernels, codegen::SourceKind::ptx);
  return cpu_backend().source(kernels, stage == "llvm" ? codegen::SourceKind::llvm : codegen::SourceKind::assembly);
}

}  // namespace braze::engine
