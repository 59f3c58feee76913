#include "runtime/random.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <numbers>
#include <optional>
#include <vector>

#include "ir/half.h"
#include "runtime/routines.h"

namespace braze::runtime {

namespace {

constexpr int words = 624, middle = 397;

// at::CPUGeneratorImplState: what torch.get_rng_state() holds.
struct LegacyState {
  std::uint64_t initial_seed;
  std::int32_t left, seeded;
  std::uint64_t next;
  std::uint64_t state[words];
  double normal_x, normal_y, normal_rho;  // normal_y: the spare sample of the last pair
  std::int32_t normal_is_valid;
};
struct State {
  LegacyState legacy;
  float next_float_normal;
  bool float_normal_is_valid;
};
static_assert(sizeof(State) == ir::generator_bytes);

class Mersenne {
 public:
  explicit Mersenne(GeneratorBytes bytes, bool may_stop = false) : bytes_(bytes), may_stop_(may_stop) {
    std::memcpy(&state_, bytes.data(), sizeof state_);
  }
  ~Mersenne() { std::memcpy(bytes_.data(), &state_, sizeof state_); }
  Mersenne(const Mersenne&) = delete;

  bool may_stop() const { return may_stop_; }
  std::uint32_t next32() {
    LegacyState& s = state_.legacy;
    if (--s.left == 0) refill();
    auto y = static_cast<std::uint32_t>(s.state[s.next++]);
    y ^= y >> 11;
    y ^= (y << 7) & 0x9d2c5680;
    y ^= (y << 15) & 0xefc60000;
    return y ^ (y >> 18);
  }
  std::uint64_t next64() {
    const std::uint64_t high = next32();
    return high << 32 | next32();
  }
  // As many words passed over: no more than the twists that they need.
  void skip32(std::uint64_t count) {
    LegacyState& s = state_.legacy;
    while (count > 0) {
      if (s.left == 1) {
        refill();
        ++s.next;
        --count;
        continue;
      }
      const std::uint64_t here = std::min<std::uint64_t>(count, static_cast<std::uint64_t>(s.left - 1));
      s.left -= static_cast<std::int32_t>(here);
      s.next += here;
      count -= here;
    }
  }
  // [0, 1) with `digits` random bits.
  double uniform(int digits) {
    const std::uint64_t bits = digits == 53 ? next64() : next32();
    return static_cast<double>(bits & ((std::uint64_t{1} << digits) - 1)) * std::ldexp(1.0, -digits);
  }
  double uniform() { return uniform(53); }

  // Box and Muller's transformation gives pairs; the second waits for the next call.
  double normal() {
    LegacyState& s = state_.legacy;
    if (s.normal_is_valid) {
      s.normal_is_valid = 0;
      return s.normal_y;
    }
    const double u1 = uniform(), u2 = uniform();
    const double radius = std::sqrt(-2.0 * std::log1p(-u2)), theta = 2.0 * std::numbers::pi * u1;
    s.normal_y = radius * std::sin(theta);
    s.normal_is_valid = 1;
    return radius * std::cos(theta);
  }
  void skip_normals(std::uint64_t count) {
    if (count > 0 && state_.legacy.normal_is_valid) normal(), --count;
    if (count < 2) {
      if (count == 1) normal();
      return;
    }
    constexpr std::uint64_t words_a_pair = 4;
    const std::uint64_t pairs = (count - 1) / 2;  // but for the last, whose second number may be left over
    skip32(pairs * words_a_pair);
    for (count -= 2 * pairs; count > 0; --count) normal();
  }

 private:
  void refill() {
    routines::answer_stop(may_stop_);
    std::uint64_t* s = state_.legacy.state;
    const auto mix = [](std::uint64_t u, std::uint64_t v) {
      return (((u & 0x80000000) | (v & 0x7fffffff)) >> 1) ^ (v & 1 ? 0x9908b0df : 0);
    };
    for (int i = 0; i < words; ++i) s[i] = s[(i + middle) % words] ^ mix(s[i], s[(i + 1) % words]);
    state_.legacy.left = words;
    state_.legacy.next = 0;
  }

