#include "ir/graph_text.h"

#include <random>

#include "ir/error.h"
#include "ir/graph.h"
#include "tests/catch.h"

using namespace braze;
using namespace braze::ir;
using Catch::Matchers::ContainsSubstring;

namespace {

const std::string everything = R"(braze.ir 1
graph everything(%x: f32[n, 128], %b: bool[n, 128], %c: f32[] scalar, %s: f32[16] donated, m: index, k: index) {
  %0 = constant 0x1.8p+1 : f32[]
  %1 = expand %0 {shape = [n, 128]} : f32[n, 128]
  %2 = mul %1, %x : f32[n, 128]  // demo.cpp:12
  %3 = where %b, %2, %x : f32[n, 128]  // a file.cpp:7
  %4 = permute %3 {order = [1, 0]} : f32[128, n]
  %5 = slice %4 {starts = [127, k], sizes = [64, m], steps = [-2, 1]} : f32[64, m]
  %6 = flip %5 {dims = [0, 1]} : f32[64, m]
  %7 = pad %6, %c {low = [0, k], high = [1, 0], sizes = [65, n]} : f32[65, n]
  %8 = concat %7, %7, %7 {axis = 0, extent = 195} : f32[195, n]
  %9:2 = max_with_index %8 {dims = [0]} : f32[n], i64[n]
  %10 = iota {shape = [n]} : i64[n]
  %11 = eq %9#1, %10 : bool[n]
  %12 = cast %9#0 : i32[n]
  %13 = view %s {offset = 3, sizes = [4], strides = [-1]} : f32[4]
  %14 = store %s, %13 {offset = 4, sizes = [4], strides = [2]} : f32[16]
  %15 = accumulate %14, %13 {offset = 0, sizes = [4], strides = [0]} : f32[16]
  %16 = reshape %15 {shape = [4, 4]} : f32[4, 4]
  %17 = dot %16, %16 : f32[4, 4]
  %18 = sum %17 {dims = [0, 1]} : f32[]
  return %11, %12, %18, %9#0
}
)";

std::string error_of(const std::string& text) {
  try {
    parse_graph(text, "t.bz");
  } catch (const ParseError& error) {
    return error.what();
  }
  return "no error";
}

std::string in_graph(const std::string& body) {
  return "braze.ir 1\ngraph t(%x: f32[3, n], %y: f32[3, n], %h: f16[2, 3], k: index) {\n" + body + "}\n";
}

}  // namespace

TEST_CASE("a text that uses every attribute is read and printed as it was") {
  const Graph graph = parse_graph(everything);
  verify(graph);
  CHECK(print(graph) == everything);
  CHECK(graph.symbols == std::vector<std::string>{"n", "m", "k"});
  CHECK(graph.parameters().size() == 4);
  CHECK(graph.node(graph.results[3]).location == Location{});
}

TEST_CASE("printing is canonical: names, order and decimals of the input do not matter") {
  const Graph graph = parse_graph(R"(braze.ir 1
    graph f(%x: f32[2]) { %unused = sin %x : f32[2]
      %b = constant 0.5 : f32[] // not a place
      %twin = neg %x : f32[2]   %a = neg %x : f32[2]
      %c = expand %b {shape = [2]} : f32[2]  %d = add %a, %c : f32[2] return %d })");
  CHECK(print(graph) == R"(braze.ir 1
graph f(%x: f32[2]) {
  %0 = neg %x : f32[2]
  %1 = constant 0x1p-1 : f32[]
  %2 = expand %1 {shape = [2]} : f32[2]
  %3 = add %0, %2 : f32[2]
  return %3
}
)");
}

TEST_CASE("symbols keep their numbers") {
  Graph graph;
  const Extent a = graph.new_symbol("a"), b = graph.new_symbol("b");
  const Value x = graph.parameter({DType::f32, {b, a}}, Parameter::Kind::buffer, "x");
  graph.results = {x};
  const std::string printed = print(graph);
  CHECK_THAT(printed, ContainsSubstring("(a: index, b: index, %x: f32[b, a])"));
  CHECK(parse_graph(printed).symbols == graph.symbols);
  CHECK(print(parse_graph(printed)) == printed);
}

