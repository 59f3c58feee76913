// Loops, accesses, reductions, faults and scratch on every target of this machine, against the interpreter.
#include <cmath>

#include "ir/reduce_order.h"
#include "tests/codegen/cpu_support.h"
#include "tests/ir/kernels.h"

using namespace braze;
using namespace braze::test;

namespace {

// Every length up to two steps and one; of many lanes, those around the places where vectors end.
std::vector<std::int64_t> lengths(std::int32_t step) {
  std::vector<std::int64_t> all;
  for (std::int64_t n = 0; n <= 2 * step + 1; ++n)
    if (step <= 16 || n % 8 <= 1 || n % 8 == 7) all.push_back(n);
  return all;
}

// `count` elements at `stride` from an origin within them.
Bytes strided_buffer(DType type, std::int64_t count, std::int64_t stride, std::mt19937_64& random) {
  const std::int64_t reach = count == 0 ? 0 : (count - 1) * std::abs(stride) + 1;
  Bytes buffer = random_buffer(type, static_cast<std::size_t>(reach), random);
  buffer.origin = stride < 0 && count > 0 ? (count - 1) * -stride : 0;
  return buffer;
}

}  // namespace

TEST_CASE("masked ends and strides of every dtype stay inside their buffers", "[cpu][sweep]") {
  std::mt19937_64 random(7);
  const std::vector<std::pair<std::int64_t, std::int64_t>> strides = {{1, 1},  {0, 1},  {-1, 1}, {2, 1},
                                                                      {-3, 1}, {1, -1}, {1, 2},  {1, -3}};
  for (const std::string& target : host_targets())
    for (DType type : all_dtypes)
      for (std::int32_t step : {4, 16, 64}) {
        std::vector<ir::Kernel> kernels;
        for (const bool named : {false, true})
          for (const auto& [from, to] : strides)
            kernels.push_back(parse(
                fmt::format("kernel copy(%b0: {0} read, %b1: {0} write; n, from, to) {{\n  for parallel %i0 in n step {1} {{\n"
                            "    %0 = load %b0[%i0 * {2}]\n    store %b1[%i0 * {3}], %0\n  }}\n}}\n",
                            name(type), step, named ? "from" : std::to_string(from), named ? "to" : std::to_string(to))));
        const Compiled compiled = compile(target, kernels);
        for (std::size_t k = 0; k < kernels.size(); ++k)
          for (std::int64_t n : lengths(step)) {
            const auto [from, to] = strides[k % strides.size()];
            INFO(target << " " << name(type) << " step " << step << " strides " << from << " to " << to
                        << (k < strides.size() ? "" : ", named") << ", " << n << " elements");
            Launch launch{{strided_buffer(type, n, from, random), strided_buffer(type, n, to, random)}, {n, from, to}, {}, 2, true};
            check_code(kernels[k], compiled.code->entry(k), launch);
          }
      }
}

