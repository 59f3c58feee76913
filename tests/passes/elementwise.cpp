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

TEST_CASE("elementwise ops of every dtype, with broadcasts, casts and several results") {
  for (const DType t : all_dtypes)
    for (const std::int64_t m : {1, 3, 64, 129}) {
      std::string text = R"(braze.ir 1
graph f(%x: T[n, m], %y: T[m], %z: T[n, 1], %a: T[] scalar) {
  %0 = expand %y {shape = [n, m]} : T[n, m]
  %1 = add %x, %0 : T[n, m]
  %2 = expand %z {shape = [n, m]} : T[n, m]
  %3 = maximum %1, %2 : T[n, m]
  %4 = expand %a {shape = [n, m]} : T[n, m]
  %5 = lt %3, %4 : bool[n, m]
  %6 = mul %3, %4 : T[n, m]
  %7 = where %5, %6, %x : T[n, m]
  %8 = cast %7 : f32[n, m]
  return %3, %5, %7, %8
})";
      for (std::size_t at; (at = text.find("T[")) != std::string::npos;) text.replace(at, 1, name(t));
      const auto module = check_graph(text, {.symbols = {{"n", 37}, {"m", m}}});
      CHECK(module.program.kernels.size() == 1);
    }
}
