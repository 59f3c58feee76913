#include <algorithm>
#include <unordered_map>

#include "ir/error.h"
#include "ir/lexer.h"
#include "ir/loops.h"
#include "ir/loops_text.h"

namespace braze::ir {
namespace {

std::string quoted_list(const auto& words) {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i)
    text += fmt::format("{}'{}'", i == 0 ? "" : i + 1 == words.size() ? " or " : ", ", words[i]);
  return text;
}

class Parser {
 public:
  Parser(std::string_view text, std::string file) : lexer_(text, std::move(file)) {}

  Kernel parse() {
    header();
    while (lexer_.accept("scratch")) scratch();
    while (lexer_.accept("combine")) combine();
    kernel_.body = block(0);
    if (!lexer_.at_end()) lexer_.expected("the end of the text after a kernel");
    check_laws();
    return std::move(kernel_);
  }

 private:
  void header() {
    lexer_.expect("kernel");
    kernel_.name = lexer_.name("the kernel's name").text;
    lexer_.expect("(");
    if (!lexer_.at(";") && !lexer_.at(")")) do
        buffer();
      while (lexer_.accept(","));
    if (lexer_.accept(";")) {
      if (!lexer_.at(";") && !lexer_.at(")")) do
          size();
        while (lexer_.accept(","));
      if (lexer_.accept(";")) do
          scalar();
        while (lexer_.accept(","));
    }
    lexer_.expect(")");
    lexer_.expect("{");
  }

  void buffer() {
    const Token name = lexer_.value("a buffer such as %b0");
    add_name(buffers_, name, static_cast<std::uint32_t>(kernel_.buffers.size()));
    lexer_.expect(":");
    BufferParameter buffer{lexer_.dtype()};
    const std::array<std::string_view, 2> accesses{"read", "write"};
    buffer.writes = word(accesses) == 1;
    buffer.streaming = lexer_.accept("streaming");
    kernel_.buffers.push_back(buffer);
  }

  void size() {
    const Token name = lexer_.name("the name of a size");
    kernel_.sizes.push_back(kernel_.new_value(DType::i64));
    kernel_.size_names.emplace_back(name.text);
    add_name(sizes_, name, kernel_.sizes.back());
  }

  void scalar() {
    const Token name = lexer_.value("a scalar such as %s0");
    lexer_.expect(":");
    const DType type = lexer_.dtype();
    kernel_.scalars.emplace_back(define(name, type), type);
  }

  void scratch() {
    const Token name = lexer_.value("a scratch array such as %a0");
    add_name(arrays_, name, scratch_base + static_cast<std::uint32_t>(kernel_.scratch.size()));
    lexer_.expect(":");
    ScratchArray array{lexer_.dtype()};
    array.space = static_cast<Space>(word(space_names));
    lexer_.expect("[");
    array.count = size_operand();
    lexer_.expect("]");
    if (lexer_.accept("lanes")) array.lanes = small_integer("a number of lanes");
    kernel_.scratch.push_back(array);
  }

  void combine() {
    const Token name = lexer_.name("a name such as c0");
    add_name(combines_, name, static_cast<std::uint32_t>(kernel_.combines.size()));
    Combine combine;
    std::unordered_map<std::string_view, ValueId> names;
    std::vector<DType> types;
    const auto define = [&](const Token& value) { add_name(names, value, static_cast<ValueId>(names.size())); };
    lexer_.expect("(");
    do {
      define(lexer_.value());
      lexer_.expect(":");
      types.push_back(lexer_.dtype());
    } while (lexer_.accept(","));
    lexer_.expect(")");
    const std::size_t width = types.size() / 2;
    if (types.size() % 2 != 0 || !std::equal(types.begin(), types.begin() + width, types.begin() + width))
      lexer_.error(name, "a combine takes two tuples of the same types: the earlier and the later one");
    combine.types.assign(types.begin(), types.begin() + width);
    const auto use = [&] {
      const Token value = lexer_.value();
      const auto found = names.find(value.text);
      if (found == names.end()) unknown(value);
      return found->second;
    };
    lexer_.expect("{");
    while (!lexer_.accept("yield")) {
      const Token result = lexer_.value("a value or 'yield'");
      lexer_.expect("=");
      combine.body.push_back(instruction(use));
      define(result);
    }
    do combine.results.push_back(use());
    while (lexer_.accept(","));
    lexer_.expect("}");
    kernel_.combines.push_back(std::move(combine));
  }

