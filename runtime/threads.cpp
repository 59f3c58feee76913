// The built-in executor: oneTBB, or a small pool of std::threads where ThreadSanitizer watches (it misreads oneTBB) and in the
// child of a fork, which oneTBB's threads did not follow. Either starts when first needed, and neither is ever destroyed.
#include "runtime/threads.h"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <condition_variable>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <optional>
#include <string_view>
#include <thread>
#include <vector>

#ifndef BRAZE_PLAIN_THREADS
#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <tbb/partitioner.h>
#include <tbb/task_arena.h>
#endif

#include "ir/error.h"
#include "runtime/os.h"

namespace braze::runtime {

namespace {

using Task = std::function<void(std::int64_t)>;

// Runs tasks and keeps the first exception; tasks that begin after it do nothing.
class Guarded {
 public:
  explicit Guarded(const Task& task) : task_(task) {}

  void operator()(std::int64_t i) const noexcept {
    if (failed_.load(std::memory_order_relaxed)) return;
    try {
      task_(i);
    } catch (...) {  // whatever a task throws belongs to the caller of run()
      if (!failed_.exchange(true)) exception_ = std::current_exception();
    }
  }
  void rethrow() const {
    if (exception_) std::rethrow_exception(exception_);
  }

 private:
  const Task& task_;
  mutable std::atomic<bool> failed_{false};
  mutable std::exception_ptr exception_;
};

// Threads that take part in whatever jobs are open. A caller works on its own job, so that nested and concurrent runs progress
// even when no thread is free.
class PlainPool {
 public:
  explicit PlainPool(int threads) : shared_(std::make_shared<Shared>()) {
    for (int i = 1; i < threads; ++i) {
      try {
        std::thread(work, shared_).detach();
      } catch (const std::system_error&) {
        return;  // the system has no more: those there are, and the caller, do the work
      }
    }
  }
  ~PlainPool() {
    const std::lock_guard hold(shared_->mutex);
    shared_->ending = true;
    shared_->wake.notify_all();
  }
  PlainPool(const PlainPool&) = delete;
  PlainPool& operator=(const PlainPool&) = delete;

  void run(std::int64_t tasks, const Guarded& task) {
    Job job(task, tasks);
    {
      const std::lock_guard hold(shared_->mutex);
      shared_->jobs.push_back(&job);
      for (std::int64_t i = 1; i < std::min<std::int64_t>(tasks, 64); ++i) shared_->wake.notify_one();
    }
    job.work();
    std::unique_lock hold(shared_->mutex);
    std::erase(shared_->jobs, &job);
    job.ended.wait(hold, [&] { return job.helpers == 0; });
  }

 private:
  struct Job {
    Job(const Guarded& task, std::int64_t tasks) : task(task), tasks(tasks) {}

    const Guarded& task;
    const std::int64_t tasks;
    std::atomic<std::int64_t> next{0};
    int helpers = 0;  // under the mutex
    std::condition_variable ended;

    bool open() const { return next.load(std::memory_order_relaxed) < tasks; }
    void work() {
      for (std::int64_t i; (i = next.fetch_add(1, std::memory_order_relaxed)) < tasks;) task(i);
    }
  };
  struct Shared {
    std::mutex mutex;
    std::condition_variable wake;
    std::vector<Job*> jobs;
    bool ending = false;
  };

  static void work(std::shared_ptr<Shared> shared) {
    std::unique_lock hold(shared->mutex);
    while (true) {
      // The newest job first: a nested one keeps its caller, and so the outer one, waiting.
      const auto found = std::find_if(shared->jobs.rbegin(), shared->jobs.rend(), [](const Job* job) { return job->open(); });
      if (found != shared->jobs.rend()) {
        Job* const job = *found;
        ++job->helpers;
        hold.unlock();
        job->work();
        hold.lock();
        if (--job->helpers == 0) job->ended.notify_all();
      } else if (shared->ending) {
        return;
      } else {
        shared->wake.wait(hold);
      }
    }
  }

  std::shared_ptr<Shared> shared_;
};

#ifndef BRAZE_PLAIN_THREADS
class TbbPool {
 public:
  // oneTBB starts no more threads than there are cores unless told; a host may have told it to start fewer, and is obeyed.
  explicit TbbPool(int threads) {
    const auto wanted = static_cast<std::size_t>(threads);
    const auto allowed = [] { return tbb::global_control::active_value(tbb::global_control::max_allowed_parallelism); };
    if (wanted > allowed()) control_.emplace(tbb::global_control::max_allowed_parallelism, wanted);
    arena_.initialize(static_cast<int>(std::min(wanted, allowed())));
  }

