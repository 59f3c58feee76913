// `./dev ulp`: how far ir/math.h is from the exact result, in units of the last place.
//
// f32: all 2^32 inputs. f64: random inputs, a fifth each from all exponents, from exponents near 0, from next to +-1, even in
// [-760, 760], and within 64 places of where an algorithm changes over (multiples of ln 2 / 2 and 1/2, 3/4 2^k, 3/4 2^k - 1). The reference is the system's libm one format wider (double, long double), which is within 0.002 ULP
// here; whatever comes within 0.02 ULP of the bound, and the worst input of each function, is decided by MPFR with 300 bits.
// NaN, infinities and signs of zeros must agree exactly.
//
// An error is |result - exact| / (spacing of the format's numbers at the exact value); an infinite result counts as 2^emax.
#include <fmt/format.h>
#include <mpfr.h>

#include <atomic>
#include <bit>
#include <cmath>
#include <concepts>
#include <cstring>
#include <limits>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "ir/math.h"

namespace {

using braze::ir::Number;
namespace math = braze::ir::math;

constexpr double bound = 1.0, doubt = 0.02;
constexpr std::size_t batch = 1 << 14;

// ---- the functions ----

// std::fma and std::rint are calls unless the compiler may use the instruction; the results are the same.
template <class T, class F>
[[gnu::flatten]] void run_plain(const T* in, T* out, F f) {
  for (std::size_t i = 0; i < batch; ++i) out[i] = f(Number<T>{in[i]}).value;
}
#ifdef __x86_64__
template <class T, class F>
[[gnu::flatten, gnu::target("avx2,fma")]] void run_fma(const T* in, T* out, F f) {
  for (std::size_t i = 0; i < batch; ++i) out[i] = f(Number<T>{in[i]}).value;
}
#endif
template <class T, class F>
void run(const T* in, T* out, F f) {
#ifdef __x86_64__
  static const bool has_fma = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  if (has_fma) return run_fma(in, out, f);
#endif
  run_plain(in, out, f);
}

template <class W>
W sigmoid_reference(W x) {
  return 1 / (1 + std::exp(-x));
}

int mpfr_sigmoid(mpfr_t out, mpfr_t x, mpfr_rnd_t mode) {
  mpfr_neg(out, x, mode);
  mpfr_exp(out, out, mode);
  mpfr_add_ui(out, out, 1, mode);
  return mpfr_ui_div(out, 1, out, mode);
}

struct Function {
  std::string name;
  void (*f32)(const float*, float*);
  void (*f64)(const double*, double*);
  void (*reference32)(const float*, double*);
  long double (*reference64)(long double);
  int (*exact)(mpfr_t, mpfr_t, mpfr_rnd_t);
};

// None where only f32 has a function of ours.
template <class F>
constexpr auto f64_of(F) -> void (*)(const double*, double*) {
  if constexpr (std::invocable<F, Number<double>>)
    return [](const double* in, double* out) { run(in, out, F{}); };
  else
    return nullptr;
}

#define BRAZE_FUNCTION(name, wide, mpfr)                                                                                \
  Function {                                                                                                            \
    #name, [](const float* in, float* out) { run(in, out, [](auto x) { return math::name(x); }); },                     \
        f64_of([](auto x) -> decltype(math::name(x)) { return math::name(x); }),                                        \
        [](const float* in, double* out) {                                                                              \
          for (std::size_t i = 0; i < batch; ++i) out[i] = wide(static_cast<double>(in[i]));                            \
        },                                                                                                              \
        [](long double x) { return wide(x); }, [](mpfr_t out, mpfr_t x, mpfr_rnd_t mode) { return mpfr(out, x, mode); } \
  }

const Function functions[] = {
    BRAZE_FUNCTION(exp, std::exp, mpfr_exp),
    BRAZE_FUNCTION(exp2, std::exp2, mpfr_exp2),
    BRAZE_FUNCTION(expm1, std::expm1, mpfr_expm1),
    BRAZE_FUNCTION(log, std::log, mpfr_log),
    BRAZE_FUNCTION(log1p, std::log1p, mpfr_log1p),
    BRAZE_FUNCTION(tanh, std::tanh, mpfr_tanh),
    BRAZE_FUNCTION(sigmoid, sigmoid_reference, mpfr_sigmoid),
    BRAZE_FUNCTION(erf, std::erf, mpfr_erf),
};

// ---- errors ----

constexpr double wrong = std::numeric_limits<double>::infinity();  // NaN, infinity or sign of zero differ

// The spacing of T's numbers at `exact`.
template <class T, class W>
W spacing(W exact) {
  using Limits = std::numeric_limits<T>;
  const int exponent = std::max(std::ilogb(exact), Limits::min_exponent - 1);
  return std::ldexp(W{1}, exponent - (Limits::digits - 1));
}

template <class T, class W>
double error_against(T result, W exact) {
  using Limits = std::numeric_limits<T>;
  if (std::isnan(exact) || std::isnan(result)) return std::isnan(exact) == std::isnan(result) ? 0 : wrong;
  if (exact == 0) return result == 0 && std::signbit(result) == std::signbit(exact) ? 0 : wrong;
  if (result == static_cast<T>(exact) && std::isinf(result)) return 0;
  if (std::isinf(exact)) return wrong;
  if (result == 0 && std::signbit(result) != std::signbit(exact)) return wrong;
  const W overflow = std::ldexp(W{1}, Limits::max_exponent);
  const W value = std::isinf(result) ? std::copysign(overflow, static_cast<W>(result)) : static_cast<W>(result);
  return static_cast<double>(std::fabs(value - exact) / spacing<T>(std::fabs(exact) < overflow ? exact : overflow / 2));
}

// One a thread: MPFR numbers are not shared.
class Exact {
 public:
  Exact() { mpfr_inits2(300, x_, y_, nullptr); }
  ~Exact() { mpfr_clears(x_, y_, nullptr); }
  Exact(const Exact&) = delete;
  Exact& operator=(const Exact&) = delete;

