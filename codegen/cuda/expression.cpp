#include "codegen/cuda/expression.h"

#include <bit>
#include <cmath>

#include "ir/error.h"

namespace braze::codegen::cuda {

using ir::Instruction;
using ir::Primitive;

namespace {

// Short decimals read best; what needs more digits is exact in hexadecimal.
template <class Float>
std::string finite(Float value) {
  std::string text = fmt::format("{}", value);
  std::size_t digits = 0;
  for (char c : text) digits += c >= '0' && c <= '9' ? 1 : 0;
  if (digits > 8) return fmt::format("{:a}", value);
  const bool is_integral = text.find_first_of(".e") == std::string::npos;
  return is_integral ? text + ".0" : text;
}

Expression float_literal(std::uint64_t bits) {
  const auto low = static_cast<std::uint32_t>(bits);
  const float value = std::bit_cast<float>(low);
  if (!std::isfinite(value)) return {fmt::format("__uint_as_float({:#x}u)", low)};
  return {finite(value) + "f", std::signbit(value) ? Binding::unary : Binding::primary};
}

Expression double_literal(std::uint64_t bits) {
  const double value = std::bit_cast<double>(bits);
  if (!std::isfinite(value)) return {fmt::format("__longlong_as_double({:#x}ll)", bits)};
  return {finite(value), std::signbit(value) ? Binding::unary : Binding::primary};
}

Expression integer_literal(DType type, std::int64_t value) {
  if (value == range_of(DType::i64).low) return {"(-9223372036854775807ll - 1)"};
  if (type == DType::i32 && value == range_of(DType::i32).low) return {"(-2147483647 - 1)"};
  const bool wide = value <= range_of(DType::i32).low || value > range_of(DType::i32).high;
  return {fmt::format("{}{}", value, wide ? "ll" : ""), value < 0 ? Binding::unary : Binding::primary, !wide && type != DType::i32};
}

class Printer {
 public:
  Printer(const Instruction& instruction, const std::array<Expression, 3>& in, const std::array<Range, 3>& ranges, Prelude& prelude)
      : i_(instruction), in_(in), ranges_(ranges), prelude_(prelude) {}

  Expression print() {
    switch (i_.op) {
      case Primitive::constant:
        return literal(i_.type, i_.payload, prelude_);
      case Primitive::add:
        return arithmetic("+", Binding::sum);
      case Primitive::sub:
        return arithmetic("-", Binding::sum);
      case Primitive::mul:
        return arithmetic("*", Binding::product);
      case Primitive::neg:
        return negation();
      case Primitive::abs:
        return absolute();
      case Primitive::div:
        return infix("/", Binding::product);
      case Primitive::fma:
        return function(i_.type == DType::f32 ? "__fmaf_rn" : "__fma_rn", 3);
      case Primitive::sqrt:
        return math("sqrt", 1);
      case Primitive::copysign:
        return math("copysign", 2);
      case Primitive::floor:
        return math("floor", 1);
      case Primitive::ceil:
        return math("ceil", 1);
      case Primitive::trunc:
        return math("trunc", 1);
      case Primitive::round_even:
        return math("rint", 1);
      case Primitive::ldexp:
        return helper(2);
      case Primitive::quo:
        return arithmetic("/", Binding::product);
      case Primitive::rem:
        return arithmetic("%", Binding::product);
      case Primitive::shl:
        return helper(2);
      case Primitive::shr:
        return arithmetic(">>", Binding::shift);
      case Primitive::bit_and:
        return bitwise("&", Binding::bit_and, "&&", Binding::logical_and);
      case Primitive::bit_or:
        return bitwise("|", Binding::bit_or, "||", Binding::logical_or);
      case Primitive::bit_xor:
        return bitwise("^", Binding::bit_xor, "!=", Binding::equality);
      case Primitive::eq:
        return infix("==", Binding::equality);
      case Primitive::ne:
        return infix("!=", Binding::equality);
      case Primitive::lt:
        return infix("<", Binding::order);
      case Primitive::le:
        return infix("<=", Binding::order);
      case Primitive::select:
        return selection();
      case Primitive::convert:
        return conversion();
      case Primitive::bitcast:
        return reinterpretation();
      case Primitive::call:
        return library();
      case Primitive::check:
        return in_[0];
    }
    invariant(false, "CUDA: primitive {} is not printed", static_cast<int>(i_.op));
    return {};
  }

 private:
  // C++'s own ranking decides between arithmetic operators; where readers trip over it, parentheses stand.
  static std::string operand(const Expression& e, Binding op, bool left) {
    if (e.binding == op && op >= Binding::bit_and) return e.text;
    if (op >= Binding::logical_and) return e.in(Binding::equality);
    if (op == Binding::order || op == Binding::equality) return e.in(Binding::sum);
    if (op >= Binding::shift) return e.in(Binding::unary);
    return e.in(left ? op : static_cast<Binding>(static_cast<int>(op) - 1));
  }

  Expression infix(std::string_view op, Binding binding) const {
    return {fmt::format("{} {} {}", operand(in_[0], binding, true), op, operand(in_[1], binding, false)), binding};
  }

  Expression function(std::string_view name, int arity) const {
    std::string text = fmt::format("{}({}", name, in_[0].text);
    for (int n = 1; n < arity; ++n) text += ", " + in_[static_cast<std::size_t>(n)].text;
    return {text + ")"};
  }

  // CUDA spells f32 functions as C does: with an f.
  Expression math(std::string_view name, int arity) const {
    return function(fmt::format("{}{}", name, i_.type == DType::f32 ? "f" : ""), arity);
  }

