// Pending nodes: what recording makes and a Tensor's storage holds. Reference-counted, slab-allocated, never interned, at most
// 128 bytes for two operands. The operation of a node never changes; evaluating it fills in its buffers and lets its
// operands go.
//
// Who may touch what: `references` and `holders` are atomic; `state` is published with release order after the buffers;
// `mark`, `number` and `in` belong to whoever holds the engine's mutex once other threads can see the node.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include "frontend/engine/pool.h"
#include "ir/attributes.h"
#include "ir/graph.h"
#include "ir/op.h"
#include "ir/type.h"
#include "runtime/storage.h"

namespace braze::engine {

// Gives one reference up. Whoever holds the only one need not tell anybody: nobody else can make another.
inline bool was_last(std::atomic<std::uint32_t>& references) {
  return references.load(std::memory_order_acquire) == 1 || references.fetch_sub(1, std::memory_order_acq_rel) == 1;
}

// An immutable T shared by reference count.
template <class T>
class Shared {
 public:
  Shared() = default;
  static Shared make(T value) { return Shared(new Cell{1, std::move(value)}); }
  // One that lives for ever: nobody counts references to it.
  static Shared make_eternal(T value) { return Shared(new Cell{eternal, std::move(value)}); }
  Shared(const Shared& other) : cell_(other.cell_) {
    if (cell_ && !is_eternal()) cell_->references.fetch_add(1, std::memory_order_relaxed);
  }
  Shared(Shared&& other) noexcept : cell_(std::exchange(other.cell_, nullptr)) {}
  Shared& operator=(Shared other) noexcept {
    std::swap(cell_, other.cell_);
    return *this;
  }
  ~Shared() {
    if (cell_ && !is_eternal() && was_last(cell_->references)) delete cell_;
  }
  explicit operator bool() const { return cell_ != nullptr; }
  const T& operator*() const { return cell_->value; }
  const T* operator->() const { return &cell_->value; }
  const T* get() const { return cell_ ? &cell_->value : nullptr; }
  friend bool operator==(const Shared& a, const Shared& b) { return a.cell_ == b.cell_; }

 private:
  struct Cell {
    std::atomic<std::uint32_t> references;
    T value;

    static void* operator new(std::size_t) { return Pool<sizeof(Cell)>::allocate(); }
    static void operator delete(void* block) { Pool<sizeof(Cell)>::release(block); }
  };
  static constexpr std::uint32_t eternal = ~std::uint32_t{0};
  bool is_eternal() const { return cell_->references.load(std::memory_order_relaxed) == eternal; }
  explicit Shared(Cell* cell) : cell_(cell) {}
  Cell* cell_ = nullptr;
};

// One T a result; nearly every op has one or two.
template <class T>
class PerResult {
 public:
  void resize(unsigned results) {
    if (results > few) more_ = std::make_unique<T[]>(results - few);
  }
  T& operator[](std::size_t result) { return result < few ? first_[result] : more_[result - few]; }
  const T& operator[](std::size_t result) const { return result < few ? first_[result] : more_[result - few]; }

 private:
  static constexpr std::size_t few = 2;
  T first_[few];
  std::unique_ptr<T[]> more_;
};

using TypeRef = Shared<ir::Type>;
using AttributesRef = Shared<ir::Attributes>;

class Node;

// One result of a node: a counted reference, eight bytes.
class Value {
 public:
  Value() = default;
  // Takes over one reference.
  static Value adopt(Node* node, unsigned result = 0) { return Value(reinterpret_cast<std::uintptr_t>(node) | result); }
  Value(const Value& other);
  Value(Value&& other) noexcept : bits_(std::exchange(other.bits_, 0)) {}
  Value& operator=(Value other) noexcept {
    std::swap(bits_, other.bits_);
    return *this;
  }
  ~Value();

  explicit operator bool() const { return bits_ != 0; }
  Node* node() const { return reinterpret_cast<Node*>(bits_ & ~std::uintptr_t{ir::max_results - 1}); }
  unsigned result() const { return bits_ & (ir::max_results - 1); }
  Node* operator->() const { return node(); }
  const ir::Type& type() const;
  const TypeRef& type_ref() const;
  bool differentiable() const;
  // Another result of the same node.
  Value with_result(unsigned result) const;
  // Gives the reference up without releasing it.
  std::uintptr_t release() { return std::exchange(bits_, 0); }
  friend bool operator==(const Value& a, const Value& b) { return a.bits_ == b.bits_; }

