#include "frontend/text/expression.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <optional>
#include <variant>

#include "frontend/elementwise.h"
#include "frontend/tensor_impl.h"
#include "ir/lexer.h"

namespace braze::text {

namespace {

using ir::Lexer;
using ir::Token;

// Ops recorded from text have no line of C++.
constexpr std::source_location nowhere{};

// Names that are no tensors.
constexpr std::string_view own_names[] = {"pi", "inf", "nan", "True", "False", "None"};

// What an expression may stand for: a tensor, a number, or a list of numbers (dims, shapes).
using Thing = std::variant<Tensor, Scalar, Sizes>;

// The arguments of one call, by position and by keyword.
class Arguments {
 public:
  Arguments(const Lexer& lexer, Token where) : lexer_(lexer), where_(where) {}

  std::vector<Thing> positional;
  std::map<std::string, Thing, std::less<>> named;

  [[noreturn]] void wrong(const std::string& message) const { lexer_.error(where_, message); }

  // Argument `i`, or keyword `name`.
  const Thing* find(std::size_t i, std::string_view name) const {
    if (const auto found = named.find(name); found != named.end()) return &found->second;
    return i < positional.size() ? &positional[i] : nullptr;
  }
  const Tensor& tensor(std::size_t i, std::string_view name) const {
    const Thing* thing = find(i, name);
    if (!thing) wrong(fmt::format("{} needs '{}'", where_.text, name));
    if (const auto* t = std::get_if<Tensor>(thing)) return *t;
    wrong(fmt::format("'{}' of {} must be a tensor", name, where_.text));
  }
  std::optional<Sizes> dims(std::size_t i, std::string_view name) const {
    const Thing* thing = find(i, name);
    if (!thing) return std::nullopt;
    if (const auto* list = std::get_if<Sizes>(thing)) return *list;
    if (const auto* number = std::get_if<Scalar>(thing); number && !number->is_floating()) return Sizes{number->to_int()};
    wrong(fmt::format("'{}' of {} must be an integer or a list of them", name, where_.text));
  }
  std::optional<std::int64_t> integer(std::size_t i, std::string_view name) const {
    const std::optional<Sizes> list = dims(i, name);
    if (list && list->size() != 1) wrong(fmt::format("'{}' of {} must be one integer", name, where_.text));
    return list ? std::optional((*list)[0]) : std::nullopt;
  }
  std::optional<Scalar> number(std::size_t i, std::string_view name) const {
    const Thing* thing = find(i, name);
    if (!thing) return std::nullopt;
    if (const auto* n = std::get_if<Scalar>(thing)) return *n;
    wrong(fmt::format("'{}' of {} must be a number", name, where_.text));
  }
  bool flag(std::size_t i, std::string_view name) const {
    const std::optional<Scalar> n = number(i, name);
    return n && n->to_double() != 0;
  }
  void require_count(std::size_t least, std::size_t most) const {
    if (positional.size() + named.size() < least || positional.size() > most)
      wrong(least == most ? fmt::format("{} takes {} arguments, not {}", where_.text, least, positional.size())
                          : fmt::format("{} takes {} to {} arguments, not {}", where_.text, least, most, positional.size()));
  }

