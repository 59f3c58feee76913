#include <algorithm>
#include <unordered_map>

#include "ir/error.h"
#include "ir/identifier.h"
#include "ir/loops.h"

namespace braze::ir {
namespace {

struct Hash {
  std::size_t state = 0;
  void add(std::uint64_t part) { state = (state ^ part) * 0x9e3779b97f4a7c15u + (state >> 29); }
};

struct HashInstruction {
  std::size_t operator()(const Instruction& instruction) const {
    Hash hash;
    hash.add(static_cast<std::uint64_t>(instruction.op) << 16 | static_cast<std::uint64_t>(instruction.type) << 8 |
             static_cast<std::uint64_t>(instruction.from));
    for (ValueId operand : instruction.in) hash.add(operand);
    hash.add(instruction.payload);
    return hash.state;
  }
};

struct LoadKey {
  Access access;
  ValueId predicate;
  bool operator==(const LoadKey&) const = default;
};

struct HashLoad {
  std::size_t operator()(const LoadKey& key) const {
    Hash hash;
    hash.add(key.access.buffer);
    hash.add(key.predicate);
    const auto add_size = [&](const Size& size) {
      hash.add(static_cast<std::uint64_t>(size.number));
      hash.add(size.value);
    };
    for (const Term& term : key.access.terms) {
      hash.add(term.index);
      add_size(term.stride);
    }
    add_size(key.access.offset);
    return hash.state;
  }
};

}  // namespace

struct KernelBuilder::Scope {
  Block* block;
  Block own;                // what `block` points at, but for the outermost scope
  std::optional<For> loop;  // else an if, or the kernel itself
  ValueId condition = no_value;
  std::int32_t lanes = 1;  // of the vector or thread loops around, this one included
  std::unordered_map<Instruction, ValueId, HashInstruction> known;
  std::unordered_map<LoadKey, ValueId, HashLoad> loads;
};

KernelBuilder::KernelBuilder(Kernel& kernel) : kernel_(kernel) {
  invariant(kernel.body.empty(), "kernel '{}' already has a body", kernel.name);
  scopes_.push_back(std::make_unique<Scope>());
  scopes_.back()->block = &kernel.body;
  depth_.resize(kernel.value_types.size(), 0);
}

KernelBuilder::~KernelBuilder() = default;

ValueId KernelBuilder::define(DType type, std::size_t depth) {
  const ValueId value = kernel_.new_value(type);
  depth_.resize(kernel_.value_types.size(), 0);
  depth_[value] = static_cast<std::uint32_t>(depth);
  return value;
}

ValueId KernelBuilder::append(const Instruction& given) {
  const Instruction instruction = canonical(given);
  std::size_t depth = 0;
  for (ValueId operand : instruction.in) {
    if (operand == no_value) continue;
    invariant(operand < depth_.size(), "operand {} of {} is no value of kernel '{}'", operand, info(instruction.op).name,
              kernel_.name);
    depth = std::max<std::size_t>(depth, depth_[operand]);
  }
  invariant(depth < scopes_.size(), "an operand of {} belongs to a scope that is closed", info(instruction.op).name);
  if (instruction.op == Primitive::check) {
    for (const auto& scope : scopes_)
      if (const auto found = scope->known.find(instruction); found != scope->known.end()) return found->second;
    depth = scopes_.size() - 1;
  }
  Scope& scope = *scopes_[depth];
  const auto [entry, is_new] = scope.known.try_emplace(instruction, no_value);
  if (is_new) {
    entry->second = define(instruction.type, depth);
    scope.block->push_back({Compute{entry->second, instruction}});
  }
  return entry->second;
}

ValueId KernelBuilder::constant(DType type, std::uint64_t bits) {
  const int size = type == DType::boolean ? 1 : 8 * size_of(type);
  return append({.op = Primitive::constant, .type = type, .from = type, .payload = bits & (~std::uint64_t{0} >> (64 - size))});
}

ValueId KernelBuilder::load(Access access, ValueId predicate) {
  const bool in_scratch = access.buffer >= scratch_base;
  const DType type = in_scratch ? kernel_.scratch.at(access.buffer - scratch_base).type : kernel_.buffers.at(access.buffer).type;
  const bool read_only = !in_scratch && !kernel_.buffers[access.buffer].writes;
  LoadKey key{std::move(access), predicate};
  if (read_only)
    for (const auto& scope : scopes_)
      if (const auto found = scope->loads.find(key); found != scope->loads.end()) return found->second;
  Scope& scope = *scopes_.back();
  const ValueId result = define(type, scopes_.size() - 1);
  scope.block->push_back({Load{result, key.access, predicate}});
  if (read_only) scope.loads.emplace(std::move(key), result);
  return result;
}

void KernelBuilder::store(Access access, ValueId value, ValueId predicate) {
  scopes_.back()->block->push_back({Store{std::move(access), value, predicate}});
}

ValueId KernelBuilder::open_for(LoopKind kind, Size extent, std::int32_t step) {
  auto scope = std::make_unique<Scope>();
  scope->block = &scope->own;
  scope->lanes = lanes();
  if (step > 1) scope->lanes = step;
  if (kind == LoopKind::thread) scope->lanes *= static_cast<std::int32_t>(extent.number);
  scope->loop = For{kind, no_value, extent, step, {}, {}};
  scopes_.push_back(std::move(scope));
  return scopes_.back()->loop->variable = define(DType::i64, scopes_.size() - 1);
}

std::int32_t KernelBuilder::lanes() const { return scopes_.back()->lanes; }

KernelBuilder::Scope& KernelBuilder::innermost_loop() {
  Scope& scope = *scopes_.back();
  invariant(scope.loop.has_value(), "the innermost open scope of kernel '{}' is no loop", kernel_.name);
  return scope;
}

ValueId KernelBuilder::carry(ValueId init) {
  Scope& scope = innermost_loop();
  const ValueId inside = define(type(init), scopes_.size() - 1);
  scope.loop->carries.push_back({init, inside, no_value, no_value});
  return inside;
}

void KernelBuilder::yield(std::size_t n, ValueId next) { innermost_loop().loop->carries.at(n).next = next; }

std::vector<ValueId> KernelBuilder::close_for() {
  innermost_loop();
  const std::unique_ptr<Scope> scope = std::move(scopes_.back());
  scopes_.pop_back();
  For loop = std::move(*scope->loop);
  loop.body = std::move(scope->own);
  std::vector<ValueId> results;
  for (Carry& carried : loop.carries) {
    invariant(carried.next != no_value, "a carried value of kernel '{}' was never yielded", kernel_.name);
    carried.result = define(type(carried.init), scopes_.size() - 1);
    results.push_back(carried.result);
  }
  scopes_.back()->block->push_back({std::move(loop)});
  return results;
}

void KernelBuilder::open_if(ValueId condition) {
  auto scope = std::make_unique<Scope>();
  scope->block = &scope->own;
  scope->condition = condition;
  scope->lanes = lanes();
  scopes_.push_back(std::move(scope));
}

void KernelBuilder::close_if() {
  invariant(scopes_.back()->condition != no_value, "the innermost open scope of kernel '{}' is no if", kernel_.name);
  const std::unique_ptr<Scope> scope = std::move(scopes_.back());
  scopes_.pop_back();
  scopes_.back()->block->push_back({If{scope->condition, std::move(scope->own)}});
}

std::vector<ValueId> KernelBuilder::fold(std::uint32_t combine, std::vector<ValueId> lanes) {
  std::vector<ValueId> results;
  for (ValueId value : lanes) results.push_back(define(type(value), scopes_.size() - 1));
  scopes_.back()->block->push_back({Fold{results, std::move(lanes), combine}});
  return results;
}

std::vector<ValueId> KernelBuilder::tree_fold(std::uint32_t combine, std::vector<std::uint32_t> arrays, Size count) {
  std::vector<ValueId> results;
  for (std::uint32_t array : arrays) results.push_back(define(kernel_.scratch.at(array - scratch_base).type, scopes_.size() - 1));
  scopes_.back()->block->push_back({TreeFold{results, std::move(arrays), count, combine}});
  return results;
}

std::uint32_t KernelBuilder::scratch(DType type, Space space, Size count) {
  kernel_.scratch.push_back({type, space, count, space == Space::shared ? 1 : lanes()});
  return scratch_base + static_cast<std::uint32_t>(kernel_.scratch.size() - 1);
}

std::uint32_t KernelBuilder::combine(Combine combine) {
  kernel_.combines.push_back(std::move(combine));
  return static_cast<std::uint32_t>(kernel_.combines.size() - 1);
}

ValueId KernelBuilder::size(std::string name) {
  const auto taken = [&](const std::string& candidate) {
    return std::find(kernel_.size_names.begin(), kernel_.size_names.end(), candidate) != kernel_.size_names.end();
  };
  if (!is_identifier(name)) name = "size";
  std::string unique = name;
  for (int n = 1; taken(unique); ++n) unique = fmt::format("{}_{}", name, n);
  kernel_.sizes.push_back(define(DType::i64, 0));
  kernel_.size_names.push_back(unique);
  return kernel_.sizes.back();
}

ValueId KernelBuilder::scalar(DType type) {
  kernel_.scalars.emplace_back(define(type, 0), type);
  return kernel_.scalars.back().first;
}

std::uint32_t KernelBuilder::buffer(BufferParameter parameter) {
  kernel_.buffers.push_back(parameter);
  return static_cast<std::uint32_t>(kernel_.buffers.size() - 1);
}

void KernelBuilder::barrier() { scopes_.back()->block->push_back({Barrier{}}); }

ValueId KernelBuilder::shuffle(ValueId value, std::int32_t delta) {
  const ValueId result = define(type(value), scopes_.size() - 1);
  scopes_.back()->block->push_back({Shuffle{result, value, delta}});
  return result;
}

CombineBuilder::CombineBuilder(std::vector<DType> types) { combine_.types = std::move(types); }

ValueId CombineBuilder::append(const Instruction& given) {
  const Instruction instruction = canonical(given);
  const auto found = std::find(combine_.body.begin(), combine_.body.end(), instruction);
  const std::size_t at = static_cast<std::size_t>(found - combine_.body.begin());
  if (at == combine_.body.size()) combine_.body.push_back(instruction);
  return static_cast<ValueId>(2 * combine_.types.size() + at);
}

Combine CombineBuilder::finish(std::vector<ValueId> results) {
  combine_.results = std::move(results);
  return std::move(combine_);
}

}  // namespace braze::ir
