"""torch.distributions.kl: the divergence of one distribution from another, by the pair of their types."""
from .distribution import Distribution
from .normal import Normal

__all__ = ["kl_divergence", "register_kl"]

_by_types = {}


def register_kl(type_p, type_q):
    """A decorator: the function computes kl_divergence(p, q) for p of type_p and q of type_q, and of their subclasses."""
    for kind in (type_p, type_q):
        if not isinstance(kind, type) or not issubclass(kind, Distribution):
            raise TypeError(f"Expected {'type_p' if kind is type_p else 'type_q'} to be a Distribution subclass but got {kind}")

    def register(function):
        _by_types[type_p, type_q] = function
        return function
    return register


def kl_divergence(p, q):
    """The divergence of q from p, of the shape that their batches broadcast to. NotImplementedError where no function is registered."""
    # The nearest pair of classes, p's before q's: what PyTorch's order by both gives where it is not ambiguous.
    for a in type(p).__mro__:
        for b in type(q).__mro__:
            if (a, b) in _by_types:
                return _by_types[a, b](p, q)
    raise NotImplementedError(f"No KL(p || q) is implemented for p type {type(p).__name__} and q type {type(q).__name__}")


@register_kl(Normal, Normal)
def _kl_normal_normal(p, q):
    ratio = (p.scale / q.scale).pow(2)
    distance = ((p.loc - q.loc) / q.scale).pow(2)
    return 0.5 * (ratio + distance - 1 - ratio.log())
