// The one shape and dtype rule of each op, for pending nodes (all extents are numbers) and graphs (numbers and symbols).
// https://pytorch.org/docs/stable/notes/broadcasting.html is the frontend's business: operands arrive cast and expanded.
#pragma once

#include <span>
#include <string>

#include "ir/attributes.h"
#include "ir/op.h"
#include "ir/type.h"

namespace braze::ir {

// Decides whether two extents that an op needs equal are so. Two numbers: by value. With a symbol: the base class says yes only
// for the same symbol; the engine's graph builder records the demand instead (one of both replaces the other).
class Equality {
 public:
  virtual ~Equality() = default;
  virtual bool equal(Extent a, Extent b);
  virtual std::span<const std::string> symbol_names() const;  // for messages; none by default
};

// Operand types come by pointer: pending nodes keep theirs interned. `out` has info(op).results elements. Throws ShapeError,
// TypeError, IndexError or ValueError in PyTorch's words, with both shapes.
void infer(Op op, const Attributes& attributes, std::span<const Type* const> in, std::span<Type> out, Equality& equality);
void infer(Op op, const Attributes& attributes, std::span<const Type* const> in, std::span<Type> out);

// The dtype of a reduction's result.
constexpr DType sum_type(DType t) { return is_float(t) ? t : DType::i64; }

}  // namespace braze::ir
