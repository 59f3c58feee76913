#include "frontend/autograd/trace_notes.h"

#include <algorithm>
#include <bit>
#include <cstdint>

#include "braze/functions.h"
#include "frontend/autograd/tracking.h"
#include "frontend/engine/thread_state.h"

namespace braze {

namespace {

thread_local TraceNotes* notes_of_thread = nullptr;

// What is evaluated in between is no part of the trace.
class Suspended {
 public:
  Suspended()
      : trace_(std::exchange(engine::thread_state.trace, nullptr)), depth_(std::exchange(engine::thread_state.tracing_depth, 0)) {}
  ~Suspended() {
    engine::thread_state.trace = trace_;
    engine::thread_state.tracing_depth = depth_;
  }
  Suspended(const Suspended&) = delete;

 private:
  Trace* trace_;
  std::int32_t depth_;
};

// A state's number: f32 without dims.
float value_of(const Tensor& number) {
  const engine::Value& value = checked(number).storage->value();
  engine::evaluate({&value, 1});
  return *static_cast<const float*>(engine::buffer(value).data());
}

bool is_number(const Tensor& t) {
  return t.defined() && t.dtype() == DType::f32 && t.dim() == 0 && t.impl()->whole_storage() && !t.impl()->leaf;
}

Tensor number(float value) { return from_data(&value, {}); }

std::vector<Tensor> fresh_numbers(std::span<const float> values) {
  std::vector<Tensor> made;
  for (const float value : values) made.push_back(number(value));
  return made;
}

// The same bits: NaN is like NaN.
bool same(float a, float b) { return std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b); }

}  // namespace

// ---- what it reads ----

bool SeenTensor::unchanged() const {
  const TensorImpl& now = *tensor;
  return now.storage.get() == storage.get() && now.leaf == leaf && (now.type == type || *now.type == *type) &&
         (now.geometry == geometry || (now.geometry && geometry && now.geometry->offset == geometry->offset &&
                                       now.geometry->sizes == geometry->sizes && now.geometry->strides == geometry->strides)) &&
         (!leaf || (now.autograd->hooks.empty() && now.autograd->post_accumulate_hooks.empty()));
}

TraceNotes::Scope::Scope(TraceNotes& notes) {
  invariant(!notes_of_thread, "a function is traced within another");
  notes_of_thread = &notes;
  engine::value_needed_in_trace().clear();
}
TraceNotes::Scope::~Scope() { notes_of_thread = nullptr; }

TraceNotes* TraceNotes::active() { return notes_of_thread; }

TraceNotes* TraceNotes::of(const TensorImpl& tensor) {
  if (!engine::thread_state.trace || !engine::thread_state.trace->existed(*tensor.storage)) [[likely]]
    return nullptr;
  return notes_of_thread;
}

void TraceNotes::note_refusal(std::string why, bool for_now) {
  if (std::exchange(is_refused_, true)) return;
  why_ = std::move(why);
  for_now_ = for_now;
}

void TraceNotes::refuse(const std::string& why, bool for_now) {
  note_refusal(why, for_now);
  throw TraceRefused(why);
}

bool TraceNotes::refused() {
  if (!is_refused_ && derivatives_ && !engine::value_needed_in_trace().empty()) note_refusal(engine::value_needed_in_trace());
  return is_refused_;
}

void TraceNotes::see(const TensorImpl& tensor) {
  if (tensor.leaf && engine::grad_enabled()) derivatives_ = true;
  const auto [found, fresh] = seen_.try_emplace(&tensor);
  if (!fresh) return;
  found->second = {Pointer<TensorImpl>::share(const_cast<TensorImpl*>(&tensor)), tensor.storage, tensor.type, tensor.geometry,
                   tensor.leaf};
}

std::vector<SeenTensor> TraceNotes::take_seen() {
  std::vector<SeenTensor> kept;
  for (auto& [impl, seen] : seen_) kept.push_back(std::move(seen));
  seen_.clear();
  return kept;
}

bool TraceNotes::at_each_call(const Tensor& given, std::function<void(const Tensor&)> check) {
  const TensorImpl& impl = checked(given);
  if (!of(impl) || impl.conjugate || Trace::active()->captured(*impl.storage).written()) return false;
  checks.push_back({impl.storage, impl.dtype(), impl.layout(), std::move(check)});
  return true;
}

void refuse_in_trace(const TensorImpl& tensor, const char* what) {
  if (TraceNotes* notes = TraceNotes::of(tensor)) notes->refuse(fmt::format("it {} a tensor from outside", what));
}

