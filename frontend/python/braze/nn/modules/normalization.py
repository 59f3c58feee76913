"""Normalisation of each sample."""
import numbers

from ... import ones, zeros
from .. import functional as F
from .. import init
from ..parameter import Parameter
from .layer import Layer, function_of
from .module import Module


class LayerNorm(Module):
    """Over the last dims. https://pytorch.org/docs/stable/generated/torch.nn.LayerNorm.html"""

    def __init__(self, normalized_shape, eps=1e-5, elementwise_affine=True, bias=True, device=None, dtype=None):
        super().__init__()
        self.normalized_shape = (normalized_shape,) if isinstance(normalized_shape, numbers.Integral) else tuple(normalized_shape)
        self.eps, self.elementwise_affine = eps, elementwise_affine
        options = {"device": device, "dtype": dtype}
        self.register_parameter("weight", Parameter(ones(self.normalized_shape, **options)) if elementwise_affine else None)
        self.register_parameter("bias", Parameter(zeros(self.normalized_shape, **options)) if elementwise_affine and bias else None)

    def reset_parameters(self):
        """The initial values again."""
        if self.weight is not None:
            init.ones_(self.weight)
        if self.bias is not None:
            init.zeros_(self.bias)

    def forward(self, input):
        return F.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self):
        return f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}, bias={self.bias is not None}"


class RMSNorm(Module):
    """By the root of the mean square over the last dims. https://pytorch.org/docs/stable/generated/torch.nn.RMSNorm.html"""

    def __init__(self, normalized_shape, eps=None, elementwise_affine=True, device=None, dtype=None):
        super().__init__()
        self.normalized_shape = (normalized_shape,) if isinstance(normalized_shape, numbers.Integral) else tuple(normalized_shape)
        self.eps, self.elementwise_affine = eps, elementwise_affine
        self.register_parameter("weight", Parameter(ones(self.normalized_shape, device=device, dtype=dtype)) if elementwise_affine else None)

    def reset_parameters(self):
        """The initial values again."""
        if self.weight is not None:
            init.ones_(self.weight)

    def forward(self, input):
        return F.rms_norm(input, self.normalized_shape, self.weight, self.eps)

    def extra_repr(self):
        return f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"


class GroupNorm(Module):
    """Over groups of channels. https://pytorch.org/docs/stable/generated/torch.nn.GroupNorm.html"""

    def __init__(self, num_groups, num_channels, eps=1e-5, affine=True, device=None, dtype=None, *, bias=True):
        super().__init__()
        if num_channels % num_groups:
            raise ValueError(f"num_channels ({num_channels}) must be divisible by num_groups ({num_groups})")
        self.num_groups, self.num_channels, self.eps, self.affine = num_groups, num_channels, eps, affine
        options = {"device": device, "dtype": dtype}
        self.register_parameter("weight", Parameter(ones(num_channels, **options)) if affine else None)
        self.register_parameter("bias", Parameter(zeros(num_channels, **options)) if affine and bias else None)

    reset_parameters = LayerNorm.reset_parameters

    def forward(self, input):
        return F.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)

    def extra_repr(self):
        return f"{self.num_groups}, {self.num_channels}, eps={self.eps}, affine={self.affine}, bias={self.bias is not None}"


class LocalResponseNorm(Layer):
    """By neighbouring channels. https://pytorch.org/docs/stable/generated/torch.nn.LocalResponseNorm.html"""
    function = function_of("local_response_norm")

    def __init__(self, size, alpha=1e-4, beta=0.75, k=1.0):
        super().__init__(size=size, alpha=alpha, beta=beta, k=k)

    def extra_repr(self):
        return f"{self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}"
