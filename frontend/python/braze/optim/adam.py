"""Adam and its kin: steps divided by running means of gradients."""
import math

from .. import ones, tensor
from .optimizer import PerParameter, check_settings, count_step, decayed, set_number, square_root_correction, zeros_for


def _common(lr, betas, eps, weight_decay):
    check_settings(lr=lr, eps=eps, betas=betas, weight_decay=weight_decay)
    return dict(lr=lr, betas=betas, eps=eps, weight_decay=weight_decay)


def _moments(param, state, *more):
    if not state:
        state.update(step=tensor(0.0), exp_avg=zeros_for(param), exp_avg_sq=zeros_for(param), **{name: zeros_for(param) for name in more})


def _follow(state, gradient, betas):
    """Moves both means; returns them."""
    mean = state["exp_avg"].lerp_(gradient, 1 - betas[0])
    square = state["exp_avg_sq"].mul_(betas[1]).addcmul_(gradient, gradient, value=1 - betas[1])
    return mean, square


def _decay(param, gradient, group, decoupled):
    """Weight decay on the parameter itself, or in the gradient."""
    if decoupled and group["weight_decay"]:
        param.mul_(1 - group["lr"] * group["weight_decay"])
        return gradient
    return decayed(gradient, param, group)


class Adam(PerParameter):
    """Adam. https://pytorch.org/docs/stable/generated/torch.optim.Adam.html"""

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0, amsgrad=False, *, foreach=None, maximize=False,
                 capturable=False, differentiable=False, fused=None, decoupled_weight_decay=False):
        super().__init__(params, dict(_common(lr, betas, eps, weight_decay), amsgrad=amsgrad, maximize=maximize, foreach=foreach,
                                      capturable=capturable, differentiable=differentiable, fused=fused,
                                      decoupled_weight_decay=decoupled_weight_decay))

    def _update(self, param, gradient, state, group):
        _moments(param, state, *["max_exp_avg_sq"] * group["amsgrad"])
        step, betas = count_step(state), group["betas"]
        gradient = _decay(param, gradient, group, group["decoupled_weight_decay"])
        mean, square = _follow(state, gradient, betas)
        if group["amsgrad"]:
            square = state["max_exp_avg_sq"].copy_(state["max_exp_avg_sq"].maximum(square))
        divisor = (square.sqrt() / square_root_correction(betas[1], step)).add_(group["eps"])
        size = group["lr"] / (1 - betas[0] ** step)
        if isinstance(size, (int, float)):
            param.addcdiv_(mean, divisor, value=-size)
        else:
            param.sub_(mean / divisor * size)


class AdamW(Adam):
    """Adam whose weight decay is apart from the gradient. https://pytorch.org/docs/stable/generated/torch.optim.AdamW.html"""

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=1e-2, amsgrad=False, *, maximize=False, foreach=None,
                 capturable=False, differentiable=False, fused=None):
        super().__init__(params, lr, betas, eps, weight_decay, amsgrad, foreach=foreach, maximize=maximize, capturable=capturable,
                         differentiable=differentiable, fused=fused, decoupled_weight_decay=True)


class Adamax(PerParameter):
    """Adam by the largest gradient. https://pytorch.org/docs/stable/generated/torch.optim.Adamax.html"""

    def __init__(self, params, lr=2e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0, foreach=None, *, maximize=False, differentiable=False,
                 capturable=False):
        super().__init__(params, dict(_common(lr, betas, eps, weight_decay), foreach=foreach, maximize=maximize,
                                      differentiable=differentiable, capturable=capturable))

    def _update(self, param, gradient, state, group):
        if not state:
            state.update(step=tensor(0.0), exp_avg=zeros_for(param), exp_inf=zeros_for(param))
        step, (beta1, beta2) = count_step(state), group["betas"]
        gradient = decayed(gradient, param, group)
        mean, largest = state["exp_avg"].lerp_(gradient, 1 - beta1), state["exp_inf"]
        largest.copy_((largest * beta2).maximum(gradient.abs() + group["eps"]))
        param.addcdiv_(mean, largest, value=-group["lr"] / (1 - beta1 ** step))


class NAdam(PerParameter):
    """Adam with Nesterov's momentum. https://pytorch.org/docs/stable/generated/torch.optim.NAdam.html"""

    def __init__(self, params, lr=2e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0, momentum_decay=4e-3, decoupled_weight_decay=False, *,
                 foreach=None, maximize=False, capturable=False, differentiable=False):
        check_settings(momentum_decay=momentum_decay)
        super().__init__(params, dict(_common(lr, betas, eps, weight_decay), momentum_decay=momentum_decay,
                                      decoupled_weight_decay=decoupled_weight_decay, maximize=maximize, foreach=foreach, capturable=capturable,
                                      differentiable=differentiable))

    def _update(self, param, gradient, state, group):
        if not state:
            state.update(step=tensor(0.0), mu_product=ones(()), exp_avg=zeros_for(param), exp_avg_sq=zeros_for(param))
        step, (beta1, beta2), decay = count_step(state), group["betas"], group["momentum_decay"]
        gradient = _decay(param, gradient, group, group["decoupled_weight_decay"])
        now, after = (beta1 * (1 - 0.5 * 0.96 ** (n * decay)) for n in (step, step + 1))
        set_number(state, "mu_product", float(state["mu_product"]) * now)
        product = float(state["mu_product"])  # rounded, as the state keeps it
        mean, square = _follow(state, gradient, (beta1, beta2))
        divisor = (square / (1 - beta2 ** step)).sqrt_().add_(group["eps"])
        param.addcdiv_(gradient, divisor, value=-group["lr"] * (1 - now) / (1 - product))
        param.addcdiv_(mean, divisor, value=-group["lr"] * after / (1 - product * after))


class RAdam(PerParameter):
    """Adam that starts with plain momentum. https://pytorch.org/docs/stable/generated/torch.optim.RAdam.html"""

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0, decoupled_weight_decay=False, *, foreach=None,
                 maximize=False, capturable=False, differentiable=False):
        super().__init__(params, dict(_common(lr, betas, eps, weight_decay), maximize=maximize, foreach=foreach, capturable=capturable,
                                      decoupled_weight_decay=decoupled_weight_decay, differentiable=differentiable))

    def _update(self, param, gradient, state, group):
        _moments(param, state)
        step, (beta1, beta2) = count_step(state), group["betas"]
        gradient = _decay(param, gradient, group, group["decoupled_weight_decay"])
        mean, square = _follow(state, gradient, (beta1, beta2))
        direction = mean / (1 - beta1 ** step)
        # How many independent gradients the mean of squares is worth, in the long run and now.
        limit = 2 / (1 - beta2) - 1
        worth = limit - 2 * step * beta2 ** step / (1 - beta2 ** step)
        if worth > 5:
            rectified = math.sqrt((worth - 4) * (worth - 2) * limit / ((limit - 4) * (limit - 2) * worth))
            direction = direction * (square_root_correction(beta2, step) * rectified) / (square.sqrt() + group["eps"])
        param.add_(direction, alpha=-group["lr"])
