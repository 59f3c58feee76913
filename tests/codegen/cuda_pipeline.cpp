// Graphs through the whole pipeline for a GPU: the kernels, run by the loop interpreter, agree with the graph interpreter; their text,
// run on the host by threads that only barriers keep together, has the loop interpreter's bits; and NVRTC compiles it without spills.
#include <cmath>
#include <cstring>
#include <map>
#include <random>

#include "codegen/backend.h"
#include "codegen/cuda/nvrtc.h"
#include "ir/error.h"
#include "ir/graph.h"
#include "ir/scalar.h"
#include "passes/nest.h"
#include "passes/passes.h"
#include "tests/catch.h"
#include "tests/codegen/cuda_host.h"

using namespace braze;

namespace {

struct Case {
  const char* name;
  const char* graph;
  std::vector<std::int64_t> symbols;
  bool exact = true;  // else within the summation's bound
};

const std::vector<Case>& cases() {
  static const std::vector<Case> all{
      {"chain",
       R"(graph chain(%x: f32[n], %y: f32[n], %a: f32[] scalar) {
  %0 = expand %a {shape = [n]} : f32[n]
  %1 = mul %0, %x : f32[n]
  %2 = add %1, %y : f32[n]
  %3 = tanh %2 : f32[n]
  return %3, %1
})",
       {1000}},
      {"transposed_sum",
       R"(graph transposed(%x: f64[n, n]) {
  %0 = permute %x {order = [1, 0]} : f64[n, n]
  %1 = add %x, %0 : f64[n, n]
  return %1
})",
       {70}},
      {"take_and_put",
       R"(graph places(%x: f32[n, 3], %i: i64[m], %h: f16[m], %y: f16[40]) {
  %0 = constant 20 : i64[]
  %1 = expand %0 {shape = [m]} : i64[m]
  %2 = remainder %i, %1 : i64[m]
  %3 = sub %2, %1 : i64[m]
  %4 = wrap_index %3 {extent = 20} : i64[m]
  %5 = take %x, %4 : f32[m]
  %6 = exp %5 : f32[m]
  %7 = put %y, %4, %h {combine = add} : f16[40]
  %8 = put %7, %4, %h {combine = assign} : f16[40]
  return %6, %8
})",
       {300, 77}},
      {"products",
       R"(graph products(%x: f64[n, m], %k: i8[n, m]) {
  %0 = prod %x {dims = [1]} : f64[n]
  %1 = prod %x {dims = [0]} : f64[m]
  %2 = prod %k {dims = [0, 1]} : i64[]
  return %0, %1, %2
})",
       {7, 9}},
      {"short_rows",
       R"(graph short(%x: i32[n, 3], %y: i32[3]) {
  %0 = expand %y {shape = [n, 3]} : i32[n, 3]
  %1 = floor_divide %x, %0 : i32[n, 3]
  return %1
})",
       {333}},
      {"where_pad",
       R"(graph pads(%x: bf16[n, 40], %c: bf16[] scalar, m: index) {
  %0 = pad %x, %c {low = [2, 1], high = [0, 3], sizes = [m, 44]} : bf16[m, 44]
  %1 = exp %0 : bf16[m, 44]
  %2 = isfinite %1 : bool[m, 44]
  return %1, %2
})",
       {9, 11}},
      {"scalar",
       R"(graph point(%x: f32[], %y: f32[]) {
  %0 = pow %x, %y : f32[]
  return %0
})",
       {}},
      {"views",
       R"(graph views(%x: i32[n, 9], %y: i32[n, 4], m: index) {
  %0 = slice %x {starts = [0, 8], sizes = [n, 5], steps = [1, -2]} : i32[n, 5]
  %1 = flip %y {dims = [0, 1]} : i32[n, 4]
  %2 = concat %0, %1 {axis = 1, extent = 9} : i32[n, 9]
  %3 = view %x {offset = 2, sizes = [n, 9], strides = [9, 0]} : i32[n, 9]
  %4 = sub %2, %3 : i32[n, 9]
  %5 = iota {shape = [9]} : i64[9]
  %6 = cast %5 : i32[9]
  %7 = expand %6 {shape = [n, 9]} : i32[n, 9]
  %8 = mul %4, %7 : i32[n, 9]
  %9 = reshape %8 {shape = [m]} : i32[m]
  return %9
})",
       {31, 279}},
      {"store_strided",
       R"(graph strided(%x: f32[40], %y: f32[n]) {
  %0 = mul %y, %y : f32[n]
  %1 = store %x, %0 {offset = 39, sizes = [n], strides = [-3]} : f32[40]
  return %1
})",
       {12}},
      {"accumulate",
       R"(graph repeats(%x: f16[9], %y: f16[4, n]) {
  %0 = accumulate %x, %y {offset = 1, sizes = [4, n], strides = [0, 1]} : f16[9]
  return %0
})",
       {7}},
      {"sum_rows",
       R"(graph rows(%x: f32[n, m]) {
  %0 = mul %x, %x : f32[n, m]
  %1 = sum %0 {dims = [1]} : f32[n]
  return %1
})",
       {7, 1000},
       false},
      {"sum_short_rows",
       R"(graph short_rows(%x: f16[n, 50]) {
  %0 = sum %x {dims = [1]} : f16[n]
  return %0
})",
       {37},
       false},
      {"sum_columns",
       R"(graph columns(%x: f32[n, m]) {
  %0 = sum %x {dims = [0]} : f32[m]
  return %0
})",
       {100, 75},
       false},
      {"sum_all_integers",
       R"(graph integers(%x: i8[n, m]) {
  %0 = sum %x {dims = [0, 1]} : i64[]
  return %0
})",
       {30, 77}},
      {"sum_and_argmax_of_all",
       R"(graph one_row(%x: f32[n]) {
  %0 = sum %x {dims = [0]} : f32[]
  %1 = argmax %x {dims = [0]} : i64[]
  return %0, %1
})",
       {40000},
       false},
      {"sum_nothing",
       R"(graph nothing(%x: f32[n, m]) {
  %0 = sum %x {dims = [1]} : f32[n]
  return %0
})",
       {5, 0}},
      {"middle_any_all",
       R"(graph middle(%x: bool[4, n, 5]) {
  %0 = any %x {dims = [1]} : bool[4, 5]
  %1 = all %x {dims = [1]} : bool[4, 5]
  return %0, %1
})",
       {9}},
      {"extremes",
       R"(graph extremes(%x: f32[n, m]) {
  %0:2 = max_with_index %x {dims = [1]} : f32[n], i64[n]
  %1 = argmin %x {dims = [1]} : i64[n]
  %2 = min %x {dims = [1]} : f32[n]
  return %0#0, %0#1, %1, %2
})",
       {6, 300}},
      {"argmax_columns",
       R"(graph argmax_columns(%x: i16[n, 40]) {
  %0 = argmax %x {dims = [0]} : i64[40]
  return %0
})",
       {55}},
      {"softmax",
       R"(graph softmax(%x: f32[n, m]) {
  %0 = max %x {dims = [1]} : f32[n]
  %1 = reshape %0 {shape = [n, 1]} : f32[n, 1]
  %2 = expand %1 {shape = [n, m]} : f32[n, m]
  %3 = sub %x, %2 : f32[n, m]
  %4 = exp %3 : f32[n, m]
  %5 = sum %4 {dims = [1]} : f32[n]
  %6 = reshape %5 {shape = [n, 1]} : f32[n, 1]
  %7 = expand %6 {shape = [n, m]} : f32[n, m]
  %8 = div %4, %7 : f32[n, m]
  return %8
})",
       {5, 700},
       false},
      {"softmax_columns",
       R"(graph softmax_columns(%x: f32[n, m]) {
  %0 = max %x {dims = [0]} : f32[m]
  %1 = expand %0 {shape = [n, m]} : f32[n, m]
  %2 = sub %x, %1 : f32[n, m]
  %3 = exp %2 : f32[n, m]
  %4 = sum %3 {dims = [0]} : f32[m]
  %5 = expand %4 {shape = [n, m]} : f32[n, m]
  %6 = div %3, %5 : f32[n, m]
  return %6
})",
       {50, 70},
       false},
      {"dot",
       R"(graph dots(%x: f32[n, k], %y: f32[k, m], %b: f32[m]) {
  %0 = dot %x, %y : f32[n, m]
  %1 = expand %b {shape = [n, m]} : f32[n, m]
  %2 = add %0, %1 : f32[n, m]
  return %2
})",
       {70, 33, 90},
       false},
      {"dot_batch_f16",
       R"(graph halves(%x: f16[3, n, k], %y: f16[3, k, 20]) {
  %0 = dot %x, %y : f16[3, n, 20]
  return %0
})",
       {17, 40},
       false},
      {"dot_i64",
       R"(graph integers(%x: i64[n, k], %y: i64[k, 5]) {
  %0 = dot %x, %y : i64[n, 5]
  return %0
})",
       {9, 12}},
  };
  return all;
}

