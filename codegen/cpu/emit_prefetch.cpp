// Prefetches, where the order in which a kernel goes over memory leaves the hardware none to make.
#include <llvm/IR/Intrinsics.h>

#include "codegen/cpu/emitter.h"

namespace braze::codegen::cpu {

// A kernel that goes over each row several times meets memory in its first loop, which reads it, and in its last, which writes; what lies
// between leaves the memory idle, and the hardware's own prefetcher, which follows misses, with it. So the second loop asks for the lines
// that will be written, and the last one for a row to come, into the second level of the cache: the first holds what is in use.
void Emitter::prefetch_rows(const ir::Load& load, llvm::Value* pointer, unsigned p) {
  constexpr std::uint64_t line = 64, rows_ahead = 2, longest_row = 64 << 10;  // bytes
  const auto found = row_looks_.find(&load);
  if (found == row_looks_.end()) return;
  const ir::RowLook& look = found->second;
  const DType t = element_type(load.access);
  const auto bytes = static_cast<std::uint64_t>(size_of(t));
  if (p * lanes_->part_lanes * bytes % line != 0) return;  // the part before has asked for this line
  const auto prefetch = [&](llvm::Value* address, std::uint32_t writes, std::uint32_t locality) {
    constexpr std::uint32_t data = 1;
    instructions_.intrinsic(llvm::Intrinsic::prefetch, {builder_.getPtrTy()},
                            {address, builder_.getInt32(writes), builder_.getInt32(locality), builder_.getInt32(data)});
  };
  for (const std::uint32_t buffer : look.written_later) {
    if (size_of(kernel_.buffers[buffer].type) != size_of(t) || (options_.streaming && kernel_.buffers[buffer].streaming)) continue;
    ir::Access same_place = load.access;
    same_place.buffer = buffer;
    prefetch(element(address(same_place, p).base, t, std::int64_t{p} * lanes_->part_lanes), 1, 3);
  }
  if (!look.is_last) return;
  llvm::Value* distance = nullptr;
  {
    const llvm::IRBuilder<>::InsertPointGuard guard(builder_);
    if (llvm::Instruction* const place = invariant_place(depth_of(look.row->stride))) builder_.SetInsertPoint(place);
    llvm::Value* const row = builder_.CreateMul(size(look.row->stride), builder_.getInt64(bytes));
    llvm::Value* const is_short = builder_.CreateICmpULE(row, builder_.getInt64(longest_row));
    distance = builder_.CreateSelect(is_short, builder_.CreateMul(row, builder_.getInt64(rows_ahead)), builder_.getInt64(0));
  }
  prefetch(builder_.CreateGEP(builder_.getInt8Ty(), pointer, distance), 0, 2);
}

}  // namespace braze::codegen::cpu
