#include <iostream>

#include "braze/braze.h"

using namespace braze;

int main() try {
  Tensor x = tensor({{1, 2, 3}, {4, 5, 6}}, {.dtype = float32});
  Tensor y = tanh(x * 0.25f) + 1;  // recorded; nothing has run
  y(slice(), 0) = 0;               // a view: the write goes through to y
  auto [values, indices] = y.max(1);
  std::cout << y << "\n";  // a value is needed: one graph, compiled and run
  std::cout << values << " " << indices << "\n";

  auto norm = compile([](const Tensor& a) { return (a * a).sum(1).sqrt(); });
  std::cout << norm(x) << "\n";      // records, compiles and runs
  std::cout << norm(x + 1) << "\n";  // runs

  x.matmul(x);  // throws here, at the call
} catch (const Error& e) {
  std::cout << e.what() << "\n";
}
