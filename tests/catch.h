// Catch2, whichever of version 2 (Debian 12) and version 3 the machine has. Every test includes this header and no other
// of Catch2's; where the two differ, version 3's spelling works here with both:
//   Catch::Approx, Catch::Matchers::ContainsSubstring, SKIP("why")
//
// Tags: [gpu] needs a device and skips, saying so, without one; [slow], [sweep] and [fuzz] are left out by `./dev quick`.
#pragma once

#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
#else
#include <catch2/catch.hpp>

// Version 2 knows no skipped test: this one says why and leaves the test function it stands in.
#define SKIP(...)                     \
  do {                                \
    WARN("skipped: " << __VA_ARGS__); \
    return;                           \
  } while (false)

namespace Catch {
using Detail::Approx;
namespace Matchers {
inline auto ContainsSubstring(const std::string& text, CaseSensitive::Choice which = CaseSensitive::Yes) {
  return Contains(text, which);
}
}  // namespace Matchers
}  // namespace Catch
#endif