 private:
  const Lexer& lexer_;
  Token where_;
};

Sizes or_throw(const Arguments& a, std::optional<Sizes> dims, std::string_view name) {
  if (!dims) a.wrong(fmt::format("'{}' is missing", name));
  return *std::move(dims);
}

using Function = std::function<Tensor(const Arguments&)>;

// A reduction over all dims, or over `dim`.
template <class All, class Over>
Function over_dims(All all, Over over) {
  return [=](const Arguments& a) {
    a.require_count(1, 3);
    const std::optional<Sizes> dims = a.dims(1, "dim");
    return dims ? over(a.tensor(0, "input"), *dims, a.flag(2, "keepdim")) : all(a.tensor(0, "input"));
  };
}

template <class All, class Over>
Function over_dim(All all, Over over) {
  return [=](const Arguments& a) {
    a.require_count(1, 3);
    const std::optional<std::int64_t> dim = a.integer(1, "dim");
    return dim ? over(a.tensor(0, "input"), *dim, a.flag(2, "keepdim")) : all(a.tensor(0, "input"));
  };
}

template <class F>
Function on_dims(std::string_view name, F f) {
  return [=](const Arguments& a) {
    a.require_count(2, 64);
    // permute(x, 1, 0) as well as permute(x, [1, 0])
    if (a.positional.size() > 2) {
      Sizes list;
      for (std::size_t i = 1; i < a.positional.size(); ++i) list.push_back(*a.integer(i, name));
      return f(a.tensor(0, "input"), list);
    }
    return f(a.tensor(0, "input"), or_throw(a, a.dims(1, name), name));
  };
}

template <class F>
Function on_dim(std::string_view name, F f) {
  return [=](const Arguments& a) {
    a.require_count(2, 2);
    const std::optional<std::int64_t> dim = a.integer(1, name);
    if (!dim) a.wrong(fmt::format("'{}' is missing", name));
    return f(a.tensor(0, "input"), *dim);
  };
}

Tensor keep_dims(const Tensor& reduced, const Tensor& x, std::int64_t dim, bool keepdim) {
  return keepdim && x.dim() > 0 ? reduced.unsqueeze(wrap_dim(dim, x.dim())) : reduced;
}

void add_elementwise(std::map<std::string, Function, std::less<>>& table) {
  for (int i = 0; i < ir::op_count; ++i) {
    const auto op = static_cast<ir::Op>(i);
    const std::size_t arity = ir::info(op).op_class == ir::OpClass::unary     ? 1
                              : ir::info(op).op_class == ir::OpClass::binary  ? 2
                              : ir::info(op).op_class == ir::OpClass::ternary ? 3
                                                                              : 0;
    if (arity == 0) continue;
    table.emplace(ir::name(op), [op, arity](const Arguments& a) {
      a.require_count(arity, arity);
      std::vector<In> operands;
      for (const Thing& thing : a.positional) {
        if (const auto* t = std::get_if<Tensor>(&thing))
          operands.emplace_back(*t, nowhere);
        else if (const auto* n = std::get_if<Scalar>(&thing))
          operands.emplace_back(*n, nowhere);
        else
          a.wrong(fmt::format("{} takes tensors and numbers, not a list", ir::name(op)));
      }
      std::vector<const In*> pointers;
      for (const In& in : operands) pointers.push_back(&in);
      return elementwise(op, pointers);
    });
  }
}

const std::map<std::string, Function, std::less<>>& functions() {
  static const auto* table = [] {
    auto* t = new std::map<std::string, Function, std::less<>>;
    add_elementwise(*t);
    (*t)["sum"] =
        over_dims([](const Tensor& x) { return x.sum(); }, [](const Tensor& x, const Sizes& d, bool k) { return x.sum(d, k); });
    (*t)["mean"] =
        over_dims([](const Tensor& x) { return x.mean(); }, [](const Tensor& x, const Sizes& d, bool k) { return x.mean(d, k); });
    (*t)["var"] =
        over_dims([](const Tensor& x) { return x.var(); }, [](const Tensor& x, const Sizes& d, bool k) { return x.var(d, 1, k); });
    (*t)["max"] = over_dim([](const Tensor& x) { return x.max(); },
                           [](const Tensor& x, std::int64_t d, bool k) { return keep_dims(x.max(d).values, x, d, k); });
    (*t)["min"] = over_dim([](const Tensor& x) { return x.min(); },
                           [](const Tensor& x, std::int64_t d, bool k) { return keep_dims(x.min(d).values, x, d, k); });
    (*t)["any"] =
        over_dim([](const Tensor& x) { return x.any(); }, [](const Tensor& x, std::int64_t d, bool k) { return x.any(d, k); });
    (*t)["all"] =
        over_dim([](const Tensor& x) { return x.all(); }, [](const Tensor& x, std::int64_t d, bool k) { return x.all(d, k); });
    (*t)["argmax"] = over_dim([](const Tensor& x) { return x.argmax(); },
                              [](const Tensor& x, std::int64_t d, bool k) { return x.argmax(d, k); });
    (*t)["argmin"] = over_dim([](const Tensor& x) { return x.argmin(); },
                              [](const Tensor& x, std::int64_t d, bool k) { return x.argmin(d, k); });
    (*t)["softmax"] = on_dim("dim", [](const Tensor& x, std::int64_t d) { return x.softmax(d); });
    (*t)["log_softmax"] = on_dim("dim", [](const Tensor& x, std::int64_t d) { return x.log_softmax(d); });
    (*t)["unsqueeze"] = on_dim("dim", [](const Tensor& x, std::int64_t d) { return x.unsqueeze(d); });
    (*t)["reshape"] = on_dims("shape", [](const Tensor& x, const Sizes& s) { return x.reshape(s); });
    (*t)["permute"] = on_dims("dims", [](const Tensor& x, const Sizes& s) { return x.permute(s); });
    (*t)["expand"] = on_dims("size", [](const Tensor& x, const Sizes& s) { return x.expand(s); });
    (*t)["flip"] = on_dims("dims", [](const Tensor& x, const Sizes& s) { return x.flip(s); });
    (*t)["squeeze"] = [](const Arguments& a) {
      a.require_count(1, 2);
      const std::optional<std::int64_t> dim = a.integer(1, "dim");
      return dim ? a.tensor(0, "input").squeeze(*dim) : a.tensor(0, "input").squeeze();
    };
    (*t)["flatten"] = [](const Arguments& a) {
      a.require_count(1, 3);
      return a.tensor(0, "input").flatten(a.integer(1, "start_dim").value_or(0), a.integer(2, "end_dim").value_or(-1));
    };
    (*t)["t"] = [](const Arguments& a) { return a.tensor(0, "input").t(); };
    (*t)["transpose"] = [](const Arguments& a) {
      a.require_count(3, 3);
      return a.tensor(0, "input").transpose(a.integer(1, "dim0").value_or(0), a.integer(2, "dim1").value_or(0));
    };
    (*t)["matmul"] = [](const Arguments& a) {
      a.require_count(2, 2);
      return matmul(a.tensor(0, "input"), a.tensor(1, "other"));
    };
    (*t)["relu"] = [](const Arguments& a) { return a.tensor(0, "input").relu(); };
    (*t)["square"] = [](const Arguments& a) { return a.tensor(0, "input").square(); };
    (*t)["clamp"] = [](const Arguments& a) {
      a.require_count(2, 3);
      return a.tensor(0, "input").clamp(a.number(1, "min"), a.number(2, "max"));
    };
    (*t)["arange"] = [](const Arguments& a) {
      a.require_count(1, 3);
      const Scalar first = a.number(0, "end").value_or(0);
      if (const std::optional<Scalar> end = a.number(1, "end")) return arange(first, *end, a.number(2, "step").value_or(1));
      return arange(first);
    };
    (*t)["zeros"] = [](const Arguments& a) { return zeros(or_throw(a, a.dims(0, "size"), "size")); };
    (*t)["ones"] = [](const Arguments& a) { return ones(or_throw(a, a.dims(0, "size"), "size")); };
    return t;
  }();
  return *table;
}

struct Operator {
  std::string_view text;
  int precedence;
  ir::Op op;  // dot stands for matmul, which broadcasts batches and takes vectors
};

// Python's, from loosest to tightest; comparisons do not chain.
constexpr Operator operators[] = {
    {"==", 1, ir::Op::eq},         {"!=", 1, ir::Op::ne},          {"<=", 1, ir::Op::le},           {">=", 1, ir::Op::ge},
    {"<<", 5, ir::Op::shift_left}, {">>", 5, ir::Op::shift_right}, {"//", 7, ir::Op::floor_divide}, {"<", 1, ir::Op::lt},
    {">", 1, ir::Op::gt},          {"|", 2, ir::Op::bitwise_or},   {"^", 3, ir::Op::bitwise_xor},   {"&", 4, ir::Op::bitwise_and},
    {"+", 6, ir::Op::add},         {"-", 6, ir::Op::sub},          {"*", 7, ir::Op::mul},           {"/", 7, ir::Op::div},
    {"%", 7, ir::Op::remainder},   {"@", 7, ir::Op::dot},
};
constexpr int power_precedence = 9, tightest = 8;

// A parser that records as it reads.
class Parser {
 public:
  Parser(std::string_view text, const std::map<std::string, Tensor>& names)
      : lexer_(text, "<expression>", Lexer::Comments::none), names_(names) {}

