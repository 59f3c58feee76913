"""torch.nn.functional. https://pytorch.org/docs/stable/nn.functional.html"""
from .._absent import absent
from .. import _braze

globals().update(_braze._functions["nn.functional"])
__all__ = list(_braze._functions["nn.functional"])
__getattr__ = absent(__name__)
