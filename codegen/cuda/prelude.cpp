#include "codegen/cuda/prelude.h"

#include <array>
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
struct Pattern {
  std::string_view name, body;
};
constexpr std::array integer_patterns{
    Pattern{"add_$", "T add_$(T a, T b) { return T(U(a) + U(b)); }"},
    Pattern{"sub_$", "T sub_$(T a, T b) { return T(U(a) - U(b)); }"},
    Pattern{"mul_$", "T mul_$(T a, T b) { return T(U(a) * U(b)); }"},
    Pattern{"neg_$", "T neg_$(T a) { return T(0 - U(a)); }"},
    Pattern{"abs_$", "T abs_$(T a) { return a < 0 ? T(0 - U(a)) : a; }"},
    Pattern{"quo_$", "T quo_$(T a, T b) { return b == 0 ? T(0) : b == T(-1) && T(-1) < T(0) ? T(0 - U(a)) : T(a / b); }"},
    Pattern{"rem_$", "T rem_$(T a, T b) { return b == 0 || (b == T(-1) && T(-1) < T(0)) ? T(0) : T(a % b); }"},
    Pattern{"shl_$", "T shl_$(T a, T n) { return n < 0 || n >= BITS ? T(0) : T(U(a) << n); }"},
    Pattern{"shr_$", "T shr_$(T a, T n) { return n < 0 || n >= BITS ? T(a < 0 ? -1 : 0) : T(a >> n); }"},
};

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
  return text;
}

std::string instantiate(std::string_view pattern, DType type) {
  std::string text = replaced(std::string(pattern), "$", name(type));
  text = replaced(text, "BITS", std::to_string(size_of(type) * 8));
  text = replaced(text, "U(", type == DType::i64 ? "u64(" : "unsigned(");
  for (std::string_view place : {"T(", "T a", "T b", "T n", "T add", "T sub", "T mul", "T neg", "T abs", "T quo", "T rem", "T shl", "T shr"}) {
    std::string typed(place);
    typed.replace(0, 1, cpp_type(type));
    text = replaced(text, place, typed);
  }
  return text;
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
  add("f16", "unsigned short");   // the bits: arithmetic happens in float
  add("bf16", "unsigned short");
}

void add_function(std::vector<Helper>& out, std::string name, std::vector<std::string> needs, std::string_view text) {
  out.push_back({std::move(name), std::move(needs), std::string(function_head) + std::string(text)});
}

void add_integers(std::vector<Helper>& out) {
  for (DType type : {DType::u8, DType::i8, DType::i16, DType::i32, DType::i64})
    for (const Pattern& pattern : integer_patterns) {
      std::vector<std::string> needs;
      if (type != DType::i32) needs.emplace_back(name(type));
      if (type == DType::i64) needs.emplace_back("u64");
      add_function(out, instantiate(pattern.name, type), needs, instantiate(pattern.body, type));
    }
}

// Out of range, x86's conversion gives the minimum of a 32- or 64-bit integer; NVIDIA's would saturate.
void add_conversions(std::vector<Helper>& out) {
  add_function(out, "f32_to_i32", {}, "int f32_to_i32(float a) { return a >= -0x1p31f && a < 0x1p31f ? int(a) : int(0x80000000u); }");
  add_function(out, "f64_to_i32", {}, "int f64_to_i32(double a) { return a > -0x1.00000002p31 && a < 0x1p31 ? int(a) : int(0x80000000u); }");
  add_function(out, "f32_to_i64", {"i64"}, "i64 f32_to_i64(float a) { return a >= -0x1p63f && a < 0x1p63f ? i64(a) : i64(0x8000000000000000ull); }");
  add_function(out, "f64_to_i64", {"i64"}, "i64 f64_to_i64(double a) { return a >= -0x1p63 && a < 0x1p63 ? i64(a) : i64(0x8000000000000000ull); }");
}

void add_halves(std::vector<Helper>& out) {
  add_function(out, "f16_to_f32", {"f16"},
               "float f16_to_f32(f16 a) { float r; asm(\"cvt.f32.f16 %0, %1;\" : \"=f\"(r) : \"h\"(a)); return r; }");
  add_function(out, "f32_to_f16", {"f16"},
               "f16 f32_to_f16(float a) { f16 r; asm(\"cvt.rn.f16.f32 %0, %1;\" : \"=h\"(r) : \"f\"(a)); return r; }");
  add_function(out, "bf16_to_f32", {"bf16"}, "float bf16_to_f32(bf16 a) { return __uint_as_float(unsigned(a) << 16); }");
  add_function(out, "f32_to_bf16", {"bf16"},
               "bf16 f32_to_bf16(float a) {\n"
               "  const unsigned bits = __float_as_uint(a);\n"
               "  return bf16((bits & 0x7fffffffu) > 0x7f800000u ? (bits >> 16) | 0x40u : (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);\n"
               "}");
}

// The exponent saturates long before an int would wrap.
void add_floats(std::vector<Helper>& out) {
  add_function(out, "ldexp_f32", {}, "float ldexp_f32(float a, float n) { return ldexpf(a, int(fminf(fmaxf(n, -5000.0f), 5000.0f))); }");
  add_function(out, "ldexp_f64", {}, "double ldexp_f64(double a, double n) { return ldexp(a, int(fmin(fmax(n, -5000.0), 5000.0))); }");
}

const std::vector<Helper>& helpers() {
  static const std::vector<Helper> table = [] {
    std::vector<Helper> out;
    add_types(out);
    add_integers(out);
    add_conversions(out);
    add_halves(out);
    add_floats(out);
    return out;
  }();
  return table;
}

}  // namespace

std::string_view cpp_type(DType type) {
  switch (type) {
    case DType::boolean: return "bool";
    case DType::i32: return "int";
    case DType::f32: return "float";
    case DType::f64: return "double";
    default: return name(type);
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
