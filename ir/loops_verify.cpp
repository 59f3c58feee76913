#include <algorithm>
#include <bit>

#include "ir/error.h"
#include "ir/identifier.h"
#include "ir/lexer.h"
#include "ir/loops.h"
#include "ir/loops_text.h"

namespace braze::ir {
namespace {

struct Broken {  // thrown within this file only
  std::string law;
};

template <class... Args>
void law(bool kept, fmt::format_string<Args...> text, Args&&... args) {
  if (!kept) throw Broken{fmt::format(text, std::forward<Args>(args)...)};
}

enum class Accepts { anything, numbers, floats, integers, bits, comparable };

Accepts accepted_by(Primitive op) {
  switch (op) {
    case Primitive::add:
    case Primitive::sub:
    case Primitive::mul:
    case Primitive::neg:
    case Primitive::abs:
    case Primitive::lt:
    case Primitive::le:
      return Accepts::numbers;
    case Primitive::div:
    case Primitive::fma:
    case Primitive::sqrt:
    case Primitive::copysign:
    case Primitive::floor:
    case Primitive::ceil:
    case Primitive::trunc:
    case Primitive::round_even:
    case Primitive::ldexp:
    case Primitive::call:
      return Accepts::floats;
    case Primitive::quo:
    case Primitive::rem:
    case Primitive::shl:
    case Primitive::shr:
      return Accepts::integers;
    case Primitive::bit_and:
    case Primitive::bit_or:
    case Primitive::bit_xor:
      return Accepts::bits;
    case Primitive::eq:
    case Primitive::ne:
      return Accepts::comparable;
    case Primitive::constant:
    case Primitive::select:
    case Primitive::convert:
    case Primitive::bitcast:
    case Primitive::check:
      return Accepts::anything;
  }
  return Accepts::anything;
}

bool accepts(Accepts what, DType type) {
  switch (what) {
    case Accepts::anything:
      return true;
    case Accepts::numbers:
      return !is_half(type) && type != DType::boolean;
    case Accepts::floats:
      return type == DType::f32 || type == DType::f64;
    case Accepts::integers:
      return is_integer(type);
    case Accepts::bits:
      return is_integer(type) || type == DType::boolean;
    case Accepts::comparable:
      return !is_half(type);
  }
  return false;
}

constexpr std::size_t primitive_count = std::size(primitive_table);
constexpr std::uint64_t library_function_count = 0
#define BRAZE_LIBRARY_FUNCTION(name, arity) +1
#include "ir/primitives.def"
#undef BRAZE_LIBRARY_FUNCTION
    ;

// `type_of` gives an operand's type, or breaks the law that it be defined.
template <class TypeOf>
void check_instruction(const Instruction& instruction, const TypeOf& type_of) {
  law(static_cast<std::size_t>(instruction.op) < primitive_count, "no such primitive: {}", static_cast<int>(instruction.op));
  const PrimitiveInfo& primitive = info(instruction.op);
  std::size_t arity = primitive.arity;
  if (instruction.op == Primitive::call) {
    law(instruction.payload < library_function_count, "no such library function: {}", instruction.payload);
    arity = info(static_cast<LibraryFunction>(instruction.payload)).arity;
  }
  for (std::size_t i = 0; i < instruction.in.size(); ++i)
    law((instruction.in[i] != no_value) == (i < arity), "{} has {} operands", primitive.name, arity);
  law(instruction == canonical(instruction), "{} yields another type than its own, or its operand type is not filled in",
      primitive.name);
  const DType operands = instruction.from;
  law(accepts(accepted_by(instruction.op), operands), "{} does not apply to {}", primitive.name, name(operands));
  for (std::size_t i = 0; i < arity; ++i) {
    const DType wanted = instruction.op == Primitive::select && i == 0 ? DType::boolean : operands;
    const DType found = type_of(instruction.in[i]);
    law(found == wanted, "operand {} of {} is {}, not {}", i, primitive.name, name(found), name(wanted));
  }
  if (instruction.op == Primitive::constant)
    law(Lexer(literal_text(instruction.type, instruction.payload)).literal(instruction.type) == instruction.payload,
        "a constant of {} has stray bits", name(instruction.type));
  if (instruction.op == Primitive::bitcast)
    law(size_of(instruction.type) == size_of(operands) && (operands == DType::boolean) == (instruction.type == DType::boolean),
        "{} and {} differ in size", name(operands), name(instruction.type));
  if (instruction.op == Primitive::check)
    law(instruction.payload > 0 && instruction.payload < fault_names.size(), "no such fault: {}", instruction.payload);
}

// Scopes, types, and where each kind of statement may stand.
class Structure {
 public:
  explicit Structure(const Kernel& kernel) : kernel_(kernel), visible_(kernel.value_types.size(), false), defined_(visible_) {}

