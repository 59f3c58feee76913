// braze::compile: a function recorded once, its Program run on new arguments.
#include "braze/compile.h"

#include <algorithm>
#include <list>
#include <mutex>

#include "braze/autograd.h"
#include "frontend/tracer.h"

namespace braze {

namespace {

constexpr std::size_t kept = 64;

// A function through which derivatives pass is traced this often without one of the traces having served; then it runs as it is. So many
// of its calls may postpone tracing.
constexpr int futile_traces = 16, postponed_traces = 4;

void explain(const std::string& why) {
  if (engine::explains(engine::Explain::compile)) engine::log("compile: a compiled function runs as it is: " + why);
}

// Why these arguments are not for a trace; empty where they may be.
std::string refusal_of(std::span<const Tensor> arguments) {
  if (autograd::is_anomaly_enabled()) return "anomalies are being looked for";
  if (engine::grad_enabled() && std::any_of(arguments.begin(), arguments.end(), [](const Tensor& t) { return t.requires_grad(); }))
    return "an argument requires grad";
  return {};
}

}  // namespace

// A trace with what its updates pass to this call.
struct Prepared {
  std::shared_ptr<const Bound> bound;
  std::vector<NotedUpdate::Rehearsed> rehearsed;
};

struct CompiledFunction::State {
  Function function;
  std::mutex mutex;
  std::list<std::shared_ptr<const Bound>> recent;  // the last used first; those that run as they are come last
  int futile = 0, postponed = 0;

  // Guards may run Python, so that they are asked without the mutex, and what runs as it is is the last resort.
  bool find(std::span<const Tensor> arguments, Prepared& out) {
    std::vector<std::shared_ptr<const Bound>> known;
    {
      std::lock_guard lock(mutex);
      for (auto it = recent.begin(); it != recent.end(); ++it) {
        const Bound& bound = **it;
        if (!bound.guards.empty() || !bound.updates.empty() || !bound.as_it_is.empty()) {
          known.push_back(*it);
        } else if (bound.matches(arguments)) {
          recent.splice(recent.begin(), recent, it);
          out.bound = recent.front();
          return true;
        }
      }
    }
    const auto found = std::find_if(known.begin(), known.end(), [&](const std::shared_ptr<const Bound>& bound) {
      return bound->matches(arguments) && bound->rehearse(out.rehearsed);
    });
    if (found == known.end()) return false;
    out.bound = *found;
    std::lock_guard lock(mutex);
    futile = 0;
    if (const auto it = std::find(recent.begin(), recent.end(), *found);
        it != recent.begin() && it != recent.end() && (*it)->as_it_is.empty())
      recent.splice(recent.begin(), recent, it);
    return true;
  }

  // Stand-ins tell what the function captures from what it is given. Where it is given what it captures, writes to the one are seen in
  // the other: then it is traced with the arguments themselves, for just those storages.
  std::shared_ptr<Bound> trace(std::span<const Tensor> arguments) const {
    const std::vector<Tensor> stand_ins = stand_ins_for(arguments);
    Tracer apart(stand_ins);
    apart.trace(function);
    std::vector<Given> given = apart.captured_among(arguments);
    if (apart.as_it_is() || given.empty()) return apart.take();
    Tracer together(arguments);
    together.trace(function);
    std::shared_ptr<Bound> bound = together.take();
    bound->given = std::move(given);
    return bound;
  }

  void find_or_trace(std::span<const Tensor> arguments, Prepared& out) {
    for (const Tensor& t : arguments) checked(t);
    if (find(arguments, out)) return;
    const std::shared_ptr<Bound> bound = trace(arguments);
    if (bound->as_it_is.empty() && !bound->rehearse(out.rehearsed)) bound->as_it_is = "an optimizer's step cannot be repeated";
    out.bound = bound;
    std::lock_guard lock(mutex);
    if (bound->for_now && ++postponed < postponed_traces) return;
    if (bound->derivatives && bound->as_it_is.empty() && ++futile > futile_traces)
      bound->as_it_is = "what it depends on changes from call to call";
    if (recent.size() >= kept) recent.pop_back();
    recent.insert(bound->as_it_is.empty() ? recent.begin() : recent.end(), bound);
  }

  // The trace to run; none where the function runs as it is.
  std::shared_ptr<const Bound> prepare(std::span<const Tensor> arguments, Prepared& out) {
    // Inside another trace a compiled function is the function.
    if (Trace::active()) return nullptr;
    std::string why = refusal_of(arguments);
    if (why.empty()) {
      find_or_trace(arguments, out);
      why = out.bound->as_it_is;
    }
    if (why.empty()) return out.bound;
    explain(why);
    return nullptr;
  }
};

CompiledFunction::CompiledFunction(Function function) : state_(std::make_shared<State>()) {
  state_->function = std::move(function);
}

std::vector<Tensor> CompiledFunction::operator()(std::span<const Tensor> arguments) const {
  Prepared prepared;
  const std::shared_ptr<const Bound> bound = state_->prepare(arguments, prepared);
  if (!bound) return state_->function(arguments);
  std::vector<Tensor> results(bound->results.size());
  bound->run(arguments, prepared.rehearsed, results);
  return results;
}

Tensor CompiledFunction::call_one(std::span<const Tensor> arguments) const {
  Prepared prepared;
  const std::shared_ptr<const Bound> bound = state_->prepare(arguments, prepared);
  if (!bound) return state_->function(arguments).at(0);
  require(bound->results.size() == 1, "the compiled function returns {} tensors, not one", bound->results.size());
  Tensor result;
  bound->run(arguments, prepared.rehearsed, {&result, 1});
  return result;
}

}  // namespace braze
