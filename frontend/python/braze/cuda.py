"""torch.cuda, as on a machine without a GPU: tensors live on the CPU."""
from ._absent import absent

__all__ = ["current_device", "device_count", "empty_cache", "is_available", "is_initialized", "manual_seed", "manual_seed_all", "synchronize"]
__getattr__ = absent(__name__)


def is_available():
    return False


def is_initialized():
    return False


def device_count():
    return 0


def empty_cache():
    pass


def manual_seed(seed):
    pass


manual_seed_all = manual_seed


def _refuse(*_, **__):
    raise RuntimeError("braze was built without CUDA tensors: tensors live on the CPU")


current_device = synchronize = get_device_name = get_device_properties = set_device = _refuse
