#include "tests/fuzz/program_runner.h"

#include <algorithm>

#include "ir/graph.h"
#include "ir/meaning.h"
#include "tests/fuzz/program_ops.h"

namespace braze::test {

using ir::Op;

std::optional<std::vector<std::uint64_t>> Runner::values(Op op, DType type, const Sizes& sizes,
                                                         const std::vector<Model>& operands) {
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

void Runner::elementwise(const Step& s, int operands, bool in_place) {
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
        s.a, [&] { operands == 1 ? row(unaries(), s.op).in_place(tensor(s.a)) : row(binaries(), s.op).in_place(tensor(s.a), b); },
        cast(*bits, result, mine));
  }
  if (operands == 1) {
    say("v{} = {}(v{});", s.out, name(s.op), s.a);
    return define(s.out, row(unaries(), s.op).make(tensor(s.a)), result, *sizes, *bits);
  }
  say("v{} = {}(v{}, v{});", s.out, name(s.op), s.a, s.b);
  define(s.out, row(binaries(), s.op).make(tensor(s.a), tensor(s.b)), result, *sizes, *bits);
}

void Runner::with_number(const Step& s, bool in_place) {
  const DType type = model(s.a).type();
  if (type == DType::boolean || !ir::accepts(s.op, type) || !has_op(s.op, type) || (s.op == Op::copysign && is_float(type))) return;
  if (s.op == Op::pow || s.op == Op::ldexp) return;  // rules of their own for numbers
  const std::int64_t n = 1 + s.numbers[0] % 4;
  Model constant{std::make_shared<Elements>(), 0, {}, {}};
  *constant.storage = {type, {ir::literal(type, n).bits}};
  const auto bits = values(s.op, type, model(s.a).sizes, {model(s.a), constant});
  if (!bits) return;
  const DType result = ir::result_type(s.op, type);
  if (in_place) {
    say("v{}.{}_({});", s.a, name(s.op), n);
    return write(s.a, [&] { row(binaries(), s.op).in_place(tensor(s.a), n); }, cast(*bits, result, type));
  }
  say("v{} = {}(v{}, {});", s.out, name(s.op), s.a, n);
  define(s.out, row(binaries(), s.op).make(tensor(s.a), n), result, model(s.a).sizes, *bits);
}

void Runner::where(const Step& s) {
  if (!defined(s.b) || !defined(s.c) || model(s.a).type() != DType::boolean || model(s.b).type() != model(s.c).type()) return;
  auto sizes = broadcast(model(s.b).sizes, model(s.c).sizes);
  if (sizes) sizes = broadcast(*sizes, model(s.a).sizes);
  if (!sizes) return;
  const auto bits = values(Op::where, model(s.b).type(), *sizes, {model(s.a), model(s.b), model(s.c)});
  if (!bits) return;
  say("v{} = where(v{}, v{}, v{});", s.out, s.a, s.b, s.c);
  define(s.out, braze::where(tensor(s.a), tensor(s.b), tensor(s.c)), model(s.b).type(), *sizes, *bits);
}

void Runner::reduction(const Step& s) {
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

void Runner::cat(const Step& s) {
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

void Runner::copy(const Step& s) {
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

}  // namespace braze::test
