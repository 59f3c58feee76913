#include "codegen/cuda/prelude.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <vector>

#include "ir/error.h"

namespace braze::codegen::cuda {

namespace {

struct Helper {
  std::string name;
  std::vector<std::string> needs;
  std::string text;
};

constexpr std::string_view function_head = "__device__ __forceinline__ ";

// `$` is the IR's name of an integer type, `T` its C++ name, `U` an unsigned type of at least its width, `BITS` its width.
constexpr std::array signed_patterns{
    "T add_$(T a, T b) { return T(U(a) + U(b)); }",
    "T sub_$(T a, T b) { return T(U(a) - U(b)); }",
    "T mul_$(T a, T b) { return T(U(a) * U(b)); }",
    "T neg_$(T a) { return T(0 - U(a)); }",
    "T abs_$(T a) { return a < 0 ? T(0 - U(a)) : a; }",
    "T quo_$(T a, T b) { return b == 0 ? 0 : b == -1 ? T(0 - U(a)) : T(a / b); }",
    "T rem_$(T a, T b) { return b == 0 || b == -1 ? 0 : T(a % b); }",
    "T shl_$(T a, T n) { return n < 0 || n >= BITS ? 0 : T(U(a) << n); }",
    "T shr_$(T a, T n) { return n < 0 || n >= BITS ? T(a < 0 ? -1 : 0) : T(a >> n); }",
};
// u8 alone: what differs.
constexpr std::array unsigned_patterns{
    "T quo_$(T a, T b) { return b == 0 ? 0 : T(a / b); }",
    "T rem_$(T a, T b) { return b == 0 ? 0 : T(a % b); }",
    "T shl_$(T a, T n) { return n >= BITS ? 0 : T(U(a) << n); }",
    "T shr_$(T a, T n) { return n >= BITS ? 0 : T(a >> n); }",
};

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
  return text;
}

// A capital T or U that stands alone is a type.
std::string instantiate(std::string_view pattern, DType type) {
  std::string out;
  for (std::size_t n = 0; n < pattern.size(); ++n) {
    const char next = n + 1 < pattern.size() ? pattern[n + 1] : ' ';
    const bool alone = (next == ' ' || next == '(') && (n == 0 || !std::isalpha(static_cast<unsigned char>(pattern[n - 1])));
    if (pattern[n] == 'T' && alone)
      out += cpp_type(type);
    else if (pattern[n] == 'U' && alone)
      out += type == DType::i64 ? "u64" : "unsigned";
    else if (pattern[n] == '$')
      out += name(type);
    else
      out += pattern[n];
  }
  return replaced(out, "BITS", std::to_string(size_of(type) * 8));
}

void add_types(std::vector<Helper>& out) {
  const auto add = [&](std::string name, std::string_view meaning) {
    out.push_back({name, {}, fmt::format("using {} = {};", name, meaning)});
  };
  add("i8", "signed char");
  add("u8", "unsigned char");
  add("i16", "short");
  add("i64", "long long");
  add("u64", "unsigned long long");
  add("f16", "unsigned short");  // the bits: arithmetic happens in float
  add("bf16", "unsigned short");
}

void add_function(std::vector<Helper>& out, std::string name, std::vector<std::string> needs, std::string_view text) {
  out.push_back({std::move(name), std::move(needs), std::string(function_head) + std::string(text)});
}

void add_integers(std::vector<Helper>& out) {
  for (DType type : {DType::u8, DType::i8, DType::i16, DType::i32, DType::i64}) {
    std::vector<std::string> needs;
    if (type != DType::i32) needs.emplace_back(name(type));
    if (type == DType::i64) needs.emplace_back("u64");
    const auto add = [&](std::string_view pattern) {
      const std::string text = instantiate(pattern, type);
      const std::size_t begin = text.find(' ') + 1;
      add_function(out, text.substr(begin, text.find('(') - begin), needs, text);
    };
    if (type == DType::u8)
      for (std::string_view pattern : unsigned_patterns) add(pattern);
    else
      for (std::string_view pattern : signed_patterns) add(pattern);
  }
}

// Out of range, x86's conversion gives the minimum of a 32- or 64-bit integer; NVIDIA's would saturate.
void add_conversions(std::vector<Helper>& out) {
  add_function(out, "f32_to_i32", {},
               "int f32_to_i32(float a) { return a >= -0x1p31f && a < 0x1p31f ? int(a) : int(0x80000000u); }");
  add_function(out, "f64_to_i32", {},
               "int f64_to_i32(double a) { return a >= -0x1p31 && a < 0x1p31 ? int(a) : int(0x80000000u); }");
  add_function(out, "f32_to_i64", {"i64"},
               "i64 f32_to_i64(float a) { return a >= -0x1p63f && a < 0x1p63f ? i64(a) : i64(0x8000000000000000ull); }");
  add_function(out, "f64_to_i64", {"i64"},
               "i64 f64_to_i64(double a) { return a >= -0x1p63 && a < 0x1p63 ? i64(a) : i64(0x8000000000000000ull); }");
}

void add_halves(std::vector<Helper>& out) {
  add_function(out, "f16_to_f32", {"f16"},
               "float f16_to_f32(f16 a) { float r; asm(\"cvt.f32.f16 %0, %1;\" : \"=f\"(r) : \"h\"(a)); return r; }");
  add_function(out, "f32_to_f16", {"f16"},
               "f16 f32_to_f16(float a) { f16 r; asm(\"cvt.rn.f16.f32 %0, %1;\" : \"=h\"(r) : \"f\"(a)); return r; }");
  add_function(out, "bf16_to_f32", {"bf16"}, "float bf16_to_f32(bf16 a) { return __uint_as_float(unsigned(a) << 16); }");
  add_function(
      out, "f32_to_bf16", {"bf16"},
      "bf16 f32_to_bf16(float a) {\n"
      "  const unsigned bits = __float_as_uint(a);\n"
      "  return bf16((bits & 0x7fffffffu) > 0x7f800000u ? (bits >> 16) | 0x40u : (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);\n"
      "}");
}

// The exponent saturates long before an int would wrap.
void add_floats(std::vector<Helper>& out) {
  add_function(out, "ldexp_f32", {},
               "float ldexp_f32(float a, float n) { return n != n ? a + n : ldexpf(a, int(fminf(fmaxf(n, -5000.0f), 5000.0f))); }");
  add_function(out, "ldexp_f64", {},
               "double ldexp_f64(double a, double n) { return n != n ? a + n : ldexp(a, int(fmin(fmax(n, -5000.0), 5000.0))); }");
}

// Library functions that CUDA lacks; in f32 they compute in f64. Long, so that a copy at each call would take NVRTC minutes.
void add_special_functions(std::vector<Helper>& out) {
  const std::size_t first = out.size();
  // A function needs those before it that its text calls, and what they need.
  const auto add = [&](std::string name, std::string_view text) {
    std::vector<std::string> needs;
    for (std::size_t i = first; i < out.size(); ++i) {
      if (text.find(" " + out[i].name + "(") == std::string_view::npos &&
          text.find("-" + out[i].name + "(") == std::string_view::npos)
        continue;
      needs.push_back(out[i].name);
      needs.insert(needs.end(), out[i].needs.begin(), out[i].needs.end());
    }
    out.push_back({std::move(name), std::move(needs), "__device__ __noinline__ " + std::string(text)});
  };
#define BRAZE_SPECIAL_FUNCTION(name, ...) add(#name, #__VA_ARGS__);
#include "ir/special_functions.def"
  // What kernels call; helpers of others never get this far.
  const auto narrow = [&](std::string_view name, int arity) {
    const bool known =
        std::any_of(out.begin() + static_cast<std::ptrdiff_t>(first), out.end(), [&](const Helper& h) { return h.name == name; });
    if (known && arity == 1)
      add(fmt::format("{}f", name), fmt::format("float {0}f(float a) {{ return float( {0}(double(a))); }}", name));
    if (known && arity == 2)
      add(fmt::format("{}f", name),
          fmt::format("float {0}f(float a, float b) {{ return float( {0}(double(a), double(b))); }}", name));
  };
#define BRAZE_LIBRARY_FUNCTION(name, arity) narrow(#name, arity);
#include "ir/primitives.def"
#undef BRAZE_LIBRARY_FUNCTION
}

const std::vector<Helper>& helpers() {
  static const std::vector<Helper> table = [] {
    std::vector<Helper> out;
    add_types(out);
    add_integers(out);
    add_conversions(out);
    add_halves(out);
    add_floats(out);
    add_special_functions(out);
    return out;
  }();
  return table;
}

}  // namespace

