// The order in which the CPU combines what a reduction reduces. It is fixed by shape alone, so that a reduction has the same
// bits whatever is fused with it, however many threads run it, and however wide the vectors are.
//
//  * Inner (the reduced axes are the operand's last): blocks of 2048 elements. Within a block element i goes to lane i mod 64; a
//    lane starts at the identity and takes its elements in order; lanes join by the tree 32, 16, 8 (lane i with lane i + h), and
//    the eight that are left in order.
//  * Outer (kept axes follow): per column, blocks of 32 rows. A block starts at the identity and takes its rows in order.
//  * Blocks join pairwise, (0,1), (2,3), ..., an odd last one moving up as it is, until one is left. Nothing to reduce is one
//    empty block: the identity.
//  * combine(earlier, later): the accumulator first, the element second.
//
// Here it stands twice: as functions on memory, which tests compare with, and as loops.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "ir/loops.h"

namespace braze::ir {

inline constexpr std::int64_t inner_block = 2048;
inline constexpr std::int32_t inner_lanes = 64;
inline constexpr std::int64_t outer_block = 32;

// ---- on memory ----

template <class T, class F>
T join_pairwise(std::vector<T> blocks, F combine) {
  while (blocks.size() > 1) {
    std::vector<T> joined;
    for (std::size_t i = 0; i + 1 < blocks.size(); i += 2) joined.push_back(combine(blocks[i], blocks[i + 1]));
    if (blocks.size() % 2 != 0) joined.push_back(blocks.back());
    blocks = std::move(joined);
  }
  return blocks[0];
}

template <class T, class F>
T reduce_inner(std::span<const T> elements, T identity, F combine) {
  std::vector<T> blocks;
  for (std::size_t begin = 0; begin == 0 || begin < elements.size(); begin += inner_block) {
    std::vector<T> lanes(inner_lanes, identity);
    const std::size_t end = std::min<std::size_t>(begin + inner_block, elements.size());
    for (std::size_t i = begin; i < end; ++i) lanes[i % inner_lanes] = combine(lanes[i % inner_lanes], elements[i]);
    for (std::size_t half = inner_lanes / 2; half >= lanes_in_order; half /= 2)
      for (std::size_t lane = 0; lane < half; ++lane) lanes[lane] = combine(lanes[lane], lanes[lane + half]);
    for (std::size_t lane = 1; lane < lanes_in_order; ++lane) lanes[0] = combine(lanes[0], lanes[lane]);
    blocks.push_back(lanes[0]);
  }
  return join_pairwise(std::move(blocks), combine);
}

// One column.
template <class T, class F>
T reduce_outer(std::span<const T> rows, T identity, F combine) {
  std::vector<T> blocks;
  for (std::size_t begin = 0; begin == 0 || begin < rows.size(); begin += outer_block) {
    T block = identity;
    for (std::size_t i = begin; i < std::min<std::size_t>(begin + outer_block, rows.size()); ++i) block = combine(block, rows[i]);
    blocks.push_back(block);
  }
  return join_pairwise(std::move(blocks), combine);
}

// ---- as loops ----

// The place of an element among the reduced ones, as a sum, so that an address may take `begin` as a uniform term and keep a
// contiguous one: begin (no_value for 0) + step, the variable of the innermost loop.
struct ReducedIndex {
  ValueId begin, step;
};
// Emits the element at `index`: one value a member of the combine.
using EmitElement = std::function<std::vector<ValueId>(ReducedIndex index)>;

// Emits `combine`, as scalar code, over two tuples.
std::vector<ValueId> emit_combine(KernelBuilder& builder, std::uint32_t combine, const std::vector<ValueId>& earlier,
                                  const std::vector<ValueId>& later);

// `extent` elements, outside of any vector loop. `blocks` is max(ceil_div(extent, inner_block), 1), as a number or size of the kernel; it is
// not read where `extent` is a number that fits one block.
std::vector<ValueId> emit_inner_reduction(KernelBuilder& builder, Size extent, Size blocks, std::uint32_t combine,
                                          const std::vector<ValueId>& identities, const EmitElement& element);
// The same for rows, in a vector loop over columns (or outside of any); `blocks` is max(ceil_div(extent, outer_block), 1).
std::vector<ValueId> emit_outer_reduction(KernelBuilder& builder, Size extent, Size blocks, std::uint32_t combine,
                                          const std::vector<ValueId>& identities, const EmitElement& element);

// The pieces, for reductions that several threads share: one block of `count` elements from `begin` on (no_value for 0), and
// the joining of `blocks` >= 1 partial results, which `partial` emits.
std::vector<ValueId> emit_inner_block(KernelBuilder& builder, ValueId begin, Size count, std::uint32_t combine,
                                      const std::vector<ValueId>& identities, const EmitElement& element);
std::vector<ValueId> emit_outer_block(KernelBuilder& builder, ValueId begin, Size count, std::uint32_t combine,
                                      const std::vector<ValueId>& identities, const EmitElement& element);
std::vector<ValueId> emit_join(KernelBuilder& builder, Size blocks, std::uint32_t combine,
                               const std::function<std::vector<ValueId>(ValueId block)>& partial);

// min(extent - block * size, size): what a block holds; and where it begins.
struct BlockRange {
  ValueId begin;
  Size count;
};
BlockRange emit_block_range(KernelBuilder& builder, Size extent, ValueId block, std::int64_t size);

}  // namespace braze::ir
