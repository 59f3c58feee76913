// Writes through views: the result is what eager execution gives, whatever is pending. Expected values are PyTorch's.
#include "braze/braze.h"
#include "tests/catch.h"

using namespace braze;

namespace {

std::vector<float> values(const Tensor& t) { return t.to_vector<float>(); }
using Floats = std::vector<float>;

}  // namespace

TEST_CASE("a write through a view is seen by its base and by every other view") {
  const Tensor x = zeros({2, 3});
  Tensor row = x(1), column = x(slice(), 2);
  row += 1;
  column *= 5;
  CHECK(values(x) == Floats{0, 0, 0, 1, 1, 5});
  CHECK(values(row) == Floats{1, 1, 5});
  CHECK(values(column) == Floats{0, 5});
}

TEST_CASE("assigning to x(...) writes, assigning to a name rebinds") {
  Tensor x = ones({3});
  const Tensor same = x;
  x(slice(0, 2)) = 7;
  CHECK(values(same) == Floats{7, 7, 1});
  x = zeros({2});
  CHECK(values(same) == Floats{7, 7, 1});
  CHECK(values(x) == Floats{0, 0});
}

TEST_CASE("what is computed from a tensor may be written into it, shifted; the tensor itself may not") {
  Tensor x = arange(6).to(float32);
  x(slice(1, none)) = x(slice(none, -1)) * 1;
  CHECK(values(x) == Floats{0, 0, 1, 2, 3, 4});
  CHECK_THROWS_WITH(x(slice(none, -1)) = x(slice(1, none)),
                    Catch::Matchers::ContainsSubstring("refer to a single memory location"));
  x(slice(none, -1)) = x(slice(1, none)).clone();
  CHECK(values(x) == Floats{0, 1, 2, 3, 4, 4});
}

TEST_CASE("a pending reader of an overwritten version keeps the old value") {
  Tensor x = ones({4});
  const Tensor before = x + 10, sum = x.sum();
  x(slice(0, 2)) = 9;
  const Tensor after = x + 10;
  x.fill_(0);
  CHECK(values(after) == Floats{19, 19, 11, 11});
  CHECK(values(before) == Floats{11, 11, 11, 11});
  CHECK(sum.item<float>() == 4);
  CHECK(values(x) == Floats{0, 0, 0, 0});
}

TEST_CASE("the same holds when the old version was in memory") {
  Tensor x = arange(4).to(float32).eval();
  const Tensor before = x * 2;
  x(1) = 100;
  CHECK(values(x) == Floats{0, 100, 2, 3});
  CHECK(values(before) == Floats{0, 2, 4, 6});
}

TEST_CASE("an exact alias on both sides") {
  Tensor x = arange(4).to(float32);
  x += x;
  CHECK(values(x) == Floats{0, 2, 4, 6});
  x(slice()) = x(slice()) + 1;
  CHECK(values(x) == Floats{1, 3, 5, 7});
}

TEST_CASE("a transposed write lands transposed") {
  Tensor x = zeros({2, 3});
  Tensor t = x.t();
  t.copy_(arange(6).reshape({3, 2}));
  CHECK(values(x) == Floats{0, 2, 4, 1, 3, 5});
  x.t() = 1;
  CHECK(values(x) == Floats{1, 1, 1, 1, 1, 1});
}

TEST_CASE("a tensor reads what it writes element by element, or not at all") {
  Tensor x = arange(9).to(float32).reshape({3, 3});
  CHECK_THROWS_WITH(x += x.t(), Catch::Matchers::ContainsSubstring("refer to a single memory location"));
  CHECK_THROWS_WITH(x(slice(1, none)) += x(slice(0, -1)), Catch::Matchers::ContainsSubstring("refer to a single memory location"));
  x += x.t().clone();
  CHECK(values(x) == Floats{0, 4, 8, 4, 8, 12, 8, 12, 16});
  x(slice(), 1) += x(slice(), 0);  // neither is dense: PyTorch does not look further
  CHECK(values(x) == Floats{0, 4, 8, 4, 12, 12, 8, 20, 16});
}

TEST_CASE("strided, diagonal and unfolded writes") {
  Tensor x = zeros({10});
  x(slice(1, 9, 3)) = tensor({1., 2., 3.});
  CHECK(values(x) == Floats{0, 1, 0, 0, 2, 0, 0, 3, 0, 0});
  Tensor m = zeros({3, 3});
  m.diagonal() = tensor({1., 2., 3.});
  m.diagonal(1) += 5;
  CHECK(values(m) == Floats{1, 5, 0, 0, 2, 5, 0, 0, 3});
}

