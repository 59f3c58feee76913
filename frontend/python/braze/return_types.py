"""torch.return_types: the named tuples that functions of several results return.

Each is a tuple with its fields by name, and takes a sequence of as many values; TypeError where it is of another length.
"""
import re

from . import _braze
from ._absent import absent

_absent = absent(__name__)


def _function(name):
    space = "linalg" if name.startswith("linalg_") else ""
    name = name[len("linalg_"):] if space else name
    return _braze._functions[space].get(name) or vars(_braze.Tensor).get(name)


def _has_fields(function):
    return any(re.search(r"-> \(\w+ \w+", signature) for signature, _, _ in getattr(function, "__rows__", ()))


def __getattr__(name):
    if name == "all_return_types":
        return [__getattr__(n) for n in __all__]
    for kind in getattr(_function(name), "__result_types__", ()):
        if kind.__name__ == name:
            return kind
    return _absent(name)


def __dir__():
    return [*__all__, "all_return_types"]


__all__ = sorted([n for n, f in _braze._functions[""].items() if _has_fields(f)] +
                 ["linalg_" + n for n, f in _braze._functions["linalg"].items() if _has_fields(f)])