  template <class T>
  double error(const Function& f, T x, T result) {
    mpfr_set_d(x_, static_cast<double>(x), MPFR_RNDN);
    f.exact(y_, x_, MPFR_RNDN);
    if (!mpfr_regular_p(y_) || !std::isfinite(result)) return error_against(result, mpfr_get_ld(y_, MPFR_RNDN));
    const long double size = std::fabs(mpfr_get_ld(y_, MPFR_RNDZ));
    mpfr_sub_d(y_, y_, static_cast<double>(result), MPFR_RNDN);
    mpfr_div_d(y_, y_, static_cast<double>(spacing<T>(size)), MPFR_RNDN);
    return std::fabs(mpfr_get_d(y_, MPFR_RNDN));
  }

 private:
  mpfr_t x_, y_;
};

template <class T>
struct Worst {
  double error = -1;
  T input = 0, result = 0;
  void take(double e, T x, T y) {
    if (e > error) *this = {e, x, y};
  }
  void take(const Worst& other) { take(other.error, other.input, other.result); }
};

// ---- the two sweeps ----

struct Options {
  unsigned threads = std::max(1u, std::thread::hardware_concurrency());
  std::uint32_t stride = 1;             // f32: every stride-th input
  std::uint64_t samples = 100'000'000;  // f64
  std::uint64_t seed = 1;
  std::string only;
};

// Calls work(index of a batch, worst) for `batches` batches on all threads.
template <class T, class Work>
Worst<T> sweep(const Options& options, std::uint64_t batches, Work work) {
  std::atomic<std::uint64_t> next = 0;
  std::mutex mutex;
  Worst<T> worst;
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < options.threads; ++t)
    threads.emplace_back([&] {
      Worst<T> mine;
      Exact exact;
      for (std::uint64_t b; (b = next.fetch_add(1)) < batches;) work(b, mine, exact);
      const std::lock_guard lock(mutex);
      worst.take(mine);
    });
  for (std::thread& t : threads) t.join();
  return worst;
}

template <class T>
double decided(double error, const Function& f, T x, T y, Exact& exact) {
  return error > bound - doubt && error != wrong ? exact.error(f, x, y) : error;
}

Worst<float> sweep_f32(const Function& f, const Options& options) {
  const std::uint64_t inputs = (std::uint64_t{1} << 32) / options.stride, batches = (inputs + batch - 1) / batch;
  return sweep<float>(options, batches, [&](std::uint64_t b, Worst<float>& worst, Exact& exact) {
    thread_local std::vector<float> in(batch), out(batch);
    thread_local std::vector<double> reference(batch);
    for (std::size_t i = 0; i < batch; ++i)
      in[i] = std::bit_cast<float>(static_cast<std::uint32_t>((b * batch + i) * options.stride));
    f.f32(in.data(), out.data());
    f.reference32(in.data(), reference.data());
    for (std::size_t i = 0; i < batch; ++i) {
      const double error = error_against(out[i], reference[i]);
      if (error > worst.error) worst.take(decided(error, f, in[i], out[i], exact), in[i], out[i]);
    }
  });
}

