// Indexing by tensors and masks, gather, scatter and their kin. Expected values are PyTorch's.
#include "braze/braze.h"
#include "tests/catch.h"

using namespace braze;

namespace {

Tensor matrix() { return arange(12.0).reshape({3, 4}); }
Tensor cube() { return arange(24).reshape({2, 3, 4}); }
std::vector<float> floats(const Tensor& t) { return t.to(float32).to_vector<float>(); }
std::vector<std::int64_t> ints(const Tensor& t) { return t.to(int64).to_vector<std::int64_t>(); }

}  // namespace

TEST_CASE("Integer tensors pick along a dim", "[picking]") {
  const Tensor v = arange(10), m = matrix(), x = cube();
  CHECK(ints(v(tensor({0, 9, -1}))) == std::vector<std::int64_t>{0, 9, 9});
  CHECK(Tensor(m(tensor({{0, 1}, {2, 0}}))).sizes() == Sizes{2, 2, 4});
  CHECK(floats(m(tensor({2, 0}), slice(1, 3))) == std::vector<float>{9, 10, 1, 2});
  CHECK(floats(m(slice(), tensor({0, 0}))) == std::vector<float>{0, 0, 4, 4, 8, 8});
  CHECK(floats(m(tensor({{0}, {2}}), tensor({0, 3}))) == std::vector<float>{0, 3, 8, 11});
  // Index tensors apart put their dims first.
  const Tensor apart = x(tensor({0, 1}), slice(), tensor({0, 3}));
  CHECK(apart.sizes() == Sizes{2, 3});
  CHECK(ints(apart) == std::vector<std::int64_t>{0, 4, 8, 15, 19, 23});
  CHECK(Tensor(x(slice(), tensor({0, 1}), tensor({0, 3}))).sizes() == Sizes{2, 2});
  CHECK(Tensor(x(tensor({1}), newaxis, tensor({2}))).sizes() == Sizes{1, 1, 4});
  CHECK(Tensor(m(zeros({0}, {int64}))).sizes() == Sizes{0, 4});
  // Through a view: positions count in the storage.
  CHECK(floats(m.t()(slice(1, 3), slice())(tensor({1}), tensor({2}))) == std::vector<float>{10});
  CHECK(ints(v(slice(9, 0, 1))(zeros({0}, {int64}))).empty());
}

TEST_CASE("Masks pick in row-major order", "[picking]") {
  const Tensor m = matrix(), x = cube();
  CHECK(floats(m(m > 8)) == std::vector<float>{9, 10, 11});
  CHECK(floats(m(tensor({true, false, true}))).size() == 8);
  CHECK(floats(m(tensor({true, false, true}), 1)) == std::vector<float>{1, 9});
  CHECK(Tensor(x(slice(), ones({3, 4}, {bool_}))).sizes() == Sizes{2, 12});
  CHECK(Tensor(m(true)).sizes() == Sizes{1, 3, 4});
  CHECK(Tensor(m(false)).sizes() == Sizes{0, 3, 4});
  CHECK_THROWS_AS(m(tensor({true, false})).value(), IndexError);
  CHECK_THROWS_AS(m(tensor({0, 1}), tensor({0, 1, 2})).value(), IndexError);
  CHECK_THROWS_AS(m(tensor({1.5})).value(), IndexError);
}

