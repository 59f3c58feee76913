#include "codegen/cuda/emit.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <iterator>
#include <set>

#include "codegen/cuda/analysis.h"
#include "codegen/cuda/expression.h"
#include "codegen/cuda/prelude.h"
#include "ir/error.h"

namespace braze::codegen::cuda {

using ir::ValueId;

namespace {

// Longer expressions get a line and a name of their own.
constexpr std::size_t inline_limit = 60, column_limit = 120;
constexpr std::array<std::string_view, 3> axes{"x", "y", "z"};

std::string identifier(std::string_view text) {
  std::string out;
  for (char c : text) out += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  if (out.empty() || std::isdigit(static_cast<unsigned char>(out[0])) != 0) out.insert(0, "_");
  return out;
}

std::string_view fault_text(std::uint64_t fault) {
  switch (static_cast<ir::Fault>(fault)) {
    case ir::Fault::division_by_zero:
      return "division by zero";
    case ir::Fault::index_out_of_range:
      return "index out of range";
    default:
      return "fault";
  }
}

// Names that are not taken: neither by C++ and CUDA nor by an earlier value of the kernel.
class Names {
 public:
  std::string unique(std::string_view wanted) {
    const std::string base = identifier(wanted);
    std::string name = base;
    for (int n = 1; !used_.insert(name).second; ++n) name = fmt::format("{}_{}", base, n);
    return name;
  }

 private:
  std::set<std::string, std::less<>> used_{
      "alignas", "asm",      "auto",   "bool",      "break",    "case",     "char",     "class",   "const",  "continue",
      "default", "delete",   "do",     "double",    "else",     "enum",     "false",    "float",   "for",    "goto",
      "if",      "inline",   "int",    "long",      "new",      "not",      "or",       "and",     "return", "short",
      "signed",  "sizeof",   "static", "status",    "struct",   "switch",   "template", "this",    "true",   "typedef",
      "union",   "unsigned", "using",  "void",      "volatile", "while",    "i8",       "u8",      "i16",    "i64",
      "u64",     "f16",      "bf16",   "threadIdx", "blockIdx", "blockDim", "gridDim",  "warpSize"};
};

class Emitter {
 public:
  Emitter(const ir::Kernel& kernel, std::string entry, Prelude& prelude)
      : kernel_(kernel),
        entry_(std::move(entry)),
        prelude_(prelude),
        analysis_(analyse(kernel)),
        text_(kernel.value_types.size()),
        settled_(kernel.value_types.size()) {}

  std::string emit() {
    head();
    scratch();
    block(kernel_.body, true);
    out_ += "}\n";
    return std::move(out_);
  }

 private:
  template <class... Args>
  void line(fmt::format_string<Args...> format, Args&&... args) {
    out_.append(static_cast<std::size_t>(depth_) * 2, ' ');
    fmt::format_to(std::back_inserter(out_), format, std::forward<Args>(args)...);
    out_ += '\n';
  }

  void open(const std::string& text) {
    line("{} {{", text);
    ++depth_;
  }
  void close() {
    --depth_;
    line("}}");
  }

  void head() {
    std::vector<std::string> parameters;
    for (const ir::BufferParameter& buffer : kernel_.buffers)
      parameters.push_back(fmt::format("{}{}* __restrict__ {}", buffer.writes ? "" : "const ", prelude_.memory(buffer.type),
                                       buffers_.emplace_back(names_.unique(fmt::format("b{}", buffers_.size())))));
    for (std::size_t n = 0; n < kernel_.sizes.size(); ++n) {
      const bool named = n < kernel_.size_names.size() && !kernel_.size_names[n].empty();
      const std::string name = names_.unique(named ? kernel_.size_names[n] : fmt::format("n{}", n));
      text_[kernel_.sizes[n]] = {name};
      parameters.push_back(fmt::format("{} {}", prelude_.type(DType::i64), name));
    }
    for (std::size_t n = 0; n < kernel_.scalars.size(); ++n) {
      const auto [value, type] = kernel_.scalars[n];
      text_[value] = {names_.unique(fmt::format("s{}", n))};
      parameters.push_back(fmt::format("{} {}", prelude_.type(type), text_[value].text));
    }
    parameters.emplace_back("int* status");
    signature(parameters);
    ++depth_;
  }

