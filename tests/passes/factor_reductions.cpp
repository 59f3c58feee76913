// Reductions of a dot's factor over k, beside the dot.
#include <fmt/format.h>

#include <algorithm>

#include "tests/catch.h"
#include "tests/passes/run_program.h"

using namespace braze;
using namespace braze::test;

namespace {

// The dot of %a and %b, which lie as the letters say (mk or km, kn or nk), and a reduction of one of them.
std::string text_of(const std::string& left, const std::string& right, DType type, bool of_left, const std::string& op) {
  const auto spaced = [](const std::string& axes) { return fmt::format("{}, {}", axes[0], axes[1]); };
  const std::string dtype(name(type)), of = of_left ? left : right;
  const bool first = of[0] == 'k';
  const std::string kept = of_left ? "m" : "n";
  const std::string reduced = op.starts_with("arg") ? "i64" : op == "sum" && !is_float(type) ? "i64" : dtype;
  std::string text = fmt::format("braze.ir 1\ngraph f(%a: {}[{}], %b: {}[{}], %c: {}[{}]) {{\n", dtype, spaced(left), dtype,
                                 spaced(right), reduced, kept);
  text += left == "mk" ? "  %0 = reshape %a {shape = [m, k]}" : "  %0 = permute %a {order = [1, 0]}";
  text += fmt::format(" : {}[m, k]\n", dtype);
  text += right == "kn" ? "  %1 = reshape %b {shape = [k, n]}" : "  %1 = permute %b {order = [1, 0]}";
  text += fmt::format(" : {}[k, n]\n  %2 = dot %0, %1 : {}[m, n]\n", dtype, dtype);
  text += fmt::format("  %3 = {} %{} {{dims = [{}]}} : {}[{}]\n", op, of_left ? "a" : "b", first ? 0 : 1, reduced, kept);
  return text + fmt::format("  %4 = add %c, %3 : {}[{}]\n  return %2, %3, %4\n}}", reduced, kept);
}

std::size_t steps_of(const passes::Module& module) { return module.program.steps.size(); }

}  // namespace

TEST_CASE("a reduction of a dot's factor over k joins the dot, however the factors lie, at awkward sizes") {
  struct Sizes {
    std::int64_t m, n, k;
  };
  for (const std::string left : {"mk", "km"})
    for (const std::string right : {"kn", "nk"})
      for (const bool of_left : {true, false})
        for (const auto [m, n, k] : {Sizes{1, 1, 1}, Sizes{5, 3, 0}, Sizes{70, 33, 31}, Sizes{3, 300, 65}, Sizes{260, 40, 700},
                                     Sizes{0, 7, 5}, Sizes{9, 0, 40}, Sizes{33, 34, 4200}}) {
          INFO(left << " " << right << (of_left ? " left " : " right ") << m << " " << n << " " << k);
          const auto module = check_graph(text_of(left, right, DType::f32, of_left, "sum"),
                                          {.symbols = {{"m", m}, {"n", n}, {"k", k}}, .tolerance = 1e-4});
          CHECK(steps_of(module) == 1);
        }
}

TEST_CASE("reductions of every op and dtype beside a dot") {
  for (const std::string op : {"sum", "max", "min", "argmax"})
    for (const DType type : all_dtypes) {
      if (type == DType::boolean) continue;
      for (const bool outer : {true, false}) {
        INFO(op << " " << name(type) << (outer ? " outer" : " inner"));
        const auto module =
            check_graph(text_of(outer ? "km" : "mk", "kn", type, true, op), {.symbols = {{"m", 67}, {"n", 20}, {"k", 70}},
                                                                             .tolerance = is_half(type)    ? 2e-2
                                                                                          : is_float(type) ? 1e-4
                                                                                                           : 0,
                                                                             .integers = !is_float(type)});
        CHECK(steps_of(module) == 1);
      }
    }
}

