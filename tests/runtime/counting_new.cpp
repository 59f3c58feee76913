// In a file of its own: where the compiler sees that operator new is malloc, it takes the matching delete for a mistake.
#include "tests/runtime/counting_new.h"

#include <cstdlib>
#include <new>

namespace {
thread_local std::int64_t count = 0;
}

std::int64_t allocations_of_this_thread() { return count; }

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
void* operator new(std::size_t bytes) {
  ++count;
  if (void* memory = std::malloc(bytes ? bytes : 1)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
#endif
