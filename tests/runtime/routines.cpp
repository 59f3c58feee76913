// Routines by themselves, at real sizes: against std:: algorithms, PyTorch's recorded values, and independence of threads.
#include "runtime/routines.h"

#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>
#include <numeric>
#include <random>
#include <thread>

#include "ir/half.h"
#include "runtime/launch.h"
#include "runtime/random.h"
#include "runtime/run.h"
#include "runtime/threads.h"
#include "tests/catch.h"

using namespace braze;
using namespace braze::runtime;

namespace {

template <class T>
constexpr DType dtype = std::same_as<T, float>          ? DType::f32
                        : std::same_as<T, double>       ? DType::f64
                        : std::same_as<T, std::int64_t> ? DType::i64
                                                        : DType::u8;

template <class T>
struct Array {
  std::vector<std::int64_t> sizes;
  std::vector<T> data;
  RoutineArray routine() { return {dtype<T>, sizes, data.data()}; }
};
template <class T>
Array<T> empty(std::vector<std::int64_t> sizes) {
  const std::int64_t count = std::accumulate(sizes.begin(), sizes.end(), std::int64_t{1}, std::multiplies<>());
  return {std::move(sizes), std::vector<T>(static_cast<std::size_t>(count))};
}

struct Sorted {
  Array<float> values;
  Array<std::int64_t> indices;
};
Sorted sorted(Array<float>& x, std::uint32_t axis, bool descending) {
  Sorted out{empty<float>(x.sizes), empty<std::int64_t>(x.sizes)};
  const RoutineArray in[] = {x.routine()}, results[] = {out.values.routine(), out.indices.routine()};
  const ir::Attributes attributes = ir::Sort{axis, descending};
  REQUIRE(run_routine({ir::Op::sort, attributes, in, results}).fault == ir::Fault::none);
  return out;
}

Array<float> random_floats(std::vector<std::int64_t> sizes) {
  std::mt19937 random(3);
  Array<float> x = empty<float>(std::move(sizes));
  constexpr float special[] = {0.0f,
                               -0.0f,
                               std::numeric_limits<float>::infinity(),
                               -std::numeric_limits<float>::infinity(),
                               std::numeric_limits<float>::quiet_NaN(),
                               -std::numeric_limits<float>::quiet_NaN()};
  for (float& v : x.data) v = random() % 16 == 0 ? special[random() % 6] : std::normal_distribution<float>()(random);
  for (std::size_t i = 0; i < x.data.size(); i += 3) x.data[i] = static_cast<float>(random() % 50);  // ties
  return x;
}

bool less(float a, float b) { return std::isnan(b) ? !std::isnan(a) : a < b; }

}  // namespace

TEST_CASE("sort is std::stable_sort's with NaN greatest, for short, long and strided lines, both ways") {
  for (const auto& [sizes, axis] : {std::pair<std::vector<std::int64_t>, std::uint32_t>{{1000003}, 0},
                                    {{70, 300}, 1},
                                    {{300, 70}, 0},
                                    {{40, 5}, 1},
                                    {{3, 2000, 4}, 1},
                                    {{1, 1}, 0},
                                    {{5, 0}, 1},
                                    {{2, 100000}, 1}})
    for (const bool descending : {false, true}) {
      Array<float> x = random_floats(sizes);
      const Sorted got = sorted(x, axis, descending);
      const std::int64_t length = sizes[axis];
      const RoutineArray shape = x.routine();
      const std::int64_t behind = shape.behind(axis), lines = shape.before(axis) * behind;
      std::vector<std::int64_t> order(static_cast<std::size_t>(length));
      std::int64_t wrong = 0;
      for (std::int64_t line = 0; line < lines; ++line) {
        const auto at = [&](std::int64_t i) {
          return static_cast<std::size_t>((line / behind * length + i) * behind + line % behind);
        };
        std::iota(order.begin(), order.end(), 0);
        std::stable_sort(order.begin(), order.end(), [&](std::int64_t i, std::int64_t j) {
          return descending ? less(x.data[at(j)], x.data[at(i)]) : less(x.data[at(i)], x.data[at(j)]);
        });
        for (std::int64_t i = 0; i < length; ++i) {
          wrong += got.indices.data[at(i)] != order[static_cast<std::size_t>(i)];
          wrong += std::bit_cast<std::uint32_t>(got.values.data[at(i)]) !=
                   std::bit_cast<std::uint32_t>(x.data[at(order[static_cast<std::size_t>(i)])]);
        }
      }
      CAPTURE(sizes.size(), axis, descending);
      CHECK(wrong == 0);
    }
}

