#include "ir/target.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string_view>
#include <thread>

#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#define BRAZE_X86 1
#endif
#include <unistd.h>

#include "ir/error.h"

namespace braze::ir {
namespace {

// What the operating system saves of the registers, by XCR0; a feature counts only if its registers survive a context switch.
enum class State : std::uint8_t { sse, avx, avx512 };

struct Feature {
  std::string_view name;  // LLVM's
  std::uint32_t leaf, subleaf;
  char output;  // register: a, b, c or d
  std::uint8_t bit;
  State state;
};

constexpr std::uint32_t extended = 0x80000001;
constexpr Feature known_features[] = {
    {"sse3", 1, 0, 'c', 0, State::sse},
    {"ssse3", 1, 0, 'c', 9, State::sse},
    {"sse4.1", 1, 0, 'c', 19, State::sse},
    {"sse4.2", 1, 0, 'c', 20, State::sse},
    {"cx16", 1, 0, 'c', 13, State::sse},
    {"movbe", 1, 0, 'c', 22, State::sse},
    {"popcnt", 1, 0, 'c', 23, State::sse},
    {"sahf", extended, 0, 'c', 0, State::sse},
    {"lzcnt", extended, 0, 'c', 5, State::sse},
    {"prfchw", extended, 0, 'c', 8, State::sse},
    {"bmi", 7, 0, 'b', 3, State::sse},
    {"bmi2", 7, 0, 'b', 8, State::sse},
    {"gfni", 7, 0, 'c', 8, State::sse},
    {"avx", 1, 0, 'c', 28, State::avx},
    {"fma", 1, 0, 'c', 12, State::avx},
    {"f16c", 1, 0, 'c', 29, State::avx},
    {"avx2", 7, 0, 'b', 5, State::avx},
    {"avxvnni", 7, 1, 'a', 4, State::avx},
    {"avx512f", 7, 0, 'b', 16, State::avx512},
    {"avx512dq", 7, 0, 'b', 17, State::avx512},
    {"avx512ifma", 7, 0, 'b', 21, State::avx512},
    {"avx512cd", 7, 0, 'b', 28, State::avx512},
    {"avx512bw", 7, 0, 'b', 30, State::avx512},
    {"avx512vl", 7, 0, 'b', 31, State::avx512},
    {"avx512vbmi", 7, 0, 'c', 1, State::avx512},
    {"avx512vbmi2", 7, 0, 'c', 6, State::avx512},
    {"avx512vnni", 7, 0, 'c', 11, State::avx512},
    {"avx512bitalg", 7, 0, 'c', 12, State::avx512},
    {"avx512vpopcntdq", 7, 0, 'c', 14, State::avx512},
    {"avx512bf16", 7, 1, 'a', 5, State::avx512},
    {"avx512fp16", 7, 0, 'd', 23, State::avx512},
};

using Names = std::vector<std::string_view>;

constexpr std::array<std::string_view, 4> avx512_base = {"avx512f", "avx512bw", "avx512dq", "avx512vl"};
constexpr std::array<std::string_view, 2> avx2_base = {"avx2", "fma"};

bool has(const Names& names, std::string_view name) { return std::find(names.begin(), names.end(), name) != names.end(); }
bool has_all(const Names& names, std::initializer_list<std::string_view> wanted) {
  return std::all_of(wanted.begin(), wanted.end(), [&](std::string_view name) { return has(names, name); });
}

State state_of(std::string_view name) {
  for (const Feature& feature : known_features)
    if (feature.name == name) return feature.state;
  return State::sse;
}

#if BRAZE_X86

struct Registers {
  std::uint32_t a = 0, b = 0, c = 0, d = 0;
};

// Zeros where the processor does not know the leaf.
Registers cpuid(std::uint32_t leaf, std::uint32_t subleaf) {
  Registers r;
  if (!__get_cpuid_count(leaf, subleaf, &r.a, &r.b, &r.c, &r.d)) return {};
  return r;
}

std::uint64_t saved_states() {
  if (!(cpuid(1, 0).c & (1u << 27))) return 0;  // no OSXSAVE: no xgetbv
  std::uint32_t low, high;
  asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return std::uint64_t{high} << 32 | low;
}

Names machine_features() {
  const std::uint64_t saved = saved_states();
  const auto saves = [&](std::uint64_t mask) { return (saved & mask) == mask; };
  const bool avx = saves(0x6), avx512 = saves(0xe6);
  Names names;
  for (const Feature& feature : known_features) {
    const Registers r = cpuid(feature.leaf, feature.subleaf);
    const std::uint32_t output = feature.output == 'a' ? r.a : feature.output == 'b' ? r.b : feature.output == 'c' ? r.c : r.d;
    const bool usable = feature.state == State::sse || (feature.state == State::avx ? avx : avx512);
    if (usable && (output >> feature.bit & 1)) names.push_back(feature.name);
  }
  return names;
}

// The data cache of a level, by the deterministic cache parameters (Intel 4, AMD 0x8000001d); 0 when unknown.
std::int64_t cache_bytes(std::uint32_t level) {
  for (const std::uint32_t leaf : {4u, 0x8000001du})
    for (std::uint32_t index = 0; index < 16; ++index) {
      const Registers r = cpuid(leaf, index);
      const std::uint32_t type = r.a & 31, ways = (r.b >> 22) + 1, partitions = (r.b >> 12 & 1023) + 1, line = (r.b & 4095) + 1;
      if (type == 0) break;
      if (type != 2 && (r.a >> 5 & 7) == level) return std::int64_t{ways} * partitions * line * (std::int64_t{r.c} + 1);
    }
  return 0;
}

#else

Names machine_features() { return {}; }
std::int64_t cache_bytes(std::uint32_t) { return 0; }

#endif

std::int64_t cache_or(std::uint32_t level, int sysconf_name, std::int64_t otherwise) {
  if (const std::int64_t bytes = cache_bytes(level); bytes > 0) return bytes;
  const long bytes = sysconf(sysconf_name);
  return bytes > 0 ? bytes : otherwise;
}

// A CPU name brings features along, so it is the greatest of the psABI's levels that `names` covers.
std::string cpu_name(const Names& names) {
  if (!has_all(names, {"sse3", "ssse3", "sse4.1", "sse4.2", "cx16", "popcnt", "sahf"})) return "x86-64";
  if (!has_all(names, {"avx", "avx2", "fma", "f16c", "bmi", "bmi2", "lzcnt", "movbe"})) return "x86-64-v2";
  return has_all(names, {"avx512f", "avx512bw", "avx512dq", "avx512vl", "avx512cd"}) ? "x86-64-v4" : "x86-64-v3";
}

CpuTarget make_target(const Names& names) {
  CpuTarget target;
  target.cpu = cpu_name(names);
  for (std::string_view name : names) target.features.push_back(fmt::format("+{}", name));
  std::sort(target.features.begin(), target.features.end());
  target.has_fma = has(names, "fma");
  target.has_avx512 = std::all_of(avx512_base.begin(), avx512_base.end(), [&](auto name) { return has(names, name); });
  const bool avx2 = std::all_of(avx2_base.begin(), avx2_base.end(), [&](auto name) { return has(names, name); });
  target.vector_bytes = target.has_avx512 ? 64 : avx2 ? 32 : 16;
  target.l1_bytes = cache_or(1, _SC_LEVEL1_DCACHE_SIZE, target.l1_bytes);
  target.l2_bytes = cache_or(2, _SC_LEVEL2_CACHE_SIZE, target.l2_bytes);
  target.l3_bytes = cache_or(3, _SC_LEVEL3_CACHE_SIZE, target.l3_bytes);
  target.cores = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  return target;
}

// The machine's features without those that need more state than `most`; for sse2, none at all.
Names masked(State most) {
  Names names = machine_features();
  std::erase_if(names, [&](std::string_view name) { return most == State::sse || state_of(name) > most; });
  return names;
}

}  // namespace

CpuTarget target_named(const std::string& name) {
  if (name == "sse2") return make_target(masked(State::sse));
  require<ValueError>(name == "avx2" || name == "avx512", "there is no target '{}'; there are avx512, avx2 and sse2", name);
  CpuTarget target = make_target(masked(name == "avx2" ? State::avx : State::avx512));
  require<DeviceError>(target.vector_bytes >= (name == "avx2" ? 32 : 64), "this machine has no {}", name);
  return target;
}

const CpuTarget& host_target() {
  static const CpuTarget target = [] {
    const char* name = std::getenv("BRAZE_TARGET");
    return name && *name ? target_named(name) : make_target(machine_features());
  }();
  return target;
}

}  // namespace braze::ir
