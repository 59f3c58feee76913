"""Rates by a formula of the epoch. Each is a step from the rate before, so that schedulers can be chained and rates changed by hand."""
import bisect
import collections
import math

from .scheduler import LRScheduler


class _Functions(LRScheduler):
    """One function for each group; those that are objects are saved by what they hold."""

    _name = None

    def _set_functions(self, functions):
        groups = len(self.optimizer.param_groups)
        functions = list(functions) if isinstance(functions, (list, tuple)) else [functions] * groups
        if len(functions) != groups:
            raise ValueError(f"Expected {groups} {self._name}s, but got {len(functions)}")
        self.lr_lambdas = functions

    def state_dict(self):
        state = {name: value for name, value in super().state_dict().items() if name != "lr_lambdas"}
        state["lr_lambdas"] = [None if not hasattr(each, "__dict__") or hasattr(each, "__code__") else dict(each.__dict__)
                               for each in self.lr_lambdas]
        return state

    def load_state_dict(self, state_dict):
        for function, state in zip(self.lr_lambdas, state_dict["lr_lambdas"]):
            if state is not None:
                function.__dict__.update(state)
        super().load_state_dict({name: value for name, value in state_dict.items() if name != "lr_lambdas"})


class LambdaLR(_Functions):
    """The initial rate times a function of the epoch.
    https://pytorch.org/docs/stable/generated/torch.optim.lr_scheduler.LambdaLR.html"""

    def __init__(self, optimizer, lr_lambda, last_epoch=-1):
        self.optimizer, self._name = optimizer, "lr_lambda"
        self._set_functions(lr_lambda)
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        return [base * function(self.last_epoch) for base, function in zip(self.base_lrs, self.lr_lambdas)]


class MultiplicativeLR(_Functions):
    """The rate before times a function of the epoch.
    https://pytorch.org/docs/stable/generated/torch.optim.lr_scheduler.MultiplicativeLR.html"""

    def __init__(self, optimizer, lr_lambda, last_epoch=-1):
        self.optimizer, self._name = optimizer, "lr_lambda"
        self._set_functions(lr_lambda)
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        if self.last_epoch == 0:
            return self._rates
        return [rate * function(self.last_epoch) for rate, function in zip(self._rates, self.lr_lambdas)]