TEST_CASE("constants of every dtype survive, special values and all") {
  const std::pair<DType, std::vector<std::uint64_t>> cases[] = {
      {DType::boolean, {0, 1}},
      {DType::u8, {0, 255}},
      {DType::i8, {0x80, 0x7f, 0xff}},
      {DType::i16, {0x8000, 1}},
      {DType::i32, {0x80000000, 0xffffffff}},
      {DType::i64, {0x8000000000000000, ~std::uint64_t{0}}},
      {DType::f16, {0x7e00, 0x7c00, 0xfc00, 0x8000, 1, 0x3555, 0x7e01}},
      {DType::bf16, {0x7fc0, 0x7f80, 1, 0x3eab}},
      {DType::f32, {0x7fc00000, 0x7fc00001, 0xffc00000, 0x7f800000, 0xff800000, 0x80000000, 1, 0x3dcccccd}},
      {DType::f64, {0x7ff8000000000000, 0xfff0000000000000, 0x8000000000000000, 1, 0x3fb999999999999a}}};
  for (const auto& [dtype, values] : cases)
    for (std::uint64_t bits : values) {
      Graph graph;
      graph.results = {{graph.add(Op::constant, {}, Literal{dtype, bits}), 0}};
      CAPTURE(print(graph));
      const Graph again = parse_graph(print(graph));
      CHECK(again.node(again.results[0]).as<Literal>() == Literal{dtype, bits});
    }
}

