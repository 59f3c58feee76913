"""torch.utils."""
from .._absent import absent
from . import data

from . import dlpack

__all__ = ["data", "dlpack"]
__getattr__ = absent(__name__)
