// Datasets, samplers, and the loader that makes batches. https://pytorch.org/docs/stable/data.html
//
//   data::TensorDataset dataset(x, y);
//   data::DataLoader loader(dataset, {.batch_size = 16, .shuffle = true});
//   for (auto [inputs, targets] : loader) ...
//
// A dataset is any type with `size()` and `get(i)`, which gives an item: a tensor, a number, or an array, pair, tuple or vector of such.
// Batches have the item's structure, with tensors and numbers stacked along a new first dim; or they are what a function of the items
// makes of them. Datasets and samplers are values: a loader has copies. Orders under a seed are PyTorch's.
//
// With num_workers, threads make batches ahead of the caller, who gets them in the same order; they call `get` and the function at the
// same time. An exception in one is thrown where its batch would have been given. The threads end with the pass over the loader, wherever
// that was left.
#pragma once

#include <array>
#include <concepts>
#include <deque>
#include <exception>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "braze/functions.h"
#include "braze/random.h"
#include "braze/tensor.h"

namespace braze::data {

using Indices = std::vector<std::int64_t>;

template <class D>
concept Dataset = requires(const D& dataset, std::int64_t i) {
  { dataset.size() } -> std::convertible_to<std::int64_t>;
  dataset.get(i);
};
template <Dataset D>
using ItemOf = std::remove_cvref_t<decltype(std::declval<const D&>().get(0))>;
// What makes a whole batch at once, which is quicker than one item after another.
template <class D>
concept BatchDataset =
    Dataset<D> && requires(const D& dataset, std::span<const std::int64_t> indices) { dataset.get_batch(indices); };

// ---- collating: items as a batch ----

Tensor stacked(std::span<const Tensor> items);
// Throws Error for lists of unequal lengths.
void require_equal_lengths(std::span<const std::size_t> lengths);

template <class Item>
auto collate(std::span<const Item> items);

namespace detail {

template <class T>
struct IsArray : std::false_type {};
template <class T, std::size_t N>
struct IsArray<std::array<T, N>> : std::true_type {};
template <class T>
struct IsTuple : std::false_type {};
template <class... T>
struct IsTuple<std::tuple<T...>> : std::true_type {};
template <class A, class B>
struct IsTuple<std::pair<A, B>> : std::true_type {};

// Part i of each item, as a batch.
template <std::size_t I, class Item>
auto collate_part(std::span<const Item> items) {
  std::vector<std::remove_cvref_t<decltype(std::get<I>(items[0]))>> parts;
  parts.reserve(items.size());
  for (const Item& item : items) parts.push_back(std::get<I>(item));
  return data::collate(std::span<const typename decltype(parts)::value_type>(parts));
}

}  // namespace detail

// PyTorch's default_collate. Integers give int64, floating numbers float64, bool bool.
template <class Item>
auto collate(std::span<const Item> items) {
  if constexpr (std::is_same_v<Item, Tensor>) {
    return stacked(items);
  } else if constexpr (std::is_same_v<Item, bool>) {
    std::unique_ptr<bool[]> values(new bool[items.size()]);
    for (std::size_t i = 0; i < items.size(); ++i) values[i] = items[i];
    return from_data(values.get(), {static_cast<std::int64_t>(items.size())});
  } else if constexpr (std::is_arithmetic_v<Item>) {
    using Wide = std::conditional_t<std::is_floating_point_v<Item>, double, std::int64_t>;
    const std::vector<Wide> values(items.begin(), items.end());
    return from_data(values.data(), {static_cast<std::int64_t>(values.size())});
  } else if constexpr (detail::IsArray<Item>::value) {
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      return std::array{detail::collate_part<I>(items)...};
    }(std::make_index_sequence<std::tuple_size_v<Item>>());
  } else if constexpr (detail::IsTuple<Item>::value) {
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      return std::tuple{detail::collate_part<I>(items)...};
    }(std::make_index_sequence<std::tuple_size_v<Item>>());
  } else if constexpr (requires { items[0][0], items[0].size(); }) {
    std::vector<std::size_t> lengths;
    for (const Item& item : items) lengths.push_back(item.size());
    require_equal_lengths(lengths);
    using Part = typename Item::value_type;
    std::vector<decltype(data::collate(std::span<const Part>()))> batch;
    for (std::size_t i = 0; i < lengths[0]; ++i) {
      std::vector<Part> parts;
      for (const Item& item : items) parts.push_back(item[i]);
      batch.push_back(data::collate(std::span<const Part>(parts)));
    }
    return batch;
  } else {
    return std::vector<Item>(items.begin(), items.end());
  }
}

