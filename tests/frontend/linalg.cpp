// Products and linear algebra. Expected values are PyTorch's (shared/conformance/golden.json) or NumPy's.
#include <cmath>

#include "braze/braze.h"
#include "tests/catch.h"
#include "tests/frontend/values.h"

using namespace braze;
using namespace braze::test;

namespace {

// 1, 2, 3, ... in a shape.
Tensor counting(SizesView sizes) {
  std::int64_t n = 1;
  for (const std::int64_t s : sizes) n *= s;
  return arange(1.0f, static_cast<float>(n) + 1).reshape(sizes);
}

void check_close(const Tensor& t, const Floats& expected, double tolerance = 1e-5) {
  const Floats got = floats(t);
  REQUIRE(got.size() == expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) CHECK(got[i] == Catch::Approx(expected[i]).epsilon(tolerance).margin(tolerance));
}

}  // namespace

TEST_CASE("matmul takes ranks as PyTorch") {
  CHECK(matmul(counting({3}), counting({3})).item<float>() == 14);
  CHECK(floats(matmul(counting({2, 3}), counting({3}))) == Floats{14, 32});
  const Tensor row = matmul(counting({3}), counting({2, 3, 2}));
  CHECK(row.sizes() == Sizes{2, 2});
  CHECK(floats(row) == Floats{22, 28, 58, 64});
  CHECK(floats(matmul(counting({2, 3, 4}), counting({4, 2}))) == Floats{50, 60, 114, 140, 178, 220, 242, 300, 306, 380, 370, 460});
  CHECK(floats(matmul(counting({2, 3}), counting({4, 3, 2}))).size() == 16);
  CHECK(matmul(ones({2, 1, 3, 4}), ones({5, 4, 2})).sizes() == Sizes{2, 5, 3, 2});
  CHECK(matmul(ones({3, 4}), ones({2, 4, 5})).sizes() == Sizes{2, 3, 5});
  CHECK(matmul(zeros({2, 0}), zeros({0, 3})).to_vector<float>() == Floats(6, 0));
  CHECK(matmul(zeros({0}), zeros({0})).item<float>() == 0);
  CHECK(matmul(counting({3, 2}).t(), counting({4, 3}).t()).to_vector<float>() == Floats{22, 49, 76, 103, 28, 64, 100, 136});
}

TEST_CASE("matmul's refusals are PyTorch's") {
  using Catch::Matchers::ContainsSubstring;
  CHECK_THROWS_WITH(matmul(tensor(2.0), ones({2})), "both arguments to matmul need to be at least 1D, but they are 0D and 1D");
  CHECK_THROWS_WITH(
      matmul(ones({2}), ones({3})),
      "inconsistent tensor size, expected tensor [2] and src [3] to have the same number of elements, but got 2 and 3 elements "
      "respectively");
  CHECK_THROWS_WITH(mm(ones({2, 3}), ones({2, 3})), "mat1 and mat2 shapes cannot be multiplied (2x3 and 2x3)");
  CHECK_THROWS_WITH(matmul(ones({2, 3}), ones({3, 2}, {float64})),
                    "expected m1 and m2 to have the same dtype, but got: float != double");
  CHECK_THROWS_WITH(bmm(ones({2, 2, 3}), ones({3, 3, 1})),
                    "Expected size for first two dimensions of batch2 tensor to be: [2, 3] but got: [3, 3].");
  CHECK_THROWS_WITH(mm(ones({2}), ones({2})), "self must be a matrix");
  CHECK_THROWS_WITH(mv(ones({2, 3}), ones({2})), "size mismatch, got input (2), mat (2x3), vec (2)");
  CHECK_THROWS_WITH(dot(ones({2, 2}), ones({2, 2})), "1D tensors expected, but got 2D and 2D tensors");
  CHECK_THROWS_AS(mm(ones({2, 2}, {bool_}), ones({2, 2}, {bool_})), NotImplementedError);
  CHECK_THROWS_AS(matmul(2, ones({2})), TypeError);
  CHECK_THROWS_AS(linalg::inv(zeros({3, 3})).to_vector<float>(), LinAlgError);
  CHECK_THROWS_AS(linalg::cholesky(-eye(3)).to_vector<float>(), LinAlgError);
}

