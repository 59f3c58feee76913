// NVRTC, NVIDIA's run-time compiler, loaded with dlopen: CUDA C++ in, a cubin out. No CUDA header and no device is needed.
//
// Where the library is looked for
//  * BRAZE_NVRTC, when set, alone: the library itself, a folder that holds it, or a site-packages folder with one of PyPI's
//    `nvidia-cuda-nvrtc*` wheels;
//  * else $CUDA_HOME and $CUDA_PATH, /usr/local/cuda and /usr/local/cuda-*, then the loader's own search by soname, then the
//    wheels of $VIRTUAL_ENV.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "ir/object.h"
#include "ir/target.h"

namespace braze::codegen::cuda {

// What ptxas says a kernel takes. Spilled bytes are what a schedule must keep at 0.
struct Resources {
  std::string entry;
  int registers = 0;
  std::int64_t stack_bytes = 0, spill_store_bytes = 0, spill_load_bytes = 0, shared_bytes = 0;
};

// Reads the log that `--ptxas-options=-v` makes; lines that it does not know are skipped.
std::vector<Resources> parse_resources(std::string_view log);

struct Compilation {
  ir::Object::Format format = ir::Object::Format::cubin;  // ptx when this NVRTC cannot make code for the device itself
  std::vector<char> bytes;
  std::vector<Resources> resources;  // empty for ptx, which the driver finishes
  std::string log;
};

struct Library;  // the entry points of a loaded libnvrtc

class Nvrtc {
 public:
  // Thread-safe; the library stays loaded. Throws DeviceError naming every place that was tried.
  static const Nvrtc& instance();
  // Loads the first of `candidates` that works; for instance() and for tests.
  explicit Nvrtc(const std::vector<std::string>& candidates);
  ~Nvrtc();

  std::string version() const;                    // "13.0"
  const std::vector<int>& architectures() const;  // compute capabilities it makes cubins for: 75, 80, ...
  // Thread-safe. Throws CompileError with NVRTC's log and the first line of `source` that it complains about.
  Compilation compile(const std::string& source, const ir::CudaTarget& target) const;
  std::string ptx(const std::string& source, const ir::CudaTarget& target) const;

 private:
  std::unique_ptr<const Library> library_;
};

// The files and sonames that instance() tries, in order.
std::vector<std::string> nvrtc_candidates();

}  // namespace braze::codegen::cuda