TEST_CASE("bad text is told where, and what would be right") {
  CHECK(error_of(in_graph("  %0 = ad %x, %y : f32[3, n]\n  return %0\n")) ==
        "t.bz:3:8: unknown op 'ad'; did you mean 'add' or 'pad'?\n    %0 = ad %x, %y : f32[3, n]\n         ^");
  const std::pair<std::string, std::string> cases[] = {
      {"%0 = add %x : f32[3, n]", "3:6: add takes 2 operands, found 1"},
      {"%0 = neg %z : f32[3, n]", "3:10: unknown value %z"},
      {"%0 = neg %x : f32[n, 3]", "3:15: neg gives f32[3, n] here, not f32[n, 3]"},
      {"%0 = neg %x : f64[3, n]", "neg gives f32[3, n] here, not f64[3, n]"},
      {"%0 = neg %x : f32[3, m]", "3:22: unknown symbol 'm'; declare it in the graph's header, 'm: index'"},
      {"%0 = neg %x : f32[3, n] %0 = exp %x : f32[3, n]", "3:25: %0 is defined twice"},
      {"%x = neg %y : f32[3, n]", "3:1: %x is defined twice"},
      {"%0 = neg %x {dims = [0]} : f32[3, n]", "3:13: neg has no attributes"},
      {"%0 = sum %x : f32[n]", "3:13: expected sum's attributes, '{dims = ...}', found ':'"},
      {"%0 = sum %x {dim = [0]} : f32[n]", "3:14: unknown attribute 'dim'; sum has dims"},
      {"%0 = sum %x {dims = [0, 0]} : f32[n]", "3:25: dimension 0 occurs twice"},
      {"%0 = sum %x {dims = [2]} : f32[n]", "3:6: Dimension out of range (expected to be in range of [-2, 1], but got 2)"},
      {"%0 = view %x {offset = 0, sizes = [1]} : f32[1]", "expected view's attribute 'strides', found '}'"},
      {"%0 = view %x {offset = 0, offset = 0} : f32[1]", "3:27: the attribute 'offset' occurs twice"},
      {"%0 = max_with_index %x {dims = [0]} : f32[n], i64[n]", "max_with_index has 2 results: %0:2 = max_with_index ..."},
      {"%0:2 = neg %x : f32[3, n]", "3:4: neg has 1 result: %0 = neg ..."},
      {"%0:2 = max_with_index %x {dims = [0]} : f32[n]", "expected ',' and the type of max_with_index's next result"},
      {"%0:2 = max_with_index %x {dims = [0]} : f32[n], i64[n] %1 = neg %0 : f32[n]", "%0 has 2 results: say %0#0 or %0#1"},
      {"%0 = neg %x#1 : f32[3, n]", "%x has one result: say %x"},
      {"%0 = parameter : f32[3]", "parameters are declared in the graph's header"},
      {"%0 = constant 1 f32[]", "expected a number, ':' and its type"},
      {"%0 = constant 300 : u8[]", "'300' is out of range: expected a value of u8"},
      {"%0 = constant 1 : f32[1]", "constant gives f32[] here, not f32[1]"},
      {"%0 = bitwise_and %x, %y : f32[3, n]", "3:6: \"bitwise_and\" not implemented for 'Float'"},
      {"%0 = add %x, %h : f32[3, n]", "add: the operands must have one dtype, not f32 and f16; cast one of them first"},
      {"%0 = iota {shape = [-9223372036854775808]} : i64[1]", "too far from zero"},
      {"%0 = iota {shape = [-1]} : i64[1]", "Trying to create tensor with negative dimension -1: [-1]"},
      {"%0 = neg %x : f32[3, n", "expected ',' or ']', found"},
      {"%0 neg %x : f32[3, n]", "expected '=', found 'neg'"},
      {"kernel neg { }", "a graph at stage 'graph' has no kernels"},
      {"neg %x", "expected a statement such as"},
  };
  for (const auto& [body, message] : cases) CHECK_THAT(error_of(in_graph(body + "\nreturn\n")), ContainsSubstring(message));
  const std::pair<std::string, std::string> texts[] = {
      {"", "1:1: expected 'braze.ir 1', found the end"},
      {"braze.ir 2", "this text has version 2, Braze reads version 1"},
      {"braze.ir 1 graph f(%x: f32[n], n: index) {", "the symbol 'n' is declared twice"},
      {"braze.ir 1 graph f(%x: f32[n], %x: f32[n]) {", "the parameter %x is declared twice"},
      {"braze.ir 1 graph f(%0: f32[n]) {", "must have a name that begins with a letter"},
      {"braze.ir 1 graph f(%x: f32[2] scalar) {", "a scalar parameter has rank 0, not the shape [2]"},
      {"braze.ir 1 graph f(%x: f32[2] sclar) {", "expected ',', ')', 'scalar' or 'donated', found 'sclar'"},
      {"braze.ir 1 graph f(%x: f33[2]) {", "expected a dtype such as f32, found 'f33'"},
      {"braze.ir 1 graph f() { return } x", "expected the end of the text, found 'x'"},
      {"braze.ir 1 graph f(%x: f64[4611686018427387904, 8]) { return %x }", "Storage size calculation overflowed"},
  };
  for (const auto& [text, message] : texts) CHECK_THAT(error_of(text), ContainsSubstring(message));
}

