// Samplers: the order in which items are read. https://pytorch.org/docs/stable/data.html#data-loading-order-and-sampler
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "braze/data/dataset.h"
#include "braze/random.h"
#include "braze/tensor.h"

namespace braze::data {

// The indices of one pass, a few at a time: none is the end.
class IndexStream {
 public:
  virtual ~IndexStream() = default;
  virtual std::optional<std::int64_t> next() = 0;
};

// A sampler starts passes. https://pytorch.org/docs/stable/data.html#data-loading-order-and-sampler
class Sampler {
 public:
  virtual ~Sampler() = default;
  virtual std::unique_ptr<IndexStream> start() const = 0;
  virtual std::int64_t size() const = 0;
};

class SequentialSampler : public Sampler {
 public:
  explicit SequentialSampler(std::int64_t size) : size_(size) {}
  std::unique_ptr<IndexStream> start() const override;
  std::int64_t size() const override { return size_; }

 private:
  std::int64_t size_;
};

struct RandomSamplerOptions {
  bool replacement = false;                      // each index is drawn from all
  std::optional<std::int64_t> num_samples = {};  // as many as there are; more start over
  std::shared_ptr<Generator> generator = nullptr;
};
class RandomSampler : public Sampler {
 public:
  // Throws ValueError unless there is something to draw.
  explicit RandomSampler(std::int64_t size, RandomSamplerOptions options = {});
  std::unique_ptr<IndexStream> start() const override;
  std::int64_t size() const override { return options_.num_samples.value_or(size_); }

 private:
  std::int64_t size_;
  RandomSamplerOptions options_;
};

// The given indices in random order.
class SubsetRandomSampler : public Sampler {
 public:
  explicit SubsetRandomSampler(Indices indices, std::shared_ptr<Generator> generator = nullptr)
      : indices_(std::move(indices)), generator_(std::move(generator)) {}
  std::unique_ptr<IndexStream> start() const override;
  std::int64_t size() const override { return static_cast<std::int64_t>(indices_.size()); }

 private:
  Indices indices_;
  std::shared_ptr<Generator> generator_;
};

// Indices drawn in proportion to `weights`.
class WeightedRandomSampler : public Sampler {
 public:
  WeightedRandomSampler(const std::vector<double>& weights, std::int64_t num_samples, bool replacement = true,
                        std::shared_ptr<Generator> generator = nullptr);
  std::unique_ptr<IndexStream> start() const override;
  std::int64_t size() const override { return num_samples_; }

 private:
  Tensor weights_;
  std::int64_t num_samples_;
  bool replacement_;
  std::shared_ptr<Generator> generator_;
};

}  // namespace braze::data
