// Gradients of convolution and max pooling, against loops written from their definitions.
#include <array>
#include <cmath>
#include <limits>

#include "braze/braze.h"
#include "braze/func.h"
#include "runtime/storage.h"
#include "tests/catch.h"
#include "tests/frontend/values.h"

using namespace braze;
using namespace braze::test;

namespace {

struct Setting {
  std::int64_t channels, kh, kw, stride, padding, dilation, groups;
};

struct Gradients {
  Floats input, weight, bias;
};

// Each product of an element of the input and one of the weight that a result sums.
Gradients by_loops(const Tensor& x, const Tensor& w, const Tensor& g, const Setting& k) {
  const Floats input = floats(x), weight = floats(w), cotangent = floats(g);
  Gradients out{Floats(input.size()), Floats(weight.size()), Floats(static_cast<std::size_t>(w.size(0)))};
  const std::int64_t depth = w.size(1), filters = w.size(0);
  std::size_t at = 0;
  for (std::int64_t n = 0; n < g.size(0); ++n)
    for (std::int64_t o = 0; o < filters; ++o)
      for (std::int64_t y = 0; y < g.size(2); ++y)
        for (std::int64_t z = 0; z < g.size(3); ++z, ++at) {
          out.bias[static_cast<std::size_t>(o)] += cotangent[at];
          for (std::int64_t c = 0; c < depth; ++c)
            for (std::int64_t i = 0; i < k.kh; ++i)
              for (std::int64_t j = 0; j < k.kw; ++j) {
                const std::int64_t row = y * k.stride - k.padding + i * k.dilation,
                                   column = z * k.stride - k.padding + j * k.dilation;
                if (row < 0 || column < 0 || row >= x.size(2) || column >= x.size(3)) continue;
                const std::int64_t channel = o / (filters / k.groups) * depth + c;
                const auto here = static_cast<std::size_t>(((n * x.size(1) + channel) * x.size(2) + row) * x.size(3) + column);
                const auto filter = static_cast<std::size_t>(((o * depth + c) * k.kh + i) * k.kw + j);
                out.input[here] += cotangent[at] * weight[filter];
                out.weight[filter] += cotangent[at] * input[here];
              }
        }
  return out;
}

}  // namespace

TEST_CASE("a convolution's gradients are sums over the windows") {
  for (const Setting& k :
       {Setting{8, 3, 3, 1, 1, 1, 1}, Setting{8, 3, 3, 1, 2, 1, 2}, Setting{4, 2, 3, 1, 1, 2, 1}, Setting{4, 3, 2, 1, 4, 1, 1},
        Setting{8, 1, 3, 1, 0, 1, 1}, Setting{4, 5, 4, 1, 0, 1, 1}, Setting{8, 3, 3, 2, 1, 1, 2}, Setting{3, 3, 3, 1, 1, 1, 1},
        Setting{8, 1, 1, 1, 0, 1, 1}, Setting{8, 3, 3, 1, 1, 1, 8}}) {
    CAPTURE(k.channels, k.kh, k.kw, k.stride, k.padding, k.dilation, k.groups);
    for (const bool turned : {false, true}) {
      Tensor x = ramp({2, k.channels, 9, 11}), w = ramp({8, k.channels / k.groups, k.kh, k.kw}), b = ramp({8});
      if (turned) x = x.permute({2, 0, 3, 1}).contiguous().permute({1, 3, 0, 2});
      x.requires_grad_(), w.requires_grad_(), b.requires_grad_();
      const Tensor y = conv2d(x, w, b, {k.stride}, {k.padding}, {k.dilation}, k.groups), g = ramp(y.sizes());
      y.backward(g);
      const Gradients expected = by_loops(x.detach(), w.detach(), g, k);
      CHECK(floats(x.grad()) == expected.input);
      CHECK(floats(w.grad()) == expected.weight);
      CHECK(floats(b.grad()) == expected.bias);
    }
  }
}

TEST_CASE("a convolution's gradient in the input alone, of names of paddings, of no elements") {
  Tensor x = ramp({2, 4, 12}).requires_grad_();
  const Tensor w = ramp({6, 4, 4});
  conv1d(x, w, {}, {1}, "same", {2}).sum().backward();
  const Floats same = floats(x.grad());
  x.set_grad({});
  conv1d(pad(x, {3, 3}), w, {}, {1}, {0}, {2}).sum().backward();
  CHECK(floats(x.grad()) == same);
  Tensor none = ones({0, 4, 6, 6}).requires_grad_(), filters = ones({4, 4, 3, 3}).requires_grad_();
  conv2d(none, filters, {}, {1}, {1}).sum().backward();
  CHECK(none.grad().sizes() == none.sizes());
  CHECK(floats(filters.grad()) == Floats(4 * 4 * 9));
}

