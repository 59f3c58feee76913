// The printed text, character by character. Expected texts are PyTorch 2.15's with braze for torch.
#include <fmt/format.h>

#include <limits>
#include <sstream>

#include "braze/braze.h"
#include "braze/format.h"
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

TEST_CASE("numbers as PyTorch rounds, widens and switches notation") {
  const double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  CHECK(tensor({1e5, 1.}).str() == "tensor([1.0000e+05, 1.0000e+00])");
  CHECK(tensor({99999999.}).str() == "tensor([100000000.])");
  CHECK(tensor({123456789.}).str() == "tensor([1.2346e+08])");
  CHECK(tensor({0.00012, 0.00034}).str() == "tensor([0.0001, 0.0003])");
  CHECK(tensor({nan, 1.}).str() == "tensor([nan, 1.])");
  CHECK(tensor({1000000., nan}).str() == "tensor([1000000.,      nan])");
  CHECK(tensor({1., inf}).str() == "tensor([1., inf])");
  CHECK(tensor({nan, 1e-5, 0.1}).str() == "tensor([       nan, 1.0000e-05, 1.0000e-01])");
  CHECK(tensor({0.1, 65504.}, {float16}).str() == "tensor([9.9976e-02, 6.5504e+04], dtype=braze.float16)");
  CHECK(tensor({1.5, 2}, {bfloat16}).str() == "tensor([1.5000, 2.0000], dtype=braze.bfloat16)");
  CHECK(tensor({1e-310}, {float64}).str() == "tensor([1.0000e-310], dtype=braze.float64)");
  CHECK(tensor({2.34565, 2.34575}).str() == "tensor([2.3456, 2.3458])");
  CHECK(tensor({std::int64_t{1} << 62, std::int64_t{1}}).str() == "tensor([4611686018427387904,                   1])");
  CHECK(tensor({-1e-6, 2e6}).str() == "tensor([-1.0000e-06,  2.0000e+06])");
  CHECK(arange(8).reshape({2, 2, 1, 2}).str() ==
        "tensor([[[[0, 1]],\n\n         [[2, 3]]],\n\n\n        [[[4, 5]],\n\n         [[6, 7]]]])");
}

TEST_CASE("print options") {
  struct Restore {
    ~Restore() { set_printoptions({.profile = "default"}); }
  } restore;
  set_printoptions({.precision = 2});
  CHECK(tensor({1.23456, 2.5}).str() == "tensor([1.23, 2.50])");
  set_printoptions({.threshold = 5, .edgeitems = 1});
  CHECK(arange(10).str() == "tensor([0,  ..., 9])");
  set_printoptions({.threshold = 1000, .linewidth = 30});
  CHECK(arange(20).str() ==
        "tensor([ 0,  1,  2,  3,  4,\n         5,  6,  7,  8,  9,\n        10, 11, 12, 13, 14,\n        15, 16, 17, 18, 19])");
  set_printoptions({.sci_mode = true});
  CHECK(tensor({1.5}).str() == "tensor([1.50e+00])");
  set_printoptions({.profile = "default"});
  CHECK(tensor({1.23456}).str() == "tensor([1.2346])");
  set_printoptions({.sci_mode = false});
  CHECK(tensor({1e-5, 1.}).str() == "tensor([0.0000, 1.0000])");
  CHECK(tensor({1e9, 1.5}).str() == "tensor([1000000000.0000,          1.5000])");
  set_printoptions({.profile = "full"});
  CHECK(arange(2000).str().find("...") == std::string::npos);
  CHECK(*get_printoptions().edgeitems == 3);
  CHECK_THROWS_AS(set_printoptions({.profile = "wide"}), ValueError);
  CHECK_THROWS_AS(set_printoptions({.precision = -1}), ValueError);
}

TEST_CASE("streams and fmt print the same text") {
  const std::vector<Tensor> tensors = {tensor({1., 2.5}),
                                       tensor({{1, -20}, {300, 4}}),
                                       arange(2000),
                                       zeros({0, 3}),
                                       tensor(true),
                                       tensor({0.1, 65504.}, {float16}),
                                       rand({30, 4}).t(),
                                       full({2}, 1e-9),
                                       ones({2}).requires_grad_()};
  const auto same = [&] {
    for (const Tensor& x : tensors) {
      std::ostringstream stream;
      stream << x;
      CHECK(stream.str() == x.str());
      CHECK(fmt::format("{}", x) == x.str());
    }
  };
  same();
  set_printoptions({.precision = 2, .threshold = 5, .linewidth = 40});
  same();
  set_printoptions({.profile = "default"});
  CHECK(fmt::format("{:>30}", tensors[0]).size() == 30);
}

TEST_CASE("dtypes and devices print as PyTorch's") {
  std::ostringstream stream;
  stream << bfloat16 << " " << bool_ << " " << Device("cuda:1") << " " << ones({1}).device();
  CHECK(stream.str() == "braze.bfloat16 braze.bool cuda:1 cpu");
  CHECK(ones({2}).requires_grad_().str() == "tensor([1., 1.], requires_grad=True)");
}
