// Memory shared with the host, both ways: from_blob and export_memory.
#include <vector>

#include "braze/braze.h"
#include "frontend/dlpack.h"
#include "tests/catch.h"
#include "tests/frontend/values.h"

using namespace braze;
using namespace braze::test;

TEST_CASE("what a compiled function passes on of the host's memory is a copy") {
  Floats memory{0, 1, 2, 3};
  const Tensor x = from_blob(memory.data(), {4}, float32);
  const auto same = compile([](const Tensor& a) { return maximum(a, a.contiguous()); });
  const Tensor result = same(x);
  memory[0] = 9;
  CHECK(floats(result) == Floats{0, 1, 2, 3});
  CHECK(floats(x) == Floats{9, 1, 2, 3});
}

TEST_CASE("the host's writes are seen by later reads, and by no earlier result") {
  Floats memory{0, 1, 2, 3, 4, 5};
  const Tensor x = from_blob(memory.data(), {2, 3}, float32);
  const Tensor doubled = x * 2, copy = x.clone(), turned = x.t().contiguous(), reshaped = x.t().reshape({6}), total = x.sum();
  const Tensor chosen = where(x > 2, x, x.contiguous());  // which is x, element for element
  memory[1] = 10;
  CHECK(floats(chosen) == Floats{0, 1, 2, 3, 4, 5});
  CHECK(floats(x) == Floats{0, 10, 2, 3, 4, 5});
  CHECK(floats(doubled) == Floats{0, 2, 4, 6, 8, 10});
  CHECK(floats(copy) == Floats{0, 1, 2, 3, 4, 5});
  CHECK(floats(turned) == Floats{0, 3, 1, 4, 2, 5});
  CHECK(floats(reshaped) == Floats{0, 3, 1, 4, 2, 5});
  CHECK(total.item<float>() == 15);
  CHECK(floats(x * 2) == Floats{0, 20, 4, 6, 8, 10});
}

TEST_CASE("a compiled function's result is no memory of the host's, even where it is what was captured") {
  Floats memory{0, 1, 2};
  const Tensor x = from_blob(memory.data(), {3}, float32);
  const auto f = compile([&](const Tensor&) { return minimum(x, x); });
  const Tensor result = f(ones({1}));
  memory[1] = 10;
  CHECK(floats(result) == Floats{0, 1, 2});
  CHECK(floats(f(ones({1}))) == Floats{0, 10, 2});
}

TEST_CASE("writes reach the host's memory at once, through any layout") {
  Floats memory{0, 1, 2, 3, 4, 5};
  Tensor x = from_blob(memory.data(), {2, 3}, float32);
  x.t()(0) = -1;
  CHECK(memory == Floats{-1, 1, 2, -1, 4, 5});
  x += 1;
  CHECK(memory == Floats{0, 2, 3, 0, 5, 6});
  x(slice(), slice(1)) *= 2;
  CHECK(memory == Floats{0, 4, 6, 0, 10, 12});
  x.index_assign(std::vector<Index>{tensor({1, 0}), Index(2)}, tensor({7.f, 8.f}));
  CHECK(memory == Floats{0, 4, 8, 0, 10, 7});
  x.view(int32)(0, 0) = 0x3f800000;
  CHECK(memory[0] == 1);
  CHECK(x.version() > 0);
  x.copy_(x);
  CHECK(memory == Floats{1, 4, 8, 0, 10, 7});
}

TEST_CASE("strides, and the deleter") {
  Floats memory{0, 1, 2, 3, 4, 5};
  int deleted = 0;
  {
    Tensor columns = from_blob(memory.data(), {3, 2}, {1, 3}, float32, [&] { ++deleted; });
    CHECK(floats(columns) == Floats{0, 3, 1, 4, 2, 5});
    const Tensor part = columns(1);
    columns = Tensor();
    CHECK(deleted == 0);
    CHECK(floats(part) == Floats{1, 4});
  }
  CHECK(deleted == 1);
  CHECK(from_blob(nullptr, {0, 3}, float32).sizes() == Sizes{0, 3});
  CHECK_THROWS_AS(from_blob(nullptr, {1}, float32), ValueError);
  CHECK_THROWS_AS(from_blob(memory.data(), {2}, {-1}, float32), ValueError);
}

