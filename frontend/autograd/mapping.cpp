#include "frontend/autograd/mapping.h"

#include "frontend/engine/thread_state.h"

namespace braze {

using engine::Value;

namespace {

struct Levels {
  Mapping* innermost = nullptr;
  std::int32_t derivatives = 0;
};
thread_local Levels levels;

void enter(std::int32_t mappings) {
  engine::thread_state.mapping_depth += mappings;
  engine::thread_state.tracing_depth += mappings;
}

}  // namespace

Mapping::Mapping(std::int64_t size, func::Randomness randomness, std::vector<Value> stand_ins,
                 std::vector<Replacement> replacements)
    : size_(size),
      randomness_(randomness),
      stand_ins_(std::move(stand_ins)),
      replacements_(std::move(replacements)),
      arguments_(replacements_.size()),
      outer_(std::exchange(levels.innermost, this)),
      derivatives_outside_(levels.derivatives) {
  enter(1);
}

Mapping::~Mapping() {
  enter(-1);
  levels.innermost = outer_;
}

Mapping* Mapping::innermost() { return levels.innermost; }

bool Mapping::derivatives_inside() const { return levels.derivatives > derivatives_outside_; }

std::vector<Replacement> Mapping::outside(std::span<const Value> values) const {
  return replay(values, stand_ins_, replacements_, size_);
}

Value Mapping::inside(Value whole) {
  const Dims sizes = sizes_of(whole.type());
  stand_ins_.push_back(stand_in(engine::TypeRef::make(make_type(whole.type().dtype, std::span(sizes).subspan(1)))));
  replacements_.push_back({std::move(whole), true});
  return stand_ins_.back();
}

void Mapping::replace(std::span<const Value> stand_ins, std::span<const Replacement> originals) {
  for (Mapping* mapping = levels.innermost; mapping; mapping = mapping->outer_)
    for (std::size_t i = mapping->arguments_; i < mapping->replacements_.size(); ++i) {
      Value& whole = mapping->replacements_[i].value;
      whole = replay({&whole, 1}, stand_ins, originals)[0].value;
    }
}

Mapping::Outside::Outside(const Mapping& mapping)
    : kept_(std::exchange(levels.innermost, mapping.outer_)),
      derivatives_(std::exchange(levels.derivatives, mapping.derivatives_outside_)) {
  enter(-1);
}

Mapping::Outside::~Outside() {
  enter(1);
  levels = {kept_, derivatives_};
}

bool holds_for_all(const Tensor& condition) {
  const Value all = read(checked(condition.all()), {});
  const Mapping* mapping = levels.innermost;
  if (!mapping || engine::known(all)) return static_cast<bool>(wrap(all));
  const Mapping::Outside scope(*mapping);
  return holds_for_all(wrap(mapping->outside({&all, 1})[0].value));
}

DerivativeScope::DerivativeScope() { ++levels.derivatives; }
DerivativeScope::~DerivativeScope() { --levels.derivatives; }

bool transforming() { return levels.innermost || levels.derivatives > 0; }

Value Mapping::batched(const Value& parameter, const Dims& sizes, ir::Location where) const {
  const Replacement now = outside({&parameter, 1})[0];
  if (parameter.type().shape.empty() && !now.batched) return now.value;
  Value value = now.value;
  if (now.batched && parameter.type().shape.empty()) {  // a number for each element
    ir::Shape column{size_};
    for (std::size_t i = 1; i < sizes.size(); ++i) column.push_back(1);
    value = engine::record(ir::Op::reshape, {&value, 1}, ir::ToShape{column}, where);
  }
  return expand(value, sizes, where);
}

void Mapping::require_drawable(const Value& parameter) const {
  require(
      randomness_ != func::Randomness::error,
      "vmap: called random operation while in randomness error mode. Please either use the 'same' or 'different' randomness flags "
      "on vmap or perform the randomness operation out of vmap");
  require(randomness_ == func::Randomness::different || !outside({&parameter, 1})[0].batched,
          "Vmap does not currently support same randomness with a batched tensor input. Please file an issue with functorch");
}

Value Mapping::draw(const Draw& draw, const Dims& sizes, const Value& a, const Value& b, bool each, ir::Location where) {
  require_drawable(a);
  require_drawable(b);
  if (randomness_ == func::Randomness::same) {
    const Outside scope(*this);
    const Value parameters[] = {a, b};
    const std::vector<Replacement> now = outside(parameters);
    return draw(sizes, now[0].value, now[1].value);
  }
  Dims whole{size_};
  for (const std::int64_t n : sizes) whole.push_back(n);
  Value all;
  {
    const Outside scope(*this);
    if (each) {
      std::vector<Value> rows;
      ir::Shape row{1};
      for (const std::int64_t n : sizes) row.push_back(n);
      for (std::int64_t i = 0; i < size_; ++i) {
        const Value one = draw(sizes, a, b);
        rows.push_back(engine::record(ir::Op::reshape, {&one, 1}, ir::ToShape{row}, where));
      }
      all = size_ == 1 ? rows[0] : engine::record(ir::Op::concat, rows, ir::Concat{0, size_}, where);
    } else {
      all = draw(whole, batched(a, whole, where), batched(b, whole, where));
    }
  }
  return inside(std::move(all));
}

}  // namespace braze
