// Datasets: what has items by number. https://pytorch.org/docs/stable/data.html#dataset-types
#pragma once

#include <array>
#include <concepts>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "braze/functions.h"
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

namespace detail {

void require_stackable(std::int64_t a, std::int64_t b);
void require_rows(std::span<const Tensor> tensors);
// Throws IndexError unless -size <= index < size; returns the index from the beginning.
std::int64_t checked(std::int64_t index, std::int64_t size);

}  // namespace detail

// Item i is the i-th row of each tensor. Throws ValueError where their first dims differ.
// https://pytorch.org/docs/stable/data.html#torch.utils.data.TensorDataset
template <std::size_t N>
class TensorDataset {
 public:
  template <class... T>
    requires(sizeof...(T) == N && (std::convertible_to<T, Tensor> && ...))
  explicit TensorDataset(const T&... tensors) : tensors_{Tensor(tensors)...} {
    detail::require_rows(tensors_);
  }
  std::int64_t size() const { return tensors_[0].size(0); }
  std::array<Tensor, N> get(std::int64_t index) const {
    const std::int64_t at = detail::checked(index, size());
    return each([&](const Tensor& t) { return t.select(0, at); });
  }
  std::array<Tensor, N> get_batch(std::span<const std::int64_t> indices) const {
    for (const std::int64_t index : indices) detail::checked(index, size());
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
  std::int64_t at(std::int64_t index) const { return indices_[static_cast<std::size_t>(detail::checked(index, size()))]; }
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
    index = detail::checked(index, size());
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
    detail::require_stackable(first_.size(), second_.size());
  }
  std::int64_t size() const { return first_.size(); }
  std::pair<ItemOf<A>, ItemOf<B>> get(std::int64_t index) const { return {first_.get(index), second_.get(index)}; }

 private:
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
  const Indices order = randperm(dataset.size(), {.dtype = {}, .generator = generator}).template to_vector<std::int64_t>();
  std::vector<Subset<D>> parts;
  auto next = order.begin();
  for (const std::int64_t size : sizes) {
    parts.emplace_back(dataset, Indices(next, next + size));
    next += size;
  }
  return parts;
}

}  // namespace braze::data
