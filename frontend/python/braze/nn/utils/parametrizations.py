"""torch.nn.utils.parametrizations: weights of unit norm, of orthonormal columns, of largest singular value 1.
https://pytorch.org/docs/stable/nn.html#parametrizations"""
from ... import (Tensor, allclose, cat, copysign, eye, finfo, int32, linalg, matrix_exp, mv, no_grad, ones_like, randn, vdot, where,
                 zeros_like)
from .. import functional as F
from ..modules.conv import ConvTranspose1d, ConvTranspose2d, ConvTranspose3d
from ..modules.module import Module
from . import parametrize
from .weight_norm import norm_except_dim, scaled_to_norm

__all__ = ["orthogonal", "spectral_norm", "weight_norm"]


# ---- weight norm ----

class _WeightNorm(Module):
    def __init__(self, dim=0):
        super().__init__()
        self.dim = -1 if dim is None else dim

    def forward(self, weight_g, weight_v):
        return scaled_to_norm(weight_v, weight_g, self.dim)

    def right_inverse(self, weight):
        return norm_except_dim(weight, self.dim), weight


def weight_norm(module, name="weight", dim=0):
    """A weight as its norm and its direction. https://pytorch.org/docs/stable/generated/torch.nn.utils.parametrizations.weight_norm.html"""
    parametrize.register_parametrization(module, name, _WeightNorm(dim), unsafe=True)

    def take_older_names(state_dict, prefix, *_):
        older = f"{prefix}{name}_g", f"{prefix}{name}_v"
        if all(key in state_dict for key in older):
            for i, key in enumerate(older):
                state_dict[f"{prefix}parametrizations.{name}.original{i}"] = state_dict.pop(key)
    module._register_load_state_dict_pre_hook(take_older_names)
    return module


# ---- spectral norm ----

class _SpectralNorm(Module):
    def __init__(self, weight, n_power_iterations=1, dim=0, eps=1e-12):
        super().__init__()
        if dim >= weight.ndim or dim < -weight.ndim:
            raise IndexError(f"Dimension out of range (expected to be in range of [-{weight.ndim}, {weight.ndim - 1}] but got {dim})")
        if n_power_iterations <= 0:
            raise ValueError(f"Expected n_power_iterations to be positive, but got n_power_iterations={n_power_iterations}")
        self.dim, self.eps = dim % weight.ndim, eps
        if weight.ndim > 1:
            self.n_power_iterations = n_power_iterations
            matrix = self._matrix(weight.detach())
            for name, size in zip(("_u", "_v"), matrix.shape):
                self.register_buffer(name, F.normalize(matrix.new_empty(size).normal_(0, 1), dim=0, eps=eps))
            self._iterate(matrix, 15)

    def _matrix(self, weight):
        return (weight if self.dim == 0 else weight.movedim(self.dim, 0)).flatten(1)

    @no_grad()
    def _iterate(self, matrix, times):
        """Steps of the power method, towards the first singular vectors."""
        u, v = self._u, self._v
        for _ in range(times):
            u = F.normalize(mv(matrix, v), dim=0, eps=self.eps)
            v = F.normalize(mv(matrix.mH, u), dim=0, eps=self.eps)
        self._u.copy_(u)
        self._v.copy_(v)

    def forward(self, weight):
        if weight.ndim == 1:
            return F.normalize(weight, dim=0, eps=self.eps)
        matrix = self._matrix(weight)
        if self.training:
            self._iterate(matrix, self.n_power_iterations)
        u, v = self._u.clone(), self._v.clone()  # the buffers change at the next reading
        return weight / vdot(u, mv(matrix, v))

    def right_inverse(self, value):
        return value


def spectral_norm(module, name="weight", n_power_iterations=1, eps=1e-12, dim=None):
    """A weight divided by an estimate of its largest singular value.
    https://pytorch.org/docs/stable/generated/torch.nn.utils.parametrizations.spectral_norm.html"""
    weight = getattr(module, name, None)
    if not isinstance(weight, Tensor):
        raise ValueError(f"Module '{module}' has no parameter or buffer with name '{name}'")
    if dim is None:
        dim = 1 if isinstance(module, (ConvTranspose1d, ConvTranspose2d, ConvTranspose3d)) else 0
    return parametrize.register_parametrization(module, name, _SpectralNorm(weight, n_power_iterations, dim, eps))


# ---- orthogonal ----

def _make_orthogonal(matrix):
    """Q of a tall matrix, with R's diagonal positive."""
    q, r = linalg.qr(matrix)
    return q * r.diagonal(dim1=-2, dim2=-1).sgn().unsqueeze(-2)


def _is_orthogonal(q):
    identity = eye(q.size(-1), dtype=q.dtype)
    return allclose(q.mH @ q, identity, atol=10.0 * q.size(-2) * finfo(q.dtype).eps)


