"""Derivatives against finite differences. https://pytorch.org/docs/stable/autograd.html#numerical-gradient-checking"""
from .. import _braze
from .._braze import Tensor


class GradcheckError(RuntimeError):
    """What a derivative does not agree with."""


def _check(which, func, inputs, eps, atol, rtol, raise_exception):
    inputs = (inputs,) if isinstance(inputs, Tensor) else tuple(inputs)
    places = [i for i, x in enumerate(inputs) if isinstance(x, Tensor)]
    if not any(inputs[i].requires_grad for i in places):
        raise ValueError("gradcheck expects at least one input tensor to require gradient, but none of the them have requires_grad=True.")

    def call(tensors):
        given = list(inputs)
        for i, t in zip(places, tensors):
            given[i] = t
        result = func(*given)
        return [t for t in (result if isinstance(result, (tuple, list)) else (result,)) if isinstance(t, Tensor)]
    try:
        return which(call, [inputs[i] for i in places], eps, atol, rtol, raise_exception)
    except RuntimeError as error:
        if "mismatch" in str(error) or "met NaN" in str(error):
            raise GradcheckError(str(error)) from None
        raise


def gradcheck(func, inputs, *, eps=1e-6, atol=1e-5, rtol=1e-3, raise_exception=True, **_):
    """Whether the derivative of `func` at `inputs` is what differences of its values say; best in float64."""
    return _check(_braze.gradcheck, func, inputs, eps, atol, rtol, raise_exception)


def gradgradcheck(func, inputs, grad_outputs=None, *, eps=1e-6, atol=1e-5, rtol=1e-3, raise_exception=True, **_):
    """The same of the derivative itself."""
    return _check(_braze.gradgradcheck, func, inputs, eps, atol, rtol, raise_exception)
