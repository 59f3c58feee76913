#include <sys/resource.h>

#include <atomic>
#include <cstring>
#include <mutex>
#include <random>
#include <thread>

#include "ir/error.h"
#include "runtime/os.h"
#include "runtime/storage.h"
#include "tests/catch.h"
#include "tests/runtime/child.h"

using namespace braze;
using namespace braze::runtime;
using Catch::Matchers::ContainsSubstring;

namespace {

std::uintptr_t address(const Block& block) { return reinterpret_cast<std::uintptr_t>(block.data()); }

}  // namespace

TEST_CASE("blocks of every size are aligned, writable and apart", "[allocator]") {
  std::vector<std::int64_t> sizes{0, 1, 63, 64, 65, 255, 256, 257, 1835008, 1835009, 2 << 20, (2 << 20) + 1, 5000000};
  for (std::int64_t size = 100; size < (8 << 20); size = size * 9 / 7) sizes.push_back(size);
  std::vector<Block> blocks;
  for (const std::int64_t size : sizes) {
    blocks.push_back(Block::allocate(size));
    CHECK(blocks.back().bytes() == size);
    CHECK(address(blocks.back()) % 64 == 0);
    if (size >= os::huge_page) CHECK(address(blocks.back()) % os::huge_page == 0);
    std::memset(blocks.back().data(), static_cast<int>(blocks.size()), static_cast<std::size_t>(size));
  }
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const auto* bytes = static_cast<const unsigned char*>(blocks[i].data());
    CHECK(std::all_of(bytes, bytes + blocks[i].bytes(), [&](unsigned char b) { return b == static_cast<unsigned char>(i + 1); }));
  }
}

TEST_CASE("a freed block serves the next request of its size", "[allocator]") {
  for (const std::int64_t size : {1, 4000, 100000, 1 << 20, 3 << 20, 50 << 20}) {
    const void* first = Block::allocate(size).data();
    const std::int64_t asked = allocator_statistics().system_allocations;
    for (int i = 0; i < 100; ++i) CHECK(Block::allocate(size).data() == first);
    CHECK(allocator_statistics().system_allocations == asked);
  }
  const Block held = Block::allocate(50 << 20);
  CHECK(Block::allocate(50 << 20).data() != held.data());
}

TEST_CASE("a small request does not take a much larger block", "[allocator]") {
  release_cached_memory();
  const void* large = Block::allocate(64 << 20).data();
  CHECK(Block::allocate(40 << 20).data() != large);
  CHECK(Block::allocate(60 << 20).data() == large);
}

TEST_CASE("statistics follow live, peak and cached bytes", "[allocator]") {
  release_cached_memory();
  reset_peak();
  const AllocatorStatistics before = allocator_statistics();
  CHECK(before.cached_bytes == 0);
  CHECK(before.peak_bytes == before.live_bytes);
  {
    const Block a = Block::allocate(1000), b = Block::allocate(10 << 20);
    CHECK(allocator_statistics().live_bytes == before.live_bytes + 1000 + (10 << 20));
    const Block alias = b;
    CHECK(allocator_statistics().live_bytes == before.live_bytes + 1000 + (10 << 20));
  }
  const AllocatorStatistics after = allocator_statistics();
  CHECK(after.live_bytes == before.live_bytes);
  CHECK(after.peak_bytes == before.live_bytes + 1000 + (10 << 20));
  CHECK(after.cached_bytes >= 1000 + (10 << 20));
  CHECK(after.cached_bytes < (1000 + (10 << 20)) * 5 / 4);
  CHECK(after.system_allocations == before.system_allocations + 2);
  reset_peak();
  CHECK(allocator_statistics().peak_bytes == before.live_bytes);
  release_cached_memory();
  CHECK(allocator_statistics().cached_bytes == 0);
}

TEST_CASE("references count", "[allocator]") {
  Block empty;
  CHECK(!empty);
  CHECK(empty.data() == nullptr);
  CHECK(empty.bytes() == 0);
  CHECK(!empty.unique());
  Block a = Block::allocate(8);
  CHECK(a.unique());
  CHECK(!a.borrowed());
  CHECK(!a.read_only());
  {
    const Block b = a;
    CHECK(b == a);
    CHECK(!a.unique());
  }
  CHECK(a.unique());
  Block moved = std::move(a);
  CHECK(moved.unique());
  moved = Block(moved);
  CHECK(moved.unique());
  a = moved;
  CHECK(!moved.unique());
}

