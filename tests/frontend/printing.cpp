// The printed text, character by character. Expected texts are PyTorch 2.15's with braze for torch.
#include <limits>
#include <sstream>

#include "braze/braze.h"
#include "tests/catch.h"

using namespace braze;

TEST_CASE("integers, booleans, scalars") {
  CHECK(tensor({{1, -20}, {300, 4}}).str() == "tensor([[  1, -20],\n        [300,   4]])");
  CHECK(tensor({true, false}).str() == "tensor([ True, False])");
  CHECK(tensor(3.5).str() == "tensor(3.5000)");
  CHECK(tensor(7).str() == "tensor(7)");
  CHECK(tensor({1, 2}, {int32}).str() == "tensor([1, 2], dtype=braze.int32)");
}

TEST_CASE("floats: whole, fixed and scientific") {
  CHECK(tensor({1., 2., 3.}).str() == "tensor([1., 2., 3.])");
  CHECK(tensor({0.1, 22.25}).str() == "tensor([ 0.1000, 22.2500])");
  CHECK(tensor({1e-5, 1.}).str() == "tensor([1.0000e-05, 1.0000e+00])");
  CHECK(tensor({1e9, 1.}).str() == "tensor([1.0000e+09, 1.0000e+00])");
  CHECK(zeros({2}).str() == "tensor([0., 0.])");
  const double inf = std::numeric_limits<double>::infinity();
  CHECK(tensor({1.5, inf, -inf}).str() == "tensor([1.5000,    inf,   -inf])");
  CHECK(tensor({std::numeric_limits<double>::quiet_NaN()}).str() == "tensor([nan])");
  CHECK(tensor({-0.0, 1.}).str() == "tensor([-0., 1.])");
  CHECK(tensor({1., 2.}, {float64}).str() == "tensor([1., 2.], dtype=braze.float64)");
}

TEST_CASE("empty, summarised, wrapped and three-dimensional") {
  CHECK(zeros({0}).str() == "tensor([])");
  CHECK(zeros({0, 3}).str() == "tensor([], size=(0, 3))");
  CHECK(zeros({0}, {int64}).str() == "tensor([], dtype=braze.int64)");
  CHECK(arange(1001).str() == "tensor([   0,    1,    2,  ...,  998,  999, 1000])");
  CHECK(zeros({2, 1, 2}).str() == "tensor([[[0., 0.]],\n\n        [[0., 0.]]])");
  CHECK(arange(25).str() ==
        "tensor([ 0,  1,  2,  3,  4,  5,  6,  7,  8,  9, 10, 11, 12, 13, 14, 15, 16, 17,\n        18, 19, 20, 21, 22, 23, 24])");
}

TEST_CASE("operator<< prints the same") {
  std::ostringstream out;
  out << ones({2});
  CHECK(out.str() == "tensor([1., 1.])");
}
