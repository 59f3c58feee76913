#include "braze/optim/updates.h"

#include <cmath>

#include "braze/autograd.h"
#include "braze/functions.h"

namespace braze::optim {

namespace {

// The gradient of the loss plus weight_decay / 2 times the parameter's square.
Tensor decayed(const Tensor& gradient, const Tensor& param, double weight_decay) {
  return weight_decay != 0 ? add(gradient, param, weight_decay) : gradient;
}

// Weight decay on the parameter itself, or in the gradient.
Tensor decay(Tensor& param, const Tensor& gradient, const In& lr, double weight_decay, bool decoupled) {
  if (!decoupled || weight_decay == 0) return decayed(gradient, param, weight_decay);
  if (lr.is_scalar())
    param.mul_(1 - lr.scalar().to_double() * weight_decay);
  else
    param.mul_(1 - lr.tensor() * weight_decay);
  return gradient;
}

// Moves both means.
void follow(Tensor& mean, Tensor& square, const Tensor& gradient, const Betas& betas) {
  mean.lerp_(gradient, 1 - betas.first);
  square.mul_(betas.second).addcmul_(gradient, gradient, 1 - betas.second);
}

}  // namespace

void sgd_update(Tensor& param, const Tensor& gradient, Tensor& momentum_buffer, const In& lr, const SGDOptions& o) {
  const NoGradGuard off;
  Tensor direction = decayed(gradient, param, o.weight_decay);
  if (o.momentum != 0) {
    if (!momentum_buffer.defined())
      momentum_buffer = direction.detach().clone();
    else
      momentum_buffer.mul_(o.momentum).add_(direction, 1 - o.dampening);
    direction = o.nesterov ? add(direction, momentum_buffer, o.momentum) : momentum_buffer;
  }
  if (lr.is_scalar())
    param.add_(direction, -lr.scalar().to_double());
  else
    param.sub_(direction * lr.tensor());
}

std::pair<double, double> asgd_update(Tensor& param, const Tensor& gradient, Tensor& ax, double eta, double mu, double step,
                                      double lr, const ASGDOptions& o) {
  const NoGradGuard off;
  const Tensor direction = decayed(gradient, param, o.weight_decay);
  param.mul_(1 - o.lambd * eta).add_(direction, -eta);
  if (mu == 1)
    ax.copy_(param);
  else
    ax.add_((param - ax) * mu);
  return {lr / std::pow(1 + o.lambd * lr * step, o.alpha), 1 / std::max(1.0, step - o.t0)};
}

void adam_update(Tensor& param, const Tensor& gradient, Tensor& exp_avg, Tensor& exp_avg_sq, Tensor& max_exp_avg_sq, double step,
                 const In& lr, const AdamOptions& o) {
  const NoGradGuard off;
  const Tensor direction = decay(param, gradient, lr, o.weight_decay, o.decoupled_weight_decay);
  follow(exp_avg, exp_avg_sq, direction, o.betas);
  if (o.amsgrad) max_exp_avg_sq.copy_(maximum(max_exp_avg_sq, exp_avg_sq));
  const Tensor& square = o.amsgrad ? max_exp_avg_sq : exp_avg_sq;
  const double correction = std::sqrt(1 - std::pow(o.betas.second, step)), share = 1 - std::pow(o.betas.first, step);
  const Tensor divisor = (sqrt(square) / correction).add_(o.eps);
  if (lr.is_scalar())
    param.addcdiv_(exp_avg, divisor, -(lr.scalar().to_double() / share));
  else
    param.sub_(exp_avg / divisor * (lr.tensor() / share));
}

void adamax_update(Tensor& param, const Tensor& gradient, Tensor& exp_avg, Tensor& exp_inf, double step, double lr,
                   const AdamaxOptions& o) {
  const NoGradGuard off;
  const Tensor direction = decayed(gradient, param, o.weight_decay);
  exp_avg.lerp_(direction, 1 - o.betas.first);
  exp_inf.copy_(maximum(exp_inf * o.betas.second, abs(direction) + o.eps));
  param.addcdiv_(exp_avg, exp_inf, -lr / (1 - std::pow(o.betas.first, step)));
}

namespace {

double momentum_at(double step, const NAdamOptions& o) {
  return o.betas.first * (1 - 0.5 * std::pow(0.96, step * o.momentum_decay));
}

}  // namespace

double nadam_product(double product, double step, const NAdamOptions& o) { return product * momentum_at(step, o); }

void nadam_update(Tensor& param, const Tensor& gradient, Tensor& exp_avg, Tensor& exp_avg_sq, double product, double step,
                  double lr, const NAdamOptions& o) {
  const NoGradGuard off;
  const Tensor direction = decay(param, gradient, lr, o.weight_decay, o.decoupled_weight_decay);
  const double now = momentum_at(step, o), after = momentum_at(step + 1, o);
  follow(exp_avg, exp_avg_sq, direction, o.betas);
  const Tensor divisor = (exp_avg_sq / (1 - std::pow(o.betas.second, step))).sqrt_().add_(o.eps);
  param.addcdiv_(direction, divisor, -lr * (1 - now) / (1 - product));
  param.addcdiv_(exp_avg, divisor, -lr * after / (1 - product * after));
}

void radam_update(Tensor& param, const Tensor& gradient, Tensor& exp_avg, Tensor& exp_avg_sq, double step, double lr,
                  const RAdamOptions& o) {
  const NoGradGuard off;
  const auto [beta1, beta2] = o.betas;
  const Tensor decayed = decay(param, gradient, lr, o.weight_decay, o.decoupled_weight_decay);
  follow(exp_avg, exp_avg_sq, decayed, o.betas);
  Tensor direction = exp_avg / (1 - std::pow(beta1, step));
  // How many independent gradients the mean of squares is worth, in the long run and now.
  const double rest = std::pow(beta2, step), limit = 2 / (1 - beta2) - 1, worth = limit - 2 * step * rest / (1 - rest);
  if (worth > 5) {
    const double rectified = std::sqrt((worth - 4) * (worth - 2) * limit / ((limit - 4) * (limit - 2) * worth));
    direction = direction * (std::sqrt(1 - rest) * rectified) / (sqrt(exp_avg_sq) + o.eps);
  }
  param.add_(direction, -lr);
}

void adagrad_update(Tensor& param, const Tensor& gradient, Tensor& sum, double step, double lr, const AdagradOptions& o) {
  const NoGradGuard off;
  const Tensor direction = decayed(gradient, param, o.weight_decay);
  sum.addcmul_(direction, direction, 1);
  param.addcdiv_(direction, sqrt(sum).add_(o.eps), -lr / (1 + (step - 1) * o.lr_decay));
}

void adadelta_update(Tensor& param, const Tensor& gradient, Tensor& square_avg, Tensor& acc_delta, double lr,
                     const AdadeltaOptions& o) {
  const NoGradGuard off;
  const Tensor direction = decayed(gradient, param, o.weight_decay);
  square_avg.mul_(o.rho).addcmul_(direction, direction, 1 - o.rho);
  const Tensor step = add(acc_delta, o.eps).sqrt_().div_(add(square_avg, o.eps).sqrt_()).mul_(direction);
  acc_delta.mul_(o.rho).addcmul_(step, step, 1 - o.rho);
  param.add_(step, -lr);
}

void rmsprop_update(Tensor& param, const Tensor& gradient, Tensor& square_avg, Tensor& momentum_buffer, Tensor& grad_avg, double lr,
                    const RMSpropOptions& o) {
  const NoGradGuard off;
  const Tensor direction = decayed(gradient, param, o.weight_decay);
  square_avg.mul_(o.alpha).addcmul_(direction, direction, 1 - o.alpha);
  Tensor square = square_avg;
  if (o.centered) {
    grad_avg.lerp_(direction, 1 - o.alpha);
    square = addcmul(square, grad_avg, grad_avg, -1);
  }
  const Tensor divisor = sqrt(square).add_(o.eps);
  if (o.momentum > 0) {
    momentum_buffer.mul_(o.momentum).addcdiv_(direction, divisor);
    param.add_(momentum_buffer, -lr);
  } else {
    param.addcdiv_(direction, divisor, -lr);
  }
}

void rprop_update(Tensor& param, const Tensor& gradient, Tensor& prev, Tensor& step_size, const RpropOptions& o) {
  const NoGradGuard off;
  const auto [less, more] = o.etas;
  const Tensor agreement = gradient * prev;
  const Tensor factor = where(agreement > 0, more, where(agreement < 0, less, ones_like(agreement)));  // of the parameter's dtype
  step_size.mul_(factor).clamp_(o.step_sizes.first, o.step_sizes.second);
  const Tensor taken = where(agreement < 0, 0, gradient);  // after a change of sign no step is taken
  param.addcmul_(sign(taken), step_size, -1);
  prev.copy_(taken);
}

}  // namespace braze::optim
