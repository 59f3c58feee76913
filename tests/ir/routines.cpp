// Rows for elements at computed places, scans, sort, draws and linear algebra: what infer says, text, and the naive interpreter.
#include <cmath>
#include <cstring>
#include <limits>

#include "ir/error.h"
#include "ir/graph.h"
#include "tests/catch.h"

using namespace braze;
using namespace braze::ir;

namespace {

constexpr std::string_view every_row = R"(braze.ir 1
graph main(%x: f32[n, m], %i: i64[k], %v: f32[k], %g: u8[5056], %a: f64[] scalar, %b: f64[] scalar, %s: f64[p, p], %l: i64[] scalar, e: index, r: index) {
  %0 = wrap_index %i {extent = e} : i64[k]
  %1 = take %x, %0 : f32[k]
  %2 = put %x, %0, %v {combine = maximum} : f32[n, m]
  %3 = prod %2 {dims = [0]} : f32[m]
  %4 = cumsum %2 {axis = 1} : f32[n, m]
  %5 = logcumsumexp %4 {axis = 0} : f32[n, m]
  %6:2 = cummax %5 {axis = 1} : f32[n, m], i64[n, m]
  %7:2 = sort %6#0 {axis = 0, descending = true} : f32[n, m], i64[n, m]
  %8:2 = draw %g, %a, %b {kind = normal, shape = [n, 3]} : f32[n, 3], u8[5056]
  %9:2 = draw %8#1, %l, %l {kind = permutation, shape = [e]} : i64[e], u8[5056]
  %10:2 = cholesky %s {check = cholesky} : f64[p, p], i32[]
  %11:3 = lu_factor %10#0 {rank = r, check = solve} : f64[p, p], i32[r], i32[]
  %12 = solve_triangular %11#0, %s {upper = true, left = false, unit = false} : f64[p, p]
  %13:2 = qr %12 {rank = r, full = false} : f64[p, r], f64[r, p]
  %14:3 = svd %12 {rank = r, full = true} : f64[p, p], f64[r], f64[p, p]
  %15:2 = eigh %14#2 {upper = false} : f64[p], f64[p, p]
  %16:4 = eig %15#1 : f64[p], f64[p], f64[p, p], f64[p, p]
  return %1, %3, %7#1, %8#0, %9#0, %13#1, %14#1, %16#3
}
)";

HostArray array(std::vector<std::int64_t> sizes, const std::vector<float>& values) {
  HostArray a = make_host_array(DType::f32, std::move(sizes));
  std::memcpy(a.data.get(), values.data(), values.size() * sizeof(float));
  return a;
}
HostArray array(std::vector<std::int64_t> sizes, const std::vector<std::int64_t>& values) {
  HostArray a = make_host_array(DType::i64, std::move(sizes));
  std::memcpy(a.data.get(), values.data(), values.size() * sizeof(std::int64_t));
  return a;
}
template <class T>
std::vector<T> elements(const HostArray& a) {
  std::vector<T> values(static_cast<std::size_t>(a.elements()));
  std::memcpy(values.data(), a.data.get(), values.size() * sizeof(T));
  return values;
}

std::vector<HostArray> run(std::string_view body, std::vector<HostArray> arguments) {
  return interpret(parse_graph(fmt::format("braze.ir 1\ngraph main({}\n}}\n", body)), arguments, {});
}
constexpr float quiet = std::numeric_limits<float>::quiet_NaN();

}  // namespace

TEST_CASE("each new row prints, parses back and verifies") {
  const Graph graph = parse_graph(every_row);
  verify(graph);
  CHECK(print(graph) == every_row);
}

TEST_CASE("ill-typed uses of the new rows are the user's errors") {
  const auto refused = [](std::string body) {
    CHECK_THROWS_AS(parse_graph("braze.ir 1\ngraph main(" + body + "\n}\n"), ParseError);
  };
  refused("%x: f32[3], %i: i32[2]) {\n%0 = take %x, %i : f32[2]\nreturn %0");
  refused("%x: f32[3], %i: i64[2], %v: f32[3]) {\n%0 = put %x, %i, %v {combine = add} : f32[3]\nreturn %0");
  refused("%x: f32[3], %i: i64[2], %v: f64[2]) {\n%0 = put %x, %i, %v {combine = add} : f32[3]\nreturn %0");
  refused("%x: f32[3], %i: i64[2], %v: f32[2]) {\n%0 = put %x, %i, %v {combine = subtract} : f32[3]\nreturn %0");
  refused("%x: f32[3]) {\n%0 = cumsum %x {axis = 1} : f32[3]\nreturn %0");
  refused("%x: bool[3]) {\n%0 = cumsum %x {axis = 0} : bool[3]\nreturn %0");
  refused("%x: f32[3, 2]) {\n%0:2 = cholesky %x {check = none} : f32[3, 2], i32[]\nreturn %0#0");
  refused("%x: f16[2, 2]) {\n%0:2 = cholesky %x {check = none} : f16[2, 2], i32[]\nreturn %0#0");
  refused("%x: f32[3, 2]) {\n%0:2 = qr %x {rank = 3, full = false} : f32[3, 3], f32[3, 2]\nreturn %0#0");
  refused("%g: u8[99], %a: f64[]) {\n%0:2 = draw %g, %a, %a {kind = uniform, shape = [2]} : f32[2], u8[5056]\nreturn %0#0");
  refused("%g: u8[5056], %a: f64[]) {\n%0:2 = draw %g, %a, %a {kind = randint, shape = [2]} : i64[2], u8[5056]\nreturn %0#0");
  refused("%x: f32[3]) {\n%0:2 = sort %x {axis = 0, descending = maybe} : f32[3], i64[3]\nreturn %0#0");
}

