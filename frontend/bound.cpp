#include "frontend/bound.h"

#include <algorithm>
#include <array>

#include "braze/autograd.h"
#include "frontend/autograd/replay.h"
#include "frontend/autograd/tracking.h"
#include "frontend/engine/failures.h"

namespace braze {

namespace {

bool same_type(const engine::TypeRef& a, const engine::TypeRef& b) { return a == b || *a == *b; }

bool same_geometry(const GeometryRef& a, const GeometryRef& b) {
  return a == b || (a && b && a->offset == b->offset && a->sizes == b->sizes && a->strides == b->strides);
}

}  // namespace

// ---- what must hold ----

bool Signature::matches(const TensorImpl& impl, std::size_t alias) const {
  return alias == same_storage_as && conjugate == impl.conjugate && same_type(type, impl.type) &&
         same_type(stored, impl.storage->value().type_ref()) && same_geometry(geometry, impl.geometry);
}

std::size_t alias_of(std::span<const Tensor> arguments, std::size_t i) {
  for (std::size_t j = 0; j < i; ++j)
    if (arguments[j].shares_storage(arguments[i])) return j;
  return i;
}

bool CapturedSignature::matches(std::span<const Tensor> arguments) const {
  const engine::Value& now = storage->value();
  return same_type(stored, now.type_ref()) && !(now.differentiable() && engine::grad_enabled()) &&
         std::none_of(arguments.begin(), arguments.end(),
                      [&](const Tensor& argument) { return argument.impl()->storage.get() == storage.get(); });
}

bool GradientCommit::unchanged() const {
  if (!read) return true;
  const Tensor& now = leaf->autograd ? leaf->autograd->grad : Tensor();
  if (now.defined() != before.defined()) return false;
  if (!now.defined()) return true;
  const TensorImpl &a = *now.impl(), &b = *before.impl();
  return a.storage.get() == b.storage.get() && same_type(a.type, b.type) && same_geometry(a.geometry, b.geometry) &&
         a.conjugate == b.conjugate;
}

bool Bound::matches(std::span<const Tensor> arguments) const {
  if (arguments.size() != signature.size() || grad_mode != engine::grad_enabled() || default_type != get_default_dtype())
    return false;
  for (std::size_t i = 0; i < arguments.size(); ++i)
    if (!signature[i].matches(*arguments[i].impl(), alias_of(arguments, i))) return false;
  for (const Given& g : given)
    if (arguments[g.argument].impl()->storage.get() != g.storage.get()) return false;
  return std::all_of(captured.begin(), captured.end(), [&](const CapturedSignature& c) { return c.matches(arguments); }) &&
         std::all_of(seen.begin(), seen.end(), [](const SeenTensor& s) { return s.unchanged(); }) &&
         std::all_of(gradients.begin(), gradients.end(), [](const GradientCommit& g) { return g.unchanged(); }) &&
         std::all_of(guards.begin(), guards.end(), [](const auto& holds) { return holds(); });
}

bool Bound::rehearse(std::vector<NotedUpdate::Rehearsed>& out) const {
  const NoGradGuard off;
  out.clear();
  return std::all_of(updates.begin(), updates.end(), [&](const NotedUpdate& u) { return u.run(out.emplace_back()); });
}

// ---- running ----

namespace {

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

const StoragePointer& storage_of(const Home& home, std::span<const Tensor> arguments, std::span<const StoragePointer> fresh) {
  switch (home.kind) {
    case Home::Kind::fresh:
      return fresh[home.number];
    case Home::Kind::argument:
      return arguments[home.number].impl()->storage;
    case Home::Kind::captured:
      break;
  }
  return home.captured;
}

// Space for a few on the stack, for many elsewhere.
template <class T>
class Some {
 public:
  explicit Some(std::size_t count) {
    if (count > usual) many_.resize(count);
    all_ = count <= usual ? std::span(few_).first(count) : std::span(many_);
  }
  std::span<T> operator()() { return all_; }

 private:
  static constexpr std::size_t usual = 8;
  std::array<T, usual> few_;
  std::vector<T> many_;
  std::span<T> all_;
};

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

// Of a function that returned its loss: it has a derivative, and a backward pass has been through.
class Freed final : public CustomGradient {
 public:
  Freed(std::string name, const engine::TypeRef& type) : name_(std::move(name)) { outputs.push_back(type); }
  std::vector<engine::Value> pull(std::span<const engine::Value>) override { return {}; }
  std::vector<engine::Value> push(std::span<const engine::Value>) override { return {engine::Value()}; }
  std::string name() const override { return name_; }

