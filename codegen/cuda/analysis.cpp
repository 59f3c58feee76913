#include "codegen/cuda/analysis.h"

#include <algorithm>
#include <limits>

#include "ir/error.h"

namespace braze::codegen::cuda {

using ir::Primitive;
using ir::ValueId;

namespace {

__extension__ using Wide = __int128;

constexpr std::int64_t size_limit = std::int64_t{1} << 47;

RangeResult fitted(Wide low, Wide high, DType type) {
  const Range whole = range_of(type);
  if (low < whole.low || high > whole.high) return {whole, true};
  return {{static_cast<std::int64_t>(low), static_cast<std::int64_t>(high)}, false};
}

RangeResult products(const Range& a, const Range& b, DType type) {
  const std::array<Wide, 4> corners{Wide{a.low} * b.low, Wide{a.low} * b.high, Wide{a.high} * b.low, Wide{a.high} * b.high};
  const auto [low, high] = std::minmax_element(corners.begin(), corners.end());
  return fitted(*low, *high, type);
}

// Truncated division by a divisor that is at least 1.
RangeResult quotient(const Range& a, const Range& b, DType type) {
  if (b.low < 1) return {range_of(type), true};
  const std::array<Wide, 4> corners{Wide{a.low} / b.low, Wide{a.low} / b.high, Wide{a.high} / b.low, Wide{a.high} / b.high};
  const auto [low, high] = std::minmax_element(corners.begin(), corners.end());
  return fitted(*low, *high, type);
}

RangeResult remainder(const Range& a, const Range& b, DType type) {
  if (b.low < 1) return {range_of(type), true};
  return fitted(a.low < 0 ? -(Wide{b.high} - 1) : 0, a.high > 0 ? std::min<Wide>(a.high, Wide{b.high} - 1) : 0, type);
}

// A count known to lie within the type's bits needs no guard.
RangeResult shifted_right(const Range& a, const Range& b, DType type) {
  const int bits = size_of(type) * 8;
  if (b.low < 0 || b.high >= bits) return {range_of(type), true};
  return fitted(std::min(a.low >> b.low, a.low >> b.high), std::max(a.high >> b.low, a.high >> b.high), type);
}

}  // namespace

Range range_of(DType type) {
  if (type == DType::boolean) return {0, 1};
  if (type == DType::u8) return {0, 255};
  const int bits = is_float(type) ? 64 : size_of(type) * 8;
  const auto high = static_cast<std::int64_t>((std::uint64_t{1} << (bits - 1)) - 1);
  return {-high - 1, high};
}

RangeResult range_of(const ir::Instruction& instruction, const std::array<Range, 3>& in) {
  const DType type = instruction.type;
  const Range &a = in[0], &b = in[1], &c = in[2];
  const Range whole = range_of(type);
  if (!is_integer(type)) return {whole, false};
  switch (instruction.op) {
    case Primitive::constant: {
      auto value = static_cast<std::int64_t>(instruction.payload);
      if (type == DType::u8) value &= 255;
      else if (const int spare = 64 - size_of(type) * 8; spare > 0)
        value = static_cast<std::int64_t>(instruction.payload << spare) >> spare;
      return {{value, value}, false};
    }
    case Primitive::add: return fitted(Wide{a.low} + b.low, Wide{a.high} + b.high, type);
    case Primitive::sub: return fitted(Wide{a.low} - b.high, Wide{a.high} - b.low, type);
    case Primitive::mul: return products(a, b, type);
    case Primitive::neg: return fitted(-Wide{a.high}, -Wide{a.low}, type);
    case Primitive::abs:
      return fitted(a.low > 0 ? a.low : a.high < 0 ? -Wide{a.high} : 0, std::max(Wide{a.high}, -Wide{a.low}), type);
    case Primitive::quo: return quotient(a, b, type);
    case Primitive::rem: return remainder(a, b, type);
    case Primitive::shr: return shifted_right(a, b, type);
    case Primitive::shl: return {whole, true};
    case Primitive::bit_and:
      if (b.low >= 0) return {{0, b.high}, false};
      return {a.low >= 0 ? Range{0, a.high} : whole, false};
    case Primitive::select: return {{std::min(b.low, c.low), std::max(b.high, c.high)}, false};
    case Primitive::convert:
      if (is_float(instruction.from)) return {whole, true};
      return fitted(a.low, a.high, type);
    default: return {whole, false};
  }
}

int thread_dimension(const ir::For& loop) {
  int inner = 0;
  for (const ir::Statement& statement : loop.body)
    if (const auto* nested = std::get_if<ir::For>(&statement.node); nested != nullptr && nested->kind == ir::LoopKind::thread)
      inner = std::max(inner, thread_dimension(*nested) + 1);
  return inner;
}

bool is_narrow(const ir::For& loop, const std::array<std::int64_t, 3>& threads, bool outermost) {
  const auto dimension = static_cast<std::size_t>(thread_dimension(loop));
  if (loop.extent.number != threads[dimension]) return true;
  return outermost && std::any_of(threads.begin() + static_cast<std::ptrdiff_t>(dimension) + 1, threads.end(), [](std::int64_t n) { return n > 1; });
}

namespace {

class Analyser {
 public:
  explicit Analyser(const ir::Kernel& kernel) : kernel_(kernel) {
    const std::size_t count = kernel.value_types.size();
    out_.uses.assign(count, 0);
    out_.home.assign(count, 0);
    out_.used_in.assign(count, 0);
    out_.varies.assign(count, false);
    out_.ranges.reserve(count);
    for (DType type : kernel.value_types) out_.ranges.push_back(range_of(type));
  }