TEST_CASE("predicates and indirect accesses touch active lanes only", "[cpu][sweep]") {
  std::mt19937_64 random(8);
  for (const std::string& target : host_targets())
    for (DType type : all_dtypes)
      for (std::int32_t step : {4, 16, 32}) {
        const std::string head =
            "kernel where(%b0: {0} read, %b1: bool read, %b2: i64 read, %b3: {0} write; n) {{\n  for parallel %i0 in n step {1} "
            "{{\n    %0 = load %b1[%i0 * 1]\n";
        const auto text = [&](const std::string& body) {
          return parse(fmt::format(fmt::runtime(head + body + "  }}\n}}\n"), name(type), step));
        };
        const std::vector<ir::Kernel> kernels = {
            text("    %1 = load %b0[%i0 * 1] where %0\n    store %b3[%i0 * 1], %1\n"),
            text("    %1 = load %b0[%i0 * -1 + n] where %0\n    store %b3[%i0 * 1], %1 where %0\n"),
            text("    %1 = load %b2[%i0 * 1]\n    %2 = load %b0[%1 * 1]\n    store %b3[%i0 * 1], %2\n"),
            text("    %1 = load %b2[%i0 * 1]\n    %2 = load %b0[%1 * 1] where %0\n    store %b3[%i0 * 1], %2 where %0\n"),
            text("    %1 = load %b0[%i0 * 1]\n    %2 = load %b2[%i0 * 1]\n    store %b3[%2 * 1], %1 where %0\n"),
            text("    %1 = load %b0[0] where %0\n    store %b3[%i0 * 1], %1\n"),
        };
        const Compiled compiled = compile(target, kernels);
        for (std::size_t k = 0; k < kernels.size(); ++k)
          for (std::int64_t n : lengths(step)) {
            INFO(target << " " << name(type) << " step " << step << " kernel " << k << ", " << n << " elements");
            Launch launch{{random_buffer(type, static_cast<std::size_t>(n + 1), random),
                           random_buffer(DType::boolean, static_cast<std::size_t>(n), random),
                           {DType::i64, {}},
                           random_buffer(type, static_cast<std::size_t>(n), random)},
                          {n},
                          {},
                          1,
                          true};
            // Scattered stores with equal indices would depend on the order of lanes across parts: a permutation has none.
            std::vector<std::uint64_t> order(static_cast<std::size_t>(n));
            for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
            std::shuffle(order.begin(), order.end(), random);
            for (std::uint64_t i : order) append(launch.buffers[2], i);
            check_code(kernels[k], compiled.code->entry(k), launch);
          }
      }
}

TEST_CASE("hand-written kernels of every kind", "[cpu]") {
  std::mt19937_64 random(9);
  for (const std::string& target : host_targets()) {
    const auto run = [&](std::string_view text, const Launch& launch) {
      const ir::Kernel kernel = parse(std::string(text));
      INFO(target << " " << kernel.name);
      return check_code(kernel, compile(target, {&kernel, 1}).code->entry(0), launch);
    };
    const auto plain = [&](DType type, std::int64_t count) { return plain_buffer(type, static_cast<std::size_t>(count), random); };
    for (std::int64_t n : {0, 1, 15, 16, 17, 1000})
      run(test_kernels::elementwise,
          {{plain(DType::f32, n), plain(DType::f32, n), plain(DType::f32, n)}, {n}, {ir::to_bits(1.7f)}, 3});
    for (std::int64_t m : {0, 1, 5, 63, 64, 65, 500, 2049})
      run(test_kernels::inner_sum, {{plain(DType::f32, 3 * m), plain(DType::f32, 3)}, {3, m}, {}, 2});
    for (std::int64_t n : {1, 31, 32, 33, 200})
      for (std::int64_t m : {1, 7, 8, 9, 30})
        run(test_kernels::outer_sum, {{plain(DType::f64, n * m), plain(DType::f64, m)}, {n, m, (n + 31) / 32}, {}, 2});
    for (std::int64_t m : {1, 15, 16, 17, 333})
      run(test_kernels::argmax, {{plain(DType::f32, 4 * m), plain(DType::i64, 4)}, {4, m}, {}, 2});
    for (std::int64_t m : {1, 7, 8, 9, 100})
      run(test_kernels::softmax, {{plain(DType::f64, 5 * m), plain(DType::f64, 5 * m)}, {5, m}, {}, 2});
    run(test_kernels::halves,
        {{random_buffer(DType::f16, 100, random), random_buffer(DType::bf16, 1, random), random_buffer(DType::f16, 100, random)},
         {100},
         {},
         1});
    for (std::int64_t row_stride : {-9, 0, 4}) {
      Bytes in = random_buffer(DType::i32, 200, random);
      run(test_kernels::strided, {{in, random_buffer(DType::i32, 70, random)}, {7, 10, row_stride, -2, 120}, {}, 2});
    }
    Launch masked{{random_buffer(DType::boolean, 50, random), {DType::i16, {}}}, {50}, {ir::to_bits(std::int16_t{-700})}, 1};
    for (int i = 0; i < 50; ++i) append(masked.buffers[1], static_cast<std::uint64_t>(i) + 1);
    CHECK(run(test_kernels::masked, masked) == 0);
    masked.buffers[1].bytes[2 * 37] = 0;
    masked.buffers[0].bytes[37] = 0;
    CHECK(run(test_kernels::masked, masked) == 0);  // an inactive lane raises nothing
    masked.buffers[0].bytes[37] = 1;
    CHECK(run(test_kernels::masked, masked) == static_cast<std::int32_t>(ir::Fault::division_by_zero));
  }
}