  // What a kernel keeps in registers must fit: left alone, ptxas aims at three blocks a multiprocessor and spills a little. With
  // 512 threads there, each has 128 registers.
  std::string launch_bounds() const {
    const std::int64_t threads = analysis_.threads_per_block();
    const bool keeps = std::any_of(kernel_.scratch.begin(), kernel_.scratch.end(),
                                   [](const ir::ScratchArray& array) { return array.space == ir::Space::registers; });
    return keeps ? fmt::format("{}, {}", threads, std::max<std::int64_t>(512 / threads, 1)) : std::to_string(threads);
  }

  // As many parameters a line as fit.
  void signature(const std::vector<std::string>& parameters) {
    std::string text = fmt::format("extern \"C\" __global__ void __launch_bounds__({}) {}(", launch_bounds(), entry_);
    for (std::size_t n = 0; n < parameters.size(); ++n) {
      const std::string piece = parameters[n] + (n + 1 < parameters.size() ? "," : ") {");
      if (n > 0 && text.size() + 1 + piece.size() > column_limit) {
        line("{}", text);
        text = "    " + piece;
      } else {
        text += (n > 0 ? " " : "") + piece;
      }
    }
    line("{}", text);
  }

  void scratch() {
    for (const ir::ScratchArray& array : kernel_.scratch) {
      const bool shared = array.space == ir::Space::shared;
      shares_ |= shared;
      const std::string name = names_.unique(fmt::format("{}{}", shared ? "shared" : "local", scratch_.size()));
      line("{}{} {}[{}];", shared ? "__shared__ " : "", prelude_.memory(array.type), name,
           std::max<std::int64_t>(array.count.number, 1));
      scratch_.push_back(name);
    }
  }

  // `between_threads`: whether a thread loop in the block is not inside another.
  void block(const ir::Block& statements, bool between_threads) {
    for (std::size_t n = 0; n < statements.size(); ++n) {
      std::visit([this](const auto& node) { statement(node); }, statements[n].node);
      const auto* loop = std::get_if<ir::For>(&statements[n].node);
      const bool threads = loop != nullptr && loop->kind == ir::LoopKind::thread;
      if (threads && between_threads && n + 1 < statements.size()) line("__syncthreads();");
    }
  }

  bool is_inline(ValueId value) const { return analysis_.uses[value] == 1 && analysis_.home[value] == analysis_.used_in[value]; }

  DType type_of(ValueId value) const { return kernel_.value_types[value]; }

  const Expression& value(ValueId id) const { return text_[id]; }

  void define(ValueId id, const Expression& expression) {
    const std::string name = names_.unique(fmt::format("v{}", values_++));
    line("const {} {} = {};", prelude_.type(type_of(id)), name, expression.text);
    text_[id] = {name};
    settled_[id] = true;
  }

  Expression expression(const ir::Instruction& instruction, std::span<const Expression> values, std::span<const Range> known) {
    std::array<Expression, 3> in;
    std::array<Range, 3> ranges{};
    for (std::size_t n = 0; n < in.size(); ++n) {
      if (instruction.in[n] == ir::no_value) continue;
      in[n] = values[instruction.in[n]];
      ranges[n] = known[instruction.in[n]];
    }
    return express(instruction, in, ranges, prelude_);
  }

  void statement(const ir::Compute& compute) {
    const ir::Instruction& instruction = compute.instruction;
    const Expression e = expression(instruction, text_, analysis_.ranges);
    const bool constant = instruction.op == ir::Primitive::constant;
    if (instruction.op == ir::Primitive::check) {
      text_[compute.result] = e;
      if (analysis_.uses[compute.result] != 0 && e.binding != Binding::primary) define(compute.result, e);
      line("if ({}) atomicMax(status, {});  // {}", text_[compute.result].text, instruction.payload,
           fault_text(instruction.payload));
    } else if (constant || (is_inline(compute.result) && e.text.size() <= inline_limit))
      text_[compute.result] = e;
    else if (analysis_.uses[compute.result] != 0)
      define(compute.result, e);
  }