  Tensor parse() {
    Thing result = binary(1);
    if (!lexer_.at_end()) lexer_.expected("an operator or the end of the expression");
    if (const auto* number = std::get_if<Scalar>(&result)) return full({}, *number);
    if (std::holds_alternative<Sizes>(result)) return tensor_of(std::get<Sizes>(result));
    return std::get<Tensor>(result);
  }

 private:
  static Tensor tensor_of(const Sizes& list) { return from_data(list.data(), {static_cast<std::int64_t>(list.size())}); }

  // Operators of two characters come from the lexer as two tokens.
  const Operator* operator_here() const {
    for (const Operator& o : operators) {
      if (!lexer_.at(o.text.substr(0, 1))) continue;
      if (o.text.size() == 1 && !(o.text == "*" && adjacent("*"))) return &o;
      if (o.text.size() == 2 && adjacent(o.text.substr(1))) return &o;
    }
    return nullptr;
  }
  bool adjacent(std::string_view second) const {
    const Token &first = lexer_.peek(), &then = lexer_.peek(1);
    return then.kind == Token::Kind::punctuation && then.text == second && then.line == first.line &&
           then.column == first.column + 1;
  }
  bool at_power() const { return lexer_.at("*") && adjacent("*"); }

  // Parentheses, signs and powers in a row each take two.
  struct Level {
    explicit Level(Parser& parser) : parser(parser) {
      if (++parser.depth_ > 400) parser.lexer_.error(parser.lexer_.peek(), "the expression nests more than 200 deep");
    }
    ~Level() { --parser.depth_; }
    Parser& parser;
  };

