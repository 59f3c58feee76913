// The GPU's schedules: one function a shape of nest, each writing whole kernels. Shared by schedule_gpu*.cpp only.
//
// Every kernel has one block loop, whose extent is the step's, and thread loops of constant extent in it. What lies past the end of an
// axis is masked: threads there load zero, store nothing and raise no fault.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "ir/target.h"
#include "passes/nest.h"
#include "passes/nest_emitter.h"

namespace braze::passes::gpu {

inline constexpr std::int64_t block_threads = 256;

struct Context {
  Module& module;  // where kernels go
  const ir::CudaTarget& target;
  const Nest& nest;

  ir::IndexTable& index() const { return module.index; }
  ir::IndexId elements() const;                                     // points of the domain
  std::vector<ir::IndexId> extents(bool kept, bool reduced) const;  // of the axes of these roles
};

// A kernel under construction.
class Writer {
 public:
  explicit Writer(const Context& context, const std::string& suffix = "");

  // Takes the buffers of outputs of rows, or of elements, so that a kernel's list begins with what it writes.
  void take(bool rows);

  NestEmitter& emit() { return emit_; }
  ir::KernelBuilder& builder() { return emit_.builder(); }
  // The one block loop, over the mixed radix `extents`; returns the digits.
  std::vector<ir::ValueId> open_blocks(const std::vector<ir::IndexId>& extents);
  ir::ValueId open_threads(std::int64_t count) { return emit_.open(ir::LoopKind::thread, ir::Size::of(count)); }
  // In the body of the loop of `variable`, accesses of buffers and faults happen only where `mask` holds. A loop inside with a mask of
  // its own obeys that one alone.
  void mask(ir::ValueId variable, ir::ValueId mask) { masks_[variable] = mask; }
  // Hands the kernel to the module.
  void finish();

  ir::ValueId less(ir::ValueId a, ir::ValueId b);
  ir::ValueId both(ir::ValueId a, ir::ValueId b);
  ir::ValueId is_zero(ir::ValueId a);
  ir::ValueId select(ir::ValueId condition, ir::ValueId a, ir::ValueId b);
  // Outputs of rows, or of elements.
  void store(bool rows, ir::ValueId predicate = ir::no_value);

 private:
  const Context& context_;
  Lowered lowered_;
  NestEmitter emit_;
  ir::IndexId extent_ = 0;
  std::unordered_map<ir::ValueId, ir::ValueId> masks_;
};

void schedule_elementwise(const Context& context);  // no reduction
void schedule_contraction(const Context& context);  // a dot, in tiles
void schedule_rows(const Context& context);         // reductions: a block a row, or a block for 32 columns

}  // namespace braze::passes::gpu
