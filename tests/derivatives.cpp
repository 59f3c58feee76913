// Derivatives of what only the runtime computes, and derivative graphs through the whole compiler.
#include "ir/error.h"
#include "passes/passes.h"
#include "tests/catch.h"
#include "tests/fuzz/end_to_end.h"
#include "tests/passes/derivative_cases.h"
#include "tests/passes/derivative_check.h"
#include "tests/passes/graph_text.h"

using namespace braze;
using namespace braze::ir;
using namespace braze::test;

namespace {

Arrays through_runtime(const Graph& graph, const Arrays& arguments, const std::vector<std::int64_t>& symbols) {
  const Outcome outcome = run_whole(graph, arguments, symbols);
  REQUIRE(outcome.fault == Fault::none);
  return outcome.results;
}

// (a + a^T) / 2 of each matrix, and `shift` more on its diagonal.
void make_symmetric(HostArray& a, double shift) {
  const std::int64_t n = a.sizes.back();
  for (std::int64_t matrix = 0; n > 0 && matrix < a.elements() / (n * n); ++matrix)
    for (std::int64_t i = 0; i < n; ++i)
      for (std::int64_t j = 0; j <= i; ++j) {
        const std::int64_t lower = (matrix * n + i) * n + j, upper = (matrix * n + j) * n + i;
        const double mean = (test::at(a, lower) + test::at(a, upper)) / 2 + (i == j ? shift * static_cast<double>(i + 1) : 0);
        test::set(a, lower, mean);
        test::set(a, upper, mean);
      }
}

HostArray matrix(const std::vector<double>& values, std::vector<std::int64_t> sizes) {
  HostArray a = make_host_array(DType::f64, std::move(sizes));
  for (std::size_t i = 0; i < values.size(); ++i) test::set(a, static_cast<std::int64_t>(i), values[i]);
  return a;
}

}  // namespace

TEST_CASE("linear algebra: both modes against finite differences, to the second order") {
  std::mt19937 random(1);
  for (const char* body : derivative_cases_of_routines) {
    INFO(body);
    const Graph graph = parsed(body);
    Arrays x = arguments_of(graph, -1, 1.5, random);
    Check how{.run = through_runtime, .tolerance = 1e-5, .step = 1e-5, .direction = random_like(x, random)};
    for (std::size_t p = 0; p < x.size(); ++p) {
      if (!graph.parameter_name(p).starts_with("spd")) continue;
      make_symmetric(x[p], 3);
      make_symmetric(how.direction[p], 0);
    }
    try {
      CHECK(check_derivative(graph, x, symbols_of(graph), 2, random, how));
    } catch (const std::exception& e) {
      FAIL_CHECK(e.what());
    }
  }
}