TEST_CASE("a body too long to be copied for each part of a vector, with divisions of small and of any integers", "[cpu]") {
  std::string body;
  int value = 8;
  for (int i = 0; i < 320; ++i, ++value)
    body += fmt::format("      %{} = {}.f64 %{}, %{}\n", value, i % 3 == 0 ? "mul" : "sub", value - 1, i % 7 == 0 ? 3 : value - 2);
  const ir::Kernel kernel = parse(fmt::format(R"(kernel long(%b0: f64 read, %b1: f64 write, %b2: i64 read, %b3: i64 write; n, d) {{
  combine c0(%0: f64, %1: f64) {{
    %2 = add.f64 %0, %1
    yield %2
  }}
  %0 = constant.f64 0x0p+0
  for parallel %i0 in 1 {{
    for serial %i1 in n step 64 carry %1 = %0 {{
      %2 = load %b0[%i1 * 1]
      %3 = load %b0[%i1 * 2]
      %4 = load %b2[%i1 * 1]
      %5 = quo.i64 %i1, d
      %6 = rem.i64 %4, %5
      %7 = add.f64 %2, %3
{0}      store %b3[%i1 * 1], %6
      store %b1[%i1 * 1 + 1], %{1}
      %{2} = add.f64 %1, %{1}
      yield %{2}
    }} -> %{3}
    %{4} = fold %{3} by c0
    store %b1[%i0 * 1], %{4}
  }}
}}
)",
                                              body, value - 1, value, value + 1, value + 2));
  std::mt19937_64 random(17);
  for (const std::string& target : host_targets()) {
    const Compiled compiled = compile(target, {&kernel, 1});
    for (const std::int64_t n : {0, 1, 7, 63, 64, 65, 200, 256})
      for (const std::int64_t d : {std::int64_t{3}, std::int64_t{-1}, std::int64_t{1} << 53}) {
        INFO(target << " " << n << " elements, divided by " << d);
        const auto count = static_cast<std::size_t>(n);
        Launch launch{{random_buffer(DType::f64, 2 * count + 1, random), random_buffer(DType::f64, count + 1, random),
                       random_buffer(DType::i64, count, random), random_buffer(DType::i64, count, random)},
                      {n, d},
                      {}};
        check_code(kernel, compiled.code->entry(0), launch);
      }
  }
}

TEST_CASE("the first fault that a kernel meets is the one it returns", "[cpu]") {
  const ir::Kernel kernel = parse(R"(kernel two_checks(%b0: bool read, %b1: bool read; n) {
  for parallel %i0 in n step 64 {
    %0 = load %b0[%i0 * 1]
    %1 = load %b1[%i0 * 1]
    %2 = check division_by_zero %0
    %3 = check index_out_of_range %1
  }
}
)");
  for (const std::string& target : host_targets()) {
    const Compiled compiled = compile(target, {&kernel, 1});
    for (const auto& [zero, index] :
         std::vector<std::pair<int, int>>{{-1, -1}, {3, -1}, {-1, 149}, {63, 0}, {64, 0}, {149, 64}, {100, 100}}) {
      INFO(target << " faults at " << zero << " and " << index);
      Launch launch{{{DType::boolean, std::vector<char>(150)}, {DType::boolean, std::vector<char>(150)}}, {150}, {}, 1};
      if (zero >= 0) launch.buffers[0].bytes[static_cast<std::size_t>(zero)] = 1;
      if (index >= 0) launch.buffers[1].bytes[static_cast<std::size_t>(index)] = 1;
      check_code(kernel, compiled.code->entry(0), launch);
    }
  }
}