double sample(std::mt19937_64& random) {
  const std::uint64_t bits = random(), sign = bits << 63, mantissa = random() >> 12;
  const int number = static_cast<int>((bits >> 8) % 2048);
  const auto with_exponent = [&](int e) {
    return std::bit_cast<double>(sign | (static_cast<std::uint64_t>(e + 1023) << 52) | mantissa);
  };
  const auto signed_by_bits = [&](double x) { return std::copysign(x, sign ? -1.0 : 1.0); };
  switch ((bits >> 20) % 5) {
    case 0:
      return std::bit_cast<double>(random());  // all exponents, NaN and infinities
    case 1:
      return with_exponent(number % 44 - 32);
    case 2:
      return ((bits & 2) ? 1.0 : -1.0) + std::ldexp(with_exponent(0), -1 - number % 52);
    case 3:
      return signed_by_bits(static_cast<double>(mantissa) * 0x1p-52 * 760);
    default: {
      const double changes[] = {number * (std::log(2.0) / 2), number * 0.5, std::ldexp(0.75, number % 120 - 60),
                                std::ldexp(0.75, number % 120 - 60) - 1};
      const double x = signed_by_bits(changes[(bits >> 30) % 4]);
      return std::bit_cast<double>(std::bit_cast<std::uint64_t>(x) + (mantissa % 129) - 64);
    }
  }
}

Worst<double> sweep_f64(const Function& f, const Options& options) {
  return sweep<double>(options, (options.samples + batch - 1) / batch, [&](std::uint64_t b, Worst<double>& worst, Exact& exact) {
    thread_local std::vector<double> in(batch), out(batch);
    std::mt19937_64 random(options.seed * 0x9e3779b97f4a7c15 + b);
    for (double& x : in) x = sample(random);
    f.f64(in.data(), out.data());
    for (std::size_t i = 0; i < batch; ++i) {
      const double error = error_against(out[i], f.reference64(in[i]));
      if (error > worst.error) worst.take(decided(error, f, in[i], out[i], exact), in[i], out[i]);
    }
  });
}

template <class T>
bool report(const Function& f, const char* type, std::uint64_t inputs, Worst<T> worst) {
  Exact exact;
  if (worst.error != wrong) worst.error = exact.error(f, worst.input, worst.result);
  const bool good = worst.error <= bound;
  fmt::print("{:<8} {:<4} {:>11} {:>8.4f}   {:a} -> {:a}{}\n", f.name, type, inputs, worst.error, worst.input, worst.result,
             good ? "" : "   ABOVE THE BOUND");
  std::fflush(stdout);
  return good;
}

int usage() {
  fmt::print(stderr,
             "usage: ulp [--quick] [--only NAME] [--samples N] [--stride N] [--threads N] [--seed N]\n"
             "  --quick    every 509th f32 input and a million f64 samples, in seconds\n");
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string name = argv[i];
    const char* value = i + 1 < argc ? argv[i + 1] : nullptr;
    if (name == "--quick") {
      options.stride = 509;
      options.samples = 1'000'000;
      continue;
    }
    if (!value) return usage();
    if (name == "--only")
      options.only = value;
    else if (name == "--samples")
      options.samples = std::stoull(value);
    else if (name == "--stride")
      options.stride = static_cast<std::uint32_t>(std::max(1ul, std::stoul(value)));
    else if (name == "--threads")
      options.threads = static_cast<unsigned>(std::max(1ul, std::stoul(value)));
    else if (name == "--seed")
      options.seed = std::stoull(value);
    else
      return usage();
    ++i;
  }
  bool good = true;
  fmt::print("{:<8} {:<4} {:>11} {:>8}   {}\n", "function", "type", "inputs", "max ULP", "worst input -> result");
  for (const Function& f : functions) {
    if (!options.only.empty() && f.name != options.only) continue;
    good &= report(f, "f32", (std::uint64_t{1} << 32) / options.stride, sweep_f32(f, options));
    if (options.samples > 0 && f.f64) good &= report(f, "f64", options.samples, sweep_f64(f, options));
  }
  return good ? 0 : 1;
}
