#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysinfo.h>
#include <time.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <limits>
#include <sstream>

#include "ir/error.h"
#include "runtime/os.h"

namespace braze::runtime::os {

namespace {

std::int64_t round_up(std::int64_t value, std::int64_t multiple) { return (value + multiple - 1) / multiple * multiple; }

std::string reason(int error) { return std::strerror(error); }  // NOLINT: glibc's is thread-safe

// This process's group of the unified hierarchy: "/a/b", or empty.
std::string control_group() {
  std::ifstream file("/proc/self/cgroup");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("0::/")) return line.substr(3);
  return {};
}

// Calls `read(stream)` on the file `name` of this process's control group and of each group above it.
template <class F>
void for_each_group(const char* name, F read) {
  std::string group = control_group();
  while (true) {
    std::ifstream file("/sys/fs/cgroup" + group + "/" + name);
    if (file) read(file);
    const std::size_t slash = group.rfind('/');
    if (slash == std::string::npos) return;
    group.resize(slash);
  }
}

int quota_cores() {
  double cores = std::numeric_limits<int>::max();
  const auto limit = [&](double quota, double period) {
    if (quota > 0 && period > 0) cores = std::min(cores, quota / period);
  };
  for_each_group("cpu.max", [&](std::ifstream& file) {
    double quota = 0, period = 0;
    if (file >> quota >> period) limit(quota, period);  // "max 100000" fails to read as a number: no limit
  });
  double quota = 0, period = 0;
  std::ifstream("/sys/fs/cgroup/cpu/cpu.cfs_quota_us") >> quota;
  std::ifstream("/sys/fs/cgroup/cpu/cpu.cfs_period_us") >> period;
  limit(quota, period);
  return std::max(1, static_cast<int>(std::min(cores + 0.5, 1e6)));
}

int affinity_cores() {
  // The set must be at least as large as the kernel's, which sched_getaffinity says only by failing.
  for (int possible = 1024; possible <= (1 << 20); possible *= 4) {
    cpu_set_t* set = CPU_ALLOC(possible);
    if (!set) break;
    const std::size_t bytes = CPU_ALLOC_SIZE(possible);
    const int rc = sched_getaffinity(0, bytes, set);
    const int error = errno, count = rc == 0 ? CPU_COUNT_S(bytes, set) : 0;
    CPU_FREE(set);
    if (count > 0) return count;
    if (rc != 0 && error != EINVAL) break;
  }
  return std::max(1, static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN)));
}

void write_all(int fd, std::span<const char> bytes, const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t written = write(fd, bytes.data(), std::min<std::size_t>(bytes.size(), std::size_t{1} << 30));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail<ValueError>("{}: cannot write: {}", path, reason(errno));
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
}

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }
  int release() { return std::exchange(fd_, -1); }

 private:
  int fd_;
};

}  // namespace

std::int64_t page_size() {
  static const std::int64_t size = sysconf(_SC_PAGESIZE);
  return size;
}

std::int64_t usable_memory() {
  struct sysinfo machine{};
  std::int64_t bytes = std::numeric_limits<std::int64_t>::max();
  if (sysinfo(&machine) == 0) bytes = static_cast<std::int64_t>((machine.totalram + machine.totalswap) * machine.mem_unit);
  for_each_group("memory.max", [&](std::ifstream& file) {
    std::int64_t limit = 0;
    if (file >> limit && limit > 0) bytes = std::min(bytes, limit);
  });
  std::int64_t limit = 0;
  if (std::ifstream("/sys/fs/cgroup/memory/memory.limit_in_bytes") >> limit && limit > 0) bytes = std::min(bytes, limit);
  return bytes;
}

int usable_cores() { return std::min(affinity_cores(), quota_cores()); }

std::int64_t coarse_seconds() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  return now.tv_sec;
}

void* map_pages(std::int64_t bytes) {
  const std::int64_t length = round_up(bytes, page_size());
  const bool huge = length >= huge_page;
  const std::int64_t reserve = huge ? length + huge_page - page_size() : length;
  void* mapped = mmap(nullptr, static_cast<std::size_t>(reserve), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) return nullptr;
  if (!huge) return mapped;
  char* const first = static_cast<char*>(mapped);
  const auto address = reinterpret_cast<std::uintptr_t>(first);
  const auto before = static_cast<std::int64_t>(-address & static_cast<std::uintptr_t>(huge_page - 1));
  char* const data = first + before;
  if (before > 0) munmap(first, static_cast<std::size_t>(before));
  if (const std::int64_t after = reserve - before - length; after > 0) munmap(data + length, static_cast<std::size_t>(after));
  madvise(data, static_cast<std::size_t>(length), MADV_HUGEPAGE);  // a wish: small pages serve as well
  return data;
}