  GeneratorBytes bytes_;
  bool may_stop_;
  State state_;
};

// Elements as the distributions see them: halves compute in float and round at the end.
template <class T>
struct Bits {
  using Wide = T;
  static constexpr int digits = std::numeric_limits<T>::digits;
  static T round(Wide v) { return v; }
  static Wide widen(T v) { return v; }
};
template <>
struct Bits<Float16> {
  using Wide = float;
  static constexpr int digits = 11;
  static Float16 round(float v) { return to_f16(v); }
  static float widen(Float16 v) { return to_f32(v); }
};
template <>
struct Bits<BFloat16> {
  using Wide = float;
  static constexpr int digits = 8;
  static BFloat16 round(float v) { return to_bf16(v); }
  static float widen(BFloat16 v) { return to_f32(v); }
};
template <class T>
inline constexpr bool is_half_type = std::is_same_v<T, Float16> || std::is_same_v<T, BFloat16>;
template <class T>
inline constexpr bool is_floating_type = std::is_floating_point_v<T> || is_half_type<T>;

// A double or an integer as an element, converted as PyTorch's static_cast does.
template <class T, class V>
T element(V value) {
  if constexpr (is_half_type<T>)
    return Bits<T>::round(static_cast<float>(value));
  else if constexpr (std::is_same_v<T, bool>)
    return value != 0;
  else if constexpr (std::is_floating_point_v<V> && std::is_integral_v<T>)
    return static_cast<T>(static_cast<std::int64_t>(value));
  else
    return static_cast<T>(value);
}

template <class V>
V parameter(const DrawParameter& p, std::int64_t i) {
  return static_cast<const V*>(p.data)[p.each ? i : 0];
}

// The bits that a uniform number starts from: halves are drawn as floats and rounded.
template <class T>
inline constexpr int uniform_digits = is_half_type<T> ? std::numeric_limits<float>::digits : Bits<T>::digits;

// One element from [from, to), the bounds rounded to T first. PyTorch's kernels are compiled for CPUs with fma, and use it here.
template <class T>
T uniform_element(Mersenne& g, double from, double to) {
  using Wide = typename Bits<T>::Wide;
  const T low = element<T>(from), high = element<T>(to);
  const Wide span = Bits<T>::widen(Bits<T>::round(Bits<T>::widen(high) - Bits<T>::widen(low)));
  const Wide u = static_cast<Wide>(g.uniform(uniform_digits<T>));
  const Wide base = Bits<T>::widen(low);
  return Bits<T>::round(base == 0 || is_half_type<T> ? u * span + base : std::fma(u, span, base));
}

// Sixteen uniforms become eight pairs of normals, in place: ATen's normal_fill_16.
template <class Wide>
void normal_sixteen(Wide* data, Wide mean, Wide deviation) {
  for (int j = 0; j < 8; ++j) {
    const Wide u1 = 1 - data[j], u2 = data[j + 8];
    const Wide radius = std::sqrt(-2 * std::log(u1)), theta = static_cast<Wide>(2.0 * std::numbers::pi) * u2;
    data[j] = radius * std::cos(theta) * deviation + mean;
    data[j + 8] = radius * std::sin(theta) * deviation + mean;
  }
}

// From sixteen elements on PyTorch transforms blocks of sixteen; a tail is drawn anew together with what precedes it. Floats are all
// drawn before the first block is transformed, halves block by block.
template <class T>
void fill_normal(Mersenne& g, std::int64_t count, double mean, double deviation, T* out) {
  using Wide = typename Bits<T>::Wide;
  const auto draw_uniform = [&] { return static_cast<Wide>(g.uniform(uniform_digits<T>)); };
  if constexpr (is_half_type<T>) {
    routines::in_blocks((count + 15) / 16, g.may_stop(), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        std::array<Wide, 16> block;
        for (Wide& v : block) v = draw_uniform();
        normal_sixteen(block.data(), static_cast<Wide>(mean), static_cast<Wide>(deviation));
        std::transform(block.begin(), block.end(), out + std::min(i * 16, count - 16), Bits<T>::round);
      }
    });
    return;
  }
  const auto data = std::make_unique_for_overwrite<Wide[]>(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i) data[static_cast<std::size_t>(i)] = draw_uniform();
  routines::in_blocks(count / 16, g.may_stop(), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i)
      normal_sixteen(&data[static_cast<std::size_t>(i * 16)], static_cast<Wide>(mean), static_cast<Wide>(deviation));
  });
  if (count % 16 != 0) {
    Wide* tail = data.get() + count - 16;
    for (int j = 0; j < 16; ++j) tail[j] = draw_uniform();
    normal_sixteen(tail, static_cast<Wide>(mean), static_cast<Wide>(deviation));
  }
  routines::in_blocks(count, g.may_stop(), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) out[i] = Bits<T>::round(data[static_cast<std::size_t>(i)]);
  });
}

