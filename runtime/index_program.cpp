#include "runtime/index_program.h"

#include <algorithm>

#include "ir/error.h"

namespace braze::runtime {

using ir::IndexId, ir::IndexNode, ir::IndexOp;

namespace {

constexpr std::uint32_t nowhere = ~std::uint32_t{0};

bool is_leaf(IndexOp op) { return op == IndexOp::number || op == IndexOp::symbol; }

[[noreturn]] void overflow(std::int64_t a, char op, std::int64_t b) {
  fail<ValueError>("a size is too large: {} {} {} does not fit 64 bits", a, op, b);
}

std::int64_t add(std::int64_t a, std::int64_t b) {
  std::int64_t sum;
  if (__builtin_add_overflow(a, b, &sum)) overflow(a, '+', b);
  return sum;
}

std::int64_t multiply(std::int64_t a, std::int64_t b) {
  std::int64_t product;
  if (__builtin_mul_overflow(a, b, &product)) overflow(a, '*', b);
  return product;
}

std::int64_t divide(std::int64_t a, std::int64_t b, bool up) {
  require<ValueError>(b > 0, "a size is divided by {}", b);
  const std::int64_t quotient = a / b, rest = a % b;
  return up ? quotient + (rest > 0) : quotient - (rest < 0);
}

}  // namespace

IndexProgram::IndexProgram(const ir::IndexTable& table, std::uint32_t symbols, std::span<const IndexId> needed)
    : symbols_(symbols), place_(table.size(), nowhere) {
  std::vector<bool> live(table.size(), false);
  for (const IndexId id : needed) {
    invariant(id < table.size(), "index expression {} of {}", id, table.size());
    live[id] = true;
  }
  for (std::size_t i = table.size(); i-- > 0;) {
    const IndexNode& node = table[static_cast<IndexId>(i)];
    if (!live[i] || is_leaf(node.op)) continue;
    invariant(node.a < i && node.b < i, "index expression {} precedes its operands", i);
    live[node.a] = live[node.b] = true;
  }
  for (IndexId id = 0; id < table.size(); ++id) {
    const IndexNode& node = table[id];
    if (!live[id]) continue;
    if (node.op == IndexOp::symbol) {
      invariant(node.number >= 0 && node.number < symbols, "symbol {} of {}", node.number, symbols);
      place_[id] = static_cast<std::uint32_t>(node.number);
    } else if (node.op == IndexOp::number) {
      place_[id] = symbols_ + static_cast<std::uint32_t>(numbers_.size());
      numbers_.push_back(node.number);
    }
  }
  for (IndexId id = 0; id < table.size(); ++id) {
    const IndexNode& node = table[id];
    if (!live[id] || is_leaf(node.op)) continue;
    place_[id] = static_cast<std::uint32_t>(size());
    instructions_.push_back({node.op, place_[node.a], place_[node.b]});
  }
}

void IndexProgram::evaluate(std::span<const std::int64_t> symbols, std::int64_t* out) const {
  std::int64_t* next = std::copy(symbols.begin(), symbols.end(), out);
  next = std::copy(numbers_.begin(), numbers_.end(), next);
  for (const Instruction& instruction : instructions_) {
    const std::int64_t a = out[instruction.a], b = out[instruction.b];
    switch (instruction.op) {
      case IndexOp::number:
      case IndexOp::symbol:
        break;
      case IndexOp::add:
        *next = add(a, b);
        break;
      case IndexOp::mul:
        *next = multiply(a, b);
        break;
      case IndexOp::floor_div:
        *next = divide(a, b, false);
        break;
      case IndexOp::ceil_div:
        *next = divide(a, b, true);
        break;
      case IndexOp::min:
        *next = std::min(a, b);
        break;
      case IndexOp::max:
        *next = std::max(a, b);
        break;
    }
    ++next;
  }
}

}  // namespace braze::runtime
