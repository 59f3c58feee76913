"""torch.nn: modules, and the functions below them. https://pytorch.org/docs/stable/nn.html"""
from .._absent import absent as _absent
from . import functional, init, modules, parameter, utils
from .modules import *  # noqa: F403
from .parameter import Buffer, Parameter

__getattr__ = _absent(__name__)
