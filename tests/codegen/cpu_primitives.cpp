// Every machine primitive on every dtype, as vectors and as scalars, on every target of this machine, against the interpreter.
#include <algorithm>
#include <cmath>

#include "tests/codegen/all_instructions.h"
#include "tests/codegen/cpu_support.h"

using namespace braze;
using namespace braze::test;
using ir::Primitive;

namespace {

// out[i] = instruction(in0[i], in1[i], in2[i])
ir::Kernel kernel_of(ir::Instruction instruction, std::int32_t step) {
  ir::Kernel kernel;
  kernel.name = std::string(info(instruction.op).name);
  ir::KernelBuilder builder(kernel);
  const std::vector<DType> operands = operand_types(instruction);
  std::vector<std::uint32_t> inputs;
  for (DType type : operands) inputs.push_back(builder.buffer({type, false}));
  const std::uint32_t output = builder.buffer({instruction.type, true});
  const ir::ValueId n = builder.size("n");
  const ir::ValueId i = builder.open_for(ir::LoopKind::parallel, ir::Size::of_value(n), step);
  const auto at = [&](std::uint32_t buffer) { return ir::Access{buffer, {{i, ir::Size::of(1)}}, ir::Size::of(0)}; };
  for (std::size_t k = 0; k < operands.size(); ++k) instruction.in[k] = builder.load(at(inputs[k]));
  builder.store(at(output), builder.append(instruction));
  builder.close_for();
  return kernel;
}

Launch values_for(const ir::Instruction& instruction, std::mt19937_64& random) {
  Launch launch;
  const std::vector<DType> types = operand_types(instruction);
  std::vector<std::vector<std::uint64_t>> columns(types.size());
  if (types.size() == 1 && size_of(types[0]) <= 2 && types[0] != DType::boolean) {
    for (std::uint64_t v = 0; v < std::uint64_t{1} << (8 * size_of(types[0])); ++v) columns[0].push_back(v);
  } else if (types.size() == 1) {
    columns[0] = specials(types[0]);
  } else if (types.size() == 2) {
    for (std::uint64_t a : specials(types[0]))
      for (std::uint64_t b : specials(types[1])) {
        columns[0].push_back(a);
        columns[1].push_back(b);
      }
  }
  for (int k = 0; k < 3000; ++k)
    for (std::size_t c = 0; c < types.size(); ++c) columns[c].push_back(random_bits(types[c], random));
  if (instruction.op == Primitive::fma)  // cancellation, and sums near halfway between two results
    for (int k = 0; k < 6000; ++k) {
      const auto number = [&] {
        return std::ldexp(static_cast<double>(random() % 4096 + 1), static_cast<int>(random() % 40) - 26);
      };
      const double x = number(), y = number(), product = x * y;
      const int digits = instruction.type == DType::f32 ? 24 : 53;
      double z = k % 3 == 0 ? -product : std::ldexp(product, -static_cast<int>(random() % 4) - digits + 2 * (k % 2));
      if (k % 5 == 0) z = std::ldexp(1.0, std::ilogb(product) + digits - static_cast<int>(random() % 3));
      if (random() % 2) z = -z;
      const auto bits = [&](double v) {
        return instruction.type == DType::f32 ? ir::to_bits(static_cast<float>(v)) : ir::to_bits(v);
      };
      for (std::size_t c = 0; c < 3; ++c) columns[c].push_back(bits(c == 0 ? x : c == 1 ? y : z));
    }
  if (instruction.op == Primitive::ldexp)  // its count is integral
    for (std::uint64_t& count : columns[1])
      count = instruction.type == DType::f32 ? ir::to_bits(std::trunc(ir::from_bits<float>(count)))
                                             : ir::to_bits(std::trunc(ir::from_bits<double>(count)));
  if (instruction.op == Primitive::check) std::fill(columns[0].begin(), columns[0].end(), 0);
  const std::size_t count = columns.empty() ? 100 : columns[0].size();
  for (std::size_t c = 0; c < types.size(); ++c) {
    launch.buffers.push_back({types[c], {}});
    for (std::uint64_t v : columns[c]) append(launch.buffers.back(), v);
  }
  launch.buffers.push_back({instruction.type, std::vector<char>(count * static_cast<std::size_t>(size_of(instruction.type)))});
  launch.sizes = {static_cast<std::int64_t>(count)};
  // These move bits, those of a NaN too.
  launch.exact_nan = instruction.op == Primitive::neg || instruction.op == Primitive::abs ||
                     instruction.op == Primitive::copysign || instruction.op == Primitive::select ||
                     instruction.op == Primitive::bitcast || instruction.op == Primitive::constant;
  return launch;
}

}  // namespace