namespace {

// The reductions that lowering emits, from ir/reduce_order.h.
ir::Kernel reduction(DType type, bool inner, bool with_index) {
  ir::Kernel kernel;
  kernel.name = inner ? "inner" : "outer";
  ir::KernelBuilder builder(kernel);
  const std::uint32_t in = builder.buffer({type, false}), out = builder.buffer({type, true});
  const std::uint32_t place = builder.buffer({DType::i64, true});
  const ir::ValueId n = builder.size("n"), m = builder.size("m"), blocks = builder.size("blocks");
  std::vector<DType> types{type};
  if (with_index) types.push_back(DType::i64);
  ir::CombineBuilder join(types);
  std::vector<ir::ValueId> results;
  if (with_index) {
    const ir::ValueId later =
        join.append(ir::canonical({.op = ir::Primitive::lt, .from = type, .in = {join.earlier(0), join.later(0), ir::no_value}}));
    for (std::size_t k = 0; k < 2; ++k)
      results.push_back(join.append(
          ir::canonical({.op = ir::Primitive::select, .type = types[k], .in = {later, join.later(k), join.earlier(k)}})));
  } else {
    results.push_back(
        join.append(ir::canonical({.op = ir::Primitive::add, .type = type, .in = {join.earlier(0), join.later(0), ir::no_value}})));
  }
  const std::uint32_t combine = builder.combine(join.finish(results));
  std::vector<ir::ValueId> identities{builder.constant(type, 0)};
  if (with_index) identities.push_back(builder.index_constant(-1));
  const ir::ValueId kept = builder.open_for(ir::LoopKind::parallel, ir::Size::of_value(inner ? n : m), inner ? 1 : 32);
  const auto element = [&](ir::ReducedIndex index) {
    const auto reduced_stride = inner ? ir::Size::of(1) : ir::Size::of_value(m),
               kept_stride = inner ? ir::Size::of_value(m) : ir::Size::of(1);
    ir::Access access{in, {{kept, kept_stride}}, ir::Size::of(0)};
    if (index.begin != ir::no_value) access.terms.push_back({index.begin, reduced_stride});
    access.terms.push_back({index.step, reduced_stride});
    std::vector<ir::ValueId> values{builder.load(std::move(access))};
    if (with_index)
      values.push_back(index.begin == ir::no_value
                           ? index.step
                           : builder.append(ir::canonical(
                                 {.op = ir::Primitive::add, .type = DType::i64, .in = {index.begin, index.step, ir::no_value}})));
    return values;
  };
  const auto reduced =
      inner ? ir::emit_inner_reduction(builder, ir::Size::of_value(m), ir::Size::of_value(blocks), combine, identities, element)
            : ir::emit_outer_reduction(builder, ir::Size::of_value(n), ir::Size::of_value(blocks), combine, identities, element);
  builder.store({out, {{kept, ir::Size::of(1)}}, ir::Size::of(0)}, reduced[0]);
  if (with_index) builder.store({place, {{kept, ir::Size::of(1)}}, ir::Size::of(0)}, reduced[1]);
  builder.close_for();
  ir::verify(kernel);
  return kernel;
}

}  // namespace

