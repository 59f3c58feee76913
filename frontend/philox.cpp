#include "frontend/philox.h"

#include <bit>
#include <cmath>
#include <limits>
#include <numbers>

#include "ir/graph.h"

namespace braze::philox {

namespace {

using engine::Value;
using ir::Op;

constexpr std::int64_t low_word = 0xffffffff;
constexpr std::int64_t multipliers[] = {0xd2511f53, 0xcd9e8d57}, key_steps[] = {0x9e3779b9, 0xbb67ae85};
constexpr int rounds = 10;

// Elementwise ops on values of one shape.
struct Formula {
  const Dims& sizes;
  ir::Location where;

  Value operator()(Op op, const Value& x) const { return engine::record(op, {&x, 1}, where); }
  Value operator()(Op op, const Value& x, const Value& y) const {
    const Value operands[] = {x, y};
    return engine::record(op, operands, where);
  }
  template <class Number>
  Value constant(DType type, Number number) const {
    return expand(engine::constant(ir::literal(type, number)), sizes, where);
  }
  Value integer(std::int64_t number) const { return constant(DType::i64, number); }
  // A parameter of rank 0 or of these sizes.
  Value parameter(const Value& x, DType type) const { return expand(cast(x, type, where), sizes, where); }
};

// A word times a multiplier: the two words of the product.
struct Product {
  Value high, low;
};

// ---- distributions ----

// What one block gives: uniform numbers and integers.
class Element {
 public:
  Element(const Formula& f, const Block& words, DType type) : f_(f), words_(words), type_(type) {}

  // [0, 1) with 24 bits, or 53; the first number of the block, or the second.
  Value uniform(int which) const { return f_(Op::mul, bits(which), f_.constant(type_, std::ldexp(1.0, -digits()))); }
  // (0, 1]
  Value uniform_above_zero(int which) const {
    const Value next = f_(Op::add, bits(which), f_.constant(type_, 1.0));
    return f_(Op::mul, next, f_.constant(type_, std::ldexp(1.0, -digits())));
  }
  // Box and Muller's cosine.
  Value normal() const {
    const Value log = f_(Op::log, uniform_above_zero(0));
    const Value radius = f_(Op::sqrt, f_(Op::mul, log, f_.constant(type_, -2.0)));
    const Value angle = f_(Op::mul, uniform(1), f_.constant(type_, 2 * std::numbers::pi));
    return f_(Op::mul, radius, f_(Op::cos, angle));
  }
  // All 64 bits of the first two words.
  Value wide() const { return f_(Op::bitwise_or, f_(Op::shift_left, words_[0], f_.integer(32)), words_[1]); }
  // [0, 2^63)
  Value positive() const { return f_(Op::bitwise_and, wide(), f_.integer(std::numeric_limits<std::int64_t>::max())); }

 private:
  int digits() const { return type_ == DType::f64 ? 53 : 24; }
  // An integer of as many digits, as a float: exact.
  Value bits(int which) const {
    if (type_ != DType::f64)
      return cast(f_(Op::shift_right, words_[static_cast<std::size_t>(which)], f_.integer(8)), type_, f_.where);
    const std::size_t first = 2 * static_cast<std::size_t>(which);
    const Value high = f_(Op::shift_left, words_[first], f_.integer(21));
    return cast(f_(Op::bitwise_or, high, f_(Op::shift_right, words_[first + 1], f_.integer(11))), type_, f_.where);
  }

