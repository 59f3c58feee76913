// Generators: PyTorch's stream whether or not a draw is read, and Philox, whose draws fuse.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "braze/braze.h"
#include "tests/catch.h"

using namespace braze;

namespace {

template <class T>
std::vector<T> values(const Tensor& x, DType type) {
  std::vector<T> out(static_cast<std::size_t>(x.numel()));
  x.to(type).contiguous().copy_to(out.data(), type);
  return out;
}
std::vector<float> floats(const Tensor& x) { return values<float>(x, float32); }

std::size_t count(const std::string& text, const std::string& what) {
  std::size_t found = 0;
  for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += what.size()) ++found;
  return found;
}

// The kernels and calls that evaluating x would run.
std::size_t steps(const Tensor& x) {
  const std::string text = x.dump("steps");
  return count(text.substr(0, text.find("return")), ", work ");
}

std::vector<std::int64_t> block(std::array<std::int64_t, 4> counter, std::array<std::int64_t, 2> key) {
  const auto word = [](std::int64_t x) { return full({}, x, {int64}); };
  std::vector<std::int64_t> out;
  for (const Tensor& x :
       philox_4x32({word(counter[0]), word(counter[1]), word(counter[2]), word(counter[3])}, {word(key[0]), word(key[1])}))
    out.push_back(x.item_int());
  return out;
}

}  // namespace

TEST_CASE("draws advance in program order, read or not, and in whatever order they are read") {
  manual_seed(66);
  std::vector<std::vector<float>> at_once;
  for (int i = 0; i < 3; ++i) at_once.push_back(floats(i == 1 ? randn({3, 7}) : rand({2, 3})));
  CHECK(at_once[0][0] == Approx(0.4976).margin(5e-5));  // torch.manual_seed(66); torch.rand(2, 3)
  manual_seed(66);
  const Tensor first = rand({2, 3});
  randn({3, 7});  // nobody reads it
  const Tensor third = rand({2, 3});
  CHECK(floats(third) == at_once[2]);
  CHECK(floats(first) == at_once[0]);
  manual_seed(66);
  rand({2, 3});
  const Tensor second = randn({3, 7});
  rand({2, 3});
  const Tensor state = get_rng_state();
  CHECK(floats(second) == at_once[1]);
  manual_seed(66);
  rand({2, 3}).eval(), randn({3, 7}).eval(), rand({2, 3}).eval();
  CHECK(equal(get_rng_state(), state));
}

