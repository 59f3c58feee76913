#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>

#include "frontend/engine/engine.h"
#include "frontend/engine/number.h"
#include "frontend/engine/state.h"
#include "frontend/engine/tape.h"
#include "frontend/engine/thread_state.h"
#include "ir/error.h"

namespace braze::engine {

namespace {

void (*forget_observer)(const Node*) = nullptr;

std::int64_t environment_number(const char* name, std::int64_t otherwise) {
  const char* text = std::getenv(name);
  if (!text) return otherwise;
  char* end = nullptr;
  const std::int64_t number = std::strtoll(text, &end, 10);
  require<ValueError>(end != text && *end == '\0' && number > 0, "{} must be a positive number, not '{}'", name, text);
  return number;
}

// Ops that only rename elements: an eager scope does not run them by themselves, a view of the result does no work.
bool renames(ir::Op op) {
  switch (ir::info(op).attributes) {
    case ir::AttributeKind::Parameter:
    case ir::AttributeKind::Literal:
    case ir::AttributeKind::Permutation:
    case ir::AttributeKind::Slice:
    case ir::AttributeKind::Axes:
      return true;
    case ir::AttributeKind::ToShape:
      return op != ir::Op::iota;
    case ir::AttributeKind::Layout:
      return op == ir::Op::view;
    default:
      return false;
  }
}

// Evaluates the tallest operand when the graph would grow past what one evaluation should hold.
void keep_within_limits(std::span<const Value> in) {
  const Value* tallest = nullptr;
  for (const Value& v : in)
    if (!v->evaluated() && (!tallest || v->height > (*tallest)->height)) tallest = &v;
  if (!tallest || tracing()) return;
  const bool tall = (*tallest)->height >= limits().height, wide = thread_state.recorded_since_evaluation >= limits().nodes;
  if (!tall && !wide && pinned_bytes().load(std::memory_order_relaxed) <= limits().pinned_bytes) return;
  if (explains(Explain::flush))
    log(fmt::format("flush: {} at {}",
                    tall   ? fmt::format("{} pending ops in a row", (*tallest)->height)
                    : wide ? fmt::format("{} ops recorded", thread_state.recorded_since_evaluation)
                           : "pinned memory",
                    ir::text((*tallest)->location())));
  evaluate({tallest, 1});
}

TypeRef share_type(ir::Type type, std::span<const Value> in) {
  for (const Value& v : in)
    if (v.type() == type) return v.type_ref();
  if (type.shape.empty()) return scalar_type(type.dtype);
  return TypeRef::make(std::move(type));
}

// What the host may change while this is pending is read now.
bool reads_shared_memory(Node* node) {
  for (const Value& v : node->in())
    if (v->shared.load(std::memory_order_relaxed)) return true;
  return false;
}

// A result may be an operand, where the op did nothing to it (where(c, x, x)); then it is memory that the host may change.
void keep_apart(Node& node) {
  for (unsigned r = 0; r < node.result_count; ++r) {
    runtime::Block& block = node.buffers[r];
    if (!block || block.unique()) continue;
    std::int64_t bytes = size_of(node.types[r]->dtype);
    for (const ir::Extent& e : node.types[r]->shape) bytes *= e.number();
    runtime::Block own = runtime::Block::allocate(bytes);
    if (bytes > 0) std::memcpy(own.data(), block.data(), static_cast<std::size_t>(bytes));
    block = std::move(own);
  }
}

bool has_derivative(const Node& node) {
  if (node.op == ir::Op::draw || node.op == ir::Op::iota) return false;
  for (unsigned r = 0; r < node.result_count; ++r)
    if (is_float(node.types[r]->dtype)) return true;
  return false;
}

void mark_differentiable(Node* node) {
  bool any = false;
  for (const Value& v : node->in()) any |= v->has(Node::differentiable);
  if (!any) [[likely]]
    return;
  if (std::none_of(node->in().begin(), node->in().end(), [](const Value& v) { return v.differentiable(); })) return;
  if (!has_derivative(*node)) return;
  node->mark_as(Node::differentiable);
  node->call = thread_state.function_scope.call;
  node->name = thread_state.function_scope.name;
  for (const Value& v : node->in()) v->mark_as(Node::kept);
}

Value finish(Node* node) {
  ++thread_state.recorded_since_evaluation;
  Value value = Value::adopt(node);
  if (current_tape) [[unlikely]]
    current_tape->note(value);
  const bool shared = reads_shared_memory(node);
  if (thread_state.grad_mode) mark_differentiable(node);
  if (!shared && !thread_state.eager) return value;
  if (shared && renames(node->op))
    node->shared.store(true, std::memory_order_relaxed);
  else if (!thread_state.tracing_depth && !renames(node->op)) {
    evaluate({&value, 1});
    if (shared) keep_apart(*node);
  }
  return value;
}

// `in` is taken over where V is Value, shared where it is const; so are the attributes that are kept.
template <unsigned most_results, class V>
Value create(ir::Op op, std::span<V> in, ir::Attributes& attributes, bool keep_attributes, ir::Location location) {
  constexpr std::size_t usual = 4;
  const ir::Type* few[usual];
  std::vector<const ir::Type*> many;
  const ir::Type** types = few;
  if (in.size() > usual) {
    many.resize(in.size());
    types = many.data();
  }
  for (std::size_t i = 0; i < in.size(); ++i) types[i] = &in[i].type();
  ir::Type out[most_results];
  const unsigned results = most_results == 1 ? 1 : ir::info(op).results;
  ir::infer(op, attributes, {types, in.size()}, {out, results});
  keep_within_limits(in);
  Node* node;
  if constexpr (std::is_const_v<V>)
    node = Node::create(op, in, results, location);
  else
    node = Node::create_taking(op, in, results, location);
  for (unsigned r = 0; r < results; ++r) {
    if (is_complex(out[r].dtype)) [[unlikely]]
      invariant(false, "{} of a complex dtype, which the IR has not", ir::name(op));
    node->types[r] = share_type(std::move(out[r]), node->in());
  }
  if (keep_attributes) node->attributes = AttributesRef::make(std::move(attributes));
  return finish(node);
}

template <class V>
Value create(ir::Op op, std::span<V> in, ir::Attributes& attributes, bool keep_attributes, ir::Location location) {
  if (ir::info(op).results == 1) [[likely]]
    return create<1>(op, in, attributes, keep_attributes, location);
  return create<ir::max_results>(op, in, attributes, keep_attributes, location);
}

}  // namespace

BRAZE_THREAD_LOCAL ThreadState thread_state;

std::atomic<std::int64_t>& pinned_bytes() {
  static std::atomic<std::int64_t> bytes{0};
  return bytes;
}

Counters& counters() {
  static Counters instance;
  return instance;
}

Limits& limits() {
  static Limits instance = [] {
    Limits l;
    l.height = static_cast<std::uint32_t>(environment_number("BRAZE_LIMIT_HEIGHT", l.height));
    l.nodes = environment_number("BRAZE_LIMIT_NODES", l.nodes);
    l.pinned_bytes = environment_number("BRAZE_LIMIT_PINNED_BYTES", l.pinned_bytes);
    return l;
  }();
  return instance;
}

namespace {

// Never destroyed: ops may be recorded after static destruction began.
union Undying {
  ir::Attributes attributes;
  constexpr Undying() : attributes() {}
  constexpr ~Undying() {}
};
constinit Undying none;

}  // namespace

Value record(ir::Op op, std::span<const Value> in, ir::Location location) {
  return create(op, in, none.attributes, false, location);
}

Value record_taking(ir::Op op, std::span<Value> in, ir::Location location) {
  return create(op, in, none.attributes, false, location);
}

Value record(ir::Op op, std::span<const Value> in, ir::Attributes attributes, ir::Location location) {
  const bool follows_from_type = std::holds_alternative<ir::ToShape>(attributes);
  return create(op, in, attributes, !follows_from_type, location);
}

Value record_to_shape(ir::Op op, const Value& in, TypeRef type, ir::Location location) {
  const ir::Attributes attributes = ir::ToShape{type->shape};
  const ir::Type* operand = &in.type();
  ir::Type out;
  ir::infer(op, attributes, {&operand, 1}, {&out, 1});
  if (!(out == *type)) [[unlikely]]
    invariant(false, "{} to a type of another dtype", ir::name(op));
  keep_within_limits({&in, 1});
  Node* node = Node::create(op, {&in, 1}, 1, location);
  node->types[0] = std::move(type);
  return finish(node);
}

Value scalar_argument(ir::Literal value) {
  Node* node = Node::create(ir::Op::parameter, {}, 1, {});
  node->types[0] = scalar_type(value.type);
  node->attributes = scalar_attributes(value.type);
  node->bits = value.bits;
  Value made = Value::adopt(node);
  if (current_tape) [[unlikely]]
    current_tape->note_number(made);
  return made;
}

Value number(ir::Literal value, TypeRef type, ir::Location location) {
  Value scalar = scalar_argument(value);
  Node* node = Node::create_taking(ir::Op::expand, {&scalar, 1}, 1, location);
  node->types[0] = std::move(type);
  ++thread_state.recorded_since_evaluation;
  return Value::adopt(node);
}

Value constant(ir::Literal value) {
  Node* node = Node::create(ir::Op::constant, {}, 1, {});
  node->types[0] = scalar_type(value.type);
  node->bits = value.bits;
  Value made = Value::adopt(node);
  if (current_tape) [[unlikely]]
    current_tape->note_constant(made);
  return made;
}

Value placeholder(TypeRef type) {
  Node* node = Node::create(ir::Op::parameter, {}, 1, {});
  node->types[0] = std::move(type);
  return Value::adopt(node);
}

Value leaf(TypeRef type, runtime::Block block) {
  Node* node = Node::create(ir::Op::parameter, {}, 1, {});
  node->types[0] = std::move(type);
  node->buffers[0] = std::move(block);
  node->state.store(State::evaluated, std::memory_order_release);
  return Value::adopt(node);
}

Value owned(const Value& value) {
  if (!value->shared.load(std::memory_order_relaxed)) return value;
  evaluate({&value, 1});
  const runtime::Block& from = buffer(value);
  std::int64_t bytes = size_of(value.type().dtype);
  for (const ir::Extent& e : value.type().shape) bytes *= e.number();
  runtime::Block block = runtime::Block::allocate(bytes);
  if (bytes > 0) std::memcpy(block.data(), from.data(), static_cast<std::size_t>(bytes));
  return leaf(value.type_ref(), std::move(block));
}

const TypeRef& scalar_type(DType type) {
  if (is_complex(type)) [[unlikely]]
    invariant(false, "a scalar of a complex dtype, which the IR has not");
  static const auto* types = [] {
    auto* all = new std::array<TypeRef, dtype_count>;
    for (DType t : all_dtypes) (*all)[static_cast<std::size_t>(t)] = TypeRef::make_eternal(ir::Type{t, {}});
    return all;
  }();
  return (*types)[static_cast<std::size_t>(type)];
}

const AttributesRef& scalar_attributes(DType type) {
  static const auto* attributes = [] {
    auto* all = new std::array<AttributesRef, dtype_count>;
    for (DType t : all_dtypes)
      (*all)[static_cast<std::size_t>(t)] = AttributesRef::make_eternal(ir::Parameter{ir::Parameter::Kind::scalar, 0, t, {}});
    return all;
  }();
  return (*attributes)[static_cast<std::size_t>(type)];
}

Value identity(const Value& value, bool differentiable, Gradient* gradient) {
  Node* node = Node::create(ir::Op::reshape, {&value, 1}, 1, value->location());
  node->types[0] = value.type_ref();
  node->shared.store(value->shared.load(std::memory_order_relaxed), std::memory_order_relaxed);
  ++thread_state.recorded_since_evaluation;
  node->call = thread_state.function_scope.call;
  node->name = thread_state.function_scope.name;
  if (differentiable) node->mark_as(Node::differentiable);
  if (gradient) {
    node->bits = reinterpret_cast<std::uintptr_t>(gradient);
    node->mark_as(Node::has_gradient);
  }
  value->mark_as(Node::kept);
  return Value::adopt(node);
}

ir::Attributes attributes_of(const Node& node) {
  if (node.attributes) return *node.attributes;
  if (node.op == ir::Op::constant) return ir::Literal{node.types[0]->dtype, node.bits};
  if (ir::info(node.op).attributes == ir::AttributeKind::ToShape) return ir::ToShape{node.types[0]->shape};
  return ir::None{};
}

bool grad_enabled() { return thread_state.grad_mode; }
void set_grad_enabled(bool on) { thread_state.grad_mode = on; }

FunctionScope::FunctionScope(std::uint8_t name) : outermost_(thread_state.function_scope.call == 0) {
  if (!outermost_) return;
  if (++thread_state.function_scope.calls == 0) ++thread_state.function_scope.calls;
  thread_state.function_scope.call = thread_state.function_scope.calls;
  thread_state.function_scope.name = name;
}
FunctionScope::~FunctionScope() {
  if (outermost_) thread_state.function_scope.call = thread_state.function_scope.name = 0;
}

void set_observer(void (*forget)(const Node*)) { forget_observer = forget; }
void forget_observed(const Node* node) {
  if (forget_observer) forget_observer(node);
}

bool eager() { return thread_state.eager; }
void set_eager(bool on) { thread_state.eager = on; }

Tracing::Tracing() { ++thread_state.tracing_depth; }
Tracing::~Tracing() { --thread_state.tracing_depth; }
bool tracing() { return thread_state.tracing_depth > 0; }

}  // namespace braze::engine