  std::string size(const ir::Size& size) const {
    return size.kind == ir::Size::Kind::number ? std::to_string(size.number) : value(size.value).text;
  }

  // "b0[i * 4 + j]"
  std::string place(const ir::Access& access) const {
    std::vector<std::string> sum;
    for (const ir::Term& term : access.terms) {
      const Expression& index = value(term.index);
      if (term.stride == ir::Size::of(0) || index.text == "0") continue;
      if (term.stride == ir::Size::of(1))
        sum.push_back(access.terms.size() == 1 && access.offset == ir::Size::of(0) ? index.text : index.in(Binding::sum));
      else
        sum.push_back(fmt::format("{}{} * {}", index.in(Binding::product), index.literal ? "ll" : "", size(term.stride)));
    }
    const bool is_zero = access.offset == ir::Size::of(0);
    if (!is_zero || sum.empty()) sum.push_back(size(access.offset));
    std::string text = fmt::format("{}", fmt::join(sum, " + "));
    if (const std::size_t minus = text.rfind(" + -"); minus != std::string::npos) text.replace(minus, 4, " - ");
    return fmt::format("{}[{}]", array(access.buffer), text);
  }

  const std::string& array(std::uint32_t buffer) const {
    return buffer >= ir::scratch_base ? scratch_[buffer - ir::scratch_base] : buffers_[buffer];
  }

  void statement(const ir::Load& load) {
    const DType type = type_of(load.result);
    Expression e{place(load.access)};
    if (type == DType::boolean) e = {e.text + " != 0", Binding::equality};
    if (load.predicate != ir::no_value)
      e = {fmt::format("{} ? {} : {}", value(load.predicate).in(Binding::logical_or), e.text, literal(type, 0, prelude_).text),
           Binding::conditional};
    if (analysis_.uses[load.result] != 0) define(load.result, e);
  }

  void statement(const ir::Store& store) {
    const std::string guard = store.predicate == ir::no_value ? "" : fmt::format("if ({}) ", value(store.predicate).text);
    line("{}{} = {};", guard, place(store.access), value(store.value).text);
  }

  void statement(const ir::For& loop) {
    switch (loop.kind) {
      case ir::LoopKind::block:
        return block_loop(loop);
      case ir::LoopKind::thread:
        return thread_loop(loop);
      default:
        return serial_loop(loop);
    }
  }

  // Strides, so that any grid does. Shared memory serves one round at a time.
  void block_loop(const ir::For& loop) {
    const auto dimension = static_cast<std::size_t>(block_depth_++);
    const std::string name = names_.unique(dimension == 0 ? "block" : fmt::format("block_{}", axes[dimension]));
    text_[loop.variable] = {name};
    open(fmt::format("for ({0} {1} = blockIdx.{2}; {1} < {3}; {1} += gridDim.{2})", prelude_.type(DType::i64), name,
                     axes[dimension], size(loop.extent)));
    block(loop.body, true);
    const bool innermost = std::none_of(loop.body.begin(), loop.body.end(), [](const ir::Statement& s) {
      const auto* nested = std::get_if<ir::For>(&s.node);
      return nested != nullptr && nested->kind == ir::LoopKind::block;
    });
    if (innermost && shares_ && !ends_synchronised(loop.body)) line("__syncthreads();");
    close();
    --block_depth_;
  }

  bool touches_shared(const ir::Block& statements) const {
    return std::any_of(statements.begin(), statements.end(), [&](const ir::Statement& s) { return touches_shared(s); });
  }
  bool touches_shared(const ir::Statement& statement) const {
    const auto shared = [&](std::uint32_t array) {
      return array >= ir::scratch_base && kernel_.scratch[array - ir::scratch_base].space == ir::Space::shared;
    };
    return std::visit(ir::match{[&](const ir::Load& s) { return shared(s.access.buffer); },
                                [&](const ir::Store& s) { return shared(s.access.buffer); },
                                [&](const ir::TreeFold& s) { return shared(s.arrays[0]); },
                                [&](const ir::For& s) { return touches_shared(s.body); },
                                [&](const ir::If& s) { return touches_shared(s.body); }, [](const auto&) { return false; }},
                      statement.node);
  }

