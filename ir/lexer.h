// Tokens of Braze's texts (graphs, kernels, expressions), and the errors a reader of them raises.
//
//  * `// ...` runs to the end of the line; white space and newlines only separate, though a token knows whether it opens
//    a line.
//  * Tokens: names (`mul_add`), values (`%3`, `%x`: the text is what follows `%`), integers (`42`, `0x7fc0`), reals
//    (`1.5e-3`, `0x1.8p+3`), strings (`"a\n"`), and single characters of punctuation, with `->` as one. Signs are
//    punctuation: integer(), real() and literal() take them.
//  * Every error is a ParseError with line and column, and reads
//        saxpy.bz:3:14: expected ':', found '}'
//          %0 = constant 2 }
//                          ^
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ir/dtype.h"

namespace braze::ir {

struct Token {
  enum class Kind : std::uint8_t { end, name, value, integer, real, string, punctuation } kind = Kind::end;
  bool opens_line = false;
  int line = 1, column = 1;  // from 1; columns count bytes
  std::string_view text;     // of a string, what stands between the quotes
};

class Lexer {
 public:
  // Whether `//` opens a comment, or is two tokens: expressions divide with it.
  enum class Comments : std::uint8_t { slashes, none };

  // Reads all of `text`, which must outlive the Lexer. `file` is what errors call it.
  explicit Lexer(std::string_view text, std::string file = "<text>", Comments comments = Comments::slashes);

  const Token& peek(std::size_t ahead = 0) const;
  Token next();
  bool at_end() const { return peek().kind == Token::Kind::end; }

  // Whether the next token is this name or punctuation; accept() takes it if so.
  bool at(std::string_view text) const;
  bool accept(std::string_view text);
  Token expect(std::string_view text);

  // The next token, which must be of the kind; `what` is what the error says was expected.
  Token name(std::string_view what = "a name");
  Token value(std::string_view what = "a value such as %x");
  std::string string(std::string_view what = "a string");                 // escapes resolved
  std::int64_t integer(std::string_view what = "an integer");             // a sign may precede
  double real(std::string_view what = "a number");                        // also integers, inf and nan
  std::uint64_t literal(DType type, std::string_view what = "a number");  // raw bits; the inverse of literal_text
  DType dtype();

  // Throw at the next token, at a given one, or at a place.
  [[noreturn]] void expected(std::string_view what) const;
  [[noreturn]] void error(const Token& where, const std::string& message) const;

 private:
  void scan();
  Token scan_token(std::size_t& at) const;
  std::size_t scan_number(std::size_t at, Token& token) const;
  std::uint64_t magnitude(const Token& token, std::uint64_t limit, std::string_view what) const;
  double real_value(const Token& token) const;

  std::string_view text_;
  std::string file_;
  Comments comments_;
  std::vector<Token> tokens_;
  std::size_t next_ = 0;
};

// The canonical spelling of a value given by its bits: `true`, `-3`, hex floats `0x1.8p+3`, `inf`, `nan`, and
// `nan:0x7fc00001` for a NaN other than the positive quiet one. Lexer::literal reads exactly these bits back, and decimals.
std::string literal_text(DType type, std::uint64_t bits);

// A string as Lexer::string reads it back, quotes included.
std::string quoted(std::string_view text);

}  // namespace braze::ir
