// What differs between targets, as data. Schedules and back ends read it; none asks the machine again.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace braze::ir {

struct CpuTarget {
  std::string cpu = "x86-64";         // LLVM's CPU name, for tuning only
  std::vector<std::string> features;  // "+avx2", ...: what the machine really has, sorted; part of every cache key
  int vector_bytes = 16;              // 64 with AVX-512 F, BW, DQ and VL; 32 with AVX2 and FMA; else 16
  bool has_fma = false;
  bool has_avx512 = false;
  std::int64_t l1_bytes = 32 << 10, l2_bytes = 1 << 20, l3_bytes = 16 << 20;
  int cores = 1;
};

// This machine, by cpuid and sysctl; BRAZE_TARGET=avx2 or =sse2 masks features (read once). Lives in ir/target.cpp.
const CpuTarget& host_target();
// The host's caches and cores with the features of "avx512", "avx2" or "sse2"; throws ValueError for another name and
// DeviceError when the host lacks them.
CpuTarget target_named(const std::string& name);

struct CudaTarget {
  int major = 8, minor = 0;  // compute capability
  int multiprocessors = 108;
  int max_threads_per_block = 1024;
  std::int64_t shared_bytes_per_block = 48 << 10;
};

}  // namespace braze::ir