TEST_CASE("reductions keep their order on every target", "[cpu][sweep]") {
  std::mt19937_64 random(10);
  for (const std::string& target : host_targets())
    for (DType type : {DType::u8, DType::i16, DType::i32, DType::i64, DType::f32, DType::f64})
      for (const bool with_index : {false, true})
        for (const bool inner : {true, false}) {
          const ir::Kernel kernel = reduction(type, inner, with_index);
          const Compiled compiled = compile(target, {&kernel, 1});
          const std::vector<std::int64_t> reduced = inner ? std::vector<std::int64_t>{0, 1, 63, 64, 65, 130, 2047, 2048, 2049, 7000}
                                                          : std::vector<std::int64_t>{0, 1, 31, 32, 33, 65, 200};
          for (std::int64_t r : reduced)
            for (std::int64_t kept : {1, 3, 32, 41}) {
              INFO(target << " " << name(type) << (inner ? " inner " : " outer ") << r << " reduced, " << kept << " kept"
                          << (with_index ? ", with index" : ""));
              const std::int64_t unit = inner ? ir::inner_block : ir::outer_block;
              Launch launch{{plain_buffer(type, static_cast<std::size_t>(r * kept), random),
                             plain_buffer(type, static_cast<std::size_t>(kept), random),
                             plain_buffer(DType::i64, static_cast<std::size_t>(kept), random)},
                            {inner ? kept : r, inner ? r : kept, std::max<std::int64_t>(1, (r + unit - 1) / unit)},
                            {},
                            2};
              check_code(kernel, compiled.code->entry(0), launch);
            }
        }
}

TEST_CASE("scratch in registers, on the stack and on the heap, a lane each or shared", "[cpu]") {
  std::mt19937_64 random(11);
  const std::string per_lane = R"(kernel window(%b0: {0} read, %b1: {0} write; n, taps) {{
  scratch %a0: {0} {1} [6] lanes {2}
  combine c0(%0: {0}, %1: {0}) {{
    %2 = {3} %0, %1
    yield %2
  }}
  for parallel %i0 in n step {2} {{
    for unrolled %i1 in 6 {{
      %0 = load %b0[%i0 * 1 + %i1 * 1]
      store %a0[%i1 * 1], %0
    }}
    for unrolled %i2 in 3 {{
      %1 = load %a0[%i2 * 1 + 3]
      %2 = load %a0[%i2 * 1]
      %3 = {3} %1, %2
      store %a0[%i2 * 1], %3
    }}
    %4 = tree_fold %a0 count 6 by c0
    store %b1[%i0 * 1], %4
  }}
}}
)";
  // A row waits in an array that all lanes share; the second loop also reads what its own step has just stored.
  const std::string shared = R"(kernel reverse_rows(%b0: {0} read, %b1: {0} write; n, m) {{
  scratch %a0: {0} heap [m]
  scratch %a1: {0} stack [100]
  for parallel %i0 in n {{
    %3 = load %b0[%i0 * m]
    store %a1[0], %3
    for serial %i1 in m step 16 {{
      %0 = load %b0[%i0 * m + %i1 * 1]
      store %a0[%i1 * 1], %0
    }}
    for serial %i2 in m step 64 {{
      %1 = load %a0[%i2 * 1]
      store %a1[%i2 * 1 + 1], %1
      %2 = load %a1[%i2 * 1]
      store %b1[%i0 * m + %i2 * 1], %2
    }}
  }}
}}
)";
  for (const std::string& target : host_targets())
    for (DType type : {DType::boolean, DType::u8, DType::i16, DType::f16, DType::i32, DType::f32, DType::i64, DType::f64}) {
      const std::string join = type == DType::boolean ? "bit_xor.bool" : is_half(type) ? "" : fmt::format("add.{}", name(type));
      for (const char* space : {"registers", "stack", "heap"})
        for (int lanes : {2, 8, 32}) {
          if (join.empty()) continue;
          const ir::Kernel kernel = parse(fmt::format(fmt::runtime(per_lane), name(type), space, lanes, join));
          const Compiled compiled = compile(target, {&kernel, 1});
          for (std::int64_t n : {0, 1, 7, 8, 33, 70}) {
            INFO(target << " " << name(type) << " " << space << " lanes " << lanes << ", " << n << " elements");
            check_code(kernel, compiled.code->entry(0),
                       {{plain_buffer(type, static_cast<std::size_t>(n + 5), random),
                         plain_buffer(type, static_cast<std::size_t>(n), random)},
                        {n, 0},
                        {},
                        2});
          }
        }
      const ir::Kernel kernel = parse(fmt::format(fmt::runtime(shared), name(type)));
      const Compiled compiled = compile(target, {&kernel, 1});
      for (std::int64_t m : {1, 15, 16, 17, 63, 64, 65, 99}) {
        INFO(target << " " << name(type) << " rows of " << m);
        check_code(kernel, compiled.code->entry(0),
                   {{plain_buffer(type, static_cast<std::size_t>(3 * m), random),
                     plain_buffer(type, static_cast<std::size_t>(3 * m), random)},
                    {3, m},
                    {},
                    1});
      }
    }
}

