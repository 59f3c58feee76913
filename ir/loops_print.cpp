#include <iterator>

#include "ir/error.h"
#include "ir/lexer.h"
#include "ir/loops.h"
#include "ir/loops_text.h"

namespace braze::ir {
namespace {

using Text = fmt::memory_buffer;

template <class... Args>
void put(Text& out, fmt::format_string<Args...> format, Args&&... args) {
  fmt::format_to(std::back_inserter(out), format, std::forward<Args>(args)...);
}

// `mul.f32 %3, %s0`; `operand` names a value.
template <class Name>
void write_instruction(Text& out, const Instruction& instruction, const Name& operand) {
  const PrimitiveInfo& primitive = info(instruction.op);
  put(out, "{}", primitive.name);
  if (instruction.op == Primitive::convert || instruction.op == Primitive::bitcast)
    put(out, ".{}->{}", name(instruction.from), name(instruction.type));
  else if (instruction.op != Primitive::check)
    put(out, ".{}", name(has_operand_type(instruction.op) ? instruction.from : instruction.type));
  if (instruction.op == Primitive::constant) {
    put(out, " {}", literal_text(instruction.type, instruction.payload));
  } else if (instruction.op == Primitive::call) {
    put(out, " {}", info(static_cast<LibraryFunction>(instruction.payload)).name);
  } else if (instruction.op == Primitive::check) {
    put(out, " {}", fault_names[instruction.payload]);
  }
  const char* separator = " ";
  for (ValueId value : instruction.in) {
    if (value == no_value) break;
    put(out, "{}{}", separator, operand(value));
    separator = ", ";
  }
}

class Printer {
 public:
  explicit Printer(const Kernel& kernel, const Statement* wanted = nullptr)
      : kernel_(kernel), wanted_(wanted), names_(kernel.value_types.size()) {}

  std::string print() {
    header();
    for (std::size_t i = 0; i < kernel_.scratch.size(); ++i) {
      const ScratchArray& array = kernel_.scratch[i];
      put(out_, "  scratch %a{}: {} {} [{}]", i, name(array.type), space_names[static_cast<std::size_t>(array.space)],
          text(array.count));
      if (array.lanes != 1) put(out_, " lanes {}", array.lanes);
      put(out_, "\n");
    }
    for (std::size_t i = 0; i < kernel_.combines.size(); ++i) combine(i);
    block(kernel_.body, 1);
    put(out_, "}}\n");
    return fmt::to_string(out_);
  }
  // The line of the wanted statement, once printed.
  std::string line() const {
    const std::string_view text(out_.data() + wanted_at_, out_.size() - wanted_at_);
    return std::string(text.substr(0, text.find('\n')));
  }

 private:
  void header() {
    put(out_, "kernel {}(", kernel_.name);
    for (std::size_t i = 0; i < kernel_.buffers.size(); ++i) {
      const BufferParameter& buffer = kernel_.buffers[i];
      put(out_, "{}%b{}: {} {}{}", i ? ", " : "", i, name(buffer.type), buffer.writes ? "write" : "read",
          buffer.streaming ? " streaming" : "");
    }
    if (!kernel_.sizes.empty() || !kernel_.scalars.empty()) put(out_, ";");
    for (std::size_t i = 0; i < kernel_.sizes.size(); ++i) {
      names_[kernel_.sizes[i]] = kernel_.size_names[i];
      put(out_, "{} {}", i ? "," : "", kernel_.size_names[i]);
    }
    if (!kernel_.scalars.empty()) put(out_, ";");
    for (std::size_t i = 0; i < kernel_.scalars.size(); ++i) {
      names_[kernel_.scalars[i].first] = fmt::format("%s{}", i);
      put(out_, "{} %s{}: {}", i ? "," : "", i, name(kernel_.scalars[i].second));
    }
    put(out_, ") {{\n");
  }

  void combine(std::size_t number) {
    const Combine& combine = kernel_.combines[number];
    const std::size_t width = combine.types.size();
    put(out_, "  combine c{}(", number);
    for (std::size_t i = 0; i < 2 * width; ++i) put(out_, "{}%{}: {}", i ? ", " : "", i, name(combine.types[i % width]));
    put(out_, ") {{\n");
    const auto operand = [](ValueId value) { return fmt::format("%{}", value); };
    for (std::size_t i = 0; i < combine.body.size(); ++i) {
      put(out_, "    %{} = ", 2 * width + i);
      write_instruction(out_, combine.body[i], operand);
      put(out_, "\n");
    }
    put(out_, "    yield");
    for (std::size_t i = 0; i < width; ++i) put(out_, "{} %{}", i ? "," : "", combine.results[i]);
    put(out_, "\n  }}\n");
  }