  void check() {
    signature();
    for (std::size_t i = 0; i < kernel_.combines.size(); ++i) combine(kernel_.combines[i]);
    for (const Statement& statement : kernel_.body) gpu_ |= uses_threads(statement);
    block(kernel_.body, {});
    law(gpu_ || parallel_loops_ > 0, "a CPU kernel has an outermost parallel loop, this one has none");
    law(parallel_loops_ == 0 || is_parallel(kernel_.body.back()), "nothing follows the last parallel loop");
    law(!gpu_ || block_nests_ == 1, "a GPU kernel has one nest of block loops, this one has {}", block_nests_);
    in_place();
    std::int64_t stack = 0;
    for (const ScratchArray& array : kernel_.scratch)
      if (array.space == Space::stack) stack += array.count.number * array.lanes * size_of(array.type);
    law(gpu_ || stack <= most_stack_bytes, "the stack arrays take {} bytes, more than {}", stack, most_stack_bytes);
  }

  const Statement* current = nullptr;  // where a law broke

 private:
  struct Place {
    const For* loop = nullptr;  // the innermost one
    int depth = 0;
    bool top = true;  // outside of everything
  };

  static bool is_parallel(const Statement& statement) {
    const For* loop = std::get_if<For>(&statement.node);
    return loop && loop->kind == LoopKind::parallel;
  }

  static bool uses_threads(const Statement& statement) {
    const For* loop = std::get_if<For>(&statement.node);
    return loop && (loop->kind == LoopKind::block || loop->kind == LoopKind::thread);
  }

  void signature() {
    law(is_identifier(kernel_.name), "'{}' is no name for a kernel", kernel_.name);
    law(kernel_.sizes.size() == kernel_.size_names.size(), "{} sizes have {} names", kernel_.sizes.size(),
        kernel_.size_names.size());
    for (std::size_t i = 0; i < kernel_.sizes.size(); ++i) {
      const std::string& name = kernel_.size_names[i];
      law(is_identifier(name), "'{}' is no name for a size", name);
      law(std::count(kernel_.size_names.begin(), kernel_.size_names.end(), name) == 1, "two sizes are called '{}'", name);
      define(kernel_.sizes[i], DType::i64);
    }
    for (const auto& [value, type] : kernel_.scalars) define(value, type);
    for (const BufferParameter& buffer : kernel_.buffers)
      law(!buffer.streaming || buffer.writes, "a buffer that is only read is marked streaming");
    for (const ScratchArray& array : kernel_.scratch) {
      law(array.count.kind == Size::Kind::number || is_kernel_size(array.count.value),
          "the count of a scratch array is a number or a size of the kernel");
      law(array.count.kind == Size::Kind::value || array.count.number >= 0, "the count of a scratch array is negative");
      law(array.space == Space::heap || array.count.kind == Size::Kind::number, "only heap scratch may have a size for its count");
      law(array.lanes >= 1, "a scratch array has {} lanes", array.lanes);
    }
  }

  bool is_kernel_size(ValueId value) const {
    return std::find(kernel_.sizes.begin(), kernel_.sizes.end(), value) != kernel_.sizes.end();
  }

  static void combine(const Combine& combine) {
    const std::size_t width = combine.types.size();
    law(width > 0 && combine.results.size() == width, "a combine of {} values has {} results", width, combine.results.size());
    std::vector<DType> types = combine.types;
    types.insert(types.end(), combine.types.begin(), combine.types.end());
    const auto type_of = [&](ValueId value) {
      law(value < types.size(), "a combine uses value {} before it is defined", value);
      return types[value];
    };
    for (const Instruction& instruction : combine.body) {
      check_instruction(instruction, type_of);
      law(instruction.op != Primitive::check, "a combine raises a fault");
      types.push_back(instruction.type);
    }
    for (std::size_t i = 0; i < width; ++i)
      law(type_of(combine.results[i]) == combine.types[i], "result {} of a combine has another type than its operand", i);
  }

  void define(ValueId value, DType type) {
    law(value < defined_.size(), "there is no value {}", value);
    law(!defined_[value], "a value is defined twice");
    law(kernel_.value_types[value] == type, "a value is declared {}, but defined as {}", name(kernel_.value_types[value]),
        name(type));
    defined_[value] = visible_[value] = true;
    scope_.push_back(value);
  }

