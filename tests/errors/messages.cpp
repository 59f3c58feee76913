// What a wrong call says: the kind of exception, both shapes or the offending value, at the call. An InternalError here is a failure.
#include "braze/braze.h"
#include "frontend/text/expression.h"
#include "ir/graph.h"
#include "passes/passes.h"
#include "tests/catch.h"

using namespace braze;

namespace {

// The message of the E that `call` throws; anything else fails the test.
template <class E, class F>
std::string message(F call) {
  try {
    call();
  } catch (const E& e) {
    return e.what();
  }
  FAIL("nothing was thrown");
  return "";
}

}  // namespace

TEST_CASE("shapes that do not fit name both") {
  CHECK(message<ShapeError>([] { ones({2, 3}) + ones({2, 4}); }) ==
        "The size of tensor a (3) must match the size of tensor b (4) at non-singleton dimension 1: shapes [2, 3] and [2, 4] do "
        "not broadcast");
  CHECK(message<Error>([] { ones({2, 3}).matmul(ones({4, 5})); }) == "mat1 and mat2 shapes cannot be multiplied (2x3 and 4x5)");
  CHECK(message<ShapeError>([] { ones({2, 3}).view({4}); }) == "shape '[4]' is invalid for input of size 6");
  CHECK(message<ShapeError>([] { ones({2, 3}).expand({2, 4}); }).find("[2, 3]") != std::string::npos);
  CHECK(message<ShapeError>([] { cat({ones({2, 3}), ones({3, 4})}); }).find("Expected size 3 but got size 4") != std::string::npos);
  CHECK(message<ShapeError>([] { ones({1}).add_(ones({3})); }) == "output with shape [1] doesn't match the broadcast shape [3]");
  CHECK(message<ShapeError>([] {
          Tensor x = ones({3});
          x(slice(0, 2)) = ones({3});
        }) == "shape mismatch: value tensor of shape [3] cannot be broadcast to indexing result of shape [2]");
}

TEST_CASE("indices and dims out of range name the range") {
  CHECK(message<IndexError>([] { ones({2, 3})(2); }) == "index 2 is out of bounds for dimension 0 with size 2");
  CHECK(message<IndexError>([] { ones({2, 3}).sum(2); }) ==
        "Dimension out of range (expected to be in range of [-2, 1], but got 2)");
  CHECK(message<IndexError>([] { ones({2})(0, 0); }) == "too many indices for tensor of dimension 1");
  CHECK(message<IndexError>([] { zeros({0}).max(0); }) == "max(): Expected reduction dim 0 to have non-zero size.");
  CHECK(message<Error>([] { zeros({0}).max(); }) ==
        "max(): Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim with the 'dim' argument.");
  CHECK(message<ValueError>([] { ones({4})(slice(0, 4, 0)); }) == "slice step must be positive, not 0");
}

TEST_CASE("dtypes that an op does not take") {
  CHECK_THROWS_AS(bitwise_and(ones({2}), ones({2})), Error);
  CHECK_THROWS_AS(ones({2}, {bool_}) - ones({2}, {bool_}), Error);
  CHECK_THROWS_AS(ones({2}, {int64}).mean(), Error);
  CHECK_THROWS_AS(ones({2}).to_vector<double>(), TypeError);
  CHECK_THROWS_AS(ones({2}, {int64}).div_(2), Error);
  CHECK_THROWS_AS(ones({2}).matmul(ones({2}, {float64})), Error);
}

TEST_CASE("values that are not there") {
  CHECK(message<Error>([] { ones({2}).item<float>(); }) == "a Tensor with 2 elements cannot be converted to Scalar");
  CHECK(message<Error>([] { static_cast<bool>(ones({2})); }) == "Boolean value of Tensor with more than one value is ambiguous");
  CHECK(message<Error>([] { Tensor().sum(); }).find("undefined") != std::string::npos);
  CHECK_THROWS_AS(zeros({-1}), ShapeError);
  CHECK_THROWS_AS(zeros({std::int64_t{1} << 40, std::int64_t{1} << 40}), ShapeError);
  CHECK_THROWS_AS(load_npy("/nonexistent.npy"), ValueError);
}

TEST_CASE("text that does not parse names line, column and what was expected") {
  const auto parse = [](const char* text) { return message<ParseError>([&] { ir::parse_graph(text, "x.bz"); }); };
  CHECK(parse("braze.ir 1\ngraph g(%x: f32[n]) {\n  %0 = nope %x : f32[n]\n  return %0\n}\n").starts_with("x.bz:3:8"));
  CHECK(parse("braze.ir 1\ngraph g(%x: f32[n]) {\n  %0 = neg %y : f32[n]\n  return %0\n}\n").find("%y") != std::string::npos);
  CHECK(parse("").find("braze.ir") != std::string::npos);
}

TEST_CASE("expressions that do not parse") {
  const std::map<std::string, Tensor> names{{"a", ones({2, 3})}};
  for (const char* wrong :
       {"a +", "b", "a.nope()", "sum(", "a[", "1 2", "sum(a, dim='x')", "a[0,0,0]", "(a", "a.sum(1, 2, 3, 4)", "tanh()", "$"}) {
    INFO(wrong);
    CHECK_THROWS_AS(text::evaluate(wrong, names), Error);
  }
  CHECK(text::evaluate("(a * 2 + 1).sum(1, keepdim=True)", names).sizes() == Sizes{2, 1});
  CHECK(text::evaluate("2 ** 3 + -1", names).item<int>() == 7);
  CHECK(text::evaluate("7 // 2", names).item<int>() == 3);
  CHECK(text::evaluate("a @ a.T", names).sizes() == Sizes{2, 2});
  CHECK(message<Error>([&] { text::evaluate("7 // 0", names).eval(); }) == "ZeroDivisionError: integer division or modulo by zero");
  CHECK(text::evaluate("a[:, None, ::2].T", names).sizes() == Sizes{2, 1, 2});
}
