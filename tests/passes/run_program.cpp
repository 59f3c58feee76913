#include "tests/passes/run_program.h"

#include <cmath>
#include <cstring>

#include "ir/error.h"
#include "ir/interpret_graph.h"
#include "ir/meaning.h"
#include "ir/scalar.h"
#include "tests/catch.h"

namespace braze::test {

using namespace ir;

namespace {

void run_kernel(const Program& program, const KernelStep& step, const std::vector<HostArray>& memory,
                std::span<const std::int64_t> index, std::span<const std::uint64_t> scalars) {
  const Kernel& kernel = program.kernels[step.kernel];
  std::vector<void*> buffers;
  std::vector<std::int64_t> elements, sizes;
  std::vector<std::uint64_t> values;
  for (const std::uint32_t slot : step.buffers) {
    buffers.push_back(memory[slot].data.get());
    elements.push_back(memory[slot].elements());
  }
  for (const IndexId size : step.sizes) sizes.push_back(index[size]);
  for (const std::uint32_t scalar : step.scalars) values.push_back(scalars[scalar]);
  const KernelArgs args{buffers.data(), sizes.data(), values.data()};
  std::vector<std::int64_t> extents{index[step.extent]};
  for (const KernelPhase& phase : step.then) extents.push_back(index[phase.extent]);
  const LoopInterpreter interpreter(kernel);
  const std::vector<Phase> phases = ir::phases(kernel, sizes);
  REQUIRE(phases.size() == extents.size());
  for (std::size_t i = 0; i < phases.size(); ++i) {
    const auto [first, extent, step_size] = phases[i];
    REQUIRE(extent == extents[i]);
    const std::int64_t range = std::max<std::int64_t>((extent / 3 + step_size - 1) / step_size * step_size, step_size);
    // Backwards, so that an order that ranges must not rely on shows.
    std::vector<std::int64_t> begins;
    for (std::int64_t begin = 0; begin < extent; begin += range) begins.push_back(begin);
    for (auto begin = begins.rbegin(); begin != begins.rend(); ++begin) {
      const std::int64_t end = std::min(*begin + range, extent);
      const auto fault = static_cast<Fault>(interpreter.run(args, first + *begin, first + end, {.buffer_elements = elements}));
      require<ValueError>(fault != Fault::division_by_zero, "division by zero");
      require<IndexError>(fault != Fault::index_out_of_range, "index out of bounds");
      REQUIRE(fault == Fault::none);
    }
  }
}

// By the oracle's own routines: here it is the plan that is tested.
void run_call(const CallStep& step, std::vector<HostArray>& memory, std::span<const std::int64_t> index) {
  const auto array = [&](const CallStep::Array& from) {
    std::vector<std::int64_t> sizes;
    for (const IndexId size : from.sizes) sizes.push_back(index[size]);
    HostArray result = make_host_array(from.type, sizes);
    if (from.kind != CallStep::Array::Kind::slot) return result;
    REQUIRE(memory[from.number].elements() == result.elements());
    return HostArray{from.type, sizes, memory[from.number].data};
  };
  std::vector<HostArray> in, out;
  std::vector<const HostArray*> operands;
  for (const CallStep::Array& from : step.in) in.push_back(array(from));
  for (const HostArray& operand : in) operands.push_back(&operand);
  for (const CallStep::Array& to : step.out) out.push_back(array(to));
  interpret_routine(step.op, step.attributes, operands, out);
}

}  // namespace

std::vector<HostArray> run_program(const Program& program, const Graph& graph, std::span<const HostArray> arguments,
                                   std::span<const std::int64_t> symbols) {
  std::vector<std::int64_t> index(program.index.size());
  program.index.evaluate(symbols, index);
  std::vector<const HostArray*> inputs;
  std::vector<std::uint64_t> scalars;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (graph.node(graph.parameters()[i]).as<Parameter>().kind != Parameter::Kind::scalar) {
      inputs.push_back(&arguments[i]);
      continue;
    }
    std::uint64_t bits = 0;
    std::memcpy(&bits, arguments[i].data.get(), static_cast<std::size_t>(size_of(arguments[i].dtype)));
    scalars.push_back(bits);
  }
  REQUIRE(inputs.size() == program.inputs);
  REQUIRE(scalars.size() == program.scalars);
  std::vector<HostArray> memory;
  const HostArray arena = make_host_array(DType::u8, {index[program.arena_bytes]});
  std::memset(arena.data.get(), 0xa5, static_cast<std::size_t>(arena.elements()));
  for (const Slot& slot : program.slots) {
    HostArray array{slot.type, {index[slot.elements]}, {}};
    const bool outside = slot.kind == Slot::Kind::input || slot.kind == Slot::Kind::in_out;
    const std::size_t bytes = static_cast<std::size_t>(array.elements() * size_of(slot.type));
    if (slot.kind == Slot::Kind::temporary) {
      REQUIRE(index[slot.arena_offset] % 64 == 0);
      REQUIRE(index[slot.arena_offset] + static_cast<std::int64_t>(bytes) <= arena.elements());
      array.data = std::shared_ptr<std::byte[]>(arena.data, arena.data.get() + index[slot.arena_offset]);
    } else {
      array = make_host_array(slot.type, {index[slot.elements]});
      if (outside) REQUIRE(inputs[slot.input]->elements() == array.elements());
      if (outside && bytes) std::memcpy(array.data.get(), inputs[slot.input]->data.get(), bytes);
      if (!outside) std::memset(array.data.get(), 0xa5, bytes);
    }
    memory.push_back(array);
  }
  for (const Step& step : program.steps) {
    if (const auto* copied = std::get_if<CopyStep>(&step.action)) {
      REQUIRE(memory[copied->from].elements() == memory[copied->to].elements());
      std::memmove(memory[copied->to].data.get(), memory[copied->from].data.get(),
                   static_cast<std::size_t>(memory[copied->to].elements() * size_of(memory[copied->to].dtype)));
    } else if (const auto* called = std::get_if<CallStep>(&step.action)) {
      run_call(*called, memory, index);
    } else {
      run_kernel(program, std::get<KernelStep>(step.action), memory, index, scalars);
    }
  }
  std::vector<HostArray> results;
  for (std::size_t i = 0; i < program.results.size(); ++i) results.push_back(memory[program.results[i]]);
  return results;
}