  DType use(ValueId value) const {
    law(value < defined_.size() && defined_[value], "a value is used before it is defined");
    law(visible_[value], "a value is used outside of the block that defines it");
    return kernel_.value_types[value];
  }

  void use(ValueId value, DType type, const char* what) const {
    law(use(value) == type, "{} is {}, not {}", what, name(use(value)), name(type));
  }

  void use(const Size& size, const char* what) const {
    if (size.kind == Size::Kind::value) use(size.value, DType::i64, what);
  }

  DType use(const Access& access) const {
    for (const Term& term : access.terms) {
      use(term.index, DType::i64, "an index");
      use(term.stride, "a stride");
    }
    use(access.offset, "an offset");
    return access.buffer >= scratch_base ? array(access.buffer).type : buffer(access.buffer).type;
  }

  const BufferParameter& buffer(std::uint32_t number) const {
    law(number < kernel_.buffers.size(), "there is no buffer {}", number);
    return kernel_.buffers[number];
  }
  const ScratchArray& array(std::uint32_t number) const {
    law(number >= scratch_base && number - scratch_base < kernel_.scratch.size(), "there is no scratch array {}",
        number - scratch_base);
    return kernel_.scratch[number - scratch_base];
  }
  const Combine& combine(std::uint32_t number) const {
    law(number < kernel_.combines.size(), "there is no combine {}", number);
    return kernel_.combines[number];
  }

  // Leaves its values visible: a yield still uses them.
  void block(const Block& statements, Place place) {
    law(place.depth <= deepest_nest, "loops nest deeper than {}", deepest_nest);
    for (const Statement& statement : statements) {
      current = &statement;
      law(!(place.top && block_nests_), "nothing follows the outermost block loop");
      law(!(place.top && parallel_loops_) || is_parallel(statement) || std::holds_alternative<Compute>(statement.node),
          "between parallel loops stand values alone");
      std::visit([&](const auto& s) { check(s, place); }, statement.node);
    }
  }

  void close_scope(std::size_t outer) {
    for (; scope_.size() > outer; scope_.pop_back()) visible_[scope_.back()] = false;
  }

  void check(const Compute& s, Place) {
    check_instruction(s.instruction, [&](ValueId value) { return use(value); });
    define(s.result, s.instruction.type);
  }

  void check(const Load& s, Place) {
    const DType type = use(s.access);
    if (s.predicate != no_value) use(s.predicate, DType::boolean, "a predicate");
    if (s.access.buffer < scratch_base && buffer(s.access.buffer).writes) loads_in_place_.push_back(&s.access);
    define(s.result, type);
  }

  void check(const Store& s, Place place) {
    use(s.value, use(s.access), "the value stored");
    if (s.predicate != no_value) use(s.predicate, DType::boolean, "a predicate");
    law(s.access.buffer >= scratch_base || buffer(s.access.buffer).writes, "a store goes to a buffer that is only read");
    law(!gpu_ || in_threads(place), "a store stands outside of the thread loops");
    if (s.access.buffer < scratch_base) stores_.push_back(&s.access);
  }

  void check(const For& s, Place place) {
    use(s.extent, "an extent");
    law(s.step >= 1 && std::has_single_bit(static_cast<std::uint32_t>(s.step)), "the step {} is no power of two", s.step);
    const LoopKind around = place.loop ? place.loop->kind : LoopKind::serial;
    switch (s.kind) {
      case LoopKind::unrolled:
        law(s.extent.kind == Size::Kind::number, "an unrolled loop has no number for its extent");
        [[fallthrough]];
      case LoopKind::serial:
        law(!gpu_ || in_threads(place), "a {} loop of a GPU kernel stands outside of the thread loops",
            loop_kind_names[static_cast<std::size_t>(s.kind)]);
        break;
      case LoopKind::parallel:
        law(place.top && !gpu_, "a parallel loop stands inside of another statement, or in a GPU kernel");
        ++parallel_loops_;
        break;
      case LoopKind::block:
        law(place.top || around == LoopKind::block, "a block loop stands inside of another statement");
        block_nests_ += place.top;
        break;
      case LoopKind::thread:
        law(around == LoopKind::block || around == LoopKind::thread,
            "a thread loop stands outside of the block loops, or not directly in them");
        law(s.extent.kind == Size::Kind::number && s.extent.number > 0 && s.extent.number <= 1024,
            "a thread loop needs an extent from 1 to 1024");
        break;
    }
    law(s.step == 1 || !gpu_, "a GPU kernel has no vector loops");
    law(s.carries.empty() || s.kind == LoopKind::serial || s.kind == LoopKind::unrolled,
        "only serial and unrolled loops carry values");
    for (const Carry& carried : s.carries) use(carried.init);

    const std::size_t outer = scope_.size();
    define(s.variable, DType::i64);
    for (const Carry& carried : s.carries) define(carried.inside, kernel_.value_types[carried.init]);
    const Statement* const self = current;
    block(s.body, {&s, place.depth + 1, false});
    current = self;
    for (const Carry& carried : s.carries) use(carried.next, kernel_.value_types[carried.init], "what a carried value becomes");
    close_scope(outer);
    for (const Carry& carried : s.carries) define(carried.result, kernel_.value_types[carried.init]);
  }

