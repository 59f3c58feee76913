#include "tests/fuzz/end_to_end.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>

#include "codegen/backend.h"
#include "ir/error.h"
#include "ir/scalar.h"
#include "passes/passes.h"
#include "tests/passes/host_arrays.h"

namespace braze::test {

namespace {

// Host memory as a Block whose last byte borders on a page that nobody may touch.
runtime::Block guarded(const ir::HostArray& array) {
  const std::int64_t bytes = array.elements() * size_of(array.dtype);
  const auto page = static_cast<std::int64_t>(sysconf(_SC_PAGESIZE));
  const std::int64_t inner = std::max<std::int64_t>((bytes + page - 1) / page * page, page), whole = inner + page;
  auto* start = static_cast<char*>(
      mmap(nullptr, static_cast<std::size_t>(whole), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  invariant(start != MAP_FAILED, "no memory for a guarded buffer of {} bytes", bytes);
  invariant(mprotect(start + inner, static_cast<std::size_t>(page), PROT_NONE) == 0, "a page cannot be protected");
  char* data = start + inner - bytes;
  if (bytes > 0) std::memcpy(data, array.data.get(), static_cast<std::size_t>(bytes));
  return runtime::Block::borrow(data, bytes, [start, whole] { munmap(start, static_cast<std::size_t>(whole)); }, false);
}

double as_double(const ir::HostArray& array, std::int64_t i) {
  const std::uint64_t bits = get(array, i);
  if (array.dtype == DType::f64) return std::bit_cast<double>(bits);
  return std::bit_cast<double>(ir::evaluate({.op = ir::Primitive::convert, .type = DType::f64, .from = array.dtype}, bits));
}

bool within(const ir::HostArray& got, const ir::HostArray& wanted, double tolerance) {
  if (got.dtype != wanted.dtype || got.sizes != wanted.sizes) return false;
  double scale = 0;
  for (std::int64_t i = 0; i < wanted.elements(); ++i)
    if (const double v = std::abs(as_double(wanted, i)); std::isfinite(v)) scale = std::max(scale, v);
  for (std::int64_t i = 0; i < wanted.elements(); ++i) {
    const double a = as_double(got, i), b = as_double(wanted, i);
    if (std::isnan(a) != std::isnan(b) || (!std::isnan(a) && !(a == b || std::abs(a - b) <= tolerance * scale))) return false;
  }
  return true;
}

}  // namespace

Outcome run_whole(const ir::Graph& graph, std::span<const ir::HostArray> arguments, std::span<const std::int64_t> symbols) {
  static auto& kept = *new std::map<std::string, std::shared_ptr<const runtime::Executable>>;
  std::shared_ptr<const runtime::Executable>& executable = kept[ir::print(graph)];
  if (!executable) {
    passes::Module module;
    module.graph = copy(graph);
    passes::Options options;
    options.target = ir::host_target();
    executable = runtime::Executable::interpreted(passes::run_pipeline(std::move(module), options).program);
  }
  return run(graph, *executable, arguments, symbols);
}

std::string first_difference(const ir::HostArray& a, const ir::HostArray& b) {
  if (a.dtype != b.dtype || a.sizes != b.sizes) return "types differ";
  for (std::int64_t i = 0; i < a.elements(); ++i)
    if (get(a, i) != get(b, i) && !(std::isnan(as_double(a, i)) && std::isnan(as_double(b, i))))
      return fmt::format("element {}: {} against {} (bits {:#x}, {:#x})", i, as_double(a, i), as_double(b, i), get(a, i),
                         get(b, i));
  return "no difference";
}

CompiledGraph::CompiledGraph(const ir::Graph& graph, const ir::CpuTarget& target, bool fuse) : graph_(graph) {
  passes::Module module;
  module.graph = ir::copy(graph);
  passes::Options options;
  options.target = target;
  options.fuse = fuse;
  ir::Program program = passes::run_pipeline(std::move(module), options).program;
  const auto backend = codegen::make_cpu_backend(target);
  std::vector<runtime::KernelEntry> entries;
  for (const ir::Kernel& kernel : program.kernels) {
    auto code = runtime::load(backend->compile({&kernel, 1}));
    entries.push_back({code->entry(0), code});
  }
  interpreted_ = runtime::Executable::interpreted(program);
  machine_ = std::make_shared<const runtime::Executable>(std::move(program), std::move(entries), runtime::StreamingSource{});
}

Outcome run(const ir::Graph& graph, const runtime::Executable& executable, std::span<const ir::HostArray> arguments,
            std::span<const std::int64_t> symbols) {
  std::vector<runtime::Buffer> inputs, results(graph.results.size());
  std::vector<std::uint64_t> scalars;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (graph.node(graph.parameters()[i]).as<ir::Parameter>().kind == ir::Parameter::Kind::scalar) {
      scalars.push_back(get(arguments[i], 0));
      continue;
    }
    runtime::Block block = guarded(arguments[i]);
    void* data = block.data();
    inputs.push_back({std::move(block), data});
  }
  Outcome outcome;
  outcome.fault = executable.run(inputs, symbols, scalars, results).fault;
  if (outcome.fault != ir::Fault::none) return outcome;
  for (std::size_t r = 0; r < results.size(); ++r) {
    const ir::Type& type = graph.type(graph.results[r]);
    std::vector<std::int64_t> sizes;
    for (const ir::Extent& e : type.shape) sizes.push_back(e.is_symbol() ? symbols[e.symbol()] : e.number());
    outcome.results.push_back(ir::make_host_array(type.dtype, sizes));
    const std::int64_t bytes = outcome.results.back().elements() * size_of(type.dtype);
    if (bytes > 0) std::memcpy(outcome.results.back().data.get(), results[r].data, static_cast<std::size_t>(bytes));
  }
  return outcome;
}

std::vector<ir::CpuTarget> tested_targets() {
  std::vector<ir::CpuTarget> out{ir::host_target()};
  if (out[0].vector_bytes > 32) out.push_back(ir::target_named("avx2"));
  return out;
}

std::string disagreement(const ir::Graph& graph, const CompiledGraph& compiled, std::span<const ir::HostArray> arguments,
                         std::span<const std::int64_t> symbols, double tolerance) {
  const Outcome machine = compiled.run(arguments, symbols), loops = compiled.interpret(arguments, symbols);
  if (machine.fault != loops.fault) return "machine code and loop interpreter disagree about a fault";
  std::vector<ir::HostArray> wanted;
  try {
    wanted = ir::interpret(graph, arguments, symbols);
  } catch (const Error& e) {
    return machine.fault == ir::Fault::none ? fmt::format("only the graph interpreter faults: {}", e.what()) : "";
  }
  if (machine.fault != ir::Fault::none) return "machine code faults, the graph interpreter does not";
  for (std::size_t r = 0; r < wanted.size(); ++r) {
    if (!same_bits(machine.results[r], loops.results[r]))
      return fmt::format("result {}: machine code and loop interpreter differ: {}", r,
                         first_difference(machine.results[r], loops.results[r]));
    if (tolerance == 0 ? !same_bits(machine.results[r], wanted[r]) : !within(machine.results[r], wanted[r], tolerance))
      return fmt::format("result {}: compiled code and graph interpreter differ: {}", r,
                         first_difference(machine.results[r], wanted[r]));
  }
  return "";
}

std::string save_case(const ir::Graph& graph, const std::string& name, const std::string& why) {
  const auto folder = std::filesystem::temp_directory_path() / "braze-failures";
  std::filesystem::create_directories(folder);
  const auto path = folder / (name + ".bz");
  std::ofstream out(path);
  out << "// " << why << "\n" << ir::print(graph);
  return path.string();
}

}  // namespace braze::test
