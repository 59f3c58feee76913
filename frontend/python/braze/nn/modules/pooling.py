"""Pooling."""
from .layer import Layer, function_of, repeated


class _Pool(Layer):
    def __init__(self, kernel_size, stride, **settings):
        super().__init__(kernel_size=kernel_size, stride=kernel_size if stride is None else stride, **settings)


class _MaxPool(_Pool):
    shown = ("kernel_size", "stride", "padding", "dilation", "ceil_mode")

    def __init__(self, kernel_size, stride=None, padding=0, dilation=1, return_indices=False, ceil_mode=False):
        super().__init__(kernel_size, stride, padding=padding, dilation=dilation, return_indices=return_indices, ceil_mode=ceil_mode)


class MaxPool1d(_MaxPool):
    """The greatest of each window. https://pytorch.org/docs/stable/generated/torch.nn.MaxPool1d.html"""
    function = function_of("max_pool1d")


class MaxPool2d(_MaxPool):
    """The greatest of each window. https://pytorch.org/docs/stable/generated/torch.nn.MaxPool2d.html"""
    function = function_of("max_pool2d")


class MaxPool3d(_MaxPool):
    """The greatest of each window. https://pytorch.org/docs/stable/generated/torch.nn.MaxPool3d.html"""
    function = function_of("max_pool3d")


class AvgPool1d(_Pool):
    """The mean of each window. https://pytorch.org/docs/stable/generated/torch.nn.AvgPool1d.html"""
    function = function_of("avg_pool1d")
    shown = ("kernel_size", "stride", "padding")

    def __init__(self, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True):
        super().__init__(repeated(kernel_size, 1), repeated(kernel_size if stride is None else stride, 1), padding=repeated(padding, 1),
                         ceil_mode=ceil_mode, count_include_pad=count_include_pad)


class _AvgPool(_Pool):
    shown = ("kernel_size", "stride", "padding")

    def __init__(self, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True, divisor_override=None):
        super().__init__(kernel_size, stride, padding=padding, ceil_mode=ceil_mode, count_include_pad=count_include_pad,
                         divisor_override=divisor_override)


class AvgPool2d(_AvgPool):
    """The mean of each window. https://pytorch.org/docs/stable/generated/torch.nn.AvgPool2d.html"""
    function = function_of("avg_pool2d")


class AvgPool3d(_AvgPool):
    """The mean of each window. https://pytorch.org/docs/stable/generated/torch.nn.AvgPool3d.html"""
    function = function_of("avg_pool3d")


class _AdaptiveAvgPool(Layer):
    def __init__(self, output_size):
        super().__init__(output_size=output_size)


class AdaptiveAvgPool1d(_AdaptiveAvgPool):
    """Means of as many windows as asked for. https://pytorch.org/docs/stable/generated/torch.nn.AdaptiveAvgPool1d.html"""
    function = function_of("adaptive_avg_pool1d")


class AdaptiveAvgPool2d(_AdaptiveAvgPool):
    """Means of as many windows as asked for. https://pytorch.org/docs/stable/generated/torch.nn.AdaptiveAvgPool2d.html"""
    function = function_of("adaptive_avg_pool2d")


class AdaptiveAvgPool3d(_AdaptiveAvgPool):
    """Means of as many windows as asked for. https://pytorch.org/docs/stable/generated/torch.nn.AdaptiveAvgPool3d.html"""
    function = function_of("adaptive_avg_pool3d")


class _AdaptiveMaxPool(Layer):
    shown = ("output_size",)

    def __init__(self, output_size, return_indices=False):
        super().__init__(output_size=output_size, return_indices=return_indices)


class AdaptiveMaxPool1d(_AdaptiveMaxPool):
    """The greatest of as many windows as asked for. https://pytorch.org/docs/stable/generated/torch.nn.AdaptiveMaxPool1d.html"""
    function = function_of("adaptive_max_pool1d")


class AdaptiveMaxPool2d(_AdaptiveMaxPool):
    """The greatest of as many windows as asked for. https://pytorch.org/docs/stable/generated/torch.nn.AdaptiveMaxPool2d.html"""
    function = function_of("adaptive_max_pool2d")


class AdaptiveMaxPool3d(_AdaptiveMaxPool):
    """The greatest of as many windows as asked for. https://pytorch.org/docs/stable/generated/torch.nn.AdaptiveMaxPool3d.html"""
    function = function_of("adaptive_max_pool3d")


class _LPPool(Layer):
    def __init__(self, norm_type, kernel_size, stride=None, ceil_mode=False):
        super().__init__(norm_type=norm_type, kernel_size=kernel_size, stride=stride, ceil_mode=ceil_mode)


class LPPool1d(_LPPool):
    """The p-norm of each window. https://pytorch.org/docs/stable/generated/torch.nn.LPPool1d.html"""
    function = function_of("lp_pool1d")


class LPPool2d(_LPPool):
    """The p-norm of each window. https://pytorch.org/docs/stable/generated/torch.nn.LPPool2d.html"""
    function = function_of("lp_pool2d")


class LPPool3d(_LPPool):
    """The p-norm of each window. https://pytorch.org/docs/stable/generated/torch.nn.LPPool3d.html"""
    function = function_of("lp_pool3d")


class _MaxUnpool(Layer):
    rank = None

    def __init__(self, kernel_size, stride=None, padding=0):
        super().__init__(kernel_size=repeated(kernel_size, self.rank), stride=repeated(kernel_size if stride is None else stride, self.rank),
                         padding=repeated(padding, self.rank))

    def forward(self, input, indices, output_size=None):
        return type(self).function(input, indices, self.kernel_size, self.stride, self.padding, output_size)


class MaxUnpool1d(_MaxUnpool):
    """Maxima back where they stood, zeros elsewhere. https://pytorch.org/docs/stable/generated/torch.nn.MaxUnpool1d.html"""
    function, rank = function_of("max_unpool1d"), 1


class MaxUnpool2d(_MaxUnpool):
    """Maxima back where they stood, zeros elsewhere. https://pytorch.org/docs/stable/generated/torch.nn.MaxUnpool2d.html"""
    function, rank = function_of("max_unpool2d"), 2


class MaxUnpool3d(_MaxUnpool):
    """Maxima back where they stood, zeros elsewhere. https://pytorch.org/docs/stable/generated/torch.nn.MaxUnpool3d.html"""
    function, rank = function_of("max_unpool3d"), 3
