// The model of a random program: elements that change at once, and layouts on them.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "braze/sizes.h"
#include "ir/type.h"

namespace braze::test {

struct Elements {
  DType type{};
  std::vector<std::uint64_t> bits;
};

struct Model {
  std::shared_ptr<Elements> storage;
  std::int64_t offset = 0;
  Sizes sizes, strides;

  DType type() const { return storage->type; }
  std::int64_t count() const;
  bool is(const Model& other) const;
  // Addresses in row-major order.
  std::vector<std::int64_t> places() const;
  std::vector<std::uint64_t> read() const;
  void write(const std::vector<std::uint64_t>& values);
  bool dense() const;
  // Whether PyTorch may refuse to read `other` while it writes here: both dense, in one stretch of memory.
  bool meets(const Model& other) const;
  bool repeats() const;
};

// Broadcast to `sizes`, or nothing.
std::optional<Model> broadcast(Model m, const Sizes& sizes);
std::optional<Sizes> broadcast(Sizes a, Sizes b);
std::vector<std::uint64_t> cast(std::vector<std::uint64_t> bits, DType from, DType to);

}  // namespace braze::test
