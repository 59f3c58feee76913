#include "ir/scalar.h"

#include "ir/error.h"

namespace braze::ir {
namespace {

[[noreturn]] void reject(const Instruction& i) {
  internal_failure(fmt::format("primitive {} does not apply to {} (from {})", info(i.op).name, name(i.type), name(i.from)),
                   std::source_location::current());
}

// The evaluator of primitive P on operands of type `type`, if PrimitiveMeaning<P> takes them.
template <Primitive P>
Evaluator computed(const Instruction& i, DType type) {
  return with_type(type, [&]<class T>(std::type_identity<T>) -> Evaluator {
    if constexpr (requires(T a) { PrimitiveMeaning<P>::apply(a); }) {
      return [](const Instruction&, std::uint64_t a, std::uint64_t, std::uint64_t, Fault*) {
        return to_bits(PrimitiveMeaning<P>::apply(from_bits<T>(a)));
      };
    } else if constexpr (requires(T a) { PrimitiveMeaning<P>::apply(a, a); }) {
      return [](const Instruction&, std::uint64_t a, std::uint64_t b, std::uint64_t, Fault*) {
        return to_bits(PrimitiveMeaning<P>::apply(from_bits<T>(a), from_bits<T>(b)));
      };
    } else if constexpr (P == Primitive::select) {
      return [](const Instruction&, std::uint64_t a, std::uint64_t b, std::uint64_t c, Fault*) {
        return to_bits(PrimitiveMeaning<P>::apply(from_bits<bool>(a), from_bits<T>(b), from_bits<T>(c)));
      };
    } else if constexpr (requires(T a) { PrimitiveMeaning<P>::apply(a, a, a); }) {
      return [](const Instruction&, std::uint64_t a, std::uint64_t b, std::uint64_t c, Fault*) {
        return to_bits(PrimitiveMeaning<P>::apply(from_bits<T>(a), from_bits<T>(b), from_bits<T>(c)));
      };
    } else {
      reject(i);
    }
  });
}

Evaluator converted(const Instruction& i) {
  return with_type(i.from, [&]<class T>(std::type_identity<T>) {
    return with_type(i.type, []<class U>(std::type_identity<U>) -> Evaluator {
      return [](const Instruction&, std::uint64_t a, std::uint64_t, std::uint64_t, Fault*) {
        return to_bits(detail::convert<U>(from_bits<T>(a)));
      };
    });
  });
}

Evaluator called(const Instruction& i) {
  if (i.type == DType::f32)
    return [](const Instruction& call, std::uint64_t a, std::uint64_t b, std::uint64_t, Fault*) {
      return to_bits(info(static_cast<LibraryFunction>(call.payload)).f32(from_bits<float>(a), from_bits<float>(b)));
    };
  if (i.type == DType::f64)
    return [](const Instruction& call, std::uint64_t a, std::uint64_t b, std::uint64_t, Fault*) {
      return to_bits(info(static_cast<LibraryFunction>(call.payload)).f64(from_bits<double>(a), from_bits<double>(b)));
    };
  reject(i);
}

}  // namespace

Evaluator evaluator(const Instruction& i) {
  const bool compares = i.op == Primitive::eq || i.op == Primitive::ne || i.op == Primitive::lt || i.op == Primitive::le;
  const DType operands = compares ? i.from : i.type;
  switch (i.op) {
    case Primitive::constant:
      return [](const Instruction& c, std::uint64_t, std::uint64_t, std::uint64_t, Fault*) { return c.payload; };
    case Primitive::bitcast:
      if (size_of(i.from) != size_of(i.type)) reject(i);
      return [](const Instruction&, std::uint64_t a, std::uint64_t, std::uint64_t, Fault*) { return a; };
    case Primitive::convert:
      return converted(i);
    case Primitive::call:
      return called(i);
    case Primitive::check:
      return [](const Instruction& c, std::uint64_t a, std::uint64_t, std::uint64_t, Fault* fault) {
        if ((a & 1) != 0 && fault && *fault == Fault::none) *fault = static_cast<Fault>(c.payload);
        return a;
      };
    default:
      break;
  }
  switch (i.op) {
#define BRAZE_PRIMITIVE(name, arity, text) \
  case Primitive::name:                    \
    return computed<Primitive::name>(i, operands);
#include "ir/primitives.def"
#undef BRAZE_PRIMITIVE
  }
  reject(i);
}

}  // namespace braze::ir