TEST_CASE("products of integers and halves") {
  CHECK(dot(tensor({1, 2}), tensor({3, 4})).item<std::int64_t>() == 11);
  const Tensor a = arange(6).reshape({2, 3}), product = matmul(a, a.t());
  CHECK(product.dtype() == int64);
  CHECK(product.to_vector<std::int64_t>() == std::vector<std::int64_t>{5, 14, 14, 50});
  CHECK(matmul(a.to(uint8), a.t().to(uint8)).dtype() == uint8);
  CHECK(floats(matmul(a.to(bfloat16), a.t().to(bfloat16)).to(float32)) == Floats{5, 14, 14, 50});
}

TEST_CASE("vectors and matrices added") {
  CHECK(floats(inner(counting({2, 3}), counting({4, 3}))) == Floats{14, 32, 50, 68, 32, 77, 122, 167});
  CHECK(floats(outer(counting({2}), counting({3}))) == Floats{1, 2, 3, 2, 4, 6});
  CHECK(floats(addmm(counting({2}), counting({2, 3}), counting({3, 2}))) == Floats{23, 30, 50, 66});
  CHECK(floats(addmm(counting({2, 2}), counting({2, 3}), counting({3, 2}), 0.5, 2)) == Floats{44.5, 57, 99.5, 130});
  CHECK(floats(addmv(counting({2}), counting({2, 3}), counting({3}))) == Floats{15, 34});
  CHECK(floats(addr(zeros({2, 3}), counting({2}), counting({3}))) == Floats{1, 2, 3, 2, 4, 6});
  CHECK(floats(addbmm(zeros({2, 2}), counting({2, 2, 3}), counting({2, 3, 2}))) == Floats{242, 272, 350, 398});
  CHECK(floats(baddbmm(counting({2, 1, 2}), counting({2, 2, 3}), counting({2, 3, 2}))) ==
        Floats{23, 30, 50, 66, 223, 248, 304, 338});
  // With beta 0 what stands in input does not matter.
  CHECK(floats(addmm(full({1}, NAN), ones({1, 1}), ones({1, 1}), 0)) == Floats{1});
  Tensor x = zeros({2, 2});
  x.addmm_(counting({2, 3}), counting({3, 2}), 1, 2);
  CHECK(floats(x) == Floats{44, 56, 98, 128});
  // Numbers are cut off for integers, but addmv and addr refuse them: as PyTorch 2.15.
  const Tensor i = ones({2, 2}, {int64});
  CHECK(addmm(i, i, i, 0.5, 1.5).to_vector<std::int64_t>() == std::vector<std::int64_t>{2, 2, 2, 2});
  CHECK_THROWS_WITH(addmv(ones({2}, {int64}), i, ones({2}, {int64}), 1, 0.5),
                    "For integral input tensors, argument alpha must not be a floating point number.");
  CHECK_THROWS_WITH(addmm(ones({2}), ones({2, 2}), ones({2, 2}, {float64})),
                    "self and mat2 must have the same dtype, but got Float and Double");
}

TEST_CASE("einsum") {
  const Tensor b = tensor({{1., 2.}, {3., 4.}});
  CHECK(einsum("ij->", {counting({2, 3})}).item<float>() == 21);
  CHECK(floats(einsum("ij->i", {counting({2, 3})})) == Floats{6, 15});
  CHECK(einsum("ii", {b}).item<float>() == 5);
  CHECK(floats(einsum("ii->i", {b})) == Floats{1, 4});
  CHECK(einsum("ii->i", {b}).shares_storage(b));
  CHECK(floats(einsum("ba", {counting({2, 3})})) == Floats{1, 4, 2, 5, 3, 6});
  CHECK(einsum("ijk->kij", {counting({2, 3, 2})}).sizes() == Sizes{2, 2, 3});
  CHECK(floats(einsum("...ij,...jk->...ik", {counting({2, 2, 3}), counting({3, 2})})) == Floats{22, 28, 49, 64, 76, 100, 103, 136});
  CHECK(floats(einsum("i...->...", {counting({2, 3})})) == Floats{5, 7, 9});
  CHECK(floats(einsum("ij,jk,kl->il", {counting({2, 3}), counting({3, 2}), counting({2, 2})})) == Floats{106, 156, 241, 354});
  CHECK(einsum("i,ij,j->", {counting({2}), counting({2, 3}), counting({3})}).item<float>() == 78);
  CHECK(floats(einsum("ij,jk->ik", {counting({2, 1}), counting({3, 2})})) == Floats{9, 12, 18, 24});
  CHECK(floats(einsum(" i j , j k -> i k ", {counting({2, 2}), counting({2, 2})})) == Floats{7, 10, 15, 22});
  CHECK(floats(einsum("b,a", {counting({2}), counting({3})})) == Floats{1, 2, 2, 4, 3, 6});
  CHECK(floats(einsum(std::vector<Subscripted>{{counting({2, 3}), {0, 1}}, {counting({3, 2}), {1, 2}}}, Sizes{0, 2})) ==
        Floats{22, 28, 49, 64});
  CHECK(einsum("ij,j->i", {tensor({{1, 2}, {3, 4}}), tensor({5, 6})}).to_vector<std::int64_t>() ==
        std::vector<std::int64_t>{17, 39});
  CHECK(floats(einsum("ii,ij->j", {b, counting({2, 3})})) == Floats{17, 22, 27});
  CHECK(floats(einsum("iij->j", {counting({2, 2, 3})})) == Floats{11, 13, 15});
  CHECK(floats(einsum("bhid,bhjd->bhij", {counting({1, 2, 2, 2}), counting({1, 2, 1, 2})})) == Floats{5, 11, 39, 53});
}

