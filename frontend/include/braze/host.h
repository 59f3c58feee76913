// For a host language that embeds Braze, as Python does: recorded ops learn the host's source line, and the host's other threads run
// while something is evaluated.
#pragma once

#include <cstdint>
#include <string_view>

#include "braze/dtype.h"

namespace braze {

struct Host {
  struct Line {
    const char* file = nullptr;  // lives for ever; null where this thread runs nothing of the host
    std::uint32_t number = 0;
  };
  Line (*line)();
  // Tells the user of something that is allowed and seldom meant; null where the host does not ask for it.
  void (*warn)(const char* text);
  // Around each evaluation, on the thread that evaluates. `leave` gets what `enter` returned.
  void* (*enter)();
  void (*leave)(void* entered);
};
// `host` lives for ever.
void set_host(const Host* host);

// The same text for ever: Line::file wants that.
const char* intern_file(std::string_view file);
// An element's bits as an element of another dtype, converted as the cast op converts.
std::uint64_t convert_element(std::uint64_t bits, DType from, DType to);

// Running evaluations end with an Error within 20 ms; pending values stay pending. A signal handler may call it.
void request_stop();
void clear_stop();

// Bytes of tensors and temporaries: now, at most since the last reset, and freed but kept for later.
struct MemoryStatistics {
  std::int64_t live, peak, cached;
};
MemoryStatistics memory_statistics();
void reset_memory_peak();

// What BRAZE_EXPLAIN asks for, from now on and as a set of bits: explain_bits("flush,compile,fuse"). Returns what it was.
unsigned set_explain(unsigned bits);
unsigned explain_bits(const char* kinds);

}  // namespace braze