  // ---- statements ----

  // Up to and with `last`: the closing brace, or the yield of a loop that carries values.
  Block block(int depth, std::string_view last = "}") {
    if (depth > deepest_nest) lexer_.error(lexer_.peek(), fmt::format("loops nest deeper than {}", deepest_nest));
    Block statements;
    while (!lexer_.at(last) && !lexer_.at("}")) {
      places_.push_back(lexer_.peek());
      statements.push_back(statement(depth));
    }
    lexer_.expect(last);
    return statements;
  }

  Statement statement(int depth) {
    if (lexer_.accept("store")) return {store()};
    if (lexer_.accept("for")) return {loop(depth)};
    if (lexer_.accept("barrier")) return {Barrier{}};
    if (lexer_.accept("if")) {
      const ValueId condition = operand();
      lexer_.expect("{");
      const std::size_t outer = scope_.size();
      If result{condition, block(depth + 1)};
      close_scope(outer);
      return {std::move(result)};
    }
    std::vector<Token> results;
    do results.push_back(lexer_.value("a statement"));
    while (lexer_.accept(","));
    lexer_.expect("=");
    if (lexer_.accept("fold")) return {fold(results)};
    if (lexer_.accept("tree_fold")) return {tree_fold(results)};
    if (results.size() != 1) lexer_.expected("'fold' or 'tree_fold', which alone have several results");
    if (lexer_.accept("load")) return {load(results[0])};
    if (lexer_.accept("shuffle")) {
      Shuffle shuffle{no_value, operand(), 0};
      lexer_.expect(",");
      shuffle.delta = small_integer("a distance");
      shuffle.result = define(results[0], kernel_.value_types[shuffle.value]);
      return {shuffle};
    }
    const Instruction computed = instruction([&] { return operand(); });
    return {Compute{define(results[0], computed.type), computed}};
  }

  template <class Operand>
  Instruction instruction(const Operand& operand) {
    const Token op = lexer_.name("a primitive");
    const auto primitive = primitive_from_name(op.text);
    if (!primitive) lexer_.error(op, fmt::format("there is no primitive '{}'", op.text));
    Instruction result{.op = *primitive};
    std::size_t arity = info(*primitive).arity;
    if (*primitive == Primitive::check) {
      result.payload = static_cast<std::uint64_t>(word(fault_names));
    } else {
      lexer_.expect(".");
      result.type = result.from = lexer_.dtype();
      if (*primitive == Primitive::convert || *primitive == Primitive::bitcast) {
        lexer_.expect("->");
        result.type = lexer_.dtype();
      }
    }
    if (*primitive == Primitive::constant) result.payload = lexer_.literal(result.type, "the constant's value");
    if (*primitive == Primitive::call) {
      const Token name = lexer_.name("a library function");
      const auto function = library_function_from_name(name.text);
      if (!function) lexer_.error(name, fmt::format("there is no library function '{}'", name.text));
      result.payload = static_cast<std::uint64_t>(*function);
      arity = info(*function).arity;
    }
    for (std::size_t i = 0; i < arity; ++i) {
      if (i > 0) lexer_.expect(",");
      result.in[i] = operand();
    }
    return canonical(result);
  }

  Load load(const Token& result) {
    Load load{no_value, access(), predicate()};
    const DType type = load.access.buffer >= scratch_base ? kernel_.scratch[load.access.buffer - scratch_base].type
                                                          : kernel_.buffers[load.access.buffer].type;
    load.result = define(result, type);
    return load;
  }