TEST_CASE("einsum's refusals name the operand") {
  const Tensor b = ones({2, 2});
  CHECK_THROWS_WITH(einsum("ij,jk->ik", {ones({2, 3}), ones({2, 3})}),
                    "einsum(): subscript j has size 2 for operand 1 which does not broadcast with previously seen size 3");
  CHECK_THROWS_WITH(einsum("ij->k", {b}), "einsum(): output subscript k does not appear in the equation for any input operand");
  CHECK_THROWS_WITH(einsum("ij,jk", {b}), "einsum(): fewer operands were provided than specified in the equation");
  CHECK_THROWS_WITH(einsum("ij", {b, b}), "einsum(): more operands were provided than specified in the equation");
  CHECK_THROWS_WITH(
      einsum("ijk", {b}),
      "einsum(): the number of subscripts in the equation (3) does not match the number of dimensions (2) for operand 0 and "
      "no ellipsis was given");
  CHECK_THROWS_WITH(einsum("i$", {b}),
                    "einsum(): invalid subscript given at index 1 in the equation string, subscripts must be in [a-zA-Z]");
  CHECK_THROWS_AS(einsum("i.j", {b}), Error);
  CHECK_THROWS_AS(einsum("ij->ii", {b}), Error);
  CHECK_THROWS_AS(einsum("ii", {ones({2, 3})}), ShapeError);
}

TEST_CASE("tensordot, linear, bilinear") {
  CHECK(floats(tensordot(counting({2, 3}), counting({3, 2}), 1)) == Floats{22, 28, 49, 64});
  CHECK(tensordot(counting({2, 3}), counting({2, 3}), 2).item<float>() == 91);
  CHECK(floats(tensordot(counting({2, 3, 4}), counting({4, 3}), {1, 2}, {1, 0})) == Floats{584, 1520});
  CHECK(floats(tensordot(counting({2}), counting({3}), 0)) == Floats{1, 2, 3, 2, 4, 6});
  CHECK_THROWS_WITH(tensordot(ones({2, 3}), ones({2, 3}), {1}, {0}),
                    "contracted dimensions need to match, but first has size 3 in dim 1 and second has size 2 in dim 0");
  CHECK(floats(linear(counting({2, 3}), counting({4, 3}), counting({4}))) == Floats{15, 34, 53, 72, 33, 79, 125, 171});
  CHECK(linear(counting({2, 2, 3}), counting({1, 3})).sizes() == Sizes{2, 2, 1});
  CHECK(floats(linear(counting({2, 3}), counting({3}))) == Floats{14, 32});
  CHECK(floats(bilinear(counting({2, 2}), counting({2, 3}), counting({1, 2, 3}))) == Floats{78, 404});
}

