"""Losses as modules: each calls its function of torch.nn.functional."""
import warnings

from .. import functional as F
from .layer import Layer, function_of
from .module import Module


def _reduction(size_average, reduce, reduction):
    """`reduction`, or what PyTorch's old pair of flags says."""
    if size_average is None and reduce is None:
        return reduction
    name = "none" if reduce is False else "sum" if size_average is False else "mean"
    warnings.warn(f"size_average and reduce args will be deprecated, please use reduction='{name}' instead.", stacklevel=3)
    return name


class _Loss(Layer):
    """Buffers for weights, attributes for the rest; repr shows nothing."""

    def __init__(self, weights=None, **settings):
        super().__init__(**settings)
        for name, weight in (weights or {}).items():
            self.register_buffer(name, weight)
        self._settings += tuple(weights or ())

    def extra_repr(self):
        return ""


class L1Loss(_Loss):
    """https://pytorch.org/docs/stable/generated/torch.nn.L1Loss.html"""
    function = function_of("l1_loss")

    def __init__(self, size_average=None, reduce=None, reduction="mean"):
        super().__init__(reduction=_reduction(size_average, reduce, reduction))


class MSELoss(_Loss):
    """https://pytorch.org/docs/stable/generated/torch.nn.MSELoss.html"""
    function = function_of("mse_loss")

    def __init__(self, size_average=None, reduce=None, reduction="mean"):
        super().__init__(reduction=_reduction(size_average, reduce, reduction))


class SmoothL1Loss(_Loss):
    """https://pytorch.org/docs/stable/generated/torch.nn.SmoothL1Loss.html"""
    function = function_of("smooth_l1_loss")

    def __init__(self, size_average=None, reduce=None, reduction="mean", beta=1.0):
        super().__init__(reduction=_reduction(size_average, reduce, reduction), beta=beta)


class HuberLoss(_Loss):
    """https://pytorch.org/docs/stable/generated/torch.nn.HuberLoss.html"""
    function = function_of("huber_loss")

    def __init__(self, reduction="mean", delta=1.0):
        super().__init__(reduction=reduction, delta=delta)


class NLLLoss(_Loss):
    """https://pytorch.org/docs/stable/generated/torch.nn.NLLLoss.html"""
    function = function_of("nll_loss")

    def __init__(self, weight=None, size_average=None, ignore_index=-100, reduce=None, reduction="mean"):
        super().__init__({"weight": weight}, ignore_index=ignore_index, reduction=_reduction(size_average, reduce, reduction))


class NLLLoss2d(NLLLoss):
    """NLLLoss by its old name."""


class CrossEntropyLoss(_Loss):
    """https://pytorch.org/docs/stable/generated/torch.nn.CrossEntropyLoss.html"""
    function = function_of("cross_entropy")

    def __init__(self, weight=None, size_average=None, ignore_index=-100, reduce=None, reduction="mean", label_smoothing=0.0):
        super().__init__({"weight": weight}, ignore_index=ignore_index, reduction=_reduction(size_average, reduce, reduction),
                         label_smoothing=label_smoothing)


class BCELoss(_Loss):
    """https://pytorch.org/docs/stable/generated/torch.nn.BCELoss.html"""
    function = function_of("binary_cross_entropy")

    def __init__(self, weight=None, size_average=None, reduce=None, reduction="mean"):
        super().__init__({"weight": weight}, reduction=_reduction(size_average, reduce, reduction))


class BCEWithLogitsLoss(_Loss):
    """https://pytorch.org/docs/stable/generated/torch.nn.BCEWithLogitsLoss.html"""
    function = function_of("binary_cross_entropy_with_logits")

    def __init__(self, weight=None, size_average=None, reduce=None, reduction="mean", pos_weight=None):
        super().__init__({"weight": weight, "pos_weight": pos_weight}, reduction=_reduction(size_average, reduce, reduction))


class KLDivLoss(_Loss):
    """https://pytorch.org/docs/stable/generated/torch.nn.KLDivLoss.html"""
    function = function_of("kl_div")

    def __init__(self, size_average=None, reduce=None, reduction="mean", log_target=False):
        super().__init__(reduction=_reduction(size_average, reduce, reduction), log_target=log_target)


class PoissonNLLLoss(_Loss):
    """https://pytorch.org/docs/stable/generated/torch.nn.PoissonNLLLoss.html"""
    function = function_of("poisson_nll_loss")

    def __init__(self, log_input=True, full=False, size_average=None, eps=1e-8, reduce=None, reduction="mean"):
        super().__init__(log_input=log_input, full=full, eps=eps, reduction=_reduction(size_average, reduce, reduction))


class GaussianNLLLoss(_Loss):
    """https://pytorch.org/docs/stable/generated/torch.nn.GaussianNLLLoss.html"""
    function = function_of("gaussian_nll_loss")

    def __init__(self, *, full=False, eps=1e-6, reduction="mean"):
        super().__init__(full=full, eps=eps, reduction=reduction)


