#include "frontend/engine/host.h"

#include "ir/graph.h"
#include "ir/scalar.h"
#include "runtime/run.h"

namespace braze {

namespace engine {
std::atomic<const Host*> current_host{nullptr};
}

void set_host(const Host* host) { engine::current_host.store(host, std::memory_order_release); }

const char* intern_file(std::string_view file) { return ir::intern_file(file); }

std::uint64_t convert_element(std::uint64_t bits, DType from, DType to) {
  return from == to ? bits : ir::evaluate({.op = ir::Primitive::convert, .type = to, .from = from}, bits);
}

void request_stop() { runtime::request_stop(); }
void clear_stop() { runtime::clear_stop(); }

}  // namespace braze
