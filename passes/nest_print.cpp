#include <fmt/format.h>

#include "passes/nest.h"

namespace braze::passes {
namespace {

class Printer {
 public:
  Printer(const Nest& nest, const ir::Graph& graph, const ir::IndexTable& index) : nest_(nest), graph_(graph), index_(index) {}

  std::string text() {
    out_ = fmt::format("nest {}(", nest_.name);
    for (std::size_t i = 0; i < nest_.buffers.size(); ++i) {
      const ir::Value v = nest_.buffers[i];
      out_ += fmt::format("{}b{} = %{}{}: {}", i ? ", " : "", i, v.node, v.result ? fmt::format("#{}", v.result) : "",
                          ir::name(graph_.node(v).op));
    }
    out_ += ") {\n";
    if (nest_.routine)
      line("call {}{}", ir::name(graph_[*nest_.routine].op),
           ir::attributes_text(*graph_[*nest_.routine].attributes, graph_.symbols));
    for (std::size_t i = 0; i < nest_.axes.size(); ++i)
      line("axis a{} in {}{}", i, size(nest_.axes[i].extent),
           !nest_.axes[i].reduced              ? ""
           : nest_.order == ReduceOrder::inner ? " reduced"
                                               : " reduced outer");
    for (std::size_t i = 0; i < nest_.derived.size(); ++i)
      line("index q{} = ({}) {} {}", i, affine(nest_.derived[i].of), nest_.derived[i].remainder ? "mod" : "div",
           size(nest_.derived[i].divisor));
    for (std::size_t i = 0; i < nest_.exprs.size(); ++i) expr(static_cast<ExprId>(i));
    for (const Output& output : nest_.outputs) {
      const std::string place =
          output.index == no_expr ? affine(output.address) : fmt::format("e{} of {}", output.index, affine(output.address));
      const std::string_view how = output.index != no_expr ? ir::combine_names[static_cast<int>(output.combine)]
                                   : output.accumulate     ? "accumulate"
                                                           : "store";
      line("{} b{}[{}], e{}{}{}", how, output.buffer, place, output.expr,
           output.along != no_axis ? fmt::format(" along a{}", output.along)
           : output.row            ? " each row"
                                   : "",
           output.into ? fmt::format(" into %{}", output.into.node) : "");
    }
    return out_ + "}\n";
  }

 private:
  template <class... Args>
  void line(fmt::format_string<Args...> format, Args&&... args) {
    out_ += "  " + fmt::format(format, std::forward<Args>(args)...) + "\n";
  }

  std::string size(ir::IndexId id) const { return index_.text(id, graph_.symbols); }

  std::string affine(AffineId id) const {
    const Affine& affine = nest_.affines[id];
    std::string text;
    for (const Affine::Term& term : affine.terms) {
      const bool derived = term.variable >= derived_base;
      if (!text.empty()) text += " + ";
      text += fmt::format("{}{}", derived ? 'q' : 'a', derived ? term.variable - derived_base : term.variable);
      if (!index_.is_number(term.coefficient, 1)) text += fmt::format("*({})", size(term.coefficient));
    }
    if (text.empty()) return size(affine.offset);
    return index_.is_number(affine.offset, 0) ? text : fmt::format("{} + {}", text, size(affine.offset));
  }

  std::string guard(GuardId id) const {
    std::string text;
    for (const Condition& condition : nest_.guards[id])
      text += fmt::format("{}0 <= {} < {}", text.empty() ? "" : " and ", affine(condition.index), size(condition.extent));
    return text;
  }

  void expr(ExprId id) {
    const Expr& e = nest_.exprs[id];
    std::string text;
    switch (e.kind) {
      case Expr::Kind::load:
        text = fmt::format("load b{}[{}]", e.number, affine(e.affine));
        break;
      case Expr::Kind::constant:
        text = fmt::format("constant {:#x}", e.bits);
        break;
      case Expr::Kind::scalar:
        text = fmt::format("scalar {}", graph_.parameter_name(e.number));
        break;
      case Expr::Kind::index:
        text = affine(e.affine);
        break;
      case Expr::Kind::guard:
        text = guard(e.guard);
        break;
      case Expr::Kind::wrap:
        text = fmt::format("wrap e{} in {}", e.in[0], affine(e.affine));
        break;
      case Expr::Kind::take:
        text = fmt::format("take b{}[e{}] of {}", e.number, e.in[0], affine(e.affine));
        break;
      case Expr::Kind::op:
        text = ir::name(e.op);
        for (std::size_t i = 0; i < e.in.size(); ++i) text += fmt::format("{} e{}", i ? "," : "", e.in[i]);
        break;
      case Expr::Kind::reduced:
        if (e.number == contraction_number) {
          text = fmt::format("dot e{}, e{}", nest_.contractions[0].left, nest_.contractions[0].right);
        } else {
          const Reduction& reduction = nest_.reductions[e.number];
          text = fmt::format("{} e{} stage {}", ir::name(reduction.op), reduction.operand, reduction.stage);
          if (reduction.along != no_axis)
            text += fmt::format(" along a{}{}", reduction.along, reduction.order == ReduceOrder::outer ? " outer" : "");
          if (ir::info(reduction.op).results > 1) text += fmt::format(" result {}", e.result);
        }
        break;
    }
    if (e.guard && e.kind != Expr::Kind::guard) text += " if " + guard(e.guard);
    line("e{} = {} : {}", id, text, braze::name(e.type));
  }

  const Nest& nest_;
  const ir::Graph& graph_;
  const ir::IndexTable& index_;
  std::string out_;
};

}  // namespace

std::string print(const Nest& nest, const ir::Graph& graph, const ir::IndexTable& index) {
  return Printer(nest, graph, index).text();
}

}  // namespace braze::passes
