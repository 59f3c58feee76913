// What leaves the back end: symbols, identity, dumps; and what the loader accepts.
#include <elf.h>

#include <algorithm>
#include <set>
#include <thread>

#include "tests/codegen/all_instructions.h"
#include "tests/codegen/cpu_support.h"
#include "tests/ir/kernels.h"

using namespace braze;
using namespace braze::test;

namespace {

std::set<std::string> undefined_symbols(const ir::Object& object) {
  const char* const data = object.bytes.data();
  const auto* const header = reinterpret_cast<const Elf64_Ehdr*>(data);
  const auto* const sections = reinterpret_cast<const Elf64_Shdr*>(data + header->e_shoff);
  std::set<std::string> names;
  for (int s = 0; s < header->e_shnum; ++s) {
    if (sections[s].sh_type != SHT_SYMTAB) continue;
    const auto* const symbols = reinterpret_cast<const Elf64_Sym*>(data + sections[s].sh_offset);
    const char* const text = data + sections[sections[s].sh_link].sh_offset;
    for (std::size_t i = 1; i < sections[s].sh_size / sizeof(Elf64_Sym); ++i)
      if (symbols[i].st_shndx == SHN_UNDEF) names.insert(text + symbols[i].st_name);
  }
  return names;
}

ir::Kernel kernel_of(ir::Instruction instruction) {
  ir::Kernel kernel;
  kernel.name = std::string(info(instruction.op).name);
  ir::KernelBuilder builder(kernel);
  std::vector<std::uint32_t> inputs;
  const std::vector<DType> operands = operand_types(instruction);
  for (DType type : operands) inputs.push_back(builder.buffer({type, false}));
  const std::uint32_t output = builder.buffer({instruction.type, true});
  const ir::ValueId n = builder.size("n");
  const ir::ValueId i = builder.open_for(ir::LoopKind::parallel, ir::Size::of_value(n), 16);
  for (std::size_t k = 0; k < operands.size(); ++k)
    instruction.in[k] = builder.load({inputs[k], {{i, ir::Size::of(1)}}, ir::Size::of(0)});
  builder.store({output, {{i, ir::Size::of(1)}}, ir::Size::of(0)}, builder.append(instruction));
  builder.close_for();
  return kernel;
}

}  // namespace

TEST_CASE("compiled code asks for the closed list of symbols only", "[cpu][sweep]") {
  std::set<std::string> allowed = {"memcpy", "memset", "memmove", "fma", "fmaf"};
  for (ir::LibraryFunction f : library_functions) {
    allowed.insert(std::string(ir::info(f).name));
    allowed.insert(std::string(ir::info(f).name_f32));
  }
  for (const std::string& target : host_targets()) {
    const auto backend = codegen::make_cpu_backend(ir::target_named(target));
    for (const ir::Instruction& instruction : all_instructions()) {
      const ir::Kernel kernel = kernel_of(instruction);
      const ir::Object object = backend->compile({&kernel, 1});
      for (const std::string& symbol : undefined_symbols(object)) {
        INFO(target << " " << info(instruction.op).name << " " << name(instruction.type) << " from " << name(instruction.from)
                    << ": " << symbol);
        CHECK(allowed.count(symbol) == 1);
        // A machine with vectors of its own needs libm for what the program calls, and nothing else.
        if (target == "avx512" && instruction.op != ir::Primitive::call) FAIL_CHECK("needs no library");
      }
    }
  }
}

TEST_CASE("the loader refuses symbols outside the closed list", "[cpu]") {
  const ir::Kernel kernel = parse(std::string(test_kernels::softmax));  // calls exp2
  ir::Object object = codegen::make_cpu_backend(ir::target_named("sse2"))->compile({&kernel, 1});
  REQUIRE(undefined_symbols(object).count("exp2") == 1);
  CHECK_NOTHROW(runtime::load(object));
  const auto at = std::search(object.bytes.begin(), object.bytes.end(), std::begin("exp2"), std::end("exp2"));
  REQUIRE(at != object.bytes.end());
  std::copy_n("exit", 4, at);
  CHECK_THROWS_WITH(runtime::load(object), Catch::Matchers::ContainsSubstring("'exit'"));
  CHECK_THROWS_AS(runtime::load(object), CompileError);
  object.bytes.resize(40);
  CHECK_THROWS_AS(runtime::load(object), CompileError);
  CHECK_THROWS_AS(runtime::load(ir::Object{}), CompileError);
}