TEST_CASE("take and put address row-major elements, combine in index order, and refuse what is outside") {
  const HostArray x = array({2, 3}, std::vector<float>{1, 2, 3, 4, 5, 6});
  CHECK(elements<float>(
            run("%x: f32[2, 3], %i: i64[4]) {\n%0 = wrap_index %i {extent = 6} : i64[4]\n%1 = take %x, %0 : f32[4]\nreturn %1",
                {x, array({4}, std::vector<std::int64_t>{-1, 0, 3, -6})})[0]) == std::vector<float>{6, 1, 4, 1});
  const auto put = [&](std::string combine) {
    return elements<float>(
        run("%x: f32[2, 3], %i: i64[3], %v: f32[3]) {\n%0 = put %x, %i, %v {combine = " + combine + "} : f32[2, 3]\nreturn %0",
            {x, array({3}, std::vector<std::int64_t>{4, 1, 4}), array({3}, std::vector<float>{10, 20, 0.5})})[0]);
  };
  CHECK(put("assign") == std::vector<float>{1, 20, 3, 4, 0.5, 6});
  CHECK(put("add") == std::vector<float>{1, 22, 3, 4, 15.5, 6});
  CHECK(put("multiply") == std::vector<float>{1, 40, 3, 4, 25, 6});
  CHECK(put("maximum") == std::vector<float>{1, 20, 3, 4, 10, 6});
  CHECK(put("minimum") == std::vector<float>{1, 2, 3, 4, 0.5, 6});
  for (const std::int64_t outside : {std::int64_t{6}, std::int64_t{-1}, std::numeric_limits<std::int64_t>::min()})
    CHECK_THROWS_AS(run("%x: f32[2, 3], %i: i64[1]) {\n%0 = take %x, %i : f32[1]\nreturn %0",
                        {x, array({1}, std::vector<std::int64_t>{outside})}),
                    IndexError);
  CHECK_THROWS_WITH(
      run("%i: i64[1]) {\n%0 = wrap_index %i {extent = 3} : i64[1]\nreturn %0", {array({1}, std::vector<std::int64_t>{-4})}),
      Catch::Contains("index -4 is out of bounds for dimension with size 3"));
}

TEST_CASE("scans and sort give PyTorch's values, ties and NaN") {
  const auto scan = [](std::string op, std::vector<float> x) {
    return elements<float>(run("%x: f32[5]) {\n%0 = " + op + " %x {axis = 0} : f32[5]\nreturn %0", {array({5}, x)})[0]);
  };
  CHECK(scan("cumsum", {1, 2, 3, 4, 5}) == std::vector<float>{1, 3, 6, 10, 15});
  CHECK(scan("cumprod", {1, 2, 3, 4, 5}) == std::vector<float>{1, 2, 6, 24, 120});
  // torch.logcumsumexp(torch.tensor([0., 1., 2., 3., 4.]), 0)
  const std::vector<float> logs = scan("logcumsumexp", {0, 1, 2, 3, 4});
  CHECK(logs[1] == Approx(1.3132617f));
  CHECK(logs[4] == Approx(4.4519143f));
  const auto pair = [](std::string statement, std::vector<float> x) {
    return run("%x: f32[6]) {\n%0:2 = " + statement + " : f32[6], i64[6]\nreturn %0#0, %0#1", {array({6}, x)});
  };
  // torch.cummax(torch.tensor([1., 3., 3., nan, 5., nan]), 0)
  const auto maxima = pair("cummax %x {axis = 0}", {1, 3, 3, quiet, 5, quiet});
  CHECK(elements<std::int64_t>(maxima[1]) == std::vector<std::int64_t>{0, 1, 2, 3, 3, 5});
  CHECK(std::isnan(elements<float>(maxima[0])[4]));
  // torch.sort(torch.tensor([2., nan, 1., 2., 0., nan]), stable=True, descending=...)
  const std::vector<float> x{2, quiet, 1, 2, 0, quiet};
  CHECK(elements<std::int64_t>(pair("sort %x {axis = 0, descending = false}", x)[1]) ==
        std::vector<std::int64_t>{4, 2, 0, 3, 1, 5});
  CHECK(elements<std::int64_t>(pair("sort %x {axis = 0, descending = true}", x)[1]) == std::vector<std::int64_t>{1, 5, 0, 3, 2, 4});
}

TEST_CASE("integer and boolean products are i64, of none 1") {
  CHECK(elements<std::int64_t>(run("%x: i64[2, 3]) {\n%0 = prod %x {dims = [1]} : i64[2]\nreturn %0",
                                   {array({2, 3}, std::vector<std::int64_t>{1, 2, 3, 4, 5, 6})})[0]) ==
        std::vector<std::int64_t>{6, 120});
  CHECK(elements<float>(run("%x: f32[2, 0]) {\n%0 = prod %x {dims = [1]} : f32[2]\nreturn %0",
                            {make_host_array(DType::f32, {2, 0})})[0]) == std::vector<float>{1, 1});
}
