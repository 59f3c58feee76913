// The host as cpuid tells it, against the kernel's own account in /proc/cpuinfo and /sys.
#include "ir/target.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <optional>
#include <set>
#include <sstream>

#include "ir/error.h"
#include "tests/catch.h"

using namespace braze;
using namespace braze::ir;

namespace {

std::set<std::string> kernel_flags() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("flags")) {
      std::istringstream words(line.substr(line.find(':') + 1));
      return {std::istream_iterator<std::string>(words), {}};
    }
  return {};
}

bool has(const CpuTarget& target, const std::string& feature) {
  return std::binary_search(target.features.begin(), target.features.end(), "+" + feature);
}

std::optional<CpuTarget> named(const std::string& name) {
  try {
    return target_named(name);
  } catch (const DeviceError&) {
    return std::nullopt;
  }
}

}  // namespace

TEST_CASE("the features are those that the operating system sees") {
  const std::set<std::string> flags = kernel_flags();
  if (flags.empty()) SKIP("no flags in /proc/cpuinfo");
  const CpuTarget target = named("avx512") ? *named("avx512") : named("avx2") ? *named("avx2") : target_named("sse2");
  for (const auto& [feature, flag] : {std::pair{"avx2", "avx2"},
                                      {"fma", "fma"},
                                      {"f16c", "f16c"},
                                      {"avx512f", "avx512f"},
                                      {"avx512bw", "avx512bw"},
                                      {"avx512vl", "avx512vl"},
                                      {"avx512bf16", "avx512_bf16"},
                                      {"avx512vbmi2", "avx512_vbmi2"},
                                      {"bmi", "bmi1"},
                                      {"lzcnt", "abm"},
                                      {"prfchw", "3dnowprefetch"},
                                      {"popcnt", "popcnt"},
                                      {"gfni", "gfni"}}) {
    CAPTURE(feature);
    CHECK(has(target, feature) == (flags.count(flag) && target.vector_bytes > 16));
  }
  CHECK(std::is_sorted(target.features.begin(), target.features.end()));
  CHECK(target.cores >= 1);
}

TEST_CASE("targets are named by what they have at most") {
  const CpuTarget plain = target_named("sse2");
  CHECK(plain.features.empty());
  CHECK(plain.vector_bytes == 16);
  CHECK_FALSE(plain.has_fma);
  CHECK(plain.cpu == "x86-64");
  if (const auto avx2 = named("avx2")) {
    CHECK(avx2->vector_bytes == 32);
    CHECK(avx2->has_fma);
    CHECK_FALSE(avx2->has_avx512);
    for (const std::string& feature : avx2->features) CHECK(feature.find("avx512") == std::string::npos);
    CHECK(avx2->cpu != "x86-64-v4");
  }
  if (const auto avx512 = named("avx512")) {
    CHECK(avx512->vector_bytes == 64);
    CHECK(avx512->has_avx512);
    CHECK(has(*avx512, "avx2"));
  }
  CHECK_THROWS_AS(target_named("neon"), ValueError);
  CHECK_THROWS_WITH(target_named("neon"), "there is no target 'neon'; there are avx512, avx2 and sse2");
}

TEST_CASE("cache sizes are the kernel's") {
  const CpuTarget target = target_named("sse2");
  for (int index = 0; index < 5; ++index) {
    const std::string folder = "/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(index) + "/";
    std::ifstream level_file(folder + "level"), type_file(folder + "type"), size_file(folder + "size");
    int level = 0;
    std::int64_t size = 0;
    std::string type, unit;
    if (!(level_file >> level) || !(type_file >> type) || !(size_file >> size)) continue;
    size_file >> unit;
    if (type == "Instruction") continue;
    if (unit == "K") size <<= 10;
    if (unit == "M") size <<= 20;
    CAPTURE(level);
    CHECK((level == 1 ? target.l1_bytes : level == 2 ? target.l2_bytes : target.l3_bytes) == size);
  }
}
