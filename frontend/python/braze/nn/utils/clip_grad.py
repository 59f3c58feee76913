"""Gradients kept small."""
from ... import Tensor, linalg, no_grad, stack, tensor


def _listed(parameters):
    return [parameters] if isinstance(parameters, Tensor) else list(parameters)


def _gradients(parameters):
    return [parameter.grad for parameter in _listed(parameters) if parameter.grad is not None]


@no_grad()
def get_total_norm(tensors, norm_type=2.0, error_if_nonfinite=False, foreach=None):
    """The norm of all tensors together, as if they were one vector."""
    tensors = _listed(tensors)
    if not tensors:
        return tensor(0.0)
    norm_type = float(norm_type)
    total = linalg.vector_norm(stack([linalg.vector_norm(each, norm_type) for each in tensors]), norm_type)
    if error_if_nonfinite and not total.isfinite():
        raise RuntimeError(f"The total norm of order {norm_type} for gradients from `parameters` is non-finite, so it cannot be clipped. To "
                           "disable this error and scale the gradients by the non-finite norm anyway, set `error_if_nonfinite=False`")
    return total


@no_grad()
def clip_grads_with_norm_(parameters, max_norm, total_norm, foreach=None):
    """Scales gradients of that norm down to max_norm, in place."""
    factor = (float(max_norm) / (total_norm + 1e-6)).clamp(max=1.0)
    for gradient in _gradients(parameters):
        gradient.mul_(factor.to(gradient.dtype))


def clip_grad_norm_(parameters, max_norm, norm_type=2.0, error_if_nonfinite=False, foreach=None):
    """Scales the gradients down, in place, so that their norm is at most max_norm; returns the norm that they had.
    https://pytorch.org/docs/stable/generated/torch.nn.utils.clip_grad_norm_.html"""
    parameters = _listed(parameters)
    total = get_total_norm(_gradients(parameters), norm_type, error_if_nonfinite)
    clip_grads_with_norm_(parameters, max_norm, total)
    return total


@no_grad()
def clip_grad_value_(parameters, clip_value, foreach=None):
    """Keeps each element of the gradients between -clip_value and clip_value, in place."""
    for gradient in _gradients(parameters):
        gradient.clamp_(min=-float(clip_value), max=float(clip_value))