def _reflected(vectors, factors):
    """The first columns of the product of Householder reflections, whose vectors lie below the diagonal."""
    n, k = vectors.shape[-2:]
    q = eye(n, k, dtype=vectors.dtype).expand(vectors.shape)
    full = vectors.tril(-1) + eye(n, k, dtype=vectors.dtype)
    for i in reversed(range(k)):
        v = full[..., :, i:i + 1]
        q = q - factors[..., i:i + 1, None] * v * (v.mH @ q)
    return q


def _reflectors(x):
    """What `_reflected` makes the orthonormal columns of x from, as LAPACK's geqrf leaves it: below the diagonal the reflections, on it a sign
    for each column, such that the triangle that is left out has positive numbers on its diagonal."""
    x = x.clone()
    rows, columns = x.shape[-2:]
    for j in range(min(rows, columns)):
        column = x[..., j:, j]
        first, rest = column[..., 0], linalg.vector_norm(column[..., 1:], dim=-1)
        idle = rest == 0  # nothing to reflect
        length = where(idle, first, -copysign(linalg.vector_norm(column, dim=-1), first))
        factor = where(idle, zeros_like(first), (length - first) / length)
        reflection = column / where(idle, ones_like(first), first - length).unsqueeze(-1)
        reflection[..., 0] = 1
        right = x[..., j:, j:]
        right -= factor[..., None, None] * reflection.unsqueeze(-1) * (reflection.unsqueeze(-2) @ right)
        x[..., j + 1:, j] = reflection[..., 1:]
        x[..., j, j] = where(idle, -length.sign(), length.sign())
    return x


class _Orthogonal(Module):
    def __init__(self, weight, orthogonal_map, *, use_trivialization=True):
        super().__init__()
        if weight.is_complex() and orthogonal_map == "householder":
            raise ValueError("The householder parametrization does not support complex tensors.")
        self.shape, self.orthogonal_map = weight.shape, orthogonal_map
        if use_trivialization:
            self.register_buffer("base", None)

    def forward(self, x):
        is_wide = x.size(-2) < x.size(-1)
        if is_wide:
            x = x.mT
        n, k = x.shape[-2:]
        if self.orthogonal_map == "householder":
            below = x.tril(-1)
            q = _reflected(below, 2.0 / (1.0 + (below * below).sum(dim=-2)))
            q = q * x.diagonal(dim1=-2, dim2=-1).to(int32).unsqueeze(-2)  # of 1 and -1
        else:
            x = x.tril()
            if n != k:
                x = cat([x, x.new_zeros(n, n - k).expand(*x.shape[:-2], -1, -1)], dim=-1)
            skew = x - x.mH
            if self.orthogonal_map == "matrix_exp":
                q = matrix_exp(skew)
            else:  # (I + A/2)(I - A/2)^-1
                identity = eye(n, dtype=skew.dtype)
                q = linalg.solve(identity - skew * 0.5, identity + skew * 0.5)
            q = q[..., :k]
        if hasattr(self, "base"):
            q = self.base @ q
        return q.mT if is_wide else q

    @no_grad()
    def right_inverse(self, q):
        if q.shape != self.shape:
            raise ValueError(f"Expected a matrix or batch of matrices of shape {self.shape}. Got a tensor of shape {q.shape}.")
        if not hasattr(self, "base"):
            if self.orthogonal_map != "householder":
                raise NotImplementedError("It is not possible to assign to the matrix exponential or the Cayley parametrizations "
                                          "when use_trivialization=False.")
            return _reflectors(q.mT).mT if q.size(-2) < q.size(-1) else _reflectors(q)
        start = zeros_like(q)
        start.diagonal(dim1=-2, dim2=-1).fill_(-1.0)  # of which the reflections make the identity
        if q.size(-2) < q.size(-1):
            q = q.mT
        n, k = q.shape[-2:]
        if n != k:
            q = _make_orthogonal(cat([q, randn(*q.shape[:-2], n, n - k, dtype=q.dtype)], dim=-1))
        else:
            q = q.clone() if _is_orthogonal(q) else _make_orthogonal(q)
        self.base = q
        return start


def orthogonal(module, name="weight", orthogonal_map=None, *, use_trivialization=True):
    """A weight of orthonormal columns, or rows where it is wide. orthogonal_map is "matrix_exp", "cayley" or "householder".
    https://pytorch.org/docs/stable/generated/torch.nn.utils.parametrizations.orthogonal.html"""
    weight = getattr(module, name, None)
    if not isinstance(weight, Tensor):
        raise ValueError(f"Module '{module}' has no parameter or buffer with name '{name}'")
    if weight.ndim < 2:
        raise ValueError(f"Expected a matrix or batch of matrices. Got a tensor of {weight.ndim} dimensions.")
    if orthogonal_map is None:
        orthogonal_map = "matrix_exp" if weight.size(-2) == weight.size(-1) or weight.is_complex() else "householder"
    if orthogonal_map not in ("matrix_exp", "cayley", "householder"):
        raise ValueError(f'orthogonal_map has to be one of "matrix_exp", "cayley", "householder". Got: {orthogonal_map}')
    return parametrize.register_parametrization(module, name, _Orthogonal(weight, orthogonal_map, use_trivialization=use_trivialization),
                                                unsafe=True)
