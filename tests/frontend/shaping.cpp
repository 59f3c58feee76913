// Joining, repeating, moving, padding. Expected values are PyTorch 2.15's.
#include "braze/braze.h"
#include "tests/catch.h"
#include "tests/frontend/values.h"

using namespace braze;
using namespace braze::test;

namespace {

std::vector<std::int64_t> as_integers(const Tensor& t) { return t.contiguous().to(int64).to_vector<std::int64_t>(); }

Tensor matrix() { return arange(6).reshape({2, 3}); }

}  // namespace

TEST_CASE("cat and stack") {
  const Tensor m = matrix();
  CHECK(as_integers(cat({m, m * 10}, 1)) == Integers{0, 1, 2, 0, 10, 20, 3, 4, 5, 30, 40, 50});
  CHECK(cat({zeros({0}), zeros({3, 4})}).sizes() == Sizes{3, 4});
  CHECK(cat({m, zeros({1, 3})}).dtype() == float32);
  CHECK(as_integers(stack({m, m}, -1)) == Integers{0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5});
  CHECK(stack({tensor(1), tensor(2)}).sizes() == Sizes{2});
  CHECK_THROWS_AS(cat({zeros({0, 3}), zeros({3, 4})}), ShapeError);
  CHECK_THROWS_AS(cat({m, zeros({2, 4})}), ShapeError);
  CHECK_THROWS_AS(cat(std::vector<Tensor>{}), ValueError);
  CHECK_THROWS_AS(cat({tensor(1), tensor(2)}), Error);
  CHECK_THROWS_AS(stack({m, arange(5)}), ShapeError);
  const Tensor joined = cat({m, m});
  joined(0, 0) = 99;
  CHECK(as_integers(m)[0] == 0);
}

TEST_CASE("along rows, columns, depth") {
  const Tensor v = arange(2), m = matrix();
  CHECK(as_integers(hstack({v, v})) == Integers{0, 1, 0, 1});
  CHECK(as_integers(hstack({m, m})) == Integers{0, 1, 2, 0, 1, 2, 3, 4, 5, 3, 4, 5});
  CHECK(vstack({v, v}).sizes() == Sizes{2, 2});
  CHECK(dstack({m, m}).sizes() == Sizes{2, 3, 2});
  CHECK(as_integers(column_stack({v, v})) == Integers{0, 0, 1, 1});
  CHECK(as_integers(block_diag({tensor({{1, 2}}), tensor(3)})) == Integers{1, 2, 0, 0, 0, 3});
}

TEST_CASE("repeating") {
  const Tensor v = arange(2), m = matrix();
  CHECK(as_integers(v.repeat({2, 3})) == Integers{0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1});
  CHECK(as_integers(tensor(7).repeat({2, 2})) == Integers{7, 7, 7, 7});
  CHECK(m.repeat({1, 0}).sizes() == Sizes{2, 0});
  CHECK_THROWS_AS(m.repeat({2}), Error);
  CHECK(as_integers(m.tile({2})) == Integers{0, 1, 2, 0, 1, 2, 3, 4, 5, 3, 4, 5});
  CHECK(as_integers(arange(3).repeat_interleave(2)) == Integers{0, 0, 1, 1, 2, 2});
  CHECK(as_integers(m.repeat_interleave(2, 1)) == Integers{0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5});
  CHECK(as_integers(repeat_interleave(arange(3), tensor({1, 0, 2}))) == Integers{0, 2, 2});
  CHECK(as_integers(m.repeat_interleave(tensor({1, 2}), 0)) == Integers{0, 1, 2, 3, 4, 5, 3, 4, 5});
  CHECK(as_integers(repeat_interleave(tensor({1, 0, 2}))) == Integers{0, 2, 2});
  CHECK_THROWS_AS(m.repeat_interleave(tensor({1, -2}), 0), Error);
  Tensor copy = arange(1.0).repeat({3});
  copy(0) = 5;
  CHECK(as_integers(copy) == Integers{5, 0, 0});
}

TEST_CASE("turning and shifting") {
  const Tensor m = matrix();
  CHECK(as_integers(rot90(m)) == Integers{2, 5, 1, 4, 0, 3});
  CHECK(as_integers(rot90(m, 2)) == Integers{5, 4, 3, 2, 1, 0});
  CHECK(as_integers(rot90(m, -1)) == Integers{3, 0, 4, 1, 5, 2});
  CHECK(as_integers(m.roll(1)) == Integers{5, 0, 1, 2, 3, 4});
  CHECK(as_integers(m.roll({1, -1}, {0, 1})) == Integers{4, 5, 3, 1, 2, 0});
  CHECK(as_integers(m.roll(7, 1)) == Integers{2, 0, 1, 5, 3, 4});
  CHECK(as_integers(m.t().flip({0})) == Integers{2, 5, 1, 4, 0, 3});
  CHECK(m.t().flip({0}).strides() == Sizes{1, 3});
  CHECK(as_integers(m.fliplr()) == Integers{2, 1, 0, 5, 4, 3});
  CHECK_THROWS_AS(m.flip({0, -2}), Error);
  CHECK_THROWS_AS(m.roll({1, 2}, {0}), Error);
  CHECK(zeros({0, 3}).roll(2).sizes() == Sizes{0, 3});
}

