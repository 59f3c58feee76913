// Scans, sorting, order statistics, searching and counting: values as PyTorch 2.15 gives them.
#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "braze/braze.h"
#include "tests/catch.h"
#include "tests/frontend/values.h"

using namespace braze;
using namespace braze::test;

namespace {

constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN(), inf = std::numeric_limits<double>::infinity();

Tensor m() { return tensor({{3., -1., 4.}, {1., 5., -9.}}); }
Tensor i() { return tensor({{3, 1, 2}, {9, -4, 0}}); }

}  // namespace

TEST_CASE("scans") {
  CHECK(integers(i().cumsum(1)) == Integers{3, 4, 6, 9, 5, 5});
  CHECK(floats(m().cumsum(0)) == Floats{3, -1, 4, 4, 4, -5});
  CHECK(tensor({true, true}).cumsum(0).dtype() == int64);
  CHECK(cumsum(tensor({1, 2}), 0, float32).dtype() == float32);
  CHECK(tensor(3.).cumsum(0).dim() == 0);
  CHECK(floats(m().cumprod(1)) == Floats{3, -3, -12, 1, 5, -45});
  CHECK(integers(i().cumprod(0)) == Integers{3, 1, 2, 27, -4, 0});
  close(tensor({2., 0., not_a_number}).cumprod(0), {2, 0, static_cast<float>(not_a_number)});
  Tensor t = tensor({1, 2, 3}, {int32});
  t.cumsum_(0);
  CHECK(t.dtype() == int32);
  CHECK(integers(t.to(int64)) == Integers{1, 3, 6});

  const auto [v, at] = tensor({1., 3., 2., 3.}).cummax(0);
  CHECK(floats(v) == Floats{1, 3, 3, 3});
  CHECK(integers(at) == Integers{0, 1, 1, 3});
  CHECK(integers(tensor({3, 1, 2, 1}).cummin(0).indices) == Integers{0, 1, 1, 3});
  CHECK(integers(tensor({1., not_a_number, 5.}).cummax(0).indices) == Integers{0, 1, 1});
  close(logcumsumexp(m(), 1), {3.0f, 3.0181498527526855f, 4.318175315856934f, 1.0f, 5.0181498527526855f, 5.018150806427002f});
  close(logcumsumexp(tensor({-inf, 0.}), 0), {static_cast<float>(-inf), 0});
  CHECK(zeros({0, 3}).cumsum(0).sizes() == Sizes{0, 3});
  CHECK(refused<IndexError>([] { m().cumsum(2); }) == "Dimension out of range (expected to be in range of [-2, 1], but got 2)");
}

TEST_CASE("differences and integrals") {
  CHECK(integers(tensor({1, 3, 2}).diff()) == Integers{2, -1});
  CHECK(integers(tensor({1, 4, 9, 16}).diff(2)) == Integers{2, 2});
  CHECK(integers(diff(tensor({1, 3}), 1, 0, tensor({0}), tensor({10}))) == Integers{1, 2, 7});
  CHECK(integers(tensor({true, false, false}).diff().to(int64)) == Integers{1, 0});
  CHECK(tensor({1}).diff(3).sizes() == Sizes{0});
  CHECK(trapezoid(tensor({1., 5., 10.})).item<float>() == 10.5);
  CHECK(trapezoid(tensor({1., 5., 10.}), tensor({1., 3., 6.})).item<float>() == 28.5);
  CHECK(trapezoid(tensor({1., 5., 10.}), 2.0).item<float>() == 21);
  CHECK(floats(cumulative_trapezoid(tensor({1., 5., 10.}))) == Floats{3, 10.5});
  CHECK(floats(cumulative_trapezoid(tensor({1., 5., 10.}), tensor({1., 3., 6.}))) == Floats{6, 28.5});
}