TEST_CASE("Writes through tensor indices land in the storage", "[picking]") {
  Tensor v = arange(10);
  v(tensor({1, 3})) = tensor({100, 300});
  v(tensor({-1, -2})) = tensor({5, 6});
  CHECK(ints(v) == std::vector<std::int64_t>{0, 100, 2, 300, 4, 5, 6, 7, 6, 5});
  Tensor m = matrix();
  const Tensor transposed = m.t();
  transposed(tensor({0, 3}), tensor({2, 0})) = -1;
  CHECK(m(2, 0).item<float>() == -1);
  CHECK(m(0, 3).item<float>() == -1);
  m(m > 8) = tensor({1.0, 2.0, 3.0});
  CHECK(floats(m(2)) == std::vector<float>{-1, 1, 2, 3});
  m(m < 0) = 42;
  CHECK(m(2, 0).item<float>() == 42);
  m(tensor({0, 0})) += 1;  // read once, written twice: added once
  CHECK(m(0, 0).item<float>() == 1);
  Tensor z = zeros({4});
  z.index_put_(std::vector<Index>{Index(tensor({1, 1}))}, tensor({5.0, 6.0}), true);
  CHECK(floats(z) == std::vector<float>{0, 11, 0, 0});
  CHECK_THROWS_AS((m(m > 8) = tensor({1.0, 2.0, 3.0})), ShapeError);  // two are
}

TEST_CASE("Indices outside a dim are an IndexError, at the call where they are known, and the tensor stays usable", "[picking]") {
  Tensor v = arange(10);
  CHECK_THROWS_AS(v.index(std::vector<Index>{Index(tensor({0, 10}))}), IndexError);
  CHECK_THROWS_AS((v(tensor({11})) = 1), IndexError);
  CHECK_THROWS_AS(index_select(v, 0, tensor({-1})), IndexError);
  CHECK_THROWS_AS(gather(v, 0, tensor({-1})), Error);
  // Pending indices are looked at when a value is needed.
  const Tensor pending = tensor({0, 9}) + 1;
  CHECK_THROWS_AS(Tensor(v(pending)).to_vector<std::int64_t>(), IndexError);
  CHECK_THROWS_AS(gather(v, 0, tensor({1, 0}) - 1).to_vector<std::int64_t>(), IndexError);
  v(tensor({9}) + 1) = 1;
  CHECK_THROWS_AS(v.to_vector<std::int64_t>(), IndexError);
  CHECK(ints(arange(3)(tensor({2}))) == std::vector<std::int64_t>{2});
}

TEST_CASE("gather and scatter address one element an index", "[picking]") {
  const Tensor m = arange(6).reshape({2, 3});
  CHECK(ints(gather(m, 1, tensor({{2, 0}, {1, 1}}))) == std::vector<std::int64_t>{2, 0, 4, 4});
  CHECK(ints(gather(m, 0, tensor({{1, 0, 1}}))) == std::vector<std::int64_t>{3, 1, 5});
  CHECK(floats(scatter(zeros({2, 4}), 1, tensor({{1, 2}}), tensor({{5.0, 6.0}}))) == std::vector<float>{0, 5, 6, 0, 0, 0, 0, 0});
  CHECK(floats(scatter(ones({3}), 0, tensor({0, 0}), tensor({2.0, 3.0}), "add")) == std::vector<float>{6, 1, 1});
  const auto reduced = [](std::string_view how, bool include_self) {
    return floats(scatter_reduce(ones({2}), 0, tensor({0, 0, 1}), tensor({2.0, 4.0, 3.0}), how, include_self));
  };
  CHECK(reduced("sum", true) == std::vector<float>{7, 4});
  CHECK(reduced("prod", true) == std::vector<float>{8, 3});
  CHECK(reduced("mean", true) == std::vector<float>{7.0f / 3, 2});
  CHECK(reduced("mean", false) == std::vector<float>{3, 3});
  CHECK(reduced("amax", true) == std::vector<float>{4, 3});
  CHECK(reduced("amin", false) == std::vector<float>{2, 3});
  CHECK_THROWS_AS(gather(m, 1, tensor({0})), Error);
  CHECK_THROWS_AS(scatter(zeros({2}), 0, tensor({0}), tensor({1, 2})), Error);
}

