// Function transforms: a function is called once on stand-ins, and what it recorded is replayed.
#include <algorithm>

#include "braze/autograd.h"
#include "braze/func.h"
#include "braze/functions.h"
#include "frontend/autograd/backward.h"
#include "frontend/autograd/mapping.h"
#include "frontend/autograd/node_builder.h"
#include "frontend/autograd/replay.h"
#include "frontend/autograd/tracking.h"
#include "frontend/engine/thread_state.h"
#include "passes/derivative.h"

namespace braze::func {

namespace {

using engine::Node;
using engine::Value;

// The logical elements, as a value of the tensor's sizes.
Value value_of(const Tensor& t, std::string_view transform) {
  const TensorImpl& impl = checked(t);
  require<NotImplementedError>(!is_complex(impl.dtype()), "{}: complex tensors are not implemented", transform);
  return read(impl, {});
}

std::vector<Value> values_of(std::span<const Tensor> tensors, std::string_view transform) {
  std::vector<Value> out;
  for (const Tensor& t : tensors) out.push_back(value_of(t, transform));
  return out;
}

// ---- derivatives: stand-ins that have values

// A function called on stand-ins of its arguments.
struct Call {
  std::vector<Value> originals, stand_ins;
  Tensors arguments, results;
};

Call call(const Function& f, std::span<const Tensor> arguments, std::string_view transform) {
  const EnableGradGuard on;
  Call c;
  c.originals = values_of(arguments, transform);
  for (const Value& v : c.originals) {
    c.stand_ins.push_back(stand_in(v));
    c.arguments.push_back(wrap(c.stand_ins.back()));
  }
  const DerivativeScope scope;
  c.results = f(c.arguments);
  return c;
}

// What was computed from the stand-ins, as computed from the originals. `last`: nobody will differentiate the call's ops again, so that
// evaluating keeps nothing for that.
Tensors from_originals(const Call& c, std::span<const Value> values, bool last) {
  const Trail trail(values, c.stand_ins);
  Tensors out;
  const bool plain = std::none_of(c.originals.begin(), c.originals.end(), [](const Value& v) { return v.differentiable(); });
  if (plain && !trail.differentiable_otherwise()) {
    for (const Value& v : values) out.push_back(wrap(engine::identity(v, false)));
    if (last) engine::free_nodes(trail.dependent());
    return out;
  }
  std::vector<Replacement> originals;
  for (const Value& v : c.originals) originals.push_back({v, false});
  Mapping::replace(c.stand_ins, originals);
  for (const Replacement& r : replay(values, c.stand_ins, originals)) out.push_back(wrap(r.value));
  return out;
}

std::vector<std::size_t> asked(std::span<const std::size_t> positions, std::size_t arguments, std::string_view transform) {
  std::vector<std::size_t> out(positions.begin(), positions.end());
  if (out.empty()) out.push_back(0);
  for (const std::size_t p : out)
    require<ValueError>(p < arguments, "{}: argument {} is asked for, but the function has {}", transform, p, arguments);
  return out;
}

void require_floats(std::span<const Tensor> tensors, std::span<const std::size_t> positions, std::string_view transform) {
  for (const std::size_t p : positions)
    require(is_float(tensors[p].dtype()), "{}: expected argument {} to be floating point, but it is {}", transform, p,
            info(tensors[p].dtype()).torch_name);
}

// Cotangents of the stand-ins from those of results; zeros where none comes.
std::vector<Value> pull(const Call& c, std::span<const Value> results, std::span<const Value> cotangents,
                        std::span<const std::size_t> positions) {
  std::vector<Root> roots;
  for (std::size_t i = 0; i < results.size(); ++i)
    if (results[i].differentiable()) roots.push_back({results[i], cotangents[i]});
  std::vector<Target> targets;
  for (const std::size_t p : positions) {
    const Dims sizes = sizes_of(c.stand_ins[p].type());
    targets.push_back({nullptr, c.stand_ins[p], {c.stand_ins[p].type().dtype, {0, sizes, contiguous_strides(sizes)}, false}});
  }
  Tensors captured(targets.size());
  run_backward(roots, targets, false, {.retain_graph = true, .create_graph = true}, &captured);
  std::vector<Value> out;
  for (std::size_t k = 0; k < captured.size(); ++k) {
    const ir::Type& type = c.stand_ins[positions[k]].type();
    const EnableGradGuard on;
    out.push_back(captured[k].defined() ? read(*captured[k].impl(), {})
                                        : expand(engine::constant(to_literal(0, type.dtype)), sizes_of(type), {}));
  }
  return out;
}

std::vector<std::size_t> all_of(std::size_t count) {
  std::vector<std::size_t> out(count);
  for (std::size_t i = 0; i < count; ++i) out[i] = i;
  return out;
}

}  // namespace

Gradients grad_and_value(const Function& f, std::span<const Tensor> arguments, std::span<const std::size_t> arguments_asked) {
  const std::vector<std::size_t> positions = asked(arguments_asked, arguments.size(), "grad");
  require_floats(arguments, positions, "grad");
  const Call c = call(f, arguments, "grad");
  require(!c.results.empty(), "grad: expected the function to return a tensor");
  const Tensor& loss = c.results[0];
  require(loss.dim() == 0,
          "grad: expected f(*args) to return a scalar tensor, got tensor with {} dims. (sizes {}) Maybe you wanted vjp or jacrev?",
          loss.dim(), sizes_text(loss.sizes()));
  require(is_float(loss.dtype()), "grad: expected f(*args) to return a floating point tensor, got {}",
          info(loss.dtype()).torch_name);
  std::vector<Value> values;
  {
    const EnableGradGuard on;
    const std::vector<Value> results = values_of(c.results, "grad");
    const Value one = engine::constant(to_literal(1, loss.dtype()));
    values = pull(c, std::span(results).first(1), std::span(&one, 1), positions);
    values.insert(values.end(), results.begin(), results.end());
  }
  Tensors all = from_originals(c, values, true);
  return {{all.begin(), all.begin() + static_cast<std::ptrdiff_t>(positions.size())},
          {all.begin() + static_cast<std::ptrdiff_t>(positions.size()), all.end()}};
}

Pullback vjp(const Function& f, std::span<const Tensor> arguments) {
  require_floats(arguments, all_of(arguments.size()), "vjp");
  auto c = std::make_shared<const Call>(call(f, arguments, "vjp"));
  const EnableGradGuard on;
  auto results = std::make_shared<const std::vector<Value>>(values_of(c->results, "vjp"));
  Pullback out;
  out.results = from_originals(*c, *results, false);
  out.pull = [c, results](std::span<const Tensor> cotangents) {
    require(cotangents.size() == results->size(), "vjp: expected {} cotangents, one for each result, got {}", results->size(),
            cotangents.size());
    for (std::size_t i = 0; i < cotangents.size(); ++i)
      require<ShapeError>(cotangents[i].sizes() == c->results[i].sizes(), "vjp: cotangent {} has sizes {}, and result {} has {}", i,
                          sizes_text(cotangents[i].sizes()), i, sizes_text(c->results[i].sizes()));
    const EnableGradGuard grad_mode;
    std::vector<Value> given;
    for (std::size_t i = 0; i < cotangents.size(); ++i)
      given.push_back(cast(value_of(cotangents[i], "vjp"), (*results)[i].type().dtype, {}));
    return from_originals(*c, pull(*c, *results, given, all_of(c->stand_ins.size())), false);
  };
  return out;
}

namespace {

// Tangents pushed forward through what a call recorded.
class Push {
 public:
  Push(const Call& c, std::span<const Value> tangents) {
    for (std::size_t i = 0; i < tangents.size(); ++i) tangents_[c.stand_ins[i].node()] = {tangents[i]};
  }

