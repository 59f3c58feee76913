// Statements and loops.
#include <llvm/IR/Constants.h>
#include <llvm/IR/Intrinsics.h>

#include <algorithm>
#include <unordered_set>

#include "codegen/cpu/emitter.h"
#include "ir/error.h"

namespace braze::codegen::cpu {
namespace {

bool is_straight(const ir::Statement& statement) {
  return std::holds_alternative<ir::Compute>(statement.node) || std::holds_alternative<ir::Load>(statement.node) ||
         std::holds_alternative<ir::Store>(statement.node);
}

std::size_t arity_of(const ir::Instruction& i) {
  return static_cast<std::size_t>(std::count_if(i.in.begin(), i.in.end(), [](ir::ValueId v) { return v != ir::no_value; }));
}

}  // namespace

void Emitter::emit_block(const ir::Block& statements) {
  for (std::size_t i = 0; i < statements.size();) {
    if (is_straight(statements[i])) {
      // A scratch array that all lanes share may be read where another part has stored: such a load opens a new run.
      std::unordered_set<std::uint32_t> stored;
      std::size_t end = i;
      for (; end < statements.size() && is_straight(statements[end]); ++end) {
        if (const auto* store = std::get_if<ir::Store>(&statements[end].node)) stored.insert(store->access.buffer);
        if (const auto* load = std::get_if<ir::Load>(&statements[end].node);
            load && load->access.buffer >= ir::scratch_base && stored.count(load->access.buffer))
          break;
      }
      emit_run(std::span(statements).subspan(i, end - i));
      i = end;
      continue;
    }
    std::visit(ir::match{[&](const ir::For& loop) { emit_for(loop); }, [&](const ir::Fold& fold) { emit_fold(fold); },
                         [&](const ir::TreeFold& fold) { emit_tree_fold(fold); }, [&](const ir::If& branch) { emit_if(branch); },
                         [&](const auto&) { invariant(false, "kernel '{}' holds a GPU statement", kernel_.name); }},
               statements[i].node);
    ++i;
  }
}

void Emitter::emit_run(std::span<const ir::Statement> run) {
  const unsigned count = part_count();
  if (several_faults_ || count == 1) {
    for (const ir::Statement& statement : run)
      for (unsigned p = 0; p < (statement_varies(statement) ? count : 1); ++p) emit_statement(statement, p);
    return;
  }
  for (unsigned p = 0; p < count; ++p)
    for (const ir::Statement& statement : run)
      if (p == 0 || statement_varies(statement)) emit_statement(statement, p);
}

bool Emitter::statement_varies(const ir::Statement& statement) const {
  if (const auto* compute = std::get_if<ir::Compute>(&statement.node)) return varies(compute->result);
  if (const auto* load = std::get_if<ir::Load>(&statement.node)) return varies(load->result);
  const auto& store = std::get<ir::Store>(statement.node);
  if (varies(store.value) || (store.predicate != ir::no_value && varies(store.predicate))) return true;
  if (store.access.buffer >= ir::scratch_base && kernel_.scratch[store.access.buffer - ir::scratch_base].lanes > 1) return true;
  return std::any_of(store.access.terms.begin(), store.access.terms.end(),
                     [&](const ir::Term& term) { return varies(term.index); });
}

void Emitter::emit_statement(const ir::Statement& statement, unsigned p) {
  if (const auto* compute = std::get_if<ir::Compute>(&statement.node))
    emit_compute(*compute, p);
  else if (const auto* load = std::get_if<ir::Load>(&statement.node))
    emit_load(*load, p);
  else
    emit_store(std::get<ir::Store>(statement.node), p);
}

// Sums and multiples of lane numbers stay one scalar and a stride, which is what addresses are made of.
bool Emitter::emit_affine(const ir::Compute& compute) {
  const ir::Instruction& i = compute.instruction;
  if (i.type != DType::i64 || !lanes_) return false;
  const auto operand = [&](std::size_t k) -> const Lowered& { return values_[i.in[k]]; };
  Lowered result;
  if (i.op == ir::Primitive::add || i.op == ir::Primitive::sub) {
    const Lowered &a = operand(0), &c = operand(1);
    if (a.is_vector() || c.is_vector()) return false;
    const bool sum = i.op == ir::Primitive::add;
    result.scalar = sum ? builder_.CreateAdd(a.scalar, c.scalar) : builder_.CreateSub(a.scalar, c.scalar);
    result.lane_stride = sum ? a.lane_stride + c.lane_stride : a.lane_stride - c.lane_stride;
  } else if (i.op == ir::Primitive::neg) {
    if (operand(0).is_vector()) return false;
    result = {builder_.CreateNeg(operand(0).scalar), -operand(0).lane_stride, {}, 0};
  } else if (i.op == ir::Primitive::mul) {
    const Lowered& a = operand(0).is_affine() ? operand(0) : operand(1);
    const Lowered& c = operand(0).is_affine() ? operand(1) : operand(0);
    if (!a.is_affine() || !c.is_uniform()) return false;
    const auto* factor = llvm::dyn_cast<llvm::ConstantInt>(c.scalar);
    if (!factor) return false;
    result = {builder_.CreateMul(a.scalar, c.scalar), a.lane_stride * factor->getSExtValue(), {}, 0};
  } else {
    return false;
  }
  result.depth = depth_;
  values_[compute.result] = std::move(result);
  return true;
}

void Emitter::emit_compute(const ir::Compute& compute, unsigned p) {
  const ir::Instruction& i = compute.instruction;
  const bool varying = varies(compute.result);
  if (p > 0 && !values_[compute.result].is_vector()) return;  // affine: part 0 has settled all
  if (varying && p == 0 && emit_affine(compute)) return;
  llvm::SmallVector<llvm::Value*, 3> in;
  for (std::size_t k = 0; k < arity_of(i); ++k) in.push_back(varying ? part(i.in[k], p) : uniform(i.in[k]));
  if (i.op == ir::Primitive::check) emit_check(compute, p);
  const bool has_limits = i.op == ir::Primitive::ldexp;  // which known ones of its operand may stand for
  llvm::Value* const result = instructions_.emit(i, in, has_limits ? ranges_.of(i.in[1]) : Range{});
  if (varying)
    define_part(compute.result, p, result);
  else
    define(compute.result, result);
}

void Emitter::emit_check(const ir::Compute& compute, unsigned p) {
  const ir::Instruction& i = compute.instruction;
  llvm::Type* const word = builder_.getInt32Ty();
  if (!status_) {
    status_ = instructions_.slot(word, "status");
    llvm::IRBuilder<> at_entry(function_->getEntryBlock().getTerminator());
    at_entry.CreateStore(builder_.getInt32(0), status_);
  }
  llvm::Value* raised = varies(i.in[0]) ? part(i.in[0], p) : uniform(i.in[0]);
  if (lanes_of(raised) > 1) {
    if (llvm::Value* const active = mask(p)) raised = builder_.CreateAnd(raised, active);
    llvm::Value* const bits = builder_.CreateBitCast(raised, builder_.getIntNTy(lanes_of(raised)));
    raised = builder_.CreateICmpNE(bits, llvm::Constant::getNullValue(bits->getType()));
  }
  llvm::Value* const before = builder_.CreateLoad(word, status_);
  llvm::Value* const first = builder_.CreateAnd(raised, builder_.CreateICmpEQ(before, builder_.getInt32(0)));
  builder_.CreateStore(builder_.CreateSelect(first, builder_.getInt32(static_cast<std::uint32_t>(i.payload)), before), status_);
}

void Emitter::emit_if(const ir::If& statement) {
  llvm::BasicBlock *const then = block("then"), *const after = block("after");
  builder_.CreateCondBr(uniform(statement.condition), then, after);
  builder_.SetInsertPoint(then);
  emit_block(statement.body);
  builder_.CreateBr(after);
  builder_.SetInsertPoint(after);
}

void Emitter::emit_for(const ir::For& loop) {
  invariant(loop.kind != ir::LoopKind::block && loop.kind != ir::LoopKind::thread, "kernel '{}' holds a GPU loop", kernel_.name);
  if (loop.step > 1)
    emit_vector_loop(loop);
  else if (loop.kind == ir::LoopKind::unrolled)
    emit_unrolled(loop);
  else
    emit_scalar_loop(loop);
}

std::pair<llvm::Value*, llvm::Value*> Emitter::range(const ir::For& loop) {
  if (loop.kind != ir::LoopKind::parallel) return {builder_.getInt64(0), size(loop.extent)};
  if (!has_phases_) return {begin_, end_};
  llvm::Value* const extent = size(loop.extent);
  const auto greater = [&](llvm::Value* a, llvm::Value* b) { return builder_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, a, b); };
  llvm::Value* const low = greater(begin_, builder_.getInt64(0));
  llvm::Value* const high = greater(low, builder_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, end_, extent));
  begin_ = builder_.CreateSub(begin_, extent);
  end_ = builder_.CreateSub(end_, extent);
  return {low, high};
}

