#include <fmt/format.h>

#include "tests/catch.h"
#include "tests/passes/run_program.h"

using namespace braze;
using namespace braze::test;

namespace {

constexpr std::int64_t awkward_sizes[] = {0, 1, 2, 15, 16, 17, 63, 64, 65, 2047, 2048, 2049, 5000};

}  // namespace

TEST_CASE("sums of rows, columns and all, at awkward sizes") {
  for (const std::int64_t n : awkward_sizes) {
    INFO("n = " << n);
    const Check check{.symbols = {{"n", n}, {"m", 7}}, .tolerance = 1e-4};
    check_graph("braze.ir 1\ngraph f(%x: f32[m, n]) {\n  %0 = sum %x {dims = [1]} : f32[m]\n  return %0\n}", check);
    check_graph("braze.ir 1\ngraph f(%x: f32[n, m]) {\n  %0 = sum %x {dims = [0]} : f32[m]\n  return %0\n}", check);
    check_graph("braze.ir 1\ngraph f(%x: f32[n]) {\n  %0 = sum %x {dims = [0]} : f32[]\n  return %0\n}", check);
    check_graph("braze.ir 1\ngraph f(%x: f64[m, n]) {\n  %0 = sum %x {dims = [0, 1]} : f64[]\n  return %0\n}", check);
  }
}

TEST_CASE("reductions of every op and dtype over inner and outer axes") {
  for (const std::string op : {"sum", "max", "min", "any", "all", "argmax", "argmin"})
    for (const DType t : all_dtypes)
      for (const int axis : {0, 1}) {
        const std::string in(name(t));
        std::string out = in;
        if (op == "sum" && !is_float(t)) out = "i64";
        if (op == "any" || op == "all") out = "bool";
        if (op.starts_with("arg")) out = "i64";
        check_graph(fmt::format("braze.ir 1\ngraph f(%x: {}[n, m]) {{\n  %0 = {} %x {{dims = [{}]}} : {}[{}]\n  return %0\n}}", in,
                                op, axis, out, axis ? "n" : "m"),
                    {.symbols = {{"n", 67}, {"m", 130}}, .tolerance = op == "sum" && is_float(t) ? (is_half(t) ? 1e-2 : 1e-5) : 0});
      }
}

TEST_CASE("a maximum with its index, and axes that do not stand together") {
  check_graph(R"(braze.ir 1
graph f(%x: f32[n, m]) {
  %0:2 = max_with_index %x {dims = [1]} : f32[n], i64[n]
  %1:2 = min_with_index %x {dims = [0]} : f32[m], i64[m]
  return %0#0, %0#1, %1#0, %1#1
})",
              {.symbols = {{"n", 5}, {"m", 3000}}});
  check_graph(R"(braze.ir 1
graph f(%x: bf16[a, b, c, d]) {
  %0 = sum %x {dims = [0, 2]} : bf16[b, d]
  %1 = sum %x {dims = [1, 3]} : bf16[a, c]
  return %0, %1
})",
              {.symbols = {{"a", 3}, {"b", 4}, {"c", 5}, {"d", 70}}, .tolerance = 1e-2});
}

