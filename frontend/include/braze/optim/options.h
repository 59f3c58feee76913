// Settings of optimizers, with PyTorch's names and defaults: optim::Adam(parameters, {.lr = 3e-4}).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

namespace braze::optim {

using Betas = std::pair<double, double>;
// A setting of PyTorch's about how a step is computed, which is not Braze's to choose.
struct Fixed {};

// `fields` calls visit(name, value) for each setting, in PyTorch's order.
struct SGDOptions {
  double lr = 1e-3, momentum = 0, dampening = 0, weight_decay = 0;
  bool nesterov = false, maximize = false;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("lr", self.lr), visit("momentum", self.momentum), visit("dampening", self.dampening);
    visit("weight_decay", self.weight_decay), visit("nesterov", self.nesterov), visit("maximize", self.maximize);
    visit("foreach", Fixed()), visit("differentiable", false), visit("fused", Fixed());
  }
};

struct ASGDOptions {
  double lr = 1e-2, lambd = 1e-4, alpha = 0.75, t0 = 1e6, weight_decay = 0;
  bool maximize = false;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("lr", self.lr), visit("lambd", self.lambd), visit("alpha", self.alpha), visit("t0", self.t0);
    visit("weight_decay", self.weight_decay), visit("foreach", Fixed()), visit("maximize", self.maximize);
    visit("differentiable", false), visit("capturable", false);
  }
};

struct AdamOptions {
  double lr = 1e-3;
  Betas betas = {0.9, 0.999};
  double eps = 1e-8, weight_decay = 0;
  bool amsgrad = false, maximize = false, decoupled_weight_decay = false;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("lr", self.lr), visit("betas", self.betas), visit("eps", self.eps), visit("weight_decay", self.weight_decay);
    visit("amsgrad", self.amsgrad), visit("maximize", self.maximize), visit("foreach", Fixed()), visit("capturable", false);
    visit("differentiable", false), visit("fused", Fixed()), visit("decoupled_weight_decay", self.decoupled_weight_decay);
  }
};

// The decay is apart from the gradient.
struct AdamWOptions {
  double lr = 1e-3;
  Betas betas = {0.9, 0.999};
  double eps = 1e-8, weight_decay = 1e-2;
  bool amsgrad = false, maximize = false;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("lr", self.lr), visit("betas", self.betas), visit("eps", self.eps), visit("weight_decay", self.weight_decay);
    visit("amsgrad", self.amsgrad), visit("maximize", self.maximize), visit("foreach", Fixed()), visit("capturable", false);
    visit("differentiable", false), visit("fused", Fixed()), visit("decoupled_weight_decay", true);
  }
};

struct AdamaxOptions {
  double lr = 2e-3;
  Betas betas = {0.9, 0.999};
  double eps = 1e-8, weight_decay = 0;
  bool maximize = false;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("lr", self.lr), visit("betas", self.betas), visit("eps", self.eps), visit("weight_decay", self.weight_decay);
    visit("foreach", Fixed()), visit("maximize", self.maximize), visit("differentiable", false), visit("capturable", false);
  }
};

struct NAdamOptions {
  double lr = 2e-3;
  Betas betas = {0.9, 0.999};
  double eps = 1e-8, weight_decay = 0, momentum_decay = 4e-3;
  bool decoupled_weight_decay = false, maximize = false;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("lr", self.lr), visit("betas", self.betas), visit("eps", self.eps), visit("weight_decay", self.weight_decay);
    visit("momentum_decay", self.momentum_decay), visit("decoupled_weight_decay", self.decoupled_weight_decay);
    visit("maximize", self.maximize), visit("foreach", Fixed()), visit("capturable", false), visit("differentiable", false);
  }
};

struct RAdamOptions {
  double lr = 1e-3;
  Betas betas = {0.9, 0.999};
  double eps = 1e-8, weight_decay = 0;
  bool decoupled_weight_decay = false, maximize = false;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("lr", self.lr), visit("betas", self.betas), visit("eps", self.eps), visit("weight_decay", self.weight_decay);
    visit("maximize", self.maximize), visit("foreach", Fixed()), visit("capturable", false);
    visit("decoupled_weight_decay", self.decoupled_weight_decay), visit("differentiable", false);
  }
};

struct AdagradOptions {
  double lr = 1e-2, lr_decay = 0, weight_decay = 0, initial_accumulator_value = 0, eps = 1e-10;
  bool maximize = false;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("lr", self.lr), visit("lr_decay", self.lr_decay), visit("eps", self.eps), visit("weight_decay", self.weight_decay);
    visit("initial_accumulator_value", self.initial_accumulator_value), visit("foreach", Fixed());
    visit("maximize", self.maximize), visit("differentiable", false), visit("fused", Fixed());
  }
};

struct AdadeltaOptions {
  double lr = 1, rho = 0.9, eps = 1e-6, weight_decay = 0;
  bool maximize = false;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("lr", self.lr), visit("rho", self.rho), visit("eps", self.eps), visit("weight_decay", self.weight_decay);
    visit("maximize", self.maximize), visit("capturable", false), visit("foreach", Fixed()), visit("differentiable", false);
  }
};

struct RMSpropOptions {
  double lr = 1e-2, alpha = 0.99, eps = 1e-8, weight_decay = 0, momentum = 0;
  bool centered = false, maximize = false;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("lr", self.lr), visit("momentum", self.momentum), visit("alpha", self.alpha), visit("eps", self.eps);
    visit("centered", self.centered), visit("weight_decay", self.weight_decay), visit("capturable", false);
    visit("foreach", Fixed()), visit("maximize", self.maximize), visit("differentiable", false);
  }
};

struct RpropOptions {
  double lr = 1e-2;
  Betas etas = {0.5, 1.2}, step_sizes = {1e-6, 50};
  bool maximize = false;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("lr", self.lr), visit("etas", self.etas), visit("step_sizes", self.step_sizes), visit("foreach", Fixed());
    visit("maximize", self.maximize), visit("differentiable", false), visit("capturable", false);
  }
};

struct LBFGSOptions {
  double lr = 1;
  std::int64_t max_iter = 20;
  std::optional<std::int64_t> max_eval = {};  // 5 / 4 of max_iter
  double tolerance_grad = 1e-7, tolerance_change = 1e-9;
  std::int64_t history_size = 100;
  std::string line_search_fn = {};  // or "strong_wolfe"
  bool maximize = false;
};

}  // namespace braze::optim
