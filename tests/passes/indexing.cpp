// Elements at computed places, products and routines: fused, unfused, in place and copied, against the graph's interpreter.
#include "ir/error.h"
#include "tests/catch.h"
#include "tests/passes/run_program.h"

using namespace braze;
using namespace braze::test;

namespace {

std::size_t copies(const passes::Module& module) {
  return static_cast<std::size_t>(std::count_if(module.program.steps.begin(), module.program.steps.end(), [](const ir::Step& step) {
    return std::holds_alternative<ir::CopyStep>(step.action);
  }));
}

}  // namespace

TEST_CASE("a take fuses with what makes its index and with what reads it, and its storage stays in memory") {
  const auto module = check_graph(R"(braze.ir 1
graph f(%x: f32[n, 7], %i: i64[m, k]) {
  %0 = constant 5 : i64[]
  %1 = expand %0 {shape = [m, k]} : i64[m, k]
  %2 = remainder %i, %1 : i64[m, k]
  %3 = sub %2, %1 : i64[m, k]
  %4 = wrap_index %3 {extent = 7} : i64[m, k]
  %5 = take %x, %4 : f32[m, k]
  %6 = exp %5 : f32[m, k]
  %7 = mul %6, %6 : f32[m, k]
  return %7
}
)",
                                  {.symbols = {{"n", 3}, {"m", 5}, {"k", 37}}});
  CHECK(module.groups.size() == 1);
  CHECK(module.program.kernels.size() == 1);
}

TEST_CASE("a take of what the graph computes reads memory; several takes share one kernel") {
  const auto module = check_graph(R"(braze.ir 1
graph f(%x: f16[n], %i: i64[m]) {
  %0 = constant 3 : i64[]
  %1 = expand %0 {shape = [m]} : i64[m]
  %2 = remainder %i, %1 : i64[m]
  %3 = neg %x : f16[n]
  %4 = take %3, %2 : f16[m]
  %5 = take %x, %2 : f16[m]
  %6 = add %4, %5 : f16[m]
  %7 = flip %6 {dims = [0]} : f16[m]
  return %7, %6
}
)",
                                  {.symbols = {{"n", 9}, {"m", 100}}});
  CHECK(module.groups.size() >= 2);
}

TEST_CASE("a take inside rows that are reduced, and of rows, and by a broadcast index") {
  check_graph(R"(braze.ir 1
graph f(%x: f32[n, m], %i: i64[n, m], %j: i64[m]) {
  %0 = constant 11 : i64[]
  %1 = expand %0 {shape = [n, m]} : i64[n, m]
  %2 = remainder %i, %1 : i64[n, m]
  %3 = take %x, %2 : f32[n, m]
  %4 = max %3 {dims = [1]} : f32[n]
  %5 = reshape %4 {shape = [n, 1]} : f32[n, 1]
  %6 = expand %5 {shape = [n, m]} : f32[n, m]
  %7 = sub %3, %6 : f32[n, m]
  %8 = expand %j {shape = [n, m]} : i64[n, m]
  %9 = remainder %8, %1 : i64[n, m]
  %10 = take %7, %9 : f32[n, m]
  %11 = sum %10 {dims = [0]} : f32[m]
  return %7, %11
}
)",
              {.symbols = {{"n", 7}, {"m", 65}}, .tolerance = 1e-5});
}

TEST_CASE("an index outside is a fault, guards or not") {
  for (const char* body :
       {"  %0 = take %x, %i : f32[m]\n  return %0\n", "  %0 = wrap_index %i {extent = 1} : i64[m]\n  return %0\n",
        "  %0 = exp %x : f32[n]\n  %1 = take %x, %i : f32[m]\n  %2 = put %0, %i, %1 {combine = assign} : f32[n]\n  return %2\n"})
    CHECK_THROWS_AS(check_graph("braze.ir 1\ngraph f(%x: f32[n], %i: i64[m]) {\n" + std::string(body) + "}\n",
                                {.symbols = {{"n", 2}, {"m", 70}}}),
                    IndexError);
}

