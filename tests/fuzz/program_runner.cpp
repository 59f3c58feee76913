#include "tests/fuzz/program_runner.h"

#include <fmt/ranges.h>

#include <random>

#include "ir/graph.h"
#include "ir/meaning.h"
#include "tests/passes/host_arrays.h"

namespace braze::test {

using ir::Op;

std::string Runner::run(const std::vector<Step>& steps) {
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

void Runner::check(int v) {
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

void Runner::define(int out, Tensor t, DType type, Sizes sizes, const std::vector<std::uint64_t>& bits) {
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

std::int64_t Runner::axis(const Step& s, int v, std::size_t n) const {
  const auto rank = static_cast<std::int64_t>(variables_[static_cast<std::size_t>(v)]->model.sizes.size());
  return rank == 0 ? -1 : s.numbers[n] % rank;
}

void Runner::do_step(const Step& s) {
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

void Runner::create(const Step& s) {
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

}  // namespace braze::test
