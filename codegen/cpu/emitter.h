// The Emitter lives for one kernel. A vector loop of W lanes becomes W / L parts of L lanes, L being what the target's
// registers hold of the kernel's widest type: a straight run of statements is emitted part by part, which keeps few values
// alive, and a loop inside it is shared by all parts.
#pragma once

#include <llvm/ADT/SmallVector.h>
#include <llvm/IR/IRBuilder.h>

#include <optional>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "codegen/cpu/emit.h"
#include "codegen/cpu/instructions.h"
#include "codegen/cpu/ranges.h"

namespace braze::codegen::cpu {

// What a ValueId stands for at the point of emission.
struct Lowered {
  llvm::Value* scalar = nullptr;             // a uniform value; or lane 0 of an affine one
  std::int64_t lane_stride = 0;              // affine i64: lane k is scalar + k * lane_stride
  llvm::SmallVector<llvm::Value*, 4> parts;  // a vector; then `scalar` is null
  unsigned depth = 0;                        // loops around its definition
  bool is_vector() const { return !parts.empty(); }
  bool is_affine() const { return parts.empty() && lane_stride != 0; }
  bool is_uniform() const { return parts.empty() && lane_stride == 0; }
};

using Parts = llvm::SmallVector<llvm::Value*, 4>;

// The vector loop being emitted.
struct Lanes {
  unsigned count = 1, part_lanes = 1, parts = 1;
  llvm::Value* active = nullptr;  // i64, how many lanes are active; null when all are
  Parts masks;                    // <part_lanes x i1> each; empty when all lanes are active
  bool nontemporal = false;       // every store to a streaming buffer is aligned here
};

// Where the lanes of an access lie, for one part.
struct Address {
  llvm::Value* base = nullptr;             // pointer of lane 0, or what `offsets` count from
  std::int64_t lane_stride = 0;            // elements from lane to lane, where it is known and nothing else is set
  llvm::Value* variable_stride = nullptr;  // i64, added to lane_stride
  llvm::Value* offsets = nullptr;          // <part_lanes x i64> elements, the part's own; replaces both strides
  bool is_uniform() const { return lane_stride == 0 && !variable_stride && !offsets; }
  bool is_constant(std::int64_t stride) const { return lane_stride == stride && !variable_stride && !offsets; }
};

class Emitter {
 public:
  Emitter(llvm::Module& module, const ir::Kernel& kernel, const ir::CpuTarget& target, const EmitOptions& options);
  void run();

 private:
  // emit.cpp: entry, exit and values
  void load_arguments();
  void allocate_scratch();
  void set_rounding();
  void finish();
  void choose_part_lanes();
  llvm::Value* size(const ir::Size& s);
  llvm::Value* uniform(ir::ValueId v);
  llvm::Value* part(ir::ValueId v, unsigned p);
  llvm::Value* part(const Lowered& lowered, DType type, unsigned p);
  Parts parts(ir::ValueId v);
  void define(ir::ValueId v, llvm::Value* scalar) { values_[v] = Lowered{scalar, 0, {}, depth_}; }
  void define(ir::ValueId v, Parts parts) { values_[v] = Lowered{nullptr, 0, std::move(parts), depth_}; }
  void define_part(ir::ValueId v, unsigned p, llvm::Value* value);
  bool varies(ir::ValueId v) const { return value_lanes_[v] > 1; }
  DType type_of(ir::ValueId v) const { return kernel_.value_types[v]; }
  llvm::Value* mask(unsigned p) const { return lanes_ && !lanes_->masks.empty() ? lanes_->masks[p] : nullptr; }
  unsigned part_count() const { return lanes_ ? lanes_->parts : 1; }
  llvm::BasicBlock* block(const char* name);

