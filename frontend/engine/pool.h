// Fixed-size blocks for small objects that are made and dropped all the time: a per-thread free list in front of slabs that are
// never given back. A block may be freed on another thread than the one that got it.
#pragma once

#include <cstddef>
#include <mutex>
#include <new>
#include <tuple>
#include <utility>
#include <vector>

namespace braze::engine {

template <std::size_t Size>
class Pool {
 public:
  static void* allocate() {
    Cache& cache = local();
    if (!cache.head) refill(cache);
    Link* link = cache.head;
    cache.head = link->next;
    --cache.count;
    return link;
  }
  static void release(void* block) {
    Cache& cache = local();
    Link* link = ::new (block) Link{cache.head};
    cache.head = link;
    if (++cache.count > 2 * batch) spill(cache);
  }

 private:
  static constexpr std::size_t batch = 256;
  struct Link {
    Link* next;
  };
  static_assert(Size >= sizeof(Link));
  struct Cache {
    Link* head = nullptr;
    std::size_t count = 0;
    ~Cache() {
      while (head) spill(*this);
    }
  };
  struct Central {
    std::mutex mutex;
    std::vector<std::pair<Link*, std::size_t>> batches;
  };
  static Cache& local() {
    thread_local Cache cache;
    return cache;
  }
  // Leaked on purpose: objects may be dropped after static destruction began.
  static Central& central() {
    static Central* instance = new Central;
    return *instance;
  }
  static void refill(Cache& cache) {
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
  static void spill(Cache& cache) {
    const std::size_t moved = cache.count < batch ? cache.count : batch;
    Link* first = cache.head;
    Link* last = first;
    for (std::size_t i = 1; i < moved; ++i) last = last->next;
    cache.head = last->next;
    last->next = nullptr;
    cache.count -= moved;
    std::lock_guard lock(central().mutex);
    central().batches.emplace_back(first, moved);
  }
};

}  // namespace braze::engine
