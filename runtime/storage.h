// Memory: reference-counted blocks from a caching allocator, or the host's own.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

namespace braze::runtime {

struct AllocatorStatistics {
  std::int64_t live_bytes, peak_bytes, cached_bytes;
  std::int64_t system_allocations;  // how often memory was asked of the system
};

// A block of at least `bytes` bytes, 64-byte aligned; huge pages from 2 MiB on. Fresh system pages are zero, reused blocks are not.
// Throws DeviceError naming the size when the system has none.
class Block {
 public:
  Block() = default;
  static Block allocate(std::int64_t bytes);
  // Host memory: `release` (may be empty) runs when the last reference dies.
  static Block borrow(void* data, std::int64_t bytes, std::function<void()> release, bool read_only);

  explicit operator bool() const { return control_ != nullptr; }
  void* data() const;
  std::int64_t bytes() const;
  bool read_only() const;
  bool borrowed() const;
  bool unique() const;  // this is the only reference

  Block(const Block& other);
  Block(Block&& other) noexcept;
  Block& operator=(Block other) noexcept;
  ~Block();
  friend bool operator==(const Block& a, const Block& b) { return a.control_ == b.control_; }

  struct Control;  // internal

 private:
  explicit Block(Control* control) : control_(control) {}
  Control* control_ = nullptr;
};

AllocatorStatistics allocator_statistics();
void reset_peak();
// Gives all cached blocks back to the system.
void release_cached_memory();

}  // namespace braze::runtime
