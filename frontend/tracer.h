// Traces a function for braze::compile: calls it once while recording only, and makes of what it did what a call repeats.
#pragma once

#include "braze/compile.h"
#include "frontend/bound.h"

namespace braze {

class Tracer {
 public:
  // The function gets `arguments`: those of a call, or stand-ins for them.
  explicit Tracer(std::span<const Tensor> arguments);
  // Throws what the function throws; where it was refused something, it is to run as it is.
  void trace(const CompiledFunction::Function& function);

  bool as_it_is() const { return !bound_->as_it_is.empty(); }
  // The arguments that live in storages which the function captured as well.
  std::vector<Given> captured_among(std::span<const Tensor> arguments) const;
  std::shared_ptr<Bound> take() { return std::move(bound_); }

 private:
  void note_results(std::span<const Tensor> results, const Trace& trace);
  void note_changes(const Trace& trace);
  void bind(const Trace& trace);
  void patch(const engine::Walk& walk);
  void run_as_it_is();
  std::size_t add_output(const engine::Value& value);
  Home home_of(Storage& storage) const;  // of one that existed before the trace
  Home home_of(const Tensor& tensor, const Trace& trace);
  Result result_of(const Tensor& tensor, const Trace& trace);
  Source source_of(engine::Node* node, unsigned result, const Trace& trace) const;

  std::span<const Tensor> arguments_;
  TraceNotes notes_;
  std::vector<StoragePointer> fresh_;
  std::vector<engine::Node*> overwritable_;  // placeholders of captured storages that are written
  std::shared_ptr<Bound> bound_;
};

// Tensors that look like the arguments and share with each other what those share, in storages of their own.
std::vector<Tensor> stand_ins_for(std::span<const Tensor> arguments);

}  // namespace braze
