// What a function does, while braze::compile traces it, beside recording ops: it changes .grad of tensors from outside, an optimizer counts
// steps in it. Nothing of that happens while it is traced; it is noted here, and each call repeats it. What no call could repeat is
// refused: then the function runs as it is, recorded anew at each call.
#pragma once

#include <deque>
#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

#include "frontend/engine/tape.h"
#include "frontend/tensor_impl.h"
#include "ir/error.h"

namespace braze {

// Leaves a function that is being traced. Whoever catches it: the refusal is noted.
class TraceRefused : public Error {
 public:
  using Error::Error;
};

// A tensor from outside as the function found it; a call that finds another one is not what was traced.
struct SeenTensor {
  Pointer<TensorImpl> tensor;
  StoragePointer storage;
  engine::TypeRef type;
  GeometryRef geometry;
  bool leaf;
  bool unchanged() const;
};

// .grad of a leaf from outside, as the function found and left it.
struct NotedGradient {
  Pointer<TensorImpl> leaf;
  Tensor before, now;
  bool read = false;      // what the caller had left there
  bool assigned = false;  // `now` takes its place
};

// An optimizer's update of parameters that share settings and numbers (counts of steps and the like, which the host keeps): the same
// numbers go into the Program for all of them. Each call has them computed anew, by an update of stand-ins with one element.
class NotedUpdate {
 public:
  // Runs an update, given the state's numbers; returns them as the update left them.
  using Run = std::function<std::vector<Tensor>(std::span<const Tensor> numbers)>;

  const void* owner = nullptr;  // whose settings are read, with `group`
  std::size_t group = 0;
  Run rehearse;
  std::vector<std::vector<Tensor>> numbers;         // the state's, of each parameter
  std::vector<std::vector<engine::Value>> scalars;  // what each parameter's update passed to the Program
  std::uint64_t digest = 0;                         // of the rehearsal

  // What a call will pass to the Program, and the state's numbers after it. False where the parameters' numbers differ, or the update is
  // not the one that was traced.
  struct Rehearsed {
    std::vector<std::uint64_t> scalars;
    std::vector<Tensor> numbers;
  };
  bool run(Rehearsed& out) const;
  // The first rehearsal, after tracing: whether it gives what was traced.
  bool confirm();
  void commit(const Rehearsed& rehearsed) const;

 private:
  friend class TraceNotes;
  std::vector<float> values_;  // of the numbers, when traced
  std::uint64_t traced_digest_ = 0;
  std::uint64_t rehearsal(std::span<const float> values, Rehearsed& out) const;
};

class TraceNotes {
 public:
  TraceNotes() = default;
  TraceNotes(const TraceNotes&) = delete;
  // While one lives, the function that this thread traces is noted in it.
  class Scope {
   public:
    explicit Scope(TraceNotes& notes);
    ~Scope();
    Scope(const Scope&) = delete;
  };
  static TraceNotes* active();
  // The same where the tensor is from outside of what is traced.
  static TraceNotes* of(const TensorImpl& tensor);

  // ---- refusals ----
  // `for_now`: a later call may well be traced.
  void note_refusal(std::string why, bool for_now = false);
  [[noreturn]] void refuse(const std::string& why, bool for_now = false);
  // Whether the function has to run as it is. A value that is needed while a derivative is recorded is a reason.
  bool refused();
  const std::string& why() const { return why_; }
  bool for_now() const { return for_now_; }

  // ---- what it reads ----
  // Derivatives of tensors from outside may be asked for, or are.
  void expect_derivatives() { derivatives_ = true; }
  bool derivatives() const { return derivatives_; }
  void see(const TensorImpl& tensor);
  // A call is what was traced only while this holds.
  void guard(std::function<bool()> holds) { guards.push_back(std::move(holds)); }
  // Where `given` is memory from outside, not yet written: `check` looks at it at each call, now it does nothing. Else false.
  bool at_each_call(const Tensor& given, std::function<void(const Tensor&)> check);

  // ---- what it changes ----
  NotedGradient& gradient(const TensorImpl& leaf);
  Tensor read_gradient(const TensorImpl& leaf);
  void assign_gradient(const TensorImpl& leaf, Tensor gradient);
  // Runs an update of one parameter by `record`, with copies of the state's `numbers`. `alone`: it is like no other parameter's.
  void update(const void* owner, std::size_t group, std::span<const Tensor> numbers, bool alone, const NotedUpdate::Run& record,
              NotedUpdate::Run rehearse);

  // ---- for the tracer ----
  struct Check {
    StoragePointer storage;
    DType type;
    Geometry geometry;
    std::function<void(const Tensor&)> look;
  };
  std::vector<SeenTensor> take_seen();
  std::deque<NotedGradient> gradients;
  std::vector<NotedUpdate> updates;
  std::vector<std::function<bool()>> guards;
  std::vector<Check> checks;

 private:
  std::unordered_map<const TensorImpl*, SeenTensor> seen_;
  std::unordered_map<const Storage*, int> counted_;
  std::string why_;
  bool is_refused_ = false, for_now_ = false, derivatives_ = false;
};

// A tensor of `like`'s dtype and number of dims, with one element, zero: what an update is rehearsed on.
Tensor stand_in_of(const Tensor& like);

// Refuses to trace what changes a tensor from outside otherwise than by writing elements. `what`: "changes the layout of".
void refuse_in_trace(const TensorImpl& tensor, const char* what);

}  // namespace braze
