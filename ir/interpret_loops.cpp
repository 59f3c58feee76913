#include <algorithm>
#include <cstring>
#include <limits>

#include "ir/error.h"
#include "ir/loop_code.h"
#include "ir/loops_text.h"

namespace braze::ir {

using namespace loop_code;

namespace {

constexpr std::uint32_t warp = 32;

class Execution {
 public:
  Execution(const LoopInterpreter::Code& code, const KernelArgs& args, std::int64_t begin, std::int64_t end,
            const InterpretOptions& options);
  std::int32_t run();

 private:
  struct Frame {  // of a loop that runs
    std::int64_t at, limit;
  };

  std::uint64_t* lanes(const Operand& operand) { return registers_.data() + operand.at; }
  std::int64_t value(const SizeOperand& size) const {
    return size.at < 0 ? size.number : static_cast<std::int64_t>(registers_[static_cast<std::size_t>(size.at)]);
  }

  void compute(const FlatOp& op);
  template <class Access>
  void each_address(const FlatOp& op, const Access& access);
  void load(const FlatOp& op);
  void store(const FlatOp& op);
  std::size_t open_loop(std::size_t at);
  std::size_t close_loop(std::size_t at);
  void enter_iteration(const FlatOp& op, const Loop& loop, Frame frame);
  void open_threads(const FlatOp& op);
  void fold(const FlatOp& op);
  void tree_fold(const FlatOp& op);
  void shuffle(const FlatOp& op);
  // tuple <- combine(tuple, later), each `width` words.
  void join(const Joiner& joiner, std::uint64_t* tuple, const std::uint64_t* later);
  [[noreturn]] void outside(const FlatOp& op, std::int64_t element, std::int64_t elements) const;