  // "add_i32", from the prelude.
  Expression helper(int arity) const {
    return function(prelude_.call(fmt::format("{}_{}", ir::info(i_.op).name, name(i_.type))), arity);
  }

  // Types narrower than int: C++ computes in int, which holds the exact result of anything but division by zero and shifts.
  Expression narrowed(Expression wide) const {
    if (size_of(i_.type) >= 4) return wide;
    return {fmt::format("{}({})", prelude_.type(i_.type), wide.text)};
  }

  // Integers whose result C++ could get wrong go through the prelude.
  Expression arithmetic(std::string_view op, Binding binding) {
    if (is_float(i_.type)) return infix(op, binding);
    const bool exact_in_int =
        size_of(i_.type) < 4 && (i_.op == Primitive::add || i_.op == Primitive::sub || i_.op == Primitive::mul);
    if (!exact_in_int && range_of(i_, ranges_).wraps) return helper(2);
    if (in_[0].literal && (in_[1].literal || i_.op == Primitive::shr)) in_[0] = cast(in_[0]);
    return narrowed(infix(op, binding));
  }

  Expression negation() const {
    if (is_integer(i_.type) && size_of(i_.type) >= 4 && range_of(i_, ranges_).wraps) return helper(1);
    return narrowed({"-" + in_[0].in(Binding::primary), Binding::unary});
  }

  Expression absolute() const {
    if (is_float(i_.type)) return math("fabs", 1);
    return i_.type == DType::u8 ? in_[0] : helper(1);
  }

  Expression bitwise(std::string_view op, Binding binding, std::string_view logical, Binding logical_binding) const {
    if (i_.type != DType::boolean) return infix(op, binding);
    if (i_.op == Primitive::bit_xor && in_[1].text == "true") return {"!" + in_[0].in(Binding::primary), Binding::unary};
    return infix(logical, logical_binding);
  }

  // C++ would convert the sides to a common type; the two that may differ are a literal and what is no literal.
  Expression selection() const {
    const Expression yes = in_[1].literal && in_[2].literal ? cast(in_[1]) : in_[1];
    return {
        fmt::format("{} ? {} : {}", in_[0].in(Binding::logical_or), yes.in(Binding::logical_or), in_[2].in(Binding::conditional)),
        Binding::conditional};
  }

  Expression cast(const Expression& e) const { return {fmt::format("{}({})", prelude_.type(i_.type), e.text)}; }

  Expression conversion() const {
    Expression value = in_[0];
    DType from = i_.from;
    if (from == i_.type) return value;
    if (is_half(from)) {
      value = {fmt::format("{}({})", prelude_.call(fmt::format("{}_to_f32", name(from))), value.text)};
      from = DType::f32;
    }
    if (is_half(i_.type)) {
      if (from != DType::f32) value = {fmt::format("float({})", value.text)};
      return {fmt::format("{}({})", prelude_.call(fmt::format("f32_to_{}", name(i_.type))), value.text)};
    }
    if (i_.type == DType::boolean) return {value.in(Binding::sum) + (is_float(from) ? " != 0.0f" : " != 0"), Binding::equality};
    if (!is_float(from) || is_float(i_.type)) return from == i_.type ? value : cast(value);
    const bool through_i64 = i_.type == DType::i64 || (i_.type == DType::u8 && from == DType::f64);
    const DType wide = through_i64 ? DType::i64 : DType::i32;
    value = {fmt::format("{}({})", prelude_.call(fmt::format("{}_to_{}", name(from), name(wide))), value.text)};
    return wide == i_.type ? value : cast(value);
  }

  Expression reinterpretation() const {
    const DType from = i_.from, to = i_.type;
    if (from == to) return in_[0];
    if (from == DType::f32 && to == DType::i32) return function("__float_as_int", 1);
    if (from == DType::i32 && to == DType::f32) return function("__int_as_float", 1);
    if (from == DType::f64 && to == DType::i64) return function("__double_as_longlong", 1);
    if (from == DType::i64 && to == DType::f64) return function("__longlong_as_double", 1);
    invariant(size_of(from) == size_of(to) && size_of(to) <= 2, "bitcast of {} to {}", name(from), name(to));
    return cast(in_[0]);
  }

  // CUDA's functions have libm's names; what it lacks is written into the source.
  Expression library() const {
    const ir::LibraryFunctionInfo& callee = ir::info(static_cast<ir::LibraryFunction>(i_.payload));
    const std::string_view called = i_.type == DType::f32 ? callee.name_f32 : callee.name;
    return function(prelude_.has(called) ? prelude_.call(std::string(called)) : std::string(called), callee.arity);
  }

  const Instruction& i_;
  std::array<Expression, 3> in_;
  const std::array<Range, 3>& ranges_;
  Prelude& prelude_;
};

}  // namespace

Expression literal(DType type, std::uint64_t bits, Prelude& prelude) {
  if (type == DType::boolean) return {(bits & 1) != 0 ? "true" : "false"};
  if (type == DType::f32) return float_literal(bits);
  if (type == DType::f64) return double_literal(bits);
  if (is_half(type)) return {fmt::format("{}({:#06x})", prelude.type(type), bits & 0xffff)};
  const Instruction constant{.op = Primitive::constant, .type = type, .from = type, .payload = bits};
  return integer_literal(type, range_of(constant, {}).range.low);
}

Expression express(const Instruction& instruction, const std::array<Expression, 3>& in, const std::array<Range, 3>& ranges,
                   Prelude& prelude) {
  return Printer(instruction, in, ranges, prelude).print();
}

}  // namespace braze::codegen::cuda
