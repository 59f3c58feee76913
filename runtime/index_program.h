// The index expressions that one Program needs, flattened for its hot path: symbols, then numbers, then one instruction an
// expression, in an order in which operands precede users.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ir/index.h"

namespace braze::runtime {

class IndexProgram {
 public:
  IndexProgram() = default;
  IndexProgram(const ir::IndexTable& table, std::uint32_t symbols, std::span<const ir::IndexId> needed);

  // Where a needed expression's value stands in the output of evaluate().
  std::uint32_t place(ir::IndexId id) const { return place_[id]; }
  std::size_t size() const { return symbols_ + numbers_.size() + instructions_.size(); }
  // `out` has size() elements. Throws ValueError where a value leaves 64 bits.
  void evaluate(std::span<const std::int64_t> symbols, std::int64_t* out) const;

 private:
  struct Instruction {
    ir::IndexOp op;
    std::uint32_t a, b;
  };
  std::uint32_t symbols_ = 0;
  std::vector<std::uint32_t> place_;
  std::vector<std::int64_t> numbers_;
  std::vector<Instruction> instructions_;
};

}  // namespace braze::runtime
