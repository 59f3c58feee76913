"""Rates that fall when a metric no longer gets better."""
import math

from .scheduler import LRScheduler, set_rate


class ReduceLROnPlateau(LRScheduler):
    """Times factor when the metric has not got better for more than `patience` epochs.
    https://pytorch.org/docs/stable/generated/torch.optim.lr_scheduler.ReduceLROnPlateau.html"""

    def __init__(self, optimizer, mode="min", factor=0.1, patience=10, threshold=1e-4, threshold_mode="rel", cooldown=0, min_lr=0, eps=1e-8):
        if factor >= 1.0:
            raise ValueError("Factor should be < 1.0.")
        for name, value, allowed in (("mode", mode, ("min", "max")), ("threshold mode", threshold_mode, ("rel", "abs"))):
            if value not in allowed:
                raise ValueError(f"{name} {value} is unknown!")
        groups = len(optimizer.param_groups)
        if isinstance(min_lr, (list, tuple)) and len(min_lr) != groups:
            raise ValueError(f"expected {groups} min_lrs, got {len(min_lr)}")
        self.optimizer, self.factor, self.default_min_lr = optimizer, factor, None if isinstance(min_lr, (list, tuple)) else min_lr
        self.min_lrs = list(min_lr) if isinstance(min_lr, (list, tuple)) else [min_lr] * groups
        self.patience, self.cooldown, self.eps = patience, cooldown, eps
        self.mode, self.threshold, self.threshold_mode = mode, threshold, threshold_mode
        self.last_epoch, self._last_lr = 0, self._rates
        self._reset()

    def _reset(self):
        self.best = math.inf if self.mode == "min" else -math.inf
        self.cooldown_counter = self.num_bad_epochs = 0

    def is_better(self, a, best):
        """Whether `a` is better than the best so far by more than the threshold."""
        sign = 1 if self.mode == "min" else -1
        target = best * (1 - sign * self.threshold) if self.threshold_mode == "rel" else best - sign * self.threshold
        return a < target if self.mode == "min" else a > target

    @property
    def in_cooldown(self):
        """Whether the rate fell just now."""
        return self.cooldown_counter > 0

    def step(self, metrics, epoch=None):
        """To be called once an epoch with the metric."""
        current = float(metrics)
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        if self.is_better(current, self.best):
            self.best, self.num_bad_epochs = current, 0
        else:
            self.num_bad_epochs += 1
        if self.in_cooldown:
            self.cooldown_counter -= 1
            self.num_bad_epochs = 0
        if self.num_bad_epochs > self.patience:
            for group, least in zip(self.optimizer.param_groups, self.min_lrs):
                old = float(group["lr"])
                new = max(old * self.factor, least)
                if old - new > self.eps:
                    set_rate(group, new)
            self.cooldown_counter, self.num_bad_epochs = self.cooldown, 0
        self._last_lr = self._rates
