// Recorded ops, recorded once more on other values: how function transforms (braze/func.h) come back from the stand-ins that a function
// was called on. An op is batched as it is replayed where a stand-in's value has an axis more.
#pragma once

#include <span>
#include <unordered_map>
#include <vector>

#include "frontend/engine/engine.h"

namespace braze {

// A value in the place of another: `batched` with a leading axis in front of the other's.
struct Replacement {
  engine::Value value;
  bool batched = false;
};

// A tensor that a function is called on instead of another. What is computed from it is differentiable, so that the marks tell what depends
// on it by derivatives; replaying marks anew.
engine::Value stand_in(engine::TypeRef type);           // for an element of a batch: has no value
engine::Value stand_in(const engine::Value& original);  // the same value

// The nodes below some values, operands first, of which some are stand-ins.
class Trail {
 public:
  // `stand_ins`: nothing below them is looked at.
  Trail(std::span<const engine::Value> results, std::span<const engine::Value> stand_ins);

  // Nodes that depend on a stand-in, without these, operands first.
  const std::vector<engine::Node*>& dependent() const { return dependent_; }
  bool depends(const engine::Node* node) const { return numbers_.contains(node); }
  // Whether a result can be differentiated by what is no stand-in.
  bool differentiable_otherwise() const { return otherwise_; }

 private:
  std::vector<engine::Node*> dependent_;
  std::unordered_map<const engine::Node*, std::size_t> numbers_;  // of dependent_, and of the stand-ins
  bool otherwise_ = false;
};

// The results with replacements[i] for stand_ins[i]; `size` is the batch's. Ops recorded without grad mode stay without derivative. A
// derivative that is no op's (an autograd Function's) is that of the replaced values: replayed in turn when it is asked for.
std::vector<Replacement> replay(std::span<const engine::Value> results, std::span<const engine::Value> stand_ins,
                                std::span<const Replacement> replacements, std::int64_t size = 0);

}  // namespace braze
