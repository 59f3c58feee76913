// The one main() of every test executable.
//
// Catch2 2 and 3 word their closing lines differently and print none when a test crashes, so a listener appends what
// `./dev test` counts to the file that BRAZE_TEST_TALLY names: `case NAME` as each test begins, `passed` or `failed` as
// it ends.
#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
using Listener = Catch::EventListenerBase;
#else
#define CATCH_CONFIG_RUNNER
#include <catch2/catch.hpp>
using Listener = Catch::TestEventListenerBase;
#endif

#include <cstdlib>
#include <fstream>

namespace {

class Tally : public Listener {
 public:
  using Listener::Listener;

  void testCaseStarting(const Catch::TestCaseInfo& test) override {
    if (out_.is_open()) out_ << "case " << test.name << std::endl;  // flushed: the next line may never come
  }

  void testCaseEnded(const Catch::TestCaseStats& stats) override {
    if (out_.is_open()) out_ << (stats.totals.assertions.failed == 0 ? "passed" : "failed") << std::endl;
  }

 private:
  std::ofstream out_ = open();

  static std::ofstream open() {
    const char* path = std::getenv("BRAZE_TEST_TALLY");
    return path == nullptr ? std::ofstream() : std::ofstream(path, std::ios::app);
  }
};

CATCH_REGISTER_LISTENER(Tally)

}  // namespace

int main(int argc, char** argv) {
  Catch::Session session;
#if __has_include(<catch2/catch_all.hpp>)
  session.configData().allowZeroTests = true;  // `./dev quick` and `./dev fuzz` ask everyone for a tag; version 2 minds not
#endif
  return session.run(argc, argv);
}
