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

Wide magnitude(const Range& a) { return std::max(Wide{a.high}, -Wide{a.low}); }

// Truncated division: no larger than what is divided, and by 0 it gives 0. C++ agrees for divisors that are at least 1.
RangeResult quotient(const Range& a, const Range& b, DType type) {
  if (b.low >= 1) {
    const std::array<Wide, 4> corners{Wide{a.low} / b.low, Wide{a.low} / b.high, Wide{a.high} / b.low, Wide{a.high} / b.high};
    const auto [low, high] = std::minmax_element(corners.begin(), corners.end());
    return fitted(*low, *high, type);
  }
  return {fitted(-magnitude(a), magnitude(a), type).range, true};
}

RangeResult remainder(const Range& a, const Range& b, DType type) {
  const Wide most = std::max(std::min(magnitude(a), magnitude(b) - 1), Wide{0});
  return {fitted(a.low < 0 ? -most : 0, a.high > 0 ? most : 0, type).range, b.low < 1};
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
      if (type == DType::u8)
        value &= 255;
      else if (const int spare = 64 - size_of(type) * 8; spare > 0)
        value = static_cast<std::int64_t>(instruction.payload << spare) >> spare;
      return {{value, value}, false};
    }
    case Primitive::add:
      return fitted(Wide{a.low} + b.low, Wide{a.high} + b.high, type);
    case Primitive::sub:
      return fitted(Wide{a.low} - b.high, Wide{a.high} - b.low, type);
    case Primitive::mul:
      return products(a, b, type);
    case Primitive::neg:
      return fitted(-Wide{a.high}, -Wide{a.low}, type);
    case Primitive::abs:
      return fitted(a.low > 0 ? a.low : a.high < 0 ? -Wide{a.high} : 0, std::max(Wide{a.high}, -Wide{a.low}), type);
    case Primitive::quo:
      return quotient(a, b, type);
    case Primitive::rem:
      return remainder(a, b, type);
    case Primitive::shr:
      return shifted_right(a, b, type);
    case Primitive::shl:
      return {whole, true};
    case Primitive::bit_and:
      if (b.low >= 0) return {{0, b.high}, false};
      return {a.low >= 0 ? Range{0, a.high} : whole, false};
    case Primitive::select:
      return {{std::min(b.low, c.low), std::max(b.high, c.high)}, false};
    case Primitive::convert:
      if (is_float(instruction.from)) return {whole, true};
      return fitted(a.low, a.high, type);
    default:
      return {whole, false};
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
  return outermost && std::any_of(threads.begin() + static_cast<std::ptrdiff_t>(dimension) + 1, threads.end(),
                                  [](std::int64_t n) { return n > 1; });
}

namespace {

class Analyser {
 public:
  explicit Analyser(const ir::Kernel& kernel) : kernel_(kernel) {
    const std::size_t count = kernel.value_types.size();
    out_.uses.assign(count, 0);
    out_.home.assign(count, 0);
    out_.used_in.assign(count, 0);
    out_.ranges.reserve(count);
    for (DType type : kernel.value_types) out_.ranges.push_back(range_of(type));
  }

  Analysis run() {
    for (ValueId size : kernel_.sizes) out_.ranges[size] = {-size_limit, size_limit};
    measure(kernel_.body, 0, 0);
    expect(has_threads_, "no thread loop");
    for (const ir::ScratchArray& array : kernel_.scratch) {
      expect(array.count.kind == ir::Size::Kind::number && array.space != ir::Space::heap, "scratch on the heap");
      expect(array.space == ir::Space::shared || array.lanes > 1 || out_.threads_per_block() == 1,
             "scratch that threads share outside shared memory");
    }
    visit(kernel_.body);
    expect(!shuffles_ || out_.threads_per_block() % 32 == 0, "shuffles in a block that is not whole warps");
    return std::move(out_);
  }

 private:
  void expect(bool condition, std::string_view what) const {
    invariant(condition, "kernel {} is not scheduled for a GPU: it has {}", kernel_.name, what);
  }