  // Whether a barrier follows the last access of shared memory.
  bool ends_synchronised(const ir::Block& statements) const {
    for (auto statement = statements.rbegin(); statement != statements.rend(); ++statement) {
      if (std::holds_alternative<ir::Barrier>(statement->node)) return true;
      const auto* loop = std::get_if<ir::For>(&statement->node);
      if (loop != nullptr && ends_synchronised(loop->body)) {
        if (loop->kind == ir::LoopKind::thread) return true;
      } else if (touches_shared(*statement)) {
        return false;
      }
    }
    return false;
  }

  void thread_loop(const ir::For& loop) {
    const auto dimension = static_cast<std::size_t>(thread_dimension(loop));
    const std::string name = names_.unique(dimension == 0 ? "thread" : fmt::format("thread_{}", axes[dimension]));
    text_[loop.variable] = {name};
    line("const {} {} = threadIdx.{};", prelude_.type(DType::i64), name, axes[dimension]);
    std::vector<std::string> guards;
    if (loop.extent.number != analysis_.threads[dimension]) guards.push_back(fmt::format("{} < {}", name, loop.extent.number));
    for (std::size_t d = dimension + 1; thread_depth_ == 0 && d < 3; ++d)
      if (analysis_.threads[d] > 1) guards.push_back(fmt::format("threadIdx.{} == 0", axes[d]));
    ++thread_depth_;
    if (!guards.empty()) open(fmt::format("if ({})", fmt::join(guards, " && ")));
    block(loop.body, false);
    if (!guards.empty()) close();
    --thread_depth_;
  }

  void serial_loop(const ir::For& loop) {
    for (const ir::Carry& carry : loop.carries) {
      const std::string name = names_.unique(fmt::format("acc{}", carried_++));
      line("{} {} = {};", prelude_.type(type_of(carry.inside)), name, value(carry.init).text);
      text_[carry.inside] = text_[carry.result] = {name};
    }
    const std::string name = names_.unique(fmt::format("i{}", loops_++));
    text_[loop.variable] = {name};
    if (loop.kind == ir::LoopKind::unrolled) line("#pragma unroll");
    open(fmt::format("for ({0} {1} = 0; {1} < {2}; ++{1})", prelude_.type(DType::i64), name, size(loop.extent)));
    block(loop.body, false);
    advance(loop.carries);
    close();
    for (const ir::Carry& carry : loop.carries) settled_[carry.result] = true;
  }

  // All carried values change at once: with more than one, the new ones are complete before the first is assigned.
  void advance(const std::vector<ir::Carry>& carries) {
    for (const ir::Carry& carry : carries)
      if (carries.size() > 1 && !settled_[carry.next] && carry.next != carry.inside) define(carry.next, text_[carry.next]);
    for (const ir::Carry& carry : carries)
      if (carry.next != carry.inside) line("{} = {};", text_[carry.inside].text, text_[carry.next].text);
  }

  void statement(const ir::If& branch) {
    open(fmt::format("if ({})", value(branch.condition).text));
    block(branch.body, false);
    close();
  }

  void statement(const ir::Barrier&) { line("__syncthreads();"); }

  // __shfl_down_sync knows no type narrower than int.
  void statement(const ir::Shuffle& shuffle) {
    const DType type = type_of(shuffle.result);
    Expression e{fmt::format("__shfl_down_sync(0xffffffffu, {}, {})", value(shuffle.value).text, shuffle.delta)};
    if (type == DType::boolean)
      e = {fmt::format("__shfl_down_sync(0xffffffffu, int({}), {}) != 0", value(shuffle.value).text, shuffle.delta),
           Binding::equality};
    else if (size_of(type) < 4)
      e = {fmt::format("{}(__shfl_down_sync(0xffffffffu, int({}), {}))", prelude_.type(type), value(shuffle.value).text,
                       shuffle.delta)};
    define(shuffle.result, e);
  }

  void statement(const ir::Fold&) { invariant(false, "kernel {}: a fold of vector lanes on a GPU", kernel_.name); }

