#include "codegen/cpu/emit.h"

#include <llvm/IR/Constants.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/IntrinsicsX86.h>
#include <llvm/IR/Module.h>
#include <llvm/Transforms/Utils/PromoteMemToReg.h>

#include <algorithm>

#include "codegen/cpu/emitter.h"
#include "ir/error.h"

namespace braze::codegen::cpu {
namespace {

// Calls `visit` on every statement, with whether a vector loop is around it.
template <class Visit>
void for_each_statement(const ir::Block& block, bool in_vector, const Visit& visit) {
  for (const ir::Statement& statement : block) {
    visit(statement, in_vector);
    if (const auto* loop = std::get_if<ir::For>(&statement.node))
      for_each_statement(loop->body, in_vector || loop->step > 1, visit);
    if (const auto* condition = std::get_if<ir::If>(&statement.node)) for_each_statement(condition->body, in_vector, visit);
  }
}

constexpr unsigned default_mode = 0x1f80;  // MXCSR: round to nearest, no flush, exceptions masked

}  // namespace

void emit(llvm::Module& module, const ir::Kernel& kernel, const ir::CpuTarget& target, const EmitOptions& options) {
  Emitter(module, kernel, target, options).run();
}

Emitter::Emitter(llvm::Module& module, const ir::Kernel& kernel, const ir::CpuTarget& target, const EmitOptions& options)
    : kernel_(kernel),
      options_(options),
      features_(target),
      builder_(module.getContext()),
      instructions_(builder_, features_),
      value_lanes_(ir::value_lanes(kernel)),
      ranges_(kernel),
      values_(kernel.value_types.size()) {
  llvm::Type* const pointer = builder_.getPtrTy();
  llvm::Type* const index = builder_.getInt64Ty();
  function_ = llvm::Function::Create(llvm::FunctionType::get(builder_.getInt32Ty(), {pointer, index, index, pointer}, false),
                                     llvm::Function::ExternalLinkage, options.symbol, module);
  function_->addFnAttr(llvm::Attribute::NoUnwind);
  function_->addFnAttr("tune-cpu", target.cpu);
  function_->addFnAttr("prefer-vector-width", std::to_string(8 * target.vector_bytes));
  builder_.SetInsertPoint(block("entry"));
  begin_ = function_->getArg(1);
  end_ = function_->getArg(2);
  has_phases_ = std::count_if(kernel.body.begin(), kernel.body.end(), [](const ir::Statement& statement) {
                  const auto* loop = std::get_if<ir::For>(&statement.node);
                  return loop && loop->kind == ir::LoopKind::parallel;
                }) > 1;
}

llvm::BasicBlock* Emitter::block(const char* name) { return llvm::BasicBlock::Create(builder_.getContext(), name, function_); }

void Emitter::run() {
  find_shifted();
  for (ir::RowLook& look : ir::row_looks(kernel_)) row_looks_.emplace(look.load, std::move(look));
  choose_part_lanes();
  set_rounding();
  load_arguments();
  allocate_scratch();
  emit_block(kernel_.body);
  finish();
}

// L follows the widest type that vector loops load, store or carry; i64 arithmetic on indices stays scalar mostly, so that it
// alone does not halve the width of everything else.
void Emitter::choose_part_lanes() {
  int widest = 1;
  std::uint64_t first_fault = 0;
  const auto widen = [&](DType t) { widest = std::max(widest, size_of(compute_type(t))); };
  for_each_statement(kernel_.body, false, [&](const ir::Statement& statement, bool in_vector) {
    if (const auto* compute = std::get_if<ir::Compute>(&statement.node);
        compute && compute->instruction.op == ir::Primitive::check) {
      several_faults_ = several_faults_ || (first_fault != 0 && first_fault != compute->instruction.payload);
      first_fault = compute->instruction.payload;
    }
    if (!in_vector) return;
    if (const auto* load = std::get_if<ir::Load>(&statement.node); load && varies(load->result)) widen(type_of(load->result));
    if (const auto* store = std::get_if<ir::Store>(&statement.node); store) widen(type_of(store->value));
    if (const auto* compute = std::get_if<ir::Compute>(&statement.node);
        compute && varies(compute->result) && type_of(compute->result) != DType::i64)
      widen(type_of(compute->result));
  });
  part_lanes_ = features_.vector_bytes / static_cast<unsigned>(widest);
}

void Emitter::set_rounding() {
  llvm::Type* const word = builder_.getInt32Ty();
  saved_mode_ = builder_.CreateAlloca(word, nullptr, "mode");
  instructions_.intrinsic(llvm::Intrinsic::x86_sse_stmxcsr, {}, {saved_mode_});
  llvm::Value* const control = builder_.CreateAnd(builder_.CreateLoad(word, saved_mode_), builder_.getInt32(0xffc0));
  llvm::BasicBlock *const change = block("change_mode"), *const start = block("start");
  builder_.CreateCondBr(builder_.CreateICmpEQ(control, builder_.getInt32(default_mode)), start, change);
  builder_.SetInsertPoint(change);
  llvm::Value* const wanted = instructions_.slot(word, "default_mode");
  builder_.CreateStore(builder_.getInt32(default_mode), wanted);
  instructions_.intrinsic(llvm::Intrinsic::x86_sse_ldmxcsr, {}, {wanted});
  builder_.CreateBr(start);
  builder_.SetInsertPoint(start);
}

void Emitter::load_arguments() {
  llvm::Type* const pointer = builder_.getPtrTy();
  llvm::Type* const word = builder_.getInt64Ty();
  llvm::Value* const arguments = function_->getArg(0);
  const auto field = [&](unsigned i) {
    return builder_.CreateLoad(pointer, builder_.CreateConstInBoundsGEP1_64(pointer, arguments, i));
  };
  llvm::Value *const buffers = field(0), *const sizes = field(1), *const scalars = field(2);
  for (std::size_t i = 0; i < kernel_.buffers.size(); ++i)
    buffers_.push_back(
        builder_.CreateLoad(pointer, builder_.CreateConstInBoundsGEP1_64(pointer, buffers, i), "b" + std::to_string(i)));
  for (std::size_t i = 0; i < kernel_.sizes.size(); ++i)
    define(kernel_.sizes[i], builder_.CreateLoad(word, builder_.CreateConstInBoundsGEP1_64(word, sizes, i), kernel_.size_names[i]));
  for (std::size_t i = 0; i < kernel_.scalars.size(); ++i) {
    const auto [value, t] = kernel_.scalars[i];
    llvm::Value* const at = builder_.CreateConstInBoundsGEP1_64(word, scalars, i);
    define(value, to_register(t, builder_.CreateLoad(memory_type(t, 1), at, "s" + std::to_string(i))));
  }
}

void Emitter::allocate_scratch() {
  llvm::Value* offset = builder_.getInt64(0);
  for (const ir::ScratchArray& array : kernel_.scratch) {
    Scratch& made = scratch_.emplace_back();
    const std::uint64_t lanes = static_cast<std::uint64_t>(array.lanes);
    if (array.space == ir::Space::heap) {
      made.base = builder_.CreateGEP(builder_.getInt8Ty(), function_->getArg(3), offset);
      llvm::Value* const bytes =
          builder_.CreateMul(size(array.count), builder_.getInt64(lanes * static_cast<std::uint64_t>(size_of(array.type))));
      offset = builder_.CreateAdd(
          offset, builder_.CreateAnd(builder_.CreateAdd(bytes, builder_.getInt64(63)), builder_.getInt64(~std::uint64_t{63})));
      continue;
    }
    invariant(array.count.kind == ir::Size::Kind::number, "kernel '{}': the size of a scratch array on the stack is no number",
              kernel_.name);
    const auto count = static_cast<std::size_t>(array.count.number);
    if (array.space == ir::Space::stack) {
      made.base = instructions_.slot(llvm::ArrayType::get(memory_type(array.type, 1), count * lanes), "array");
      continue;
    }
    invariant(array.space == ir::Space::registers, "kernel '{}' uses shared memory on a CPU", kernel_.name);
    const unsigned width = std::min<unsigned>(part_lanes_, static_cast<unsigned>(lanes));
    made.registers.resize(count);
    for (auto& element : made.registers)
      for (unsigned p = 0; p < lanes / width; ++p) {
        element.push_back(instructions_.slot(instructions_.type(array.type, width), "register"));
        promotable_.push_back(element.back());
      }
  }
}

void Emitter::finish() {
  if (streams_) instructions_.intrinsic(llvm::Intrinsic::x86_sse_sfence, {}, {});
  llvm::Type* const word = builder_.getInt32Ty();
  llvm::Value* const status = status_ ? builder_.CreateLoad(word, status_) : static_cast<llvm::Value*>(builder_.getInt32(0));
  llvm::Value* const control = builder_.CreateAnd(builder_.CreateLoad(word, saved_mode_), builder_.getInt32(0xffc0));
  llvm::BasicBlock *const restore = block("restore_mode"), *const leave = block("leave");
  builder_.CreateCondBr(builder_.CreateICmpEQ(control, builder_.getInt32(default_mode)), leave, restore);
  builder_.SetInsertPoint(restore);
  instructions_.intrinsic(llvm::Intrinsic::x86_sse_ldmxcsr, {}, {saved_mode_});
  builder_.CreateBr(leave);
  builder_.SetInsertPoint(leave);
  builder_.CreateRet(status);
  if (status_) promotable_.push_back(status_);
  if (promotable_.empty()) return;
  llvm::DominatorTree dominators(*function_);
  llvm::PromoteMemToReg(promotable_, dominators);
}

llvm::Value* Emitter::size(const ir::Size& s) {
  if (s.kind == ir::Size::Kind::number) return builder_.getInt64(static_cast<std::uint64_t>(s.number));
  return uniform(s.value);
}

llvm::Value* Emitter::uniform(ir::ValueId v) {
  invariant(v < values_.size() && values_[v].scalar && values_[v].is_uniform(), "kernel '{}': value {} is not a uniform one",
            kernel_.name, v);
  return values_[v].scalar;
}

llvm::Value* Emitter::part(ir::ValueId v, unsigned p) { return part(values_[v], type_of(v), p); }

llvm::Value* Emitter::part(const Lowered& lowered, DType type, unsigned p) {
  const unsigned width = lanes_ ? lanes_->part_lanes : 1;
  if (lowered.is_vector()) return lowered.parts[p];
  if (lowered.is_uniform()) return instructions_.splat(lowered.scalar, width);
  llvm::SmallVector<llvm::Constant*, 64> steps;
  for (unsigned k = 0; k < width; ++k)
    steps.push_back(instructions_.constant(type, static_cast<std::uint64_t>((p * width + k) * lowered.lane_stride)));
  return builder_.CreateAdd(instructions_.splat(lowered.scalar, width), llvm::ConstantVector::get(steps));
}

Parts Emitter::parts(ir::ValueId v) {
  Parts result;
  for (unsigned p = 0; p < part_count(); ++p) result.push_back(part(v, p));
  return result;
}

void Emitter::define_part(ir::ValueId v, unsigned p, llvm::Value* value) {
  Lowered& lowered = values_[v];
  if (p == 0) lowered = Lowered{nullptr, 0, Parts(part_count(), nullptr), depth_};
  lowered.parts[p] = value;
}

}  // namespace braze::codegen::cpu
