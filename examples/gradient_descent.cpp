// The tutorials' first derivative, of x², and its minimum by gradient descent: gradient_descent [PICTURE.svg]
#include <cstdio>
#include <iostream>

#include "braze/braze.h"
#include "curve.h"

using namespace braze;

static Tensor f(const Tensor& x) { return pow(x, 2); }

int main(int argc, char** argv) {
  // The derivative of x² is 2x, at any number of places at once.
  Tensor x = tensor({1., 2., 3.}).requires_grad_();
  std::cout << "x.grad: " << (x.grad().defined() ? x.grad().str() : "None") << "\n";
  f(x).sum().backward();
  std::cout << "反向传播后 x.grad: " << x.grad() << "\n";

  x = tensor({10}, {float32}).requires_grad_();
  const double lr = 0.2;
  std::vector<double> values;
  for (int epoch = 0; epoch < 10; ++epoch) {
    const Tensor y_pred = f(x);
    if (x.grad().defined()) x.grad().zero_();
    y_pred.sum().backward();
    {
      const NoGradGuard off;
      x -= lr * x.grad();
    }
    values.push_back(y_pred.item<double>());
    std::printf("epoch%d: x: %.3f, y: %.3f, grad: %.3f\n", epoch + 1, x.item<double>(), values.back(), x.grad().item<double>());
    curve::show_progress(epoch + 1, 10);
  }
  if (argc > 1) curve::save(argv[1], "x²", values);
}