TEST_CASE("matrix functions") {
  CHECK(trace(counting({2, 3})).item<float>() == 6);
  CHECK(floats(cross(tensor({1., 0., 0.}), tensor({0., 1., 0.}), 0)) == Floats{0, 0, 1});
  CHECK(floats(linalg::cross(counting({2, 3}), counting({2, 3}) + 1)) == Floats{-1, 2, -1, -1, 2, -1});
  CHECK(floats(linalg::multi_dot({counting({2, 3}), counting({3, 2}), counting({2, 1})})) == Floats{78, 177});
  CHECK_THROWS_WITH(linalg::multi_dot({counting({2, 3})}), "multi_dot(): expected at least 2 tensors but got 1");
  check_close(matrix_exp(zeros({2, 2})), {1, 0, 0, 1});
  check_close(matrix_exp(tensor({{0., 1.}, {-1., 0.}})), {0.540302f, 0.841471f, -0.841471f, 0.540302f}, 1e-6);
  check_close(matrix_exp(tensor({{{0., 10.}, {0., 0.}}, {{-3., 0.}, {0., 2.}}})), {1, 10, 0, 1, 0.0497871f, 0, 0, 7.389056f});
  const Tensor x = counting({2, 3}), y = counting({4, 3}) / 2;
  check_close(cdist(x, y), {1.8708287f, 1.118034f, 3.5355339f, 6.1032778f, 6.9641941f, 4.3874822f, 1.8708287f, 1.118034f});
  check_close(cdist(x, y, 1), {3, 1.5, 6, 10.5, 12, 7.5, 3, 1.5});
  CHECK(floats(cdist(x, x, 0)) == Floats{0, 3, 3, 0});
  CHECK(floats(cdist(x, x, INFINITY)) == Floats{0, 3, 3, 0});
  check_close(cdist(x, x, 3), {0, 4.3267488f, 4.3267488f, 0});
}

// ---- what factorizes, over LAPACK ----

namespace {

// PyTorch's own examples in the kit: positive-definite, and plain.
Tensor definite() { return tensor({{4., 1., 0.}, {1., 3., -1.}, {0., -1., 2.}}); }
Tensor plain() { return tensor({{1., 2.}, {3., 4.}}); }

// Well-conditioned matrices of any size that are not symmetric: a batch of them.
Tensor matrices(std::int64_t batch, std::int64_t rows, std::int64_t columns, DType type = float64) {
  const Tensor x = arange(batch * rows * columns).to(type).reshape({batch, rows, columns});
  return sin(x * 1.7) + eye(rows, columns, {type}) * 3;
}

double distance(const Tensor& a, const Tensor& b) {
  REQUIRE(a.sizes() == b.sizes());
  return a.numel() == 0 ? 0 : abs(a - b).amax().item<double>();
}

}  // namespace

TEST_CASE("determinants and inverses") {
  CHECK(det(definite()).item<float>() == Catch::Approx(18));
  CHECK(linalg::det(plain()).item<float>() == Catch::Approx(-2));
  check_close(inverse(definite()), {0.27777779f, -0.1111111f, -0.055555556f, -0.11111111f, 0.44444445f, 0.22222222f, -0.055555556f,
                                    0.22222222f, 0.61111111f});
  check_close(linalg::inv(plain()), {-2, 1, 1.5, -0.5});
  const auto [sign, logarithm] = linalg::slogdet(plain());
  CHECK(sign.item<float>() == -1);
  CHECK(logarithm.item<float>() == Catch::Approx(std::log(2.0)));
  CHECK(logdet(definite()).item<float>() == Catch::Approx(std::log(18.0)));
  CHECK(std::isnan(logdet(plain()).item<float>()));
  CHECK(det(tensor({{1., 2.}, {2., 4.}})).item<float>() == 0);
  CHECK(det(zeros({0, 0})).item<float>() == 1);
  CHECK(det(zeros({3, 0, 0})).sizes() == Sizes{3});
  const Tensor a = matrices(5, 17, 17);
  CHECK(distance(matmul(linalg::inv(a), a), eye(17, {float64}).expand({5, 17, 17})) < 1e-12);
}

TEST_CASE("what depends on values is refused where the result is needed, in PyTorch's words") {
  const Tensor singular = tensor({{1., 2.}, {2., 4.}});
  const Tensor inverted = linalg::inv(singular);
  CHECK_THROWS_WITH(inverted.eval(),
                    Catch::Matchers::ContainsSubstring("linalg.inv: The diagonal element 2 is zero, the inversion could not be "
                                                       "completed because the input matrix is singular."));
  CHECK_THROWS_WITH(linalg::inv(stack({plain(), singular})).eval(),
                    Catch::Matchers::ContainsSubstring("(Batch element 1): The diagonal element 2"));
  CHECK_THROWS_WITH(
      linalg::solve(singular, ones({2})).eval(),
      Catch::Matchers::ContainsSubstring("torch.linalg.solve: The solver failed because the input matrix is singular."));
  CHECK_THROWS_WITH(
      linalg::cholesky(tensor({{1., 2.}, {2., 1.}})).eval(),
      Catch::Matchers::ContainsSubstring("linalg.cholesky: The factorization could not be completed because the input is not "
                                         "positive-definite (the leading minor of order 2 is not positive-definite)."));
  CHECK(std::get<1>(linalg::inv_ex(singular)).item<std::int64_t>() == 2);
  CHECK(std::get<1>(linalg::cholesky_ex(tensor({{1., 2.}, {2., 1.}}))).item<std::int64_t>() == 2);
}