class StepLR(LRScheduler):
    """Times gamma every step_size epochs. https://pytorch.org/docs/stable/generated/torch.optim.lr_scheduler.StepLR.html"""

    def __init__(self, optimizer, step_size, gamma=0.1, last_epoch=-1):
        self.step_size, self.gamma = step_size, gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        if self.last_epoch == 0 or self.last_epoch % self.step_size:
            return self._rates
        return [rate * self.gamma for rate in self._rates]

    def _get_closed_form_lr(self):
        return [base * self.gamma ** (self.last_epoch // self.step_size) for base in self.base_lrs]


class MultiStepLR(LRScheduler):
    """Times gamma at each milestone. https://pytorch.org/docs/stable/generated/torch.optim.lr_scheduler.MultiStepLR.html"""

    def __init__(self, optimizer, milestones, gamma=0.1, last_epoch=-1):
        self.milestones, self.gamma = collections.Counter(milestones), gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        if self.last_epoch not in self.milestones:
            return self._rates
        return [rate * self.gamma ** self.milestones[self.last_epoch] for rate in self._rates]

    def _get_closed_form_lr(self):
        passed = bisect.bisect_right(sorted(self.milestones.elements()), self.last_epoch)
        return [base * self.gamma ** passed for base in self.base_lrs]


class ConstantLR(LRScheduler):
    """Times factor for the first total_iters epochs. https://pytorch.org/docs/stable/generated/torch.optim.lr_scheduler.ConstantLR.html"""

    def __init__(self, optimizer, factor=1.0 / 3, total_iters=5, last_epoch=-1):
        if factor > 1.0 or factor < 0:
            raise ValueError("Constant multiplicative factor expected to be between 0 and 1.")
        self.factor, self.total_iters = factor, total_iters
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        if self.last_epoch == 0:
            return [rate * self.factor for rate in self._rates]
        if self.last_epoch != self.total_iters:
            return self._rates
        return [rate * (1.0 / self.factor) for rate in self._rates]

    def _get_closed_form_lr(self):
        return [base * (self.factor if self.last_epoch < self.total_iters else 1) for base in self.base_lrs]


class LinearLR(LRScheduler):
    """From start_factor to end_factor in total_iters epochs. https://pytorch.org/docs/stable/generated/torch.optim.lr_scheduler.LinearLR.html"""

    def __init__(self, optimizer, start_factor=1.0 / 3, end_factor=1.0, total_iters=5, last_epoch=-1):
        if start_factor > 1.0 or start_factor <= 0:
            raise ValueError("Starting multiplicative factor expected to be greater than 0 and less or equal to 1.")
        if end_factor > 1.0 or end_factor < 0:
            raise ValueError("Ending multiplicative factor expected to be between 0 and 1.")
        self.start_factor, self.end_factor, self.total_iters = start_factor, end_factor, total_iters
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        if self.last_epoch == 0:
            return [rate * self.start_factor for rate in self._rates]
        if self.last_epoch > self.total_iters:
            return self._rates
        climb = self.end_factor - self.start_factor
        factor = 1 + climb / (self.total_iters * self.start_factor + (self.last_epoch - 1) * climb)
        return [rate * factor for rate in self._rates]

    def _get_closed_form_lr(self):
        share = min(self.total_iters, self.last_epoch) / self.total_iters
        return [base * (self.start_factor + (self.end_factor - self.start_factor) * share) for base in self.base_lrs]


class ExponentialLR(LRScheduler):
    """Times gamma every epoch. https://pytorch.org/docs/stable/generated/torch.optim.lr_scheduler.ExponentialLR.html"""

    def __init__(self, optimizer, gamma, last_epoch=-1):
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        return self._rates if self.last_epoch == 0 else [rate * self.gamma for rate in self._rates]

    def _get_closed_form_lr(self):
        return [base * self.gamma ** self.last_epoch for base in self.base_lrs]


class PolynomialLR(LRScheduler):
    """Down to 0 in total_iters epochs, by a power. https://pytorch.org/docs/stable/generated/torch.optim.lr_scheduler.PolynomialLR.html"""

    def __init__(self, optimizer, total_iters=5, power=1.0, last_epoch=-1):
        self.total_iters, self.power = total_iters, power
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        if self.last_epoch == 0 or self.last_epoch > self.total_iters:
            return self._rates
        left = 1.0 - self.last_epoch / self.total_iters
        factor = (left / (1.0 - (self.last_epoch - 1) / self.total_iters)) ** self.power
        return [rate * factor for rate in self._rates]

    def _get_closed_form_lr(self):
        left = 1.0 - min(self.total_iters, self.last_epoch) / self.total_iters
        return [base * left ** self.power for base in self.base_lrs]


class CosineAnnealingLR(LRScheduler):
    """Down to eta_min in T_max epochs, along a cosine, and up again.
    https://pytorch.org/docs/stable/generated/torch.optim.lr_scheduler.CosineAnnealingLR.html"""

    def __init__(self, optimizer, T_max, eta_min=0.0, last_epoch=-1):
        self.T_max, self.eta_min = T_max, eta_min
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        epoch, least = self.last_epoch, self.eta_min
        if epoch == 0:
            return self._rates
        if self._step_count == 1 and epoch > 0:
            return self._get_closed_form_lr()
        if (epoch - 1 - self.T_max) % (2 * self.T_max) == 0:  # at the bottom the rate before says nothing
            return [rate + (base - least) * (1 - math.cos(math.pi / self.T_max)) / 2 for base, rate in zip(self.base_lrs, self._rates)]
        factor = (1 + math.cos(math.pi * epoch / self.T_max)) / (1 + math.cos(math.pi * (epoch - 1) / self.T_max))
        return [factor * (rate - least) + least for rate in self._rates]

    def _get_closed_form_lr(self):
        share = (1 + math.cos(math.pi * self.last_epoch / self.T_max)) / 2
        return [self.eta_min + (base - self.eta_min) * share for base in self.base_lrs]


class CosineAnnealingWarmRestarts(LRScheduler):
    """Down along a cosine again and again, each time T_mult as long.
    https://pytorch.org/docs/stable/generated/torch.optim.lr_scheduler.CosineAnnealingWarmRestarts.html"""

    def __init__(self, optimizer, T_0, T_mult=1, eta_min=0.0, last_epoch=-1):
        if T_0 <= 0 or not isinstance(T_0, int):
            raise ValueError(f"Expected positive integer T_0, but got {T_0}")
        if T_mult < 1 or not isinstance(T_mult, int):
            raise ValueError(f"Expected integer T_mult >= 1, but got {T_mult}")
        self.T_0, self.T_i, self.T_mult, self.eta_min, self.T_cur = T_0, T_0, T_mult, eta_min, last_epoch
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        share = (1 + math.cos(math.pi * self.T_cur / self.T_i)) / 2
        return [self.eta_min + (base - self.eta_min) * share for base in self.base_lrs]

    def _advance(self, epoch=None):
        if epoch is None and self.last_epoch < 0:
            epoch = 0
        self._step_count += 1
        if epoch is None:
            epoch = self.last_epoch + 1
            self.T_cur += 1
            if self.T_cur >= self.T_i:
                self.T_cur -= self.T_i
                self.T_i *= self.T_mult
        else:
            if epoch < 0:
                raise ValueError(f"Expected non-negative epoch, but got {epoch}")
            self.T_cur, self.T_i = epoch, self.T_0
            while self.T_cur >= self.T_i and (self.T_mult > 1 or self.T_cur >= self.T_0):
                if self.T_mult == 1:
                    self.T_cur %= self.T_0
                    break
                self.T_cur -= self.T_i
                self.T_i *= self.T_mult
        self.last_epoch = math.floor(epoch)
        for group, rate in zip(self.optimizer.param_groups, self.get_lr()):
            group["lr"] = rate
        self._last_lr = self._rates

    def step(self, epoch=None):
        """To be called after an epoch, or after a batch with a fractional epoch."""
        self._advance(epoch)
