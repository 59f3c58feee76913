"""torch.random: the default generator's state. https://pytorch.org/docs/stable/random.html"""
import contextlib

from . import _braze
from ._absent import absent
from ._braze import default_generator

get_rng_state, set_rng_state = _braze._functions[""]["get_rng_state"], _braze._functions[""]["set_rng_state"]

__all__ = ["default_generator", "fork_rng", "get_rng_state", "initial_seed", "manual_seed", "seed", "set_rng_state"]
__getattr__ = absent(__name__)


def manual_seed(seed) -> "_braze.Generator":
    """Seeds the default generator with an int of 64 bits, signed or not, and returns it. RuntimeError where it does not fit.
    https://pytorch.org/docs/stable/generated/torch.manual_seed.html"""
    return _braze.manual_seed(seed)


def seed() -> int:
    """Seeds the default generator from the system's entropy; returns the seed."""
    return _braze.seed()


def initial_seed() -> int:
    """The default generator's seed."""
    return _braze.initial_seed()


@contextlib.contextmanager
def fork_rng(devices=None, enabled=True, device_type="cpu"):
    """Draws inside leave the default generator as it was. `devices` and `device_type` are PyTorch's; there is the CPU's stream alone."""
    if not enabled:
        yield
        return
    state = get_rng_state()
    try:
        yield
    finally:
        set_rng_state(state)


for _function in (manual_seed, seed, initial_seed):
    _function.__module__ = "braze"
