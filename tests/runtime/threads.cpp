#include "runtime/threads.h"

#include <atomic>
#include <mutex>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

#include "ir/error.h"
#include "tests/catch.h"
#include "tests/runtime/child.h"

using namespace braze;
using namespace braze::runtime;
using Catch::Matchers::ContainsSubstring;

namespace {

// As many threads as asked for, and what there was before at the end.
class WithThreads {
 public:
  explicit WithThreads(int count) : before_(num_threads()) { set_num_threads(count); }
  ~WithThreads() { set_num_threads(before_); }

 private:
  int before_;
};

bool each_once(std::int64_t tasks) {
  std::vector<std::atomic<int>> calls(static_cast<std::size_t>(tasks));
  executor().run(tasks, [&](std::int64_t i) { ++calls[static_cast<std::size_t>(i)]; });
  return std::all_of(calls.begin(), calls.end(), [](const std::atomic<int>& n) { return n == 1; });
}

}  // namespace

TEST_CASE("each task runs once", "[threads]") {
  for (const int threads : {1, 2, 3, 8}) {
    const WithThreads with(threads);
    CHECK(num_threads() == threads);
    for (const std::int64_t tasks : {0, 1, 2, 3, 7, 64, 10000}) CHECK(each_once(tasks));
  }
}

TEST_CASE("work is shared, by no more threads than asked for", "[threads]") {
  const WithThreads with(3);
  std::mutex mutex;
  std::set<std::thread::id> seen;
  std::atomic<int> at_work{0}, most{0};
  // On a busy machine a second thread may be long in coming.
  for (int attempt = 0; attempt < 5000 && most < 2; ++attempt)
    executor().run(12, [&](std::int64_t) {
      const int now = ++at_work;
      for (int before = most; now > before && !most.compare_exchange_weak(before, now);) {
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      {
        const std::lock_guard hold(mutex);
        seen.insert(std::this_thread::get_id());
      }
      --at_work;
    });
  CHECK(most >= 2);
  CHECK(most <= 3);
  CHECK(seen.size() <= 3);
}

TEST_CASE("one thread, or one task, stays on the caller", "[threads]") {
  const auto on_caller = [](std::int64_t tasks) {
    bool same = true;
    executor().run(tasks,
                   [&, caller = std::this_thread::get_id()](std::int64_t) { same = same && std::this_thread::get_id() == caller; });
    return same;
  };
  {
    const WithThreads with(4);
    CHECK(on_caller(1));
  }
  const WithThreads with(1);
  CHECK(on_caller(100));
}

TEST_CASE("an exception comes back after the others ended", "[threads]") {
  for (const int threads : {1, 4}) {
    const WithThreads with(threads);
    for (int round = 0; round < 50; ++round) {
      std::atomic<int> inside{0};
      const auto task = [&](std::int64_t i) {
        ++inside;
        if (i % 5 == 3) {
          --inside;
          throw std::runtime_error("task failed");
        }
        std::this_thread::yield();
        --inside;
      };
      CHECK_THROWS_WITH(executor().run(40, task), "task failed");
      CHECK(inside == 0);
    }
    CHECK(each_once(100));
  }
}

TEST_CASE("runs nest, and callers share the threads", "[threads]") {
  const WithThreads with(4);
  std::atomic<int> leaves{0};
  executor().run(
      8, [&](std::int64_t) { executor().run(8, [&](std::int64_t) { executor().run(4, [&](std::int64_t) { ++leaves; }); }); });
  CHECK(leaves == 8 * 8 * 4);
  std::vector<std::thread> callers;
  std::atomic<int> total{0};
  for (int i = 0; i < 6; ++i)
    callers.emplace_back([&] {
      for (int round = 0; round < 100; ++round) executor().run(16, [&](std::int64_t) { ++total; });
    });
  for (std::thread& caller : callers) caller.join();
  CHECK(total == 6 * 100 * 16);
}

TEST_CASE("the number of threads may change while they work", "[threads]") {
  const WithThreads with(2);
  std::atomic<bool> done{false};
  std::atomic<int> wrong{0};
  std::thread caller([&] {
    while (!done) wrong += !each_once(50);
  });
  for (int i = 0; i < 60; ++i) {
    set_num_threads(1 + i % 4);
    std::this_thread::yield();
  }
  done = true;
  caller.join();
  CHECK(wrong == 0);
}

TEST_CASE("numbers of threads below 1 are refused", "[threads]") {
  CHECK_THROWS_AS(set_num_threads(0), ValueError);
  CHECK_THROWS_WITH(set_num_threads(-3), ContainsSubstring("at least 1 thread, got -3"));
}

TEST_CASE("prints the number of threads", "[.num_threads]") {
  try {
    std::fprintf(stderr, "%d", num_threads());
  } catch (const ValueError& error) {
    std::fprintf(stderr, "%s", error.what());
  }
}

TEST_CASE("BRAZE_NUM_THREADS is the first number of threads", "[threads]") {
  CHECK(in_new_process("BRAZE_NUM_THREADS=5", "[.num_threads]") == "5");
  for (const char* wrong : {"0", "-1", "many", "3x", "99999999999"})
    CHECK_THAT(
        in_new_process(std::string("BRAZE_NUM_THREADS=") + wrong, "[.num_threads]"),
        ContainsSubstring(std::string("BRAZE_NUM_THREADS: expected a number of threads of at least 1, got '") + wrong + "'"));
}

TEST_CASE("a host's executor takes over, and gives back", "[threads]") {
  struct Backwards final : Executor {
    int runs = 0;
    bool& destroyed;
    explicit Backwards(bool& flag) : destroyed(flag) {}
    ~Backwards() override { destroyed = true; }
    int threads() const override { return 7; }
    void run(std::int64_t tasks, const std::function<void(std::int64_t)>& task) override {
      ++runs;
      while (tasks-- > 0) task(tasks);
    }
  };
  bool destroyed = false;
  const int before = num_threads();
  auto host = std::make_shared<Backwards>(destroyed);
  set_executor(host);
  CHECK(num_threads() == 7);
  CHECK(each_once(20));
  CHECK(host->runs == 1);
  host.reset();
  CHECK(!destroyed);
  set_executor(nullptr);
  CHECK(destroyed);
  CHECK(num_threads() == before);
  CHECK(each_once(20));
}

TEST_CASE("the child of a fork has working threads", "[threads]") {
#if defined(__SANITIZE_THREAD__)
  SKIP("ThreadSanitizer starts no threads in the child of a process that has some");
#endif
  const WithThreads with(4);
  std::atomic<bool> done{false};
  std::thread busy([&] {
    while (!done) executor().run(8, [](std::int64_t) { std::this_thread::yield(); });
  });
  int failures = 0;
  for (int round = 0; round < 20; ++round)
    failures += in_fork([] {
                  std::atomic<int> at_work{0}, most{0};
                  for (int attempt = 0; attempt < 1000 && most < 2; ++attempt)
                    executor().run(8, [&](std::int64_t) {
                      const int now = ++at_work;
                      for (int before = most; now > before && !most.compare_exchange_weak(before, now);) {
                      }
                      std::this_thread::sleep_for(std::chrono::milliseconds(1));
                      --at_work;
                    });
                  return each_once(1000) && most >= 2 ? 0 : 1;
                }) != 0;
  done = true;
  busy.join();
  CHECK(failures == 0);
}
