#include <cmath>
#include <cstring>
#include <limits>

#include "ir/error.h"
#include "ir/graph.h"
#include "tests/catch.h"

using namespace braze;
using namespace braze::ir;

namespace {

template <class T>
HostArray array(DType dtype, std::vector<std::int64_t> sizes, const std::vector<T>& values) {
  HostArray a = make_host_array(dtype, std::move(sizes));
  REQUIRE(a.elements() == static_cast<std::int64_t>(values.size()));
  REQUIRE(sizeof(T) == static_cast<std::size_t>(size_of(dtype)));
  if (!values.empty()) std::memcpy(a.data.get(), values.data(), values.size() * sizeof(T));
  return a;
}
HostArray floats(std::vector<std::int64_t> sizes, const std::vector<float>& values) {
  return array(DType::f32, std::move(sizes), values);
}

template <class T>
std::vector<T> values(const HostArray& a) {
  REQUIRE(sizeof(T) == static_cast<std::size_t>(size_of(a.dtype)));
  std::vector<T> out(static_cast<std::size_t>(a.elements()));
  if (!out.empty()) std::memcpy(out.data(), a.data.get(), out.size() * sizeof(T));
  return out;
}

// Runs a graph given by the statements of its body and what it returns.
std::vector<HostArray> run(const std::string& parameters, const std::string& body, std::vector<HostArray> arguments,
                           std::vector<std::int64_t> symbols = {}) {
  const Graph graph = parse_graph("braze.ir 1\ngraph t(" + parameters + ") {\n" + body + "}\n");
  return interpret(graph, arguments, symbols);
}

std::vector<float> counted(int n, int from = 0) {
  std::vector<float> v;
  for (int i = 0; i < n; ++i) v.push_back(static_cast<float>(from + i));
  return v;
}

using F = std::vector<float>;
using I = std::vector<std::int64_t>;

}  // namespace

TEST_CASE("moves put elements where numpy puts them") {
  const HostArray x = floats({2, 3}, counted(6));
  const auto one = [&](const std::string& body) { return values<float>(run("%x: f32[2, 3]", body + "\nreturn %0\n", {x})[0]); };
  CHECK(one("%0 = permute %x {order = [1, 0]} : f32[3, 2]") == F{0, 3, 1, 4, 2, 5});
  CHECK(one("%0 = reshape %x {shape = [3, 2]} : f32[3, 2]") == F{0, 1, 2, 3, 4, 5});
  CHECK(one("%0 = flip %x {dims = [1]} : f32[2, 3]") == F{2, 1, 0, 5, 4, 3});
  CHECK(one("%0 = flip %x {dims = [0, 1]} : f32[2, 3]") == F{5, 4, 3, 2, 1, 0});
  CHECK(one("%0 = slice %x {starts = [1, 2], sizes = [2, 2], steps = [-1, -2]} : f32[2, 2]") == F{5, 3, 2, 0});
  CHECK(one("%0 = expand %x {shape = [2, 2, 3]} : f32[2, 2, 3]") == F{0, 1, 2, 3, 4, 5, 0, 1, 2, 3, 4, 5});
  CHECK(one("%1 = reshape %x {shape = [6, 1]} : f32[6, 1] %0 = expand %1 {shape = [6, 2]} : f32[6, 2]") ==
        F{0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5});
  CHECK(one("%0 = concat %x, %x {axis = 1, extent = 6} : f32[2, 6]") == F{0, 1, 2, 0, 1, 2, 3, 4, 5, 3, 4, 5});
  CHECK(one("%1 = constant 9 : f32[] %0 = pad %x, %1 {low = [0, 1], high = [1, 0], sizes = [3, 4]} : f32[3, 4]") ==
        F{9, 0, 1, 2, 9, 3, 4, 5, 9, 9, 9, 9});
  CHECK(one("%0 = view %x {offset = 5, sizes = [2, 2, 2], strides = [-3, -1, 0]} : f32[2, 2, 2]") == F{5, 5, 4, 4, 2, 2, 1, 1});
  CHECK(one("%1 = constant 7 : f32[] %2 = expand %1 {shape = [2]} : f32[2] "
            "%0 = store %x, %2 {offset = 1, sizes = [2], strides = [3]} : f32[2, 3]") == F{0, 7, 2, 3, 7, 5});
  CHECK(one("%1 = constant 7 : f32[] %2 = expand %1 {shape = [3]} : f32[3] "
            "%0 = accumulate %x, %2 {offset = 2, sizes = [3], strides = [0]} : f32[2, 3]") == F{0, 1, 23, 3, 4, 5});
  CHECK(values<float>(x) == counted(6));  // arguments are left alone
}