  // Pairs join in place; an odd last tuple moves up as it is. Of arrays that all threads share, one thread is in charge.
  void statement(const ir::TreeFold& fold) {
    const bool shared = kernel_.scratch[fold.arrays[0] - ir::scratch_base].space == ir::Space::shared;
    const std::string width = names_.unique("width"), pair = names_.unique("pair");
    const std::string_view i64 = prelude_.type(DType::i64);
    if (shared) {
      line("__syncthreads();");
      open(fmt::format("if ({})", first_thread()));
    }
    open(fmt::format("for ({0} {1} = {2}; {1} > 1; {1} = ({1} + 1) / 2)", i64, width, size(fold.count)));
    open(fmt::format("for ({0} {1} = 0; {1} < {2} / 2; ++{1})", i64, pair, width));
    join(fold, pair);
    close();
    open(fmt::format("if ({} % 2 != 0)", width));
    for (std::uint32_t a : fold.arrays) line("{0}[{1} / 2] = {0}[{1} - 1];", array(a), width);
    close();
    close();
    if (shared) {
      close();
      line("__syncthreads();");
    }
    for (std::size_t n = 0; n < fold.results.size(); ++n) define(fold.results[n], element(fold.arrays[n], "0"));
  }

  std::string first_thread() const {
    std::vector<std::string> zero;
    for (std::size_t d = 0; d < 3; ++d)
      if (d == 0 || analysis_.threads[d] > 1) zero.push_back(fmt::format("threadIdx.{} == 0", axes[d]));
    return fmt::format("{}", fmt::join(zero, " && "));
  }

  Expression element(std::uint32_t scratch, const std::string& index) const {
    const bool boolean = kernel_.scratch[scratch - ir::scratch_base].type == DType::boolean;
    return {fmt::format("{}[{}]{}", array(scratch), index, boolean ? " != 0" : ""), boolean ? Binding::equality : Binding::primary};
  }

  void join(const ir::TreeFold& fold, const std::string& pair) {
    const ir::Combine& combine = kernel_.combines[fold.combine];
    std::vector<Expression> values;
    std::vector<Range> ranges;
    const auto bind = [&](DType type, const Expression& e) {
      const std::string name = names_.unique(fmt::format("v{}", values_++));
      line("const {} {} = {};", prelude_.type(type), name, e.text);
      values.push_back({name});
      ranges.push_back(range_of(type));
    };
    for (const char* side : {"2 * {}", "2 * {} + 1"})
      for (std::size_t n = 0; n < fold.arrays.size(); ++n)
        bind(combine.types[n], element(fold.arrays[n], fmt::format(fmt::runtime(side), pair)));
    for (const ir::Instruction& instruction : combine.body) bind(instruction.type, expression(instruction, values, ranges));
    for (std::size_t n = 0; n < fold.arrays.size(); ++n)
      line("{}[{}] = {};", array(fold.arrays[n]), pair, values[combine.results[n]].text);
  }

  const ir::Kernel& kernel_;
  const std::string entry_;
  Prelude& prelude_;
  const Analysis analysis_;
  std::vector<Expression> text_;  // by ValueId
  std::vector<bool> settled_;     // by ValueId: its text is a name whose value does not change any more
  std::vector<std::string> buffers_, scratch_;
  Names names_;
  std::string out_;
  int depth_ = 0, block_depth_ = 0, thread_depth_ = 0;
  int values_ = 0, carried_ = 0, loops_ = 0;
  bool shares_ = false;
};

}  // namespace

std::vector<std::string> entry_names(std::span<const ir::Kernel> kernels) {
  Names names;
  std::vector<std::string> out;
  for (const ir::Kernel& kernel : kernels) out.push_back(names.unique("braze_" + kernel.name));
  return out;
}

std::array<std::int64_t, 3> launch_threads(const ir::Kernel& kernel) { return analyse(kernel).threads; }

std::string emit(std::span<const ir::Kernel> kernels) {
  Prelude prelude;
  std::string functions;
  const std::vector<std::string> names = entry_names(kernels);
  for (std::size_t n = 0; n < kernels.size(); ++n) functions += "\n" + Emitter(kernels[n], names[n], prelude).emit();
  const std::string declarations = prelude.text();
  return declarations.empty() ? functions.substr(std::min<std::size_t>(1, functions.size())) : declarations + functions;
}

}  // namespace braze::codegen::cuda
