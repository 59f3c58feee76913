"""Resampling, shuffles, sliding blocks."""
from .layer import Layer, function_of


class PixelShuffle(Layer):
    """[*, C r r, H, W] as [*, C, H r, W r]. https://pytorch.org/docs/stable/generated/torch.nn.PixelShuffle.html"""
    function = function_of("pixel_shuffle")

    def __init__(self, upscale_factor):
        super().__init__(upscale_factor=upscale_factor)


class PixelUnshuffle(Layer):
    """The reverse of PixelShuffle. https://pytorch.org/docs/stable/generated/torch.nn.PixelUnshuffle.html"""
    function = function_of("pixel_unshuffle")

    def __init__(self, downscale_factor):
        super().__init__(downscale_factor=downscale_factor)


class ChannelShuffle(Layer):
    """Channels dealt out among groups. https://pytorch.org/docs/stable/generated/torch.nn.ChannelShuffle.html"""
    function = function_of("channel_shuffle")

    def __init__(self, groups):
        super().__init__(groups=groups)


class Unfold(Layer):
    """Sliding blocks as columns. https://pytorch.org/docs/stable/generated/torch.nn.Unfold.html"""
    function = function_of("unfold")

    def __init__(self, kernel_size, dilation=1, padding=0, stride=1):
        super().__init__(kernel_size=kernel_size, dilation=dilation, padding=padding, stride=stride)


class Fold(Layer):
    """Columns summed back into the blocks they stand for. https://pytorch.org/docs/stable/generated/torch.nn.Fold.html"""
    function = function_of("fold")

    def __init__(self, output_size, kernel_size, dilation=1, padding=0, stride=1):
        super().__init__(output_size=output_size, kernel_size=kernel_size, dilation=dilation, padding=padding, stride=stride)


class Upsample(Layer):
    """Resamples the spatial dims. https://pytorch.org/docs/stable/generated/torch.nn.Upsample.html"""
    function = function_of("interpolate")

    def __init__(self, size=None, scale_factor=None, mode="nearest", align_corners=None, recompute_scale_factor=None):
        if isinstance(scale_factor, (tuple, list)):
            scale_factor = tuple(float(factor) for factor in scale_factor)
        elif scale_factor is not None:
            scale_factor = float(scale_factor)
        super().__init__(size=size, scale_factor=scale_factor, mode=mode, align_corners=align_corners,
                         recompute_scale_factor=recompute_scale_factor)

    def extra_repr(self):
        amount = f"size={self.size}" if self.scale_factor is None else f"scale_factor={self.scale_factor}"
        return f"{amount}, mode={self.mode!r}"


class UpsamplingNearest2d(Upsample):
    """Upsample by the nearest element. https://pytorch.org/docs/stable/generated/torch.nn.UpsamplingNearest2d.html"""

    def __init__(self, size=None, scale_factor=None):
        super().__init__(size, scale_factor, mode="nearest")


class UpsamplingBilinear2d(Upsample):
    """Upsample by linear interpolation. https://pytorch.org/docs/stable/generated/torch.nn.UpsamplingBilinear2d.html"""

    def __init__(self, size=None, scale_factor=None):
        super().__init__(size, scale_factor, mode="bilinear", align_corners=True)