TEST_CASE("the gradients of a layer and their updates are one kernel, over a batch of rows in two axes too") {
  const auto module = check_graph(R"(braze.ir 1
graph f(r: index, %g: f32[b, t, n], %x: f32[b, t, m], %w: f32[n, m] donated, %c: f32[n] donated, %v: f32[n] donated, %lr: f32[] scalar) {
  %0 = reshape %g {shape = [r, n]} : f32[r, n]
  %1 = permute %0 {order = [1, 0]} : f32[n, r]
  %2 = reshape %x {shape = [r, m]} : f32[r, m]
  %3 = dot %1, %2 : f32[n, m]
  %4 = expand %lr {shape = [n, m]} : f32[n, m]
  %5 = mul %3, %4 : f32[n, m]
  %6 = sub %w, %5 : f32[n, m]
  %7 = sum %g {dims = [0, 1]} : f32[n]
  %8 = expand %lr {shape = [n]} : f32[n]
  %9 = mul %v, %8 : f32[n]
  %10 = add %9, %7 : f32[n]
  %11 = sub %c, %10 : f32[n]
  return %6, %10, %11
})",
                                  {.symbols = {{"b", 5}, {"t", 13}, {"r", 65}, {"n", 300}, {"m", 70}}, .tolerance = 1e-4});
  CHECK(steps_of(module) == 1);
  const auto flat = check_graph(R"(braze.ir 1
graph f(%g: f32[r, n], %x: f32[r, m], %w: f32[n, m] donated, %c: f32[n] donated, %v: f32[n] donated, %lr: f32[] scalar) {
  %1 = permute %g {order = [1, 0]} : f32[n, r]
  %3 = dot %1, %x : f32[n, m]
  %4 = expand %lr {shape = [n, m]} : f32[n, m]
  %5 = mul %3, %4 : f32[n, m]
  %6 = sub %w, %5 : f32[n, m]
  %7 = sum %g {dims = [0]} : f32[n]
  %8 = expand %lr {shape = [n]} : f32[n]
  %9 = mul %v, %8 : f32[n]
  %10 = add %9, %7 : f32[n]
  %11 = sub %c, %10 : f32[n]
  return %6, %9, %10, %11
})",
                                {.symbols = {{"r", 65}, {"n", 300}, {"m", 70}}, .tolerance = 1e-4});
  CHECK(steps_of(flat) == 1);
  // Three of the four results take the place of what they are made of.
  CHECK(std::ranges::count_if(flat.program.results,
                              [&](std::uint32_t slot) { return flat.program.slots[slot].kind == ir::Slot::Kind::in_out; }) == 3);
}

TEST_CASE("one of each factor, several of one, and the dot's own epilogue") {
  const auto module = check_graph(R"(braze.ir 1
graph f(%a: f32[k, m], %b: f32[k, n]) {
  %0 = permute %a {order = [1, 0]} : f32[m, k]
  %1 = dot %0, %b : f32[m, n]
  %2 = tanh %1 : f32[m, n]
  %3 = sum %a {dims = [0]} : f32[m]
  %4 = max %a {dims = [0]} : f32[m]
  %5 = sub %4, %3 : f32[m]
  %6:2 = max_with_index %b {dims = [0]} : f32[n], i64[n]
  return %2, %5, %6#0, %6#1
})",
                                  {.symbols = {{"m", 90}, {"n", 75}, {"k", 33}}, .tolerance = 1e-4});
  CHECK(steps_of(module) == 1);
}

TEST_CASE("what is no reduction of a factor over k stays apart") {
  const Check sizes{.symbols = {{"m", 20}, {"n", 20}, {"k", 20}}, .tolerance = 1e-4};
  const auto kernels = [&](const std::string& reduction) {
    return steps_of(
        check_graph("braze.ir 1\ngraph f(%a: f32[m, k], %b: f32[k, n], %c: f32[m], %d: f32[n]) {\n"
                    "  %0 = dot %a, %b : f32[m, n]\n" +
                        reduction,
                    sizes));
  };
  CHECK(kernels("  %1 = sum %a {dims = [1]} : f32[m]\n  return %0, %1\n}") == 1);
  CHECK(kernels("  %1 = sum %a {dims = [0]} : f32[k]\n  return %0, %1\n}") == 2);    // over m
  CHECK(kernels("  %1 = sum %b {dims = [1]} : f32[k]\n  return %0, %1\n}") == 2);    // over n
  CHECK(kernels("  %1 = sum %a {dims = [0, 1]} : f32[]\n  return %0, %1\n}") == 2);  // over both
  CHECK(kernels("  %1 = neg %a : f32[m, k]\n  %2 = sum %1 {dims = [1]} : f32[m]\n  return %0, %2\n}") == 2);
  // Of the dot itself, or read by it.
  CHECK(kernels("  %1 = sum %0 {dims = [1]} : f32[m]\n  return %0, %1\n}") == 2);
  CHECK(kernels("  %1 = sum %a {dims = [1]} : f32[m]\n  %2 = reshape %1 {shape = [m, 1]} : f32[m, 1]\n"
                "  %3 = expand %2 {shape = [m, n]} : f32[m, n]\n  %4 = add %0, %3 : f32[m, n]\n  return %4\n}") == 2);
}

TEST_CASE("a dot reads an operand that the reduction's update replaces: they stay apart, and the update is in place") {
  const auto module = check_graph(R"(braze.ir 1
graph f(%a: f32[k, m], %b: f32[k, n], %c: f32[m] donated) {
  %0 = permute %a {order = [1, 0]} : f32[m, k]
  %1 = dot %0, %b : f32[m, n]
  %2 = reshape %c {shape = [m, 1]} : f32[m, 1]
  %3 = expand %2 {shape = [m, n]} : f32[m, n]
  %4 = add %1, %3 : f32[m, n]
  %5 = sum %a {dims = [0]} : f32[m]
  %6 = add %c, %5 : f32[m]
  return %4, %6
})",
                                  {.symbols = {{"m", 40}, {"n", 50}, {"k", 60}}, .tolerance = 1e-4});
  CHECK(steps_of(module) == 2);
  CHECK(module.program.slots[module.program.results[1]].kind == ir::Slot::Kind::in_out);
}
