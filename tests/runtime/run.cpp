#include "runtime/run.h"

#include <atomic>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstring>
#include <mutex>
#include <numeric>
#include <set>
#include <thread>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

#include "ir/error.h"
#include "ir/target.h"
#include "runtime/threads.h"
#include "tests/catch.h"
#include "tests/runtime/child.h"
#include "tests/runtime/counting_new.h"

using namespace braze;
using namespace braze::runtime;
using Catch::Matchers::ContainsSubstring;
using ir::CopyStep, ir::Fault, ir::KernelStep, ir::Program, ir::Slot;

namespace {

constexpr const char* scale_add = R"(
kernel scale_add(%b0: f32 read, %b1: f32 read, %b2: f32 write; n; %s0: f32) {
  for parallel %i0 in n step 16 {
    %0 = load %b0[%i0 * 1]
    %1 = load %b1[%i0 * 1]
    %2 = mul.f32 %0, %s0
    %3 = add.f32 %2, %1
    store %b2[%i0 * 1], %3
  }
})";

std::int32_t native_scale_add(const ir::KernelArgs* args, std::int64_t begin, std::int64_t end, void*) {
  const auto *x = static_cast<const float*>(args->buffers[0]), *y = static_cast<const float*>(args->buffers[1]);
  auto* const z = static_cast<float*>(args->buffers[2]);
  const auto s = std::bit_cast<float>(static_cast<std::uint32_t>(args->scalars[0]));
  for (std::int64_t i = begin; i < end; ++i) z[i] = x[i] * s + y[i];
  return 0;
}

std::uint64_t bits(float value) { return std::bit_cast<std::uint32_t>(value); }

// Inputs 0 and 1, result 2, all of n elements: x * s + y.
Program scale_add_program() {
  Program program{.inputs = 2, .symbols = 1, .scalars = 1};
  const ir::IndexId n = program.index.of(ir::Extent::symbol(0));
  for (std::uint32_t i = 0; i < 2; ++i)
    program.slots.push_back({.kind = Slot::Kind::input, .type = DType::f32, .elements = n, .input = i});
  program.slots.push_back({.kind = Slot::Kind::result, .type = DType::f32, .elements = n});
  program.kernels.push_back(ir::parse_kernel(scale_add));
  program.steps.push_back({KernelStep{0, {0, 1, 2}, {n}, {0}, n, program.index.mul(n, program.index.number(3))}, "z = x * s + y"});
  program.results = {2};
  return program;
}

// One kernel over buffers of n i32, in the slots' order; `writes` says which it stores to.
Program i32_program(std::vector<Slot::Kind> kinds, std::vector<bool> writes, int step = 1, std::int64_t work_an_iteration = 1) {
  Program program{.symbols = 1};
  const ir::IndexId n = program.index.of(ir::Extent::symbol(0));
  ir::Kernel kernel;
  ir::KernelBuilder builder(kernel);
  KernelStep launch{.kernel = 0, .sizes = {n}, .extent = n, .work = program.index.mul(n, program.index.number(work_an_iteration))};
  for (std::uint32_t i = 0; i < kinds.size(); ++i) {
    Slot slot{.kind = kinds[i], .type = DType::i32, .elements = n};
    if (kinds[i] == Slot::Kind::input || kinds[i] == Slot::Kind::in_out) slot.input = program.inputs++;
    if (kinds[i] == Slot::Kind::result) program.results.push_back(i);
    program.slots.push_back(slot);
    builder.buffer({.type = DType::i32, .writes = writes[i]});
    launch.buffers.push_back(i);
  }
  kernel.name = "test";
  builder.open_for(ir::LoopKind::parallel, ir::Size::of_value(builder.size("n")), step);
  builder.close_for();
  program.kernels.push_back(kernel);
  program.steps.push_back({launch, "test line"});
  return program;
}

std::shared_ptr<const Executable> with_function(Program program, ir::KernelFunction function, StreamingSource streaming = nullptr) {
  std::vector<KernelEntry> entries(program.kernels.size(), KernelEntry{function, nullptr});
  return std::make_shared<Executable>(std::move(program), std::move(entries), std::move(streaming));
}

// Buffers that end right where the elements do: valgrind and ASan see what is touched beyond.
struct Floats {
  explicit Floats(std::int64_t n, float first) : values(static_cast<std::size_t>(n)) {
    std::iota(values.begin(), values.end(), first);
  }
  Buffer buffer() { return {Block(), values.data()}; }
  std::vector<float> values;
};

