// Convolution, pooling and resampling against loops written from PyTorch's definitions, and values recorded from PyTorch.
#include <cmath>
#include <functional>
#include <limits>

#include "braze/braze.h"
#include "tests/catch.h"
#include "tests/frontend/values.h"

using namespace braze;
using namespace braze::test;

namespace {

struct Shape2 {
  std::int64_t n, c, h, w;
};

float at(const Floats& x, const Shape2& s, std::int64_t n, std::int64_t c, std::int64_t i, std::int64_t j, float outside) {
  if (i < 0 || j < 0 || i >= s.h || j >= s.w) return outside;
  return x[static_cast<std::size_t>(((n * s.c + c) * s.h + i) * s.w + j)];
}

struct Setting {
  std::int64_t kh, kw, stride, padding, dilation, groups;
};

// out[n, o, y, x] = sum over the group's channels and the kernel.
Floats convolution_by_loops(const Tensor& input, const Tensor& weight, const Setting& k) {
  const Floats x = floats(input), w = floats(weight);
  const Shape2 s{input.size(0), input.size(1), input.size(2), input.size(3)};
  const std::int64_t oh = (s.h + 2 * k.padding - k.dilation * (k.kh - 1) - 1) / k.stride + 1;
  const std::int64_t ow = (s.w + 2 * k.padding - k.dilation * (k.kw - 1) - 1) / k.stride + 1;
  const std::int64_t filters = weight.size(0), depth = s.c / k.groups;
  Floats out;
  for (std::int64_t n = 0; n < s.n; ++n)
    for (std::int64_t o = 0; o < filters; ++o)
      for (std::int64_t y = 0; y < oh; ++y)
        for (std::int64_t z = 0; z < ow; ++z) {
          float sum = 0;
          for (std::int64_t c = 0; c < depth; ++c)
            for (std::int64_t i = 0; i < k.kh; ++i)
              for (std::int64_t j = 0; j < k.kw; ++j)
                sum += at(x, s, n, o / (filters / k.groups) * depth + c, y * k.stride - k.padding + i * k.dilation,
                          z * k.stride - k.padding + j * k.dilation, 0) *
                       w[static_cast<std::size_t>(((o * depth + c) * k.kh + i) * k.kw + j)];
          out.push_back(sum);
        }
  return out;
}

}  // namespace

TEST_CASE("conv2d is the sum over channels and kernel") {
  for (const Setting& k :
       {Setting{3, 3, 1, 0, 1, 1}, Setting{3, 3, 1, 1, 1, 1}, Setting{2, 3, 2, 1, 1, 1}, Setting{3, 2, 1, 2, 2, 2},
        Setting{1, 1, 1, 0, 1, 1}, Setting{3, 3, 2, 1, 1, 4}, Setting{1, 1, 2, 0, 1, 2}}) {
    const Tensor x = ramp({2, 4, 9, 7}), w = ramp({8, 4 / k.groups, k.kh, k.kw});
    CAPTURE(k.kh, k.kw, k.stride, k.padding, k.dilation, k.groups);
    CHECK(floats(conv2d(x, w, {}, {k.stride}, {k.padding}, {k.dilation}, k.groups)) == convolution_by_loops(x, w, k));
    // A strided input and a bias.
    const Tensor turned = x.transpose(2, 3).contiguous().transpose(2, 3), bias = ramp({8});
    CHECK(floats(conv2d(turned, w, bias, {k.stride}, {k.padding}, {k.dilation}, k.groups) - bias.reshape({8, 1, 1})) ==
          convolution_by_loops(x, w, k));
  }
}

