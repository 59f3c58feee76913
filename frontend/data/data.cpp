// The parts of braze/data.h that no dataset's type is in: checks, samplers, worker threads.
#include "braze/data.h"

#include <algorithm>
#include <cmath>
#include <condition_variable>
#include <mutex>
#include <numeric>
#include <thread>

#include "ir/error.h"

namespace braze::data {

namespace detail {

Tensor stacked(std::span<const Tensor> items) { return stack(items); }

void require_equal_lengths(std::span<const std::size_t> lengths) {
  require(std::all_of(lengths.begin(), lengths.end(), [&](std::size_t n) { return n == lengths[0]; }),
          "each element in list of batch should be of equal size, but the sizes are {}", fmt::join(lengths, ", "));
}

void require_rows(std::span<const Tensor> tensors) {
  std::vector<std::int64_t> rows;
  for (const Tensor& tensor : tensors) rows.push_back(tensor.size(0));
  require<ValueError>(std::all_of(rows.begin(), rows.end(), [&](std::int64_t n) { return n == rows[0]; }),
                      "Size mismatch between tensors: their first dims are {}", fmt::join(rows, ", "));
}

void require_stackable(std::int64_t a, std::int64_t b) {
  require<ValueError>(a == b, "Size mismatch between datasets: their lengths are {}, {}", a, b);
}

std::int64_t checked(std::int64_t index, std::int64_t size) {
  require<IndexError>(index >= -size && index < size, "index {} is out of bounds for dimension 0 with size {}", index, size);
  return index < 0 ? index + size : index;
}

}  // namespace detail

Indices split_sizes(std::int64_t n, std::span<const double> lengths) {
  const double sum = std::accumulate(lengths.begin(), lengths.end(), 0.0);
  Indices sizes;
  if (std::abs(sum - 1) <= 1e-9 && sum <= 1) {
    for (std::size_t i = 0; i < lengths.size(); ++i) {
      require<ValueError>(lengths[i] >= 0 && lengths[i] <= 1, "Fraction at index {} is not between 0 and 1", i);
      sizes.push_back(static_cast<std::int64_t>(std::floor(static_cast<double>(n) * lengths[i])));
    }
    const std::int64_t rest = n - std::accumulate(sizes.begin(), sizes.end(), std::int64_t{0});
    for (std::int64_t i = 0; i < rest; ++i) ++sizes[static_cast<std::size_t>(i) % sizes.size()];
  } else {
    for (const double length : lengths) {
      require<ValueError>(length >= 0 && length == std::trunc(length), "a length is a number of items, not {}", length);
      sizes.push_back(static_cast<std::int64_t>(length));
    }
  }
  require<ValueError>(std::accumulate(sizes.begin(), sizes.end(), std::int64_t{0}) == n,
                      "Sum of input lengths does not equal the length of the input dataset!");
  return sizes;
}

// ---- samplers ----

namespace {

// A seed drawn from the generator, or the default one.
std::int64_t draw_seed(Generator* generator) { return empty({}, {int64}).random_(generator).item<std::int64_t>(); }

// Indices that come in lists, each made when the one before is used up; an empty list is the end.
class Listed : public IndexStream {
 public:
  explicit Listed(std::function<Indices()> more) : more_(std::move(more)) {}
  std::optional<std::int64_t> next() override {
    if (at_ == list_.size()) {
      list_ = more_();
      at_ = 0;
      if (list_.empty()) return std::nullopt;
    }
    return list_[at_++];
  }