  void through(Node& node) {
    if (!node.has(Node::differentiable)) return;  // a cut, or recorded without grad mode
    if (const CustomOutput* output = own_derivative(node)) return through(node, *output);
    bool any = false;
    for (const Value& v : node.in()) any |= static_cast<bool>(of(v));
    if (!any) return;
    NodeBuilder builder(node.location());
    std::vector<ir::Expression> in, t;
    for (const Value& v : node.in()) {
      in.push_back(builder.add(v));
      const Value tangent = of(v);
      t.push_back(tangent ? builder.add(tangent) : ir::Expression{});
    }
    node.references.fetch_add(1, std::memory_order_relaxed);
    const ir::Expression whole = builder.add(Value::adopt(&node));
    std::vector<ir::Expression> out, pushed(node.result_count);
    for (std::uint32_t r = 0; r < node.result_count; ++r) out.push_back({whole.node, r});
    const ir::Attributes attributes = engine::attributes_of(node);
    passes::push({builder, node.op, attributes, in, out}, t, pushed);
    std::vector<Value>& mine = tangents_[&node];
    mine.resize(node.result_count);
    for (std::uint32_t r = 0; r < node.result_count; ++r)
      if (pushed[r] && is_float(node.types[r]->dtype)) mine[r] = builder.value(pushed[r]);
  }

