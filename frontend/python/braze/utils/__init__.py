"""torch.utils."""
from .._absent import absent
from . import data

__all__ = ["data"]
__getattr__ = absent(__name__)
