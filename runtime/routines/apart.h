// Calls that a stop may leave behind.
#pragma once

#include "runtime/routines.h"

namespace braze::runtime {

using Routine = Outcome (*)(const RoutineCall&);

// `routine(call)` on copies of the arrays, on a thread of its own. Once a stop is requested this returns Fault::stopped within milliseconds;
// the routine goes on until it ends, alone with its copies. The process does not exit before it has.
Outcome run_apart(Routine routine, const RoutineCall& call);

}  // namespace braze::runtime
