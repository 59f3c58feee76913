// Random draws inside of vmap with Randomness::different: one draw for the whole batch, of which the function sees one element's share.
#pragma once

#include <functional>
#include <vector>

#include "frontend/autograd/replay.h"
#include "frontend/tensor_impl.h"

namespace braze {

// While one lives, this thread's draws are made for `size` elements each, and a stand-in for an element joins `stand_ins`, what it stands for
// `replacements`. A draw inside of two mappings is one for all elements of both.
class BatchDraws {
 public:
  BatchDraws(std::int64_t size, std::vector<engine::Value>& stand_ins, std::vector<Replacement>& replacements);
  ~BatchDraws();
  BatchDraws(const BatchDraws&) = delete;

  static BatchDraws* active();

  using Draw = std::function<engine::Value(const Dims& sizes, const engine::Value& a, const engine::Value& b)>;
  // `draw` for the batch; a and b, of rank 0 or of `sizes`, may depend on what is mapped. `each`: sizes are of one draw, which is repeated.
  engine::Value draw(const Draw& draw, const Dims& sizes, const engine::Value& a, const engine::Value& b, bool each,
                     ir::Location where);

 private:
  engine::Value batched(const engine::Value& parameter, const Dims& sizes, ir::Location where) const;
  std::int64_t size_;
  std::vector<engine::Value>& stand_ins_;
  std::vector<Replacement>& replacements_;
  BatchDraws* outer_;
};

}  // namespace braze
