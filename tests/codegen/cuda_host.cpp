// The printed CUDA text, compiled as C++ by the machine's own compiler and run, a thread of the machine for each of CUDA's: what
// the text says must be what the loop interpreter computes, bit for bit, and without undefined behaviour. What NVRTC and a device
// make of the text is not tested here.
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

// The part of CUDA's language that kernels use. Blocks run one after the other, so a block's shared memory is static.
constexpr std::string_view prologue = R"(
#include <pthread.h>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <thread>
#include <utility>
#include <vector>
using namespace std;
struct Dimensions { unsigned x, y, z; };
static Dimensions gridDim, blockDim;
static thread_local Dimensions threadIdx, blockIdx;
static thread_local unsigned linear_thread;
static pthread_barrier_t block_barrier, warp_barrier[32];
static unsigned long long exchanged[1024];
static void __syncthreads() { pthread_barrier_wait(&block_barrier); }
template <class T> static T __shfl_down_sync(unsigned, T value, int delta) {
  memcpy(&exchanged[linear_thread], &value, sizeof value);
  pthread_barrier_wait(&warp_barrier[linear_thread / 32]);
  T result = value;
  if (linear_thread % 32 + delta < 32) memcpy(&result, &exchanged[linear_thread + delta], sizeof result);
  pthread_barrier_wait(&warp_barrier[linear_thread / 32]);
  return result;
}
template <class To, class From> static To bits(From from) { To to; static_assert(sizeof to == sizeof from, ""); memcpy(&to, &from, sizeof to); return to; }
static int __float_as_int(float a) { return bits<int>(a); }
static unsigned __float_as_uint(float a) { return bits<unsigned>(a); }
static float __int_as_float(int a) { return bits<float>(a); }
static float __uint_as_float(unsigned a) { return bits<float>(a); }
static long long __double_as_longlong(double a) { return bits<long long>(a); }
static double __longlong_as_double(long long a) { return bits<double>(a); }
static float __fmaf_rn(float a, float b, float c) { return fmaf(a, b, c); }
static double __fma_rn(double a, double b, double c) { return fma(a, b, c); }
static void atomicMax(int* at, int value) {
  int seen = __atomic_load_n(at, __ATOMIC_RELAXED);
  while (seen < value && !__atomic_compare_exchange_n(at, &seen, value, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {}
}
static void convert_half(float& r, unsigned short a) { r = bits<_Float16>(a); }
static void convert_half(unsigned short& r, float a) { r = bits<unsigned short>((_Float16)a); }
#define asm(...) convert_half(r, a)
#define __global__
#define __device__
#define __shared__ static
#define __forceinline__ inline
#define __launch_bounds__(threads)
)";

// `launch` takes parameters as cuLaunchKernel does; each kernel's own launch_N follows.
constexpr std::string_view epilogue = R"(
template <class... A, size_t... I>
static void call(void (*kernel)(A...), void** parameters, index_sequence<I...>) { kernel(*static_cast<A*>(parameters[I])...); }
template <class... A>
static void call(void (*kernel)(A...), void** parameters) { call(kernel, parameters, index_sequence_for<A...>()); }
static void run(unsigned thread, void (*kernel)(void**), void** parameters) {
  linear_thread = thread;
  threadIdx = {thread % blockDim.x, thread / blockDim.x % blockDim.y, thread / blockDim.x / blockDim.y};
  for (blockIdx.y = 0; blockIdx.y < gridDim.y; ++blockIdx.y)
    for (blockIdx.x = 0; blockIdx.x < gridDim.x; ++blockIdx.x) {
      kernel(parameters);
      __syncthreads();
    }
}
static void launch(void (*kernel)(void**), void** parameters, const unsigned* grid, const unsigned* block) {
  gridDim = {grid[0], grid[1], grid[2]};
  blockDim = {block[0], block[1], block[2]};
  const unsigned count = block[0] * block[1] * block[2];
  pthread_barrier_init(&block_barrier, nullptr, count);
  for (unsigned warp = 0; warp < 32; ++warp) pthread_barrier_init(&warp_barrier[warp], nullptr, min(32u, max(count, 1u)));
  vector<thread> threads;
  for (unsigned n = 0; n < count; ++n) threads.emplace_back(run, n, kernel, parameters);
  for (thread& t : threads) t.join();
}
)";

using Launch = void (*)(void**, const unsigned*, const unsigned*);

