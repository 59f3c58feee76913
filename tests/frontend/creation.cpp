// Making tensors. Expected values are PyTorch 2.15's.
#include <cmath>
#include <limits>

#include "braze/braze.h"
#include "tests/catch.h"
#include "tests/frontend/values.h"

using namespace braze;
using namespace braze::test;

namespace {

std::vector<std::int64_t> as_integers(const Tensor& t) { return t.contiguous().to(int64).to_vector<std::int64_t>(); }
std::vector<double> as_doubles(const Tensor& t) { return t.contiguous().to(float64).to_vector<double>(); }

}  // namespace

TEST_CASE("constants") {
  CHECK(zeros({}).dim() == 0);
  CHECK(zeros({2, 0, 3}).numel() == 0);
  CHECK(full({2}, 3).dtype() == int64);
  CHECK(full({2}, true).dtype() == bool_);
  CHECK(full({}, 2.5).dtype() == float32);
  CHECK(scalar_tensor(3).dtype() == float32);
  CHECK(scalar_tensor(3).item<float>() == 3);
  CHECK(full_like(tensor({1, 2}), 3.7).dtype() == int64);
  CHECK(as_integers(full_like(tensor({1, 2}), 3.7)) == Integers{3, 3});
  CHECK(zeros_like(tensor({1, 2}), {float64}).dtype() == float64);
  CHECK_THROWS_WITH(zeros({-1}), "Trying to create tensor with negative dimension -1: [-1]");
  CHECK_THROWS_AS(zeros({std::int64_t{1} << 62, 4}), ShapeError);
  const Tensor x = tensor({1, 2}, {int16});
  CHECK(x.new_zeros({2}).dtype() == int16);
  CHECK(as_integers(x.new_full({2}, 5)) == Integers{5, 5});
  CHECK(x.new_ones({1, 2}, float32).dtype() == float32);
  const Tensor strided = empty_strided({2, 3}, {1, 4});
  CHECK(strided.strides() == Sizes{1, 4});
  CHECK(strided.storage_nbytes() == 10 * 4);
}

TEST_CASE("arange: lengths, dtypes, directions") {
  CHECK(arange(0, 0.3, 0.1).size(0) == 3);
  CHECK(arange(1, 1.3, 0.1).size(0) == 4);
  CHECK(arange(0, 1, 1.0 / 3).size(0) == 3);
  CHECK(arange(3, 3).size(0) == 0);
  CHECK(as_integers(arange(0, 3, 5)) == Integers{0});
  CHECK(as_integers(arange(5, 0, -2)) == Integers{5, 3, 1});
  CHECK(arange(0., 3., 1, {int64}).dtype() == int64);
  CHECK(as_integers(arange(0.9, 3.9, 1, {int64})) == Integers{0, 1, 2});
  CHECK(arange(std::int64_t{1} << 62, (std::int64_t{1} << 62) + 3).size(0) == 3);
  CHECK_THROWS_WITH(arange(0, 3, -1), "upper bound and lower bound inconsistent with step sign");
  CHECK_THROWS_WITH(arange(0, 3, 0), "step must be nonzero");
  CHECK(as_doubles(arange(0, 1, 0.1))[6] == static_cast<double>(0.6f));
}

TEST_CASE("linspace and logspace") {
  CHECK(as_doubles(linspace(-1, 1, 5)) == Doubles{-1, -0.5, 0, 0.5, 1});
  CHECK(as_doubles(linspace(0, 1, 7, {float64})) ==
        Doubles{0.0, 0.16666666666666666, 0.3333333333333333, 0.5, 0.6666666666666667, 0.8333333333333334, 1.0});
  CHECK(as_integers(linspace(0, 10, 5, {int64})) == Integers{0, 2, 5, 7, 10});
  CHECK(as_doubles(linspace(3, 3, 3)) == Doubles{3, 3, 3});
  CHECK(linspace(0, 1, 0).numel() == 0);
  CHECK(as_doubles(linspace(2, 9, 1)) == Doubles{2});
  CHECK(as_doubles(logspace(0, 3, 4)) == Doubles{1, 10, 100, 1000});
  CHECK(as_doubles(logspace(-2, 2, 5, 2)) == Doubles{0.25, 0.5, 1, 2, 4});
  CHECK_THROWS_AS(linspace(0, 1, -1), Error);
}

TEST_CASE("eye and the indices of triangles") {
  CHECK(as_integers(eye(2, 3)) == Integers{1, 0, 0, 0, 1, 0});
  CHECK(eye(0).sizes() == Sizes{0, 0});
  CHECK(as_integers(tril_indices(3, 3)) == Integers{0, 1, 1, 2, 2, 2, 0, 0, 1, 0, 1, 2});
  CHECK(as_integers(triu_indices(2, 4, 1)) == Integers{0, 0, 0, 1, 1, 1, 2, 3, 2, 3});
  CHECK(as_integers(tril_indices(4, 3, -1)) == Integers{1, 2, 2, 3, 3, 3, 0, 0, 1, 0, 1, 2});
}

TEST_CASE("combinations of vectors") {
  const std::vector<Tensor> grids = meshgrid({arange(2), arange(3)}, "xy");
  CHECK(grids[0].sizes() == Sizes{3, 2});
  CHECK(as_integers(grids[0]) == Integers{0, 1, 0, 1, 0, 1});
  CHECK(as_integers(grids[1]) == Integers{0, 0, 1, 1, 2, 2});
  CHECK(meshgrid({arange(2), arange(3)})[1].strides() == Sizes{0, 1});
  CHECK(as_integers(cartesian_prod({tensor({1, 2}), tensor({3, 4, 5})})) == Integers{1, 3, 1, 4, 1, 5, 2, 3, 2, 4, 2, 5});
  CHECK(as_integers(combinations(tensor({1, 2, 3}))) == Integers{1, 2, 1, 3, 2, 3});
  CHECK(as_integers(combinations(tensor({1, 2}), 2, true)) == Integers{1, 1, 1, 2, 2, 2});
  CHECK(combinations(tensor({1, 2, 3}), 3).sizes() == Sizes{1, 3});
  CHECK(combinations(tensor({1, 2}), 3).sizes() == Sizes{0, 3});
  CHECK(as_integers(vander(tensor({1, 2, 3}))) == Integers{1, 1, 1, 4, 2, 1, 9, 3, 1});
  CHECK(as_doubles(vander(tensor({1., 2.}), 3, true)) == Doubles{1, 1, 1, 1, 2, 4});
  CHECK(as_integers(one_hot(tensor({0, 2, 1}))) == Integers{1, 0, 0, 0, 0, 1, 0, 1, 0});
  CHECK(one_hot(tensor({{0}, {1}}), 3).sizes() == Sizes{2, 1, 3});
  CHECK_THROWS_AS(one_hot(tensor({5}), 3), Error);
  CHECK_THROWS_AS(one_hot(tensor({-1})), Error);
  CHECK_THROWS_AS(meshgrid({arange(2), arange(2.0)}), Error);
}
