"""torch.utils.data: nothing of it yet. https://pytorch.org/docs/stable/data.html"""
from ..._absent import absent

__all__ = []
__getattr__ = absent(__name__)
