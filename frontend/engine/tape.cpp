#include "frontend/engine/tape.h"

#include <algorithm>

#include "frontend/engine/engine.h"
#include "frontend/engine/thread_state.h"

namespace braze::engine {

BRAZE_THREAD_LOCAL Tape* current_tape = nullptr;

std::string& value_needed_in_trace() {
  thread_local std::string what;
  return what;
}

Tape::Scope::Scope(Tape& noted)
    : outer_(std::exchange(current_tape, &noted)),
      eager_(std::exchange(thread_state.eager, false)),
      recorded_(std::exchange(thread_state.recorded_since_evaluation, 0)) {}

Tape::Scope::~Scope() {
  current_tape = outer_;
  thread_state.eager = eager_;
  thread_state.recorded_since_evaluation = recorded_;
}

void Tape::mix(std::uint64_t word) {
  digest = (digest ^ word) * 0xff51afd7ed558ccdu;
  digest ^= digest >> 32;
}

// Values from before the stretch are told apart by nothing: which they are follows from the code that reads them.
std::uint64_t Tape::index_of(const Node* node) const {
  const auto found = std::find_if(noted_.rbegin(), noted_.rend(), [&](const Value& v) { return v.node() == node; });
  return static_cast<std::uint64_t>(noted_.rend() - found);
}

void Tape::note_number(const Value& number) {
  mix(0x100 + static_cast<std::uint64_t>(number.type().dtype));
  numbers.push_back(number);
  noted_.push_back(number);
}

void Tape::note_constant(const Value& constant) {
  mix(0x200 + static_cast<std::uint64_t>(constant.type().dtype));
  mix(constant->bits);
  noted_.push_back(constant);
}

void Tape::note(const Value& value) {
  mix(0x1000 + static_cast<std::uint64_t>(value->op));
  mix(static_cast<std::uint64_t>(value.type().dtype));
  for (const Value& v : value->in()) mix(index_of(v.node()) * ir::max_results + v.result());
  noted_.push_back(value);
}

}  // namespace braze::engine
