// Every public operation, called from C++ and compared with what PyTorch gives: shape, dtype, strides, values.
#include "tests/cpp/calls.h"

#include "tests/catch.h"

namespace braze::recorded {

namespace {

std::vector<std::span<const Call>>& registered() {
  static std::vector<std::span<const Call>> all;
  return all;
}

void gather_tensors(const Value& value, std::vector<Tensor>& out) {
  if (value.kind() == Value::Kind::tensor) out.push_back(value.tensor());
  for (const Value& item : value.items()) gather_tensors(item, out);
}

// Results of calls that have been made and not yet looked at: they are evaluated together, which compiles in parallel.
class Batch {
 public:
  void add(const Call& call) {
    if (pending_.size() == 64) check();
    manual_seed(1234);
    try {
      pending_.emplace_back(call.text, call.call());
    } catch (const std::exception& e) {
      FAIL_CHECK(call.text << " threw " << e.what());
    }
  }

  void check() {
    std::vector<Tensor> tensors;
    for (const auto& [text, value] : pending_) gather_tensors(value, tensors);
    std::erase_if(tensors, [](const Tensor& t) { return !t.defined(); });
    eval(tensors);
    for (const auto& [text, value] : pending_) {
      INFO(text);
      CHECK(difference_from_call(text, value) == "");
    }
    pending_.clear();
  }

 private:
  std::vector<std::pair<const char*, Value>> pending_;
};

}  // namespace

Register::Register(std::span<const Call> calls) { registered().push_back(calls); }

TEST_CASE("every public operation gives what PyTorch gives") {
  std::size_t made = 0;
  Batch batch;
  for (const std::span<const Call> calls : registered())
    for (const Call& call : calls) {
      batch.add(call);
      ++made;
    }
  batch.check();
  CHECK(made == recorded_calls());
}

}  // namespace braze::recorded