Tensor stand_in_of(const Tensor& like) {
  const Dims sizes(static_cast<std::size_t>(like.dim()), 1);
  const std::byte zero[16] = {};
  return from_bytes(zero, SizesView(std::span<const std::int64_t>(sizes)), like.dtype());
}

// ---- gradients ----

NotedGradient& TraceNotes::gradient(const TensorImpl& leaf) {
  for (NotedGradient& known : gradients)
    if (known.leaf.get() == &leaf) return known;
  see(leaf);
  const Tensor before = leaf.autograd ? leaf.autograd->grad : Tensor();
  gradients.push_back({Pointer<TensorImpl>::share(const_cast<TensorImpl*>(&leaf)), before, before});
  return gradients.back();
}

Tensor TraceNotes::read_gradient(const TensorImpl& leaf) {
  NotedGradient& noted = gradient(leaf);
  noted.read = noted.read || !noted.assigned;
  return noted.now;
}

void TraceNotes::assign_gradient(const TensorImpl& leaf, Tensor now) {
  derivatives_ = true;
  NotedGradient& noted = gradient(leaf);
  noted.assigned = true;
  noted.now = std::move(now);
}

// ---- updates ----

void TraceNotes::update(const void* owner, std::size_t group, std::span<const Tensor> numbers, bool alone,
                        const NotedUpdate::Run& record, NotedUpdate::Run rehearse) {
  derivatives_ = true;
  std::vector<float> values;
  for (const Tensor& n : numbers) {
    if (!is_number(n) || !Trace::active()->existed(*n.impl()->storage))
      refuse("an optimizer's state has a count that is no float32 number");
    if (counted_[n.impl()->storage.get()]++ > 0) refuse("an optimizer takes two steps in one call");
    const Suspended no_trace;
    values.push_back(value_of(n));
  }
  engine::Tape tape;
  {
    const engine::Tape::Scope scope(tape);
    record(fresh_numbers(values));
  }
  tape.finish();
  const auto same_update = [&](const NotedUpdate& known) {
    return known.owner == owner && known.group == group && known.traced_digest_ == tape.digest &&
           std::equal(values.begin(), values.end(), known.values_.begin(), known.values_.end(), same) &&
           std::equal(tape.numbers.begin(), tape.numbers.end(), known.scalars[0].begin(), known.scalars[0].end(),
                      [](const engine::Value& a, const engine::Value& b) { return a->bits == b->bits; });
  };
  auto found = alone ? updates.end() : std::find_if(updates.begin(), updates.end(), same_update);
  if (found == updates.end()) {
    found = updates.emplace(updates.end());
    found->owner = owner;
    found->group = group;
    found->rehearse = std::move(rehearse);
    found->values_ = std::move(values);
    found->traced_digest_ = tape.digest;
  }
  found->numbers.emplace_back(numbers.begin(), numbers.end());
  found->scalars.push_back(std::move(tape.numbers));
}

std::uint64_t NotedUpdate::rehearsal(std::span<const float> values, Rehearsed& out) const {
  engine::Tape tape;
  {
    const engine::Tape::Scope scope(tape);
    out.numbers = rehearse(fresh_numbers(values));
  }
  for (const engine::Value& number : tape.numbers) out.scalars.push_back(number->bits);
  return tape.digest;
}

bool NotedUpdate::run(Rehearsed& out) const {
  std::vector<float> values;
  for (const Tensor& n : numbers[0]) {
    if (!is_number(n)) return false;
    values.push_back(value_of(n));
  }
  for (std::size_t p = 1; p < numbers.size(); ++p)
    for (std::size_t i = 0; i < values.size(); ++i)
      if (!is_number(numbers[p][i]) || !same(value_of(numbers[p][i]), values[i])) return false;
  return rehearsal(values, out) == digest && out.scalars.size() == scalars[0].size() && out.numbers.size() == values.size() &&
         std::all_of(out.numbers.begin(), out.numbers.end(), is_number);
}

bool NotedUpdate::confirm() {
  Rehearsed rehearsed;
  digest = rehearsal(values_, rehearsed);
  for (const std::vector<engine::Value>& traced : scalars)
    if (!std::equal(traced.begin(), traced.end(), rehearsed.scalars.begin(), rehearsed.scalars.end(),
                    [](const engine::Value& number, std::uint64_t bits) { return number->bits == bits; }))
      return false;
  return rehearsed.numbers.size() == values_.size();
}

void NotedUpdate::commit(const Rehearsed& rehearsed) const {
  for (const std::vector<Tensor>& each : numbers)
    for (std::size_t i = 0; i < each.size(); ++i) each[i].impl()->storage->set(rehearsed.numbers[i].impl()->storage->value());
}

}  // namespace braze
