"""LRScheduler: what sets the learning rates of an optimizer's groups, epoch by epoch."""
import warnings

from ... import Tensor
from ..optimizer import Optimizer


def set_rate(group, value, name="lr"):
    """Sets a setting; one that is a tensor keeps its place."""
    if isinstance(group[name], Tensor):
        group[name].fill_(float(value))
    else:
        group[name] = value


class LRScheduler:
    """Subclasses define get_lr: the rates at self.last_epoch, from self.base_lrs or from what the groups have.
    https://pytorch.org/docs/stable/generated/torch.optim.lr_scheduler.LRScheduler.html"""

    _unsaved = ("optimizer",)

    def __init__(self, optimizer, last_epoch=-1):
        if not isinstance(optimizer, Optimizer):
            raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")
        self.optimizer, self.last_epoch, self._step_count = optimizer, last_epoch, 0
        for i, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                group.setdefault("initial_lr", group["lr"].clone() if isinstance(group["lr"], Tensor) else group["lr"])
            elif "initial_lr" not in group:
                raise KeyError(f"param 'initial_lr' is not specified in param_groups[{i}] when resuming scheduler with last_epoch >= 0.\n"
                                   "This typically happens when:\n1. You're trying to resume training from a checkpoint but haven't properly "
                                   "loaded the optimizer state\n2. You're using last_epoch >= 0 for a fresh training run (not recommended)")
        self.base_lrs = [group["initial_lr"] for group in optimizer.param_groups]
        optimizer._stepped = False
        self._advance()

    # ---- stepping ----

    def get_lr(self):
        """The rates at self.last_epoch: for subclasses."""
        raise NotImplementedError

    @property
    def _rates(self):
        return [group["lr"] for group in self.optimizer.param_groups]

    def get_last_lr(self):
        """The rates that step set last."""
        return self._last_lr

    def _advance(self, epoch=None):
        self._step_count += 1
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        closed = getattr(self, "_get_closed_form_lr", None)
        for group, rate in zip(self.optimizer.param_groups, self.get_lr() if epoch is None or closed is None else closed()):
            set_rate(group, rate)
        self._last_lr = self._rates

    def step(self, epoch=None):
        """To be called after the optimizer's step, once an epoch."""
        if self._step_count == 1 and not self.optimizer._stepped:
            warnings.warn("Detected call of `lr_scheduler.step()` before `optimizer.step()`. In PyTorch 1.1.0 and later, you should call them in "
                          "the opposite order: `optimizer.step()` before `lr_scheduler.step()`.  Failure to do this will result in PyTorch "
                          "skipping the first value of the learning rate schedule. See more details at "
                          "https://pytorch.org/docs/stable/optim.html#how-to-adjust-learning-rate", UserWarning, stacklevel=2)
        if epoch is not None:
            warnings.warn("The epoch parameter in `scheduler.step()` was not necessary and is being deprecated where possible. Please use "
                          "`scheduler.step()` to step the scheduler.", UserWarning, stacklevel=2)
        self._advance(epoch)

    # ---- saving ----

    def state_dict(self):
        """All that a scheduler knows but for the optimizer."""
        return {name: value for name, value in self.__dict__.items() if name not in self._unsaved}

    def load_state_dict(self, state_dict):
        """Takes what state_dict gave."""
        self.__dict__.update(state_dict)