passes::Options cpu_options(bool fuse) {
  passes::Options options;
  options.target = CpuTarget{.vector_bytes = 64};
  options.fuse = fuse;
  return options;
}

std::vector<HostArray> random_arguments(const Graph& graph, const Check& check) {
  std::mt19937_64 random(check.seed);
  std::vector<HostArray> arguments;
  for (const Value v : graph.parameters()) {
    const Type& type = graph.type(v);
    std::vector<std::int64_t> sizes;
    for (const Extent e : type.shape) {
      const auto at = e.is_symbol() ? check.symbols.find(graph.symbols[e.symbol()]) : check.symbols.end();
      sizes.push_back(e.is_number() ? e.number() : at == check.symbols.end() ? 1 : at->second);
    }
    HostArray array = make_host_array(type.dtype, sizes);
    with_type(type.dtype, [&]<class T>(std::type_identity<T>) {
      for (std::int64_t i = 0; i < array.elements(); ++i) {
        std::uint64_t bits = 0;
        double value = std::uniform_real_distribution<double>(check.positive ? 0.1 : -4, 4)(random);
        if (is_integer(type.dtype)) value = std::floor(value * 3) + (check.positive ? 1 : 0);
        if (check.integers) value = std::floor(value / 2);
        bits = evaluate_cast(DType::f64, type.dtype, std::bit_cast<std::uint64_t>(value));
        if (type.dtype == DType::boolean) bits = random() & 1;
        std::memcpy(array.data.get() + i * static_cast<std::int64_t>(sizeof(T)), &bits, sizeof(T));
      }
    });
    arguments.push_back(array);
  }
  return arguments;
}