void unmap_pages(void* data, std::int64_t bytes) noexcept { munmap(data, static_cast<std::size_t>(round_up(bytes, page_size()))); }

void* map_guarded(std::int64_t bytes) {
  const std::int64_t page = page_size(), body = std::max(page, round_up(bytes, page));
  void* mapped =
      mmap(nullptr, static_cast<std::size_t>(body + 2 * page), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED) return nullptr;
  char* const first = static_cast<char*>(mapped);
  if (mprotect(first + page, static_cast<std::size_t>(body), PROT_READ | PROT_WRITE) != 0) {
    munmap(mapped, static_cast<std::size_t>(body + 2 * page));
    return nullptr;
  }
  return first + page + body - bytes;
}

void unmap_guarded(void* data, std::int64_t bytes) noexcept {
  const std::int64_t page = page_size(), body = std::max(page, round_up(bytes, page));
  munmap(static_cast<char*>(data) + bytes - body - page, static_cast<std::size_t>(body + 2 * page));
}

MappedFile map_file(const std::string& path) {
  const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0) fail<ValueError>("{}: cannot open: {}", path, reason(errno));
  struct stat status{};
  if (fstat(file.get(), &status) != 0) fail<ValueError>("{}: cannot read: {}", path, reason(errno));
  require<ValueError>(S_ISREG(status.st_mode), "{}: cannot read: not a regular file", path);
  if (status.st_size == 0) return {};
  void* data = mmap(nullptr, static_cast<std::size_t>(status.st_size), PROT_READ | PROT_WRITE, MAP_PRIVATE, file.get(), 0);
  if (data == MAP_FAILED) fail<ValueError>("{}: cannot map: {}", path, reason(errno));
  return {data, status.st_size};
}

void write_file(const std::string& path, std::span<const std::span<const char>> pieces) {
  static std::atomic<unsigned> counter{0};
  struct stat status{};
  const bool special = stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode);
  const std::string target = special ? path : fmt::format("{}.{}-{}.tmp", path, getpid(), counter++);
  const int flags = O_WRONLY | O_CLOEXEC | (special ? 0 : O_CREAT | O_EXCL);
  Descriptor file(open(target.c_str(), flags, 0666));
  if (file.get() < 0) fail<ValueError>("{}: cannot write: {}", path, reason(errno));
  try {
    for (const std::span<const char> piece : pieces) write_all(file.get(), piece, path);
    // close() reports what a network file system could not store.
    if (close(file.release()) != 0 && !special) fail<ValueError>("{}: cannot write: {}", path, reason(errno));
    if (!special && rename(target.c_str(), path.c_str()) != 0) fail<ValueError>("{}: cannot write: {}", path, reason(errno));
  } catch (const Error&) {
    if (!special) unlink(target.c_str());
    throw;
  }
}

void at_fork(void (*before)(), void (*parent)(), void (*child)()) { pthread_atfork(before, parent, child); }

#if defined(__x86_64__)
namespace {
constexpr unsigned default_control = 0x1f80, status_flags = 0x3f;  // all exceptions masked, nearest even
}
FloatControl::FloatControl() : saved_(_mm_getcsr()), changed_((saved_ & ~status_flags) != default_control) {
  if (changed_) [[unlikely]]
    _mm_setcsr(default_control);
}
FloatControl::~FloatControl() {
  if (changed_) [[unlikely]]
    _mm_setcsr(saved_);
}
#else
FloatControl::FloatControl() : saved_(0), changed_(false) {}
FloatControl::~FloatControl() = default;
#endif

Library::Library(const std::string& name) : handle_(dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL)) {
  if (!handle_) error_ = dlerror();  // NOLINT: glibc's is thread-safe
}
void* Library::symbol(const std::string& name) const { return handle_ ? dlsym(handle_, name.c_str()) : nullptr; }

}  // namespace braze::runtime::os
