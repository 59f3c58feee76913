// Items as a batch. https://pytorch.org/docs/stable/data.html#torch.utils.data.default_collate
#pragma once

#include <array>
#include <memory>
#include <span>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "braze/creation.h"
#include "braze/tensor.h"

namespace braze::data {

template <class Item>
auto collate(std::span<const Item> items);

namespace detail {

Tensor stacked(std::span<const Tensor> items);
// Throws Error for lists of unequal lengths.
void require_equal_lengths(std::span<const std::size_t> lengths);

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
    return detail::stacked(items);
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
    detail::require_equal_lengths(lengths);
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

}  // namespace braze::data
