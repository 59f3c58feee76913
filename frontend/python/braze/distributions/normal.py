"""torch.distributions.Normal. https://pytorch.org/docs/stable/distributions.html#normal"""
import math

import braze as T
from . import constraints
from .distribution import ExponentialFamily, broadcast_all

__all__ = ["Normal"]


class Normal(ExponentialFamily):
    """The normal distribution with mean `loc` and standard deviation `scale`, tensors that broadcast or numbers. ValueError where scale is
    not positive or a parameter is NaN."""
    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True
    _mean_carrier_measure = 0

    def __init__(self, loc, scale, validate_args=None):
        self.loc, self.scale = broadcast_all(loc, scale)
        numbers = not isinstance(loc, T.Tensor) and not isinstance(scale, T.Tensor)
        super().__init__(T.Size() if numbers else self.loc.size(), validate_args=validate_args)

    @property
    def mean(self):
        """loc."""
        return self.loc

    @property
    def mode(self):
        """loc."""
        return self.loc

    @property
    def stddev(self):
        """scale."""
        return self.scale

    @property
    def variance(self):
        """scale squared."""
        return self.stddev.pow(2)

    def expand(self, batch_shape, _instance=None):
        """The same distribution with loc and scale expanded to batch_shape."""
        new = self._get_checked_instance(Normal, _instance)
        batch_shape = T.Size(batch_shape)
        new.loc, new.scale = self.loc.expand(batch_shape), self.scale.expand(batch_shape)
        super(Normal, new).__init__(batch_shape, validate_args=False)
        new._validate_args = self._validate_args
        return new

    def sample(self, sample_shape=T.Size()):
        """Draws of shape sample_shape + batch_shape, from the stream of torch.normal; no gradient."""
        shape = self._extended_shape(sample_shape)
        with T.no_grad():
            return T.normal(self.loc.expand(shape), self.scale.expand(shape))

    def rsample(self, sample_shape=T.Size()):
        """loc + noise * scale, with noise of torch.normal(0, 1): draws that have a gradient to loc and scale."""
        shape = self._extended_shape(sample_shape)
        return self.loc + T.normal(T.zeros(shape, dtype=self.loc.dtype), T.ones(shape, dtype=self.loc.dtype)) * self.scale

    def log_prob(self, value):
        """The logarithm of the density at `value`, which broadcasts with batch_shape. ValueError where it does not, or is NaN."""
        if self._validate_args:
            self._validate_sample(value)
        return -((value - self.loc) ** 2) / (2 * self.scale ** 2) - self.scale.log() - math.log(math.sqrt(2 * math.pi))

    def cdf(self, value):
        """The probability of at most `value`."""
        if self._validate_args:
            self._validate_sample(value)
        return 0.5 * (1 + T.erf((value - self.loc) * self.scale.reciprocal() / math.sqrt(2)))

    def icdf(self, value):
        """The inverse of cdf, of probabilities."""
        return self.loc + self.scale * T.erfinv(2 * value - 1) * math.sqrt(2)

    def entropy(self):
        """The entropy, of shape batch_shape."""
        return 0.5 + 0.5 * math.log(2 * math.pi) + T.log(self.scale)

    @property
    def _natural_params(self):
        return self.loc / self.scale.pow(2), -0.5 * self.scale.pow(2).reciprocal()

    def _log_normalizer(self, x, y):
        return -0.25 * x.pow(2) / y + 0.5 * T.log(-math.pi / y)
