#include "frontend/engine/state.h"
#include "frontend/tensor_impl.h"

namespace braze {

namespace {

thread_local Trace* active_trace = nullptr;
std::atomic<std::uint64_t> storages_made{0};

std::int64_t bytes_of(const engine::Value& value) {
  std::int64_t count = size_of(value.type().dtype);
  for (const ir::Extent& e : value.type().shape) count *= e.number();
  return count;
}

}  // namespace

Storage::Storage(engine::Value value, bool read_only)
    : value_(std::move(value)), birth_(storages_made.fetch_add(1, std::memory_order_relaxed)), read_only_(read_only) {
  elements_ = 1;
  for (const ir::Extent& e : value_.type().shape) elements_ *= e.number();
  hold(value_);
}

Storage::~Storage() { let_go(value_); }

void Storage::hold(const engine::Value& value) {
  if (value->holders.fetch_add(1, std::memory_order_acq_rel) == 0 && value->pinned.exchange(false, std::memory_order_acq_rel))
    engine::pinned_bytes().fetch_sub(bytes_of(value), std::memory_order_relaxed);
}

// A buffer that from now on only pending nodes own counts as pinned until the last of them is gone.
void Storage::let_go(const engine::Value& value) {
  if (value->holders.fetch_sub(1, std::memory_order_acq_rel) != 1 || !value->evaluated()) return;
  if (value->references.load(std::memory_order_acquire) > 1 && !value->pinned.exchange(true, std::memory_order_acq_rel))
    engine::pinned_bytes().fetch_add(bytes_of(value), std::memory_order_relaxed);
}

const engine::Value& Storage::value() const {
  if (active_trace && active_trace->existed(*this)) [[unlikely]]
    return active_trace->captured(*this).current;
  return value_;
}

void Storage::set(engine::Value value) {
  invariant(value.type().dtype == dtype(), "a write of {} into a storage of {}", name(value.type().dtype), name(dtype()));
  if (active_trace && active_trace->existed(*this)) [[unlikely]] {
    active_trace->captured(*this).current = std::move(value);
    return;
  }
  hold(value);
  std::swap(value_, value);
  let_go(value);
  ++version_;
}

void Storage::require_writable() const {
  require(!read_only_, "this tensor's memory is read-only; clone() it before writing to it");
}

// A failed store keeps its operands: the first is the version before it.
void Storage::recover() {
  const auto failed = [](const engine::Value& v) { return v->state.load(std::memory_order_acquire) == engine::State::failed; };
  engine::Value good = value_;
  while (failed(good) && good->op == ir::Op::store) good = engine::Value(good->in()[0]);
  if (failed(good) || good == value_) return;
  hold(good);
  std::swap(value_, good);
  let_go(good);
}

Trace::Trace() : start_(storages_made.load(std::memory_order_relaxed)), outer_(active_trace) { active_trace = this; }
Trace::~Trace() { active_trace = outer_; }
Trace* Trace::active() { return active_trace; }

Trace::Captured& Trace::captured(const Storage& storage) {
  for (Captured& c : captured_)
    if (c.storage.get() == &storage) return c;
  const engine::Value placeholder = engine::placeholder(storage.value_.type_ref());
  captured_.push_back({StoragePointer::share(const_cast<Storage*>(&storage)), placeholder, placeholder});
  return captured_.back();
}

}  // namespace braze
