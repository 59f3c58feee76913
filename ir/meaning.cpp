#include "ir/meaning.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <vector>

#include "ir/error.h"

namespace braze::ir {
namespace {

// Meaning<op>::apply<S>(in) calls the op's template on operands that `in` makes; this and the switch below are all that links the
// table to the templates.
template <Op op>
struct Meaning;

#define BRAZE_UNARY(name, accepts, result)        \
  template <>                                     \
  struct Meaning<Op::name> {                      \
    template <class S, class In>                  \
    static auto apply(const In& in) {             \
      return meaning::name(in.template at<S>(0)); \
    }                                             \
  };
#define BRAZE_BINARY(name, accepts, result, algebra)                    \
  template <>                                                           \
  struct Meaning<Op::name> {                                            \
    template <class S, class In>                                        \
    static auto apply(const In& in) {                                   \
      return meaning::name(in.template at<S>(0), in.template at<S>(1)); \
    }                                                                   \
  };
// A first operand of type boolean is `where`'s own: of the elementwise rows it alone mixes types.
#define BRAZE_TERNARY(name, accepts, result)                                                      \
  template <>                                                                                     \
  struct Meaning<Op::name> {                                                                      \
    template <class S, class In>                                                                  \
    static auto apply(const In& in) {                                                             \
      using First = std::conditional_t<Op::name == Op::where, BooleanOf<S>, S>;                   \
      return meaning::name(in.template at<First>(0), in.template at<S>(1), in.template at<S>(2)); \
    }                                                                                             \
  };
#include "ir/ops.def"

[[noreturn]] void reject(Op op, DType type) {
  internal_failure(fmt::format("op {} has no meaning for {}", name(op), name(type)), std::source_location::current());
}

// in.result(what op means for the operands of `in`), the operands being In::Kind<T> for the T in which `type` computes.
template <class In>
auto dispatch(Op op, DType type, const In& in) {
  if (op == Op::nextafter && is_half(type)) {  // the one op that sees a half's own grid
    using S = typename In::template Kind<float>;
    const S a = in.template at<S>(0), b = in.template at<S>(1);
    return in.result(type == DType::f16 ? meaning::nextafter_half<Float16>(a, b) : meaning::nextafter_half<BFloat16>(a, b));
  }
  const auto apply = [&]<Op of>(std::integral_constant<Op, of>) {
    return with_type(compute_type(type), [&]<class T>(std::type_identity<T>) {
      if constexpr (!Half<T> && accepts(of, dtype_of<T>)) {
        return in.result(Meaning<of>::template apply<typename In::template Kind<T>>(in));
      } else {
        reject(of, type);
        return decltype(in.result(typename In::template Kind<bool>{})){};
      }
    });
  };
  switch (op) {
#define BRAZE_CASE(name) \
  case Op::name:         \
    return apply(std::integral_constant<Op, Op::name>{});
#define BRAZE_UNARY(name, accepts, result) BRAZE_CASE(name)
#define BRAZE_BINARY(name, accepts, result, algebra) BRAZE_CASE(name)
#define BRAZE_TERNARY(name, accepts, result) BRAZE_CASE(name)
#include "ir/ops.def"
#undef BRAZE_CASE
    default:
      reject(op, type);
  }
}

struct Building {
  template <class T>
  using Kind = Scalar<T>;
  std::span<const ValueId> operands;

  template <class S>
  S at(std::size_t i) const {
    return {operands[i]};
  }
  template <class T>
  ValueId result(Scalar<T> value) const {
    return value.id;
  }
};

struct Evaluating {
  template <class T>
  using Kind = Number<T>;
  DType type;
  std::span<const std::uint64_t> operands;

