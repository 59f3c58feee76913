"""Activations as modules: each calls its function of torch.nn.functional."""
import warnings

from ... import full
from .. import functional as F
from ..parameter import Parameter
from .layer import Layer, function_of
from .module import Module


class ReLU(Layer):
    """max(x, 0). https://pytorch.org/docs/stable/generated/torch.nn.ReLU.html"""
    function = function_of("relu")

    def __init__(self, inplace=False):
        super().__init__(inplace=inplace)


class ReLU6(Layer):
    """Between 0 and 6. https://pytorch.org/docs/stable/generated/torch.nn.ReLU6.html"""
    function = function_of("relu6")

    def __init__(self, inplace=False):
        super().__init__(inplace=inplace)


class Sigmoid(Layer):
    """1 / (1 + exp(-x)). https://pytorch.org/docs/stable/generated/torch.nn.Sigmoid.html"""
    function = function_of("sigmoid")

    def __init__(self):
        super().__init__()


class Tanh(Layer):
    """The hyperbolic tangent. https://pytorch.org/docs/stable/generated/torch.nn.Tanh.html"""
    function = function_of("tanh")

    def __init__(self):
        super().__init__()


class LeakyReLU(Layer):
    """x, or negative_slope * x below 0. https://pytorch.org/docs/stable/generated/torch.nn.LeakyReLU.html"""
    function = function_of("leaky_relu")

    def __init__(self, negative_slope=0.01, inplace=False):
        super().__init__(negative_slope=negative_slope, inplace=inplace)


class ELU(Layer):
    """x, or alpha * (exp(x) - 1) below 0. https://pytorch.org/docs/stable/generated/torch.nn.ELU.html"""
    function = function_of("elu")

    def __init__(self, alpha=1.0, inplace=False):
        super().__init__(alpha=alpha, inplace=inplace)


class CELU(Layer):
    """x, or alpha * (exp(x / alpha) - 1) below 0. https://pytorch.org/docs/stable/generated/torch.nn.CELU.html"""
    function = function_of("celu")

    def __init__(self, alpha=1.0, inplace=False):
        super().__init__(alpha=alpha, inplace=inplace)


class SELU(Layer):
    """A scaled elu that keeps mean and variance. https://pytorch.org/docs/stable/generated/torch.nn.SELU.html"""
    function = function_of("selu")

    def __init__(self, inplace=False):
        super().__init__(inplace=inplace)


class GELU(Layer):
    """x times the normal distribution function of x. https://pytorch.org/docs/stable/generated/torch.nn.GELU.html"""
    function = function_of("gelu")

    def __init__(self, approximate="none"):
        super().__init__(approximate=approximate)


class SiLU(Layer):
    """x sigmoid(x). https://pytorch.org/docs/stable/generated/torch.nn.SiLU.html"""
    function = function_of("silu")

    def __init__(self, inplace=False):
        super().__init__(inplace=inplace)


class Mish(Layer):
    """x tanh(softplus(x)). https://pytorch.org/docs/stable/generated/torch.nn.Mish.html"""
    function = function_of("mish")

    def __init__(self, inplace=False):
        super().__init__(inplace=inplace)


class Softplus(Layer):
    """log(1 + exp(beta x)) / beta. https://pytorch.org/docs/stable/generated/torch.nn.Softplus.html"""
    function = function_of("softplus")

    def __init__(self, beta=1.0, threshold=20.0):
        super().__init__(beta=beta, threshold=threshold)


class Hardtanh(Layer):
    """Between min_val and max_val. https://pytorch.org/docs/stable/generated/torch.nn.Hardtanh.html"""
    function = function_of("hardtanh")

    def __init__(self, min_val=-1.0, max_val=1.0, inplace=False, min_value=None, max_value=None):
        for name, value in (("min_value", min_value), ("max_value", max_value)):
            if value is not None:
                warnings.warn(f"keyword argument `{name}` is deprecated and rename to `{name[:-2]}`", FutureWarning, stacklevel=2)
        super().__init__(min_val=min_val if min_value is None else min_value, max_val=max_val if max_value is None else max_value,
                         inplace=inplace)
        if self.max_val <= self.min_val:
            raise AssertionError("max_val must be larger than min_val")


class Hardswish(Layer):
    """x relu6(x + 3) / 6. https://pytorch.org/docs/stable/generated/torch.nn.Hardswish.html"""
    function = function_of("hardswish")

    def __init__(self, inplace=False):
        super().__init__(inplace=inplace)