// Compiles the kernels' text with the machine's compiler.
class HostKernels {
 public:
  explicit HostKernels(std::span<const ir::Kernel> kernels) {
    const std::string stem = (std::filesystem::temp_directory_path() / fmt::format("braze_cuda_host_{}", ::getpid())).string();
    const std::string source = stem + ".cpp", library = stem + ".so", log = stem + ".log";
    {
      std::ofstream out(source);
      out << prologue << codegen::cuda_source(kernels, {}) << epilogue;
      const std::vector<std::string> entries = codegen::cuda::entry_names(kernels);
      for (std::size_t n = 0; n < entries.size(); ++n)
        out << fmt::format(
            "extern \"C\" void launch_{}(void** parameters, const unsigned* grid, const unsigned* block) {{\n"
            "  launch([](void** p) {{ call({}, p); }}, parameters, grid, block);\n}}\n",
            n, entries[n]);
    }
    const char* chosen = std::getenv("CXX");
    const std::string command = fmt::format(
        "{} -std=c++17 -O1 -w -ffp-contract=off -fno-builtin -fsanitize=undefined,float-cast-overflow "
        "-fsanitize-undefined-trap-on-error "
        "-shared -fPIC -pthread {} -o {} 2> {}",
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
  ~HostKernels() {
    if (handle_ != nullptr) ::dlclose(handle_);
  }
  HostKernels(const HostKernels&) = delete;
  HostKernels& operator=(const HostKernels&) = delete;

  const std::string& problem() const { return problem_; }
  Launch launch(std::size_t n) const { return reinterpret_cast<Launch>(::dlsym(handle_, fmt::format("launch_{}", n).c_str())); }

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

struct Buffer {
  DType type;
  std::vector<char> bytes;

  Buffer(DType element_type, std::size_t count)
      : type(element_type), bytes(count * static_cast<std::size_t>(size_of(element_type))) {}
  std::size_t size() const { return bytes.size() / static_cast<std::size_t>(size_of(type)); }
  std::uint64_t operator[](std::size_t index) const {
    std::uint64_t bits = 0;
    std::memcpy(&bits, bytes.data() + index * static_cast<std::size_t>(size_of(type)), static_cast<std::size_t>(size_of(type)));
    return bits;
  }
  void fill(std::mt19937_64& random) {
    ir::with_type(type, [&]<class T>(std::type_identity<T>) {
      for (std::size_t i = 0; i < size(); ++i) {
        const T value = special<T>(random);
        std::memcpy(bytes.data() + i * sizeof(T), &value, sizeof(T));
      }
    });
  }
  bool equal(const Buffer& other, std::size_t index) const {
    const std::uint64_t mine = (*this)[index], theirs = other[index];
    return mine == theirs || (is_nan(type, mine) && is_nan(type, theirs));
  }
};

struct Arguments {
  std::vector<std::int64_t> sizes;
  std::vector<std::uint64_t> scalars;
};

// Both over copies of the buffers; returns the faults that they report.
struct Outcome {
  std::vector<Buffer> printed, interpreted;
  int printed_fault = 0, interpreted_fault = 0;
};

Outcome run_both(const ir::Kernel& kernel, Launch launch, const std::vector<Buffer>& buffers, const Arguments& arguments,
                 const std::array<unsigned, 3>& grid) {
  Outcome outcome{buffers, buffers};

  // The law of codegen/cuda/emit.h.
  std::vector<void*> pointers, parameters;
  for (Buffer& buffer : outcome.printed) pointers.push_back(buffer.bytes.data());
  for (void*& pointer : pointers) parameters.push_back(&pointer);
  for (const std::int64_t& size : arguments.sizes) parameters.push_back(const_cast<std::int64_t*>(&size));
  for (const std::uint64_t& scalar : arguments.scalars) parameters.push_back(const_cast<std::uint64_t*>(&scalar));
  int* status = &outcome.printed_fault;
  parameters.push_back(&status);
  const auto threads = codegen::cuda::launch_threads(kernel);
  const std::array<unsigned, 3> block{static_cast<unsigned>(threads[0]), static_cast<unsigned>(threads[1]),
                                      static_cast<unsigned>(threads[2])};
  launch(parameters.data(), grid.data(), block.data());

  std::vector<void*> expected;
  std::vector<std::int64_t> elements;
  for (Buffer& buffer : outcome.interpreted) {
    expected.push_back(buffer.bytes.data());
    elements.push_back(static_cast<std::int64_t>(buffer.size()));
  }
  outcome.interpreted_fault = ir::interpret(kernel, {expected.data(), arguments.sizes.data(), arguments.scalars.data()}, 0, 0,
                                            {.buffer_elements = elements});
  return outcome;
}

}  // namespace

TEST_CASE("The printed text of every primitive computes the interpreter's bits", "[cuda]") {
  const std::vector<ir::Instruction> instructions = test::all_instructions();
  const ir::Kernel kernel = test::kernel_of(instructions);
  constexpr std::size_t rounds = 24;
  const std::size_t pitch = instructions.size() * 3 * test::threads;
  const unsigned seed = std::random_device{}();
  INFO("seed " << seed);
  std::mt19937_64 random(seed);
  std::vector<Buffer> buffers;
  for (const ir::BufferParameter& parameter : kernel.buffers) {
    buffers.emplace_back(parameter.type, rounds * pitch);
    if (!parameter.writes) buffers.back().fill(random);
  }
  // Fewer blocks than rounds: the text strides.
  const HostKernels host({&kernel, 1});
  INFO(host.problem());
  REQUIRE(host.problem().empty());
  const Outcome outcome = run_both(kernel, host.launch(0), buffers, {{rounds, static_cast<std::int64_t>(pitch)}, {}}, {5, 1, 1});
  CHECK(outcome.printed_fault == static_cast<int>(ir::Fault::division_by_zero));
  CHECK(outcome.interpreted_fault == static_cast<int>(ir::Fault::division_by_zero));

  for (std::size_t row = 0; row < instructions.size(); ++row) {
    const ir::Instruction& instruction = instructions[row];
    const std::size_t number = 2 * static_cast<std::size_t>(instruction.type) + 1;
    const Buffer &printed = outcome.printed[number], &interpreted = outcome.interpreted[number];
    for (std::size_t i = 0; i < rounds * test::threads; ++i) {
      const std::size_t at = i / test::threads * pitch + row * test::threads + i % test::threads;
      if (printed.equal(interpreted, at)) continue;
      FAIL_CHECK(ir::info(instruction.op).name << "." << name(instruction.from) << "->" << name(instruction.type) << " payload "
                                               << instruction.payload << " gives "
                                               << fmt::format("{:#x}, not {:#x}", printed[at], interpreted[at]));
      break;
    }
  }
}

TEST_CASE("The printed text of every golden kernel computes the interpreter's bits", "[cuda]") {
  struct Case {
    const char* file;
    Arguments arguments;
    std::array<unsigned, 3> grid;
  };
  const Case cases[] = {
      {"elementwise_broadcast", {{37, 53, 8}, {0x3fc00000}}, {3, 1, 1}},
      {"where_bool", {{1000, 3, 4}, {}}, {4, 1, 1}},
      {"halves", {{1000, 4}, {0x3e00}}, {2, 1, 1}},
      {"integer_division", {{1000, 4}, {}}, {4, 1, 1}},
      {"gather", {{300, 50, 3, 5}, {}}, {3, 1, 1}},
      {"row_reduction", {{5, 700}, {}}, {2, 1, 1}},
      {"column_reduction", {{45, 70}, {}}, {3, 1, 1}},
      {"softmax_row", {{3, 600}, {}}, {2, 1, 1}},
      {"max_with_index", {{19, 100}, {}}, {2, 1, 1}},
      {"tree_fold", {{4}, {}}, {3, 1, 1}},
      {"dot", {{70, 90, 50}, {}}, {1, 2, 1}},
  };
  const unsigned seed = std::random_device{}();
  INFO("seed " << seed);
  std::mt19937_64 random(seed);
  std::vector<ir::Kernel> kernels;
  for (const Case& test : cases) {
    std::ifstream in(std::string(BRAZE_SOURCE_DIR "/tests/golden/cuda/") + test.file + ".bz");
    std::string text(std::istreambuf_iterator<char>(in), {});
    kernels.push_back(ir::parse_kernel(text.substr(0, text.find("// ---- becomes"))));
  }
  const HostKernels host(kernels);
  INFO(host.problem());
  REQUIRE(host.problem().empty());
  for (std::size_t n = 0; n < kernels.size(); ++n) {
    const ir::Kernel& kernel = kernels[n];
    INFO(cases[n].file);
    std::vector<Buffer> buffers;
    for (const ir::BufferParameter& parameter : kernel.buffers) buffers.emplace_back(parameter.type, 8192).fill(random);
    const Outcome outcome = run_both(kernel, host.launch(n), buffers, cases[n].arguments, cases[n].grid);
    CHECK((outcome.printed_fault != 0) == (outcome.interpreted_fault != 0));
    std::size_t changed = 0;
    for (std::size_t b = 0; b < buffers.size(); ++b)
      for (std::size_t i = 0; i < buffers[b].size(); ++i) {
        changed += outcome.printed[b][i] != buffers[b][i] ? 1 : 0;
        if (!outcome.printed[b].equal(outcome.interpreted[b], i)) {
          FAIL_CHECK("buffer " << b << " at " << i
                               << fmt::format(": {:#x}, not {:#x}", outcome.printed[b][i], outcome.interpreted[b][i]));
          break;
        }
      }
    CHECK(changed > 3);
  }
}
