#include "tests/fuzz/program.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <memory>
#include <numeric>
#include <optional>
#include <set>

#include "braze/braze.h"
#include "ir/graph.h"
#include "ir/meaning.h"
#include "tests/passes/host_arrays.h"

namespace braze::test {

namespace {

using ir::Op;
constexpr int variables = 12;
constexpr std::int64_t most_elements = 600;

// ---- the model: elements that change at once ----

struct Elements {
  DType type{};
  std::vector<std::uint64_t> bits;
};

struct Model {
  std::shared_ptr<Elements> storage;
  std::int64_t offset = 0;
  Sizes sizes, strides;

  DType type() const { return storage->type; }
  std::int64_t count() const { return std::accumulate(sizes.begin(), sizes.end(), std::int64_t{1}, std::multiplies<>()); }
  bool is(const Model& other) const {
    return storage == other.storage && offset == other.offset && sizes == other.sizes && strides == other.strides;
  }
  // Addresses in row-major order.
  std::vector<std::int64_t> places() const {
    std::vector<std::int64_t> out;
    Sizes index(sizes.size(), 0);
    for (std::int64_t n = count(); n > 0; --n) {
      std::int64_t at = offset;
      for (std::size_t i = 0; i < index.size(); ++i) at += index[i] * strides[i];
      out.push_back(at);
      for (std::size_t i = index.size(); i-- > 0;) {
        if (++index[i] < sizes[i]) break;
        index[i] = 0;
      }
    }
    return out;
  }
  std::vector<std::uint64_t> read() const {
    std::vector<std::uint64_t> out;
    for (std::int64_t at : places()) out.push_back(storage->bits[static_cast<std::size_t>(at)]);
    return out;
  }
  void write(const std::vector<std::uint64_t>& values) {
    std::size_t n = 0;
    for (std::int64_t at : places()) storage->bits[static_cast<std::size_t>(at)] = values[n++];
  }
  bool dense() const {
    auto all = places();
    std::ranges::sort(all);
    for (std::size_t i = 1; i < all.size(); ++i)
      if (all[i] != all[i - 1] + 1) return false;
    return true;
  }
  // Whether PyTorch may refuse to read `other` while it writes here: both dense, in one stretch of memory.
  bool meets(const Model& other) const {
    if (storage != other.storage || count() == 0 || other.count() == 0 || !dense() || !other.dense()) return false;
    return offset < other.offset + other.count() && other.offset < offset + count();
  }
  bool repeats() const {
    const auto all = places();
    return std::set<std::int64_t>(all.begin(), all.end()).size() != all.size();
  }
};

// Broadcast to `sizes`, or nothing.
std::optional<Model> broadcast(Model m, const Sizes& sizes) {
  if (m.sizes.size() > sizes.size()) return {};
  const std::size_t lead = sizes.size() - m.sizes.size();
  m.sizes.insert(m.sizes.begin(), lead, 1);
  m.strides.insert(m.strides.begin(), lead, 0);
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (m.sizes[i] == sizes[i]) continue;
    if (m.sizes[i] != 1) return {};
    m.sizes[i] = sizes[i], m.strides[i] = 0;
  }
  return m;
}

std::optional<Sizes> broadcast(Sizes a, Sizes b) {
  if (a.size() < b.size()) std::swap(a, b);
  b.insert(b.begin(), a.size() - b.size(), 1);
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i] == 1) a[i] = b[i];
    if (b[i] != 1 && b[i] != a[i]) return {};
  }
  return a;
}

std::vector<std::uint64_t> cast(std::vector<std::uint64_t> bits, DType from, DType to) {
  if (from != to)
    for (std::uint64_t& b : bits) b = ir::evaluate_cast(from, to, b);
  return bits;
}

// Reductions of exact types alone: floats have an order of their own.
bool reduces(Op op, DType type) {
  if (op == Op::any || op == Op::all) return true;
  return !is_float(type) && (op == Op::sum || op == Op::max || op == Op::min);
}

bool divides(Op op) { return op == Op::floor_divide || op == Op::trunc_divide || op == Op::remainder || op == Op::fmod; }
// Ops whose results depend on values alone: no integer division by zero, no sign of a NaN.
bool usable(Op op, DType type) {
  // PyTorch's own rules, beside the table's.
  if (type == DType::boolean && (op == Op::shift_left || op == Op::shift_right)) return false;
  if (is_half(type) && op == Op::ldexp) return false;  // a product with a rounded power
  if (op == Op::signbit || op == Op::copysign) return !is_float(type) && ir::accepts(op, type);
  return !(divides(op) && !is_float(type)) && ir::accepts(op, type);
}

// ---- the library's side of an op ----