class WithThreads {
 public:
  explicit WithThreads(int count) : before_(num_threads()) { set_num_threads(count); }
  ~WithThreads() { set_num_threads(before_); }

 private:
  int before_;
};

// What counting functions share; a KernelFunction captures nothing.
std::mutex seen_mutex;
std::vector<std::pair<std::int64_t, std::int64_t>> seen;
std::set<std::thread::id> seen_threads;

std::int32_t note_range(const ir::KernelArgs*, std::int64_t begin, std::int64_t end, void*) {
  const std::lock_guard hold(seen_mutex);
  seen.emplace_back(begin, end);
  seen_threads.insert(std::this_thread::get_id());
  return 0;
}

using Clock = std::chrono::steady_clock;

void spin(Clock::duration time) {
  for (const auto until = Clock::now() + time; Clock::now() < until;) {
  }
}

}  // namespace

TEST_CASE("a kernel's second phase begins when the first is done, and an empty phase is none") {
  Program program{.inputs = 1, .symbols = 1};
  const ir::IndexId n = program.index.of(ir::Extent::symbol(0)), one = program.index.number(1);
  program.slots.push_back({.kind = Slot::Kind::input, .type = DType::i64, .elements = n, .input = 0});
  program.slots.push_back({.kind = Slot::Kind::temporary, .type = DType::i64, .elements = n});
  program.slots.push_back({.kind = Slot::Kind::result, .type = DType::i64, .elements = one});
  program.arena_bytes = program.index.mul(n, program.index.number(64));
  program.kernels.push_back(ir::parse_kernel(R"(
kernel total(%b0: i64 read, %b1: i64 write, %b2: i64 write; n) {
  %0 = constant.i64 1
  %1 = constant.i64 0
  for parallel %i0 in n {
    %2 = load %b0[%i0 * 1]
    %3 = add.i64 %2, %0
    store %b1[%i0 * 1], %3
  }
  for parallel %i1 in 1 {
    for serial %i2 in n carry %4 = %1 {
      %5 = load %b1[%i2 * 1]
      %6 = add.i64 %4, %5
      yield %6
    } -> %7
    store %b2[0], %7
  }
})"));
  KernelStep step{
      .kernel = 0, .buffers = {0, 1, 2}, .sizes = {n}, .extent = n, .work = program.index.mul(n, program.index.number(400))};
  step.then.push_back({one, n});
  program.steps.push_back({step, "total"});
  program.results = {2};
  CHECK_THAT(ir::print(program), ContainsSubstring("for s0, work 400*s0, then for 1, work s0"));
  const WithThreads threads(4);
  const auto executable = Executable::interpreted(std::move(program));
  for (const std::int64_t count : {0, 1, 1000, 50'000})
    for (int times = 0; times < 3; ++times) {
      std::vector<std::int64_t> values(static_cast<std::size_t>(count));
      std::iota(values.begin(), values.end(), 0);
      const Buffer input{Block(), values.data()};
      Buffer result;
      const auto failure = executable->run({&input, 1}, std::vector<std::int64_t>{count}, {}, {&result, 1});
      REQUIRE(failure.fault == Fault::none);
      CHECK(*static_cast<const std::int64_t*>(result.data) == count * (count + 1) / 2);
    }
}

TEST_CASE("a Program gives what the loops say, interpreted and native", "[run]") {
  const auto interpreted = Executable::interpreted(scale_add_program()),
             native = with_function(scale_add_program(), native_scale_add);
  for (const std::int64_t n : {0, 1, 15, 16, 17, 100, 5000}) {
    for (const auto& executable : {interpreted, native}) {
      Floats x(n, 1), y(n, -7);
      const Buffer inputs[] = {x.buffer(), y.buffer()};
      const std::int64_t symbols[] = {n};
      const std::uint64_t scalars[] = {bits(1.5f)};
      Buffer results[1];
      const Failure failure = executable->run(inputs, symbols, scalars, results);
      REQUIRE(failure.fault == Fault::none);
      REQUIRE(results[0].block.bytes() == 4 * n);
      CHECK(results[0].block.unique());
      const auto* z = static_cast<const float*>(results[0].data);
      bool equal = true;
      for (std::int64_t i = 0; i < n; ++i)
        equal = equal && z[i] == x.values[static_cast<std::size_t>(i)] * 1.5f + y.values[static_cast<std::size_t>(i)];
      CHECK(equal);
    }
  }
}

TEST_CASE("ranges cover the extent once and begin at multiples of the step", "[run]") {
  for (const int threads : {1, 2, 4}) {
    const WithThreads with(threads);
    for (const int step : {1, 16}) {
      for (const std::int64_t n : {0, 1, 17, 40000, 65535, 100000, 1000003, 10000019}) {
        const auto executable = with_function(i32_program({Slot::Kind::result}, {true}, step, 1), note_range);
        for (int round = 0; round < 3; ++round) {  // costs unknown, then known
          seen.clear();
          Buffer results[1];
          CHECK(executable->run({}, std::span(&n, 1), {}, results).fault == Fault::none);
          std::sort(seen.begin(), seen.end());
          std::int64_t end = 0, aligned = 0;
          for (const auto& range : seen) {
            CHECK(range.first == end);
            aligned += range.first % step == 0;
            CHECK(range.second > range.first);
            end = range.second;
          }
          CHECK(end == n);
          CHECK(aligned == static_cast<std::int64_t>(seen.size()));
          if (round == 0 && n == 10000019) CHECK(seen.size() > 1);
        }
      }
    }
  }
}

TEST_CASE("light work stays on the caller and heavy work is shared, as was learnt", "[run]") {
  const WithThreads with(3);
  const auto ranges = [](const std::shared_ptr<const Executable>& executable, std::int64_t n) {
    seen.clear();
    seen_threads.clear();
    Buffer results[1];
    executable->run({}, std::span(&n, 1), {}, results);
    return seen.size();
  };
  const auto light = with_function(i32_program({Slot::Kind::result}, {true}), note_range);
  CHECK(ranges(light, 1000) == 1);
  CHECK(seen_threads == std::set{std::this_thread::get_id()});
  ranges(light, 100000000);  // which took no longer than a few
  for (int i = 0; i < 20; ++i) ranges(light, 100000000);
  CHECK(ranges(light, 1000000) == 1);

  const auto heavy = with_function(i32_program({Slot::Kind::result}, {true}), [](auto* args, auto begin, auto end, auto* scratch) {
    std::this_thread::sleep_for(std::chrono::microseconds(100) * (end - begin));
    return note_range(args, begin, end, scratch);
  });
  CHECK(ranges(heavy, 100) == 1);  // on first sight a hundred elements
  CHECK(ranges(heavy, 100) >= 12);
  for (int again = 0; again < 100 && seen_threads.size() < 2; ++again)
    ranges(heavy, 100);  // a busy machine wakes no second one in 10 ms
  CHECK(seen_threads.size() >= 2);
  CHECK(ranges(heavy, 5) == 5);
  CHECK(ranges(heavy, 1) == 1);
  CHECK(ranges(heavy, 1000) >= 50);  // each ends soon enough to answer a stop request
}

TEST_CASE("results may share a slot or be an input's own", "[run]") {
  Program program = i32_program({Slot::Kind::input, Slot::Kind::in_out, Slot::Kind::result}, {false, true, true});
  program.results = {1, 2, 0, 2, 1};
  const auto executable = with_function(program, [](const ir::KernelArgs* args, std::int64_t begin, std::int64_t end, void*) {
    for (std::int64_t i = begin; i < end; ++i) {
      static_cast<std::int32_t*>(args->buffers[1])[i] += static_cast<const std::int32_t*>(args->buffers[0])[i];
      static_cast<std::int32_t*>(args->buffers[2])[i] = static_cast<std::int32_t>(i);
    }
    return 0;
  });
  std::int32_t x[] = {1, 2, 3};
  Block y = Block::allocate(12);
  std::memcpy(y.data(), x, 12);
  const Buffer inputs[] = {{Block(), x}, {y, y.data()}};
  const std::int64_t n = 3;
  Buffer results[5];
  REQUIRE(executable->run(inputs, std::span(&n, 1), {}, results).fault == Fault::none);
  CHECK(results[0].block == y);
  CHECK(results[4].data == y.data());
  CHECK(results[2].data == x);
  CHECK(results[1].block == results[3].block);
  CHECK(results[1].data == results[3].data);
  CHECK(results[1].block.bytes() == 12);
  CHECK(static_cast<std::int32_t*>(y.data())[2] == 6);
  CHECK(static_cast<std::int32_t*>(results[3].data)[2] == 2);
}

TEST_CASE("temporaries are pieces of one arena, at offsets of the sizes", "[run]") {
  // t = x * s + x; u = t * s + t; z = u * s + u, with t and u in the arena.
  Program program{.inputs = 1, .symbols = 1, .scalars = 1};
  ir::IndexTable& index = program.index;
  const ir::IndexId n = index.of(ir::Extent::symbol(0)), bytes = index.mul(index.ceil_div(n, index.number(16)), index.number(64));
  program.slots = {{.kind = Slot::Kind::input, .type = DType::f32, .elements = n},
                   {.type = DType::f32, .elements = n},
                   {.type = DType::f32, .elements = n, .arena_offset = bytes},
                   {.kind = Slot::Kind::result, .type = DType::f32, .elements = n}};
  program.slots[1].arena_offset = index.number(0);
  program.arena_bytes = index.mul(bytes, index.number(2));
  program.kernels.push_back(ir::parse_kernel(scale_add));
  for (std::uint32_t i = 0; i < 3; ++i) program.steps.push_back({KernelStep{0, {i, i, i + 1}, {n}, {0}, n, n}, ""});
  program.results = {3};
  const auto executable = Executable::interpreted(program);
  const std::int64_t live = allocator_statistics().live_bytes;
  for (const std::int64_t size : {1, 16, 17, 1000}) {
    Floats x(size, 0);
    const Buffer inputs[] = {x.buffer()};
    const std::uint64_t scalars[] = {bits(2)};
    Buffer results[1];
    REQUIRE(executable->run(inputs, std::span(&size, 1), scalars, results).fault == Fault::none);
    CHECK(static_cast<float*>(results[0].data)[size - 1] == static_cast<float>(size - 1) * 27);
    CHECK(allocator_statistics().live_bytes == live + 4 * size);
  }
}

TEST_CASE("the first fault ends the run, and nobody gets results", "[run]") {
  for (const int threads : {1, 4}) {
    const WithThreads with(threads);
    Program program = i32_program({Slot::Kind::input, Slot::Kind::result}, {false, true});
    program.steps.push_back(program.steps[0]);
    program.steps.push_back(program.steps[0]);
    // Stops at the first element that is not 0; slow, so that the elements are shared.
    const auto fails = [](const ir::KernelArgs* args, std::int64_t begin, std::int64_t end, void*) -> std::int32_t {
      for (std::int64_t i = begin; i < end; ++i) {
        spin(std::chrono::microseconds(20));
        if (const std::int32_t fault = static_cast<const std::int32_t*>(args->buffers[0])[i]) return fault;
      }
      return 0;
    };
    std::vector<KernelEntry> entries{{note_range, nullptr}, {fails, nullptr}};
    program.kernels.push_back(program.kernels[0]);
    std::get<KernelStep>(program.steps[1].action).kernel = 1;
    const Executable executable(program, entries, nullptr);
    for (int round = 0; round < 50; ++round) {
      std::vector<std::int32_t> faults(64, static_cast<std::int32_t>(Fault::none));
      for (std::size_t i = 0; i < 64; ++i)
        if (i >= 20) faults[i] = static_cast<std::int32_t>(i == 20 ? Fault::index_out_of_range : Fault::division_by_zero);
      const Buffer inputs[] = {{Block(), faults.data()}};
      const std::int64_t n = 64;
      Buffer results[1];
      seen.clear();
      const Failure failure = executable.run(inputs, std::span(&n, 1), {}, results);
      CHECK(failure.step == 1);
      CHECK(failure.fault == Fault::index_out_of_range);  // whichever thread was first
      CHECK(!results[0].block);
      CHECK(results[0].data == nullptr);
      std::int64_t covered = 0;
      for (const auto& range : seen) covered += range.second - range.first;
      CHECK(covered == 64);  // step 0 ran, step 2 did not
    }
  }
}

TEST_CASE("sizes below zero or past 64 bits raise ValueError", "[run]") {
  Program program = scale_add_program();
  program.symbols = 2;
  ir::IndexTable& index = program.index;
  const ir::IndexId n = index.of(ir::Extent::symbol(0)), m = index.of(ir::Extent::symbol(1));
  program.slots[2].elements = index.mul(n, m);
  const auto executable = with_function(program, native_scale_add);
  Floats x(16, 0);
  const Buffer inputs[] = {x.buffer(), x.buffer()};
  const std::uint64_t scalars[] = {bits(1)};
  Buffer results[1];
  const auto run = [&](std::int64_t a, std::int64_t b) {
    const std::int64_t symbols[] = {a, b};
    return executable->run(inputs, symbols, scalars, results);
  };
  CHECK(run(4, 4).fault == Fault::none);
  CHECK_THROWS_AS(run(-1, 4), ValueError);
  CHECK_THROWS_WITH(run(3, -4), ContainsSubstring("-12 elements"));
  CHECK_THROWS_WITH(run(std::int64_t{1} << 40, std::int64_t{1} << 40), ContainsSubstring("does not fit 64 bits"));
  CHECK_THROWS_WITH(run(std::int64_t{1} << 31, std::int64_t{1} << 31), ContainsSubstring("too large"));
  CHECK_THROWS_AS(run(16, std::int64_t{1} << 48), DeviceError);
  CHECK(!results[0].block);
}

TEST_CASE("index expressions have the meaning of their table", "[run]") {
  // Each operation's value becomes a size that a kernel stores.
  Program program = i32_program({Slot::Kind::result}, {true});
  program.symbols = 3;
  ir::IndexTable& index = program.index;
  const ir::IndexId a = index.of(ir::Extent::symbol(1)), b = index.of(ir::Extent::symbol(2));
  auto& launch = std::get<KernelStep>(program.steps[0].action);
  launch.sizes = {
      index.add(a, b),      index.sub(a, b), index.mul(a, b), index.floor_div(a, b),
      index.ceil_div(a, b), index.min(a, b), index.max(a, b), index.floor_div(index.mul(a, index.number(3)), index.number(2))};
  const ir::IndexId one = index.number(1);
  launch.extent = launch.work = one;
  program.slots[0].elements = one;
  program.kernels[0].sizes.assign(launch.sizes.size(), program.kernels[0].sizes[0]);
  static std::vector<std::int64_t> sizes;
  const auto executable = with_function(program, [](const ir::KernelArgs* args, std::int64_t, std::int64_t, void*) {
    sizes.assign(args->sizes, args->sizes + 8);
    return 0;
  });
  for (const std::int64_t x : {-17, -16, -1, 0, 1, 15, 16, 17})
    for (const std::int64_t y : {1, 2, 16}) {
      const std::int64_t symbols[] = {5, x, y};
      Buffer results[1];
      executable->run({}, symbols, {}, results);
      const auto quotient = static_cast<double>(x) / static_cast<double>(y);
      CHECK(sizes == std::vector<std::int64_t>{x + y, x - y, x * y, std::llround(std::floor(quotient)),
                                               std::llround(std::ceil(quotient)), std::min(x, y), std::max(x, y),
                                               std::llround(std::floor(static_cast<double>(x) * 1.5))});
    }
  const std::int64_t symbols[] = {5, 1, 0};
  Buffer results[1];
  CHECK_THROWS_AS(executable->run({}, symbols, {}, results), ValueError);
}

TEST_CASE("copies move whole slots of any size", "[run]") {
  Program program{.inputs = 2, .symbols = 1};
  const ir::IndexId n = program.index.of(ir::Extent::symbol(0));
  program.slots = {{.kind = Slot::Kind::input, .type = DType::u8, .elements = n},
                   {.kind = Slot::Kind::in_out, .type = DType::u8, .elements = n, .input = 1},
                   {.kind = Slot::Kind::result, .type = DType::u8, .elements = n}};
  program.steps = {{CopyStep{0, 2}, ""}, {CopyStep{2, 1}, ""}, {CopyStep{1, 1}, ""}};
  program.results = {2, 1};
  const auto executable = with_function(program, nullptr);
  for (const std::int64_t size : {0, 1, 1000, 524288, 600001, 9000001}) {
    std::vector<unsigned char> from(static_cast<std::size_t>(size)), to(from.size(), 7);
    for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<unsigned char>(i * 2654435761u >> 13);
    const Buffer inputs[] = {{Block(), from.data()}, {Block(), to.data()}};
    Buffer results[2];
    REQUIRE(executable->run(inputs, std::span(&size, 1), {}, results).fault == Fault::none);
    CHECK(to == from);
    CHECK((size == 0 || std::memcmp(results[0].data, from.data(), from.size()) == 0));
    CHECK(results[1].data == to.data());
  }
}

TEST_CASE("scratch is aligned, sized by the kernel, and each range's own", "[run]") {
  const WithThreads with(4);
  Program program = i32_program({Slot::Kind::result}, {true}, 1, 1 << 16);
  ir::Kernel& kernel = program.kernels[0];
  kernel.scratch = {{DType::f32, ir::Space::heap, ir::Size::of_value(kernel.sizes[0])},
                    {DType::f64, ir::Space::heap, ir::Size::of(3)}};
  static std::atomic<int> wrong, ranges;
  const auto executable = with_function(program, [](const ir::KernelArgs* args, std::int64_t begin, std::int64_t, void* scratch) {
    const std::size_t bytes = static_cast<std::size_t>((args->sizes[0] * 4 + 63) / 64 * 64 + 64);
    auto* const own = static_cast<unsigned char*>(scratch);
    ++ranges;
    wrong += reinterpret_cast<std::uintptr_t>(scratch) % 64 != 0;
    std::memset(own, static_cast<int>(begin), bytes);
    std::this_thread::sleep_for(std::chrono::microseconds(200));
    wrong += !std::all_of(own, own + bytes, [&](unsigned char b) { return b == static_cast<unsigned char>(begin); });
    return 0;
  });
  wrong = ranges = 0;
  const std::int64_t n = 1000;
  Buffer results[1];
  CHECK(executable->run({}, std::span(&n, 1), {}, results).fault == Fault::none);
  CHECK(ranges > 1);
  CHECK(wrong == 0);
}

TEST_CASE("a kernel without scratch on the heap gets none", "[run]") {
  static void* given = &given;
  const auto executable =
      with_function(i32_program({Slot::Kind::result}, {true}), [](auto*, std::int64_t, std::int64_t, void* scratch) {
        given = scratch;
        return std::int32_t{0};
      });
  const std::int64_t n = 10;
  Buffer results[1];
  executable->run({}, std::span(&n, 1), {}, results);
  CHECK(given == nullptr);
}

TEST_CASE("a stop ends a long run within 20 ms, but for in-place steps", "[run]") {
  static std::atomic<int> done;  // elements
  const auto slow = [](const ir::KernelArgs*, std::int64_t begin, std::int64_t end, void*) {
    spin(std::chrono::microseconds(100) * (end - begin));
    done += static_cast<int>(end - begin);
    return std::int32_t{0};
  };
  std::vector<std::int32_t> x(2000);
  const Buffer inputs[] = {{Block(), x.data()}};
  const std::int64_t n = 2000;
  for (const bool in_place : {false, true}) {
    Program program = i32_program({in_place ? Slot::Kind::in_out : Slot::Kind::input, Slot::Kind::result}, {in_place, true});
    const auto executable = with_function(program, slow);
    Buffer results[1];
    const std::int64_t few = 20;
    executable->run(inputs, std::span(&few, 1), {}, results);  // learns what an element takes
    done = 0;
    std::atomic<int> done_before{0};
    std::thread stopper([&] {
      while (done < 50) std::this_thread::yield();
      request_stop();
      done_before = done.load();
    });
    const Failure failure = executable->run(inputs, std::span(&n, 1), {}, results);
    stopper.join();
    if (in_place) {
      CHECK(failure.fault == Fault::none);
      CHECK(done == 2000);
    } else {
      CHECK(failure.fault == Fault::stopped);
      CHECK(failure.step == 0);
      CHECK(done - done_before <= 200 * num_threads());  // so many take 20 ms
      CHECK(!results[0].block);
      CHECK(done < 2000);
    }
    // Until it is cleared, a stop also keeps in-place steps from beginning.
    CHECK(executable->run(inputs, std::span(&n, 1), {}, results).fault == Fault::stopped);
    clear_stop();
  }
}

TEST_CASE("the streaming variant serves results beyond the caches, and is asked for once", "[run]") {
  const WithThreads with(1);
  Program program = scale_add_program();
  program.kernels[0].buffers[2].streaming = true;
  static std::atomic<int> asked, streamed;
  const auto streaming = [](const ir::KernelArgs* args, std::int64_t begin, std::int64_t end, void* scratch) {
    ++streamed;
    return native_scale_add(args, begin, end, scratch);
  };
  const auto source = [&](std::uint32_t kernel) {
    ++asked;
    return kernel == 0 ? KernelEntry{streaming, nullptr} : KernelEntry{};
  };
  const ir::CpuTarget& target = ir::host_target();
  const std::int64_t share = std::max(target.l2_bytes, target.l3_bytes / target.cores) / 4, small = share, large = share + 1;
  Floats x(large, 1);
  const Buffer inputs[] = {x.buffer(), x.buffer()};
  const std::uint64_t scalars[] = {bits(2)};
  const auto works = [&](const Executable& executable, std::int64_t n) {
    Buffer results[1];
    return executable.run(inputs, std::span(&n, 1), scalars, results).fault == Fault::none &&
           static_cast<float*>(results[0].data)[n - 1] == x.values[static_cast<std::size_t>(n - 1)] * 3;
  };
  const auto executable = with_function(program, native_scale_add, source);
  asked = streamed = 0;
  CHECK(works(*executable, 16));
  CHECK(works(*executable, small));
  CHECK(asked == 0);
  CHECK(works(*executable, large));
  CHECK(asked == 1);
  CHECK(streamed > 0);
  std::vector<std::thread> callers;
  std::atomic<int> wrong{0};
  for (int i = 0; i < 4; ++i) callers.emplace_back([&] { wrong += !works(*executable, large); });
  for (std::thread& caller : callers) caller.join();
  CHECK(wrong == 0);
  CHECK(asked == 1);
  // A source that has none leaves the regular one.
  CHECK(works(*with_function(program, native_scale_add, [](std::uint32_t) { return KernelEntry{}; }), large));
  CHECK(works(*with_function(program, native_scale_add), large));
}

TEST_CASE("the steady state asks nothing of malloc", "[run]") {
  if (sanitized) SKIP("sanitizers have their own operator new");
  const auto executable = with_function(scale_add_program(), native_scale_add);
  for (const std::int64_t n : {16, 1000}) {
    Floats x(n, 1);
    const Buffer inputs[] = {x.buffer(), x.buffer()};
    const std::uint64_t scalars[] = {bits(2)};
    const auto run = [&] {
      Buffer results[1];
      executable->run(inputs, std::span(&n, 1), scalars, results);
    };
    run();
    const std::int64_t before = allocations_of_this_thread(), asked = allocator_statistics().system_allocations;
    for (int i = 0; i < 100; ++i) run();
    CHECK(allocations_of_this_thread() == before);
    CHECK(allocator_statistics().system_allocations == asked);
  }
}

TEST_CASE("threads run one Program at once, and a run may stand inside another", "[run]") {
  const auto executable = with_function(scale_add_program(), native_scale_add);
  static const Executable* inner;
  inner = executable.get();
  const auto outer =
      with_function(scale_add_program(), [](const ir::KernelArgs* args, std::int64_t begin, std::int64_t end, void* scratch) {
        const Buffer inputs[] = {{Block(), args->buffers[0]}, {Block(), args->buffers[1]}};
        Buffer results[1];
        inner->run(inputs, {args->sizes, 1}, {args->scalars, 1}, results);
        native_scale_add(args, begin, end, scratch);
        const auto *expected = static_cast<const float*>(results[0].data), *own = static_cast<const float*>(args->buffers[2]);
        return static_cast<std::int32_t>(!std::equal(own + begin, own + end, expected + begin));
      });
  std::atomic<int> wrong{0};
  std::vector<std::thread> callers;
  for (int number = 0; number < 4; ++number)
    callers.emplace_back([&, number] {
      for (std::int64_t round = 0; round < 200; ++round) {
        const std::int64_t n = (round * 37 + number) % 500 + (round % 50 == 0 ? 100000 : 0);
        Floats x(n, static_cast<float>(number));
        const Buffer inputs[] = {x.buffer(), x.buffer()};
        const std::uint64_t scalars[] = {bits(static_cast<float>(round))};
        Buffer results[1];
        const Executable& chosen = round % 2 && n < 500 ? *outer : *executable;
        if (chosen.run(inputs, std::span(&n, 1), scalars, results).fault != Fault::none) {
          ++wrong;
          continue;
        }
        for (std::int64_t i = 0; i < n; ++i) {
          const float value = x.values[static_cast<std::size_t>(i)];
          wrong += static_cast<float*>(results[0].data)[i] != value * static_cast<float>(round) + value;
        }
      }
    });
  for (std::thread& caller : callers) caller.join();
  CHECK(wrong == 0);
}

TEST_CASE("an exception of an executor's leaves no results behind", "[run]") {
  struct Broken final : Executor {
    int threads() const override { return 4; }
    void run(std::int64_t, const std::function<void(std::int64_t)>&) override { throw std::runtime_error("the host is gone"); }
  };
  const auto executable = with_function(i32_program({Slot::Kind::result}, {true}), note_range);
  const std::int64_t n = 1 << 20;
  Buffer results[1];
  set_executor(std::make_shared<Broken>());
  CHECK_THROWS_WITH(executable->run({}, std::span(&n, 1), {}, results), "the host is gone");
  set_executor(nullptr);
  CHECK(!results[0].block);
  CHECK(executable->run({}, std::span(&n, 1), {}, results).fault == Fault::none);
}

TEST_CASE("kernels run under IEEE control, and the host's comes back", "[run]") {
#if defined(__x86_64__)
  const WithThreads with(2);
  static std::atomic<unsigned> control;
  const auto executable = with_function(i32_program({Slot::Kind::result}, {true}), [](auto*, std::int64_t, std::int64_t, void*) {
    control |= _mm_getcsr() & ~0x3fu;
    return std::int32_t{0};
  });
  const unsigned before = _mm_getcsr(), flushing = before | 0x8040 | 0x6000;  // subnormals flushed, rounding to zero
  for (const std::int64_t n : {100, 1000000}) {
    control = 0;
    _mm_setcsr(flushing);
    Buffer results[1];
    executable->run({}, std::span(&n, 1), {}, results);
    const unsigned after = _mm_getcsr();
    _mm_setcsr(before);
    CHECK((after & ~0x3fu) == (flushing & ~0x3fu));  // but for what the status flags note
    CHECK(control == 0x1f80);
  }
#else
  SKIP("x86 only");
#endif
}

TEST_CASE("broken Programs and calls are internal errors", "[run]") {
  const auto broken = [](auto change) {
    Program program = scale_add_program();
    change(program);
    return [program] { with_function(program, native_scale_add); };
  };
  CHECK_THROWS_AS(broken([](Program& p) { p.results = {7}; })(), InternalError);
  CHECK_THROWS_AS(broken([](Program& p) { p.results = {0}; })(), InternalError);  // slot 2 leaves with nobody
  CHECK_THROWS_AS(broken([](Program& p) { p.slots[0].input = 2; })(), InternalError);
  CHECK_THROWS_AS(broken([](Program& p) { p.slots[2].kind = Slot::Kind::input; })(), InternalError);
  CHECK_THROWS_AS(broken([](Program& p) { p.slots[2].kind = Slot::Kind::temporary; })(), InternalError);
  CHECK_THROWS_AS(broken([](Program& p) { std::get<KernelStep>(p.steps[0].action).buffers.pop_back(); })(), InternalError);
  CHECK_THROWS_AS(broken([](Program& p) { std::get<KernelStep>(p.steps[0].action).kernel = 1; })(), InternalError);
  CHECK_THROWS_AS(broken([](Program& p) { p.kernels[0].body.clear(); })(), InternalError);
  CHECK_THROWS_AS(broken([](Program& p) { p.symbols = 0; })(), InternalError);
  CHECK_THROWS_AS(with_function(scale_add_program(), nullptr), InternalError);
  const auto executable = with_function(scale_add_program(), native_scale_add);
  Buffer results[1];
  CHECK_THROWS_AS(executable->run({}, {}, {}, results), InternalError);
#if defined(BRAZE_CHECKED)
  const Block small = Block::allocate(60);
  const Buffer inputs[] = {{small, small.data()}, {small, small.data()}};
  const std::int64_t n = 16;
  const std::uint64_t scalars[] = {0};
  CHECK_THROWS_WITH(executable->run(inputs, std::span(&n, 1), scalars, results),
                    ContainsSubstring("64 bytes at 0 of a block of 60"));
#endif
}

TEST_CASE("Programs run in the child of a fork, and in destructors of statics", "[run]") {
#if defined(__SANITIZE_THREAD__)
  SKIP("ThreadSanitizer starts no threads in the child of a process that has some");
#endif
  static const auto executable = with_function(scale_add_program(), native_scale_add);
  static Floats x(200000, 1);
  static const auto works = [] {
    const Buffer inputs[] = {x.buffer(), x.buffer()};
    const std::int64_t n = 200000;
    const std::uint64_t scalars[] = {bits(2)};
    Buffer results[1];
    return executable->run(inputs, std::span(&n, 1), scalars, results).fault == Fault::none &&
           static_cast<float*>(results[0].data)[9] == 30;
  };
  CHECK(works());
  const int code = in_fork([]() -> int {
    if (!works()) return 1;
    struct Late {
      Block held = Block::allocate(5 << 20);
      ~Late() { _exit(works() ? 0 : 2); }
    };
    static Late late;
    std::exit(3);
  });
  CHECK(code == 0);
}