TEST_CASE("elementwise ops, casts and iota") {
  const HostArray x = floats({4}, {-1.5f, 0.f, 2.5f, 300.f});
  const auto results = run("%x: f32[n]", R"(
    %0 = iota {shape = [n]} : i64[n]
    %1 = cast %x : u8[n]
    %2 = cast %x : bool[n]
    %3 = neg %x : f32[n]
    %4 = where %2, %x, %3 : f32[n]
    %5 = round %x : f32[n]
    return %0, %1, %2, %4, %5
)",
                           {x}, {4});
  CHECK(values<std::int64_t>(results[0]) == I{0, 1, 2, 3});
  CHECK(values<std::uint8_t>(results[1]) == std::vector<std::uint8_t>{255, 0, 2, 44});
  CHECK(values<std::uint8_t>(results[2]) == std::vector<std::uint8_t>{1, 0, 1, 1});
  CHECK(std::signbit(values<float>(results[3])[1]));
  CHECK(values<float>(results[4]) == F{-2, 0, 2, 300});
}

TEST_CASE("reductions: wide sums, first extremes, NaN, empty ones") {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const HostArray x = floats({2, 4}, {1, 3, 3, 2, nan, 5, nan, 9});
  auto results = run("%x: f32[2, 4]", R"(
    %0:2 = max_with_index %x {dims = [1]} : f32[2], i64[2]
    %1 = argmin %x {dims = [1]} : i64[2]
    %2 = min %x {dims = [0]} : f32[4]
    %3 = sum %x {dims = [0, 1]} : f32[]
    return %0#0, %0#1, %1, %2, %3
)",
                     {x});
  CHECK(values<float>(results[0])[0] == 3);
  CHECK(std::isnan(values<float>(results[0])[1]));
  CHECK(values<std::int64_t>(results[1]) == I{1, 0});
  CHECK(values<std::int64_t>(results[2]) == I{0, 0});
  CHECK(std::isnan(values<float>(results[3])[0]));
  CHECK(values<float>(results[3])[1] == 3);
  CHECK(std::isnan(values<float>(results[4])[0]));

  // 2^24 + 1 + 1: lost in f32, kept in a wide sum.
  CHECK(values<float>(run("%x: f32[3]", "%0 = sum %x {dims = [0]} : f32[]\nreturn %0\n", {floats({3}, {0x1p24f, 1, 1})})[0]) ==
        F{0x1p24f + 2});
  // Bytes are summed in 64 bits, and wrap there alone.
  const HostArray bytes = array<std::uint8_t>(DType::u8, {3}, {200, 200, 200});
  CHECK(values<std::int64_t>(run("%x: u8[3]", "%0 = sum %x {dims = [0]} : i64[]\nreturn %0\n", {bytes})[0]) == I{600});

  results = run("%x: f32[0, 2]", R"(
    %0 = sum %x {dims = [0]} : f32[2]
    %1 = any %x {dims = [0, 1]} : bool[]
    %2 = all %x {dims = [0]} : bool[2]
    %3 = max %x {dims = [1]} : f32[0]
    return %0, %1, %2, %3
)",
                {floats({0, 2}, {})});
  CHECK(values<float>(results[0]) == F{0, 0});
  CHECK(values<std::uint8_t>(results[1]) == std::vector<std::uint8_t>{0});
  CHECK(values<std::uint8_t>(results[2]) == std::vector<std::uint8_t>{1, 1});
  CHECK(results[3].elements() == 0);
}

TEST_CASE("reduced axes may stand anywhere") {
  const HostArray x = floats({2, 3, 2}, counted(12));
  const auto sums = run("%x: f32[2, 3, 2]", R"(
    %0 = sum %x {dims = [0, 2]} : f32[3]
    %1 = sum %x {dims = [1]} : f32[2, 2]
    return %0, %1
)",
                        {x});
  CHECK(values<float>(sums[0]) == F{0 + 1 + 6 + 7, 2 + 3 + 8 + 9, 4 + 5 + 10 + 11});
  CHECK(values<float>(sums[1]) == F{0 + 2 + 4, 1 + 3 + 5, 6 + 8 + 10, 7 + 9 + 11});
}