TEST_CASE("a kernel runs in its own rounding mode and leaves the caller's", "[cpu]") {
  const ir::Kernel kernel = parse(std::string(test_kernels::elementwise));
  for (const std::string& target : host_targets()) {
    const Compiled compiled = compile(target, {&kernel, 1});
    float x[20], y[20], z[20];
    for (int i = 0; i < 20; ++i) {
      x[i] = 1e-39f * static_cast<float>(i + 1);  // subnormal
      y[i] = 1.0f / static_cast<float>(i + 3);
    }
    void* buffers[] = {x, y, z};
    const std::int64_t n = 20;
    const std::uint64_t scalar = ir::to_bits(0.3f);
    const ir::KernelArgs args{buffers, &n, &scalar};
    const unsigned before = __builtin_ia32_stmxcsr(), odd = 0xffc0u;  // flush to zero, inputs too, towards zero
    __builtin_ia32_ldmxcsr(odd);
    compiled.code->entry(0)(&args, 0, n, nullptr);
    const unsigned after = __builtin_ia32_stmxcsr();
    __builtin_ia32_ldmxcsr(before);
    CHECK((after & 0xffc0u) == odd);
    for (int i = 0; i < 20; ++i) {
      const float product = x[i] * 0.3f;
      CHECK(ir::to_bits(z[i]) == ir::to_bits(product + y[i]));
    }
  }
}

TEST_CASE("phases run one after the other, in one range or in many, and each sees what the one before stored", "[cpu][sweep]") {
  std::mt19937_64 random(14);
  // Sums of blocks of 32; their sum; what each element is of it, in a vector loop.
  const std::string text = R"(kernel shares(%b0: f32 read, %b1: f32 write, %b2: f32 write, %b3: f32 write; n, blocks) {{
  %0 = constant.f32 0x0p+0
  %1 = constant.i64 32
  for parallel %i0 in blocks {{
    %2 = mul.i64 %i0, %1
    %3 = sub.i64 n, %2
    %4 = lt.i64 %3, %1
    %5 = select.i64 %4, %3, %1
    for serial %i1 in %5 carry %6 = %0 {{
      %7 = load %b0[%2 * 1 + %i1 * 1]
      %8 = add.f32 %6, %7
      yield %8
    }} -> %9
    store %b1[%i0 * 1], %9
  }}
  for parallel %i2 in 1 {{
    for serial %i3 in blocks carry %10 = %0 {{
      %11 = load %b1[%i3 * 1]
      %12 = add.f32 %10, %11
      yield %12
    }} -> %13
    store %b2[%i2 * 1], %13
  }}
  for parallel %i4 in n step {0} {{
    %14 = load %b0[%i4 * 1]
    %15 = load %b2[0]
    %16 = div.f32 %14, %15
    store %b3[%i4 * 1], %16
  }}
}}
)";
  for (const std::string& target : host_targets())
    for (const int step : {1, 8, 32}) {
      std::string own = fmt::format(fmt::runtime(text), step);
      // The store's own index, which a load in place takes.
      own.replace(own.find("store %b2[%i2 * 1]"), 18, "store %b2[0]");
      const ir::Kernel kernel = parse(own);
      const Compiled compiled = compile(target, {&kernel, 1});
      for (const std::int64_t n : {1, 31, 32, 33, 200, 1000})
        for (const std::int64_t ranges : {0, 1, 3}) {
          INFO(target << " step " << step << ", " << n << " elements in " << ranges << " ranges");
          const std::int64_t blocks = (n + 31) / 32;
          Launch launch{{plain_buffer(DType::f32, static_cast<std::size_t>(n), random),
                         plain_buffer(DType::f32, static_cast<std::size_t>(blocks), random), plain_buffer(DType::f32, 1, random),
                         plain_buffer(DType::f32, static_cast<std::size_t>(n), random)},
                        {n, blocks},
                        {},
                        ranges};
          check_code(kernel, compiled.code->entry(0), launch);
        }
    }
}