// ---- datasets ----

void require_rows(std::span<const Tensor> tensors);
// Throws IndexError unless -size <= index < size; returns the index from the beginning.
std::int64_t checked(std::int64_t index, std::int64_t size);

// Item i is the i-th row of each tensor. Throws ValueError where their first dims differ.
// https://pytorch.org/docs/stable/data.html#torch.utils.data.TensorDataset
template <std::size_t N>
class TensorDataset {
 public:
  template <class... T>
    requires(sizeof...(T) == N && (std::convertible_to<T, Tensor> && ...))
  explicit TensorDataset(const T&... tensors) : tensors_{Tensor(tensors)...} {
    require_rows(tensors_);
  }
  std::int64_t size() const { return tensors_[0].size(0); }
  std::array<Tensor, N> get(std::int64_t index) const {
    const std::int64_t at = checked(index, size());
    return each([&](const Tensor& t) { return t.select(0, at); });
  }
  std::array<Tensor, N> get_batch(std::span<const std::int64_t> indices) const {
    for (const std::int64_t index : indices) checked(index, size());
    const Tensor rows = from_data(indices.data(), {static_cast<std::int64_t>(indices.size())});
    return each([&](const Tensor& t) { return t.index_select(0, rows); });
  }
  const std::array<Tensor, N>& tensors() const { return tensors_; }

 private:
  template <class F>
  std::array<Tensor, N> each(F function) const {
    std::array<Tensor, N> result;
    for (std::size_t i = 0; i < N; ++i) result[i] = function(tensors_[i]);
    return result;
  }
  std::array<Tensor, N> tensors_;
};
template <class... T>
TensorDataset(const T&...) -> TensorDataset<sizeof...(T)>;

// The items of a dataset that `indices` names. https://pytorch.org/docs/stable/data.html#torch.utils.data.Subset
template <Dataset D>
class Subset {
 public:
  Subset(D dataset, Indices indices) : dataset_(std::move(dataset)), indices_(std::move(indices)) {}
  std::int64_t size() const { return static_cast<std::int64_t>(indices_.size()); }
  ItemOf<D> get(std::int64_t index) const { return dataset_.get(at(index)); }
  auto get_batch(std::span<const std::int64_t> indices) const
    requires BatchDataset<D>
  {
    Indices chosen;
    for (const std::int64_t index : indices) chosen.push_back(at(index));
    return dataset_.get_batch(std::span<const std::int64_t>(chosen));
  }
  const D& dataset() const { return dataset_; }
  const Indices& indices() const { return indices_; }

 private:
  std::int64_t at(std::int64_t index) const { return indices_[static_cast<std::size_t>(checked(index, size()))]; }
  D dataset_;
  Indices indices_;
};

// Datasets one after the other. https://pytorch.org/docs/stable/data.html#torch.utils.data.ConcatDataset
template <Dataset D>
class ConcatDataset {
 public:
  explicit ConcatDataset(std::vector<D> datasets) : datasets_(std::move(datasets)) {}
  std::int64_t size() const {
    std::int64_t all = 0;
    for (const D& dataset : datasets_) all += dataset.size();
    return all;
  }
  ItemOf<D> get(std::int64_t index) const {
    index = checked(index, size());
    std::size_t which = 0;
    for (; index >= datasets_[which].size(); ++which) index -= datasets_[which].size();
    return datasets_[which].get(index);
  }

 private:
  std::vector<D> datasets_;
};

// Two datasets of one length side by side: item i is the pair of their items i. Throws ValueError where the lengths differ.
template <Dataset A, Dataset B>
class StackDataset {
 public:
  StackDataset(A first, B second) : first_(std::move(first)), second_(std::move(second)) {
    require_equal_sizes(first_.size(), second_.size());
  }
  std::int64_t size() const { return first_.size(); }
  std::pair<ItemOf<A>, ItemOf<B>> get(std::int64_t index) const { return {first_.get(index), second_.get(index)}; }

