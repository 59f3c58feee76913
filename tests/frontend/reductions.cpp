// Reductions: values as PyTorch 2.15 gives them, shapes, dtypes, refusals.
#include <cmath>
#include <limits>

#include "braze/braze.h"
#include "tests/catch.h"
#include "tests/frontend/values.h"

using namespace braze;
using namespace braze::test;

namespace {

constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN(), inf = std::numeric_limits<double>::infinity();

Tensor m() { return tensor({{3., -1., 4.}, {1., 5., -9.}}); }
Tensor x() { return arange(24).to(float32).reshape({2, 3, 4}); }

}  // namespace

TEST_CASE("sum: all, one, several dims, keepdim, dtype") {
  CHECK(m().sum().item<float>() == 3);
  CHECK(floats(m().sum(0)) == Floats{4, 4, -5});
  CHECK(floats(m().sum(-1)) == Floats{6, -3});
  CHECK(floats(x().sum({0, 2})) == Floats{60, 92, 124});
  CHECK(x().sum({0, 2}, true).sizes() == Sizes{1, 3, 1});
  CHECK(floats(sum(m(), {0, -1})) == Floats{3});
  CHECK(m().sum({}).dim() == 0);
  CHECK(m().sum(Sizes{}).dim() == 0);
  CHECK(floats(zeros({0, 3}).sum(0)) == Floats{0, 0, 0});
  CHECK(zeros({0, 3}).sum(1).sizes() == Sizes{0});
  CHECK(tensor(5.).sum(0).item<float>() == 5);
  CHECK(tensor(3).sum(-1).dtype() == int64);
  CHECK(sum(tensor({1.7, 1.7}), {}, false, int64).item<std::int64_t>() == 2);
  CHECK(sum(tensor({200, 100}), {}, false, uint8).item<int>() == 44);
  CHECK(sum(tensor({true, true}), {}, false, float32).item<float>() == 2);
  CHECK(tensor({true, true}).sum().item<int>() == 2);
  const std::int64_t big = std::int64_t{1} << 62;
  CHECK(tensor({big, big}).sum().item<std::int64_t>() == std::numeric_limits<std::int64_t>::min());
  CHECK(x().transpose(0, 2).sum({0, 1}).sizes() == Sizes{2});
  CHECK(floats(x().transpose(0, 2).sum({0, 1})) == Floats{66, 210});
}

TEST_CASE("sums of many float32 keep their digits") {
  close(full({100000}, 0.1).sum(), {10000.0009765625f}, 1e-6);
  close(ones({3, 70000}).sum(1), {70000, 70000, 70000}, 0);
  close(arange(1, 100001).to(float32).reciprocal().sum(), {12.090145111083984f}, 1e-6);
}

TEST_CASE("reductions refuse in PyTorch's words") {
  CHECK(refused<IndexError>([] { m().sum(2); }) == "Dimension out of range (expected to be in range of [-2, 1], but got 2)");
  CHECK(refused<Error>([] { m().sum({0, 0}); }) == "dim 0 appears multiple times in the list of dims");
  CHECK(refused<Error>([] { m().sum({0, -2}); }) == "dim 0 appears multiple times in the list of dims");
  CHECK(refused<IndexError>([] { tensor(5.).sum(1); }) == "Dimension out of range (expected to be in range of [-1, 0], but got 1)");
  CHECK(refused<Error>([] { zeros({0}).max(); }) ==
        "max(): Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim with the 'dim' argument.");
  CHECK(refused<IndexError>([] { zeros({0, 3}).max(0); }) == "max(): Expected reduction dim 0 to have non-zero size.");
  CHECK(refused<IndexError>([] { zeros({0}).argmax(); }) ==
        "argmax(): Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim with the 'dim' "
        "argument.");
  CHECK(refused<IndexError>([] { zeros({0, 3}).amin(0); }) == "amin(): Expected reduction dim 0 to have non-zero size.");
  CHECK(refused<Error>([] { tensor({1, 2}).mean(); }) ==
        "mean(): could not infer output dtype. Input dtype must be either a floating point or complex dtype. Got: Long");
  CHECK(refused<Error>([] { tensor({1, 2}).var(); }) == "std and var only support floating point and complex dtypes");
  CHECK(refused<NotImplementedError>([] { tensor({1, 2}).softmax(0); }) ==
        "\"softmax_lastdim_kernel_impl\" not implemented for 'Long'");
  CHECK(refused<NotImplementedError>([] { tensor({true}).argmax(); }) == "\"argmax_cpu\" not implemented for 'Bool'");
  CHECK(refused<Error>([] { tensor({1, 2}).norm(); }) ==
        "linalg.vector_norm: Expected a floating point or complex tensor as input. Got Long");
  CHECK(refused<TypeError>([] { sum(5); }) == "sum(): argument 'input' (position 1) must be Tensor, not int");
}

