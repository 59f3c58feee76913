"""Functions with a derivative of their own. https://pytorch.org/docs/stable/autograd.html#function"""
import functools
import warnings

from .. import _braze
from .._braze import Tensor
from .._grad_mode import no_grad

_freed = ("Trying to backward through the graph a second time (or directly access saved tensors after they have already been freed). "
          "Saved intermediate values of the graph are freed when you call .backward() or autograd.grad(). Specify retain_graph=True if "
          "you need to backward through the graph a second time or if you need to access saved tensors after calling backward.")


class FunctionCtx:
    """What forward leaves for backward."""

    def __init__(self, needs_input_grad=()):
        self.needs_input_grad = needs_input_grad
        self._saved, self._released, self._outputs = (), False, ()
        self._not_differentiable, self._dirty, self._materialize = (), (), True

    def save_for_backward(self, *tensors):
        """Keeps tensors (or None) for backward, which finds them as saved_tensors."""
        for t in tensors:
            if t is not None and not isinstance(t, Tensor):
                raise TypeError(f"save_for_backward can only save variables, but argument {len(self._saved)} is of type {type(t).__name__}")
        self._saved = tensors

    def save_for_forward(self, *tensors):
        """Keeps tensors for jvp."""
        self._saved_forward = tensors

    @property
    def saved_tensors(self):
        if self._released:
            raise RuntimeError(_freed)
        # An output that was saved leads back to the inputs, so that a derivative of backward is right.
        return tuple(next((_braze.output_again(t, k) for k, out in enumerate(self._outputs) if out is t), t) for t in self._saved)

    def mark_non_differentiable(self, *tensors):
        """Says that these outputs have no gradient."""
        self._not_differentiable = tensors

    def mark_dirty(self, *tensors):
        """Says that these inputs were written to in place."""
        self._dirty = tensors

    def set_materialize_grads(self, value):
        """Whether backward gets zeros, and not None, for outputs that no gradient came to."""
        self._materialize = value

    def _release(self):
        self._saved, self._outputs, self._released = (), (), True


def once_differentiable(backward):
    """A backward that cannot be differentiated itself."""
    @functools.wraps(backward)
    def wrapper(ctx, *gradients):
        with no_grad():
            return backward(ctx, *gradients)
    return wrapper


class Function:
    """An op with a forward and a backward of its own: subclass it, write both as static methods, and call `apply`."""

    @staticmethod
    def forward(*args, **kwargs):
        raise NotImplementedError("You must implement the forward function for custom autograd.Function.")

    @staticmethod
    def backward(ctx, *grad_outputs):
        raise NotImplementedError("You must implement either the backward or vjp method for your custom autograd.Function to use it with "
                                  "backward mode AD.")

    def __init__(self, *args, **kwargs):
        warnings.warn(f"{type(self)} should not be instantiated. Methods on autograd functions are all static, so you should invoke them on "
                      "the class itself. Instantiating an autograd function will raise an error in a future version of PyTorch.",
                      DeprecationWarning, stacklevel=2)

    @classmethod
    def apply(cls, *args):
        """The forward, with the backward as its derivative."""
        ctx = FunctionCtx(tuple(isinstance(a, Tensor) and a.requires_grad for a in args))
        with no_grad():
            if hasattr(cls, "setup_context"):
                result = cls.forward(*args)
                cls.setup_context(ctx, args, result)
            else:
                result = cls.forward(ctx, *args)
        if not (_braze.is_grad_enabled() and any(ctx.needs_input_grad)):
            return result
        outputs = result if isinstance(result, tuple) else (result,)
        chosen = [k for k, out in enumerate(outputs) if isinstance(out, Tensor) and not any(out is t for t in ctx._not_differentiable)]
        if not chosen:
            return result

        ctx._outputs = [outputs[k] for k in chosen]

        def backward(gradients):
            given = dict(zip(chosen, gradients))
            full = [given.get(k) for k in range(len(shapes))]
            if ctx._materialize:
                full = [_zeros(shape) if g is None and shape is not None else g for shape, g in zip(shapes, full)]
            back = getattr(cls, "vjp", cls.backward)(ctx, *full)
            back = back if isinstance(back, tuple) else (back,)
            if len(back) < len(args) or any(g is not None for g in back[len(args):]):
                raise RuntimeError(f"function {cls.__name__}Backward returned an incorrect number of gradients (expected {len(args)}, got "
                                   f"{len(back)})")
            for k, g in enumerate(back):
                if g is not None and not isinstance(g, Tensor):
                    raise RuntimeError(f"expected Variable or None (got {type(g).__name__}), which function {cls.__name__}Backward returned at "
                                       f"index {k}")
            for k, (argument, g) in enumerate(zip(args, back)):
                if g is not None and not isinstance(argument, Tensor):
                    raise RuntimeError(f"function {cls.__name__}Backward returned a gradient different than None at position {k + 1}, but "
                                       "the corresponding forward input was not a Variable")
            return [g for argument, g in zip(args, back) if isinstance(argument, Tensor)]

        tracked = _braze.with_gradient([a for a in args if isinstance(a, Tensor)], [outputs[k] for k in chosen],
                                       f"{cls.__name__}Backward", backward, ctx._release)
        shapes = [(out.shape, out.dtype) if isinstance(out, Tensor) else None for out in outputs]
        outputs = list(outputs)
        for k, made in zip(chosen, tracked):
            if any(outputs[k] is t for t in ctx._dirty):
                outputs[k].copy_(made)
            else:
                outputs[k] = made
        return tuple(outputs) if isinstance(result, tuple) else outputs[0]


def _zeros(like):
    from .. import zeros
    shape, dtype = like
    return zeros(shape, dtype=dtype)
