// Runs a random program on the library and on the model, step by step.
#pragma once

#include <fmt/format.h>

#include <optional>
#include <string>
#include <vector>

#include "braze/braze.h"
#include "tests/fuzz/program.h"
#include "tests/fuzz/program_model.h"

namespace braze::test {

constexpr int variables = 12;
constexpr std::int64_t most_elements = 600;

class Runner {
 public:
  // `text`, if any, gets the steps that had an effect, as C++.
  explicit Runner(std::string* text) : text_(text) {}
  // What differs, or "".
  std::string run(const std::vector<Step>& steps);

 private:
  struct Variable {
    Tensor tensor;
    Model model;
  };

  template <class... Args>
  void say(fmt::format_string<Args...> format, Args&&... args) {
    if (text_ == nullptr) return;
    *text_ += eager_ ? "{ EagerScope eager; " : "";
    *text_ += fmt::format(format, std::forward<Args>(args)...) + (eager_ ? " }\n" : "\n");
  }
  std::optional<Variable>& at(int v) { return variables_[static_cast<std::size_t>(v)]; }
  Tensor& tensor(int v) { return at(v)->tensor; }
  Model& model(int v) { return at(v)->model; }
  bool defined(int v) { return at(v).has_value(); }
  void fail(std::string why) {
    if (why_.empty()) why_ = std::move(why);
  }
  // Values now.
  void check(int v);
  // A result in new memory: the layout is the library's choice.
  void define(int out, Tensor t, DType type, Sizes sizes, const std::vector<std::uint64_t>& bits);
  std::int64_t axis(const Step& s, int v, std::size_t n) const;
  void do_step(const Step& s);
  void create(const Step& s);

  // ---- views ----
  void view(const Step& s);

  // ---- new values ----
  // The op on values broadcast together; nothing where the model refuses.
  std::optional<std::vector<std::uint64_t>> values(ir::Op op, DType type, const Sizes& sizes, const std::vector<Model>& operands);
  void elementwise(const Step& s, int operands, bool in_place);
  void with_number(const Step& s, bool in_place);
  void where(const Step& s);
  void reduction(const Step& s);
  void cat(const Step& s);
  void copy(const Step& s);

  // ---- writes ----
  template <class Write>
  void write(int v, Write&& write, const std::vector<std::uint64_t>& bits) {
    const bool refused = model(v).repeats();
    try {
      write();
    } catch (const Error& e) {
      if (!refused) fail(fmt::format("a write was refused: {}", e.what()));
      return;
    }
    if (refused) return fail("a write to elements that repeat was not refused");
    model(v).write(bits);
  }
  void copy_in(const Step& s);
  // v(slice(start)) = w, where w's shape fits; often both are views of one storage.
  void assign_through(const Step& s);
  // maximum and minimum, so that every dtype will do; the second form writes its argument, the third what it captured.
  void compiled(const Step& s);

  std::string* text_;
  std::string why_;
  bool eager_ = false;
  std::vector<std::optional<Variable>> variables_ = std::vector<std::optional<Variable>>(variables);
};

}  // namespace braze::test