// Deeper than what a dot packs at a time, in strips that begin and end within rows of windows; few windows an image and many.
TEST_CASE("windows are packed where they are") {
  struct Case {
    Shape2 input;
    std::int64_t filters;
    Setting setting;
  };
  for (const Case& c : {Case{{3, 40, 11, 13}, 9, {3, 3, 1, 1, 1, 1}}, Case{{2, 32, 21, 19}, 17, {3, 3, 1, 1, 1, 1}},
                        Case{{2, 32, 41, 39}, 6, {3, 3, 2, 1, 1, 1}}, Case{{3, 64, 13, 15}, 8, {3, 3, 3, 2, 2, 2}},
                        Case{{2, 30, 20, 37}, 12, {2, 5, 1, 0, 2, 3}}, Case{{2, 3, 40, 40}, 130, {5, 5, 2, 2, 1, 1}},
                        Case{{2, 300, 6, 7}, 5, {1, 1, 1, 0, 1, 1}}, Case{{2, 300, 16, 17}, 5, {1, 1, 2, 0, 1, 1}},
                        Case{{2, 4, 12, 33}, 4, {7, 7, 1, 3, 1, 4}}, Case{{2, 4, 12, 33}, 4, {6, 6, 2, 0, 1, 4}}}) {
    const auto& [input, filters, k] = c;
    const Tensor x = ramp({input.n, input.c, input.h, input.w}), w = ramp({filters, input.c / k.groups, k.kh, k.kw});
    CAPTURE(input.n, input.c, input.h, input.w, filters, k.kh, k.kw, k.stride, k.padding, k.dilation, k.groups);
    const Floats expected = convolution_by_loops(x, w, k);
    for (const DType type : {float32, float64, int64})
      CHECK(floats(conv2d(x.to(type), w.to(type), {}, {k.stride}, {k.padding}, {k.dilation}, k.groups).to(float32)) == expected);
    const Tensor turned = x.permute({2, 0, 3, 1}).contiguous().permute({1, 3, 0, 2});
    CHECK(floats(conv2d(turned, w, {}, {k.stride}, {k.padding}, {k.dilation}, k.groups)) == expected);
  }
}

TEST_CASE("a filter a channel, and batches larger than the columns may be") {
  const Setting k{3, 3, 2, 1, 1, 4};
  const Tensor x = ramp({2, 4, 9, 7}), w = ramp({4, 1, 3, 3});
  CHECK(floats(conv2d(x, w, {}, {2}, {1}, {1}, 4)) == convolution_by_loops(x, w, k));
  CHECK(conv2d(x.to(bfloat16), w.to(bfloat16), ramp({4}).to(bfloat16), {2}, {1}, {1}, 4).dtype() == bfloat16);
  const Tensor many = ramp({40, 8, 64, 64}), filters = ramp({3, 8, 3, 3}), whole = conv2d(many, filters, ramp({3}));
  CHECK(whole.sizes() == Sizes{40, 3, 62, 62});
  for (const std::int64_t n : {0, 17, 39})
    CHECK(floats(whole.select(0, n)) == floats(conv2d(many.select(0, n), filters, ramp({3}))));
}

TEST_CASE("conv1d, conv3d, names of paddings, inputs without a batch") {
  const Tensor x = ramp({2, 3, 8}), w = ramp({4, 3, 3});
  CHECK(floats(conv1d(x, w, {}, {2}, {1})) == floats(conv2d(x.unsqueeze(2), w.unsqueeze(2), {}, {1, 2}, {0, 1})));
  CHECK(conv1d(x, w, {}, {1}, "same").sizes() == Sizes{2, 4, 8});
  CHECK(floats(conv1d(x, w, {}, {1}, "same")) == floats(conv1d(x, w, {}, {1}, {1})));
  CHECK(floats(conv1d(x, w, {}, {1}, "valid")) == floats(conv1d(x, w)));
  CHECK(floats(conv1d(x.select(0, 1), w)) == floats(conv1d(x, w).select(0, 1)));
  const Tensor cube = ramp({1, 2, 4, 5, 3}), kernel = ramp({2, 2, 2, 1, 3});
  CHECK(conv3d(cube, kernel).sizes() == Sizes{1, 2, 3, 5, 1});
  CHECK(conv3d(cube, kernel).select(1, 1).select(1, 2).select(1, 4).item<float>() ==
        (cube.narrow(2, 2, 2).narrow(3, 4, 1) * kernel.narrow(0, 1, 1)).sum().item<float>());
  CHECK(conv2d(ones({0, 3, 4, 4}), ones({2, 3, 3, 3})).sizes() == Sizes{0, 2, 2, 2});
  CHECK(conv2d(ones({1, 1, 3, 3}, {int64}), ones({1, 1, 2, 2}, {int64})).to_vector<std::int64_t>() ==
        std::vector<std::int64_t>(4, 4));
}

