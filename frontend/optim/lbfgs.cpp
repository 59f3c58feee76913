// Steps along an estimate of the inverse Hessian, made of the last gradients. Nocedal and Wright, Numerical Optimization, 7.2.
#include <algorithm>
#include <cmath>

#include "braze/autograd.h"
#include "braze/functions.h"
#include "braze/optim.h"
#include "braze/optim/updates.h"
#include "frontend/nn/text.h"
#include "ir/error.h"

namespace braze::optim {

namespace {

// Loss and gradient somewhere along a direction.
struct Point {
  double step, value;
  Tensor gradient;
  double slope;
};

// Where the cubic through two values and slopes is least, within bounds. The same, 3.59.
double minimum_of_cubic(const Point& a, const Point& b, double low, double high) {
  const double d1 = a.slope + b.slope - 3 * (a.value - b.value) / (a.step - b.step), square = d1 * d1 - a.slope * b.slope;
  if (square < 0) return (low + high) / 2;
  const double d2 = std::sqrt(square);
  const double at = a.step <= b.step ? b.step - (b.step - a.step) * ((b.slope + d2 - d1) / (b.slope - a.slope + 2 * d2))
                                     : a.step - (a.step - b.step) * ((a.slope + d2 - d1) / (a.slope - b.slope + 2 * d2));
  return std::min(std::max(at, low), high);
}
double minimum_of_cubic(const Point& a, const Point& b) {
  return minimum_of_cubic(a, b, std::min(a.step, b.step), std::max(a.step, b.step));
}

constexpr double least_fall = 1e-4, least_flattening = 0.9;  // of the strong Wolfe conditions
constexpr int most_probes = 25;

struct Search {
  std::function<Point(double step)> probe;
  Point start;
  double scale;  // the direction's greatest element
  int evaluations = 0;