passes::Module scheduled(const Case& test) {
  passes::Module module;
  module.graph = ir::parse_graph("braze.ir 1\n" + std::string(test.graph) + "\n", test.name);
  return passes::run_pipeline(std::move(module), {.target = ir::CudaTarget{}}, passes::Stage::loops);
}

std::vector<std::int64_t> sizes_of(const ir::Shape& shape, const std::vector<std::int64_t>& symbols) {
  std::vector<std::int64_t> sizes;
  for (const ir::Extent extent : shape) sizes.push_back(extent.is_symbol() ? symbols[extent.symbol()] : extent.number());
  return sizes;
}

void fill(ir::HostArray& array, std::mt19937_64& random) {
  ir::with_type(array.dtype, [&]<class T>(std::type_identity<T>) {
    for (std::int64_t i = 0; i < array.elements(); ++i) {
      T value{};
      if constexpr (std::is_same_v<T, bool>)
        value = random() % 3 == 0;
      else if constexpr (ir::Integer<T>)
        value = static_cast<T>(random() % 19 + 1);
      else
        value = ir::detail::convert<T>(std::round(std::uniform_real_distribution<double>(-200, 200)(random)) / 64);
      std::memcpy(array.data.get() + static_cast<std::size_t>(i) * sizeof(T), &value, sizeof(T));
    }
  });
}

