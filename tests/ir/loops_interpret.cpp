// The loop interpreter against plain C++ that was written without it.
#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <random>

#include <sys/mman.h>

#include "ir/error.h"
#include "ir/half.h"
#include "ir/loops.h"
#include "ir/reduce_order.h"
#include "tests/catch.h"
#include "tests/ir/kernels.h"

using namespace braze;
using namespace braze::ir;

namespace {

// Elements that end at a protected page.
template <class T>
class Guarded {
 public:
  explicit Guarded(std::size_t count) : count_(count), bytes_((count * sizeof(T) + 4095) / 4096 * 4096 + 4096) {
    base_ = static_cast<char*>(mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    mprotect(base_ + bytes_ - 4096, 4096, PROT_NONE);
  }
  Guarded(const Guarded&) = delete;
  ~Guarded() { munmap(base_, bytes_); }
  T* data() { return reinterpret_cast<T*>(base_ + bytes_ - 4096) - count_; }
  T& operator[](std::size_t i) { return data()[i]; }
  std::size_t size() const { return count_; }

 private:
  std::size_t count_, bytes_;
  char* base_;
};

std::int32_t run(std::string_view text, std::vector<void*> buffers, std::vector<std::int64_t> sizes,
                 std::vector<std::uint64_t> scalars = {}, std::int64_t begin = 0,
                 std::int64_t end = std::numeric_limits<std::int64_t>::max(), InterpretOptions options = {}) {
  const KernelArgs args{buffers.data(), sizes.data(), scalars.data()};
  return interpret(parse_kernel(text), args, begin, end, options);
}

std::vector<float> noise(std::size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<float> values(count);
  for (float& v : values) v = std::ldexp(static_cast<float>(static_cast<int>(random())), static_cast<int>(random() % 30) - 45);
  return values;
}

}  // namespace

TEST_CASE("elementwise kernels take any length, and ranges of it") {
  for (std::size_t n : {0, 1, 15, 16, 17, 100}) {
    Guarded<float> a(n), b(n), c(n);
    for (std::size_t i = 0; i < n; ++i) a[i] = 0.1f * static_cast<float>(i), b[i] = static_cast<float>(i * i);
    const std::vector<std::uint64_t> factor{std::bit_cast<std::uint32_t>(3.3f)};
    const auto size = static_cast<std::int64_t>(n);
    CHECK(run(test_kernels::elementwise, {a.data(), b.data(), c.data()}, {size}, factor, 0, size) == 0);
    for (std::size_t i = 0; i < n; ++i) REQUIRE(c[i] == a[i] * 3.3f + b[i]);
  }
  Guarded<float> a(100), b(100), c(100);
  run(test_kernels::elementwise, {a.data(), b.data(), c.data()}, {100}, {0}, 0, 100);
  std::fill_n(c.data(), 100, 7.0f);
  run(test_kernels::elementwise, {a.data(), b.data(), c.data()}, {100}, {0}, 32, 64);
  for (std::size_t i = 0; i < 100; ++i) CHECK(c[i] == (i >= 32 && i < 64 ? 0.0f : 7.0f));
}

TEST_CASE("strides may be negative or zero") {
  const std::int64_t rows = 5, columns = 11;
  Guarded<std::int32_t> in(64);
  std::iota(in.data(), in.data() + 64, 0);
  struct Case {
    std::int64_t row, column, offset;
  };
  for (const Case c : {Case{11, 1, 3}, Case{-12, 1, 52}, Case{11, -1, 14}, Case{0, 1, 53}, Case{1, 0, 9}, Case{0, 0, 63}}) {
    Guarded<std::int32_t> out(static_cast<std::size_t>(rows * columns));
    run(test_kernels::strided, {in.data(), out.data()}, {rows, columns, c.row, c.column, c.offset});
    for (std::int64_t i = 0; i < rows; ++i)
      for (std::int64_t j = 0; j < columns; ++j)
        REQUIRE(out[static_cast<std::size_t>(i * columns + j)] == i * c.row + j * c.column + c.offset);
  }
}

TEST_CASE("a vector loop's carried lanes join by the tree") {
  for (std::size_t m : {0, 1, 63, 64, 65, 200, 2048}) {
    const std::vector<float> in = noise(3 * m, 1);
    float out[3] = {-1, -1, -1};
    run(test_kernels::inner_sum, {const_cast<float*>(in.data()), out}, {3, static_cast<std::int64_t>(m)});
    for (std::size_t row = 0; row < 3; ++row)
      CHECK(out[row] == reduce_inner<float>({in.data() + row * m, m}, 0.0f, [](float a, float b) { return a + b; }));
  }
}

TEST_CASE("scratch of a vector loop is one array a lane") {
  const std::int64_t columns = 13;
  for (std::int64_t rows : {1, 31, 32, 33, 64, 165}) {
    Guarded<double> in(static_cast<std::size_t>(rows * columns)), out(static_cast<std::size_t>(columns));
    const std::vector<float> values = noise(in.size(), 2);
    std::copy(values.begin(), values.end(), in.data());
    run(test_kernels::outer_sum, {in.data(), out.data()}, {rows, columns, std::max<std::int64_t>((rows + 31) / 32, 1)});
    for (std::int64_t j = 0; j < columns; ++j) {
      std::vector<double> column;
      for (std::int64_t i = 0; i < rows; ++i) column.push_back(in[static_cast<std::size_t>(i * columns + j)]);
      CHECK(out[static_cast<std::size_t>(j)] == reduce_outer<double>(column, 0.0, std::plus<>()));
    }
  }
}

TEST_CASE("tuples fold as one") {
  std::mt19937 random(3);
  for (std::int64_t m : {1, 15, 16, 17, 90}) {
    Guarded<float> in(static_cast<std::size_t>(4 * m));
    for (std::size_t i = 0; i < in.size(); ++i) in[i] = static_cast<float>(random() % 9);  // ties: the first wins
    std::int64_t out[4];
    run(test_kernels::argmax, {in.data(), out}, {4, m});
    for (std::int64_t row = 0; row < 4; ++row) {
      const float* begin = in.data() + row * m;
      CHECK(out[row] == std::max_element(begin, begin + m) - begin);
    }
  }
}

TEST_CASE("a row may wait in heap scratch") {
  const std::size_t n = 3, m = 37;
  Guarded<double> in(n * m), out(n * m);
  const std::vector<float> values = noise(n * m, 4);
  for (std::size_t i = 0; i < n * m; ++i) in[i] = std::remainder(static_cast<double>(values[i]), 8.0);
  CHECK(run(test_kernels::softmax, {in.data(), out.data()}, {n, m}) == 0);
  for (std::size_t row = 0; row < n; ++row) {
    const double* x = in.data() + row * m;
    const double top = *std::max_element(x, x + m);
    double sum = 0;
    for (std::size_t j = 0; j < m; ++j) sum += std::exp2(x[j] - top);
    for (std::size_t j = 0; j < m; ++j) CHECK(out[row * m + j] == Catch::Approx(std::exp2(x[j] - top) / sum).epsilon(1e-14));
  }
  const Kernel kernel = parse_kernel(test_kernels::softmax);
  const std::int64_t sizes[] = {3, 37};
  CHECK(scratch_bytes(kernel, sizes) == 320);
  REQUIRE(phases(kernel, sizes).size() == 1);
  CHECK(phases(kernel, sizes)[0].extent == 3);
  CHECK(phases(kernel, sizes)[0].step == 1);
}

TEST_CASE("predicates load zero, store nothing and raise no fault") {
  const std::size_t n = 7;
  Guarded<unsigned char> mask(n);
  Guarded<std::int16_t> data(n);
  for (std::size_t i = 0; i < n; ++i) mask[i] = i % 3 == 0, data[i] = static_cast<std::int16_t>(i % 3 == 0 ? i - 4 : 0);
  CHECK(run(test_kernels::masked, {mask.data(), data.data()}, {n}, {100}) == 0);
  const std::int16_t expected[] = {-25, 0, 0, -100, 0, 0, 50};
  for (std::size_t i = 0; i < n; ++i) CHECK(data[i] == expected[i]);
  data[3] = 0;
  CHECK(run(test_kernels::masked, {mask.data(), data.data()}, {n}, {100}) == static_cast<int>(Fault::division_by_zero));
  // Lanes past the end load zero, which is no division.
  mask[6] = 1, data[3] = 1, data[6] = 5;
  CHECK(run(test_kernels::masked, {mask.data(), data.data()}, {n}, {100}) == 0);
  CHECK(data[6] == 20);
}

TEST_CASE("halves load, round and store by their bits") {
  Guarded<std::uint16_t> a(100), b(1), c(100);
  for (std::size_t i = 0; i < 100; ++i) a[i] = to_f16(static_cast<float>(i) * 0.37f).bits;
  b[0] = to_bf16(3.140625f).bits;
  run(test_kernels::halves, {a.data(), b.data(), c.data()}, {100});
  for (std::size_t i = 0; i < 100; ++i) CHECK(c[i] == to_f16(to_f32(Float16{a[99 - i]}) + 3.140625f).bits);
}

TEST_CASE("threads of a block run in lock step, with shuffles and shared memory") {
  const std::int64_t blocks = 3;
  Guarded<std::int32_t> in(static_cast<std::size_t>(256 * blocks)), out(static_cast<std::size_t>(blocks));
  std::mt19937 random(6);
  for (std::size_t i = 0; i < in.size(); ++i) in[i] = static_cast<std::int32_t>(random());
  run(test_kernels::block_sum, {in.data(), out.data()}, {blocks});
  for (std::int64_t block = 0; block < blocks; ++block) {
    std::uint32_t sum = 0;
    for (std::size_t i = 0; i < 256; ++i) sum += static_cast<std::uint32_t>(in[static_cast<std::size_t>(block) * 256 + i]);
    CHECK(static_cast<std::uint32_t>(out[static_cast<std::size_t>(block)]) == sum);
  }
}

TEST_CASE("carried values move all at once, and a loop without iterations hands on what it got") {
  const std::string_view fibonacci = R"(kernel fibonacci(%b0: i64 write; n, m) {
    %0 = constant.i64 0
    %1 = constant.i64 1
    for parallel %i in m step 4 {
      for serial %j in n carry %a = %i, %b = %1 {
        %c = add.i64 %a, %b
        yield %b, %c
      } -> %d, %e
      store %b0[%i * 2], %d
      store %b0[%i * 2 + 1], %e
    }
  })";
  Guarded<std::int64_t> out(12);
  run(fibonacci, {out.data()}, {10, 6});
  for (std::size_t i = 0; i < 6; ++i) {
    std::int64_t a = static_cast<std::int64_t>(i), b = 1;
    for (int step = 0; step < 10; ++step) b += std::exchange(a, b);
    CHECK(out[2 * i] == a);
    CHECK(out[2 * i + 1] == b);
  }
  run(fibonacci, {out.data()}, {0, 6});
  CHECK(out[10] == 5);
  CHECK(out[11] == 1);
}

