// Random kernels that keep every law: all dtypes and primitives, vector and scalar loops, carried values and folds, scratch,
// predicates, strides of both signs. They stay inside their buffers, so that interpreter and back ends can run them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "ir/loops.h"
#include "ir/reduce_order.h"

namespace test_kernels {

using namespace braze;
using namespace braze::ir;

// Rows and columns are the kernel's sizes; buffers are rows x columns, dense, outputs included, of any dtype.
class RandomKernel {
 public:
  explicit RandomKernel(unsigned seed) : random_(seed), builder_(kernel_) {
    kernel_.name = "random_" + std::to_string(seed);
    build();
  }

  Kernel kernel_;

 private:
  std::size_t below(std::size_t n) { return random_() % n; }
  bool chance(std::size_t one_in) { return below(one_in) == 0; }
  DType any_type() { return all_dtypes[below(all_dtypes.size())]; }

  struct Place {  // where the loops stand
    ValueId row = no_value, column = no_value;
  };

  ValueId emit(Primitive op, DType type, DType from, std::vector<ValueId> in, std::uint64_t payload = 0) {
    Instruction instruction{.op = op, .type = type, .from = from, .payload = payload};
    std::copy(in.begin(), in.end(), instruction.in.begin());
    return builder_.append(instruction);
  }

  ValueId constant(DType type) {
    if (is_float(type)) {
      // Small integers and their quotients by powers of two: exact in every float type.
      const double value = static_cast<double>(static_cast<int>(below(33)) - 16) / static_cast<double>(1u << below(4));
      const ValueId wide = builder_.constant(DType::f64, std::bit_cast<std::uint64_t>(value));
      return type == DType::f64 ? wide : emit(Primitive::convert, type, DType::f64, {wide});
    }
    return builder_.constant(type, random_() >> below(64));
  }

  // A value of `type` out of `pool`, converted if need be; every pool holds one.
  ValueId pick(const std::vector<ValueId>& pool, DType type) {
    for (int attempt = 0; attempt < 4; ++attempt)
      if (const ValueId value = pool[below(pool.size())]; builder_.type(value) == type) return value;
    if (chance(4)) return constant(type);
    const ValueId value = pool[below(pool.size())];
    return builder_.type(value) == type ? value : emit(Primitive::convert, type, builder_.type(value), {value});
  }

  ValueId random_instruction(const std::vector<ValueId>& pool) {
    static constexpr DType reals[] = {DType::f32, DType::f64};
    static constexpr DType integers[] = {DType::u8, DType::i8, DType::i16, DType::i32, DType::i64};
    const DType real = reals[below(2)], integer = integers[below(5)], number = chance(2) ? real : integer;
    const DType bits = chance(4) ? DType::boolean : integer;
    const auto unary = [&](Primitive op, DType type) { return emit(op, type, type, {pick(pool, type)}); };
    const auto binary = [&](Primitive op, DType type) { return emit(op, type, type, {pick(pool, type), pick(pool, type)}); };
    const auto compare = [&](Primitive op, DType type) {
      return emit(op, DType::boolean, type, {pick(pool, type), pick(pool, type)});
    };
    const auto from = [&](std::initializer_list<Primitive> ops) { return ops.begin()[below(ops.size())]; };
    switch (below(10)) {
      case 0:
        return binary(from({Primitive::add, Primitive::sub, Primitive::mul}), number);
      case 1:
        return unary(from({Primitive::neg, Primitive::abs}), number);
      case 2:
        return binary(from({Primitive::div, Primitive::copysign, Primitive::ldexp}), real);
      case 3:
        return unary(from({Primitive::sqrt, Primitive::floor, Primitive::ceil, Primitive::trunc, Primitive::round_even}), real);
      case 4:
        return binary(from({Primitive::quo, Primitive::rem, Primitive::shl, Primitive::shr}), integer);
      case 5:
        return binary(from({Primitive::bit_and, Primitive::bit_or, Primitive::bit_xor}), bits);
      case 6:
        return compare(from({Primitive::eq, Primitive::ne, Primitive::lt, Primitive::le}), number);
      case 7: {
        const DType type = any_type();
        return emit(Primitive::select, type, type, {pick(pool, DType::boolean), pick(pool, type), pick(pool, type)});
      }
      case 8: {
        const DType type = any_type(), source = any_type();
        return emit(Primitive::convert, type, source, {pick(pool, source)});
      }
      default:
        return emit(Primitive::fma, real, real, {pick(pool, real), pick(pool, real), pick(pool, real)});
    }
  }

