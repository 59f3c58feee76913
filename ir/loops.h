// Loop IR: what passes and code generation meet in. A Kernel is a tree of loops over SSA values.
//
//   kernel scale_sum(%b0: f32 read, %b1: f32 write; n, m; %s0: f32) {
//     combine c0(%0: f32, %1: f32) {
//       %2 = add.f32 %0, %1
//       yield %2
//     }
//     %0 = constant.f32 0x0p+0
//     for parallel %i0 in n {
//       for serial %i1 in m step 64 carry %1 = %0 {
//         %2 = load %b0[%i0 * m + %i1 * 1]
//         %3 = mul.f32 %2, %s0
//         %4 = add.f32 %1, %3
//         yield %4
//       } -> %5
//       %6 = fold %5 by c0
//       store %b1[%i0 * 1], %6
//     }
//   }
//
// Laws
//  * Values are SSA, scoped to their block; a loop body sees the values of the blocks around it. Loop variables, the
//    kernel's sizes and its scalars are values too (sizes and variables are i64).
//  * A loop of `step` W > 1 is a vector loop: its variable stands for W consecutive lanes var, var+1, ..., var+W-1, and the
//    lanes at or past `extent` are inactive. Every value computed from the variable has W lanes; the rest are uniform. A
//    vector loop holds no other vector loop; serial and unrolled loops inside it have uniform extents, and all that they
//    carry has W lanes. Scratch allocated inside a vector loop has one array per lane. W is a power of two.
//  * Inactive lanes (and lanes whose predicate is false) load zero, store nothing, raise no fault and leave a carried value as it was.
//  * `carry`: loop-carried values, as in MLIR's scf.for. Each starts at `init`, is `inside` within the body, becomes
//    `next` for the following iteration, and is `result` after the loop. In a vector loop all four have W lanes (a uniform
//    init is splat), and `result` goes to a Fold, which combines its lanes, or to another vector loop of W as an init.
//  * The outermost loops of kind parallel (CPU) are the kernel's phases, of which it has one or more. Iterations of a phase are in no order; the
//    next phase begins when all of them are done, and reads what they stored. The runtime hands the kernel a range [begin, end) of
//    iterations, numbered through all phases, from a phase's first one in multiples of its `step`. Between phases stand values alone,
//    and nothing after the last; what stands outside of them is evaluated for each range. GPU kernels have block and thread loops instead: block loops outermost, thread loops inside with a number of threads each (the innermost is x), no
//    vector loops. A thread loop is as a vector loop with a lane per thread, none inactive, but carries nothing itself;
//    barriers and shuffles stand in thread loops only.
//  * Accesses are in elements of the buffer's dtype: address = base + sum(index * stride) + offset.
//  * A kernel that faults returns the first Fault that it met, and leaves what it writes unspecified.
//  * Scheduled loops have one meaning: the loop interpreter, LLVM and CUDA agree bit for bit.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "ir/index.h"
#include "ir/primitive.h"

