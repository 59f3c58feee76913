// How tensors print: as PyTorch's repr, to the character. operator<<, fmt and std::format (braze/format.h) and str() give the same
// text. https://pytorch.org/docs/stable/generated/torch.set_printoptions.html
#pragma once

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string_view>

#include "braze/device.h"
#include "braze/dtype.h"

namespace braze {

std::ostream& operator<<(std::ostream& out, DType dtype);           // braze.float32
std::ostream& operator<<(std::ostream& out, const Device& device);  // cuda:1

// What is not given stays as it is, apart from sci_mode.
struct PrintOptions {
  std::optional<std::int64_t> precision;  // digits of a float: 4
  std::optional<std::int64_t> threshold;  // larger tensors are summarised: 1000 elements
  std::optional<std::int64_t> edgeitems;  // at each end of a summarised dim: 3
  std::optional<std::int64_t> linewidth;  // 80 characters
  std::optional<bool> sci_mode;           // scientific notation always or never; not given, it depends on the values
  std::string_view profile;               // first "default", "short" or "full"
};

// For all threads. Throws ValueError for a negative number or an unknown profile.
void set_printoptions(const PrintOptions& options);
// As they are now; all are given but sci_mode.
PrintOptions get_printoptions();

}  // namespace braze
