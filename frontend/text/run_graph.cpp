#include "frontend/text/run_graph.h"

#include <optional>

#include "frontend/tensor_impl.h"

namespace braze::text {

namespace {

class Binder {
 public:
  Binder(const ir::Graph& graph, const std::map<std::string, Argument>& arguments)
      : graph_(graph), arguments_(arguments), symbols_(graph.symbols.size()) {}

  void bind() {
    for (const auto& [name, argument] : arguments_)
      require<ValueError>(is_parameter(name) || is_symbol(name), "the graph has no parameter '{}'; it has {}", name,
                          fmt::join(names(), ", "));
    for (std::size_t i = 0; i < graph_.parameters().size(); ++i) bind_parameter(i);
    for (std::size_t i = 0; i < symbols_.size(); ++i) {
      if (const auto given = arguments_.find(graph_.symbols[i]); given != arguments_.end() && !symbols_[i]) {
        const auto* number = std::get_if<Scalar>(&given->second);
        require<TypeError>(number && !number->is_floating(), "the extent '{}' must be an integer", graph_.symbols[i]);
        symbols_[i] = number->to_int();
      }
      require<ValueError>(symbols_[i].has_value(), "the extent '{}' follows from no parameter: give it a number",
                          graph_.symbols[i]);
    }
  }

  std::vector<runtime::Buffer> inputs;
  std::vector<std::uint64_t> scalars;
  std::vector<std::int64_t> symbols() const {
    std::vector<std::int64_t> out;
    for (const auto& s : symbols_) out.push_back(*s);
    return out;
  }
  Sizes sizes(const ir::Type& type) const {
    Sizes out;
    for (const ir::Extent& e : type.shape) out.push_back(e.is_symbol() ? *symbols_[e.symbol()] : e.number());
    return out;
  }

 private:
  bool is_symbol(const std::string& name) const {
    return std::find(graph_.symbols.begin(), graph_.symbols.end(), name) != graph_.symbols.end();
  }
  std::vector<std::string> names() const {
    std::vector<std::string> out;
    for (std::size_t i = 0; i < graph_.parameters().size(); ++i) out.push_back(graph_.parameter_name(i));
    return out;
  }
  bool is_parameter(const std::string& name) const {
    const std::vector<std::string> all = names();
    return std::find(all.begin(), all.end(), name) != all.end();
  }

  void bind_parameter(std::size_t i) {
    const std::string& name = graph_.parameter_name(i);
    const ir::Node& node = graph_.node(graph_.parameters()[i]);
    const ir::Type& type = node.out[0];
    const auto given = arguments_.find(name);
    require<ValueError>(given != arguments_.end(), "the parameter '{}: {}' has no argument", name, ir::text(type, graph_.symbols));
    if (node.as<ir::Parameter>().kind == ir::Parameter::Kind::scalar) return bind_scalar(name, type, given->second);
    const Tensor tensor = std::holds_alternative<Tensor>(given->second) ? std::get<Tensor>(given->second)
                                                                        : full({}, std::get<Scalar>(given->second), {type.dtype});
    require<TypeError>(tensor.dtype() == type.dtype, "the parameter '{}' is {}, its argument {}", name, braze::name(type.dtype),
                       braze::name(tensor.dtype()));
    const Sizes sizes = tensor.sizes();
    bool fits = sizes.size() == type.shape.size();
    for (std::size_t axis = 0; fits && axis < sizes.size(); ++axis) fits = bind_extent(type.shape[axis], sizes[axis]);
    require<ShapeError>(fits, "the parameter '{}: {}' does not take an argument of shape {}", name, ir::text(type, graph_.symbols),
                        sizes_text(sizes));
    dense_.push_back(tensor.contiguous().clone());
    const Tensor& dense = dense_.back();
    dense.eval();
    runtime::Buffer buffer;
    buffer.block = engine::buffer(dense.impl()->storage->value());
    buffer.data = const_cast<void*>(dense.data());
    inputs.push_back(std::move(buffer));
  }

  void bind_scalar(const std::string& name, const ir::Type& type, const Argument& argument) {
    if (const auto* number = std::get_if<Scalar>(&argument)) {
      scalars.push_back(to_literal(*number, type.dtype).bits);
      return;
    }
    const Tensor& tensor = std::get<Tensor>(argument);
    require<ShapeError>(tensor.numel() == 1, "the scalar parameter '{}' takes one number, not shape {}", name,
                        sizes_text(tensor.sizes()));
    const Scalar number = is_float(tensor.dtype()) ? Scalar(tensor.item<double>()) : Scalar(tensor.item<std::int64_t>());
    scalars.push_back(to_literal(number, type.dtype).bits);
  }

  bool bind_extent(ir::Extent extent, std::int64_t size) {
    if (!extent.is_symbol()) return extent.number() == size;
    std::optional<std::int64_t>& known = symbols_[extent.symbol()];
    if (!known) known = size;
    return *known == size;
  }

  const ir::Graph& graph_;
  const std::map<std::string, Argument>& arguments_;
  std::vector<std::optional<std::int64_t>> symbols_;
  std::vector<Tensor> dense_;  // keeps the inputs alive
};

}  // namespace

std::vector<Tensor> GraphRunner::operator()(const std::map<std::string, Argument>& arguments) {
  Binder binder(graph_, arguments);
  binder.bind();
  std::call_once(compiled_, [&] {
    passes::Module module;
    module.graph = ir::copy(graph_);
    executable_ = engine::build_executable(std::move(module), engine::compile_options(true));
  });
  std::vector<runtime::Buffer> results(graph_.results.size());
  engine::throw_failure(executable_->run(binder.inputs, binder.symbols(), binder.scalars, results), executable_->program());
  std::vector<Tensor> out;
  for (std::size_t i = 0; i < results.size(); ++i) {
    const ir::Type& type = graph_.type(graph_.results[i]);
    out.push_back(
        wrap(engine::leaf(engine::TypeRef::make(make_type(type.dtype, binder.sizes(type))), std::move(results[i].block))));
  }
  return out;
}

std::uint32_t parameter_number(const ir::Graph& graph, std::string_view name) {
  std::uint32_t number = 0;
  while (number < graph.parameters().size() && graph.parameter_name(number) != name) ++number;
  require<ValueError>(number < graph.parameters().size(), "{} has no parameter '{}'", graph.name, name);
  return number;
}

passes::Module transformed(passes::Module module, const std::function<ir::Graph(const ir::Graph&)>& transform) {
  module = passes::structure_views(std::move(module), {});
  module.graph = transform(module.graph);
  for (const auto pass : {passes::canonicalize, passes::simplify, passes::structure_views, passes::dead_code})
    module = pass(std::move(module), {});
  return module;
}

}  // namespace braze::text
