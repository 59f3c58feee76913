// Expressions as text: recorded on placeholders, and from then on a graph.
#include "braze/expression.h"

#include <algorithm>
#include <set>

#include "frontend/tensor_impl.h"
#include "frontend/text/expression.h"
#include "frontend/text/run_graph.h"
#include "ir/identifier.h"
#include "passes/derivative.h"

namespace braze {

struct Expression::State {
  State(ir::Graph graph) : run(std::move(graph)) {}
  text::GraphRunner run;
};

namespace {

std::vector<Expression::Parameter> completed(std::string_view text, std::vector<Expression::Parameter> parameters) {
  std::set<std::string, std::less<>> known;
  for (const Expression::Parameter& p : parameters) {
    require<ValueError>(ir::is_identifier(p.name), "'{}' is not a parameter's name: letters, digits and _ make one", p.name);
    require<ValueError>(known.insert(p.name).second, "the parameter '{}' is listed twice", p.name);
    for (const std::int64_t size : p.sizes)
      require<ValueError>(size >= 0, "the parameter '{}' has sizes {}: none can be negative", p.name, sizes_text(p.sizes));
    require<NotImplementedError>(!is_complex(p.dtype), "the parameter '{}' is {}: expressions are of real numbers", p.name,
                                 braze::name(p.dtype));
  }
  for (const std::string& name : text::names_in(text))
    if (known.insert(name).second) parameters.push_back({name});
  return parameters;
}

// The graph of a walk with named parameters; its extents are numbers, and the numbers of the text are constants.
class NamedGraph {
 public:
  NamedGraph(const std::vector<Expression::Parameter>& parameters, const std::vector<engine::Value>& stand_ins)
      : parameters_(parameters), stand_ins_(stand_ins) {}

  ir::Graph of(const engine::Value& result) {
    engine::Walk walk;
    engine::walk_now({&result, 1}, {.held_are_outputs = false, .donate = false, .fuse = true}, walk);
    const auto [found, sources] = engine::build_graph(walk);
    const std::vector<ir::NodeId> parameters = leaves(walk);
    std::vector<ir::NodeId> copies(found.size());
    std::vector<ir::Value> in;
    for (ir::NodeId id = 0; id < found.size(); ++id) {
      const ir::Node& node = found[id];
      if (node.op == ir::Op::parameter) {
        copies[id] = parameters[node.as<ir::Parameter>().number];
        continue;
      }
      in.clear();
      for (const ir::Value v : node.in) in.push_back({copies[v.node], v.result});
      ir::Attributes attributes = *node.attributes;
      ir::for_each_extent(attributes, [&](ir::Extent& e) {
        if (e.is_symbol()) e = walk.numbers[sources[e.symbol()]];
      });
      copies[id] = out_.add(node.op, in, std::move(attributes));
    }
    for (const ir::Value v : found.results) out_.results.push_back({copies[v.node], v.result});
    return std::move(out_);
  }

 private:
  // What stands in the graph for the leaves and the scalars of the walk. All parameters of the list are made, in its order.
  std::vector<ir::NodeId> leaves(const engine::Walk& walk) {
    out_.name = "expression";
    std::vector<ir::NodeId> listed;
    for (const Expression::Parameter& p : parameters_)
      listed.push_back(out_.parameter(make_type(p.dtype, p.sizes), ir::Parameter::Kind::buffer, p.name).node);
    std::vector<ir::NodeId> found;
    std::size_t scalar = 0;
    for (std::size_t i = 0; i < walk.nodes.size(); ++i) {
      if (walk.kinds[i] == engine::Walk::Kind::scalar) {
        found.push_back(out_.add(ir::Op::constant, {}, ir::Literal{walk.nodes[i]->types[0]->dtype, walk.scalars[scalar++]}));
      } else if (walk.kinds[i] == engine::Walk::Kind::leaf) {
        const auto at =
            std::find_if(stand_ins_.begin(), stand_ins_.end(), [&](const auto& s) { return s.node() == walk.nodes[i]; });
        require<ValueError>(at != stand_ins_.end(), "a list alone is no expression");
        found.push_back(listed[static_cast<std::size_t>(at - stand_ins_.begin())]);
      }
    }
    return found;
  }

