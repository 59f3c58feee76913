"""torch.linalg. https://pytorch.org/docs/stable/linalg.html"""
from ._absent import absent
from . import _braze

globals().update(_braze._functions["linalg"])


class LinAlgError(RuntimeError):
    """A matrix does not allow what was asked: it is singular, not positive-definite, or a decomposition did not converge."""


__all__ = [*_braze._functions["linalg"], "LinAlgError"]
__getattr__ = absent(__name__)
