// braze::compile: a function recorded once, its Program run on new arguments.
#include "braze/compile.h"

#include <algorithm>
#include <array>
#include <functional>
#include <list>
#include <mutex>
#include <optional>

#include "frontend/autograd/tracking.h"
#include "frontend/tensor_impl.h"

namespace braze {

namespace {

constexpr std::size_t kept = 64;

// What must match for a trace to serve an argument: dtype, sizes, layout, the storage's shape, and which argument shares its storage.
struct Signature {
  engine::TypeRef type, stored;
  GeometryRef geometry;
  std::size_t same_storage_as;
  bool conjugate;

  bool matches(const TensorImpl& impl, std::size_t alias) const {
    const engine::TypeRef& now = impl.storage->value().type_ref();
    return alias == same_storage_as && conjugate == impl.conjugate && (type == impl.type || *type == *impl.type) &&
           (stored == now || *stored == *now) &&
           (geometry == impl.geometry || (geometry && impl.geometry && geometry->offset == impl.geometry->offset &&
                                          geometry->sizes == impl.geometry->sizes && geometry->strides == impl.geometry->strides));
  }
};

// The first argument that lives in the same storage; itself for most.
std::size_t alias_of(std::span<const Tensor> arguments, std::size_t i) {
  for (std::size_t j = 0; j < i; ++j)
    if (arguments[j].shares_storage(arguments[i])) return j;
  return i;
}

// Where a buffer that the Program reads comes from at each call.
struct Source {
  enum class Kind { argument, captured, fixed } kind;
  std::size_t argument = 0;
  StoragePointer captured;
  engine::Value fixed;
};

// Where a storage lives that a result refers to.
struct Home {
  enum class Kind { output, argument, captured } kind;
  std::size_t number = 0;  // of the output or argument
  StoragePointer captured;
};

struct Result {
  Home home;
  engine::TypeRef type;
  GeometryRef geometry;
  bool conjugate;
  std::optional<std::size_t> argument;  // the result is this argument, the very tensor
};

struct Commit {
  Home home;  // argument or captured
  std::size_t output;
};

// What must match of a storage that the function reads or writes beside its arguments: that it is none of theirs, and its value's shape.
struct CapturedSignature {
  StoragePointer storage;
  engine::TypeRef stored;

  bool matches(std::span<const Tensor> arguments) const {
    const engine::TypeRef& now = storage->value().type_ref();
    return (stored == now || *stored == *now) && std::none_of(arguments.begin(), arguments.end(), [&](const Tensor& argument) {
             return argument.impl()->storage.get() == storage.get();
           });
  }
};

// An argument that lives in a storage that the function reads or writes beside its arguments, too.
struct Given {
  std::size_t argument;
  StoragePointer storage;
};

// One trace: a Program bound to everything but its buffers.
struct Bound {
  std::vector<Signature> signature;
  std::vector<Given> given;
  std::vector<CapturedSignature> captured;
  std::shared_ptr<const engine::Compiled> compiled;
  std::vector<std::int64_t> symbols;
  std::vector<std::uint64_t> scalars;
  std::vector<Source> sources;
  std::vector<engine::TypeRef> output_types;
  std::vector<Result> results;
  std::vector<Commit> commits;
  bool grad_mode = engine::grad_enabled();
  // A derivative passes through the results, or the function changes gradients: it runs as it is, and is recorded at each call.
  bool as_it_is = false;

