// Views: layouts, aliasing, what is refused. Expected layouts, values and classes of errors are PyTorch 2.15's.
#include <array>

#include "braze/braze.h"
#include "tests/catch.h"
#include "tests/frontend/values.h"

using namespace braze;
using namespace braze::test;

namespace {

struct Placement {
  Sizes sizes, strides;
  std::int64_t offset;
  bool contiguous;
  bool operator==(const Placement&) const = default;
};

Placement layout(const Tensor& t) { return {t.sizes(), t.strides(), t.storage_offset(), t.is_contiguous()}; }

Tensor cube() { return arange(24).reshape({2, 3, 4}); }
Tensor matrix() { return arange(12.0).reshape({3, 4}); }

// Whether a write through `view` is seen in `base`; base is restored.
bool aliases(Tensor view, Tensor base) {
  const Tensor before = base.clone();
  view.fill_(77);
  const bool seen = !base.eq(before).all().item<bool>();
  base.copy_(before);
  return seen;
}

}  // namespace

TEST_CASE("layouts of selections and transposes") {
  const Tensor x = cube(), m = matrix();
  CHECK(layout(m(1)) == Placement{{4}, {1}, 4, true});
  CHECK(layout(m(slice(), 2)) == Placement{{3}, {4}, 2, false});
  CHECK(layout(m(-1, -1)) == Placement{{}, {}, 11, true});
  CHECK(layout(x(1, slice(), 2)) == Placement{{3}, {4}, 14, false});
  CHECK(layout(m.t()) == Placement{{4, 3}, {1, 4}, 0, false});
  CHECK(layout(x.transpose(0, 2)) == Placement{{4, 3, 2}, {1, 4, 12}, 0, false});
  CHECK(layout(x.mT()) == Placement{{2, 4, 3}, {12, 1, 4}, 0, false});
  CHECK(layout(x.swapaxes(1, 2)) == layout(x.mT()));
  CHECK(layout(x.permute({2, 0, 1})) == Placement{{4, 2, 3}, {1, 12, 4}, 0, false});
  CHECK(layout(x.movedim(0, 2)) == Placement{{3, 4, 2}, {4, 1, 12}, 0, false});
  CHECK(layout(x.movedim({0, 1}, {2, 0})) == Placement{{3, 4, 2}, {4, 1, 12}, 0, false});
  CHECK(layout(m.H()) == layout(m.t()));
  CHECK(layout(x.adjoint()) == layout(x.mT()));
  CHECK(layout(m.t().contiguous().t()) == Placement{{3, 4}, {1, 3}, 0, false});
}

TEST_CASE("layouts of diagonals, windows and reshapes") {
  const Tensor x = cube(), m = matrix();
  CHECK(layout(m.diagonal()) == Placement{{3}, {5}, 0, false});
  CHECK(layout(m.diagonal(1)) == Placement{{3}, {5}, 1, false});
  CHECK(layout(m.diagonal(-1)) == Placement{{2}, {5}, 4, false});
  CHECK(layout(x.diagonal(0, 1, 2)) == Placement{{2, 3}, {12, 5}, 0, false});
  CHECK(layout(m.diagonal(9)) == Placement{{0}, {5}, 0, true});
  CHECK(layout(arange(7).unfold(0, 3, 2)) == Placement{{3, 3}, {2, 1}, 0, false});
  CHECK(layout(m.unfold(1, 2, 1)) == Placement{{3, 3, 2}, {4, 1, 1}, 0, false});
  CHECK(layout(m(slice(1)).view({8})) == Placement{{8}, {1}, 4, true});
  CHECK(layout(x.flatten(1)) == Placement{{2, 12}, {12, 1}, 0, true});
  CHECK(layout(zeros({6, 4}).unflatten(0, {2, 3})) == Placement{{2, 3, 4}, {12, 4, 1}, 0, true});
  CHECK(layout(x.unflatten(-1, {2, -1})) == Placement{{2, 3, 2, 2}, {12, 4, 2, 1}, 0, true});
  CHECK(layout(arange(40)(slice(10, 30))(slice(5))(slice(none, none, 2))) == Placement{{8}, {2}, 15, false});
  CHECK(zeros({3, 1}).t().is_contiguous());
  CHECK(zeros({2, 1, 3}).transpose(0, 1).is_contiguous());
  CHECK(zeros({0, 3}).t().is_contiguous());
  CHECK(integers(x.transpose(0, 1).view({3, 2, 2, 2})) ==
        Integers{0, 1, 2, 3, 12, 13, 14, 15, 4, 5, 6, 7, 16, 17, 18, 19, 8, 9, 10, 11, 20, 21, 22, 23});
}