// Hoermann's transformed rejection (1993) for large rates, Knuth's product for small ones.
double poisson(Mersenne& g, double rate) {
  if (rate == 0) return 0;
  if (rate < 10) {
    const double limit = std::exp(-rate);
    double product = 1, hits = 0;
    for (;;) {
      product *= g.uniform();
      if (product <= limit) return hits;
      ++hits;
    }
  }
  int sign = 1;  // of the gamma function; std::lgamma would write it to a global that threads share
  const double root = std::sqrt(rate), log_rate = std::log(rate);
  const double b = 0.931 + 2.53 * root, a = -0.059 + 0.02483 * b;
  const double inverse_alpha = 1.1239 + 1.1328 / (b - 3.4), accept = 0.9277 - 3.6224 / (b - 2);
  for (;;) {
    const double u = g.uniform() - 0.5, v = g.uniform(), edge = 0.5 - std::fabs(u);
    const double k = std::floor((2 * a / edge + b) * u + rate + 0.43);
    if (edge >= 0.07 && v <= accept) return k;
    if (k < 0 || (edge < 0.013 && v > edge)) continue;
    if (std::log(v) + std::log(inverse_alpha) - std::log(a / (edge * edge) + b) <= -rate + k * log_rate - ::lgamma_r(k + 1, &sign))
      return k;
  }
}

// An integer from [base, base + range); range 0 stands for 2^64.
std::uint64_t integer(Mersenne& g, std::uint64_t range, std::uint64_t base) {
  if (range == 0) return g.next64();
  return (range >= std::uint64_t{1} << 28 ? g.next64() : g.next32()) % range + base;
}

template <class T>
T any_element(Mersenne& g) {
  if constexpr (std::is_same_v<T, bool>)
    return g.next32() & 1;
  else if constexpr (std::is_same_v<T, double>)
    return static_cast<double>(g.next64() % ((std::uint64_t{1} << 53) + 1));
  else if constexpr (is_floating_type<T>)
    return element<T>(static_cast<std::int64_t>(g.next32() % ((std::uint32_t{1} << Bits<T>::digits) + 1)));
  else if constexpr (std::is_same_v<T, std::int64_t>)
    return static_cast<T>(g.next64() % (std::uint64_t{1} << 63));
  else
    return static_cast<T>(g.next32() % (static_cast<std::uint64_t>(std::numeric_limits<T>::max()) + 1));
}

template <class T>
void permutation(Mersenne& g, std::int64_t count, T* out) {
  for (std::int64_t i = 0; i < count; ++i) out[i] = element<T>(i);
  const bool wide = count >= std::numeric_limits<std::uint32_t>::max() / 20;
  for (std::int64_t i = 0; i + 1 < count; ++i) {
    const auto left = static_cast<std::uint64_t>(count - i);
    std::swap(out[i], out[i + static_cast<std::int64_t>((wide ? g.next64() : g.next32()) % left)]);
  }
}

