// Where a Program's temporaries lie in its arena.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "ir/index.h"

namespace braze::passes {

// A temporary: bytes, a multiple of 64, and the steps from the first to the last that touches it.
struct Tenant {
  ir::IndexId bytes;
  std::size_t first, last;
};

struct ArenaLayout {
  std::vector<ir::IndexId> offsets;  // in the order of the tenants
  ir::IndexId bytes;
};

// No two tenants whose lives overlap share a byte, whatever the symbols are. `values` are the symbols' for which the arena is to be small;
// without them only tenants of one size, for all that is known, take turns.
ArenaLayout lay_out(std::span<const Tenant> tenants, ir::IndexTable& index, std::span<const std::int64_t> values);

}  // namespace braze::passes
