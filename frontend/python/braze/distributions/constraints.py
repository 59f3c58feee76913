"""torch.distributions.constraints: what parameters and samples must satisfy. https://pytorch.org/docs/stable/distributions.html"""
__all__ = ["Constraint", "greater_than", "positive", "real"]


class Constraint:
    """A region of numbers; check(value) is a bool tensor with one element for each event."""
    is_discrete = False
    event_dim = 0

    def check(self, value):
        """Whether each event of `value` lies in the region: a bool tensor of value's shape without its last event_dim dims."""
        raise NotImplementedError

    def __repr__(self):
        return type(self).__name__.lstrip("_") + "()"


class _Real(Constraint):
    """Any number but NaN."""

    def check(self, value):
        """Whether each number is one."""
        return value == value


class _GreaterThan(Constraint):
    """Numbers greater than a bound."""

    def __init__(self, lower_bound):
        self.lower_bound = lower_bound

    def check(self, value):
        """Whether each number is greater."""
        return self.lower_bound < value

    def __repr__(self):
        return f"GreaterThan(lower_bound={self.lower_bound})"


real, greater_than, positive = _Real(), _GreaterThan, _GreaterThan(0.0)