TEST_CASE("wrong shapes and dtypes are refused at the call") {
  CHECK_THROWS_WITH(linalg::inv(ones({2, 3})), "linalg.inv: A must be batches of square matrices, but they are 2 by 3 matrices");
  CHECK_THROWS_WITH(linalg::inv(ones({2})), "linalg.inv: The input tensor A must have at least 2 dimensions.");
  CHECK_THROWS_WITH(linalg::det(ones({2, 2}, {int64})),
                    "linalg.det: Expected a floating point or complex tensor as input. Got Long");
  CHECK_THROWS_WITH(linalg::svd(ones({2, 2}, {float16})), "linalg.svd: Low precision dtypes not supported. Got Half");
  CHECK_THROWS_WITH(linalg::solve(ones({3, 3}), ones({2, 1})),
                    "linalg.solve: Incompatible shapes of A and B for the equation AX = B (3x3 and 2x1)");
}

TEST_CASE("solutions") {
  check_close(linalg::solve(definite(), tensor({1., 2., 3.})), {-0.11111111f, 1.4444444f, 2.2222222f});
  CHECK(linalg::solve(plain().expand({2, 2, 2}), counting({2, 2, 1})).sizes() == Sizes{2, 2, 1});
  check_close(linalg::solve(plain().expand({2, 2, 2}), counting({2, 2, 1})), {0, 0.5, -2, 2.5});
  const Tensor a = matrices(4, 9, 9), b = matrices(4, 9, 3);
  CHECK(distance(matmul(a, linalg::solve(a, b)), b) < 1e-12);
  CHECK(distance(matmul(linalg::solve(a, b.mT(), false), a), b.mT()) < 1e-12);
  CHECK(distance(matmul(a.select(0, 0), linalg::solve(a.select(0, 0), b)), b) < 1e-12);  // batches broadcast
  const auto [lu, pivots] = linalg::lu_factor(a);
  CHECK(pivots.dtype() == int32);
  CHECK(distance(matmul(a, linalg::lu_solve(lu, pivots, b)), b) < 1e-12);
  CHECK(distance(matmul(a.mT(), linalg::lu_solve(lu, pivots, b, true, true)), b) < 1e-12);
  CHECK(distance(matmul(linalg::lu_solve(lu, pivots, b.mT(), false), a), b.mT()) < 1e-12);
  for (const bool upper : {false, true})
    for (const bool left : {false, true})
      for (const bool unit : {false, true}) {
        CAPTURE(upper, left, unit);
        const Tensor mask = upper ? arange(9).unsqueeze(1) <= arange(9) : arange(9).unsqueeze(1) >= arange(9);
        Tensor triangle = where(mask, a, 0.0);
        if (unit) triangle = where(arange(9).unsqueeze(1) == arange(9), 1.0, triangle);
        const Tensor right = left ? b : b.mT(), x = linalg::solve_triangular(a, right, upper, left, unit);
        CHECK(distance(left ? matmul(triangle, x) : matmul(x, triangle), right) < 1e-9);
      }
  check_close(cholesky_solve(counting({3, 1}), linalg::cholesky(definite())), {-0.11111111f, 1.4444444f, 2.2222222f});
  CHECK(linalg::solve(ones({0, 0}), ones({0, 2})).sizes() == Sizes{0, 2});
}