std::vector<Parts> Emitter::initial(const ir::For& loop) {
  std::vector<Parts> result;
  for (const ir::Carry& carry : loop.carries) result.push_back(parts(carry.init));
  return result;
}

void Emitter::define_results(const ir::For& loop, const std::vector<Parts>& values) {
  for (std::size_t k = 0; k < loop.carries.size(); ++k) {
    if (lanes_)
      define(loop.carries[k].result, values[k]);
    else
      define(loop.carries[k].result, values[k][0]);
  }
}

llvm::Instruction* Emitter::invariant_place(unsigned depth) const {
  for (unsigned d = depth + 1; d <= depth_; ++d)
    if (entries_[d]) return entries_[d];
  return nullptr;
}

std::vector<Parts> Emitter::emit_body(const ir::For& loop, llvm::Value* at, const std::vector<Parts>& inside,
                                      llvm::Instruction* entry) {
  ++depth_;
  entries_.push_back(entry);
  values_[loop.variable] = Lowered{at, loop.step > 1 ? 1 : 0, {}, depth_};
  for (std::size_t k = 0; k < loop.carries.size(); ++k) {
    if (lanes_)
      define(loop.carries[k].inside, inside[k]);
    else
      define(loop.carries[k].inside, inside[k][0]);
  }
  emit_block(loop.body);
  --depth_;
  entries_.pop_back();
  std::vector<Parts> next;
  for (std::size_t k = 0; k < loop.carries.size(); ++k) {
    next.push_back(parts(loop.carries[k].next));
    if (loop.step == 1) continue;
    for (unsigned p = 0; p < part_count(); ++p)
      if (llvm::Value* const active = mask(p)) next[k][p] = builder_.CreateSelect(active, next[k][p], inside[k][p]);
  }
  return next;
}