  // emit_loops.cpp: statements
  void emit_block(const ir::Block& statements);
  void emit_run(std::span<const ir::Statement> run);
  void emit_statement(const ir::Statement& statement, unsigned p);
  bool statement_varies(const ir::Statement& statement) const;
  void emit_compute(const ir::Compute& compute, unsigned p);
  bool emit_affine(const ir::Compute& compute);
  void emit_check(const ir::Compute& compute, unsigned p);
  void emit_if(const ir::If& statement);
  void emit_for(const ir::For& loop);
  void emit_unrolled(const ir::For& loop);
  void emit_scalar_loop(const ir::For& loop);
  void emit_vector_loop(const ir::For& loop);
  // The partial step [low, high) after the whole ones.
  std::vector<Parts> rest_at_once(const ir::For& loop, llvm::Value* low, llvm::Value* high, const std::vector<Parts>& carried);
  // Steps or a partial one, part after part.
  std::vector<Parts> by_parts(const ir::For& loop, llvm::Value* low, llvm::Value* high, const std::vector<Parts>& carried);
  bool is_long(const ir::For& loop) const;
  bool parts_are_independent(const ir::For& loop) const;
  // False, with nothing emitted, when no store of the loop can pass the cache.
  bool emit_streaming_loop(const ir::For& loop, llvm::Value* low, llvm::Value* high);
  std::vector<const ir::Store*> streaming_stores(const ir::For& loop) const;
  // A loop over [low, high) whose body is emitted once; `lanes` as they are within it.
  std::vector<Parts> counted_loop(const ir::For& loop, llvm::Value* low, llvm::Value* high, const std::vector<Parts>& init,
                                  bool masked);
  // The body with the variable at `at` and the carried values `inside`; returns what they become. `entry` is the branch into
  // the loop, if the body stands in one.
  std::vector<Parts> emit_body(const ir::For& loop, llvm::Value* at, const std::vector<Parts>& inside, llvm::Instruction* entry);
  unsigned depth_of(const ir::Size& s) const { return s.kind == ir::Size::Kind::value ? values_[s.value].depth : 0; }
  // Where code over values of that depth may stand: as far out as a loop's entry allows; null for here.
  llvm::Instruction* invariant_place(unsigned depth) const;
  void set_active(llvm::Value* active);
  std::pair<llvm::Value*, llvm::Value*> range(const ir::For& loop);
  std::vector<Parts> initial(const ir::For& loop);
  void define_results(const ir::For& loop, const std::vector<Parts>& values);
  bool fills_lanes(const ir::For& loop) const;

  // emit_access.cpp: loads and stores
  void find_shifted();
  Address address(const ir::Access& access, unsigned p);
  DType element_type(const ir::Access& access) const;
  llvm::Type* memory_type(DType t, unsigned lanes);
  llvm::Value* element(llvm::Value* base, DType t, llvm::Value* index);
  llvm::Value* element(llvm::Value* base, DType t, std::int64_t index) {
    return element(base, t, builder_.getInt64(static_cast<std::uint64_t>(index)));
  }
  llvm::Value* to_register(DType t, llvm::Value* in_memory);
  llvm::Value* to_memory(DType t, llvm::Value* in_register);
  llvm::Value* access_mask(const ir::Access& access, ir::ValueId predicate, unsigned p);
  void emit_load(const ir::Load& load, unsigned p);
  void emit_store(const ir::Store& store, unsigned p);
  llvm::Value* load_uniform(DType t, llvm::Value* pointer, ir::ValueId predicate, bool read_only);
  llvm::Value* load_contiguous(DType t, llvm::Value* pointer, llvm::Value* mask, bool prefix, unsigned p, bool read_only);
  llvm::Value* load_scattered(DType t, const Address& at, llvm::Value* mask, bool prefix, unsigned p);
  llvm::Value* load_strided(DType t, const Address& at, llvm::Value* mask, unsigned p);
  llvm::Value* load_even(DType t, const Address& at, bool masked, unsigned p);
  llvm::Value* load_clamped(DType t, const Address& at, llvm::Value* mask, unsigned p);
  llvm::Value* load_lanes(DType t, const Address& at, llvm::Value* mask, unsigned p);
  // The active lanes of a last step, in a loop over their run-time number.
  llvm::Value* load_first_lanes(DType t, const Address& at, unsigned p);
  void store_first_lanes(DType t, llvm::Value* value, const Address& at, unsigned p);
  llvm::Value* offsets_in_memory(const Address& at);
  llvm::Value* indexed_lane(DType t, const Address& at, llvm::Value* offsets, unsigned p, llvm::Value* lane);
  void store_contiguous(DType t, llvm::Value* value, llvm::Value* pointer, llvm::Value* mask, bool prefix, unsigned p,
                        bool nontemporal);
  void store_scattered(DType t, llvm::Value* value, const Address& at, llvm::Value* mask, bool prefix, unsigned p);
  void store_lanes(DType t, llvm::Value* value, const Address& at, llvm::Value* mask, unsigned p);
  // Emits `whole` for when all lanes are active and `some` for when not; returns their result, if they have one.
  llvm::Value* one_or_other(llvm::Value* condition, llvm::function_ref<llvm::Value*()> one,
                            llvm::function_ref<llvm::Value*()> other);
  llvm::Value* whole_or_some(llvm::function_ref<llvm::Value*()> whole, llvm::function_ref<llvm::Value*()> some);
  llvm::Value* lane_pointer(DType t, const Address& at, unsigned p, unsigned lane);
  llvm::Value* lane_pointers(DType t, const Address& at, unsigned p);
  llvm::Value* reversed(llvm::Value* vector);
  llvm::Value* active_lanes(unsigned p);
  llvm::Value* active_bytes(DType t, unsigned p);
  bool has_masked_access(DType t) const;
  llvm::Instruction* mark(llvm::Instruction* access, bool read_only);
  llvm::AllocaInst* register_element(std::uint32_t array, const ir::Access& access, unsigned p);
  llvm::Value* idle_slot();

