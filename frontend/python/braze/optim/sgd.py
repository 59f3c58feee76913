"""Stochastic gradient descent, and its mean."""
from .. import tensor
from .optimizer import PerParameter, check_settings, count_step, decayed, set_number


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
        direction, momentum = decayed(gradient, param, group), group["momentum"]
        if momentum:
            buffer = state.get("momentum_buffer")
            if buffer is None:
                buffer = state["momentum_buffer"] = direction.detach().clone()
            else:
                buffer.mul_(momentum).add_(direction, alpha=1 - group["dampening"])
            direction = direction.add(buffer, alpha=momentum) if group["nesterov"] else buffer
        if isinstance(group["lr"], (int, float)):
            param.add_(direction, alpha=-group["lr"])
        else:
            param.sub_(direction * group["lr"])


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
        step, eta, mu = count_step(state), float(state["eta"]), float(state["mu"])
        gradient = decayed(gradient, param, group)
        param.mul_(1 - group["lambd"] * eta).add_(gradient, alpha=-eta)
        if mu == 1:
            state["ax"].copy_(param)
        else:
            state["ax"].add_((param - state["ax"]) * mu)
        set_number(state, "eta", group["lr"] / (1 + group["lambd"] * group["lr"] * step) ** group["alpha"])
        set_number(state, "mu", 1 / max(1, step - group["t0"]))