TEST_CASE("philox_4x32 gives the known answers of Random123") {
  // kat_vectors, lines "philox4x32 10".
  CHECK(block({0, 0, 0, 0}, {0, 0}) == std::vector<std::int64_t>{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
  const std::int64_t ones = 0xffffffff;
  CHECK(block({ones, ones, ones, ones}, {ones, ones}) == std::vector<std::int64_t>{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
  CHECK(block({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}) ==
        std::vector<std::int64_t>{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
  CHECK_THROWS_AS(philox_4x32({zeros({2}), zeros({2}), zeros({2}), zeros({2})}, {zeros({2}), zeros({2})}), TypeError);
}

TEST_CASE("element i of a draw with Philox is made of the block at offset + i") {
  const std::int64_t seed = 0x123456789abcdef, offset = 0xfffffffe;  // carries into the second word
  Generator g = Generator::philox(seed, offset);
  const std::vector<float> drawn = floats(rand({2, 3}, {.generator = &g}));
  const std::vector<double> wide = values<double>(rand({2}, {.dtype = float64, .generator = &g}), float64);
  for (std::int64_t i = 0; i < 8; ++i) {
    const std::int64_t at = offset + i;
    const auto words = block({at & 0xffffffff, at >> 32, 0, 0}, {seed & 0xffffffff, seed >> 32});
    if (i < 6)
      CHECK(drawn[static_cast<std::size_t>(i)] == std::ldexp(static_cast<float>(words[0] >> 8), -24));
    else
      CHECK(wide[static_cast<std::size_t>(i - 6)] == std::ldexp(static_cast<double>(words[0] << 21 | words[1] >> 11), -53));
  }
  const std::vector<std::int64_t> state = values<std::int64_t>(g.get_state().view(int64), int64);
  CHECK(state == std::vector<std::int64_t>{seed, offset + 8});
  g.set_state(g.get_state());
  CHECK(g.initial_seed() == static_cast<std::uint64_t>(seed));
  CHECK_THROWS_AS(g.set_state(zeros({5056}, {uint8})), Error);
}

TEST_CASE("draws with Philox fuse into what reads them") {
  Generator g = Generator::philox(7);
  const Tensor x = arange(1000.0).eval();
  CHECK(steps(x + randn({1000}, {.generator = &g}) * 0.5) == 1);
  CHECK(steps(x * (rand({1000}, {.generator = &g}) < 0.9) / 0.9) == 1);  // dropout
  CHECK(steps((x + randint(0, 10, {1000}, {.generator = &g})).sum()) <= 2);
  manual_seed(7);
  CHECK((x + randn({1000}) * 0.5).dump("steps").find("draw") != std::string::npos);  // PyTorch's stream is drawn by a routine
}

TEST_CASE("Philox's distributions have their moments and bounds") {
  Generator g = Generator::philox(11);
  const std::int64_t n = 200000;
  const RandomOptions with{.generator = &g};
  const auto mean = [](const Tensor& x) { return x.to(float64).mean().item_double(); };
  const auto deviation = [](const Tensor& x) { return x.to(float64).std().item_double(); };
  const Tensor u = rand({n}, with), z = randn({n}, with), d = randn({n}, {.dtype = float64, .generator = &g});
  CHECK(mean(u) == Approx(0.5).margin(0.004));
  CHECK(u.min().item_double() >= 0);
  CHECK(u.max().item_double() < 1);
  CHECK(mean(z) == Approx(0).margin(0.01));
  CHECK(deviation(z) == Approx(1).margin(0.01));
  CHECK(deviation(d) == Approx(1).margin(0.01));
  CHECK(mean(z * d) == Approx(0).margin(0.01));
  const Tensor i = randint(-3, 5, {n}, with);
  CHECK(mean(i) == Approx(0.5).margin(0.03));
  CHECK(i.min().item_int() == -3);
  CHECK(i.max().item_int() == 4);
  const Tensor far = randint(0, std::int64_t{3} << 60, {n}, with);
  CHECK(far.min().item_int() >= 0);
  CHECK(mean(far) / std::ldexp(3.0, 59) == Approx(1).margin(0.01));
  CHECK(mean(bernoulli(full({n}, 0.3), with)) == Approx(0.3).margin(0.005));
  CHECK(mean(empty({n}).exponential_(2, &g)) == Approx(0.5).margin(0.01));
  CHECK(mean(empty({n}).geometric_(0.25, &g)) == Approx(4).margin(0.05));
  CHECK(mean(empty({n}).log_normal_(0, 0.5, &g)) == Approx(std::exp(0.125)).margin(0.02));
  CHECK(empty({n}).cauchy_(1, 2, &g).median().item_double() == Approx(1).margin(0.05));
  const Tensor order = randperm(1000, with);
  CHECK(equal(order.sort().values, arange(1000)));
  CHECK_FALSE(equal(order, arange(1000)));
  CHECK_THROWS_AS(poisson(full({3}, 2.0), with), NotImplementedError);
}

TEST_CASE("a compiled function draws anew at each call, from either stream") {
  for (const bool counts : {false, true}) {
    Generator g = counts ? Generator::philox(5) : Generator();
    g.manual_seed(5);
    const auto f = compile([&](const Tensor& x) { return x + rand({3}, {.generator = &g}); });
    const Tensor x = zeros({3}).eval();
    const std::vector<float> first = floats(f(x)), second = floats(f(x));
    CHECK(first != second);
    g.manual_seed(5);
    CHECK(floats(rand({3}, {.generator = &g})) == first);
    CHECK(floats(rand({3}, {.generator = &g})) == second);
  }
}

TEST_CASE("a draw that is refused leaves the stream as it was") {
  manual_seed(5);
  const Tensor wanted = rand({3});
  manual_seed(5);
  CHECK_THROWS_WITH(bernoulli(full({2}, 2.0)).sum().item<float>(), Catch::Contains("p_in"));
  CHECK(equal(rand({3}), wanted));
  CHECK_THROWS_WITH(bernoulli(full({2}, 2.0)).sum().item<float>(), Catch::Contains("p_in"));
  CHECK(randn({3}).isfinite().all().item<bool>());
}
