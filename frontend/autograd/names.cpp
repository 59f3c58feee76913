#include "frontend/autograd/names.h"

#include <array>
#include <cctype>

#include "frontend/autograd/tracking.h"

namespace braze {

namespace {

constexpr std::string_view names[] = {
#define BRAZE_GRADIENT(name) #name,
#include "frontend/autograd/names.def"
};
static_assert(std::size(names) <= 256, "a node keeps its name as a byte");

// "log_sigmoid" as "LogSigmoid".
std::string camel(std::string_view word) {
  std::string text;
  bool start = true;
  for (const char c : word) {
    if (c == '_') {
      start = true;
      continue;
    }
    text += start ? static_cast<char>(std::toupper(static_cast<unsigned char>(c))) : c;
    start = false;
  }
  return text;
}

// A store of all elements stands for what it stores.
const engine::Node* written_whole(const engine::Node& node) {
  if (node.op != ir::Op::store) return nullptr;
  const auto elements = [](const engine::Value& v) {
    std::int64_t count = 1;
    for (const ir::Extent& e : v.type().shape) count *= e.number();
    return count;
  };
  if (node.in().size() != 2 || !node.in()[1] || elements(node.in()[0]) != elements(node.in()[1])) return nullptr;
  const engine::Node* written = node.in()[1].node();
  while (written->op == ir::Op::reshape && written->name == 0 && !written->gradient() && written->in()[0])
    written = written->in()[0].node();
  return written->has(engine::Node::differentiable) ? written : nullptr;
}

std::string op_name(ir::Op op) {
  switch (op) {
    case ir::Op::log1p:
      return "Log1PBackward0";
    case ir::Op::store:
    case ir::Op::accumulate:
      return "torch::autograd::CopySlices";
    case ir::Op::dot:
      return "MmBackward0";
    case ir::Op::cast:
      return "ToCopyBackward0";
    case ir::Op::reshape:
    case ir::Op::view:
      return "ViewBackward0";
    case ir::Op::concat:
      return "CatBackward0";
    case ir::Op::take:
      return "IndexBackward0";
    case ir::Op::put:
      return "IndexPutBackward0";
    case ir::Op::gammainc:
      return "IgammaBackward0";
    case ir::Op::gammaincc:
      return "IgammacBackward0";
    case ir::Op::i0e:
      return "SpecialI0EBackward0";
    case ir::Op::i1e:
      return "SpecialI1EBackward0";
    case ir::Op::i1:
    case ir::Op::erfcx:
    case ir::Op::ndtri:
    case ir::Op::zeta:
    case ir::Op::bessel_j0:
    case ir::Op::bessel_j1:
    case ir::Op::bessel_y0:
    case ir::Op::bessel_y1:
      return "Special" + camel(ir::name(op)) + "Backward0";
    default:
      return camel(ir::name(op)) + "Backward0";
  }
}

}  // namespace

std::string gradient_name(const engine::Node& node) {
  const engine::Gradient* gradient = node.gradient();
  if (gradient && !dynamic_cast<const CustomOutput*>(gradient)) return "torch::autograd::AccumulateGrad";
  if (node.name == static_cast<std::uint8_t>(GradientName::MulBackward0OfPower)) return "MulBackward0";
  if (node.name != 0) return std::string(names[node.name]);
  if (const engine::Node* written = written_whole(node)) return gradient_name(*written);
  if (const auto* output = dynamic_cast<const CustomOutput*>(gradient)) return output->custom->name();
  return op_name(node.op);
}

}  // namespace braze