TEST_CASE("convolution's refusals are PyTorch's") {
  CHECK_THROWS_WITH(
      conv2d(ones({1, 8, 8, 4}), ones({2, 3, 3, 3})),
      "Given groups=1, weight of size [2, 3, 3, 3], expected input[1, 8, 8, 4] to have 3 channels, but got 8 channels instead");
  CHECK_THROWS_WITH(
      conv2d(ones({1, 3, 2, 2}), ones({2, 3, 3, 3})),
      "Calculated padded input size per channel: (2 x 2). Kernel size: (3 x 3). Kernel size can't be greater than actual input "
      "size");
  CHECK_THROWS_WITH(conv2d(ones({3, 3}), ones({2, 3, 3, 3})),
                    "Expected 3D (unbatched) or 4D (batched) input to conv2d, but got input of size: [3, 3]");
  CHECK_THROWS_WITH(
      conv2d(ones({1, 3, 4, 4}), ones({2, 3, 3, 3}), ones({3})),
      "Given weight of size [2, 3, 3, 3], expected bias to be 1-dimensional with 2 elements, but got bias of size [3] instead");
  CHECK_THROWS_WITH(conv2d(ones({1, 3, 4, 4}), ones({2, 3, 3, 3}), {}, {0}), "non-positive stride is not supported");
  CHECK_THROWS_WITH(conv2d(ones({1, 3, 4, 4}), ones({2, 3, 3, 3}), {}, {2}, "same"),
                    "padding='same' is not supported for strided convolutions");
  CHECK_THROWS_WITH(conv2d(ones({1, 3, 4, 4}, {float64}), ones({2, 3, 3, 3})),
                    "Input type (double) and weight type (float) should be the same");
}

TEST_CASE("conv_transpose is the adjoint of convolution") {
  for (const Setting& k :
       {Setting{3, 3, 1, 0, 1, 1}, Setting{3, 2, 2, 1, 1, 1}, Setting{2, 2, 2, 0, 2, 2}, Setting{3, 3, 3, 1, 1, 2}}) {
    CAPTURE(k.kh, k.kw, k.stride, k.padding, k.dilation, k.groups);
    const Tensor x = ramp({2, 4, 10, 9}), w = ramp({6, 4 / k.groups, k.kh, k.kw});
    const Tensor forward = conv2d(x, w, {}, {k.stride}, {k.padding}, {k.dilation}, k.groups);
    const Tensor y = ramp(forward.sizes());
    // <conv(x), y> = <x, conv_transpose(y)> for the size that output_padding brings back.
    const auto lost = [&](std::int64_t size, std::int64_t kernel) {
      return (size + 2 * k.padding - k.dilation * (kernel - 1) - 1) % k.stride;
    };
    const Tensor back =
        conv_transpose2d(y, w, {}, {k.stride}, {k.padding}, {lost(10, k.kh), lost(9, k.kw)}, k.groups, {k.dilation});
    REQUIRE(back.sizes() == x.sizes());
    CHECK((forward * y).sum().item<float>() == (x * back).sum().item<float>());
  }
  CHECK(floats(conv_transpose1d(tensor({{{1., 2.}}}), tensor({{{1., 10., 100.}}}), tensor({0.5}), {2})) ==
        Floats{1.5, 10.5, 102.5, 20.5, 200.5});
}

TEST_CASE("unfold and fold") {
  const Tensor x = ramp({1, 2, 4, 4});
  CHECK(unfold(x, {2}, {1}, {0}, {2}).sizes() == Sizes{1, 8, 4});
  CHECK(floats(unfold(x.narrow(1, 0, 1), {2})).size() == 36);
  CHECK(floats(fold(unfold(x, {2}, {1}, {0}, {2}), {4}, {2}, {1}, {0}, {2})) == floats(x));
  // Every element as often as blocks hold it.
  CHECK(floats(fold(unfold(ones({1, 1, 3, 3}), {2}), {3}, {2})) == Floats{1, 2, 1, 2, 4, 2, 1, 2, 1});
  CHECK_THROWS_AS(fold(ones({1, 3, 4}), {4}, {2}), ShapeError);
}

