#include <fmt/format.h>

#include "ir/error.h"
#include "ir/graph.h"
#include "ir/graph_text.h"
#include "ir/identifier.h"
#include "ir/lexer.h"

namespace braze::ir {
namespace {

// Writes the attributes of one node, `{...}` or a literal, with the space that precedes them.
class AttributePrinter {
 public:
  AttributePrinter(std::string& out, std::span<const std::string> symbols) : out_(out), symbols_(symbols) {}

  void operator()(const None&) {}
  void operator()(const Parameter&) {}
  void operator()(const Cast&) {}  // the result's type says it
  void operator()(const Literal& a) { out_ += ' ', out_ += literal_text(a.type, a.bits); }
  void operator()(const ToShape& a) {
    braces([&] { field("shape", a.shape); });
  }
  void operator()(const Layout& a) {
    braces([&] { field("offset", a.offset), field("sizes", a.sizes), field("strides", a.strides); });
  }
  void operator()(const Permutation& a) {
    braces([&] { numbers("order", a.order); });
  }
  void operator()(const Slice& a) {
    braces([&] { field("starts", a.starts), field("sizes", a.sizes), field("steps", a.steps); });
  }
  void operator()(const Axes& a) { dims(a.mask); }
  void operator()(const Reduced& a) { dims(a.mask); }
  void operator()(const Padding& a) {
    braces([&] { field("low", a.low), field("high", a.high), field("sizes", a.sizes); });
  }
  void operator()(const Concat& a) {
    braces([&] { field("axis", Extent(a.axis)), field("extent", a.extent); });
  }
  void operator()(const Dot& a) {
    if (a.order != Dot::Order::blocked) braces([&] { word("order", dot_order_names[static_cast<int>(a.order)]); });
  }
  void operator()(const WrapIndex& a) {
    braces([&] { field("extent", a.extent); });
  }
  void operator()(const Put& a) {
    braces([&] { word("combine", combine_names[static_cast<int>(a.combine)]); });
  }
  void operator()(const Scan& a) {
    braces([&] { field("axis", Extent(a.axis)); });
  }
  void operator()(const Sort& a) {
    braces([&] { field("axis", Extent(a.axis)), truth("descending", a.descending); });
  }
  void operator()(const Draw& a) {
    braces([&] { word("kind", draw_names[static_cast<int>(a.kind)]), field("shape", a.shape); });
  }
  void operator()(const Cholesky& a) {
    braces([&] { word("check", checked_names[static_cast<int>(a.check)]); });
  }
  void operator()(const LuFactor& a) {
    braces([&] { field("rank", a.rank), word("check", checked_names[static_cast<int>(a.check)]); });
  }
  void operator()(const LuSolve& a) {
    braces([&] { truth("transposed", a.transposed); });
  }
  void operator()(const SolveTriangular& a) {
    braces([&] { truth("upper", a.upper), truth("left", a.left), truth("unit", a.unit); });
  }
  void operator()(const Factor& a) {
    braces([&] { field("rank", a.rank), truth("full", a.full); });
  }
  void operator()(const Eigh& a) {
    braces([&] { truth("upper", a.upper); });
  }

 private:
  template <class F>
  void braces(F&& fields) {
    out_ += " {";
    fields();
    out_ += '}';
  }
  void key(std::string_view name) {
    if (out_.back() != '{') out_ += ", ";
    out_ += name;
    out_ += " = ";
  }
  template <class A>
  void field(std::string_view name, const A& value) {
    key(name);
    out_ += text(value, symbols_);
  }
  void word(std::string_view name, std::string_view value) {
    key(name);
    out_ += value;
  }
  void truth(std::string_view name, bool value) { word(name, value ? "true" : "false"); }
  template <class Numbers>
  void numbers(std::string_view name, const Numbers& list) {
    key(name);
    fmt::format_to(std::back_inserter(out_), "[{}]", fmt::join(list, ", "));
  }
  void dims(std::uint64_t mask) {
    InlineVector<int, 8> axes;
    for (int i = 0; i < max_rank; ++i)
      if (mask >> i & 1) axes.push_back(i);
    braces([&] { numbers("dims", axes); });
  }

  std::string& out_;
  std::span<const std::string> symbols_;
};

class Printer {
 public:
  Printer(const Graph& graph, std::span<const GraphBlock> blocks, std::span<const GraphRemark> remarks)
      : graph_(graph), blocks_(blocks), remarks_(remarks), names_(graph.size(), unnamed) {
    std::vector<Value> roots = graph.results;
    for (const GraphBlock& block : blocks)
      for (NodeId node : block.nodes) roots.push_back({node, 0});
    for (NodeId node : postorder(graph, roots))
      if (graph[node].op != Op::parameter) {
        names_[node] = static_cast<std::uint32_t>(order_.size());
        order_.push_back(node);
      }
  }

  std::string run() {
    out_ = "braze.ir 1\n";
    header();
    if (blocks_.empty())
      for (NodeId node : order_) statement(node, 2);
    else
      body_of_blocks();
    for (const GraphRemark& remark : remarks_)
      fmt::format_to(std::back_inserter(out_), "  // {} and {}: {}\n", name_of(remark.first), name_of(remark.second), remark.text);
    out_ += "  return";
    values(graph_.results);
    out_ += "\n}\n";
    return std::move(out_);
  }

 private:
  static constexpr std::uint32_t unnamed = ~std::uint32_t{0};

