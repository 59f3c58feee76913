// In which order of dims a dense tensor's elements lie in memory. https://pytorch.org/docs/stable/tensor_attributes.html#torch-memory-format
#pragma once

#include <cstdint>

namespace braze {

enum class MemoryFormat : std::uint8_t {
  contiguous,        // row-major
  preserve,          // that of the tensor at hand, where it is dense without overlaps; else row-major
  channels_last,     // of 4 dims NCHW: as NHWC
  channels_last_3d,  // of 5 dims NCDHW: as NDHWC
};

// How elements lie in memory at all: every tensor is strided. https://pytorch.org/docs/stable/tensor_attributes.html#torch-layout
enum class Layout : std::uint8_t { strided };

}  // namespace braze