  Thing binary(int least) {
    const Level level(*this);
    Thing left = unary();
    for (const Operator* o; (o = operator_here()) && o->precedence >= least;) {
      const Token where = lexer_.next();
      if (o->text.size() == 2) lexer_.next();
      left = apply(o->op, left, binary(o->precedence + 1), where);
    }
    return left;
  }

  Thing unary() {
    const Level level(*this);
    const Token where = lexer_.peek();
    if (lexer_.accept("+")) return unary();
    if (lexer_.accept("-")) return apply(ir::Op::neg, unary(), where);
    if (lexer_.accept("~")) return apply(ir::Op::bitwise_not, unary(), where);
    Thing base = postfix();
    if (!at_power()) return base;
    const Token power = lexer_.next();
    lexer_.next();
    return apply(ir::Op::pow, base, unary(), power);
  }

  Thing apply(ir::Op op, const Thing& x, const Token& where) {
    if (const auto* n = std::get_if<Scalar>(&x); n && op == ir::Op::neg) {
      if (n->is_floating()) return Scalar(-n->to_double());
      return Scalar(-n->to_int());
    }
    const In in = operand(x, where);
    const In* operands[] = {&in};
    return elementwise(op, operands);
  }

  Thing apply(ir::Op op, const Thing& a, const Thing& b, const Token& where) {
    const In left = operand(a, where), right = operand(b, where);
    if (op == ir::Op::dot) return matmul(left, right);
    if (left.is_scalar() && right.is_scalar()) {
      const Tensor x = full({}, left.scalar());
      const In first(x, nowhere);
      const In* operands[] = {&first, &right};
      return elementwise(op, operands);
    }
    if (op == ir::Op::pow) return pow(left, right);
    const In* operands[] = {&left, &right};
    return elementwise(op, operands);
  }

  In operand(const Thing& thing, const Token& where) const {
    if (const auto* t = std::get_if<Tensor>(&thing)) return In(*t, nowhere);
    if (const auto* n = std::get_if<Scalar>(&thing)) return In(*n, nowhere);
    lexer_.error(where, "a list is no operand; only dims and shapes are lists");
  }

  Thing postfix() {
    Thing thing = primary();
    for (;;) {
      if (lexer_.accept("[")) {
        thing = subscript(as_tensor(thing));
      } else if (lexer_.at(".") && lexer_.peek(1).kind == Token::Kind::name) {
        lexer_.next();
        const Token name = lexer_.name("a method");
        if (name.text == "T" && !lexer_.at("(")) {
          thing = as_tensor(thing).T();
        } else {
          Arguments arguments(lexer_, name);
          arguments.positional.push_back(as_tensor(thing));
          lexer_.expect("(");
          thing = call(name, std::move(arguments));
        }
      } else {
        return thing;
      }
    }
  }

  Tensor as_tensor(const Thing& thing) const {
    if (const auto* t = std::get_if<Tensor>(&thing)) return *t;
    lexer_.expected("an operator: only tensors have methods and indices");
  }

  Thing primary() {
    const Token token = lexer_.peek();
    switch (token.kind) {
      case Token::Kind::integer:
        return Scalar(lexer_.integer());
      case Token::Kind::real:
        return Scalar(lexer_.real());
      case Token::Kind::name:
        return named(lexer_.next());
      default:
        break;
    }
    if (lexer_.accept("(")) {
      Thing inner = binary(1);
      lexer_.expect(")");
      return inner;
    }
    if (lexer_.accept("[")) return list();
    lexer_.expected("a tensor's name, a number, '(' or '['");
  }

