// What the values of a kernel lie between, as far as constants beside them tell: limits that a body sets itself need not be set again
// by an instruction that has limits of its own.
#pragma once

#include <limits>
#include <vector>

#include "ir/loops.h"

namespace braze::codegen::cpu {

// NaN lies in every range.
struct Range {
  double low = -std::numeric_limits<double>::infinity(), high = std::numeric_limits<double>::infinity();
  bool within(double least, double greatest) const { return low >= least && high <= greatest; }
};

class Ranges {
 public:
  explicit Ranges(const ir::Kernel& kernel);
  // Of a floating-point value. Looks a few instructions back.
  Range of(ir::ValueId value, int depth = 8) const;

 private:
  Range selected(const ir::Instruction& select, int depth) const;
  std::vector<const ir::Instruction*> instructions_;  // by value; null for what is loaded, carried or given
};

}  // namespace braze::codegen::cpu