TEST_CASE("sort leaves out results that nobody wants, and is fast") {
  Array<float> x = empty<float>({1 << 20});
  std::mt19937 random(1);
  for (float& v : x.data) v = std::normal_distribution<float>()(random);
  Array<float> values = empty<float>(x.sizes);
  const RoutineArray in[] = {x.routine()}, out[] = {values.routine(), {DType::i64, x.sizes, nullptr}};
  const ir::Attributes attributes = ir::Sort{0, false};
  double best = 1e9;
  for (int i = 0; i < 5; ++i) {
    const auto start = std::chrono::steady_clock::now();
    REQUIRE(run_routine({ir::Op::sort, attributes, in, out}).fault == ir::Fault::none);
    best = std::min(best, std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count());
  }
  CHECK(std::is_sorted(values.data.begin(), values.data.end()));
  std::printf("sort of 2^20 f32: %.1f ms\n", best);
}

TEST_CASE("scans round as PyTorch's accumulators do and do not depend on threads") {
  // torch.cumsum(torch.full((100000,), 0.1), 0)[-1] == 10000.0 (an f64 accumulator; f32 would give 9998.5566)
  Array<float> x = empty<float>({100000, 3});
  std::fill(x.data.begin(), x.data.end(), 0.1f);
  Array<float> out = empty<float>(x.sizes);
  const ir::Attributes attributes = ir::Scan{0};
  const RoutineArray in[] = {x.routine()}, results[] = {out.routine()};
  REQUIRE(run_routine({ir::Op::cumsum, attributes, in, results}).fault == ir::Fault::none);
  double sum = 0;
  for (int i = 0; i < 100000; ++i) sum += 0.1f;
  CHECK(out.data.back() == static_cast<float>(sum));
  CHECK(out.data.back() == Approx(10000.0));
}

TEST_CASE("a draw advances the state that it hands on, whether its values are read or not") {
  Array<std::uint8_t> state = empty<std::uint8_t>({ir::generator_bytes}), next = state, skipped = state;
  // manual_seed(66); rand({2, 3}) begins 0.4976 0.0230 0.2271.
  state.data[0] = 66;
  std::uint64_t words[632] = {};
  words[0] = 66;
  words[1] = 1 | std::uint64_t{1} << 32;
  words[3] = 66;
  for (std::uint64_t j = 1; j < 624; ++j) words[3 + j] = (1812433253 * (words[2 + j] ^ (words[2 + j] >> 30)) + j) & 0xffffffff;
  std::memcpy(state.data.data(), words, sizeof words);
  Array<float> values = empty<float>({2, 3});
  double low = 0, high = 1;
  const RoutineArray in[] = {state.routine(), {DType::f64, {}, &low}, {DType::f64, {}, &high}};
  const ir::Attributes attributes = ir::Draw{ir::Draw::Kind::uniform, DType::f32, {2, 3}};
  const RoutineArray out[] = {values.routine(), next.routine()},
                     unread[] = {{DType::f32, values.sizes, nullptr}, skipped.routine()};
  REQUIRE(run_routine({ir::Op::draw, attributes, in, out}).fault == ir::Fault::none);
  REQUIRE(run_routine({ir::Op::draw, attributes, in, unread}).fault == ir::Fault::none);
  CHECK(values.data[0] == Approx(0.4976).margin(5e-5));
  CHECK(values.data[1] == Approx(0.0230).margin(5e-5));
  CHECK(values.data[2] == Approx(0.2271).margin(5e-5));
  CHECK(next.data == skipped.data);
  CHECK(next.data != state.data);
}