  void check(const Fold& s, Place) {
    const Combine& joins = combine(s.combine);
    law(s.lanes.size() == joins.types.size() && s.results.size() == joins.types.size(), "a fold joins {} values by a combine of {}",
        s.lanes.size(), joins.types.size());
    for (std::size_t i = 0; i < s.lanes.size(); ++i) use(s.lanes[i], joins.types[i], "what a fold joins");
    for (std::size_t i = 0; i < s.results.size(); ++i) define(s.results[i], joins.types[i]);
  }

  void check(const TreeFold& s, Place) {
    const Combine& joins = combine(s.combine);
    use(s.count, "a count");
    law(s.arrays.size() == joins.types.size() && s.results.size() == joins.types.size(),
        "a tree_fold joins {} arrays by a combine of {}", s.arrays.size(), joins.types.size());
    for (std::size_t i = 0; i < s.arrays.size(); ++i) {
      law(array(s.arrays[i]).type == joins.types[i], "array {} of a tree_fold has another type than its combine", i);
      law(array(s.arrays[i]).lanes == array(s.arrays[0]).lanes, "the arrays of a tree_fold differ in lanes");
    }
    for (std::size_t i = 0; i < s.results.size(); ++i) define(s.results[i], joins.types[i]);
  }

  void check(const If& s, Place place) {
    use(s.condition, DType::boolean, "a condition");
    const std::size_t outer = scope_.size();
    block(s.body, {place.loop, place.depth + 1, false});
    close_scope(outer);
  }

  void check(const Barrier&, Place place) { threads_only(place); }
  void check(const Shuffle& s, Place place) {
    threads_only(place);
    define(s.result, use(s.value));
  }
  void threads_only(Place place) const {
    law(gpu_ && in_threads(place), "a barrier or shuffle stands outside of the thread loops");
  }

  static bool in_threads(Place place) { return place.loop && place.loop->kind != LoopKind::block; }

  // Reads of a buffer that is also written use the store's own index, as far as one can see: equal strides and offset.
  void in_place() const {
    const auto same = [](const Access& a, const Access& b) {
      return a.buffer == b.buffer && a.offset == b.offset &&
             std::equal(a.terms.begin(), a.terms.end(), b.terms.begin(), b.terms.end(),
                        [](const Term& x, const Term& y) { return x.stride == y.stride; });
    };
    for (const Access* load : loads_in_place_)
      law(std::any_of(stores_.begin(), stores_.end(), [&](const Access* store) { return same(*load, *store); }),
          "buffer {} is written, and read at another index than a store's", load->buffer);
  }

  const Kernel& kernel_;
  std::vector<bool> visible_, defined_;
  std::vector<ValueId> scope_;
  std::vector<const Access*> loads_in_place_, stores_;
  bool gpu_ = false;
  int parallel_loops_ = 0, block_nests_ = 0;
};

// Which values are uniform. The structure is known to be right.
class Uniformity {
 public:
  explicit Uniformity(const Kernel& kernel)
      : kernel_(kernel), lanes_(value_lanes(kernel)), home_(kernel.value_types.size(), nullptr) {}

  void check() { block(kernel_.body, {}); }

  const Statement* current = nullptr;

 private:
  struct Place {
    std::int32_t lanes = 1;
    const For* wide = nullptr;  // the vector loop, or the outermost thread loop
  };

  void block(const Block& statements, Place place) {
    for (const Statement& statement : statements) {
      current = &statement;
      std::visit([&](const auto& s) { check(s, place); }, statement.node);
    }
  }

  void use(ValueId value, Place place) const {
    if (value == no_value || lanes_[value] == 1) return;
    law(home_[value] == place.wide && place.wide,
        "the lanes of a vector loop's value are used outside of it, by another statement than fold");
  }
  void uniform(ValueId value, const char* what) const {
    law(value == no_value || lanes_[value] == 1, "{} differs between lanes", what);
  }
  void uniform(const Size& size, const char* what) const { uniform(size.value, what); }
  void define(ValueId value, Place place) { home_[value] = place.wide; }

