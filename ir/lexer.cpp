#include "ir/lexer.h"

#include <fmt/format.h>

#include <bit>
#include <charconv>
#include <cmath>
#include <limits>

#include "ir/error.h"

namespace braze::ir {
namespace {

constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }
constexpr bool is_hex_digit(char c) { return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }
constexpr bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
constexpr bool is_word(char c) { return is_letter(c) || is_digit(c); }

// Rounds to a binary float of `digits` significant bits whose largest exponent is `top` (that of the type's maximum), as
// IEEE does; written out because a double that went through float would round twice on its way to a half.
double round_to(double x, int digits, int top) {
  if (!std::isfinite(x) || x == 0) return x;
  int exponent;
  std::frexp(x, &exponent);
  const int quantum = std::max(exponent, 3 - top) - digits;  // 3 - top is frexp's exponent of the smallest normal
  const double rounded = std::ldexp(std::nearbyint(std::ldexp(x, -quantum)), quantum);
  return std::fabs(rounded) >= std::ldexp(1.0, top) ? std::copysign(std::numeric_limits<double>::infinity(), x) : rounded;
}

struct Format {  // of a float type
  int mantissa_bits, exponent_bits;
  int bias() const { return (1 << (exponent_bits - 1)) - 1; }
  std::uint64_t infinity() const { return ((std::uint64_t{1} << exponent_bits) - 1) << mantissa_bits; }
  std::uint64_t quiet_nan() const { return infinity() | std::uint64_t{1} << (mantissa_bits - 1); }
  std::uint64_t sign() const { return std::uint64_t{1} << (mantissa_bits + exponent_bits); }
};

Format format_of(DType type) {
  switch (type) {
    case DType::f16:
      return {10, 5};
    case DType::bf16:
      return {7, 8};
    case DType::f32:
      return {23, 8};
    default:
      return {52, 11};
  }
}

// `bits` without sign, finite.
double decode(const Format& f, std::uint64_t bits) {
  const auto exponent = static_cast<int>(bits >> f.mantissa_bits);
  std::uint64_t mantissa = bits & ((std::uint64_t{1} << f.mantissa_bits) - 1);
  if (exponent != 0) mantissa |= std::uint64_t{1} << f.mantissa_bits;
  return std::ldexp(static_cast<double>(mantissa), std::max(exponent, 1) - f.bias() - f.mantissa_bits);
}

// Bits of |x|, rounded to nearest even.
std::uint64_t encode(const Format& f, double x) {
  if (std::isnan(x)) return f.quiet_nan();
  const double r = round_to(std::fabs(x), f.mantissa_bits + 1, f.bias() + 1);
  if (std::isinf(r)) return f.infinity();
  if (r == 0) return 0;
  int exponent;
  std::frexp(r, &exponent);
  const int biased = exponent - 1 + f.bias();
  if (biased <= 0) return static_cast<std::uint64_t>(std::ldexp(r, f.bias() - 1 + f.mantissa_bits));
  const auto mantissa = static_cast<std::uint64_t>(std::ldexp(r, f.mantissa_bits + 1 - exponent));
  return (static_cast<std::uint64_t>(biased) << f.mantissa_bits) + (mantissa - (std::uint64_t{1} << f.mantissa_bits));
}

std::string describe(const Token& token) {
  switch (token.kind) {
    case Token::Kind::end:
      return "the end of the text";
    case Token::Kind::value:
      return fmt::format("'%{}'", token.text);
    case Token::Kind::string:
      return fmt::format("\"{}\"", token.text);
    default:
      return fmt::format("'{}'", token.text);
  }
}

}  // namespace

Lexer::Lexer(std::string_view text, std::string file, Comments comments)
    : text_(text), file_(std::move(file)), comments_(comments) {
  scan();
}