  bool matches(std::span<const Tensor> arguments) const {
    if (arguments.size() != signature.size() || grad_mode != engine::grad_enabled()) return false;
    for (std::size_t i = 0; i < arguments.size(); ++i)
      if (!signature[i].matches(*arguments[i].impl(), alias_of(arguments, i))) return false;
    for (const Given& g : given)
      if (arguments[g.argument].impl()->storage.get() != g.storage.get()) return false;
    return std::all_of(captured.begin(), captured.end(), [&](const CapturedSignature& c) { return c.matches(arguments); });
  }
};

// Tensors that look like the arguments and share with each other what those share, in storages of their own.
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

class Tracer {
 public:
  // The function gets `arguments`: those of a call, or stand-ins for them.
  Tracer(const CompiledFunction::Function& function, std::span<const Tensor> arguments) : arguments_(arguments) {
    sign();
    Trace trace;
    const std::vector<Tensor> results = function(arguments);
    bound_.as_it_is =
        trace_refused() || std::any_of(results.begin(), results.end(), [](const Tensor& t) { return t.requires_grad(); });
    if (bound_.as_it_is) return;
    for (const Tensor& result : results) add_result(result, trace);
    for (const Trace::Captured& c : trace.all())
      if (c.written()) {
        c.storage->require_writable();
        bound_.commits.push_back({home_of(*c.storage), add_output(c.current)});
      }
    for (const Trace::Captured& c : trace.all())
      if (home_of(*c.storage).kind == Home::Kind::captured) bound_.captured.push_back({c.storage, c.placeholder.type_ref()});
    bind(trace);
  }

  // Of a function that no trace can repeat.
  explicit Tracer(std::span<const Tensor> arguments) : arguments_(arguments) {
    sign();
    bound_.as_it_is = true;
  }
  bool as_it_is() const { return bound_.as_it_is; }

  // The arguments that live in storages which the function captured as well.
  std::vector<Given> captured_among(std::span<const Tensor> arguments) const {
    std::vector<Given> found;
    for (std::size_t i = 0; i < arguments.size(); ++i)
      for (const CapturedSignature& c : bound_.captured)
        if (arguments[i].impl()->storage.get() == c.storage.get()) found.push_back({i, c.storage});
    return found;
  }

  Bound take() { return std::move(bound_); }

 private:
  void sign() {
    for (std::size_t i = 0; i < arguments_.size(); ++i) {
      const TensorImpl& impl = *arguments_[i].impl();
      bound_.signature.push_back(
          {impl.type, impl.storage->value().type_ref(), impl.geometry, alias_of(arguments_, i), impl.conjugate});
    }
  }

  std::size_t add_output(const engine::Value& value) {
    for (std::size_t i = 0; i < roots_.size(); ++i)
      if (roots_[i] == value) return i;
    roots_.push_back(value);
    bound_.output_types.push_back(value.type_ref());
    return roots_.size() - 1;
  }

  // A storage that existed before the trace.
  Home home_of(Storage& storage) const {
    for (std::size_t i = 0; i < arguments_.size(); ++i)
      if (arguments_[i].impl()->storage.get() == &storage) return {Home::Kind::argument, i, {}};
    return {Home::Kind::captured, 0, StoragePointer::share(&storage)};
  }

  void add_result(const Tensor& result, const Trace& trace) {
    const TensorImpl& impl = checked(result);
    const Home home =
        trace.existed(*impl.storage) ? home_of(*impl.storage) : Home{Home::Kind::output, add_output(impl.storage->value()), {}};
    std::optional<std::size_t> argument;
    for (std::size_t i = 0; i < arguments_.size() && !argument; ++i) {
      const Signature& s = bound_.signature[i];
      if (arguments_[i].impl() == &impl && impl.type == s.type && impl.geometry == s.geometry) argument = i;
    }
    bound_.results.push_back({home, impl.type, impl.geometry, impl.conjugate, argument});
  }

  void bind(const Trace& trace) {
    engine::Walk walk;
    const engine::WalkOptions options{.held_are_outputs = false, .donate = false, .fuse = !engine::eager()};
    engine::walk_now(roots_, options, walk);
    if (roots_.empty()) return;
    bound_.compiled = engine::find_or_build(walk, options);
    for (const std::uint32_t source : bound_.compiled->sources) bound_.symbols.push_back(walk.numbers[source]);
    bound_.scalars = walk.scalars;
    for (std::size_t i = 0; i < walk.nodes.size(); ++i) {
      if (walk.kinds[i] != engine::Walk::Kind::leaf) continue;
      for (unsigned r = 0; r < walk.nodes[i]->result_count; ++r) bound_.sources.push_back(source_of(walk.nodes[i], r, trace));
    }
  }

