// NumPy's .npy files (format versions 1 to 3). https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ir/dtype.h"
#include "runtime/storage.h"

namespace braze::runtime {

// An array in a file's or the allocator's memory; strides in elements (Fortran order gives the reversed ones).
struct Array {
  DType type{};
  std::vector<std::int64_t> sizes, strides;
  Block block;
  void* data = nullptr;
};

// Memory-maps the file (private, copy on write); big-endian or misaligned data is copied. The file must not shrink while the
// array lives. Throws ValueError (not found, bad magic, truncated, too large), ParseError (header) or TypeError (a dtype that
// Braze lacks, Python objects), each naming the path and what is wrong.
Array load_npy(const std::string& path);
// `array` must be dense row-major. f16 is '<f2'; bf16 has no NumPy type and raises TypeError. Written aside and renamed.
void save_npy(const std::string& path, const Array& array);

}  // namespace braze::runtime