void Emitter::emit_unrolled(const ir::For& loop) {
  invariant(loop.extent.kind == ir::Size::Kind::number, "kernel '{}': an unrolled loop has no known extent", kernel_.name);
  std::vector<Parts> carried = initial(loop);
  for (std::int64_t k = 0; k < loop.extent.number; ++k)
    carried = emit_body(loop, builder_.getInt64(static_cast<std::uint64_t>(k)), carried, nullptr);
  define_results(loop, carried);
}

void Emitter::emit_scalar_loop(const ir::For& loop) {
  const auto [low, high] = range(loop);
  define_results(loop, counted_loop(loop, low, high, initial(loop), false));
}

namespace {

// One phi per carried part, with its first incoming value.
std::vector<Parts> phis(llvm::IRBuilder<>& builder, const std::vector<Parts>& values, llvm::BasicBlock* from) {
  std::vector<Parts> result = values;
  for (Parts& carried : result)
    for (llvm::Value*& value : carried) {
      llvm::PHINode* const phi = builder.CreatePHI(value->getType(), 2);
      phi->addIncoming(value, from);
      value = phi;
    }
  return result;
}

void add_incoming(const std::vector<Parts>& to, const std::vector<Parts>& values, llvm::BasicBlock* from) {
  for (std::size_t k = 0; k < to.size(); ++k)
    for (std::size_t p = 0; p < to[k].size(); ++p) llvm::cast<llvm::PHINode>(to[k][p])->addIncoming(values[k][p], from);
}

}  // namespace

