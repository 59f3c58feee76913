#include "ir/program.h"

#include "tests/catch.h"

using namespace braze;
using namespace braze::ir;

TEST_CASE("a program prints its slots, steps and kernels") {
  const std::string kernel = R"(kernel scale(%b0: f32 read, %b1: f32 write; n; %s0: f32) {
  for parallel %i0 in n step 16 {
    %0 = load %b0[%i0 * 1]
    %1 = mul.f32 %0, %s0
    store %b1[%i0 * 1], %1
  }
}
)";
  Program program;
  IndexTable& index = program.index;
  const IndexId zero = index.number(0), n = index.mul(index.of(Extent::symbol(0)), index.of(Extent::symbol(1)));
  const IndexId bytes = index.mul(index.number(64), index.ceil_div(n, index.number(16)));
  program.inputs = 2, program.symbols = 2, program.scalars = 1;
  program.kernels.push_back(parse_kernel(kernel));
  program.slots = {{Slot::Kind::input, DType::f32, n, 0, zero},
                   {Slot::Kind::temporary, DType::f32, n, 0, zero},
                   {Slot::Kind::in_out, DType::f32, n, 1, zero},
                   {Slot::Kind::result, DType::f32, n, 0, zero}};
  program.steps = {
      {KernelStep{0, {0, 1}, {n}, {0}, n, n}, "demo.cpp:7"}, {CopyStep{1, 3}, ""}, {KernelStep{0, {1, 2}, {n}, {0}, n, n}, ""}};
  program.results = {3, 2};
  program.arena_bytes = bytes;
  CHECK(print(program) == R"(program(2 inputs, 2 symbols, 1 scalars) {
  @0: f32[s0*s1] input 0
  @1: f32[s0*s1] temporary at 0
  @2: f32[s0*s1] in_out 1
  @3: f32[s0*s1] result
  arena 64*ceil_div(s0*s1, 16) bytes
  scale(@0, write @1; n = s0*s1; scalar 0) for s0*s1, work s0*s1  // demo.cpp:7
  copy @1 to @3
  scale(@1, write @2; n = s0*s1; scalar 0) for s0*s1, work s0*s1
  return @3, @2
}

)" + kernel);
}
