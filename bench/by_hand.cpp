#include "bench/by_hand.h"

#include <immintrin.h>

#include <cmath>
#include <vector>

#include "runtime/storage.h"
#include "runtime/threads.h"

#define BRAZE_AVX512 __attribute__((target("avx512f,avx512dq,fma")))
#define BRAZE_AVX512_INLINE __attribute__((target("avx512f,avx512dq,fma"), always_inline)) inline

namespace braze::bench {

namespace {

constexpr std::int64_t lanes = 16, unrolled = 4, step = lanes * unrolled;

struct Rows {
  const float* x;
  float* out;
  std::int64_t columns;
};

// Calls `piece(begin, end)` for ranges of rows, on the threads that kernels use.
template <class Piece>
void over_rows(std::int64_t rows, Piece piece) {
  const std::int64_t tasks = 4 * runtime::num_threads();
  runtime::executor().run(tasks, [&](std::int64_t task) { piece(rows * task / tasks, rows * (task + 1) / tasks); });
}

BRAZE_AVX512_INLINE __m512 joined_sum(const __m512 (&parts)[unrolled]) {
  return _mm512_set1_ps(_mm512_reduce_add_ps(_mm512_add_ps(_mm512_add_ps(parts[0], parts[2]), _mm512_add_ps(parts[1], parts[3]))));
}

// e to the x for x <= 0, within 2 ULP; the polynomial is that of Cephes' expf.
BRAZE_AVX512_INLINE __m512 exponential(__m512 x) {
  const __m512 n = _mm512_roundscale_ps(_mm512_mul_ps(x, _mm512_set1_ps(1.44269504f)), _MM_FROUND_TO_NEAREST_INT);
  __m512 r = _mm512_fnmadd_ps(n, _mm512_set1_ps(0.693359375f), x);
  r = _mm512_fnmadd_ps(n, _mm512_set1_ps(-2.12194440e-4f), r);
  __m512 p = _mm512_set1_ps(1.9875691500e-4f);
  for (const float c : {1.3981999507e-3f, 8.3334519073e-3f, 4.1665795894e-2f, 1.6666665459e-1f, 5.0000001201e-1f})
    p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(c));
  p = _mm512_fmadd_ps(p, _mm512_mul_ps(r, r), _mm512_add_ps(r, _mm512_set1_ps(1)));
  return _mm512_scalef_ps(p, n);
}

BRAZE_AVX512 void softmax_rows(const Rows& rows, std::int64_t begin, std::int64_t end, float* exponentials) {
  for (std::int64_t row = begin; row < end; ++row) {
    const float* x = rows.x + row * rows.columns;
    float* out = rows.out + row * rows.columns;
    __m512 parts[unrolled];
    for (__m512& part : parts) part = _mm512_set1_ps(-INFINITY);
    for (std::int64_t i = 0; i < rows.columns; i += step)
#pragma GCC unroll 4
      for (int k = 0; k < unrolled; ++k) parts[k] = _mm512_max_ps(parts[k], _mm512_loadu_ps(x + i + k * lanes));
    const __m512 largest =
        _mm512_set1_ps(_mm512_reduce_max_ps(_mm512_max_ps(_mm512_max_ps(parts[0], parts[2]), _mm512_max_ps(parts[1], parts[3]))));
    for (__m512& part : parts) part = _mm512_setzero_ps();
    for (std::int64_t i = 0; i < rows.columns; i += step)
#pragma GCC unroll 4
      for (int k = 0; k < unrolled; ++k) {
        const __m512 e = exponential(_mm512_sub_ps(_mm512_loadu_ps(x + i + k * lanes), largest));
        _mm512_storeu_ps(exponentials + i + k * lanes, e);
        parts[k] = _mm512_add_ps(parts[k], e);
      }
    const __m512 sum = joined_sum(parts);
    for (std::int64_t i = 0; i < rows.columns; i += lanes)
      _mm512_stream_ps(out + i, _mm512_div_ps(_mm512_loadu_ps(exponentials + i), sum));
  }
  _mm_sfence();
}

BRAZE_AVX512 void layer_norm_rows(const Rows& rows, const float* weight, const float* bias, float epsilon, std::int64_t begin,
                                  std::int64_t end) {
  const __m512 count = _mm512_set1_ps(static_cast<float>(rows.columns));
  for (std::int64_t row = begin; row < end; ++row) {
    const float* x = rows.x + row * rows.columns;
    float* out = rows.out + row * rows.columns;
    __m512 parts[unrolled] = {};
    for (std::int64_t i = 0; i < rows.columns; i += step)
#pragma GCC unroll 4
      for (int k = 0; k < unrolled; ++k) parts[k] = _mm512_add_ps(parts[k], _mm512_loadu_ps(x + i + k * lanes));
    const __m512 mean = _mm512_div_ps(joined_sum(parts), count);
    for (__m512& part : parts) part = _mm512_setzero_ps();
    for (std::int64_t i = 0; i < rows.columns; i += step)
#pragma GCC unroll 4
      for (int k = 0; k < unrolled; ++k) {
        const __m512 d = _mm512_sub_ps(_mm512_loadu_ps(x + i + k * lanes), mean);
        parts[k] = _mm512_fmadd_ps(d, d, parts[k]);
      }
    const __m512 variance = _mm512_div_ps(joined_sum(parts), count);
    const __m512 scale = _mm512_div_ps(_mm512_set1_ps(1), _mm512_sqrt_ps(_mm512_add_ps(variance, _mm512_set1_ps(epsilon))));
    for (std::int64_t i = 0; i < rows.columns; i += lanes) {
      const __m512 normal = _mm512_mul_ps(_mm512_sub_ps(_mm512_loadu_ps(x + i), mean), scale);
      _mm512_stream_ps(out + i, _mm512_fmadd_ps(normal, _mm512_loadu_ps(weight + i), _mm512_loadu_ps(bias + i)));
    }
  }
  _mm_sfence();
}

const float* elements(const Tensor& x) { return static_cast<const float*>(x.data()); }

bool fits(const Tensor& x) {
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && x.size(1) % step == 0;
}

// `piece` computes a range of rows.
ByHand over(const Tensor& x, const std::function<void(const Rows&, std::int64_t, std::int64_t)>& piece) {
  const auto out = std::make_shared<runtime::Block>(runtime::Block::allocate(x.nbytes()));
  const Rows rows{elements(x), static_cast<float*>(out->data()), x.size(1)};
  return {[=, count = x.size(0)] { over_rows(count, [&](std::int64_t begin, std::int64_t end) { piece(rows, begin, end); }); },
          [=, sizes = x.sizes()] { return from_data(static_cast<const float*>(out->data()), sizes); }};
}

}  // namespace

std::optional<ByHand> softmax_by_hand(const Tensor& x) {
  if (!fits(x)) return std::nullopt;
  return over(x, [x](const Rows& rows, std::int64_t begin, std::int64_t end) {
    std::vector<float> exponentials(static_cast<std::size_t>(rows.columns));
    softmax_rows(rows, begin, end, exponentials.data());
  });
}

std::optional<ByHand> layer_norm_by_hand(const Tensor& x, const Tensor& weight, const Tensor& bias, float epsilon) {
  if (!fits(x)) return std::nullopt;
  return over(x, [=](const Rows& rows, std::int64_t begin, std::int64_t end) {
    layer_norm_rows(rows, elements(weight), elements(bias), epsilon, begin, end);
  });
}

}  // namespace braze::bench
