// Shapes, strides, dtypes and values of the public operations. Expected values are PyTorch's.
#include <cmath>
#include <limits>

#include "braze/braze.h"
#include "tests/catch.h"
#include "tests/frontend/values.h"

using namespace braze;
using namespace braze::test;

TEST_CASE("nested data of any depth") {
  const Tensor x = tensor({{1, 2}, {3, 4}});
  CHECK(x.dtype() == int64);
  CHECK(x.sizes() == Sizes{2, 2});
  CHECK(tensor({1.5, 2}).dtype() == float32);
  CHECK(tensor({true, false}).dtype() == bool_);
  CHECK(tensor({{{1., 2.}, {3., 4.}}}).sizes() == Sizes{1, 2, 2});
  CHECK(tensor(3).dim() == 0);
  CHECK_THROWS_AS(tensor({{1, 2}, {3}}), ValueError);
}

TEST_CASE("promotion: dims outrank none, which outrank numbers") {
  const Tensor i32 = ones({2}, {int32}), i64 = tensor(5), f16 = ones({2}, {float16}), f64 = tensor(1.0, {float64});
  CHECK((i32 + i64).dtype() == int32);
  CHECK((i32 + 1.5).dtype() == float32);
  CHECK((f16 + 1.5).dtype() == float16);
  CHECK((f16 + f64).dtype() == float16);
  CHECK((i32 + f64).dtype() == float64);
  CHECK((f16 + ones({2}, {bfloat16})).dtype() == float32);
  CHECK((ones({1}, {uint8}) + ones({1}, {int8})).dtype() == int16);
  CHECK((i32 / i32).dtype() == float32);
  CHECK(exp(i32).dtype() == float32);
  CHECK((i32 > 0).dtype() == bool_);
  CHECK((ones({1}, {bool_}) + ones({1}, {bool_})).dtype() == bool_);
  CHECK(ones({3}, {bool_}).sum().dtype() == int64);
}

TEST_CASE("elementwise results keep the storage order of their operands") {
  const Tensor x = arange(6).to(float32).reshape({2, 3});
  CHECK((x.t() + 1).strides() == Sizes{1, 3});
  CHECK((x.t() + x.t()).strides() == Sizes{1, 3});
  CHECK((x + ones({2, 3})).strides() == Sizes{3, 1});
  CHECK((x.t() + ones({3, 2})).strides() == Sizes{1, 3});
  CHECK((ones({3, 2}) + x.t()).strides() == Sizes{2, 1});
  CHECK(floats(x.t() + 1) == Floats{1, 4, 2, 5, 3, 6});
  const Tensor y = arange(24).reshape({2, 3, 4}).permute({2, 0, 1});
  CHECK((y * 2).strides() == Sizes{1, 12, 4});
  CHECK(y.to(float32).strides() == Sizes{1, 12, 4});
  CHECK(y.clone().strides() == Sizes{1, 12, 4});
}

TEST_CASE("basic indexing") {
  const Tensor x = arange(24).reshape({2, 3, 4});
  CHECK(x(1, slice(0, 3), ellipsis).sizes() == Sizes{3, 4});
  CHECK(x(ellipsis, -1).sizes() == Sizes{2, 3});
  CHECK(integers(x(ellipsis, -1)) == Integers{3, 7, 11, 15, 19, 23});
  CHECK(x(newaxis, 0, slice(), newaxis).sizes() == Sizes{1, 3, 1, 4});
  CHECK(integers(x(0, slice(0, 3, 2), slice(1, none, 2))) == Integers{1, 3, 9, 11});
  CHECK(x(slice(5, 9)).sizes() == Sizes{0, 3, 4});
  CHECK(x(1, 2, 3).item<std::int64_t>() == 23);
}

TEST_CASE("views") {
  const Tensor x = arange(24).reshape({2, 3, 4});
  CHECK(x.transpose(0, 2).strides() == Sizes{1, 4, 12});
  CHECK(x.T().sizes() == Sizes{4, 3, 2});
  CHECK(x.movedim(0, -1).sizes() == Sizes{3, 4, 2});
  CHECK(x.unsqueeze(-1).strides() == Sizes{12, 4, 1, 1});
  CHECK(x.view({6, -1}).sizes() == Sizes{6, 4});
  CHECK(x.flatten(1).sizes() == Sizes{2, 12});
  CHECK(x.unflatten(2, {2, 2}).sizes() == Sizes{2, 3, 2, 2});
  CHECK(integers(x.diagonal(1, 1, 2)) == Integers{1, 6, 11, 13, 18, 23});
  CHECK(x.unfold(2, 2, 1).sizes() == Sizes{2, 3, 3, 2});
  CHECK(integers(x.as_strided({2, 2}, {5, 2}, 3)) == Integers{3, 5, 8, 10});
  CHECK(x.split(2, 1)[1].sizes() == Sizes{2, 1, 4});
  CHECK(x.chunk(3, 2).size() == 2);
  CHECK(integers(x.flip({0, 2})(0, 0)) == Integers{15, 14, 13, 12});
  CHECK(x.transpose(0, 1).reshape({-1}).numel() == 24);
  CHECK(integers(x.transpose(0, 1).reshape({24}))[4] == 12);
}

