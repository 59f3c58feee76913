#include "ir/lexer.h"

#include <bit>
#include <cmath>
#include <random>

#include "ir/error.h"
#include "tests/catch.h"

using namespace braze;
using namespace braze::ir;

TEST_CASE("a text is cut into names, values, numbers, strings and punctuation") {
  Lexer lexer("graph f(%x: f32[n, 128]) { // a comment }\n  %3 = add %x, -7 -> 0x1.8p+3 \"a\\n\\\"b\" %3#1 mul.f32 5.foo\n}");
  CHECK(lexer.name().text == "graph");
  CHECK(lexer.name().text == "f");
  lexer.expect("(");
  CHECK(lexer.value().text == "x");
  lexer.expect(":");
  CHECK(lexer.dtype() == DType::f32);
  CHECK(lexer.accept("["));
  CHECK(lexer.name().text == "n");
  CHECK_FALSE(lexer.accept("]"));
  lexer.expect(",");
  CHECK(lexer.integer() == 128);
  for (const char* text : {"]", ")", "{"}) lexer.expect(text);
  CHECK(lexer.peek().opens_line);
  CHECK(lexer.peek().line == 2);
  CHECK(lexer.peek().column == 3);
  CHECK(lexer.value().text == "3");
  CHECK_FALSE(lexer.peek().opens_line);
  lexer.expect("=");
  lexer.expect("add");
  lexer.value();
  lexer.expect(",");
  CHECK(lexer.integer() == -7);
  lexer.expect("->");
  CHECK(lexer.real() == 12.0);
  CHECK(lexer.string() == "a\n\"b");
  CHECK(lexer.value().text == "3");
  lexer.expect("#");
  CHECK(lexer.integer() == 1);
  lexer.expect("mul");
  lexer.expect(".");
  lexer.dtype();
  CHECK(lexer.integer() == 5);
  lexer.expect(".");
  CHECK(lexer.peek(1).text == "}");
  lexer.name();
  lexer.next();
  CHECK(lexer.at_end());
  lexer.next();
  CHECK(lexer.at_end());
}

namespace {
std::string error_of(std::string_view text, void (*read)(Lexer&)) {
  try {
    Lexer lexer(text, "a.bz");
    read(lexer);
  } catch (const ParseError& error) {
    return error.what();
  }
  return "no error";
}
}  // namespace

TEST_CASE("errors carry file, line, column, the line and a caret") {
  CHECK(error_of("x = 1\n\ty }", [](Lexer& l) { l.name(), l.next(), l.next(), l.name(), l.expect(":"); }) ==
        "a.bz:2:4: expected ':', found '}'\n  \ty }\n  \t  ^");
  CHECK(error_of("", [](Lexer& l) { l.value("an operand"); }) ==
        "a.bz:1:1: expected an operand, found the end of the text\n  \n  ^");
  CHECK(error_of("a \"b", [](Lexer&) {}) == "a.bz:1:3: this string has no closing quote on its line\n  a \"b\n    ^");
  CHECK(error_of("\"b\\\n\"", [](Lexer&) {}) == "a.bz:1:1: this string has no closing quote on its line\n  \"b\\\n  ^");
  CHECK(error_of("a \x01", [](Lexer&) {}) == "a.bz:1:3: unexpected byte 0x01\n  a \x01\n    ^");
  CHECK(error_of("99999999999999999999", [](Lexer& l) { l.integer(); }).find("out of range: integers have 64 bits") !=
        std::string::npos);
  CHECK(error_of("-129", [](Lexer& l) { l.literal(DType::i8); }).find("expected a value of i8") != std::string::npos);
  CHECK(error_of("-1", [](Lexer& l) { l.literal(DType::u8); }).find("expected a value of u8") != std::string::npos);
  CHECK(error_of("1", [](Lexer& l) { l.literal(DType::boolean); }).find("expected true or false, found '1'") != std::string::npos);
  CHECK(error_of("nan:0x7f800000", [](Lexer& l) { l.literal(DType::f32); }).find("not the bits of a nan") != std::string::npos);
  CHECK(error_of("\"\\q\"", [](Lexer& l) { l.string(); }).find("unknown escape '\\q'") != std::string::npos);
  try {
    Lexer("\n\n  ?", "").expect("!");
    FAIL();
  } catch (const ParseError& error) {
    CHECK(error.line == 3);
    CHECK(error.column == 3);
  }
}

TEST_CASE("literals read back bit for bit") {
  std::mt19937_64 random(7);
  for (DType type : all_dtypes) {
    const int bits = 8 * size_of(type);
    const std::uint64_t mask = type == DType::boolean ? 1 : ~std::uint64_t{0} >> (64 - bits);
    const bool all = bits <= 16;
    for (std::uint64_t i = 0; i < (all ? mask + 1 : 20000); ++i) {
      std::uint64_t value = all ? i : random() >> (random() % 64);
      if (!all && i % 4 == 0) value = random() << (random() % 64);
      value &= mask;
      const std::string text = literal_text(type, value);
      Lexer lexer(text);
      const std::uint64_t read = lexer.literal(type);
      if (read != value || !lexer.at_end()) {
        CAPTURE(name(type), text, value, read);
        FAIL();
      }
    }
  }
  CHECK(literal_text(DType::f32, std::bit_cast<std::uint32_t>(1.0f)) == "0x1p+0");
  CHECK(literal_text(DType::f64, std::bit_cast<std::uint64_t>(-12.0)) == "-0x1.8p+3");
  CHECK(literal_text(DType::f32, 0x80000000) == "-0x0p+0");
  CHECK(literal_text(DType::f32, 0x7fc00000) == "nan");
  CHECK(literal_text(DType::f32, 0xff800000) == "-inf");
  CHECK(literal_text(DType::i8, 0xff) == "-1");
  CHECK(literal_text(DType::i8, ~std::uint64_t{0}) == "-1");
}

TEST_CASE("decimals round once, to nearest even, in every float type") {
  const auto read = [](std::string_view text, DType type) { return Lexer(text).literal(type); };
  CHECK(read("0.1", DType::f32) == std::bit_cast<std::uint32_t>(0.1f));
  CHECK(read("0.1", DType::f64) == std::bit_cast<std::uint64_t>(0.1));
  CHECK(read("-1e39", DType::f32) == 0xff800000);
  CHECK(read("3", DType::f32) == std::bit_cast<std::uint32_t>(3.0f));
  // Halfway between two floats but for a digit that double drops.
  CHECK(read("1.00000005960464477539062500000000000000001", DType::f32) == 0x3f800001);
#ifdef __FLT16_MAX__
  std::mt19937_64 random(11);
  for (int i = 0; i < 20000; ++i) {
    const double value = std::ldexp(1.0 + static_cast<double>(random() >> 11) * 0x1p-53, static_cast<int>(random() % 48) - 30);
    const auto expected = std::bit_cast<std::uint16_t>(static_cast<_Float16>(value));
    REQUIRE(read(literal_text(DType::f64, std::bit_cast<std::uint64_t>(value)), DType::f16) == expected);
  }
#endif
  CHECK(read("65519", DType::f16) == 0x7bff);
  CHECK(read("65520", DType::f16) == 0x7c00);
  CHECK(read("0x1p-25", DType::f16) == 0);
  CHECK(read("0x1.8p-25", DType::f16) == 1);
  CHECK(read("1", DType::bf16) == 0x3f80);
}