TEST_CASE("sort: stable, NaN last, any dim") {
  const auto [v, at] = m().sort();
  CHECK(floats(v) == Floats{-1, 3, 4, -9, 1, 5});
  CHECK(integers(at) == Integers{1, 0, 2, 2, 0, 1});
  CHECK(integers(m().sort(0).indices) == Integers{1, 0, 1, 0, 1, 0});
  CHECK(integers(i().sort(1, true).values) == Integers{3, 2, 1, 9, 0, -4});
  close(tensor({not_a_number, 1., -inf, inf}).sort().values,
        {static_cast<float>(-inf), 1, static_cast<float>(inf), static_cast<float>(not_a_number)});
  close(tensor({1., not_a_number, 3.}).sort(-1, true).values, {static_cast<float>(not_a_number), 3, 1});
  CHECK(integers(tensor({1, 0, 1, 0, 1, 0}).argsort()) == Integers{1, 3, 5, 0, 2, 4});
  CHECK(integers(tensor({2, 1, 2, 1}).argsort(-1, true)) == Integers{0, 2, 1, 3});
  CHECK(tensor({true, false, true}).sort().values.dtype() == bool_);
  CHECK(integers(msort(tensor({{3, 1}, {2, 5}}))) == Integers{2, 1, 3, 5});
  CHECK(tensor(5.).sort().indices.item<int>() == 0);
  CHECK(zeros({0}).sort().values.sizes() == Sizes{0});
  CHECK(m().t().sort(0).values.strides() == Sizes{1, 3});
  CHECK(floats(m().t().sort(0).values) == Floats{-1, -9, 3, 1, 4, 5});
  CHECK(m()(slice(), slice(0, 3, 2)).sort(1).indices.strides() == Sizes{2, 1});
  const Tensor shuffled = remainder(arange(1000) * 7919, 1000);
  CHECK(integers(shuffled.sort().values) == integers(arange(1000)));
}

TEST_CASE("topk, kthvalue, mode") {
  CHECK(floats(m().topk(2, 1).values) == Floats{4, 3, 5, 1});
  CHECK(integers(m().topk(2, 1).indices) == Integers{2, 0, 1, 0});
  CHECK(floats(m().topk(1, 0).values) == Floats{3, 5, 4});
  CHECK(integers(tensor({1, 5, 3}).topk(2, -1, false).values) == Integers{1, 3});
  CHECK(m().topk(0).values.sizes() == Sizes{2, 0});
  CHECK(refused<Error>([] { m().topk(4); }) == "selected index k out of range");
  CHECK(floats(m().kthvalue(2).values) == Floats{3, 1});
  CHECK(m().kthvalue(1, 0, true).values.sizes() == Sizes{1, 3});
  CHECK(refused<Error>([] { m().kthvalue(4); }) == "kthvalue(): selected number k out of range for dimension 1");
  CHECK(tensor({1, 2, 2, 3}).mode().values.item<int>() == 2);
  CHECK(tensor({3, 3, 1, 1}).mode().values.item<int>() == 1);
  CHECK(integers(tensor({{1, 2, 2}, {0, 0, 5}}).mode(1).values) == Integers{2, 0});
  CHECK(integers(tensor({{1, 2, 2}, {0, 0, 5}}).mode(1).indices) == Integers{2, 1});
  CHECK(integers(tensor({{1, 2, 2}, {0, 0, 5}}).mode(0, true).values) == Integers{0, 0, 2});
}

