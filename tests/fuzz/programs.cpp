// Random programs on the public API against a model that runs each step at once. A failure prints its least list of steps.

#include "tests/catch.h"
#include "tests/fuzz/program.h"

using namespace braze;
using namespace braze::test;

namespace {

constexpr int programs_in_ci = 800;

void run_round(std::uint64_t seed) {
  INFO("BRAZE_SEED=" << seed);  // what Catch prints if the code crashes
  Choices choices(seed);
  const std::vector<Step> steps = random_program(choices);
  const std::string why = run_program(steps);
  if (why.empty()) {
    SUCCEED();
    return;
  }
  const std::vector<Step> reduced = reduce(steps);
  std::string text;
  const std::string reduced_why = run_program(reduced, &text);
  FAIL_CHECK("BRAZE_SEED=" << seed << ": " << why << "\nreduced to " << reduced.size() << " steps:\n" << text << reduced_why);
}

}  // namespace

TEST_CASE("random programs of views, writes and reads give what running each step at once gives", "[fuzz]") {
  fuzz("programs", programs_in_ci, run_round);
}
