#include "tests/catch.h"
#include "tests/passes/run_program.h"

using namespace braze;
using namespace braze::test;

TEST_CASE("views become index arithmetic of one kernel") {
  const auto module = check_graph(R"(braze.ir 1
graph f(%x: f32[n, m], %y: f32[m, n], %b: f32[m]) {
  %0 = permute %y {order = [1, 0]} : f32[n, m]
  %1 = add %x, %0 : f32[n, m]
  %2 = expand %b {shape = [n, m]} : f32[n, m]
  %3 = mul %1, %2 : f32[n, m]
  %4 = flip %3 {dims = [1]} : f32[n, m]
  %5 = neg %4 : f32[n, m]
  return %5
})",
                                  {.symbols = {{"n", 37}, {"m", 53}}});
  CHECK(module.program.kernels.size() == 1);
}

TEST_CASE("slices forwards and backwards") {
  check_graph(R"(braze.ir 1
graph f(%x: f32[n, m], a: index, c: index, s: index, k: index) {
  %0 = slice %x {starts = [a, c], sizes = [k, m], steps = [s, -1]} : f32[k, m]
  %1 = exp %0 : f32[k, m]
  return %1
})",
              {.symbols = {{"n", 40}, {"m", 33}, {"a", 3}, {"c", 32}, {"s", 4}, {"k", 9}}});
}

TEST_CASE("reshapes that fit the axes split them; others divide") {
  check_graph(R"(braze.ir 1
graph f(%x: f32[a, b, c], k: index) {
  %0 = permute %x {order = [1, 0, 2]} : f32[b, a, c]
  %1 = reshape %0 {shape = [b, k]} : f32[b, k]
  %2 = exp %1 : f32[b, k]
  return %2
})",
              {.symbols = {{"a", 5}, {"b", 6}, {"c", 7}, {"k", 35}}});
  check_graph(R"(braze.ir 1
graph f(%x: i32[4, 6], %y: i32[3, 8]) {
  %0 = permute %x {order = [1, 0]} : i32[6, 4]
  %1 = reshape %0 {shape = [3, 8]} : i32[3, 8]
  %2 = permute %1 {order = [1, 0]} : i32[8, 3]
  %3 = reshape %2 {shape = [3, 8]} : i32[3, 8]
  %4 = add %3, %y : i32[3, 8]
  return %4
})");
  check_graph(R"(braze.ir 1
graph f(%x: f32[n, m], k: index, l: index) {
  %0 = flip %x {dims = [0, 1]} : f32[n, m]
  %1 = reshape %0 {shape = [k]} : f32[k]
  %2 = slice %1 {starts = [2], sizes = [l], steps = [3]} : f32[l]
  %3 = neg %2 : f32[l]
  return %3
})",
              {.symbols = {{"n", 11}, {"m", 13}, {"k", 143}, {"l", 40}}});
}

TEST_CASE("pad and concat read each part where it is") {
  check_graph(R"(braze.ir 1
graph f(%x: f32[n, m], %y: f32[l, m], %v: f32[] scalar, p: index, q: index, r: index) {
  %0 = exp %x : f32[n, m]
  %1 = concat %0, %y {axis = 0, extent = p} : f32[p, m]
  %2 = pad %1, %v {low = [q, 0], high = [1, 0], sizes = [r, m]} : f32[r, m]
  %3 = mul %2, %2 : f32[r, m]
  %4 = sum %3 {dims = [0]} : f32[m]
  return %3, %4
})",
              {.symbols = {{"n", 5}, {"m", 17}, {"l", 3}, {"p", 8}, {"q", 2}, {"r", 11}}, .tolerance = 1e-6});
  // The part that is not there must not fault.
  check_graph(R"(braze.ir 1
graph f(%x: i32[n], r: index) {
  %0 = constant 0 : i32[]
  %1 = constant 100 : i32[]
  %2 = expand %1 {shape = [n]} : i32[n]
  %3 = floor_divide %2, %x : i32[n]
  %4 = pad %3, %0 {low = [3], high = [4], sizes = [r]} : i32[r]
  return %4
})",
              {.symbols = {{"n", 6}, {"r", 13}}, .positive = true});
}

TEST_CASE("a pad that adds nothing does not read what it would add") {
  const auto module = check_graph(R"(braze.ir 1
graph f(%x: f32[n], %v: f32[], k: index) {
  %0 = pad %x, %v {low = [0], high = [0], sizes = [k]} : f32[k]
  return %0
})",
                                  {.symbols = {{"n", 6}, {"k", 6}}});
  CHECK(module.program.slots.size() == 2);
  // One element of a dot, or the sum of all, as the value.
  check_graph(R"(braze.ir 1
graph f(%x: i32[n, m], %y: i32[1, l], %z: i32[l, 1], k: index) {
  %0 = dot %y, %z : i32[1, 1]
  %1 = reshape %0 {shape = []} : i32[]
  %2 = pad %x, %1 {low = [0, 0], high = [0, 0], sizes = [n, k]} : i32[n, k]
  %3 = sum %x {dims = [0, 1]} : i64[]
  %4 = cast %3 : i32[]
  %5 = pad %2, %4 {low = [0, 0], high = [0, 0], sizes = [n, k]} : i32[n, k]
  %6 = neg %5 : i32[n, k]
  return %6
})",
              {.symbols = {{"n", 6}, {"m", 5}, {"l", 4}, {"k", 5}}});
}

TEST_CASE("results that are parameters, views, constants and scalars") {
  const auto module = check_graph(R"(braze.ir 1
graph f(%x: f32[n, m], %a: f32[] scalar, k: index) {
  %0 = reshape %x {shape = [k]} : f32[k]
  %1 = constant 3 : i64[]
  %2 = permute %x {order = [1, 0]} : f32[m, n]
  %3 = mul %a, %a : f32[]
  %4 = iota {shape = [n]} : i64[n]
  %5 = expand %3 {shape = [m]} : f32[m]
  return %0, %x, %1, %2, %3, %4, %5, %a
})",
                                  {.symbols = {{"n", 5}, {"m", 9}, {"k", 45}}});
  CHECK(module.program.results[0] == module.program.results[1]);
}

TEST_CASE("strided views of memory") {
  check_graph(R"(braze.ir 1
graph f(%s: f32[l], o: index, t: index, n: index, m: index) {
  %0 = view %s {offset = o, sizes = [n, m], strides = [t, 1]} : f32[n, m]
  %1 = view %s {offset = 4, sizes = [n, m], strides = [1, 0]} : f32[n, m]
  %2 = add %0, %1 : f32[n, m]
  %3 = sum %2 {dims = [1]} : f32[n]
  return %2, %3
})",
              {.symbols = {{"l", 300}, {"o", 2}, {"t", 20}, {"n", 13}, {"m", 17}}, .tolerance = 1e-5});
}