TEST_CASE("reductions") {
  const Tensor x = tensor({{1., 5., 2.}, {4., 3., 6.}});
  CHECK(x.sum().item<float>() == 21);
  CHECK(floats(x.sum(0)) == Floats{5, 8, 8});
  CHECK(x.sum(1, true).sizes() == Sizes{2, 1});
  CHECK(floats(x.mean({0, 1})) == Floats{3.5});
  CHECK(x.var().item<float>() == Catch::Approx(3.5));
  CHECK(x.max().item<float>() == 6);
  const auto [v, i] = x.max(1);
  CHECK(floats(v) == Floats{5, 6});
  CHECK(integers(i) == Integers{1, 2});
  CHECK(x.argmax().item<int>() == 5);
  CHECK(integers(x.argmin(0)) == Integers{0, 1, 0});
  CHECK((x > 4).any().item<bool>());
  CHECK_FALSE((x > 4).all().item<bool>());
  CHECK(zeros({0}).sum().item<float>() == 0);
  CHECK(floats(zeros({0, 2}).sum(0)) == Floats{0, 0});
  const float nan = std::numeric_limits<float>::quiet_NaN();
  CHECK(std::isnan(tensor({1., double(nan), 3.}).max().item<float>()));
  CHECK(tensor({1., double(nan), 3.}).argmax().item<int>() == 1);
}

TEST_CASE("a sum does not depend on threads") {
  const Tensor x = (arange(1 << 20).to(float32) * 0.1f).eval();
  const int threads = get_num_threads();
  set_num_threads(1);
  const float one = x.sum().item<float>();
  set_num_threads(3);
  CHECK(x.sum().item<float>() == one);
  set_num_threads(threads);
}

TEST_CASE("matmul") {
  const Tensor a = tensor({{1., 2.}, {3., 4.}}), b = tensor({{5., 6.}, {7., 8.}});
  CHECK(floats(a.matmul(b)) == Floats{19, 22, 43, 50});
  CHECK(floats(a.t().matmul(b)) == Floats{26, 30, 38, 44});
  CHECK(floats(a.matmul(tensor({1., 1.}))) == Floats{3, 7});
  CHECK(floats(tensor({1., 1.}).matmul(a)) == Floats{4, 6});
  CHECK(tensor({1., 2.}).matmul(tensor({3., 4.})).item<float>() == 11);
  CHECK(ones({4, 1, 2, 3}).matmul(ones({5, 3, 2})).sizes() == Sizes{4, 5, 2, 2});
  CHECK(floats(ones({2, 0}).matmul(ones({0, 2}))) == Floats{0, 0, 0, 0});
}

TEST_CASE("creation, joining, padding") {
  CHECK(integers(arange(2, 11, 3)) == Integers{2, 5, 8});
  CHECK(integers(arange(5, 0, -2)) == Integers{5, 3, 1});
  CHECK(floats(arange(0, 1, 0.25)) == Floats{0, 0.25, 0.5, 0.75});
  CHECK(floats(linspace(0, 1, 5)) == Floats{0, 0.25, 0.5, 0.75, 1});
  CHECK(floats(eye(2, 3)) == Floats{1, 0, 0, 0, 1, 0});
  CHECK(integers(cat({arange(2), arange(3)})) == Integers{0, 1, 0, 1, 2});
  CHECK(cat({ones({2, 1}), ones({2, 3}, {float64})}, 1).dtype() == float64);
  CHECK(stack({arange(2), arange(2)}, 1).sizes() == Sizes{2, 2});
  CHECK(integers(pad(arange(3), {1, 2}, 9)) == Integers{9, 0, 1, 2, 9, 9});
  CHECK(integers(pad(arange(4), {-1, 1})) == Integers{1, 2, 3, 0});
}

TEST_CASE("powers by a number are what PyTorch makes of them") {
  const Tensor x = tensor({1.5, -2., 3.});
  CHECK(floats(pow(x, 2)) == Floats{2.25, 4, 9});
  CHECK(floats(pow(x, 3)) == Floats{3.375, -8, 27});
  CHECK(std::isnan(floats(pow(x, 0.5))[1]));
  CHECK(integers(pow(arange(4), 2)) == Integers{0, 1, 4, 9});
  CHECK(floats(pow(2, x)) == Floats{std::pow(2.0f, 1.5f), 0.25, 8});
}

TEST_CASE("softmax and layer norm survive large inputs") {
  const Tensor x = tensor({{1e11, 1e11 / 3, -1e11, 0.}});
  CHECK(floats(x.softmax(1)) == Floats{1, 0, 0, 0});
  CHECK(floats(x.log_softmax(1))[0] == 0);
  const Tensor y = layer_norm(tensor({{1., 2., 3., 4.}}), {4});
  CHECK(floats(y)[3] == Catch::Approx(1.341635).epsilon(1e-5));
}

TEST_CASE("halves round after every op") {
  const Tensor x = tensor({1., 2049., 0.1}, {float16});
  CHECK((x + 1.0).dtype() == float16);
  CHECK((x + 1.0)(1).item<float>() == 2048);  // 2049 is 2048 in f16, and 2048 + 1 rounds back to it
  CHECK(x.sum().dtype() == float16);
}