 private:
  std::function<Indices()> more_;
  Indices list_;
  std::size_t at_ = 0;
};

std::unique_ptr<IndexStream> once(std::function<Indices()> all) {
  return std::make_unique<Listed>(
      [all = std::move(all), done = false]() mutable { return std::exchange(done, true) ? Indices() : all(); });
}

}  // namespace

std::unique_ptr<IndexStream> SequentialSampler::start() const {
  return once([n = size_] {
    Indices all(static_cast<std::size_t>(n));
    std::iota(all.begin(), all.end(), 0);
    return all;
  });
}

RandomSampler::RandomSampler(std::int64_t size, RandomSamplerOptions options) : size_(size), options_(std::move(options)) {
  require<ValueError>(this->size() > 0, "num_samples should be a positive integer value, but got num_samples={}", this->size());
  require<ValueError>(size > 0, "nothing to draw from: the size is {}", size);
}

std::unique_ptr<IndexStream> RandomSampler::start() const {
  // As in PyTorch the generator of a pass is seeded when its first index is asked for.
  return std::make_unique<Listed>([n = size_, left = size(), replacement = options_.replacement, generator = options_.generator,
                                   ended = false]() mutable -> Indices {
    if (ended) return {};
    if (!generator) {
      generator = std::make_shared<Generator>();
      generator->manual_seed(draw_seed(nullptr));
    }
    // PyTorch takes draws with replacement 32 at a time, and of permutations always one more than whole ones are needed.
    if (replacement) {
      const std::int64_t count = std::min<std::int64_t>(left, 32);
      left -= count;
      if (count == 0) return {};
      return randint(n, {count}, {.dtype = int64, .generator = generator.get()}).to_vector<std::int64_t>();
    }
    Indices drawn = randperm(n, {.dtype = {}, .generator = generator.get()}).to_vector<std::int64_t>();
    if (left < n) drawn.resize(static_cast<std::size_t>(left));
    ended = left < n;
    left -= static_cast<std::int64_t>(drawn.size());
    return drawn;
  });
}

std::unique_ptr<IndexStream> SubsetRandomSampler::start() const {
  return once([indices = indices_, generator = generator_] {
    Indices order =
        randperm(static_cast<std::int64_t>(indices.size()), {.dtype = {}, .generator = generator.get()}).to_vector<std::int64_t>();
    for (std::int64_t& i : order) i = indices[static_cast<std::size_t>(i)];
    return order;
  });
}

WeightedRandomSampler::WeightedRandomSampler(const std::vector<double>& weights, std::int64_t num_samples, bool replacement,
                                             std::shared_ptr<Generator> generator)
    : weights_(from_data(weights.data(), {static_cast<std::int64_t>(weights.size())})),
      num_samples_(num_samples),
      replacement_(replacement),
      generator_(std::move(generator)) {
  require<ValueError>(num_samples > 0, "num_samples should be a positive integer value, but got num_samples={}", num_samples);
}

std::unique_ptr<IndexStream> WeightedRandomSampler::start() const {
  return once([weights = weights_, count = num_samples_, replacement = replacement_, generator = generator_] {
    return weights.multinomial(count, replacement, generator.get()).to_vector<std::int64_t>();
  });
}

namespace detail {

// ---- batches ----

void BatchSource::check(const DataLoaderOptions& o) {
  require<ValueError>(o.batch_size > 0, "batch_size should be a positive integer value, but got batch_size={}", o.batch_size);
  require<ValueError>(o.num_workers >= 0,
                      "num_workers option should be non-negative; use num_workers=0 to disable multiprocessing.");
  require<ValueError>(o.prefetch_factor > 0, "prefetch_factor option should be positive, but got {}", o.prefetch_factor);
  require<ValueError>(!(o.sampler && o.shuffle), "sampler option is mutually exclusive with shuffle");
}

BatchSource::BatchSource(std::int64_t size, const DataLoaderOptions& o)
    : batch_size_(o.batch_size), drop_last_(o.drop_last), sampler_(o.sampler) {
  if (!sampler_) {
    if (o.shuffle)
      sampler_ = std::make_shared<RandomSampler>(size, RandomSamplerOptions{.generator = o.generator});
    else
      sampler_ = std::make_shared<SequentialSampler>(size);
  }
  stream_ = sampler_->start();
  draw_seed(o.generator.get());  // PyTorch's seed of the workers: what is drawn later depends on it
}

std::optional<Indices> BatchSource::next() {
  Indices batch;
  while (static_cast<std::int64_t>(batch.size()) < batch_size_) {
    const std::optional<std::int64_t> index = stream_->next();
    if (!index) break;
    batch.push_back(*index);
  }
  if (batch.empty() || (drop_last_ && static_cast<std::int64_t>(batch.size()) < batch_size_)) return std::nullopt;
  return batch;
}

std::int64_t batches(std::int64_t size, const DataLoaderOptions& o) {
  const std::int64_t items = o.sampler ? o.sampler->size() : size;
  return o.drop_last ? items / o.batch_size : (items + o.batch_size - 1) / o.batch_size;
}

// ---- worker threads ----

struct Workers::State {
  struct Worker {
    std::mutex mutex;
    std::condition_variable_any ready;
    std::deque<std::function<void(std::stop_token)>> tasks;
    std::jthread thread;  // ends first
  };
  std::vector<std::unique_ptr<Worker>> all;
};

Workers::Workers(std::size_t count) : state_(std::make_unique<State>()) {
  for (std::size_t i = 0; i < count; ++i) {
    auto& worker = *state_->all.emplace_back(std::make_unique<State::Worker>());
    worker.thread = std::jthread([&worker](const std::stop_token& stop) {
      while (true) {
        std::function<void(std::stop_token)> task;
        {
          std::unique_lock lock(worker.mutex);
          if (!worker.ready.wait(lock, stop, [&] { return !worker.tasks.empty(); }) || stop.stop_requested()) return;
          task = std::move(worker.tasks.front());
          worker.tasks.pop_front();
        }
        task(stop);
      }
    });
  }
}

// All are told before one is waited for.
Workers::~Workers() {
  for (const auto& worker : state_->all) worker->thread.request_stop();
}

void Workers::submit(std::size_t worker, std::function<void(std::stop_token)> task) {
  auto& to = *state_->all[worker];
  {
    const std::lock_guard lock(to.mutex);
    to.tasks.push_back(std::move(task));
  }
  to.ready.notify_one();
}

}  // namespace detail

}  // namespace braze::data
