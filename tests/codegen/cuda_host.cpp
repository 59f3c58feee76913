// The printed CUDA text, compiled as C++ by the machine's own compiler and run, a thread of the machine for each of CUDA's: what
// the text says must be what the loop interpreter computes, bit for bit, and without undefined behaviour. What NVRTC and a device
// make of the text is not tested here.
#include <cmath>
#include <cstring>
#include <fstream>
#include <random>

#include "tests/catch.h"
#include "tests/codegen/all_instructions.h"
#include "tests/codegen/cuda_host.h"

using namespace braze;
using test::HostKernels;

namespace {

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
    return mine == theirs || (test::is_nan(type, mine) && test::is_nan(type, theirs));
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

Outcome run_both(const ir::Kernel& kernel, test::Launch launch, const std::vector<Buffer>& buffers, const Arguments& arguments,
                 const std::array<unsigned, 3>& grid) {
  Outcome outcome{buffers, buffers};
  std::vector<void*> printed;
  for (Buffer& buffer : outcome.printed) printed.push_back(buffer.bytes.data());
  outcome.printed_fault = test::run_printed(kernel, launch, printed, arguments.sizes, arguments.scalars, grid);

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
#if defined(__SANITIZE_THREAD__)
  SKIP("ThreadSanitizer cannot map what belongs to a library that is loaded below the one before");
#endif
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
#if defined(__SANITIZE_THREAD__)
  SKIP("ThreadSanitizer cannot map what belongs to a library that is loaded below the one before");
#endif
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
