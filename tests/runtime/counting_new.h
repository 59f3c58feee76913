#pragma once

#include <cstdint>

// How often this thread has called operator new. Sanitizers have their own, and this stays 0.
std::int64_t allocations_of_this_thread();
