// KernelBuilder: what it shares, what it hoists, and random kernels that must keep every law and print as they parse.
#include <bit>

#include "ir/error.h"
#include "ir/scalar.h"
#include "tests/catch.h"
#include "tests/ir/random_kernel.h"

using namespace braze;
using namespace braze::ir;

namespace {
Instruction binary(Primitive op, DType type, ValueId a, ValueId b) { return {.op = op, .type = type, .in = {a, b, no_value}}; }
}  // namespace

TEST_CASE("equal scalar code is shared, and what a loop leaves alone leaves the loop") {
  Kernel kernel;
  kernel.name = "hoisting";
  KernelBuilder builder(kernel);
  const std::uint32_t in = builder.buffer({DType::i64}), out = builder.buffer({DType::i64, true});
  const ValueId n = builder.size("n"), m = builder.size("n");
  CHECK(kernel.size_names == std::vector<std::string>{"n", "n_1"});
  const ValueId i = builder.open_for(LoopKind::parallel, Size::of_value(n));
  const ValueId j = builder.open_for(LoopKind::serial, Size::of_value(m), 8);
  const ValueId one = builder.index_constant(1);
  const ValueId row =
      builder.append(binary(Primitive::mul, DType::i64, i, builder.append(binary(Primitive::add, DType::i64, n, one))));
  const ValueId place = builder.append(binary(Primitive::add, DType::i64, row, j));
  CHECK(builder.append(binary(Primitive::add, DType::i64, row, j)) == place);
  const ValueId loaded = builder.load({in, {{j, Size::of(1)}}, {}});
  CHECK(builder.load({in, {{j, Size::of(1)}}, {}}) == loaded);
  CHECK(builder.load({in, {{j, Size::of(2)}}, {}}) != loaded);
  CHECK(builder.load({out, {{j, Size::of(1)}}, {}}) != builder.load({out, {{j, Size::of(1)}}, {}}));
  const ValueId bad = builder.append({.op = Primitive::eq, .type = DType::boolean, .from = DType::i64, .in = {n, one, no_value}});
  const Instruction check{.op = Primitive::check, .type = DType::boolean, .in = {bad, no_value, no_value}, .payload = 1};
  CHECK(builder.append(check) == builder.append(check));
  builder.store({out, {{j, Size::of(1)}}, {}}, builder.append(binary(Primitive::add, DType::i64, place, loaded)));
  builder.close_for();
  builder.close_for();
  CHECK(print(kernel) == R"(kernel hoisting(%b0: i64 read, %b1: i64 write; n, n_1) {
  %0 = constant.i64 1
  %1 = add.i64 n, %0
  %2 = eq.i64 n, %0
  for parallel %i0 in n {
    %3 = mul.i64 %i0, %1
    for serial %i1 in n_1 step 8 {
      %4 = add.i64 %3, %i1
      %5 = load %b0[%i1 * 1]
      %6 = load %b0[%i1 * 2]
      %7 = load %b1[%i1 * 1]
      %8 = load %b1[%i1 * 1]
      %9 = check division_by_zero %2
      %10 = add.i64 %4, %5
      store %b1[%i1 * 1], %10
    }
  }
}
)");
  verify(kernel);
}

TEST_CASE("a value of a closed scope cannot be an operand") {
  Kernel kernel;
  kernel.name = "closed";
  KernelBuilder builder(kernel);
  const ValueId i = builder.open_for(LoopKind::parallel, Size::of(4));
  const ValueId j = builder.open_for(LoopKind::serial, Size::of(4));
  const ValueId inner = builder.append(binary(Primitive::add, DType::i64, i, j));
  builder.close_for();
  CHECK_THROWS_AS(builder.append(binary(Primitive::add, DType::i64, inner, i)), InternalError);
  builder.carry(i);
  CHECK_THROWS_AS(builder.close_for(), InternalError);
}

TEST_CASE("random kernels keep the laws and print as they parse") {
  for (unsigned seed = 0; seed < 400; ++seed) {
    const Kernel kernel = test_kernels::RandomKernel(seed).kernel_;
    CAPTURE(seed);
    REQUIRE(broken_law(kernel) == "");
    const std::string text = print(kernel);
    const Kernel reread = parse_kernel(text);
    REQUIRE(print(reread) == text);
    REQUIRE(value_lanes(kernel).size() == kernel.value_types.size());
  }
}

TEST_CASE("random kernels compute the same from text, and never leave their buffers") {
  for (unsigned seed = 0; seed < 300; ++seed) {
    CAPTURE(seed);
    const Kernel kernel = test_kernels::RandomKernel(seed).kernel_;
    const std::int64_t rows = seed % 5 == 0 ? 40 : seed % 4, columns = seed % 7 == 0 ? 2100 : 1 + seed % 70;
    test_kernels::RandomData first(kernel, rows, columns, seed), second(kernel, rows, columns, seed);
    const std::vector<std::int64_t> elements(kernel.buffers.size(), rows * columns);
    const std::int64_t extent = phases(kernel, first.sizes).at(0).extent, step = phases(kernel, first.sizes).at(0).step;
    REQUIRE(LoopInterpreter(kernel).run({first.pointers().data(), first.sizes.data(), first.scalars.data()}, 0, extent,
                                        {elements}) == 0);
    // From text, in ranges.
    const LoopInterpreter reread(parse_kernel(print(kernel)));
    const std::vector<void*> pointers = second.pointers();
    for (std::int64_t begin = 0; begin < extent; begin += 2 * step)
      REQUIRE(reread.run({pointers.data(), second.sizes.data(), second.scalars.data()}, begin,
                         std::min(begin + 2 * step, extent)) == 0);
    REQUIRE(first.memory == second.memory);
  }
}
