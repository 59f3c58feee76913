"""torch.storage: the memory behind tensors. https://pytorch.org/docs/stable/storage.html"""
from ._absent import absent
from ._storage import TypedStorage, UntypedStorage

__all__ = ["TypedStorage", "UntypedStorage"]
__getattr__ = absent(__name__)