TEST_CASE("prod") {
  CHECK(m().prod().item<float>() == 540);
  CHECK(floats(m().prod(0)) == Floats{3, -5, -36});
  CHECK(m().prod(1, true).sizes() == Sizes{2, 1});
  CHECK(zeros({0}).prod().item<float>() == 1);
  CHECK(floats(zeros({3, 0}).prod(1)) == Floats{1, 1, 1});
  CHECK(tensor({true, false}).prod().dtype() == int64);
  const std::int64_t big = std::int64_t{1} << 40;
  CHECK(tensor({big, big}).prod().item<std::int64_t>() == 0);
}

TEST_CASE("mean and nanmean") {
  CHECK(floats(ones({3, 1}).mean(1)) == Floats{1, 1, 1});
  CHECK(mean(tensor({1, 2}), {}, false, float64).item<double>() == 1.5);
  CHECK(std::isnan(zeros({0}).mean().item<float>()));
  CHECK(ones({4}, {float16}).mean().dtype() == float16);
  CHECK(full({70000}, 1., {float16}).mean().item<float>() == 1);  // the sum would overflow float16
  CHECK(tensor({1., not_a_number, 3.}).nanmean().item<float>() == 2);
  CHECK(tensor({1., not_a_number, 3.}).nansum().item<float>() == 4);
  CHECK(std::isnan(tensor({not_a_number}).nanmean().item<float>()));
}

TEST_CASE("extremes: NaN wins, the first of equals counts") {
  CHECK(m().max().item<float>() == 5);
  CHECK(m().min().item<float>() == -9);
  CHECK(tensor({true, false}).max().dtype() == bool_);
  CHECK(std::isnan(tensor({1., not_a_number, 3.}).max().item<float>()));
  const auto [v, i] = tensor({1., not_a_number, not_a_number}).max(0);
  CHECK(std::isnan(v.item<float>()));
  CHECK(i.item<int>() == 1);
  CHECK(tensor({1, 3, 3}).max(0).indices.item<int>() == 1);
  CHECK(tensor({5, 5, 5}).min(0).indices.item<int>() == 0);
  CHECK(integers(m().argmax(0)) == Integers{0, 1, 0});
  CHECK(m().argmax({}, true).sizes() == Sizes{1, 1});
  CHECK(m().argmin(1, true).sizes() == Sizes{2, 1});
  CHECK(zeros({0, 3}).max(1).values.sizes() == Sizes{0});
  const auto [low, high] = m().aminmax(1);
  CHECK(floats(low) == Floats{-1, -9});
  CHECK(floats(high) == Floats{4, 5});
  CHECK(floats(max(m(), zeros({3}))) == Floats{3, 0, 4, 1, 5, 0});
  CHECK(floats(min(m(), tensor(0.))) == Floats{0, -1, 0, 0, 0, -9});
  CHECK(tensor(2.).max(0).indices.item<int>() == 0);
}

