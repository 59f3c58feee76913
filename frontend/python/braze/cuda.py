"""torch.cuda, as on a machine without a GPU: tensors live on the CPU."""
from ._absent import absent

__all__ = ["current_device", "device_count", "empty_cache", "is_available", "is_initialized", "manual_seed", "manual_seed_all", "synchronize"]
__getattr__ = absent(__name__)


def is_available() -> bool:
    """Whether tensors can live on a CUDA device: no."""
    return False


def is_initialized() -> bool:
    """Whether CUDA is in use: no."""
    return False


def device_count() -> int:
    """How many CUDA devices tensors can live on: 0."""
    return 0


def empty_cache() -> None:
    """Nothing: there is no memory of a device to give back."""


def manual_seed(seed) -> None:
    """Nothing: there is no device's generator to seed."""


manual_seed_all = manual_seed


def _refuse(*_, **__):
    """RuntimeError: tensors live on the CPU."""
    raise RuntimeError("braze was built without CUDA tensors: tensors live on the CPU")


current_device = synchronize = get_device_name = get_device_properties = set_device = _refuse