TEST_CASE("borrowed memory is released once, by the last reference", "[allocator]") {
  int data[4] = {1, 2, 3, 4}, released = 0;
  for (int round = 1; round <= 100; ++round) {  // more than the controls that are kept
    std::vector<Block> copies(70, Block::borrow(data, sizeof data, [&] { ++released; }, round % 2 == 0));
    CHECK(copies[3].data() == data);
    CHECK(copies[3].bytes() == sizeof data);
    CHECK(copies[3].borrowed());
    CHECK(copies[3].read_only() == (round % 2 == 0));
    copies.pop_back();
    CHECK(released == round - 1);
    copies.clear();
    CHECK(released == round);
  }
  Block nothing = Block::borrow(data, 0, {}, false);
  nothing = Block();
  // A release may use the allocator.
  {
    const Block nested =
        Block::borrow(data, 4, [&, inner = Block::borrow(data, 4, [&] { ++released; }, false)] { Block::allocate(64); }, false);
  }
  CHECK(released == 101);
}

TEST_CASE("what the system has not raises DeviceError naming the size", "[allocator]") {
  CHECK_THROWS_AS(Block::allocate(std::int64_t{1} << 50), DeviceError);
  CHECK_THROWS_WITH(Block::allocate(std::int64_t{1} << 50), ContainsSubstring("1.00 PiB (1125899906842624 bytes)"));
  CHECK_THROWS_AS(Block::allocate(std::numeric_limits<std::int64_t>::max()), DeviceError);
  CHECK_THROWS_AS(Block::allocate(-1), InternalError);
  Block::allocate(100);
}

TEST_CASE("the cache is given up before an allocation fails", "[allocator]") {
  if (sanitized) SKIP("sanitizers reserve address space");
  const int code = in_fork([] {
    const std::int64_t asked = 300 << 20;
    release_cached_memory();
    {
      const Block cached = Block::allocate(asked);
    }
    std::int64_t mapped = 0;
    if (FILE* file = std::fopen("/proc/self/statm", "r")) {
      if (std::fscanf(file, "%ld", &mapped) != 1) return 1;
      std::fclose(file);
    }
    const auto limit = static_cast<rlim_t>(mapped * os::page_size() + (200 << 20));
    const rlimit limits{limit, limit};
    setrlimit(RLIMIT_AS, &limits);
    try {
      Block::allocate(asked * 2);
      return 2;
    } catch (const DeviceError& error) {
      if (!std::strstr(error.what(), "600.00 MiB")) return 3;
    }
    {
      const Block cached = Block::allocate(asked);
    }
    const Block fits = Block::allocate(asked + (130 << 20));  // only once the cached block is gone
    return allocator_statistics().cached_bytes == 0 ? 0 : 4;
  });
  CHECK(code == 0);
}

TEST_CASE("threads that pass blocks around never share one", "[allocator]") {
  constexpr int threads = 4, rounds = 20000;
  std::mutex mutex;
  std::vector<std::pair<Block, unsigned char>> shelf;
  std::atomic<int> damaged{0};
  const auto check = [&](const Block& block, unsigned char mark) {
    const auto* bytes = static_cast<const unsigned char*>(block.data());
    if (block.bytes() > 0 && (bytes[0] != mark || bytes[block.bytes() - 1] != mark || bytes[block.bytes() / 2] != mark)) ++damaged;
  };
  const std::int64_t live = allocator_statistics().live_bytes;
  const auto work = [&](int number) {
    std::mt19937 random(static_cast<unsigned>(number));
    for (int i = 0; i < rounds; ++i) {
      const int bits = static_cast<int>(random() % (i % 100 == 0 ? 23 : 14));
      Block block = Block::allocate(static_cast<std::int64_t>(random() % (1u << bits)));
      const auto mark = static_cast<unsigned char>(random());
      std::memset(block.data(), mark, static_cast<std::size_t>(block.bytes()));
      std::pair<Block, unsigned char> other{block, mark};
      {
        const std::lock_guard hold(mutex);
        if (shelf.size() < 100)
          shelf.emplace_back(std::move(block), mark);
        else
          std::swap(shelf[random() % shelf.size()], other);
      }
      check(other.first, other.second);
    }
  };
  std::vector<std::thread> pool;
  for (int i = 0; i < threads; ++i) pool.emplace_back(work, i);
  for (std::thread& thread : pool) thread.join();
  for (const auto& [block, mark] : shelf) check(block, mark);
  shelf.clear();
  CHECK(damaged == 0);
  CHECK(allocator_statistics().live_bytes == live);
}

TEST_CASE("a block that dies on another thread is found again", "[allocator]") {
  release_cached_memory();
  for (int i = 0; i < 50; ++i) {
    Block block = Block::allocate(5000);
    std::thread([&] { block = Block(); }).join();
  }
  CHECK(allocator_statistics().cached_bytes < 3 * 5120);
}

