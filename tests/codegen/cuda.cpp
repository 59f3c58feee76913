// The CUDA back end: golden text of every kernel class, and all of it through NVRTC. No device is needed.
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "codegen/backend.h"
#include "codegen/cuda/emit.h"
#include "codegen/cuda/nvrtc.h"
#include "ir/error.h"
#include "tests/catch.h"
#include "tests/codegen/all_instructions.h"

using namespace braze;
using codegen::cuda::Nvrtc;

namespace {

namespace fs = std::filesystem;

constexpr std::string_view becomes = "// ---- becomes\n";
const ir::CudaTarget ampere{.major = 8, .minor = 0}, hopper{.major = 9, .minor = 0};

std::string read(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

std::vector<fs::path> golden_files() {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(fs::path(BRAZE_SOURCE_DIR) / "tests/golden/cuda"))
    if (entry.path().extension() == ".bz") files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

std::string kernel_text(const fs::path& file) {
  const std::string text = read(file);
  return text.substr(0, text.find(becomes));
}

// Null, after saying where it looked, when this machine has no NVRTC.
const Nvrtc* nvrtc() {
  try {
    return &Nvrtc::instance();
  } catch (const DeviceError& error) {
    WARN("skipped: " << error.what());
    return nullptr;
  }
}

std::string one_source(const ir::Kernel& kernel) { return codegen::cuda_source({&kernel, 1}, ampere); }

}  // namespace

TEST_CASE("CUDA text of every kernel class", "[golden][cuda]") {
  const bool bless = std::getenv("BRAZE_BLESS") != nullptr;
  const std::vector<fs::path> files = golden_files();
  REQUIRE(files.size() >= 11);
  for (const fs::path& file : files) {
    INFO(file.string());
    const std::string given = kernel_text(file);
    const std::string text = given + std::string(becomes) + one_source(ir::parse_kernel(given, file.string()));
    if (bless) std::ofstream(file, std::ios::binary) << text;
    CHECK(text == read(file));
  }
}

TEST_CASE("NVRTC compiles every golden kernel without spills", "[cuda]") {
  const Nvrtc* compiler = nvrtc();
  if (compiler == nullptr) return;
  for (const fs::path& file : golden_files())
    for (const ir::CudaTarget& target : {ampere, hopper}) {
      INFO(file.string() << " for sm_" << target.major << target.minor);
      const auto result = compiler->compile(one_source(ir::parse_kernel(kernel_text(file))), target);
      CHECK(result.format == ir::Object::Format::cubin);
      REQUIRE(result.bytes.size() > 4);
      CHECK(std::string(result.bytes.data() + 1, 3) == "ELF");
      REQUIRE(result.resources.size() == 1);
      CHECK(result.resources[0].registers > 0);
      CHECK(result.resources[0].spill_store_bytes == 0);
      CHECK(result.resources[0].spill_load_bytes == 0);
    }
}

TEST_CASE("NVRTC compiles every primitive of every dtype", "[cuda]") {
  const std::vector<ir::Instruction> instructions = test::all_instructions();
  CHECK(instructions.size() > 300);
  const std::string source = one_source(test::kernel_of(instructions));
  for (const ir::Instruction& i : instructions)
    if (i.op == ir::Primitive::call) {
      const auto& callee = ir::info(static_cast<ir::LibraryFunction>(i.payload));
      CHECK(source.find(fmt::format("{}(", i.type == DType::f32 ? callee.name_f32 : callee.name)) != std::string::npos);
    }
  const Nvrtc* compiler = nvrtc();
  if (compiler == nullptr) return;
  for (const ir::CudaTarget& target : {ampere, hopper}) CHECK(compiler->compile(source, target).resources.size() == 1);
}

TEST_CASE("A CUDA object names an entry a kernel", "[cuda]") {
  if (nvrtc() == nullptr) return;
  const ir::Kernel kernel = ir::parse_kernel(kernel_text(golden_files()[0]));
  const std::vector<ir::Kernel> kernels{kernel, kernel};
  const auto backend = codegen::make_cuda_backend(hopper);
  const ir::Object object = backend->compile(kernels);
  CHECK(object.format == ir::Object::Format::cubin);
  REQUIRE(object.entries.size() == 2);
  CHECK(object.entries[0] == "braze_" + kernel.name);
  CHECK(object.entries[1] == "braze_" + kernel.name + "_1");
  const std::string bytes(object.bytes.begin(), object.bytes.end());
  for (const std::string& entry : object.entries) CHECK(bytes.find(".text." + entry) != std::string::npos);
  CHECK(backend->identity().find("sm_90") != std::string::npos);
  CHECK(backend->source({&kernel, 1}, codegen::SourceKind::ptx).find(".visible .entry braze_") != std::string::npos);
  CHECK_THROWS_AS(backend->source({&kernel, 1}, codegen::SourceKind::llvm), ValueError);
}

TEST_CASE("An architecture that NVRTC does not know gets PTX, one that it has dropped an error", "[cuda]") {
  const Nvrtc* compiler = nvrtc();
  if (compiler == nullptr) return;
  const std::string source = one_source(ir::parse_kernel(kernel_text(golden_files()[0])));
  const auto newer = compiler->compile(source, {.major = 99, .minor = 9});
  CHECK(newer.format == ir::Object::Format::ptx);
  CHECK(std::string(newer.bytes.begin(), newer.bytes.end()).find(".target sm_") != std::string::npos);
  CHECK_THROWS_AS(compiler->compile(source, {.major = 1, .minor = 0}), CompileError);
}

TEST_CASE("What NVRTC refuses is shown with its source line", "[cuda]") {
  const Nvrtc* compiler = nvrtc();
  if (compiler == nullptr) return;
  try {
    compiler->compile("__global__ void k(int* p) {\n  *p = twelve;\n}\n", hopper);
    FAIL("compiled");
  } catch (const CompileError& error) {
    CHECK_THAT(error.what(), Catch::Matchers::ContainsSubstring("identifier \"twelve\" is undefined"));
    CHECK_THAT(error.what(), Catch::Matchers::ContainsSubstring("line 2:   *p = twelve;"));
  }
}

TEST_CASE("A missing NVRTC says where it was looked for", "[cuda]") {
  try {
    Nvrtc({"/nowhere/libnvrtc.so.13", "libm.so.6"});
    FAIL("loaded");
  } catch (const DeviceError& error) {
    CHECK_THAT(error.what(), Catch::Matchers::ContainsSubstring("/nowhere/libnvrtc.so.13"));
    CHECK_THAT(error.what(), Catch::Matchers::ContainsSubstring("libm.so.6 has no nvrtcVersion"));
    CHECK_THAT(error.what(), Catch::Matchers::ContainsSubstring("BRAZE_NVRTC"));
  }
}

TEST_CASE("BRAZE_NVRTC may name the library, its folder, or where pip put it", "[cuda]") {
  const fs::path root = fs::temp_directory_path() / fmt::format("braze_nvrtc_{}", ::getpid());
  const fs::path wheel = root / "nvidia" / "cuda_nvrtc" / "lib";
  fs::create_directories(wheel);
  std::ofstream(wheel / "libnvrtc.so.12") << "no library";
  const char* kept = std::getenv("BRAZE_NVRTC");
  const std::string before = kept != nullptr ? kept : "";
  const auto candidates = [](const fs::path& chosen) {
    ::setenv("BRAZE_NVRTC", chosen.c_str(), 1);
    return codegen::cuda::nvrtc_candidates();
  };
  const std::string library = (wheel / "libnvrtc.so.12").string();
  for (const fs::path& chosen : {root, wheel}) {
    const std::vector<std::string> found = candidates(chosen);
    CHECK(std::find(found.begin(), found.end(), library) != found.end());
    CHECK_THROWS_WITH(Nvrtc(found), Catch::Matchers::ContainsSubstring(library));  // it is no library, and the message says so
  }
  CHECK(candidates(root / "elsewhere.so") == std::vector<std::string>{(root / "elsewhere.so").string()});
  kept != nullptr ? ::setenv("BRAZE_NVRTC", before.c_str(), 1) : ::unsetenv("BRAZE_NVRTC");
  fs::remove_all(root);
}

TEST_CASE("Spills are read from ptxas' log", "[cuda]") {
  const auto kernels = codegen::cuda::parse_resources(
      "ptxas info    : Compiling entry function 'a' for 'sm_90'\n"
      "ptxas info    : Function properties for a\n"
      "ptxas         .     128 bytes stack frame, 24 bytes spill stores, 36 bytes spill loads\n"
      "ptxas info    : Used 255 registers, used 1 barriers, 128 bytes cumulative stack size, 8192 bytes smem\n"
      "ptxas info    : Compiling entry function 'b' for 'sm_90'\n"
      "ptxas info    : Used 8 registers, used 0 barriers\n");
  REQUIRE(kernels.size() == 2);
  CHECK(kernels[0].entry == "a");
  CHECK(kernels[0].stack_bytes == 128);
  CHECK(kernels[0].spill_store_bytes == 24);
  CHECK(kernels[0].spill_load_bytes == 36);
  CHECK(kernels[0].registers == 255);
  CHECK(kernels[0].shared_bytes == 8192);
  CHECK(kernels[1].registers == 8);
}

TEST_CASE("A kernel that is not scheduled for a GPU is refused", "[cuda]") {
  const auto build = [](auto body) {
    ir::Kernel kernel;
    kernel.name = "wrong";
    ir::KernelBuilder builder(kernel);
    body(builder);
    return kernel;
  };
  const auto refused = [](const ir::Kernel& kernel, const std::string& why) {
    CHECK_THROWS_WITH(one_source(kernel), Catch::Matchers::ContainsSubstring(why));
    CHECK_THROWS_AS(one_source(kernel), InternalError);
  };
  refused(build([](ir::KernelBuilder& b) {
            b.open_for(ir::LoopKind::parallel, ir::Size::of(8));
            b.close_for();
          }),
          "a parallel loop");
  refused(build([](ir::KernelBuilder& b) {
            b.open_for(ir::LoopKind::block, ir::Size::of(8));
            b.open_for(ir::LoopKind::thread, ir::Size::of(16));
            b.shuffle(b.index_constant(1), 1);
            b.close_for();
            b.close_for();
          }),
          "a block that is not whole warps");
  refused(build([](ir::KernelBuilder& b) {
            b.open_for(ir::LoopKind::block, ir::Size::of(8));
            b.open_for(ir::LoopKind::thread, ir::Size::of(64));
            b.close_for();
            b.open_for(ir::LoopKind::thread, ir::Size::of(32));
            b.barrier();
            b.close_for();
            b.close_for();
          }),
          "a barrier that some threads do not reach");
  refused(build([](ir::KernelBuilder& b) {
            b.open_for(ir::LoopKind::block, ir::Size::of(8));
            b.open_for(ir::LoopKind::thread, ir::Size::of(64));
            b.scratch(DType::f32, ir::Space::heap, ir::Size::of(4));
            b.close_for();
            b.close_for();
          }),
          "scratch on the heap");
}