std::vector<Parts> Emitter::counted_loop(const ir::For& loop, llvm::Value* low, llvm::Value* high, const std::vector<Parts>& init,
                                         bool masked) {
  llvm::BasicBlock *const before = builder_.GetInsertBlock(), *const body = block("loop"), *const after = block("done");
  llvm::Value* const step = builder_.getInt64(static_cast<std::uint64_t>(loop.step));
  llvm::Instruction* const entry = builder_.CreateCondBr(builder_.CreateICmpSLT(low, high), body, after);
  builder_.SetInsertPoint(body);
  llvm::PHINode* const at = builder_.CreatePHI(builder_.getInt64Ty(), 2);
  at->addIncoming(low, before);
  const std::vector<Parts> inside = phis(builder_, init, before);
  if (masked) set_active(builder_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, builder_.CreateSub(high, at), step));
  const std::vector<Parts> next = emit_body(loop, at, inside, entry);
  llvm::Value* const following = builder_.CreateAdd(at, step);
  llvm::BasicBlock* const latch = builder_.GetInsertBlock();
  at->addIncoming(following, latch);
  add_incoming(inside, next, latch);
  builder_.CreateCondBr(builder_.CreateICmpSLT(following, high), body, after);
  builder_.SetInsertPoint(after);
  std::vector<Parts> results = phis(builder_, init, before);
  add_incoming(results, next, latch);
  if (masked) set_active(nullptr);
  return results;
}

// The lanes' numbers are compared in the width that the target's registers hold of them.
void Emitter::set_active(llvm::Value* active) {
  lanes_->active = active;
  lanes_->masks.clear();
  if (!active) return;
  const unsigned width = lanes_->part_lanes;
  const unsigned bits = std::clamp(8 * features_.vector_bytes / width, lanes_->count > 128 ? 16u : 8u, 64u);
  llvm::Type* const scalar = builder_.getIntNTy(bits);
  llvm::Value* const count = instructions_.splat(builder_.CreateTrunc(active, scalar), width);
  for (unsigned p = 0; p < lanes_->parts; ++p) {
    llvm::SmallVector<llvm::Constant*, 64> numbers;
    for (unsigned k = 0; k < width; ++k) numbers.push_back(llvm::ConstantInt::get(scalar, p * width + k));
    lanes_->masks.push_back(builder_.CreateICmpULT(llvm::ConstantVector::get(numbers), count));
  }
}

// Whether the extent is known to be a multiple of the step.
bool Emitter::fills_lanes(const ir::For& loop) const {
  return loop.extent.kind == ir::Size::Kind::number && loop.extent.number % loop.step == 0;
}

