#include "tests/fuzz/program_runner.h"

#include "ir/graph.h"
#include "ir/meaning.h"

namespace braze::test {

using ir::Op;

void Runner::copy_in(const Step& s) {
  if (!defined(s.b)) return;
  const auto from = broadcast(model(s.b), model(s.a).sizes);
  if (!from || (s.a != s.b && model(s.a).meets(model(s.b)))) return;
  if (model(s.a).repeats() && model(s.a).is(model(s.b))) return;  // PyTorch copies nothing, and refuses nothing
  say("v{}.copy_(v{});", s.a, s.b);
  write(s.a, [&] { tensor(s.a).copy_(tensor(s.b)); }, cast(from->read(), from->type(), model(s.a).type()));
}

void Runner::assign_through(const Step& s) {
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

void Runner::compiled(const Step& s) {
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

}  // namespace braze::test
