// What the fuzzers found, each in its least form.
#include <cmath>

#include "braze/braze.h"
#include "tests/catch.h"

using namespace braze;

TEST_CASE("evaluating one reader of a pending value keeps what another reader will compute it from again") {
  Tensor x = tensor({1.0, 0.5, 0.25});
  x.atanh_();
  const Tensor y = minimum(x, 2);
  x.floor_();
  CHECK(y.to_vector<float>() == std::vector<float>{2, std::atanh(0.5f), std::atanh(0.25f)});
  CHECK(x.to_vector<float>() == std::vector<float>{INFINITY, 0, 0});
}
