"""The Array API standard's namespace over Braze: what x.__array_namespace__() gives. https://data-apis.org/array-api/latest/

Most names are PyTorch's own; here are those whose name, promotion or keywords differ.
"""
import builtins
import math

import braze as _T
from braze import Tensor, bool, device, float32, float64, int8, int16, int32, int64, uint8  # noqa: F401
from . import _array_api_linalg as linalg  # noqa: F401

e, inf, nan, newaxis, pi = math.e, math.inf, math.nan, None, math.pi
__array_api_version__ = "2024.12"

_dtypes = {"bool": bool, "int8": int8, "int16": int16, "int32": int32, "int64": int64, "uint8": uint8, "float32": float32, "float64": float64}
for _name in ("complex64", "complex128"):
    if hasattr(_T, _name):
        globals()[_name] = _dtypes[_name] = getattr(_T, _name)
_kinds = {"bool": ("bool",), "signed integer": ("int8", "int16", "int32", "int64"), "unsigned integer": ("uint8",),
          "integral": ("int8", "int16", "int32", "int64", "uint8"), "real floating": ("float32", "float64"),
          "complex floating": ("complex64", "complex128"),
          "numeric": ("int8", "int16", "int32", "int64", "uint8", "float32", "float64", "complex64", "complex128")}


# ---- dtypes ----

def isdtype(dtype, kind):
    if isinstance(kind, tuple):
        return builtins.any(isdtype(dtype, k) for k in kind)
    if isinstance(kind, str):
        if kind not in _kinds:
            raise ValueError(f"unknown kind of dtype: {kind!r}")
        return builtins.any(dtype is _dtypes.get(name) for name in _kinds[kind])
    return dtype is kind


class _Limits:
    """What a dtype can hold, with the dtype itself and for arrays too."""

    def __init__(self, info, dtype, names):
        self.dtype = dtype
        for name in names:
            setattr(self, name, getattr(info, name))


def finfo(type, /):
    dtype = type.dtype if isinstance(type, Tensor) else type
    info = _T.finfo(dtype)
    return _Limits(info, _dtypes[info.dtype], ("bits", "eps", "max", "min", "smallest_normal"))


def iinfo(type, /):
    dtype = type.dtype if isinstance(type, Tensor) else type
    return _Limits(_T.iinfo(dtype), dtype, ("bits", "max", "min"))


def astype(x, dtype, /, *, copy=True, device=None):
    return x.to(dtype, copy=copy)


def can_cast(from_, to, /):
    from_ = from_.dtype if isinstance(from_, Tensor) else from_
    return _T.promote_types(from_, to) is to


def result_type(*arrays_and_dtypes):
    found = scalar = None
    for x in arrays_and_dtypes:
        if isinstance(x, (builtins.bool, int, float, complex)):
            order = (builtins.bool, int, float, complex).index
            scalar = x if scalar is None or order(type(x)) > order(type(scalar)) else scalar
            continue
        dtype = x.dtype if isinstance(x, Tensor) else x
        found = dtype if found is None else _T.promote_types(found, dtype)
    if found is None:
        raise ValueError("at least one array or dtype is needed")
    return found if scalar is None else _T.result_type(_T.ones(1, dtype=found), scalar)


# ---- creation ----

def asarray(obj, /, *, dtype=None, device=None, copy=None):
    return _T.asarray(obj, dtype=dtype, device=device, copy=copy)


def from_dlpack(x, /, *, device=None, copy=None):
    result = _T.from_dlpack(x)
    return result.clone() if copy else result


def _numbers(x):
    return x if isinstance(x, tuple) else (x,)


def empty(shape, *, dtype=None, device=None):
    return _T.empty(_numbers(shape), dtype=dtype, device=device)


def zeros(shape, *, dtype=None, device=None):
    return _T.zeros(_numbers(shape), dtype=dtype, device=device)


def ones(shape, *, dtype=None, device=None):
    return _T.ones(_numbers(shape), dtype=dtype, device=device)


def full(shape, fill_value, *, dtype=None, device=None):
    return _T.full(_numbers(shape), fill_value, dtype=dtype, device=device)


def eye(n_rows, n_cols=None, /, *, k=0, dtype=None, device=None):
    n_cols = n_rows if n_cols is None else n_cols
    result = _T.zeros(n_rows, n_cols, dtype=dtype, device=device)
    if -n_rows < k < n_cols:
        result.diagonal(k).fill_(1)
    return result


def arange(start, /, stop=None, step=1, *, dtype=None, device=None):
    if stop is None:
        start, stop = 0, start
    if (step > 0 and stop < start) or (step < 0 and stop > start):
        kind = dtype or (float32 if builtins.any(isinstance(v, float) for v in (start, stop, step)) else int64)
        return _T.empty(0, dtype=kind, device=device)
    return _T.arange(start, stop, step, dtype=dtype, device=device)


