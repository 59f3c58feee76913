"""Dropout."""
from .. import functional as F
from .module import Module


class _Dropout(Module):
    function = None

    def __init__(self, p=0.5, inplace=False):
        super().__init__()
        if p < 0 or p > 1:
            raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
        self.p, self.inplace = p, inplace

    def forward(self, input):
        return getattr(F, self.function)(input, self.p, self.training, self.inplace)

    def extra_repr(self):
        return f"p={self.p}, inplace={self.inplace}"


class Dropout(_Dropout):
    """Elements zero with probability p while training. https://pytorch.org/docs/stable/generated/torch.nn.Dropout.html"""
    function = "dropout"


class Dropout1d(_Dropout):
    """Channels zero with probability p while training. https://pytorch.org/docs/stable/generated/torch.nn.Dropout1d.html"""
    function = "dropout1d"


class Dropout2d(_Dropout):
    """Channels zero with probability p while training. https://pytorch.org/docs/stable/generated/torch.nn.Dropout2d.html"""
    function = "dropout2d"


class Dropout3d(_Dropout):
    """Channels zero with probability p while training. https://pytorch.org/docs/stable/generated/torch.nn.Dropout3d.html"""
    function = "dropout3d"


class AlphaDropout(_Dropout):
    """Dropout that keeps what SELU keeps. https://pytorch.org/docs/stable/generated/torch.nn.AlphaDropout.html"""
    function = "alpha_dropout"


class FeatureAlphaDropout(_Dropout):
    """AlphaDropout of channels. https://pytorch.org/docs/stable/generated/torch.nn.FeatureAlphaDropout.html"""
    function = "feature_alpha_dropout"