TEST_CASE("the streaming variant has the same bits at every alignment", "[cpu][sweep]") {
  std::mt19937_64 random(12);
  const std::string elementwise =
      R"(kernel several(%b0: f32 read, %b1: {0} write streaming, %b2: {1} write streaming, %b3: f32 write; n) {{
  for parallel %i0 in n step {2} {{
    %0 = load %b0[%i0 * 1]
    %1 = add.f32 %0, %0
    %2 = convert.f32->{0} %1
    %3 = convert.f32->{1} %0
    store %b1[%i0 * 1], %2
    store %b2[%i0 * 1], %3
    store %b3[%i0 * 1], %1
  }}
}}
)";
  const std::string rows = R"(kernel scaled_rows(%b0: {0} read, %b1: {0} write streaming, %b2: {0} write; n, m) {{
  combine c0(%0: {0}, %1: {0}) {{
    %2 = add.{0} %0, %1
    yield %2
  }}
  %0 = constant.{0} 0x0p+0
  for parallel %i0 in n {{
    for serial %i1 in m step 32 carry %1 = %0 {{
      %2 = load %b0[%i0 * m + %i1 * 1]
      store %b1[%i0 * m + %i1 * 1], %2
      %3 = add.{0} %1, %2
      yield %3
    }} -> %4
    %5 = fold %4 by c0
    store %b2[%i0 * 1], %5
  }}
}}
)";
  for (const std::string& target : host_targets())
    for (int step : {4, 16, 64})
      for (const auto& [first, second] :
           std::vector<std::pair<DType, DType>>{{DType::f32, DType::u8}, {DType::i16, DType::f64}, {DType::boolean, DType::f16}}) {
        const ir::Kernel kernel = parse(fmt::format(fmt::runtime(elementwise), name(first), name(second), step));
        const Compiled compiled = compile(target, {&kernel, 1}, true);
        for (std::int64_t n : {0, 1, 15, 64, 65, 127, 200, 333})
          for (std::size_t misalign : {0, 1, 3, 15, 16, 31}) {
            INFO(target << " " << name(first) << " " << name(second) << " step " << step << ", " << n << " elements from "
                        << misalign);
            const auto count = static_cast<std::size_t>(n);
            Launch launch{{plain_buffer(DType::f32, count, random), plain_buffer(first, count, random),
                           plain_buffer(second, count, random), plain_buffer(DType::f32, count, random)},
                          {n},
                          {},
                          3};
            launch.misalign = misalign;
            check_code(kernel, compiled.code->entry(0), launch);
          }
      }
  for (const std::string& target : host_targets())
    for (DType type : {DType::f32, DType::f64}) {
      const ir::Kernel kernel = parse(fmt::format(fmt::runtime(rows), name(type)));
      const Compiled compiled = compile(target, {&kernel, 1}, true);
      for (std::int64_t m : {0, 1, 31, 32, 33, 64, 96, 100, 128})
        for (std::size_t misalign : {0, 1, 8}) {
          INFO(target << " " << name(type) << " rows of " << m << " from " << misalign);
          const auto count = static_cast<std::size_t>(3 * m);
          Launch launch{
              {plain_buffer(type, count, random), plain_buffer(type, count, random), plain_buffer(type, 3, random)}, {3, m}, {}, 2};
          launch.misalign = misalign;
          check_code(kernel, compiled.code->entry(0), launch);
        }
    }
}
