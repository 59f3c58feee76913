#include <algorithm>

#include "tests/catch.h"
#include "tests/passes/run_program.h"

using namespace braze;
using namespace braze::test;

namespace {

std::size_t copies(const passes::Module& module) {
  std::size_t count = 0;
  for (const ir::Step& step : module.program.steps) count += std::holds_alternative<ir::CopyStep>(step.action);
  return count;
}

}  // namespace

TEST_CASE("a store to donated memory goes in place where its reads are at the places written") {
  const auto same = check_graph(R"(braze.ir 1
graph f(%s: f32[l] donated, n: index) {
  %0 = view %s {offset = 1, sizes = [n], strides = [2]} : f32[n]
  %1 = exp %0 : f32[n]
  %2 = store %s, %1 {offset = 1, sizes = [n], strides = [2]} : f32[l]
  return %2
})",
                                {.symbols = {{"l", 100}, {"n", 40}}});
  CHECK(copies(same) == 0);
  CHECK(same.program.slots.size() == 1);
  const auto shifted = check_graph(R"(braze.ir 1
graph f(%s: f32[l] donated, n: index) {
  %0 = view %s {offset = 0, sizes = [n], strides = [1]} : f32[n]
  %1 = neg %0 : f32[n]
  %2 = store %s, %1 {offset = 1, sizes = [n], strides = [1]} : f32[l]
  return %2
})",
                                   {.symbols = {{"l", 100}, {"n", 99}}});
  CHECK(copies(shifted) == 1);
}

TEST_CASE("a store copies what somebody else still reads") {
  const std::string text = R"(braze.ir 1
graph f(%s: f32[l], %v: f32[n]) {
  %0 = store %s, %v {offset = 3, sizes = [n], strides = [1]} : f32[l]
  %1 = sum %s {dims = [0]} : f32[]
  %2 = exp %0 : f32[l]
  return %0, %1, %2
})";
  CHECK(copies(check_graph(text, {.symbols = {{"l", 50}, {"n", 20}}, .tolerance = 1e-5})) == 1);
}

TEST_CASE("readers of the old version run before a store in place") {
  const auto module = check_graph(R"(braze.ir 1
graph f(%s: f32[l] donated, %v: f32[n]) {
  %0 = exp %v : f32[n]
  %1 = store %s, %0 {offset = 3, sizes = [n], strides = [1]} : f32[l]
  %2 = flip %s {dims = [0]} : f32[l]
  %3 = neg %2 : f32[l]
  return %1, %3
})",
                                  {.symbols = {{"l", 50}, {"n", 20}}});
  CHECK(copies(module) == 0);
}

TEST_CASE("stores into fresh memory and a chain of stores") {
  const auto module = check_graph(R"(braze.ir 1
graph f(%v: f32[n], %w: f32[n], l: index) {
  %0 = constant 0 : f32[]
  %1 = expand %0 {shape = [l]} : f32[l]
  %2 = store %1, %v {offset = 0, sizes = [n], strides = [1]} : f32[l]
  %3 = store %2, %w {offset = 9, sizes = [n], strides = [2]} : f32[l]
  return %3
})",
                                  {.symbols = {{"l", 50}, {"n", 20}}});
  CHECK(copies(module) == 0);
}

TEST_CASE("a value is stored into itself") {
  const auto module = check_graph(R"(braze.ir 1
graph f(%x: f32[n, m]) {
  %0 = sub %x, %x : f32[n, m]
  %1 = store %0, %0 {offset = 0, sizes = [n, m], strides = [m, 1]} : f32[n, m]
  %2 = exp %0 : f32[n, m]
  %3 = store %2, %2 {offset = 0, sizes = [n, m], strides = [m, 1]} : f32[n, m]
  return %1, %3
})",
                                  {.symbols = {{"n", 70}, {"m", 9}}});
  CHECK(copies(module) == 0);
  // Reversed, it is read at other places than it is written.
  const auto reversed = check_graph(R"(braze.ir 1
graph f(%x: i32[176]) {
  %0 = cast %x : f16[176]
  %1 = store %0, %0 {offset = 175, sizes = [176], strides = [-1]} : f16[176]
  return %1
})");
  CHECK(copies(reversed) == 1);
}

TEST_CASE("what is stored is computed from what it is stored into, a cheap value or a dear one") {
  for (const std::string op : {"neg", "exp", "cos"})
    check_graph("braze.ir 1\ngraph f(%x: f32[n], %y: f32[n]) {\n  %0 = " + op + R"( %x : f32[n]
  %1 = add %0, %y : f32[n]
  %2 = store %0, %1 {offset = 0, sizes = [n], strides = [1]} : f32[n]
  %3 = mul %0, %2 : f32[n]
  return %3
})",
                {.symbols = {{"n", 100}}});
}

TEST_CASE("accumulate repeats in index order") {
  for (const std::string type : {"f32", "f16", "i64", "bool"}) {
    std::string text = R"(braze.ir 1
graph f(%s: T[l], %v: T[n, m]) {
  %0 = accumulate %s, %v {offset = 2, sizes = [n, m], strides = [1, 2]} : T[l]
  return %0
})";
    for (std::size_t at; (at = text.find("T[")) != std::string::npos;) text.replace(at, 1, type);
    check_graph(text, {.symbols = {{"l", 50}, {"n", 9}, {"m", 11}}});
  }
}

