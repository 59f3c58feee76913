// What the files of linear algebra over routines share. All record at the line of a SourceLine.
#pragma once

#include "frontend/linalg.h"
#include "frontend/tensor_impl.h"

namespace braze {

// The parameter as matrices to factorize: at least 2 dims, float32 or float64; square where said. Throw in torch.linalg's words.
const Tensor& factorized(const In& x, std::string_view function, std::string_view parameter = "A");
const Tensor& square_matrices(const In& x, std::string_view function, std::string_view parameter = "A");
void require_factorizable(std::string_view function, const Tensor& t);

engine::Value record_on(ir::Op op, std::initializer_list<Tensor> operands, ir::Attributes attributes);

struct LuFactors {
  Tensor lu, pivots, info;
};
// `check`: the function that a singular matrix makes throw when the result is needed; none: info tells.
LuFactors factorize(const Tensor& a, ir::Checked check);

// The same matrices with each column's elements side by side, as LAPACK and so PyTorch leave what they computed.
Tensor column_major(const Tensor& t);
// Complex matrices as real ones of twice the size (frontend/complex_linalg.cpp), and right sides with the parts of each row below one
// another.
Tensor real_blocks(const Tensor& a);
Tensor from_real_blocks(const Tensor& blocks);
Tensor real_rows(const Tensor& b);
Tensor from_real_rows(const Tensor& rows);
// `factor` gives the lower factor of a real matrix.
Tensor complex_cholesky(const Tensor& a, bool upper, Tensor (*factor)(const Tensor& real));
Tensor complex_singular_values(const Tensor& a);
Tensor complex_hermitian_values(const Tensor& a, bool upper);

std::int64_t lesser_size(const Tensor& a);  // of rows and columns
Tensor lower_triangle(const Tensor& a, std::int64_t diagonal = 0);
Tensor upper_triangle(const Tensor& a, std::int64_t diagonal = 0);

}  // namespace braze
