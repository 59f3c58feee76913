// The caching allocator. Small blocks (to 1.75 MiB) come in 56 size classes, four a doubling, from stacks in a few shards, each
// behind a spin lock: a thread keeps to one shard, so that a hit costs a few tens of nanoseconds and nothing has to be done when
// a thread ends. Large blocks are pages from the system, kept in one list ordered by size. A block keeps its control structure
// while it is cached: in steady state nothing is asked of malloc.
//
// The one instance is never destroyed: tensors may die in static destructors.
#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "ir/error.h"
#include "runtime/os.h"
#include "runtime/storage.h"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#endif

namespace braze::runtime {

struct Block::Control {
  std::atomic<std::int32_t> references{1};
  bool is_borrowed = false, is_read_only = false;
  std::uint8_t size_class = 0;
  void* memory = nullptr;
  std::int64_t used = 0;      // bytes asked for
  std::int64_t capacity = 0;  // bytes there
  std::int64_t freed_at = 0;  // coarse seconds
  Control* next = nullptr;    // in a shard's stack
  std::function<void()> release;
};

namespace {

using Control = Block::Control;

constexpr std::int64_t unit = 64;  // alignment, and the smallest block
constexpr std::int64_t small_limit = 28672 * unit;
constexpr int class_count = 56;
constexpr std::uint8_t large_class = class_count;
constexpr std::int64_t pages_from = 128 << 10;  // smaller blocks share pages, from malloc
constexpr std::int64_t idle_seconds = 5, sweep_seconds = 1;

// 1, 2, 3, 4 units, then four classes a doubling: 5 6 7 8, 10 12 14 16, ...
struct SizeClass {
  std::uint8_t number;
  std::int64_t capacity;
};
SizeClass size_class(std::int64_t bytes) {
  const auto units = static_cast<std::uint64_t>(bytes <= unit ? 1 : (bytes + unit - 1) / unit);
  if (units <= 4) return {static_cast<std::uint8_t>(units - 1), static_cast<std::int64_t>(units) * unit};
  const int octave = std::bit_width(units - 1) - 1, shift = octave - 2;  // 2^octave < units <= 2^(octave + 1)
  const std::uint64_t quarter = ((units - 1) >> shift) + 1;              // 5 ... 8
  return {static_cast<std::uint8_t>(4 * (octave - 1) + static_cast<int>(quarter) - 5),
          static_cast<std::int64_t>(quarter << shift) * unit};
}

// Steps of an eighth, at most 64 MiB: what is not touched of them costs address space only.
std::int64_t large_capacity(std::int64_t bytes) {
  const auto wanted = static_cast<std::uint64_t>(std::max(bytes, os::huge_page));
  const std::uint64_t step = std::min(std::bit_floor(wanted) / 8, std::uint64_t{64} << 20);
  return static_cast<std::int64_t>((wanted + step - 1) / step * step);
}

std::string in_words(std::int64_t bytes) {
  const char* const units[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  if (bytes < 1024) return fmt::format("{} bytes", bytes);
  double scaled = static_cast<double>(bytes) / 1024;
  int i = 0;
  for (; scaled >= 1024 && i < 5; ++i) scaled /= 1024;
  return fmt::format("{:.2f} {} ({} bytes)", scaled, units[i], bytes);
}

// "4096", "64K", "512M" or "2G".
std::int64_t cache_limit() {
  const char* text = std::getenv("BRAZE_CACHE_LIMIT");
  if (!text || !*text) return std::min(os::usable_memory() / 4, std::int64_t{2} << 30);
  char* end = nullptr;
  errno = 0;
  const double number = std::strtod(text, &end);
  const std::string_view suffix(end);
  const double scale = suffix.empty() ? 1 : suffix == "K" ? 0x1p10 : suffix == "M" ? 0x1p20 : suffix == "G" ? 0x1p30 : 0;
  require<ValueError>(end != text && scale > 0 && number >= 0 && number * scale < 0x1p62,
                      "BRAZE_CACHE_LIMIT: expected bytes, such as 4096, 64K, 512M or 2G, got '{}'", text);
  return static_cast<std::int64_t>(number * scale);
}

bool fills() {
  const char* text = std::getenv("BRAZE_FILL");
  if (!text || !*text) return false;
  require<ValueError>(std::string_view(text) == "nan", "BRAZE_FILL: expected nan, got '{}'", text);
  return true;
}

// Under AddressSanitizer, cached memory and what lies behind a block's last byte may not be touched.
void forbid([[maybe_unused]] void* data, [[maybe_unused]] std::int64_t bytes) {
#if defined(__SANITIZE_ADDRESS__)
  __asan_poison_memory_region(data, static_cast<std::size_t>(bytes));
#endif
}
void permit([[maybe_unused]] void* data, [[maybe_unused]] std::int64_t bytes) {
#if defined(__SANITIZE_ADDRESS__)
  __asan_unpoison_memory_region(data, static_cast<std::size_t>(bytes));
#endif
}

class SpinLock {
 public:
  void lock() {
    for (int spins = 0; held_.exchange(true, std::memory_order_acquire);)
      while (held_.load(std::memory_order_relaxed))
        if (++spins % 64 == 0) std::this_thread::yield();
  }
  void unlock() { held_.store(false, std::memory_order_release); }

 private:
  std::atomic<bool> held_{false};
};

class Allocator {
 public:
  Allocator() : limit_(cache_limit()), memory_(os::usable_memory()), fill_(fills()) {
    large_.reserve(large_blocks);
    os::at_fork([] { instance().lock_all(); }, [] { instance().unlock_all(); }, [] { instance().unlock_all(); });
  }

  static Allocator& instance() {
    static Allocator* const allocator = new Allocator;
    return *allocator;
  }

  Control* allocate(std::int64_t bytes);
  Control* borrow(void* data, std::int64_t bytes, std::function<void()> release, bool read_only);
  void free(Control* block) noexcept;
  void release_cached() noexcept;
  AllocatorStatistics statistics() const;
  void reset_peak() { peak_.store(live_.load(std::memory_order_relaxed), std::memory_order_relaxed); }

 private:
  static constexpr int shard_count = 16;
  static constexpr int spare_limit = 64;
  static constexpr std::size_t large_blocks = 4096;  // that are cached at most; free() must not ask for memory

  struct alignas(128) Shard {
    SpinLock lock;
    std::atomic<std::uint64_t> stocked{0};  // a bit a class whose stack holds something; changed under the lock
    Control* stacks[class_count] = {};      // newest first
    Control* spare = nullptr;               // controls without memory, for borrowed blocks
    int spares = 0;
  };

  Shard& own_shard();
  Control* pop(Shard& shard, int number);
  Control* take_small(SizeClass size);
  Control* take_large(std::int64_t capacity);
  Control* fresh(std::int64_t bytes, std::int64_t capacity, std::uint8_t number);
  void* system_memory(std::int64_t capacity);
  [[noreturn]] void out_of_memory(std::int64_t bytes) const;

  bool make_room(std::int64_t capacity) noexcept;
  void to_system(Control* block) noexcept;
  void chain_to_system(Control* first) noexcept;
  void sweep(std::int64_t freed_before) noexcept;
  void lock_all();
  void unlock_all();

  const std::int64_t limit_, memory_;
  const bool fill_;
  Shard shards_[shard_count];
  std::mutex large_mutex_;
  std::vector<Control*> large_;  // by capacity, then oldest first
  alignas(128) std::atomic<std::int64_t> live_{0};
  std::atomic<std::int64_t> peak_{0}, cached_{0}, system_allocations_{0};
  std::atomic<std::int64_t> swept_at_{0};
};

Allocator::Shard& Allocator::own_shard() {
  static std::atomic<unsigned> next{0};
  thread_local unsigned number = 0;  // 0: not chosen yet
  if (number == 0) [[unlikely]]
    number = 1 + next.fetch_add(1, std::memory_order_relaxed) % shard_count;
  return shards_[number - 1];
}

// The shard's lock is held.
Control* Allocator::pop(Shard& shard, int number) {
  Control* const block = shard.stacks[number];
  if (block && !(shard.stacks[number] = block->next))
    shard.stocked.store(shard.stocked.load(std::memory_order_relaxed) & ~(std::uint64_t{1} << number), std::memory_order_relaxed);
  return block;
}

Control* Allocator::take_small(SizeClass size) {
  Shard& own = own_shard();
  const auto holds = [&](const Shard& shard) { return shard.stocked.load(std::memory_order_relaxed) >> size.number & 1; };
  if (holds(own)) {
    const std::lock_guard hold(own.lock);
    if (Control* block = pop(own, size.number)) return block;
  }
  // A thread whose blocks die on another one would otherwise never hit.
  for (Shard& shard : shards_) {
    if (&shard == &own || !holds(shard)) continue;
    const std::lock_guard hold(shard.lock);
    if (Control* block = pop(shard, size.number)) return block;
  }
  return nullptr;
}

// The smallest cached block that is at most a quarter too large, and of those of its size the one freed last: its lines may
// still be in a cache.
Control* Allocator::take_large(std::int64_t capacity) {
  const std::lock_guard hold(large_mutex_);
  const auto smaller = [](const Control* block, std::int64_t bytes) { return block->capacity < bytes; };
  auto found = std::lower_bound(large_.begin(), large_.end(), capacity, smaller);
  if (found == large_.end() || (*found)->capacity > capacity + capacity / 4) return nullptr;
  found = std::lower_bound(found, large_.end(), (*found)->capacity + 1, smaller) - 1;
  Control* const block = *found;
  large_.erase(found);
  return block;
}

void* Allocator::system_memory(std::int64_t capacity) {
  system_allocations_.fetch_add(1, std::memory_order_relaxed);
  if (capacity >= pages_from) return os::map_pages(capacity);
  return std::aligned_alloc(unit, static_cast<std::size_t>(capacity));
}

void Allocator::out_of_memory(std::int64_t bytes) const {
  fail<DeviceError>("out of memory: cannot allocate {}; {} are in use by tensors, and this process may use {}", in_words(bytes),
                    in_words(live_.load(std::memory_order_relaxed)), in_words(memory_));
}

Control* Allocator::fresh(std::int64_t bytes, std::int64_t capacity, std::uint8_t number) {
  // The system promises pages that it does not have, and kills the process when they are touched: so count here.
  const auto excess = [&] {
    return live_.load(std::memory_order_relaxed) + cached_.load(std::memory_order_relaxed) > memory_ - bytes;
  };
  if (number == large_class && excess()) {
    release_cached();
    if (excess()) out_of_memory(bytes);
  }
  auto block = std::make_unique<Control>();
  block->memory = system_memory(capacity);
  if (!block->memory) {
    release_cached();
    block->memory = system_memory(capacity);
  }
  if (!block->memory) out_of_memory(bytes);
  block->capacity = capacity;
  block->size_class = number;
  return block.release();
}

Control* Allocator::allocate(std::int64_t bytes) {
  invariant(bytes >= 0, "a block of {} bytes", bytes);
  Control* block;
  if (bytes <= small_limit) {
    const SizeClass size = size_class(bytes);
    block = take_small(size);
    if (block) cached_.fetch_sub(block->capacity, std::memory_order_relaxed);
    if (!block) block = fresh(bytes, size.capacity, size.number);
  } else {
    if (bytes > memory_) out_of_memory(bytes);
    const std::int64_t capacity = large_capacity(bytes);
    block = take_large(capacity);
    if (block) cached_.fetch_sub(block->capacity, std::memory_order_relaxed);
    if (!block) block = fresh(bytes, capacity, large_class);
  }
  block->used = bytes;
  block->references.store(1, std::memory_order_relaxed);
  const std::int64_t live = live_.fetch_add(bytes, std::memory_order_relaxed) + bytes;
  for (std::int64_t peak = peak_.load(std::memory_order_relaxed); live > peak;)
    if (peak_.compare_exchange_weak(peak, live, std::memory_order_relaxed)) break;
  permit(block->memory, block->capacity);
  if (fill_) std::memset(block->memory, 0xff, static_cast<std::size_t>(block->capacity));
  forbid(static_cast<char*>(block->memory) + bytes, block->capacity - bytes);
  return block;
}

Control* Allocator::borrow(void* data, std::int64_t bytes, std::function<void()> release, bool read_only) {
  Shard& shard = own_shard();
  Control* block = nullptr;
  {
    const std::lock_guard hold(shard.lock);
    if ((block = shard.spare)) {
      shard.spare = block->next;
      --shard.spares;
    }
  }
  if (!block) block = new Control;
  block->references.store(1, std::memory_order_relaxed);
  block->is_borrowed = true;
  block->is_read_only = read_only;
  block->memory = data;
  block->used = block->capacity = bytes;
  block->release = std::move(release);
  return block;
}

void Allocator::free(Control* block) noexcept {
  Shard& shard = own_shard();
  if (block->is_borrowed) {
    // The control is the block's until its release, which may allocate, has ended.
    if (const auto release = std::exchange(block->release, {})) release();
    {
      const std::lock_guard hold(shard.lock);
      if (shard.spares < spare_limit) {
        block->next = shard.spare;
        shard.spare = std::exchange(block, nullptr);
        ++shard.spares;
      }
    }
    delete block;
    return;
  }
  live_.fetch_sub(block->used, std::memory_order_relaxed);
  if (cached_.load(std::memory_order_relaxed) + block->capacity > limit_ && !make_room(block->capacity)) {
    to_system(block);
    return;
  }
  const std::int64_t now = os::coarse_seconds();
  block->freed_at = now;
  forbid(block->memory, block->capacity);
  cached_.fetch_add(block->capacity, std::memory_order_relaxed);
  if (const int number = block->size_class; number != large_class) {
    const std::lock_guard hold(shard.lock);
    block->next = shard.stacks[number];
    shard.stacks[number] = block;
    shard.stocked.store(shard.stocked.load(std::memory_order_relaxed) | std::uint64_t{1} << number, std::memory_order_relaxed);
  } else {
    const std::lock_guard hold(large_mutex_);
    if (large_.size() < large_blocks) {
      const auto larger = [](std::int64_t bytes, const Control* other) { return bytes < other->capacity; };
      large_.insert(std::upper_bound(large_.begin(), large_.end(), block->capacity, larger), block);
      block = nullptr;
    }
  }
  if (block && block->size_class == large_class) chain_to_system(block);
  if (std::int64_t last = swept_at_.load(std::memory_order_relaxed); now - last >= sweep_seconds) [[unlikely]]
    if (swept_at_.compare_exchange_strong(last, now, std::memory_order_relaxed)) sweep(now - idle_seconds);
}

// Gives large cached blocks back, the one longest unused first, until `capacity` more bytes fit.
bool Allocator::make_room(std::int64_t capacity) noexcept {
  if (capacity > limit_) return false;
  while (cached_.load(std::memory_order_relaxed) + capacity > limit_) {
    Control* oldest = nullptr;
    {
      const std::lock_guard hold(large_mutex_);
      const auto by_age = [](const Control* a, const Control* b) { return a->freed_at < b->freed_at; };
      const auto found = std::min_element(large_.begin(), large_.end(), by_age);
      if (found == large_.end()) return false;
      oldest = *found;
      large_.erase(found);
    }
    cached_.fetch_sub(oldest->capacity, std::memory_order_relaxed);
    to_system(oldest);
  }
  return true;
}

void Allocator::to_system(Control* block) noexcept {
  permit(block->memory, block->capacity);
  if (block->capacity >= pages_from)
    os::unmap_pages(block->memory, block->capacity);
  else
    std::free(block->memory);
  delete block;
}

void Allocator::chain_to_system(Control* first) noexcept {
  while (first) {
    Control* const block = std::exchange(first, first->next);
    cached_.fetch_sub(block->capacity, std::memory_order_relaxed);
    to_system(block);
  }
}

// Gives back what has been cached since before `freed_before`. Stacks are in order of time, up to a second or so.
void Allocator::sweep(std::int64_t freed_before) noexcept {
  for (Shard& shard : shards_) {
    for (int number = 0; number < class_count; ++number) {
      if (!(shard.stocked.load(std::memory_order_relaxed) >> number & 1)) continue;
      Control* old = nullptr;
      {
        const std::lock_guard hold(shard.lock);
        Control** end = &shard.stacks[number];
        while (*end && (*end)->freed_at >= freed_before) end = &(*end)->next;
        old = std::exchange(*end, nullptr);
        if (!shard.stacks[number])
          shard.stocked.store(shard.stocked.load(std::memory_order_relaxed) & ~(std::uint64_t{1} << number),
                              std::memory_order_relaxed);
      }
      chain_to_system(old);
    }
  }
  Control* old = nullptr;
  {
    const std::lock_guard hold(large_mutex_);
    std::erase_if(large_, [&](Control* block) {
      if (block->freed_at >= freed_before) return false;
      block->next = old;
      old = block;
      return true;
    });
  }
  chain_to_system(old);
}

void Allocator::release_cached() noexcept { sweep(std::numeric_limits<std::int64_t>::max()); }

AllocatorStatistics Allocator::statistics() const {
  return {.live_bytes = live_.load(std::memory_order_relaxed),
          .peak_bytes = peak_.load(std::memory_order_relaxed),
          .cached_bytes = cached_.load(std::memory_order_relaxed),
          .system_allocations = system_allocations_.load(std::memory_order_relaxed)};
}

void Allocator::lock_all() {
  large_mutex_.lock();
  for (Shard& shard : shards_) shard.lock.lock();
}

void Allocator::unlock_all() {
  for (Shard& shard : shards_) shard.lock.unlock();
  large_mutex_.unlock();
}

}  // namespace

Block Block::allocate(std::int64_t bytes) { return Block(Allocator::instance().allocate(bytes)); }
Block Block::borrow(void* data, std::int64_t bytes, std::function<void()> release, bool read_only) {
  return Block(Allocator::instance().borrow(data, bytes, std::move(release), read_only));
}

void* Block::data() const { return control_ ? control_->memory : nullptr; }
std::int64_t Block::bytes() const { return control_ ? control_->used : 0; }
bool Block::read_only() const { return control_ && control_->is_read_only; }
bool Block::borrowed() const { return control_ && control_->is_borrowed; }
bool Block::unique() const { return control_ && control_->references.load(std::memory_order_acquire) == 1; }

Block::Block(const Block& other) : control_(other.control_) {
  if (control_) control_->references.fetch_add(1, std::memory_order_relaxed);
}
Block::Block(Block&& other) noexcept : control_(std::exchange(other.control_, nullptr)) {}
Block& Block::operator=(Block other) noexcept {
  std::swap(control_, other.control_);
  return *this;
}
Block::~Block() {
  // A reference that is the only one needs no atomic subtraction: nobody else can add one.
  if (control_ && (control_->references.load(std::memory_order_acquire) == 1 ||
                   control_->references.fetch_sub(1, std::memory_order_acq_rel) == 1))
    Allocator::instance().free(control_);
}

AllocatorStatistics allocator_statistics() { return Allocator::instance().statistics(); }
void reset_peak() { Allocator::instance().reset_peak(); }
void release_cached_memory() { Allocator::instance().release_cached(); }

}  // namespace braze::runtime
