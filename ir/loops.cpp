#include "ir/loops.h"

#include <algorithm>

#include "ir/error.h"

namespace braze::ir {
namespace {

class LaneCounter {
 public:
  explicit LaneCounter(const Kernel& kernel) : kernel_(kernel), lanes_(kernel.value_types.size(), 1) {}

  std::vector<std::int32_t> count() {
    block(kernel_.body, 1);
    return std::move(lanes_);
  }

 private:
  void block(const Block& statements, std::int32_t around) {
    for (const Statement& statement : statements)
      std::visit(match{
                     [&](const Compute& s) {
                       std::int32_t most = 1;
                       for (ValueId operand : s.instruction.in) most = std::max(most, of(operand));
                       lanes_[s.result] = most;
                     },
                     [&](const Load& s) {
                       std::int32_t most = of(s.predicate);
                       if (s.access.buffer >= scratch_base) most = std::max(most, array(s.access.buffer));
                       for (const Term& term : s.access.terms) most = std::max(most, of(term.index));
                       lanes_[s.result] = most;
                     },
                     [&](const For& s) { loop(s, around); },
                     [&](const If& s) { block(s.body, around); },
                     [&](const TreeFold& s) {
                       for (ValueId result : s.results) lanes_[result] = array(s.arrays[0]);
                     },
                     [&](const Shuffle& s) { lanes_[s.result] = of(s.value); },
                     [](const auto&) {},
                 },
                 statement.node);
  }

  void loop(const For& loop, std::int32_t around) {
    std::int32_t own = 1;
    if (loop.step > 1) around = own = loop.step;
    if (loop.kind == LoopKind::thread) {
      if (around == 1) around = threads(loop);
      own = around;
    }
    lanes_[loop.variable] = own;
    for (const Carry& carried : loop.carries) lanes_[carried.inside] = lanes_[carried.result] = around;
    block(loop.body, around);
  }

  // Of the whole nest: every thread loop in it has a lane per thread of the block.
  static std::int32_t threads(const For& loop) {
    auto count = static_cast<std::int32_t>(loop.extent.number);
    for (const Statement& statement : loop.body)
      if (const For* inner = std::get_if<For>(&statement.node); inner && inner->kind == LoopKind::thread) count *= threads(*inner);
    return count;
  }

  std::int32_t of(ValueId value) const { return value == no_value ? 1 : lanes_[value]; }
  std::int32_t array(std::uint32_t number) const { return kernel_.scratch[number - scratch_base].lanes; }

  const Kernel& kernel_;
  std::vector<std::int32_t> lanes_;
};

}  // namespace

std::vector<std::int32_t> value_lanes(const Kernel& kernel) { return LaneCounter(kernel).count(); }

}  // namespace braze::ir