TEST_CASE("batched dot") {
  const auto result = run("%a: f32[2, 2, 3], %b: f32[2, 3, 1]", "%0 = dot %a, %b : f32[2, 2, 1]\nreturn %0\n",
                          {floats({2, 2, 3}, counted(12)), floats({2, 3, 1}, counted(6, 1))});
  CHECK(values<float>(result[0]) ==
        F{0 * 1 + 1 * 2 + 2 * 3, 3 * 1 + 4 * 2 + 5 * 3, 6 * 4 + 7 * 5 + 8 * 6, 9 * 4 + 10 * 5 + 11 * 6});
  const auto empty =
      run("%a: f32[2, 0], %b: f32[0, 3]", "%0 = dot %a, %b : f32[2, 3]\nreturn %0\n", {floats({2, 0}, {}), floats({0, 3}, {})});
  CHECK(values<float>(empty[0]) == F(6, 0.f));
  const std::vector<std::int8_t> hundred{100, 100};
  const auto wrapped = run("%a: i8[1, 2], %b: i8[2, 1]", "%0 = dot %a, %b : i8[1, 1]\nreturn %0\n",
                           {array(DType::i8, {1, 2}, hundred), array(DType::i8, {2, 1}, hundred)});
  CHECK(values<std::int8_t>(wrapped[0])[0] == static_cast<std::int8_t>(20000 & 0xff));
}

TEST_CASE("what only numbers show is refused when they are there") {
  const HostArray x = floats({4}, counted(4));
  CHECK_THROWS_AS(
      run("%x: f32[n], k: index", "%0 = slice %x {starts = [k], sizes = [2], steps = [1]} : f32[2]\nreturn %0\n", {x}, {4, 3}),
      IndexError);
  CHECK_THROWS_AS(run("%x: f32[n], k: index", "%0 = reshape %x {shape = [k]} : f32[k]\nreturn %0\n", {x}, {4, 5}), ShapeError);
  CHECK_THROWS_AS(
      run("%x: f32[n], k: index", "%0 = view %x {offset = k, sizes = [2], strides = [1]} : f32[2]\nreturn %0\n", {x}, {4, 3}),
      ShapeError);
  CHECK_THROWS_AS(run("%x: f32[n]", "return %x\n", {x}, {5}), ShapeError);
  CHECK_THROWS_AS(run("%x: f64[n]", "return %x\n", {x}, {4}), TypeError);
  CHECK_THROWS_AS(run("%x: f32[n]", "return %x\n", {}, {4}), ValueError);
  CHECK_THROWS_AS(run("%x: f32[n]", "return %x\n", {x}, {}), ValueError);
  const HostArray zero = array<std::int32_t>(DType::i32, {1}, {0});
  CHECK_THROWS_WITH(run("%x: i32[1]", "%0 = floor_divide %x, %x : i32[1] // a.cpp:3\nreturn %0\n", {zero}),
                    "floor_divide: integer division by zero at a.cpp:3");
}

TEST_CASE("the error bound is for what rounds, and grows with what is combined") {
  CHECK(error_bound(Op::exp, DType::f32, 1) == 0);
  CHECK(error_bound(Op::max, DType::f32, 1000) == 0);
  CHECK(error_bound(Op::sum, DType::i64, 1000) == 0);
  CHECK(error_bound(Op::sum, DType::f32, 1 << 20) > error_bound(Op::sum, DType::f32, 2));
  CHECK(error_bound(Op::sum, DType::f32, 1 << 20) < 1e-5);
  CHECK(error_bound(Op::sum, DType::bf16, 4) > 1e-3);
  CHECK(error_bound(Op::dot, DType::f64, 100) < 1e-13);
}

TEST_CASE("Python numbers become literals as PyTorch makes them") {
  CHECK(literal(DType::f32, 0.1).bits == 0x3dcccccd);
  CHECK(literal(DType::f32, -0.0).bits == 0x80000000);
  CHECK(literal(DType::f16, 1.0).bits == 0x3c00);
  CHECK(literal(DType::bf16, 1.0).bits == 0x3f80);
  CHECK(literal(DType::f64, std::int64_t{3}).bits == 0x4008000000000000);
  CHECK(literal(DType::boolean, 0.5).bits == 1);
  CHECK(literal(DType::boolean, std::int64_t{-2}).bits == 1);
  CHECK(literal(DType::i32, -1.9).bits == 0xffffffff);
  CHECK(literal(DType::u8, std::int64_t{-1}).bits == 255);
  CHECK(literal(DType::i64, std::numeric_limits<std::int64_t>::min()).bits == 0x8000000000000000);
  CHECK(literal(DType::f32, std::numeric_limits<double>::infinity()).bits == 0x7f800000);
  CHECK_THROWS_WITH(literal(DType::u8, std::int64_t{256}), "value cannot be converted to type uint8_t without overflow");
  CHECK_THROWS_AS(literal(DType::i32, 1e10), Error);
  CHECK_THROWS_AS(literal(DType::i64, 0x1p63), Error);
  CHECK_THROWS_AS(literal(DType::i32, std::numeric_limits<double>::quiet_NaN()), Error);
  CHECK_THROWS_AS(literal(DType::f32, 1e39), Error);
  CHECK_THROWS_AS(literal(DType::f16, std::int64_t{70000}), Error);
}
