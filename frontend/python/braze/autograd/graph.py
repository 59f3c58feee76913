"""The steps of a derivative. https://pytorch.org/docs/stable/autograd.html#autograd-graph"""
from .. import _braze


class Node:
    """What made a tensor, as a step of its derivative."""

    def __init__(self, step):
        self._step = step

    def name(self) -> str:
        """As PyTorch names it: MulBackward0."""
        return self._step.name()

    @property
    def next_functions(self):
        """Where the gradients go: a tuple of (step, number of its result); None where an operand requires no grad."""
        return tuple((_step(step), number) for step, number in self._step.next_functions())

    @property
    def variable(self):
        """Of an AccumulateGrad: the leaf."""
        return self._step.variable()

    def __eq__(self, other):
        return isinstance(other, Node) and self._step.id() == other._step.id()

    def __hash__(self):
        return hash(self._step.id())

    def __repr__(self):
        return f"<{type(self).__name__} object at {self._step.id():#x}>"


_types = {}


def _step(step):
    if step is None:
        return None
    name = step.name().rpartition(":")[2]
    if name not in _types:
        _types[name] = type(name, (Node,), {"__module__": "braze.autograd.graph"})
    return _types[name](step)
