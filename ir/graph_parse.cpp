#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <functional>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "ir/error.h"
#include "ir/graph.h"
#include "ir/graph_text.h"
#include "ir/lexer.h"

namespace braze::ir {
namespace {

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replace = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      row[j] = std::min({replace, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

// "; did you mean 'add' or 'any'?", or nothing when no op's name is near.
std::string near_ops(std::string_view unknown) {
  if (unknown.size() > 40) return "";
  std::size_t best = std::max<std::size_t>(1, unknown.size() / 3);
  std::vector<std::string_view> near;
  for (const OpInfo& row : op_table) {
    const std::size_t distance = edit_distance(unknown, row.name);
    if (distance > best) continue;
    if (distance < best) near.clear();
    best = distance;
    near.push_back(row.name);
  }
  if (near.empty()) return "";
  return fmt::format("; did you mean '{}'?", fmt::join(near, "' or '"));
}

// Source lines that stand as trailing comments, `// file:line`; the lexer drops comments.
class Comments {
 public:
  explicit Comments(std::string_view text) : text_(text), starts_{0} {
    for (std::size_t i = 0; i < text.size(); ++i)
      if (text[i] == '\n') starts_.push_back(i + 1);
  }

  Location location(int line) const {
    std::string_view source = text_.substr(starts_[static_cast<std::size_t>(line) - 1]);
    source = source.substr(0, source.find('\n'));
    const std::size_t slashes = source.find("//");
    if (slashes == std::string_view::npos) return {};
    std::string_view comment = source.substr(slashes + 2);
    while (!comment.empty() && comment.front() == ' ') comment.remove_prefix(1);
    while (!comment.empty() && (comment.back() == ' ' || comment.back() == '\r')) comment.remove_suffix(1);
    const std::size_t colon = comment.rfind(':');
    if (colon == std::string_view::npos || colon == 0) return {};
    if (comment.find('\0') != std::string_view::npos) return {};  // files are C strings
    std::uint32_t number = 0;
    const char* end = comment.data() + comment.size();
    const auto result = std::from_chars(comment.data() + colon + 1, end, number);
    if (result.ec != std::errc{} || result.ptr != end) return {};
    return {intern_file(comment.substr(0, colon)), number};
  }

 private:
  std::string_view text_;
  std::vector<std::size_t> starts_;
};

class Parser {
 public:
  Parser(std::string_view text, std::string_view file, std::vector<GraphBlock>* blocks)
      : lexer_(text, std::string(file)), comments_(text), blocks_(blocks) {}

  Graph run() {
    header();
    while (!lexer_.at("return")) {
      if (lexer_.peek().kind == Token::Kind::value) {
        const Token place = lexer_.peek();
        const NodeId node = statement(false);
        if (is_free(node)) free_.insert(node);
        if (blocks_ != nullptr && !blocks_->empty()) check_free(place, node);
        loose_.emplace_back(place, node);
      } else if (lexer_.at("kernel")) {
        block();
      } else {
        lexer_.expected("a statement such as '%0 = add %x, %y : f32[n]', or 'return'");
      }
    }
    lexer_.expect("return");
    if (lexer_.peek().kind == Token::Kind::value) {
      std::vector<Token> places;
      graph_.results = value_list(&places);
      for (std::size_t i = 0; i < places.size(); ++i) check_in_memory(places[i], graph_.results[i].node);
    }
    lexer_.expect("}");
    if (!lexer_.at_end()) lexer_.expected("the end of the text");
    return std::move(graph_);
  }

 private:
  struct Definition {
    NodeId node;
    bool parameter = false;
  };

  // ---- header

  void header() {
    if (!lexer_.at("braze")) lexer_.expected("'braze.ir 1'");
    lexer_.next();
    lexer_.expect(".");
    lexer_.expect("ir");
    const Token version = lexer_.peek();
    if (lexer_.integer("the version 1") != 1)
      lexer_.error(version, fmt::format("this text has version {}, Braze reads version 1", version.text));
    lexer_.expect("graph");
    graph_.name = lexer_.name("the graph's name").text;
    lexer_.expect("(");
    if (!lexer_.accept(")")) {
      do lexer_.peek().kind == Token::Kind::value ? parameter() : symbol();
      while (lexer_.accept(","));
      if (!lexer_.accept(")")) lexer_.expected("',' or ')'");
    }
    lexer_.expect("{");
  }

  void symbol() {
    const Token token = lexer_.name("a parameter such as '%x: f32[n]' or 'm: index'");
    if (symbols_.contains(token.text)) lexer_.error(token, fmt::format("the symbol '{}' is declared twice", token.text));
    lexer_.expect(":");
    lexer_.expect("index");
    new_symbol(token);
  }

  Extent new_symbol(const Token& token) {
    const Extent extent = graph_.new_symbol(std::string(token.text));
    symbols_.emplace(token.text, extent);
    return extent;
  }

  void parameter() {
    const Token name = lexer_.value();
    if (values_.contains(name.text)) lexer_.error(name, fmt::format("the parameter %{} is declared twice", name.text));
    if (name.text.front() >= '0' && name.text.front() <= '9')
      lexer_.error(name, fmt::format("the parameter %{} must have a name that begins with a letter", name.text));
    lexer_.expect(":");
    const Token where = lexer_.peek();
    const Type type = this->type(true);
    Parameter::Kind kind = Parameter::Kind::buffer;
    if (lexer_.accept("scalar"))
      kind = Parameter::Kind::scalar;
    else if (lexer_.accept("donated"))
      kind = Parameter::Kind::donated;
    else if (!lexer_.at(",") && !lexer_.at(")"))
      lexer_.expected("',', ')', 'scalar' or 'donated'");
    guarded(where, [&] { values_[name.text] = {graph_.parameter(type, kind, std::string(name.text)).node, true}; });
  }

  // ---- blocks

  void block() {
    const Token keyword = lexer_.expect("kernel");
    if (blocks_ == nullptr) lexer_.error(keyword, "a graph at stage 'graph' has no kernels");
    GraphBlock& block = blocks_->emplace_back();
    block.name = lexer_.name("the kernel's name").text;
    std::vector<Token> outputs;
    std::vector<std::uint32_t> results;
    if (lexer_.accept("->")) {
      do {
        outputs.push_back(lexer_.value());
        results.push_back(lexer_.at("#") ? result_number() : no_result);
      } while (lexer_.accept(","));
    }
    if (outputs.empty()) lexer_.expected("'->' and the values that the kernel leaves in memory");
    lexer_.expect("{");
    block_number_ = blocks_->size();
    if (blocks_->size() == 1)
      for (const auto& [place, node] : loose_) check_free(place, node);
    std::unordered_set<NodeId> seen;  // two names may stand for one node
    while (lexer_.peek().kind == Token::Kind::value)
      if (const NodeId node = statement(true); seen.insert(node).second) block.nodes.push_back(node);
    if (!lexer_.accept("}")) lexer_.expected("a statement such as '%0 = add %x, %y : f32[n]', or '}'");
    block_number_ = 0;
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      block.outputs.push_back(resolve(outputs[i], results[i]));
      const NodeId node = block.outputs.back().node;
      if (!seen.contains(node) && block_of_.contains(node))
        lexer_.error(outputs[i], fmt::format("this kernel does not compute %{}", outputs[i].text));
      if (graph_[node].op == Op::reshape)
        lexer_.error(outputs[i], fmt::format("%{} is a reshape: put out what it reshapes, whose elements it has", outputs[i].text));
      in_memory_.insert(node);
    }
  }

  // Outside kernels stand only constants and what is computed from them and scalars: each kernel that reads it holds it; and reshapes of
  // what is in memory.
  void check_free(const Token& place, NodeId node) const {
    if (is_free(node) || (graph_[node].op == Op::reshape && is_in_memory(node))) return;
    lexer_.error(place, fmt::format("{} must stand in a kernel", ir::name(graph_[node].op)));
  }
  bool is_free(NodeId id) const {
    const Node& node = graph_[id];
    const auto scalar = [&](NodeId in) {
      return graph_[in].op == Op::parameter && graph_[in].as<Parameter>().kind == Parameter::Kind::scalar;
    };
    return node.op != Op::iota &&
           std::all_of(node.in.begin(), node.in.end(), [&](Value v) { return scalar(v.node) || free_.contains(v.node); });
  }

  // Parameters, what kernels put out, and reshapes of these.
  bool is_in_memory(NodeId node) const {
    while (graph_[node].op == Op::reshape) node = graph_[node].in[0].node;
    return in_memory_.contains(node) || graph_[node].op == Op::parameter;
  }

  // What is read must be in the kernel at hand, in memory, or outside all kernels.
  void check_in_memory(const Token& place, NodeId node) const {
    const auto block = block_of_.find(node);
    if (block == block_of_.end() || block->second == block_number_ || is_in_memory(node)) return;
    lexer_.error(place,
                 fmt::format("%{} is computed in another kernel, which does not put it out: name it after that kernel's '->', or "
                             "compute it here too",
                             place.text));
  }

  // ---- statements

  NodeId statement(bool in_block) {
    const Token name = lexer_.value();
    std::optional<std::pair<Token, std::int64_t>> stated_results;
    if (lexer_.accept(":")) {
      const Token where = lexer_.peek();
      stated_results = {where, lexer_.integer("the number of results")};
    }
    lexer_.expect("=");
    const Token op_token = lexer_.name("an op");
    const std::optional<Op> op = op_from_name(op_token.text);
    if (!op) lexer_.error(op_token, fmt::format("unknown op '{}'{}", op_token.text, near_ops(op_token.text)));
    if (*op == Op::parameter) lexer_.error(op_token, "parameters are declared in the graph's header");
    const OpInfo& row = info(*op);
    if (stated_results.has_value() ? stated_results->second != row.results : row.results != 1)
      lexer_.error(stated_results ? stated_results->first : name,
                   fmt::format("{0} has {1} result{2}: %{3}{4} = {0} ...", row.name, row.results, row.results == 1 ? "" : "s",
                               name.text, row.results == 1 ? "" : fmt::format(":{}", row.results)));

    std::vector<Value> in;
    std::vector<Token> places;
    if (lexer_.peek().kind == Token::Kind::value) in = value_list(&places);
    for (std::size_t i = 0; i < in.size(); ++i) check_in_memory(places[i], in[i].node);
    if (arity(*op) < 0 ? in.empty() : in.size() != static_cast<std::size_t>(arity(*op)))
      lexer_.error(op_token,
                   fmt::format("{} takes {} operand{}, found {}", row.name,
                               arity(*op) < 0 ? "one or more" : fmt::to_string(arity(*op)), arity(*op) == 1 ? "" : "s", in.size()));
    Attributes attributes = this->attributes(row);
    return finish(name, op_token, *op, in, std::move(attributes), in_block);
  }

  // Reads the result types, adds the node and compares what infer says.
  NodeId finish(const Token& name, const Token& op_token, Op op, std::span<const Value> in, Attributes attributes, bool in_block) {
    const OpInfo& row = info(op);
    lexer_.expect(":");
    InlineVector<Token, max_results> places;
    std::vector<Type> stated;
    do {
      places.push_back(lexer_.peek());
      stated.push_back(type(false));
      if (stated.size() > row.results) lexer_.error(places.back(), fmt::format("{} has {} result(s)", row.name, row.results));
    } while (lexer_.accept(","));
    if (auto* cast = std::get_if<Cast>(&attributes)) cast->type = stated[0].dtype;
    if (auto* draw = std::get_if<Draw>(&attributes)) draw->type = stated[0].dtype;
    if (stated.size() < row.results) lexer_.expected(fmt::format("',' and the type of {}'s next result", row.name));

    NodeId node = 0;
    guarded(op_token, [&] { node = graph_.add(op, in, std::move(attributes), comments_.location(last_line_)); });
    for (std::size_t i = 0; i < stated.size(); ++i) {
      const Type& inferred = graph_[node].out[i];
      if (stated[i] != inferred)
        lexer_.error(places[i], fmt::format("{} gives {} here, not {}", row.name, text(inferred, graph_.symbols),
                                            text(stated[i], graph_.symbols)));
    }
    define(name, node, in_block);
    return node;
  }

  // A second definition is a mistake, unless another kernel computes the same node again.
  void define(const Token& name, NodeId node, bool in_block) {
    const auto [at, fresh] = values_.try_emplace(name.text, Definition{node});
    if (fresh) {
      if (in_block) block_of_[node] = block_number_;
      return;
    }
    if (!in_block || at->second.parameter) lexer_.error(name, fmt::format("%{} is defined twice", name.text));
    if (at->second.node != node)
      lexer_.error(name,
                   fmt::format("%{} is defined twice, and differently: only equal statements may stand in two kernels", name.text));
    std::size_t& last = block_of_[node];
    if (last == block_number_) lexer_.error(name, fmt::format("%{} is defined twice in this kernel", name.text));
    last = block_number_;
  }

  std::vector<Value> value_list(std::vector<Token>* places) {
    std::vector<Value> list;
    do {
      const Token token = lexer_.value();
      places->push_back(token);
      list.push_back(resolve(token, lexer_.at("#") ? result_number() : no_result));
    } while (lexer_.accept(","));
    return list;
  }

  std::uint32_t result_number() {
    lexer_.expect("#");
    const Token where = lexer_.peek();
    const std::int64_t number = lexer_.integer("the number of a result");
    if (number < 0 || number >= max_results) lexer_.error(where, "no op has a result of this number");
    return static_cast<std::uint32_t>(number);
  }

  Value resolve(const Token& token, std::uint32_t result) const {
    const auto found = values_.find(token.text);
    if (found == values_.end()) lexer_.error(token, fmt::format("unknown value %{}", token.text));
    const std::size_t results = graph_[found->second.node].out.size();
    if (result == no_result ? results != 1 : result >= results)
      lexer_.error(token, results == 1 ? fmt::format("%{} has one result: say %{}", token.text, token.text)
                                       : fmt::format("%{0} has {1} results: say %{0}#0{2} or %{0}#{3}", token.text, results,
                                                     results > 2 ? ", ..." : "", results - 1));
    return {found->second.node, result == no_result ? 0 : result};
  }

  // ---- types and attributes

  Type type(bool declares) {
    Type result;
    result.dtype = lexer_.dtype();
    result.shape = shape(declares);
    return result;
  }

  // Calls item() for each element of `[a, b, ...]`.
  template <class F>
  void list(F&& item) {
    lexer_.expect("[");
    if (!lexer_.at("]")) {
      do item();
      while (lexer_.accept(","));
    }
    if (!lexer_.at("]")) lexer_.expected("',' or ']'");
    last_line_ = lexer_.next().line;
  }

  Shape shape(bool declares = false) {
    Shape result;
    list([&] { result.push_back(extent(declares)); });
    return result;
  }

  Extent extent(bool declares = false) {
    const Token token = lexer_.peek();
    if (token.kind == Token::Kind::name) {
      lexer_.next();
      const auto found = symbols_.find(token.text);
      if (found != symbols_.end()) return found->second;
      if (declares) return new_symbol(token);
      lexer_.error(token, fmt::format("unknown symbol '{0}'; declare it in the graph's header, '{0}: index'", token.text));
    }
    const Extent number = lexer_.integer("a number or a symbol");
    if (number.is_symbol()) lexer_.error(token, "this number is too far from zero for an extent");
    return number;
  }

  std::int64_t axis() {
    const Token token = lexer_.peek();
    const std::int64_t number = lexer_.integer("the number of a dimension");
    if (number < 0 || number >= max_rank)
      lexer_.error(token, fmt::format("a dimension's number lies between 0 and {}", max_rank - 1));
    return number;
  }

  std::uint64_t dims() {
    std::uint64_t mask = 0;
    list([&] {
      const Token token = lexer_.peek();
      const std::uint64_t bit = std::uint64_t{1} << axis();
      if (mask & bit) lexer_.error(token, fmt::format("dimension {} occurs twice", token.text));
      mask |= bit;
    });
    return mask;
  }

  // Reads `{key = value, ...}` with each of the fields once, in any order.
  struct Field {
    std::string_view key;
    std::function<void()> read;
  };
  void braces(std::string_view op, std::initializer_list<Field> fields) {
    std::string known;
    for (const Field& field : fields) known += (known.empty() ? "" : ", ") + std::string(field.key);
    if (!lexer_.at("{")) lexer_.expected(fmt::format("{}'s attributes, '{{{} = ...}}'", op, known));
    lexer_.next();
    std::uint32_t seen = 0;
    while (!lexer_.at("}")) {
      if (seen != 0) lexer_.expect(",");
      const Token key = lexer_.name(fmt::format("an attribute of {}: {}", op, known));
      const auto field = std::find_if(fields.begin(), fields.end(), [&](const Field& f) { return f.key == key.text; });
      if (field == fields.end()) lexer_.error(key, fmt::format("unknown attribute '{}'; {} has {}", key.text, op, known));
      const std::uint32_t bit = 1u << (field - fields.begin());
      if (seen & bit) lexer_.error(key, fmt::format("the attribute '{}' occurs twice", key.text));
      seen |= bit;
      lexer_.expect("=");
      field->read();
    }
    for (const Field& field : fields)
      if (!(seen >> (&field - fields.begin()) & 1)) lexer_.expected(fmt::format("{}'s attribute '{}'", op, field.key));
    lexer_.next();
  }

  Attributes attributes(const OpInfo& row) {
    switch (row.attributes) {
      case AttributeKind::None:
      case AttributeKind::Parameter:
      case AttributeKind::Cast:
        if (lexer_.at("{")) lexer_.error(lexer_.peek(), fmt::format("{} has no attributes", row.name));
        return row.attributes == AttributeKind::Cast ? Attributes(Cast{}) : Attributes(None{});
      case AttributeKind::Literal:
        return literal();
      case AttributeKind::ToShape:
        return read(row, ToShape{});
      case AttributeKind::Layout:
        return read(row, Layout{});
      case AttributeKind::Permutation:
        return read(row, Permutation{});
      case AttributeKind::Slice:
        return read(row, Slice{});
      case AttributeKind::Axes:
        return read(row, Axes{});
      case AttributeKind::Reduced:
        return read(row, Reduced{});
      case AttributeKind::Padding:
        return read(row, Padding{});
      case AttributeKind::Dot:
        return lexer_.at("{") ? read(row, Dot{}) : Dot{};
      case AttributeKind::Concat:
        return read(row, Concat{});
      case AttributeKind::WrapIndex:
        return read(row, WrapIndex{});
      case AttributeKind::Put:
        return read(row, Put{});
      case AttributeKind::Scan:
        return read(row, Scan{});
      case AttributeKind::Sort:
        return read(row, Sort{});
      case AttributeKind::Draw:
        return read(row, Draw{});
      case AttributeKind::Cholesky:
        return read(row, Cholesky{});
      case AttributeKind::LuFactor:
        return read(row, LuFactor{});
      case AttributeKind::LuSolve:
        return read(row, LuSolve{});
      case AttributeKind::SolveTriangular:
        return read(row, SolveTriangular{});
      case AttributeKind::Factor:
        return read(row, Factor{});
      case AttributeKind::Eigh:
        return read(row, Eigh{});
    }
    return None{};
  }

  // A literal is read in the type that follows it, a few tokens ahead.
  Attributes literal() {
    constexpr std::size_t longest = 5;  // - nan : 0x7fc00001 :
    for (std::size_t ahead = 1; ahead <= longest; ++ahead) {
      if (lexer_.peek(ahead).text != ":" || lexer_.peek(ahead + 1).kind != Token::Kind::name) continue;
      const auto dtype = dtype_from_name(lexer_.peek(ahead + 1).text);
      if (dtype) return Literal{*dtype, lexer_.literal(*dtype)};
    }
    lexer_.expected("a number, ':' and its type");
  }

  Attributes read(const OpInfo& row, ToShape a) {
    braces(row.name, {{"shape", [&] { a.shape = shape(); }}});
    return a;
  }
  Attributes read(const OpInfo& row, Layout a) {
    braces(row.name, {{"offset", [&] { a.offset = extent(); }}, {"sizes", [&] { a.sizes = shape(); }}, {"strides", [&] {
                                                                                                          a.strides = shape();
                                                                                                        }}});
    return a;
  }
  Attributes read(const OpInfo& row, Permutation a) {
    const auto order = [&] { list([&] { a.order.push_back(static_cast<std::uint8_t>(axis())); }); };
    braces(row.name, {{"order", order}});
    return a;
  }
  Attributes read(const OpInfo& row, Slice a) {
    braces(row.name,
           {{"starts", [&] { a.starts = shape(); }}, {"sizes", [&] { a.sizes = shape(); }}, {"steps", [&] { a.steps = shape(); }}});
    return a;
  }
  Attributes read(const OpInfo& row, Axes a) {
    braces(row.name, {{"dims", [&] { a.mask = dims(); }}});
    return a;
  }
  Attributes read(const OpInfo& row, Reduced a) {
    braces(row.name, {{"dims", [&] { a.mask = dims(); }}});
    return a;
  }
  Attributes read(const OpInfo& row, Padding a) {
    braces(row.name,
           {{"low", [&] { a.low = shape(); }}, {"high", [&] { a.high = shape(); }}, {"sizes", [&] { a.sizes = shape(); }}});
    return a;
  }
  Attributes read(const OpInfo& row, Concat a) {
    braces(row.name, {{"axis", [&] { a.axis = static_cast<std::uint32_t>(axis()); }}, {"extent", [&] { a.extent = extent(); }}});
    return a;
  }

  Attributes read(const OpInfo& row, WrapIndex a) {
    braces(row.name, {{"extent", [&] { a.extent = extent(); }}});
    return a;
  }
  Attributes read(const OpInfo& row, Put a) {
    braces(row.name, {{"combine", [&] { a.combine = one_of<Put::Combine>(combine_names); }}});
    return a;
  }
  Attributes read(const OpInfo& row, Dot a) {
    braces(row.name, {{"order", [&] { a.order = one_of<Dot::Order>(dot_order_names); }}});
    return a;
  }
  Attributes read(const OpInfo& row, Scan a) {
    braces(row.name, {{"axis", [&] { a.axis = static_cast<std::uint32_t>(axis()); }}});
    return a;
  }
  Attributes read(const OpInfo& row, Sort a) {
    braces(row.name,
           {{"axis", [&] { a.axis = static_cast<std::uint32_t>(axis()); }}, {"descending", [&] { a.descending = truth(); }}});
    return a;
  }
  Attributes read(const OpInfo& row, Draw a) {  // the type follows from the result's
    braces(row.name, {{"kind", [&] { a.kind = one_of<Draw::Kind>(draw_names); }}, {"shape", [&] { a.shape = shape(); }}});
    return a;
  }
  Attributes read(const OpInfo& row, Cholesky a) {
    braces(row.name, {{"check", [&] { a.check = one_of<Checked>(checked_names); }}});
    return a;
  }
  Attributes read(const OpInfo& row, LuFactor a) {
    braces(row.name, {{"rank", [&] { a.rank = extent(); }}, {"check", [&] { a.check = one_of<Checked>(checked_names); }}});
    return a;
  }
  Attributes read(const OpInfo& row, LuSolve a) {
    braces(row.name, {{"transposed", [&] { a.transposed = truth(); }}});
    return a;
  }
  Attributes read(const OpInfo& row, SolveTriangular a) {
    braces(row.name,
           {{"upper", [&] { a.upper = truth(); }}, {"left", [&] { a.left = truth(); }}, {"unit", [&] { a.unit = truth(); }}});
    return a;
  }
  Attributes read(const OpInfo& row, Factor a) {
    braces(row.name, {{"rank", [&] { a.rank = extent(); }}, {"full", [&] { a.full = truth(); }}});
    return a;
  }
  Attributes read(const OpInfo& row, Eigh a) {
    braces(row.name, {{"upper", [&] { a.upper = truth(); }}});
    return a;
  }

  template <class E>
  E one_of(std::span<const std::string_view> names) {
    const std::string known = fmt::format("{}", fmt::join(names, ", "));
    const Token token = lexer_.name("one of " + known);
    const auto found = std::find(names.begin(), names.end(), token.text);
    if (found == names.end()) lexer_.error(token, fmt::format("unknown '{}'; there is {}", token.text, known));
    return static_cast<E>(found - names.begin());
  }
  bool truth() {
    constexpr std::string_view names[] = {"false", "true"};
    return one_of<int>(names) != 0;
  }

  // What infer refuses is an error of the text at `where`.
  template <class F>
  void guarded(const Token& where, F&& work) {
    std::string message;
    try {
      work();
      return;
    } catch (const Error& error) {
      message = error.what();
    }
    lexer_.error(where, message);
  }

  static constexpr std::uint32_t no_result = ~std::uint32_t{0};

  Lexer lexer_;
  Comments comments_;
  std::vector<GraphBlock>* blocks_;
  Graph graph_;
  std::unordered_map<std::string_view, Definition> values_;
  std::unordered_map<std::string_view, Extent> symbols_;
  std::unordered_map<NodeId, std::size_t> block_of_;  // the last block, from 1, that computes a node
  std::size_t block_number_ = 0;
  std::unordered_set<NodeId> in_memory_;         // what kernels put out
  std::unordered_set<NodeId> free_;              // constants, and what is computed from them and scalars alone
  std::vector<std::pair<Token, NodeId>> loose_;  // statements before the first kernel
  int last_line_ = 1;
};

}  // namespace

Graph parse_graph(std::string_view text, std::string_view file) { return Parser(text, file, nullptr).run(); }

Graph parse_graph(std::string_view text, std::string_view file, std::vector<GraphBlock>& blocks) {
  return Parser(text, file, &blocks).run();
}

}  // namespace braze::ir
