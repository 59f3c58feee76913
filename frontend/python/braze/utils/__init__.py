"""torch.utils: its submodules are imported when they are asked for."""
from .._absent import absent

__all__ = ["data", "dlpack"]
_absent = absent(__name__)


def __getattr__(name):
    if name in __all__:
        import importlib
        return importlib.import_module("." + name, __name__)
    return _absent(name)


def __dir__():
    return __all__