  // The block's shape must be known before anything in it is judged.
  void measure(const ir::Block& block, int blocks, int threads) {
    for (const ir::Statement& statement : block) {
      if (const auto* branch = std::get_if<ir::If>(&statement.node)) measure(branch->body, blocks, threads);
      const auto* loop = std::get_if<ir::For>(&statement.node);
      if (loop == nullptr) continue;
      const bool is_block = loop->kind == ir::LoopKind::block, is_thread = loop->kind == ir::LoopKind::thread;
      expect(loop->kind != ir::LoopKind::parallel, "a parallel loop");
      expect(loop->step == 1, "a vector loop");
      expect(blocks + is_block <= 3, "more than three block loops in a nest");
      expect(threads + is_thread <= 3, "more than three thread loops in a nest");
      expect(!is_thread || blocks > 0, "a thread loop outside of block loops");
      if (is_thread) {
        has_threads_ = true;
        std::int64_t& count = out_.threads[static_cast<std::size_t>(thread_dimension(*loop))];
        count = std::max(count, loop->extent.number);
      }
      measure(loop->body, blocks + is_block, threads + is_thread);
    }
  }

  // What a loop's carries become is used where its body ends.
  void visit(const ir::Block& block, std::span<const ir::Carry> carries = {}) {
    const std::uint32_t outer = block_;
    block_ = ++blocks_;
    for (const ir::Statement& statement : block) std::visit([this](const auto& node) { visit(node); }, statement.node);
    for (const ir::Carry& carry : carries) use(carry.next);
    block_ = outer;
  }

  void use(ValueId value) {
    if (value == ir::no_value) return;
    ++out_.uses[value];
    out_.used_in[value] = block_;
  }

  // Sizes and strides may be read in every iteration: never printed in place.
  void use(const ir::Size& size) {
    if (size.kind == ir::Size::Kind::value) out_.uses[size.value] += 2;
  }

  void use(const ir::Access& access) {
    use(access.offset);
    for (const ir::Term& term : access.terms) {
      use(term.index);
      use(term.stride);
    }
  }

  void visit(const ir::Compute& compute) {
    std::array<Range, 3> operands{};
    for (std::size_t n = 0; n < 3; ++n) {
      const ValueId in = compute.instruction.in[n];
      if (in == ir::no_value) continue;
      operands[n] = out_.ranges[in];
      use(in);
    }
    out_.home[compute.result] = block_;
    out_.ranges[compute.result] = range_of(compute.instruction, operands).range;
  }

  void visit(const ir::Load& load) {
    use(load.access);
    use(load.predicate);
  }

  void visit(const ir::Store& store) {
    use(store.access);
    use(store.value);
    use(store.predicate);
  }

  void visit(const ir::For& loop) {
    use(loop.extent);
    for (const ir::Carry& carry : loop.carries) use(carry.init);
    const std::int64_t last = loop.extent.kind == ir::Size::Kind::number ? loop.extent.number : out_.ranges[loop.extent.value].high;
    out_.ranges[loop.variable] = {0, std::max<std::int64_t>(last - 1, 0)};
    const bool thread = loop.kind == ir::LoopKind::thread;
    const bool narrow = thread && is_narrow(loop, out_.threads, thread_depth_ == 0);
    thread_depth_ += thread ? 1 : 0;
    narrow_ += narrow ? 1 : 0;
    visit(loop.body, loop.carries);
    narrow_ -= narrow ? 1 : 0;
    thread_depth_ -= thread ? 1 : 0;
  }

  void visit(const ir::If& branch) {
    use(branch.condition);
    visit(branch.body);
  }

  void visit(const ir::TreeFold& fold) {
    use(fold.count);
    if (kernel_.scratch[fold.arrays[0] - ir::scratch_base].space == ir::Space::shared)
      expect(narrow_ == 0, "a tree fold of shared arrays that some threads do not reach");
  }

  void visit(const ir::Fold&) { expect(false, "a fold of vector lanes"); }

  void visit(const ir::Barrier&) { expect(narrow_ == 0, "a barrier that some threads do not reach"); }

  void visit(const ir::Shuffle& shuffle) {
    expect(narrow_ == 0, "a shuffle that some threads do not reach");
    expect(shuffle.delta > 0 && shuffle.delta < 32, "a shuffle past the warp");
    shuffles_ = true;
    use(shuffle.value);
  }

  const ir::Kernel& kernel_;
  Analysis out_;
  std::uint32_t block_ = 0, blocks_ = 0;
  int thread_depth_ = 0, narrow_ = 0;
  bool has_threads_ = false, shuffles_ = false;
};

}  // namespace

Analysis analyse(const ir::Kernel& kernel) {
  ir::verify(kernel);
  return Analyser(kernel).run();
}

}  // namespace braze::codegen::cuda
