// The kit's cases in C++. A snippet returns what the case of its name returns, so that it reads as the Python does:
//
//   SNIPPET(seed_000, batched_matmul_last_two_dims) {
//     const Tensor x = arange(24.).reshape({2, 3, 4}), weight = arange(8.).reshape({4, 2});
//     return tuple(matmul(x, weight), x.matmul(weight).sizes());
//   }
#pragma once

#include "tests/catch.h"
#include "tests/cpp/recorded.h"

namespace braze::recorded {

struct Snippet {
  Snippet(const char* group, const char* name);  // registers it
};
// "group/name" of all.
std::vector<std::string>& snippets();

#define SNIPPET(group, name)                                                             \
  static braze::recorded::Value name##_snippet();                                        \
  static const braze::recorded::Snippet name##_registered(#group, #name);                \
  TEST_CASE(#group "/" #name) {                                                          \
    braze::manual_seed(1234);                                                            \
    CHECK(braze::recorded::difference_from_case(#group, #name, name##_snippet()) == ""); \
  }                                                                                      \
  static braze::recorded::Value name##_snippet()

}  // namespace braze::recorded