TEST_CASE("squeezing several dims, expanding new ones") {
  const Tensor x = zeros({1, 2, 1, 3, 1});
  CHECK(x.squeeze({0, 2}).sizes() == Sizes{2, 3, 1});
  CHECK(x.squeeze({0, 1, -1}).sizes() == Sizes{2, 1, 3});
  CHECK(x.squeeze(1).sizes() == x.sizes());
  CHECK(x.squeeze().sizes() == Sizes{2, 3});
  CHECK_THROWS_AS(x.squeeze({0, -5}), Error);
  CHECK(zeros({}).expand({3}).strides() == Sizes{0});
  CHECK(zeros({3}).expand({2, 1, 3}).strides() == Sizes{0, 3, 1});
  CHECK(zeros({3}).unsqueeze(-1).strides() == Sizes{1, 1});
  CHECK(zeros({2, 3}).unsqueeze(1).strides() == Sizes{3, 3, 1});
}

TEST_CASE("pieces that cover a tensor") {
  const auto sizes = [](const std::vector<Tensor>& parts) {
    Sizes out;
    for (const Tensor& t : parts) out.push_back(t.size(0));
    return out;
  };
  CHECK(sizes(arange(7).chunk(3)) == Sizes{3, 3, 1});
  CHECK(sizes(arange(5).chunk(4)) == Sizes{2, 2, 1});
  CHECK(sizes(arange(2).chunk(5)) == Sizes{1, 1});
  CHECK(sizes(zeros({0, 2}).chunk(3)) == Sizes{0, 0, 0});
  CHECK(sizes(arange(7).tensor_split(3)) == Sizes{3, 2, 2});
  CHECK(sizes(arange(7).tensor_split({1, 4})) == Sizes{1, 3, 3});
  CHECK(sizes(arange(7).tensor_split({-2, 20})) == Sizes{5, 2, 0});
  CHECK(sizes(arange(5).split(2)) == Sizes{2, 2, 1});
  CHECK(sizes(arange(5).split({1, 4})) == Sizes{1, 4});
  CHECK(sizes(zeros({0, 2}).split(2)) == Sizes{0});
  CHECK(matrix().hsplit(2)[1].sizes() == Sizes{3, 2});
  CHECK(matrix().vsplit(3).size() == 3);
  CHECK(cube().dsplit(2)[1].sizes() == Sizes{2, 3, 2});
  CHECK(layout(matrix().chunk(2, 1)[1]) == Placement{{3, 2}, {4, 1}, 2, false});
  CHECK(layout(matrix().unbind(1)[3]) == Placement{{3}, {4}, 3, false});
}