TEST_CASE("what overlaps in accumulate's outer axes is added in index order, what is apart by whoever comes") {
  struct Strides {
    std::int64_t outer, middle;
  };
  for (const auto [outer, middle] : {Strides{90, 43}, {5, 43}, {43, 90}, {90, 7}, {0, 43}, {90, 0}})
    check_graph(R"(braze.ir 1
graph f(%s: f32[l], %v: f32[a, b, k, m], p: index, q: index) {
  %0 = exp %v : f32[a, b, k, m]
  %1 = accumulate %s, %0 {offset = 2, sizes = [a, b, k, m], strides = [p, q, 2, 1]} : f32[l]
  return %1
})",
                {.symbols = {{"l", 400}, {"a", 3}, {"b", 2}, {"k", 3}, {"m", 37}, {"p", outer}, {"q", middle}}});
  check_graph(R"(braze.ir 1
graph f(%s: f32[l], %v: f32[a, b, m], p: index) {
  %0 = accumulate %s, %v {offset = 0, sizes = [a, b, m], strides = [p, 1, 1]} : f32[l]
  return %0
})",
              {.symbols = {{"l", 400}, {"a", 0}, {"b", 4}, {"m", 37}, {"p", 60}}});
}

TEST_CASE("an in-place store waits for every step that can fault") {
  const auto module = check_graph(R"(braze.ir 1
graph f(%s: f32[n] donated, %a: i32[n], %b: i32[n]) {
  %0 = neg %s : f32[n]
  %1 = store %s, %0 {offset = 0, sizes = [n], strides = [1]} : f32[n]
  %2 = floor_divide %a, %b : i32[n]
  %3 = sum %2 {dims = [0]} : i64[]
  return %1, %3
})",
                                  {.symbols = {{"n", 40}}, .positive = true});
  std::size_t last_fault = 0, first_in_place = module.program.steps.size();
  for (std::size_t i = 0; i < module.program.steps.size(); ++i) {
    const auto* step = std::get_if<ir::KernelStep>(&module.program.steps[i].action);
    if (!step) continue;
    const ir::Kernel& kernel = module.program.kernels[step->kernel];
    if (ir::print(kernel).find("check") != std::string::npos) last_fault = i;
    for (std::size_t b = 0; b < step->buffers.size(); ++b)
      if (kernel.buffers[b].writes && module.program.slots[step->buffers[b]].kind == ir::Slot::Kind::in_out)
        first_in_place = std::min(first_in_place, i);
  }
  CHECK(last_fault < first_in_place);
}

TEST_CASE("temporaries share the arena, and a dying one takes the next value") {
  std::string text = "braze.ir 1\ngraph f(%x: f32[n, n]) {\n  %0 = exp %x : f32[n, n]\n";
  // Each sum needs the whole of what is before it, so that no two kernels are one.
  for (int i = 0; i < 6; ++i)
    text += "  %s" + std::to_string(i) + " = sum %" + std::to_string(i) + " {dims = [0, 1]} : f32[]\n  %e" + std::to_string(i) +
            " = expand %s" + std::to_string(i) + " {shape = [n, n]} : f32[n, n]\n  %" + std::to_string(i + 1) + " = div %" +
            std::to_string(i) + ", %e" + std::to_string(i) + " : f32[n, n]\n";
  text += "  return %6\n}";
  const auto module = check_graph(text, {.symbols = {{"n", 64}}, .tolerance = 1e-4, .positive = true});
  std::vector<std::int64_t> values(module.program.index.size());
  const std::int64_t n[] = {64};
  module.program.index.evaluate(n, values);
  CHECK(values[module.program.arena_bytes] <= 2 * 64 * 64 * 4 + 4096);
}

namespace {

bool overwrites(const passes::Module& module, int input) {
  return std::any_of(module.program.slots.begin(), module.program.slots.end(), [&](const ir::Slot& slot) {
    return slot.kind == ir::Slot::Kind::in_out && static_cast<int>(slot.input) == input;
  });
}

}  // namespace

TEST_CASE("what follows a product or a reduction takes the place of an operand that only it reads") {
  const Check check{.symbols = {{"n", 37}, {"k", 50}, {"m", 70}}, .tolerance = 1e-5};
  const auto update = check_graph(R"(braze.ir 1
graph f(%w: f32[n, k] donated, %b: f32[n] donated, %x: f32[m, k], %g: f32[m, n], %lr: f32[] scalar) {
  %0 = permute %g {order = [1, 0]} : f32[n, m]
  %1 = dot %0, %x : f32[n, k]
  %2 = expand %lr {shape = [n, k]} : f32[n, k]
  %3 = mul %1, %2 : f32[n, k]
  %4 = add %w, %3 : f32[n, k]
  %5 = sum %g {dims = [0]} : f32[n]
  %6 = expand %lr {shape = [n]} : f32[n]
  %7 = mul %5, %6 : f32[n]
  %8 = add %b, %7 : f32[n]
  return %4, %8
})",
                                  check);
  CHECK(overwrites(update, 0));
  CHECK(overwrites(update, 1));
  // A factor is read until the product is there; what is reduced, until the last of its rows is.
  const auto factor = check_graph(R"(braze.ir 1
graph f(%w: f32[n, n] donated, %x: f32[n, m] donated) {
  %0 = dot %w, %w : f32[n, n]
  %1 = add %0, %w : f32[n, n]
  %2 = sum %x {dims = [1]} : f32[n]
  %3 = reshape %2 {shape = [n, 1]} : f32[n, 1]
  %4 = expand %3 {shape = [n, m]} : f32[n, m]
  %5 = add %x, %4 : f32[n, m]
  return %1, %5
})",
                                  check);
  CHECK(!overwrites(factor, 0));
  CHECK(!overwrites(factor, 1));
}
