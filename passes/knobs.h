// What the environment asks of the pipeline, read once.
#pragma once

#include <set>
#include <string>
#include <string_view>

namespace braze::passes {

struct Knobs {
  std::set<std::string, std::less<>> skip;  // BRAZE_SKIP: passes and rules by name
  bool verify = false;                      // BRAZE_VERIFY, or a build with assertions
  bool time = false;                        // BRAZE_TIME

  bool skips(std::string_view name) const { return !skip.empty() && skip.contains(name); }
};

const Knobs& knobs();

}  // namespace braze::passes
