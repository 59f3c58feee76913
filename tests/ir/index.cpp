#include "ir/index.h"

#include <limits>
#include <random>

#include "ir/error.h"
#include "tests/catch.h"

using namespace braze;
using namespace braze::ir;

namespace {
const std::vector<std::string> names{"n", "m", "k"};
}

TEST_CASE("equal index expressions have equal ids") {
  IndexTable t;
  const IndexId n = t.of(Extent::symbol(0)), m = t.of(Extent::symbol(1)), k = t.of(Extent::symbol(2));
  const auto num = [&](std::int64_t v) { return t.number(v); };
  CHECK(t.add(n, m) == t.add(m, n));
  CHECK(t.mul(t.mul(k, n), m) == t.mul(m, t.mul(n, k)));
  CHECK(t.add(t.add(n, num(1)), num(-1)) == n);
  CHECK(t.sub(n, n) == num(0));
  CHECK(t.mul(n, num(0)) == num(0));
  CHECK(t.mul(t.add(n, m), t.sub(n, m)) == t.sub(t.mul(n, n), t.mul(m, m)));
  CHECK(t.floor_div(t.mul(n, m), m) == n);
  CHECK(t.ceil_div(t.add(t.mul(num(4), n), num(3)), num(4)) == t.add(n, num(1)));
  CHECK(t.floor_div(t.add(t.mul(num(4), n), num(3)), num(4)) == n);
  CHECK(t.floor_div(t.add(n, m), t.add(m, n)) == num(1));
  CHECK(t.min(n, t.add(n, num(4))) == n);
  CHECK(t.max(n, t.add(n, num(4))) == t.add(n, num(4)));
  CHECK(t.min(num(std::numeric_limits<std::int64_t>::max()), num(-5)) == num(-5));
  CHECK(t.max(t.max(n, num(0)), t.max(num(0), m)) == t.max(m, t.max(n, num(0))));
  const Extent shape[] = {Extent::symbol(1), 3, Extent::symbol(0)};
  CHECK(t.product(shape) == t.mul(num(3), t.mul(n, m)));
  CHECK(t.product({}) == num(1));
  CHECK(t.is_number(num(7), 7));
}

TEST_CASE("index expressions print as one would write them") {
  IndexTable t;
  const IndexId n = t.of(Extent::symbol(0)), m = t.of(Extent::symbol(1));
  CHECK(t.text(t.add(t.mul(n, m), t.number(4)), names) == "n*m + 4");
  CHECK(t.text(t.sub(t.mul(n, t.number(4)), m), names) == "4*n - m");
  CHECK(t.text(t.ceil_div(t.add(n, t.number(-2)), m), names) == "ceil_div(n - 2, m)");
  CHECK(t.text(t.max(t.mul(n, t.number(-1)), t.number(0)), names).find("max(") == 0);
  CHECK(t.text(t.of(Extent::symbol(9)), names) == "s9");
}

TEST_CASE("normalising never changes a value") {
  std::mt19937 random(5);
  const auto pick = [&](std::size_t below) { return std::uniform_int_distribution<std::size_t>(0, below - 1)(random); };
  for (int round = 0; round < 300; ++round) {
    // Positive symbols, so that each of them is a legal divisor.
    const std::int64_t symbols[] = {1 + static_cast<std::int64_t>(pick(9)), 1 + static_cast<std::int64_t>(pick(9)),
                                    1 + static_cast<std::int64_t>(pick(9))};
    IndexTable t;
    std::vector<std::pair<IndexId, std::int64_t>> known;
    for (std::uint32_t s = 0; s < 3; ++s) known.emplace_back(t.of(Extent::symbol(s)), symbols[s]);
    for (std::int64_t v : {-3, 0, 1, 2, 5}) known.emplace_back(t.number(v), v);
    for (int step = 0; step < 30; ++step) {
      const auto [a, x] = known[pick(known.size())];
      const auto [b, y] = known[pick(known.size())];
      const std::int64_t floor = y > 0 ? (x - ((x % y + y) % y)) / y : 0;
      if (std::abs(x) > 1000000 || std::abs(y) > 1000000) continue;
      switch (pick(7)) {
        case 0:
          known.emplace_back(t.add(a, b), x + y);
          break;
        case 1:
          known.emplace_back(t.sub(a, b), x - y);
          break;
        case 2:
          known.emplace_back(t.mul(a, b), x * y);
          break;
        case 3:
          known.emplace_back(t.min(a, b), std::min(x, y));
          break;
        case 4:
          known.emplace_back(t.max(a, b), std::max(x, y));
          break;
        case 5:
          if (y > 0) known.emplace_back(t.floor_div(a, b), floor);
          break;
        default:
          if (y > 0) known.emplace_back(t.ceil_div(a, b), floor + (floor * y != x));
          break;
      }
    }
    std::vector<std::int64_t> values(t.size());
    t.evaluate(symbols, values);
    for (auto [id, value] : known) {
      CAPTURE(round, t.text(id, names));
      REQUIRE(values[id] == value);
    }
  }
}

TEST_CASE("sizes past 64 bits are the user's error") {
  IndexTable t;
  const IndexId n = t.of(Extent::symbol(0));
  t.mul(n, n);
  std::vector<std::int64_t> out(t.size());
  const std::int64_t large[] = {std::int64_t{1} << 40};
  CHECK_THROWS_AS(t.evaluate(large, out), ValueError);
  CHECK_THROWS_AS(t.mul(t.number(std::int64_t{1} << 40), t.number(std::int64_t{1} << 40)), ValueError);
  CHECK_THROWS_AS(t.add(t.number(std::numeric_limits<std::int64_t>::max()), t.number(1)), ValueError);
  const std::int64_t zero[] = {0};
  t.floor_div(t.number(3), n);
  out.resize(t.size());
  CHECK_NOTHROW(t.evaluate(zero, out));
}
