"""torch.random: the default generator's state. https://pytorch.org/docs/stable/random.html"""
import contextlib

from . import _braze
from ._absent import absent
from ._braze import default_generator, initial_seed, manual_seed, seed

get_rng_state, set_rng_state = _braze._functions[""]["get_rng_state"], _braze._functions[""]["set_rng_state"]

__all__ = ["default_generator", "fork_rng", "get_rng_state", "initial_seed", "manual_seed", "seed", "set_rng_state"]
__getattr__ = absent(__name__)


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
