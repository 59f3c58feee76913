"""torch.nn: the functions; modules come with gradients. https://pytorch.org/docs/stable/nn.html"""
from . import functional

__all__ = ["functional"]