void Lexer::scan() {
  std::size_t at = 0, line_start = 0;
  int line = 1;
  bool opens_line = true;
  for (;;) {
    while (at < text_.size()) {
      if (text_[at] == '\n') {
        ++line;
        line_start = ++at;
        opens_line = true;
      } else if (text_[at] == ' ' || text_[at] == '\t' || text_[at] == '\r') {
        ++at;
      } else if (comments_ == Comments::slashes && text_.substr(at, 2) == "//") {
        at = std::min(text_.find('\n', at), text_.size());
      } else {
        break;
      }
    }
    const std::size_t start = at;
    Token place;
    place.line = line;
    place.column = static_cast<int>(start - line_start) + 1;
    if (at == text_.size()) {
      place.opens_line = opens_line;
      tokens_.push_back(place);
      return;
    }
    const char c = text_[at];
    if (c != '"' && (static_cast<unsigned char>(c) < 0x21 || static_cast<unsigned char>(c) > 0x7e))
      error(place, fmt::format("unexpected byte 0x{:02x}", static_cast<unsigned char>(c)));
    if (c == '"') {
      std::size_t end = at + 1;
      while (end < text_.size() && text_[end] != '"' && text_[end] != '\n')
        end += text_[end] == '\\' && text_.substr(end + 1, 1) != "\n" ? 2 : 1;
      if (end >= text_.size() || text_[end] != '"') error(place, "this string has no closing quote on its line");
    }
    Token token = scan_token(at);
    token.line = place.line;
    token.column = place.column;
    token.opens_line = opens_line;
    opens_line = false;
    tokens_.push_back(token);
  }
}

Token Lexer::scan_token(std::size_t& at) const {
  Token token;
  const char c = text_[at];
  const auto word_end = [&](std::size_t from) {
    while (from < text_.size() && is_word(text_[from])) ++from;
    return from;
  };
  std::size_t end = at + 1;
  if (is_letter(c)) {
    token.kind = Token::Kind::name;
    end = word_end(at);
  } else if (c == '%' && end < text_.size() && is_word(text_[end])) {
    token.kind = Token::Kind::value;
    end = word_end(++at);
  } else if (is_digit(c)) {
    end = scan_number(at, token);
  } else if (c == '"') {
    token.kind = Token::Kind::string;
    while (text_[end] != '"') end += text_[end] == '\\' ? 2 : 1;
    token.text = text_.substr(at + 1, end - at - 1);
    at = end + 1;
    return token;
  } else {
    token.kind = Token::Kind::punctuation;
    if (text_.substr(at, 2) == "->") ++end;
  }
  token.text = text_.substr(at, end - at);
  at = end;
  return token;
}

std::size_t Lexer::scan_number(std::size_t at, Token& token) const {
  const auto peek = [&](std::size_t i) { return i < text_.size() ? text_[i] : '\0'; };
  const bool hex = peek(at) == '0' && (peek(at + 1) == 'x' || peek(at + 1) == 'X');
  token.kind = Token::Kind::integer;
  std::size_t end = hex ? at + 2 : at;
  const auto digits = [&] {
    while (hex ? is_hex_digit(peek(end)) : is_digit(peek(end))) ++end;
  };
  digits();
  if (peek(end) == '.' && (hex ? is_hex_digit(peek(end + 1)) : !is_letter(peek(end + 1)))) {
    token.kind = Token::Kind::real;
    ++end;
    digits();
  }
  const char mark = peek(end);
  if (hex ? (mark == 'p' || mark == 'P') : (mark == 'e' || mark == 'E')) {
    std::size_t exponent = end + 1;
    if (peek(exponent) == '+' || peek(exponent) == '-') ++exponent;
    if (is_digit(peek(exponent))) {
      token.kind = Token::Kind::real;
      for (end = exponent; is_digit(peek(end));) ++end;
    }
  }
  return end;
}

const Token& Lexer::peek(std::size_t ahead) const { return tokens_[std::min(next_ + ahead, tokens_.size() - 1)]; }

