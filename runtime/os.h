// What the runtime asks of the operating system. One implementation a system: os_linux.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace braze::runtime::os {

std::int64_t page_size();
// Memory and swap that this process may use: the machine's, or its control group's where that is less.
std::int64_t usable_memory();
// Cores that this process may use by its affinity and its control group's quota; at least 1.
int usable_cores();
// Seconds since some start, never running backwards; a few milliseconds coarse, a few nanoseconds dear.
std::int64_t coarse_seconds();

// Zeroed private pages, `bytes` rounded up to whole ones; null when the system has none. From `huge_page` bytes on they start
// at a huge page and ask for huge pages.
inline constexpr std::int64_t huge_page = std::int64_t{2} << 20;
void* map_pages(std::int64_t bytes);
void unmap_pages(void* data, std::int64_t bytes) noexcept;

// `bytes` bytes that end where a protected page begins, so that whatever touches the byte behind them dies there; the pages
// before them are protected too. Null when the system has none. Aligned as `bytes` allows.
void* map_guarded(std::int64_t bytes);
void unmap_guarded(void* data, std::int64_t bytes) noexcept;

// A whole file, private, copy on write; data is null for an empty one. Throws ValueError naming the path and the reason.
struct MappedFile {
  void* data = nullptr;
  std::int64_t bytes = 0;
};
MappedFile map_file(const std::string& path);

// Writes the pieces one after the other to a new file beside `path`, then renames it, so that a reader sees the old file or the
// new one. A device or pipe of that name is written as it is. Throws ValueError naming the path and the reason.
void write_file(const std::string& path, std::span<const std::span<const char>> pieces);

// Registers what to do around fork(): `before` in the parent, then `parent` and `child` on either side.
void at_fork(void (*before)(), void (*parent)(), void (*child)());

// A shared library of the system's, loaded apart from the host's own symbols and kept for ever. Symbols of the libraries that it
// depends on count as its own.
class Library {
 public:
  explicit Library(const std::string& name);
  bool loaded() const { return handle_ != nullptr; }
  const std::string& error() const { return error_; }
  void* symbol(const std::string& name) const;  // null where there is none

 private:
  void* handle_;
  std::string error_;
};

// Floating-point control of this thread as IEEE has it (round to nearest, subnormals kept, no traps) for as long as it lives;
// a host may have changed it.
class FloatControl {
 public:
  FloatControl();
  ~FloatControl();
  FloatControl(const FloatControl&) = delete;
  FloatControl& operator=(const FloatControl&) = delete;

 private:
  unsigned saved_;
  bool changed_;
};

}  // namespace braze::runtime::os
