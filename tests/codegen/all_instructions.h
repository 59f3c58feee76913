// Every machine primitive on every dtype that it takes, and a GPU kernel that computes them all.
#pragma once

#include <algorithm>
#include <array>
#include <span>
#include <vector>

#include "ir/error.h"
#include "ir/loops.h"
#include "ir/scalar.h"

namespace braze::test {

using ir::Primitive;

inline std::vector<DType> operand_types(const ir::Instruction& instruction) {
  switch (instruction.op) {
    case Primitive::select:
      return {DType::boolean, instruction.type, instruction.type};
    case Primitive::check:
      return {DType::boolean};
    case Primitive::call:
      return std::vector<DType>(ir::info(static_cast<ir::LibraryFunction>(instruction.payload)).arity, instruction.type);
    default:
      return std::vector<DType>(ir::info(instruction.op).arity,
                                ir::has_operand_type(instruction.op) ? instruction.from : instruction.type);
  }
}

inline constexpr ir::LibraryFunction library_functions[] = {
#define BRAZE_LIBRARY_FUNCTION(name, arity) ir::LibraryFunction::name,
#include "ir/primitives.def"
};

// Every instruction that the interpreter computes, so that a new primitive is tested by existing.
inline std::vector<ir::Instruction> all_instructions() {
  std::vector<ir::Instruction> out;
  const auto add = [&](ir::Instruction instruction) {
    instruction = ir::canonical(instruction);
    if (std::find(out.begin(), out.end(), instruction) != out.end()) return;
    try {
      ir::evaluator(instruction);
    } catch (const InternalError&) {
      return;  // the primitive does not apply to these types
    }
    out.push_back(instruction);
  };
  for (std::size_t p = 0; p < std::size(ir::primitive_table); ++p) {
    const auto op = static_cast<Primitive>(p);
    for (DType type : all_dtypes) {
      if (op == Primitive::call) {
        for (ir::LibraryFunction f : library_functions) add({.op = op, .type = type, .payload = static_cast<std::uint64_t>(f)});
      } else if (op == Primitive::check) {
        add({.op = op, .payload = static_cast<std::uint64_t>(ir::Fault::division_by_zero)});
      } else if (ir::has_operand_type(op)) {
        for (DType from : all_dtypes)
          if (op != Primitive::bitcast || (from != DType::boolean && type != DType::boolean))
            add({.op = op, .type = type, .from = from});
      } else {
        add({.op = op, .type = type, .payload = op == Primitive::constant ? std::uint64_t{1} : 0});
      }
    }
  }
  return out;
}

inline constexpr std::int64_t threads = 32;

// One thread an element. Buffer 2 * t is read and buffer 2 * t + 1 written, t a dtype; with b the block of `rounds` and l the
// thread, operand n of the i-th instruction is element b * pitch + (3 * i + n) * threads + l of its dtype's buffer, the
// result element b * pitch + i * threads + l.
inline ir::Kernel kernel_of(std::span<const ir::Instruction> instructions) {
  ir::Kernel kernel;
  kernel.name = "all_primitives";
  ir::KernelBuilder builder(kernel);
  std::array<std::uint32_t, dtype_count> inputs{}, outputs{};
  for (DType type : all_dtypes) {
    inputs[static_cast<std::size_t>(type)] = builder.buffer({type, false});
    outputs[static_cast<std::size_t>(type)] = builder.buffer({type, true});
  }
  const ir::ValueId rounds = builder.size("rounds"), pitch = builder.size("pitch");
  const ir::ValueId block = builder.open_for(ir::LoopKind::block, ir::Size::of_value(rounds));
  const ir::ValueId thread = builder.open_for(ir::LoopKind::thread, ir::Size::of(threads));
  const auto place = [&](std::uint32_t buffer, std::size_t row) {
    return ir::Access{buffer,
                      {{block, ir::Size::of_value(pitch)}, {thread, ir::Size::of(1)}},
                      ir::Size::of(static_cast<std::int64_t>(row) * threads)};
  };
  std::size_t row = 0;
  for (ir::Instruction instruction : instructions) {
    std::size_t n = 0;
    for (DType type : operand_types(instruction)) {
      instruction.in[n] = builder.load(place(inputs[static_cast<std::size_t>(type)], row * 3 + n));
      ++n;
    }
    const ir::ValueId result = builder.append(instruction);
    builder.store(place(outputs[static_cast<std::size_t>(instruction.type)], row++), result);
  }
  builder.close_for();
  builder.close_for();
  return kernel;
}

}  // namespace braze::test
