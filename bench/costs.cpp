#include "bench/costs.h"

#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <new>
#include <vector>

#include "braze/braze.h"
#include "ir/target.h"

namespace {

// Counts what the process asks of malloc through operator new, to show that recording asks for nothing.
std::atomic<std::int64_t> allocations{0};

}  // namespace

void* operator new(std::size_t size) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  if (void* p = std::malloc(size)) return p;
  throw std::bad_alloc();
}
void* operator new(std::size_t size, std::align_val_t alignment) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  const auto a = static_cast<std::size_t>(alignment);
  if (void* p = std::aligned_alloc(a, (size + a - 1) / a * a)) return p;
  throw std::bad_alloc();
}
void operator delete(void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }
void operator delete(void* p, std::align_val_t) noexcept { std::free(p); }
void operator delete(void* p, std::size_t, std::align_val_t) noexcept { std::free(p); }

namespace braze::bench {

namespace {

using Clock = std::chrono::steady_clock;

double seconds(const std::function<void()>& body) {
  const auto start = Clock::now();
  body();
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// The best of `rounds`, per repetition: costs that small are disturbed upwards only.
double best_ns(int rounds, int repetitions, const std::function<void()>& body) {
  double best = 1e300;
  for (int r = 0; r < rounds; ++r) best = std::min(best, seconds(body));
  return best * 1e9 / repetitions;
}

Tensor ten_ops(const Tensor& x, const Tensor& y) { return tanh((x * y + 1) * 0.5 - y) * x + (y - x).abs() / 3; }

void record_cost() {
  constexpr int repetitions = 20000;
  const Tensor a = ones({16}).eval(), b = ones({16}).eval();
  std::int64_t asked = 0;
  const double ns = best_ns(9, repetitions, [&] {
    const std::int64_t before = allocations.load();
    for (int i = 0; i < repetitions; ++i) benchmark::DoNotOptimize(a + b);
    asked = allocations.load() - before;
  });
  fmt::print("{:58} {:8.0f} ns   ({} allocations in {} ops)\n", "record a + b", ns, asked, repetitions);
}

void cached_evaluation_cost() {
  constexpr int repetitions = 2000;
  const Tensor a = ones({16}).eval(), b = ones({16}).eval();
  for (const int nodes : {1, 4, 16, 64}) {
    const auto chain = [&] {
      Tensor t = a + b;
      for (int i = 1; i < nodes; ++i) t = i % 2 ? t * a : t + b;
      return t;
    };
    chain().eval();
    // Round by round, so that what disturbs one disturbs the other.
    double record = 1e300, both = 1e300;
    for (int round = 0; round < 9; ++round) {
      record = std::min(record, best_ns(1, repetitions, [&] {
                          for (int i = 0; i < repetitions; ++i) benchmark::DoNotOptimize(chain());
                        }));
      both = std::min(both, best_ns(1, repetitions, [&] {
                        for (int i = 0; i < repetitions; ++i) chain().eval();
                      }));
    }
    fmt::print("{:58} {:8.0f} ns   (allowed: {} ns)\n", fmt::format("cached evaluation of {} nodes, 16 elements", nodes),
               both - record, 2000 + 100 * nodes);
  }
}

void call_cost() {
  constexpr int repetitions = 20000;
  const auto f = compile([](const Tensor& x, const Tensor& y) { return x * y + x; });
  const Tensor a = ones({16}).eval(), b = ones({16}).eval();
  f(a, b);
  const double ns = best_ns(9, repetitions, [&] {
    for (int i = 0; i < repetitions; ++i) benchmark::DoNotOptimize(f(a, b));
  });
  fmt::print("{:58} {:8.0f} ns\n", "call a compiled one-kernel function, 16 elements", ns);
}

void polymorphism() {
  const std::uint64_t before = engine_statistics().compilations;
  const Tensor base = arange(4096).to(float32).eval();
  for (std::int64_t n = 1; n <= 100; ++n) {
    const Tensor x = base(slice(3 * n, 3 * n + 7 * n + 2));
    (tanh(x * (1.5 + static_cast<double>(n)) + 0.25) - x).eval();
  }
  fmt::print("{:58} {:8}\n", "compilations for 100 lengths, offsets and scalars", engine_statistics().compilations - before);
}

void cold_compile(const char* self) {
  std::vector<double> times;
  for (int i = 0; i < 15; ++i) {
    const std::string command = fmt::format("'{}' {}", self, cold_argument);
    FILE* pipe = popen(command.c_str(), "r");
    char line[64], *end = line;
    const double ms = pipe && std::fgets(line, sizeof line, pipe) ? std::strtod(line, &end) : 0;
    if (end == line) {
      fmt::print("the cold call failed\n");
      if (pipe) pclose(pipe);
      return;
    }
    pclose(pipe);
    times.push_back(ms);
  }
  std::sort(times.begin(), times.end());
  fmt::print("{:58} {:8.2f} ms   (best {:.2f})\n", "first call of a ten-op expression in a fresh process", times[times.size() / 2],
             times[0]);
}

std::string first_match(const char* path, const std::string& key) {
  std::ifstream in(path);
  for (std::string line; std::getline(in, line);)
    if (line.starts_with(key)) return line.substr(line.find(':') + 2);
  return "?";
}

}  // namespace

std::string machine() {
  const ir::CpuTarget& target = ir::host_target();
  std::string pages;
  std::getline(std::ifstream("/sys/kernel/mm/transparent_hugepage/enabled"), pages);
  return fmt::format("{}, {} cores, {}-byte vectors, L2 {} KiB, L3 {} MiB, memory {}, huge pages {}, {} threads, g++ {}",
                     first_match("/proc/cpuinfo", "model name"), target.cores, target.vector_bytes, target.l2_bytes >> 10,
                     target.l3_bytes >> 20, first_match("/proc/meminfo", "MemTotal"), pages, get_num_threads(), __VERSION__);
}

int cold_call() {
  const auto start = Clock::now();
  std::vector<float> data(1000, 0.5f);
  const Tensor x = from_data(data.data(), {1000}), y = from_data(data.data(), {1000});
  ten_ops(x, y).eval();
  std::printf("%.3f\n", std::chrono::duration<double, std::milli>(Clock::now() - start).count());
  return 0;
}

void print_costs(const char* self) {
  fmt::print("\n");
  record_cost();
  cached_evaluation_cost();
  call_cost();
  polymorphism();
  cold_compile(self);
}

}  // namespace braze::bench
