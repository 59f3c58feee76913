#include "frontend/tracer.h"

#include <algorithm>

#include "braze/autograd.h"
#include "frontend/autograd/names.h"
#include "frontend/autograd/tracking.h"

namespace braze {

Tracer::Tracer(std::span<const Tensor> arguments) : arguments_(arguments), bound_(std::make_shared<Bound>()) {
  for (std::size_t i = 0; i < arguments_.size(); ++i) {
    const TensorImpl& impl = *arguments_[i].impl();
    bound_->signature.push_back(
        {impl.type, impl.storage->value().type_ref(), impl.geometry, alias_of(arguments_, i), impl.conjugate});
  }
}

void Tracer::trace(const CompiledFunction::Function& function) {
  {
    Trace trace;
    const TraceNotes::Scope scope(notes_);
    try {
      const std::vector<Tensor> results = function(arguments_);
      if (notes_.refused()) return run_as_it_is();
      note_results(results, trace);
      note_changes(trace);
      if (!notes_.refused()) bind(trace);
    } catch (...) {
      if (!notes_.refused()) throw;
      return run_as_it_is();
    }
  }
  const NoGradGuard off;
  for (NotedUpdate& update : bound_->updates)
    if (!update.confirm()) notes_.note_refusal("an optimizer's update passes other numbers when it is repeated");
  if (notes_.refused()) run_as_it_is();
}

// Nothing of what was traced is kept, not even the pending nodes.
void Tracer::run_as_it_is() {
  auto plain = std::make_shared<Bound>();
  plain->signature = std::move(bound_->signature);
  plain->derivatives = notes_.derivatives();
  plain->as_it_is = notes_.why();
  plain->for_now = notes_.for_now();
  bound_ = std::move(plain);
}

std::vector<Given> Tracer::captured_among(std::span<const Tensor> arguments) const {
  std::vector<Given> found;
  for (std::size_t i = 0; i < arguments.size(); ++i)
    for (const CapturedSignature& c : bound_->captured)
      if (arguments[i].impl()->storage.get() == c.storage.get()) found.push_back({i, c.storage});
  return found;
}

std::size_t Tracer::add_output(const engine::Value& value) {
  std::vector<engine::Value>& roots = bound_->roots;
  const auto found = std::find(roots.begin(), roots.end(), value);
  if (found != roots.end()) return static_cast<std::size_t>(found - roots.begin());
  roots.push_back(value);
  bound_->output_types.push_back(value.type_ref());
  return roots.size() - 1;
}

Home Tracer::home_of(Storage& storage) const {
  for (std::size_t i = 0; i < arguments_.size(); ++i)
    if (arguments_[i].impl()->storage.get() == &storage) return {Home::Kind::argument, i, {}};
  return {Home::Kind::captured, 0, StoragePointer::share(&storage)};
}

Home Tracer::home_of(const Tensor& tensor, const Trace& trace) {
  const StoragePointer& storage = tensor.impl()->storage;
  if (trace.existed(*storage)) return home_of(*storage);
  const auto found = std::find_if(fresh_.begin(), fresh_.end(), [&](const StoragePointer& s) { return s.get() == storage.get(); });
  const auto number = static_cast<std::size_t>(found - fresh_.begin());
  if (found == fresh_.end()) {
    fresh_.push_back(storage);
    bound_->fresh.push_back({add_output(storage->value()), {}});
  }
  return {Home::Kind::fresh, number, {}};
}

Result Tracer::result_of(const Tensor& tensor, const Trace& trace) {
  const TensorImpl& impl = checked(tensor);
  Home home = home_of(tensor, trace);
  std::optional<std::size_t> argument;
  for (std::size_t i = 0; i < arguments_.size() && !argument; ++i) {
    const Signature& s = bound_->signature[i];
    if (arguments_[i].impl() == &impl && impl.type == s.type && impl.geometry == s.geometry) argument = i;
  }
  return {std::move(home), impl.type, impl.geometry, impl.conjugate, argument};
}

// A result may have a derivative that a backward pass is done with, as a loss has; one that somebody can still ask for is recorded op by op.
void Tracer::note_results(std::span<const Tensor> results, const Trace& trace) {
  for (const Tensor& result : results) {
    const TensorImpl& impl = checked(result);
    const bool differentiable = requires_grad(impl);
    const engine::Value value = impl.storage->value();
    const bool freed = differentiable && !impl.leaf && !impl.base && !trace.existed(*impl.storage) && value.differentiable() &&
                       value->has(engine::Node::freed) && !value->has(engine::Node::observed);
    if (differentiable && !freed) return notes_.note_refusal("a derivative passes through its results");
    bound_->results.push_back(result_of(result, trace));
    if (freed) bound_->fresh[bound_->results.back().home.number].freed = gradient_name(*value.node());
  }
}

void Tracer::note_changes(const Trace& trace) {
  for (const NotedGradient& g : notes_.gradients) {
    const bool same = !g.assigned || (g.now.defined() && g.before.defined() && g.now.impl() == g.before.impl());
    if (g.now.defined() && !same && g.now.requires_grad()) return notes_.note_refusal("a derivative passes through a gradient");
    GradientCommit commit{g.leaf, g.read ? g.before : Tensor(), g.read, !same, {}};
    if (home_of(*g.leaf->storage).kind == Home::Kind::argument)
      return notes_.note_refusal("it reads or changes .grad of an argument");
    if (!same && g.now.defined()) commit.now = result_of(g.now, trace);
    bound_->gradients.push_back(std::move(commit));
  }
  for (const Trace::Captured& c : trace.all())
    if (c.written()) {
      c.storage->require_writable();
      if (c.current.differentiable()) return notes_.note_refusal("it leaves a derivative in a tensor from outside");
      Home home = home_of(*c.storage);
      if (home.kind == Home::Kind::captured) overwritable_.push_back(c.placeholder.node());
      bound_->commits.push_back({std::move(home), add_output(c.current)});
    }
  for (const Trace::Captured& c : trace.all())
    if (home_of(*c.storage).kind == Home::Kind::captured) bound_->captured.push_back({c.storage, c.placeholder.type_ref()});
  for (NotedUpdate& update : notes_.updates)
    for (const std::vector<Tensor>& numbers : update.numbers)
      for (const Tensor& number : numbers)
        for (const Trace::Captured& c : trace.all())
          if (c.storage.get() == number.impl()->storage.get())
            return notes_.note_refusal("it reads or writes an optimizer's count of steps");
  for (TraceNotes::Check& c : notes_.checks)
    bound_->preconditions.push_back({home_of(*c.storage), c.type, c.geometry, std::move(c.look)});
  for (SeenTensor& seen : notes_.take_seen())
    if (home_of(*seen.storage).kind == Home::Kind::captured) bound_->seen.push_back(std::move(seen));
  bound_->guards = std::move(notes_.guards);
  bound_->updates = std::move(notes_.updates);
  bound_->derivatives = notes_.derivatives();
}

void Tracer::bind(const Trace& trace) {
  if (bound_->roots.empty()) return;
  const engine::WalkOptions options{.held_are_outputs = false, .donate = false, .fuse = bound_->fuse};
  engine::Walk& walk = bound_->variants[0].walk;
  engine::walk_now(bound_->roots, options, walk);
  engine::walk_overwriting(bound_->roots, options, overwritable_, bound_->variants[1].walk);
  bound_->scalars = walk.scalars;
  for (std::size_t i = 0; i < walk.nodes.size(); ++i) {
    if (walk.kinds[i] != engine::Walk::Kind::leaf) continue;
    if (std::find(overwritable_.begin(), overwritable_.end(), walk.nodes[i]) != overwritable_.end())
      bound_->overwritten_sources.push_back(bound_->sources.size());
    for (unsigned r = 0; r < walk.nodes[i]->result_count; ++r) bound_->sources.push_back(source_of(walk.nodes[i], r, trace));
  }
  patch(walk);
}

void Tracer::patch(const engine::Walk& walk) {
  std::unordered_map<const engine::Node*, Bound::Patch> known;
  for (std::uint32_t u = 0; u < bound_->updates.size(); ++u)
    for (const std::vector<engine::Value>& scalars : bound_->updates[u].scalars)
      for (std::uint32_t n = 0; n < scalars.size(); ++n) known[scalars[n].node()] = {0, u, n};
  std::uint32_t scalar = 0;
  for (std::size_t i = 0; i < walk.nodes.size(); ++i) {
    if (walk.kinds[i] != engine::Walk::Kind::scalar) continue;
    if (const auto found = known.find(walk.nodes[i]); found != known.end()) {
      found->second.scalar = scalar;
      bound_->patches.push_back(found->second);
    }
    ++scalar;
  }
}

Source Tracer::source_of(engine::Node* node, unsigned result, const Trace& trace) const {
  for (const Trace::Captured& c : trace.all()) {
    if (c.placeholder.node() != node) continue;
    const Home home = home_of(*c.storage);
    if (home.kind == Home::Kind::argument) return {Source::Kind::argument, home.number, {}, {}, c.placeholder};
    return {Source::Kind::captured, 0, home.captured, {}, c.placeholder};
  }
  node->references.fetch_add(1, std::memory_order_relaxed);
  return {Source::Kind::fixed, 0, {}, engine::Value::adopt(node, result), {}};
}

std::vector<Tensor> stand_ins_for(std::span<const Tensor> arguments) {
  std::vector<Tensor> made;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const TensorImpl& impl = *arguments[i].impl();
    const std::size_t alias = alias_of(arguments, i);
    if (alias < i && arguments[alias].impl() == &impl) {
      made.push_back(made[alias]);
      continue;
    }
    const StoragePointer storage =
        alias < i
            ? made[alias].impl()->storage
            : StoragePointer::adopt(new Storage(engine::placeholder(impl.storage->value().type_ref()), impl.storage->read_only()));
    made.push_back(Tensor::adopt(new TensorImpl(storage, impl.type, impl.geometry)));
    made.back().impl()->conjugate = impl.conjugate;
    if (impl.leaf) made.back().requires_grad_();
  }
  return made;
}

}  // namespace braze
