// Element types. Half types are storage formats: arithmetic on them is done in f32 and rounded after every op.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace braze {

// `boolean` is one byte in memory, 0 or 1. Order is promotion order within a category.
enum class DType : std::uint8_t { boolean, u8, i8, i16, i32, i64, f16, bf16, f32, f64 };

inline constexpr int dtype_count = 10;
inline constexpr std::array<DType, dtype_count> all_dtypes = {DType::boolean, DType::u8,  DType::i8,   DType::i16, DType::i32,
                                                              DType::i64,     DType::f16, DType::bf16, DType::f32, DType::f64};

struct DTypeInfo {
  std::string_view name;         // in IR text: "f32"
  std::string_view torch_name;   // as PyTorch spells it: "float32"
  std::string_view scalar_name;  // as PyTorch's messages call it: "Float"
  std::uint8_t size;             // bytes
  bool is_float, is_signed;
};

inline constexpr std::array<DTypeInfo, dtype_count> dtype_table = {{
    {"bool", "bool", "Bool", 1, false, false},
    {"u8", "uint8", "Byte", 1, false, false},
    {"i8", "int8", "Char", 1, false, true},
    {"i16", "int16", "Short", 2, false, true},
    {"i32", "int32", "Int", 4, false, true},
    {"i64", "int64", "Long", 8, false, true},
    {"f16", "float16", "Half", 2, true, true},
    {"bf16", "bfloat16", "BFloat16", 2, true, true},
    {"f32", "float32", "Float", 4, true, true},
    {"f64", "float64", "Double", 8, true, true},
}};

constexpr const DTypeInfo& info(DType t) { return dtype_table[static_cast<std::size_t>(t)]; }
constexpr std::string_view name(DType t) { return info(t).name; }
constexpr int size_of(DType t) { return info(t).size; }
constexpr bool is_float(DType t) { return info(t).is_float; }
constexpr bool is_half(DType t) { return t == DType::f16 || t == DType::bf16; }
constexpr bool is_integer(DType t) { return !is_float(t) && t != DType::boolean; }
constexpr bool is_signed(DType t) { return info(t).is_signed; }

// The type in which arithmetic on `t` happens: f32 for the halves, `t` itself otherwise.
constexpr DType compute_type(DType t) { return is_half(t) ? DType::f32 : t; }

// The inverse of name(); nullopt for an unknown name.
constexpr std::optional<DType> dtype_from_name(std::string_view text) {
  for (DType t : all_dtypes)
    if (name(t) == text) return t;
  return std::nullopt;
}

}  // namespace braze