 private:
  static void require_equal_sizes(std::int64_t a, std::int64_t b);
  A first_;
  B second_;
};

// How many items each part has: numbers of items, or fractions of one, of which what rounding down leaves goes to the first, one each.
// Throws ValueError where the numbers do not add up to `n`.
Indices split_sizes(std::int64_t n, std::span<const double> lengths);

// Subsets of those sizes, drawn without repetition. https://pytorch.org/docs/stable/data.html#torch.utils.data.random_split
template <Dataset D>
std::vector<Subset<D>> random_split(const D& dataset, const std::vector<double>& lengths, Generator* generator = nullptr) {
  const Indices sizes = split_sizes(dataset.size(), lengths);
  const Indices order = randperm(dataset.size(), {.generator = generator}).template to_vector<std::int64_t>();
  std::vector<Subset<D>> parts;
  auto next = order.begin();
  for (const std::int64_t size : sizes) {
    parts.emplace_back(dataset, Indices(next, next + size));
    next += size;
  }
  return parts;
}

// ---- samplers: the order in which items are read ----

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
  bool replacement = false;                 // each index is drawn from all
  std::optional<std::int64_t> num_samples;  // as many as there are; more start over
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

// ---- the loader ----

struct DataLoaderOptions {
  std::int64_t batch_size = 1;
  bool shuffle = false;
  std::shared_ptr<const Sampler> sampler = nullptr;  // instead of shuffle
  std::int64_t num_workers = 0;
  bool drop_last = false;  // a last batch that is shorter
  std::shared_ptr<Generator> generator = nullptr;
  std::int64_t prefetch_factor = 2;  // batches ahead, for each worker
};

// A number of threads, each with a queue of its own. They end with the object: what is queued then is not run.
class Workers {
 public:
  explicit Workers(std::size_t count);
  ~Workers();
  Workers(const Workers&) = delete;
  void submit(std::size_t worker, std::function<void(std::stop_token)> task);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// The indices of one pass, batch by batch; throws ValueError for options that do not go together.
class BatchSource {
 public:
  BatchSource(std::int64_t size, const DataLoaderOptions& options);
  static void check(const DataLoaderOptions& options);
  std::optional<Indices> next();

 private:
  std::int64_t batch_size_;
  bool drop_last_;
  std::unique_ptr<IndexStream> stream_;
  std::shared_ptr<const Sampler> sampler_;
};
std::int64_t batches(std::int64_t size, const DataLoaderOptions& options);

namespace detail {

// Tensors in a batch, to be computed where it was made.
template <class Batch>
void gather(const Batch& batch, std::vector<Tensor>& out) {
  if constexpr (std::is_same_v<Batch, Tensor>)
    out.push_back(batch);
  else if constexpr (IsTuple<Batch>::value)
    std::apply([&](const auto&... each) { (gather(each, out), ...); }, batch);
  else if constexpr (requires { batch.begin(), batch.end(); })
    for (const auto& each : batch) gather(each, out);
}

struct DefaultCollate {};

}  // namespace detail

// Batches of a dataset; each pass starts anew. https://pytorch.org/docs/stable/data.html#torch.utils.data.DataLoader
template <Dataset D, class Collate = detail::DefaultCollate>
class DataLoader {
  static constexpr bool whole = BatchDataset<D> && std::is_same_v<Collate, detail::DefaultCollate>;

 public:
  explicit DataLoader(D dataset, DataLoaderOptions options = {}) : DataLoader(std::move(dataset), std::move(options), Collate()) {}
  // `collate` makes a batch of a span of items.
  DataLoader(D dataset, DataLoaderOptions options, Collate collate)
      : source_(std::make_shared<const Source>(Source{std::move(dataset), std::move(collate)})), options_(std::move(options)) {
    BatchSource::check(options_);
  }

  class Iterator;
  Iterator begin() const { return Iterator(std::make_shared<Pass>(*this)); }
  std::default_sentinel_t end() const { return {}; }
  std::int64_t size() const { return batches(source_->dataset.size(), options_); }
  const D& dataset() const { return source_->dataset; }

