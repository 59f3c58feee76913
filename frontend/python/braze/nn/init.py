"""torch.nn.init: values that training starts from, drawn as PyTorch draws them. https://pytorch.org/docs/stable/nn.init.html"""
import functools
import math
import warnings

from .. import diag, empty_like, linalg, no_grad, randperm, where
from .._absent import absent

__all__ = ["calculate_gain", "constant_", "dirac_", "eye_", "kaiming_normal_", "kaiming_uniform_", "normal_", "ones_", "orthogonal_", "sparse_",
           "trunc_normal_", "uniform_", "xavier_normal_", "xavier_uniform_", "zeros_"]
__getattr__ = absent(__name__)

_gains = {"linear": 1, "conv1d": 1, "conv2d": 1, "conv3d": 1, "conv_transpose1d": 1, "conv_transpose2d": 1, "conv_transpose3d": 1, "sigmoid": 1,
          "tanh": 5 / 3, "relu": math.sqrt(2), "selu": 3 / 4}


def calculate_gain(nonlinearity, param=None):
    """The factor by which a nonlinearity asks weights to be larger."""
    if nonlinearity == "leaky_relu":
        slope = 0.01 if param is None else param
        if isinstance(slope, bool) or not isinstance(slope, (int, float)):
            raise ValueError(f"negative_slope {param} not a valid number")
        return math.sqrt(2 / (1 + slope ** 2))
    if nonlinearity not in _gains:
        raise ValueError(f"Unsupported nonlinearity {nonlinearity}")
    return _gains[nonlinearity]


def _without_gradient(function):
    @functools.wraps(function)
    def wrapped(tensor, *args, **kwargs):
        with no_grad():
            return function(tensor, *args, **kwargs)
    return wrapped


@_without_gradient
def uniform_(tensor, a=0.0, b=1.0, generator=None):
    """From a to b, evenly."""
    return tensor.uniform_(a, b, generator=generator)


@_without_gradient
def normal_(tensor, mean=0.0, std=1.0, generator=None):
    """Normally distributed."""
    return tensor.normal_(mean, std, generator=generator)


def _redraw(draw):
    """Draws until each element has been accepted once: `draw` gives values and which of them are."""
    values, kept = draw()
    while not kept.all():
        more, accepted = draw()
        values, kept = where(kept, values, more), kept | accepted
    return values


def _truncated(tensor, low, high, generator):
    """Normally distributed between bounds in standard deviations: proposals, and their chance to stay. Robert, "Simulation of truncated normal
    variables", 1995."""
    def fresh():
        return empty_like(tensor).detach()

    def below(x):
        return math.erfc(-x / math.sqrt(2)) / 2

    def from_normal():
        x = fresh().normal_(generator=generator)
        return x, (x >= low) & (x <= high)
    nearest = min(max(low, 0.0), high)  # where the density is greatest

    def from_uniform():
        x = fresh().uniform_(low, high, generator=generator)
        return x, fresh().uniform_(0, 1, generator=generator) <= ((nearest ** 2 - x * x) / 2).exp()
    side, near, far = (1, low, high) if low > 0 else (-1, -high, -low)
    rate = (near + math.sqrt(near ** 2 + 4)) / 2

    def from_exponential():
        x = fresh().exponential_(rate, generator=generator) + near
        return x * side, (x <= far) & (fresh().uniform_(0, 1, generator=generator) <= ((x - rate) ** 2 / -2).exp())
    if below(high) - below(low) >= 0.3:
        return _redraw(from_normal)
    return _redraw(from_exponential if near > 0 and near * (far - near) > 10 else from_uniform)


@_without_gradient
def trunc_normal_(tensor, mean=0.0, std=1.0, a=-2.0, b=2.0, generator=None):
    """Normally distributed between a and b."""
    if mean < a - 2 * std or mean > b + 2 * std:
        warnings.warn("mean is more than 2 std from [a, b] in nn.init.trunc_normal_. The distribution of values may be incorrect.", stacklevel=3)
    if tensor.numel() == 0:
        return tensor
    return tensor.copy_((_truncated(tensor, (a - mean) / std, (b - mean) / std, generator) * std + mean).clamp(a, b))


@_without_gradient
def constant_(tensor, val):
    """`val` everywhere."""
    return tensor.fill_(val)


def ones_(tensor):
    """1 everywhere."""
    return constant_(tensor, 1.)


@_without_gradient
def zeros_(tensor):
    """0 everywhere."""
    return tensor.zero_()