template <class T>
bool draw_reals(ir::Draw::Kind kind, Mersenne& g, std::int64_t count, const DrawParameter& a, const DrawParameter& b, T* out) {
  using Kind = ir::Draw::Kind;
  if (kind == Kind::normal && count >= 16 && !a.each && !b.each) {
    fill_normal(g, count, parameter<double>(a, 0), parameter<double>(b, 0), out);
    return true;
  }
  for (std::int64_t i = 0; i < count; ++i) {
    const auto first = parameter<double>(a, i), second = parameter<double>(b, i);
    switch (kind) {
      case Kind::uniform:
        out[i] = uniform_element<T>(g, first, second);
        break;
      case Kind::normal:
      case Kind::normal_serial:
        out[i] = element<T>(g.normal() * second + first);
        break;
      case Kind::log_normal:
        out[i] = element<T>(std::exp(g.normal() * second + first));
        break;
      case Kind::exponential:
        out[i] = element<T>(-1.0 / first * std::log1p(-g.uniform()));
        break;
      default:
        out[i] = element<T>(first + second * std::tan(std::numbers::pi * (g.uniform() - 0.5)));
        break;  // cauchy
    }
  }
  return true;
}

template <class T>
bool draw_counts(ir::Draw::Kind kind, Mersenne& g, std::int64_t count, const DrawParameter& a, const DrawParameter& b, T* out) {
  using Kind = ir::Draw::Kind;
  for (std::int64_t i = 0; i < count; ++i) {
    const auto p = parameter<double>(a, i);
    if (kind == Kind::poisson) {
      if (!(p >= 0)) return false;
      out[i] = element<T>(poisson(g, p));
    } else if (kind == Kind::geometric) {
      out[i] = element<T>(std::ceil(std::log(g.uniform()) / std::log1p(-p)));
    } else {
      if (!(p >= 0 && p <= 1)) return false;
      // A probability an element is compared with as many bits as its tensor's dtype has: `second`, 24 or 53.
      const auto digits = static_cast<int>(parameter<double>(b, i));
      out[i] = element<T>(static_cast<std::int64_t>(g.uniform(digits) < p));
    }
  }
  return true;
}

template <class T>
bool draw_integers(ir::Draw::Kind kind, Mersenne& g, std::int64_t count, const DrawParameter& a, const DrawParameter& b, T* out) {
  using Kind = ir::Draw::Kind;
  if (kind == Kind::permutation) {
    permutation(g, count, out);
    return true;
  }
  for (std::int64_t i = 0; i < count; ++i) {
    if (kind == Kind::random) {
      out[i] = any_element<T>(g);
      continue;
    }
    const auto low = static_cast<std::uint64_t>(parameter<std::int64_t>(a, i));
    const std::uint64_t end =
        kind == Kind::randint ? static_cast<std::uint64_t>(parameter<std::int64_t>(b, i)) : std::uint64_t{1} << 63;
    out[i] = element<T>(static_cast<std::int64_t>(integer(g, end - low, low)));
  }
  return true;
}

template <class T>
bool draw_elements(ir::Draw::Kind kind, Mersenne& g, std::int64_t count, const DrawParameter& a, const DrawParameter& b,
                   void* out) {
  using Kind = ir::Draw::Kind;
  T* elements = static_cast<T*>(out);
  switch (kind) {
    case Kind::uniform:
    case Kind::normal:
    case Kind::normal_serial:
    case Kind::log_normal:
    case Kind::exponential:
    case Kind::cauchy:
      if constexpr (is_floating_type<T>) return draw_reals(kind, g, count, a, b, elements);
      return false;
    case Kind::bernoulli:
    case Kind::geometric:
    case Kind::poisson:
      return draw_counts(kind, g, count, a, b, elements);
    default:
      return draw_integers(kind, g, count, a, b, elements);
  }
}