TEST_CASE("median and quantile") {
  CHECK(tensor({3., 1., 2.}).median().item<float>() == 2);
  CHECK(tensor({4., 1., 3., 2.}).median().item<float>() == 2);
  CHECK(floats(m().median(1).values) == Floats{3, 1});
  CHECK(integers(m().median(1).indices) == Integers{0, 0});
  CHECK(floats(m().median(0).values) == Floats{1, -1, -9});
  CHECK(std::isnan(tensor({1., not_a_number, 3.}).median().item<float>()));
  CHECK(nanmedian(tensor({1., not_a_number, 3., 2.})).item<float>() == 2);
  CHECK(tensor({{1., not_a_number}}).median(1).indices.item<int>() == 1);
  CHECK(tensor({{1., not_a_number}}).nanmedian(1, true).values.sizes() == Sizes{1, 1});
  CHECK(std::isnan(zeros({0}).median().item<float>()));

  // numpy.quantile agrees with PyTorch here.
  const Tensor a = tensor({1., 2., 4., 8.});
  CHECK(a.quantile(0.5).item<float>() == 3);
  CHECK(a.quantile(0.4, {}, false, "lower").item<float>() == 2);
  CHECK(a.quantile(0.4, {}, false, "higher").item<float>() == 4);
  CHECK(a.quantile(0.4, {}, false, "nearest").item<float>() == 2);
  CHECK(a.quantile(0.4, {}, false, "midpoint").item<float>() == 3);
  close(a.quantile(tensor({0., 0.25, 1.})), {1, 1.75, 8});
  CHECK(m().quantile(tensor({0.25, 0.75}), 1, true).sizes() == Sizes{2, 2, 1});
  close(m().quantile(0.5, 1), {3, 1});
  close(m().quantile(0.5, 0), {2, 2, -2.5});
  CHECK(std::isnan(tensor({1., not_a_number}).quantile(0.5).item<float>()));
  CHECK(tensor({1., not_a_number, 3.}).nanquantile(0.5).item<float>() == 2);
  CHECK(std::isnan(tensor({not_a_number}).nanquantile(0.5).item<float>()));
  CHECK(refused<Error>([] { tensor({1., 2.}).quantile(1.5); }) == "quantile() q must be in the range [0, 1] but got 1.5");
}

TEST_CASE("searching") {
  const Tensor s = tensor({1, 3, 5});
  CHECK(integers(searchsorted(s, tensor({0, 3, 6}))) == Integers{0, 1, 3});
  CHECK(integers(searchsorted(s, tensor({3}), {.right = true})) == Integers{2});
  CHECK(searchsorted(s, 4).item<int>() == 2);
  CHECK(integers(bucketize(tensor({1.5, 3.}), tensor({1., 2., 3.}))) == Integers{1, 2});
  CHECK(bucketize(tensor({3.}), tensor({1., 2., 3.}), {.right = true, .out_int32 = true}).dtype() == int32);
  CHECK(integers(searchsorted(tensor({{1, 3, 5}, {2, 4, 6}}), tensor({{3, 6}, {3, 7}}))) == Integers{1, 3, 1, 3});
  CHECK(integers(searchsorted(tensor({5, 1, 3}), tensor({2}), {}, tensor({1, 2, 0}))) == Integers{1});
  CHECK(searchsorted(zeros({0}), tensor({1., 2.})).sizes() == Sizes{2});
  CHECK(integers(searchsorted(tensor({1., 2.}), tensor({not_a_number}))) == Integers{2});
  // std::lower_bound and std::upper_bound, every length.
  std::mt19937 random(7);
  for (std::int64_t n = 1; n < 40; n += 3) {
    Integers row(static_cast<std::size_t>(n)), wanted(50);
    for (auto& e : row) e = static_cast<std::int64_t>(random() % 20);
    for (auto& e : wanted) e = static_cast<std::int64_t>(random() % 24) - 2;
    std::sort(row.begin(), row.end());
    Integers lower, upper;
    for (const std::int64_t w : wanted) {
      lower.push_back(std::lower_bound(row.begin(), row.end(), w) - row.begin());
      upper.push_back(std::upper_bound(row.begin(), row.end(), w) - row.begin());
    }
    const Tensor sorted = from_data(row.data(), {n}), values = from_data(wanted.data(), {50});
    CHECK(integers(searchsorted(sorted, values)) == lower);
    CHECK(integers(searchsorted(sorted, values, {.right = true})) == upper);
  }

  CHECK(integers(isin(tensor({1, 2, 3}), tensor({2, 5})).to(int64)) == Integers{0, 1, 0});
  CHECK(isin(tensor({{1, 2}, {3, 4}}), 3).sizes() == Sizes{2, 2});
  CHECK(integers(isin(tensor({1, 2}), tensor({1}), true).to(int64)) == Integers{0, 1});
  CHECK(isin(arange(1000), arange(0, 4000, 4)).sum().item<int>() == 250);  // by sorting
}

