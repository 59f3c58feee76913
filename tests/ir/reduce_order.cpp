// The canonical loops of ir/reduce_order.h, run by the interpreter, against its functions on memory; and these against sums
// worked out by hand.
#include "ir/reduce_order.h"

#include <cmath>
#include <limits>
#include <random>

#include "ir/error.h"
#include "tests/catch.h"

using namespace braze;
using namespace braze::ir;

namespace {

std::uint32_t add_combine(KernelBuilder& builder, DType type) {
  CombineBuilder combine({type});
  const ValueId sum = combine.append({.op = Primitive::add, .type = type, .in = {combine.earlier(0), combine.later(0), no_value}});
  return builder.combine(combine.finish({sum}));
}

// (value, index) of the greatest, the first among equals.
std::uint32_t argmax_combine(KernelBuilder& builder) {
  CombineBuilder c({DType::f32, DType::i64});
  const auto binary = [&](Primitive op, DType type, DType from, ValueId a, ValueId b) {
    return c.append({.op = op, .type = type, .from = from, .in = {a, b, no_value}});
  };
  const auto select = [&](DType type, ValueId which, ValueId a, ValueId b) {
    return c.append({.op = Primitive::select, .type = type, .in = {which, a, b}});
  };
  const ValueId less = binary(Primitive::lt, DType::boolean, DType::f32, c.earlier(0), c.later(0));
  const ValueId equal = binary(Primitive::eq, DType::boolean, DType::f32, c.earlier(0), c.later(0));
  const ValueId before = binary(Primitive::lt, DType::boolean, DType::i64, c.later(1), c.earlier(1));
  const ValueId tie = binary(Primitive::bit_and, DType::boolean, DType::boolean, equal, before);
  const ValueId later = binary(Primitive::bit_or, DType::boolean, DType::boolean, less, tie);
  return builder.combine(
      c.finish({select(DType::f32, later, c.later(0), c.earlier(0)), select(DType::i64, later, c.later(1), c.earlier(1))}));
}

Access at(std::uint32_t buffer, ReducedIndex index, Size stride) {
  Access access{buffer, {}, {}};
  if (index.begin != no_value) access.terms.push_back({index.begin, stride});
  access.terms.push_back({index.step, stride});
  return access;
}

void run(const Kernel& kernel, std::vector<void*> buffers, std::vector<std::int64_t> sizes) {
  const Kernel reread = parse_kernel(print(kernel));
  CHECK(print(reread) == print(kernel));
  const KernelArgs args{buffers.data(), sizes.data(), nullptr};
  CHECK(interpret(reread, args, 0, std::numeric_limits<std::int64_t>::max()) == 0);
}

std::vector<float> noise(std::size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<float> values(count);
  for (float& v : values) v = std::ldexp(static_cast<float>(static_cast<int>(random())), static_cast<int>(random() % 30) - 45);
  return values;
}

const auto add = [](float a, float b) { return a + b; };

}  // namespace

TEST_CASE("the reduction order is the one that the design fixes") {
  // Strings show the order of joining.
  const auto join = [](const std::string& a, const std::string& b) { return a.empty() ? b : b.empty() ? a : "(" + a + b + ")"; };
  std::vector<std::string> elements;
  for (char c : std::string("abc")) elements.push_back({c});
  CHECK(reduce_outer<std::string>(elements, "", join) == "((ab)c)");
  CHECK(join_pairwise<std::string>({"a", "b", "c", "d", "e"}, join) == "(((ab)(cd))e)");
  CHECK(join_pairwise<std::string>({"a", "b", "c", "d", "e", "f", "g"}, join) == "(((ab)(cd))((ef)g))");
  elements.assign(130, "");
  elements[0] = "a", elements[32] = "b", elements[64] = "c", elements[129] = "d";
  CHECK(reduce_inner<std::string>(elements, "", join) == "(((ac)b)d)");
  CHECK(reduce_inner<std::string>({}, "z", [](auto, auto) { return "z"; }) == "z");
}

TEST_CASE("one kernel reduces rows of any length in the canonical order") {
  Kernel kernel;
  kernel.name = "sum_rows";
  KernelBuilder builder(kernel);
  const std::uint32_t in = builder.buffer({DType::f32}), out = builder.buffer({DType::f32, true});
  const ValueId rows = builder.size("rows"), length = builder.size("length"), blocks = builder.size("blocks");
  const std::uint32_t sum = add_combine(builder, DType::f32);
  const ValueId row = builder.open_for(LoopKind::parallel, Size::of_value(rows));
  const auto results = emit_inner_reduction(builder, Size::of_value(length), Size::of_value(blocks), sum,
                                            {builder.constant(DType::f32, 0)}, [&](ReducedIndex index) {
                                              Access access = at(in, index, Size::of(1));
                                              access.terms.push_back({row, Size::of_value(length)});
                                              return std::vector{builder.load(access)};
                                            });
  builder.store({out, {{row, Size::of(1)}}, {}}, results[0]);
  builder.close_for();
  verify(kernel);
  for (std::size_t n : {0, 1, 63, 2047, 2048, 2049, 4096, 4097, 10001}) {
    std::vector<float> values = noise(2 * n, 1), got(2, -1);
    run(kernel, {values.data(), got.data()},
        {2, static_cast<std::int64_t>(n), std::max<std::int64_t>((static_cast<std::int64_t>(n) + 2047) / 2048, 1)});
    CHECK(got[0] == reduce_inner<float>({values.data(), n}, 0.0f, add));
    CHECK(got[1] == reduce_inner<float>({values.data() + n, n}, 0.0f, add));
  }
}

