"""Functions with a derivative of their own. https://pytorch.org/docs/stable/autograd.html#function"""
import functools
import inspect
import warnings
from typing import NamedTuple

from .. import _braze
from .._braze import Tensor
from .._grad_mode import no_grad

_freed = ("Trying to backward through the graph a second time (or directly access saved tensors after they have already been freed). "
          "Saved intermediate values of the graph are freed when you call .backward() or autograd.grad(). Specify retain_graph=True if "
          "you need to backward through the graph a second time or if you need to access saved tensors after calling backward.")

_manual = "For more details, please see https://pytorch.org/docs/main/notes/extending.func.html"


class VmapInfo(NamedTuple):
    batch_size: int
    randomness: str


class FunctionCtx:
    """What forward leaves for backward."""

    def __init__(self, needs_input_grad=()):
        self.needs_input_grad = needs_input_grad
        self._saved, self._released, self._outputs = (), False, ()
        self._saved_forward, self._forward_mode = None, False
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
        saved = (self._saved_forward or ()) if self._forward_mode else self._saved
        # An output that was saved leads back to the inputs, so that a derivative of backward is right.
        return tuple(next((_braze.output_again(t, k) for k, out in enumerate(self._outputs) if out is t), t) for t in saved)

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
        self._saved, self._saved_forward, self._outputs, self._released = (), None, (), True


def once_differentiable(backward):
    """A backward that cannot be differentiated itself."""
    @functools.wraps(backward)
    def wrapper(ctx, *gradients):
        with no_grad():
            found = backward(ctx, *gradients)
        inputs = [g for g in gradients if isinstance(g, Tensor)]
        if not (_braze.is_grad_enabled() and any(g.requires_grad for g in inputs)):
            return found
        outputs = found if isinstance(found, tuple) else (found,)
        chosen = [k for k, out in enumerate(outputs) if isinstance(out, Tensor)]
        tracked = dict(zip(chosen, _braze.with_gradient(inputs, [outputs[k] for k in chosen], "torch::autograd::Error", _twice, _twice, lambda: None, True)))
        outputs = tuple(tracked.get(k, out) for k, out in enumerate(outputs))
        return outputs if isinstance(found, tuple) else outputs[0]
    return wrapper


def _twice(gradients):
    raise RuntimeError("trying to differentiate twice a function that was marked with @once_differentiable")


class Function:
    """An op with a forward and a backward of its own: subclass it, write both as static methods, and call `apply`.

    func.jvp asks for a static method `jvp` as well; func.vmap for `vmap`, or for `generate_vmap_rule = True`, which maps forward, backward
    and jvp op by op. Under function transforms `setup_context` has to be apart from forward."""

    generate_vmap_rule = False

    @staticmethod
    def forward(*args, **kwargs):
        raise NotImplementedError("You must implement the forward function for custom autograd.Function.")

    @staticmethod
    def setup_context(ctx, inputs, output):
        raise NotImplementedError("setup_context is not implemented.")

    @staticmethod
    def backward(ctx, *grad_outputs):
        raise NotImplementedError("You must implement either the backward or vjp method for your custom autograd.Function to use it with "
                                  "backward mode AD.")

    vjp = backward

    @staticmethod
    def jvp(ctx, *grad_inputs):
        raise NotImplementedError("You must implement the jvp function for custom autograd.Function to use it with forward mode AD.")

    @staticmethod
    def vmap(info, in_dims, *args):
        raise NotImplementedError("To use autograd.Function with vmap, you must either override the vmap staticmethod or set "
                                  "generate_vmap_rule=True.")

    def __init__(self, *args, **kwargs):
        warnings.warn(f"{type(self)} should not be instantiated. Methods on autograd functions are all static, so you should invoke them on "
                      "the class itself. Instantiating an autograd function will raise an error in a future version of PyTorch.",
                      DeprecationWarning, stacklevel=2)

    def __call__(self, *args, **kwargs):
        raise RuntimeError("Legacy autograd function with non-static forward method is deprecated. Please use new-style autograd function with "
                           "static forward method. (Example: https://pytorch.org/docs/stable/autograd.html#torch.autograd.Function)")

    @classmethod
    def apply(cls, *args, **kwargs):
        """The forward, with the backward as its derivative."""
        separate = cls.setup_context is not Function.setup_context
        if separate or kwargs:  # each parameter gets a gradient
            context = () if separate else (None,)
            bound = inspect.signature(cls.forward).bind(*context, *args, **kwargs)
            bound.apply_defaults()
            args, kwargs = bound.args[len(context):], bound.kwargs
        level = _braze.mapping_level()
        if level is not None:
            if not separate:
                raise RuntimeError("In order to use an autograd.Function with functorch transforms (vmap, grad, jvp, jacrev, ...), it must "
                                   "override the setup_context staticmethod. " + _manual)
            batched, derivatives_inside = _lowered(cls, level, args, kwargs)
            if batched is not None and not derivatives_inside:
                return batched()
        else:
            batched = None
        ctx = FunctionCtx(tuple(isinstance(a, Tensor) and a.requires_grad for a in args))
        with no_grad():
            if separate:
                result = batched() if batched else cls.forward(*args, **kwargs)
                cls.setup_context(ctx, args, result)
            else:
                result = cls.forward(ctx, *args, **kwargs)
        return _tracked(cls, ctx, args, result)