  Store store() {
    Access to = access();
    lexer_.expect(",");
    const ValueId value = operand();
    return {std::move(to), value, predicate()};
  }

  ValueId predicate() { return lexer_.accept("where") ? operand() : no_value; }

  For loop(int depth) {
    For loop;
    loop.kind = static_cast<LoopKind>(word(loop_kind_names));
    const Token variable = lexer_.value("the loop's variable");
    lexer_.expect("in");
    loop.extent = size_operand();
    if (lexer_.accept("step")) loop.step = small_integer("a number of lanes");
    const std::size_t outer = scope_.size();
    std::vector<Token> inside;
    if (lexer_.accept("carry")) do {
        inside.push_back(lexer_.value());
        lexer_.expect("=");
        loop.carries.push_back({operand(), no_value, no_value, no_value});
      } while (lexer_.accept(","));
    loop.variable = define(variable, DType::i64);
    for (std::size_t i = 0; i < inside.size(); ++i)
      loop.carries[i].inside = define(inside[i], kernel_.value_types[loop.carries[i].init]);
    lexer_.expect("{");
    loop.body = block(depth + 1, loop.carries.empty() ? "}" : "yield");
    for (std::size_t i = 0; i < loop.carries.size(); ++i) {
      if (i > 0) lexer_.expect(",");
      loop.carries[i].next = operand();
    }
    close_scope(outer);
    if (loop.carries.empty()) return loop;
    lexer_.expect("}");
    lexer_.expect("->");
    for (std::size_t i = 0; i < loop.carries.size(); ++i) {
      if (i > 0) lexer_.expect(",");
      loop.carries[i].result = define(lexer_.value(), kernel_.value_types[loop.carries[i].init]);
    }
    return loop;
  }

  Fold fold(const std::vector<Token>& results) {
    Fold fold;
    do fold.lanes.push_back(operand());
    while (lexer_.accept(","));
    fold.combine = by_combine();
    const Combine& combine = kernel_.combines[fold.combine];
    if (results.size() != combine.types.size() || fold.lanes.size() != results.size())
      lexer_.error(results[0], fmt::format("this combine joins tuples of {}", combine.types.size()));
    for (std::size_t i = 0; i < results.size(); ++i) fold.results.push_back(define(results[i], combine.types[i]));
    return fold;
  }

  TreeFold tree_fold(const std::vector<Token>& results) {
    TreeFold fold;
    do {
      const Token name = lexer_.value("a scratch array");
      const auto found = arrays_.find(name.text);
      if (found == arrays_.end()) lexer_.error(name, fmt::format("there is no scratch array '%{}'", name.text));
      fold.arrays.push_back(found->second);
    } while (lexer_.accept(","));
    lexer_.expect("count");
    fold.count = size_operand();
    fold.combine = by_combine();
    const Combine& combine = kernel_.combines[fold.combine];
    if (results.size() != combine.types.size() || fold.arrays.size() != results.size())
      lexer_.error(results[0], fmt::format("this combine joins tuples of {}", combine.types.size()));
    for (std::size_t i = 0; i < results.size(); ++i) fold.results.push_back(define(results[i], combine.types[i]));
    return fold;
  }

  std::uint32_t by_combine() {
    lexer_.expect("by");
    const Token name = lexer_.name("a combine");
    const auto found = combines_.find(name.text);
    if (found == combines_.end()) lexer_.error(name, fmt::format("there is no combine '{}'", name.text));
    return found->second;
  }

  // ---- operands ----