  Access whole_index(std::uint32_t buffer, Place at) {
    Access access{buffer, {}, {}};
    if (at.column != no_value) access.terms.push_back({at.column, Size::of(1)});
    access.terms.push_back({at.row, Size::of_value(columns_)});
    return access;
  }

  // Somewhere else in the buffer: another column's element, the reversed row, or one place for all.
  ValueId random_load(Place at, const std::vector<ValueId>& pool) {
    const std::uint32_t buffer = inputs_[below(inputs_.size())];
    Access access = whole_index(buffer, at);
    if (at.column != no_value && chance(4))
      access = {buffer, {{at.column, Size::of(-1)}, {at.row, Size::of_value(columns_)}}, Size::of_value(last_column_)};
    if (chance(6)) access = {buffer, {{at.row, Size::of_value(columns_)}}, {}};
    return builder_.load(access, chance(4) ? pick(pool, DType::boolean) : no_value);
  }

  void grow(std::vector<ValueId>& pool, Place at, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      pool.push_back(chance(5) ? random_load(at, pool) : random_instruction(pool));
      if (chance(12)) pool.push_back(serial_loop(pool, at));
    }
  }

  // A short loop that carries two values, inside of whatever loop is open.
  ValueId serial_loop(const std::vector<ValueId>& outer, Place at) {
    const DType first = any_type(), second = any_type();
    const ValueId a = pick(outer, first), b = pick(outer, second);
    const bool unrolled = chance(2);
    const ValueId step = builder_.open_for(unrolled ? LoopKind::unrolled : LoopKind::serial,
                                           unrolled ? Size::of(static_cast<std::int64_t>(below(4))) : Size::of_value(rows_));
    std::vector<ValueId> pool = outer;
    const ValueId inside[] = {builder_.carry(a), builder_.carry(b)};
    pool.insert(pool.end(), {inside[0], inside[1], step});
    for (std::size_t i = 0; i < 3; ++i) pool.push_back(random_instruction(pool));
    if (chance(3)) pool.push_back(random_load(at, pool));
    builder_.yield(0, pick(pool, first));
    builder_.yield(1, pick(pool, second));
    return builder_.close_for()[below(2)];
  }

  std::uint32_t random_combine(DType type) {
    CombineBuilder combine({type});
    const auto append = [&](Primitive op, DType result, std::vector<ValueId> in) {
      Instruction instruction{.op = op, .type = result, .from = type};
      std::copy(in.begin(), in.end(), instruction.in.begin());
      return combine.append(instruction);
    };
    const ValueId a = combine.earlier(0), b = combine.later(0);
    if (is_half(type)) {
      const ValueId x = append(Primitive::convert, DType::f32, {a}), y = append(Primitive::convert, DType::f32, {b});
      const ValueId sum = combine.append({.op = Primitive::add, .type = DType::f32, .from = DType::f32, .in = {x, y, no_value}});
      return builder_.combine(combine.finish(
          {combine.append({.op = Primitive::convert, .type = type, .from = DType::f32, .in = {sum, no_value, no_value}})}));
    }
    if (type == DType::boolean) return builder_.combine(combine.finish({append(Primitive::bit_or, type, {a, b})}));
    if (chance(2)) return builder_.combine(combine.finish({append(Primitive::add, type, {a, b})}));
    return builder_.combine(
        combine.finish({append(Primitive::select, type, {append(Primitive::lt, DType::boolean, {a, b}), b, a})}));
  }

