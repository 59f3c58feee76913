// An expression given as text, compiled once, and its derivatives as text.
//
//   Expression decay("a * exp(-k * x)", {{"x", float64, {100}}});
//   decay({{"a", 2.0}, {"k", 0.5}, {"x", times}});         // a Tensor
//   Expression slope = decay.derivative("k");              // -a * x * exp(-k * x)
//   Expression again(slope.text());                        // the same; `braze run` takes the text as well
//
// The text is Python's syntax over Braze's functions, as `braze eval` takes it, or the text of a graph (docs/ir.md), which begins with
// "braze.ir". Calls may come from several threads.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "braze/dtype.h"
#include "braze/functions.h"

namespace braze {

class Expression {
 public:
  struct Parameter {
    std::string name;
    DType dtype = DType::f64;
    Sizes sizes;
  };
  using Argument = std::variant<Tensor, Scalar>;
  using Arguments = std::map<std::string, Argument>;

  // Names of the text that `parameters` does not list are float64 of no dims. Throws ParseError with line, column and a caret, and what the operations throw.
  explicit Expression(std::string_view text, const std::vector<Parameter>& parameters = {});

  // Of the parameters, in the order of the list, then as the text names them.
  std::vector<std::string> names() const;
  // The value for these arguments, one for each parameter. Throws ValueError for a name missing or unknown, TypeError and ShapeError for an
  // argument that its parameter does not take. The first call compiles.
  Tensor operator()(const Arguments& arguments) const;
  // The derivative in one parameter, of the same parameters: where that has dims, the sum of the derivatives in its elements, which for
  // elementwise functions is the derivative element by element. Throws ValueError for an unknown name, TypeError for one that is no float.
  Expression derivative(std::string_view name) const;
  // The text of the graph. Expression(text()) is the same expression.
  std::string text() const;

 private:
  struct State;
  explicit Expression(std::shared_ptr<State> state);
  std::shared_ptr<State> state_;
};

}  // namespace braze
