// Fixed-size blocks for small objects that are made and dropped all the time: a per-thread free list in front of slabs that are
// never given back. A block may be freed on another thread than the one that got it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <new>
#include <tuple>
#include <utility>
#include <vector>

#include "frontend/engine/thread_state.h"

namespace braze::engine {

template <std::size_t Size>
class Pool {
 public:
  static void* allocate() {
    Cache& cache = cache_;
    if (!cache.head) [[unlikely]]
      refill(cache);
    Link* link = cache.head;
    cache.head = link->next;
    --cache.count;
    return link;
  }
  static void release(void* block) {
    Cache& cache = cache_;
    cache.head = ::new (block) Link{cache.head};
    if (++cache.count > cache.most) [[unlikely]]
      spill(cache);
  }

 private:
  static constexpr std::uint32_t batch = 256;
  struct Link {
    Link* next;
  };
  static_assert(Size >= sizeof(Link));
  // Plain data, so that it is there before the thread's first object and after its last one.
  struct Cache {
    Link* head;
    std::uint32_t count;
    std::uint32_t most;  // 0: before the cache is used, and once the thread has ended
  };
  // Gives the blocks back as the thread ends.
  struct AtThreadEnd {
    ~AtThreadEnd() {
      cache_.most = 0;
      while (cache_.head) give_back(cache_);
    }
  };
  struct Central {
    std::mutex mutex;
    std::vector<std::pair<Link*, std::uint32_t>> batches;
  };
  static inline BRAZE_THREAD_LOCAL Cache cache_{};
  static inline BRAZE_THREAD_LOCAL bool used_ = false;

  // Leaked on purpose: objects may be dropped after static destruction began.
  static Central& central() {
    static Central* instance = new Central;
    return *instance;
  }
  // At the thread's first use.
  static void use(Cache& cache) {
    if (used_) return;
    used_ = true;
    cache.most = 2 * batch;
    static thread_local const AtThreadEnd at_thread_end;
    static_cast<void>(&at_thread_end);
  }
  [[gnu::noinline]] static void refill(Cache& cache) {
    use(cache);
    {
      std::lock_guard lock(central().mutex);
      if (!central().batches.empty()) {
        std::tie(cache.head, cache.count) = central().batches.back();
        central().batches.pop_back();
        return;
      }
    }
    auto* slab = static_cast<std::byte*>(::operator new(Size * batch, std::align_val_t{64}));
    for (std::size_t i = batch; i-- > 0;) cache.head = ::new (slab + i * Size) Link{cache.head};
    cache.count = batch;
  }
  [[gnu::noinline]] static void spill(Cache& cache) {
    use(cache);
    if (cache.count > cache.most) give_back(cache);
  }
  static void give_back(Cache& cache) {
    const std::uint32_t moved = cache.count < batch ? cache.count : batch;
    Link* first = cache.head;
    Link* last = first;
    for (std::uint32_t i = 1; i < moved; ++i) last = last->next;
    cache.head = last->next;
    last->next = nullptr;
    cache.count -= moved;
    std::lock_guard lock(central().mutex);
    central().batches.emplace_back(first, moved);
  }
};

}  // namespace braze::engine