def linspace(start, stop, /, num, *, dtype=None, device=None, endpoint=True):
    if not endpoint:
        return _T.linspace(start, stop, num + 1, dtype=dtype, device=device)[:-1]
    return _T.linspace(start, stop, num, dtype=dtype, device=device)


def meshgrid(*arrays, indexing="xy"):
    return list(_T.meshgrid(*arrays, indexing=indexing))


def tril(x, /, *, k=0):
    return _T.tril(x, k)


def triu(x, /, *, k=0):
    return _T.triu(x, k)


# ---- elementwise ----

def _unary(name, torch_name=None):
    function = getattr(_T, torch_name or name)

    def unary(x, /):
        return function(x)
    unary.__name__ = unary.__qualname__ = name
    return unary


for _name in ("abs", "acos", "acosh", "asin", "asinh", "atan", "atanh", "cos", "cosh", "exp", "expm1", "isfinite", "isinf", "isnan", "log", "log10",
              "log1p", "log2", "logical_not", "negative", "positive", "reciprocal", "signbit", "sin", "sinh", "sqrt", "square", "tan", "tanh"):
    globals()[_name] = _unary(_name)
bitwise_invert = _unary("bitwise_invert", "bitwise_not")


def sign(x, /):
    if x.dtype.is_complex:
        return _T.where(x == 0, _T.zeros_like(x), x / _T.abs(x))
    return _T.where(x != x, x, _T.sign(x)) if x.dtype.is_floating_point else _T.sign(x)


def real(x, /):
    return _T.real(x) if x.dtype.is_complex else x


def imag(x, /):
    return _T.imag(x) if x.dtype.is_complex else _T.zeros_like(x)


def conj(x, /):
    return _T.conj(x).resolve_conj() if x.dtype.is_complex else x


def _rounded(name):
    function = getattr(_T, name)

    def rounded(x, /):
        return function(x) if x.dtype.is_floating_point or x.dtype.is_complex else x
    rounded.__name__ = rounded.__qualname__ = name
    return rounded


ceil, floor, round, trunc = (_rounded(n) for n in ("ceil", "floor", "round", "trunc"))


def _pair(x1, x2):
    """Both operands at their common dtype: an array without dims counts as one with them, as the standard says."""
    if not isinstance(x1, Tensor) or not isinstance(x2, Tensor):
        return x1, x2
    dtype = _T.promote_types(x1.dtype, x2.dtype)
    return x1.to(dtype), x2.to(dtype)


def _binary(name, torch_name=None):
    function = getattr(_T, torch_name or name)

    def binary(x1, x2, /):
        if not isinstance(x1, Tensor):
            x1 = _T.tensor(x1, dtype=_T.result_type(x2, x1))
        elif not isinstance(x2, Tensor):
            x2 = _T.tensor(x2, dtype=_T.result_type(x1, x2))
        return function(*_pair(x1, x2))
    binary.__name__ = binary.__qualname__ = name
    return binary


(add, atan2, bitwise_and, bitwise_or, bitwise_xor, copysign, divide, equal, floor_divide, greater, greater_equal, hypot, less, less_equal,
 logaddexp, logical_and, logical_or, logical_xor, maximum, minimum, multiply, nextafter, not_equal, remainder, subtract) = (
    _binary(n, t) for n, t in (
        ("add", None), ("atan2", None), ("bitwise_and", None), ("bitwise_or", None), ("bitwise_xor", None), ("copysign", None),
        ("divide", "div"), ("equal", "eq"), ("floor_divide", None), ("greater", "gt"), ("greater_equal", "ge"), ("hypot", None),
        ("less", "lt"), ("less_equal", "le"), ("logaddexp", None), ("logical_and", None), ("logical_or", None), ("logical_xor", None),
        ("maximum", None), ("minimum", None), ("multiply", "mul"), ("nextafter", None), ("not_equal", "ne"), ("remainder", None),
        ("subtract", "sub")))
bitwise_left_shift, bitwise_right_shift = _binary("bitwise_left_shift"), _binary("bitwise_right_shift")
pow = _binary("pow")
_floor_divide, _remainder = floor_divide, remainder


def floor_divide(x1, x2, /):
    result = _floor_divide(x1, x2)
    if not result.dtype.is_floating_point:
        return result
    # By infinity, and of it: the floor of the quotient.
    quotient = divide(x1, x2)
    infinite = _T.isinf(quotient) | (quotient == 0)
    return _T.where(infinite, _T.floor(quotient), result)