TEST_CASE("softmax and layer norm are one kernel each") {
  for (const std::int64_t m : {1, 63, 64, 65, 1000, 2049, 5000}) {
    const auto softmax = check_graph(R"(braze.ir 1
graph softmax(%x: f32[n, m]) {
  %0 = max %x {dims = [1]} : f32[n]
  %1 = reshape %0 {shape = [n, 1]} : f32[n, 1]
  %2 = expand %1 {shape = [n, m]} : f32[n, m]
  %3 = sub %x, %2 : f32[n, m]
  %4 = exp %3 : f32[n, m]
  %5 = sum %4 {dims = [1]} : f32[n]
  %6 = reshape %5 {shape = [n, 1]} : f32[n, 1]
  %7 = expand %6 {shape = [n, m]} : f32[n, m]
  %8 = div %4, %7 : f32[n, m]
  return %8
})",
                                     {.symbols = {{"n", 9}, {"m", m}}, .tolerance = 1e-5});
    CHECK(softmax.program.kernels.size() == 1);
    const auto norm = check_graph(R"(braze.ir 1
graph norm(%x: f32[n, m], %w: f32[m], %b: f32[m], %count: f32[] scalar) {
  %eps = constant 0x1.4f8b58p-17 : f32[]
  %0 = sum %x {dims = [1]} : f32[n]
  %1 = expand %count {shape = [n]} : f32[n]
  %2 = div %0, %1 : f32[n]
  %3 = reshape %2 {shape = [n, 1]} : f32[n, 1]
  %4 = expand %3 {shape = [n, m]} : f32[n, m]
  %5 = sub %x, %4 : f32[n, m]
  %6 = mul %5, %5 : f32[n, m]
  %7 = sum %6 {dims = [1]} : f32[n]
  %8 = div %7, %1 : f32[n]
  %9 = expand %eps {shape = [n]} : f32[n]
  %10 = add %8, %9 : f32[n]
  %11 = rsqrt %10 : f32[n]
  %12 = reshape %11 {shape = [n, 1]} : f32[n, 1]
  %13 = expand %12 {shape = [n, m]} : f32[n, m]
  %14 = mul %5, %13 : f32[n, m]
  %15 = expand %w {shape = [n, m]} : f32[n, m]
  %16 = mul %14, %15 : f32[n, m]
  %17 = expand %b {shape = [n, m]} : f32[n, m]
  %18 = add %16, %17 : f32[n, m]
  return %18
})",
                                  {.symbols = {{"n", 9}, {"m", m}}, .tolerance = 1e-5, .positive = true});
    CHECK(norm.program.kernels.size() == 1);
  }
}

TEST_CASE("rows whose last pass divides run one behind the other, however many there are") {
  const auto text = [](const char* type, const char* x) {
    return fmt::format(R"(braze.ir 1
graph softmax(%x: {0}[n, m]{1}, %y: {0}[n]{1}) {{
  %0 = max %x {{dims = [1]}} : {0}[n]
  %1 = reshape %0 {{shape = [n, 1]}} : {0}[n, 1]
  %2 = expand %1 {{shape = [n, m]}} : {0}[n, m]
  %3 = sub %x, %2 : {0}[n, m]
  %4 = exp %3 : {0}[n, m]
  %5 = sum %4 {{dims = [1]}} : {0}[n]
  %6 = add %5, %y : {0}[n]
  %7 = reshape %6 {{shape = [n, 1]}} : {0}[n, 1]
  %8 = expand %7 {{shape = [n, m]}} : {0}[n, m]
  %9 = div %4, %8 : {0}[n, m]
  return %9, %6
}})",
                       type, x);
  };
  for (const std::int64_t n : {0, 1, 2, 127, 128, 191, 200, 1041}) {
    INFO("n = " << n);
    const auto module = check_graph(text("f32", ""), {.symbols = {{"n", n}, {"m", 67}}, .tolerance = 1e-5, .positive = true});
    CHECK(module.program.kernels.size() == 1);
    CHECK(print(module.program.kernels[0]).find("if ") != std::string::npos);
    check_graph(text("f32", " donated"), {.symbols = {{"n", n}, {"m", 3}}, .tolerance = 1e-5, .positive = true});
  }
  for (const std::int64_t m : {1, 64, 2049})
    check_graph(text("f64", " donated"), {.symbols = {{"n", 130}, {"m", m}}, .tolerance = 1e-9, .positive = true});
  check_graph(text("bf16", ""), {.symbols = {{"n", 140}, {"m", 70}}, .tolerance = 2e-2, .positive = true});
  check_graph(text("f16", " donated"), {.symbols = {{"n", 140}, {"m", 70}}, .tolerance = 1e-2, .positive = true});
  check_graph(R"(braze.ir 1
graph normalise(%x: f32[n, 3, m], %first: f32[n, 3]) {
  %0 = mul %x, %x : f32[n, 3, m]
  %1 = sum %0 {dims = [2]} : f32[n, 3]
  %2 = sqrt %1 : f32[n, 3]
  %3 = mul %2, %first : f32[n, 3]
  %4 = reshape %3 {shape = [n, 3, 1]} : f32[n, 3, 1]
  %5 = expand %4 {shape = [n, 3, m]} : f32[n, 3, m]
  %6 = div %x, %5 : f32[n, 3, m]
  return %6
})",
              {.symbols = {{"n", 77}, {"m", 130}}, .tolerance = 1e-5, .positive = true});
}