TEST_CASE("passing over a draw leaves the state that drawing leaves, for every kind, dtype and count") {
  using Kind = ir::Draw::Kind;
  const DType reals[] = {DType::f16, DType::bf16, DType::f32, DType::f64},
              all[] = {DType::boolean, DType::u8, DType::i16, DType::i64, DType::f32, DType::f64};
  std::vector<std::byte> state(ir::generator_bytes), drawn, passed;
  std::vector<double> out(3000);
  const auto compare = [&](Kind kind, DType type, std::int64_t count, double a, double b, std::int64_t low, std::int64_t high) {
    const bool integral = ir::Draw{kind, type, {}}.integral();
    const DrawParameter first{integral ? static_cast<const void*>(&low) : &a},
        second{integral ? static_cast<const void*>(&high) : &b};
    drawn = passed = state;
    REQUIRE(draw(kind, type, count, first, second, GeneratorBytes(drawn.data(), drawn.size()), out.data()));
    INFO("kind " << static_cast<int>(kind) << " of " << name(type) << ", " << count);
    REQUIRE(advance(kind, type, count, first, second, GeneratorBytes(passed.data(), passed.size())));
    REQUIRE(drawn == passed);
    state = drawn;  // the next one starts in the middle, perhaps with a normal left over
  };
  seed_generator(GeneratorBytes(state.data(), state.size()), 66);
  for (const std::int64_t count : {0, 1, 2, 3, 7, 15, 16, 17, 32, 623, 624, 625, 1251, 2999}) {
    for (const DType type : reals)
      for (const Kind kind : {Kind::uniform, Kind::normal, Kind::normal_serial, Kind::log_normal, Kind::exponential, Kind::cauchy})
        compare(kind, type, count, 0.5, 1.5, 0, 0);
    for (const DType type : all) {
      for (const double bits : {24.0, 53.0}) compare(Kind::bernoulli, type, count, 0.25, bits, 0, 0);
      compare(Kind::geometric, type, count, 0.25, 0, 0, 0);
      compare(Kind::randint, type, count, 0, 0, 0, 100);
      compare(Kind::randint, type, count, 0, 0, -5, std::int64_t{1} << 40);
      compare(Kind::randint_to_end, type, count, 0, 0, std::numeric_limits<std::int64_t>::min(), 0);
      compare(Kind::random, type, count, 0, 0, 0, 0);
      compare(Kind::permutation, type, count, 0, 0, 0, 0);
    }
  }
  const double rate = 4, wrong = 1.5, bits = 24;
  CHECK_FALSE(advance(Kind::poisson, DType::f32, 5, {&rate}, {&rate}, GeneratorBytes(state.data(), state.size())));
  CHECK_FALSE(advance(Kind::bernoulli, DType::f32, 5, {&wrong}, {&bits}, GeneratorBytes(state.data(), state.size())));
  CHECK(state == drawn);
}

TEST_CASE("a factorization that fails is refused in PyTorch's words where it is to be checked, and tells info where not") {
  Array<double> a{{2, 2, 2}, {4, 2, 2, 3, 1, 2, 2, 1}}, l = empty<double>({2, 2, 2});
  std::int32_t info[2] = {-1, -1};
  const std::int64_t batch[] = {2};
  const RoutineArray in[] = {a.routine()}, out[] = {l.routine(), {DType::i32, batch, info}};
  const ir::Attributes checked = ir::Cholesky{ir::Checked::cholesky}, unchecked = ir::Cholesky{ir::Checked::none};
  const Outcome refused = run_routine({ir::Op::cholesky, checked, in, out});
  CHECK(refused.fault == ir::Fault::not_decomposed);
  CHECK(refused.message ==
        "linalg.cholesky: (Batch element 1): The factorization could not be completed because the input is not positive-definite "
        "(the "
        "leading minor of order 2 is not positive-definite).");
  CHECK(run_routine({ir::Op::cholesky, unchecked, in, out}).fault == ir::Fault::none);
  CHECK(info[0] == 0);
  CHECK(info[1] == 2);
  CHECK(l.data[0] == 2);
  CHECK(l.data[1] == 0);
  CHECK(l.data[2] == 1);
  CHECK(l.data[3] == Approx(std::sqrt(2.0)));
}

TEST_CASE("a stop leaves a long factorization behind, whose results nobody sees") {
  const auto eigh = [](std::int64_t n, bool may_stop, Array<double>& values, Array<double>& vectors) {
    Array<double> a = empty<double>({n, n});
    std::mt19937 random(5);
    for (double& v : a.data) v = std::normal_distribution<double>()(random);
    const RoutineArray in[] = {a.routine()}, out[] = {values.routine(), vectors.routine()};
    const ir::Attributes attributes = ir::Eigh{};
    return run_routine({ir::Op::eigh, attributes, in, out, may_stop}).fault;
  };
  Array<double> values = empty<double>({300}), vectors = empty<double>({300, 300}), there = values, also = vectors;
  CHECK(eigh(300, true, values, vectors) == ir::Fault::none);  // long enough for a thread of its own
  CHECK(eigh(300, false, there, also) == ir::Fault::none);     // here
  CHECK(values.data == there.data);
  CHECK(vectors.data == also.data);

  const std::int64_t n = 1000;
  Array<double> untouched = empty<double>({n}), square = empty<double>({n, n});
  std::chrono::steady_clock::time_point asked;
  std::thread stopper([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    asked = std::chrono::steady_clock::now();
    request_stop();
  });
  const ir::Fault fault = eigh(n, true, untouched, square);
  const auto answered = std::chrono::steady_clock::now();
  stopper.join();
  clear_stop();
  CHECK(fault == ir::Fault::stopped);
  CHECK(answered - asked < std::chrono::milliseconds(500));
  CHECK(std::all_of(square.data.begin(), square.data.end(), [](double x) { return x == 0; }));
}