class Hardsigmoid(Layer):
    """relu6(x + 3) / 6. https://pytorch.org/docs/stable/generated/torch.nn.Hardsigmoid.html"""
    function = function_of("hardsigmoid")

    def __init__(self, inplace=False):
        super().__init__(inplace=inplace)


class LogSigmoid(Layer):
    """log(sigmoid(x)). https://pytorch.org/docs/stable/generated/torch.nn.LogSigmoid.html"""
    function = function_of("logsigmoid")

    def __init__(self):
        super().__init__()


class Softsign(Layer):
    """x / (1 + |x|). https://pytorch.org/docs/stable/generated/torch.nn.Softsign.html"""
    function = function_of("softsign")

    def __init__(self):
        super().__init__()


class Tanhshrink(Layer):
    """x - tanh(x). https://pytorch.org/docs/stable/generated/torch.nn.Tanhshrink.html"""
    function = function_of("tanhshrink")

    def __init__(self):
        super().__init__()


class _Shrink(Layer):
    def __init__(self, lambd=0.5):
        super().__init__(lambd=lambd)

    def extra_repr(self):
        return str(self.lambd)


class Hardshrink(_Shrink):
    """0 where |x| <= lambd. https://pytorch.org/docs/stable/generated/torch.nn.Hardshrink.html"""
    function = function_of("hardshrink")


class Softshrink(_Shrink):
    """Nearer to 0 by lambd. https://pytorch.org/docs/stable/generated/torch.nn.Softshrink.html"""
    function = function_of("softshrink")


class Threshold(Layer):
    """`value` where x <= threshold. https://pytorch.org/docs/stable/generated/torch.nn.Threshold.html"""
    function = function_of("threshold")

    def __init__(self, threshold, value, inplace=False):
        super().__init__(threshold=threshold, value=value, inplace=inplace)


class GLU(Layer):
    """The first half of a dim times the sigmoid of the second. https://pytorch.org/docs/stable/generated/torch.nn.GLU.html"""
    function = function_of("glu")

    def __init__(self, dim=-1):
        super().__init__(dim=dim)


class RReLU(Module):
    """leaky_relu whose slopes are drawn while training. https://pytorch.org/docs/stable/generated/torch.nn.RReLU.html"""

    def __init__(self, lower=1. / 8, upper=1. / 3, inplace=False):
        super().__init__()
        self.lower, self.upper, self.inplace = lower, upper, inplace

    def forward(self, input):
        return F.rrelu(input, self.lower, self.upper, self.training, self.inplace)

    def extra_repr(self):
        return f"lower={self.lower}, upper={self.upper}" + ", inplace=True" * self.inplace


class PReLU(Module):
    """leaky_relu with a slope that is trained. https://pytorch.org/docs/stable/generated/torch.nn.PReLU.html"""

    def __init__(self, num_parameters=1, init=0.25, device=None, dtype=None):
        super().__init__()
        self.num_parameters, self.init = num_parameters, init
        self.weight = Parameter(full((num_parameters,), float(init), device=device, dtype=dtype))

    def reset_parameters(self):
        """The initial slope again."""
        self.weight.data.fill_(self.init)

    def forward(self, input):
        return F.prelu(input, self.weight)

    def extra_repr(self):
        return f"num_parameters={self.num_parameters}"


class Softmax(Layer):
    """exp(x) over its sum along dim. https://pytorch.org/docs/stable/generated/torch.nn.Softmax.html"""
    function = function_of("softmax")

    def __init__(self, dim=None):
        super().__init__(dim=dim)


class Softmin(Layer):
    """softmax(-x). https://pytorch.org/docs/stable/generated/torch.nn.Softmin.html"""
    function = function_of("softmin")

    def __init__(self, dim=None):
        super().__init__(dim=dim)


class LogSoftmax(Layer):
    """log(softmax(x)). https://pytorch.org/docs/stable/generated/torch.nn.LogSoftmax.html"""
    function = function_of("log_softmax")

    def __init__(self, dim=None):
        super().__init__(dim=dim)


class Softmax2d(Module):
    """softmax over channels. https://pytorch.org/docs/stable/generated/torch.nn.Softmax2d.html"""

    def forward(self, input):
        if input.dim() not in (3, 4):
            raise ValueError(f"Softmax2d: expected input to be 3D or 4D, got {input.dim()}D instead")
        return F.softmax(input, -3)
