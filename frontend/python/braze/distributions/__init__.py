"""torch.distributions: the normal distribution and what all distributions share. https://pytorch.org/docs/stable/distributions.html"""
from .._absent import absent
from . import constraints
from .distribution import Distribution, ExponentialFamily
from .kl import kl_divergence, register_kl
from .normal import Normal

__all__ = ["Distribution", "ExponentialFamily", "Normal", "constraints", "kl_divergence", "register_kl"]
__getattr__ = absent(__name__)
