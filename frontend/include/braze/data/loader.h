// DataLoader: batches of a dataset, in order, made by the caller or ahead of it by threads.
// https://pytorch.org/docs/stable/data.html#torch.utils.data.DataLoader
#pragma once

#include <deque>
#include <exception>
#include <functional>
#include <future>
#include <iterator>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <utility>
#include <vector>

#include "braze/data/collate.h"
#include "braze/data/dataset.h"
#include "braze/data/sampler.h"
#include "braze/functions.h"

namespace braze::data {

struct DataLoaderOptions {
  std::int64_t batch_size = 1;
  bool shuffle = false;
  std::shared_ptr<const Sampler> sampler = nullptr;  // instead of shuffle
  std::int64_t num_workers = 0;
  bool drop_last = false;  // a last batch that is shorter
  std::shared_ptr<Generator> generator = nullptr;
  std::int64_t prefetch_factor = 2;  // batches ahead, for each worker
};

namespace detail {

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
    detail::BatchSource::check(options_);
  }

  class Iterator;
  Iterator begin() const { return Iterator(std::make_shared<Pass>(*this)); }
  std::default_sentinel_t end() const { return {}; }
  std::int64_t size() const { return detail::batches(source_->dataset.size(), options_); }
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
      workers_ = std::make_unique<detail::Workers>(count);
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
    detail::BatchSource indices_;
    std::deque<std::future<Batch>> pending_;
    std::size_t count_ = 0, turn_ = 0;
    std::unique_ptr<detail::Workers> workers_;  // ends before the futures go
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

}  // namespace braze::data
