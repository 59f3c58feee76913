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

// The IR's dtypes, which `all_dtypes` lists, the tables of every layer below the frontend are sized by, and text can name.
inline constexpr int dtype_count = 10;
inline constexpr std::array<DType, dtype_count> all_dtypes = {DType::boolean, DType::u8,  DType::i8,   DType::i16, DType::i32,
                                                              DType::i64,     DType::f16, DType::bf16, DType::f32, DType::f64};

// The surface has two more, which exist in the frontend alone: it records operations on them as operations on pairs of reals
// (frontend/complex.h). They are no enumerators, so that a switch over the IR's dtypes is complete without them.
inline constexpr DType complex64 = DType{10}, complex128 = DType{11};
inline constexpr int surface_dtype_count = 12;

struct DTypeInfo {
  std::string_view name;         // in IR text: "f32"
  std::string_view torch_name;   // as PyTorch spells it: "float32"
  std::string_view scalar_name;  // as PyTorch's messages call it: "Float"
  std::uint8_t size;             // bytes
  bool is_float, is_signed;
};

inline constexpr std::array<DTypeInfo, surface_dtype_count> dtype_table = {{
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
    {"c64", "complex64", "ComplexFloat", 8, false, true},
    {"c128", "complex128", "ComplexDouble", 16, false, true},
}};

constexpr const DTypeInfo& info(DType t) { return dtype_table[static_cast<std::size_t>(t)]; }
constexpr std::string_view name(DType t) { return info(t).name; }
constexpr int size_of(DType t) { return info(t).size; }
constexpr bool is_float(DType t) { return info(t).is_float; }
constexpr bool is_half(DType t) { return t == DType::f16 || t == DType::bf16; }
constexpr bool is_complex(DType t) { return t >= complex64; }
constexpr bool is_integer(DType t) { return !is_float(t) && !is_complex(t) && t != DType::boolean; }
constexpr bool is_signed(DType t) { return info(t).is_signed; }

// The type in which arithmetic on `t` happens: f32 for the halves, `t` itself otherwise.
constexpr DType compute_type(DType t) { return is_half(t) ? DType::f32 : t; }

// What a complex type is a pair of: f32 for complex64, f64 for complex128; `t` itself otherwise.
constexpr DType component_type(DType t) { return t == complex64 ? DType::f32 : t == complex128 ? DType::f64 : t; }
// The complex type whose parts hold the floating type `t`; `t` itself where it is complex.
constexpr DType complex_type(DType t) { return is_complex(t) ? t : t == DType::f64 ? complex128 : complex64; }

// The inverse of name() among the IR's dtypes; nullopt for an unknown name.
constexpr std::optional<DType> dtype_from_name(std::string_view text) {
  for (DType t : all_dtypes)
    if (name(t) == text) return t;
  return std::nullopt;
}

}  // namespace braze