 private:
  explicit Value(std::uintptr_t bits) : bits_(bits) {}
  std::uintptr_t bits_ = 0;
};

enum class State : std::uint8_t { pending, in_flight, evaluated, failed };

// What an identity stands for in derivatives: a tensor that gradients are gathered for, or a function with a derivative of its own
// (frontend/autograd). Counted; nodes and tensors share it.
class Gradient {
 public:
  virtual ~Gradient() = default;
  void retain() { references_.fetch_add(1, std::memory_order_relaxed); }
  void drop() {
    if (references_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
  }

 private:
  std::atomic<std::uint32_t> references_{1};
};

class Node {
 public:
  std::atomic<std::uint32_t> references{1};
  // Storages whose current value is a result of this node: such results must be left in memory by an evaluation.
  std::atomic<std::uint32_t> holders{0};
  const ir::Op op;
  const std::uint8_t result_count;
  std::atomic<State> state{State::pending};
  std::atomic<bool> pinned{false};  // evaluated, and only pending nodes refer to it: counted in pinned_bytes()
  // The host may write to the memory at any moment (or the memory of what this node renames): whoever reads it runs at once.
  std::atomic<bool> shared{false};
  // Evaluating it may fail: by its own op, or by one that was pending when it was recorded.
  bool may_fault = false;
  const std::uint32_t operand_count;
  const std::uint32_t height;          // longest path to a leaf, in nodes
  std::uint32_t mark = 0, number = 0;  // of the walk that saw it last
  std::uint32_t line = 0;
  // Which public function recorded it (see FunctionScope), the name that its derivative goes by, and flags of the autograd.
  std::uint16_t call = 0;
  std::uint8_t name = 0;
  std::atomic<std::uint8_t> flags{0};
  union {
    const char* file = nullptr;
    Node* next_doomed;  // of a node that waits for its destruction
  };
  PerResult<TypeRef> types;
  AttributesRef attributes;           // none where the op's attributes follow from the type: expand, reshape, iota
  std::uint64_t bits = 0;             // a scalar parameter's or a constant's
  PerResult<runtime::Block> buffers;  // when evaluated: dense row-major

  // Derivatives pass through: grad mode was on and an operand differentiable when it was recorded. Its operands outlast its evaluation.
  static constexpr std::uint8_t differentiable = 1;
  static constexpr std::uint8_t freed = 2;          // a backward pass is done with it: operands go as soon as it is evaluated
  static constexpr std::uint8_t kept = 4;           // a differentiable node reads it: its memory is not counted as pinned
  static constexpr std::uint8_t observed = 8;       // a hook waits for its gradient (frontend/autograd)
  static constexpr std::uint8_t has_gradient = 16;  // `bits` is a Gradient, owned. 32, 64: same_step, swallowed
  bool has(std::uint8_t flag) const { return (flags.load(std::memory_order_relaxed) & flag) != 0; }
  void mark_as(std::uint8_t flag) {
    if ((flags.load(std::memory_order_relaxed) & flag) != flag) flags.fetch_or(flag, std::memory_order_relaxed);
  }
  // Whether a backward pass may still read the operands.
  bool keeps_operands() const { return (flags.load(std::memory_order_relaxed) & (differentiable | freed)) == differentiable; }
  Gradient* gradient() const { return has(has_gradient) ? reinterpret_cast<Gradient*>(bits) : nullptr; }

  std::span<Value> in() { return {reinterpret_cast<Value*>(this + 1), operand_count}; }
  std::span<const Value> in() const { return {reinterpret_cast<const Value*>(this + 1), operand_count}; }
  bool is_scalar_argument() const { return op == ir::Op::parameter && attributes; }
  bool evaluated() const { return state.load(std::memory_order_acquire) == State::evaluated; }
  ir::Location location() const { return {file, line}; }

  static Node* create(ir::Op op, std::span<const Value> in, unsigned results, ir::Location location);
  // Takes the operands over, which are empty afterwards.
  static Node* create_taking(ir::Op op, std::span<Value> in, unsigned results, ir::Location location);
  static void destroy(Node* node);  // iterative: a chain of a million nodes dies on a small stack
  // Lets the operands go; the caller holds the engine's mutex.
  void sever();

 private:
  template <class V>
  static Node* build(ir::Op op, std::span<V> in, unsigned results, ir::Location location);
  // Operands lie behind the node.
  Node(ir::Op op, std::uint32_t operands, std::uint8_t results, std::uint32_t height)
      : op(op), result_count(results), operand_count(operands), height(height) {
    types.resize(results);
    buffers.resize(results);
  }
  ~Node() = default;
  friend class Value;
};

inline Value::Value(const Value& other) : bits_(other.bits_) {
  if (bits_) node()->references.fetch_add(1, std::memory_order_relaxed);
}
inline Value::~Value() {
  if (bits_ && was_last(node()->references)) Node::destroy(node());
}
inline const TypeRef& Value::type_ref() const { return node()->types[result()]; }
inline const ir::Type& Value::type() const { return *type_ref(); }
inline bool Value::differentiable() const { return node()->has(Node::differentiable) && is_float(type().dtype); }
inline Value Value::with_result(unsigned result) const {
  node()->references.fetch_add(1, std::memory_order_relaxed);
  return adopt(node(), result);
}

}  // namespace braze::engine