TEST_CASE("unique") {
  CHECK(integers(unique(tensor({3, 1, 2, 1, 3})).output) == Integers{1, 2, 3});
  CHECK(integers(tensor({true, false, true}).unique().output.to(int64)) == Integers{0, 1});
  const Unique u = unique(tensor({3, 1, 3, 2}), {.return_inverse = true, .return_counts = true});
  CHECK(integers(u.inverse_indices) == Integers{2, 0, 2, 1});
  CHECK(integers(u.counts) == Integers{1, 1, 2});
  CHECK(unique(tensor({{5, 5}, {1, 5}}), {.return_inverse = true}).inverse_indices.sizes() == Sizes{2, 2});
  CHECK(integers(unique(tensor({{1, 2}, {3, 4}, {1, 2}}), {.dim = 0}).output) == Integers{1, 2, 3, 4});
  const Unique columns = unique(tensor({{1, 1, 2}, {3, 3, 4}}), {.return_counts = true, .dim = 1});
  CHECK(integers(columns.output) == Integers{1, 2, 3, 4});
  CHECK(integers(columns.counts) == Integers{2, 1});
  CHECK(unique(tensor({not_a_number, 1., not_a_number})).output.sizes() == Sizes{3});  // no NaN equals another
  CHECK(unique(zeros({0})).output.sizes() == Sizes{0});
  const Unique c = unique_consecutive(tensor({1, 1, 2, 1}), {.return_inverse = true, .return_counts = true});
  CHECK(integers(c.output) == Integers{1, 2, 1});
  CHECK(integers(c.inverse_indices) == Integers{0, 0, 1, 2});
  CHECK(integers(c.counts) == Integers{2, 1, 1});
}

TEST_CASE("counting") {
  CHECK(integers(bincount(tensor({0, 1, 1, 5}))) == Integers{1, 2, 0, 0, 0, 1});
  CHECK(integers(bincount(tensor({1, 2}), {}, 5)) == Integers{0, 1, 1, 0, 0});
  CHECK(floats(bincount(tensor({0, 1, 1}), tensor({1., 2., 3.}))) == Floats{1, 5});
  CHECK(refused<Error>([] { bincount(tensor({-1})); }) == "bincount only supports 1-d non-negative integral inputs.");
  CHECK(floats(histc(tensor({0., 1., 2., 3., 4.}), 4)) == Floats{1, 1, 1, 2});
  CHECK(floats(histc(tensor({1., 2., 3.}), 2, 0, 4)) == Floats{1, 2});
  CHECK(floats(histc(tensor({-1., not_a_number, 0.5, 9.}), 2, 0, 4)) == Floats{1, 0});
  // numpy.histogram agrees with PyTorch here.
  const Tensor h = tensor({1., 2., 1., 4.});
  CHECK(floats(histogram(h, 4, {.range = std::pair(0., 3.)}).hist) == Floats{0, 2, 1, 0});
  CHECK(floats(histogram(h, 4, {.range = std::pair(0., 3.)}).bin_edges) == Floats{0, 0.75, 1.5, 2.25, 3});
  CHECK(floats(histogram(h, tensor({0., 1., 2., 4.})).hist) == Floats{0, 2, 2});
  CHECK(floats(histogram(h, 3, {.weight = tensor({1., 2., 4., 8.})}).hist) == Floats{5, 2, 8});
  close(histogram(h, 3, {.density = true}).hist, {0.5, 0.25, 0.25});
  CHECK(refused<Error>([] { histc(ones({2}), 0); }) == "torch.histc(): bins must be > 0, but got 0");
}
