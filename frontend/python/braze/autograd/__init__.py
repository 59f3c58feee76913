"""Derivatives of what was computed. https://pytorch.org/docs/stable/autograd.html"""
from .. import _braze
from .._braze import Tensor
from .._grad_mode import enable_grad, inference_mode, no_grad, set_grad_enabled
from . import function, functional, graph
from .anomaly_mode import detect_anomaly, set_detect_anomaly
from .function import Function
from .gradcheck import GradcheckError, gradcheck, gradgradcheck

Variable = Tensor


def _tensors(value):
    return (value,) if isinstance(value, Tensor) else tuple(value)


def _gradients(value, count):
    if value is None:
        return (None,) * count
    given = (value,) if isinstance(value, Tensor) else tuple(value)
    if len(given) != count:
        raise RuntimeError(f"got {count} tensors and {len(given)} gradients")
    return given


def backward(tensors, grad_tensors=None, retain_graph=None, create_graph=False, grad_variables=None, inputs=None) -> None:
    """Adds the gradients of `tensors` to the .grad of the leaves that they were computed from.
    https://pytorch.org/docs/stable/generated/torch.autograd.backward.html"""
    tensors = _tensors(tensors)
    if inputs is not None and not isinstance(inputs, Tensor) and len(inputs) == 0:
        raise RuntimeError("`inputs` argument to `backward()` cannot be empty.")
    given = grad_tensors if grad_tensors is not None else grad_variables
    _braze.autograd_backward(tensors, _gradients(given, len(tensors)), retain_graph, create_graph,
                             () if inputs is None else _tensors(inputs))


def grad(outputs, inputs, grad_outputs=None, retain_graph=None, create_graph=False, only_inputs=True, allow_unused=None,
         is_grads_batched=False, materialize_grads=False):
    """The gradients of the outputs' sum in the inputs: a tuple. https://pytorch.org/docs/stable/generated/torch.autograd.grad.html"""
    if materialize_grads and allow_unused is False:
        raise ValueError("Expected allow_unused to be True or not passed when materialize_grads=True, but got: allow_unused=False.")
    outputs, inputs = _tensors(outputs), _tensors(inputs)
    given = _gradients(grad_outputs, len(outputs))
    if is_grads_batched:
        from .. import stack
        rows = [grad(outputs, inputs, tuple(g[i] for g in given), True, create_graph, only_inputs, allow_unused, False, materialize_grads)
                for i in range(given[0].shape[0])]
        return tuple(None if column[0] is None else stack(column) for column in zip(*rows))
    return _braze.autograd_grad(outputs, inputs, given, retain_graph, create_graph, bool(allow_unused), materialize_grads)
