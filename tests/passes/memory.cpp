// What a program needs while it runs: the arena's layout, the order of its kernels, what is kept.
#include <algorithm>
#include <random>

#include "passes/arena.h"
#include "tests/catch.h"
#include "tests/passes/run_program.h"

using namespace braze;
using namespace braze::ir;
using namespace braze::test;

namespace {

constexpr std::int64_t line = 64;

struct Tenants {
  IndexTable index;
  std::vector<passes::Tenant> all;
  std::size_t steps;
};

// Lives in `steps` steps, of a multiple of some symbol's lines each.
Tenants random_tenants(std::size_t count, std::size_t steps, std::size_t longest, std::uint32_t symbols, std::mt19937_64& random) {
  Tenants tenants;
  tenants.steps = steps;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t first = random() % steps, last = std::min(steps - 1, first + random() % longest);
    const IndexId symbol = tenants.index.of(Extent::symbol(static_cast<std::uint32_t>(random() % symbols)));
    tenants.all.push_back(
        {tenants.index.mul(tenants.index.number(line * static_cast<std::int64_t>(random() % 4)), symbol), first, last});
  }
  return tenants;
}

std::vector<std::int64_t> evaluated(const IndexTable& index, std::span<const std::int64_t> symbols) {
  std::vector<std::int64_t> values(index.size());
  index.evaluate(symbols, values);
  return values;
}

// The arena's bytes; no two tenants may be in each other's way.
std::int64_t checked(const Tenants& tenants, const passes::ArenaLayout& layout, std::span<const std::int64_t> symbols) {
  const std::vector<std::int64_t> values = evaluated(tenants.index, symbols);
  REQUIRE(layout.offsets.size() == tenants.all.size());
  for (std::size_t a = 0; a < tenants.all.size(); ++a) {
    const std::int64_t low = values[layout.offsets[a]], high = low + values[tenants.all[a].bytes];
    REQUIRE(low % line == 0);
    REQUIRE(low >= 0);
    REQUIRE(high <= values[layout.bytes]);
    for (std::size_t b = 0; b < a; ++b) {
      if (tenants.all[a].last < tenants.all[b].first || tenants.all[b].last < tenants.all[a].first) continue;
      const std::int64_t other = values[layout.offsets[b]];
      REQUIRE((high <= other || other + values[tenants.all[b].bytes] <= low));
    }
  }
  return values[layout.bytes];
}

std::int64_t fullest(const Tenants& tenants, std::span<const std::int64_t> symbols) {
  const std::vector<std::int64_t> values = evaluated(tenants.index, symbols);
  std::int64_t most = 0;
  for (std::size_t step = 0; step < tenants.steps; ++step) {
    std::int64_t live = 0;
    for (const passes::Tenant& tenant : tenants.all)
      if (tenant.first <= step && step <= tenant.last) live += values[tenant.bytes];
    most = std::max(most, live);
  }
  return most;
}

passes::Module planned(const std::string& text, std::vector<std::int64_t> sizes) {
  passes::Options options = cpu_options();
  options.sizes = std::move(sizes);
  passes::Module module;
  module.graph = parse_graph(text);
  return run_pipeline(std::move(module), options);
}

std::int64_t arena_bytes(const passes::Module& module, std::span<const std::int64_t> symbols) {
  return evaluated(module.program.index, symbols)[module.program.arena_bytes];
}

// The step that runs the kernel of this name.
std::size_t step_of(const passes::Module& module, std::string_view name) {
  for (std::size_t i = 0; i < module.program.steps.size(); ++i)
    if (const auto* step = std::get_if<KernelStep>(&module.program.steps[i].action))
      if (module.program.kernels[step->kernel].name == name) return i;
  FAIL("no kernel is called " << name << " in\n" << print(module.program));
  return 0;
}

std::size_t copies(const passes::Module& module) {
  return static_cast<std::size_t>(std::count_if(module.program.steps.begin(), module.program.steps.end(),
                                                [](const Step& step) { return std::holds_alternative<CopyStep>(step.action); }));
}

}  // namespace

