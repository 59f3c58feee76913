// Draws: runtime/random.h over the state that the call hands on.
#include <cstddef>
#include <cstring>
#include <memory>

#include "ir/error.h"
#include "runtime/random.h"
#include "runtime/routines.h"

namespace braze::runtime::routines {

namespace {

// PyTorch's words for a parameter out of its range; the frontend has checked those that it knew.
std::string complaint(ir::Draw::Kind kind) {
  switch (kind) {
    case ir::Draw::Kind::bernoulli:
      return "Expected p_in >= 0 && p_in <= 1 to be true, but got false.";
    case ir::Draw::Kind::poisson:
      return "invalid Poisson rate, expected rate to be non-negative";
    case ir::Draw::Kind::normal:
    case ir::Draw::Kind::log_normal:
      return "normal expects all elements of std >= 0.0";
    case ir::Draw::Kind::exponential:
      return "exponential_ expects lambda > 0.0";
    case ir::Draw::Kind::geometric:
      return "geometric_ expects p to be in (0, 1)";
    case ir::Draw::Kind::cauchy:
      return "cauchy_ expects sigma > 0.0";
    default:
      return "random_ expects 'from' to be less than 'to'";
  }
}

}  // namespace

Outcome draw(const RoutineCall& call) {
  const auto& a = call.of<ir::Draw>();
  std::byte own[ir::generator_bytes];
  std::byte* state = call.out[1].data ? call.out[1].as<std::byte>() : own;
  std::memcpy(state, call.in[0].data, sizeof own);
  const auto parameter = [&](const RoutineArray& x) { return DrawParameter{x.data, !x.sizes.empty()}; };
  const GeneratorBytes next(state, sizeof own);
  if (!call.out[0].data) {  // only the next state is wanted
    if (advance(a.kind, a.type, call.out[0].elements(), parameter(call.in[1]), parameter(call.in[2]), next)) return {};
    const std::int64_t bytes = call.out[0].elements() * size_of(a.type);
    const auto unread = std::make_unique_for_overwrite<std::byte[]>(static_cast<std::size_t>(bytes));
    const RoutineArray out[] = {{a.type, call.out[0].sizes, unread.get()}, call.out[1]};
    return draw({call.op, call.attributes, call.in, out, call.may_stop});
  }
  const bool drawn = runtime::draw(a.kind, a.type, call.out[0].elements(), parameter(call.in[1]), parameter(call.in[2]), next,
                                   call.out[0].data, call.may_stop);
  if (!drawn) return {ir::Fault::refused, complaint(a.kind)};
  return {};
}

}  // namespace braze::runtime::routines