Graph copy_graph(const Graph& graph) { return parse_graph(print(graph)); }

namespace {

double element(const HostArray& array, std::int64_t i) {
  std::uint64_t bits = 0;
  const auto size = static_cast<std::int64_t>(size_of(array.dtype));
  std::memcpy(&bits, array.data.get() + i * size, static_cast<std::size_t>(size));
  return std::bit_cast<double>(evaluate_cast(array.dtype, DType::f64, bits));
}

// Empty if the arrays are equal within the tolerance.
std::string difference(const HostArray& got, const HostArray& wanted, double tolerance) {
  if (got.dtype != wanted.dtype) return "dtypes differ";
  if (got.elements() != wanted.elements()) return fmt::format("{} elements for {}", got.elements(), wanted.elements());
  double greatest = 0;
  for (std::int64_t i = 0; i < wanted.elements(); ++i)
    if (std::isfinite(element(wanted, i))) greatest = std::max(greatest, std::fabs(element(wanted, i)));
  const auto size = static_cast<std::int64_t>(size_of(got.dtype));
  for (std::int64_t i = 0; i < wanted.elements(); ++i) {
    if (std::memcmp(got.data.get() + i * size, wanted.data.get() + i * size, static_cast<std::size_t>(size)) == 0) continue;
    const double a = element(got, i), b = element(wanted, i);
    if (std::isnan(a) && std::isnan(b)) continue;
    if (tolerance > 0 && (a == b || std::fabs(a - b) <= tolerance * greatest)) continue;
    return fmt::format("element {} is {}, not {}", i, a, b);
  }
  return {};
}

}  // namespace

passes::Module check_graph(const std::string& text, const Check& check) { return check_graph(parse_graph(text), check); }

passes::Module check_graph(const Graph& graph, const Check& check) {
  INFO(print(graph));
  std::vector<std::int64_t> symbols;
  for (const std::string& name : graph.symbols) symbols.push_back(check.symbols.contains(name) ? check.symbols.at(name) : 1);
  const std::vector<HostArray> arguments = random_arguments(graph, check);
  const std::vector<HostArray> wanted = interpret(graph, arguments, symbols);
  std::vector<HostArray> first;
  passes::Module fused;
  struct Way {
    const char* name;
    bool fuse;
    int vector_bytes;
    std::int64_t nodes, buffers;
  };
  for (const Way& way : {Way{"fused", true, 64, 96, 24},
                         {"fused for short vectors", true, 16, 96, 24},
                         {"fused a little", true, 32, 4, 5},
                         {"unfused", false, 64, 96, 24}}) {
    passes::Options options = cpu_options(way.fuse);
    options.target = CpuTarget{.vector_bytes = way.vector_bytes};
    options.group_nodes = way.nodes;
    options.group_buffers = way.buffers;
    if (way.fuse) options.sizes = symbols;
    passes::Module module;
    module.graph = copy_graph(graph);
    std::string stages;
    module = run_pipeline(std::move(module), options, passes::Stage::steps,
                          {[&](std::string_view pass, const passes::Module& m, double) {
                            if (pass == "fuse" || pass == "lower" || pass == "schedule")
                              stages += "---- " + std::string(pass) + "\n" + passes::print(m);
                          }});
    INFO(stages << print(module.program));
    const auto got = run_program(module.program, module.graph, arguments, symbols);
    REQUIRE(got.size() == wanted.size());
    for (std::size_t i = 0; i < got.size(); ++i) {
      INFO(way.name << ", result " << i);
      REQUIRE(difference(got[i], wanted[i], check.tolerance) == "");
      if (!first.empty()) REQUIRE(difference(got[i], first[i], 0) == "");
    }
    if (first.empty()) {
      first = got;
      fused = std::move(module);
    }
  }
  return fused;
}

}  // namespace braze::test