def remainder(x1, x2, /):
    result = _remainder(x1, x2)
    return _T.where(result == 0, _T.copysign(result, x2), result) if result.dtype.is_floating_point else result


for _function in (floor_divide, remainder):
    _function.__qualname__ = _function.__name__


def clip(x, /, min=None, max=None):
    dtype = x.dtype
    for bound, choose in ((min, _T.maximum), (max, _T.minimum)):
        if bound is not None:
            bound = bound if isinstance(bound, Tensor) else _T.tensor(bound, dtype=dtype)
            x = choose(x, bound.to(dtype))
    return x.clone() if min is None and max is None else x


# ---- searching, sorting, sets ----

def _flat(function):
    def over(x, /, *, axis=None, keepdims=False):
        if axis is None:
            result = function(x.reshape(-1), 0)
            return result.reshape((1,) * x.ndim) if keepdims else result
        return function(x, axis, keepdim=keepdims)
    return over


argmax, argmin = _flat(_T.argmax), _flat(_T.argmin)


def nonzero(x, /):
    if x.ndim == 0:
        raise ValueError("nonzero() needs at least one dim")
    return tuple(x.nonzero().unbind(1))


def searchsorted(x1, x2, /, *, side="left", sorter=None):
    return _T.searchsorted(x1, x2, side=side, sorter=sorter)


def where(condition, x1, x2, /):
    return _T.where(condition, *_pair(x1, x2))


def count_nonzero(x, /, *, axis=None, keepdims=False):
    return sum(x != 0, axis=axis, keepdims=keepdims)


def argsort(x, /, *, axis=-1, descending=False, stable=True):
    return _T.sort(x, dim=axis, descending=descending, stable=stable).indices


def sort(x, /, *, axis=-1, descending=False, stable=True):
    return _T.sort(x, dim=axis, descending=descending, stable=stable).values


def unique_all(x, /):
    import collections
    values, inverse, counts = _T.unique(x, return_inverse=True, return_counts=True)
    order = _T.sort(inverse.reshape(-1), stable=True).indices
    first = order[(_T.cumsum(counts, 0) - counts)]
    return collections.namedtuple("unique_all_result", "values indices inverse_indices counts")(values, first, inverse, counts)


def unique_counts(x, /):
    import collections
    values, counts = _T.unique(x, return_counts=True)
    return collections.namedtuple("unique_counts_result", "values counts")(values, counts)


def unique_inverse(x, /):
    import collections
    values, inverse = _T.unique(x, return_inverse=True)
    return collections.namedtuple("unique_inverse_result", "values inverse_indices")(values, inverse)


def unique_values(x, /):
    return _T.unique(x)


# ---- reductions ----

def _dims(x, axis):
    if axis is None:
        return tuple(range(x.ndim))
    return axis if isinstance(axis, tuple) else (axis,)


def _accumulator(x, dtype):
    if dtype is not None:
        return dtype
    return x.dtype if x.dtype.is_floating_point or x.dtype.is_complex else int64


def sum(x, /, *, axis=None, dtype=None, keepdims=False):
    dtype, dims = _accumulator(x, dtype), _dims(x, axis)
    return x.sum(dims, keepdim=keepdims, dtype=dtype) if dims else x.to(dtype, copy=True)


def prod(x, /, *, axis=None, dtype=None, keepdims=False):
    dtype = _accumulator(x, dtype)
    x = x.to(dtype, copy=True)
    for dim in sorted((d % x.ndim for d in _dims(x, axis)), reverse=True):
        x = x.prod(dim, keepdim=keepdims, dtype=dtype)
    return x


def max(x, /, *, axis=None, keepdims=False):
    dims = _dims(x, axis)
    return _T.amax(x, dims, keepdim=keepdims) if dims else x.clone()


def min(x, /, *, axis=None, keepdims=False):
    dims = _dims(x, axis)
    return _T.amin(x, dims, keepdim=keepdims) if dims else x.clone()


def mean(x, /, *, axis=None, keepdims=False):
    dims = _dims(x, axis)
    return _T.mean(x, dims, keepdim=keepdims) if dims else x.clone()


def var(x, /, *, axis=None, correction=0.0, keepdims=False):
    dims = _dims(x, axis)
    return _T.var(x, dims, correction=correction, keepdim=keepdims) if dims else x - x


def std(x, /, *, axis=None, correction=0.0, keepdims=False):
    return _T.sqrt(var(x, axis=axis, correction=correction, keepdims=keepdims))


def any(x, /, *, axis=None, keepdims=False):
    x = x.to(bool)
    for dim in sorted((d % x.ndim for d in _dims(x, axis)), reverse=True):
        x = x.any(dim, keepdim=keepdims)
    return x