  const Formula& f_;
  const Block& words_;
  DType type_;
};

std::int64_t number_of(const Value& parameter) {
  invariant(parameter->is_scalar_argument(), "the bounds of integer draws are numbers");
  return static_cast<std::int64_t>(parameter->bits);
}

// The upper 64 bits of a product of 64 random bits, high word first, and a number below 2^63.
Value product_above(const Formula& f, const Value& high, const Value& low, std::int64_t number) {
  const Value mask = f.integer(low_word), word = f.integer(32);
  const Value above = f.integer(number >> 32), below = f.integer(number & low_word);
  const auto upper = [&](const Value& x) { return f(Op::bitwise_and, f(Op::shift_right, x, word), mask); };
  const auto lower = [&](const Value& x) { return f(Op::bitwise_and, x, mask); };
  const Value first = f(Op::mul, high, below), second = f(Op::mul, low, above);
  const Value middle = f(Op::add, f(Op::add, lower(first), lower(second)), upper(f(Op::mul, low, below)));
  return f(Op::add, f(Op::add, f(Op::mul, high, above), upper(middle)), f(Op::add, upper(first), upper(second)));
}

// from + [0, range), by multiplying: each integer is as likely as another to one part in 2^21 at least, of ranges past 32 bits in 2^64 / range.
Value integers(const Formula& f, const Block& words, const Value& from, std::int64_t range) {
  constexpr std::int64_t small = std::int64_t{1} << 32;
  const Value start = f.parameter(from, DType::i64);
  if (range > small) return f(Op::add, product_above(f, words[0], words[1], range), start);
  const Value scaled = f(Op::mul, Element(f, words, DType::f64).uniform(0), f.constant(DType::f64, static_cast<double>(range)));
  return f(Op::add, cast(f(Op::floor, scaled), DType::i64, f.where), start);
}

}  // namespace

Block block(const Block& counter, const std::array<Value, 2>& key, const Dims& sizes, ir::Location where) {
  const Formula f{sizes, where};
  const Value mask = f.integer(low_word), word = f.integer(32);
  const Value factors[] = {f.integer(multipliers[0]), f.integer(multipliers[1])};
  const auto product = [&](const Value& x, int which) -> Product {
    const Value both = f(Op::mul, x, factors[which]);
    return {f(Op::bitwise_and, f(Op::shift_right, both, word), mask), f(Op::bitwise_and, both, mask)};
  };
  // The key's steps, in its own shape.
  const Dims key_sizes = sizes_of(key[0].type());
  const Formula of_key{key_sizes, where};
  const Value key_mask = of_key.integer(low_word);
  const Value steps[] = {of_key.integer(key_steps[0]), of_key.integer(key_steps[1])};
  std::array<Value, 2> round_key = key;
  Block c = counter;
  for (int round = 0; round < rounds; ++round) {
    if (round > 0)
      for (int i = 0; i < 2; ++i) round_key[i] = of_key(Op::bitwise_and, of_key(Op::add, round_key[i], steps[i]), key_mask);
    const Product first = product(c[0], 0), second = product(c[2], 1);
    const auto mixed = [&](const Value& high, const Value& old, const Value& k) {
      return f(Op::bitwise_xor, f(Op::bitwise_xor, high, old), expand(k, sizes, where));
    };
    c = {mixed(second.high, c[1], round_key[0]), second.low, mixed(first.high, c[3], round_key[1]), first.low};
  }
  return c;
}

namespace {

// The two words of a number of 64 bits.
std::array<Value, 2> halves(const Value& x, const Formula& f) {
  const Value mask = f.integer(low_word);
  return {f(Op::bitwise_and, x, mask), f(Op::bitwise_and, f(Op::shift_right, x, f.integer(32)), mask)};
}

Value real(ir::Draw::Kind kind, const Formula& f, const Element& element, const Value& a, const Value& b, DType type) {
  using Kind = ir::Draw::Kind;
  const auto one = [&] { return f.constant(type, 1.0); };
  switch (kind) {
    case Kind::uniform:
      return f(Op::add, f(Op::mul, element.uniform(0), f(Op::sub, b, a)), a);
    case Kind::normal:
    case Kind::normal_serial:
      return f(Op::add, f(Op::mul, element.normal(), b), a);
    case Kind::log_normal:
      return f(Op::exp, f(Op::add, f(Op::mul, element.normal(), b), a));
    case Kind::exponential:
      return f(Op::div, f(Op::neg, f(Op::log1p, f(Op::neg, element.uniform(0)))), a);
    case Kind::cauchy: {
      const Value centred = f(Op::sub, element.uniform(0), f.constant(type, 0.5));
      return f(Op::add, a, f(Op::mul, b, f(Op::tan, f(Op::mul, centred, f.constant(type, std::numbers::pi)))));
    }
    case Kind::geometric: {  // trials: at least one
      const Value trials = f(Op::div, f(Op::log, element.uniform_above_zero(0)), f(Op::log1p, f(Op::neg, a)));
      return f(Op::maximum, f(Op::ceil, trials), one());
    }
    default:
      return f(Op::lt, element.uniform(0), a);  // bernoulli
  }
}

// How many integers random_() chooses from; 0 for all 63 bits.
std::int64_t range_of(DType type) {
  switch (type) {
    case DType::boolean:
      return 2;
    case DType::i64:
      return 0;
    case DType::f16:
      return (1 << 11) + 1;
    case DType::bf16:
      return (1 << 8) + 1;
    case DType::f32:
      return (1 << 24) + 1;
    case DType::f64:
      return (std::int64_t{1} << 53) + 1;
    default:
      return std::int64_t{1} << (size_of(type) * 8 - is_signed(type));
  }
}

Value integral(const ir::Draw& what, const Formula& f, const Block& words, const Value& a, const Value& b) {
  using Kind = ir::Draw::Kind;
  using Limits = std::numeric_limits<std::int64_t>;
  const Element element(f, words, DType::f64);
  if (what.kind == Kind::permutation) {
    const Value bits = element.wide();
    return engine::record(Op::sort, {&bits, 1}, ir::Sort{0, false}, f.where).with_result(1);
  }
  if (what.kind == Kind::random) {
    const std::int64_t range = range_of(what.type);
    return range == 0 ? element.positive() : integers(f, words, scalar_value(0, DType::i64), range);
  }
  const bool to_end = what.kind == Kind::randint_to_end;
  const std::int64_t low = number_of(a), end = to_end ? Limits::max() : number_of(b);
  if (to_end && low == Limits::min()) return element.wide();
  if (to_end && low == 0) return element.positive();
  std::int64_t range = 0;
  require<ValueError>(!__builtin_sub_overflow(end, low, &range),
                      "a counter-based generator draws integers from ranges of at most 63 bits, not from [{}, {})", low, end);
  return integers(f, words, a, range + to_end);
}

}  // namespace

Value draw(const ir::Draw& what, const Dims& sizes, const Value& key, const Value& start, const Value& a, const Value& b,
           ir::Location where) {
  using Kind = ir::Draw::Kind;
  require<NotImplementedError>(what.kind != Kind::poisson,
                               "poisson() takes as many words as it happens to need, which a counter-based generator cannot give");
  const Formula f{sizes, where};
  const Dims none{};
  const Value numbers = reshape(engine::record(Op::iota, {}, ir::ToShape{{checked_numel(sizes)}}, where), sizes, where);
  const std::array<Value, 2> counter = halves(f(Op::add, expand(start, sizes, where), numbers), f);
  const Value zero = f.integer(0);
  const Block words = block({counter[0], counter[1], zero, zero}, halves(key, {none, where}), sizes, where);
  if (!what.integral()) {
    // As many bits as PyTorch compares with: ir::Draw's second parameter of bernoulli.
    const bool wide = what.kind == Kind::bernoulli ? std::bit_cast<double>(b->bits) == 53 : what.type == DType::f64;
    const DType type = wide ? DType::f64 : DType::f32;
    return cast(real(what.kind, f, Element(f, words, type), f.parameter(a, type), f.parameter(b, type), type), what.type, where);
  }
  return cast(integral(what, f, words, a, b), what.type, where);
}

}  // namespace braze::philox