void Emitter::emit_vector_loop(const ir::For& loop) {
  const auto [low, high] = range(loop);
  Lanes lanes;
  lanes.count = static_cast<unsigned>(loop.step);
  lanes.part_lanes = std::min(part_lanes_, lanes.count);
  lanes.parts = lanes.count / lanes.part_lanes;
  lanes_ = lanes;
  if (is_long(loop) && parts_are_independent(loop)) {
    define_results(loop, by_parts(loop, low, high, initial(loop)));
    lanes_.reset();
    return;
  }
  if (options_.streaming && emit_streaming_loop(loop, low, high)) {
    lanes_.reset();
    return;
  }
  const std::vector<Parts> init = initial(loop);
  // A mask costs a select for each carried value, and making it as much as a light body whose data is in the cache, as that of rows
  // is, which a kernel goes over several times. So one masked loop for body and tail serves where nothing is carried and the loop is
  // the kernel's outermost.
  const bool masked = features_.avx512 && loop.carries.empty() && loop.kind == ir::LoopKind::parallel;
  if (fills_lanes(loop) || masked) {
    define_results(loop, counted_loop(loop, low, high, init, !fills_lanes(loop)));
    lanes_.reset();
    return;
  }
  // Without masks of its own, a target runs whole steps unmasked and the rest once.
  llvm::Value* const count = builder_.CreateSub(high, low);
  llvm::Value* const whole =
      builder_.CreateAdd(low, builder_.CreateAnd(count, builder_.getInt64(~(std::uint64_t{lanes.count} - 1))));
  const std::vector<Parts> carried = counted_loop(loop, low, whole, init, false);
  define_results(loop,
                 parts_are_independent(loop) ? by_parts(loop, whole, high, carried) : rest_at_once(loop, whole, high, carried));
  lanes_.reset();
}

std::vector<Parts> Emitter::rest_at_once(const ir::For& loop, llvm::Value* low, llvm::Value* high,
                                         const std::vector<Parts>& carried) {
  llvm::BasicBlock *const before = builder_.GetInsertBlock(), *const rest = block("rest"), *const after = block("done");
  builder_.CreateCondBr(builder_.CreateICmpSLT(low, high), rest, after);
  builder_.SetInsertPoint(rest);
  set_active(builder_.CreateSub(high, low));
  const std::vector<Parts> next = emit_body(loop, low, carried, nullptr);
  set_active(nullptr);
  llvm::BasicBlock* const latch = builder_.GetInsertBlock();
  builder_.CreateBr(after);
  builder_.SetInsertPoint(after);
  std::vector<Parts> results = phis(builder_, carried, before);
  add_incoming(results, next, latch);
  return results;
}

// Whether a step may be run part after part: nothing but straight code, and no array whose place depends on the part.
bool Emitter::parts_are_independent(const ir::For& loop) const {
  if (lanes_->parts == 1 || several_faults_) return false;
  std::unordered_set<std::uint32_t> stored;
  return std::all_of(loop.body.begin(), loop.body.end(), [&](const ir::Statement& statement) {
    if (!is_straight(statement)) return false;
    const auto own = [&](std::uint32_t buffer) {
      return buffer >= ir::scratch_base && kernel_.scratch[buffer - ir::scratch_base].lanes > 1;
    };
    if (const auto* store = std::get_if<ir::Store>(&statement.node)) {
      stored.insert(store->access.buffer);
      return !own(store->access.buffer);
    }
    const auto* load = std::get_if<ir::Load>(&statement.node);
    return !load || !(own(load->access.buffer) || (load->access.buffer >= ir::scratch_base && stored.count(load->access.buffer)));
  });
}

// Whether a body is so long that a copy for each part would take LLVM seconds.
bool Emitter::is_long(const ir::For& loop) const {
  constexpr std::size_t most_statements = 1024;
  return lanes_->parts > 1 && loop.body.size() * lanes_->parts > most_statements;
}