TEST_CASE("factors multiply to what was factorized") {
  for (const auto& [rows, columns] : {std::pair{5, 5}, {7, 4}, {4, 7}, {1, 3}, {3, 0}, {0, 3}}) {
    CAPTURE(rows, columns);
    for (const DType type : {float32, float64}) {
      const Tensor a = matrices(3, rows, columns, type);
      const double small = type == float32 ? 1e-5 : 1e-12;
      const std::int64_t k = std::min(rows, columns);
      const auto [q, r] = linalg::qr(a);
      CHECK(q.sizes() == Sizes{3, rows, k});
      CHECK(distance(matmul(q, r), a) < small);
      CHECK(distance(matmul(q.mT(), q), eye(k, {type}).expand({3, k, k})) < small);
      const auto [whole, high] = linalg::qr(a, "complete");
      CHECK(whole.sizes() == Sizes{3, rows, rows});
      CHECK(distance(matmul(whole, high), a) < small);
      const auto [u, s, vh] = linalg::svd(a, false);
      CHECK(distance(matmul(u * s.unsqueeze(-2), vh), a) < small);
      CHECK((linalg::svdvals(a).eval() == s).all().item<bool>());  // to the bit, though nobody wants the vectors here
      const auto [all_u, all_s, all_vh] = linalg::svd(a);
      CHECK(distance(matmul(all_u.mT(), all_u), eye(rows, {type}).expand({3, rows, rows})) < small);
      CHECK(distance(matmul(all_vh, all_vh.mT()), eye(columns, {type}).expand({3, columns, columns})) < small);
      const auto [p, l, up] = linalg::lu(a);
      CHECK(distance(matmul(p, matmul(l, up)), a) < small);
      if (rows != columns) continue;
      const Tensor positive = matmul(a, a.mT());
      const Tensor lower = linalg::cholesky(positive), upper = linalg::cholesky(positive, true);
      CHECK(distance(matmul(lower, lower.mT()), positive) < 20 * small);
      CHECK(distance(matmul(upper.mT(), upper), positive) < 20 * small);
      const auto [values_of, vectors] = linalg::eigh(positive);
      CHECK(distance(matmul(positive, vectors), vectors * values_of.unsqueeze(-2)) < 20 * small);
      CHECK((values_of.narrow(-1, 1, k - 1) >= values_of.narrow(-1, 0, k - 1)).all().item<bool>());
    }
  }
  CHECK(std::get<0>(linalg::qr(plain(), "r")).numel() == 0);
}

TEST_CASE("rank, pseudo-inverse, condition, least squares") {
  const Tensor a = matrices(1, 6, 4).squeeze(0), narrow = cat({a, a.narrow(1, 0, 2)}, 1);  // rank 4 of 6 columns
  CHECK(linalg::matrix_rank(a).item<std::int64_t>() == 4);
  CHECK(linalg::matrix_rank(narrow).item<std::int64_t>() == 4);
  const Tensor inverted = linalg::pinv(narrow);
  CHECK(distance(matmul(matmul(narrow, inverted), narrow), narrow) < 1e-12);
  CHECK(distance(matmul(matmul(inverted, narrow), inverted), inverted) < 1e-12);
  CHECK(linalg::cond(tensor({{3., 0.}, {0., 1.5}})).item<float>() == Catch::Approx(2));
  CHECK(linalg::cond(plain(), 1).item<float>() == Catch::Approx(21));
  CHECK(linalg::cond(plain(), "fro").item<float>() == Catch::Approx(15));
  CHECK(std::isinf(linalg::cond(tensor({{1., 2.}, {2., 4.}}), INFINITY).item<float>()));
  const Tensor b = matrices(1, 6, 2).squeeze(0);
  const auto [x, residuals, rank, singular] = linalg::lstsq(a, b);
  CHECK(distance(matmul(a.mT(), matmul(a, x)), matmul(a.mT(), b)) < 1e-11);  // the normal equations
  CHECK(distance(residuals, square(matmul(a, x) - b).sum(0)) < 1e-12);
  CHECK(rank.item<std::int64_t>() == 4);
  CHECK(singular.numel() == 0);
  check_close(matrix_power(plain(), 3), {37, 54, 81, 118});
  check_close(matrix_power(plain(), 0), {1, 0, 0, 1});
  check_close(linalg::matrix_power(plain(), -1), {-2, 1, 1.5, -0.5});
  const Tensor t = matrices(1, 6, 6).reshape({2, 3, 6});
  CHECK(distance(tensordot(linalg::tensorinv(t, 2), t, 2), eye(6, {float64})) < 1e-12);
}

TEST_CASE("linalg: the derivative of matrix_exp at zero is the identity's") {
  const Tensor a = zeros({2, 3, 3}).requires_grad_(), weights = arange(18, {float32}).reshape({2, 3, 3});
  (matrix_exp(a) * weights).sum().backward();
  close(a.grad(), floats(weights));
}
