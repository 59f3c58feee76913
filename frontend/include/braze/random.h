// Random draws, equal to PyTorch's CPU streams: after manual_seed(s) every draw gives what torch gives, in program order, whether
// or not an earlier one is ever read. Nothing is drawn until a value is needed. https://pytorch.org/docs/stable/random.html
#pragma once

#include <array>
#include <mutex>

#include "braze/creation.h"
#include "braze/tensor.h"

namespace braze {

// A stream of its own. https://pytorch.org/docs/stable/generated/torch.Generator.html
// Copies share the stream. Thread-safe: draws of several threads take their turns.
class Generator {
 public:
  Generator();  // seeded with 67280421310721, as torch's
  // A counter-based stream beside PyTorch's: Philox4x32-10, as Random123 has it. Draws with it are elementwise ops, so that they fuse
  // into what reads them, in parallel and without memory; its numbers are not those of torch's CPU generator. Element i of a draw is made
  // of the block whose key is `seed` and whose counter is the generator's offset plus i; a draw of n elements advances the offset by n.
  // No poisson draws; integers from ranges of at most 63 bits.
  static Generator philox(std::int64_t seed = 67280421310721, std::int64_t offset = 0);
  // Starts the stream anew; returns itself.
  Generator& manual_seed(std::int64_t seed);
  // Seeds from the system's entropy and returns the seed.
  std::uint64_t seed();
  std::uint64_t initial_seed() const;
  // u8[5056], torch.get_rng_state's bytes; of a counter-based one u8[16], seed and offset, as torch's CUDA generators have it.
  Tensor get_state() const;
  // Throws TypeError or Error unless `state` is such bytes.
  void set_state(const Tensor& state);

  // Internal: the state that draws read and replace.
  struct State;
  State& state() const { return *state_; }

 private:
  std::shared_ptr<State> state_;
};

// The four words that Philox4x32-10 makes of a counter and a key. Words are tensors of int64 that hold 32 bits; they broadcast. Throws
// TypeError for other dtypes. https://doi.org/10.1145/2063384.2063405
std::array<Tensor, 4> philox_4x32(const std::array<Tensor, 4>& counter, const std::array<Tensor, 2>& key);

// What draws use when no generator is given; one for all threads.
Generator& default_generator();
Generator& manual_seed(std::int64_t seed);
std::uint64_t seed();
std::uint64_t initial_seed();
Tensor get_rng_state();
void set_rng_state(const Tensor& state);

// While one lives, draws go on as usual; afterwards the default generator is where it was. torch.random.fork_rng.
class ForkRng {
 public:
  ForkRng() : before_(get_rng_state()) {}
  ~ForkRng();
  ForkRng(const ForkRng&) = delete;

 private:
  Tensor before_;
};

struct RandomOptions {
  std::optional<DType> dtype;      // the default dtype; int64 for randint and randperm
  Generator* generator = nullptr;  // the default one
  std::source_location where = std::source_location::current();
};

// [0, 1). Throws NotImplementedError for integer dtypes.
Tensor rand(SizesView sizes, RandomOptions options = {});
// Mean 0, standard deviation 1.
Tensor randn(SizesView sizes, RandomOptions options = {});
// [low, high). Throws Error where that is empty or outside the dtype.
Tensor randint(std::int64_t low, std::int64_t high, SizesView sizes, RandomOptions options = {});
inline Tensor randint(std::int64_t high, SizesView sizes, RandomOptions options = {}) { return randint(0, high, sizes, options); }
// 0 ... n - 1 in random order.
Tensor randperm(std::int64_t n, RandomOptions options = {});
// The same with the sizes, and unless given the dtype, of `other`.
Tensor rand_like(const Tensor& other, RandomOptions options = {});
Tensor randn_like(const Tensor& other, RandomOptions options = {});
Tensor randint_like(const Tensor& other, std::int64_t low, std::int64_t high, RandomOptions options = {});

// Tensors or numbers, broadcast together; `sizes` only where both are numbers. Throws Error for a negative deviation.
Tensor normal(const In& mean, const In& deviation, RandomOptions options = {});
Tensor normal(double mean, double deviation, SizesView sizes, RandomOptions options = {});
// 1 with the probability that each element says, else 0. One outside [0, 1] is an Error at evaluation.
Tensor bernoulli(const In& probability, RandomOptions options = {});
// The sizes of x, one probability.
Tensor bernoulli(const In& x, double probability, RandomOptions options = {});
// Rates an element, not negative.
Tensor poisson(const In& rate, RandomOptions options = {});
// Numbers of elements of each row drawn in proportion to the row's weights. Evaluates the weights, to check them.
Tensor multinomial(const In& weights, std::int64_t samples, bool replacement = false, RandomOptions options = {});

}  // namespace braze
