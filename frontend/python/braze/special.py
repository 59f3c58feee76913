"""torch.special. https://pytorch.org/docs/stable/special.html"""
from ._absent import absent
from . import _braze

globals().update(_braze._functions["special"])
__all__ = list(_braze._functions["special"])
__getattr__ = absent(__name__)
