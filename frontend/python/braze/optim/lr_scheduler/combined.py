"""Schedulers one after another, and together."""
import bisect

from ..optimizer import Optimizer
from .scheduler import LRScheduler, set_rate


class _Several(LRScheduler):
    _unsaved = ("optimizer", "_schedulers")

    def state_dict(self):
        return {**super().state_dict(), "_schedulers": [scheduler.state_dict() for scheduler in self._schedulers]}

    def load_state_dict(self, state_dict):
        super().load_state_dict({name: value for name, value in state_dict.items() if name != "_schedulers"})
        for scheduler, state in zip(self._schedulers, state_dict["_schedulers"]):
            scheduler.load_state_dict(state)

    def _check(self, schedulers, optimizer):
        for i, scheduler in enumerate(schedulers):
            if not hasattr(scheduler, "optimizer"):
                raise TypeError(f"{type(self).__name__} at index {i} should have `optimizer` as its attribute.")
            if scheduler.optimizer is not optimizer:
                raise ValueError(f"{type(self).__name__} expects all schedulers to belong to the same optimizer, but got scheduler "
                                 f"{type(scheduler).__name__} at index {i} has {scheduler.optimizer}, which is different from {optimizer}.")


class SequentialLR(_Several):
    """Schedulers one after another, each from its milestone on.
    https://pytorch.org/docs/stable/generated/torch.optim.lr_scheduler.SequentialLR.html"""

    def __init__(self, optimizer, schedulers, milestones, last_epoch=-1):
        if not schedulers:
            raise ValueError(f"{type(self).__name__} expects at least one scheduler, but got no scheduler.")
        if not isinstance(optimizer, Optimizer):
            raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")
        self._check(schedulers, optimizer)
        if len(milestones) != len(schedulers) - 1:
            raise ValueError("Sequential Schedulers expects number of schedulers provided to be one more than the number of milestone points, "
                             f"but got number of schedulers {len(schedulers)} and the number of milestones to be equal to {len(milestones)}")
        self.optimizer, self._schedulers, self._milestones, self.last_epoch = optimizer, list(schedulers), list(milestones), last_epoch + 1
        for group in optimizer.param_groups:  # the later schedulers have stepped once as they were made
            set_rate(group, group["initial_lr"])
        for scheduler in self._schedulers:
            scheduler.last_epoch -= 1
        self._schedulers[0]._advance()
        self._last_lr = self._schedulers[0].get_last_lr()

    def step(self):
        """To be called after the optimizer's step, once an epoch."""
        self.last_epoch += 1
        at = bisect.bisect_right(self._milestones, self.last_epoch)
        scheduler = self._schedulers[at]
        if at > 0 and self._milestones[at - 1] == self.last_epoch:
            scheduler._advance(0)
        else:
            scheduler.step()
        self._last_lr = scheduler.get_last_lr()


class ChainedScheduler(_Several):
    """Schedulers that step together. https://pytorch.org/docs/stable/generated/torch.optim.lr_scheduler.ChainedScheduler.html"""

    def __init__(self, schedulers, optimizer=None):
        schedulers = list(schedulers)
        if not schedulers:
            raise ValueError(f"{type(self).__name__} expects at least one scheduler to be chained, but got no scheduler.")
        self.optimizer = optimizer or schedulers[0].optimizer
        self._check(schedulers, self.optimizer)
        self._schedulers = schedulers
        self._last_lr = self._rates

    def step(self):
        """To be called after the optimizer's step, once an epoch."""
        for scheduler in self._schedulers:
            scheduler.step()
        self._last_lr = self._rates