// How many words a draw takes whose every element takes the same number; none for the others.
std::optional<std::uint64_t> words_of(ir::Draw::Kind kind, DType type, std::uint64_t count, const DrawParameter& a,
                                      const DrawParameter& b) {
  using Kind = ir::Draw::Kind;
  const std::uint64_t wide = type == DType::f64 ? 2 : 1;
  switch (kind) {
    case Kind::uniform:
      return count * wide;
    case Kind::normal:  // in blocks; a tail is drawn with what precedes it (see fill_normal)
      if (count < 16 || a.each || b.each) return std::nullopt;
      if (is_half(type)) return (count + 15) / 16 * 16;
      return (count + (count % 16 != 0 ? 16 : 0)) * wide;
    case Kind::exponential:
    case Kind::cauchy:
    case Kind::geometric:
    case Kind::randint_to_end:
      return count * 2;
    case Kind::bernoulli:
      if (a.each || b.each) return std::nullopt;  // which may be refused
      return count * (parameter<double>(b, 0) == 53 ? 2 : 1);
    case Kind::randint: {
      if (a.each || b.each) return std::nullopt;
      const std::uint64_t range =
          static_cast<std::uint64_t>(parameter<std::int64_t>(b, 0)) - static_cast<std::uint64_t>(parameter<std::int64_t>(a, 0));
      return count * (range == 0 || range >= std::uint64_t{1} << 28 ? 2 : 1);
    }
    case Kind::random:
      return count * (type == DType::f64 || type == DType::i64 ? 2 : 1);
    case Kind::permutation:
      return count == 0 ? 0 : (count - 1) * (count >= std::numeric_limits<std::uint32_t>::max() / 20 ? 2 : 1);
    default:
      return std::nullopt;
  }
}

}  // namespace

bool advance(ir::Draw::Kind kind, DType type, std::int64_t count, DrawParameter a, DrawParameter b, GeneratorBytes state) {
  using Kind = ir::Draw::Kind;
  const auto elements = static_cast<std::uint64_t>(count);
  if (kind == Kind::bernoulli && !a.each && !(parameter<double>(a, 0) >= 0 && parameter<double>(a, 0) <= 1)) return false;
  if (const auto words = words_of(kind, type, elements, a, b)) {
    Mersenne(state).skip32(*words);
    return true;
  }
  if (kind != Kind::normal && kind != Kind::normal_serial && kind != Kind::log_normal) return false;
  Mersenne(state).skip_normals(elements);
  return true;
}

void seed_generator(GeneratorBytes bytes, std::uint64_t seed) {
  State state{};
  state.legacy.initial_seed = seed;
  state.legacy.left = 1;
  state.legacy.seeded = 1;
  std::uint64_t* s = state.legacy.state;
  s[0] = seed & 0xffffffff;
  for (std::uint64_t j = 1; j < words; ++j) s[j] = (1812433253 * (s[j - 1] ^ (s[j - 1] >> 30)) + j) & 0xffffffff;
  std::memcpy(bytes.data(), &state, sizeof state);
}

std::uint64_t initial_seed(std::span<const std::byte, ir::generator_bytes> bytes) {
  std::uint64_t seed = 0;
  std::memcpy(&seed, bytes.data() + offsetof(State, legacy.initial_seed), sizeof seed);
  return seed;
}

bool draw(ir::Draw::Kind kind, DType type, std::int64_t count, DrawParameter a, DrawParameter b, GeneratorBytes state, void* out,
          bool may_stop) {
  Mersenne g(state, may_stop);
  switch (type) {
    case DType::boolean:
      return draw_elements<bool>(kind, g, count, a, b, out);
    case DType::u8:
      return draw_elements<std::uint8_t>(kind, g, count, a, b, out);
    case DType::i8:
      return draw_elements<std::int8_t>(kind, g, count, a, b, out);
    case DType::i16:
      return draw_elements<std::int16_t>(kind, g, count, a, b, out);
    case DType::i32:
      return draw_elements<std::int32_t>(kind, g, count, a, b, out);
    case DType::i64:
      return draw_elements<std::int64_t>(kind, g, count, a, b, out);
    case DType::f16:
      return draw_elements<Float16>(kind, g, count, a, b, out);
    case DType::bf16:
      return draw_elements<BFloat16>(kind, g, count, a, b, out);
    case DType::f32:
      return draw_elements<float>(kind, g, count, a, b, out);
    case DType::f64:
      return draw_elements<double>(kind, g, count, a, b, out);
  }
  return false;
}

}  // namespace braze::runtime