TEST_CASE("linear algebra: PyTorch's gradients") {
  // Recorded from PyTorch 2.15: the gradient of the sum of f(m) * w, for the m and w below.
  const HostArray spd = matrix({4, 1, .5, 1, 3, .25, .5, .25, 2}, {3, 3}), m = matrix({4, 1, .5, 1, 3, .25, 2, .25, 2}, {3, 3});
  const HostArray w = matrix({1, 2, 3, 5, 4, -1, .5, 2, -3}, {3, 3});
  struct Recorded {
    const char* body;
    const HostArray& x;
    std::vector<double> gradient;
  };
  const Recorded recorded[] = {
      {"%x: f64[3, 3], %w: f64[3, 3]) { %0:2 = eigh %x {upper = false} : f64[3], f64[3, 3] %1 = mul %0#1, %0#1 : f64[3, 3]"
       " %2 = mul %1, %w : f64[3, 3] %3 = sum %2 {dims = [0, 1]} : f64[] %4 = slice %w {starts = [0, 0], sizes = [1, 3], steps = "
       "[1, 1]} : f64[1, 3]"
       " %5 = reshape %4 {shape = [3]} : f64[3] %6 = mul %5, %0#0 : f64[3] %7 = sum %6 {dims = [0]} : f64[] %8 = add %3, %7 : "
       "f64[] return %8 }",
       spd,
       {3.67727351592119, -0.0240526732654716, 0.318145780312501, -0.0240526732654718, 1.32402494338229, -0.197466407447832,
        0.318145780312501, -0.197466407447832, 0.998701540696517}},
      {"%x: f64[3, 3], %w: f64[3, 3]) { %0:2 = cholesky %x {check = none} : f64[3, 3], i32[] %1 = mul %0#0, %w : f64[3, 3] return "
       "%1 }",
       spd,
       {0.0192924722836686, 0.874388890119042, 0.0968824414925673, 0.874388890119042, 1.17640547218978, 0.652077934668107,
        0.0968824414925673, 0.652077934668107, -1.07921540127675}},
      {"%x: f64[3, 3], %w: f64[3, 3]) { %0:3 = lu_factor %x {rank = 3, check = none} : f64[3, 3], i32[3], i32[] %1 = mul %0#0, %w "
       ": f64[3, 3] return %1 }",
       m,
       {0.760588842975207, 0.548553719008264, 4.81818181818182, 0.389462809917355, 4.07851239669422, -1.27272727272727,
        0.284090909090909, 0.863636363636364, -3}},
      {"%x: f64[3, 3], %w: f64[3, 3]) { %0:2 = qr %x {rank = 3, full = false} : f64[3, 3], f64[3, 3] %1 = mul %0#0, %w : f64[3, 3]"
       " %2 = mul %0#1, %0#1 : f64[3, 3] %3 = mul %2, %w : f64[3, 3] %4 = add %1, %3 : f64[3, 3] return %4 }",
       m,
       {6.2191021043515, 2.5126655038372, 11.3976507168768, -1.99131838125535, 22.5319587943637, 1.38115391259285, 9.55745498192467,
        -1.29131040485626, -4.73587839005009}},
      {"%x: f64[3, 3], %w: f64[3, 3]) { %0:3 = svd %x {rank = 3, full = false} : f64[3, 3], f64[3], f64[3, 3] %1 = mul %0#0, %0#0 "
       ": f64[3, 3]"
       " %2 = mul %0#2, %0#2 : f64[3, 3] %3 = add %1, %2 : f64[3, 3] %4 = mul %3, %w : f64[3, 3] %5 = sum %4 {dims = [0, 1]} : "
       "f64[]"
       " %6 = slice %w {starts = [1, 0], sizes = [1, 3], steps = [1, 1]} : f64[1, 3] %7 = reshape %6 {shape = [3]} : f64[3]"
       " %8 = mul %7, %0#1 : f64[3] %9 = sum %8 {dims = [0]} : f64[] %10 = add %5, %9 : f64[] return %10 }",
       m,
       {2.25208432553056, 1.17638501084897, 2.13737203469448, 1.18223932331289, 4.32836011011346, -0.168495562945224,
        3.55137851953522, -0.570009033839851, 1.14348316086113}},
      {"%x: f64[3, 3], %w: f64[3, 3]) { %0 = solve_triangular %x, %w {upper = true, left = true, unit = false} : f64[3, 3] return "
       "%0 }",
       m,
       {-0.21484375, -0.671875, 0.0625, 0, -0.671875, 0.0625, 0, 0, 0.1015625}},
  };
  for (const Recorded& r : recorded) {
    INFO(r.body);
    const Arrays found = through_runtime(passes::grad(parsed(r.body), {.parameters = {0}}), {r.x, w}, {});
    for (std::int64_t i = 0; i < 9; ++i)
      CHECK(test::at(found[0], i) == Approx(r.gradient[static_cast<std::size_t>(i)]).margin(1e-10));
  }
}

TEST_CASE("derivative graphs compile, and machine code gives what the interpreters give") {
  std::mt19937 random(2);
  for (const char* body : derivative_cases) {
    INFO(body);
    const Graph derivative = passes::vjp(parsed(body));
    const Arrays x = arguments_of(derivative, 0.4, 1.6, random);
    const CompiledGraph code(derivative, host_target());
    const std::string difference = disagreement(derivative, code, x, symbols_of(derivative), 1e-12);
    if (!difference.empty()) FAIL_CHECK(difference);
  }
}

TEST_CASE("what has no derivative says so") {
  const Graph tall = parsed("%x: f64[3, 2]) { %0:2 = qr %x {rank = 2, full = true} : f64[3, 3], f64[3, 2] return %0#1 }");
  CHECK_THROWS_AS(passes::grad(tall), NotImplementedError);
  CHECK_THROWS_WITH(passes::grad(tall), "The QR decomposition is not differentiable when mode='complete' and nrows > ncols");
}
