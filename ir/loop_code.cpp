#include "ir/loop_code.h"

#include <algorithm>

namespace braze::ir {

using namespace loop_code;

namespace {

class Decoder {
 public:
  explicit Decoder(LoopInterpreter::Code& code) : code_(code), kernel_(code.kernel), lanes_(value_lanes(code.kernel)) {}

  void decode();

 private:
  Operand of(ValueId value) const { return value == no_value ? Operand{} : code_.values[value]; }
  SizeOperand of(const Size& size) const {
    if (size.kind == Size::Kind::number) return {size.number, -1};
    return {0, static_cast<std::int64_t>(code_.values[size.value].at)};
  }
  std::uint32_t lanes(ValueId value) const { return value == no_value ? 1 : static_cast<std::uint32_t>(lanes_[value]); }

  FlatOp& add(FlatOp::Kind kind, const Statement& statement) {
    FlatOp op{};
    op.kind = kind;
    op.statement = &statement;
    code_.ops.push_back(op);
    return code_.ops.back();
  }

  std::uint32_t add(const Access& access);
  void block(const Block& statements, std::uint32_t around);
  void loop(const For& loop, const Statement& statement, std::uint32_t around);
  static std::uint32_t threads_inside(const For& loop);

  LoopInterpreter::Code& code_;
  const Kernel& kernel_;
  std::vector<std::int32_t> lanes_;
};

void Decoder::decode() {
  for (std::int32_t lanes : lanes_) {
    code_.values.push_back({code_.registers, lanes > 1 ? 1u : 0u});
    code_.registers += static_cast<std::uint32_t>(lanes);
  }
  for (const Combine& combine : kernel_.combines) {
    Joiner joiner{combine.types.size(), {}, combine.results};
    for (const Instruction& instruction : combine.body) joiner.steps.push_back({evaluator(instruction), instruction});
    code_.joiners.push_back(std::move(joiner));
  }
  block(kernel_.body, 1);
}

std::uint32_t Decoder::add(const Access& access) {
  Address address{access.buffer};
  if (access.buffer >= scratch_base) {
    const ScratchArray& array = kernel_.scratch[access.buffer - scratch_base];
    address.type = array.type;
    address.array_lanes = static_cast<std::uint32_t>(array.lanes);
  } else {
    address.type = kernel_.buffers[access.buffer].type;
  }
  for (const Term& term : access.terms) address.terms.push_back({of(term.index), of(term.stride)});
  address.offset = of(access.offset);
  code_.addresses.push_back(std::move(address));
  return static_cast<std::uint32_t>(code_.addresses.size() - 1);
}

std::uint32_t Decoder::threads_inside(const For& loop) {
  for (const Statement& statement : loop.body)
    if (const For* inner = std::get_if<For>(&statement.node); inner && inner->kind == LoopKind::thread)
      return static_cast<std::uint32_t>(inner->extent.number) * threads_inside(*inner);
  return 1;
}

void Decoder::block(const Block& statements, std::uint32_t around) {
  for (const Statement& statement : statements)
    std::visit(match{
                   [&](const Compute& s) {
                     FlatOp& op = add(FlatOp::Kind::compute, statement);
                     op.lanes = lanes(s.result);
                     op.result = of(s.result);
                     for (std::size_t i = 0; i < 3; ++i) op.in[i] = of(s.instruction.in[i]);
                     op.evaluate = evaluator(s.instruction);
                     op.instruction = &s.instruction;
                   },
                   [&](const Load& s) {
                     const std::uint32_t address = add(s.access);
                     FlatOp& op = add(FlatOp::Kind::load, statement);
                     op.lanes = lanes(s.result);
                     op.result = of(s.result);
                     op.has_predicate = s.predicate != no_value;
                     op.in[2] = of(s.predicate);
                     op.detail = address;
                   },
                   [&](const Store& s) {
                     const std::uint32_t address = add(s.access);
                     std::uint32_t most = std::max({lanes(s.value), lanes(s.predicate), code_.addresses[address].array_lanes});
                     for (const Term& term : s.access.terms) most = std::max(most, lanes(term.index));
                     FlatOp& op = add(FlatOp::Kind::store, statement);
                     op.lanes = most;
                     op.in[0] = of(s.value);
                     op.has_predicate = s.predicate != no_value;
                     op.in[2] = of(s.predicate);
                     op.detail = address;
                   },
                   [&](const For& s) { loop(s, statement, around); },
                   [&](const Fold& s) {
                     FoldOp fold{s.combine, {}, {}, {}, {}};
                     for (ValueId value : s.results) fold.results.push_back(of(value));
                     for (ValueId value : s.lanes) fold.lanes.push_back(of(value));
                     code_.folds.push_back(std::move(fold));
                     FlatOp& op = add(FlatOp::Kind::fold, statement);
                     op.lanes = lanes(s.lanes[0]);
                     op.detail = static_cast<std::uint32_t>(code_.folds.size() - 1);
                   },
                   [&](const TreeFold& s) {
                     FoldOp fold{s.combine, {}, {}, s.arrays, of(s.count)};
                     for (ValueId value : s.results) fold.results.push_back(of(value));
                     code_.folds.push_back(std::move(fold));
                     FlatOp& op = add(FlatOp::Kind::tree_fold, statement);
                     op.lanes = lanes(s.results[0]);
                     op.detail = static_cast<std::uint32_t>(code_.folds.size() - 1);
                   },
                   [&](const If& s) {
                     const std::size_t at = code_.ops.size();
                     add(FlatOp::Kind::branch, statement).in[0] = of(s.condition);
                     block(s.body, around);
                     code_.ops[at].jump = static_cast<std::uint32_t>(code_.ops.size());
                   },
                   [](const Barrier&) {},  // statements run in lock step
                   [&](const Shuffle& s) {
                     FlatOp& op = add(FlatOp::Kind::shuffle, statement);
                     op.lanes = lanes(s.result);
                     op.result = of(s.result);
                     op.in[0] = of(s.value);
                     op.detail = static_cast<std::uint32_t>(s.delta);
                   },
               },
               statement.node);
}

void Decoder::loop(const For& loop, const Statement& statement, std::uint32_t around) {
  const bool threads = loop.kind == LoopKind::thread;
  const std::uint32_t inside = loop.step > 1 || threads ? lanes(loop.variable) : around;
  const auto number = static_cast<std::uint32_t>(code_.loops.size());
  code_.loops.push_back({of(loop.extent), loop.step, static_cast<std::uint32_t>(code_.ops.size()), threads_inside(loop), {}});
  for (const Carry& carried : loop.carries)
    code_.loops.back().carries.push_back({of(carried.init), of(carried.inside), of(carried.next), of(carried.result)});
  FlatOp op{};
  op.kind = threads ? FlatOp::Kind::open_threads : FlatOp::Kind::open_loop;
  op.loop = loop.kind;
  op.lanes = inside;
  op.result = of(loop.variable);
  op.detail = number;
  op.statement = &statement;
  code_.ops.push_back(op);
  block(loop.body, inside);
  op.kind = threads ? FlatOp::Kind::close_threads : FlatOp::Kind::close_loop;
  op.leaves_threads = threads && around == 1;
  code_.ops.push_back(op);
  code_.ops[code_.loops[number].open].jump = static_cast<std::uint32_t>(code_.ops.size());
}

}  // namespace

LoopInterpreter::LoopInterpreter(const Kernel& kernel) {
  verify(kernel);
  auto code = std::make_unique<Code>();
  code->kernel = kernel;
  Decoder(*code).decode();
  code_ = std::move(code);
}
LoopInterpreter::~LoopInterpreter() = default;
LoopInterpreter::LoopInterpreter(LoopInterpreter&&) noexcept = default;
LoopInterpreter& LoopInterpreter::operator=(LoopInterpreter&&) noexcept = default;

}  // namespace braze::ir
