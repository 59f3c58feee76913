// Random kernels as machine code, for each target, against the loop interpreter.
#include <array>
#include <cstdlib>

#include "tests/codegen/cpu_support.h"
#include "tests/ir/random_kernel.h"

using namespace braze;

namespace {

// BRAZE_SEED starts elsewhere than at 0, to search on.
unsigned first_seed() {
  const char* text = std::getenv("BRAZE_SEED");
  return text ? static_cast<unsigned>(std::strtoul(text, nullptr, 10)) : 0;
}

void check_kernel(const ir::Kernel& kernel, ir::KernelFunction code, unsigned seed) {
  static constexpr std::array<std::array<std::int64_t, 2>, 5> shapes = {{{0, 1}, {3, 1}, {2, 64}, {7, 77}, {40, 33}}};
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    std::array<std::int64_t, 2> shape = shapes[i];
    if (i == 4 && seed % 3 == 0) shape = {2, 2177};
    test_kernels::RandomData data(kernel, shape[0], shape[1], seed + 7919 * static_cast<unsigned>(i));
    test::Launch launch;
    launch.sizes = data.sizes;
    launch.scalars = data.scalars;
    launch.ranges = 1 + seed % 3;
    launch.misalign = seed % 5;
    for (std::size_t b = 0; b < data.memory.size(); ++b)
      launch.buffers.push_back({kernel.buffers[b].type, {data.memory[b].begin(), data.memory[b].end()}});
    CAPTURE(seed, shape[0], shape[1]);
    test::check_code(kernel, code, launch);
  }
}

}  // namespace

TEST_CASE("random kernels are bit for bit what the interpreter computes", "[fuzz]") {
  constexpr unsigned count = 25;
  for (const std::string& target : test::host_targets()) {
    CAPTURE(target);
    std::vector<ir::Kernel> kernels;
    for (unsigned i = 0; i < count; ++i) kernels.push_back(test_kernels::RandomKernel(first_seed() + i).kernel_);
    const test::Compiled compiled = test::compile(target, kernels);
    for (unsigned i = 0; i < count; ++i) check_kernel(kernels[i], compiled.code->entry(i), first_seed() + i);
  }
}