  Thing list() {
    Sizes out;
    while (!lexer_.accept("]")) {
      out.push_back(lexer_.integer("an integer or ']'"));
      if (!lexer_.at("]")) lexer_.expect(",");
    }
    return out;
  }

  Thing named(const Token& token) {
    if (lexer_.accept("(")) return call(token, Arguments(lexer_, token));
    if (const auto found = names_.find(std::string(token.text)); found != names_.end()) return found->second;
    if (token.text == "pi") return Scalar(M_PI);
    if (token.text == "inf") return Scalar(std::numeric_limits<double>::infinity());
    if (token.text == "nan") return Scalar(std::numeric_limits<double>::quiet_NaN());
    if (token.text == "True") return Scalar(true);
    if (token.text == "False") return Scalar(false);
    std::string known;
    for (const auto& [name, tensor] : names_) known += (known.empty() ? "" : ", ") + name;
    lexer_.error(token, known.empty() ? fmt::format("no tensor is called '{}'; none was given", token.text)
                                      : fmt::format("no tensor is called '{}'; there are {}", token.text, known));
  }

  Thing call(const Token& name, Arguments arguments) {
    const auto function = functions().find(name.text);
    if (function == functions().end()) lexer_.error(name, fmt::format("no function is called '{}'", name.text));
    while (!lexer_.accept(")")) {
      if (lexer_.peek().kind == Token::Kind::name && lexer_.peek(1).text == "=" && lexer_.peek(2).text != "=") {
        const Token keyword = lexer_.next();
        lexer_.expect("=");
        arguments.named.insert_or_assign(std::string(keyword.text), binary(1));
      } else {
        arguments.positional.push_back(binary(1));
      }
      if (!lexer_.at(")")) lexer_.expect(",");
    }
    return function->second(arguments);
  }

  std::optional<std::int64_t> bound() {
    if (lexer_.at(":") || lexer_.at(",") || lexer_.at("]")) return std::nullopt;
    return lexer_.integer("an integer, ':' or ']'");
  }

  Thing subscript(const Tensor& x) {
    std::vector<Index> indices;
    while (!lexer_.accept("]")) {
      if (lexer_.at(".")) {
        for (int i = 0; i < 3; ++i) lexer_.expect(".");
        indices.emplace_back(ellipsis);
      } else if (lexer_.accept("None")) {
        indices.emplace_back(newaxis);
      } else {
        const std::optional<std::int64_t> first = bound();
        if (lexer_.accept(":")) {
          Slice s{first, bound(), 1};
          if (lexer_.accept(":")) s.step = bound().value_or(1);
          indices.emplace_back(s);
        } else if (first) {
          indices.emplace_back(*first);
        } else {
          lexer_.expected("an index");
        }
      }
      if (!lexer_.at("]")) lexer_.expect(",");
    }
    return x.index(indices);
  }

  Lexer lexer_;
  const std::map<std::string, Tensor>& names_;
  int depth_ = 0;
};

}  // namespace

Tensor evaluate(std::string_view expression, const std::map<std::string, Tensor>& names) {
  return Parser(expression, names).parse();
}

std::vector<std::string> names_in(std::string_view expression) {
  const Lexer lexer(expression, "<expression>", Lexer::Comments::none);
  std::vector<std::string> out;
  const auto is = [&](std::size_t at, std::string_view text) {
    return lexer.peek(at).kind == Token::Kind::punctuation && lexer.peek(at).text == text;
  };
  for (std::size_t i = 0; lexer.peek(i).kind != Token::Kind::end; ++i) {
    if (lexer.peek(i).kind != Token::Kind::name) continue;
    const std::string name(lexer.peek(i).text);
    const bool called = is(i + 1, "("), keyword = is(i + 1, "=") && !is(i + 2, "="), method = i > 0 && is(i - 1, ".");
    const bool own = std::find(std::begin(own_names), std::end(own_names), name) != std::end(own_names);
    if (!called && !keyword && !method && !own && std::find(out.begin(), out.end(), name) == out.end()) out.push_back(name);
  }
  return out;
}

std::vector<std::string> function_names() {
  std::vector<std::string> out;
  for (const auto& [name, function] : functions()) out.push_back(name);
  return out;
}

}  // namespace braze::text