 private:
  struct Source {
    D dataset;
    Collate collate;

    auto make(const Indices& indices, const std::stop_token& stop) const {
      if constexpr (whole) {
        return dataset.get_batch(std::span<const std::int64_t>(indices));
      } else {
        std::vector<ItemOf<D>> items;
        items.reserve(indices.size());
        for (const std::int64_t i : indices) {
          if (stop.stop_requested()) break;  // nobody will look at it
          items.push_back(dataset.get(i));
        }
        const std::span<const ItemOf<D>> all(items);
        if constexpr (std::is_same_v<Collate, detail::DefaultCollate>)
          return data::collate(all);
        else
          return collate(all);
      }
    }
  };

 public:
  using Batch = decltype(std::declval<const Source&>().make({}, {}));

 private:
  // One pass. Batches are made as they are asked for, or by workers in turn.
  class Pass {
   public:
    explicit Pass(const DataLoader& loader) : source_(loader.source_), indices_(source_->dataset.size(), loader.options_) {
      const auto count = static_cast<std::size_t>(loader.options_.num_workers);
      if (count == 0) return;
      workers_ = std::make_unique<Workers>(count);
      count_ = count;
      for (std::size_t i = 0; i < count * static_cast<std::size_t>(loader.options_.prefetch_factor); ++i) ask();
    }

    std::optional<Batch> next() {
      if (!workers_) {
        const std::optional<Indices> indices = indices_.next();
        if (!indices) return std::nullopt;
        return source_->make(*indices, {});
      }
      if (pending_.empty()) {
        workers_.reset();
        count_ = 0;
        return std::nullopt;
      }
      std::future<Batch> first = std::move(pending_.front());
      pending_.pop_front();
      ask();
      return first.get();
    }

   private:
    void ask() {
      std::optional<Indices> indices = indices_.next();
      if (!indices) return;
      const auto promise = std::make_shared<std::promise<Batch>>();
      pending_.push_back(promise->get_future());
      workers_->submit(turn_++ % count_, [promise, source = source_, indices = std::move(*indices)](const std::stop_token& stop) {
        try {
          Batch batch = source->make(indices, stop);
          std::vector<Tensor> tensors;
          detail::gather(batch, tensors);
          braze::eval(tensors);
          promise->set_value(std::move(batch));
        } catch (...) {  // told where the batch is asked for
          promise->set_exception(std::current_exception());
        }
      });
    }

    std::shared_ptr<const Source> source_;
    BatchSource indices_;
    std::deque<std::future<Batch>> pending_;
    std::size_t count_ = 0, turn_ = 0;
    std::unique_ptr<Workers> workers_;  // ends before the futures go
  };

 public:
  // Reads once, as an input iterator; copies are one pass.
  class Iterator {
   public:
    using value_type = Batch;
    using difference_type = std::ptrdiff_t;
    explicit Iterator(std::shared_ptr<Pass> pass) : pass_(std::move(pass)) { ++*this; }
    Batch& operator*() const { return *batch_; }
    Batch* operator->() const { return &*batch_; }
    Iterator& operator++() {
      std::optional<Batch> next = pass_->next();
      batch_ = next ? std::make_shared<Batch>(std::move(*next)) : nullptr;
      return *this;
    }
    void operator++(int) { ++*this; }
    bool operator==(std::default_sentinel_t) const { return batch_ == nullptr; }

   private:
    std::shared_ptr<Pass> pass_;
    std::shared_ptr<Batch> batch_;
  };

 private:
  std::shared_ptr<const Source> source_;
  DataLoaderOptions options_;
};
template <class D>
DataLoader(D) -> DataLoader<D>;
template <class D>
DataLoader(D, DataLoaderOptions) -> DataLoader<D>;
template <class D, class Collate>
DataLoader(D, DataLoaderOptions, Collate) -> DataLoader<D, Collate>;

// ---- bodies of templates ----

void require_stackable(std::int64_t a, std::int64_t b);
template <Dataset A, Dataset B>
void StackDataset<A, B>::require_equal_sizes(std::int64_t a, std::int64_t b) {
  require_stackable(a, b);
}

}  // namespace braze::data
