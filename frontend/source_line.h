// One source line for everything that a composite records: its caller's. Composites are then written as formulas,
// `x / (1 + exp(-x))`, and every op of theirs still names the user's line.
#pragma once

#include <source_location>

#include "ir/graph.h"

namespace braze {

// While one lives, this thread records at `where`. Of nested ones the outermost counts: that is the line the user wrote.
class SourceLine {
 public:
  explicit SourceLine(const std::source_location& where);
  explicit SourceLine(ir::Location where);
  ~SourceLine();
  SourceLine(const SourceLine&) = delete;
  SourceLine& operator=(const SourceLine&) = delete;

  // Null where none lives.
  static const ir::Location* current();

 private:
  ir::Location where_;
  bool outermost_;
};

}  // namespace braze