TEST_CASE("an extent known to fit one block needs no scratch") {
  for (std::int64_t n : {0, 5, 2048, 2049, 70000}) {
    Kernel kernel;
    kernel.name = "argmax";
    KernelBuilder builder(kernel);
    const std::uint32_t in = builder.buffer({DType::f32}), out = builder.buffer({DType::i64, true});
    const std::uint32_t argmax = argmax_combine(builder);
    const std::vector<ValueId> identities{builder.constant(DType::f32, 0xff800000),
                                          builder.index_constant(std::numeric_limits<std::int64_t>::max())};
    const ValueId zero = builder.index_constant(0);
    builder.open_for(LoopKind::parallel, Size::of(1));
    const auto results =
        emit_inner_reduction(builder, Size::of(n), Size::of((n + 2047) / 2048), argmax, identities, [&](ReducedIndex index) {
          const ValueId position = builder.append({.op = Primitive::add,
                                                   .type = DType::i64,
                                                   .in = {index.begin == no_value ? zero : index.begin, index.step, no_value}});
          return std::vector{builder.load(at(in, index, Size::of(1))), position};
        });
    builder.store({out, {}, {}}, results[1]);
    builder.close_for();
    verify(kernel);
    CHECK(kernel.scratch.size() == (n > 2048 ? 2 : 0));
    if (n > 2048) CHECK(kernel.scratch[0].space == Space::stack);
    std::vector<float> values = noise(static_cast<std::size_t>(n), 9);
    std::int64_t got = -1;
    run(kernel, {values.data(), &got}, {});
    CHECK(got ==
          (n == 0 ? std::numeric_limits<std::int64_t>::max() : std::max_element(values.begin(), values.end()) - values.begin()));
  }
}

TEST_CASE("one kernel reduces columns of any height in the canonical order") {
  for (const bool known : {false, true})
    for (std::int64_t n : {0, 1, 31, 32, 33, 63, 64, 65, 129, 1000}) {
      Kernel kernel;
      kernel.name = "sum_columns";
      KernelBuilder builder(kernel);
      const std::uint32_t in = builder.buffer({DType::f32}), out = builder.buffer({DType::f32, true});
      const ValueId height = builder.size("height"), columns = builder.size("columns"), blocks = builder.size("blocks");
      const std::uint32_t sum = add_combine(builder, DType::f32);
      const std::int64_t number = std::max<std::int64_t>((n + 31) / 32, 1);
      const ValueId column = builder.open_for(LoopKind::parallel, Size::of_value(columns), 16);
      const auto results = emit_outer_reduction(builder, known ? Size::of(n) : Size::of_value(height),
                                                known ? Size::of(number) : Size::of_value(blocks), sum,
                                                {builder.constant(DType::f32, 0)}, [&](ReducedIndex index) {
                                                  Access access = at(in, index, Size::of_value(columns));
                                                  access.terms.push_back({column, Size::of(1)});
                                                  return std::vector{builder.load(access)};
                                                });
      builder.store({out, {{column, Size::of(1)}}, {}}, results[0]);
      builder.close_for();
      verify(kernel);
      const std::size_t width = 37;
      std::vector<float> values = noise(static_cast<std::size_t>(n) * width, 2), got(width, -1);
      run(kernel, {values.data(), got.data()}, {n, static_cast<std::int64_t>(width), number});
      for (std::size_t j = 0; j < width; ++j) {
        std::vector<float> rows;
        for (std::size_t i = 0; i < static_cast<std::size_t>(n); ++i) rows.push_back(values[i * width + j]);
        REQUIRE(got[j] == reduce_outer<float>(rows, 0.0f, add));
      }
    }
}

TEST_CASE("threads may share a reduction: blocks in one kernel, their joining in the next") {
  Kernel first, second;
  first.name = "blocks", second.name = "join";
  const std::int64_t n = 7000, count = 4;
  {
    KernelBuilder builder(first);
    const std::uint32_t in = builder.buffer({DType::f32}), out = builder.buffer({DType::f32, true});
    const Size length = Size::of_value(builder.size("n")), blocks = Size::of_value(builder.size("blocks"));
    const std::uint32_t sum = add_combine(builder, DType::f32);
    const ValueId block = builder.open_for(LoopKind::parallel, blocks);
    const BlockRange range = emit_block_range(builder, length, block, inner_block);
    const auto partial =
        emit_inner_block(builder, range.begin, range.count, sum, {builder.constant(DType::f32, 0)},
                         [&](ReducedIndex index) { return std::vector{builder.load(at(in, index, Size::of(1)))}; });
    builder.store({out, {{block, Size::of(1)}}, {}}, partial[0]);
    builder.close_for();
    verify(first);
  }
  {
    KernelBuilder builder(second);
    const std::uint32_t in = builder.buffer({DType::f32}), out = builder.buffer({DType::f32, true});
    const Size blocks = Size::of_value(builder.size("blocks"));
    const std::uint32_t sum = add_combine(builder, DType::f32);
    builder.open_for(LoopKind::parallel, Size::of(1));
    const auto total =
        emit_join(builder, blocks, sum, [&](ValueId block) { return std::vector{builder.load({in, {{block, Size::of(1)}}, {}})}; });
    builder.store({out, {}, {}}, total[0]);
    builder.close_for();
    verify(second);
  }
  std::vector<float> values = noise(n, 3), partials(count);
  float got = -1;
  run(first, {values.data(), partials.data()}, {n, count});
  run(second, {partials.data(), &got}, {count});
  CHECK(got == reduce_inner<float>(values, 0.0f, add));
}