TEST_CASE("tenants of the arena that live at once share no byte, for sizes known and others") {
  std::mt19937_64 random(1);
  for (int round = 0; round < 60; ++round) {
    const std::uint32_t symbols = 4;
    Tenants tenants = random_tenants(1 + random() % 60, 40, 1 + random() % 40, symbols, random);
    std::vector<std::int64_t> known;
    for (std::uint32_t s = 0; s < symbols; ++s) known.push_back(static_cast<std::int64_t>(random() % 100));
    const auto values = evaluated(tenants.index, known);
    const auto layout = passes::lay_out(tenants.all, tenants.index, values);
    const std::int64_t bytes = checked(tenants, layout, known);
    CHECK(bytes >= fullest(tenants, known));
    CHECK(static_cast<double>(bytes) <= 1.3 * static_cast<double>(fullest(tenants, known)));
    for (int other = 0; other < 8; ++other) {
      std::vector<std::int64_t> sizes;
      for (std::uint32_t s = 0; s < symbols; ++s) sizes.push_back(static_cast<std::int64_t>(random() % 100));
      checked(tenants, layout, sizes);
    }
    checked(tenants, passes::lay_out(tenants.all, tenants.index, {}), known);
  }
}

TEST_CASE("an arena of some thousand tenants is laid out at once") {
  std::mt19937_64 random(2);
  const std::vector<std::int64_t> known{3, 50};
  for (const std::size_t count : {std::size_t{1000}, std::size_t{20'000}}) {
    Tenants tenants = random_tenants(count, count, 20, 2, random);
    const auto values = evaluated(tenants.index, known);
    const auto layout = passes::lay_out(tenants.all, tenants.index, values);
    if (count > 1000) {
      CHECK(evaluated(tenants.index, known)[layout.bytes] < 64 * 50 * 200);
      continue;
    }
    CHECK(static_cast<double>(checked(tenants, layout, known)) <= 1.3 * static_cast<double>(fullest(tenants, known)));
  }
}

TEST_CASE("small values stand side by side where a large one was, and the program runs at other sizes, too") {
  // The large value dies in a sum; what follows are three of a third of its size.
  const std::string text = R"(braze.ir 1
graph f(%x: f32[n, m], %y: f32[n]) {
  %0 = exp %x : f32[n, m]
  %1 = sum %0 {dims = [0, 1]} : f32[]
  %2 = expand %1 {shape = [n, m]} : f32[n, m]
  %3 = div %0, %2 : f32[n, m]
  %4 = sum %3 {dims = [1]} : f32[n]
  %5 = sum %4 {dims = [0]} : f32[]
  %6 = expand %5 {shape = [n]} : f32[n]
  %7 = mul %4, %6 : f32[n]
  %8 = exp %7 : f32[n]
  %9 = sum %8 {dims = [0]} : f32[]
  %10 = expand %9 {shape = [n]} : f32[n]
  %11 = add %8, %10 : f32[n]
  %12 = add %11, %7 : f32[n]
  return %12
})";
  const auto module = planned(text, {3000, 3});
  const std::int64_t known[] = {3000, 3};
  CHECK(arena_bytes(module, known) <= 3 * 3000 * 4 + 64 * 64);
  for (const std::vector<std::int64_t>& sizes : {std::vector<std::int64_t>{3000, 3}, {17, 900}, {1, 1}, {2000, 0}, {4100, 2}}) {
    const auto arguments = random_arguments(module.graph, {.symbols = {{"n", sizes[0]}, {"m", sizes[1]}}, .seed = 7});
    const auto got = run_program(module.program, module.graph, arguments, sizes);
    const auto other = planned(text, sizes);
    const auto wanted = run_program(other.program, other.graph, arguments, sizes);
    CHECK(std::memcmp(got[0].data.get(), wanted[0].data.get(), static_cast<std::size_t>(4 * sizes[0])) == 0);
  }
}

TEST_CASE("what a store writes over, made of constants, is made when it is needed, and others make it again") {
  const std::string text = R"(braze.ir 1
graph f(%x: f32[n, m]) {
  %0 = constant 0 : f32[]
  %1 = expand %0 {shape = [n, m]} : f32[n, m]
  %2 = maximum %x, %1 : f32[n, m]
  %3 = exp %2 : f32[n, m]
  %4 = sum %3 {dims = [0, 1]} : f32[]
  %5 = expand %4 {shape = [n, m]} : f32[n, m]
  %6 = div %3, %5 : f32[n, m]
  %7 = sum %6 {dims = [0]} : f32[m]
  %8 = sum %7 {dims = [0]} : f32[]
  %9 = expand %8 {shape = [m]} : f32[m]
  %10 = mul %7, %9 : f32[m]
  %11 = store %1, %10 {offset = 0, sizes = [m], strides = [1]} : f32[n, m]
  %12 = cos %11 : f32[n, m]
  %13 = sum %12 {dims = [0, 1]} : f32[]
  return %13
})";
  const auto module = check_graph(text, {.symbols = {{"n", 40}, {"m", 60}}, .tolerance = 1e-5});
  CHECK(copies(module) == 0);
  CHECK(step_of(module, "expand") > step_of(module, "maximum_exp_sum"));
  const std::int64_t sizes[] = {40, 60};
  CHECK(arena_bytes(module, sizes) < 2 * 40 * 60 * 4);
}

