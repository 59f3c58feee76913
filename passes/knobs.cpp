#include "passes/knobs.h"

#include <cstdlib>

#include "ir/error.h"
#include "passes/passes.h"
#include "passes/rewrite.h"

namespace braze::passes {
namespace {

bool is_set(const char* variable) {
  const char* value = std::getenv(variable);
  return value != nullptr && *value != '\0' && std::string_view(value) != "0";
}

// Only what leaves the stage as it was may be skipped.
void check_skipped(std::string_view name) {
  for (const Pass& pass : pipeline()) {
    if (pass.name != name) continue;
    require<ValueError>(pass.leaves == Stage::graph, "BRAZE_SKIP: '{}' leads to stage {} and cannot be skipped", name,
                        passes::name(pass.leaves));
    return;
  }
  for (const Rule& rule : simplify_rules().rules())
    if (rule.name == name) return;
  fail<ValueError>("BRAZE_SKIP: there is no pass or rule '{}'", name);
}

Knobs read() {
  Knobs knobs;
  const char* text = std::getenv("BRAZE_SKIP");
  std::string_view rest = text == nullptr ? "" : text;
  while (!rest.empty()) {
    const std::string_view name = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(rest.size(), name.size() + 1));
    if (name.empty()) continue;
    check_skipped(name);
    knobs.skip.emplace(name);
  }
#ifdef NDEBUG
  knobs.verify = is_set("BRAZE_VERIFY");
#else
  knobs.verify = true;
#endif
  knobs.time = is_set("BRAZE_TIME");
  return knobs;
}

}  // namespace

const Knobs& knobs() {
  static const Knobs knobs = read();
  return knobs;
}

}  // namespace braze::passes