double number(const ir::HostArray& array, std::int64_t index) {
  return ir::with_type(array.dtype, [&]<class T>(std::type_identity<T>) {
    T value;
    std::memcpy(&value, array.data.get() + static_cast<std::size_t>(index) * sizeof(T), sizeof(T));
    return ir::detail::convert<double>(value);
  });
}

struct Run {
  const ir::Kernel& kernel;
  std::vector<ir::HostArray> before, after;
  std::vector<std::int64_t> sizes;
  std::vector<std::uint64_t> scalars;
  std::int64_t blocks;
};

ir::HostArray copy(const ir::HostArray& array) {
  ir::HostArray result = ir::make_host_array(array.dtype, array.sizes);
  std::memcpy(result.data.get(), array.data.get(), static_cast<std::size_t>(array.elements() * size_of(array.dtype)));
  return result;
}

// Runs the kernels in order over one array a graph value; what each met goes to `runs`.
std::vector<ir::HostArray> run(const passes::Module& module, const std::vector<ir::HostArray>& arguments,
                               const std::vector<std::int64_t>& symbols, std::vector<Run>& runs) {
  std::map<std::pair<ir::NodeId, std::uint32_t>, ir::HostArray> memory;
  std::vector<std::int64_t> values(module.index.size());
  module.index.evaluate(symbols, values);
  const auto parameters = module.graph.parameters();
  for (std::size_t p = 0; p < parameters.size(); ++p) memory[{parameters[p].node, parameters[p].result}] = arguments[p];
  const auto array = [&](ir::Value value) -> ir::HostArray& {
    if (value.node >= passes::temporary_base) {
      const passes::Temporary& temporary = module.temporaries[value.node - passes::temporary_base];
      ir::HostArray& found = memory[{value.node, value.result}];
      if (!found.data) found = ir::make_host_array(temporary.type, {values[temporary.elements]});
      return found;
    }
    value = passes::stored_value(module.graph, value);
    ir::HostArray& found = memory[{value.node, value.result}];
    if (found.data) return found;
    const ir::Type& type = module.graph.type(value);
    found = ir::make_host_array(type.dtype, sizes_of(type.shape, symbols));
    const ir::Node& node = module.graph.node(value);
    if (passes::is_write(node.op)) {  // the memory plan copies, or writes in place
      const ir::Value before = passes::stored_value(module.graph, node.in[0]);
      const ir::HostArray& old = memory.at({before.node, before.result});
      std::memcpy(found.data.get(), old.data.get(), static_cast<std::size_t>(old.elements() * size_of(old.dtype)));
    }
    return found;
  };
  for (const passes::Lowered& lowered : module.kernels) {
    std::vector<void*> buffers;
    std::vector<std::int64_t> sizes, elements;
    std::vector<std::uint64_t> scalars;
    std::vector<ir::HostArray> before;
    for (const ir::Value value : lowered.buffers) {
      buffers.push_back(array(value).data.get());
      elements.push_back(array(value).elements());
      before.push_back(copy(array(value)));
    }
    for (const ir::IndexId size : lowered.sizes) sizes.push_back(values[size]);
    for (const std::uint32_t scalar : lowered.scalars) {
      std::uint64_t bits = 0;
      std::memcpy(&bits, arguments[scalar].data.get(), static_cast<std::size_t>(size_of(arguments[scalar].dtype)));
      scalars.push_back(bits);
    }
    ir::verify(lowered.loops);
    if (values[lowered.extent] == 0) continue;
    const int fault =
        ir::interpret(lowered.loops, {buffers.data(), sizes.data(), scalars.data()}, 0, 0, {.buffer_elements = elements});
    CHECK(fault == 0);
    runs.push_back({lowered.loops, std::move(before), {}, sizes, scalars, values[lowered.extent]});
    for (const ir::Value value : lowered.buffers) runs.back().after.push_back(copy(array(value)));
  }
  std::vector<ir::HostArray> results;
  for (const ir::Value value : module.graph.results) results.push_back(array(value));
  return results;
}

}  // namespace