  Source source_of(engine::Node* node, unsigned result, const Trace& trace) const {
    for (const Trace::Captured& c : trace.all()) {
      if (c.placeholder.node() != node) continue;
      const Home home = home_of(*c.storage);
      if (home.kind == Home::Kind::argument) return {Source::Kind::argument, home.number, {}, {}};
      return {Source::Kind::captured, 0, home.captured, {}};
    }
    node->references.fetch_add(1, std::memory_order_relaxed);
    return {Source::Kind::fixed, 0, {}, engine::Value::adopt(node, result)};
  }

  std::span<const Tensor> arguments_;
  std::vector<engine::Value> roots_;
  Bound bound_;
};

const engine::Value& value_of(const Source& source, std::span<const Tensor> arguments) {
  switch (source.kind) {
    case Source::Kind::argument:
      return arguments[source.argument].impl()->storage->value();
    case Source::Kind::captured:
      return source.captured->value();
    case Source::Kind::fixed:
      break;
  }
  return source.fixed;
}

// Evaluates whatever the Program reads and is still pending.
void evaluate_sources(const Bound& bound, std::span<const Tensor> arguments) {
  std::vector<engine::Value> pending;
  for (const Source& source : bound.sources) {
    const engine::Value& value = value_of(source, arguments);
    if (!value->evaluated()) pending.push_back(value);
  }
  if (!pending.empty()) engine::evaluate(pending);
}

StoragePointer storage_of(const Home& home, std::span<const Tensor> arguments, std::span<const StoragePointer> outputs) {
  switch (home.kind) {
    case Home::Kind::output:
      return outputs[home.number];
    case Home::Kind::argument:
      return arguments[home.number].impl()->storage;
    case Home::Kind::captured:
      break;
  }
  return home.captured;
}

constexpr std::size_t usual = 8;

template <class T>
std::span<T> space_for(std::size_t count, std::array<T, usual>& few, std::vector<T>& many) {
  if (count <= usual) return std::span(few).first(count);
  many.resize(count);
  return many;
}

// An output that the program only passed on, as where(c, x, x) does, is an argument's memory; what the host shares is copied.
engine::Value output_value(const engine::TypeRef& type, runtime::Block block, std::span<const runtime::Buffer> inputs,
                           const std::function<bool(std::size_t input)>& is_shared) {
  bool shared = false;
  for (std::size_t i = 0; block && i < inputs.size(); ++i) shared = shared || (inputs[i].data == block.data() && is_shared(i));
  engine::Value value = engine::leaf(type, std::move(block));
  if (!shared) return value;
  value->shared.store(true, std::memory_order_relaxed);
  return owned_value(value);
}

void run(const Bound& bound, std::span<const Tensor> arguments, std::span<Tensor> results) {
  evaluate_sources(bound, arguments);
  std::array<runtime::Buffer, usual> few_inputs, few_outputs;
  std::vector<runtime::Buffer> many_inputs, many_outputs;
  const std::span<runtime::Buffer> inputs = space_for(bound.sources.size(), few_inputs, many_inputs);
  const std::span<runtime::Buffer> outputs = space_for(bound.output_types.size(), few_outputs, many_outputs);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    inputs[i].block = engine::buffer(value_of(bound.sources[i], arguments));
    inputs[i].data = inputs[i].block.data();
  }
  if (bound.compiled)
    engine::throw_failure(bound.compiled->executable->run(inputs, bound.symbols, bound.scalars, outputs),
                          bound.compiled->executable->program());
  std::array<StoragePointer, usual> few_storages;
  std::vector<StoragePointer> many_storages;
  const std::span<StoragePointer> storages = space_for(outputs.size(), few_storages, many_storages);
  const auto is_shared = [&](std::size_t i) {
    return value_of(bound.sources[i], arguments)->shared.load(std::memory_order_relaxed);
  };
  for (std::size_t i = 0; i < outputs.size(); ++i)
    storages[i] = StoragePointer::adopt(
        new Storage(output_value(bound.output_types[i], std::move(outputs[i].block), inputs, is_shared), false));
  for (const Commit& commit : bound.commits) storage_of(commit.home, arguments, storages)->set(storages[commit.output]->value());
  for (std::size_t i = 0; i < results.size(); ++i) {
    const Result& r = bound.results[i];
    if (r.argument) {
      results[i] = arguments[*r.argument];
      continue;
    }
    results[i] = Tensor::adopt(new TensorImpl(storage_of(r.home, arguments, storages), r.type, r.geometry));
    results[i].impl()->conjugate = r.conjugate;
  }
}

// Results that a derivative passes through are recorded op by op.
bool differentiable(std::span<const Tensor> arguments) {
  return engine::grad_enabled() &&
         std::any_of(arguments.begin(), arguments.end(), [](const Tensor& t) { return t.requires_grad(); });
}

}  // namespace