TEST_CASE("what a view refuses") {
  const Tensor x = cube(), m = matrix();
  CHECK_THROWS_AS(m.t().view({12}), ShapeError);
  CHECK_THROWS_AS(m.view({-2, 6}), ShapeError);
  CHECK_THROWS_AS(m.view({5, -1}), ShapeError);
  CHECK_THROWS_AS(zeros({0}).view({0, -1}), ShapeError);
  CHECK_THROWS_AS(m.unsqueeze(4), IndexError);
  CHECK_THROWS_AS(zeros({2}).squeeze(3), IndexError);
  CHECK_THROWS_AS(m.transpose(0, 2), IndexError);
  CHECK_THROWS_AS(x.t(), Error);
  CHECK_THROWS_AS(m.permute({0, 0}), Error);
  CHECK_THROWS_AS(m.permute({0}), Error);
  CHECK_THROWS_AS(zeros({2, 3}).expand({2, 4}), ShapeError);
  CHECK_THROWS_AS(zeros({2}).expand({-1, 2}), ShapeError);
  CHECK_THROWS_AS(m.narrow(0, 2, 2), Error);
  CHECK_THROWS_AS(m.narrow(0, 4, 0), IndexError);
  CHECK_THROWS_AS(m.select(0, 3), IndexError);
  CHECK_THROWS_AS(m.split({1, 1}), Error);
  CHECK_THROWS_AS(m.split(-1), Error);
  CHECK_THROWS_AS(m.chunk(0), Error);
  CHECK_THROWS_AS(m.as_strided({4}, {4}, 1), Error);
  CHECK_THROWS_AS(m.as_strided({2}, {std::int64_t{1} << 62}), ShapeError);  // fits 64 bits as elements, not as bytes
  CHECK_THROWS_AS(m.movedim({0, 0}, {0, 1}), Error);
  CHECK_THROWS_WITH(m.narrow(0, 2, 2), "start (2) + length (2) exceeds dimension size (3).");
  CHECK_THROWS_WITH(
      m.split({1, 1}),
      "split_with_sizes expects split_sizes to sum exactly to 3 (input tensor's size at dimension 0), but got split_sizes=[1, 1]");
  CHECK_THROWS_WITH(arange(12.0).unflatten(0, {5, 2}),
                    "unflatten: Provided sizes [5, 2] don't multiply up to the size of dim 0 (12) in the input tensor");
}

TEST_CASE("writes through every alias are seen by all") {
  Tensor m = matrix();
  CHECK(aliases(m.flatten(), m));
  CHECK(aliases(m.diagonal(), m));
  CHECK(aliases(m.movedim(0, 1), m));
  CHECK(aliases(m.unfold(1, 2, 1)(slice(), 0), m));
  CHECK(aliases(m.split({1, 2})[1], m));
  CHECK(aliases(m.tensor_split(2, 1)[0], m));
  CHECK(aliases(m.detach(), m));
  CHECK_FALSE(aliases(m.t().flatten(), m));
  CHECK_FALSE(aliases(m.repeat({1, 1}), m));
  CHECK_FALSE(aliases(m.flip({0}), m));
  CHECK_FALSE(aliases(m.to(float64), m));
}

TEST_CASE("a view knows its base") {
  const Tensor x = zeros({4});
  const Tensor v = x(slice(1));
  CHECK(v.is_view());
  CHECK_FALSE(x.is_view());
  CHECK(v.base().impl() == x.impl());
  CHECK(v(slice(1)).base().impl() == x.impl());
  CHECK_FALSE((x.reshape({2, 2}).t() + 1).is_view());
  CHECK_FALSE(x.clone().is_view());
}

TEST_CASE("the same bytes as another dtype, read and written") {
  Tensor m = matrix();
  Tensor bits = m.view(int32);
  CHECK(bits.sizes() == m.sizes());
  CHECK(bits(0, 1).item<std::int64_t>() == 0x3f800000);
  bits(0, 1) = 0;
  CHECK(m(0, 1).item<float>() == 0);
  m(0, 2) = 1.5;
  CHECK(bits(0, 2).item<std::int64_t>() == 0x3fc00000);
  // A part at a time, then the whole.
  const Tensor halves = m.view(int16);
  CHECK(halves.sizes() == Sizes{3, 8});
  CHECK(halves(0, 5).item<std::int64_t>() == 0x3fc0);
  halves(0, 5) = 0x4000;
  CHECK(m(0, 2).item<float>() == 2);
  CHECK(m.view(uint8).sizes() == Sizes{3, 16});
  CHECK(m.view(float64).sizes() == Sizes{3, 2});
  Tensor all = arange(4).view(float64);
  all.fill_(1.0);
  const Tensor seen = all.view(int64);
  CHECK(integers(seen) == Integers(4, 0x3ff0000000000000));
  CHECK_THROWS_AS(m.t().view(int16), Error);
  CHECK_THROWS_AS(zeros({3}).view(float64), Error);
  CHECK_THROWS_AS(tensor(1.0).view(float16), Error);
}

