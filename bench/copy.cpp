#include "bench/copy.h"

#include <immintrin.h>
#include <algorithm>
#include <cstring>

#include "runtime/storage.h"
#include "runtime/threads.h"

namespace braze::bench {

struct CopyLoop::Buffers {
  runtime::Block from, to;
  std::int64_t bytes;
};

CopyLoop::CopyLoop(std::int64_t bytes) : buffers_(std::make_unique<Buffers>()) {
  buffers_->bytes = std::max<std::int64_t>(bytes / 2 / 64 * 64, 64);
  buffers_->from = runtime::Block::allocate(buffers_->bytes);
  buffers_->to = runtime::Block::allocate(buffers_->bytes);
  std::memset(buffers_->from.data(), 1, static_cast<std::size_t>(buffers_->bytes));
  std::memset(buffers_->to.data(), 2, static_cast<std::size_t>(buffers_->bytes));
}

CopyLoop::~CopyLoop() = default;

namespace {

// Each thread takes pieces of 256 KiB from its own half, as kernels do.
template <class Piece>
void in_pieces(const char* from, char* to, std::int64_t bytes, Piece piece) {
  constexpr std::int64_t size = 256 << 10;
  const std::int64_t count = (bytes + size - 1) / size;
  const int threads = runtime::num_threads();
  const std::int64_t tasks = count > 8 ? 4 * threads : 1;
  runtime::executor().run(tasks, [&](std::int64_t task) {
    const std::int64_t begin = count * task / tasks * size, end = std::min(bytes, count * (task + 1) / tasks * size);
    piece(from + begin, to + begin, end - begin);
  });
}

__attribute__((target("avx2"))) void copy_regular(const char* from, char* to, std::int64_t bytes) {
  for (std::int64_t i = 0; i < bytes; i += 32)
    _mm256_store_si256(reinterpret_cast<__m256i*>(to + i), _mm256_load_si256(reinterpret_cast<const __m256i*>(from + i)));
}

__attribute__((target("avx2"))) void copy_streaming(const char* from, char* to, std::int64_t bytes) {
  for (std::int64_t i = 0; i < bytes; i += 32)
    _mm256_stream_si256(reinterpret_cast<__m256i*>(to + i), _mm256_load_si256(reinterpret_cast<const __m256i*>(from + i)));
  _mm_sfence();
}

}  // namespace

void CopyLoop::regular() const {
  in_pieces(static_cast<const char*>(buffers_->from.data()), static_cast<char*>(buffers_->to.data()), buffers_->bytes,
            copy_regular);
}

void CopyLoop::non_temporal() const {
  in_pieces(static_cast<const char*>(buffers_->from.data()), static_cast<char*>(buffers_->to.data()), buffers_->bytes,
            copy_streaming);
}

}  // namespace braze::bench
