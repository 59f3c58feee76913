// The derivative of a graph is a graph: reverse mode (vjp) and forward mode (jvp), one rule an op, to any order.
//
//   grad(f)   : the gradient of f's sum, with respect to its float parameters
//   vjp(f)    : f's parameters and a cotangent for each result -> a cotangent for each parameter
//   jvp(f)    : f's parameters and a tangent for each -> a tangent for each result
//
// Laws:
//  * Results are ordinary graphs: they print, parse, fuse, run and are differentiated again.
//  * Zeros are symbolic: what does not depend on what is differentiated, or is read by nothing, costs nothing.
//  * Values of integer and boolean dtype, and what a cast makes of a float on its way there, have no derivative.
//  * At kinks the values are PyTorch's (docs/derivatives.md): a tie of `maximum` splits in halves, `abs` has 0 at 0.
//  * Nothing recurses over the graph; time is linear in it.
//
// Rules are written against ir::Builder, so that `pull` and `push` also serve pending nodes, one op at a time.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "ir/builder.h"

namespace braze::passes {

// An op that was applied, as the rules see it.
struct Application {
  ir::Builder& builder;
  ir::Op op;
  const ir::Attributes& attributes;
  std::span<const ir::Expression> in, out;

  template <class A>
  const A& as() const {
    return std::get<A>(attributes);
  }
  ir::Expr operand(std::size_t k) const { return {builder, in[k]}; }
  ir::Expr result(std::size_t k = 0) const { return {builder, out[k]}; }
};

// The running cotangents of an application's operands while its rule runs; the same value may stand at several operands. Whoever
// walks implements it.
class Cotangents {
 public:
  virtual ~Cotangents() = default;
  // Whether the operand's cotangent is asked for. A rule may answer what is not wanted; it is dropped.
  virtual bool wants(std::size_t operand) const = 0;
  // What has come together so far; none: zero.
  virtual ir::Expression running(std::size_t operand) const = 0;
  virtual void replace(std::size_t operand, ir::Expression value) = 0;
  virtual ir::Expression sum(ir::Expression before, const ir::Expr& value) const;

  void add(std::size_t operand, const ir::Expr& value);
};

// Adds to the operands' cotangents what those of the results (one for each; none: zero) give them. Throws NotImplementedError where
// a cotangent is wanted that has no formula.
void pull(const Application& a, std::span<const ir::Expression> results, Cotangents& operands);
// The tangents of the results, one for each in `results`, from those of the operands; none: zero.
void push(const Application& a, std::span<const ir::Expression> operands, std::span<ir::Expression> results);

// Whether a result can have a derivative at all: a float, of an op that has one.
bool differentiable(ir::Op op, DType result);

struct DerivativeOptions {
  std::vector<std::uint32_t> results;     // numbers; none: all that are floats (grad: which must be one)
  std::vector<std::uint32_t> parameters;  // numbers; none: all that are floats
  bool keep_results = false;              // the function's own results come first
};

// A parameter named `<result or number>_cotangent` for each result, `<parameter>_tangent` for each parameter, comes after the others.
ir::Graph vjp(const ir::Graph& graph, const DerivativeOptions& options = {});
ir::Graph jvp(const ir::Graph& graph, const DerivativeOptions& options = {});
ir::Graph grad(const ir::Graph& graph, const DerivativeOptions& options = {});

}  // namespace braze::passes
