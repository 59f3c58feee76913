"""Adam and its kin: steps divided by running means of gradients."""
from .. import ones, tensor
from .optimizer import PerParameter, check_settings, count_step, set_number, updates, zeros_for


def _common(lr, betas, eps, weight_decay):
    check_settings(lr=lr, eps=eps, betas=betas, weight_decay=weight_decay)
    return dict(lr=lr, betas=betas, eps=eps, weight_decay=weight_decay)


def _moments(param, state, *more):
    if not state:
        state.update(step=tensor(0.0), exp_avg=zeros_for(param), exp_avg_sq=zeros_for(param), **{name: zeros_for(param) for name in more})


class Adam(PerParameter):
    """Adam. https://pytorch.org/docs/stable/generated/torch.optim.Adam.html"""

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0, amsgrad=False, *, foreach=None, maximize=False,
                 capturable=False, differentiable=False, fused=None, decoupled_weight_decay=False):
        super().__init__(params, dict(_common(lr, betas, eps, weight_decay), amsgrad=amsgrad, maximize=maximize, foreach=foreach,
                                      capturable=capturable, differentiable=differentiable, fused=fused,
                                      decoupled_weight_decay=decoupled_weight_decay))

    def _update(self, param, gradient, state, group):
        _moments(param, state, *["max_exp_avg_sq"] * group["amsgrad"])
        updates["adam_"](param, gradient, state["exp_avg"], state["exp_avg_sq"], state["max_exp_avg_sq"] if group["amsgrad"] else None,
                         count_step(state), group["lr"], *group["betas"], group["eps"], group["weight_decay"], group["decoupled_weight_decay"])


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
        updates["adamax_"](param, gradient, state["exp_avg"], state["exp_inf"], count_step(state), group["lr"], *group["betas"], group["eps"],
                           group["weight_decay"])


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
        step, beta1, decay = count_step(state), group["betas"][0], group["momentum_decay"]
        set_number(state, "mu_product", updates["nadam_product"](float(state["mu_product"]), step, beta1, decay))
        product = float(state["mu_product"])  # rounded, as the state keeps it
        updates["nadam_"](param, gradient, state["exp_avg"], state["exp_avg_sq"], product, step, group["lr"], *group["betas"], group["eps"],
                          group["weight_decay"], decay, group["decoupled_weight_decay"])


class RAdam(PerParameter):
    """Adam that starts with plain momentum. https://pytorch.org/docs/stable/generated/torch.optim.RAdam.html"""

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0, decoupled_weight_decay=False, *, foreach=None,
                 maximize=False, capturable=False, differentiable=False):
        super().__init__(params, dict(_common(lr, betas, eps, weight_decay), maximize=maximize, foreach=foreach, capturable=capturable,
                                      decoupled_weight_decay=decoupled_weight_decay, differentiable=differentiable))

    def _update(self, param, gradient, state, group):
        _moments(param, state)
        updates["radam_"](param, gradient, state["exp_avg"], state["exp_avg_sq"], count_step(state), group["lr"], *group["betas"], group["eps"],
                          group["weight_decay"], group["decoupled_weight_decay"])
