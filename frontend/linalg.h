// What the files of products and linear algebra share.
#pragma once

#include <string_view>

#include "braze/functions.h"

namespace braze {

std::string_view cpp_type(DType type);  // as C++ names it, which some messages of PyTorch do: "float", "long int"

// The tensor that must stand in a parameter. Throws TypeError for a number.
const Tensor& tensor_argument(const In& x, std::string_view function, std::string_view parameter);

// [batch..., m, k] x [batch..., k, n] of rank 2 at least and one dtype; batches broadcast. Throws in matmul's words. Records at the
// line of a SourceLine, as do all helpers here.
Tensor batched_dot(const Tensor& a, const Tensor& b);

// Throw in torch.linalg's words; `function` is "linalg.inv".
void require_floating(std::string_view function, const Tensor& x);
void require_square(std::string_view function, const Tensor& x, std::string_view parameter = "A");

// beta * input + alpha * product, input expanded to the product; with beta 0 it is not read.
Tensor blend(const In& input, const Tensor& product, Scalar beta, Scalar alpha);

}  // namespace braze