TEST_CASE("put combines in index order, every way and dtype, in place where the storage dies") {
  for (const char* combine : {"assign", "add", "multiply", "maximum", "minimum"})
    for (const DType type : all_dtypes) {
      const std::string t(name(type));
      check_graph(fmt::format(R"(braze.ir 1
graph f(%x: {0}[n, 3], %i: i64[m], %v: {0}[m]) {{
  %0 = constant 7 : i64[]
  %1 = expand %0 {{shape = [m]}} : i64[m]
  %2 = remainder %i, %1 : i64[m]
  %3 = put %x, %2, %v {{combine = {1}}} : {0}[n, 3]
  return %3
}}
)",
                              t, combine),
                  {.symbols = {{"n", 4}, {"m", 50}}});
    }
  const auto fresh = check_graph(R"(braze.ir 1
graph f(%x: f32[n], %i: i64[m], %v: f32[m]) {
  %0 = constant 7 : i64[]
  %1 = expand %0 {shape = [m]} : i64[m]
  %2 = remainder %i, %1 : i64[m]
  %3 = exp %x : f32[n]
  %4 = put %3, %2, %v {combine = add} : f32[n]
  return %4
}
)",
                                 {.symbols = {{"n", 20}, {"m", 50}}});
  CHECK(copies(fresh) == 0);
  const auto donated = check_graph(R"(braze.ir 1
graph f(%x: f32[n] donated, %i: i64[m], %v: f32[m]) {
  %0 = put %x, %i, %v {combine = add} : f32[n]
  return %0
}
)",
                                   {.symbols = {{"n", 20}, {"m", 0}}});
  CHECK(copies(donated) == 0);
  CHECK(donated.program.kernels.size() == 2);  // the places are checked before the caller's memory changes
  const auto read_later = check_graph(R"(braze.ir 1
graph f(%x: f32[n], %i: i64[m], %v: f32[m]) {
  %0 = exp %x : f32[n]
  %1 = constant 7 : i64[]
  %2 = expand %1 {shape = [m]} : i64[m]
  %3 = remainder %i, %2 : i64[m]
  %4 = put %0, %3, %v {combine = assign} : f32[n]
  return %4, %0
}
)",
                                      {.symbols = {{"n", 20}, {"m", 50}}});
  CHECK(copies(read_later) == 1);
}

TEST_CASE("products: rows, columns, all, several axes apart") {
  for (const char* dims : {"[1]", "[0]", "[0, 1, 2]", "[0, 2]", "[2]"})
    for (const char* type : {"f32", "f64", "i32", "bool"}) {
      const std::string_view d = dims;
      const std::string shape = d == "[1]"      ? "[n, 3]"
                                : d == "[0]"    ? "[m, 3]"
                                : d == "[0, 2]" ? "[m]"
                                : d == "[2]"    ? "[n, m]"
                                                : "[]";
      const std::string result = std::string(type) == "i32" || std::string(type) == "bool" ? "i64" : type;
      check_graph(fmt::format("braze.ir 1\ngraph f(%x: {}[n, m, 3]) {{\n  %0 = prod %x {{dims = {}}} : {}{}\n  return %0\n}}\n",
                              type, dims, result, shape),
                  {.symbols = {{"n", 5}, {"m", 4}}, .tolerance = 1e-4, .positive = true});
    }
}

TEST_CASE("routines are calls between kernels; views, scalars and results that nobody reads are no trouble") {
  const auto module = check_graph(R"(braze.ir 1
graph f(%x: f32[n, m], %s: f32[] scalar, k: index) {
  %0 = permute %x {order = [1, 0]} : f32[m, n]
  %1 = cumsum %0 {axis = 1} : f32[m, n]
  %2:2 = sort %1 {axis = 0, descending = true} : f32[m, n], i64[m, n]
  %3 = reshape %2#0 {shape = [k]} : f32[k]
  %4 = expand %s {shape = [k]} : f32[k]
  %5 = mul %3, %4 : f32[k]
  %6:2 = cummin %5 {axis = 0} : f32[k], i64[k]
  %7 = neg %6#1 : i64[k]
  return %7, %5
}
)",
                                  {.symbols = {{"n", 9}, {"m", 13}, {"k", 117}}});
  std::size_t calls = 0, unread = 0;
  for (const ir::Step& step : module.program.steps)
    if (const auto* call = std::get_if<ir::CallStep>(&step.action)) {
      ++calls;
      for (const auto& array : call->out) unread += array.kind == ir::CallStep::Array::Kind::unread;
    }
  CHECK(calls == 3);
  CHECK(unread == 2);
}