TEST_CASE("the allocator works on both sides of a fork", "[allocator]") {
  std::atomic<bool> done{false};
  std::thread busy([&] {  // its locks are held at some of the forks
    while (!done) {
      const Block small = Block::allocate(1000), large = Block::allocate(4 << 20);
    }
  });
  int failures = 0;
  for (int i = 0; i < (sanitized ? 5 : 50); ++i)
    failures += in_fork([] {
                  std::vector<Block> blocks;
                  for (int k = 0; k < 100; ++k) blocks.push_back(Block::allocate(k % 2 ? 1000 : 4 << 20));
                  release_cached_memory();
                  return 0;
                }) != 0;
  done = true;
  busy.join();
  CHECK(failures == 0);
}

TEST_CASE("the cache keeps within its limit", "[.cache_limit]") {
  {
    const Block large = Block::allocate(64 << 20);
  }
  std::fprintf(stderr, "large %d;", static_cast<int>(allocator_statistics().cached_bytes));
  {
    const Block a = Block::allocate(8 << 20), b = Block::allocate(8 << 20);
  }
  std::fprintf(stderr, "two %d;", static_cast<int>(allocator_statistics().cached_bytes));
  {
    std::vector<Block> many(1, Block::allocate(1 << 20));
    for (int i = 1; i < 30; ++i) many.push_back(Block::allocate(1 << 20));
  }
  std::fprintf(stderr, "many %d", allocator_statistics().cached_bytes <= 10 << 20);
}

TEST_CASE("BRAZE_CACHE_LIMIT bounds the cache", "[allocator]") {
  CHECK(in_new_process("BRAZE_CACHE_LIMIT=10M", "[.cache_limit]") == "large 0;two 8388608;many 1");
  CHECK(in_new_process("BRAZE_CACHE_LIMIT=0", "[.cache_limit]") == "large 0;two 0;many 1");
  CHECK(in_new_process("BRAZE_CACHE_LIMIT=1G", "[.cache_limit]") == "large 67108864;two 83886080;many 0");
}

TEST_CASE("prints why an allocation failed", "[.allocate]") {
  try {
    const Block block = Block::allocate(100);
    const auto* bytes = static_cast<const unsigned char*>(block.data());
    std::fprintf(stderr, "%d", std::all_of(bytes, bytes + 100, [](unsigned char b) { return b == 0xff; }));
  } catch (const ValueError& error) {
    std::fprintf(stderr, "%s", error.what());
  }
}

TEST_CASE("settings of the allocator are checked", "[allocator]") {
  CHECK_THAT(in_new_process("BRAZE_CACHE_LIMIT=lots", "[.allocate]"), ContainsSubstring("BRAZE_CACHE_LIMIT: expected bytes"));
  CHECK_THAT(in_new_process("BRAZE_CACHE_LIMIT=-5", "[.allocate]"), ContainsSubstring("got '-5'"));
  CHECK_THAT(in_new_process("BRAZE_FILL=zero", "[.allocate]"), ContainsSubstring("BRAZE_FILL: expected nan, got 'zero'"));
  CHECK(in_new_process("BRAZE_FILL=nan", "[.allocate]") == "1");
}

TEST_CASE("memory that idles goes back to the system", "[allocator][slow]") {
  {
    std::vector<Block> blocks;
    for (int i = 0; i < 100; ++i) blocks.push_back(Block::allocate(10000));
    blocks.push_back(Block::allocate(100 << 20));
  }
  REQUIRE(allocator_statistics().cached_bytes >= 100 << 20);
  for (int i = 0; i < 75; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    Block::allocate(64);
  }
  CHECK(allocator_statistics().cached_bytes < 1 << 20);
}

TEST_CASE("guarded memory ends at a page that kills", "[os]") {
  for (const std::int64_t bytes : {0, 1, 100, 4096, 4097, 100000}) {
    auto* data = static_cast<volatile char*>(os::map_guarded(bytes));
    REQUIRE(data != nullptr);
    for (const std::int64_t at : {std::int64_t{0}, bytes - 1})
      if (bytes > 0) data[at] = 1;
    CHECK(reinterpret_cast<std::uintptr_t>(data + bytes) % static_cast<std::uintptr_t>(os::page_size()) == 0);
    if (!sanitized) {
      CHECK(in_fork([&] { return data[bytes] == 0 ? 1 : 2; }) == 1000 + SIGSEGV);
    }
    os::unmap_guarded(const_cast<char*>(data), bytes);
  }
}

TEST_CASE("this process may use some memory and some cores", "[os]") {
  CHECK(os::usable_memory() > 64 << 20);
  CHECK(os::usable_cores() >= 1);
  CHECK(os::usable_cores() <= static_cast<int>(std::thread::hardware_concurrency()));
  const int one = in_fork([] {
    cpu_set_t set;
    sched_getaffinity(0, sizeof set, &set);
    int first = 0;
    while (!CPU_ISSET(first, &set)) ++first;
    CPU_ZERO(&set);
    CPU_SET(first, &set);
    sched_setaffinity(0, sizeof set, &set);
    return os::usable_cores();
  });
  CHECK(one == 1);
}
