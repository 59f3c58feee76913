"""Steps divided by what gradients have been like: Adagrad, Adadelta, RMSprop, Rprop."""
from .. import full_like, tensor
from .optimizer import PerParameter, check_settings, count_step, updates, zeros_for


class Adagrad(PerParameter):
    """By the sum of squares. https://pytorch.org/docs/stable/generated/torch.optim.Adagrad.html"""

    def __init__(self, params, lr=1e-2, lr_decay=0, weight_decay=0, initial_accumulator_value=0, eps=1e-10, foreach=None, *, maximize=False,
                 differentiable=False, fused=None):
        check_settings(lr=lr, lr_decay=lr_decay, weight_decay=weight_decay, initial_accumulator_value=initial_accumulator_value, eps=eps)
        super().__init__(params, dict(lr=lr, lr_decay=lr_decay, eps=eps, weight_decay=weight_decay,
                                      initial_accumulator_value=initial_accumulator_value, foreach=foreach, maximize=maximize,
                                      differentiable=differentiable, fused=fused))

    def add_param_group(self, param_group):
        super().add_param_group(param_group)
        group = self.param_groups[-1]
        for param in group["params"]:
            self.state[param] = {"step": tensor(0.0), "sum": full_like(param, group["initial_accumulator_value"]).detach()}

    def share_memory(self):
        """Nothing: memory is of one process."""

    def _update(self, param, gradient, state, group):
        updates["adagrad_"](param, gradient, state["sum"], count_step(state), group["lr"], group["lr_decay"], group["weight_decay"],
                            group["eps"])


class Adadelta(PerParameter):
    """By running means of squares of gradients and steps. https://pytorch.org/docs/stable/generated/torch.optim.Adadelta.html"""

    def __init__(self, params, lr=1.0, rho=0.9, eps=1e-6, weight_decay=0, foreach=None, *, capturable=False, maximize=False,
                 differentiable=False):
        check_settings(lr=lr, eps=eps, weight_decay=weight_decay)
        if not 0 <= rho <= 1:
            raise ValueError(f"Invalid rho value: {rho}")
        super().__init__(params, dict(lr=lr, rho=rho, eps=eps, weight_decay=weight_decay, maximize=maximize, capturable=capturable,
                                      foreach=foreach, differentiable=differentiable))

    def _update(self, param, gradient, state, group):
        if not state:
            state.update(step=tensor(0.0), square_avg=zeros_for(param), acc_delta=zeros_for(param))
        count_step(state)
        updates["adadelta_"](param, gradient, state["square_avg"], state["acc_delta"], group["lr"], group["rho"], group["eps"],
                             group["weight_decay"])


class RMSprop(PerParameter):
    """By a running mean of squares. https://pytorch.org/docs/stable/generated/torch.optim.RMSprop.html"""

    def __init__(self, params, lr=1e-2, alpha=0.99, eps=1e-8, weight_decay=0, momentum=0, centered=False, capturable=False, foreach=None,
                 maximize=False, differentiable=False):
        check_settings(lr=lr, eps=eps, momentum=momentum, weight_decay=weight_decay, alpha=alpha)
        super().__init__(params, dict(lr=lr, momentum=momentum, alpha=alpha, eps=eps, centered=centered, weight_decay=weight_decay,
                                      capturable=capturable, foreach=foreach, maximize=maximize, differentiable=differentiable))

    def _update(self, param, gradient, state, group):
        if not state:
            state.update(step=tensor(0.0), square_avg=zeros_for(param))
            if group["momentum"] > 0:
                state["momentum_buffer"] = zeros_for(param)
            if group["centered"]:
                state["grad_avg"] = zeros_for(param)
        count_step(state)
        updates["rmsprop_"](param, gradient, state["square_avg"], state["momentum_buffer"] if group["momentum"] > 0 else None,
                            state["grad_avg"] if group["centered"] else None, group["lr"], group["alpha"], group["eps"], group["weight_decay"],
                            group["momentum"])


class Rprop(PerParameter):
    """By the signs of gradients alone. https://pytorch.org/docs/stable/generated/torch.optim.Rprop.html"""

    def __init__(self, params, lr=1e-2, etas=(0.5, 1.2), step_sizes=(1e-6, 50), *, capturable=False, foreach=None, maximize=False,
                 differentiable=False):
        check_settings(lr=lr)
        if not 0 < etas[0] < 1 < etas[1]:
            raise ValueError(f"Invalid eta values: {etas[0]}, {etas[1]}")
        super().__init__(params, dict(lr=lr, etas=etas, step_sizes=step_sizes, foreach=foreach, maximize=maximize,
                                      differentiable=differentiable, capturable=capturable))

    def _update(self, param, gradient, state, group):
        if not state:
            state.update(step=tensor(0.0), prev=zeros_for(param), step_size=full_like(param, group["lr"]).detach())
        count_step(state)
        updates["rprop_"](param, gradient, state["prev"], state["step_size"], *group["etas"], *group["step_sizes"])
