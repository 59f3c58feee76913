// ./dev bench: fused against eager, interleaved in one process, results checked first; then what recording, evaluating, calling and
// compiling cost. Google Benchmark chooses iteration counts and interleaves the repetitions; the tables are ours. Options of Google
// Benchmark work too (--benchmark_filter=softmax).
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>

#include "bench/copy.h"
#include "bench/costs.h"
#include "bench/workloads.h"

namespace {

using namespace braze;

// Seconds a call, one entry a repetition, by benchmark name.
using Times = std::map<std::string, std::vector<double>>;

class Collector final : public benchmark::BenchmarkReporter {
 public:
  explicit Collector(Times& times) : times_(times) {}
  bool ReportContext(const Context&) override { return true; }
  void ReportRuns(const std::vector<Run>& runs) override {
    for (const Run& run : runs)
      if (run.run_type == Run::RT_Iteration && !run.error_occurred)
        times_[run.run_name.function_name].push_back(run.real_accumulated_time / static_cast<double>(run.iterations));
  }

 private:
  Times& times_;
};

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values.empty() ? 0 : values[values.size() / 2];
}

void add(const std::string& name, const std::function<void()>& body) {
  benchmark::RegisterBenchmark(name.c_str(),
                               [body](benchmark::State& state) {
                                 for (auto _ : state) body();
                               })
      ->Repetitions(7)
      ->MinTime(0.05)
      ->UseRealTime()
      ->Unit(benchmark::kMillisecond);
}

std::vector<std::byte> bytes_of(const Tensor& t) {
  std::vector<std::byte> out(static_cast<std::size_t>(t.nbytes()));
  t.copy_to(out.data(), t.dtype());
  return out;
}

Tensor in_eager_scope(const bench::Workload& w) {
  const EagerScope scope;
  return w.expression();
}

// Fused and eager must be the same bits before either is timed, and what is written by hand the same but for rounding.
bool check(const bench::Workload& w) {
  if (bytes_of(w.expression()) != bytes_of(in_eager_scope(w))) {
    fmt::print("{}: fused and eager differ; not timed\n", w.name);
    return false;
  }
  if (!w.by_hand) return true;
  w.by_hand->run();
  if (allclose(w.by_hand->result(), w.expression(), 1e-4, 1e-5)) return true;
  fmt::print("{}: fused and by hand differ; not timed\n", w.name);
  return false;
}

double time_of(const Times& times, const bench::Workload& w, const char* kind) {
  const auto found = times.find(w.name + "/" + kind);
  return found == times.end() ? 0 : median(found->second);
}

double copy_time(const Times& times, const bench::Workload& w) {
  return std::min(time_of(times, w, "copy"), time_of(times, w, "copy_nt"));
}

void print_by_hand(const Times& times, const std::vector<bench::Workload>& workloads) {
  fmt::print("\n{:28} {:>10} {:>10} {:>14} {:>13}\n", "AVX-512 intrinsics", "fused ms", "by hand ms", "fused/by hand",
             "by hand/copy");
  for (const bench::Workload& w : workloads) {
    const double fused = time_of(times, w, "fused"), by_hand = time_of(times, w, "by_hand");
    if (by_hand == 0) continue;
    fmt::print("{:28} {:10.3f} {:10.3f} {:13.2f}x {:12.2f}x\n", w.name, fused * 1e3, by_hand * 1e3, fused / by_hand,
               by_hand / copy_time(times, w));
  }
}

void print_table(const Times& times, const std::vector<bench::Workload>& workloads) {
  fmt::print("\n{:28} {:>10} {:>10} {:>8} {:>11} {:>11} {:>12}\n", "workload", "fused ms", "eager ms", "ratio", "copy ms",
             "fused/copy", "GB/s fused");
  for (const bench::Workload& w : workloads) {
    const double fused = time_of(times, w, "fused"), eager = time_of(times, w, "eager"), copy = copy_time(times, w);
    if (fused == 0) continue;
    fmt::print("{:28} {:10.3f} {:10.3f} {:7.2f}x {:11.3f} {:10.2f}x {:12.1f}\n", w.name, fused * 1e3, eager * 1e3, eager / fused,
               copy * 1e3, fused / copy, static_cast<double>(w.bytes) / fused * 1e-9);
  }
  fmt::print(
      "copy: the better of a regular and a non-temporal loop that moves the same bytes. Medians of 7 interleaved repetitions.\n");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2 && std::strcmp(argv[1], bench::cold_argument) == 0) return bench::cold_call();
  std::vector<char*> arguments(argv, argv + argc);
  std::string interleave = "--benchmark_enable_random_interleaving=true";
  arguments.push_back(interleave.data());
  int count = static_cast<int>(arguments.size());
  benchmark::Initialize(&count, arguments.data());
  fmt::print("{}\n", bench::machine());

  const std::vector<bench::Workload> workloads = bench::workloads();
  std::vector<std::shared_ptr<bench::CopyLoop>> loops;
  for (const bench::Workload& w : workloads) {
    if (!check(w)) continue;
    loops.push_back(std::make_shared<bench::CopyLoop>(w.bytes));
    add(w.name + "/fused", [&w] { w.expression().eval(); });
    add(w.name + "/eager", [&w] { in_eager_scope(w).eval(); });
    add(w.name + "/copy", [loop = loops.back()] { loop->regular(); });
    add(w.name + "/copy_nt", [loop = loops.back()] { loop->non_temporal(); });
    if (w.by_hand) add(w.name + "/by_hand", w.by_hand->run);
  }
  Times times;
  Collector collector(times);
  benchmark::RunSpecifiedBenchmarks(&collector);
  print_table(times, workloads);
  print_by_hand(times, workloads);
  bench::print_costs(argv[0]);
  return 0;
}