def all(x, /, *, axis=None, keepdims=False):
    return ~any(~x.to(bool), axis=axis, keepdims=keepdims)


def _scan(function):
    def scan(x, /, *, axis=None, dtype=None, include_initial=False):
        if axis is None:
            if x.ndim != 1:
                raise ValueError("axis is needed unless the array has one dim")
            axis = 0
        result = function(x, axis, dtype=_accumulator(x, dtype))
        if include_initial:
            sizes = list(x.shape)
            sizes[axis] = 1
            start = _T.zeros(sizes, dtype=result.dtype) if function is _T.cumsum else _T.ones(sizes, dtype=result.dtype)
            result = _T.cat([start, result], axis)
        return result
    return scan


cumulative_sum, cumulative_prod = _scan(_T.cumsum), _scan(_T.cumprod)


def diff(x, /, *, axis=-1, n=1, prepend=None, append=None):
    return _T.diff(x, n=n, dim=axis, prepend=prepend, append=append)


# ---- shapes ----

def broadcast_to(x, /, shape):
    return x.expand(shape)


def broadcast_arrays(*arrays):
    return list(_T.broadcast_tensors(*arrays))


def concat(arrays, /, *, axis=0):
    if axis is None:
        arrays, axis = [a.reshape(-1) for a in arrays], 0
    return _T.cat(list(arrays), axis)


def stack(arrays, /, *, axis=0):
    return _T.stack(list(arrays), axis)


def expand_dims(x, /, axis=0):
    if not -x.ndim - 1 <= axis <= x.ndim:
        raise IndexError(f"axis {axis} is out of range for an array of {x.ndim} dims")
    return x.unsqueeze(axis)


def squeeze(x, /, axis):
    for a in axis if isinstance(axis, tuple) else (axis,):
        if x.shape[a] != 1:
            raise ValueError(f"dim {a} has size {x.shape[a]}, not 1")
    return x.squeeze(axis)


def flip(x, /, *, axis=None):
    return x.flip(_dims(x, axis))


def moveaxis(x, source, destination, /):
    return x.movedim(source, destination)


def permute_dims(x, /, axes):
    return x.permute(axes)


def repeat(x, repeats, /, *, axis=None):
    return _T.repeat_interleave(x, repeats.to(int64) if isinstance(repeats, Tensor) else repeats, dim=axis)


def reshape(x, /, shape, *, copy=None):
    if copy is False:
        return x.view(shape)
    return x.clone().reshape(shape) if copy else x.reshape(shape)


def roll(x, /, shift, *, axis=None):
    return _T.roll(x, shift) if axis is None else _T.roll(x, shift, axis)


def tile(x, repetitions, /):
    return _T.tile(x, repetitions)


def unstack(x, /, *, axis=0):
    return tuple(x.unbind(axis))


def _from_front(indices, size):
    return _T.where(indices < 0, indices + size, indices)


def take(x, indices, /, *, axis=None):
    if axis is None:
        if x.ndim != 1:
            raise ValueError("axis is needed unless the array has one dim")
        axis = 0
    return _T.index_select(x, axis, _from_front(indices, x.shape[axis]))


def take_along_axis(x, indices, /, *, axis=-1):
    return _T.take_along_dim(x, _from_front(indices.to(int64), x.shape[axis]), axis)


# ---- linear algebra ----

def matmul(x1, x2, /):
    return _T.matmul(*_pair(x1, x2))


def matrix_transpose(x, /):
    if x.ndim < 2:
        raise ValueError(f"matrix_transpose needs an array of two dims, not of {x.ndim}")
    return x.mT


def tensordot(x1, x2, /, *, axes=2):
    return _T.tensordot(*_pair(x1, x2), dims=axes)


def vecdot(x1, x2, /, *, axis=-1):
    x1, x2 = _pair(x1, x2)
    if x1.shape[axis] != x2.shape[axis]:
        raise ValueError(f"vecdot: sizes along axis {axis} differ: {x1.shape[axis]} and {x2.shape[axis]}")
    return (conj(x1) * x2).sum(axis).to(x1.dtype)


class _Info:
    def capabilities(self):
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 64}

    def default_device(self):
        return device("cpu")

    def default_dtypes(self, *, device=None):
        return {"real floating": _T.get_default_dtype(), "complex floating": getattr(_T, "complex64", None), "integral": int64, "indexing": int64}

    def dtypes(self, *, device=None, kind=None):
        return {n: d for n, d in _dtypes.items() if kind is None or isdtype(d, kind)}

    def devices(self):
        return [device("cpu")]


def __array_namespace_info__():
    return _Info()


from braze import empty_like, full_like, ones_like, zeros_like  # noqa: E402, F401