  const std::vector<Expression::Parameter>& parameters_;
  const std::vector<engine::Value>& stand_ins_;
  ir::Graph out_;
};

ir::Graph record(std::string_view text, const std::vector<Expression::Parameter>& parameters) {
  const Trace trace;
  std::map<std::string, Tensor> names;
  std::vector<engine::Value> stand_ins;
  for (const Expression::Parameter& p : parameters) {
    const Tensor tensor = wrap(engine::placeholder(engine::TypeRef::make(make_type(p.dtype, p.sizes))));
    stand_ins.push_back(tensor.impl()->storage->value());
    names.emplace(p.name, tensor);
  }
  const Tensor result = text::evaluate(text, names);
  return NamedGraph(parameters, stand_ins).of(read(checked(result), {}));
}

ir::Graph simplified(ir::Graph graph) {
  passes::Module module;
  module.graph = std::move(graph);
  return text::transformed(std::move(module), ir::copy).graph;
}

ir::Graph graph_of(std::string_view text, const std::vector<Expression::Parameter>& parameters) {
  if (text.substr(std::min(text.find_first_not_of(" \t\r\n"), text.size())).starts_with("braze.ir")) {
    require<ValueError>(parameters.empty(), "the text of a graph says what its parameters are: the list must be empty");
    ir::Graph graph = ir::parse_graph(text, "<expression>");
    require<ValueError>(graph.results.size() == 1, "an expression has one value, and {} returns {}", graph.name,
                        graph.results.size());
    return graph;
  }
  return simplified(record(text, completed(text, parameters)));
}

// The graph with its last parameter, a tangent, replaced by ones.
ir::Graph along_ones(const ir::Graph& graph) {
  ir::Graph out;
  out.name = graph.name;
  out.symbols = graph.symbols;
  std::vector<ir::NodeId> copies(graph.size());
  std::vector<ir::Value> in;
  for (ir::NodeId id = 0; id < graph.size(); ++id) {
    const ir::Node& node = graph[id];
    if (node.op == ir::Op::parameter) {
      const auto& p = node.as<ir::Parameter>();
      if (p.number + 1 < graph.parameters().size()) {
        copies[id] = out.parameter(node.out[0], p.kind, graph.parameter_name(p.number)).node;
        continue;
      }
      const ir::Value one{out.add(ir::Op::constant, {}, ir::literal(p.type, 1.0)), 0};
      copies[id] = node.out[0].shape.empty() ? one.node : out.add(ir::Op::expand, {&one, 1}, ir::ToShape{node.out[0].shape});
      continue;
    }
    in.clear();
    for (const ir::Value v : node.in) in.push_back({copies[v.node], v.result});
    copies[id] = out.add(node.op, in, *node.attributes, node.location);
  }
  for (const ir::Value v : graph.results) out.results.push_back({copies[v.node], v.result});
  return out;
}

}  // namespace

Expression::Expression(std::string_view text, const std::vector<Parameter>& parameters)
    : state_(std::make_shared<State>(graph_of(text, parameters))) {}

Expression::Expression(std::shared_ptr<State> state) : state_(std::move(state)) {}

std::vector<std::string> Expression::names() const {
  const ir::Graph& graph = state_->run.graph();
  std::vector<std::string> out;
  for (std::size_t i = 0; i < graph.parameters().size(); ++i) out.push_back(graph.parameter_name(i));
  return out;
}

Tensor Expression::operator()(const Arguments& arguments) const { return state_->run(arguments)[0]; }

Expression Expression::derivative(std::string_view name) const {
  const ir::Graph& graph = state_->run.graph();
  const std::uint32_t number = text::parameter_number(graph, name);
  const DType dtype = graph.type(graph.parameters()[number]).dtype;
  require<TypeError>(is_float(dtype), "the derivative in '{}' does not exist: it is {}, no float", name, braze::name(dtype));
  const DType result = graph.type(graph.results[0]).dtype;
  require<TypeError>(is_float(result), "the derivative of a value of {} does not exist", braze::name(result));
  return Expression(std::make_shared<State>(simplified(along_ones(passes::jvp(graph, {{0}, {number}})))));
}

std::string Expression::text() const { return ir::print(state_->run.graph()); }

}  // namespace braze
