"""finfo and iinfo: what a dtype can hold."""
from ._braze import Tensor, dtype
from . import _braze


class _Info:
    def __eq__(self, other):
        return type(other) is type(self) and other._type is self._type

    def __hash__(self):
        return hash((type(self), self._type))


def _checked(name, type):
    type = {float: _braze.float64, int: _braze.int64, bool: _braze.bool}.get(type, type)
    if not isinstance(type, dtype):
        raise TypeError(f"{name}(): argument 'type' (position 1) must be torch.dtype, not {type.__class__.__name__}")
    return type


class finfo(_Info):
    """The limits of a floating dtype. https://pytorch.org/docs/stable/type_info.html"""
    _table = {  # bits, fraction bits, smallest exponent, largest exponent, decimal digits
        "float16": (16, 10, -14, 15, 3), "bfloat16": (16, 7, -126, 127, 2), "float32": (32, 23, -126, 127, 6),
        "float64": (64, 52, -1022, 1023, 15), "complex64": (32, 23, -126, 127, 6), "complex128": (64, 52, -1022, 1023, 15)}

    def __init__(self, type=None):
        self._type = _checked("finfo", type) if type is not None else _braze._functions[""]["get_default_dtype"]()
        name = repr(self._type).partition(".")[2]
        if name not in self._table:
            raise TypeError(f"torch.finfo() requires a floating point input type. Use torch.iinfo to handle '{name}'")
        self.bits, fraction, low, high, self._digits = self._table[name]
        self.eps = 2.0 ** -fraction
        self.tiny = self.smallest_normal = 2.0 ** low
        self.max = (2.0 - self.eps) * 2.0 ** high
        self.min = -self.max
        self.resolution = 10.0 ** -self._digits
        self.dtype = {"complex64": "float32", "complex128": "float64"}.get(name, name)

    def __repr__(self):
        return (f"finfo(resolution={self.resolution:g}, min={self.min:g}, max={self.max:g}, eps={self.eps:g}, "
                f"smallest_normal={self.smallest_normal:g}, tiny={self.tiny:g}, dtype={self.dtype})")


class iinfo(_Info):
    """The limits of an integer dtype. https://pytorch.org/docs/stable/type_info.html"""

    def __init__(self, type):
        self._type = _checked("iinfo", type)
        if type.is_floating_point or type.is_complex:
            raise TypeError(f"torch.iinfo() requires an integer input type. Use torch.finfo to handle '{repr(type).partition('.')[2]}'")
        if type is _braze.bool:
            raise TypeError("\"bool\" is not supported by torch.iinfo")
        self.bits = type.itemsize * 8
        self.min = -(1 << (self.bits - 1)) if type.is_signed else 0
        self.max = (1 << (self.bits - 1 if type.is_signed else self.bits)) - 1
        self.dtype = repr(type).partition(".")[2]

    def __repr__(self):
        return f"iinfo(min={self.min:g}, max={self.max:g}, dtype={self.dtype})"


finfo.__module__ = iinfo.__module__ = "braze"


def is_tensor(obj) -> bool:
    """Whether `obj` is a Tensor."""
    return isinstance(obj, Tensor)


def is_storage(obj) -> bool:
    """Whether `obj` is a storage."""
    from ._storage import TypedStorage, UntypedStorage
    return isinstance(obj, (UntypedStorage, TypedStorage))


def typename(obj) -> str:
    """The name of an object's type, with its module."""
    if isinstance(obj, Tensor):
        return obj.type()
    module = getattr(obj, "__module__", "") or ""
    name = getattr(obj, "__qualname__", None) or type(obj).__name__
    return f"{module}.{name}" if module and module != "builtins" else name


def is_dtype(obj):
    return isinstance(obj, dtype)