// As a loop over parts, so that the body is emitted once however many parts a step has. Carried parts wait in memory.
std::vector<Parts> Emitter::by_parts(const ir::For& loop, llvm::Value* low, llvm::Value* high, const std::vector<Parts>& carried) {
  const Lanes step = *lanes_;
  llvm::Type* const word = builder_.getInt64Ty();
  llvm::Value* const width = builder_.getInt64(step.part_lanes);
  std::vector<llvm::AllocaInst*> slots;
  const auto type_at = [&](std::size_t k) { return type_of(loop.carries[k].inside); };
  const auto place = [&](std::size_t k, llvm::Value* p) {
    return builder_.CreateGEP(memory_type(type_at(k), step.part_lanes), slots[k], p);
  };
  for (std::size_t k = 0; k < carried.size(); ++k)
    slots.push_back(instructions_.slot(llvm::ArrayType::get(memory_type(type_at(k), step.part_lanes), step.parts), "parts"));

  llvm::BasicBlock *const before = builder_.GetInsertBlock(), *const rest = block("rest"), *const body = block("part"),
                          *const read = block("read"), *const after = block("done");
  builder_.CreateCondBr(builder_.CreateICmpSLT(low, high), rest, after);
  builder_.SetInsertPoint(rest);
  for (std::size_t k = 0; k < carried.size(); ++k)
    for (unsigned p = 0; p < step.parts; ++p)
      builder_.CreateStore(to_memory(type_at(k), carried[k][p]), place(k, builder_.getInt64(p)));
  llvm::Instruction* const entry = builder_.CreateBr(body);

  builder_.SetInsertPoint(body);
  llvm::PHINode *const at = builder_.CreatePHI(word, 2), *const p = builder_.CreatePHI(word, 2);
  at->addIncoming(low, rest);
  p->addIncoming(builder_.getInt64(0), rest);
  lanes_->count = step.part_lanes;
  lanes_->parts = 1;
  set_active(builder_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, builder_.CreateSub(high, at), width));
  std::vector<Parts> inside;
  for (std::size_t k = 0; k < carried.size(); ++k)
    inside.push_back({to_register(type_at(k), builder_.CreateLoad(memory_type(type_at(k), step.part_lanes), place(k, p)))});
  const std::vector<Parts> next = emit_body(loop, at, inside, entry);
  for (std::size_t k = 0; k < carried.size(); ++k) builder_.CreateStore(to_memory(type_at(k), next[k][0]), place(k, p));
  llvm::Value* const following = builder_.CreateAdd(at, width);
  at->addIncoming(following, builder_.GetInsertBlock());
  llvm::Value* const next_part = builder_.CreateAnd(builder_.CreateAdd(p, builder_.getInt64(1)), builder_.getInt64(step.parts - 1));
  p->addIncoming(next_part, builder_.GetInsertBlock());
  builder_.CreateCondBr(builder_.CreateICmpSLT(following, high), body, read);
  lanes_ = step;

  builder_.SetInsertPoint(read);
  std::vector<Parts> read_back = carried;
  for (std::size_t k = 0; k < carried.size(); ++k)
    for (unsigned n = 0; n < step.parts; ++n)
      read_back[k][n] =
          to_register(type_at(k), builder_.CreateLoad(memory_type(type_at(k), step.part_lanes), place(k, builder_.getInt64(n))));
  builder_.CreateBr(after);
  builder_.SetInsertPoint(after);
  std::vector<Parts> results = phis(builder_, carried, before);
  add_incoming(results, read_back, read);
  return results;
}

// The stores at the top of the body that may pass the cache: contiguous, in a streaming buffer, at an address known
// before the loop.
std::vector<const ir::Store*> Emitter::streaming_stores(const ir::For& loop) const {
  std::unordered_set<ir::ValueId> local;
  std::vector<const ir::Store*> found;
  for (const ir::Statement& statement : loop.body) {
    if (const auto* compute = std::get_if<ir::Compute>(&statement.node)) local.insert(compute->result);
    if (const auto* load = std::get_if<ir::Load>(&statement.node)) local.insert(load->result);
    const auto* store = std::get_if<ir::Store>(&statement.node);
    if (!store || store->access.buffer >= ir::scratch_base || !kernel_.buffers[store->access.buffer].streaming) continue;
    if (store->predicate != ir::no_value) continue;
    int along = 0;
    bool known = true;
    for (const ir::Term& term : store->access.terms) {
      if (term.index == loop.variable)
        along += term.stride == ir::Size::of(1) ? 1 : 2;
      else
        known = known && !local.count(term.index);
    }
    if (known && along == 1) found.push_back(store);
  }
  return found;
}

