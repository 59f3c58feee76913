// Loop IR as text: kernels print as they parse, and what is wrong with one is said at its place.
#include <string>

#include "ir/error.h"
#include "ir/loops.h"
#include "tests/catch.h"
#include "tests/ir/kernels.h"

using namespace braze;
using namespace braze::ir;
using Catch::Matchers::ContainsSubstring;

TEST_CASE("kernels print as they were written") {
  for (const std::string_view text : test_kernels::all) {
    const Kernel kernel = parse_kernel(text);
    CHECK(print(kernel) == text);
    verify(kernel);
  }
}

TEST_CASE("names and layout are free, the canonical text is not") {
  const Kernel kernel = parse_kernel(R"(
// a comment
kernel scale(%in: f32 read, %out: f32 write streaming; n; %factor: f32) {
  for parallel %i in n step 8 { %v = load %in[%i * 1]
    %t = mul.f32 %v,
      %factor   store %out[%i * 1 + 0], %t }
})");
  CHECK(print(kernel) == R"(kernel scale(%b0: f32 read, %b1: f32 write streaming; n; %s0: f32) {
  for parallel %i0 in n step 8 {
    %0 = load %b0[%i0 * 1]
    %1 = mul.f32 %0, %s0
    store %b1[%i0 * 1], %1
  }
}
)");
}

namespace {

std::string error_of(const std::string& text) {
  try {
    parse_kernel(text, "k.bz");
  } catch (const ParseError& error) {
    return error.what();
  }
  return "no error";
}

// In a loop that has a buffer each way, a size and a scalar.
std::string in_loop(const std::string& statements, const std::string& extra = "") {
  return "kernel k(%b0: f32 read, %b1: f32 write, %b2: bool read; n; %s0: f32) {\n" + extra + "for parallel %i in n step 8 {\n" +
         statements + "\n}\n}\n";
}

}  // namespace

TEST_CASE("bad kernel text gets line, column, caret and what was expected") {
  CHECK(error_of("kernel k() {\n  for sideways %i in 4 {\n  }\n}") ==
        "k.bz:2:7: expected 'serial', 'parallel', 'unrolled', 'block' or 'thread', found 'sideways'\n    for sideways %i in 4 {\n  "
        "      ^");
  CHECK_THAT(error_of("graph g"), ContainsSubstring("k.bz:1:1: expected 'kernel', found 'graph'"));
  CHECK_THAT(error_of("kernel k(%b0: f33 read) {}"), ContainsSubstring("k.bz:1:15: expected a dtype such as f32, found 'f33'"));
  CHECK_THAT(error_of("kernel k(%b0: f32 read, %b0: f32 read) {}"), ContainsSubstring("k.bz:1:25: 'b0' is already defined"));
  CHECK_THAT(error_of(in_loop("%v = load %b7[%i * 1]")), ContainsSubstring("k.bz:3:11: there is no buffer or scratch array '%b7'"));
  CHECK_THAT(error_of(in_loop("%v = frob.f32 %s0")), ContainsSubstring("k.bz:3:6: there is no primitive 'frob'"));
  CHECK_THAT(error_of(in_loop("%v = add.f32 %s0")), ContainsSubstring("expected ','"));
  CHECK_THAT(error_of(in_loop("%v = neg.f32 %w")), ContainsSubstring("k.bz:3:14: no value '%w' is in scope here"));
  CHECK_THAT(error_of(in_loop("%v = load %b0[m * 1]")), ContainsSubstring("k.bz:3:15: there is no size 'm'"));
  CHECK_THAT(error_of(in_loop("%v = call.f32 sinus %s0")), ContainsSubstring("there is no library function 'sinus'"));
  CHECK_THAT(error_of(in_loop("%v = constant.i8 300")), ContainsSubstring("'300' is out of range: expected a value of i8"));
  CHECK_THAT(error_of(in_loop("%v = neg.f32 %s0 %v = neg.f32 %s0")), ContainsSubstring("k.bz:3:18: 'v' is already defined"));
  CHECK_THAT(error_of(in_loop("yield %s0")), ContainsSubstring("k.bz:3:1: expected a statement, found 'yield'"));
  CHECK_THAT(error_of(in_loop("%a, %b = neg.f32 %s0")), ContainsSubstring("expected 'fold' or 'tree_fold'"));
  CHECK_THAT(error_of(in_loop("%a = fold %s0 by c0")), ContainsSubstring("there is no combine 'c0'"));
  CHECK_THAT(error_of("kernel k() {\n}\n}"), ContainsSubstring("expected the end of the text after a kernel"));
  CHECK_THAT(error_of("kernel k() {"), ContainsSubstring("found the end of the text"));
  std::string deep = "kernel k(;n) {\n", close;
  for (int i = 0; i < 5000; ++i) deep += "for serial %v" + std::to_string(i) + " in n {\n", close += "}";
  CHECK_THAT(error_of(deep + close + "}"), ContainsSubstring("loops nest deeper than 64"));
}

