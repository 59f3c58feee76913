// What a stretch of recording records: the numbers that it passes as arguments, and a digest of its ops. braze::compile runs an optimizer's
// update for its numbers alone at each call, and knows by the digest whether it is still the update that was traced.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "frontend/engine/engine.h"
#include "frontend/engine/thread_state.h"

namespace braze::engine {

class Tape {
 public:
  // From now on until its end this thread's recording is noted here; nothing recorded counts towards Limits, and eager scopes wait.
  class Scope {
   public:
    explicit Scope(Tape& tape);
    ~Scope();
    Scope(const Scope&) = delete;

   private:
    Tape* outer_;
    bool eager_;
    std::int64_t recorded_;
  };

  std::vector<Value> numbers;  // scalar arguments, in the order of their recording
  std::uint64_t digest = 0;    // of ops, dtypes and which value each reads; of constants also the value

  void note_number(const Value& number);
  void note_constant(const Value& constant);
  void note(const Value& value);
  // Lets all nodes go but the numbers.
  void finish() { noted_.clear(); }

 private:
  void mix(std::uint64_t word);
  std::uint64_t index_of(const Node* node) const;
  std::vector<Value> noted_;  // held, so that none takes another's address
};

// This thread's; none mostly.
extern BRAZE_THREAD_LOCAL Tape* current_tape;

// The same walk for a Program that overwrites these arguments of a function that was traced: a call gives their memory away.
void walk_overwriting(std::span<const Value> roots, const WalkOptions& options, std::span<Node* const> overwritable, Walk& out);

// While a function is traced: what was asked for, the last time that a value was needed which cannot be had. Empty otherwise.
std::string& value_needed_in_trace();

}  // namespace braze::engine
