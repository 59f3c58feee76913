// Where a tensor lives. Braze's tensors live in the CPU's memory; the other names are known so that code which asks for them reads
// the same, and is told what is missing. https://pytorch.org/docs/stable/tensor_attributes.html#torch-device
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace braze {

struct Device {
  enum class Type : std::uint8_t { cpu, cuda, xpu, mps, meta };
  Type type = Type::cpu;
  std::int64_t index = -1;  // none

  Device() = default;
  Device(Type type, std::int64_t index = -1) : type(type), index(index) {}  // NOLINT
  // "cpu", "cuda:1". Throws Error, naming the types there are.
  Device(std::string_view text);                                       // NOLINT
  Device(const char* text) : Device(std::string_view(text)) {}         // NOLINT
  Device(const std::string& text) : Device(std::string_view(text)) {}  // NOLINT

  std::string str() const;
  bool operator==(const Device&) const = default;
};

// Throws DeviceError, saying what is missing, unless tensors can live there.
void require_supported(const Device& device);

// https://pytorch.org/docs/stable/cuda.html
namespace cuda {
bool is_available();          // whether tensors can live there: not yet
std::int64_t device_count();  // 0 where they cannot
}  // namespace cuda

}  // namespace braze