struct CompiledFunction::State {
  Function function;
  std::mutex mutex;
  std::list<std::shared_ptr<const Bound>> recent;  // the last used first

  std::shared_ptr<const Bound> find(std::span<const Tensor> arguments) {
    std::lock_guard lock(mutex);
    for (auto it = recent.begin(); it != recent.end(); ++it) {
      if (!(*it)->matches(arguments)) continue;
      if (it != recent.begin()) recent.splice(recent.begin(), recent, it);
      return recent.front();
    }
    return nullptr;
  }

  // Stand-ins tell what the function captures from what it is given. Where it is given what it captures, writes to the one are seen in
  // the other: then it is traced with the arguments themselves, for just those storages.
  Bound trace(std::span<const Tensor> arguments) const {
    const std::vector<Tensor> stand_ins = stand_ins_for(arguments);
    trace_refused() = false;
    Tracer apart = traced(stand_ins);
    if (apart.as_it_is()) return apart.take();
    std::vector<Given> given = apart.captured_among(arguments);
    if (given.empty()) return apart.take();
    Bound together = Tracer(function, arguments).take();
    together.given = std::move(given);
    return together;
  }

  // A function that was refused something may go on to fail for that: then it is told as it is.
  Tracer traced(std::span<const Tensor> arguments) const {
    try {
      return Tracer(function, arguments);
    } catch (...) {
      if (!trace_refused()) throw;
      return Tracer(arguments);
    }
  }

  std::shared_ptr<const Bound> find_or_trace(std::span<const Tensor> arguments) {
    for (const Tensor& t : arguments) checked(t);
    if (std::shared_ptr<const Bound> found = find(arguments)) return found;
    auto bound = std::make_shared<const Bound>(trace(arguments));
    std::lock_guard lock(mutex);
    recent.push_front(bound);
    if (recent.size() > kept) recent.pop_back();
    return bound;
  }
};

CompiledFunction::CompiledFunction(Function function) : state_(std::make_shared<State>()) {
  state_->function = std::move(function);
}

std::vector<Tensor> CompiledFunction::operator()(std::span<const Tensor> arguments) const {
  // Inside another trace a compiled function is the function.
  if (Trace::active()) return state_->function(arguments);
  if (differentiable(arguments)) return state_->function(arguments);
  const std::shared_ptr<const Bound> bound = state_->find_or_trace(arguments);
  if (bound->as_it_is) return state_->function(arguments);
  std::vector<Tensor> results(bound->results.size());
  run(*bound, arguments, results);
  return results;
}

Tensor CompiledFunction::call_one(std::span<const Tensor> arguments) const {
  if (Trace::active()) return state_->function(arguments).at(0);
  if (differentiable(arguments)) return state_->function(arguments).at(0);
  const std::shared_ptr<const Bound> bound = state_->find_or_trace(arguments);
  if (bound->as_it_is) return state_->function(arguments).at(0);
  require(bound->results.size() == 1, "the compiled function returns {} tensors, not one", bound->results.size());
  Tensor result;
  run(*bound, arguments, {&result, 1});
  return result;
}

}  // namespace braze
