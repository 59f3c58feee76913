// What recording, evaluating, calling and compiling cost.
#pragma once

#include <string>

namespace braze::bench {

// The machine: processor, cores, memory, huge pages, compiler.
std::string machine();

// Prints the table of costs. `self` is this executable, run anew for each cold call.
void print_costs(const char* self);

// What a fresh process does when called with this argument: one ten-op expression with a tanh, timed from main's first line; prints milliseconds.
inline constexpr const char* cold_argument = "--cold-call";
int cold_call();

}  // namespace braze::bench