std::string_view cpp_type(DType type) {
  switch (type) {
    case DType::boolean:
      return "bool";
    case DType::i32:
      return "int";
    case DType::f32:
      return "float";
    case DType::f64:
      return "double";
    default:
      return name(type);
  }
}

std::string_view memory_type(DType type) { return cpp_type(type == DType::boolean ? DType::u8 : type); }

std::string_view Prelude::type(DType type) {
  const std::string_view text = cpp_type(type);
  for (const Helper& helper : helpers())
    if (helper.name == text) used_.emplace(text);
  return text;
}

std::string_view Prelude::memory(DType memory) { return type(memory == DType::boolean ? DType::u8 : memory); }

bool Prelude::has(std::string_view name) const {
  return std::any_of(helpers().begin(), helpers().end(), [&](const Helper& helper) { return helper.name == name; });
}

std::string Prelude::call(std::string name) {
  for (const Helper& helper : helpers()) {
    if (helper.name != name) continue;
    used_.insert(name);
    used_.insert(helper.needs.begin(), helper.needs.end());
    return name;
  }
  invariant(false, "no device function is called {}", name);
  return name;
}

std::string Prelude::text() const {
  std::string out;
  for (const Helper& helper : helpers())
    if (used_.contains(helper.name)) out += helper.text + "\n";
  return out;
}

}  // namespace braze::codegen::cuda