  // A canonical reduction of the row, whose result joins the row's values.
  void reduce_row(std::vector<ValueId>& pool, Place at) {
    const DType type = any_type();
    const auto results = emit_inner_reduction(builder_, Size::of_value(columns_), Size::of_value(blocks_), random_combine(type),
                                              {pick(pool, type)}, [&](ReducedIndex index) {
                                                Access access = whole_index(inputs_[below(inputs_.size())], {at.row, index.step});
                                                if (index.begin != no_value) access.terms.push_back({index.begin, Size::of(1)});
                                                std::vector<ValueId> values = pool;
                                                values.push_back(builder_.load(access));
                                                for (std::size_t i = 0; i < 3; ++i) values.push_back(random_instruction(values));
                                                return std::vector{pick(values, type)};
                                              });
    pool.push_back(results[0]);
  }

  void store_outputs(const std::vector<ValueId>& pool, Place at) {
    for (const std::uint32_t output : outputs_) {
      const ValueId value = pick(pool, kernel_.buffers[output].type);
      builder_.store(whole_index(output, at), value, chance(5) ? pick(pool, DType::boolean) : no_value);
    }
  }

  // Scratch that a row fills and reads again, by vector loops of other widths.
  void through_scratch(std::vector<ValueId> pool, Place row, std::int32_t lanes) {
    const DType type = any_type();
    const std::uint32_t array = builder_.scratch(type, Space::heap, Size::of_value(columns_));
    const ValueId first = builder_.open_for(LoopKind::serial, Size::of_value(columns_), lanes);
    std::vector<ValueId> values = pool;
    values.push_back(first);
    grow(values, {row.row, first}, 4);
    builder_.store({array, {{first, Size::of(1)}}, {}}, pick(values, type));
    builder_.close_for();
    const ValueId second = builder_.open_for(LoopKind::serial, Size::of_value(columns_), 2 * lanes);
    pool.push_back(builder_.load({array, {{second, Size::of(1)}}, {}}));
    pool.push_back(builder_.load({array, {{second, Size::of(-1)}}, Size::of_value(last_column_)}));
    grow(pool, {row.row, second}, 4);
    store_outputs(pool, {row.row, second});
    builder_.close_for();
  }

  // Columns in vectors, rows in the canonical outer order: scratch with an array a lane.
  void column_kernel(std::int32_t lanes) {
    const ValueId column = builder_.open_for(LoopKind::parallel, Size::of_value(columns_), lanes);
    std::vector<ValueId> pool{column, builder_.constant(DType::boolean, below(2)), scalar_};
    const DType type = any_type();
    const auto results = emit_outer_reduction(
        builder_, Size::of_value(rows_), Size::of_value(row_blocks_), random_combine(type), {pick(pool, type)},
        [&](ReducedIndex index) {
          std::vector<ValueId> values = pool;
          Access access{inputs_[below(inputs_.size())], {{column, Size::of(1)}, {index.step, Size::of_value(columns_)}}, {}};
          if (index.begin != no_value) access.terms.push_back({index.begin, Size::of_value(columns_)});
          values.push_back(builder_.load(access));
          for (std::size_t i = 0; i < 3; ++i) values.push_back(random_instruction(values));
          return std::vector{pick(values, type)};
        });
    pool.push_back(results[0]);
    const ValueId row = builder_.open_for(LoopKind::serial, Size::of_value(rows_));
    grow(pool, {row, column}, 3);
    store_outputs(pool, {row, column});
    builder_.close_for();
    builder_.close_for();
  }

  void build() {
    rows_ = builder_.size("rows");
    columns_ = builder_.size("columns");
    blocks_ = builder_.size("blocks");
    row_blocks_ = builder_.size("row_blocks");
    scalar_ = builder_.scalar(any_type());
    for (std::size_t i = 0; i < 1 + below(3); ++i) inputs_.push_back(builder_.buffer({any_type()}));
    for (std::size_t i = 0; i < 1 + below(3); ++i) outputs_.push_back(builder_.buffer({any_type(), true, chance(2)}));
    last_column_ = emit(Primitive::sub, DType::i64, DType::i64, {columns_, builder_.index_constant(1)});
    const auto lanes = static_cast<std::int32_t>(1u << below(7));
    const std::size_t shape = below(4);
    if (shape == 3) return column_kernel(lanes);
    const ValueId row = builder_.open_for(LoopKind::parallel, Size::of_value(rows_));
    std::vector<ValueId> pool{row, scalar_, builder_.constant(DType::boolean, below(2)), columns_};
    for (std::size_t i = 0; i < 4; ++i) pool.push_back(random_instruction(pool));
    if (shape == 1) reduce_row(pool, {row, no_value});
    if (shape == 2) {
      through_scratch(pool, {row, no_value}, lanes);
    } else {
      const bool conditional = chance(3);
      if (conditional) builder_.open_if(pick(pool, DType::boolean));
      const ValueId column = builder_.open_for(LoopKind::serial, Size::of_value(columns_), lanes);
      pool.push_back(column);
      grow(pool, {row, column}, 4 + below(12));
      store_outputs(pool, {row, column});
      builder_.close_for();
      if (conditional) builder_.close_if();
    }
    builder_.close_for();
  }