TEST_CASE("ldexp of a count whose range is known equals the interpreter", "[cpu]") {
  std::mt19937_64 random(11);
  const std::pair<int, int> ranges[] = {{-126, 127},   {-127, 128},   {-150, 129},   {-151, 300}, {-400, 10},  {-1022, 1023},
                                        {-1076, 1025}, {-4000, 4000}, {-5001, 5001}, {3, 200},    {-300, -130}};
  for (const std::string& target : host_targets())
    for (const DType type : {DType::f32, DType::f64}) {
      std::vector<ir::Kernel> kernels;
      for (const auto& [low, high] : ranges)
        for (const bool reversed : {false, true})  // the condition, or the sides of the select
          kernels.push_back(parse(fmt::format(R"(kernel scaled(%b0: {0} read, %b1: {0} read, %b2: {0} write; n) {{
  %0 = constant.{0} {1}
  %1 = constant.{0} {2}
  for parallel %i0 in n step 16 {{
    %2 = load %b0[%i0 * 1]
    %3 = load %b1[%i0 * 1]
    %4 = lt.{0} %{3}
    %5 = select.{0} %4, %{4}
    %6 = lt.{0} %5, %0
    %7 = select.{0} %6, %0, %5
    %8 = round_even.{0} %7
    %9 = ldexp.{0} %2, %8
    store %b2[%i0 * 1], %9
  }}
}}
)",
                                              name(type), low, high, reversed ? "3, %1" : "1, %3", reversed ? "3, %1" : "1, %3")));
      const Compiled compiled = compile(target, kernels);
      for (std::size_t k = 0; k < kernels.size(); ++k) {
        Launch launch{{{type, {}}, {type, {}}, {type, {}}}, {0}, {}, 2};
        const auto add = [&](std::uint64_t x, double count) {
          append(launch.buffers[0], x);
          append(launch.buffers[1], type == DType::f32 ? ir::to_bits(static_cast<float>(count)) : ir::to_bits(count));
          append(launch.buffers[2], 0);
          ++launch.sizes[0];
        };
        const auto [low, high] = ranges[k / 2];
        for (const std::uint64_t x : specials(type)) {
          for (const int around : {low, high, -126, 127, -150, -1022, -1074, 1023, 0})
            for (int step = -2; step <= 2; ++step) add(x, around + step);
          for (const double special : {1e30, -1e30, HUGE_VAL, -HUGE_VAL, std::nan("")}) add(x, special);
        }
        for (int i = 0; i < 4000; ++i) add(random_bits(type, random), static_cast<double>(random() % 2400) - 1200);
        INFO(target << " " << name(type) << " from " << low << " to " << high);
        check_code(kernels[k], compiled.code->entry(k), launch);
      }
    }
}

TEST_CASE("each primitive on each dtype equals the interpreter", "[cpu][sweep]") {
  std::mt19937_64 random(20250101);
  const std::vector<ir::Instruction> instructions = all_instructions();
  REQUIRE(instructions.size() > 200);
  std::vector<Launch> launches;
  for (const ir::Instruction& instruction : instructions) launches.push_back(values_for(instruction, random));
  for (const std::string& target : host_targets())
    for (std::int32_t step : {1, 16, target == "avx512" ? 64 : 4}) {
      std::vector<ir::Kernel> kernels;
      for (const ir::Instruction& instruction : instructions) kernels.push_back(kernel_of(instruction, step));
      const Compiled compiled = compile(target, kernels);
      for (std::size_t k = 0; k < kernels.size(); ++k) {
        const ir::Instruction& i = instructions[k];
        INFO(target << ", step " << step << ": " << info(i.op).name << " " << name(i.type) << " from " << name(i.from)
                    << " payload " << i.payload);
        check_code(kernels[k], compiled.code->entry(k), launches[k]);
      }
    }
}