  // A symbol that occurs in a parameter's shape needs no declaration, unless the declarations' order would not be the symbols'.
  void header() {
    std::vector<std::uint32_t> order;
    std::vector<bool> implied(graph_.symbols.size());
    for (Value p : graph_.parameters())
      for (Extent e : graph_.type(p).shape)
        if (e.is_symbol() && !implied[e.symbol()]) {
          implied[e.symbol()] = true;
          order.push_back(e.symbol());
        }
    bool in_order = true;
    for (std::size_t i = 0; i < order.size(); ++i) in_order &= order[i] == i;

    fmt::format_to(std::back_inserter(out_), "graph {}(", is_identifier(graph_.name) ? graph_.name : "main");
    if (!in_order)
      for (const std::string& symbol : graph_.symbols) declare_symbol(symbol);
    for (std::size_t i = 0; i < graph_.parameters().size(); ++i) declare_parameter(i);
    if (in_order)
      for (std::size_t i = order.size(); i < graph_.symbols.size(); ++i) declare_symbol(graph_.symbols[i]);
    out_ += ") {\n";
  }

  void separate() {
    if (out_.back() != '(') out_ += ", ";
  }

  void declare_symbol(const std::string& symbol) {
    separate();
    out_ += symbol;
    out_ += ": index";
  }

  void declare_parameter(std::size_t number) {
    const Value value = graph_.parameters()[number];
    separate();
    fmt::format_to(std::back_inserter(out_), "%{}: {}", graph_.parameter_name(number), text(graph_.type(value), graph_.symbols));
    switch (graph_.node(value).as<Parameter>().kind) {
      case Parameter::Kind::buffer:
        break;
      case Parameter::Kind::donated:
        out_ += " donated";
        break;
      case Parameter::Kind::scalar:
        out_ += " scalar";
        break;
    }
  }

  // Nodes outside blocks (constants, casts of scalars) come as soon as their operands stand.
  void body_of_blocks() {
    std::vector<bool> in_block(graph_.size()), printed(graph_.size());
    for (const GraphBlock& block : blocks_)
      for (NodeId node : block.nodes) in_block[node] = true;
    std::vector<NodeId> loose;
    for (NodeId node : order_)
      if (!in_block[node]) loose.push_back(node);
    const auto print_loose = [&] {
      std::erase_if(loose, [&](NodeId node) -> bool {
        for (Value v : graph_[node].in)
          if (!printed[v.node] && graph_[v.node].op != Op::parameter) return false;
        statement(node, 2);
        return printed[node] = true;
      });
    };
    print_loose();
    for (const GraphBlock& block : blocks_) {
      fmt::format_to(std::back_inserter(out_), "  kernel {}", is_identifier(block.name) ? block.name : "kernel");
      if (!block.outputs.empty()) out_ += " ->";
      values(block.outputs);
      out_ += " {\n";
      for (NodeId node : block.nodes) {
        if (graph_[node].op == Op::parameter) continue;
        statement(node, 4);
        printed[node] = true;
      }
      out_ += "  }\n";
      print_loose();
    }
  }

  void statement(NodeId id, int indent) {
    const Node& node = graph_[id];
    out_.append(static_cast<std::size_t>(indent), ' ');
    fmt::format_to(std::back_inserter(out_), "%{}", names_[id]);
    if (node.out.size() > 1) fmt::format_to(std::back_inserter(out_), ":{}", node.out.size());
    out_ += " = ";
    out_ += ir::name(node.op);
    values(node.in);
    std::visit(AttributePrinter(out_, graph_.symbols), *node.attributes);
    for (std::size_t i = 0; i < node.out.size(); ++i) {
      out_ += i == 0 ? " : " : ", ";
      out_ += text(node.out[i], graph_.symbols);
    }
    if (node.location.file) {
      out_ += "  // ";
      out_ += text(node.location);
    }
    out_ += '\n';
  }

  void values(std::span<const Value> list) {
    for (std::size_t i = 0; i < list.size(); ++i) {
      out_ += i == 0 ? " " : ", ";
      value(list[i]);
    }
  }

  void value(Value v) {
    const Node& node = graph_.node(v);
    out_ += name_of(v.node);
    if (node.out.size() > 1) fmt::format_to(std::back_inserter(out_), "#{}", v.result);
  }

  std::string name_of(NodeId id) const {
    if (graph_[id].op == Op::parameter) return "%" + graph_.parameter_name(graph_[id].as<Parameter>().number);
    if (names_[id] == unnamed) return fmt::format("a removed {}", ir::name(graph_[id].op));  // only a remark can mention one
    return fmt::format("%{}", names_[id]);
  }

  const Graph& graph_;
  std::span<const GraphBlock> blocks_;
  std::span<const GraphRemark> remarks_;
  std::vector<std::uint32_t> names_;
  std::vector<NodeId> order_;
  std::string out_;
};

}  // namespace

std::string attributes_text(const Attributes& attributes, std::span<const std::string> symbol_names) {
  std::string out;
  std::visit(AttributePrinter(out, symbol_names), attributes);
  return out;
}

std::string print(const Graph& graph) { return Printer(graph, {}, {}).run(); }

std::string print(const Graph& graph, std::span<const GraphBlock> blocks, std::span<const GraphRemark> remarks) {
  return Printer(graph, blocks, remarks).run();
}

}  // namespace braze::ir