  // emit_prefetch.cpp
  void prefetch_rows(const ir::Load& load, llvm::Value* pointer, unsigned p);

  // emit_fold.cpp
  void emit_fold(const ir::Fold& fold);
  void emit_tree_fold(const ir::TreeFold& fold);
  void unrolled_tree_fold(const ir::TreeFold& fold);
  std::vector<llvm::Value*> combine(const ir::Combine& combine, std::span<llvm::Value* const> earlier,
                                    std::span<llvm::Value* const> later);

  // Where a scratch array lives.
  struct Scratch {
    llvm::Value* base = nullptr;                            // stack and heap
    std::vector<std::vector<llvm::AllocaInst*>> registers;  // [element][part]
  };

  const ir::Kernel& kernel_;
  const EmitOptions& options_;
  const Features features_;
  llvm::IRBuilder<> builder_;
  Instructions instructions_;
  llvm::Function* function_ = nullptr;
  std::vector<std::int32_t> value_lanes_;
  const Ranges ranges_;
  std::unordered_set<const ir::Access*> shifted_;  // whose offset comes last in the address
  std::unordered_map<const ir::Load*, ir::RowLook> row_looks_;
  std::vector<Lowered> values_;
  std::vector<llvm::Value*> buffers_;
  std::vector<Scratch> scratch_;
  std::vector<llvm::AllocaInst*> promotable_;
  bool has_phases_ = false;       // more than one
  llvm::Value* begin_ = nullptr;  // of the range, from the next phase's first iteration
  llvm::Value* end_ = nullptr;
  llvm::AllocaInst* status_ = nullptr;
  llvm::AllocaInst* idle_slot_ = nullptr;
  llvm::AllocaInst* saved_mode_ = nullptr;
  std::optional<Lanes> lanes_;
  unsigned depth_ = 0;  // loops around what is being emitted
  // By depth, the branch that enters the loop there, before which invariant code may stand; null where there is none.
  std::vector<llvm::Instruction*> entries_{nullptr};
  unsigned part_lanes_ = 1;      // L, where the loop has that many
  bool several_faults_ = false;  // then statements stay in order across parts, so that the first fault is the interpreter's
  bool streams_ = false;         // a non-temporal store was emitted
};

}  // namespace braze::codegen::cpu
