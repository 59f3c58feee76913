// Runs a kernel as machine code and in the loop interpreter on equal copies of its buffers, and compares every byte.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "codegen/backend.h"
#include "ir/error.h"
#include "ir/loops.h"
#include "ir/scalar.h"
#include "runtime/run.h"
#include "tests/catch.h"

namespace braze::test {

// The named targets that this machine has, widest first.
inline std::vector<std::string> host_targets() {
  std::vector<std::string> names;
  for (const char* name : {"avx512", "avx2", "sse2"}) {
    try {
      ir::target_named(name);
      names.emplace_back(name);
    } catch (const DeviceError& missing) {
      WARN("skipped: " << missing.what());
    }
  }
  return names;
}

// Memory whose first or last byte borders on a page that nobody may touch.
class Guarded {
 public:
  enum class Edge { front, back };
  Guarded(std::size_t bytes, Edge edge) {
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    const std::size_t inner = (bytes + page - 1) / page * page;
    whole_ = inner + 2 * page;
    start_ = static_cast<char*>(mmap(nullptr, whole_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    if (start_ == MAP_FAILED) throw std::bad_alloc();
    if (inner && mprotect(start_ + page, inner, PROT_READ | PROT_WRITE) != 0) throw std::bad_alloc();
    data_ = start_ + page + (edge == Edge::back ? inner - bytes : 0);
  }
  Guarded(const Guarded&) = delete;
  Guarded& operator=(const Guarded&) = delete;
  ~Guarded() { munmap(start_, whole_); }
  char* data() const { return data_; }

 private:
  char* start_;
  char* data_;
  std::size_t whole_;
};

struct Bytes {
  DType type;
  std::vector<char> bytes;
  std::int64_t origin = 0;  // the element that the kernel is told is the first
  std::size_t count() const { return bytes.size() / static_cast<std::size_t>(size_of(type)); }
};

inline std::uint64_t element_of(const Bytes& buffer, std::size_t i) {
  std::uint64_t bits = 0;
  const auto size = static_cast<std::size_t>(size_of(buffer.type));
  std::memcpy(&bits, buffer.bytes.data() + i * size, size);
  return bits;
}

inline void append(Bytes& buffer, std::uint64_t bits) {
  const char* const from = reinterpret_cast<const char*>(&bits);
  buffer.bytes.insert(buffer.bytes.end(), from, from + size_of(buffer.type));
}

inline bool is_nan(DType type, std::uint64_t bits) {
  switch (type) {
    case DType::f16:
      return (bits & 0x7fff) > 0x7c00;
    case DType::bf16:
      return (bits & 0x7fff) > 0x7f80;
    case DType::f32:
      return (bits & 0x7fffffff) > 0x7f800000;
    case DType::f64:
      return (bits & 0x7fffffffffffffff) > 0x7ff0000000000000;
    default:
      return false;
  }
}

// Values that find mistakes in arithmetic of a type, as raw bits.
inline std::vector<std::uint64_t> specials(DType type) {
  std::vector<std::uint64_t> out;
  ir::with_type(type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (std::same_as<T, bool>) {
      out = {0, 1};
    } else if constexpr (ir::Integer<T>) {
      for (std::int64_t v : {0,  1,  2,   3,   5,   7,   8,  9,  10, 15, 16, 17,  31,  32,   33,  63,
                             64, 65, 100, 127, 128, 255, -1, -2, -3, -7, -8, -10, -64, -100, -128})
        out.push_back(ir::to_bits(static_cast<T>(v)));
      using Limits = std::numeric_limits<T>;
      for (T v : {Limits::min(), static_cast<T>(Limits::min() + 1), Limits::max(), static_cast<T>(Limits::max() - 1),
                  static_cast<T>(Limits::max() / 2)})
        out.push_back(ir::to_bits(v));
    } else {
      for (double v : {0.0,
                       0.25,
                       0.5,
                       0.75,
                       1.0,
                       1.5,
                       2.0,
                       2.5,
                       3.5,
                       7.0,
                       24.0,
                       100.0,
                       126.0,
                       127.0,
                       128.0,
                       149.0,
                       150.0,
                       151.0,
                       255.0,
                       256.0,
                       300.0,
                       1e-3,
                       1e-8,
                       1e-40,
                       32767.0,
                       32768.0,
                       65503.0,
                       65504.0,
                       65519.0,
                       65520.0,
                       8388607.5,
                       8388608.0,
                       16777217.0,
                       2147483520.0,
                       2147483647.0,
                       2147483648.0,
                       4294967296.0,
                       1e10,
                       9223371487098961920.0,
                       9223372036854775808.0,
                       1e20,
                       3.4e38,
                       1022.0,
                       1023.0,
                       1024.0,
                       1074.0,
                       1075.0,
                       5000.0,
                       1e300,
                       6e-8,
                       3e-5,
                       6.1e-5})
        for (double s : {v, -v}) {
          if constexpr (ir::Half<T>)
            out.push_back(ir::to_bits(ir::detail::convert<T>(static_cast<float>(s))));
          else
            out.push_back(ir::to_bits(static_cast<T>(s)));
        }
      const std::uint64_t inf = type == DType::f16    ? 0x7c00u
                                : type == DType::bf16 ? 0x7f80u
                                : type == DType::f32  ? 0x7f800000u
                                                      : 0x7ff0000000000000u;
      const std::uint64_t sign = std::uint64_t{1} << (8 * sizeof(T) - 1);
      const std::uint64_t quiet = type == DType::f16    ? 0x200u
                                  : type == DType::bf16 ? 0x40u
                                  : type == DType::f32  ? 0x400000u
                                                        : 0x8000000000000u;
      // infinity, its neighbour, quiet and signalling NaN, the smallest and largest subnormal, the smallest normal
      const std::uint64_t implicit = quiet << 1;
      for (std::uint64_t v : {inf, inf - 1, inf + quiet, inf + 1, std::uint64_t{1}, implicit - 1, implicit}) {
        out.push_back(v);
        out.push_back(v | sign);
      }
    }
  });
  return out;
}

// A random value: any bits, a small number, or a special one.
inline std::uint64_t random_bits(DType type, std::mt19937_64& random) {
  const int size = 8 * size_of(type);
  if (type == DType::boolean) return random() & 1;
  const std::uint64_t mask = ~std::uint64_t{0} >> (64 - size);
  switch (random() % 4) {
    case 0: {
      static const auto table = [] {
        std::array<std::vector<std::uint64_t>, dtype_count> all;
        for (DType t : all_dtypes) all[static_cast<std::size_t>(t)] = specials(t);
        return all;
      }();
      const auto& values = table[static_cast<std::size_t>(type)];
      return values[random() % values.size()];
    }
    case 1:
      return random() & mask;
    default: {
      const auto small = static_cast<double>(static_cast<std::int64_t>(random() % 20001) - 10000) / 64.0;
      return ir::with_type(type, [&](auto tag) -> std::uint64_t {
        using T = typename decltype(tag)::type;
        if constexpr (ir::Half<T>)
          return ir::to_bits(ir::detail::convert<T>(static_cast<float>(small)));
        else if constexpr (ir::Real<T>)
          return ir::to_bits(static_cast<T>(small));
        else
          return ir::to_bits(static_cast<T>(static_cast<std::int64_t>(small)));
      });
    }
  }
}

inline Bytes random_buffer(DType type, std::size_t count, std::mt19937_64& random) {
  Bytes buffer{type, {}};
  for (std::size_t i = 0; i < count; ++i) append(buffer, random_bits(type, random));
  return buffer;
}

// Floats near 1, so that sums stay finite.
inline Bytes plain_buffer(DType type, std::size_t count, std::mt19937_64& random) {
  Bytes buffer{type, {}};
  for (std::size_t i = 0; i < count; ++i) {
    const double value = static_cast<double>(static_cast<std::int64_t>(random() % 2000001) - 1000000) / 1e5;
    append(buffer, ir::with_type(type, [&](auto tag) -> std::uint64_t {
             using T = typename decltype(tag)::type;
             if constexpr (ir::Half<T>)
               return ir::to_bits(ir::detail::convert<T>(static_cast<float>(value)));
             else if constexpr (std::same_as<T, bool>)
               return value > 0 ? 1 : 0;
             else
               return ir::to_bits(static_cast<T>(value));
           }));
  }
  return buffer;
}

struct Launch {
  std::vector<Bytes> buffers;
  std::vector<std::int64_t> sizes;
  std::vector<std::uint64_t> scalars;
  std::int64_t ranges = 1;   // each parallel loop is cut into so many, at multiples of the step; 0: one for all of them
  bool exact_nan = false;    // compare NaNs bit for bit
  std::size_t misalign = 0;  // elements by which buffers start past a 64-byte boundary
};

// Runs `function` over all of the kernel's phases; returns the first fault.
template <class Function>
std::int32_t run_ranges(const ir::Kernel& kernel, const Launch& launch, const Function& function) {
  const std::vector<ir::Phase> phases = ir::phases(kernel, launch.sizes);
  if (launch.ranges == 0) return function(std::int64_t{0}, phases.back().first + phases.back().extent);
  for (const auto& [first, extent, step] : phases) {
    const std::int64_t steps = (extent + step - 1) / step, ranges = std::max<std::int64_t>(1, std::min(launch.ranges, steps));
    for (std::int64_t r = 0; r < ranges; ++r) {
      const std::int64_t begin = steps * r / ranges * step, end = std::min(extent, steps * (r + 1) / ranges * step);
      if (const std::int32_t fault = function(first + begin, first + end)) return fault;
    }
  }
  return 0;
}

// Both edges of the guarded memory, against the interpreter. Returns the fault.
inline std::int32_t check_code(const ir::Kernel& kernel, ir::KernelFunction code, const Launch& launch) {
  std::vector<Bytes> expected = launch.buffers;
  std::vector<void*> pointers;
  for (Bytes& buffer : expected) pointers.push_back(buffer.bytes.data() + buffer.origin * size_of(buffer.type));
  const ir::KernelArgs args{pointers.data(), launch.sizes.data(), launch.scalars.data()};
  const ir::LoopInterpreter interpreter(kernel);
  const std::int32_t fault =
      run_ranges(kernel, launch, [&](std::int64_t begin, std::int64_t end) { return interpreter.run(args, begin, end); });

  for (const auto edge : {Guarded::Edge::back, Guarded::Edge::front}) {
    std::vector<std::unique_ptr<Guarded>> memory;
    std::vector<void*> places;
    for (const Bytes& buffer : launch.buffers) {
      const std::size_t shift = edge == Guarded::Edge::front ? launch.misalign * static_cast<std::size_t>(size_of(buffer.type)) : 0;
      memory.push_back(std::make_unique<Guarded>(buffer.bytes.size() + shift, edge));
      char* const data = memory.back()->data() + shift;
      if (!buffer.bytes.empty()) std::memcpy(data, buffer.bytes.data(), buffer.bytes.size());
      places.push_back(data + buffer.origin * size_of(buffer.type));
    }
    const std::int64_t scratch_bytes = ir::scratch_bytes(kernel, launch.sizes);
    std::unique_ptr<void, void (*)(void*)> scratch(std::aligned_alloc(64, static_cast<std::size_t>(scratch_bytes + 64)), std::free);
    const ir::KernelArgs machine_args{places.data(), launch.sizes.data(), launch.scalars.data()};
    const std::int32_t found = run_ranges(
        kernel, launch, [&](std::int64_t begin, std::int64_t end) { return code(&machine_args, begin, end, scratch.get()); });
    CHECK(found == fault);
    if (fault) continue;  // what a faulting kernel writes is unspecified
    for (std::size_t b = 0; b < expected.size(); ++b) {
      const std::size_t shift =
          edge == Guarded::Edge::front ? launch.misalign * static_cast<std::size_t>(size_of(expected[b].type)) : 0;
      const char* const data = memory[b]->data() + shift;
      if (expected[b].bytes.empty() || std::memcmp(data, expected[b].bytes.data(), expected[b].bytes.size()) == 0) continue;
      const Bytes actual{expected[b].type, std::vector<char>(data, data + expected[b].bytes.size())};
      int shown = 0;
      for (std::size_t i = 0; i < actual.count() && shown < 5; ++i) {
        const std::uint64_t want = element_of(expected[b], i), have = element_of(actual, i);
        if (want == have || (!launch.exact_nan && is_nan(actual.type, want) && is_nan(actual.type, have))) continue;
        ++shown;
        std::string inputs;
        for (std::size_t k = 0; k < b; ++k)
          if (launch.buffers[k].count() > i) inputs += fmt::format(" {:#x}", element_of(launch.buffers[k], i));
        FAIL_CHECK(fmt::format("kernel {}: buffer {} element {} of {} is {:#x}, not {:#x}; inputs there:{}", kernel.name, b, i,
                               name(actual.type), have, want, inputs));
      }
    }
  }
  return fault;
}

struct Compiled {
  std::shared_ptr<const runtime::Code> code;
  ir::Object object;
};

inline Compiled compile(const std::string& target, std::span<const ir::Kernel> kernels, bool streaming = false) {
  Compiled made;
  made.object = codegen::make_cpu_backend(ir::target_named(target))->compile(kernels, {.streaming = streaming});
  made.code = runtime::load(made.object);
  return made;
}

inline ir::Kernel parse(const std::string& text) {
  ir::Kernel kernel = ir::parse_kernel(text);
  ir::verify(kernel);
  return kernel;
}

}  // namespace braze::test
