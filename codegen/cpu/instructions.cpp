#include "codegen/cpu/instructions.h"

#include <llvm/IR/Constants.h>
#include <llvm/IR/DerivedTypes.h>
#include <llvm/IR/Function.h>
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/IntrinsicsX86.h>
#include <llvm/IR/Module.h>

#include <algorithm>

#include "ir/error.h"

namespace braze::codegen::cpu {

using ir::Primitive;

Features::Features(const ir::CpuTarget& target) {
  const auto has = [&](const char* feature) {
    return std::find(target.features.begin(), target.features.end(), feature) != target.features.end();
  };
  avx512 = target.has_avx512;
  avx2 = avx512 || has("+avx2");
  avx = avx2 || has("+avx");
  sse41 = avx || has("+sse4.1");
  f16c = avx512 || has("+f16c");
  fma = avx512 || target.has_fma;
  vector_bytes = static_cast<unsigned>(target.vector_bytes);
}

unsigned lanes_of(const llvm::Value* value) {
  const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(value->getType());
  return vector ? vector->getNumElements() : 1;
}

llvm::Type* Instructions::type(DType t, unsigned lanes) {
  llvm::Type* scalar = nullptr;
  switch (t) {
    case DType::boolean:
      scalar = b.getInt1Ty();
      break;
    case DType::u8:
    case DType::i8:
      scalar = b.getInt8Ty();
      break;
    case DType::i16:
    case DType::f16:
    case DType::bf16:
      scalar = b.getInt16Ty();
      break;
    case DType::i32:
      scalar = b.getInt32Ty();
      break;
    case DType::i64:
      scalar = b.getInt64Ty();
      break;
    case DType::f32:
      scalar = b.getFloatTy();
      break;
    case DType::f64:
      scalar = b.getDoubleTy();
      break;
  }
  return lanes == 1 ? scalar : llvm::FixedVectorType::get(scalar, lanes);
}

llvm::Constant* Instructions::constant(DType t, std::uint64_t bits, unsigned lanes) {
  llvm::Type* const scalar = type(t, 1);
  llvm::Constant* value = nullptr;
  if (t == DType::f32)
    value = llvm::ConstantFP::get(b.getContext(), llvm::APFloat(llvm::APFloat::IEEEsingle(), llvm::APInt(32, bits & 0xffffffffu)));
  else if (t == DType::f64)
    value = llvm::ConstantFP::get(b.getContext(), llvm::APFloat(llvm::APFloat::IEEEdouble(), llvm::APInt(64, bits)));
  else
    value = llvm::ConstantInt::get(scalar, llvm::APInt(64, bits).trunc(scalar->getIntegerBitWidth()));
  return lanes == 1 ? value : llvm::ConstantVector::getSplat(llvm::ElementCount::getFixed(lanes), value);
}

llvm::Value* Instructions::splat(llvm::Value* scalar, unsigned lanes) {
  if (lanes == 1 || lanes_of(scalar) > 1) return scalar;
  if (auto* known = llvm::dyn_cast<llvm::Constant>(scalar))
    return llvm::ConstantVector::getSplat(llvm::ElementCount::getFixed(lanes), known);
  return b.CreateVectorSplat(lanes, scalar);
}

llvm::Value* Instructions::slice(llvm::Value* vector, unsigned first, unsigned lanes) {
  if (lanes == lanes_of(vector)) return vector;
  if (lanes == 1) return b.CreateExtractElement(vector, first);
  llvm::SmallVector<int, 64> mask(lanes);
  for (unsigned k = 0; k < lanes; ++k) mask[k] = static_cast<int>(first + k);
  return b.CreateShuffleVector(vector, mask);
}

llvm::Value* Instructions::join(std::span<llvm::Value* const> pieces) {
  llvm::SmallVector<llvm::Value*, 8> level(pieces.begin(), pieces.end());
  while (level.size() > 1) {
    const unsigned lanes = lanes_of(level[0]);
    llvm::SmallVector<int, 64> mask(2 * lanes);
    for (unsigned k = 0; k < 2 * lanes; ++k) mask[k] = static_cast<int>(k);
    for (std::size_t i = 0; i < level.size() / 2; ++i) level[i] = b.CreateShuffleVector(level[2 * i], level[2 * i + 1], mask);
    level.resize(level.size() / 2);
  }
  return level[0];
}

llvm::AllocaInst* Instructions::slot(llvm::Type* type, const char* name) {
  llvm::BasicBlock& entry = b.GetInsertBlock()->getParent()->getEntryBlock();
  llvm::IRBuilder<> at_entry(&entry, entry.begin());
  llvm::AllocaInst* const made = at_entry.CreateAlloca(type, nullptr, name);
  made->setAlignment(llvm::Align(64));
  return made;
}

void Instructions::for_each_lane(llvm::Value* count, llvm::function_ref<void(llvm::Value*)> body) {
  llvm::BasicBlock* const before = b.GetInsertBlock();
  llvm::Function* const function = before->getParent();
  llvm::BasicBlock* const loop = llvm::BasicBlock::Create(b.getContext(), "lane", function);
  llvm::BasicBlock* const after = llvm::BasicBlock::Create(b.getContext(), "lanes_done", function);
  b.CreateCondBr(b.CreateICmpNE(count, b.getInt64(0)), loop, after);
  b.SetInsertPoint(loop);
  llvm::PHINode* const lane = b.CreatePHI(b.getInt64Ty(), 2);
  lane->addIncoming(b.getInt64(0), before);
  body(lane);
  llvm::Value* const next = b.CreateAdd(lane, b.getInt64(1));
  lane->addIncoming(next, b.GetInsertBlock());
  b.CreateCondBr(b.CreateICmpULT(next, count), loop, after);
  b.SetInsertPoint(after);
}

llvm::Value* Instructions::intrinsic(llvm::Intrinsic::ID id, llvm::ArrayRef<llvm::Type*> types,
                                     llvm::ArrayRef<llvm::Value*> arguments) {
  return b.CreateIntrinsic(id, types, arguments);
}

llvm::Constant* Instructions::like(const llvm::Value* x, double value) { return llvm::ConstantFP::get(x->getType(), value); }

llvm::Constant* Instructions::like_int(const llvm::Value* x, std::int64_t value) {
  return llvm::ConstantInt::get(x->getType(), static_cast<std::uint64_t>(value), true);
}

llvm::Type* Instructions::int_type_like(const llvm::Value* x) {
  llvm::Type* const scalar = b.getIntNTy(x->getType()->getScalarSizeInBits());
  return lanes_of(x) == 1 ? scalar : llvm::FixedVectorType::get(scalar, lanes_of(x));
}

llvm::Value* Instructions::in_pieces(llvm::Value* x, unsigned native, llvm::function_ref<llvm::Value*(llvm::Value*)> piece) {
  const unsigned lanes = lanes_of(x);
  if (lanes == native) return piece(x);
  if (lanes < native) {
    llvm::Value* const zero = llvm::Constant::getNullValue(llvm::FixedVectorType::get(x->getType()->getScalarType(), native));
    if (lanes == 1) return b.CreateExtractElement(piece(b.CreateInsertElement(zero, x, std::uint64_t{0})), std::uint64_t{0});
    llvm::SmallVector<int, 16> mask(native);
    for (unsigned k = 0; k < native; ++k) mask[k] = static_cast<int>(std::min(k, lanes));  // lane `lanes` is a zero
    return slice(piece(b.CreateShuffleVector(x, llvm::Constant::getNullValue(x->getType()), mask)), 0, lanes);
  }
  llvm::SmallVector<llvm::Value*, 8> results;
  for (unsigned first = 0; first < lanes; first += native) results.push_back(piece(slice(x, first, native)));
  return join(results);
}

llvm::Value* Instructions::emit(const ir::Instruction& i, std::span<llvm::Value* const> in, Range last) {
  switch (i.op) {
    case Primitive::constant:
      return constant(i.type, i.payload);
    case Primitive::select:
      return b.CreateSelect(in[0], in[1], in[2]);
    case Primitive::eq:
    case Primitive::ne:
    case Primitive::lt:
    case Primitive::le:
      return compare(i, in[0], in[1]);
    case Primitive::convert:
      return convert(i.type, i.from, in[0]);
    case Primitive::bitcast:
      return b.CreateBitCast(in[0], type(i.type, lanes_of(in[0])));
    case Primitive::quo:
    case Primitive::rem:
      return divide(i, in[0], in[1]);
    case Primitive::shl:
    case Primitive::shr:
      return shift(i, in[0], in[1]);
    case Primitive::floor:
    case Primitive::ceil:
    case Primitive::trunc:
    case Primitive::round_even:
      return rounding(i.op, in[0]);
    case Primitive::ldexp:
      return features_.avx512 ? scalef(in[0], in[1], last) : ldexp(in[0], in[1], last);
    case Primitive::fma:
      if (!features_.fma) return i.type == DType::f32 ? fma_in_f64(in[0], in[1], in[2]) : call_each("fma", in);
      return intrinsic(llvm::Intrinsic::fma, {in[0]->getType()}, {in[0], in[1], in[2]});
    case Primitive::call: {
      const auto& function = ir::info(static_cast<ir::LibraryFunction>(i.payload));
      const std::string_view symbol = i.type == DType::f32 ? function.name_f32 : function.name;
      return call_each(std::string(symbol).c_str(), in.first(function.arity));
    }
    case Primitive::check:
      return in[0];
    default:
      return arithmetic(i, in);
  }
}

llvm::Value* Instructions::arithmetic(const ir::Instruction& i, std::span<llvm::Value* const> in) {
  const bool floating = is_float(i.type);
  switch (i.op) {
    case Primitive::add:
      return floating ? b.CreateFAdd(in[0], in[1]) : b.CreateAdd(in[0], in[1]);
    case Primitive::sub:
      return floating ? b.CreateFSub(in[0], in[1]) : b.CreateSub(in[0], in[1]);
    case Primitive::mul:
      return floating ? b.CreateFMul(in[0], in[1]) : b.CreateMul(in[0], in[1]);
    case Primitive::neg:
      return floating ? b.CreateFNeg(in[0]) : b.CreateNeg(in[0]);
    case Primitive::abs:
      if (floating) return intrinsic(llvm::Intrinsic::fabs, {in[0]->getType()}, {in[0]});
      if (!is_signed(i.type)) return in[0];
      return intrinsic(llvm::Intrinsic::abs, {in[0]->getType()}, {in[0], b.getFalse()});
    case Primitive::div:
      return b.CreateFDiv(in[0], in[1]);
    case Primitive::sqrt:
      return intrinsic(llvm::Intrinsic::sqrt, {in[0]->getType()}, {in[0]});
    case Primitive::copysign:
      return intrinsic(llvm::Intrinsic::copysign, {in[0]->getType()}, {in[0], in[1]});
    case Primitive::bit_and:
      return b.CreateAnd(in[0], in[1]);
    case Primitive::bit_or:
      return b.CreateOr(in[0], in[1]);
    case Primitive::bit_xor:
      return b.CreateXor(in[0], in[1]);
    default:
      break;
  }
  invariant(false, "no instruction for primitive {}", info(i.op).name);
  return nullptr;
}

llvm::Value* Instructions::compare(const ir::Instruction& i, llvm::Value* a, llvm::Value* c) {
  using P = llvm::CmpInst::Predicate;
  const bool floating = is_float(i.from), is_signed_from = is_signed(i.from);
  switch (i.op) {
    case Primitive::eq:
      return b.CreateCmp(floating ? P::FCMP_OEQ : P::ICMP_EQ, a, c);
    case Primitive::ne:
      return b.CreateCmp(floating ? P::FCMP_UNE : P::ICMP_NE, a, c);
    case Primitive::lt:
      return b.CreateCmp(floating ? P::FCMP_OLT : is_signed_from ? P::ICMP_SLT : P::ICMP_ULT, a, c);
    default:
      return b.CreateCmp(floating ? P::FCMP_OLE : is_signed_from ? P::ICMP_SLE : P::ICMP_ULE, a, c);
  }
}

llvm::Value* Instructions::shift(const ir::Instruction& i, llvm::Value* a, llvm::Value* count) {
  // A count outside [0, bits), negative ones included, is a large unsigned number.
  llvm::Constant* const bits = like_int(a, 8 * size_of(i.type));
  if (i.op == Primitive::shr && is_signed(i.type)) {
    llvm::Constant* const last = like_int(a, 8 * size_of(i.type) - 1);
    return b.CreateAShr(a, intrinsic(llvm::Intrinsic::umin, {a->getType()}, {count, last}));
  }
  llvm::Value* const shifted = i.op == Primitive::shl ? b.CreateShl(a, count) : b.CreateLShr(a, count);
  return b.CreateSelect(b.CreateICmpULT(count, bits), shifted, llvm::Constant::getNullValue(a->getType()));
}

// Vectors of up to 32-bit integers divide as floats of more than twice the width: the rounded quotient of two n-bit
// integers truncates to the exact one where the significand has at least 2n bits or the gap to the next integer, 1/b of
// the whole, exceeds the rounding error, which 24 bits give for 16 and 53 for 32.
llvm::Value* Instructions::exact_quotient(DType t, llvm::Value* a, llvm::Value* c) {
  const unsigned lanes = lanes_of(a);
  if (lanes > 1 && t == DType::i64) return wide_quotient(a, c);
  if (lanes == 1) return is_signed(t) ? b.CreateSDiv(a, c) : b.CreateUDiv(a, c);
  const DType wide = t == DType::i32 ? DType::f64 : DType::f32;
  llvm::Type* const floats = type(wide, lanes);
  llvm::Type* const words = type(DType::i32, lanes);
  const auto widened = [&](llvm::Value* x) {
    return b.CreateSIToFP(is_signed(t) ? b.CreateSExt(x, words) : b.CreateZExt(x, words), floats);
  };
  return b.CreateTrunc(b.CreateFPToSI(b.CreateFDiv(widened(a), widened(c)), words), a->getType());
}

// Vectors of i64: as f64 where all lanes are below 2^51, by the same reasoning, else lane by lane. Indices always are, and dozens of them in
// one kernel must not be dozens of divisions a lane. An integer below 2^51 is a f64 by way of the low bits of 1.5 * 2^52.
llvm::Value* Instructions::wide_quotient(llvm::Value* a, llvm::Value* c) {
  const unsigned lanes = lanes_of(a);
  llvm::Type* const floats = type(DType::f64, lanes);
  constexpr double magic = 0x1.8p52;
  constexpr std::int64_t bits_of_magic = 0x4338000000000000, most = std::int64_t{1} << 51;
  llvm::Constant* const shift = llvm::ConstantFP::get(floats, magic);
  const auto is_small = [&](llvm::Value* x) { return b.CreateICmpULT(b.CreateAdd(x, like_int(x, most)), like_int(x, 2 * most)); };
  const auto as_float = [&](llvm::Value* x) {
    return b.CreateFSub(b.CreateBitCast(b.CreateAdd(x, like_int(x, bits_of_magic)), floats), shift);
  };
  llvm::Function* const function = b.GetInsertBlock()->getParent();
  const auto block = [&](const char* name) { return llvm::BasicBlock::Create(b.getContext(), name, function); };
  llvm::BasicBlock *const at_once = block("small"), *const one_by_one = block("large"), *const after = block("divided");
  llvm::Value* const fits = b.CreateBitCast(b.CreateAnd(is_small(a), is_small(c)), b.getIntNTy(lanes));
  b.CreateCondBr(b.CreateICmpEQ(fits, llvm::Constant::getAllOnesValue(fits->getType())), at_once, one_by_one);

  b.SetInsertPoint(at_once);
  llvm::Value* const whole = rounding(Primitive::trunc, b.CreateFDiv(as_float(a), as_float(c)));
  llvm::Value* const first = b.CreateSub(b.CreateBitCast(b.CreateFAdd(whole, shift), a->getType()), like_int(a, bits_of_magic));
  llvm::BasicBlock* const first_end = b.GetInsertBlock();
  b.CreateBr(after);

  b.SetInsertPoint(one_by_one);
  llvm::AllocaInst *const numerators = slot(a->getType(), "numerators"), *const denominators = slot(a->getType(), "denominators");
  b.CreateStore(a, numerators);
  b.CreateStore(c, denominators);
  llvm::Type* const word = b.getInt64Ty();
  for_each_lane(b.getInt64(lanes), [&](llvm::Value* lane) {
    llvm::Value* const place = b.CreateGEP(word, numerators, lane);
    llvm::Value* const divisor = b.CreateLoad(word, b.CreateGEP(word, denominators, lane));
    b.CreateStore(b.CreateSDiv(b.CreateLoad(word, place), divisor), place);
  });
  llvm::Value* const second = b.CreateLoad(a->getType(), numerators);
  llvm::BasicBlock* const second_end = b.GetInsertBlock();
  b.CreateBr(after);

  b.SetInsertPoint(after);
  llvm::PHINode* const result = b.CreatePHI(a->getType(), 2);
  result->addIncoming(first, first_end);
  result->addIncoming(second, second_end);
  return result;
}

llvm::Value* Instructions::divide(const ir::Instruction& i, llvm::Value* a, llvm::Value* c) {
  llvm::Constant* const zero = like_int(a, 0);
  llvm::Value* const by_zero = b.CreateICmpEQ(c, zero);
  llvm::Value* unsafe = by_zero;
  if (is_signed(i.type)) {  // minimum / -1 wraps to the minimum, which dividing by 1 gives too; both remainders are 0
    llvm::Constant* const minimum = llvm::ConstantInt::get(a->getType(), llvm::APInt::getSignedMinValue(8 * size_of(i.type)));
    unsafe = b.CreateOr(by_zero, b.CreateAnd(b.CreateICmpEQ(a, minimum), b.CreateICmpEQ(c, like_int(a, -1))));
  }
  llvm::Value* const divisor = b.CreateSelect(unsafe, like_int(a, 1), c);
  if (i.op == Primitive::rem && lanes_of(a) == 1) return is_signed(i.type) ? b.CreateSRem(a, divisor) : b.CreateURem(a, divisor);
  llvm::Value* const quotient = exact_quotient(i.type, a, divisor);
  if (i.op == Primitive::rem) return b.CreateSub(a, b.CreateMul(quotient, divisor));
  return b.CreateSelect(by_zero, zero, quotient);
}

llvm::Value* Instructions::rounding(Primitive op, llvm::Value* x) {
  if (!features_.sse41) return round_without_sse41(op, x);
  const llvm::Intrinsic::ID id = op == Primitive::floor   ? llvm::Intrinsic::floor
                                 : op == Primitive::ceil  ? llvm::Intrinsic::ceil
                                 : op == Primitive::trunc ? llvm::Intrinsic::trunc
                                                          : llvm::Intrinsic::roundeven;
  return intrinsic(id, {x->getType()}, {x});
}

// |x| + 2^23 - 2^23 (2^52 for f64) rounds |x| to an integer where |x| is below that; larger values are integers already.
llvm::Value* Instructions::round_without_sse41(Primitive op, llvm::Value* x) {
  llvm::Type* const t = x->getType();
  llvm::Constant* const big = like(x, t->getScalarType()->isFloatTy() ? 0x1p23 : 0x1p52);
  llvm::Value* const magnitude = intrinsic(llvm::Intrinsic::fabs, {t}, {x});
  llvm::Value* const nearest = b.CreateFSub(b.CreateFAdd(magnitude, big), big);
  llvm::Value* rounded = intrinsic(llvm::Intrinsic::copysign, {t}, {nearest, x});
  if (op == Primitive::trunc) {
    llvm::Value* const lower = b.CreateSelect(b.CreateFCmpOGT(nearest, magnitude), b.CreateFSub(nearest, like(x, 1)), nearest);
    rounded = intrinsic(llvm::Intrinsic::copysign, {t}, {lower, x});
  } else if (op == Primitive::floor) {
    rounded = b.CreateSelect(b.CreateFCmpOGT(rounded, x), b.CreateFSub(rounded, like(x, 1)), rounded);
  } else if (op == Primitive::ceil) {
    llvm::Value* const higher = b.CreateSelect(b.CreateFCmpOLT(rounded, x), b.CreateFAdd(rounded, like(x, 1)), rounded);
    rounded = intrinsic(llvm::Intrinsic::copysign, {t}, {higher, x});  // ceil(-0.5) is -0
  }
  // NaN compares false and is returned quiet.
  return b.CreateSelect(b.CreateFCmpOLT(magnitude, big), rounded, b.CreateFAdd(x, like(x, -0.0)));
}

llvm::Value* Instructions::scalef(llvm::Value* x, llvm::Value* power, Range range) {
  const bool single = x->getType()->getScalarType()->isFloatTy();
  const unsigned lanes = lanes_of(x), native = single ? 16 : 8;
  // An infinite count would make a NaN of zero or infinity.
  if (!range.within(-5000, 5000)) {
    power = b.CreateSelect(b.CreateFCmpOGT(power, like(x, 5000)), like(x, 5000), power);
    power = b.CreateSelect(b.CreateFCmpOLT(power, like(x, -5000)), like(x, -5000), power);
  }
  const auto native_piece = [&](llvm::Value* a, llvm::Value* p, unsigned width) -> llvm::Value* {
    llvm::Type* const t = a->getType();
    const unsigned bits = width * (single ? 32 : 64);
    const auto id = single ? (bits == 512   ? llvm::Intrinsic::x86_avx512_mask_scalef_ps_512
                              : bits == 256 ? llvm::Intrinsic::x86_avx512_mask_scalef_ps_256
                                            : llvm::Intrinsic::x86_avx512_mask_scalef_ps_128)
                           : (bits == 512   ? llvm::Intrinsic::x86_avx512_mask_scalef_pd_512
                              : bits == 256 ? llvm::Intrinsic::x86_avx512_mask_scalef_pd_256
                                            : llvm::Intrinsic::x86_avx512_mask_scalef_pd_128);
    llvm::Value* const all = llvm::Constant::getAllOnesValue(b.getIntNTy(std::max(width, 8u)));
    llvm::SmallVector<llvm::Value*, 5> arguments{a, p, llvm::Constant::getNullValue(t), all};
    if (bits == 512) arguments.push_back(b.getInt32(4));  // the current rounding mode
    return intrinsic(id, {}, arguments);
  };
  const unsigned smallest = single ? 4 : 2;
  if (lanes < smallest) {
    llvm::Constant* const zero = llvm::Constant::getNullValue(llvm::FixedVectorType::get(x->getType()->getScalarType(), smallest));
    if (lanes == 1)
      return b.CreateExtractElement(native_piece(b.CreateInsertElement(zero, x, std::uint64_t{0}),
                                                 b.CreateInsertElement(zero, power, std::uint64_t{0}), smallest),
                                    std::uint64_t{0});
    const int widen[] = {0, 1, 2, 2};
    llvm::Constant* const zeros = llvm::Constant::getNullValue(x->getType());
    return slice(native_piece(b.CreateShuffleVector(x, zeros, widen), b.CreateShuffleVector(power, zeros, widen), smallest), 0,
                 lanes);
  }
  llvm::SmallVector<llvm::Value*, 8> pieces;
  const unsigned width = std::min(lanes, native);
  for (unsigned first = 0; first < lanes; first += width)
    pieces.push_back(native_piece(slice(x, first, width), slice(power, first, width), width));
  return join(pieces);
}

// x * 2^n in three exact-but-for-the-last factors, as C's scalbn: where n is below the exponent range, the first two steps
// leave at least 24 (53) binary digits to the last, so that a value which they had to round ends below half the smallest
// subnormal and no result is rounded twice.
// Steps that the range of n makes idle, or multiplications by 1, are left out.
llvm::Value* Instructions::ldexp(llvm::Value* x, llvm::Value* power, Range range) {
  const bool single = x->getType()->getScalarType()->isFloatTy();
  const int top = single ? 127 : 1023, bottom = single ? -126 : -1022, digits = single ? 24 : 53;
  llvm::Type* const ints = int_type_like(x);
  llvm::Value* n = power;  // a NaN is put back at the end
  if (!range.within(3 * bottom, 3 * top)) {
    llvm::Value *const low = like(x, 3 * bottom), *const high = like(x, 3 * top);
    n = b.CreateSelect(b.CreateFCmpOGT(n, low), n, low);
    n = b.CreateSelect(b.CreateFCmpOLT(n, high), n, high);
    range = {std::max<double>(range.low, 3 * bottom), std::min<double>(range.high, 3 * top)};
  }
  llvm::Value* result = x;
  const auto multiply = [&](llvm::Value* exponent) {
    // exponent + 1.5 * 2^23 (2^52) holds the integer in its low bits, so that no conversion of f64 to i64 is needed.
    llvm::Value* const biased = b.CreateBitCast(b.CreateFAdd(exponent, like(x, (single ? 0x1.8p23 : 0x1.8p52) + top)), ints);
    llvm::Value* const factor = b.CreateBitCast(b.CreateShl(biased, llvm::ConstantInt::get(ints, single ? 23 : 52)), x->getType());
    result = b.CreateFMul(result, factor);
  };
  for (int step = 0; step < 2 && !range.within(bottom, top); ++step) {
    llvm::Value* const up = b.CreateFCmpOGT(n, like(x, top));
    llvm::Value* const down = b.CreateFCmpOLT(n, like(x, bottom));
    llvm::Value* const part = b.CreateSelect(up, like(x, top), b.CreateSelect(down, like(x, bottom + digits), like(x, 0)));
    multiply(part);
    n = b.CreateFSub(n, part);
    if (range.low < bottom) range.low = std::min<double>(range.low - (bottom + digits), bottom);
    if (range.high > top) range.high = std::max<double>(range.high - top, top);
  }
  if (range.low < bottom) n = b.CreateSelect(b.CreateFCmpOLT(n, like(x, bottom)), like(x, bottom), n);
  multiply(n);
  return b.CreateSelect(b.CreateFCmpUNO(power, power), power, result);
}

// fma of f32 where the machine has none: the product is exact in f64, and the sum, rounded to odd there, rounds once more to
// f32 as the exact sum would. To odd is truncated, with the last bit set where something was lost.
llvm::Value* Instructions::fma_in_f64(llvm::Value* x, llvm::Value* y, llvm::Value* z) {
  const unsigned lanes = lanes_of(x);
  llvm::Type *const wide = type(DType::f64, lanes), *const words = type(DType::i64, lanes);
  llvm::Value* const product = b.CreateFMul(b.CreateFPExt(x, wide), b.CreateFPExt(y, wide));
  llvm::Value* const addend = b.CreateFPExt(z, wide);
  llvm::Value* const sum = b.CreateFAdd(product, addend);
  // What the sum lacks of the exact one (Knuth); a NaN for infinities, which then compares false.
  llvm::Value* const part = b.CreateFSub(sum, product);
  llvm::Value* const rest = b.CreateFAdd(b.CreateFSub(product, b.CreateFSub(sum, part)), b.CreateFSub(addend, part));
  llvm::Value* const lost = b.CreateFCmpOLT(like(rest, 0), intrinsic(llvm::Intrinsic::fabs, {wide}, {rest}));
  llvm::Value* const all = b.CreateSExt(lost, words);
  llvm::Value* const bits = b.CreateBitCast(sum, words);
  // The sum was rounded away from zero where the rest has the other sign.
  llvm::Value* const away = b.CreateLShr(b.CreateXor(bits, b.CreateBitCast(rest, words)), llvm::ConstantInt::get(words, 63));
  llvm::Value* const truncated = b.CreateSub(bits, b.CreateAnd(away, all));
  llvm::Value* const odd = b.CreateOr(truncated, b.CreateAnd(all, llvm::ConstantInt::get(words, 1)));
  return b.CreateFPTrunc(b.CreateBitCast(odd, wide), x->getType());
}

llvm::Value* Instructions::call_each(const char* symbol, std::span<llvm::Value* const> in) {
  llvm::Type* const scalar = in[0]->getType()->getScalarType();
  const unsigned lanes = lanes_of(in[0]);
  llvm::SmallVector<llvm::Type*, 3> parameters(in.size(), scalar);
  llvm::Module* const module = b.GetInsertBlock()->getModule();
  llvm::FunctionCallee callee = module->getOrInsertFunction(symbol, llvm::FunctionType::get(scalar, parameters, false));
  if (auto* function = llvm::dyn_cast<llvm::Function>(callee.getCallee())) function->addFnAttr(llvm::Attribute::NoUnwind);
  const auto call = [&](llvm::ArrayRef<llvm::Value*> arguments) {
    llvm::CallInst* const made = b.CreateCall(callee, arguments);
    made->addFnAttr(llvm::Attribute::NoBuiltin);  // or LLVM would fold, or choose instructions, by its own idea of the function
    return made;
  };
  if (lanes == 1) return call(llvm::SmallVector<llvm::Value*, 3>(in.begin(), in.end()));
  // Through memory, in a loop: one call site however many lanes.
  llvm::SmallVector<llvm::AllocaInst*, 3> memory;
  for (llvm::Value* operand : in) {
    memory.push_back(slot(operand->getType(), "lanes"));
    b.CreateStore(operand, memory.back());
  }
  for_each_lane(b.getInt64(lanes), [&](llvm::Value* lane) {
    llvm::SmallVector<llvm::Value*, 3> arguments;
    for (llvm::AllocaInst* array : memory) arguments.push_back(b.CreateLoad(scalar, b.CreateGEP(scalar, array, lane)));
    b.CreateStore(call(arguments), b.CreateGEP(scalar, memory[0], lane));
  });
  return b.CreateLoad(in[0]->getType(), memory[0]);
}

}  // namespace braze::codegen::cpu
