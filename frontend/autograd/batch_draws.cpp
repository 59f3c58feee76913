#include "frontend/autograd/batch_draws.h"

namespace braze {

using engine::Value;

namespace {

thread_local BatchDraws* innermost = nullptr;

// What is drawn inside is drawn for the mapping outside.
struct Outside {
  explicit Outside(BatchDraws* outer) : kept(std::exchange(innermost, outer)) {}
  ~Outside() { innermost = kept; }
  BatchDraws* kept;
};

}  // namespace

BatchDraws::BatchDraws(std::int64_t size, std::vector<Value>& stand_ins, std::vector<Replacement>& replacements)
    : size_(size), stand_ins_(stand_ins), replacements_(replacements), outer_(std::exchange(innermost, this)) {}

BatchDraws::~BatchDraws() { innermost = outer_; }

BatchDraws* BatchDraws::active() { return innermost; }

Value BatchDraws::batched(const Value& parameter, const Dims& sizes, ir::Location where) const {
  const Replacement now = replay({&parameter, 1}, stand_ins_, replacements_, size_)[0];
  if (parameter.type().shape.empty() && !now.batched) return now.value;
  Value value = now.value;
  if (now.batched && parameter.type().shape.empty()) {  // a number for each element
    ir::Shape column{size_};
    for (std::size_t i = 1; i < sizes.size(); ++i) column.push_back(1);
    value = engine::record(ir::Op::reshape, {&value, 1}, ir::ToShape{column}, where);
  }
  return expand(value, sizes, where);
}

Value BatchDraws::draw(const Draw& draw, const Dims& sizes, const Value& a, const Value& b, bool each, ir::Location where) {
  Dims whole{size_};
  for (const std::int64_t n : sizes) whole.push_back(n);
  Value all;
  {
    const Outside outside(outer_);
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
  replacements_.push_back({all, true});
  stand_ins_.push_back(stand_in(engine::TypeRef::make(make_type(all.type().dtype, sizes))));
  return stand_ins_.back();
}

}  // namespace braze
