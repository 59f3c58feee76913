#include "ir/program.h"

#include "ir/error.h"
#include "ir/graph.h"
#include "ir/lexer.h"

namespace braze::ir {
namespace {

std::string slot_text(const Program& program, const Slot& slot) {
  const auto size = [&](IndexId id) { return program.index.text(id, {}); };
  std::string text = fmt::format("{}[{}] ", name(slot.type), size(slot.elements));
  switch (slot.kind) {
    case Slot::Kind::input:
      return text + fmt::format("input {}", slot.input);
    case Slot::Kind::in_out:
      return text + fmt::format("in_out {}", slot.input);
    case Slot::Kind::result:
      return text + "result";
    case Slot::Kind::temporary:
      break;
  }
  return text + fmt::format("temporary at {}", size(slot.arena_offset));
}

std::string kernel_step_text(const Program& program, const KernelStep& step) {
  const Kernel& kernel = program.kernels.at(step.kernel);
  std::string arguments, sizes;
  for (std::size_t i = 0; i < step.buffers.size(); ++i) {
    const bool writes = i < kernel.buffers.size() && kernel.buffers[i].writes;
    arguments += fmt::format("{}{}@{}", i ? ", " : "", writes ? "write " : "", step.buffers[i]);
  }
  for (std::size_t i = 0; i < step.sizes.size(); ++i)
    sizes += fmt::format("{}{} = {}", i ? ", " : "", i < kernel.size_names.size() ? kernel.size_names[i] : "?",
                         program.index.text(step.sizes[i], {}));
  std::string scalars;
  for (std::uint32_t scalar : step.scalars) scalars += fmt::format("{}scalar {}", scalars.empty() ? "" : ", ", scalar);
  if (!scalars.empty() || !sizes.empty()) arguments += "; " + sizes;
  if (!scalars.empty()) arguments += "; " + scalars;
  std::string text = fmt::format("{}({}) for {}, work {}", kernel.name, arguments, program.index.text(step.extent, {}),
                                 program.index.text(step.work, {}));
  for (const KernelPhase& phase : step.then)
    text += fmt::format(", then for {}, work {}", program.index.text(phase.extent, {}), program.index.text(phase.work, {}));
  return text;
}

std::string call_step_text(const Program& program, const CallStep& step) {
  std::string text = fmt::format("call {}{}(", name(step.op), attributes_text(step.attributes));
  const auto append = [&](const CallStep::Array& array, bool writes) {
    if (text.back() != '(') text += ", ";
    if (writes) text += "write ";
    switch (array.kind) {
      case CallStep::Array::Kind::slot:
        text += fmt::format("@{}", array.number);
        break;
      case CallStep::Array::Kind::scalar:
        text += fmt::format("scalar {}", array.number);
        break;
      case CallStep::Array::Kind::constant:
        text += literal_text(array.type, array.bits);
        break;
      case CallStep::Array::Kind::unread:
        text += '_';
        break;
    }
    text += fmt::format(": {}[", name(array.type));
    for (std::size_t i = 0; i < array.sizes.size(); ++i) text += (i ? ", " : "") + program.index.text(array.sizes[i], {});
    text += ']';
  };
  for (const CallStep::Array& array : step.in) append(array, false);
  for (const CallStep::Array& array : step.out) append(array, true);
  return text + ")";
}

}  // namespace

std::string print(const Program& program) {
  std::string out =
      fmt::format("program({} inputs, {} symbols, {} scalars) {{\n", program.inputs, program.symbols, program.scalars);
  for (std::size_t i = 0; i < program.slots.size(); ++i) out += fmt::format("  @{}: {}\n", i, slot_text(program, program.slots[i]));
  out += fmt::format("  arena {} bytes\n", program.index.text(program.arena_bytes, {}));
  for (const Step& step : program.steps) {
    out += "  " + std::visit(match{
                                 [&](const KernelStep& s) { return kernel_step_text(program, s); },
                                 [&](const CallStep& s) { return call_step_text(program, s); },
                                 [&](const CopyStep& s) { return fmt::format("copy @{} to @{}", s.from, s.to); },
                             },
                             step.action);
    if (!step.line.empty()) out += "  // " + step.line;
    out += "\n";
  }
  out += "  return";
  for (std::size_t i = 0; i < program.results.size(); ++i) out += fmt::format("{} @{}", i ? "," : "", program.results[i]);
  out += "\n}\n";
  for (const Kernel& kernel : program.kernels) out += "\n" + print(kernel);
  return out;
}

}  // namespace braze::ir