  std::mt19937_64 random_;
  KernelBuilder builder_;
  ValueId rows_, columns_, blocks_, row_blocks_, scalar_, last_column_;
  std::vector<std::uint32_t> inputs_, outputs_;
};

// Memory to run such a kernel on: inputs full of ordinary and special values, outputs of zeros.
struct RandomData {
  RandomData(const Kernel& kernel, std::int64_t rows, std::int64_t columns, unsigned seed)
      : sizes{rows, columns, std::max<std::int64_t>((columns + inner_block - 1) / inner_block, 1),
              std::max<std::int64_t>((rows + outer_block - 1) / outer_block, 1)} {
    std::mt19937_64 random(seed);
    for (const auto& [value, type] : kernel.scalars) scalars.push_back(element(random, type));
    for (const BufferParameter& buffer : kernel.buffers) {
      const auto size = static_cast<std::size_t>(size_of(buffer.type));
      std::vector<unsigned char> bytes(static_cast<std::size_t>(rows * columns) * size);
      if (!buffer.writes)
        for (std::size_t i = 0; i < bytes.size(); i += size) {
          const std::uint64_t bits = element(random, buffer.type);
          for (std::size_t k = 0; k < size; ++k) bytes[i + k] = static_cast<unsigned char>(bits >> (8 * k));
        }
      memory.push_back(std::move(bytes));
    }
  }

  static std::uint64_t element(std::mt19937_64& random, DType type) {
    const int bits = type == DType::boolean ? 1 : 8 * size_of(type);
    const std::uint64_t mask = ~std::uint64_t{0} >> (64 - bits), word = random();
    if (!is_float(type)) return (word % 3 ? word >> 40 : word) & mask;
    const int mantissa = type == DType::f16 ? 10 : type == DType::bf16 ? 7 : type == DType::f32 ? 23 : 52;
    const std::uint64_t infinity = (mask >> 1) & ~((std::uint64_t{1} << mantissa) - 1);
    switch (word % 16) {
      case 0:
        return (word >> 8 & 1) << (bits - 1);  // zeros
      case 1:
        return infinity | (word >> 8 & 1) << (bits - 1);
      case 2:
        return infinity | std::uint64_t{1} << (mantissa - 1);  // the quiet NaN
      case 3:
        return (word >> 8) & ((std::uint64_t{1} << mantissa) - 1);  // subnormals
      case 4:
        return (word >> 4) & mask & ~(std::uint64_t{1} << (bits - 2));  // anything below 2
      default: {                                                        // near 1
        const std::uint64_t one = (mask >> 2) & ~((std::uint64_t{1} << mantissa) - 1);
        return (one + ((word >> 8) % 8 << mantissa) - (std::uint64_t{4} << mantissa) +
                (word >> 12 & ((std::uint64_t{1} << mantissa) - 1))) |
               (word >> 4 & 1) << (bits - 1);
      }
    }
  }

  // The buffers' addresses, for KernelArgs.
  std::vector<void*> pointers() {
    std::vector<void*> all;
    for (auto& bytes : memory) all.push_back(bytes.data());
    return all;
  }

  std::vector<std::int64_t> sizes;
  std::vector<std::uint64_t> scalars;
  std::vector<std::vector<unsigned char>> memory;
};

}  // namespace test_kernels