  bool too_high(const Point& p) const { return p.value > start.value + least_fall * p.step * start.slope; }
  bool flat(const Point& p) const { return std::abs(p.slope) <= -least_flattening * start.slope; }
  Point look(double step) {
    ++evaluations;
    return probe(step);
  }
  Point run(double first);
  Point zoom(Point a, Point b, int tries);
};

// A step that fulfils the conditions, or the best that was found.
Point Search::run(double first) {
  Point before = start, here = look(first);
  for (int tries = 0; tries < most_probes; ++tries) {
    if (too_high(here) || (tries > 0 && here.value >= before.value)) return zoom(before, here, tries);
    if (flat(here)) return here;
    if (here.slope >= 0) return zoom(before, here, tries);
    const double step = minimum_of_cubic(before, here, here.step + 0.01 * (here.step - before.step), here.step * 10);
    before = std::exchange(here, look(step));
  }
  return start.value <= here.value ? start : here;
}

// Between two points that have such a step between them.
Point Search::zoom(Point a, Point b, int tries) {
  bool stuck = false;
  Point* low = a.value <= b.value ? &a : &b;
  Point* high = low == &a ? &b : &a;
  while (tries < most_probes && std::abs(a.step - b.step) * scale >= 1e-9) {
    const auto [left, right] = std::minmax(a.step, b.step);
    double step = minimum_of_cubic(a, b);
    // A step too near to an end twice goes a tenth of the way off it.
    const double margin = 0.1 * (right - left);
    if (std::min(right - step, step - left) < margin) {
      if (stuck || step >= right || step <= left) {
        step = std::abs(step - right) < std::abs(step - left) ? right - margin : left + margin;
        stuck = false;
      } else {
        stuck = true;
      }
    } else {
      stuck = false;
    }
    const Point here = look(step);
    ++tries;
    if (too_high(here) || here.value >= low->value) {
      *high = here;
      low = a.value <= b.value ? &a : &b;
      high = low == &a ? &b : &a;
      continue;
    }
    const bool done = flat(here);
    if (!done && here.slope * (high->step - low->step) >= 0) *high = *low;
    *low = here;
    if (done) break;
  }
  return *low;
}

}  // namespace

namespace {

// Adds the last step and the change of gradient to the history, unless they curve the wrong way.
void remember(LBFGSState& s, const Tensor& gradient, std::int64_t most) {
  const Tensor change = gradient - s.prev_flat_grad, moved = s.d * s.t;
  const double curvature = change.dot(moved).item<double>();
  if (curvature <= 1e-10) return;
  if (static_cast<std::int64_t>(s.old_dirs.size()) == most) {
    s.old_dirs.erase(s.old_dirs.begin());
    s.old_stps.erase(s.old_stps.begin());
    s.ro.erase(s.ro.begin());
  }
  s.old_dirs.push_back(change);
  s.old_stps.push_back(moved);
  s.ro.push_back(1 / curvature);
  s.H_diag = curvature / change.dot(change).item<double>();
}

// Minus the inverse Hessian's estimate times the gradient, by the two loops.
Tensor newton(const LBFGSState& s, const Tensor& gradient) {
  Tensor q = -gradient;
  std::vector<Tensor> weights(s.old_dirs.size());
  for (std::size_t i = s.old_dirs.size(); i-- > 0;) {
    weights[i] = s.old_stps[i].dot(q) * s.ro[i];
    q = q - weights[i] * s.old_dirs[i];
  }
  Tensor r = q * s.H_diag;
  for (std::size_t i = 0; i < s.old_dirs.size(); ++i) r = r + s.old_stps[i] * (weights[i] - s.old_dirs[i].dot(r) * s.ro[i]);
  return r;
}

Tensor flat_gradient(std::span<const Tensor> params, bool maximize) {
  std::vector<Tensor> parts;
  for (const Tensor& param : params) {
    const Tensor gradient = param.grad();
    parts.push_back((gradient.defined() ? gradient : zeros_like(param.detach())).reshape({-1}));
  }
  return maximize ? -cat(parts) : cat(parts);
}

void move(std::span<const Tensor> params, double step, const Tensor& direction) {
  std::int64_t at = 0;
  for (Tensor param : params) {
    param.add_(direction.narrow(0, at, param.numel()).reshape(param.sizes()), step);
    at += param.numel();
  }
}

double greatest(const Tensor& t) { return abs(t).max().item<double>(); }

}  // namespace

void lbfgs_update(std::span<const Tensor> params, LBFGSState& s, const LBFGSOptions& options,
                  const std::function<double()>& evaluate) {
  const NoGradGuard off;
  require(options.line_search_fn.empty() || options.line_search_fn == "strong_wolfe", "only 'strong_wolfe' is supported");
  const std::int64_t most = options.max_eval.value_or(options.max_iter * 5 / 4);
  std::int64_t evaluations = 0;
  const auto look = [&] {
    const EnableGradGuard on;
    ++evaluations;
    ++s.func_evals;
    return options.maximize ? -evaluate() : evaluate();
  };
  double loss = look();
  Tensor gradient = flat_gradient(params, options.maximize);
  if (greatest(gradient) <= options.tolerance_grad) return;
  for (std::int64_t iteration = 1; iteration <= options.max_iter; ++iteration) {
    double t = options.lr;
    if (++s.n_iter == 1) {
      s.d = -gradient;
      t *= std::min(1.0, 1.0 / abs(gradient).sum().item<double>());
    } else {
      remember(s, gradient, options.history_size);
      s.d = newton(s, gradient);
    }
    const double slope = gradient.dot(s.d).item<double>();
    s.prev_loss = loss;
    s.prev_flat_grad = gradient;
    s.t = t;
    if (slope > -options.tolerance_change) break;
    if (options.line_search_fn.empty()) {
      move(params, t, s.d);
      if (iteration != options.max_iter) {
        loss = look();
        gradient = flat_gradient(params, options.maximize);
      }
    } else {
      std::vector<Tensor> kept;
      for (const Tensor& param : params) kept.push_back(param.detach().clone());
      const auto probe = [&](double step) -> Point {
        move(params, step, s.d);
        const double value = look();
        const Tensor there = flat_gradient(params, options.maximize);
        for (std::size_t i = 0; i < kept.size(); ++i) Tensor(params[i]).copy_(kept[i]);
        return {step, value, there, there.dot(s.d).item<double>()};
      };
      const Point found = Search{probe, {0, loss, gradient, slope}, greatest(s.d)}.run(t);
      loss = found.value, gradient = found.gradient, t = found.step;
      move(params, t, s.d);
    }
    s.t = t;
    if (evaluations >= most || greatest(gradient) <= options.tolerance_grad || greatest(s.d * t) <= options.tolerance_change ||
        std::abs(loss - s.prev_loss) < options.tolerance_change)
      break;
  }
}

// ---- the class ----

namespace {

// Numbers in the state are tensors without dims; the i-th of a list is under "name.i".
struct Fields {
  StateDict& state;