  const LoopInterpreter::Code& code_;
  const KernelArgs& args_;
  std::int64_t begin_, end_;
  InterpretOptions options_;
  std::vector<std::uint64_t> registers_, moved_, join_values_;
  std::vector<std::vector<std::uint64_t>> scratch_;  // whatever the type, a word each
  std::vector<std::int64_t> scratch_counts_;
  std::vector<Frame> frames_;
  std::uint32_t active_ = 1;  // lanes; the inactive ones are always the last
  Fault fault_ = Fault::none;
};

Execution::Execution(const LoopInterpreter::Code& code, const KernelArgs& args, std::int64_t begin, std::int64_t end,
                     const InterpretOptions& options)
    : code_(code),
      args_(args),
      begin_(begin),
      end_(end),
      options_(options),
      registers_(code.registers),
      frames_(code.loops.size()) {
  for (std::size_t i = 0; i < code.kernel.sizes.size(); ++i)
    registers_[code.values[code.kernel.sizes[i]].at] = static_cast<std::uint64_t>(args.sizes[i]);
  for (std::size_t i = 0; i < code.kernel.scalars.size(); ++i) {
    const auto [value, type] = code.kernel.scalars[i];
    const int bits = type == DType::boolean ? 1 : 8 * size_of(type);
    registers_[code.values[value].at] = args.scalars[i] & (~std::uint64_t{0} >> (64 - bits));
  }
  for (const ScratchArray& array : code.kernel.scratch) {
    const std::int64_t count = array.count.kind == Size::Kind::number
                                   ? array.count.number
                                   : static_cast<std::int64_t>(registers_[code.values[array.count.value].at]);
    scratch_counts_.push_back(count);
    // Not zero: what a kernel reads before it writes shows.
    scratch_.emplace_back(static_cast<std::size_t>(count * array.lanes),
                          0x5a5a5a5a5a5a5a5au & (~std::uint64_t{0} >> (64 - 8 * size_of(array.type))));
  }
}

std::int32_t Execution::run() {
  for (std::size_t at = 0; at < code_.ops.size();) {
    const FlatOp& op = code_.ops[at];
    switch (op.kind) {
      case FlatOp::Kind::compute:
        compute(op);
        break;
      case FlatOp::Kind::load:
        load(op);
        break;
      case FlatOp::Kind::store:
        store(op);
        break;
      case FlatOp::Kind::open_loop:
        at = open_loop(at);
        continue;
      case FlatOp::Kind::close_loop:
        at = close_loop(at);
        continue;
      case FlatOp::Kind::open_threads:
        open_threads(op);
        break;
      case FlatOp::Kind::close_threads:
        if (op.leaves_threads) active_ = 1;
        break;
      case FlatOp::Kind::fold:
        fold(op);
        break;
      case FlatOp::Kind::tree_fold:
        tree_fold(op);
        break;
      case FlatOp::Kind::branch:
        if (!(*lanes(op.in[0]) & 1)) {
          at = op.jump;
          continue;
        }
        break;
      case FlatOp::Kind::shuffle:
        shuffle(op);
        break;
    }
    ++at;
  }
  return static_cast<std::int32_t>(fault_);
}

void Execution::compute(const FlatOp& op) {
  const std::uint64_t* a = lanes(op.in[0]);
  const std::uint64_t* b = lanes(op.in[1]);
  const std::uint64_t* c = lanes(op.in[2]);
  std::uint64_t* out = lanes(op.result);
  // Lanes that are not active may compute anything, but for faults.
  const std::uint32_t count = op.lanes == 1 ? 1 : std::min(op.lanes, active_);
  for (std::uint32_t lane = 0; lane < count; ++lane) {
    out[lane] = op.evaluate(*op.instruction, *a, *b, *c, &fault_);
    a += op.in[0].stride;
    b += op.in[1].stride;
    c += op.in[2].stride;
  }
}

// Calls access(lane, element) for each active lane whose predicate holds.
template <class Access>
void Execution::each_address(const FlatOp& op, const Access& access) {
  const Address& address = code_.addresses[op.detail];
  const std::uint64_t* predicate = lanes(op.in[2]);
  const std::uint32_t count = op.lanes == 1 ? 1 : std::min(op.lanes, active_);
  std::int64_t limit = std::numeric_limits<std::int64_t>::max();
  if (address.buffer >= scratch_base)
    limit = scratch_counts_[address.buffer - scratch_base];
  else if (!options_.buffer_elements.empty())
    limit = options_.buffer_elements[address.buffer];
  const bool checked = limit != std::numeric_limits<std::int64_t>::max();
  // Wrapping, as machine addresses do.
  const auto offset = static_cast<std::uint64_t>(value(address.offset));
  for (std::uint32_t lane = 0; lane < count; ++lane) {
    if (op.has_predicate && !(predicate[lane * op.in[2].stride] & 1)) continue;
    std::uint64_t element = offset;
    for (const AddressTerm& term : address.terms)
      element += registers_[term.index.at + lane * term.index.stride] * static_cast<std::uint64_t>(value(term.stride));
    const auto place = static_cast<std::int64_t>(element);
    if (checked && (place < 0 || place >= limit)) outside(op, place, limit);
    access(lane, address.array_lanes == 1 ? place : place * static_cast<std::int64_t>(address.array_lanes) + lane);
  }
}

void Execution::load(const FlatOp& op) {
  const Address& address = code_.addresses[op.detail];
  std::uint64_t* out = lanes(op.result);
  std::fill_n(out, op.lanes, 0);
  if (address.buffer >= scratch_base) {
    const std::uint64_t* words = scratch_[address.buffer - scratch_base].data();
    each_address(op, [&](std::uint32_t lane, std::int64_t element) { out[lane] = words[element]; });
    return;
  }
  const auto* bytes = static_cast<const unsigned char*>(args_.buffers[address.buffer]);
  const auto read = [&]<class Word>(Word) {
    each_address(op, [&](std::uint32_t lane, std::int64_t element) {
      Word word;
      std::memcpy(&word, bytes + element * static_cast<std::int64_t>(sizeof(Word)), sizeof(Word));
      out[lane] = word;
    });
  };
  if (address.type == DType::boolean)
    each_address(op, [&](std::uint32_t lane, std::int64_t element) { out[lane] = bytes[element] != 0; });
  else if (size_of(address.type) == 1)
    read(std::uint8_t{});
  else if (size_of(address.type) == 2)
    read(std::uint16_t{});
  else if (size_of(address.type) == 4)
    read(std::uint32_t{});
  else
    read(std::uint64_t{});
}

void Execution::store(const FlatOp& op) {
  const Address& address = code_.addresses[op.detail];
  const std::uint64_t* values = lanes(op.in[0]);
  const std::uint32_t stride = op.in[0].stride;
  if (address.buffer >= scratch_base) {
    std::uint64_t* words = scratch_[address.buffer - scratch_base].data();
    each_address(op, [&](std::uint32_t lane, std::int64_t element) { words[element] = values[lane * stride]; });
    return;
  }
  auto* bytes = static_cast<unsigned char*>(args_.buffers[address.buffer]);
  const auto write = [&]<class Word>(Word) {
    each_address(op, [&](std::uint32_t lane, std::int64_t element) {
      const auto word = static_cast<Word>(values[lane * stride]);
      std::memcpy(bytes + element * static_cast<std::int64_t>(sizeof(Word)), &word, sizeof(Word));
    });
  };
  if (size_of(address.type) == 1)
    write(std::uint8_t{});
  else if (size_of(address.type) == 2)
    write(std::uint16_t{});
  else if (size_of(address.type) == 4)
    write(std::uint32_t{});
  else
    write(std::uint64_t{});
}

std::size_t Execution::open_loop(std::size_t at) {
  const FlatOp& op = code_.ops[at];
  const Loop& loop = code_.loops[op.detail];
  Frame frame{0, value(loop.extent)};
  if (op.loop == LoopKind::parallel) {
    const std::int64_t extent = frame.limit;
    frame = {std::max<std::int64_t>(begin_, 0), std::min(end_, extent)};
    begin_ -= extent;
    end_ -= extent;
  }
  const bool runs = frame.at < frame.limit;
  for (const CarriedValue& carried : loop.carries)
    for (std::uint32_t lane = 0; lane < op.lanes; ++lane)
      lanes(runs ? carried.inside : carried.result)[lane] = lanes(carried.init)[lane * carried.init.stride];
  if (!runs) return op.jump;
  frames_[op.detail] = frame;
  enter_iteration(op, loop, frame);
  return at + 1;
}

void Execution::enter_iteration(const FlatOp& op, const Loop& loop, Frame frame) {
  std::uint64_t* variable = lanes(op.result);
  if (loop.step == 1) {
    *variable = static_cast<std::uint64_t>(frame.at);
    return;
  }
  for (std::int32_t lane = 0; lane < loop.step; ++lane) variable[lane] = static_cast<std::uint64_t>(frame.at + lane);
  active_ = static_cast<std::uint32_t>(std::min<std::int64_t>(loop.step, frame.limit - frame.at));
}

std::size_t Execution::close_loop(std::size_t at) {
  const FlatOp& op = code_.ops[at];
  const Loop& loop = code_.loops[op.detail];
  const std::uint32_t count = std::min(op.lanes, active_);
  // All at once: what becomes of one carried value may be another.
  moved_.resize(loop.carries.size() * count);
  std::uint64_t* moved = moved_.data();
  for (const CarriedValue& carried : loop.carries)
    for (std::uint32_t lane = 0; lane < count; ++lane) *moved++ = lanes(carried.next)[lane * carried.next.stride];
  moved = moved_.data();
  for (const CarriedValue& carried : loop.carries)
    for (std::uint32_t lane = 0; lane < count; ++lane) lanes(carried.inside)[lane] = *moved++;
  Frame& frame = frames_[op.detail];
  frame.at += loop.step;
  if (frame.at < frame.limit) {
    enter_iteration(op, loop, frame);
    return loop.open + 1;
  }
  for (const CarriedValue& carried : loop.carries) std::copy_n(lanes(carried.inside), op.lanes, lanes(carried.result));
  if (loop.step > 1) active_ = 1;
  return at + 1;
}

void Execution::open_threads(const FlatOp& op) {
  const Loop& loop = code_.loops[op.detail];
  const auto extent = static_cast<std::uint32_t>(value(loop.extent));
  std::uint64_t* variable = lanes(op.result);
  for (std::uint32_t thread = 0; thread < op.lanes; ++thread) variable[thread] = thread / loop.inner_threads % extent;
  active_ = op.lanes;
}

void Execution::join(const Joiner& joiner, std::uint64_t* tuple, const std::uint64_t* later) {
  join_values_.resize(2 * joiner.width + joiner.steps.size());
  std::uint64_t* values = join_values_.data();
  std::copy_n(tuple, joiner.width, values);
  std::copy_n(later, joiner.width, values + joiner.width);
  std::uint64_t* next = values + 2 * joiner.width;
  const auto operand = [&](ValueId value) { return value == no_value ? 0 : values[value]; };
  for (const Joiner::Step& step : joiner.steps) {
    const auto& in = step.instruction.in;
    *next++ = step.evaluate(step.instruction, operand(in[0]), operand(in[1]), operand(in[2]), &fault_);
  }
  for (std::size_t i = 0; i < joiner.width; ++i) tuple[i] = values[joiner.results[i]];
}

void Execution::fold(const FlatOp& op) {
  const FoldOp& fold = code_.folds[op.detail];
  const Joiner& joiner = code_.joiners[fold.combine];
  moved_.resize(op.lanes * joiner.width);  // lane by lane
  for (std::uint32_t lane = 0; lane < op.lanes; ++lane)
    for (std::size_t i = 0; i < joiner.width; ++i) moved_[lane * joiner.width + i] = lanes(fold.lanes[i])[lane];
  for (std::uint32_t half = op.lanes / 2; half >= lanes_in_order; half /= 2)
    for (std::uint32_t lane = 0; lane < half; ++lane)
      join(joiner, &moved_[lane * joiner.width], &moved_[(lane + half) * joiner.width]);
  for (std::uint32_t lane = 1; lane < std::min(op.lanes, lanes_in_order); ++lane)
    join(joiner, &moved_[0], &moved_[lane * joiner.width]);
  for (std::size_t i = 0; i < joiner.width; ++i) *lanes(fold.results[i]) = moved_[i];
}

void Execution::tree_fold(const FlatOp& op) {
  const FoldOp& fold = code_.folds[op.detail];
  const Joiner& joiner = code_.joiners[fold.combine];
  const std::int64_t count = value(fold.count), room = scratch_counts_[fold.arrays[0] - scratch_base];
  if (count < 1 || count > room) outside(op, count - 1, room);
  std::vector<std::uint64_t> tuples(static_cast<std::size_t>(count) * joiner.width);
  const auto tuple = [&](std::int64_t i) { return &tuples[static_cast<std::size_t>(i) * joiner.width]; };
  const std::uint32_t active = std::min(op.lanes, active_);
  for (std::uint32_t lane = 0; lane < active; ++lane) {
    for (std::int64_t i = 0; i < count; ++i)
      for (std::size_t k = 0; k < joiner.width; ++k)
        tuple(i)[k] = scratch_[fold.arrays[k] - scratch_base][static_cast<std::size_t>(i) * op.lanes + lane];
    for (std::int64_t left = count; left > 1; left -= left / 2) {
      for (std::int64_t i = 0; i < left / 2; ++i) {
        join(joiner, tuple(2 * i), tuple(2 * i + 1));
        std::copy_n(tuple(2 * i), joiner.width, tuple(i));
      }
      if (left % 2 != 0) std::copy_n(tuple(left - 1), joiner.width, tuple(left / 2));
    }
    for (std::size_t k = 0; k < joiner.width; ++k) lanes(fold.results[k])[lane] = tuple(0)[k];
  }
}

void Execution::shuffle(const FlatOp& op) {
  const auto delta = static_cast<std::int32_t>(op.detail);
  for (std::uint32_t lane = 0; lane < op.lanes; ++lane) {
    const std::int64_t from = static_cast<std::int64_t>(lane) + delta;
    const bool inside = from >= 0 && from < op.lanes && from / warp == lane / warp;
    lanes(op.result)[lane] = lanes(op.in[0])[(inside ? static_cast<std::uint32_t>(from) : lane) * op.in[0].stride];
  }
}

void Execution::outside(const FlatOp& op, std::int64_t element, std::int64_t elements) const {
  internal_failure(fmt::format("kernel '{}' accesses element {} of {}, in `{}`", code_.kernel.name, element, elements,
                               statement_text(code_.kernel, *op.statement)),
                   std::source_location::current());
}

}  // namespace

std::int32_t LoopInterpreter::run(const KernelArgs& args, std::int64_t begin, std::int64_t end,
                                  const InterpretOptions& options) const {
  return Execution(*code_, args, begin, end, options).run();
}

std::int32_t interpret(const Kernel& kernel, const KernelArgs& args, std::int64_t begin, std::int64_t end,
                       const InterpretOptions& options) {
  return LoopInterpreter(kernel).run(args, begin, end, options);
}

}  // namespace braze::ir