TEST_CASE("max_pool takes the greatest, and the first of equals") {
  const Tensor x = ramp({2, 3, 6, 7});
  const Shape2 s{2, 3, 6, 7};
  const Floats source = floats(x);
  for (const Setting& k :
       {Setting{2, 2, 2, 0, 1, 1}, Setting{3, 3, 1, 1, 1, 1}, Setting{3, 2, 2, 1, 2, 1}, Setting{6, 6, 3, 2, 1, 1}}) {
    CAPTURE(k.kh, k.kw, k.stride, k.padding, k.dilation);
    const auto [pooled, places] = max_pool2d_with_indices(x, {k.kh, k.kw}, {k.stride}, {k.padding}, {k.dilation});
    CHECK(floats(max_pool2d(x, {k.kh, k.kw}, {k.stride}, {k.padding}, {k.dilation})) == floats(pooled));
    Floats expected;
    std::vector<std::int64_t> expected_places;
    for (std::int64_t n = 0; n < s.n; ++n)
      for (std::int64_t c = 0; c < s.c; ++c)
        for (std::int64_t y = 0; y < pooled.size(2); ++y)
          for (std::int64_t z = 0; z < pooled.size(3); ++z) {
            float best = -std::numeric_limits<float>::infinity();
            std::int64_t place = -1;
            for (std::int64_t i = 0; i < k.kh; ++i)
              for (std::int64_t j = 0; j < k.kw; ++j) {
                const std::int64_t row = y * k.stride - k.padding + i * k.dilation,
                                   column = z * k.stride - k.padding + j * k.dilation;
                const float v = at(source, s, n, c, row, column, -std::numeric_limits<float>::infinity());
                if (v > best) best = v, place = row * s.w + column;
              }
            expected.push_back(best);
            expected_places.push_back(place);
          }
    CHECK(floats(pooled) == expected);
    CHECK(places.to_vector<std::int64_t>() == expected_places);
  }
  CHECK(max_pool2d(x, {4}, {}, {0}, {1}, true).sizes() == Sizes{2, 3, 2, 2});
  CHECK(floats(max_pool1d(tensor({{1., NAN, 3., 2.}}), {2}))[1] == 3);
  CHECK(std::isnan(floats(max_pool1d(tensor({{1., NAN, 3., 2.}}), {2}))[0]));
  CHECK(max_pool1d_with_indices(tensor({{1., NAN, NAN, 2.}}), {4}).second.item<std::int64_t>() == 2);
  const Tensor nothing = full({1, 5}, -INFINITY);
  CHECK(max_pool1d_with_indices(nothing, {3}, {2}, {1}).second.to_vector<std::int64_t>() == std::vector<std::int64_t>{0, 1, 3});
  CHECK_THROWS_WITH(max_pool2d(x, {2}, {}, {2}),
                    "pad should be at most half of effective kernel size, but got pad=2, kernel_size=2 and dilation=1");
  CHECK_THROWS_WITH(max_pool2d(ones({1, 2, 2}), {3}),
                    "Given input size: (1x2x2). Calculated output size: (1x0x0). Output size is too small");
}

// Recorded from PyTorch 2.15: equal elements give the first of them all, and a window's NaN is its maximum, the last one of several.
TEST_CASE("the gradient of max_pool goes to the element that was taken") {
  const auto gradient = [](Tensor x, const std::function<Tensor(const Tensor&)>& pool) {
    x.requires_grad_();
    const Tensor y = pool(x);
    y.backward(arange(1.0f, 1.0f + static_cast<float>(y.numel())).reshape(y.sizes()));
    return floats(x.grad());
  };
  CHECK(gradient(tensor({{1.0f, 1.0f, 3.0f}}), [](const Tensor& x) { return max_pool1d(x, {2}, {1}); }) == Floats{1, 0, 2});
  const auto plane = [] {
    const float nan = NAN;
    return tensor({2.0f, 2.0f, 1.0f, 5.0f, 2.0f, 0.0f, 5.0f, 5.0f, nan, 1.0f, 7.0f, nan, 4.0f, nan, 7.0f, 6.0f})
        .reshape({1, 1, 4, 4});
  };
  CHECK(gradient(plane(), [](const Tensor& x) { return max_pool2d(x, {3}, {1}, {1}); }) ==
        Floats{1, 0, 0, 7, 0, 0, 2, 0, 11, 0, 0, 43, 0, 72, 0, 0});
  CHECK(gradient(plane(), [](const Tensor& x) { return max_pool2d(x, {2}); }) ==
        Floats{1, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 4, 0, 3, 0, 0});
  CHECK(gradient(tensor({{3.0f, 3.0f, 1.0f, 0.0f, 2.0f, 2.0f, 2.0f}}),
                 [](const Tensor& x) { return adaptive_max_pool1d(x, {3}); }) == Floats{1, 0, 0, 0, 5, 0, 0});
}

TEST_CASE("avg_pool counts padding or not") {
  const Tensor x = arange(1.0f, 17.0f).reshape({1, 1, 4, 4});
  CHECK(floats(avg_pool2d(x, {2})) == Floats{3.5, 5.5, 11.5, 13.5});
  CHECK(floats(avg_pool2d(ones({1, 1, 2, 2}), {3}, {1}, {1})) == Floats(4, 4.0f / 9));
  CHECK(floats(avg_pool2d(ones({1, 1, 2, 2}), {3}, {1}, {1}, false, false)) == Floats(4, 1));
  CHECK(floats(avg_pool2d(x, {2}, {2}, {0}, false, true, 1)) == Floats{14, 22, 46, 54});
  CHECK(floats(avg_pool1d(tensor({{1., 2., 3., 4., 5.}}), {2}, {2}, {0}, true)) == Floats{1.5, 3.5, 5});
  CHECK(floats(avg_pool3d(ones({1, 2, 2, 2}), {2})) == Floats{1});
  CHECK(avg_pool1d(tensor({{1, 2, -4, 1}}), {2}).to_vector<std::int64_t>() == std::vector<std::int64_t>{1, -1});
  CHECK_THROWS_AS(avg_pool1d(ones({1, 4}, {int32}), {2}), NotImplementedError);
}