  // None: zero.
  Value of(const Value& v) const {
    const auto found = tangents_.find(v.node());
    return found == tangents_.end() ? Value() : found->second[v.result()];
  }

 private:
  void through(const Node& node, const CustomOutput& output) {
    const auto [found, fresh] = customs_.try_emplace(output.custom);
    if (fresh) {
      bool any = false;
      std::vector<Value> in;
      for (const Value& v : output.custom->inputs) {
        in.push_back(v ? of(v) : Value());
        any |= static_cast<bool>(in.back());
      }
      if (any) found->second = output.custom->push(in);
    }
    if (!found->second.empty() && found->second[output.number]) tangents_[&node] = {found->second[output.number]};
  }

  std::unordered_map<const Node*, std::vector<Value>> tangents_;
  std::unordered_map<const CustomGradient*, std::vector<Value>> customs_;
};

}  // namespace

Pushed jvp(const Function& f, std::span<const Tensor> arguments, std::span<const Tensor> tangents) {
  require(arguments.size() == tangents.size(), "jvp: expected one tangent an argument, got {} for {}", tangents.size(),
          arguments.size());
  require_floats(arguments, all_of(arguments.size()), "jvp");
  for (std::size_t i = 0; i < tangents.size(); ++i) {
    require<ShapeError>(tangents[i].sizes() == arguments[i].sizes(), "jvp: tangent {} has sizes {}, and argument {} has {}", i,
                        sizes_text(tangents[i].sizes()), i, sizes_text(arguments[i].sizes()));
    require(tangents[i].dtype() == arguments[i].dtype(), "jvp: tangent {} has dtype {}, and argument {} has {}", i,
            info(tangents[i].dtype()).torch_name, i, info(arguments[i].dtype()).torch_name);
  }
  const Call c = call(f, arguments, "jvp");
  const EnableGradGuard on;
  std::vector<Value> values = values_of(c.results, "jvp");
  Push push(c, values_of(tangents, "jvp"));
  const Trail trail(values, c.stand_ins);
  for (Node* node : trail.dependent()) push.through(*node);
  for (std::size_t i = 0; i < c.results.size(); ++i) {
    const ir::Type& type = values[i].type();
    const Value tangent = push.of(values[i]);
    values.push_back(tangent ? tangent : expand(engine::constant(to_literal(0, type.dtype)), sizes_of(type), {}));
  }
  Tensors all = from_originals(c, values, true);
  const auto half = all.begin() + static_cast<std::ptrdiff_t>(c.results.size());
  return {{all.begin(), half}, {half, all.end()}};
}

// ---- vmap

namespace {

// The size of the batch, from the arguments that are mapped.
std::int64_t batch_size(std::span<const Tensor> arguments, std::span<const std::optional<std::int64_t>> dims) {
  std::vector<std::int64_t> sizes;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (!dims[i]) continue;
    const std::int64_t rank = arguments[i].dim();
    require<ValueError>(
        rank > 0 && *dims[i] >= -rank && *dims[i] < rank,
        "vmap: got in_dim={} for input {}, but that input is a tensor of dimensionality {}, so in_dim must be in [-{}, {})",
        *dims[i], i, rank, rank, rank);
    sizes.push_back(arguments[i].size(*dims[i]));
  }
  require<ValueError>(!sizes.empty(),
                      "vmap: at least one argument must be mapped over; all in_dims are None, or there is no argument");
  require<ValueError>(
      std::all_of(sizes.begin(), sizes.end(), [&](std::int64_t n) { return n == sizes[0]; }),
      "vmap: expected all tensors to have the same size in the mapped dimension, got sizes {} for the mapped dimension",
      sizes_text(sizes));
  return sizes[0];
}

}  // namespace