TEST_CASE("several kernels share an object, and equal names are told apart", "[cpu]") {
  const std::vector<ir::Kernel> kernels = {parse(std::string(test_kernels::elementwise)),
                                           parse(std::string(test_kernels::elementwise)),
                                           parse(std::string(test_kernels::inner_sum))};
  const Compiled compiled = compile("sse2", kernels);
  REQUIRE(compiled.object.entries.size() == 3);
  CHECK(std::set<std::string>(compiled.object.entries.begin(), compiled.object.entries.end()).size() == 3);
  CHECK(compiled.code->entry(0) != compiled.code->entry(1));
  CHECK_THROWS_AS(compiled.code->entry(3), InternalError);
}

TEST_CASE("dumps and identity name what the bytes depend on", "[cpu]") {
  const ir::Kernel kernel = parse(std::string(test_kernels::elementwise));
  const auto backend = codegen::make_cpu_backend(ir::target_named("sse2"));
  CHECK_THAT(backend->source({&kernel, 1}, codegen::SourceKind::llvm),
             Catch::Matchers::ContainsSubstring("define i32 @k_mul_add(ptr"));
  CHECK_THAT(backend->source({&kernel, 1}, codegen::SourceKind::assembly), Catch::Matchers::ContainsSubstring("k_mul_add:"));
  CHECK_THROWS_AS(backend->source({&kernel, 1}, codegen::SourceKind::cuda), ValueError);
  std::set<std::string> identities;
  for (const std::string& target : host_targets())
    identities.insert(codegen::make_cpu_backend(ir::target_named(target))->identity());
  CHECK(identities.size() == host_targets().size());
  CHECK(backend->compile({&kernel, 1}).bytes == backend->compile({&kernel, 1}).bytes);
}

TEST_CASE("the streaming variant stores past the cache, the regular one does not", "[cpu]") {
  const ir::Kernel kernel = parse(std::string(test_kernels::elementwise));
  for (const std::string& target : host_targets()) {
    const auto backend = codegen::make_cpu_backend(ir::target_named(target));
    const std::string regular = backend->source({&kernel, 1}, codegen::SourceKind::assembly);
    const std::string streaming = backend->source({&kernel, 1}, codegen::SourceKind::assembly, {.streaming = true});
    CHECK(regular.find("movntp") == std::string::npos);
    CHECK(streaming.find("movntp") != std::string::npos);
    CHECK(streaming.find("sfence") != std::string::npos);
  }
}

TEST_CASE("kernels that go over rows several times ask for what they will read and write, others do not", "[cpu]") {
  const ir::Kernel elementwise = parse(std::string(test_kernels::elementwise)), rows = parse(std::string(test_kernels::rows));
  for (const std::string& target : host_targets()) {
    CAPTURE(target);
    const auto backend = codegen::make_cpu_backend(ir::target_named(target));
    const auto assembly = [&](const ir::Kernel& kernel, bool streaming) {
      return backend->source({&kernel, 1}, codegen::SourceKind::assembly, {.streaming = streaming});
    };
    CHECK(assembly(elementwise, false).find("prefetch") == std::string::npos);
    const std::string regular = assembly(rows, false), streaming = assembly(rows, true);
    const std::vector<std::string> features = ir::target_named(target).features;
    const std::string to_write = std::ranges::count(features, "+prfchw") ? "prefetchw" : "prefetcht0";
    CHECK(regular.find(to_write) != std::string::npos);
    CHECK(regular.find("prefetcht1") != std::string::npos);
    CHECK(streaming.find(to_write) == std::string::npos);  // what passes the cache need not be there
    CHECK(streaming.find("prefetcht1") != std::string::npos);
  }
}

TEST_CASE("threads compile, load, run and unload at once", "[cpu]") {
  const auto backend = codegen::make_cpu_backend(ir::host_target());
  std::vector<std::thread> threads;
  std::vector<int> failures(4, 0);
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int round = 0; round < 10; ++round) {
        ir::Kernel kernel = ir::parse_kernel(test_kernels::elementwise);
        kernel.name += std::to_string(t);
        const ir::Object object = backend->compile({&kernel, 1});
        const auto code = runtime::load(object);
        std::vector<float> x(100, 2.0f), y(100, 1.0f), z(100);
        void* buffers[] = {x.data(), y.data(), z.data()};
        const std::int64_t n = 100;
        const std::uint64_t scalar = ir::to_bits(static_cast<float>(t));
        const ir::KernelArgs args{buffers, &n, &scalar};
        if (code->entry(0)(&args, 0, n, nullptr) != 0) ++failures[static_cast<std::size_t>(t)];
        if (std::any_of(z.begin(), z.end(), [&](float v) { return v != 2.0f * static_cast<float>(t) + 1.0f; }))
          ++failures[static_cast<std::size_t>(t)];
      }
    });
  for (std::thread& thread : threads) thread.join();
  for (int count : failures) CHECK(count == 0);
}
