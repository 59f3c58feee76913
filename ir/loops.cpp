#include "ir/loops.h"

#include <algorithm>
#include <set>
#include <unordered_map>

#include "ir/error.h"
#include "ir/scalar.h"

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

namespace {

std::int64_t given_size(const Kernel& kernel, std::span<const std::int64_t> sizes, const Size& size) {
  if (size.kind == Size::Kind::number) return size.number;
  const auto found = std::find(kernel.sizes.begin(), kernel.sizes.end(), size.value);
  invariant(found != kernel.sizes.end(), "a scratch array of kernel '{}' has no size of the kernel for its count", kernel.name);
  return sizes[static_cast<std::size_t>(found - kernel.sizes.begin())];
}

}  // namespace

std::vector<std::int64_t> scratch_offsets(const Kernel& kernel, std::span<const std::int64_t> sizes) {
  std::vector<std::int64_t> offsets{0};
  for (const ScratchArray& array : kernel.scratch) {
    if (array.space != Space::heap) continue;
    const std::int64_t bytes = given_size(kernel, sizes, array.count) * array.lanes * size_of(array.type);
    offsets.push_back(offsets.back() + (bytes + 63) / 64 * 64);
  }
  return offsets;
}

std::int64_t scratch_bytes(const Kernel& kernel, std::span<const std::int64_t> sizes) {
  return scratch_offsets(kernel, sizes).back();
}

std::vector<Phase> phases(const Kernel& kernel, std::span<const std::int64_t> sizes) {
  std::vector<Phase> result;
  std::int64_t first = 0;
  // An extent may be computed, from sizes and constants, by what stands before the loop.
  std::unordered_map<ValueId, std::uint64_t> known;
  for (std::size_t i = 0; i < kernel.sizes.size(); ++i) known[kernel.sizes[i]] = static_cast<std::uint64_t>(sizes[i]);
  for (const Statement& statement : kernel.body) {
    if (const Compute* compute = std::get_if<Compute>(&statement.node)) {
      std::array<std::uint64_t, 3> operands{};
      bool all = true;
      for (std::size_t i = 0; i < 3; ++i) {
        const ValueId operand = compute->instruction.in[i];
        if (operand == no_value) continue;
        const auto found = known.find(operand);
        all = all && found != known.end();
        if (all) operands[i] = found->second;
      }
      if (all) known[compute->result] = evaluate(compute->instruction, operands[0], operands[1], operands[2]);
    } else if (const For* loop = std::get_if<For>(&statement.node); loop && loop->kind == LoopKind::parallel) {
      std::int64_t extent = loop->extent.number;
      if (loop->extent.kind == Size::Kind::value) {
        const auto found = known.find(loop->extent.value);
        invariant(found != known.end(), "the extent of a parallel loop of kernel '{}' depends on more than its sizes", kernel.name);
        extent = static_cast<std::int64_t>(found->second);
      }
      result.push_back({first, extent, loop->step});
      first += extent;
    }
  }
  invariant(!result.empty(), "kernel '{}' has no parallel loop", kernel.name);
  return result;
}

namespace {

// What the vector loops of one iteration of the parallel loop `rows` read and write along its row, in order.
class RowLooks {
 public:
  explicit RowLooks(const For& rows) : row_(rows.variable) { block(rows.body, nullptr); }

  void append_to(std::vector<RowLook>& found) const {
    for (const Touch& touch : touches_) {
      if (!touch.load) continue;
      std::set<int> before, after;  // loops that read the same
      for (const Touch& other : touches_)
        if (other.load && other.loop != touch.loop && other.buffer == touch.buffer && other.row == touch.row &&
            other.offset == touch.offset)
          (other.loop < touch.loop ? before : after).insert(other.loop);
      RowLook look{touch.load, row_term(touch.load->access), before.size() == 1, !before.empty() && after.empty(), {}};
      if (!look.is_second && !look.is_last) continue;
      for (const Touch& other : touches_)
        if (look.is_second && !other.load && other.loop > touch.loop && other.row == touch.row && other.offset == touch.offset)
          look.written_later.push_back(other.buffer);
      found.push_back(std::move(look));
    }
  }

 private:
  struct Touch {
    const Load* load;  // null: a store
    std::uint32_t buffer;
    Term row;
    Size offset;
    int loop;
  };

  void block(const Block& statements, const For* vector_loop) {
    for (const Statement& statement : statements) {
      if (const auto* loop = std::get_if<For>(&statement.node)) {
        if (loop->step > 1) ++loops_;
        block(loop->body, loop->step > 1 ? loop : vector_loop);
      } else if (const auto* load = std::get_if<Load>(&statement.node)) {
        touch(load->access, load, vector_loop);
      } else if (const auto* store = std::get_if<Store>(&statement.node)) {
        touch(store->access, nullptr, vector_loop);
      }
    }
  }

  void touch(const Access& access, const Load* load, const For* vector_loop) {
    if (!vector_loop || access.buffer >= scratch_base) return;
    const Term* const row = row_term(access);
    const bool contiguous = std::ranges::any_of(
        access.terms, [&](const Term& term) { return term.index == vector_loop->variable && term.stride == Size::of(1); });
    if (row && contiguous) touches_.push_back({load, access.buffer, *row, access.offset, loops_});
  }

  const Term* row_term(const Access& access) const {
    const auto found = std::ranges::find(access.terms, row_, &Term::index);
    return found == access.terms.end() ? nullptr : &*found;
  }

  const ValueId row_;
  int loops_ = 0;  // vector loops so far
  std::vector<Touch> touches_;
};

}  // namespace

std::vector<RowLook> row_looks(const Kernel& kernel) {
  std::vector<RowLook> found;
  for (const Statement& statement : kernel.body)
    if (const auto* loop = std::get_if<For>(&statement.node); loop && loop->kind == LoopKind::parallel && loop->step == 1)
      RowLooks(*loop).append_to(found);
  return found;
}

}  // namespace braze::ir
