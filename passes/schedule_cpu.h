// The CPU's schedules: one function a shape of nest, each writing whole kernels. Shared by schedule_cpu*.cpp only.
#pragma once

#include <string>
#include <vector>

#include "ir/reduce_order.h"
#include "ir/target.h"
#include "passes/accumulator.h"
#include "passes/nest.h"
#include "passes/nest_emitter.h"

namespace braze::passes::cpu {

// How many elements of the last axis a step of a parallel loop takes, where it takes pieces of it.
inline constexpr std::int64_t piece = 4096;

struct Context {
  Module& module;  // where kernels and temporaries go
  const ir::CpuTarget& target;
  const Nest& nest;

  ir::IndexTable& index() const { return module.index; }
  // A kernel under construction for the nest.
  Lowered start(const std::string& suffix = "") const;
  void finish(Lowered lowered, ir::IndexId extent, ir::IndexId work, std::vector<ir::KernelPhase> then = {}) const;
  ir::Value temporary(DType type, ir::IndexId elements) const;
  std::vector<Variable> axes(bool reduced) const;
  std::vector<ir::IndexId> extents(bool reduced) const;
  ir::IndexId product(const std::vector<ir::IndexId>& extents) const;
  ir::IndexId elements() const;  // points of the domain
};

AxisSet set_of(const std::vector<Variable>& axes);
// Lanes of a vector loop over elements of the nest: two vectors of its widest type.
std::int32_t lanes(const Context& context);

// Reductions of one stage, side by side in one loop.
class Stage {
 public:
  Stage(NestEmitter& emit, std::uint32_t stage);
  Stage(NestEmitter& emit, std::vector<std::size_t> members);
  const std::vector<ExprId>& operands() const { return operands_; }
  std::uint32_t combine() const { return combine_; }
  const std::vector<ir::ValueId>& identities() const { return identities_; }
  const std::vector<DType>& types() const { return types_; }
  // The element's tuple, where the reduced axes are bound.
  std::vector<ir::ValueId> element();
  // Gives the expressions that read these reductions their values.
  void define(const std::vector<ir::ValueId>& joined);

 private:
  NestEmitter& emit_;
  std::vector<std::size_t> members_;  // of Nest::reductions
  std::vector<ExprId> operands_;
  std::vector<Accumulator> accumulators_;
  std::vector<DType> types_;
  std::vector<ir::ValueId> identities_;
  std::uint32_t combine_ = 0;
};
std::uint32_t last_stage(const Nest& nest);
// Outputs along an axis (beside a dot) are taken with those of the row, and stored by themselves.
void store_outputs(NestEmitter& emit, bool row, Variable along = no_axis);
bool has_outputs(const Nest& nest, bool row);
std::vector<ExprId> output_exprs(const Nest& nest, bool row, Variable along = no_axis);
// Takes output buffers first, in order, so that a kernel's list begins with what it writes.
void take_outputs(NestEmitter& emit, bool row);

void schedule_elementwise(const Context& context);  // one element at a time, no reduction
void schedule_serial(const Context& context);       // accumulate and put: in index order
void schedule_accumulate(const Context& context);   // accumulate
void schedule_rows(const Context& context);         // reductions of the last axes
void schedule_columns(const Context& context);      // reductions of axes that kept ones follow
void schedule_contraction(const Context& context);  // a dot

}  // namespace braze::passes::cpu