  template <class T>
  void take(const char* name, T& value) const {
    if (const Tensor* found = state.find(name)) value = found->item<T>();
  }
  void take(const char* name, Tensor& value) const {
    if (const Tensor* found = state.find(name)) value = *found;
  }
  template <class T>
  void take(const char* name, std::vector<T>& values) const {
    for (std::string each; state.contains(each = fmt::format("{}.{}", name, values.size()));)
      take(each.c_str(), values.emplace_back());
  }
  template <class T>
  void put(const std::string& name, const T& value) const {
    state[name] = from_bytes(&value, {}, dtype_of<T>());
  }
  void put(const std::string& name, const Tensor& value) const {
    if (value.defined()) state[name] = value;
  }
  template <class T>
  void put(const std::string& name, const std::vector<T>& values) const {
    for (std::size_t i = 0; i < values.size(); ++i) put(fmt::format("{}.{}", name, i), values[i]);
  }
};

void check(const LBFGSOptions& options) {
  require<ValueError>(options.lr >= 0, "Invalid learning rate: {}", repr(options.lr));
  require<ValueError>(options.line_search_fn.empty() || options.line_search_fn == "strong_wolfe",
                      "only 'strong_wolfe' is supported");
}

}  // namespace

LBFGS::LBFGS(std::vector<Tensor> params, const LBFGSOptions& options) : options_(options) {
  check(options);
  require<ValueError>(!params.empty(), "optimizer got an empty parameter list");
  add_params(std::move(params));
}

Named<Setting> LBFGS::settings(std::size_t) const {
  const LBFGSOptions& o = options_;
  const Setting search = o.line_search_fn.empty() ? Setting() : Setting(o.line_search_fn);
  return {{"lr", o.lr},
          {"max_iter", o.max_iter},
          {"max_eval", o.max_eval.value_or(o.max_iter * 5 / 4)},
          {"tolerance_grad", o.tolerance_grad},
          {"tolerance_change", o.tolerance_change},
          {"history_size", o.history_size},
          {"line_search_fn", search},
          {"maximize", o.maximize}};
}

void LBFGS::set(std::size_t, const std::string& name, const Setting& value) {
  LBFGSOptions o = options_;
  const auto assign = [&]<class T>(T& place) {
    const T* given = std::get_if<T>(&value);
    require<ValueError>(given != nullptr, "setting '{}' of LBFGS cannot be a value of this kind", name);
    place = *given;
  };
  const auto number = [&](double& place) {
    if (const auto* whole = std::get_if<std::int64_t>(&value))
      place = static_cast<double>(*whole);
    else
      assign(place);
  };
  const bool is_none = std::holds_alternative<std::monostate>(value);
  if (name == "lr")
    number(o.lr);
  else if (name == "max_iter")
    assign(o.max_iter);
  else if (name == "max_eval")
    assign(o.max_eval.emplace());
  else if (name == "tolerance_grad")
    number(o.tolerance_grad);
  else if (name == "tolerance_change")
    number(o.tolerance_change);
  else if (name == "history_size")
    assign(o.history_size);
  else if (name == "line_search_fn" && is_none)
    o.line_search_fn.clear();
  else if (name == "line_search_fn")
    assign(o.line_search_fn);
  else if (name == "maximize")
    assign(o.maximize);
  else
    fail<ValueError>("the optimizer has no setting '{}'", name);
  check(o);
  options_ = o;
}

DType LBFGS::state_dtype(const std::string& name, const Tensor& param, const Tensor& value) const {
  return value.dim() == 0 ? value.dtype() : Optimizer::state_dtype(name, param, value);
}

Tensor LBFGS::step_once(const Closure& closure) {
  require<ValueError>(static_cast<bool>(closure), "LBFGS's step needs a closure that computes the loss anew");
  const Fields fields{state(params()[0])};
  LBFGSState now;
  each_field(now, [&](const char* name, auto& value) { fields.take(name, value); });
  Tensor first;
  lbfgs_update(params(), now, options_, [&] {
    const Tensor loss = closure();
    if (!first.defined()) first = loss;
    return loss.item<double>();
  });
  each_field(now, [&](const char* name, const auto& value) { fields.put(name, value); });
  run(params());
  return first;
}

}  // namespace braze::optim
