// What may stand in x(...) beside numbers and tensors: slice(), ellipsis, newaxis.
// https://numpy.org/doc/stable/user/basics.indexing.html
#pragma once

#include <cstdint>
#include <optional>
#include <type_traits>

namespace braze {

// slice() is ":", slice(a, b) is "a:b", slice(a, b, s) is "a:b:s"; none leaves a bound open. Steps are positive, as in PyTorch.
struct Slice {
  std::optional<std::int64_t> start, stop;
  std::int64_t step = 1;
};
inline constexpr std::nullopt_t none = std::nullopt;
inline Slice slice() { return {}; }
inline Slice slice(std::optional<std::int64_t> start, std::optional<std::int64_t> stop = none, std::int64_t step = 1) {
  return {start, stop, step};
}

struct Ellipsis {};
inline constexpr Ellipsis ellipsis{};
struct NewAxis {};
inline constexpr NewAxis newaxis{};

}  // namespace braze