  void run(std::int64_t tasks, const Guarded& task) {
    arena_.execute([&] {
      // Isolated: a caller that waits here takes tasks of this loop only, never one of an outer loop, whose workspace it holds.
      tbb::this_task_arena::isolate(
          [&] { tbb::parallel_for(std::int64_t{0}, tasks, [&](std::int64_t i) { task(i); }, tbb::simple_partitioner()); });
    });
  }

 private:
  std::optional<tbb::global_control> control_;
  tbb::task_arena arena_;
};
#endif

int first_thread_count() {
  const char* text = std::getenv("BRAZE_NUM_THREADS");
  if (!text || !*text) return os::usable_cores();
  const std::string_view given(text);
  int count = 0;
  const auto [end, error] = std::from_chars(given.begin(), given.end(), count);
  require<ValueError>(error == std::errc() && end == given.end() && count >= 1,
                      "BRAZE_NUM_THREADS: expected a number of threads of at least 1, got '{}'", given);
  return count;
}

class BuiltIn final : public Executor {
 public:
  BuiltIn() : threads_(first_thread_count()) {
    os::at_fork([] { instance().mutex_.lock(); }, [] { instance().mutex_.unlock(); }, [] { instance().forget(); });
  }

  static BuiltIn& instance() {
    static BuiltIn* const built_in = new BuiltIn;
    return *built_in;
  }

  int threads() const override { return threads_.load(std::memory_order_relaxed); }

  void set_threads(int count) {
    const std::lock_guard hold(mutex_);
    if (count == threads_.load(std::memory_order_relaxed)) return;
    threads_.store(count, std::memory_order_relaxed);
    plain_.reset();  // runs in progress keep theirs
#ifndef BRAZE_PLAIN_THREADS
    tbb_.reset();
#endif
  }

  void run(std::int64_t tasks, const Task& task) override {
    if (tasks <= 1 || threads() == 1) {
      for (std::int64_t i = 0; i < tasks; ++i) task(i);
      return;
    }
    const Guarded guarded(task);
#ifndef BRAZE_PLAIN_THREADS
    if (!forked_.load(std::memory_order_relaxed)) {
      pool(tbb_)->run(tasks, guarded);
      guarded.rethrow();
      return;
    }
#endif
    pool(plain_)->run(tasks, guarded);
    guarded.rethrow();
  }

 private:
  template <class Pool>
  std::shared_ptr<Pool> pool(std::shared_ptr<Pool>& slot) {
    const std::lock_guard hold(mutex_);
    if (!slot) slot = std::make_shared<Pool>(threads_.load(std::memory_order_relaxed));
    return slot;
  }

  // In the child of a fork, where no thread but the forking one lives. What the pools held is left as it is: their locks may be
  // held by threads that are gone.
  void forget() {
    new (&plain_) std::shared_ptr<PlainPool>;
#ifndef BRAZE_PLAIN_THREADS
    forked_.store(true, std::memory_order_relaxed);
    new (&tbb_) std::shared_ptr<TbbPool>;
#endif
    mutex_.unlock();
  }

  std::mutex mutex_;
  std::atomic<int> threads_;
  std::shared_ptr<PlainPool> plain_;
#ifndef BRAZE_PLAIN_THREADS
  std::shared_ptr<TbbPool> tbb_;
  std::atomic<bool> forked_{false};
#endif
};

struct Host {
  std::mutex mutex;
  std::shared_ptr<Executor> owner;
  std::atomic<Executor*> current{nullptr};
};
Host& host() {
  static Host* const host = new Host;
  return *host;
}

}  // namespace

Executor& executor() {
  if (Executor* current = host().current.load(std::memory_order_acquire)) return *current;
  return BuiltIn::instance();
}

void set_executor(std::shared_ptr<Executor> replacement) {
  Host& slot = host();
  const std::lock_guard hold(slot.mutex);
  slot.current.store(replacement.get(), std::memory_order_release);
  slot.owner.swap(replacement);
}

void set_num_threads(int count) {
  require<ValueError>(count >= 1, "set_num_threads: expected at least 1 thread, got {}", count);
  BuiltIn::instance().set_threads(count);
}

int num_threads() { return executor().threads(); }

}  // namespace braze::runtime