TEST_CASE("the first fault is what a kernel returns") {
  const std::string_view text = R"(kernel faults(%b0: i64 read; n) {
    for parallel %i in n step 4 {
      %v = load %b0[%i * 1]
      %c1 = constant.i64 1
      %c2 = constant.i64 2
      %is1 = eq.i64 %v, %c1
      %is2 = eq.i64 %v, %c2
      %f = check index_out_of_range %is1
      %g = check division_by_zero %is2
    }
  })";
  std::int64_t in[10] = {};
  CHECK(run(text, {in}, {10}) == 0);
  in[9] = 1;
  CHECK(run(text, {in}, {10}) == static_cast<int>(Fault::index_out_of_range));
  CHECK(run(text, {in}, {9}) == 0);
  in[2] = 2;
  CHECK(run(text, {in}, {10}) == static_cast<int>(Fault::division_by_zero));
}

TEST_CASE("checked runs name the statement that leaves its buffer") {
  std::int32_t in[10] = {}, out[10];
  const std::int64_t elements[] = {10, 10};
  const InterpretOptions checked{elements};
  const auto end = std::numeric_limits<std::int64_t>::max();
  CHECK(run(test_kernels::strided, {in, out}, {2, 5, 5, 1, 0}, {}, 0, end, checked) == 0);
  CHECK_THROWS_WITH(run(test_kernels::strided, {in, out}, {2, 5, 5, 1, 1}, {}, 0, end, checked),
                    Catch::Matchers::ContainsSubstring("kernel 'strided_copy' accesses element 10 of 10, in `%0 = load %b0["));
  CHECK_THROWS_AS(run(test_kernels::strided, {in, out}, {2, 5, 5, -1, 0}, {}, 0, end, checked), InternalError);
}

TEST_CASE("the loop interpreter is fast enough to stand in every test", "[slow]") {
  const std::size_t n = 1 << 18;
  std::vector<float> a(n, 1), b(n, 2), c(n);
  const Kernel kernel = parse_kernel(test_kernels::elementwise);
  const LoopInterpreter interpreter(kernel);
  void* buffers[] = {a.data(), b.data(), c.data()};
  const std::int64_t sizes[] = {static_cast<std::int64_t>(n)};
  const std::uint64_t scalars[] = {0};
  const auto start = std::chrono::steady_clock::now();
  interpreter.run({buffers, sizes, scalars}, 0, static_cast<std::int64_t>(n));
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  const double rate = 5.0 * static_cast<double>(n) / seconds.count();
  INFO(rate / 1e6 << " million lanes a second");
  CHECK(rate > 5e6);
}
