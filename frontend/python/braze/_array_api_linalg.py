"""The Array API standard's linalg extension over Braze. https://data-apis.org/array-api/latest/extensions/linear_algebra_functions.html"""
import collections
import math

import braze as _T

_L = _T.linalg
_eigh, _qr, _slogdet, _svd = (collections.namedtuple(name + "_result", fields) for name, fields in (
    ("eigh", "eigenvalues eigenvectors"), ("qr", "Q R"), ("slogdet", "sign logabsdet"), ("svd", "U S Vh")))


def _namespace():
    from . import _array_api
    return _array_api


def matmul(x1, x2, /):
    return _namespace().matmul(x1, x2)


def matrix_transpose(x, /):
    return _namespace().matrix_transpose(x)


def tensordot(x1, x2, /, *, axes=2):
    return _namespace().tensordot(x1, x2, axes=axes)


def vecdot(x1, x2, /, *, axis=-1):
    return _namespace().vecdot(x1, x2, axis=axis)


def _same_dtype(x1, x2):
    dtype = _T.promote_types(x1.dtype, x2.dtype)
    return x1.to(dtype), x2.to(dtype)


def cholesky(x, /, *, upper=False):
    return _L.cholesky(x, upper=upper)


def cross(x1, x2, /, *, axis=-1):
    x1, x2 = _same_dtype(x1, x2)
    if x1.shape[axis] != 3 or x2.shape[axis] != 3:
        raise ValueError(f"cross: both need size 3 along axis {axis}, not {x1.shape[axis]} and {x2.shape[axis]}")
    return _L.cross(*_T.broadcast_tensors(x1, x2), dim=axis)


def det(x, /):
    return _L.det(x)


def diagonal(x, /, *, offset=0):
    return _T.diagonal(x, offset, -2, -1)


def eigh(x, /):
    return _eigh(*_L.eigh(x))


def eigvalsh(x, /):
    return _L.eigvalsh(x)


def inv(x, /):
    return _L.inv(x)


def matrix_norm(x, /, *, keepdims=False, ord="fro"):
    return _L.matrix_norm(x, ord, (-2, -1), keepdim=keepdims)


def matrix_power(x, n, /):
    return _L.matrix_power(x, n)


def matrix_rank(x, /, *, rtol=None):
    if rtol is None:
        return _L.matrix_rank(x)
    s = svdvals(x)
    if s.shape[-1] == 0:
        return _T.zeros(s.shape[:-1], dtype=_T.int64)
    rtol = rtol if isinstance(rtol, _T.Tensor) else _T.tensor(rtol, dtype=s.dtype)
    return (s > (s.amax(-1) * rtol).unsqueeze(-1)).sum(-1)


def outer(x1, x2, /):
    if x1.ndim != 1 or x2.ndim != 1:
        raise ValueError(f"outer needs two arrays of one dim, not of {x1.ndim} and {x2.ndim}")
    x1, x2 = _same_dtype(x1, x2)
    return x1[:, None] * x2[None, :]


def pinv(x, /, *, rtol=None):
    if rtol is None:  # the standard's default
        rtol = max(x.shape[-2:]) * _T.finfo(x.dtype).eps
    if not isinstance(rtol, _T.Tensor):
        return _L.pinv(x, rtol=float(rtol))
    if x.dtype.is_complex:  # no svd yet
        matrices = x.reshape(-1, *x.shape[-2:])
        inverses = [_L.pinv(matrix, rtol=r) for matrix, r in zip(matrices, rtol.expand(x.shape[:-2]).reshape(-1).tolist())]
        return _T.stack(inverses).reshape(x.mT.shape) if inverses else _T.zeros(x.mT.shape, dtype=x.dtype)
    u, s, vh = _L.svd(x, False)
    large = s > (s.amax(-1, keepdim=True) * rtol.unsqueeze(-1) if s.shape[-1] else s)
    inverse = _T.where(large, 1 / s, _T.zeros_like(s))
    return (vh.mH * inverse.unsqueeze(-2)) @ u.mH


def qr(x, /, *, mode="reduced"):
    return _qr(*_L.qr(x, mode))


def slogdet(x, /):
    return _slogdet(*_L.slogdet(x))


def solve(x1, x2, /):
    x1, x2 = _same_dtype(x1, x2)
    if x2.ndim == 1:
        return _L.solve(x1, x2.expand(*x1.shape[:-1]).unsqueeze(-1)).squeeze(-1)
    batch = _T.broadcast_shapes(x1.shape[:-2], x2.shape[:-2])
    return _L.solve(x1.expand(*batch, *x1.shape[-2:]), x2.expand(*batch, *x2.shape[-2:]))


def svd(x, /, *, full_matrices=True):
    return _svd(*_L.svd(x, full_matrices))


def svdvals(x, /):
    return _L.svdvals(x)


def trace(x, /, *, offset=0, dtype=None):
    return _namespace().sum(diagonal(x, offset=offset), axis=-1, dtype=dtype)


def vector_norm(x, /, *, axis=None, keepdims=False, ord=2):
    if x.numel() == 0 and math.isinf(ord):
        raise ValueError(f"vector_norm of no elements with ord={ord}")
    return _L.vector_norm(x, ord, axis, keepdim=keepdims)
