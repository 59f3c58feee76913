// A matrix product with one row or one column: in which order its terms are added follows from the tensors' sizes and strides, so that
// the same program gives the same bits however much of it is one graph, and whether that graph shows that a size is 1.
#include <cstring>
#include <functional>

#include "braze/braze.h"
#include "tests/frontend/values.h"

using namespace braze;
using namespace braze::test;

namespace {

using Program = std::function<Tensor(const Tensor&, const Tensor&)>;

bool same_bits(const Tensor& a, const Tensor& b) {
  const Floats x = floats(a), y = floats(b);
  return a.sizes() == b.sizes() && std::memcmp(x.data(), y.data(), x.size() * sizeof(float)) == 0;
}

struct Case {
  const char* text;
  Program program;
};

// Of x, [57, 301], and w, [301, 57].
const Case cases[] = {
    {"a row that a slice of one takes", [](const Tensor& x, const Tensor& w) { return (x(slice(3, 4)) * 2).matmul(w); }},
    {"by a transpose", [](const Tensor& x, const Tensor&) { return (x(slice(0, 1)) * 2).matmul(x.t()); }},
    {"by a transpose in memory",
     [](const Tensor& x, const Tensor&) { return (x(slice(0, 1)) * 2).matmul((x + 1).t().contiguous()); }},
    {"a column that a slice of one takes", [](const Tensor& x, const Tensor& w) { return x.matmul(w(slice(), slice(0, 1)) * 2); }},
    {"of a transpose", [](const Tensor&, const Tensor& w) { return w.t().matmul(w(slice(), slice(0, 1)) * 2); }},
    {"a column by one row",
     [](const Tensor& x, const Tensor& w) { return (x.matmul(w(slice(), slice(0, 1))) - 1).matmul(ones({1, 3})); }},
    {"a matrix by its own product's column",
     [](const Tensor& x, const Tensor& w) {
       const Tensor column = w(slice(), slice(0, 1)), d = x.matmul(column) - 1;
       return d.matmul(column.t());
     }},
    {"the product's transpose",
     [](const Tensor& x, const Tensor& w) { return (x(slice(0, 1)) + 1).matmul(w + 1).t().contiguous() * 2; }},
    {"one row by one column", [](const Tensor& x, const Tensor& w) { return x(slice(1, 2)).matmul(w(slice(), slice(1, 2))); }},
    {"a vector", [](const Tensor& x, const Tensor& w) { return x.mv(w(slice(), 0)) + x.t().mv(x(slice(), 0)).sum(); }},
    {"a batch of rows", [](const Tensor& x, const Tensor& w) { return x.unsqueeze(1).matmul(w.expand({57, 301, 57}) * 2); }},
};

// The derivative of the sum of sines, along both.
Tensor gradients(const Program& program, const Tensor& x, const Tensor& w) {
  const Tensor a = x.detach().clone().requires_grad_(), b = w.detach().clone().requires_grad_();
  program(a, b).sin().sum().backward();
  const auto of = [](const Tensor& t) { return t.grad().defined() ? t.grad().flatten() : zeros({0}); };
  return cat({of(a), of(b)});
}

}  // namespace

TEST_CASE(
    "a product with one row or one column has the same bits in a graph, op by op, compiled, and with its operands in memory") {
  manual_seed(7);
  const Tensor x = randn({57, 301}), w = randn({301, 57});
  eval({x, w});
  for (const Case& c : cases) {
    INFO(c.text);
    const Tensor fused = c.program(x, w);
    Tensor alone, gradients_alone;
    {
      const EagerScope eager;
      alone = c.program(x, w);
      gradients_alone = gradients(c.program, x, w);
    }
    CHECK(same_bits(fused, alone));
    CHECK(same_bits(compile(c.program)(x, w), alone));
    const Tensor x_pending = x * 1.5, w_pending = w * 1.5, x_known = x * 1.5, w_known = w * 1.5;
    eval({x_known, w_known});
    CHECK(same_bits(c.program(x_pending, w_pending), c.program(x_known, w_known)));
    CHECK(same_bits(gradients(c.program, x, w), gradients_alone));
  }
}

TEST_CASE("a product with one row or one column is right, whichever way its matrix lies") {
  const Tensor m = arange(12).reshape({3, 4}).to(float32), row = tensor({{1, 2, 3}}).to(float32),
               column = tensor({{1}, {0}, {2}, {1}}).to(float32);
  CHECK(floats(row.matmul(m)) == Floats{32, 38, 44, 50});
  CHECK(floats(row.matmul(m.t().contiguous().t())) == Floats{32, 38, 44, 50});
  CHECK(floats(m.matmul(column)) == Floats{7, 23, 39});
  CHECK(floats(m.t().contiguous().t().matmul(column)) == Floats{7, 23, 39});
  CHECK(floats(row.matmul(zeros({3, 0}))).empty());
  CHECK(floats(zeros({1, 0}).matmul(zeros({0, 2}))) == Floats{0, 0});
}
