#include "braze/random.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>

#include "braze/functions.h"
#include "frontend/autograd/mapping.h"
#include "frontend/autograd/names.h"
#include "frontend/autograd/trace_notes.h"
#include "frontend/philox.h"
#include "frontend/positions.h"
#include "frontend/tensor_impl.h"
#include "runtime/random.h"

namespace braze {

// A draw is an op on the state, a u8[5056] tensor: it yields the values and the next state, which replaces it. A counter-based one has two
// numbers instead.
struct Generator::State {
  std::mutex mutex;
  Tensor bytes;
  Tensor key, offset;  // int64 without dims
  bool counts() const { return offset.defined(); }
};

namespace {

constexpr std::int64_t default_seed = 67280421310721;

using Kind = ir::Draw::Kind;
using Order = InlineVector<std::uint8_t, 8>;

// A number or a tensor, of f64 or i64: how ir::Draw takes its parameters.
engine::Value parameter(const In& value, DType type, const Dims& sizes, ir::Location where) {
  if (value.is_scalar()) return scalar_value(value.scalar(), type);
  return expand(cast(read(checked(value.tensor()), where), type, where), sizes, where);
}

engine::Value draw(Kind kind, DType type, const Dims& sizes, const engine::Value& a, const engine::Value& b, Generator* generator,
                   ir::Location where) {
  if (Mapping* batch = Mapping::innermost()) {
    const auto again = [&](const Dims& n, const engine::Value& x, const engine::Value& y) {
      return draw(kind, type, n, x, y, generator, where);
    };
    return batch->draw(again, sizes, a, b, kind == Kind::permutation, where);
  }
  ir::Draw attributes{kind, type, {}};
  for (const std::int64_t s : sizes) attributes.shape.push_back(s);
  Generator::State& state = (generator ? *generator : default_generator()).state();
  const std::lock_guard lock(state.mutex);
  if (state.counts()) {
    const engine::Value start = read(checked(state.offset), where);
    const engine::Value next[] = {start, scalar_value(checked_numel(sizes), DType::i64)};
    const engine::Value drawn = philox::draw(attributes, sizes, read(checked(state.key), where), start, a, b, where);
    write(checked(state.offset), engine::record(ir::Op::add, next, where), where);
    return drawn;
  }
  TensorImpl& bytes = checked(state.bytes);
  bytes.storage->recover();  // a draw that was refused is no part of the stream
  const engine::Value operands[] = {read(bytes, where), a, b};
  const engine::Value drawn = engine::record(ir::Op::draw, operands, std::move(attributes), where);
  write(bytes, drawn.with_result(1), where);
  return drawn;
}

DType parameter_type(Kind kind) { return ir::Draw{kind, {}, {}}.integral() ? DType::i64 : DType::f64; }

// A new tensor of draws with parameters that are numbers.
Tensor drawn(Kind kind, DType type, SizesView sizes, Scalar a, Scalar b, Generator* generator, const std::source_location& where) {
  checked_numel(sizes);
  require<NotImplementedError>(!is_complex(type), "these draws are not implemented for '{}'", info(type).scalar_name);
  const DType wanted = parameter_type(kind);
  return wrap(draw(kind, type, Dims(std::span<const std::int64_t>(sizes)), scalar_value(a, wanted), scalar_value(b, wanted),
                   generator, location(where)));
}

// The axes from slowest to fastest in memory: draws fill a permuted tensor as it lies.
Order memory_order(const Geometry& g) {
  Order axes(g.sizes.size());
  std::iota(axes.begin(), axes.end(), std::uint8_t{0});
  std::stable_sort(axes.begin(), axes.end(), [&](std::uint8_t a, std::uint8_t b) { return g.strides[a] > g.strides[b]; });
  return axes;
}

void fill(Tensor& x, Kind kind, const In& a, const In& b, Generator* generator, const std::source_location& where) {
  TensorImpl& impl = checked(x);
  require_writable(impl);
  // The parts are drawn by themselves; of a normal number each has half the variance.
  if (is_complex(x.dtype())) {
    require<NotImplementedError>(kind == Kind::uniform || kind == Kind::normal, "these draws are not implemented for '{}'",
                                 info(x.dtype()).scalar_name);
    Tensor parts = x.view_as_real();
    return fill(parts, kind, a, kind == Kind::normal ? In(b.scalar().to_double() / std::sqrt(2.0), where) : b, generator, where);
  }
  const Geometry g = impl.layout();
  const Order order = memory_order(g);
  Dims sizes, back(order.size());
  Order inverse(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    sizes.push_back(g.sizes[order[i]]);
    inverse[order[i]] = static_cast<std::uint8_t>(i);
  }
  const ir::Location at = location(where);
  const DType type = parameter_type(kind);
  const auto ordered = [&](const In& value) {
    const engine::Value given = parameter(value, type, g.sizes, at);
    return value.is_scalar() ? given : permute(given, order, at);
  };
  write(impl, permute(draw(kind, x.dtype(), sizes, ordered(a), ordered(b), generator, at), inverse, at), at);
}

void require_floating(std::string_view what, DType type) {
  require<NotImplementedError>(is_float(type) || is_complex(type), "\"{}\" not implemented for '{}'", what, info(type).scalar_name);
}

void require_probability(std::string_view what, double p) {
  require(p >= 0 && p <= 1, "{} expects p to be in [0, 1], but got p={}", what, p);
}

void require_deviation(double deviation) { require(deviation >= 0, "normal expects std >= 0.0, but found std {}", deviation); }

// The least and the greatest integer that a dtype holds without a gap.
std::pair<double, double> exact_range(DType type) {
  switch (type) {
    case DType::boolean:
      return {0, 1};
    case DType::f16:
      return {-2048, 2048};
    case DType::bf16:
      return {-256, 256};
    case DType::f32:
      return {-16777216, 16777216};
    case DType::f64:
      return {-9007199254740992, 9007199254740992};
    default:
      break;
  }
  const int bits = size_of(type) * 8 - (is_signed(type) ? 1 : 0);
  return {is_signed(type) ? -std::ldexp(1.0, bits) : 0, std::ldexp(1.0, bits) - 1};
}

void require_range(std::int64_t low, std::int64_t high, DType type) {
  require(low < high, "random_ expects 'from' to be less than 'to', but got from={} >= to={}", low, high);
  const auto [least, greatest] = exact_range(type);
  // Floats may start outside where they are exact; PyTorch only warns.
  if (is_float(type)) return;
  require(static_cast<double>(low) >= least && static_cast<double>(low) <= greatest, "from is out of bounds for {}",
          info(type).scalar_name);
  require(static_cast<double>(high - 1) >= least && static_cast<double>(high - 1) <= greatest, "to - 1 is out of bounds for {}",
          info(type).scalar_name);
}

// As many random bits as PyTorch compares a probability of this dtype with.
double probability_bits(DType type) { return type == DType::f64 ? 53 : 24; }

// Memory for draws with the sizes of `other`.
Tensor like(const Tensor& other, std::optional<DType> dtype = {}) { return empty(other.sizes(), {dtype.value_or(other.dtype())}); }

}  // namespace

Generator::Generator() : state_(std::make_shared<State>()) { manual_seed(default_seed); }

Generator Generator::philox(std::int64_t seed, std::int64_t offset) {
  Generator made;
  made.state_ = std::make_shared<State>();
  made.state_->key = full({}, seed, {DType::i64});
  made.state_->offset = full({}, offset, {DType::i64});
  return made;
}

Generator& Generator::manual_seed(std::int64_t seed) {
  if (state_->counts()) {
    const std::lock_guard lock(state_->mutex);
    state_->key.fill_(In(seed));
    state_->offset.zero_();
    return *this;
  }
  std::array<std::byte, ir::generator_bytes> bytes;
  runtime::seed_generator(bytes, static_cast<std::uint64_t>(seed));
  const Tensor fresh = from_bytes(bytes.data(), {ir::generator_bytes}, DType::u8);
  const std::lock_guard lock(state_->mutex);
  if (state_->bytes.defined())
    state_->bytes.copy_(In(fresh, {}));
  else
    state_->bytes = fresh;
  return *this;
}

std::uint64_t Generator::seed() {
  if (TraceNotes* notes = TraceNotes::active()) notes->refuse("it seeds a generator from the machine's entropy");
  std::random_device device;
  // 53 bits, as torch gives for the CPU: Python's and Lua's numbers hold them.
  const std::uint64_t value = (std::uint64_t{device()} << 32 | device()) & ((std::uint64_t{1} << 53) - 1);
  manual_seed(static_cast<std::int64_t>(value));
  return value;
}

Tensor Generator::get_state() const {
  const std::lock_guard lock(state_->mutex);
  if (state_->counts()) return stack({state_->key, state_->offset}).view(DType::u8);
  return state_->bytes.clone({});
}

std::uint64_t Generator::initial_seed() const {
  if (state_->counts()) {
    const std::lock_guard lock(state_->mutex);
    return static_cast<std::uint64_t>(state_->key.item_int());
  }
  std::array<std::byte, ir::generator_bytes> bytes;
  get_state().copy_to(bytes.data(), DType::u8);
  return runtime::initial_seed(bytes);
}

void Generator::set_state(const Tensor& state) {
  require<TypeError>(state.dtype() == DType::u8, "RNG state must be a torch.ByteTensor");
  const std::int64_t wanted = state_->counts() ? 16 : ir::generator_bytes;
  require(state.numel() == wanted, "RNG state is wrong size: {}, not {}", state.numel(), wanted);
  const std::lock_guard lock(state_->mutex);
  if (state_->counts()) {
    const Tensor numbers = state.contiguous().view({-1}).view(DType::i64);
    state_->key.copy_(In(numbers.select(0, 0), {}));
    state_->offset.copy_(In(numbers.select(0, 1), {}));
    return;
  }
  state_->bytes.copy_(In(state.reshape({-1}), {}));
}

std::array<Tensor, 4> philox_4x32(const std::array<Tensor, 4>& counter, const std::array<Tensor, 2>& key) {
  Dims sizes;
  for (const std::span<const Tensor> words : {std::span<const Tensor>(counter), std::span<const Tensor>(key)})
    for (const Tensor& word : words) {
      require<TypeError>(word.dtype() == DType::i64, "philox_4x32 takes 32-bit words as torch.int64, not {}",
                         info(word.dtype()).torch_name);
      sizes = broadcast_sizes(sizes, word.sizes());
    }
  const ir::Location where = location({});
  const auto word = [&](const Tensor& x) { return expand(read(checked(x), where), sizes, where); };
  const philox::Block made = philox::block({word(counter[0]), word(counter[1]), word(counter[2]), word(counter[3])},
                                           {word(key[0]), word(key[1])}, sizes, where);
  return {wrap(made[0]), wrap(made[1]), wrap(made[2]), wrap(made[3])};
}

Generator& default_generator() {
  static Generator* const generator = new Generator;  // lives as long as threads may draw
  return *generator;
}
Generator& manual_seed(std::int64_t seed) { return default_generator().manual_seed(seed); }
std::uint64_t seed() { return default_generator().seed(); }
std::uint64_t initial_seed() { return default_generator().initial_seed(); }
Tensor get_rng_state() { return default_generator().get_state(); }
void set_rng_state(const Tensor& state) { default_generator().set_state(state); }
ForkRng::~ForkRng() { set_rng_state(before_); }

// ---- new tensors ----

Tensor rand(SizesView sizes, RandomOptions options) {
  const DType type = options.dtype.value_or(get_default_dtype());
  require_floating("check_uniform_bounds", type);
  if (is_complex(type)) return empty(sizes, {type}).uniform_(0, 1, options.generator, options.where);
  return drawn(Kind::uniform, type, sizes, 0.0, 1.0, options.generator, options.where);
}

Tensor randn(SizesView sizes, RandomOptions options) {
  const DType type = options.dtype.value_or(get_default_dtype());
  require_floating("normal_kernel_cpu", type);
  if (is_complex(type)) return empty(sizes, {type}).normal_(0, 1, options.generator, options.where);
  return drawn(Kind::normal, type, sizes, 0.0, 1.0, options.generator, options.where);
}

Tensor randint(std::int64_t low, std::int64_t high, SizesView sizes, RandomOptions options) {
  const DType type = options.dtype.value_or(DType::i64);
  require_range(low, high, type);
  return drawn(Kind::randint, type, sizes, low, high, options.generator, options.where);
}

Tensor randperm(std::int64_t n, RandomOptions options) {
  require(n >= 0, "n must be non-negative, got {}", n);
  const DType type = options.dtype.value_or(DType::i64);
  if (type == DType::boolean) fail<NotImplementedError>("\"randperm\" not implemented for 'Bool'");
  require(n == 0 || static_cast<double>(n - 1) <= exact_range(type).second, "n is too large to be represented as {}: {}",
          info(type).scalar_name, n);
  return drawn(Kind::permutation, type, {n}, 0, 0, options.generator, options.where);
}

Tensor rand_like(const Tensor& other, RandomOptions options) {
  return like(other, options.dtype).uniform_(0, 1, options.generator, options.where);
}
Tensor randn_like(const Tensor& other, RandomOptions options) {
  return like(other, options.dtype).normal_(0, 1, options.generator, options.where);
}
Tensor randint_like(const Tensor& other, std::int64_t low, std::int64_t high, RandomOptions options) {
  return like(other, options.dtype).random_(low, high, options.generator, options.where);
}

Tensor normal(double mean, double deviation, SizesView sizes, RandomOptions options) {
  require_deviation(deviation);
  const DType type = options.dtype.value_or(get_default_dtype());
  require_floating("normal_kernel_cpu", type);
  if (is_complex(type)) return empty(sizes, {type}).normal_(mean, deviation, options.generator, options.where);
  return drawn(Kind::normal, type, sizes, mean, deviation, options.generator, options.where);
}

Tensor normal(const In& mean, const In& deviation, RandomOptions options) {
  const auto sizes_or_none = [](const In& x) { return x.is_scalar() ? Sizes{} : x.tensor().sizes(); };
  const Dims common = broadcast_sizes(sizes_or_none(mean), sizes_or_none(deviation));
  if (deviation.is_scalar())
    require_deviation(deviation.scalar().to_double());
  else {
    require(!is_complex(deviation.tensor().dtype()), "normal expects standard deviation to be non-complex");
    require(deviation.tensor().numel() == 0 || deviation.tensor().min().item_double() >= 0,
            "normal expects all elements of std >= 0.0");
  }
  const DType type = !mean.is_scalar()        ? mean.tensor().dtype()
                     : !deviation.is_scalar() ? deviation.tensor().dtype()
                                              : get_default_dtype();
  require_floating("normal_kernel_cpu", type);
  const Tensor standard =
      is_complex(type) ? randn(Sizes(common.begin(), common.end()), {type, options.generator, options.where})
                       : drawn(Kind::normal, type, Sizes(common.begin(), common.end()), 0.0, 1.0, options.generator, options.where);
  const Tensor scaled = mul(In(standard, options.where), deviation);
  return add(In(scaled, options.where), mean).to(type);
}

Tensor bernoulli(const In& probability, RandomOptions options) {
  require<TypeError>(!probability.is_scalar(), "bernoulli() needs a tensor of probabilities, not a number");
  const Tensor& p = probability.tensor();
  if (is_complex(p.dtype()))
    fail<NotImplementedError>("\"bernoulli_tensor_cpu_p_\" not implemented for '{}'", info(p.dtype()).scalar_name);
  require_floating("bernoulli_tensor_cpu_p_", p.dtype());
  Tensor out = like(p, options.dtype);
  out.bernoulli_(probability, options.generator);
  return out;
}

Tensor bernoulli(const In& x, double probability, RandomOptions options) {
  Tensor out = like(x.tensor(), options.dtype);
  out.bernoulli_(In(probability, x.where()), options.generator);
  return out;
}

Tensor poisson(const In& rate, RandomOptions options) {
  require<TypeError>(!rate.is_scalar(), "poisson() needs a tensor of rates, not a number");
  require_floating("poisson_cpu", rate.tensor().dtype());
  Tensor out = like(rate.tensor());
  fill(out, Kind::poisson, rate, In(0.0, rate.where()), options.generator, rate.where());
  return out;
}

Tensor multinomial(const In& weights, std::int64_t samples, bool replacement, RandomOptions options) {
  const std::source_location& where = weights.where();
  const Tensor& w = weights.tensor();
  require(is_float(w.dtype()), "multinomial only supports floating-point dtypes for input, got: {}", info(w.dtype()).scalar_name);
  require(w.dim() == 1 || w.dim() == 2, "prob_dist must be 1 or 2 dim");
  if (const Mapping* mapping = Mapping::innermost()) mapping->require_drawable(read(checked(w), location(where)));
  require(samples > 0, "cannot sample n_sample <= 0 samples");
  const std::int64_t categories = w.size(-1);
  require(replacement || samples <= categories, "cannot sample n_sample > prob_dist.size(-1) samples without replacement");
  require(holds_for_all(logical_and(In(isfinite(weights)), In(ge(weights, In(0, where))))),
          "probability tensor contains either `inf`, `nan` or element < 0");
  const Tensor total = w.sum(-1, true, {}, where);
  require(holds_for_all(gt(In(total), In(0))), "invalid multinomial distribution (sum of probabilities <= 0)");
  if (!replacement || samples == 1) {
    // The largest of weights over exponentials: Efraimidis and Spirakis, as ATen does.
    Tensor race = like(w);
    race.exponential_(1, options.generator, where);
    race = div(weights, In(race, where));
    if (samples == 1) return race.argmax(-1, true, where);
    return race.topk(samples, -1, true, where).indices;
  }
  // One uniform a sample, looked up in the cumulated weights.
  const Tensor rows = w.dim() == 1 ? w.unsqueeze(0) : w;
  const Tensor cumulated =
      div(In(rows.to(DType::f64, where).cumsum(-1, {}, where)), In(total.reshape({-1, 1}).to(DType::f64, where)));
  const Tensor u = drawn(Kind::uniform, DType::f64, {rows.size(0), samples}, 0.0, 1.0, options.generator, where);
  const Tensor below = lt(In(cumulated.unsqueeze(1)), In(u.unsqueeze(-1)));
  const Tensor picks = minimum(In(below.sum(-1, false, {}, where)), In(categories - 1));
  return w.dim() == 1 ? picks.squeeze(0) : picks;
}

// ---- in place ----

Tensor& RandomMethods::uniform_(double from, double to, Generator* generator, std::source_location where) {
  Tensor& x = self_of(this);
  const GradientScope scope(written_name(self_of(this), GradientName::UniformBackward0));
  require_floating("check_uniform_bounds", x.dtype());
  const FloatInfo range = finfo(x.dtype());
  require(from >= range.min && from <= range.max, "from is out of bounds for {}", info(x.dtype()).scalar_name);
  require(to >= range.min && to <= range.max, "to is out of bounds for {}", info(x.dtype()).scalar_name);
  require(from <= to, "uniform_ expects to return a [from, to) range, but found from={} > to={}", from, to);
  require(to - from <= range.max,
          "uniform_ expects to-from <= std::numeric_limits<{}>::max(), but found to={} and from={} which result in to-from to "
          "exceed the limit",
          info(x.dtype()).scalar_name, to, from);
  fill(x, Kind::uniform, In(from, where), In(to, where), generator, where);
  return x;
}

Tensor& RandomMethods::normal_(double mean, double deviation, Generator* generator, std::source_location where) {
  Tensor& x = self_of(this);
  const GradientScope scope(written_name(self_of(this), GradientName::NormalBackward0));
  require_floating("normal_kernel_cpu", x.dtype());
  require_deviation(deviation);
  fill(x, x.is_contiguous() ? Kind::normal : Kind::normal_serial, In(mean, where), In(deviation, where), generator, where);
  return x;
}

Tensor& RandomMethods::log_normal_(double mean, double deviation, Generator* generator, std::source_location where) {
  Tensor& x = self_of(this);
  const GradientScope scope(written_name(self_of(this), GradientName::LogNormalBackward0));
  require_floating("log_normal_cpu", x.dtype());
  require(deviation > 0, "log_normal_ expects std > 0.0, but found std={}", deviation);
  fill(x, Kind::log_normal, In(mean, where), In(deviation, where), generator, where);
  return x;
}

Tensor& RandomMethods::exponential_(double rate, Generator* generator, std::source_location where) {
  Tensor& x = self_of(this);
  const GradientScope scope(written_name(self_of(this), GradientName::ExponentialBackward0));
  require(is_float(x.dtype()),
          "Exponential distribution is a continuous probability distribution. dtype must be a floating point but you specified {}",
          info(x.dtype()).scalar_name);
  require(rate > 0, "exponential_ expects lambda > 0.0, but found lambda={}", rate);
  fill(x, Kind::exponential, In(rate, where), In(0.0, where), generator, where);
  return x;
}

Tensor& RandomMethods::cauchy_(double median, double sigma, Generator* generator, std::source_location where) {
  Tensor& x = self_of(this);
  const GradientScope scope(written_name(self_of(this), GradientName::CauchyBackward0));
  require(is_float(x.dtype()),
          "Cauchy distribution is a continuous probability distribution. dtype must be a floating point but you specified {}",
          info(x.dtype()).scalar_name);
  require(sigma > 0, "cauchy_ expects sigma > 0.0, but found sigma={}", sigma);
  fill(x, Kind::cauchy, In(median, where), In(sigma, where), generator, where);
  return x;
}

Tensor& RandomMethods::geometric_(double probability, Generator* generator, std::source_location where) {
  Tensor& x = self_of(this);
  const GradientScope scope(written_name(self_of(this), GradientName::GeometricBackward0));
  require(probability > 0 && probability < 1, "geometric_ expects p to be in (0, 1), but got p={}", probability);
  if (x.dtype() == DType::boolean) fail<NotImplementedError>("\"geometric_cpu\" not implemented for 'Bool'");
  fill(x, Kind::geometric, In(probability, where), In(0.0, where), generator, where);
  return x;
}

Tensor& RandomMethods::bernoulli_(const In& probability, Generator* generator) {
  Tensor& x = self_of(this);
  const GradientScope scope(written_name(self_of(this), GradientName::BernoulliBackward2));
  if (probability.is_scalar()) require_probability("bernoulli_", probability.scalar().to_double());
  const double bits = probability.is_scalar() ? 53 : probability_bits(probability.tensor().dtype());
  fill(x, Kind::bernoulli, probability, In(bits, probability.where()), generator, probability.where());
  return x;
}

Tensor& RandomMethods::random_(Generator* generator, std::source_location where) {
  Tensor& x = self_of(this);
  const GradientScope scope(written_name(self_of(this), GradientName::RandomBackward2));
  fill(x, Kind::random, In(0, where), In(0, where), generator, where);
  return x;
}

Tensor& RandomMethods::random_(std::int64_t to, Generator* generator, std::source_location where) {
  return random_(0, to, generator, where);
}

Tensor& RandomMethods::random_(std::int64_t from, std::optional<std::int64_t> to, Generator* generator,
                               std::source_location where) {
  Tensor& x = self_of(this);
  const GradientScope scope(written_name(self_of(this), GradientName::RandomBackward2));
  if (to) {
    require_range(from, *to, x.dtype());
    fill(x, Kind::randint, In(from, where), In(*to, where), generator, where);
  } else if (x.dtype() == DType::i64) {
    fill(x, Kind::randint_to_end, In(from, where), In(0, where), generator, where);
  } else {
    const auto end = static_cast<std::int64_t>(exact_range(x.dtype()).second) + 1;
    fill(x, Kind::randint, In(from, where), In(end, where), generator, where);
  }
  return x;
}

Tensor RandomMethods::bernoulli(Generator* generator, std::source_location where) const {
  return braze::bernoulli(In(self_of(this), where), RandomOptions{.dtype = {}, .generator = generator, .where = where});
}
Tensor RandomMethods::bernoulli(double probability, Generator* generator, std::source_location where) const {
  return braze::bernoulli(In(self_of(this), where), probability,
                          RandomOptions{.dtype = {}, .generator = generator, .where = where});
}
Tensor RandomMethods::multinomial(std::int64_t samples, bool replacement, Generator* generator, std::source_location where) const {
  return braze::multinomial(In(self_of(this), where), samples, replacement,
                            RandomOptions{.dtype = {}, .generator = generator, .where = where});
}

}  // namespace braze