 private:
  std::string name_;
};

engine::Value freed_value(const engine::Value& value, const std::string& name) {
  engine::Value made = engine::leaf(value.type_ref(), engine::buffer(value));
  auto* custom = new Freed(name, value.type_ref());
  made->bits = reinterpret_cast<std::uintptr_t>(static_cast<engine::Gradient*>(new CustomOutput(custom, 0)));
  custom->drop();
  made->mark_as(engine::Node::differentiable | engine::Node::freed | engine::Node::has_gradient);
  return made;
}

// Whether nobody but the storage has the memory.
bool may_be_overwritten(const engine::Value& value) {
  return value->references.load(std::memory_order_acquire) == 1 && value->holders.load(std::memory_order_acquire) == 1 &&
         value->result_count == 1 && !value->shared.load(std::memory_order_relaxed) && value->buffers[0] &&
         value->buffers[0].unique() && !value->buffers[0].borrowed();
}

Tensor made_of(const Result& r, std::span<const Tensor> arguments, std::span<const StoragePointer> fresh) {
  const Tensor made = Tensor::adopt(new TensorImpl(storage_of(r.home, arguments, fresh), r.type, r.geometry));
  made.impl()->conjugate = r.conjugate;
  return made;
}

// The Program's numbers, those of updates as they are now.
std::span<const std::uint64_t> scalars_of(const Bound& bound, std::span<const NotedUpdate::Rehearsed> rehearsed,
                                          std::vector<std::uint64_t>& space) {
  if (bound.patches.empty()) return bound.scalars;
  space = bound.scalars;
  for (const Bound::Patch& p : bound.patches) space[p.scalar] = rehearsed[p.update].scalars[p.number];
  return space;
}

}  // namespace

const Bound::Variant& Bound::variant(bool overwrites) const {
  std::lock_guard lock(building);
  Variant& found = variants[overwrites];
  if (found.compiled) return found;
  found.compiled = engine::find_or_build(found.walk, {.fuse = fuse});
  for (const std::uint32_t source : found.compiled->sources) found.symbols.push_back(found.walk.numbers[source]);
  found.walk.clear();
  return found;
}

void Bound::complain(std::span<const Tensor> arguments) const {
  const NoGradGuard off;
  std::vector<engine::Value> stand_ins;
  std::vector<Replacement> now;
  for (const Source& source : sources) {
    if (!source.stand_in) continue;
    stand_ins.push_back(source.stand_in);
    now.push_back({value_of(source, arguments), false});
  }
  const Trail trail(roots, stand_ins);
  for (const engine::Node* node : trail.dependent()) {
    const char* text = engine::complaint(node);
    if (!text) continue;
    const Tensor wrong = wrap(replay({&node->in()[0], 1}, stand_ins, now)[0].value);
    require(!static_cast<bool>(wrong.any()), "{} (recorded at {})", text, ir::text(node->location()));
  }
}

void Bound::run(std::span<const Tensor> arguments, std::span<const NotedUpdate::Rehearsed> rehearsed, std::span<Tensor> out) const {
  for (const Precondition& p : preconditions) p.look(on_storage(storage_of(p.home, arguments, {}), p.type, p.geometry));
  evaluate_sources(*this, arguments);
  const bool overwrites = !overwritten_sources.empty() &&
                          std::all_of(overwritten_sources.begin(), overwritten_sources.end(),
                                      [&](std::size_t i) { return may_be_overwritten(value_of(sources[i], arguments)); });
  Some<runtime::Buffer> input_space(sources.size()), output_space(output_types.size());
  const std::span<runtime::Buffer> inputs = input_space(), outputs = output_space();
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    inputs[i].block = engine::buffer(value_of(sources[i], arguments));
    inputs[i].data = inputs[i].block.data();
  }
  if (!roots.empty()) {
    const Variant& program = variant(overwrites);
    std::vector<std::uint64_t> space;
    const runtime::Failure failure =
        program.compiled->executable->run(inputs, program.symbols, scalars_of(*this, rehearsed, space), outputs);
    if (failure.fault == ir::Fault::index_out_of_range) complain(arguments);
    engine::throw_failure(failure, program.compiled->executable->program());
  }
  const auto is_shared = [&](std::size_t i) { return value_of(sources[i], arguments)->shared.load(std::memory_order_relaxed); };
  Some<engine::Value> value_space(outputs.size());
  const std::span<engine::Value> values = value_space();
  for (std::size_t i = 0; i < outputs.size(); ++i)
    values[i] = output_value(output_types[i], std::move(outputs[i].block), inputs, is_shared);
  Some<StoragePointer> fresh_space(fresh.size());
  const std::span<StoragePointer> storages = fresh_space();
  for (std::size_t i = 0; i < storages.size(); ++i) {
    const engine::Value& value = values[fresh[i].output];
    storages[i] = StoragePointer::adopt(new Storage(value, false));
    if (!fresh[i].freed.empty()) storages[i]->set(freed_value(value, fresh[i].freed));
  }
  for (const Commit& commit : commits) storage_of(commit.home, arguments, storages)->set(values[commit.output]);
  for (std::size_t i = 0; i < updates.size(); ++i) updates[i].commit(rehearsed[i]);
  for (const GradientCommit& g : gradients) {
    if (!g.assigned) continue;
    AutogradMeta& meta = meta_of(*g.leaf);
    meta.roots.clear();
    meta.grad = g.now ? made_of(*g.now, arguments, storages) : Tensor();
  }
  for (std::size_t i = 0; i < out.size(); ++i)
    out[i] = results[i].argument ? arguments[*results[i].argument] : made_of(results[i], arguments, storages);
}

}  // namespace braze