Token Lexer::next() {
  const Token token = peek();
  if (next_ + 1 < tokens_.size()) ++next_;
  return token;
}

bool Lexer::at(std::string_view text) const {
  const Token& token = peek();
  return (token.kind == Token::Kind::name || token.kind == Token::Kind::punctuation) && token.text == text;
}

bool Lexer::accept(std::string_view text) {
  if (!at(text)) return false;
  next();
  return true;
}

Token Lexer::expect(std::string_view text) {
  if (!at(text)) expected(fmt::format("'{}'", text));
  return next();
}

Token Lexer::name(std::string_view what) {
  if (peek().kind != Token::Kind::name) expected(what);
  return next();
}

Token Lexer::value(std::string_view what) {
  if (peek().kind != Token::Kind::value) expected(what);
  return next();
}

std::string Lexer::string(std::string_view what) {
  if (peek().kind != Token::Kind::string) expected(what);
  const Token token = next();
  std::string out;
  for (std::size_t i = 0; i < token.text.size(); ++i) {
    if (token.text[i] != '\\') {
      out += token.text[i];
      continue;
    }
    switch (token.text[++i]) {
      case 'n':
        out += '\n';
        break;
      case 't':
        out += '\t';
        break;
      case 'r':
        out += '\r';
        break;
      case '"':
      case '\\':
        out += token.text[i];
        break;
      default:
        error(token, fmt::format("unknown escape '\\{}' in a string; known are \\n \\t \\r \\\" \\\\", token.text[i]));
    }
  }
  return out;
}

std::uint64_t Lexer::magnitude(const Token& token, std::uint64_t limit, std::string_view what) const {
  std::string_view digits = token.text;
  const bool hex = digits.size() > 1 && (digits[1] == 'x' || digits[1] == 'X');
  if (hex) digits.remove_prefix(2);
  std::uint64_t value = 0;
  const auto result = std::from_chars(digits.data(), digits.data() + digits.size(), value, hex ? 16 : 10);
  if (result.ec != std::errc{} || result.ptr != digits.data() + digits.size() || value > limit)
    error(token, fmt::format("'{}' is out of range: {}", token.text, what));
  return value;
}

std::int64_t Lexer::integer(std::string_view what) {
  const bool negative = peek(1).kind == Token::Kind::integer && accept("-");
  if (peek().kind != Token::Kind::integer) expected(what);
  const Token token = next();
  const std::uint64_t value = magnitude(token, (std::uint64_t{1} << 63) - !negative, "integers have 64 bits");
  return static_cast<std::int64_t>(negative ? 0 - value : value);
}

double Lexer::real_value(const Token& token) const {
  std::string_view digits = token.text;
  const bool hex = digits.size() > 1 && (digits[1] == 'x' || digits[1] == 'X');
  if (hex) digits.remove_prefix(2);
  double value = 0;
  const auto result = std::from_chars(digits.data(), digits.data() + digits.size(), value,
                                      hex ? std::chars_format::hex : std::chars_format::general);
  if (result.ec == std::errc::result_out_of_range) error(token, fmt::format("'{}' is out of the range of f64", token.text));
  if (result.ec != std::errc{} || result.ptr != digits.data() + digits.size())
    error(token, fmt::format("'{}' is no number", token.text));
  return value;
}

double Lexer::real(std::string_view what) { return std::bit_cast<double>(literal(DType::f64, what)); }

