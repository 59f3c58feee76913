"""Padding."""
from .. import functional as F
from .layer import repeated
from .module import Module


class _Pad(Module):
    rank, mode = None, "constant"

    def __init__(self, padding):
        super().__init__()
        self.padding = repeated(padding, 2 * self.rank)

    def forward(self, input):
        return F.pad(input, self.padding, self.mode)

    def extra_repr(self):
        return str(self.padding)


class _ConstantPad(_Pad):
    def __init__(self, padding, value):
        super().__init__(padding)
        self.value = value

    def forward(self, input):
        return F.pad(input, self.padding, "constant", self.value)

    def extra_repr(self):
        return f"padding={self.padding}, value={self.value}"


class ConstantPad1d(_ConstantPad):
    """A border of one value. https://pytorch.org/docs/stable/generated/torch.nn.ConstantPad1d.html"""
    rank = 1


class ConstantPad2d(_ConstantPad):
    """A border of one value. https://pytorch.org/docs/stable/generated/torch.nn.ConstantPad2d.html"""
    rank = 2


class ConstantPad3d(_ConstantPad):
    """A border of one value. https://pytorch.org/docs/stable/generated/torch.nn.ConstantPad3d.html"""
    rank = 3


class _ZeroPad(_ConstantPad):
    def __init__(self, padding):
        super().__init__(padding, 0.0)

    def extra_repr(self):
        return str(self.padding)


class ZeroPad1d(_ZeroPad):
    """A border of zeros. https://pytorch.org/docs/stable/generated/torch.nn.ZeroPad1d.html"""
    rank = 1


class ZeroPad2d(_ZeroPad):
    """A border of zeros. https://pytorch.org/docs/stable/generated/torch.nn.ZeroPad2d.html"""
    rank = 2


class ZeroPad3d(_ZeroPad):
    """A border of zeros. https://pytorch.org/docs/stable/generated/torch.nn.ZeroPad3d.html"""
    rank = 3


class ReflectionPad1d(_Pad):
    """A mirrored border. https://pytorch.org/docs/stable/generated/torch.nn.ReflectionPad1d.html"""
    rank, mode = 1, "reflect"


class ReflectionPad2d(_Pad):
    """A mirrored border. https://pytorch.org/docs/stable/generated/torch.nn.ReflectionPad2d.html"""
    rank, mode = 2, "reflect"


class ReflectionPad3d(_Pad):
    """A mirrored border. https://pytorch.org/docs/stable/generated/torch.nn.ReflectionPad3d.html"""
    rank, mode = 3, "reflect"


class ReplicationPad1d(_Pad):
    """The edge repeated. https://pytorch.org/docs/stable/generated/torch.nn.ReplicationPad1d.html"""
    rank, mode = 1, "replicate"


class ReplicationPad2d(_Pad):
    """The edge repeated. https://pytorch.org/docs/stable/generated/torch.nn.ReplicationPad2d.html"""
    rank, mode = 2, "replicate"


class ReplicationPad3d(_Pad):
    """The edge repeated. https://pytorch.org/docs/stable/generated/torch.nn.ReplicationPad3d.html"""
    rank, mode = 3, "replicate"


class CircularPad1d(_Pad):
    """The other edge's elements. https://pytorch.org/docs/stable/generated/torch.nn.CircularPad1d.html"""
    rank, mode = 1, "circular"


class CircularPad2d(_Pad):
    """The other edge's elements. https://pytorch.org/docs/stable/generated/torch.nn.CircularPad2d.html"""
    rank, mode = 2, "circular"


class CircularPad3d(_Pad):
    """The other edge's elements. https://pytorch.org/docs/stable/generated/torch.nn.CircularPad3d.html"""
    rank, mode = 3, "circular"