def _lowered(cls, level, args, kwargs):
    """How the innermost vmap wants this function called, if it is not by its ops: what calls it; whether a derivative of the result is
    wanted inside of that vmap."""
    size, randomness, derivatives_inside = level
    if size < 0:
        return None, False
    places = [k for k, a in enumerate(args) if isinstance(a, Tensor)]
    outside, flags = _braze.mapping_outside([args[k] for k in places])
    given, in_dims = list(args), [None] * len(args)
    for k, tensor, batched in zip(places, outside, flags):
        given[k], in_dims[k] = tensor, 0 if batched else None
    own = cls.vmap is not Function.vmap
    if cls.generate_vmap_rule and own:
        raise RuntimeError(f"You tried to vmap over {cls.__name__}, but it has both generate_vmap_rule=True and an overridden vmap "
                           "staticmethod. Please set generate_vmap_rule=False or delete the overridden vmap staticmethod to avoid "
                           "ambiguity. " + _manual)
    if not cls.generate_vmap_rule and not own:
        raise RuntimeError(f"You tried to vmap over {cls.__name__}, but it does not have vmap support. Please override and implement the "
                           "vmap staticmethod or set generate_vmap_rule=True. " + _manual)
    if cls.generate_vmap_rule and any(flags):
        return None, False

    def call():
        results, many = [], False

        def outside_of_it():
            nonlocal results, many
            if not any(flags):
                output, dims = cls.apply(*given, **kwargs), None
            else:
                output, dims = _checked_rule(cls.vmap(VmapInfo(size, randomness), tuple(in_dims), *given, **kwargs))
            many = isinstance(output, tuple)
            results = list(output) if many else [output]
            if not isinstance(dims, (tuple, list)):
                dims = [dims] * len(results)
            if len(dims) != len(results):
                raise RuntimeError("The autograd.Function's vmap staticmethod returned an incompatible (output, out_dims) tuple. Expected "
                                   f"out_dims={tuple(dims)} to be compatible with the structure of `output`. " + _manual)
            return [t.movedim(d, 0) if isinstance(t, Tensor) and d is not None else None for t, d in zip(results, dims)]
        for k, element in enumerate(_braze.mapping_call(outside_of_it)):
            if element is not None:
                results[k] = element
        return tuple(results) if many else results[0]
    return call, derivatives_inside


def _checked_rule(result):
    message = ("Expected the vmap staticmethod to have two returns, an output and out_dims with pytree structure compatible with the "
               "output. ")
    if not isinstance(result, tuple):
        raise RuntimeError(f"{message}Got a {type(result)} instead")
    if len(result) != 2:
        raise RuntimeError(f"{message}Got {len(result)} returns instead")
    return result


def _as_tuple(value):
    return value if isinstance(value, tuple) else (value,)


def _tracked(cls, ctx, args, result):
    """What forward gave, with the derivative."""
    outputs = _as_tuple(result)
    if any(not any(out is dirty for out in outputs) for dirty in ctx._dirty):
        raise RuntimeError("Some elements marked as dirty during the forward method were not returned as output. The inputs that are modified "
                           "inplace must all be outputs of the Function.")
    chosen = [k for k, out in enumerate(outputs) if isinstance(out, Tensor) and not any(out is t for t in ctx._not_differentiable)]
    if not (_braze.is_grad_enabled() and any(ctx.needs_input_grad)) or not chosen:
        return result
    ctx._outputs = [outputs[k] for k in chosen]
    places = [k for k, a in enumerate(args) if isinstance(a, Tensor)]
    shapes = [(out.shape, out.dtype) if isinstance(out, Tensor) else None for out in outputs]

    def backward(gradients):
        given = dict(zip(chosen, gradients))
        full = [given.get(k) for k in range(len(shapes))]
        if ctx._materialize:
            full = [_zeros(shape) if g is None and shape is not None else g for shape, g in zip(shapes, full)]
        if cls.backward is not Function.backward and cls.vjp is not Function.vjp:
            raise RuntimeError("Implementing both 'backward' and 'vjp' for a custom Function is not allowed. You should only implement one "
                               "of them.")
        own = cls.backward if cls.vjp is Function.vjp else cls.vjp
        back = _as_tuple(own(ctx, *full))
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
        return [back[k] for k in places]

    def jvp(tangents):
        given = dict(zip(places, tangents))
        ctx._forward_mode = True
        try:
            pushed = _as_tuple(cls.jvp(ctx, *(given.get(k) for k in range(len(args)))))
        finally:
            ctx._forward_mode = False
        for k, t in enumerate(pushed):
            if t is not None and not isinstance(t, Tensor):
                raise RuntimeError(f"expected Variable or None (got {type(t).__name__}) for grad output {k}.")
        if len(pushed) != len(outputs):
            raise RuntimeError(f"Function's jvp returned an invalid number of forward gradients (expected {len(outputs)} but got "
                               f"{len(pushed)})")
        for k, t in enumerate(pushed):
            if t is not None and k not in chosen:
                raise RuntimeError(f"Function's jvp returned a gradient at position {k}, but the corresponding forward output is not a "
                                   "differentiable Tensor.You should return None at that position instead.")
        return [pushed[k] for k in chosen]

    tracked = _braze.with_gradient([args[k] for k in places], [outputs[k] for k in chosen], f"{cls.__name__}Backward", backward, jvp,
                                   ctx._release, ctx._materialize)
    made = list(outputs)
    for k, t in zip(chosen, tracked):
        if any(made[k] is dirty for dirty in ctx._dirty):
            made[k].copy_(t)
        else:
            made[k] = t
    return tuple(made) if isinstance(result, tuple) else made[0]


def _zeros(like):
    from .. import zeros
    shape, dtype = like
    return zeros(shape, dtype=dtype)