class SoftMarginLoss(_Loss):
    """https://pytorch.org/docs/stable/generated/torch.nn.SoftMarginLoss.html"""
    function = function_of("soft_margin_loss")

    def __init__(self, size_average=None, reduce=None, reduction="mean"):
        super().__init__(reduction=_reduction(size_average, reduce, reduction))


class MultiMarginLoss(_Loss):
    """https://pytorch.org/docs/stable/generated/torch.nn.MultiMarginLoss.html"""
    function = function_of("multi_margin_loss")

    def __init__(self, p=1, margin=1.0, weight=None, size_average=None, reduce=None, reduction="mean"):
        if p not in (1, 2):
            raise ValueError("only p == 1 and p == 2 supported")
        if weight is not None and weight.dim() != 1:
            raise ValueError(f"MultiMarginLoss: expected weight to be None or 1D tensor, got {weight.dim()}D instead")
        super().__init__({"weight": weight}, p=p, margin=margin, reduction=_reduction(size_average, reduce, reduction))


class MultiLabelMarginLoss(_Loss):
    """https://pytorch.org/docs/stable/generated/torch.nn.MultiLabelMarginLoss.html"""
    function = function_of("multilabel_margin_loss")

    def __init__(self, size_average=None, reduce=None, reduction="mean"):
        super().__init__(reduction=_reduction(size_average, reduce, reduction))


class MultiLabelSoftMarginLoss(_Loss):
    """https://pytorch.org/docs/stable/generated/torch.nn.MultiLabelSoftMarginLoss.html"""
    function = function_of("multilabel_soft_margin_loss")

    def __init__(self, weight=None, size_average=None, reduce=None, reduction="mean"):
        super().__init__({"weight": weight}, reduction=_reduction(size_average, reduce, reduction))


class CTCLoss(_Loss):
    """https://pytorch.org/docs/stable/generated/torch.nn.CTCLoss.html"""
    function = function_of("ctc_loss")

    def __init__(self, blank=0, reduction="mean", zero_infinity=False):
        super().__init__(blank=blank, reduction=reduction, zero_infinity=zero_infinity)


class HingeEmbeddingLoss(_Loss):
    """https://pytorch.org/docs/stable/generated/torch.nn.HingeEmbeddingLoss.html"""
    function = function_of("hinge_embedding_loss")

    def __init__(self, margin=1.0, size_average=None, reduce=None, reduction="mean"):
        super().__init__(margin=margin, reduction=_reduction(size_average, reduce, reduction))


class CosineEmbeddingLoss(_Loss):
    """https://pytorch.org/docs/stable/generated/torch.nn.CosineEmbeddingLoss.html"""
    function = function_of("cosine_embedding_loss")

    def __init__(self, margin=0.0, size_average=None, reduce=None, reduction="mean"):
        super().__init__(margin=margin, reduction=_reduction(size_average, reduce, reduction))


class MarginRankingLoss(_Loss):
    """https://pytorch.org/docs/stable/generated/torch.nn.MarginRankingLoss.html"""
    function = function_of("margin_ranking_loss")

    def __init__(self, margin=0.0, size_average=None, reduce=None, reduction="mean"):
        super().__init__(margin=margin, reduction=_reduction(size_average, reduce, reduction))


class TripletMarginLoss(_Loss):
    """https://pytorch.org/docs/stable/generated/torch.nn.TripletMarginLoss.html"""
    function = function_of("triplet_margin_loss")

    def __init__(self, margin=1.0, p=2.0, eps=1e-6, swap=False, size_average=None, reduce=None, reduction="mean"):
        if margin <= 0:
            raise ValueError(f"TripletMarginLoss: expected margin to be greater than 0, got {margin} instead")
        super().__init__(margin=margin, p=p, eps=eps, swap=swap, reduction=_reduction(size_average, reduce, reduction))


class TripletMarginWithDistanceLoss(Module):
    """https://pytorch.org/docs/stable/generated/torch.nn.TripletMarginWithDistanceLoss.html"""

    def __init__(self, *, distance_function=None, margin=1.0, swap=False, reduction="mean"):
        super().__init__()
        if margin <= 0:
            raise ValueError(f"TripletMarginWithDistanceLoss: expected margin to be greater than 0, got {margin} instead")
        self.distance_function = PairwiseDistance() if distance_function is None else distance_function
        self.margin, self.swap, self.reduction = margin, swap, reduction

    def forward(self, anchor, positive, negative):
        return F.triplet_margin_with_distance_loss(anchor, positive, negative, distance_function=self.distance_function, margin=self.margin,
                                                   swap=self.swap, reduction=self.reduction)


class PairwiseDistance(_Loss):
    """The distance of rows. https://pytorch.org/docs/stable/generated/torch.nn.PairwiseDistance.html"""
    function = function_of("pairwise_distance")

    def __init__(self, p=2.0, eps=1e-6, keepdim=False):
        super().__init__(p=p, eps=eps, keepdim=keepdim)


class CosineSimilarity(_Loss):
    """The cosine between rows. https://pytorch.org/docs/stable/generated/torch.nn.CosineSimilarity.html"""
    function = function_of("cosine_similarity")

    def __init__(self, dim=1, eps=1e-8):
        super().__init__(dim=dim, eps=eps)