@_without_gradient
def eye_(tensor):
    """The identity matrix."""
    if tensor.dim() != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    tensor.zero_()
    tensor.diagonal().fill_(1)
    return tensor


@_without_gradient
def dirac_(tensor, groups=1):
    """The weights of a convolution that gives its input back, as far as there are channels."""
    rank = tensor.dim()
    if rank not in (3, 4, 5):
        raise ValueError("Only tensors with 3, 4, or 5 dimensions are supported")
    if tensor.size(0) % groups:
        raise ValueError("dim 0 must be divisible by groups")
    tensor.zero_()
    per_group = tensor.size(0) // groups
    middle = tuple(size // 2 for size in tensor.shape[2:])
    for group in range(groups):
        for channel in range(min(per_group, tensor.size(1))):
            tensor[(group * per_group + channel, channel, *middle)] = 1
    return tensor


def _calculate_fan_in_and_fan_out(tensor):
    if tensor.dim() < 2:
        raise ValueError("Fan in and fan out can not be computed for tensor with fewer than 2 dimensions")
    window = math.prod(tensor.shape[2:])
    return tensor.size(1) * window, tensor.size(0) * window


def _calculate_correct_fan(tensor, mode):
    mode = mode.lower()
    if mode not in ("fan_in", "fan_out"):
        raise ValueError(f"Mode {mode} not supported, please use one of ['fan_in', 'fan_out']")
    fan_in, fan_out = _calculate_fan_in_and_fan_out(tensor)
    return fan_in if mode == "fan_in" else fan_out


def xavier_uniform_(tensor, gain=1.0, generator=None):
    """Evenly between bounds that keep the variance of both directions. Glorot and Bengio, 2010"""
    fan_in, fan_out = _calculate_fan_in_and_fan_out(tensor)
    bound = math.sqrt(3) * (gain * math.sqrt(2 / float(fan_in + fan_out)))
    return uniform_(tensor, -bound, bound, generator)


def xavier_normal_(tensor, gain=1.0, generator=None):
    """Normally distributed, with the deviation that keeps the variance of both directions."""
    fan_in, fan_out = _calculate_fan_in_and_fan_out(tensor)
    return normal_(tensor, 0., gain * math.sqrt(2 / float(fan_in + fan_out)), generator)


def _kaiming_deviation(tensor, a, mode, nonlinearity):
    return calculate_gain(nonlinearity, a) / math.sqrt(_calculate_correct_fan(tensor, mode))


def _is_empty(tensor):
    if 0 in tensor.shape:
        warnings.warn("Initializing zero-element tensors is a no-op", stacklevel=3)
        return True
    return False


def kaiming_uniform_(tensor, a=0, mode="fan_in", nonlinearity="leaky_relu", generator=None):
    """Evenly between bounds that keep the variance through rectifiers. He et al., 2015"""
    if _is_empty(tensor):
        return tensor
    bound = math.sqrt(3) * _kaiming_deviation(tensor, a, mode, nonlinearity)
    return uniform_(tensor, -bound, bound, generator)


def kaiming_normal_(tensor, a=0, mode="fan_in", nonlinearity="leaky_relu", generator=None):
    """Normally distributed, with the deviation that keeps the variance through rectifiers."""
    if _is_empty(tensor):
        return tensor
    return normal_(tensor, 0, _kaiming_deviation(tensor, a, mode, nonlinearity), generator)


@_without_gradient
def orthogonal_(tensor, gain=1, generator=None):
    """An orthogonal matrix, times gain; further dims count as columns."""
    if tensor.dim() < 2:
        raise ValueError("Only tensors with 2 or more dimensions are supported")
    if tensor.numel() == 0:
        return tensor
    rows, columns = tensor.size(0), tensor.numel() // tensor.size(0)
    drawn = tensor.new_empty((rows, columns)).normal_(0, 1, generator=generator)
    q, r = linalg.qr(drawn.t() if rows < columns else drawn)
    q = q * diag(r).sign()  # uniformly distributed only with the signs of the diagonal
    return tensor.copy_((q.t() if rows < columns else q).reshape(tensor.shape)).mul_(gain)


@_without_gradient
def sparse_(tensor, sparsity, std=0.01, generator=None):
    """Normally distributed, with that fraction of each column zero."""
    if tensor.dim() != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    rows, columns = tensor.shape
    tensor.normal_(0, std, generator=generator)
    for column in range(columns):
        tensor[randperm(rows)[:math.ceil(sparsity * rows)], column] = 0
    return tensor