TEST_CASE("kernels are blocks; what two of them compute stands in both") {
  const std::string fused = R"(braze.ir 1
graph f(%x: f32[n], %a: f32[] scalar) {
  %1 = cast %a : f64[]
  kernel neg_exp -> %2 {
    %0 = neg %x : f32[n]
    %2 = exp %0 : f32[n]
  }
  kernel neg_max_with_index -> %3#0, %3#1 {
    %0 = neg %x : f32[n]
    %3:2 = max_with_index %0 {dims = [0]} : f32[], i64[]
  }
  return %1, %2, %3#0, %3#1
}
)";
  std::vector<GraphBlock> blocks;
  const Graph graph = parse_graph(fused, "f.bz", blocks);
  REQUIRE(blocks.size() == 2);
  CHECK(blocks[0].nodes[0] == blocks[1].nodes[0]);
  CHECK(blocks[1].outputs == std::vector<Value>{{blocks[1].nodes[1], 0}, {blocks[1].nodes[1], 1}});
  const std::string printed = print(graph, blocks);
  std::vector<GraphBlock> again;
  const Graph reread = parse_graph(printed, "f.bz", again);
  CHECK(print(reread, again) == printed);
  CHECK_THAT(printed, ContainsSubstring("  kernel neg_exp -> %"));

  const auto error = [](std::string text) -> std::string {
    std::vector<GraphBlock> ignored;
    try {
      parse_graph(text, "f.bz", ignored);
    } catch (const ParseError& e) {
      return e.what();
    }
    return "no error";
  };
  std::string differs = fused;
  differs.replace(differs.rfind("neg %x"), 3, "abs");
  CHECK_THAT(error(differs), ContainsSubstring("%0 is defined twice, and differently"));
  std::string missing = fused;
  missing.replace(missing.find("-> %2"), 5, "-> %9");
  CHECK_THAT(error(missing), ContainsSubstring("unknown value %9"));
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string text = fused;
    text.replace(text.find(from), from.size(), to);
    return error(text);
  };
  CHECK_THAT(with("max_with_index %0", "max_with_index %2"), ContainsSubstring("no error"));
  CHECK_THAT(with("    %0 = neg %x : f32[n]\n    %3", "    %3"),
             ContainsSubstring("9:27: %0 is computed in another kernel, which does not put it out"));
  CHECK_THAT(with("return %1, %2", "return %1, %0"), ContainsSubstring("%0 is computed in another kernel"));
  CHECK_THAT(with("-> %2 {", "{"), ContainsSubstring("expected '->' and the values that the kernel leaves in memory, found '{'"));
  CHECK_THAT(with("-> %3#0, %3#1 {", "-> %2 {"), ContainsSubstring("this kernel does not compute %2"));
  CHECK_THAT(with("  %1 = cast", "  %9 = neg %x : f32[n]\n  %1 = cast"), ContainsSubstring("3:3: neg must stand in a kernel"));
}

TEST_CASE("a comment whose file would end at a NUL is no source line") {
  std::string text = everything;
  const std::size_t at = text.find("// demo.cpp:12");
  REQUIRE(at != std::string::npos);
  text[at + 3] = '\0';
  const std::string printed = print(parse_graph(text));
  CHECK(printed.find(":12") == std::string::npos);
  CHECK(print(parse_graph(printed)) == printed);
}

TEST_CASE("mutated text is refused with a ParseError or read, never anything else", "[fuzz]") {
  const auto seed = static_cast<std::uint32_t>(std::random_device{}());
  INFO("seed " << seed);
  std::mt19937 random(seed);
  const auto below = [&](std::size_t n) { return std::uniform_int_distribution<std::size_t>(0, n - 1)(random); };
  const std::string bits[] = {"%",
                              "-",
                              "9223372036854775807",
                              "[",
                              "]",
                              "{",
                              "}",
                              ":",
                              "f32",
                              "n",
                              "max",
                              "0",
                              "#1",
                              "64",
                              "255",
                              ",",
                              "\n",
                              "constant nan:0x7fc00001",
                              " ",
                              "\"",
                              "\x80",
                              "kernel k -> %0 {",
                              "donated"};
  int refused = 0;
  for (int round = 0; round < 20000; ++round) {
    std::string text = everything;
    for (std::size_t edits = 1 + below(3); edits-- > 0;) {
      const std::size_t at = below(text.size());
      switch (below(4)) {
        case 0:
          text.erase(at, 1 + below(8));
          break;
        case 1:
          text.insert(at, bits[below(std::size(bits))]);
          break;
        case 2:
          text[at] = static_cast<char>(below(256));
          break;
        default: {
          const std::size_t from = below(text.size()), length = 1 + below(20);
          text.insert(at, std::string(text, from, length));
        }
      }
    }
    try {
      std::vector<GraphBlock> blocks;
      const Graph graph = round % 2 ? parse_graph(text) : parse_graph(text, "t", blocks);
      verify(graph);
      const std::string printed = print(graph);
      if (print(parse_graph(printed)) != printed) FAIL("not canonical:\n" << printed);
    } catch (const ParseError& error) {
      ++refused;
      if (error.line < 1 || error.column < 1) FAIL(error.what());
    } catch (const std::exception& error) {
      FAIL(error.what() << "\n" << text);
    }
  }
  CHECK(refused > 10000);
}
