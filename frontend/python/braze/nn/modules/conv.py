"""Convolutions."""
import math

from ... import empty
from .. import functional as F
from .. import init
from ..parameter import Parameter
from .layer import repeated
from .module import Module


class _ConvNd(Module):
    """What all convolutions share. Weights are [out, in / groups, k...], of the transposed ones [in, out / groups, k...]."""

    rank, transposed = None, False

    def __init__(self, in_channels, out_channels, kernel_size, stride=1, padding=0, dilation=1, groups=1, bias=True, padding_mode="zeros",
                 device=None, dtype=None, output_padding=0):
        super().__init__()
        if groups <= 0:
            raise ValueError("groups must be a positive integer")
        if in_channels % groups:
            raise ValueError("in_channels must be divisible by groups")
        if out_channels % groups:
            raise ValueError("out_channels must be divisible by groups")
        if isinstance(padding, str):
            if padding not in ("same", "valid"):
                raise ValueError(f"Invalid padding string {padding!r}, should be one of {{'same', 'valid'}}")
            if padding == "same" and any(step != 1 for step in repeated(stride, self.rank)):
                raise ValueError("padding='same' is not supported for strided convolutions")
        modes = ("zeros",) if self.transposed else ("zeros", "reflect", "replicate", "circular")
        if padding_mode not in modes:
            if self.transposed:
                raise ValueError(f'Only "zeros" padding mode is supported for {type(self).__name__}')
            raise ValueError(f"padding_mode must be one of {set(modes)}, but got padding_mode='{padding_mode}'")
        self.in_channels, self.out_channels, self.groups, self.padding_mode = in_channels, out_channels, groups, padding_mode
        self.kernel_size, self.stride = repeated(kernel_size, self.rank), repeated(stride, self.rank)
        self.padding = padding if isinstance(padding, str) else repeated(padding, self.rank)
        self.dilation, self.output_padding = repeated(dilation, self.rank), repeated(output_padding, self.rank)
        first, second = (in_channels, out_channels) if self.transposed else (out_channels, in_channels)
        self.weight = Parameter(empty((first, second // groups, *self.kernel_size), device=device, dtype=dtype))
        self.bias = Parameter(empty(out_channels, device=device, dtype=dtype)) if bias else self.register_parameter("bias", None)
        self.reset_parameters()

    def reset_parameters(self):
        """Draws the initial values anew."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            fan_in, _ = init._calculate_fan_in_and_fan_out(self.weight)
            if fan_in:
                bound = 1 / math.sqrt(fan_in)
                init.uniform_(self.bias, -bound, bound)

    def _padding_for_pad(self):
        """What F.pad adds where zeros will not do: the last dim first."""
        if self.padding == "valid":
            return [0] * (2 * self.rank)
        if self.padding == "same":
            totals = [reach * (size - 1) for reach, size in zip(self.dilation, self.kernel_size)]
            sides = [(total // 2, total - total // 2) for total in totals]
        else:
            sides = [(size, size) for size in self.padding]
        return [side for pair in reversed(sides) for side in pair]

    def forward(self, input):
        function, padding = getattr(F, f"conv{self.rank}d"), self.padding
        if self.padding_mode != "zeros":
            input, padding = F.pad(input, self._padding_for_pad(), mode=self.padding_mode), 0
        return function(input, self.weight, self.bias, self.stride, padding, self.dilation, self.groups)

    def extra_repr(self):
        zeros, ones = (0,) * self.rank, (1,) * self.rank
        text = f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}"
        for name, usual in (("padding", zeros), ("dilation", ones), ("output_padding", zeros), ("groups", 1)):
            if getattr(self, name) != usual:
                text += f", {name}={getattr(self, name)}"
        return text + ", bias=False" * (self.bias is None) + f", padding_mode={self.padding_mode}" * (self.padding_mode != "zeros")


class _ConvTransposeNd(_ConvNd):
    transposed = True

    def __init__(self, in_channels, out_channels, kernel_size, stride=1, padding=0, output_padding=0, groups=1, bias=True, dilation=1,
                 padding_mode="zeros", device=None, dtype=None):
        super().__init__(in_channels, out_channels, kernel_size, stride, padding, dilation, groups, bias, padding_mode, device, dtype,
                         output_padding)

    def _output_padding(self, input, output_size):
        """What makes the result as large as asked for."""
        if output_size is None:
            return self.output_padding
        sizes = list(output_size)
        if len(sizes) == self.rank + input.dim() - self.rank and len(sizes) > self.rank:
            sizes = sizes[-self.rank:]
        if len(sizes) != self.rank:
            raise ValueError(f"ConvTranspose{self.rank}D: for {input.dim()}D input, output_size must have {self.rank} or {input.dim()} elements "
                             f"(got {len(list(output_size))})")
        least = [(size - 1) * step - 2 * pad + reach * (k - 1) + 1 for size, step, pad, reach, k in
                 zip(input.shape[-self.rank:], self.stride, self.padding, self.dilation, self.kernel_size)]
        most = [size + step - 1 for size, step in zip(least, self.stride)]
        if any(not low <= size <= high for low, size, high in zip(least, sizes, most)):
            raise ValueError(f"requested an output size of {list(output_size)}, but valid sizes range from {least} to {most} (for an input of "
                             f"{input.shape[-self.rank:]})")
        return [size - low for size, low in zip(sizes, least)]

    def forward(self, input, output_size=None):
        function = getattr(F, f"conv_transpose{self.rank}d")
        return function(input, self.weight, self.bias, self.stride, self.padding, self._output_padding(input, output_size), self.groups,
                        self.dilation)


class Conv1d(_ConvNd):
    """Convolution over a length. https://pytorch.org/docs/stable/generated/torch.nn.Conv1d.html"""
    rank = 1


class Conv2d(_ConvNd):
    """Convolution over images. https://pytorch.org/docs/stable/generated/torch.nn.Conv2d.html"""
    rank = 2


class Conv3d(_ConvNd):
    """Convolution over volumes. https://pytorch.org/docs/stable/generated/torch.nn.Conv3d.html"""
    rank = 3


class ConvTranspose1d(_ConvTransposeNd):
    """The adjoint of Conv1d. https://pytorch.org/docs/stable/generated/torch.nn.ConvTranspose1d.html"""
    rank = 1


class ConvTranspose2d(_ConvTransposeNd):
    """The adjoint of Conv2d. https://pytorch.org/docs/stable/generated/torch.nn.ConvTranspose2d.html"""
    rank = 2


class ConvTranspose3d(_ConvTransposeNd):
    """The adjoint of Conv3d. https://pytorch.org/docs/stable/generated/torch.nn.ConvTranspose3d.html"""
    rank = 3
