// Random programs on the public API: many aliases of few storages, writes through them, reads kept pending, evaluation here and there;
// and a model that runs each step at once on plain elements. What a step means follows from the values it meets (axis 5 of a tensor of
// two is axis 1), so any list of steps is a program and a failing one can be cut down step by step.
#pragma once

#include <string>
#include <vector>

#include "ir/op.h"
#include "tests/fuzz/fuzz.h"

namespace braze::test {

struct Step {
  enum class Kind {
    create,
    view,
    unary,
    binary,
    number,
    where,
    cast,
    reduce,
    cat,
    copy,  // out = ...
    unary_in_place,
    binary_in_place,
    number_in_place,
    fill,
    copy_in,
    assign_through,  // writes through a
    rebind,
    forget,
    eval,
    eval_two,
    read,
    compiled,
    compiled_writes,
    compiled_captures
  } kind{};
  int a = 0, b = 0, c = 0, out = 0;  // variables
  ir::Op op{};
  DType type{};
  bool eager = false;
  std::vector<std::int64_t> numbers;  // what else the kind needs, any values
};

std::vector<Step> random_program(Choices& choices);

// Runs the library and the model side by side. Returns what differs, or ""; `text` gets the steps that had an effect, as C++.
std::string run_program(const std::vector<Step>& steps, std::string* text = nullptr);

// Steps removed while the rest still fails.
std::vector<Step> reduce(std::vector<Step> steps);

}  // namespace braze::test