TEST_CASE("an axis of one element with stride 0, which is what expand and unfold leave, is written as any other") {
  Tensor x = arange(30).view({6, 5});
  Tensor column = x.diagonal(-1).expand({2, 5}).unfold(0, 1, 1).select(0, -2);  // sizes {5, 1}, strides {6, 0}
  REQUIRE(column.stride(1) == 0);
  column.masked_fill_(column > 6, -1);
  CHECK(values(x.diagonal(-1).to(DType::f32)) == Floats{5, -1, -1, -1, -1});
  CHECK(x.sum().item<std::int64_t>() == 435 - (11 + 17 + 23 + 29) - 4);
}

TEST_CASE("writing to memory that repeats is refused") {
  Tensor wide = zeros({1, 3}).expand({4, 3});
  CHECK_THROWS_WITH(wide.add_(1), Catch::Matchers::ContainsSubstring(
                                      "more than one element of the written-to tensor refers to a single memory location"));
  Tensor windows = zeros({5}).unfold(0, 3, 1);
  CHECK_THROWS_AS(windows.mul_(2), Error);
  CHECK(values(windows.fill_(1).sum(0)) == Floats{3, 3, 3});  // filling them gives the same in any order
  // Reading them is fine.
  CHECK(values(wide.sum(0)) == Floats{0, 0, 0});
}

TEST_CASE("clone and contiguous stand apart, reshape of a view shares") {
  Tensor x = arange(4).to(float32);
  const Tensor copy = x.clone(), same = x.contiguous(), square = x.reshape({2, 2});
  x(0) = 50;
  CHECK(values(copy) == Floats{0, 1, 2, 3});
  CHECK(values(same) == Floats{50, 1, 2, 3});
  CHECK(values(square) == Floats{50, 1, 2, 3});
  CHECK(square.shares_storage(x));
  CHECK_FALSE(copy.shares_storage(x));
}

TEST_CASE("writes count versions, for all aliases") {
  Tensor x = zeros({4});
  Tensor v = x(slice(1, none));
  const std::int64_t before = x.version();
  v.add_(1);
  x.mul_(2);
  CHECK(x.version() - before == 2);
  CHECK(v.version() == x.version());
}

TEST_CASE("a write casts to the storage's dtype") {
  Tensor x = zeros({3}, {int64});
  x(0) = 2.9;
  x(slice(1, none)) = tensor({1.5, -1.5});
  CHECK(x.to_vector<std::int64_t>() == std::vector<std::int64_t>{2, 1, -1});
}

TEST_CASE("a chain of a thousand in-place updates through a view") {
  Tensor x = zeros({5});
  Tensor middle = x(slice(1, 4));
  for (int i = 0; i < 1000; ++i) middle += 1;
  CHECK(values(x) == Floats{0, 1000, 1000, 1000, 0});
}

TEST_CASE("an eager scope gives the same bits") {
  const auto program = [] {
    Tensor x = (arange(20).to(float32) * 0.37).reshape({4, 5});
    x(slice(1, 3), slice(0, 5, 2)) = tanh(x(slice(0, 2), slice(0, 5, 2)));
    Tensor y = x.t() * x.t();
    y(0) += x(slice(), 0);
    return std::pair(values(x), values(y.contiguous()));
  };
  const auto lazy = program();
  const EagerScope scope;
  CHECK(program() == lazy);
}

TEST_CASE("a write through elements that do not fill the storage leaves the rest of it") {
  Tensor bytes = arange(5).to(uint8);
  Tensor wide = bytes(slice(0, 4)).view(int16);
  wide.fill_(257);
  CHECK(bytes.to_vector<std::uint8_t>() == std::vector<std::uint8_t>{1, 1, 1, 1, 4});
  wide(1) = 0;
  CHECK(bytes.to_vector<std::uint8_t>() == std::vector<std::uint8_t>{1, 1, 0, 0, 4});
}

TEST_CASE("assigning a view what it shows already is no write, even where elements repeat") {
  Tensor x = arange(24).expand({2, 24});
  x(slice(), slice(16, -2)) = x.as_strided({6}, {1}, 16);
  CHECK(x(1).to_vector<std::int64_t>()[17] == 17);
  CHECK_THROWS_WITH(x(slice(), slice(0, 2)) = tensor({5, 6}), Catch::Matchers::ContainsSubstring("more than one element"));
}
