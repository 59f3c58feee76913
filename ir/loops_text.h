// The words of loop IR text that printer, parser and verifier share.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "ir/loops.h"

namespace braze::ir {

// In the order of LoopKind, Space and Fault.
inline constexpr std::array<std::string_view, 5> loop_kind_names = {"serial", "parallel", "unrolled", "block", "thread"};
inline constexpr std::array<std::string_view, 4> space_names = {"registers", "stack", "heap", "shared"};
inline constexpr std::array<std::string_view, 5> fault_names = {"none", "division_by_zero", "index_out_of_range", "stopped",
                                                                "refused"};

// Loops nest at most so deep: whoever reads a kernel recurses over them.
inline constexpr int deepest_nest = 64;

// The line that opens `statement`, one of the kernel's own, as in the kernel's text.
std::string statement_text(const Kernel& kernel, const Statement& statement);

// The first law that the kernel breaks and the statement that breaks it, if it is one; no law: none.
struct BrokenLaw {
  std::string law;
  const Statement* where = nullptr;
};
BrokenLaw find_broken_law(const Kernel& kernel);

}  // namespace braze::ir
