#include "tests/catch.h"
#include "tests/passes/run_program.h"

using namespace braze;
using namespace braze::test;

TEST_CASE("an elementwise expression is one kernel with one vector loop") {
  for (const std::int64_t n : {0, 1, 2, 15, 16, 17, 63, 64, 65, 2047, 2048, 2049, 5000}) {
    const auto module = check_graph(R"(braze.ir 1
graph f(%x: f32[n], %y: f32[n], %a: f32[] scalar) {
  %0 = expand %a {shape = [n]} : f32[n]
  %1 = mul %x, %0 : f32[n]
  %2 = add %1, %y : f32[n]
  %3 = tanh %2 : f32[n]
  return %3
})",
                                    {.symbols = {{"n", n}}});
    CHECK(module.program.kernels.size() == 1);
    CHECK(module.program.kernels[0].name == "mul_add_tanh");
  }
}
