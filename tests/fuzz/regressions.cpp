// What the fuzzers found, each in its least form.
#include <cmath>

#include "braze/braze.h"
#include "passes/passes.h"
#include "tests/catch.h"
#include "tests/fuzz/end_to_end.h"

using namespace braze;

TEST_CASE("evaluating one reader of a pending value keeps what another reader will compute it from again") {
  Tensor x = tensor({1.0, 0.5, 0.25});
  x.atanh_();
  const Tensor y = minimum(x, 2);
  x.floor_();
  CHECK(y.to_vector<float>() == std::vector<float>{2, std::atanh(0.5f), std::atanh(0.25f)});
  CHECK(x.to_vector<float>() == std::vector<float>{INFINITY, 0, 0});
}

TEST_CASE("a kernel whose elements are none reads none, though its row is computed") {
  const passes::Module module = passes::parse_module(R"(braze.ir 1
graph f(%p0: f32[8, 0, 1]) {
  kernel f -> %5, %3 {
    %0 = ceil %p0 : f32[8, 0, 1]
    %1 = permute %0 {order = [1, 0, 2]} : f32[0, 8, 1]
    %2 = sum %p0 {dims = [0, 1]} : f32[1]
    %3 = cos %2 : f32[1]
    %4 = expand %3 {shape = [0, 8, 1]} : f32[0, 8, 1]
    %5 = add %1, %4 : f32[0, 8, 1]
  }
  return %5, %3
}
)",
                                                     "<text>");
  const ir::Graph graph = copy(module.graph);
  passes::Options options;
  options.target = ir::target_named("avx2");
  passes::Module copied = passes::parse_module(passes::print(module), "<text>");
  const auto executable = runtime::Executable::interpreted(passes::run_pipeline(std::move(copied), options).program);
  const ir::HostArray none = ir::make_host_array(DType::f32, {8, 0, 1});
  const braze::test::Outcome outcome = braze::test::run(graph, *executable, {&none, 1}, {});
  CHECK(outcome.fault == ir::Fault::none);
  CHECK(reinterpret_cast<const float*>(outcome.results[1].data.get())[0] == 1);
}
