"""torch.linalg. https://pytorch.org/docs/stable/linalg.html"""
from ._absent import absent
from . import _braze

globals().update(_braze._functions["linalg"])

LinAlgError = _braze.LinAlgError

__all__ = [*_braze._functions["linalg"], "LinAlgError"]
__getattr__ = absent(__name__)
