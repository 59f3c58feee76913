// What every group keeps to, so that lowering can make one kernel of it. Fusion's groups do; those that somebody wrote may not.
#pragma once

#include <string>

#include "ir/error.h"
#include "passes/passes.h"

namespace braze::passes {

// A group that breaks a law, in words that name the kernel.
struct BadGroup {
  std::string why;
};

template <class... Args>
void group_law(bool holds, Message<std::type_identity_t<Args>...> message, Args&&... args) {
  if (!holds) [[unlikely]]
    throw BadGroup{fmt::format(message.text, std::forward<Args>(args)...)};
}

// Throws ValueError where the groups were read from text, InternalError where fusion made them.
[[noreturn]] void refuse(const Module& module, const BadGroup& bad);

// Whether a reduction's axes do not stand together.
bool is_mixed(const ir::Node& node);

// The laws that need no places; lowering itself finds the others.
//  * What a group's nodes read, and what its stores write over, is in the group, or in memory before it runs; so are the results.
//  * It computes what it puts out, and nothing that this does not need.
//  * A concat, an accumulate or a put is all that its group puts out, and none is with a reduction or a dot. A routine is alone.
//  * Reductions reduce the same axes of the same shape, axes that stand together; beside a dot, k of one of its factors
//    (factor_reduction.h). A dot is alone with them, elementwise nodes and views.
void check_groups(const Module& module);

}  // namespace braze::passes
