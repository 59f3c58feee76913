// What a function is called under: the mappings (vmap) and the derivatives that this thread is inside of.
//
// A mapping's function sees stand-ins for one element; what it recorded is recorded again for all of them (replay.h). Two things look through
// the stand-ins while the function runs: random draws with Randomness::different, which are one draw for the whole batch, and an
// autograd Function that brings a rule of its own for batches.
#pragma once

#include <functional>

#include "braze/func.h"
#include "frontend/autograd/replay.h"
#include "frontend/tensor_impl.h"

namespace braze {

class Mapping {
 public:
  Mapping(std::int64_t size, func::Randomness randomness, std::vector<engine::Value> stand_ins,
          std::vector<Replacement> replacements);
  ~Mapping();
  Mapping(const Mapping&) = delete;

  static Mapping* innermost();

  std::int64_t size() const { return size_; }
  func::Randomness randomness() const { return randomness_; }
  // Whether a derivative is being taken inside of the mapped function.
  bool derivatives_inside() const;

  // Values of the function, as they are outside of it: for all elements where they differ.
  std::vector<Replacement> outside(std::span<const engine::Value> values) const;
  // One element of a value with the batch in front.
  engine::Value inside(engine::Value whole);
  // A derivative is done with its stand-ins: what was seen through this thread's mappings is of the originals now.
  static void replace(std::span<const engine::Value> stand_ins, std::span<const Replacement> originals);

  // While one lives, this thread is outside of the mapping.
  class Outside {
   public:
    explicit Outside(const Mapping& mapping);
    ~Outside();
    Outside(const Outside&) = delete;

   private:
    Mapping* kept_;
    std::int32_t derivatives_;
  };

  // `draw` as this mapping's randomness wants it: refused, the same for all elements, or one for the batch; what is outside of the mapping
  // has its say in turn. a and b are of rank 0 or of `sizes`, and may depend on what is mapped. `each`: sizes are of one draw, which is
  // repeated.
  using Draw = std::function<engine::Value(const Dims& sizes, const engine::Value& a, const engine::Value& b)>;
  engine::Value draw(const Draw& draw, const Dims& sizes, const engine::Value& a, const engine::Value& b, bool each,
                     ir::Location where);
  // Throws Error where all elements are to see the same draw, and this value is not the same for all.
  void require_drawable(const engine::Value& parameter) const;

 private:
  engine::Value batched(const engine::Value& parameter, const Dims& sizes, ir::Location where) const;
  const std::int64_t size_;
  const func::Randomness randomness_;
  std::vector<engine::Value> stand_ins_;
  std::vector<Replacement> replacements_;
  const std::size_t arguments_;  // the first of them; the others were seen through
  Mapping* outer_;
  std::int32_t derivatives_outside_;
};

// Whether it is so for all elements, also for those of a vmap. Evaluates.
bool holds_for_all(const Tensor& condition);

// While one lives, a derivative of what this thread records is being taken.
struct DerivativeScope {
  DerivativeScope();
  ~DerivativeScope();
  DerivativeScope(const DerivativeScope&) = delete;
};
// Whether any function transform is at work.
bool transforming();

}  // namespace braze
