// One step of one parameter: the mathematics of the optimizers, C++'s and Python's.
//
// Each changes `param` and the state in place, without a gradient, and records like any op. `gradient` is that of the loss, not yet
// decayed. `step` counts from 1. `lr` is a number or a tensor without dims, and is used instead of options.lr.
#pragma once

#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "braze/optim/options.h"
#include "braze/tensor.h"

namespace braze::optim {

// The momentum's buffer is made where it is undefined.
void sgd_update(Tensor& param, const Tensor& gradient, Tensor& momentum_buffer, const In& lr, const SGDOptions& options);
// Averaged gradient descent: `eta` is the rate now and `mu` the weight of the mean `ax`. Returns the next ones.
std::pair<double, double> asgd_update(Tensor& param, const Tensor& gradient, Tensor& ax, double eta, double mu, double step,
                                      double lr, const ASGDOptions& options);

// Running means of the gradient and of its square, and with amsgrad the greatest of the latter so far.
void adam_update(Tensor& param, const Tensor& gradient, Tensor& exp_avg, Tensor& exp_avg_sq, Tensor& max_exp_avg_sq, double step,
                 const In& lr, const AdamOptions& options);
void adamax_update(Tensor& param, const Tensor& gradient, Tensor& exp_avg, Tensor& exp_inf, double step, double lr,
                   const AdamaxOptions& options);
// The product of all momenta so far. Returns the next one.
double nadam_product(double product, double step, const NAdamOptions& options);
// `product` is the next one.
void nadam_update(Tensor& param, const Tensor& gradient, Tensor& exp_avg, Tensor& exp_avg_sq, double product, double step,
                  double lr, const NAdamOptions& options);
void radam_update(Tensor& param, const Tensor& gradient, Tensor& exp_avg, Tensor& exp_avg_sq, double step, double lr,
                  const RAdamOptions& options);

void adagrad_update(Tensor& param, const Tensor& gradient, Tensor& sum, double step, double lr, const AdagradOptions& options);
void adadelta_update(Tensor& param, const Tensor& gradient, Tensor& square_avg, Tensor& acc_delta, double lr,
                     const AdadeltaOptions& options);
// The momentum's buffer where there is momentum, the mean where `centered`.
void rmsprop_update(Tensor& param, const Tensor& gradient, Tensor& square_avg, Tensor& momentum_buffer, Tensor& grad_avg, double lr,
                    const RMSpropOptions& options);
void rprop_update(Tensor& param, const Tensor& gradient, Tensor& prev, Tensor& step_size, const RpropOptions& options);

// What L-BFGS keeps from step to step, by PyTorch's names.
struct LBFGSState {
  std::int64_t func_evals = 0, n_iter = 0;
  std::vector<Tensor> old_dirs, old_stps;  // changes of the gradient, and of the parameters
  std::vector<double> ro;                  // their inverse curvatures
  double H_diag = 1, t = 0, prev_loss = 0;
  Tensor d, prev_flat_grad;  // direction and gradient of the last iteration
};
// Calls f(name, value) for each.
template <class State, class F>
void each_field(State& s, const F& f) {
  f("func_evals", s.func_evals), f("n_iter", s.n_iter), f("d", s.d), f("t", s.t), f("old_dirs", s.old_dirs),
      f("old_stps", s.old_stps);
  f("ro", s.ro), f("H_diag", s.H_diag), f("prev_flat_grad", s.prev_flat_grad), f("prev_loss", s.prev_loss);
}

// A step of all parameters: up to max_iter iterations. `evaluate` computes the loss anew, and the gradients.
void lbfgs_update(std::span<const Tensor> params, LBFGSState& state, const LBFGSOptions& options,
                  const std::function<double()>& evaluate);

}  // namespace braze::optim
