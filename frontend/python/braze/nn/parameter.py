"""Parameter and Buffer: tensors that a Module registers when they are assigned to it."""
import copy

from .. import _braze
from .. import empty
from .._absent import absent
from .._braze import Tensor

__getattr__ = absent(__name__)


class _TensorOr(type(Tensor)):
    """isinstance is true of a tensor marked by __new__ as well."""

    def __instancecheck__(cls, instance):
        return super().__instancecheck__(instance) or (
            isinstance(instance, Tensor) and bool(instance.__dict__) and instance.__dict__.get(cls._mark, False))


def _mark(tensor, mark):
    """A subclass's own type stays; what it registers as is written on it."""
    setattr(tensor, mark, True)
    return tensor


class Parameter(Tensor, metaclass=_TensorOr):
    """A tensor that a Module trains. https://pytorch.org/docs/stable/generated/torch.nn.parameter.Parameter.html"""

    _mark = "_is_param"

    def __new__(cls, data=None, requires_grad=True):
        if data is None:
            data = empty(0)
        if requires_grad and not (data.is_floating_point() or data.is_complex()):
            raise RuntimeError("Only Tensors of floating point and complex dtype can require gradients")
        if type(data) is not Tensor and not isinstance(data, Parameter):
            return _mark(data.detach().requires_grad_(requires_grad), cls._mark)
        result = _braze.make_subclass(cls, data.detach())
        return result.requires_grad_() if requires_grad else result

    def __init__(self, data=None, requires_grad=True):
        pass

    def __deepcopy__(self, memo):
        if id(self) not in memo:
            memo[id(self)] = type(self)(self.detach().clone(), self.requires_grad)
            memo[id(self)].__dict__.update(copy.deepcopy(self.__dict__, memo))
        return memo[id(self)]

    def __repr__(self):
        return "Parameter containing:\n" + super().__repr__()


class Buffer(Tensor, metaclass=_TensorOr):
    """A tensor that a Module keeps without training it. https://pytorch.org/docs/stable/generated/torch.nn.parameter.Buffer.html"""

    _mark = "_is_buffer"

    def __new__(cls, data=None, *, persistent=True):
        result = (empty(0) if data is None else data).detach().requires_grad_(data is not None and data.requires_grad)
        result.persistent = persistent
        return _mark(result, cls._mark)