  Analysis run() {
    for (ValueId size : kernel_.sizes) out_.ranges[size] = {-size_limit, size_limit};
    for (const ir::ScratchArray& array : kernel_.scratch) {
      expect(array.count.kind == ir::Size::Kind::number, "scratch of variable size");
      expect(array.space != ir::Space::heap, "scratch on the heap");
    }
    measure(kernel_.body);
    for (const ir::ScratchArray& array : kernel_.scratch)
      expect(array.space == ir::Space::shared || array.lanes == out_.threads_per_block(), "scratch that threads share outside shared memory");
    visit(kernel_.body);
    expect(!shuffles_ || out_.threads_per_block() % 32 == 0, "shuffles in a block that is not whole warps");
    return std::move(out_);
  }

 private:
  void expect(bool condition, std::string_view what) const {
    invariant(condition, "kernel {} is not scheduled for a GPU: it has {}", kernel_.name, what);
  }

  // The block's shape must be known before anything in it is judged.
  void measure(const ir::Block& block) {
    for (const ir::Statement& statement : block) {
      if (const auto* branch = std::get_if<ir::If>(&statement.node)) measure(branch->body);
      const auto* loop = std::get_if<ir::For>(&statement.node);
      if (loop == nullptr) continue;
      if (loop->kind == ir::LoopKind::thread) {
        const int dimension = thread_dimension(*loop);
        expect(dimension < 3, "thread loops more than three deep");
        expect(loop->extent.kind == ir::Size::Kind::number && loop->extent.number > 0, "a thread loop of variable extent");
        std::int64_t& threads = out_.threads[static_cast<std::size_t>(dimension)];
        threads = std::max(threads, loop->extent.number);
      }
      measure(loop->body);
    }
  }

  // What a loop's carries become is used where its body ends.
  void visit(const ir::Block& block, std::span<const ir::Carry> carries = {}) {
    const std::uint32_t outer = block_;
    block_ = ++blocks_;
    for (const ir::Statement& statement : block)
      std::visit([this](const auto& node) { visit(node); }, statement.node);
    for (const ir::Carry& carry : carries) use(carry.next);
    block_ = outer;
  }

  void define(ValueId value, bool varies) {
    out_.home[value] = block_;
    out_.varies[value] = varies;
  }

  // Counts a use; returns whether the value differs between threads.
  bool use(ValueId value) {
    if (value == ir::no_value) return false;
    ++out_.uses[value];
    out_.used_in[value] = block_;
    return out_.varies[value];
  }

  // Sizes and strides stand where they are read often: never printed in place.
  bool use(const ir::Size& size) {
    if (size.kind == ir::Size::Kind::number) return false;
    ++out_.uses[size.value];
    return use(size.value);
  }

  bool use(const ir::Access& access) {
    bool varies = use(access.offset);
    for (const ir::Term& term : access.terms) {
      varies |= use(term.index);
      varies |= use(term.stride);
    }
    return varies;
  }

