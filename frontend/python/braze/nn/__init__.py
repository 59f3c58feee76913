"""torch.nn: modules, and the functions below them. https://pytorch.org/docs/stable/nn.html"""
from .._absent import absent
from . import functional, init, parameter, utils
from . import modules
from .modules import *  # noqa: F403
from .parameter import Buffer, Parameter

__all__ = ["Buffer", "Parameter", "functional", "init", "modules", "parameter", "utils", *modules.__all__]
__getattr__ = absent(__name__)
