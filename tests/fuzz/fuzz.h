// What both fuzzers share: the seed, how long to run, and a source of choices.
//
//   test_all "[fuzz]"                        as many cases as CI runs, another seed each time; the seed is printed
//   BRAZE_SEED=123 test_all "[fuzz]"         the same again; the seed in a failure's message makes that case the first one
//   BRAZE_FUZZ_SECONDS=600 test_all "[fuzz]" that long, half of it each (`./dev fuzz 600`)
#pragma once

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <initializer_list>
#include <iostream>
#include <random>
#include <string>
#include <vector>

namespace braze::test {

class Choices {
 public:
  explicit Choices(std::uint64_t seed) : random_(static_cast<std::mt19937::result_type>(seed * 2654435761u + 12345)) {}

  std::int64_t below(std::int64_t n) { return n <= 0 ? 0 : static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(n)); }
  std::int64_t between(std::int64_t low, std::int64_t high) { return low + below(high - low + 1); }  // both included
  bool chance(int percent) { return below(100) < percent; }
  template <class T>
  const T& pick(const std::vector<T>& from) {
    return from[static_cast<std::size_t>(below(static_cast<std::int64_t>(from.size())))];
  }
  template <class T>
  T pick(std::initializer_list<T> from) {
    return from.begin()[below(static_cast<std::int64_t>(from.size()))];
  }
  std::mt19937& engine() { return random_; }

 private:
  std::mt19937 random_;
};

// Calls `round(seed)`, seeds counting up, `rounds` times, or for the time that BRAZE_FUZZ_SECONDS gives. Seeds are new in each run,
// unless BRAZE_SEED names the first.
template <class Round>
void fuzz(const char* what, int rounds, Round&& round) {
  const char *given = std::getenv("BRAZE_SEED"), *limit = std::getenv("BRAZE_FUZZ_SECONDS");
  const std::uint64_t seed = given != nullptr ? std::strtoull(given, nullptr, 10) : std::random_device{}();
  std::cerr << "fuzzing " << what << ": BRAZE_SEED=" << seed << std::endl;
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(limit != nullptr ? std::atof(limit) / 2 : 0);
  std::uint64_t done = 0;
  for (; limit != nullptr ? std::chrono::steady_clock::now() < end : done < static_cast<std::uint64_t>(rounds); ++done)
    round(seed + done);
  if (limit != nullptr) std::cerr << "fuzzed " << done << " rounds of " << what << std::endl;
}

}  // namespace braze::test
