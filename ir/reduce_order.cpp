#include "ir/reduce_order.h"

#include "ir/error.h"

namespace braze::ir {
namespace {

ValueId append(KernelBuilder& builder, Primitive op, DType type, std::array<ValueId, 3> in, DType from) {
  return builder.append({.op = op, .type = type, .from = from, .in = in});
}

ValueId integer(KernelBuilder& builder, Primitive op, ValueId a, ValueId b) {
  return append(builder, op, DType::i64, {a, b, no_value}, DType::i64);
}

ValueId value_of(KernelBuilder& builder, const Size& size) {
  return size.kind == Size::Kind::number ? builder.index_constant(size.number) : size.value;
}

bool stack_has_room(const KernelBuilder& builder, const std::vector<DType>& types, std::int64_t count) {
  std::int64_t bytes = 0;
  for (DType type : types) bytes += size_of(type) * count * builder.lanes();
  for (const ScratchArray& array : builder.kernel().scratch)
    if (array.space == Space::stack) bytes += size_of(array.type) * array.count.number * array.lanes;
  return bytes <= most_stack_bytes;
}

// A loop that carries the tuple over `count` elements, by `step` lanes.
std::vector<ValueId> accumulate(KernelBuilder& builder, ValueId begin, Size count, std::int32_t step, std::uint32_t combine,
                                const std::vector<ValueId>& identities, const EmitElement& element) {
  const ValueId variable = builder.open_for(LoopKind::serial, count, step);
  std::vector<ValueId> inside;
  for (ValueId identity : identities) inside.push_back(builder.carry(identity));
  const std::vector<ValueId> next = emit_combine(builder, combine, inside, element({begin, variable}));
  for (std::size_t i = 0; i < next.size(); ++i) builder.yield(i, next[i]);
  return builder.close_for();
}

using EmitBlock = std::vector<ValueId> (*)(KernelBuilder&, ValueId, Size, std::uint32_t, const std::vector<ValueId>&,
                                           const EmitElement&);

std::vector<ValueId> reduce(KernelBuilder& builder, Size extent, Size blocks, std::int64_t block_size, std::uint32_t combine,
                            const std::vector<ValueId>& identities, const EmitElement& element, EmitBlock emit_block) {
  if (extent.kind == Size::Kind::number && extent.number <= block_size)
    return emit_block(builder, no_value, extent, combine, identities, element);
  return emit_join(builder, blocks, combine, [&](ValueId block) {
    const BlockRange range = emit_block_range(builder, extent, block, block_size);
    return emit_block(builder, range.begin, range.count, combine, identities, element);
  });
}

}  // namespace

std::vector<ValueId> emit_combine(KernelBuilder& builder, std::uint32_t number, const std::vector<ValueId>& earlier,
                                  const std::vector<ValueId>& later) {
  const Combine combine = builder.kernel().combines.at(number);
  invariant(earlier.size() == combine.types.size() && later.size() == combine.types.size(), "a combine of {} values gets {} and {}",
            combine.types.size(), earlier.size(), later.size());
  std::vector<ValueId> values = earlier;
  values.insert(values.end(), later.begin(), later.end());
  for (Instruction instruction : combine.body) {
    for (ValueId& operand : instruction.in)
      if (operand != no_value) operand = values[operand];
    values.push_back(builder.append(instruction));
  }
  std::vector<ValueId> results;
  for (ValueId result : combine.results) results.push_back(values[result]);
  return results;
}

std::vector<ValueId> emit_inner_block(KernelBuilder& builder, ValueId begin, Size count, std::uint32_t combine,
                                      const std::vector<ValueId>& identities, const EmitElement& element) {
  return builder.fold(combine, accumulate(builder, begin, count, inner_lanes, combine, identities, element));
}

std::vector<ValueId> emit_outer_block(KernelBuilder& builder, ValueId begin, Size count, std::uint32_t combine,
                                      const std::vector<ValueId>& identities, const EmitElement& element) {
  return accumulate(builder, begin, count, 1, combine, identities, element);
}

std::vector<ValueId> emit_join(KernelBuilder& builder, Size blocks, std::uint32_t combine,
                               const std::function<std::vector<ValueId>(ValueId block)>& partial) {
  const std::vector<DType> types = builder.kernel().combines.at(combine).types;
  std::vector<std::uint32_t> arrays;
  const bool on_stack = blocks.kind == Size::Kind::number && stack_has_room(builder, types, blocks.number);
  for (DType type : types) arrays.push_back(builder.scratch(type, on_stack ? Space::stack : Space::heap, blocks));
  const ValueId block = builder.open_for(LoopKind::serial, blocks);
  const std::vector<ValueId> values = partial(block);
  for (std::size_t i = 0; i < arrays.size(); ++i) builder.store({arrays[i], {{block, Size::of(1)}}, {}}, values[i]);
  builder.close_for();
  return builder.tree_fold(combine, arrays, blocks);
}

BlockRange emit_block_range(KernelBuilder& builder, Size extent, ValueId block, std::int64_t size) {
  const ValueId whole = builder.index_constant(size);
  const ValueId begin = integer(builder, Primitive::mul, block, whole);
  const ValueId left = integer(builder, Primitive::sub, value_of(builder, extent), begin);
  const ValueId short_of = append(builder, Primitive::lt, DType::boolean, {left, whole, no_value}, DType::i64);
  const ValueId count = append(builder, Primitive::select, DType::i64, {short_of, left, whole}, DType::i64);
  return {begin, Size::of_value(count)};
}

std::vector<ValueId> emit_inner_reduction(KernelBuilder& builder, Size extent, Size blocks, std::uint32_t combine,
                                          const std::vector<ValueId>& identities, const EmitElement& element) {
  return reduce(builder, extent, blocks, inner_block, combine, identities, element, emit_inner_block);
}

std::vector<ValueId> emit_outer_reduction(KernelBuilder& builder, Size extent, Size blocks, std::uint32_t combine,
                                          const std::vector<ValueId>& identities, const EmitElement& element) {
  return reduce(builder, extent, blocks, outer_block, combine, identities, element, emit_outer_block);
}

}  // namespace braze::ir