TEST_CASE("a weight's gradient is computed as soon as what it reads is there, where it lets more go than it takes") {
  // Three layers; gradients of all weights, the first layer's last.
  std::string text = R"(braze.ir 1
graph f(%x: f32[n, k], %a: f32[k, k], %b: f32[k, k], %c: f32[k, k], %t: f32[n, k]) {
  %0 = dot %x, %a : f32[n, k]
  %1 = tanh %0 : f32[n, k]
  %2 = dot %1, %b : f32[n, k]
  %3 = tanh %2 : f32[n, k]
  %4 = dot %3, %c : f32[n, k]
  %5 = sub %4, %t : f32[n, k]
  %6 = permute %3 {order = [1, 0]} : f32[k, n]
  %7 = permute %c {order = [1, 0]} : f32[k, k]
  %8 = dot %5, %7 : f32[n, k]
  %9 = mul %3, %3 : f32[n, k]
  %10 = mul %8, %9 : f32[n, k]
  %11 = permute %b {order = [1, 0]} : f32[k, k]
  %12 = dot %10, %11 : f32[n, k]
  %13 = mul %1, %1 : f32[n, k]
  %14 = mul %12, %13 : f32[n, k]
  %15 = permute %x {order = [1, 0]} : f32[k, n]
  %16 = dot %15, %14 : f32[k, k]
  %17 = permute %1 {order = [1, 0]} : f32[k, n]
  %18 = dot %17, %10 : f32[k, k]
  %19 = dot %6, %5 : f32[k, k]
  return %16, %18, %19
})";
  const auto module = check_graph(text, {.symbols = {{"n", 200}, {"k", 40}}, .tolerance = 1e-4});
  const std::int64_t sizes[] = {200, 40};
  // Values of n * k: %1, %3, %5, and %8 beside them; %10 goes to the place of one that is gone.
  CHECK(arena_bytes(module, sizes) <= 4 * 200 * 40 * 4 + 1024);
  auto unordered = planned(text, {});
  CHECK(arena_bytes(unordered, sizes) > arena_bytes(module, sizes));
}

TEST_CASE("a value that is read once is made as soon as it and its reader let more go than they take") {
  // %5 takes as much as %1, which %6 lets go; the product %7 is three times as large, and does without both.
  const std::string text = R"(braze.ir 1
graph f(%x: f32[n, k], %a: f32[k, k], %b: f32[k, m]) {
  %0 = dot %x, %a : f32[n, k]
  %1 = tanh %0 : f32[n, k]
  %2 = dot %1, %a : f32[n, k]
  %3 = tanh %2 : f32[n, k]
  %7 = dot %3, %b : f32[n, m]
  %8 = tanh %7 : f32[n, m]
  %9 = sum %8 {dims = [0]} : f32[m]
  %4 = flip %3 {dims = [0, 1]} : f32[n, k]
  %5 = erf %4 : f32[n, k]
  %10 = permute %1 {order = [1, 0]} : f32[k, n]
  %6 = dot %10, %5 : f32[k, k]
  return %9, %6
})";
  const auto module = check_graph(text, {.symbols = {{"n", 200}, {"k", 20}, {"m", 60}}, .tolerance = 1e-3});
  const std::int64_t sizes[] = {200, 20, 60};
  CHECK(arena_bytes(module, sizes) <= 4 * 200 * 20 * 4 + 8192);
}