TEST_CASE("triangles and diagonals") {
  CHECK(as_integers(ones({3, 3}).tril()) == Integers{1, 0, 0, 1, 1, 0, 1, 1, 1});
  CHECK(as_integers(ones({2, 3}).triu(1)) == Integers{0, 1, 1, 0, 0, 1});
  Tensor x = ones({3, 3});
  CHECK(as_integers(x.triu_(1)) == Integers{0, 1, 1, 0, 0, 1, 0, 0, 0});
  CHECK(ones({2, 2}, {bool_}).tril().dtype() == bool_);
  CHECK(as_integers(diag(tensor({1, 2}), 1)) == Integers{0, 1, 0, 0, 0, 2, 0, 0, 0});
  CHECK(as_integers(diag(arange(9).reshape({3, 3}), -1)) == Integers{3, 7});
  CHECK(as_integers(diag_embed(tensor({{1, 2}, {3, 4}}))) == Integers{1, 0, 0, 2, 3, 0, 0, 4});
  CHECK(as_integers(diag_embed(tensor({1, 2}), 0, 1, 0)) == Integers{1, 0, 0, 2});
  CHECK(as_integers(zeros({2, 4}).fill_diagonal_(1)) == Integers{1, 0, 0, 0, 0, 1, 0, 0});
  CHECK(as_integers(zeros({7, 3}).fill_diagonal_(1, true)) ==
        Integers{1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1});
  CHECK(as_integers(kron(tensor({{1, 2}}), tensor({{1}, {10}}))) == Integers{1, 2, 10, 20});
  CHECK_THROWS_AS(tril(arange(3)), Error);
  CHECK_THROWS_AS(diag(zeros({2, 2, 2})), Error);
}

TEST_CASE("padding") {
  const Tensor m = matrix(), f = arange(12.0).reshape({3, 4});
  CHECK(as_integers(pad(m, {1, 2})) == Integers{0, 0, 1, 2, 0, 0, 0, 3, 4, 5, 0, 0});
  CHECK(as_integers(pad(m, {1, 0, 0, 1}, 9)) == Integers{9, 0, 1, 2, 9, 3, 4, 5, 9, 9, 9, 9});
  CHECK(as_integers(pad(f, {-1, 1})) == Integers{1, 2, 3, 0, 5, 6, 7, 0, 9, 10, 11, 0});
  const Tensor row = arange(4.0).reshape({1, 4});
  CHECK(as_integers(pad(row, {2, 1}, "reflect")) == Integers{2, 1, 0, 1, 2, 3, 2});
  CHECK(as_integers(pad(row, {2, 1}, "replicate")) == Integers{0, 0, 0, 1, 2, 3, 3});
  CHECK(as_integers(pad(row, {2, 1}, "circular")) == Integers{2, 3, 0, 1, 2, 3, 0});
  CHECK(as_integers(pad(arange(4.0).reshape({1, 2, 2}), {1, 0, 1, 0}, "reflect")) == Integers{3, 2, 3, 1, 0, 1, 3, 2, 3});
  CHECK_THROWS_AS(pad(row, {4, 0}, "reflect"), Error);
  CHECK_THROWS_AS(pad(row, {5, 0}, "circular"), Error);
  CHECK_THROWS_AS(pad(row, {1, 1}, "mirror"), NotImplementedError);
  CHECK_THROWS_AS(pad(m, {1, 2, 3}), Error);
  CHECK_THROWS_AS(pad(m, {-4, 0}), ShapeError);
}

TEST_CASE("a result where the caller wants it") {
  Tensor out = empty({0});
  CHECK(write_out(out, tensor({1.f, 2.f})).sizes() == Sizes{2});
  CHECK(as_integers(out) == Integers{1, 2});
  const Tensor m = zeros({2, 2});
  Tensor row = m(1);
  write_out(row, tensor({3, 4}));
  CHECK(as_integers(m) == Integers{0, 0, 3, 4});
  Tensor whole = zeros({2}, {int64});
  CHECK_THROWS_AS(write_out(whole, tensor({1.5f, 2.f})), Error);
}

TEST_CASE("overlapping reads and writes are refused") {
  Tensor v = arange(6.0);
  CHECK_THROWS_AS(v(slice(1)).copy_(v(slice(none, -1))), Error);
  CHECK_THROWS_AS(v(slice(1)).add_(v(slice(none, -1))), Error);
  CHECK_THROWS_AS(zeros({3}).copy_(zeros({4})), ShapeError);
  CHECK_THROWS_AS(zeros({3}).fill_(zeros({1})), Error);
  v(slice(1)) = v(slice(none, -1)).clone();
  CHECK(as_integers(v) == Integers{0, 0, 1, 2, 3, 4});
}

TEST_CASE("devices") {
  CHECK(zeros({1}).device() == Device("cpu"));
  CHECK(Device("cuda:1").index == 1);
  CHECK(Device("cuda:1").str() == "cuda:1");
  CHECK_THROWS_AS(Device("gpu"), Error);
  CHECK_THROWS_AS(zeros({1}).to(Device("cuda")), DeviceError);
}
