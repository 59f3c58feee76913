// Printed CUDA text compiled as C++ by the machine's own compiler, and run with a thread of the machine for each of CUDA's.
#pragma once

#include <dlfcn.h>
#include <unistd.h>

#include <array>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>
#include <vector>

#include "codegen/backend.h"
#include "codegen/cuda/emit.h"
#include "ir/scalar.h"

namespace braze::test {

// The part of CUDA's language that kernels use. Blocks run one after the other, so a block's shared memory is static.
inline constexpr std::string_view prologue = R"(
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
// What the C library's own write to a global, threads of the grid must not share.
static float private_lgammaf(float x) { int sign; return lgammaf_r(x, &sign); }
static double private_lgamma(double x) { int sign; return lgamma_r(x, &sign); }
#define lgammaf private_lgammaf
#define lgamma private_lgamma
#define __global__
#define __device__
#define __noinline__
#define __shared__ static
#define __forceinline__ inline
#define __launch_bounds__(...)
)";

// `launch` takes parameters as cuLaunchKernel does; each kernel's own launch_N follows.
inline constexpr std::string_view epilogue = R"(
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

// Launches by the law of codegen/cuda/emit.h; returns the fault.
inline int run_printed(const ir::Kernel& kernel, Launch launch, std::vector<void*> buffers, const std::vector<std::int64_t>& sizes,
                       const std::vector<std::uint64_t>& scalars, const std::array<unsigned, 3>& grid) {
  std::vector<void*> parameters;
  for (void*& buffer : buffers) parameters.push_back(&buffer);
  for (const std::int64_t& size : sizes) parameters.push_back(const_cast<std::int64_t*>(&size));
  for (const std::uint64_t& scalar : scalars) parameters.push_back(const_cast<std::uint64_t*>(&scalar));
  int fault = 0, *status = &fault;
  parameters.push_back(&status);
  const auto threads = codegen::cuda::launch_threads(kernel);
  const std::array<unsigned, 3> block{static_cast<unsigned>(threads[0]), static_cast<unsigned>(threads[1]),
                                      static_cast<unsigned>(threads[2])};
  launch(parameters.data(), grid.data(), block.data());
  return fault;
}

inline bool is_nan(DType type, std::uint64_t bits) {
  if (!is_float(type)) return false;
  return ir::with_type(type, [&]<class T>(std::type_identity<T>) {
    if constexpr (ir::Element<T> && (ir::Real<T> || ir::Half<T>))
      return std::isnan(static_cast<double>(ir::detail::convert<float>(ir::from_bits<T>(bits))));
    else
      return false;
  });
}

}  // namespace braze::test
