#include "passes/rebuffer.h"

#include <algorithm>

namespace braze::passes {
namespace {

// Calls `f` with every statement, loops' bodies included. Loops nest a handful deep.
template <class F>
void each_statement(ir::Block& block, const F& f) {
  for (ir::Statement& statement : block) {
    f(statement);
    if (auto* loop = std::get_if<ir::For>(&statement.node)) each_statement(loop->body, f);
    if (auto* branch = std::get_if<ir::If>(&statement.node)) each_statement(branch->body, f);
  }
}

template <class F>
void each_statement(const ir::Kernel& kernel, const F& f) {
  each_statement(const_cast<ir::Kernel&>(kernel).body, [&](const ir::Statement& statement) { f(statement); });
}

}  // namespace

bool can_fault(const ir::Kernel& kernel) {
  bool faults = false;
  each_statement(kernel, [&](const ir::Statement& statement) {
    const auto* compute = std::get_if<ir::Compute>(&statement.node);
    faults = faults || (compute && compute->instruction.op == ir::Primitive::check);
  });
  return faults;
}

std::vector<bool> buffers_read(const ir::Kernel& kernel) {
  std::vector<bool> read(kernel.buffers.size());
  each_statement(kernel, [&](const ir::Statement& statement) {
    const auto* load = std::get_if<ir::Load>(&statement.node);
    if (load && load->access.buffer < ir::scratch_base) read[load->access.buffer] = true;
  });
  return read;
}

void merge_buffers(ir::Kernel& kernel, std::vector<std::uint32_t>& slots) {
  std::vector<std::uint32_t> renamed, kept;
  std::vector<ir::BufferParameter> buffers;
  for (std::size_t i = 0; i < slots.size(); ++i) {
    const auto at = std::find(kept.begin(), kept.end(), slots[i]);
    renamed.push_back(static_cast<std::uint32_t>(at - kept.begin()));
    if (at == kept.end()) {
      kept.push_back(slots[i]);
      buffers.push_back(kernel.buffers[i]);
    } else {
      buffers[renamed[i]].writes = buffers[renamed[i]].writes || kernel.buffers[i].writes;
    }
  }
  if (kept.size() == slots.size()) return;
  const auto rename = [&](ir::Access& access) {
    if (access.buffer < ir::scratch_base) access.buffer = renamed[access.buffer];
  };
  each_statement(kernel.body, [&](ir::Statement& statement) {
    if (auto* load = std::get_if<ir::Load>(&statement.node)) rename(load->access);
    if (auto* store = std::get_if<ir::Store>(&statement.node)) rename(store->access);
  });
  kernel.buffers = std::move(buffers);
  slots = std::move(kept);
}

}  // namespace braze::passes
