// Datasets, samplers and loaders: orders under a seed as PyTorch 2.15 gives them; worker threads.
#include "braze/data.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <fstream>
#include <thread>

#include "braze/braze.h"
#include "tests/catch.h"
#include "tests/frontend/values.h"

using namespace braze;
using namespace braze::test;

namespace {

using Rows = std::vector<std::vector<std::int64_t>>;

template <class Loader>
Rows rows(const Loader& loader) {
  Rows all;
  for (const auto& [batch] : loader) all.push_back(batch.template to_vector<std::int64_t>());
  return all;
}
data::Indices drawn(const data::Sampler& sampler) {
  data::Indices all;
  const auto stream = sampler.start();
  while (const auto index = stream->next()) all.push_back(*index);
  return all;
}

// The number itself, after a rest.
struct Slow {
  std::int64_t count = 8;
  std::chrono::milliseconds rest{0};
  std::int64_t fails_at = -1;
  std::int64_t size() const { return count; }
  std::int64_t get(std::int64_t i) const {
    std::this_thread::sleep_for(rest);
    if (i == fails_at) throw ValueError("item " + std::to_string(i));
    return i;
  }
};

int threads() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("Threads:")) return std::stoi(line.substr(8));
  return 0;
}

}  // namespace

TEST_CASE("data: orders under a seed") {
  const data::TensorDataset ten(arange(10));
  manual_seed(5);
  CHECK(rows(data::DataLoader(ten, {.batch_size = 4, .shuffle = true})) == Rows{{8, 3, 0, 5}, {9, 1, 6, 2}, {4, 7}});
  CHECK(rand({1}).item<double>() == Approx(0.9201034307479858));
  const auto generator = std::make_shared<Generator>();
  generator->manual_seed(3);
  CHECK(rows(data::DataLoader(ten, {.batch_size = 3, .shuffle = true, .drop_last = true, .generator = generator})) ==
        Rows{{7, 4, 2}, {9, 1, 5}, {0, 8, 6}});
  CHECK(rand({1}, {.generator = generator.get()}).item<double>() == Approx(0.6483104228973389));
  manual_seed(5);
  const auto parts = data::random_split(ten, {0.5, 0.3, 0.2});
  CHECK(parts[0].indices() == data::Indices{1, 4, 9, 6, 3});
  CHECK(parts[1].indices() == data::Indices{5, 0, 2});
  CHECK(parts[2].indices() == data::Indices{8, 7});
  CHECK(rows(data::DataLoader(parts[1], {.batch_size = 2})) == Rows{{5, 0}, {2}});
  manual_seed(5);
  CHECK(drawn(data::RandomSampler(10, {.num_samples = 25})) ==
        data::Indices{7, 6, 5, 4, 8, 3, 2, 9, 0, 1, 8, 5, 1, 0, 2, 7, 3, 6, 4, 9, 1, 5, 6, 7, 3});
  manual_seed(5);
  CHECK(drawn(data::RandomSampler(10, {.replacement = true, .num_samples = 7})) == data::Indices{7, 4, 9, 4, 6, 8, 2});
  manual_seed(5);
  CHECK(drawn(data::WeightedRandomSampler({1, 2, 3, 4}, 6)) == data::Indices{3, 1, 2, 2, 1, 3});
  manual_seed(5);
  CHECK(drawn(data::SubsetRandomSampler({5, 6, 7, 8})) == data::Indices{8, 6, 5, 7});
}

TEST_CASE("data: batches have the structure of items") {
  struct Mixed {
    std::int64_t size() const { return 3; }
    std::tuple<Tensor, double, std::vector<Tensor>> get(std::int64_t i) const {
      return {full({2}, static_cast<double>(i)), 0.5 * static_cast<double>(i), {ones({1}), zeros({})}};
    }
  };
  for (const auto& [tensors, numbers, list] : data::DataLoader(Mixed(), {.batch_size = 3})) {
    CHECK(tensors.sizes() == Sizes{3, 2});
    CHECK(numbers.dtype() == float64);
    CHECK(numbers.template to_vector<double>() == std::vector<double>{0, 0.5, 1});
    REQUIRE(list.size() == 2);
    CHECK(list[0].sizes() == Sizes{3, 1});
  }
  std::vector<double> sums;
  const auto sum = [](std::span<const std::int64_t> items) {
    double all = 0;
    for (const std::int64_t i : items) all += static_cast<double>(i);
    return all;
  };
  for (const double batch : data::DataLoader(Slow(), {.batch_size = 3}, sum)) sums.push_back(batch);
  CHECK(sums == std::vector<double>{3, 12, 13});
}

TEST_CASE("data: bad input") {
  CHECK(refused<ValueError>([] { data::TensorDataset(zeros({3}), zeros({4, 2})); }) ==
        "Size mismatch between tensors: their first dims are 3, 4");
  CHECK(refused<ValueError>([] { data::DataLoader(Slow(), {.batch_size = 0}); }) ==
        "batch_size should be a positive integer value, but got batch_size=0");
  CHECK(refused<ValueError>([] { data::random_split(Slow(), {3, 4}); }) ==
        "Sum of input lengths does not equal the length of the input dataset!");
  CHECK(refused<IndexError>([] { data::TensorDataset(zeros({3})).get(3); }) ==
        "index 3 is out of bounds for dimension 0 with size 3");
  struct Ragged {
    std::int64_t size() const { return 2; }
    std::vector<Tensor> get(std::int64_t i) const { return std::vector<Tensor>(static_cast<std::size_t>(i + 1), ones({})); }
  };
  CHECK(refused<Error>([] { data::DataLoader(Ragged(), {.batch_size = 2}).begin(); }) ==
        "each element in list of batch should be of equal size, but the sizes are 1, 2");
}

TEST_CASE("data: workers keep the order, and work at the same time") {
  const auto seconds = [](std::int64_t workers) {
    const data::DataLoader loader(Slow{48, std::chrono::milliseconds(5)}, {.batch_size = 4, .num_workers = workers});
    const auto start = std::chrono::steady_clock::now();
    std::vector<std::int64_t> all;
    for (const Tensor& batch : loader)
      for (const std::int64_t i : batch.to_vector<std::int64_t>()) all.push_back(i);
    const double took = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    CHECK(all == arange(48).to_vector<std::int64_t>());
    return took;
  };
  // The quickest of some runs of each, by turns: a busy machine slows single runs, and more of those with many threads.
  double alone = seconds(0), together = seconds(4);
  for (int more = 0; more < 8 && alone < 3.5 * together; ++more) {
    alone = std::min(alone, seconds(0));
    together = std::min(together, seconds(4));
  }
  CHECK(alone > 3 * together);
}

TEST_CASE("data: a worker's exception comes where its batch would have, and no thread is left behind") {
  const int before = threads();
  {
    const data::DataLoader loader(Slow{20, std::chrono::milliseconds(1), 9}, {.batch_size = 4, .num_workers = 3});
    std::int64_t seen = 0;
    CHECK(refused<ValueError>([&] {
            for (const Tensor& batch : loader) seen += batch.numel();
          }) == "item 9");
    CHECK(seen == 8);
  }
  for (int round = 0; round < 5; ++round) {
    const data::DataLoader loader(Slow{1000, std::chrono::milliseconds(1)}, {.batch_size = 10, .num_workers = 4});
    for (const Tensor& batch : loader) {
      CHECK(batch.numel() == 10);
      break;
    }
  }
  CHECK(threads() <= before);
}