bool mapping() { return engine::thread_state.mapping_depth > 0; }

Tensors vmap(const Function& f, std::span<const Tensor> arguments, std::span<const std::optional<std::int64_t>> in_dims,
             std::span<const std::int64_t> out_dims, Randomness randomness) {
  std::vector<std::optional<std::int64_t>> dims(in_dims.begin(), in_dims.end());
  if (dims.empty()) dims.assign(arguments.size(), 0);
  require<ValueError>(dims.size() == arguments.size(), "vmap: {} in_dims for {} arguments", dims.size(), arguments.size());
  const std::int64_t size = batch_size(arguments, dims);
  std::vector<Value> stand_ins;
  std::vector<Replacement> replacements;
  Tensors elements;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (!dims[i]) {
      elements.push_back(arguments[i]);
      continue;
    }
    replacements.push_back({value_of(arguments[i].movedim(*dims[i], 0), "vmap"), true});
    const Dims whole = sizes_of(replacements.back().value.type());
    stand_ins.push_back(stand_in(engine::TypeRef::make(make_type(arguments[i].dtype(), std::span(whole).subspan(1)))));
    elements.push_back(wrap(stand_ins.back()));
  }
  Tensors results;
  std::vector<Value> values;
  std::vector<Replacement> whole;
  {
    Mapping mapping(size, randomness, std::move(stand_ins), std::move(replacements));
    results = f(elements);
    values = values_of(results, "vmap");
    const Mapping::Outside scope(mapping);
    whole = mapping.outside(values);
  }
  require<ValueError>(out_dims.size() <= 1 || out_dims.size() == results.size(), "vmap: {} out_dims for {} results",
                      out_dims.size(), results.size());
  Tensors out;
  std::size_t i = 0;
  for (const Replacement& r : whole) {
    Dims sizes{size};
    for (const std::int64_t n : sizes_of(values[i].type())) sizes.push_back(n);
    const std::int64_t dim = out_dims.empty() ? 0 : out_dims[out_dims.size() == 1 ? 0 : i];
    const auto rank = static_cast<std::int64_t>(sizes.size());
    require<ValueError>(dim >= -rank && dim < rank, "vmap: out_dim {} of result {} is not in [-{}, {})", dim, i, rank, rank);
    out.push_back(wrap(r.batched ? r.value : expand(r.value, sizes, {})).movedim(0, dim));
    ++i;
  }
  return out;
}

// ---- Jacobians

namespace {

std::vector<std::int64_t> joined(const std::vector<std::int64_t>& a, const std::vector<std::int64_t>& b) {
  std::vector<std::int64_t> out = a;
  out.insert(out.end(), b.begin(), b.end());
  return out;
}

// The unit tensors of t's sizes, one after another.
Tensor basis(const Tensor& t) { return eye(t.numel(), {t.dtype()}).reshape(joined({t.numel()}, t.sizes())); }

}  // namespace