TEST_CASE("an element beside a sum of columns goes to the place of what it is made of") {
  // Few rows are one phase, many are two; a sum that the element waits for is over before it is stored.
  for (const std::int64_t rows : {3, 70, 200})
    for (const char* const other : {"%1", "%4"}) {
      const std::string text = R"(braze.ir 1
graph f(%x: f32[n, k], %a: f32[k, k], %y: f32[n, k]) {
  %0 = dot %x, %a : f32[n, k]
  %1 = mul %0, %y : f32[n, k]
  %2 = sum %1 {dims = [0]} : f32[k]
  %3 = expand %2 {shape = [n, k]} : f32[n, k]
  %4 = add %1, %3 : f32[n, k]
  %5 = dot )" + std::string(other) +
                               R"(, %a : f32[n, k]
  return %2, %5
})";
      const auto module = check_graph(text, {.symbols = {{"n", rows}, {"k", 40}}, .tolerance = 1e-4});
      const std::int64_t sizes[] = {rows, 40};
      CHECK(arena_bytes(module, sizes) < 2 * rows * 40 * 4 + 8 * 40 * 4);
    }
}

TEST_CASE("an order for memory keeps readers before the update in place, and faults before what changes the caller's memory") {
  const std::string text = R"(braze.ir 1
graph f(m: index, %w: f32[k, k] donated, %x: f32[n, k], %i: i64[n], %lr: f32[] scalar) {
  %0 = dot %x, %w : f32[n, k]
  %1 = tanh %0 : f32[n, k]
  %2 = permute %w {order = [1, 0]} : f32[k, k]
  %3 = dot %1, %2 : f32[n, k]
  %4 = reshape %3 {shape = [m]} : f32[m]
  %5 = wrap_index %i {extent = n} : i64[n]
  %6 = take %4, %5 : f32[n]
  %7 = sum %3 {dims = [0, 1]} : f32[]
  %8 = permute %x {order = [1, 0]} : f32[k, n]
  %9 = dot %8, %1 : f32[k, k]
  %10 = expand %lr {shape = [k, k]} : f32[k, k]
  %11 = mul %9, %10 : f32[k, k]
  %12 = add %w, %11 : f32[k, k]
  return %6, %7, %12
})";
  const auto module = check_graph(text, {.symbols = {{"n", 60}, {"k", 30}, {"m", 1800}}, .tolerance = 1e-4, .integers = true});
  CHECK(copies(module) == 0);
  CHECK(std::any_of(module.program.slots.begin(), module.program.slots.end(),
                    [](const Slot& slot) { return slot.kind == Slot::Kind::in_out; }));
}

TEST_CASE("a rectified value's gradient asks the result, so that what it is made of is not kept") {
  const std::string text = R"(braze.ir 1
graph f(%x: f32[n, k], %w: f32[k, k], %g: f32[n, k]) {
  %0 = dot %x, %w : f32[n, k]
  %1 = constant 0 : f32[]
  %2 = expand %1 {shape = [n, k]} : f32[n, k]
  %3 = maximum %2, %0 : f32[n, k]
  %4 = le %3, %2 : bool[n, k]
  %5 = where %4, %3, %0 : f32[n, k]
  %6 = dot %5, %w : f32[n, k]
  %7 = add %6, %g : f32[n, k]
  %8 = sum %7 {dims = [0, 1]} : f32[]
  %9 = expand %8 {shape = [n, k]} : f32[n, k]
  %10 = where %4, %2, %9 : f32[n, k]
  %11 = dot %10, %w : f32[n, k]
  return %11, %5
})";
  const auto module = check_graph(text, {.symbols = {{"n", 50}, {"k", 30}}, .tolerance = 1e-4});
  for (const passes::Group& group : module.groups) {
    const auto dots = std::count_if(group.outputs.begin(), group.outputs.end(),
                                    [&](const Value& v) { return module.graph.node(v).op == Op::dot; });
    if (group.outputs.size() > 1) CHECK(dots == 0);  // the first dot's value leaves no kernel
  }
}

TEST_CASE("a number that something takes from is put into memory before, whatever the order") {
  const auto module = planned(R"(braze.ir 1
graph f(%x: f32[n], %s: f32[] scalar, %i: i64[], %j: i64[k]) {
  %0 = take %s, %i : f32[]
  %1 = cast %0 : i64[]
  %2 = expand %1 {shape = [k]} : i64[k]
  %3 = remainder %2, %j : i64[k]
  %4 = exp %s : f32[]
  %5 = expand %4 {shape = [k]} : f32[k]
  %6 = put %x, %3, %5 {combine = minimum} : f32[n]
  return %6
})",
                              {4, 0});
  verify(module);  // the groups, in their order
  CHECK(module.groups.size() >= 3);
}