struct Unary {
  Op op;
  Tensor (*make)(const In&);
  void (*in_place)(Tensor&);
};
struct Binary {
  Op op;
  Tensor (*make)(const In&, const In&);
  void (*in_place)(Tensor&, const In&);
};
const std::vector<Unary> unaries = {
#define BRAZE_UNARY(name, accepts, result) {Op::name, [](const In& x) { return braze::name(x); }, [](Tensor& x) { x.name##_(); }},
#include "ir/ops.def"
};
const std::vector<Binary> binaries = {
#define BRAZE_BINARY(name, accepts, result, algebra) \
  {Op::name, [](const In& a, const In& b) { return braze::name(a, b); }, [](Tensor& a, const In& b) { a.name##_(b); }},
#include "ir/ops.def"
};
template <class Row>
const Row& row(const std::vector<Row>& rows, Op op) {
  return *std::find_if(rows.begin(), rows.end(), [&](const Row& r) { return r.op == op; });
}

// Some special functions refuse halves. Which ones PyTorch has recorded (tests/python/tables); here the library is asked.
template <class Make>
bool takes_halves(const Make& make) {
  try {
    make(zeros({0}, {float16}));
    return true;
  } catch (const NotImplementedError&) {
    return false;
  }
}

bool has_op(Op op, DType type) {
  if (!is_half(type)) return true;
  static const std::set<Op> refused = [] {
    std::set<Op> ops;
    for (const Unary& r : unaries)
      if (ir::accepts(r.op, DType::f16) && !takes_halves([&](const Tensor& x) { return r.make(x); })) ops.insert(r.op);
    for (const Binary& r : binaries)
      if (ir::accepts(r.op, DType::f16) && !takes_halves([&](const Tensor& x) { return r.make(x, x); })) ops.insert(r.op);
    return ops;
  }();
  return !refused.contains(op);
}

// ---- both, step by step ----

class Runner {
 public:
  explicit Runner(std::string* text) : text_(text) {}

  std::string run(const std::vector<Step>& steps) {
    try {
      for (const Step& step : steps) {
        do_step(step);
        if (!why_.empty()) return why_;
      }
      for (int v = 0; v < variables; ++v) check(v);
    } catch (const std::exception& e) {
      return fmt::format("thrown: {}", e.what());
    }
    return why_;
  }

 private:
  struct Variable {
    Tensor tensor;
    Model model;
  };

  template <class... Args>
  void say(fmt::format_string<Args...> format, Args&&... args) {
    if (text_ == nullptr) return;
    *text_ += eager_ ? "{ EagerScope eager; " : "";
    *text_ += fmt::format(format, std::forward<Args>(args)...) + (eager_ ? " }\n" : "\n");
  }
  std::optional<Variable>& at(int v) { return variables_[static_cast<std::size_t>(v)]; }
  Tensor& tensor(int v) { return at(v)->tensor; }
  Model& model(int v) { return at(v)->model; }
  bool defined(int v) { return at(v).has_value(); }

  void fail(std::string why) {
    if (why_.empty()) why_ = std::move(why);
  }

  // Values now.
  void check(int v) {
    if (!defined(v)) return;
    const Tensor& t = tensor(v);
    const Model& m = model(v);
    if (t.dtype() != m.type() || t.sizes() != m.sizes)
      return fail(fmt::format("v{}: {} {} where {} {} is right", v, name(t.dtype()), fmt::join(t.sizes(), ","), name(m.type()),
                              fmt::join(m.sizes, ",")));
    ir::HostArray got = ir::make_host_array(m.type(), m.sizes), wanted = ir::make_host_array(m.type(), m.sizes);
    const auto bits = m.read();
    for (std::size_t i = 0; i < bits.size(); ++i) put(wanted, static_cast<std::int64_t>(i), bits[i]);
    t.copy_to(got.data.get(), m.type());
    for (std::int64_t i = 0; i < got.elements(); ++i) {
      const std::uint64_t pair[] = {get(got, i), get(wanted, i)};
      const auto nan = [&](int k) { return is_float(m.type()) && ir::evaluate(Op::isnan, m.type(), {pair + k, 1}) != 0; };
      if (pair[0] != pair[1] && !(nan(0) && nan(1)))
        return fail(fmt::format("v{}, element {} of {}[{}]: bits {:#x} where {:#x} are right", v, i, name(m.type()),
                                fmt::join(m.sizes, ","), pair[0], pair[1]));
    }
  }

  // A result in new memory: the layout is the library's choice.
  void define(int out, Tensor t, DType type, Sizes sizes, const std::vector<std::uint64_t>& bits) {
    if (t.dtype() != type || t.sizes() != sizes)
      return fail(fmt::format("{} [{}] where {} [{}] is right", name(t.dtype()), fmt::join(t.sizes(), ","), name(type),
                              fmt::join(sizes, ",")));
    Model m{std::make_shared<Elements>(), t.storage_offset(), sizes, t.strides()};
    m.storage->type = type;
    std::int64_t reach = 0;
    if (m.count() > 0)
      for (std::size_t i = 0; i < sizes.size(); ++i) reach += (sizes[i] - 1) * m.strides[i];
    m.storage->bits.assign(static_cast<std::size_t>(m.offset + reach + 1), 0);
    if (m.repeats()) return fail("a result's own layout repeats elements");
    m.write(bits);
    at(out) = Variable{std::move(t), std::move(m)};
  }

  std::int64_t axis(const Step& s, int v, std::size_t n) const {
    const auto rank = static_cast<std::int64_t>(variables_[static_cast<std::size_t>(v)]->model.sizes.size());
    return rank == 0 ? -1 : s.numbers[n] % rank;
  }

  void do_step(const Step& s) {
    eager_ = s.eager;
    std::optional<EagerScope> scope;
    if (s.eager) scope.emplace();
    using Kind = Step::Kind;
    if (s.kind != Kind::create && !defined(s.a)) return;
    switch (s.kind) {
      case Kind::create:
        return create(s);
      case Kind::view:
        return view(s);
      case Kind::unary:
        return elementwise(s, 1, false);
      case Kind::binary:
        return elementwise(s, 2, false);
      case Kind::number:
        return with_number(s, false);
      case Kind::unary_in_place:
        return elementwise(s, 1, true);
      case Kind::binary_in_place:
        return elementwise(s, 2, true);
      case Kind::number_in_place:
        return with_number(s, true);
      case Kind::where:
        return where(s);
      case Kind::cast: {
        say("v{} = v{}.to({});", s.out, s.a, info(s.type).torch_name);
        if (s.type == model(s.a).type()) {  // itself
          at(s.out) = Variable(*at(s.a));
          return;
        }
        return define(s.out, tensor(s.a).to(s.type), s.type, model(s.a).sizes, cast(model(s.a).read(), model(s.a).type(), s.type));
      }
      case Kind::reduce:
        return reduction(s);
      case Kind::cat:
        return cat(s);
      case Kind::copy:
        return copy(s);
      case Kind::fill: {
        const std::int64_t n = model(s.a).type() == DType::boolean ? s.numbers[0] % 2 : s.numbers[0] % 5;
        say("v{}.fill_({});", s.a, n);
        tensor(s.a).fill_(n);  // the one write that may meet an element twice
        return model(s.a).write(
            std::vector<std::uint64_t>(static_cast<std::size_t>(model(s.a).count()), ir::literal(model(s.a).type(), n).bits));
      }
      case Kind::copy_in:
        return copy_in(s);
      case Kind::assign_through:
        return assign_through(s);
      case Kind::rebind:
        say("v{} = v{};", s.out, s.a);
        if (s.out == s.a) return;
        if (defined(s.out))
          tensor(s.out) = tensor(s.a), model(s.out) = model(s.a);
        else
          at(s.out) = Variable(*at(s.a));
        return;
      case Kind::forget:
        say("v{} = Tensor();", s.a);
        at(s.a).reset();
        return;
      case Kind::eval:
        say("v{}.eval();", s.a);
        tensor(s.a).eval();
        return;
      case Kind::eval_two:
        if (!defined(s.b)) return;
        say("eval({{v{}, v{}}});", s.a, s.b);
        return braze::eval({tensor(s.a), tensor(s.b)});
      case Kind::read:
        say("read v{};", s.a);
        return check(s.a);
      case Kind::compiled:
      case Kind::compiled_writes:
      case Kind::compiled_captures:
        return compiled(s);
    }
  }

  void create(const Step& s) {
    Sizes sizes;
    for (std::int64_t i = 0; i < s.numbers[0] % 4; ++i)
      sizes.push_back(s.numbers[static_cast<std::size_t>(1 + i)] % 100 == 0
                          ? 0
                          : 1 + s.numbers[static_cast<std::size_t>(1 + i)] % (i == 2 ? 4 : 9));
    if (sizes.size() == 1) sizes[0] = sizes[0] * (1 + s.numbers[4] % 40);
    std::mt19937 random(static_cast<unsigned>(s.numbers[5]));
    ir::HostArray data = special_array(s.type, sizes, random);
    std::vector<std::uint64_t> bits;
    for (std::int64_t i = 0; i < data.elements(); ++i) {
      if (s.numbers[6] % 2 == 0)
        put(data, i, ir::literal(s.type, static_cast<std::int64_t>(random() % (s.type == DType::boolean ? 2 : 7))).bits);
      bits.push_back(get(data, i));
    }
    say("v{} = from_bytes(data{}, {{{}}}, {});", s.out, s.numbers[5] % 1000, fmt::join(sizes, ", "), info(s.type).torch_name);
    define(s.out, from_bytes(data.data.get(), sizes, s.type), s.type, sizes, bits);
  }

  // ---- views ----

  void view(const Step& s) {
    const Tensor& t = tensor(s.a);
    Model m = model(s.a);
    const std::int64_t d = axis(s, s.a, 1), e = axis(s, s.a, 2);
    const auto i = static_cast<std::size_t>(std::max<std::int64_t>(d, 0)),
               j = static_cast<std::size_t>(std::max<std::int64_t>(e, 0));
    const auto number = [&](std::size_t n) { return s.numbers[n]; };
    Tensor v;
    switch (s.numbers[0] % 10) {
      case 0:
      case 1: {
        if (d < 0) return;
        const std::int64_t start = number(3) % (m.sizes[i] + 1),
                           stop = number(8) % 3 == 0 ? m.sizes[i] : start + number(4) % (m.sizes[i] - start + 1),
                           step = number(5) % 3 == 0 ? 2 : 1;
        say("v{} = v{}.slice({}, {}, {}, {});", s.out, s.a, d, start, stop, step);
        v = t.slice(d, start, stop, step);
        m.offset += start * m.strides[i];
        m.sizes[i] = (stop - start + step - 1) / step;
        m.strides[i] *= step;
        break;
      }
      case 2: {
        if (d < 0 || m.sizes[i] == 0) return;
        const std::int64_t index = number(3) % m.sizes[i];
        say("v{} = v{}.select({}, {});", s.out, s.a, d, index);
        v = t.select(d, index);
        m.offset += index * m.strides[i];
        m.sizes.erase(m.sizes.begin() + d), m.strides.erase(m.strides.begin() + d);
        break;
      }
      case 3:
        if (d < 0) return;
        say("v{} = v{}.transpose({}, {});", s.out, s.a, d, e);
        v = t.transpose(d, e);
        std::swap(m.sizes[i], m.sizes[j]), std::swap(m.strides[i], m.strides[j]);
        break;
      case 4: {
        if (m.sizes.size() < 2 || d == e) return;
        say("v{} = v{}.diagonal(0, {}, {});", s.out, s.a, d, e);
        v = t.diagonal(0, d, e);
        const std::int64_t length = std::min(m.sizes[i], m.sizes[j]), stride = m.strides[i] + m.strides[j];
        for (std::size_t k : {std::max(i, j), std::min(i, j)})
          m.sizes.erase(m.sizes.begin() + static_cast<std::ptrdiff_t>(k)),
              m.strides.erase(m.strides.begin() + static_cast<std::ptrdiff_t>(k));
        m.sizes.push_back(length), m.strides.push_back(stride);
        break;
      }
      case 5: {
        Sizes to = m.sizes;
        for (std::int64_t& size : to)
          if (size == 1 && number(3) % 2) size = 1 + number(4) % 4;
        if (to.size() < 4 && number(5) % 2) to.insert(to.begin(), 1 + number(6) % 3);
        const auto wide = broadcast(m, to);
        if (wide->count() > most_elements) return;
        say("v{} = v{}.expand({{{}}});", s.out, s.a, fmt::join(to, ", "));
        v = t.expand(to);
        m = *wide;
        break;
      }
      case 6: {
        if (m.sizes.size() > 3) return;
        say("v{} = v{}.unsqueeze(0);", s.out, s.a);
        v = t.unsqueeze(0);
        m.sizes.insert(m.sizes.begin(), 1), m.strides.insert(m.strides.begin(), 1);
        break;
      }
      case 7: {
        if (d < 0 || m.sizes[i] < 2) return;
        const std::int64_t size = 1 + number(3) % std::min<std::int64_t>(m.sizes[i], 4), step = 1 + number(4) % 3;
        say("v{} = v{}.unfold({}, {}, {});", s.out, s.a, d, size, step);
        v = t.unfold(d, size, step);
        m.sizes.push_back(size), m.strides.push_back(m.strides[i]);
        m.sizes[i] = (m.sizes[i] - size) / step + 1;
        m.strides[i] *= step;
        if (m.count() > most_elements) return;
        break;
      }
      case 8: {  // any window of the storage
        const auto room = static_cast<std::int64_t>(m.storage->bits.size());
        Sizes sizes, strides;
        std::int64_t reach = 0;
        for (std::int64_t n = 0; n < 1 + number(3) % 3; ++n) {
          const std::int64_t stride = n == 0 ? 1 + number(4) % 3 : number(5) % 12,
                             size = 1 + number(static_cast<std::size_t>(6 + n)) % 6;
          if (reach + (size - 1) * stride >= room) continue;
          reach += (size - 1) * stride;
          sizes.insert(sizes.begin(), size), strides.insert(strides.begin(), stride);
        }
        if (number(9) % 3 == 0) std::reverse(sizes.begin(), sizes.end()), std::reverse(strides.begin(), strides.end());
        const std::int64_t offset = room - reach <= 0 ? 0 : number(10) % (room - reach);
        if (m.count() == 0 || reach + offset >= room) return;
        say("v{} = v{}.as_strided({{{}}}, {{{}}}, {});", s.out, s.a, fmt::join(sizes, ", "), fmt::join(strides, ", "), offset);
        v = t.as_strided(sizes, strides, offset);
        m.offset = offset, m.sizes = sizes, m.strides = strides;
        break;
      }
      default: {
        Sizes to;
        std::int64_t left = m.count();
        if (left == 0) return;
        for (std::int64_t factor : {1 + number(3) % 4, 1 + number(4) % 6})
          if (left % factor == 0) to.push_back(factor), left /= factor;
        to.insert(number(5) % 2 ? to.begin() : to.end(), left);
        say("v{} = v{}.reshape({{{}}});", s.out, s.a, fmt::join(to, ", "));
        v = t.reshape(to);
        if (!v.shares_storage(t)) return define(s.out, v, m.type(), to, m.read());
        const auto before = m.places();
        m.offset = v.storage_offset(), m.sizes = to, m.strides = v.strides();
        if (m.count() == static_cast<std::int64_t>(before.size()) && m.places() != before)
          return fail("reshape gave a view of other elements");
      }
    }
    if (v.sizes() != m.sizes)
      return fail(fmt::format("v{} has sizes [{}], not [{}]", s.out, fmt::join(v.sizes(), ","), fmt::join(m.sizes, ",")));
    if (!v.shares_storage(t)) return fail(fmt::format("v{} is no view", s.out));
    at(s.out) = Variable{std::move(v), std::move(m)};
  }

  // ---- new values ----

  // The op on values broadcast together; nothing where the model refuses.
  std::optional<std::vector<std::uint64_t>> values(Op op, DType type, const Sizes& sizes, const std::vector<Model>& operands) {
    std::vector<std::vector<std::uint64_t>> in;
    for (const Model& m : operands) {
      const auto wide = broadcast(m, sizes);
      if (!wide || wide->count() > most_elements) return {};
      in.push_back(op == Op::where && in.empty() ? wide->read() : cast(wide->read(), m.type(), type));
    }
    std::vector<std::uint64_t> out;
    for (std::size_t i = 0; i < in[0].size(); ++i) {
      std::uint64_t bits[3] = {};
      for (std::size_t k = 0; k < in.size(); ++k) bits[k] = in[k][i];
      out.push_back(ir::evaluate(op, type, {bits, in.size()}));
    }
    return out;
  }

  void elementwise(const Step& s, int operands, bool in_place) {
    if (operands == 2 && (!defined(s.b) || model(s.b).type() != model(s.a).type())) return;
    const DType mine = model(s.a).type();
    const bool floats_only = s.op == Op::hypot || s.op == Op::nextafter || s.op == Op::gammainc || s.op == Op::gammaincc;
    if (floats_only && !is_float(mine)) return;
    const bool promotes = ir::info(s.op).accepts == ir::Accepts::real && !is_float(mine) && !in_place;
    const DType type = promotes ? DType::f32 : mine;
    if (!usable(s.op, type) || !has_op(s.op, type)) return;
    if (in_place && operands == 2 && s.a != s.b && model(s.a).meets(model(s.b))) return;
    std::vector<Model> in{model(s.a)};
    if (operands == 2) in.push_back(model(s.b));
    std::optional<Sizes> sizes = model(s.a).sizes;
    if (!in_place && operands == 2) sizes = broadcast(model(s.a).sizes, model(s.b).sizes);
    if (!sizes) return;
    const auto bits = values(s.op, type, *sizes, in);
    if (!bits) return;
    const DType result = ir::result_type(s.op, type);
    if (in_place) {
      if (operands == 1)
        say("v{}.{}_();", s.a, name(s.op));
      else
        say("v{}.{}_(v{});", s.a, name(s.op), s.b);
      const Tensor b = operands == 2 ? tensor(s.b) : Tensor();
      return write(
          s.a, [&] { operands == 1 ? row(unaries, s.op).in_place(tensor(s.a)) : row(binaries, s.op).in_place(tensor(s.a), b); },
          cast(*bits, result, mine));
    }
    if (operands == 1) {
      say("v{} = {}(v{});", s.out, name(s.op), s.a);
      return define(s.out, row(unaries, s.op).make(tensor(s.a)), result, *sizes, *bits);
    }
    say("v{} = {}(v{}, v{});", s.out, name(s.op), s.a, s.b);
    define(s.out, row(binaries, s.op).make(tensor(s.a), tensor(s.b)), result, *sizes, *bits);
  }

  void with_number(const Step& s, bool in_place) {
    const DType type = model(s.a).type();
    if (type == DType::boolean || !ir::accepts(s.op, type) || !has_op(s.op, type) || (s.op == Op::copysign && is_float(type)))
      return;
    if (s.op == Op::pow || s.op == Op::ldexp) return;  // rules of their own for numbers
    const std::int64_t n = 1 + s.numbers[0] % 4;
    Model constant{std::make_shared<Elements>(), 0, {}, {}};
    *constant.storage = {type, {ir::literal(type, n).bits}};
    const auto bits = values(s.op, type, model(s.a).sizes, {model(s.a), constant});
    if (!bits) return;
    const DType result = ir::result_type(s.op, type);
    if (in_place) {
      say("v{}.{}_({});", s.a, name(s.op), n);
      return write(s.a, [&] { row(binaries, s.op).in_place(tensor(s.a), n); }, cast(*bits, result, type));
    }
    say("v{} = {}(v{}, {});", s.out, name(s.op), s.a, n);
    define(s.out, row(binaries, s.op).make(tensor(s.a), n), result, model(s.a).sizes, *bits);
  }

  void where(const Step& s) {
    if (!defined(s.b) || !defined(s.c) || model(s.a).type() != DType::boolean || model(s.b).type() != model(s.c).type()) return;
    auto sizes = broadcast(model(s.b).sizes, model(s.c).sizes);
    if (sizes) sizes = broadcast(*sizes, model(s.a).sizes);
    if (!sizes) return;
    const auto bits = values(Op::where, model(s.b).type(), *sizes, {model(s.a), model(s.b), model(s.c)});
    if (!bits) return;
    say("v{} = where(v{}, v{}, v{});", s.out, s.a, s.b, s.c);
    define(s.out, braze::where(tensor(s.a), tensor(s.b), tensor(s.c)), model(s.b).type(), *sizes, *bits);
  }

  void reduction(const Step& s) {
    const std::int64_t d = axis(s, s.a, 0);
    const Model m = model(s.a);
    if (d < 0 || !reduces(s.op, m.type())) return;
    const auto i = static_cast<std::size_t>(d);
    if (m.sizes[i] == 0 && (s.op == Op::max || s.op == Op::min)) return;
    Sizes outer = m.sizes;
    outer.erase(outer.begin() + d);
    Model row = m;
    row.sizes = {m.sizes[i]}, row.strides = {m.strides[i]};
    Model rest = m;
    rest.sizes = outer;
    rest.strides.erase(rest.strides.begin() + d);
    const bool logical = s.op == Op::any || s.op == Op::all;
    // PyTorch answers about bytes in bytes.
    const DType truth = m.type() == DType::u8 ? DType::u8 : DType::boolean;
    const DType result = logical ? truth : s.op == Op::sum ? DType::i64 : m.type();
    const Op join = s.op == Op::sum   ? Op::add
                    : s.op == Op::max ? Op::maximum
                    : s.op == Op::min ? Op::minimum
                    : s.op == Op::any ? Op::logical_or
                                      : Op::logical_and;
    std::vector<std::uint64_t> bits;
    for (std::int64_t at : rest.places()) {
      row.offset = at;
      const auto in = cast(row.read(), m.type(), result);
      std::uint64_t sum = s.op == Op::all ? 1 : 0;
      for (std::size_t k = 0; k < in.size(); ++k) {
        const std::uint64_t pair[] = {sum, in[k]};
        sum = k == 0 && (s.op == Op::max || s.op == Op::min) ? in[0] : ir::evaluate(join, result, pair);
      }
      bits.push_back(sum);
    }
    const Tensor& t = tensor(s.a);
    const bool extreme = s.op == Op::max || s.op == Op::min;
    say("v{} = v{}.{}{}({});", s.out, s.a, extreme ? "a" : "", name(s.op), d);
    define(s.out,
           s.op == Op::sum   ? t.sum(d)
           : s.op == Op::max ? t.amax({d})
           : s.op == Op::min ? t.amin({d})
           : s.op == Op::any ? t.any(d)
                             : t.all(d),
           result, outer, bits);
  }

  void cat(const Step& s) {
    const Model m = model(s.a);
    if (!defined(s.b) || model(s.b).type() != m.type() || m.sizes.empty() || model(s.b).sizes.size() != m.sizes.size()) return;
    Sizes sizes = m.sizes, other = model(s.b).sizes;
    if (!std::equal(sizes.begin() + 1, sizes.end(), other.begin() + 1) || sizes == Sizes{0} || other == Sizes{0}) return;
    sizes[0] += other[0];
    auto bits = m.read();
    const auto more = model(s.b).read();
    bits.insert(bits.end(), more.begin(), more.end());
    if (bits.size() > most_elements) return;
    say("v{} = cat({{v{}, v{}}}, 0);", s.out, s.a, s.b);
    define(s.out, braze::cat({tensor(s.a), tensor(s.b)}, 0), m.type(), sizes, bits);
  }

  void copy(const Step& s) {
    const std::int64_t d = axis(s, s.a, 1);
    const Model m = model(s.a);
    if (s.numbers[0] % 2 || d < 0) {
      say("v{} = v{}.clone();", s.out, s.a);
      return define(s.out, tensor(s.a).clone(), m.type(), m.sizes, m.read());
    }
    Model back = m;
    const auto i = static_cast<std::size_t>(d);
    if (m.sizes[i] > 0) back.offset += (m.sizes[i] - 1) * m.strides[i];
    back.strides[i] = -m.strides[i];
    say("v{} = v{}.flip({});", s.out, s.a, d);
    define(s.out, tensor(s.a).flip({d}), m.type(), m.sizes, back.read());
  }

  // ---- writes ----

  template <class Write>
  void write(int v, Write&& write, const std::vector<std::uint64_t>& bits) {
    const bool refused = model(v).repeats();
    try {
      write();
    } catch (const Error& e) {
      if (!refused) fail(fmt::format("a write was refused: {}", e.what()));
      return;
    }
    if (refused) return fail("a write to elements that repeat was not refused");
    model(v).write(bits);
  }

  void copy_in(const Step& s) {
    if (!defined(s.b)) return;
    const auto from = broadcast(model(s.b), model(s.a).sizes);
    if (!from || (s.a != s.b && model(s.a).meets(model(s.b)))) return;
    if (model(s.a).repeats() && model(s.a).is(model(s.b))) return;  // PyTorch copies nothing, and refuses nothing
    say("v{}.copy_(v{});", s.a, s.b);
    write(s.a, [&] { tensor(s.a).copy_(tensor(s.b)); }, cast(from->read(), from->type(), model(s.a).type()));
  }

  void assign_through(const Step& s) {  // v(slice(start)) = w, where w's shape fits; often both are views of one storage
    const std::int64_t d = axis(s, s.a, 0);
    if (d != 0 || !defined(s.b)) return;
    Model m = model(s.a);
    const Model& b = model(s.b);
    if (b.sizes.size() != m.sizes.size() || b.sizes[0] > m.sizes[0]) return;
    const std::int64_t start = m.sizes[0] - b.sizes[0];
    m.offset += start * m.strides[0];
    m.sizes[0] = b.sizes[0];
    const auto from = broadcast(b, m.sizes);
    if (!from || from->type() != m.type() || m.repeats()) return;
    const auto bits = from->read();
    if (s.numbers[1] % 2 && ir::accepts(Op::mul, m.type()) && m.type() != DType::boolean) {
      say("v{}(slice({}, none)) = v{} * 1;", s.a, start, s.b);
      std::vector<std::uint64_t> once;
      for (std::uint64_t x : bits) {
        const std::uint64_t pair[] = {x, ir::literal(m.type(), std::int64_t{1}).bits};
        once.push_back(ir::evaluate(Op::mul, m.type(), pair));
      }
      tensor(s.a)(slice(start, none)) = tensor(s.b) * 1;
      return m.write(once);
    }
    if (m.meets(b)) return;
    say("v{}(slice({}, none)) = v{};", s.a, start, s.b);
    tensor(s.a)(slice(start, none)) = tensor(s.b);
    m.write(bits);
  }

  // maximum and minimum, so that every dtype will do; the second form writes its argument, the third what it captured.
  void compiled(const Step& s) {
    if (!defined(s.b) || model(s.a).type() != model(s.b).type()) return;
    const DType type = model(s.a).type();
    const Sizes sizes = model(s.a).sizes;
    if (!broadcast(model(s.b), sizes) || model(s.a).count() > most_elements) return;
    const auto op = [&](Op o) { return *values(o, type, sizes, {model(s.a), model(s.b)}); };
    const Tensor arguments[] = {tensor(s.a), tensor(s.b)};
    if (s.kind == Step::Kind::compiled) {
      static const CompiledFunction f(
          [](std::span<const Tensor> in) { return std::vector<Tensor>{maximum(in[0], in[1]), minimum(in[0], in[1])}; });
      say("v{} = compiled(maximum)(v{}, v{});", s.out, s.a, s.b);
      const auto bits = op(Op::maximum);
      return define(s.out, f(arguments)[0], type, sizes, bits);
    }
    if (s.kind == Step::Kind::compiled_writes) {
      static const CompiledFunction f([](std::span<const Tensor> in) {
        Tensor a = in[0];
        const Tensor before = minimum(a, in[1]);
        a.copy_(maximum(a, in[1]));
        return std::vector<Tensor>{before};
      });
      if (model(s.a).repeats()) return;
      say("v{} = compiled([](a, b) {{ m = minimum(a, b); a.copy_(maximum(a, b)); return m; }})(v{}, v{});", s.out, s.a, s.b);
      const auto low = op(Op::minimum), high = op(Op::maximum);
      const Tensor result = f(arguments)[0];
      model(s.a).write(high);
      return define(s.out, result, type, sizes, low);
    }
    if (!defined(s.c) || model(s.c).repeats() || model(s.c).type() != type || model(s.c).sizes != sizes) return;
    if (s.c != s.b && model(s.c).meets(model(s.b))) return;
    Tensor captured = tensor(s.c);
    const CompiledFunction f([captured](std::span<const Tensor> in) mutable {
      captured.maximum_(in[1]);
      return std::vector<Tensor>{minimum(in[0], captured)};
    });
    say("f = compiled([=v{}](a, b) {{ v{}.maximum_(b); return minimum(a, v{}); }}); f(v{}, v{}); v{} = f(v{}, v{});", s.c, s.c, s.c,
        s.a, s.b, s.out, s.a, s.b);
    Tensor result;
    std::vector<std::uint64_t> bits;
    for (int call = 0; call < 2; ++call) {
      model(s.c).write(*values(Op::maximum, type, sizes, {model(s.c), model(s.b)}));
      bits = *values(Op::minimum, type, sizes, {model(s.a), model(s.c)});
      result = f(arguments)[0];
    }
    define(s.out, result, type, sizes, bits);
  }

  std::string* text_;
  std::string why_;
  bool eager_ = false;
  std::vector<std::optional<Variable>> variables_ = std::vector<std::optional<Variable>>(variables);
};

}  // namespace

std::vector<Step> random_program(Choices& choices) {
  using Kind = Step::Kind;
  static const std::vector<Kind> kinds = {Kind::view,
                                          Kind::view,
                                          Kind::view,
                                          Kind::view,
                                          Kind::view,
                                          Kind::view,
                                          Kind::unary,
                                          Kind::binary,
                                          Kind::binary,
                                          Kind::number,
                                          Kind::where,
                                          Kind::cast,
                                          Kind::reduce,
                                          Kind::cat,
                                          Kind::copy,
                                          Kind::unary_in_place,
                                          Kind::binary_in_place,
                                          Kind::binary_in_place,
                                          Kind::number_in_place,
                                          Kind::number_in_place,
                                          Kind::fill,
                                          Kind::copy_in,
                                          Kind::copy_in,
                                          Kind::copy_in,
                                          Kind::assign_through,
                                          Kind::assign_through,
                                          Kind::assign_through,
                                          Kind::rebind,
                                          Kind::forget,
                                          Kind::eval,
                                          Kind::eval_two,
                                          Kind::read,
                                          Kind::create,
                                          Kind::compiled,
                                          Kind::compiled_writes,
                                          Kind::compiled_captures};
  std::vector<Op> reductions;
  for (int i = 0; i < ir::op_count; ++i)
    if (ir::info(static_cast<Op>(i)).reduction()) reductions.push_back(static_cast<Op>(i));
  const DType type = all_dtypes[static_cast<std::size_t>(choices.below(dtype_count))];
  const bool eager = choices.chance(30);
  std::vector<Step> steps;
  const std::int64_t length = choices.between(20, 60);
  for (std::int64_t n = 0; n < length; ++n) {
    Step s;
    // The first steps make one storage and aliases of it.
    s.kind = n == 0 ? Kind::create : n < 4 ? Kind::view : choices.pick(kinds);
    s.a = n < 4 ? 0 : static_cast<int>(choices.below(variables));
    s.b = static_cast<int>(choices.below(variables));
    s.c = static_cast<int>(choices.below(variables));
    s.out = n < 4 ? static_cast<int>(n) : static_cast<int>(choices.below(variables));
    s.type = n == 0 || choices.chance(60) ? type : all_dtypes[static_cast<std::size_t>(choices.below(dtype_count))];
    s.eager = eager && choices.chance(25);
    for (int i = 0; i < 12; ++i) s.numbers.push_back(choices.below(1 << 20));
    const bool one = s.kind == Kind::unary || s.kind == Kind::unary_in_place;
    s.op = s.kind == Kind::reduce ? choices.pick(reductions) : one ? choices.pick(unaries).op : choices.pick(binaries).op;
    steps.push_back(std::move(s));
  }
  return steps;
}

std::string run_program(const std::vector<Step>& steps, std::string* text) { return Runner(text).run(steps); }

std::vector<Step> reduce(std::vector<Step> steps) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  for (std::size_t chunk = steps.size() / 2; chunk > 0;) {
    bool progress = false;
    for (std::size_t at = 0; at + chunk <= steps.size() && std::chrono::steady_clock::now() < end;) {
      std::vector<Step> rest = steps;
      rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(at), rest.begin() + static_cast<std::ptrdiff_t>(at + chunk));
      if (!run_program(rest).empty())
        steps = std::move(rest), progress = true;
      else
        at += chunk;
    }
    if (!progress) chunk /= 2;
  }
  return steps;
}

}  // namespace braze::test