TEST_CASE("layouts changed in place are seen through every handle") {
  Tensor x = arange(6).reshape({1, 2, 3}).clone();
  const Tensor same = x;
  x.squeeze_();
  CHECK(same.sizes() == Sizes{2, 3});
  x.t_();
  CHECK(integers(same) == Integers{0, 3, 1, 4, 2, 5});
  x.unsqueeze_(0).transpose_(1, 2);
  CHECK(same.sizes() == Sizes{1, 2, 3});
  CHECK(integers(same) == Integers{0, 1, 2, 3, 4, 5});
  x.as_strided_({2, 2}, {1, 1});
  CHECK(integers(same) == Integers{0, 1, 1, 2});
}

TEST_CASE("resizing keeps what is there, for every view of the storage") {
  Tensor x = tensor({1.f, 2.f});
  const Tensor before = x(slice(0, 2)), whole = x.view({2});
  x.resize_({2, 2});
  CHECK(floats(x) == Floats{1, 2, 0, 0});
  CHECK(floats(before) == Floats{1, 2});
  CHECK(floats(whole) == Floats{1, 2});
  x(0, 0) = 5;
  CHECK(floats(whole) == Floats{5, 2});
  whole(1) = 6;
  CHECK(floats(x) == Floats{5, 6, 0, 0});
  x.resize_({1});
  CHECK(floats(x) == Floats{5});
  CHECK(x.storage_nbytes() == 16);
  CHECK(whole.add(1).numel() == 2);
  Tensor y = arange(4.0);
  y.resize_({2, 2});
  CHECK(layout(y) == Placement{{2, 2}, {2, 1}, 0, true});
  y.resize_as_(zeros({4, 1}));
  CHECK(y.sizes() == Sizes{4, 1});
}

TEST_CASE("a handle moves to another storage") {
  Tensor a = zeros({3});
  const Tensor v = a(slice(1));
  a.set_data(ones({3}));
  CHECK(floats(a) == Floats{1, 1, 1});
  CHECK(floats(v) == Floats{0, 0});
  const Tensor b = arange(6.0);
  a.set_(b, 1, {2}, {2});
  CHECK(floats(a) == Floats{1, 3});
  a.fill_(9);
  CHECK(floats(b) == Floats{0, 9, 2, 9, 4, 5});
  a.set_();
  CHECK(a.sizes() == Sizes{0});
  CHECK_THROWS_AS(a.set_(arange(3)), Error);
}

TEST_CASE("memory formats") {
  const Tensor x = arange(24.0).reshape({1, 2, 3, 4});
  const Tensor last = x.contiguous(MemoryFormat::channels_last);
  CHECK(last.strides() == Sizes{24, 1, 8, 2});
  CHECK(last.is_contiguous(MemoryFormat::channels_last));
  CHECK_FALSE(last.is_contiguous());
  CHECK(floats(last) == floats(x));
  CHECK((last + 1).is_contiguous(MemoryFormat::channels_last));
  CHECK(last.clone().strides() == last.strides());
  CHECK(last.clone(MemoryFormat::contiguous).is_contiguous());
  CHECK(empty({2, 3, 4, 5}, {}, MemoryFormat::channels_last).strides() == Sizes{60, 1, 15, 3});
  CHECK_THROWS_AS(zeros({2, 3}).contiguous(MemoryFormat::channels_last), Error);
  CHECK(zeros({4, 4})(slice(), slice(none, none, 2)).clone().strides() == Sizes{2, 1});
  CHECK(zeros({4, 6})(slice(), slice(none, none, 2)).t().clone().strides() == Sizes{1, 3});
  CHECK(zeros({1, 3}).expand({2, 3}).clone().strides() == Sizes{3, 1});
  CHECK(ones_like(zeros({1, 3}).expand({4, 3})).strides() == Sizes{3, 1});
  CHECK(zeros_like(zeros({2, 3}).t()).strides() == Sizes{1, 3});
}