  Access access() {
    const Token name = lexer_.value("a buffer or scratch array");
    Access access;
    if (const auto buffer = buffers_.find(name.text); buffer != buffers_.end()) {
      access.buffer = buffer->second;
    } else if (const auto array = arrays_.find(name.text); array != arrays_.end()) {
      access.buffer = array->second;
    } else {
      lexer_.error(name, fmt::format("there is no buffer or scratch array '%{}'", name.text));
    }
    lexer_.expect("[");
    do {
      const bool is_number = lexer_.peek().kind == Token::Kind::integer || lexer_.at("-");
      if (is_number || lexer_.peek(1).text != "*") {  // the offset comes last
        access.offset = size_operand();
        break;
      }
      const ValueId index = operand();
      lexer_.expect("*");
      access.terms.push_back({index, size_operand()});
    } while (lexer_.accept("+"));
    lexer_.expect("]");
    return access;
  }

  Size size_operand() {
    if (lexer_.peek().kind == Token::Kind::integer || lexer_.at("-")) return Size::of(lexer_.integer());
    return Size::of_value(operand("a number, a size or a value"));
  }

  ValueId operand(std::string_view what = "a value or a size") {
    const Token token = lexer_.peek();
    const auto& names = token.kind == Token::Kind::name ? sizes_ : values_;
    if (token.kind != Token::Kind::name && token.kind != Token::Kind::value) lexer_.expected(what);
    const auto found = names.find(token.text);
    if (found == names.end()) unknown(token);
    lexer_.next();
    return found->second;
  }

  [[noreturn]] void unknown(const Token& token) const {
    lexer_.error(token, token.kind == Token::Kind::name ? fmt::format("there is no size '{}'", token.text)
                                                        : fmt::format("no value '%{}' is in scope here", token.text));
  }

  std::int32_t small_integer(std::string_view what) {
    const Token token = lexer_.peek();
    const std::int64_t value = lexer_.integer(what);
    if (value < -(1 << 20) || value > (1 << 20)) lexer_.error(token, fmt::format("{} is too large", what));
    return static_cast<std::int32_t>(value);
  }

  std::size_t word(const auto& words) {
    const auto found = std::find(words.begin(), words.end(), lexer_.peek().text);
    if (lexer_.peek().kind != Token::Kind::name || found == words.end()) lexer_.expected(quoted_list(words));
    lexer_.next();
    return static_cast<std::size_t>(found - words.begin());
  }

  ValueId define(const Token& name, DType type) {
    const ValueId value = kernel_.new_value(type);
    add_name(values_, name, value);
    scope_.push_back(name.text);
    return value;
  }

  void add_name(auto& names, const Token& name, std::uint32_t number) {
    if (!names.emplace(name.text, number).second) lexer_.error(name, fmt::format("'{}' is already defined", name.text));
  }

  void close_scope(std::size_t outer) {
    for (; scope_.size() > outer; scope_.pop_back()) values_.erase(scope_.back());
  }

  // ---- laws ----

  void check_laws() const {
    const BrokenLaw broken = find_broken_law(kernel_);
    if (broken.law.empty()) return;
    std::size_t place = 0;
    const bool found = broken.where && number_of(kernel_.body, *broken.where, place);
    lexer_.error(found ? places_[place] : Lexer("").peek(), broken.law);
  }

  // Statements are numbered in the order of the text.
  static bool number_of(const Block& statements, const Statement& wanted, std::size_t& number) {
    for (const Statement& statement : statements) {
      if (&statement == &wanted) return true;
      ++number;
      if (const For* loop = std::get_if<For>(&statement.node); loop && number_of(loop->body, wanted, number)) return true;
      if (const If* branch = std::get_if<If>(&statement.node); branch && number_of(branch->body, wanted, number)) return true;
    }
    return false;
  }

  Lexer lexer_;
  Kernel kernel_;
  std::unordered_map<std::string_view, std::uint32_t> buffers_, arrays_, combines_, sizes_, values_;
  std::vector<std::string_view> scope_;
  std::vector<Token> places_;
};

}  // namespace

Kernel parse_kernel(std::string_view text, std::string file) { return Parser(text, std::move(file)).parse(); }

}  // namespace braze::ir