TEST_CASE("truth") {
  CHECK(tensor({{true, false}, {false, false}}).any(1, true).sizes() == Sizes{2, 1});
  CHECK(ones({2, 3}).all({0, 1}).item<bool>());
  CHECK(tensor({2, 0}, {uint8}).all().dtype() == uint8);
  CHECK(tensor({not_a_number, 0.}).any().item<bool>());
  CHECK(m().any(Sizes{}).sizes() == Sizes{2, 3});  // no dim, unlike elsewhere
  CHECK_FALSE(zeros({0}).any().item<bool>());
  CHECK(zeros({0}).all().item<bool>());
  CHECK(integers(tensor({{1, 0}, {2, 3}}).count_nonzero(0)) == Integers{2, 1});
}

TEST_CASE("variance and deviation") {
  close(m().std({}, 0), {4.68152379989624f});
  close(m().var(1, 2), {14, 104});
  close(m().var({}, 0), {21.91666603088379f});
  close(m().std(1, 0), {2.1602468490600586f, 5.887840747833252f});
  close(m().var(0, 1, true), {2, 18, 84.5});
  CHECK(m().var(0, 1, true).sizes() == Sizes{1, 3});
  close(tensor({1.}).std(), {static_cast<float>(not_a_number)});
  close(tensor({3.}).var({}, 0), {0});
  close((arange(10).to(float32) + 1e6).var(), {9.166666984558105f});
  CHECK((arange(10).to(float64) + 1e9).var().item<double>() == Catch::Approx(9.166666666666666).epsilon(1e-12));
  const auto [s, mean] = std_mean(m(), 1);
  close(mean, {2, -1});
  close(s * s, {7, 52});
  close(cov(m()), {7, -16, -16, 52});
  close(cov(m(), 0), {4.666666507720947f, -10.666666984558105f, -10.666666984558105f, 34.66666793823242f});
  close(corrcoef(m()), {1, -0.8386279344558716f, -0.8386278748512268f, 1});
  // numpy.cov(m, fweights=[1, 2, 1]), and with aweights=[0.5, 1, 2]
  close(cov(m(), 1, tensor({1, 2, 1})), {6.91666667f, -15.16666667f, -15.16666667f, 43.66666667f});
  close(cov(m(), 1, tensor({1, 2, 1}), tensor({0.5, 1., 2.})), {8.35714286f, -21.85714286f, -21.85714286f, 64.28571429f});
  CHECK(ones({3}, {float16}).var().dtype() == float16);
}

TEST_CASE("softmax, log_softmax, logsumexp") {
  close(softmax(m(), 1), {0.2676231563091278f, 0.004901689011603594f, 0.7274751663208008f, 0.017986195161938667f,
                          0.982012927532196f, 8.165719691533013e-07f});
  close(softmax(m(), 0), {0.8807970285415649f, 0.0024726232513785362f, 0.9999977350234985f, 0.11920291930437088f,
                          0.9975274205207825f, 2.2603242086915998e-06f});
  close(softmax(tensor({1000., 1001.}), 0), {0.2689414322376251f, 0.7310585975646973f});
  close(softmax(tensor({-inf, 0.}), 0), {0, 1});
  close(softmax(tensor({-inf, -inf}), 0), {static_cast<float>(not_a_number), static_cast<float>(not_a_number)});
  CHECK(softmax(tensor(2.), 0).item<float>() == 1);
  CHECK(softmax(tensor(2.), 0).dim() == 0);
  CHECK(softmax(m(), 1, float64).dtype() == float64);
  close(softmax(tensor({1, 2}), 0, float32), {0.2689414322376251f, 0.7310585975646973f});
  close(log_softmax(m(), 1), {-1.3181754350662231f, -5.318175315856934f, -0.31817540526390076f, -4.018150806427002f,
                              -0.018150780349969864f, -14.018150329589844f});
  close(log_softmax(tensor({1000., -1000.}), 0), {0, -2000});
  close(softmin(m(), 1), floats(softmax(-m(), 1)));
  CHECK(softmax(m().t(), 0).strides() == Sizes{2, 1});
  CHECK(softmax(zeros({0, 3}), 1).sizes() == Sizes{0, 3});
  CHECK(softmax(zeros({3, 0}), 1).sizes() == Sizes{3, 0});
  // One block of a reduction, and many.
  for (const std::int64_t n : {1000, 100000}) CHECK(softmax(ones({n}), 0).sum().item<float>() == Catch::Approx(1).epsilon(1e-5));

  close(logsumexp(m(), 1), {4.318175315856934f, 5.018150806427002f});
  close(logsumexp(m(), {0, 1}), {5.421345233917236f});
  close(logsumexp(tensor({1000., 1000.}), 0), {1000.6931762695312f});
  close(logsumexp(tensor({-inf, -inf}), 0), {static_cast<float>(-inf)});
  close(logsumexp(tensor({inf, 1.}), 0), {static_cast<float>(inf)});
  close(logsumexp(m(), 0, true), {3.1269280910491943f, 5.002475738525391f, 4.000002384185791f});
  close(logsumexp(zeros({0}), 0), {static_cast<float>(-inf)});
}

