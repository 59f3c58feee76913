// Joining accumulators: lanes of a vector, and tuples in scratch memory.
#include <llvm/IR/Constants.h>

#include "codegen/cpu/emitter.h"
#include "ir/error.h"

namespace braze::codegen::cpu {

std::vector<llvm::Value*> Emitter::combine(const ir::Combine& combine, std::span<llvm::Value* const> earlier,
                                           std::span<llvm::Value* const> later) {
  const unsigned lanes = lanes_of(earlier[0]);
  std::vector<llvm::Value*> values(earlier.begin(), earlier.end());
  values.insert(values.end(), later.begin(), later.end());
  for (const ir::Instruction& i : combine.body) {
    llvm::SmallVector<llvm::Value*, 3> in;
    for (ir::ValueId operand : i.in)
      if (operand != ir::no_value) in.push_back(instructions_.splat(values[operand], lanes));
    values.push_back(instructions_.emit(i, in));
  }
  std::vector<llvm::Value*> results;
  for (ir::ValueId result : combine.results) results.push_back(instructions_.splat(values[result], lanes));
  return results;
}

void Emitter::emit_fold(const ir::Fold& fold) {
  const ir::Combine& how = kernel_.combines[fold.combine];
  std::vector<Parts> lanes;
  for (ir::ValueId v : fold.lanes) {
    invariant(values_[v].is_vector(), "kernel '{}': a fold of value {}, which is no vector", kernel_.name, v);
    lanes.push_back(values_[v].parts);
  }
  const auto part_of = [&](std::size_t p) {
    std::vector<llvm::Value*> tuple;
    for (const Parts& parts : lanes) tuple.push_back(parts[p]);
    return tuple;
  };
  const unsigned part_lanes = lanes_of(lanes[0][0]);
  std::size_t parts = lanes[0].size();
  for (; parts > 1 && parts * part_lanes > ir::lanes_in_order; parts /= 2)
    for (std::size_t p = 0; p < parts / 2; ++p) {
      const std::vector<llvm::Value*> joined = combine(how, part_of(p), part_of(p + parts / 2));
      for (std::size_t k = 0; k < lanes.size(); ++k) lanes[k][p] = joined[k];
    }
  const auto slice_of = [&](std::span<llvm::Value* const> tuple, unsigned first, unsigned count) {
    std::vector<llvm::Value*> slices;
    for (llvm::Value* vector : tuple) slices.push_back(instructions_.slice(vector, first, count));
    return slices;
  };
  std::vector<llvm::Value*> tuple = part_of(0);
  for (unsigned half = part_lanes / 2; half >= ir::lanes_in_order; half /= 2)
    tuple = combine(how, slice_of(tuple, 0, half), slice_of(tuple, half, half));
  std::vector<llvm::Value*> joined;
  for (std::size_t p = 0; p < parts; ++p) {
    if (p > 0) tuple = part_of(p);
    for (unsigned lane = 0; lane < lanes_of(tuple[0]); ++lane) {
      const std::vector<llvm::Value*> next = slice_of(tuple, lane, 1);
      joined = joined.empty() ? next : combine(how, joined, next);
    }
  }
  for (std::size_t k = 0; k < fold.results.size(); ++k) define(fold.results[k], joined[k]);
}

// Registers have no addresses, so their tree is written out; that of memory is two loops.
void Emitter::emit_tree_fold(const ir::TreeFold& fold) {
  const ir::ScratchArray& first = kernel_.scratch[fold.arrays[0] - ir::scratch_base];
  if (first.space == ir::Space::registers) return unrolled_tree_fold(fold);
  const ir::Combine& how = kernel_.combines[fold.combine];
  const bool per_lane = first.lanes > 1;
  const unsigned width = per_lane ? lanes_->part_lanes : 1, parts = per_lane ? lanes_->parts : 1;
  const auto place = [&](std::size_t k, llvm::Value* index, unsigned p) {
    const std::uint32_t array = fold.arrays[k] - ir::scratch_base;
    const DType t = kernel_.scratch[array].type;
    if (!per_lane) return element(scratch_[array].base, t, index);
    llvm::Value* const lane = builder_.CreateMul(index, builder_.getInt64(static_cast<std::uint64_t>(first.lanes)));
    return element(scratch_[array].base, t, builder_.CreateAdd(lane, builder_.getInt64(std::uint64_t{p} * width)));
  };
  const auto load = [&](llvm::Value* index, unsigned p) {
    std::vector<llvm::Value*> tuple;
    for (std::size_t k = 0; k < fold.arrays.size(); ++k) {
      const DType t = how.types[k];
      tuple.push_back(to_register(t, builder_.CreateAlignedLoad(memory_type(t, width), place(k, index, p),
                                                                llvm::Align(static_cast<std::uint64_t>(size_of(t))))));
    }
    return tuple;
  };
  const auto store = [&](llvm::Value* index, unsigned p, const std::vector<llvm::Value*>& tuple) {
    for (std::size_t k = 0; k < fold.arrays.size(); ++k)
      builder_.CreateAlignedStore(to_memory(how.types[k], tuple[k]), place(k, index, p),
                                  llvm::Align(static_cast<std::uint64_t>(size_of(how.types[k]))));
  };
  llvm::Type* const word = builder_.getInt64Ty();
  llvm::Value *const zero = builder_.getInt64(0), *const one = builder_.getInt64(1);
  llvm::Value* const count = size(fold.count);
  llvm::BasicBlock *const before = builder_.GetInsertBlock(), *const level = block("level"), *const pair = block("pair"),
                          *const rest = block("rest"), *const after = block("folded");
  builder_.CreateCondBr(builder_.CreateICmpSGT(count, one), level, after);

  builder_.SetInsertPoint(level);
  llvm::PHINode* const n = builder_.CreatePHI(word, 2);
  n->addIncoming(count, before);
  llvm::Value* const half = builder_.CreateLShr(n, one);
  builder_.CreateBr(pair);

  builder_.SetInsertPoint(pair);
  llvm::PHINode* const i = builder_.CreatePHI(word, 2);
  i->addIncoming(zero, level);
  llvm::Value* const left = builder_.CreateShl(i, one);
  for (unsigned p = 0; p < parts; ++p) store(i, p, combine(how, load(left, p), load(builder_.CreateAdd(left, one), p)));
  llvm::Value* const next = builder_.CreateAdd(i, one);
  llvm::BasicBlock* const pair_end = builder_.GetInsertBlock();
  i->addIncoming(next, pair_end);
  builder_.CreateCondBr(builder_.CreateICmpSLT(next, half), pair, rest);

  builder_.SetInsertPoint(
      rest);  // an odd last tuple moves up; copying element n - 1 to itself or to `half` is harmless when n is even
  llvm::Value* const odd = builder_.CreateAnd(n, one);
  llvm::Value* const from = builder_.CreateSub(n, one);
  llvm::Value* const to = builder_.CreateSelect(builder_.CreateICmpNE(odd, zero), half, from);
  for (unsigned p = 0; p < parts; ++p) store(to, p, load(from, p));
  llvm::Value* const remaining = builder_.CreateAdd(half, odd);
  n->addIncoming(remaining, rest);
  builder_.CreateCondBr(builder_.CreateICmpSGT(remaining, one), level, after);

  builder_.SetInsertPoint(after);
  for (unsigned p = 0; p < parts; ++p) {
    const std::vector<llvm::Value*> tuple = load(zero, p);
    for (std::size_t k = 0; k < fold.results.size(); ++k) {
      if (per_lane)
        define_part(fold.results[k], p, tuple[k]);
      else
        define(fold.results[k], tuple[k]);
    }
  }
}

void Emitter::unrolled_tree_fold(const ir::TreeFold& fold) {
  const ir::Combine& how = kernel_.combines[fold.combine];
  invariant(fold.count.kind == ir::Size::Kind::number, "kernel '{}': a tree over registers has no known size", kernel_.name);
  const ir::ScratchArray& first = kernel_.scratch[fold.arrays[0] - ir::scratch_base];
  const unsigned parts = first.lanes > 1 ? lanes_->parts : 1;
  for (unsigned p = 0; p < parts; ++p) {
    std::vector<std::vector<llvm::Value*>> tuples(static_cast<std::size_t>(fold.count.number));
    for (std::size_t i = 0; i < tuples.size(); ++i)
      for (std::uint32_t array : fold.arrays) {
        llvm::AllocaInst* const from = scratch_[array - ir::scratch_base].registers[i][p];
        tuples[i].push_back(builder_.CreateLoad(from->getAllocatedType(), from));
      }
    while (tuples.size() > 1) {
      std::vector<std::vector<llvm::Value*>> joined;
      for (std::size_t i = 0; i + 1 < tuples.size(); i += 2) joined.push_back(combine(how, tuples[i], tuples[i + 1]));
      if (tuples.size() % 2 == 1) joined.push_back(tuples.back());
      tuples = std::move(joined);
    }
    for (std::size_t k = 0; k < fold.results.size(); ++k) {
      if (first.lanes > 1)
        define_part(fold.results[k], p, tuples[0][k]);
      else
        define(fold.results[k], tuples[0][k]);
    }
  }
}

}  // namespace braze::codegen::cpu