std::uint64_t Lexer::literal(DType type, std::string_view what) {
  if (type == DType::boolean) {
    if (accept("true")) return 1;
    if (accept("false")) return 0;
    expected("true or false");
  }
  const Token first = peek();
  const bool negative = accept("-");
  const Token token = peek();
  if (is_integer(type)) {
    if (token.kind != Token::Kind::integer) expected(what);
    next();
    const int bits = 8 * size_of(type);
    const std::uint64_t mask = ~std::uint64_t{0} >> (64 - bits);
    std::uint64_t limit = is_signed(type) ? (mask >> 1) + negative : negative ? 0 : mask;
    const std::uint64_t value = magnitude(token, limit, fmt::format("expected a value of {}", braze::name(type)));
    return (negative ? 0 - value : value) & mask;
  }
  const Format format = format_of(type);
  const std::uint64_t sign = negative ? format.sign() : 0;
  if (accept("inf")) return format.infinity() | sign;
  if (at("nan")) {
    next();
    if (peek(1).kind != Token::Kind::integer || !accept(":")) return format.quiet_nan() | sign;  // `nan : f32` is no payload
    const Token payload = next();
    const std::uint64_t bits = magnitude(payload, format.sign() * 2 - 1, "more bits than the type has");
    if ((bits & (format.sign() - 1)) <= format.infinity() || negative) error(first, "these are not the bits of a nan");
    return bits;
  }
  if (token.kind != Token::Kind::real && token.kind != Token::Kind::integer) expected(what);
  next();
  if (type == DType::f32 && token.text.find_first_of("xX") == std::string_view::npos) {
    float value = 0;  // decimals straight to float: by way of double they would round twice
    const auto result = std::from_chars(token.text.data(), token.text.data() + token.text.size(), value);
    if (result.ec == std::errc{}) return std::bit_cast<std::uint32_t>(value) | sign;
  }
  return encode(format, real_value(token)) | sign;
}

DType Lexer::dtype() {
  if (peek().kind == Token::Kind::name)
    if (const auto type = dtype_from_name(peek().text)) {
      next();
      return *type;
    }
  expected("a dtype such as f32");
}

void Lexer::expected(std::string_view what) const { error(peek(), fmt::format("expected {}, found {}", what, describe(peek()))); }

void Lexer::error(const Token& where, const std::string& message) const {
  std::size_t start = 0;
  for (int line = 1; line < where.line; ++line) start = text_.find('\n', start) + 1;
  const std::string_view source = text_.substr(start, text_.find('\n', start) - start);
  std::string caret;  // tabs kept, so that the caret stands below its column however wide a tab is
  for (int column = 1; column < where.column; ++column)
    caret += static_cast<std::size_t>(column) <= source.size() && source[column - 1] == '\t' ? '\t' : ' ';
  throw ParseError(fmt::format("{}:{}:{}: {}\n  {}\n  {}^", file_, where.line, where.column, message, source, caret), where.line,
                   where.column);
}

std::string literal_text(DType type, std::uint64_t bits) {
  if (type == DType::boolean) return bits & 1 ? "true" : "false";
  if (is_integer(type)) {
    const int unused = 64 - 8 * size_of(type);
    if (!is_signed(type)) return fmt::format("{}", (bits << unused) >> unused);
    return fmt::format("{}", static_cast<std::int64_t>(bits << unused) >> unused);
  }
  const Format format = format_of(type);
  bits &= format.sign() * 2 - 1;
  const std::uint64_t magnitude = bits & ~format.sign();
  if (magnitude > format.infinity()) return bits == format.quiet_nan() ? "nan" : fmt::format("nan:{:#x}", bits);
  const char* sign = bits & format.sign() ? "-" : "";
  if (magnitude == format.infinity()) return fmt::format("{}inf", sign);
  const double value = decode(format, magnitude);
  char buffer[40];
  const auto result = std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::hex);
  return fmt::format("{}0x{}", sign, std::string_view(buffer, result.ptr));
}

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (char c : text) switch (c) {
      case '\n':
        out += "\\n";
        break;
      case '\t':
        out += "\\t";
        break;
      case '\r':
        out += "\\r";
        break;
      case '"':
      case '\\':
        out += '\\';
        [[fallthrough]];
      default:
        out += c;
    }
  return out + '"';
}

}  // namespace braze::ir
