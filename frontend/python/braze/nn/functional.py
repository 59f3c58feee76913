"""torch.nn.functional. https://pytorch.org/docs/stable/nn.functional.html"""
from .._absent import absent
from .. import _braze

_functions = _braze._functions["nn.functional"]
globals().update(_functions)


def triplet_margin_with_distance_loss(anchor, positive, negative, *, distance_function=None, margin=1.0, swap=False, reduction="mean"):
    """triplet_margin_loss by a distance of one's own."""
    distance = distance_function or _functions["pairwise_distance"]
    near, far = distance(anchor, positive), distance(anchor, negative)
    if swap:
        far = far.minimum(distance(positive, negative))
    losses = (margin + near - far).clamp_min(0)
    if reduction not in ("mean", "sum", "none"):
        raise ValueError(f"{reduction} is not a valid value for reduction")
    return losses if reduction == "none" else losses.sum() if reduction == "sum" else losses.mean()


__all__ = [*_functions, "triplet_margin_with_distance_loss"]
__getattr__ = absent(__name__)