  void visit(const ir::Compute& compute) {
    std::array<Range, 3> operands{};
    bool varies = false;
    for (std::size_t n = 0; n < 3; ++n) {
      const ValueId in = compute.instruction.in[n];
      if (in == ir::no_value) continue;
      operands[n] = out_.ranges[in];
      varies |= use(in);
    }
    define(compute.result, varies);
    out_.ranges[compute.result] = range_of(compute.instruction, operands).range;
  }

  void visit(const ir::Load& load) {
    const bool varies = use(load.access) | use(load.predicate);
    define(load.result, varies || load.access.buffer >= ir::scratch_base);
  }

  void visit(const ir::Store& store) {
    expect(thread_depth_ > 0, "a store outside its thread loops");
    use(store.access);
    use(store.value);
    use(store.predicate);
  }

  void visit(const ir::For& loop) {
    expect(loop.step == 1, "a vector loop");
    expect(loop.kind != ir::LoopKind::parallel, "a parallel loop");
    const bool differs = use(loop.extent);
    const bool block = loop.kind == ir::LoopKind::block, thread = loop.kind == ir::LoopKind::thread;
    if (block) {
      expect(thread_depth_ == 0 && serial_depth_ == 0 && ++block_depth_ <= 3, "a block loop inside another kind of loop");
      expect(loop.carries.empty(), "a block loop that carries values");
    }
    if (thread) {
      expect(block_depth_ > 0 && serial_depth_ == 0, "a thread loop outside a block loop or inside a serial one");
      expect(loop.carries.empty(), "a thread loop that carries values");
    }
    const bool diverges = differs || (thread && is_narrow(loop, out_.threads, thread_depth_ == 0));
    if (thread) ++thread_depth_;
    if (!block && !thread) ++serial_depth_;
    divergence_ += diverges ? 1 : 0;

    open(loop, thread || differs);
    visit(loop.body, loop.carries);
    for (const ir::Carry& carry : loop.carries) define(carry.result, true);

    divergence_ -= diverges ? 1 : 0;
    if (block) --block_depth_;
    if (thread) --thread_depth_;
    if (!block && !thread) --serial_depth_;
  }

  void open(const ir::For& loop, bool varies) {
    const std::int64_t last =
        loop.extent.kind == ir::Size::Kind::number ? loop.extent.number : out_.ranges[loop.extent.value].high;
    out_.ranges[loop.variable] = {0, std::max<std::int64_t>(last - 1, 0)};
    define(loop.variable, varies);
    for (const ir::Carry& carry : loop.carries) {
      use(carry.init);
      define(carry.inside, true);
    }
  }

  void visit(const ir::If& branch) {
    const bool differs = use(branch.condition);
    divergence_ += differs ? 1 : 0;
    visit(branch.body);
    divergence_ -= differs ? 1 : 0;
  }

  void visit(const ir::TreeFold& fold) {
    expect(thread_depth_ > 0, "a tree fold outside its thread loops");
    use(fold.count);
    for (ValueId result : fold.results) define(result, true);
  }

  void visit(const ir::Fold&) { expect(false, "a fold of vector lanes"); }

  void visit(const ir::Barrier&) {
    expect(thread_depth_ > 0, "a barrier outside its thread loops");
    expect(divergence_ == 0, "a barrier that some threads do not reach");
  }

  void visit(const ir::Shuffle& shuffle) {
    expect(thread_depth_ > 0, "a shuffle outside its thread loops");
    expect(divergence_ == 0, "a shuffle that some threads do not reach");
    expect(shuffle.delta > 0 && shuffle.delta < 32, "a shuffle past the warp");
    shuffles_ = true;
    use(shuffle.value);
    define(shuffle.result, true);
  }

  const ir::Kernel& kernel_;
  Analysis out_;
  std::uint32_t block_ = 0, blocks_ = 0;
  int block_depth_ = 0, thread_depth_ = 0, serial_depth_ = 0, divergence_ = 0;
  bool shuffles_ = false;
};

}  // namespace

Analysis analyse(const ir::Kernel& kernel) { return Analyser(kernel).run(); }

}  // namespace braze::codegen::cuda
