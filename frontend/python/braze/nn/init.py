"""torch.nn.init: values that training starts from, drawn as PyTorch draws them. https://pytorch.org/docs/stable/nn.init.html"""
from .._absent import absent
from .. import _braze

_functions = _braze._functions["nn.init"]
globals().update(_functions)

__all__ = [name for name in _functions if not name.startswith("_")]
__getattr__ = absent(__name__)
