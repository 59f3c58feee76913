#include "passes/nest.h"

namespace braze::passes {

using ir::Op;

bool is_write(Op op) { return op == Op::store || op == Op::accumulate || op == Op::put; }

ir::Value write_point(const ir::Node& node) { return node.in[1]; }

ir::Value written_value(const ir::Node& node) { return node.in.back(); }

bool reads_whole(const ir::Node& node, std::size_t i) {
  return ir::info(node.op).routine() || (i == 0 && (is_write(node.op) || node.op == Op::take));
}

bool is_immediate(const ir::Node& node) {
  return node.op == Op::constant || (node.op == Op::parameter && node.as<ir::Parameter>().kind == ir::Parameter::Kind::scalar);
}

}  // namespace braze::passes
