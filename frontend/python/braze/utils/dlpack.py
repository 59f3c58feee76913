"""torch.utils.dlpack: memory shared with other libraries. https://pytorch.org/docs/stable/dlpack.html"""
from .._absent import absent
from .._creation import from_dlpack

__all__ = ["from_dlpack", "to_dlpack"]
__getattr__ = absent(__name__)


def to_dlpack(tensor):
    """A capsule on the tensor's memory, for one consumer."""
    return tensor.__dlpack__()