TEST_CASE("norms") {
  const Tensor v = tensor({3., -4.});
  close(v.norm(), {5});
  close(v.norm(1), {7});
  close(v.norm(inf), {4});
  close(v.norm(-inf), {3});
  close(tensor({3., 0., -4.}).norm(0), {2});
  close(tensor({1., 2.}).norm(3), {2.0800838470458984f});
  close(m().norm("fro", 1), {5.099019527435303f, 10.344079971313477f});
  close(m().norm(2, 0, true), {3.1622776985168457f, 5.099019527435303f, 9.848857879638672f});
  close(x().norm(2, {1, 2}), {22.494443893432617f, 61.78996658325195f});
  close(linalg::vector_norm(m(), 1, 1), {8, 15});
  close(linalg::matrix_norm(m()), {11.532562255859375f});
  close(linalg::norm(m(), 1.), {13});
  close(linalg::norm(m(), inf), {15});
  close(linalg::matrix_norm(m(), -1., {-2, -1}, true), {4});
  CHECK(linalg::matrix_norm(m(), -1., {-2, -1}, true).sizes() == Sizes{1, 1});
  CHECK(linalg::matrix_norm(x(), inf, {0, 2}).sizes() == Sizes{3});
  close(linalg::norm(v), {5});
  close(dist(tensor({1., 2.}), tensor({4., 6.})), {5});
  close(renorm(m(), 2, 0, 3), {1.765045166015625f, -0.588348388671875f, 2.3533935546875f, 0.29002097249031067f, 1.450104832649231f,
                               -2.6101887226104736f});
  close(normalize(m()), {0.588348388671875f, -0.1961161345243454f, 0.7844645380973816f, 0.09667365252971649f, 0.48336827754974365f,
                         -0.8700628876686096f});
  close(normalize(zeros({2}), 2, 0), {0, 0});
  close(pairwise_distance(m(), m() + 1), {1.7320491f, 1.7320491f});
  close(cosine_similarity(m()(0), m()(1), 0), {-0.7204520106315613f});
  CHECK(refused<Error>([] { linalg::vector_norm(zeros({0}), inf); }) ==
        "linalg.vector_norm cannot compute the inf norm on an empty tensor because the operation does not have an identity");
}

TEST_CASE("small sums add up from left to right") {
  CHECK(full({10}, 0.1).sum().item<float>() == 1.00000012f);  // PyTorch's
  const Floats numbers = {0.1f, 0.7f, -0.3f, 1e-3f, 123.456f, -7.25f, 0.3333f, 1e6f};
  const Tensor x = from_data(numbers.data(), {8});
  float sum = 0;
  for (std::int64_t n = 1; n <= 8; ++n) {
    sum += numbers[static_cast<std::size_t>(n - 1)];
    CHECK(x(slice(0, n)).sum().item<float>() == sum);
  }
}
