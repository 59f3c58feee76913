// Steps along an estimate of the inverse Hessian, made of the last gradients. Nocedal and Wright, Numerical Optimization, 7.2.
#include <algorithm>
#include <cmath>

#include "braze/autograd.h"
#include "braze/functions.h"
#include "braze/optim.h"
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

struct LBFGS::State {
  std::int64_t func_evals = 0, n_iter = 0;
  std::vector<Tensor> changes, steps;  // of the gradient, and of the parameters
  std::vector<double> inverse_curvatures;
  double diagonal = 1, step = 0;
  Tensor direction, gradient;

  // Adds the last step and the change of gradient to the history, unless they curve the wrong way.
  void remember(const Tensor& next, std::int64_t most) {
    const Tensor change = next - gradient, moved = direction * step;
    const double curvature = change.dot(moved).item<double>();
    if (curvature <= 1e-10) return;
    if (static_cast<std::int64_t>(changes.size()) == most) {
      changes.erase(changes.begin());
      steps.erase(steps.begin());
      inverse_curvatures.erase(inverse_curvatures.begin());
    }
    changes.push_back(change);
    steps.push_back(moved);
    inverse_curvatures.push_back(1 / curvature);
    diagonal = curvature / change.dot(change).item<double>();
  }

  // Minus the inverse Hessian's estimate times the gradient, by the two loops.
  Tensor newton(const Tensor& at) const {
    Tensor q = -at;
    std::vector<Tensor> weights(changes.size());
    for (std::size_t i = changes.size(); i-- > 0;) {
      weights[i] = steps[i].dot(q) * inverse_curvatures[i];
      q = q - weights[i] * changes[i];
    }
    Tensor r = q * diagonal;
    for (std::size_t i = 0; i < changes.size(); ++i) r = r + steps[i] * (weights[i] - changes[i].dot(r) * inverse_curvatures[i]);
    return r;
  }
};

LBFGS::LBFGS(std::vector<Tensor> params, const LBFGSOptions& options) : options_(options), state_(std::make_unique<State>()) {
  require<ValueError>(options.lr >= 0, "Invalid learning rate: {}", repr(options.lr));
  require<ValueError>(options.line_search_fn.empty() || options.line_search_fn == "strong_wolfe",
                      "only 'strong_wolfe' is supported");
  require<ValueError>(!params.empty(), "optimizer got an empty parameter list");
  add_params(std::move(params));
}
LBFGS::~LBFGS() = default;

Named<Setting> LBFGS::settings(std::size_t) const {
  const LBFGSOptions& o = options_;
  const Setting search = o.line_search_fn.empty() ? Setting() : Setting(o.line_search_fn);
  return {{"lr", o.lr},
          {"max_iter", o.max_iter},
          {"max_eval", max_evaluations()},
          {"tolerance_grad", o.tolerance_grad},
          {"tolerance_change", o.tolerance_change},
          {"history_size", o.history_size},
          {"line_search_fn", search},
          {"maximize", o.maximize}};
}

void LBFGS::set(std::size_t, const std::string& name, const Setting& value) {
  require<ValueError>(name == "lr" && std::holds_alternative<double>(value), "LBFGS's setting '{}' cannot be changed", name);
  options_.lr = std::get<double>(value);
}

std::int64_t LBFGS::max_evaluations() const { return options_.max_eval.value_or(options_.max_iter * 5 / 4); }

Tensor LBFGS::flat_gradient() const {
  std::vector<Tensor> parts;
  for (const Tensor& param : params()) {
    const Tensor gradient = param.grad();
    parts.push_back((gradient.defined() ? gradient : zeros_like(param.detach())).reshape({-1}));
  }
  return options_.maximize ? -cat(parts) : cat(parts);
}

void LBFGS::move(double step, const Tensor& direction) {
  std::int64_t at = 0;
  for (Tensor param : params()) {
    param.add_(direction.narrow(0, at, param.numel()).reshape(param.sizes()), step);
    at += param.numel();
  }
}

Tensor LBFGS::step(const Closure& closure) {
  require<ValueError>(static_cast<bool>(closure), "LBFGS's step needs a closure that computes the loss anew");
  const NoGradGuard off;
  const double sign = options_.maximize ? -1 : 1;
  const auto evaluate = [&] {
    const EnableGradGuard on;
    return closure();
  };
  State& s = *state_;
  const Tensor first = evaluate();
  double loss = first.item<double>() * sign;
  std::int64_t evaluations = 1;
  ++s.func_evals;
  Tensor gradient = flat_gradient();
  const auto greatest = [](const Tensor& t) { return abs(t).max().item<double>(); };
  if (greatest(gradient) <= options_.tolerance_grad) return first;
  for (std::int64_t iteration = 1; iteration <= options_.max_iter; ++iteration) {
    double t = options_.lr;
    if (++s.n_iter == 1) {
      s.direction = -gradient;
      t *= std::min(1.0, 1.0 / abs(gradient).sum().item<double>());
    } else {
      s.remember(gradient, options_.history_size);
      s.direction = s.newton(gradient);
    }
    const double before = loss, slope = gradient.dot(s.direction).item<double>();
    s.gradient = gradient;
    s.step = t;
    if (slope > -options_.tolerance_change) break;
    std::int64_t spent = 0;
    if (options_.line_search_fn.empty()) {
      move(t, s.direction);
      if (iteration != options_.max_iter) {
        loss = evaluate().item<double>() * sign;
        gradient = flat_gradient();
        spent = 1;
      }
    } else {
      std::vector<Tensor> kept;
      for (const Tensor& param : params()) kept.push_back(param.detach().clone());
      const auto probe = [&](double step) -> Point {
        move(step, s.direction);
        const double value = evaluate().item<double>() * sign;
        const Tensor there = flat_gradient();
        for (std::size_t i = 0; i < kept.size(); ++i) Tensor(params()[i]).copy_(kept[i]);
        return {step, value, there, there.dot(s.direction).item<double>()};
      };
      Search search{probe, {0, loss, gradient, slope}, greatest(s.direction)};
      const Point found = search.run(t);
      loss = found.value, gradient = found.gradient, t = found.step, spent = search.evaluations;
      move(t, s.direction);
    }
    s.step = t;
    evaluations += spent;
    s.func_evals += spent;
    if (evaluations >= max_evaluations() || greatest(gradient) <= options_.tolerance_grad ||
        greatest(s.direction * t) <= options_.tolerance_change || std::abs(loss - before) < options_.tolerance_change)
      break;
  }
  run(params());
  return first;
}

}  // namespace braze::optim