namespace braze::ir {

template <class... F>
struct match : F... {
  using F::operator()...;
};
template <class... F>
match(F...) -> match<F...>;

enum class LoopKind : std::uint8_t { serial, parallel, unrolled, block, thread };

// registers: a small array that full unrolling turns into SSA values. stack: at most most_stack_bytes in all per kernel. heap: part of
// the `scratch` argument, per thread. shared: CUDA shared memory.
enum class Space : std::uint8_t { registers, stack, heap, shared };
inline constexpr std::int64_t most_stack_bytes = 4096;

// A number, one of the kernel's sizes, or a uniform i64 value in scope.
struct Size {
  enum class Kind : std::uint8_t { number, value } kind = Kind::number;
  std::int64_t number = 0;
  ValueId value = no_value;
  static Size of(std::int64_t n) { return {Kind::number, n, no_value}; }
  static Size of_value(ValueId v) { return {Kind::value, 0, v}; }
  friend bool operator==(const Size&, const Size&) = default;
};

// One term of an address: index is any i64 value; a loop variable of a vector loop with stride 1 is a contiguous access.
struct Term {
  ValueId index;
  Size stride;
  friend bool operator==(const Term&, const Term&) = default;
};

// `buffer` numbers Kernel::buffers, or, from scratch_base on, Kernel::scratch.
inline constexpr std::uint32_t scratch_base = 1u << 16;
struct Access {
  std::uint32_t buffer = 0;
  std::vector<Term> terms;
  Size offset;
  friend bool operator==(const Access&, const Access&) = default;
};

struct Statement;
using Block = std::vector<Statement>;

struct Compute {  // result = instruction
  ValueId result;
  Instruction instruction;
};
struct Load {  // boolean memory becomes i1; `predicate` (boolean value) or no_value
  ValueId result;
  Access access;
  ValueId predicate = no_value;
};
struct Store {
  Access access;
  ValueId value;
  ValueId predicate = no_value;
};
struct Carry {
  ValueId init, inside, next, result;
};
struct For {
  LoopKind kind = LoopKind::serial;
  ValueId variable;
  Size extent;
  std::int32_t step = 1;  // lanes
  std::vector<Carry> carries;
  Block body;
};
// How two accumulator tuples of k values join. Its body's values 0..k-1 are the earlier tuple, k..2k-1 the later one, then
// one value per instruction; `results` are k of them.
struct Combine {
  std::vector<DType> types;
  std::vector<Instruction> body;
  std::vector<ValueId> results;
};
// Joins the W lanes of carried vectors into uniform values: by the tree W/2, ..., 8 (lane i with lane i + h) as long as more than
// eight are left, and those eight in order. In order, because eight elements or fewer then add up from left to right, as
// whoever checks a small sum by hand expects (and as PyTorch's ten times 0.1, which is not quite 1).
inline constexpr std::uint32_t lanes_in_order = 8;
struct Fold {
  std::vector<ValueId> results, lanes;
  std::uint32_t combine;  // numbers Kernel::combines
};
// Joins `count` >= 1 tuples held in scratch arrays (one array a tuple member) pairwise, (0,1), (2,3), ..., an odd last one
// moving up as it is, until one is left: the results. Overwrites the arrays.
struct TreeFold {
  std::vector<ValueId> results;
  std::vector<std::uint32_t> arrays;  // scratch numbers, from scratch_base on
  Size count;
  std::uint32_t combine;
};
struct Barrier {};  // __syncthreads
// CUDA: result = the value that the lane `lane + delta` of the warp holds (its own past the end).
struct Shuffle {
  ValueId result, value;
  std::int32_t delta;
};
struct If {  // uniform condition
  ValueId condition;
  Block body;
};

struct Statement {
  std::variant<Compute, Load, Store, For, Fold, TreeFold, If, Barrier, Shuffle> node;
};

struct BufferParameter {
  DType type;
  bool writes = false;     // stored to; a buffer that is both read and written is in place, reads use the store's own index
  bool streaming = false;  // a large result, best written past the cache: the streaming variant uses non-temporal stores
};
struct ScratchArray {
  DType type;
  Space space;
  Size count;  // number or size
  // Of the vector (or thread) loop in which the array was allocated: each lane has its own array of `count`, and element i of
  // lane l stands at i * lanes + l. 1: allocated outside, one array that all lanes share.
  std::int32_t lanes = 1;
};

struct Kernel {
  std::string name;  // what it does: "mul_add_tanh_sum"
  std::vector<BufferParameter> buffers;
  std::vector<ValueId> sizes;  // i64 values, in the order of KernelArgs::sizes
  std::vector<std::string> size_names;
  std::vector<std::pair<ValueId, DType>> scalars;  // in the order of KernelArgs::scalars
  std::vector<ScratchArray> scratch;
  std::vector<Combine> combines;
  Block body;
  std::vector<DType> value_types;  // indexed by ValueId; i64 for variables and sizes

  ValueId new_value(DType type) {
    value_types.push_back(type);
    return static_cast<ValueId>(value_types.size() - 1);
  }
};

// Canonical text; parse_kernel(print(k)) == k but for the numbers of values, and equal text means equal kernels: this is what
// object caches are keyed by.
std::string print(const Kernel& kernel);
// Throws ParseError with line, column and a caret, also for a kernel that verify() would refuse.
Kernel parse_kernel(std::string_view text, std::string file = "<text>");

// Checks the laws above. Throws InternalError naming the statement.
void verify(const Kernel& kernel);
// The first law that the kernel breaks, or empty.
std::string broken_law(const Kernel& kernel);

// How many lanes each value has, indexed by ValueId: 1 for a uniform value, else the step of the vector loop around it (or, on a
// GPU, the number of threads).
std::vector<std::int32_t> value_lanes(const Kernel& kernel);

// The CPU kernel ABI. `sizes`, `scalars` (raw bits, low bits first) and `buffers` follow the Kernel's lists; buffers point at the
// slot's first element.
struct KernelArgs {
  void* const* buffers;
  const std::int64_t* sizes;
  const std::uint64_t* scalars;
};
// Returns a Fault. [begin, end) is a range of the phases' iterations; `scratch` is 64-byte aligned, scratch_bytes(kernel, sizes) long.
using KernelFunction = std::int32_t (*)(const KernelArgs*, std::int64_t begin, std::int64_t end, void* scratch);

// Bytes of `scratch` that one thread needs, each heap array padded to 64 bytes and laid out in order (times the lanes of
// the vector loop it stands in).
std::int64_t scratch_bytes(const Kernel& kernel, std::span<const std::int64_t> sizes);
// Where each array of Space::heap, in their order, starts within `scratch`; back() is the total.
std::vector<std::int64_t> scratch_offsets(const Kernel& kernel, std::span<const std::int64_t> sizes);

// The outermost parallel loops of a CPU kernel, in order, whose extents depend on nothing but sizes.
struct Phase {
  std::int64_t first, extent;  // iterations [first, first + extent) of the kernel's
  std::int32_t step;
};
std::vector<Phase> phases(const Kernel& kernel, std::span<const std::int64_t> sizes);

// A load of a row that several vector loops in one iteration of a parallel loop read: what a schedule over rows makes.
struct RowLook {
  const Load* load;
  const Term* row;  // the load's term of that iteration
  bool is_second, is_last;
  // Of a second look: buffers that a later loop writes along the same row, with the same stride.
  std::vector<std::uint32_t> written_later;
};
// The second and the last looks at each such row; they point into the kernel.
std::vector<RowLook> row_looks(const Kernel& kernel);

struct InterpretOptions {
  // Elements of each buffer; not empty: an access outside of one throws InternalError naming the statement.
  std::span<const std::int64_t> buffer_elements;
};
// Executes scheduled loops literally, lane by lane; the oracle of every back end. GPU kernels: runs all blocks and threads, the
// threads of a block in lock step, whatever the range. Thread-safe.
class LoopInterpreter {
 public:
  explicit LoopInterpreter(const Kernel& kernel);  // decodes once; the kernel may die
  ~LoopInterpreter();
  LoopInterpreter(LoopInterpreter&&) noexcept;
  LoopInterpreter& operator=(LoopInterpreter&&) noexcept;
  std::int32_t run(const KernelArgs& args, std::int64_t begin, std::int64_t end, const InterpretOptions& options = {}) const;