TEST_CASE("what is elementwise before, beside and after a reduction is in its kernel") {
  const auto module = check_graph(R"(braze.ir 1
graph f(%x: f32[n, m], %y: f32[n]) {
  %0 = exp %x : f32[n, m]
  %1 = sum %0 {dims = [1]} : f32[n]
  %2 = max %0 {dims = [1]} : f32[n]
  %3 = mul %1, %2 : f32[n]
  %4 = add %3, %y : f32[n]
  return %0, %4
})",
                                  {.symbols = {{"n", 33}, {"m", 100}}, .tolerance = 1e-5});
  CHECK(module.program.kernels.size() == 1);
}

TEST_CASE("products of matrices, batched, transposed, with what follows them") {
  for (const DType t : all_dtypes) {
    if (t == DType::boolean) continue;
    const std::string type(name(t));
    for (const std::int64_t k : {0, 1, 65, 600}) {
      check_graph(
          fmt::format(R"(braze.ir 1
graph f(%a: {0}[b, m, k], %c: {0}[b, n, k]) {{
  %0 = permute %c {{order = [0, 2, 1]}} : {0}[b, k, n]
  %1 = dot %a, %0 : {0}[b, m, n]
  %2 = maximum %1, %1 : {0}[b, m, n]
  return %2
}})",
                      type),
          {.symbols = {{"b", 2}, {"m", 29}, {"n", 41}, {"k", k}}, .tolerance = is_float(t) ? (is_half(t) ? 1e-2 : 1e-4) : 0});
    }
  }
}

TEST_CASE("a product that shows its one row, its one column or both, read through views that add axes, in each order of terms") {
  for (const std::string order : {"", " {order = inner}", " {order = outer}"}) {
    for (const auto& [m, n] : {std::pair{"1", "1"}, std::pair{"1", "n"}, std::pair{"m", "1"}}) {
      INFO(order << ", " << m << " by " << n);
      check_graph(fmt::format(R"(braze.ir 1
graph f(%a: i32[{0}, k], %c: i32[k, {1}], %z: i32[{0}, {1}]) {{
  %0 = dot %a, %c{2} : i32[{0}, {1}]
  %1 = reshape %0 {{shape = [1, {0}, {1}]}} : i32[1, {0}, {1}]
  %2 = neg %1 : i32[1, {0}, {1}]
  %3 = store %0, %1 {{offset = 0, sizes = [1, {0}, {1}], strides = [1, {1}, 1]}} : i32[{0}, {1}]
  %4 = mul %z, %3 : i32[{0}, {1}]
  return %0, %2, %4
}})",
                              m, n, order),
                  {.symbols = {{"m", 29}, {"n", 41}, {"k", 65}}});
    }
  }
}

TEST_CASE("a batch of one product, read through views that drop its axis and add others") {
  check_graph(R"(braze.ir 1
graph f(%a: i32[1, m, k], %c: i32[1, k, n], %z: i32[m, n], l: index) {
  %0 = dot %a, %c : i32[1, m, n]
  %1 = neg %0 : i32[1, m, n]
  %2 = reshape %1 {shape = [1, 1, m, n]} : i32[1, 1, m, n]
  %3 = abs %2 : i32[1, 1, m, n]
  %4 = reshape %1 {shape = [m, n]} : i32[m, n]
  %5 = add %4, %z : i32[m, n]
  %6 = reshape %5 {shape = [l]} : i32[l]
  %7 = sign %6 : i32[l]
  return %1, %3, %7
})",
              {.symbols = {{"m", 29}, {"n", 41}, {"k", 65}, {"l", 29 * 41}}});
}
