// The printed CUDA text, compiled as C++ by the machine's own compiler and run: what the text says must be what the loop
// interpreter computes, bit for bit, and without undefined behaviour. Threads run one after the other, so only kernels without
// barriers and shuffles can; what NVRTC and a device make of the text is for the [gpu] tests.
#include <dlfcn.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>

#include "codegen/backend.h"
#include "codegen/cuda/emit.h"
#include "tests/catch.h"
#include "tests/codegen/all_instructions.h"

using namespace braze;

namespace {

// The part of CUDA's language that scalar kernels use. `launch` takes parameters as cuLaunchKernel does.
constexpr std::string_view prologue = R"(
#include <cmath>
#include <cstdint>
#include <cstring>
#include <utility>
using namespace std;
struct Dimensions { unsigned x = 0, y = 0, z = 0; };
static thread_local Dimensions threadIdx, blockIdx, gridDim{1, 1, 1};
template <class To, class From> static To bits(From from) { To to; static_assert(sizeof to == sizeof from, ""); memcpy(&to, &from, sizeof to); return to; }
static int __float_as_int(float a) { return bits<int>(a); }
static unsigned __float_as_uint(float a) { return bits<unsigned>(a); }
static float __int_as_float(int a) { return bits<float>(a); }
static float __uint_as_float(unsigned a) { return bits<float>(a); }
static long long __double_as_longlong(double a) { return bits<long long>(a); }
static double __longlong_as_double(long long a) { return bits<double>(a); }
static float __fmaf_rn(float a, float b, float c) { return fmaf(a, b, c); }
static double __fma_rn(double a, double b, double c) { return fma(a, b, c); }
static void atomicMax(int* at, int value) { if (*at < value) *at = value; }
static void convert_half(float& r, unsigned short a) { r = bits<_Float16>(a); }
static void convert_half(unsigned short& r, float a) { r = bits<unsigned short>((_Float16)a); }
#define asm(...) convert_half(r, a)
#define __global__
#define __device__
#define __forceinline__ inline
#define __launch_bounds__(threads)
)";

constexpr std::string_view epilogue = R"(
template <class... A, size_t... I>
static void call(void (*kernel)(A...), void** parameters, index_sequence<I...>) { kernel(*static_cast<A*>(parameters[I])...); }
template <class... A>
static void call(void (*kernel)(A...), void** parameters) { call(kernel, parameters, index_sequence_for<A...>()); }
extern "C" void launch(void** parameters, unsigned blocks, unsigned threads) {
  gridDim.x = blocks;
  for (blockIdx.x = 0; blockIdx.x < blocks; ++blockIdx.x)
    for (threadIdx.x = 0; threadIdx.x < threads; ++threadIdx.x) call(ENTRY, parameters);
}
)";

using Launch = void (*)(void**, unsigned, unsigned);

// Compiles the kernel's text with the compiler that made this test.
class HostKernel {
 public:
  explicit HostKernel(const ir::Kernel& kernel) {
    const std::string stem = (std::filesystem::temp_directory_path() / fmt::format("braze_cuda_host_{}", ::getpid())).string();
    const std::string source = stem + ".cpp", library = stem + ".so", log = stem + ".log";
    std::ofstream(source) << prologue << codegen::cuda_source({&kernel, 1}, {}) << "#define ENTRY "
                          << codegen::cuda::entry_names({&kernel, 1})[0] << epilogue;
    const char* chosen = std::getenv("CXX");
    const std::string command = fmt::format(
        "{} -std=c++17 -O1 -w -ffp-contract=off -fno-builtin -fsanitize=undefined,float-cast-overflow "
        "-fsanitize-undefined-trap-on-error "
        "-shared -fPIC {} -o {} 2> {}",
        chosen != nullptr ? chosen : "c++", source, library, log);
    if (std::system(command.c_str()) == 0) {
      handle_ = ::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
      problem_ = handle_ == nullptr ? ::dlerror() : "";
    } else {
      std::ifstream in(log);
      problem_.assign(std::istreambuf_iterator<char>(in), {});
      problem_ = command + "\n" + problem_;
    }
    for (const std::string& file : {source, library, log}) std::filesystem::remove(file);
  }
  ~HostKernel() {
    if (handle_ != nullptr) ::dlclose(handle_);
  }
  HostKernel(const HostKernel&) = delete;
  HostKernel& operator=(const HostKernel&) = delete;

  const std::string& problem() const { return problem_; }
  Launch launch() const { return reinterpret_cast<Launch>(::dlsym(handle_, "launch")); }

 private:
  void* handle_ = nullptr;
  std::string problem_;
};

