// In-place draws as methods of Tensor, in memory order and equal to PyTorch's. https://pytorch.org/docs/stable/torch.html#in-place-random-sampling
#pragma once

#include <cstdint>
#include <optional>
#include <source_location>

#include "braze/scalar.h"
#include "braze/sizes.h"

namespace braze {

class Generator;
class In;
class Tensor;

class RandomMethods {
 public:
  // [from, to), a float tensor.
  Tensor& uniform_(double from = 0, double to = 1, Generator* generator = nullptr,
                   std::source_location where = std::source_location::current());
  Tensor& normal_(double mean = 0, double deviation = 1, Generator* generator = nullptr,
                  std::source_location where = std::source_location::current());
  Tensor& log_normal_(double mean = 1, double deviation = 2, Generator* generator = nullptr,
                      std::source_location where = std::source_location::current());
  Tensor& exponential_(double rate = 1, Generator* generator = nullptr,
                       std::source_location where = std::source_location::current());
  Tensor& cauchy_(double median = 0, double sigma = 1, Generator* generator = nullptr,
                  std::source_location where = std::source_location::current());
  // How many trials of this probability until the first success.
  Tensor& geometric_(double probability, Generator* generator = nullptr,
                     std::source_location where = std::source_location::current());
  // A number or a tensor of probabilities that broadcasts to this one.
  Tensor& bernoulli_(const In& probability, Generator* generator = nullptr);
  // [0, greatest of the dtype], for floats [0, 2^mantissa bits].
  Tensor& random_(Generator* generator = nullptr, std::source_location where = std::source_location::current());
  // [0, to), or [from, to); no `to` stands for the greatest of the dtype, included.
  Tensor& random_(std::int64_t to, Generator* generator = nullptr, std::source_location where = std::source_location::current());
  Tensor& random_(std::int64_t from, std::optional<std::int64_t> to, Generator* generator = nullptr,
                  std::source_location where = std::source_location::current());

  // ---- what braze/random.h has as functions ----
  Tensor bernoulli(Generator* generator = nullptr, std::source_location where = std::source_location::current()) const;
  Tensor bernoulli(double probability, Generator* generator = nullptr,
                   std::source_location where = std::source_location::current()) const;
  Tensor multinomial(std::int64_t samples, bool replacement = false, Generator* generator = nullptr,
                     std::source_location where = std::source_location::current()) const;

 protected:
  ~RandomMethods() = default;  // a base of Tensor, never used alone
};

}  // namespace braze
