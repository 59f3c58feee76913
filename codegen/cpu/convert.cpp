// Numeric conversions. What C++ leaves undefined takes the value that x86's own instructions give, on every width.
#include <llvm/IR/Constants.h>
#include <llvm/IR/DerivedTypes.h>
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/IntrinsicsX86.h>

#include "codegen/cpu/instructions.h"
#include "ir/error.h"

namespace braze::codegen::cpu {

llvm::Value* Instructions::convert(DType to, DType from, llvm::Value* x) {
  const unsigned lanes = lanes_of(x);
  if (to == from) return x;
  if (to == DType::boolean) {
    if (is_half(from)) return b.CreateICmpNE(b.CreateAnd(x, like_int(x, 0x7fff)), like_int(x, 0));
    if (is_float(from)) return b.CreateFCmpUNE(x, like(x, 0));
    return b.CreateICmpNE(x, like_int(x, 0));
  }
  if (from == DType::boolean) {
    const std::uint64_t one = to == DType::f16    ? 0x3c00u
                              : to == DType::bf16 ? 0x3f80u
                              : to == DType::f32  ? 0x3f800000u
                                                  : 0x3ff0000000000000u;
    if (is_float(to)) return b.CreateSelect(x, constant(to, one, lanes), constant(to, 0, lanes));
    return b.CreateZExt(x, type(to, lanes));
  }
  if (from == DType::f16) return convert(to, DType::f32, half_to_float(x));
  if (from == DType::bf16) return convert(to, DType::f32, bfloat_to_float(x));
  if (to == DType::f16) {
    llvm::Value* single = convert(DType::f32, from, x);
    // Without the fence a copysign moves behind both roundings, and its f64 sign becomes a half by a library call.
    if (from == DType::f64) single = b.CreateArithmeticFence(single, single->getType());
    return float_to_half(single);
  }
  if (to == DType::bf16) return float_to_bfloat(convert(DType::f32, from, x));
  if (is_float(to) && is_float(from))
    return to == DType::f64 ? b.CreateFPExt(x, type(to, lanes)) : b.CreateFPTrunc(x, type(to, lanes));
  if (is_float(to)) return int_to_float(to, from, x);
  if (is_float(from)) return float_to_int(to, from, x);
  if (size_of(to) <= size_of(from)) return b.CreateTrunc(x, type(to, lanes));
  return is_signed(from) ? b.CreateSExt(x, type(to, lanes)) : b.CreateZExt(x, type(to, lanes));
}

llvm::Value* Instructions::int_to_float(DType to, DType from, llvm::Value* x) {
  const unsigned lanes = lanes_of(x);
  if (size_of(from) < 4) {  // through i32, which vector units convert
    llvm::Type* const words = type(DType::i32, lanes);
    x = is_signed(from) ? b.CreateSExt(x, words) : b.CreateZExt(x, words);
  }
  return b.CreateSIToFP(x, type(to, lanes));
}

llvm::Value* Instructions::float_to_int(DType to, DType from, llvm::Value* x) {
  const unsigned lanes = lanes_of(x);
  // u8 goes through i64; from f32 the way through i32 gives the same bits.
  const bool through_i64 = to == DType::i64 || (to == DType::u8 && from == DType::f64);
  llvm::Value* const whole = truncate_to(through_i64 ? 64 : 32, x);
  return b.CreateTrunc(whole, type(to, lanes));
}

// cvtt: values out of range, infinities and NaN give the minimum.
llvm::Value* Instructions::truncate_to(unsigned bits, llvm::Value* x) {
  using namespace llvm::Intrinsic;
  const bool single = x->getType()->getScalarType()->isFloatTy();
  const unsigned lanes = lanes_of(x);
  const auto masked = [&](ID id, unsigned result_lanes, bool rounding, llvm::Value* piece) -> llvm::Value* {
    llvm::Type* const result = llvm::FixedVectorType::get(b.getIntNTy(bits), result_lanes);
    llvm::SmallVector<llvm::Value*, 4> arguments{piece, llvm::Constant::getNullValue(result),
                                                 llvm::Constant::getAllOnesValue(b.getIntNTy(std::max(result_lanes, 8u)))};
    if (rounding) arguments.push_back(b.getInt32(4));
    return intrinsic(id, {}, arguments);
  };
  if (lanes > 1 && bits == 32) {
    if (single && features_.avx512 && lanes >= 16)
      return in_pieces(x, 16, [&](llvm::Value* p) { return masked(x86_avx512_mask_cvttps2dq_512, 16, true, p); });
    if (single && features_.avx && lanes >= 8)
      return in_pieces(x, 8, [&](llvm::Value* p) { return intrinsic(x86_avx_cvtt_ps2dq_256, {}, {p}); });
    if (single) return in_pieces(x, 4, [&](llvm::Value* p) { return intrinsic(x86_sse2_cvttps2dq, {}, {p}); });
    if (features_.avx512 && lanes >= 8)
      return in_pieces(x, 8, [&](llvm::Value* p) { return masked(x86_avx512_mask_cvttpd2dq_512, 8, true, p); });
    if (features_.avx && lanes >= 4)
      return in_pieces(x, 4, [&](llvm::Value* p) { return intrinsic(x86_avx_cvtt_pd2dq_256, {}, {p}); });
    return in_pieces(x, 2, [&](llvm::Value* p) { return slice(intrinsic(x86_sse2_cvttpd2dq, {}, {p}), 0, 2); });
  }
  if (lanes >= 8 && features_.avx512)
    return in_pieces(x, 8, [&](llvm::Value* p) {
      return masked(single ? x86_avx512_mask_cvttps2qq_512 : x86_avx512_mask_cvttpd2qq_512, 8, true, p);
    });
  const ID one = single       ? (bits == 64 ? x86_sse_cvttss2si64 : x86_sse_cvttss2si)
                 : bits == 64 ? x86_sse2_cvttsd2si64
                              : x86_sse2_cvttsd2si;
  llvm::Type* const holder = llvm::FixedVectorType::get(x->getType()->getScalarType(), single ? 4 : 2);
  llvm::Value* result = llvm::PoisonValue::get(llvm::FixedVectorType::get(b.getIntNTy(bits), lanes));
  for (unsigned lane = 0; lane < lanes; ++lane) {
    llvm::Value* const element = lanes == 1 ? x : b.CreateExtractElement(x, lane);
    llvm::Value* const whole =
        intrinsic(one, {}, {b.CreateInsertElement(llvm::Constant::getNullValue(holder), element, std::uint64_t{0})});
    if (lanes == 1) return whole;
    result = b.CreateInsertElement(result, whole, lane);
  }
  return result;
}

llvm::Value* Instructions::half_to_float(llvm::Value* x) {
  const unsigned lanes = lanes_of(x);
  llvm::Type *const floats = type(DType::f32, lanes), *const words = type(DType::i32, lanes);
  if (features_.f16c) {
    llvm::Type* const half = llvm::Type::getHalfTy(b.getContext());
    return b.CreateFPExt(b.CreateBitCast(x, lanes == 1 ? half : llvm::FixedVectorType::get(half, lanes)), floats);
  }
  llvm::Value* const wide = b.CreateZExt(x, words);
  llvm::Value* const magnitude = b.CreateAnd(wide, like_int(wide, 0x7fff));
  llvm::Value* const sign = b.CreateShl(b.CreateXor(wide, magnitude), like_int(wide, 16));
  llvm::Value* const shifted = b.CreateShl(magnitude, like_int(wide, 13));
  // Read as an f32, a finite half is too small by 2^112, subnormals included.
  llvm::Value* const as_float = b.CreateBitCast(shifted, floats);
  llvm::Value* const finite = b.CreateBitCast(b.CreateFMul(as_float, like(as_float, 0x1p112)), words);
  llvm::Value* const quiet =
      b.CreateSelect(b.CreateICmpUGT(magnitude, like_int(wide, 0x7c00)), like_int(wide, 0x7fc00000), like_int(wide, 0x7f800000));
  llvm::Value* const special = b.CreateOr(shifted, quiet);
  llvm::Value* const bits = b.CreateSelect(b.CreateICmpULT(magnitude, like_int(wide, 0x7c00)), finite, special);
  return b.CreateBitCast(b.CreateOr(bits, sign), floats);
}

llvm::Value* Instructions::float_to_half(llvm::Value* x) {
  const unsigned lanes = lanes_of(x);
  if (features_.f16c) {
    llvm::Type* const half = llvm::Type::getHalfTy(b.getContext());
    return b.CreateBitCast(b.CreateFPTrunc(x, lanes == 1 ? half : llvm::FixedVectorType::get(half, lanes)),
                           type(DType::f16, lanes));
  }
  llvm::Value* const bits = b.CreateBitCast(x, type(DType::i32, lanes));
  llvm::Value* const magnitude = b.CreateAnd(bits, like_int(bits, 0x7fffffff));
  llvm::Value* const sign = b.CreateLShr(b.CreateXor(bits, magnitude), like_int(bits, 16));
  llvm::Value* const kept = b.CreateLShr(magnitude, like_int(bits, 13));
  llvm::Value* const odd = b.CreateAnd(kept, like_int(bits, 1));
  llvm::Value* const normal =
      b.CreateLShr(b.CreateAdd(b.CreateAdd(magnitude, like_int(bits, 0xfff - (112 << 23))), odd), like_int(bits, 13));
  // Adding 1/2, whose last place is the smallest subnormal half, rounds to that place.
  llvm::Value* const rounded = b.CreateFAdd(b.CreateBitCast(magnitude, x->getType()), like(x, 0.5));
  llvm::Value* const subnormal = b.CreateSub(b.CreateBitCast(rounded, bits->getType()), like_int(bits, 0x3f000000));
  llvm::Value* result = b.CreateSelect(b.CreateICmpULT(magnitude, like_int(bits, 0x38800000)), subnormal, normal);
  result = b.CreateSelect(b.CreateICmpULT(magnitude, like_int(bits, 0x47800000)), result, like_int(bits, 0x7c00));
  llvm::Value* const nan = b.CreateOr(b.CreateAnd(kept, like_int(bits, 0x3ff)), like_int(bits, 0x7e00));
  result = b.CreateSelect(b.CreateICmpUGT(magnitude, like_int(bits, 0x7f800000)), nan, result);
  return b.CreateTrunc(b.CreateOr(result, sign), type(DType::f16, lanes));
}

llvm::Value* Instructions::bfloat_to_float(llvm::Value* x) {
  const unsigned lanes = lanes_of(x);
  llvm::Value* const wide = b.CreateZExt(x, type(DType::i32, lanes));
  return b.CreateBitCast(b.CreateShl(wide, like_int(wide, 16)), type(DType::f32, lanes));
}

// In integers: `fptrunc` to bfloat may become a library call.
llvm::Value* Instructions::float_to_bfloat(llvm::Value* x) {
  const unsigned lanes = lanes_of(x);
  llvm::Value* const bits = b.CreateBitCast(x, type(DType::i32, lanes));
  llvm::Value* const upper = b.CreateLShr(bits, like_int(bits, 16));
  llvm::Value* const odd = b.CreateAnd(upper, like_int(bits, 1));
  llvm::Value* const rounded = b.CreateLShr(b.CreateAdd(b.CreateAdd(bits, like_int(bits, 0x7fff)), odd), like_int(bits, 16));
  llvm::Value* const result = b.CreateSelect(b.CreateFCmpUNO(x, x), b.CreateOr(upper, like_int(bits, 0x40)), rounded);
  return b.CreateTrunc(result, type(DType::bf16, lanes));
}

}  // namespace braze::codegen::cpu