// Where operations change their mind: limits, halves, signed zeros, subnormals, infinities, NaN.
template <class T>
T special(std::mt19937_64& random) {
  if constexpr (std::is_same_v<T, bool>) {
    return random() % 2 != 0;
  } else if constexpr (ir::Integer<T>) {
    using Limits = std::numeric_limits<T>;
    const std::array<T, 18> values{0,
                                   1,
                                   2,
                                   3,
                                   7,
                                   8,
                                   15,
                                   16,
                                   31,
                                   32,
                                   63,
                                   64,
                                   100,
                                   static_cast<T>(-1),
                                   static_cast<T>(-2),
                                   Limits::min(),
                                   Limits::max(),
                                   static_cast<T>(Limits::min() + 1)};
    return random() % 3 == 0 ? static_cast<T>(random()) : values[random() % values.size()];
  } else if constexpr (ir::Half<T>) {
    return ir::from_bits<T>(random() & 0xffff);
  } else {
    using Limits = std::numeric_limits<T>;
    const std::array<T, 32> values{T(0),
                                   T(-0.0),
                                   T(1),
                                   T(-1),
                                   T(0.5),
                                   T(1.5),
                                   T(2.5),
                                   T(-2.5),
                                   T(300),
                                   T(-1.7),
                                   T(1e10),
                                   T(-1e10),
                                   T(1e20),
                                   T(0x1p31),
                                   T(-0x1p31),
                                   T(0x1p63),
                                   T(-0x1p63),
                                   T(2147483647.5),
                                   T(-2147483648.5),
                                   T(0x1p32),
                                   T(127),
                                   T(255.9),
                                   T(65504),
                                   T(65520),
                                   T(1e-7),
                                   Limits::infinity(),
                                   -Limits::infinity(),
                                   Limits::quiet_NaN(),
                                   Limits::denorm_min(),
                                   Limits::min(),
                                   Limits::max(),
                                   -Limits::max()};
    switch (random() % 4) {
      case 0:
        return ir::from_bits<T>(sizeof(T) == 4 ? random() & 0xffffffff : random());
      case 1:
        return static_cast<T>(std::uniform_real_distribution<double>(-100, 100)(random));
      default:
        return values[random() % values.size()];
    }
  }
}

bool is_nan(DType type, std::uint64_t bits) {
  if (!is_float(type)) return false;
  return ir::with_type(type, [&]<class T>(std::type_identity<T>) {
    if constexpr (ir::Element<T> && (ir::Real<T> || ir::Half<T>))
      return std::isnan(static_cast<double>(ir::detail::convert<float>(ir::from_bits<T>(bits))));
    else
      return false;
  });
}

std::uint64_t element(const std::vector<char>& buffer, DType type, std::size_t index) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, buffer.data() + index * static_cast<std::size_t>(size_of(type)), static_cast<std::size_t>(size_of(type)));
  return bits;
}

}  // namespace

TEST_CASE("The printed text of every primitive computes the interpreter's bits", "[cuda]") {
  const std::vector<ir::Instruction> instructions = test::all_instructions();
  const ir::Kernel kernel = test::kernel_of(instructions);
  const HostKernel host(kernel);
  INFO(host.problem());
  REQUIRE(host.problem().empty());

  constexpr std::size_t rounds = 24;
  const std::size_t pitch = instructions.size() * 3 * test::threads, elements = rounds * pitch;
  const unsigned seed = std::random_device{}();
  INFO("seed " << seed);
  std::mt19937_64 random(seed);
  std::vector<std::vector<char>> printed, interpreted;
  for (DType type : all_dtypes) {
    std::vector<char> in(elements * static_cast<std::size_t>(size_of(type)));
    ir::with_type(type, [&]<class T>(std::type_identity<T>) {
      for (std::size_t i = 0; i < elements; ++i) {
        const T value = special<T>(random);
        std::memcpy(in.data() + i * sizeof(T), &value, sizeof(T));
      }
    });
    printed.push_back(in);
    printed.emplace_back(in.size());
  }
  interpreted = printed;

  const std::array<std::int64_t, 2> sizes{rounds, static_cast<std::int64_t>(pitch)};
  std::vector<void*> buffers, parameters;
  int status = 0;
  int* status_pointer = &status;
  for (auto& buffer : printed) buffers.push_back(buffer.data());
  for (void*& buffer : buffers) parameters.push_back(&buffer);
  for (const std::int64_t& size : sizes) parameters.push_back(const_cast<std::int64_t*>(&size));
  parameters.push_back(&status_pointer);
  host.launch()(parameters.data(), 5, test::threads);  // fewer blocks than rounds: the text strides

  std::vector<void*> expected;
  for (auto& buffer : interpreted) expected.push_back(buffer.data());
  const std::int32_t fault = ir::interpret(kernel, {expected.data(), sizes.data(), nullptr}, 0, rounds);
  CHECK(status == fault);
  CHECK(status == static_cast<int>(ir::Fault::division_by_zero));

  for (std::size_t row = 0; row < instructions.size(); ++row) {
    const ir::Instruction& instruction = instructions[row];
    const std::size_t buffer = 2 * static_cast<std::size_t>(instruction.type) + 1;
    for (std::size_t i = 0; i < rounds * test::threads; ++i) {
      const std::size_t at = i / test::threads * pitch + row * test::threads + i % test::threads;
      const std::uint64_t got = element(printed[buffer], instruction.type, at),
                          want = element(interpreted[buffer], instruction.type, at);
      if (got == want || (is_nan(instruction.type, got) && is_nan(instruction.type, want))) continue;
      FAIL_CHECK(ir::info(instruction.op).name << "." << name(instruction.from) << "->" << name(instruction.type) << " payload "
                                               << instruction.payload << " gives " << fmt::format("{:#x}, not {:#x}", got, want));
      break;
    }
  }
}
