#include "passes/passes.h"
#include "passes/rewrite.h"

namespace braze::passes {

// The rewriter orders operands as it rebuilds; no rule is needed.
Module canonicalize(Module module, const Options&) {
  static const RuleSet no_rules({});
  module.graph = rewrite(module.graph, no_rules);
  return module;
}

}  // namespace braze::passes
