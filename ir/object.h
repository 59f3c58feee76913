// Machine code as bytes: what a back end makes, a cache keeps and the runtime loads.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace braze::ir {

struct Object {
  enum class Format : std::uint8_t { elf, cubin, ptx } format = Format::elf;
  std::vector<char> bytes;
  std::vector<std::string> entries;  // one symbol a kernel, in the order given to compile()
};

}  // namespace braze::ir