  void block(const Block& statements, int depth) {
    for (const Statement& statement : statements) {
      indent(depth);
      if (&statement == wanted_) wanted_at_ = out_.size();
      std::visit(match{
                     [&](const Compute& s) {
                       // Operands first: a result is numbered where it is defined.
                       Text body;
                       write_instruction(body, s.instruction, [&](ValueId value) { return text(value); });
                       put(out_, "{} = {}\n", define(s.result), fmt::to_string(body));
                     },
                     [&](const Load& s) {
                       const std::string from = text(s.access);
                       put(out_, "{} = load {}{}\n", define(s.result), from, where(s.predicate));
                     },
                     [&](const Store& s) { put(out_, "store {}, {}{}\n", text(s.access), text(s.value), where(s.predicate)); },
                     [&](const For& s) { loop(s, depth); },
                     [&](const Fold& s) {
                       const std::string lanes = list(s.lanes);
                       put(out_, "{} = fold {} by c{}\n", define(s.results), lanes, s.combine);
                     },
                     [&](const TreeFold& s) {
                       put(out_, "{} = tree_fold ", define(s.results));
                       for (std::size_t i = 0; i < s.arrays.size(); ++i)
                         put(out_, "{}%a{}", i ? ", " : "", s.arrays[i] - scratch_base);
                       put(out_, " count {} by c{}\n", text(s.count), s.combine);
                     },
                     [&](const If& s) {
                       put(out_, "if {} {{\n", text(s.condition));
                       block(s.body, depth + 1);
                       indent(depth);
                       put(out_, "}}\n");
                     },
                     [&](const Barrier&) { put(out_, "barrier\n"); },
                     [&](const Shuffle& s) {
                       const std::string value = text(s.value);
                       put(out_, "{} = shuffle {}, {}\n", define(s.result), value, s.delta);
                     },
                 },
                 statement.node);
    }
  }

  void loop(const For& loop, int depth) {
    std::string extent = text(loop.extent), carries;
    names_[loop.variable] = fmt::format("%i{}", loops_++);
    for (const Carry& carried : loop.carries) {
      const std::string init = text(carried.init);
      carries += fmt::format("{} {} = {}", carries.empty() ? " carry" : ",", define(carried.inside), init);
    }
    put(out_, "for {} {} in {}", loop_kind_names[static_cast<std::size_t>(loop.kind)], names_[loop.variable], extent);
    if (loop.step != 1) put(out_, " step {}", loop.step);
    put(out_, "{} {{\n", carries);
    block(loop.body, depth + 1);
    if (!loop.carries.empty()) {
      std::vector<ValueId> next, results;
      for (const Carry& carried : loop.carries) {
        next.push_back(carried.next);
        results.push_back(carried.result);
      }
      indent(depth + 1);
      put(out_, "yield {}\n", list(next));
      indent(depth);
      put(out_, "}} -> {}\n", define(results));
      return;
    }
    indent(depth);
    put(out_, "}}\n");
  }

  void indent(int depth) { put(out_, "{:{}}", "", 2 * depth); }

  std::string define(ValueId value) {
    std::string& name = names_.at(value);
    if (name.empty()) name = fmt::format("%{}", values_++);
    return name;
  }
  std::string define(const std::vector<ValueId>& values) {
    std::string text;
    for (ValueId value : values) text += (text.empty() ? "" : ", ") + define(value);
    return text;
  }

  // A kernel that verify() refuses still prints: a value that is used before it is defined is `%?`.
  std::string text(ValueId value) const { return value < names_.size() && !names_[value].empty() ? names_[value] : "%?"; }
  std::string text(const Size& size) const {
    return size.kind == Size::Kind::number ? fmt::format("{}", size.number) : text(size.value);
  }
  std::string list(const std::vector<ValueId>& values) const {
    std::string out;
    for (ValueId value : values) out += (out.empty() ? "" : ", ") + text(value);
    return out;
  }
  std::string where(ValueId predicate) const { return predicate == no_value ? "" : " where " + text(predicate); }
  std::string text(const Access& access) const {
    std::string out;
    for (const Term& term : access.terms)
      out += fmt::format("{}{} * {}", out.empty() ? "" : " + ", text(term.index), text(term.stride));
    if (out.empty() || access.offset != Size{}) out += fmt::format("{}{}", out.empty() ? "" : " + ", text(access.offset));
    const bool in_scratch = access.buffer >= scratch_base;
    return fmt::format("%{}{}[{}]", in_scratch ? 'a' : 'b', in_scratch ? access.buffer - scratch_base : access.buffer, out);
  }

  const Kernel& kernel_;
  const Statement* wanted_;
  std::size_t wanted_at_ = 0;
  std::vector<std::string> names_;
  std::uint32_t values_ = 0, loops_ = 0;
  Text out_;
};

}  // namespace

std::string print(const Kernel& kernel) { return Printer(kernel).print(); }

std::string statement_text(const Kernel& kernel, const Statement& statement) {
  Printer printer(kernel, &statement);
  printer.print();
  return printer.line();
}

}  // namespace braze::ir