// Three blocks: `pick` looks at what is left and how the stores are aligned; `whole` runs unmasked steps whose stores pass
// the cache; `some` runs one masked step, which peels up to alignment where nothing is carried (a carried lane is bound to
// its elements), takes what cannot be aligned, and ends the loop.
bool Emitter::emit_streaming_loop(const ir::For& loop, llvm::Value* low, llvm::Value* high) {
  const std::vector<const ir::Store*> stores = streaming_stores(loop);
  if (stores.empty()) return false;
  const std::vector<Parts> init = initial(loop);
  llvm::Value* const step = builder_.getInt64(static_cast<std::uint64_t>(loop.step));
  llvm::BasicBlock *const before = builder_.GetInsertBlock(), *const pick = block("pick"), *const choose = block("choose"),
                          *const whole = block("whole"), *const some = block("some"), *const after = block("done");
  builder_.CreateBr(pick);
  builder_.SetInsertPoint(pick);
  llvm::PHINode* const at = builder_.CreatePHI(builder_.getInt64Ty(), 3);
  at->addIncoming(low, before);
  const std::vector<Parts> carried = phis(builder_, init, before);
  llvm::Value* const left = builder_.CreateSub(high, at);
  builder_.CreateCondBr(builder_.CreateICmpSGT(left, builder_.getInt64(0)), choose, after);

  builder_.SetInsertPoint(choose);
  values_[loop.variable] = Lowered{at, 1, {}, depth_};
  llvm::Value* aligned = builder_.CreateICmpSGE(left, step);
  llvm::Value* count = builder_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, left, step);
  int widest = 0;
  for (const ir::Store* store : stores) {
    const auto bytes = static_cast<std::uint64_t>(size_of(element_type(store->access)));
    const std::uint64_t unit = std::min<std::uint64_t>(64, bytes * lanes_->count);
    llvm::Value* const place = builder_.CreatePtrToInt(address(store->access, 0).base, builder_.getInt64Ty());
    llvm::Value* const past = builder_.CreateAnd(place, builder_.getInt64(unit - 1));
    llvm::Value* const is_aligned = builder_.CreateICmpEQ(past, builder_.getInt64(0));
    aligned = builder_.CreateAnd(aligned, is_aligned);
    if (static_cast<int>(bytes) <= widest || !loop.carries.empty()) continue;
    widest = static_cast<int>(bytes);
    llvm::Value* const peel = builder_.CreateUDiv(builder_.CreateSub(builder_.getInt64(unit), past), builder_.getInt64(bytes));
    llvm::Value* const all = builder_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, left, step);
    count = builder_.CreateSelect(is_aligned, all, builder_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, all, peel));
  }
  llvm::Instruction* const entry = builder_.CreateCondBr(aligned, whole, some);

  builder_.SetInsertPoint(whole);
  llvm::PHINode* const here = builder_.CreatePHI(builder_.getInt64Ty(), 2);
  here->addIncoming(at, choose);
  const std::vector<Parts> inside = phis(builder_, carried, choose);
  lanes_->nontemporal = true;
  const std::vector<Parts> next = emit_body(loop, here, inside, entry);
  lanes_->nontemporal = false;
  llvm::Value* const following = builder_.CreateAdd(here, step);
  llvm::BasicBlock* const latch = builder_.GetInsertBlock();
  here->addIncoming(following, latch);
  add_incoming(inside, next, latch);
  builder_.CreateCondBr(builder_.CreateICmpSGE(builder_.CreateSub(high, following), step), whole, pick);
  at->addIncoming(following, latch);
  add_incoming(carried, next, latch);

  builder_.SetInsertPoint(some);
  set_active(count);
  const std::vector<Parts> stepped = emit_body(loop, at, carried, nullptr);
  at->addIncoming(builder_.CreateAdd(at, count), builder_.GetInsertBlock());
  add_incoming(carried, stepped, builder_.GetInsertBlock());
  builder_.CreateBr(pick);
  set_active(nullptr);

  builder_.SetInsertPoint(after);
  define_results(loop, carried);
  return true;
}

}  // namespace braze::codegen::cpu