  std::int32_t use(const Access& access, Place place) const {
    std::int32_t most = 1;
    for (const Term& term : access.terms) {
      use(term.index, place);
      uniform(term.stride, "a stride");
      most = std::max(most, lanes_[term.index]);
    }
    uniform(access.offset, "an offset");
    if (access.buffer >= scratch_base) most = std::max(most, own_array(access.buffer, place));
    return most;
  }

  std::int32_t own_array(std::uint32_t number, Place place) const {
    const std::int32_t lanes = kernel_.scratch[number - scratch_base].lanes;
    law(lanes == 1 || lanes == place.lanes, "a scratch array with {} lanes is used where there are {}", lanes, place.lanes);
    return lanes;
  }

  void check(const Compute& s, Place place) {
    for (ValueId operand : s.instruction.in) use(operand, place);
    define(s.result, place);
  }
  void check(const Load& s, Place place) {
    use(s.access, place);
    use(s.predicate, place);
    define(s.result, place);
  }
  void check(const Store& s, Place place) {
    const std::int32_t lanes = use(s.access, place);
    use(s.value, place);
    use(s.predicate, place);
    const bool race = lanes == 1 && (lanes_[s.value] > 1 || (s.predicate != no_value && lanes_[s.predicate] > 1));
    law(!race || never_runs_ || place.wide->kind == LoopKind::thread, "all lanes store to one place");
  }
  void check(const For& s, Place place) {
    uniform(s.extent, "an extent");
    law(s.step == 1 || place.lanes == 1, "a vector loop stands inside of another");
    Place inside = place;
    if (s.step > 1) inside = {s.step, &s};
    if (s.kind == LoopKind::thread && place.lanes == 1) inside = {lanes_[s.variable], &s};
    for (const Carry& carried : s.carries) {
      const bool handed_on = s.step > 1 && lanes_[carried.init] == s.step && !home_[carried.init];
      if (!handed_on) use(carried.init, place);
      define(carried.inside, inside);
      define(carried.result, place);
    }
    define(s.variable, inside);
    const Statement* const self = current;
    const bool around_never_runs = std::exchange(never_runs_, never_runs_ || s.extent == Size::of(0));
    block(s.body, inside);
    never_runs_ = around_never_runs;
    current = self;
    for (const Carry& carried : s.carries) {
      use(carried.next, inside);
      if (inside.lanes == 1) uniform(carried.next, "what a uniform loop carries");
    }
  }
  void check(const Fold& s, Place place) {
    law(!place.wide, "a fold stands inside of a vector or thread loop");
    for (ValueId value : s.lanes)
      law(lanes_[value] > 1 && lanes_[value] == lanes_[s.lanes[0]], "a fold joins values without lanes, or of different lanes");
  }
  void check(const TreeFold& s, Place place) {
    uniform(s.count, "a count");
    own_array(s.arrays[0], place);
    for (ValueId result : s.results) define(result, place);
  }
  void check(const If& s, Place place) {
    uniform(s.condition, "a condition");
    block(s.body, place);
  }
  void check(const Barrier&, Place) {}
  void check(const Shuffle& s, Place place) {
    use(s.value, place);
    define(s.result, place);
  }

  const Kernel& kernel_;
  std::vector<std::int32_t> lanes_;
  bool never_runs_ = false;       // a loop around has no iterations: arrays without elements have one place, which nobody stores to
  std::vector<const For*> home_;  // of values with lanes: the loop that they belong to; none for what left a vector loop
};

template <class Check>
BrokenLaw run(Check check) {
  try {
    check.check();
    return {};
  } catch (const Broken& broken) {
    return {broken.law, check.current};
  }
}

}  // namespace

BrokenLaw find_broken_law(const Kernel& kernel) {
  BrokenLaw first = run(Structure(kernel));
  return first.law.empty() ? run(Uniformity(kernel)) : first;
}

std::string broken_law(const Kernel& kernel) {
  const BrokenLaw broken = find_broken_law(kernel);
  if (broken.law.empty()) return "";
  const std::string where = broken.where ? fmt::format(", in `{}`", statement_text(kernel, *broken.where)) : "";
  return fmt::format("kernel '{}': {}{}", kernel.name, broken.law, where);
}

void verify(const Kernel& kernel) {
  const std::string broken = broken_law(kernel);
  invariant(broken.empty(), "{}", broken);
}

}  // namespace braze::ir