TEST_CASE("Whole slices are added, copied and filled", "[picking]") {
  CHECK(floats(zeros({3}).index_add_(0, tensor({0, 0, 2}), tensor({1.0, 2.0, 3.0}))) == std::vector<float>{3, 0, 3});
  CHECK(floats(ones({2, 2}).index_add_(1, tensor({1, 1}), ones({2, 2}), -2)) == std::vector<float>{1, -3, 1, -3});
  CHECK(floats(zeros({3}).index_copy_(0, tensor({2, 0}), tensor({1.0, 2.0}))) == std::vector<float>{2, 0, 1});
  CHECK(floats(zeros({2, 3}).index_fill_(1, tensor({1}), -1)) == std::vector<float>{0, -1, 0, 0, -1, 0});
  CHECK(floats(ones({2}).index_reduce_(0, tensor({0, 0}), tensor({5.0, 2.0}), "prod")) == std::vector<float>{10, 1});
  CHECK(ints(arange(5).put_(tensor({0, -1}), tensor({7, 8}))) == std::vector<std::int64_t>{7, 1, 2, 3, 8});
  CHECK(floats(matrix().t().clone().t().put_(tensor({1, 4}), tensor({-1.0, -2.0}))).at(4) == -2);
}

TEST_CASE("nonzero, masked_select and take_along_dim", "[picking]") {
  const Tensor m = matrix();
  CHECK(ints(nonzero(m > 9)) == std::vector<std::int64_t>{2, 2, 2, 3});
  CHECK(nonzero(tensor(5)).sizes() == Sizes{1, 0});
  CHECK(nonzero(tensor(0)).sizes() == Sizes{0, 0});
  CHECK(floats(masked_select(m, tensor({true, false, false, true}))) == std::vector<float>{0, 3, 4, 7, 8, 11});
  CHECK(floats(m.take_along_dim(tensor({{1}, {0}, {2}}), 1)) == std::vector<float>{1, 4, 10});
  CHECK(floats(m.take(tensor({3, -1}))) == std::vector<float>{3, 11});
  CHECK(floats(zeros({4}).masked_scatter_(tensor({true, false, true, false}), tensor({1.0, 2.0, 3.0}))) ==
        std::vector<float>{1, 0, 2, 0});
  CHECK(floats(select_scatter(m, zeros({4}), 0, 1)).at(5) == 0);
}

TEST_CASE("assigning by index: what PyTorch fills, copies and refuses") {
  // Each line as torch 2.15 has it.
  Tensor x = arange(6).view({2, 3});
  x(slice()) = x(0, slice());  // broadcast over its own memory: not refused, since an expanded operand is not dense
  CHECK(x.to_vector<std::int64_t>() == std::vector<std::int64_t>{0, 1, 2, 0, 1, 2});
  Tensor y = arange(5);
  y(slice()) = y(1);  // one value fills
  CHECK(y.to_vector<std::int64_t>() == std::vector<std::int64_t>(5, 1));
  Tensor z = arange(3).expand({2, 3});
  z(slice()) = z(slice());  // the same view: nothing to copy
  z(0, slice()) = 5;
  CHECK(z.to_vector<std::int64_t>() == std::vector<std::int64_t>(6, 5));
  CHECK_THROWS_AS(z += 1, Error);
  Tensor w = arange(6);
  CHECK_THROWS_AS(w(slice(1, 4)) = w(slice(0, 3)), Error);  // dense and overlapping

  const Tensor rows = tensor({0, 1}), mask = tensor({1, 0, 1}, {.dtype = DType::boolean});
  Tensor i = tensor({1, 0, 1}, {.dtype = int32});
  CHECK_THROWS_WITH((i(rows) = tensor({5, 6}, {.dtype = int64})),
                    Catch::Matchers::ContainsSubstring(
                        "Index put requires the source and destination dtypes match, got Int for the destination and Long"));
  CHECK_THROWS_AS(i(mask) = tensor({5, 6}, {.dtype = int64}), Error);
  i(mask) = tensor({6.5});  // one value under a mask alone is a fill
  CHECK(i.to_vector<std::int32_t>() == std::vector<std::int32_t>{6, 0, 6});
}
