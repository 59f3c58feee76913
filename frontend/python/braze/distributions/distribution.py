"""torch.distributions.Distribution: the shapes of batches and events, and the checks of parameters and samples."""
import braze as T

__all__ = ["Distribution", "ExponentialFamily"]


class Distribution:
    """A family of random variables: batch_shape says how many, event_shape what one draw looks like. A sample is of shape
    sample_shape + batch_shape + event_shape. ValueError where a parameter does not satisfy its constraint."""
    has_rsample = False
    has_enumerate_support = False
    _validate_args = __debug__

    @staticmethod
    def set_default_validate_args(value):
        """Whether distributions check their arguments when validate_args is not given."""
        if value not in (True, False):
            raise ValueError
        Distribution._validate_args = value

    def __init__(self, batch_shape=T.Size(), event_shape=T.Size(), validate_args=None):
        self._batch_shape, self._event_shape = batch_shape, event_shape
        if validate_args is not None:
            self._validate_args = validate_args
        if not self._validate_args:
            return
        for name, constraint in self.arg_constraints.items():
            value = getattr(self, name)
            if not constraint.check(value).all().item():
                raise ValueError(f"Expected parameter {name} ({type(value).__name__} of shape {tuple(value.shape)}) of distribution {self!r} to "
                                 f"satisfy the constraint {constraint!r}, but found invalid values:\n{value}")

    @property
    def batch_shape(self):
        """The shape over which parameters are batched."""
        return self._batch_shape

    @property
    def event_shape(self):
        """The shape of one draw, without batching."""
        return self._event_shape

    @property
    def arg_constraints(self):
        """The constraint of each parameter by name."""
        raise NotImplementedError

    @property
    def support(self):
        """The constraint that samples satisfy."""
        raise NotImplementedError

    @property
    def mean(self):
        """The mean, of shape batch_shape + event_shape."""
        raise NotImplementedError

    @property
    def mode(self):
        """The mode, of shape batch_shape + event_shape."""
        raise NotImplementedError(f"{type(self)} does not implement mode")

    @property
    def variance(self):
        """The variance, of shape batch_shape + event_shape."""
        raise NotImplementedError

    @property
    def stddev(self):
        """The standard deviation, of shape batch_shape + event_shape."""
        return self.variance.sqrt()

    def expand(self, batch_shape, _instance=None):
        """The same distribution with its parameters expanded to batch_shape."""
        raise NotImplementedError

    def sample(self, sample_shape=T.Size()):
        """Draws of shape sample_shape + batch_shape + event_shape, without gradient."""
        with T.no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape=T.Size()):
        """As sample, with the gradient to the parameters."""
        raise NotImplementedError

    def sample_n(self, n):
        """sample((n,))."""
        return self.sample(T.Size((n,)))

    def log_prob(self, value):
        """The logarithm of the density at `value`."""
        raise NotImplementedError

    def cdf(self, value):
        """The probability of at most `value`."""
        raise NotImplementedError

    def icdf(self, value):
        """The inverse of cdf."""
        raise NotImplementedError

    def enumerate_support(self, expand=True):
        """All values of a discrete distribution."""
        raise NotImplementedError

    def entropy(self):
        """The entropy, of shape batch_shape."""
        raise NotImplementedError

    def perplexity(self):
        """exp(entropy()), of shape batch_shape."""
        return T.exp(self.entropy())

    def _extended_shape(self, sample_shape=T.Size()):
        return T.Size(tuple(sample_shape) + tuple(self._batch_shape) + tuple(self._event_shape))

    def _validate_sample(self, value):
        if not isinstance(value, T.Tensor):
            raise ValueError("The value argument to log_prob must be a Tensor")
        sizes, events = value.size(), len(self._event_shape)
        if tuple(sizes[len(sizes) - events:]) != tuple(self._event_shape):
            raise ValueError(f"The right-most size of value must match event_shape: {sizes} vs {self._event_shape}.")
        expected = T.Size(tuple(self._batch_shape) + tuple(self._event_shape))
        if any(i != j and 1 not in (i, j) for i, j in zip(reversed(sizes), reversed(expected))):
            raise ValueError(f"Value is not broadcastable with batch_shape+event_shape: {sizes} vs {expected}.")
        if not self.support.check(value).all().item():
            raise ValueError(f"Expected value argument ({type(value).__name__} of shape {tuple(sizes)}) to be within the support "
                             f"({self.support!r}) of the distribution {self!r}, but found invalid values:\n{value}")

    def _get_checked_instance(self, cls, _instance=None):
        if _instance is None and type(self).__init__ is not cls.__init__:
            raise NotImplementedError(f"Subclass {type(self).__name__} of {cls.__name__} that defines a custom __init__ method must also define "
                                      "a custom .expand() method.")
        return self.__new__(type(self)) if _instance is None else _instance

    def __repr__(self):
        values = {name: self.__dict__[name] for name in self.arg_constraints if name in self.__dict__}
        return f"{type(self).__name__}({', '.join(f'{n}: {v if v.numel() == 1 else v.size()}' for n, v in values.items())})"


class ExponentialFamily(Distribution):
    """Distributions whose density is exp(natural parameters * statistics - log normalizer), up to a carrier measure."""


def broadcast_all(*values):
    """Tensors of one shape: numbers take the dtype of the first tensor, or the default one."""
    if not all(isinstance(v, (T.Tensor, int, float, bool)) for v in values):
        raise ValueError("Input arguments must all be instances of Number, torch.Tensor or objects implementing __torch_function__.")
    dtype = next((v.dtype for v in values if isinstance(v, T.Tensor)), T.get_default_dtype())
    return T.broadcast_tensors(*(v if isinstance(v, T.Tensor) else T.tensor(v, dtype=dtype) for v in values))
