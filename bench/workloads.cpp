#include "bench/workloads.h"

namespace braze::bench {

namespace {

constexpr std::int64_t million = 1 << 20, float_bytes = 4;

// Evenly spread over [low, high], in an order that no prefetcher or branch can learn.
Tensor spread(SizesView sizes, double low, double high) {
  std::int64_t n = 1;
  for (const std::int64_t s : sizes) n *= s;
  const Tensor scrambled = (arange(n) * 7919) % 1000003;
  return (scrambled.to(float32) * ((high - low) / 1000003) + low).reshape(sizes).eval();
}

Tensor chain_of_eight(const Tensor& x, const Tensor& y) { return ((((x * 2 + y) * x - y) * 0.5 + 1) * y - x).abs(); }

// Call price with the normal distribution's logistic approximation, so that exp and log carry the cost.
Tensor black_scholes(const Tensor& spot, const Tensor& strike, const Tensor& years) {
  const double rate = 0.02, volatility = 0.3;
  const Tensor scale = volatility * sqrt(years);
  const Tensor d1 = (log(spot / strike) + (rate + 0.5 * volatility * volatility) * years) / scale;
  const Tensor d2 = d1 - scale;
  const auto normal = [](const Tensor& d) { return 1 / (1 + exp(-1.702 * d)); };
  return spot * normal(d1) - strike * exp(-rate * years) * normal(d2);
}

Tensor jacobi(const Tensor& grid) {
  const auto inner = slice(1, -1);
  const Tensor next = grid.clone();
  next(inner, inner) =
      0.25 * (grid(slice(0, -2), inner) + grid(slice(2, none), inner) + grid(inner, slice(0, -2)) + grid(inner, slice(2, none)));
  return next;
}

}  // namespace

std::vector<Workload> workloads() {
  std::vector<Workload> out;
  for (const auto& [label, n] : {std::pair<const char*, std::int64_t>{"16M", 16 * million}, {"100k", 100000}}) {
    const Tensor x = spread({n}, 0.5, 2), y = spread({n}, -1, 1);
    out.push_back({std::string("chain of 8, ") + label, 3 * n * float_bytes, [=] { return chain_of_eight(x, y); }});
  }
  {
    const std::int64_t n = 4 * million;
    const Tensor spot = spread({n}, 50, 150), strike = spread({n}, 60, 140), years = spread({n}, 0.1, 2);
    out.push_back({"Black-Scholes, 4M", 4 * n * float_bytes, [=] { return black_scholes(spot, strike, years); }});
  }
  {
    const Tensor x = spread({4096, 1024}, -4, 4), weight = spread({1024}, 0.5, 1.5), bias = spread({1024}, -1, 1);
    out.push_back({"softmax, 4096x1024", 2 * x.nbytes(), [=] { return softmax(x, 1); }, softmax_by_hand(x)});
    out.push_back({"layer norm, 4096x1024", 2 * x.nbytes(), [=] { return layer_norm(x, {1024}, weight, bias); },
                   layer_norm_by_hand(x, weight, bias, 1e-5F)});
  }
  {
    const Tensor x = spread({4096, 4096}, -1, 1);
    out.push_back({"sum over rows, 4096x4096", x.nbytes(), [=] { return x.sum(0); }});
    out.push_back({"sum over columns, 4096x4096", x.nbytes(), [=] { return x.sum(1); }});
    out.push_back({"sum of all, 4096x4096", x.nbytes(), [=] { return x.sum(); }});
    out.push_back({"x + x.T, 4096x4096", 2 * x.nbytes(), [=] { return x + x.T(); }});
  }
  {
    const Tensor grid = spread({2048, 2048}, 0, 1);
    out.push_back({"Jacobi step, 2048x2048", 2 * grid.nbytes(), [=] { return jacobi(grid); }});
  }
  return out;
}

}  // namespace braze::bench