  struct Code;  // internal

 private:
  std::unique_ptr<const Code> code_;
};
std::int32_t interpret(const Kernel& kernel, const KernelArgs& args, std::int64_t begin, std::int64_t end,
                       const InterpretOptions& options = {});

// Appends to a kernel under construction. A pure instruction goes to the outermost open scope that sees its operands, so that
// what is invariant in a loop leaves it, and an equal one in the open scopes is reused; `check` stays where it is. Equal loads
// are merged where the buffer is only read.
class KernelBuilder final : public InstructionSink {
 public:
  explicit KernelBuilder(Kernel& kernel);  // an empty kernel
  ~KernelBuilder() override;

  ValueId append(const Instruction& instruction) override;
  ValueId constant(DType type, std::uint64_t bits);
  ValueId index_constant(std::int64_t value) { return constant(DType::i64, static_cast<std::uint64_t>(value)); }
  ValueId load(Access access, ValueId predicate = no_value);
  void store(Access access, ValueId value, ValueId predicate = no_value);

  // Opens a loop and returns its variable; statements go into it until close_for.
  ValueId open_for(LoopKind kind, Size extent, std::int32_t step = 1);
  // Adds a carried value to the innermost open loop; returns `inside`.
  ValueId carry(ValueId init);
  // Sets what the n-th carried value of the innermost open loop becomes.
  void yield(std::size_t n, ValueId next);
  // Closes the innermost loop; returns its carried results, in order.
  std::vector<ValueId> close_for();
  void open_if(ValueId condition);
  void close_if();

  std::vector<ValueId> fold(std::uint32_t combine, std::vector<ValueId> lanes);
  std::vector<ValueId> tree_fold(std::uint32_t combine, std::vector<std::uint32_t> arrays, Size count);
  // Its number, from scratch_base on. Shared by all lanes where no vector or thread loop is open, and in Space::shared.
  std::uint32_t scratch(DType type, Space space, Size count);
  std::uint32_t combine(Combine combine);
  ValueId size(std::string name);  // a new kernel size; a name that is taken gets a number behind it
  ValueId scalar(DType type);
  std::uint32_t buffer(BufferParameter parameter);
  void barrier();
  ValueId shuffle(ValueId value, std::int32_t delta);
  Kernel& kernel() { return kernel_; }
  const Kernel& kernel() const { return kernel_; }
  std::int32_t lanes() const;  // of the vector or thread loops that are open; 1: none
  DType type(ValueId value) const { return kernel_.value_types[value]; }

 private:
  struct Scope;
  ValueId define(DType type, std::size_t depth);
  Scope& innermost_loop();

  Kernel& kernel_;
  std::vector<std::unique_ptr<Scope>> scopes_;  // outermost first; its block becomes the kernel's
  std::vector<std::uint32_t> depth_;            // of the scope that defines each value
};

// Builds a Combine: emit over earlier() and later(), then finish.
class CombineBuilder final : public InstructionSink {
 public:
  explicit CombineBuilder(std::vector<DType> types);
  ValueId earlier(std::size_t i) const { return static_cast<ValueId>(i); }
  ValueId later(std::size_t i) const { return static_cast<ValueId>(combine_.types.size() + i); }
  ValueId append(const Instruction& instruction) override;
  Combine finish(std::vector<ValueId> results);

 private:
  Combine combine_;
};

}  // namespace braze::ir