TEST_CASE("a kernel that breaks a law is refused at the statement that breaks it") {
  const auto refused = [](const std::string& text, const std::string& law) {
    CAPTURE(text);
    CHECK_THAT(error_of(text), ContainsSubstring(law));
  };
  refused(in_loop("%v = add.f64 %s0, %s0"), "k.bz:3:1: operand 0 of add is f32, not f64");
  refused(in_loop("%v = add.f16 %s0, %s0"), "add does not apply to f16");
  refused(in_loop("%v = shl.f32 %s0, %s0"), "shl does not apply to f32");
  refused(in_loop("%v = bitcast.f32->i64 %s0"), "f32 and i64 differ in size");
  refused(in_loop("%v = load %b0[%s0 * 1]"), "an index is f32, not i64");
  refused(in_loop("%v = load %b0[%i * 1] where %s0"), "a predicate is f32, not bool");
  refused(in_loop("store %b0[%i * 1], %s0"), "a store goes to a buffer that is only read");
  refused(in_loop("%v = load %b2[%i * 1] store %b1[%i * 1], %v"), "k.bz:3:23: the value stored is bool, not f32");
  refused(in_loop("store %b1[0], %s0 %v = load %b0[%i * 1] store %b1[3], %v"), "all lanes store to one place");
  std::string never = in_loop("%v = load %b0[%i * 1] store %b1[3], %v");
  refused(never, "all lanes store to one place");
  refused(never.replace(never.find(" in n "), 6, " in 0 "), "no error");  // nothing is stored
  refused(in_loop("%v = load %b1[%i * 2] store %b1[%i * 1], %v"), "buffer 1 is written, and read at another index than a store's");
  refused(in_loop("for serial %j in n step 4 {}"), "a vector loop stands inside of another");
  refused(in_loop("for serial %j in %i {}"), "an extent differs between lanes");
  refused(in_loop("%v = load %b0[%i * %i]"), "a stride differs between lanes");
  refused(in_loop("%v = load %b2[%i * 1] if %v {}"), "a condition differs between lanes");
  refused(in_loop("for serial %j in n step 3 {}"), "the step 3 is no power of two");
  refused(in_loop("for parallel %j in n {}"), "a parallel loop stands inside of another statement");
  refused(in_loop("for unrolled %j in n {}"), "an unrolled loop has no number for its extent");
  refused(in_loop("barrier"), "stands outside of the thread loops");
  refused(in_loop("%v = check none %v0", "%v0 = constant.bool true\n"), "no such fault");
  refused(in_loop("") + "", "no error");
  refused("kernel k(; n) {\n}", "a CPU kernel has an outermost parallel loop, this one has none");
  refused("kernel k(; n) {\nfor parallel %i in n {}\nfor serial %j in n {}\nfor parallel %k in n {}\n}",
          "k.bz:3:1: between parallel loops stand values alone");
  refused("kernel k(; n) {\nfor parallel %i in n {}\n%0 = constant.i64 1\n}", "nothing follows the last parallel loop");
  refused("kernel k(; n) {\nfor parallel %i in n carry %a = n {\nyield %a\n} -> %b\n}",
          "only serial and unrolled loops carry values");
  refused("kernel k(; n) {\nscratch %a0: f32 stack [n]\nfor parallel %i in n {}\n}",
          "only heap scratch may have a size for its count");
  refused("kernel k(; n) {\nscratch %a0: f32 stack [1025]\nfor parallel %i in n {}\n}", "the stack arrays take 4100 bytes");
  refused("kernel k(; n) {\nscratch %a0: f32 heap [n] lanes 4\nfor parallel %i in n step 8 {\n%v = load %a0[0]\n}\n}",
          "a scratch array with 4 lanes is used where there are 8");
  refused("kernel k(; n) {\nfor block %i in n {\nfor thread %t in n {}\n}\n}", "a thread loop needs an extent from 1 to 1024");
  refused("kernel k(; n) {\nfor block %i in n {\nfor serial %j in n {}\n}\n}", "stands outside of the thread loops");
  refused("kernel k(%b0: f32 read streaming; n) {\nfor parallel %i in n {}\n}", "a buffer that is only read is marked streaming");
  // The lanes of a vector loop leave it by fold alone.
  const std::string sum =
      "kernel k(%b0: f32 read, %b1: f32 write; n; %s0: f32) {\ncombine c0(%0: f32, %1: f32) {\n%2 = add.f32 %0, %1\nyield %2\n}\n"
      "for parallel %i in n {\nfor serial %j in n step 8 carry %a = %s0 {\n%v = load %b0[%j * 1]\n%w = add.f32 %a, %v\nyield %w\n} "
      "-> %r\n";
  refused(sum + "%f = fold %r by c0\nstore %b1[%i * 1], %f\n}\n}", "no error");
  refused(sum + "store %b1[%i * 1], %r\n}\n}", "k.bz:12:1: the lanes of a vector loop's value are used outside of it");
  refused(sum + "%f = fold %s0 by c0\n}\n}", "a fold joins values without lanes");
  refused(sum + "for serial %k in n step 8 carry %c = %r {\nyield %c\n} -> %d\n%f = fold %d by c0\n}\n}", "no error");
  refused("kernel k(; n; %s0: f32) {\ncombine c0(%0: f32, %1: f32) {\n%2 = add.f64 %0, %1\nyield %2\n}\nfor parallel %i in n {}\n}",
          "operand 0 of add is f32, not f64");
}

TEST_CASE("verify names the kernel and the statement") {
  Kernel kernel = parse_kernel(in_loop("%v = load %b0[%i * 1] store %b1[%i * 1], %v"));
  std::get<For>(kernel.body[0].node).body.pop_back();
  verify(kernel);
  std::get<For>(kernel.body[0].node).body.push_back({Store{{0, {}, {}}, kernel.scalars[0].first}});
  CHECK_THROWS_WITH(verify(kernel),
                    ContainsSubstring("kernel 'k': a store goes to a buffer that is only read, in `store %b0[0], %s0`"));
  std::get<For>(kernel.body[0].node).body.back() = {Store{{1, {{12345, Size::of(1)}}, {}}, kernel.scalars[0].first}};
  CHECK_THROWS_WITH(verify(kernel), ContainsSubstring("a value is used before it is defined, in `store %b1[%? * 1], %s0`"));
}
