// Routines: what a Program calls by name in lieu of a kernel, one for each BRAZE_ROUTINE row of ir/ops.def.
//
// A routine reads dense row-major arrays and writes dense row-major results, which overlap nothing that it reads. Where a result's
// data is null nobody wants it. Attributes are resolved, shapes are what ir::infer says. Threads are the executor's.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "ir/attributes.h"
#include "ir/primitive.h"

namespace braze::runtime {

struct RoutineArray {
  DType type{};
  std::span<const std::int64_t> sizes;
  void* data = nullptr;

  std::int64_t elements() const;
  // Elements of the axes before `axis`, and of those behind it.
  std::int64_t before(std::size_t axis) const;
  std::int64_t behind(std::size_t axis) const;
  template <class T>
  T* as() const {
    return static_cast<T*>(data);
  }
};

struct RoutineCall {
  ir::Op op;
  const ir::Attributes& attributes;
  std::span<const RoutineArray> in, out;
  bool may_stop = true;

  template <class A>
  const A& of() const {
    return std::get<A>(attributes);
  }
};

// What became of a call: Fault::refused and not_decomposed come with PyTorch's words.
struct Outcome {
  ir::Fault fault = ir::Fault::none;
  std::string message = {};
};

Outcome run_routine(const RoutineCall& call);

namespace routines {

#define BRAZE_ROUTINE(name, attributes, results) Outcome name(const RoutineCall& call);
#include "ir/ops.def"

// Calls range(begin, end) for ranges of [0, count), on several threads where `count` items of `work` elements each pay for it. Fault::stopped
// once a stop was requested and `may_stop`.
ir::Fault in_parallel(std::int64_t count, std::int64_t work, bool may_stop,
                      const std::function<void(std::int64_t, std::int64_t)>& range);

// What a routine may throw once a stop was requested and its call may stop; run_routine makes it Fault::stopped.
struct Stopped {};
void answer_stop(bool may_stop);

// Calls body(begin, end) for blocks of [0, count) in order, each of them milliseconds, and answers stops between them: for long loops of
// one thread. Where each item may be the first on its page of memory, which the kernel then clears, a block has few.
constexpr std::int64_t usual_block = 1 << 16, block_of_new_pages = 16;
template <class F>
void in_blocks(std::int64_t count, bool may_stop, const F& body, std::int64_t block = usual_block) {
  for (std::int64_t begin = 0; begin < count; begin += block) {
    answer_stop(may_stop);
    body(begin, begin + block < count ? begin + block : count);
  }
}

}  // namespace routines

}  // namespace braze::runtime
