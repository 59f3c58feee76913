"""torch.nn: the functions; modules come with gradients. https://pytorch.org/docs/stable/nn.html"""
from .._absent import absent
from . import functional

__all__ = ["functional"]
__getattr__ = absent(__name__)
