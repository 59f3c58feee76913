// One backward pass over pending nodes, by the rules of passes/derivative.h. Iterative; what it records stays pending, so that forward,
// backward and an update are one program.
#pragma once

#include "frontend/autograd/tracking.h"

namespace braze {

struct BackwardOptions {
  bool retain_graph = false;
  bool create_graph = false;
};

// Where gradients end up. A leaf is named by what its identities carry, anything else by the value that it reads.
struct Target {
  engine::Gradient* leaf = nullptr;
  engine::Value value;
  GradientLayout layout;
  engine::Value bypass;  // of a view with elements of its own: gradients that come here are not among theirs, which is an error
};
Target target_of(const TensorImpl& tensor);

struct Root {
  engine::Value value, cotangent;
};

// Adds to the .grad of leaves, and calls hooks. With `targets` only theirs are asked for: added to .grad (`accumulate`), or returned in
// `captured`, undefined where nothing came.
void run_backward(std::span<const Root> roots, std::span<const Target> targets, bool accumulate, const BackwardOptions& options,
                  std::vector<Tensor>* captured);

}  // namespace braze