std::vector<Tensors> jacrev(const Function& f, std::span<const Tensor> arguments, std::span<const std::size_t> arguments_asked) {
  const std::vector<std::size_t> positions = asked(arguments_asked, arguments.size(), "jacrev");
  require_floats(arguments, positions, "jacrev");
  // Of the arguments asked for alone: the others may be of any dtype.
  Tensors free;
  for (const std::size_t p : positions) free.push_back(arguments[p]);
  const Pullback back = vjp(
      [&](std::span<const Tensor> given) {
        Tensors all(arguments.begin(), arguments.end());
        for (std::size_t k = 0; k < positions.size(); ++k) all[positions[k]] = given[k];
        return f(all);
      },
      free);
  for (const Tensor& t : back.results)
    require(is_float(t.dtype()),
            "vjp(f, ...): All outputs of f must be floating-point or complex Tensors, got Tensor with dtype {}",
            info(t.dtype()).torch_name);
  std::vector<Tensors> out;
  for (std::size_t r = 0; r < back.results.size(); ++r) {
    const Tensor units[] = {basis(back.results[r])};
    const Function pull_one = [&](std::span<const Tensor> cotangent) {
      Tensors cotangents;
      for (std::size_t k = 0; k < back.results.size(); ++k)
        cotangents.push_back(k == r ? cotangent[0] : zeros(back.results[k].sizes(), {back.results[k].dtype()}));
      return back.pull(cotangents);
    };
    Tensors rows = vmap(pull_one, units);
    for (std::size_t k = 0; k < rows.size(); ++k) rows[k] = rows[k].reshape(joined(back.results[r].sizes(), free[k].sizes()));
    out.push_back(std::move(rows));
  }
  return out;
}

std::vector<Tensors> jacfwd(const Function& f, std::span<const Tensor> arguments, std::span<const std::size_t> arguments_asked,
                            Randomness randomness) {
  const std::vector<std::size_t> positions = asked(arguments_asked, arguments.size(), "jacfwd");
  require_floats(arguments, positions, "jacfwd");
  std::vector<Tensors> out;
  for (const std::size_t p : positions) {
    const Function in_one = [&](std::span<const Tensor> given) {
      Tensors all(arguments.begin(), arguments.end());
      all[p] = given[0];
      return f(all);
    };
    const Tensor units[] = {basis(arguments[p])};
    const Tensors columns =
        vmap([&](std::span<const Tensor> tangent) { return jvp(in_one, std::span(&arguments[p], 1), tangent).tangents; }, units, {},
             {}, randomness);
    out.resize(columns.size());
    for (std::size_t r = 0; r < columns.size(); ++r) {
      std::vector<std::int64_t> sizes = columns[r].sizes();
      sizes.erase(sizes.begin());
      out[r].push_back(columns[r].movedim(0, -1).reshape(joined(sizes, arguments[p].sizes())));
    }
  }
  return out;
}

// ---- plain functions

TensorFunction vmap(TensorFunction f, std::vector<std::optional<std::int64_t>> in_dims, std::int64_t out_dim) {
  return TensorFunction::of([f = std::move(f), in_dims = std::move(in_dims), out_dim](std::span<const Tensor> arguments) {
    return vmap(f.untyped(), arguments, in_dims, std::span(&out_dim, 1));
  });
}

TensorFunction grad(TensorFunction f, std::size_t argument) {
  return TensorFunction::of([f = std::move(f), argument](std::span<const Tensor> arguments) {
    return grad_and_value(f.untyped(), arguments, std::span(&argument, 1)).gradients;
  });
}

TensorFunction jacrev(TensorFunction f, std::size_t argument) {
  return TensorFunction::of([f = std::move(f), argument](std::span<const Tensor> arguments) {
    return jacrev(f.untyped(), arguments, std::span(&argument, 1))[0];
  });
}

TensorFunction jacfwd(TensorFunction f, std::size_t argument) {
  return TensorFunction::of([f = std::move(f), argument](std::span<const Tensor> arguments) {
    return jacfwd(f.untyped(), arguments, std::span(&argument, 1))[0];
  });
}

TensorFunction hessian(TensorFunction f, std::size_t argument) { return jacfwd(jacrev(std::move(f), argument), argument); }

}  // namespace braze::func
