#include <algorithm>
#include <cstring>
#include <vector>

#include "frontend/autograd/trace_notes.h"
#include "frontend/autograd/tracking.h"
#include "frontend/engine/state.h"
#include "frontend/engine/thread_state.h"
#include "frontend/tensor_impl.h"

namespace braze {

namespace {

std::atomic<std::uint64_t> traces_begun{0};

std::int64_t bytes_of(const engine::Value& value) {
  std::int64_t count = size_of(value.type().dtype);
  for (const ir::Extent& e : value.type().shape) count *= e.number();
  return count;
}

}  // namespace

Storage::Storage(engine::Value value, bool read_only)
    : value_(held_apart(std::move(value))), birth_(traces_begun.load(std::memory_order_relaxed)), read_only_(read_only) {
  elements_ = 1;
  for (const ir::Extent& e : value_.type().shape) elements_ *= e.number();
  hold(value_);
}

Storage::~Storage() { let_go(value_); }

namespace {

// Nobody else can see the node of such a value, so that counting needs no atomic instruction.
bool known_here_alone(const engine::Value& value) { return value->references.load(std::memory_order_acquire) == 1; }

std::uint32_t change_holders(const engine::Value& value, std::uint32_t by) {
  if (!known_here_alone(value)) return value->holders.fetch_add(by, std::memory_order_acq_rel);
  const std::uint32_t before = value->holders.load(std::memory_order_relaxed);
  value->holders.store(before + by, std::memory_order_relaxed);
  return before;
}

}  // namespace

void Storage::hold(const engine::Value& value) {
  if (change_holders(value, 1) == 0 && value->pinned.load(std::memory_order_relaxed) &&
      value->pinned.exchange(false, std::memory_order_acq_rel))
    engine::pinned_bytes().fetch_sub(bytes_of(value), std::memory_order_relaxed);
}

// A buffer that from now on only pending nodes own counts as pinned until the last of them is gone.
void Storage::let_go(const engine::Value& value) {
  if (change_holders(value, ~std::uint32_t{0}) != 1 || !(value->evaluated() || value->has(engine::overwrites))) return;
  if (value->references.load(std::memory_order_acquire) > 1 && !value->has(engine::Node::kept) &&
      !value->pinned.exchange(true, std::memory_order_acq_rel))
    engine::pinned_bytes().fetch_add(bytes_of(value), std::memory_order_relaxed);
}

const engine::Value& Storage::value() const {
  if (engine::thread_state.trace && engine::thread_state.trace->existed(*this)) [[unlikely]]
    return engine::thread_state.trace->captured(*this).current;
  return value_;
}

std::uint64_t Storage::generation() const {
  constexpr std::uint64_t traced = std::uint64_t{1} << 63;
  if (engine::thread_state.trace && engine::thread_state.trace->existed(*this)) [[unlikely]]
    return traced | engine::thread_state.trace->captured(*this).writes;
  return static_cast<std::uint64_t>(version_);
}

engine::Value Storage::value(DType surface) const {
  const DType type = component_type(surface);
  const engine::Value& now = value();
  if (now.type().dtype == type) return now;
  engine::evaluate({&now, 1});
  const std::int64_t flat[] = {elements(type)};
  engine::Value seen = engine::leaf(engine::TypeRef::make(make_type(type, flat)), engine::buffer(now));
  seen->shared.store(now->shared.load(std::memory_order_relaxed), std::memory_order_relaxed);
  return seen;
}

void Storage::resize(std::int64_t count, DType type) {
  if (is_complex(type)) return resize(2 * count, component_type(type));
  require(!value_->shared.load(std::memory_order_relaxed), "Trying to resize storage that is not resizable");
  require(!(engine::thread_state.trace && engine::thread_state.trace->existed(*this)),
          "a storage from outside cannot be resized while a function is traced");
  require_writable();
  const std::int64_t flat[] = {elements(type)};
  const engine::Value operands[] = {reshape(value(type), flat, {}), engine::constant(to_literal(0, type))};
  engine::Value grown = engine::record(ir::Op::pad, operands, ir::Padding{{0}, {count - flat[0]}, {count}}, {});
  hold(grown);
  std::swap(value_, grown);
  let_go(grown);
  elements_ = count;
}

// The bytes behind the last whole element of the type that was written through stay as they are.
engine::Value Storage::completed(const engine::Value& value) const {
  const engine::Value parts[] = {this->value(), value};
  engine::evaluate(parts);
  runtime::Block all = runtime::Block::allocate(bytes());
  std::memcpy(all.data(), engine::buffer(parts[0]).data(), static_cast<std::size_t>(bytes()));
  if (bytes_of(value) > 0) std::memcpy(all.data(), engine::buffer(value).data(), static_cast<std::size_t>(bytes_of(value)));
  return engine::leaf(parts[0].type_ref(), std::move(all));
}

void Storage::set(engine::Value value) {
  if (bytes_of(value) < bytes()) value = completed(value);
  if (bytes_of(value) != bytes()) [[unlikely]]
    invariant(false, "a write of {} bytes into a storage of {}", bytes_of(value), bytes());
  if (engine::thread_state.trace && engine::thread_state.trace->existed(*this)) [[unlikely]] {
    Trace::Captured& captured = engine::thread_state.trace->captured(*this);
    captured.current = std::move(value);
    ++captured.writes;
    return;
  }
  if (writes_at_once()) [[unlikely]] {
    Geometry whole;
    whole.sizes = {elements(value.type().dtype)};
    whole.strides = {1};
    return write_at_once(whole, value);
  }
  if (value->shared.load(std::memory_order_relaxed)) [[unlikely]]
    value = owned_value(value);
  elements_ = elements(value.type().dtype);
  hold(value);
  std::swap(value_, value);
  if (!value_->evaluated() && value->references.load(std::memory_order_acquire) > 1 &&
      (value->evaluated() || value->has(engine::overwrites))) {
    value_->mark_as(engine::overwrites);
    change_holders(value, ~std::uint32_t{0});
  } else {
    let_go(value);
  }
  ++version_;
}

void Storage::require_writable() const {
  if (read_only_) [[unlikely]]
    fail("this tensor's memory is read-only; clone() it before writing to it");
}

// A write that has not succeeded keeps its operands: the first is the version before it. What is written on a failed version
// fails too, so the last good one is found by bisection.
void Storage::recover() {
  const auto failed = [](const engine::Value& v) { return v->state.load(std::memory_order_acquire) == engine::State::failed; };
  const auto writes = [](ir::Op op) { return op == ir::Op::store || op == ir::Op::put || op == ir::Op::accumulate; };
  // What is written may have failed before the write was asked for.
  const auto wrote_failed = [&](const engine::Value& v) {
    if (!writes(v->op) || v->evaluated()) return false;
    engine::Value written = v->in().back();
    while (written->op == ir::Op::reshape && !written->evaluated() && !failed(written)) written = engine::Value(written->in()[0]);
    return failed(written);
  };
  if (!failed(value_) && !wrote_failed(value_)) return;
  std::vector<engine::Value> versions = {value_};  // the newest first; the last one is good, where any is
  while (versions.back()->may_fault && !versions.back()->evaluated()) {
    if (!writes(versions.back()->op)) break;
    versions.push_back(engine::Value(versions.back()->in()[0]));
  }
  const auto fails = [](const engine::Value& version) {
    try {
      engine::evaluate({&version, 1});
      return false;
    } catch (const Error&) {
      return true;
    }
  };
  const auto found = std::partition_point(versions.begin() + 1, versions.end(), fails);
  if (found == versions.end()) return;
  engine::Value good = *found;
  hold(good);
  std::swap(value_, good);
  let_go(good);
}

void* Storage::share() {
  const engine::Value current = value();  // raises while a function is traced
  engine::evaluate({&current, 1});
  shares_.fetch_add(1, std::memory_order_relaxed);
  if (!value_->shared.load(std::memory_order_relaxed)) {
    constexpr std::uint32_t here = 2;  // value_ and current
    const runtime::Block& block = engine::buffer(value_);
    if (value_->references.load(std::memory_order_acquire) > here || (block && !block.unique())) {
      runtime::Block own = runtime::Block::allocate(bytes_of(value_));
      if (bytes_of(value_) > 0) std::memcpy(own.data(), block.data(), static_cast<std::size_t>(bytes_of(value_)));
      engine::Value moved = in_place_of(value_, engine::leaf(value_.type_ref(), std::move(own)));
      hold(moved);
      std::swap(value_, moved);
      let_go(moved);
    }
    value_->shared.store(true, std::memory_order_relaxed);
  }
  const runtime::Block& block = engine::buffer(value_);
  return block ? block.data() : nullptr;
}

void Storage::unshare() {
  if (shares_.fetch_sub(1, std::memory_order_acq_rel) == 1) value_->shared.store(false, std::memory_order_relaxed);
}

bool Storage::writes_at_once() const {
  return value_->shared.load(std::memory_order_relaxed) &&
         !(engine::thread_state.trace && engine::thread_state.trace->existed(*this));
}

void Storage::write_at_once(const Geometry& g, const engine::Value& value) {
  engine::evaluate({&value, 1});
  ++version_;
  std::int64_t count = g.numel();
  if (count == 0) return;
  const std::int64_t element = size_of(value.type().dtype);
  const auto* from = static_cast<const std::byte*>(engine::buffer(value).data());
  auto* to = static_cast<std::byte*>(engine::buffer(value_).data());
  // Runs of the last axis where its elements are neighbours, else single elements.
  const std::size_t last = g.sizes.size() - 1;
  const bool runs = !g.sizes.empty() && g.strides[last] == 1;
  const std::int64_t run = runs ? g.sizes[last] : 1;
  const std::size_t outer = runs ? last : g.sizes.size();
  Dims index(g.sizes.size(), 0);
  std::int64_t at = g.offset;
  for (count /= run; count-- > 0; from += run * element) {
    std::memmove(to + at * element, from, static_cast<std::size_t>(run * element));
    for (std::size_t axis = outer; axis-- > 0;) {
      at += g.strides[axis];
      if (++index[axis] < g.sizes[axis]) break;
      at -= g.strides[axis] * g.sizes[axis];
      index[axis] = 0;
    }
  }
}

Trace::Trace() : start_(traces_begun.fetch_add(1, std::memory_order_relaxed) + 1), outer_(engine::thread_state.trace) {
  engine::thread_state.trace = this;
}
Trace::~Trace() { engine::thread_state.trace = outer_; }
Trace* Trace::active() { return engine::thread_state.trace; }

Trace::Captured& Trace::captured(const Storage& storage) {
  for (Captured& c : captured_)
    if (c.storage.get() == &storage) return c;
  if (storage.value_.differentiable() && engine::grad_enabled() && TraceNotes::active())
    TraceNotes::active()->refuse("it reads a tensor from outside that a derivative passes through");
  const engine::Value placeholder = engine::placeholder(storage.value_.type_ref());
  captured_.push_back({StoragePointer::share(const_cast<Storage*>(&storage)), placeholder, placeholder, 0});
  return captured_.back();
}

}  // namespace braze