  template <class S>
  S at(std::size_t i) const {
    if constexpr (std::same_as<S, Number<float>>) {
      if (type == DType::f16) return convert<float>(Number<Float16>{from_bits<Float16>(operands[i])});
      if (type == DType::bf16) return convert<float>(Number<BFloat16>{from_bits<BFloat16>(operands[i])});
    }
    return {from_bits<ElementOf<S>>(operands[i])};
  }
  template <class T>
  std::uint64_t result(Number<T> value) const {
    if constexpr (std::same_as<T, float>) {
      if (type == DType::f16) return to_bits(convert<Float16>(value).value);
      if (type == DType::bf16) return to_bits(convert<BFloat16>(value).value);
    }
    return to_bits(value.value);
  }
};

// Counts distinct instructions, as a kernel would hold them.
class Counter final : public InstructionSink {
 public:
  ValueId append(const Instruction& instruction) override {
    const auto found = std::ranges::find(seen_, instruction);
    if (found == seen_.end()) {
      seen_.push_back(instruction);
      total_ += price(instruction.op);
      return first_ + static_cast<ValueId>(seen_.size()) - 1;
    }
    return first_ + static_cast<ValueId>(found - seen_.begin());
  }
  int total() const { return total_; }

 private:
  static constexpr ValueId first_ = 3;  // after the operands
  static int price(Primitive p) {
    switch (p) {
      case Primitive::constant:
        return 0;
      case Primitive::call:
        return 20;
      case Primitive::div:
      case Primitive::sqrt:
      case Primitive::quo:
      case Primitive::rem:
        return 4;
      default:
        return 1;
    }
  }

  std::vector<Instruction> seen_;
  int total_ = 0;
};

}  // namespace

ValueId build(Op op, DType type, std::span<const ValueId> operands, InstructionSink& sink) {
  invariant(operands.size() == static_cast<std::size_t>(arity(op)), "op {} takes {} operands, not {}", name(op), arity(op),
            operands.size());
  const Emitting emitting(sink);
  return dispatch(op, type, Building{operands});
}

std::uint64_t evaluate(Op op, DType type, std::span<const std::uint64_t> operands, Fault* fault) {
  invariant(operands.size() == static_cast<std::size_t>(arity(op)), "op {} takes {} operands, not {}", name(op), arity(op),
            operands.size());
  const Faults faults;
  const std::uint64_t result = dispatch(op, type, Evaluating{type, operands});
  if (fault && *fault == Fault::none) *fault = faults.first();
  return result;
}

bool may_fault(Op op, DType type) {
  using Row = std::array<bool, dtype_count>;
  static const auto table = [] {
    std::array<Row, op_count> faults{};
    for (int i = 0; i < op_count; ++i)
      for (DType t : all_dtypes) {
        const auto o = static_cast<Op>(i);
        bool& entry = faults[static_cast<std::size_t>(i)][static_cast<std::size_t>(t)];
        if (info(o).op_class == OpClass::binary && accepts(o, t)) {  // one divided by zero tells
          Fault fault = Fault::none;
          const std::uint64_t operands[] = {evaluate_cast(DType::boolean, t, 1), 0};
          evaluate(o, t, operands, &fault);
          entry = fault != Fault::none;
        } else {
          entry = info(o).routine() || o == Op::wrap_index || o == Op::take || o == Op::put;
        }
      }
    return faults;
  }();
  return table[static_cast<std::size_t>(op)][static_cast<std::size_t>(type)];
}

std::uint64_t evaluate_cast(DType from, DType to, std::uint64_t bits) {
  return evaluate(Instruction{.op = Primitive::convert, .type = to, .from = from}, bits);
}

int cost(Op op, DType type) {
  if (op == Op::wrap_index) return 4;
  if (op == Op::cast) return 1;
  // 0: not known yet. Racing threads compute the same number.
  static std::array<std::array<std::atomic<int>, dtype_count>, op_count> known;
  std::atomic<int>& entry = known[static_cast<std::size_t>(op)][static_cast<std::size_t>(type)];
  int value = entry.load(std::memory_order_relaxed);
  if (value == 0) {
    Counter counter;
    constexpr std::array<ValueId, 3> operands = {0, 1, 2};
    build(op, type, std::span(operands).first(static_cast<std::size_t>(arity(op))), counter);
    value = counter.total() + 1;
    entry.store(value, std::memory_order_relaxed);
  }
  return value - 1;
}

}  // namespace braze::ir
