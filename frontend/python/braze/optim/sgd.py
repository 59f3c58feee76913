"""Stochastic gradient descent, and its mean."""
from .. import tensor
from .optimizer import PerParameter, check_settings, count_step, set_number, updates


class SGD(PerParameter):
    """Down the gradient, with momentum. https://pytorch.org/docs/stable/generated/torch.optim.SGD.html"""

    def __init__(self, params, lr=1e-3, momentum=0, dampening=0, weight_decay=0, nesterov=False, *, maximize=False, foreach=None,
                 differentiable=False, fused=None):
        check_settings(lr=lr, momentum=momentum, weight_decay=weight_decay)
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("Nesterov momentum requires a momentum and zero dampening")
        super().__init__(params, dict(lr=lr, momentum=momentum, dampening=dampening, weight_decay=weight_decay, nesterov=nesterov,
                                      maximize=maximize, foreach=foreach, differentiable=differentiable, fused=fused))

    def _update(self, param, gradient, state, group):
        buffer = updates["sgd_"](param, gradient, state.get("momentum_buffer"), group["lr"], group["momentum"], group["dampening"],
                                 group["weight_decay"], group["nesterov"])
        if buffer is not None:
            state["momentum_buffer"] = buffer


class ASGD(PerParameter):
    """Averaged gradient descent. https://pytorch.org/docs/stable/generated/torch.optim.ASGD.html"""

    def __init__(self, params, lr=1e-2, lambd=1e-4, alpha=0.75, t0=1e6, weight_decay=0, foreach=None, maximize=False, differentiable=False,
                 capturable=False):
        check_settings(lr=lr, weight_decay=weight_decay)
        super().__init__(params, dict(lr=lr, lambd=lambd, alpha=alpha, t0=t0, weight_decay=weight_decay, foreach=foreach, maximize=maximize,
                                      differentiable=differentiable, capturable=capturable))

    def _update(self, param, gradient, state, group):
        if not state:
            state.update(step=tensor(0.0), eta=tensor(float(group["lr"])), mu=tensor(1.0), ax=param.detach().clone().zero_())
        step = count_step(state)
        eta, mu = updates["asgd_"](param, gradient, state["ax"], float(state["eta"]), float(state["mu"]), step, group["lr"], group["lambd"],
                                   group["alpha"], group["t0"], group["weight_decay"])
        set_number(state, "eta", eta)
        set_number(state, "mu", mu)
