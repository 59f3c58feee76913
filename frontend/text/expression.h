// Expressions as text: Python's syntax over Braze's functions, for the command line and for embedding.
//
//   tanh(a * 2 + b).sum(1, keepdim=True)      x[1:, ::2, None, ...]      where(x > 0, x, -x) ** 0.5
//
// Names are tensors that the caller gives, `pi`, `inf`, `nan`, `True`, `False`; functions and methods are the op table's and the
// public API's. Precedence is Python's.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "braze/functions.h"

namespace braze::text {

// Records the expression and returns its value, pending. Throws ParseError with line, column and a caret for what the text does
// wrong, unknown names included, and what the operations themselves throw.
Tensor evaluate(std::string_view expression, const std::map<std::string, Tensor>& names);

// The names that the expression reads and does not call, each once, in the order of the text; `pi` and the like are not among them.
std::vector<std::string> names_in(std::string_view expression);

// The functions that expressions may call.
std::vector<std::string> function_names();

}  // namespace braze::text