TEST_CASE("frozen memory is lazy and refuses writes") {
  const Floats memory{1, 2, 3};
  Tensor x = from_blob(const_cast<float*>(memory.data()), {3}, float32, {}, Access::frozen);
  const Tensor y = x + 1;
  CHECK_FALSE(y.is_evaluated());
  CHECK(floats(y) == Floats{2, 3, 4});
  CHECK_THROWS_AS(x.add_(1), Error);
}

TEST_CASE("an export shares the storage while its token lives") {
  Tensor x = zeros({4});
  const Tensor before = x + 1;  // pending on what is exported
  Tensor v = x(slice(1, 3));
  {
    const Tensor::Exported memory = x.export_memory();
    auto* data = static_cast<float*>(memory.data);
    v += 2;
    CHECK(data[1] == 2);
    data[0] = 9;
    CHECK(floats(x) == Floats{9, 2, 2, 0});
    x.mul_(5);
    CHECK(data[2] == 10);
    CHECK(floats(before) == Floats{1, 1, 1, 1});
    CHECK_THROWS_AS(x.resize_({8}), Error);
  }
  const Tensor lazy = x + 1;
  CHECK_FALSE(lazy.is_evaluated());
  x.zero_();
  CHECK(floats(lazy) == Floats{46, 11, 11, 1});
}

TEST_CASE("a clone taken before an export is apart from it") {
  const Tensor x = arange(4.0).eval();
  const Tensor copy = x.clone();
  auto* data = static_cast<float*>(x.data_ptr());
  data[0] = 7;
  CHECK(floats(copy) == Floats{0, 1, 2, 3});
  CHECK(floats(x) == Floats{7, 1, 2, 3});
  CHECK(x(2).data_ptr() == data + 2);
}

TEST_CASE("a traced function reads shared memory at each call") {
  Floats memory{1, 2};
  const Tensor x = from_blob(memory.data(), {2}, float32);
  const auto plus = compile([&](const Tensor& y) { return x + y; });
  CHECK(floats(plus(ones({2}))) == Floats{2, 3});
  memory[0] = 5;
  CHECK(floats(plus(ones({2}))) == Floats{6, 3});
}

TEST_CASE("DLPack shares memory both ways, until its deleter is called") {
  const Tensor x = arange(6.).reshape({2, 3}).t();
  DLManagedTensor* exported = to_dlpack(x);
  CHECK(exported->dl_tensor.ndim == 2);
  CHECK(std::vector(exported->dl_tensor.shape, exported->dl_tensor.shape + 2) == Sizes{3, 2});
  CHECK(std::vector(exported->dl_tensor.strides, exported->dl_tensor.strides + 2) == Sizes{1, 3});
  static_cast<float*>(exported->dl_tensor.data)[1] = 7;
  CHECK(x(1, 0).item<float>() == 7);
  Tensor y = from_dlpack(exported);  // y's memory is x's now
  CHECK(y.strides() == x.strides());
  y(0, 0) = -1;
  CHECK(x(0, 0).item<float>() == -1);
}

TEST_CASE("DLPack: what is refused stays the caller's, the rest is deleted once") {
  float memory[] = {1, 2, 3, 4};
  std::int64_t shape[] = {2};
  int deleted = 0;
  DLManagedTensor other = {{memory, {2, 0}, 1, {2, 32, 1}, shape, nullptr, 4}, &deleted, [](DLManagedTensor* m) {
                             ++*static_cast<int*>(m->manager_ctx);
                           }};
  CHECK_THROWS_AS(from_dlpack(&other), DeviceError);
  other.dl_tensor.device.device_type = 1;
  other.dl_tensor.dtype.bits = 24;
  CHECK_THROWS_AS(from_dlpack(&other), TypeError);
  CHECK(deleted == 0);
  other.dl_tensor.dtype.bits = 32;
  CHECK(floats(from_dlpack(&other)) == Floats{2, 3});
  CHECK(deleted == 1);
}