namespace {

void check_results(const Case& test, const std::vector<ir::HostArray>& got, const std::vector<ir::HostArray>& expected) {
  REQUIRE(got.size() == expected.size());
  for (std::size_t r = 0; r < got.size(); ++r) {
    REQUIRE(got[r].elements() == expected[r].elements());
    for (std::int64_t i = 0; i < got[r].elements(); ++i) {
      const double a = number(got[r], i), b = number(expected[r], i);
      if (a == b || (std::isnan(a) && std::isnan(b))) continue;
      const double relative = is_half(got[r].dtype) ? 1.0 / 256 : 1e-4;
      if (!test.exact && std::abs(a - b) <= relative * std::max(1.0, std::abs(b))) continue;
      FAIL_CHECK("result " << r << " at " << i << ": " << a << ", not " << b);
      break;
    }
  }
}

// A kernel's text on its own copies.
void check_text(const Run& run, test::Launch launch) {
  std::vector<ir::HostArray> arrays;
  std::vector<void*> buffers;
  for (const ir::HostArray& array : run.before) buffers.push_back(arrays.emplace_back(copy(array)).data.get());
  const auto grid = static_cast<unsigned>(std::min<std::int64_t>(run.blocks, 3));
  CHECK(test::run_printed(run.kernel, launch, buffers, run.sizes, run.scalars, {grid, 1, 1}) == 0);
  for (std::size_t b = 0; b < arrays.size(); ++b) {
    const auto size = static_cast<std::size_t>(size_of(arrays[b].dtype));
    for (std::int64_t i = 0; i < arrays[b].elements(); ++i) {
      std::uint64_t got = 0, wanted = 0;
      std::memcpy(&got, arrays[b].data.get() + static_cast<std::size_t>(i) * size, size);
      std::memcpy(&wanted, run.after[b].data.get() + static_cast<std::size_t>(i) * size, size);
      if (got == wanted || (test::is_nan(arrays[b].dtype, got) && test::is_nan(arrays[b].dtype, wanted))) continue;
      FAIL_CHECK("buffer " << b << " at " << i << fmt::format(": {:#x}, not {:#x}", got, wanted));
      break;
    }
  }
}

}  // namespace

TEST_CASE("Graphs scheduled for a GPU compute what the graph interpreter does", "[cuda]") {
#if defined(__SANITIZE_THREAD__)
  SKIP("ThreadSanitizer cannot map what belongs to a library that is loaded below the one before");
#endif
  const unsigned seed = std::random_device{}();
  INFO("seed " << seed);
  std::mt19937_64 random(seed);
  std::vector<passes::Module> modules;
  for (const Case& test : cases()) modules.push_back(scheduled(test));
  std::vector<Run> runs;
  for (std::size_t c = 0; c < modules.size(); ++c) {
    const Case& test = cases()[c];
    INFO(test.name);
    std::vector<ir::HostArray> arguments;
    for (const ir::Value parameter : modules[c].graph.parameters()) {
      const ir::Type& type = modules[c].graph.type(parameter);
      arguments.push_back(ir::make_host_array(type.dtype, sizes_of(type.shape, test.symbols)));
      fill(arguments.back(), random);
    }
    const ir::Graph original = ir::parse_graph("braze.ir 1\n" + std::string(test.graph) + "\n", test.name);
    check_results(test, run(modules[c], arguments, test.symbols, runs), ir::interpret(original, arguments, test.symbols));
  }
  std::vector<ir::Kernel> kernels;
  for (const Run& run : runs) kernels.push_back(run.kernel);
  const test::HostKernels host(kernels);
  INFO(host.problem());
  REQUIRE(host.problem().empty());
  for (std::size_t n = 0; n < runs.size(); ++n) {
    INFO(n << ": " << kernels[n].name);
    check_text(runs[n], host.launch(n));
  }
}

TEST_CASE("NVRTC compiles what the pipeline schedules for a GPU without spills", "[cuda]") {
  std::vector<ir::Kernel> kernels;
  for (const Case& test : cases())
    for (passes::Lowered& lowered : scheduled(test).kernels) kernels.push_back(std::move(lowered.loops));
  const std::string source = codegen::cuda_source(kernels, {});
  try {
    const auto& compiler = codegen::cuda::Nvrtc::instance();
    for (const ir::CudaTarget& target : {ir::CudaTarget{.major = 8, .minor = 0}, ir::CudaTarget{.major = 9, .minor = 0}}) {
      const auto result = compiler.compile(source, target);
      CHECK(result.resources.size() == kernels.size());
      for (const auto& kernel : result.resources) {
        INFO(kernel.entry);
        CHECK(kernel.spill_store_bytes == 0);
        CHECK(kernel.spill_load_bytes == 0);
      }
    }
  } catch (const DeviceError& error) {
    WARN("skipped: " << error.what());
  }
}