TEST_CASE("a convolution's gradient is one step, which a second backward pass has to ask for") {
  Tensor x = ramp({1, 4, 6, 6}).requires_grad_(), w = ramp({4, 4, 3, 3}).requires_grad_(), b = ramp({4}).requires_grad_();
  const Tensor y = conv2d(x, w, b, {1}, {1});
  REQUIRE(y.grad_fn().name() == "ConvolutionBackward0");
  const auto next = y.grad_fn().next_functions();
  REQUIRE(next.size() == 3);
  for (std::size_t i = 0; i < 3; ++i) CHECK(next[i].first.variable().impl() == std::array{x, w, b}[i].impl());
  y.sum().backward({}, true);
  y.sum().backward();
  CHECK_THROWS_WITH(y.sum().backward(), Catch::Contains("backward through the graph a second time"));
}

TEST_CASE("the gradient in a convolution's input has no buffer of columns") {
  Tensor x = ramp({8, 16, 32, 32}).requires_grad_();
  const Tensor w = ramp({16, 16, 3, 3});
  constexpr std::int64_t columns = 8 * 16 * 9 * 32 * 32 * 4;
  x.eval(), w.eval();
  conv2d(x, w, {}, {1}, {1}).sum().backward();
  const std::int64_t live = runtime::allocator_statistics().live_bytes;
  runtime::reset_peak();
  x.grad().eval();
  CHECK(runtime::allocator_statistics().peak_bytes - live < columns);
}

// Derivatives of derivatives, forward mode and batches go by the ops that the gradient is a shortcut of.
TEST_CASE("transforms of convolution and max pooling agree with backward passes") {
  const Tensor w = ramp({4, 4, 3, 3});
  const auto f = [&](const Tensor& x) {
    const Tensor y = max_pool2d(conv2d(x, w, {}, {1}, {1}), {2});
    return (y * y).sum();
  };
  const func::Function whole = [&](std::span<const Tensor> a) { return func::Tensors{f(a[0])}; };
  Tensor x = ramp({1, 4, 6, 6}).requires_grad_();
  f(x).backward();
  const Tensor slope = x.grad(), start = x.detach(), along = ramp({6, 6, 4}).permute({2, 0, 1}).unsqueeze(0).contiguous();
  CHECK(floats(func::grad_and_value(whole, {&start, 1}).gradients[0]) == floats(slope));
  CHECK(func::jvp(whole, {&start, 1}, {&along, 1}).tangents[0].item<float>() == (slope * along).sum().item<float>());
  const func::Function gradient = [&](std::span<const Tensor> a) { return func::grad_and_value(whole, a).gradients; };
  // f is quadratic where no maximum changes hands: its gradient's derivative along x is the gradient.
  CHECK(floats(func::jvp(gradient, {&start, 1}, {&start, 1}).tangents[0]) == floats(slope));
  const Tensor batch = stack({start, start * 2});
  const Tensor each = func::vmap(gradient, {&batch, 1})[0];
  CHECK(floats(each.select(0, 0)) == floats(slope));
  CHECK(floats(each.select(0, 1)) == floats(slope * 2));
}

TEST_CASE("the gradient of max_pool goes where its index says") {
  const float inf = std::numeric_limits<float>::infinity();
  struct Pool {
    std::int64_t kernel, stride, padding, dilation;
    bool ceil;
  };
  for (const Pool& p : {Pool{2, 2, 0, 1, false}, Pool{3, 2, 1, 1, false}, Pool{3, 1, 1, 2, false}, Pool{2, 3, 0, 1, true},
                        Pool{5, 2, 2, 1, true}, Pool{6, 3, 2, 1, false}})
    for (const int kind : {0, 1, 2}) {
      CAPTURE(p.kernel, p.stride, p.padding, p.dilation, p.ceil, kind);
      Tensor x = ramp({2, 3, 9, 11});
      const Tensor chosen = ramp({2, 3, 9, 11}) > 0;
      if (kind == 1) x = where(chosen, full({}, -inf), x);
      if (kind == 2) x = where(chosen, full({}, NAN), x);
      const auto pool = [&](const Tensor& t) {
        return max_pool2d_with_indices(t, {p.kernel}, {p.stride}, {p.padding}, {p.dilation}, p.ceil);
      };
      const auto [values, places] = pool(x);  // no gradient: another way to compute them
      const Tensor g = ramp(values.sizes());
      Tensor input = x.clone().requires_grad_();
      const auto [own, own_places] = pool(input);
      own.backward(g);
      CHECK(own_places.to_vector<std::int64_t>() == places.to_vector<std::int64_t>());
      for (std::size_t i = 0; i < floats(own).size(); ++i)
        CHECK((floats(own)[i] == floats(values)[i] || (std::isnan(floats(own)[i]) && std::isnan(floats(values)[i]))));
      const Tensor expected = zeros({2, 3, 99}).scatter_add(2, places.flatten(2), g.flatten(2));
      CHECK(floats(input.grad()) == floats(expected));
    }
}

TEST_CASE("a convolution's result is contiguous where images of few windows share a matrix, and keeps its values") {
  const Tensor x = arange(4 * 8 * 8 * 8).reshape({4, 8, 8, 8}).to(float32) / 1000, w = ones({16, 8, 3, 3});
  const Tensor y = conv2d(x, w);
  CHECK(y.is_contiguous());
  CHECK(y.view({4, -1}).sizes() == Sizes{4, 576});
  CHECK(allclose(y(2), conv2d(x(slice(2, 3)), w)(0)));
}
