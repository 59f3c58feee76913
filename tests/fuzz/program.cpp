#include "tests/fuzz/program.h"

#include <chrono>

#include "tests/fuzz/program_ops.h"
#include "tests/fuzz/program_runner.h"

namespace braze::test {

using ir::Op;

std::vector<Step> random_program(Choices& choices) {
  using Kind = Step::Kind;
  static const std::vector<Kind> kinds = {Kind::view,
                                          Kind::view,
                                          Kind::view,
                                          Kind::view,
                                          Kind::view,
                                          Kind::view,
                                          Kind::unary,
                                          Kind::binary,
                                          Kind::binary,
                                          Kind::number,
                                          Kind::where,
                                          Kind::cast,
                                          Kind::reduce,
                                          Kind::cat,
                                          Kind::copy,
                                          Kind::unary_in_place,
                                          Kind::binary_in_place,
                                          Kind::binary_in_place,
                                          Kind::number_in_place,
                                          Kind::number_in_place,
                                          Kind::fill,
                                          Kind::copy_in,
                                          Kind::copy_in,
                                          Kind::copy_in,
                                          Kind::assign_through,
                                          Kind::assign_through,
                                          Kind::assign_through,
                                          Kind::rebind,
                                          Kind::forget,
                                          Kind::eval,
                                          Kind::eval_two,
                                          Kind::read,
                                          Kind::create,
                                          Kind::compiled,
                                          Kind::compiled_writes,
                                          Kind::compiled_captures};
  std::vector<Op> reductions;
  for (int i = 0; i < ir::op_count; ++i)
    if (ir::info(static_cast<Op>(i)).reduction()) reductions.push_back(static_cast<Op>(i));
  const DType type = all_dtypes[static_cast<std::size_t>(choices.below(dtype_count))];
  const bool eager = choices.chance(30);
  std::vector<Step> steps;
  const std::int64_t length = choices.between(20, 60);
  for (std::int64_t n = 0; n < length; ++n) {
    Step s;
    // The first steps make one storage and aliases of it.
    s.kind = n == 0 ? Kind::create : n < 4 ? Kind::view : choices.pick(kinds);
    s.a = n < 4 ? 0 : static_cast<int>(choices.below(variables));
    s.b = static_cast<int>(choices.below(variables));
    s.c = static_cast<int>(choices.below(variables));
    s.out = n < 4 ? static_cast<int>(n) : static_cast<int>(choices.below(variables));
    s.type = n == 0 || choices.chance(60) ? type : all_dtypes[static_cast<std::size_t>(choices.below(dtype_count))];
    s.eager = eager && choices.chance(25);
    for (int i = 0; i < 12; ++i) s.numbers.push_back(choices.below(1 << 20));
    const bool one = s.kind == Kind::unary || s.kind == Kind::unary_in_place;
    s.op = s.kind == Kind::reduce ? choices.pick(reductions) : one ? choices.pick(unaries()).op : choices.pick(binaries()).op;
    steps.push_back(std::move(s));
  }
  return steps;
}

std::string run_program(const std::vector<Step>& steps, std::string* text) { return Runner(text).run(steps); }

std::vector<Step> reduce(std::vector<Step> steps) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  for (std::size_t chunk = steps.size() / 2; chunk > 0;) {
    bool progress = false;
    for (std::size_t at = 0; at + chunk <= steps.size() && std::chrono::steady_clock::now() < end;) {
      std::vector<Step> rest = steps;
      rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(at), rest.begin() + static_cast<std::ptrdiff_t>(at + chunk));
      if (!run_program(rest).empty())
        steps = std::move(rest), progress = true;
      else
        at += chunk;
    }
    if (!progress) chunk /= 2;
  }
  return steps;
}

}  // namespace braze::test