TEST_CASE("adaptive pools lay their windows to give the size") {
  const Tensor x = tensor({{{1., 2., 3., 4., 5., 6., 7.}}});
  CHECK(floats(adaptive_avg_pool1d(x, {3})) == Floats{2, 4, 6});
  CHECK(floats(adaptive_max_pool1d(x, {3})) == Floats{3, 5, 7});
  CHECK(adaptive_max_pool1d_with_indices(x, {3}).second.to_vector<std::int64_t>() == std::vector<std::int64_t>{2, 4, 6});
  CHECK(floats(adaptive_avg_pool2d(ramp({1, 2, 6, 4}), {3, 2})) == floats(avg_pool2d(ramp({1, 2, 6, 4}), {2})));
  CHECK(adaptive_avg_pool2d(ramp({1, 2, 6, 4}), {-1, 1}).sizes() == Sizes{1, 2, 6, 1});
  CHECK(floats(adaptive_avg_pool2d(x.unsqueeze(2), {1, 5})) == Floats{1.5, 2.5, 4, 5.5, 6.5});
}

TEST_CASE("interpolate") {
  const Tensor f = arange(12.0f).reshape({1, 1, 3, 4});
  CHECK(floats(interpolate(f, {.scale_factor = {{2.0}}})) == Floats{0, 0, 1, 1, 2,  2,  3,  3,  0, 0, 1, 1, 2,  2,  3,  3,
                                                                    4, 4, 5, 5, 6,  6,  7,  7,  4, 4, 5, 5, 6,  6,  7,  7,
                                                                    8, 8, 9, 9, 10, 10, 11, 11, 8, 8, 9, 9, 10, 10, 11, 11});
  CHECK(floats(interpolate(f, {.size = {{2, 2}}, .mode = "bilinear", .align_corners = false})) == Floats{1.5, 3.5, 7.5, 9.5});
  CHECK(floats(interpolate(f, {.size = {{2, 2}}, .mode = "bilinear", .align_corners = true})) == Floats{0, 3, 8, 11});
  CHECK(floats(interpolate(f.select(2, 0), {.size = {{7}}, .mode = "linear", .align_corners = true})) ==
        Floats{0, 0.5, 1, 1.5, 2, 2.5, 3});
  CHECK(floats(interpolate(f, {.size = {{1, 2}}, .mode = "area"})) == Floats{4.5, 6.5});
  // A cubic through equal values, and through a line away from its ends, is exact.
  for (const float v : floats(interpolate(ones({1, 1, 4, 4}), {.size = {{7, 9}}, .mode = "bicubic"}))) CHECK(v == Catch::Approx(1));
  CHECK(floats(interpolate(ones({1, 1, 8, 8}), {.size = {{3, 3}}, .mode = "bilinear", .antialias = true}))[4] == Catch::Approx(1));
  CHECK(floats(interpolate(f, {.size = {{3, 2}}, .mode = "nearest-exact"})) == Floats{1, 3, 5, 7, 9, 11});
  CHECK_THROWS_AS(interpolate(f, {.size = {{2, 2}}, .mode = "linear"}), NotImplementedError);
  CHECK_THROWS_AS(interpolate(f, {}), ValueError);
  CHECK_THROWS_AS(interpolate(f, {.size = {{2, 2}}, .align_corners = true}), ValueError);
}

TEST_CASE("pixel and channel shuffles") {
  CHECK(floats(pixel_shuffle(arange(16.0f).reshape({1, 4, 2, 2}), 2)) ==
        Floats{0, 4, 1, 5, 8, 12, 9, 13, 2, 6, 3, 7, 10, 14, 11, 15});
  const Tensor x = ramp({2, 8, 3, 2});
  CHECK(floats(pixel_unshuffle(pixel_shuffle(x, 2), 2)) == floats(x));
  CHECK(floats(channel_shuffle(arange(4.0f).reshape({1, 4, 1}), 2)) == Floats{0, 2, 1, 3});
  CHECK_THROWS_WITH(pixel_shuffle(ones({1, 3, 2, 2}), 2),
                    "pixel_shuffle expects its input's 'channel' dimension to be divisible by the square of upscale_factor, but "
                    "input.size(-3)=3 is not divisible by 4");
}
