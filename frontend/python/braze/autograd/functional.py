"""Whole derivatives of functions. https://pytorch.org/docs/stable/autograd.html#functional-higher-level-api"""
from .._braze import Tensor
from .._grad_mode import enable_grad


def _tuple(value, function, what="inputs"):
    alone = not isinstance(value, tuple)
    values = (value,) if alone else value
    for i, v in enumerate(values):
        if not isinstance(v, Tensor):
            where = f"given {what}" if alone else f"value at index {i}"
            raise TypeError(f"The {what} given to {function} must be either a Tensor or a tuple of Tensors but the {where} has type {type(v)}.")
    return values, alone


def _outputs(value, function):
    return _tuple(value, function, "outputs of the user-provided function")


def _leaves(inputs, create_graph):
    """Tensors of their own to differentiate in; still part of the caller's graph where that is to be differentiated."""
    return tuple(x.view_as(x) if create_graph and x.requires_grad else x.detach().requires_grad_() for x in inputs)


def _grad(outputs, inputs, vectors, create_graph, strict=False, what="The output"):
    from . import grad
    from .. import zeros_like
    pairs = [(y, v) for y, v in zip(outputs, vectors) if y.requires_grad]
    if strict:
        for i, y in enumerate(outputs):
            if not y.requires_grad:
                raise RuntimeError(f"Output {i} of the user-provided function does not require gradients. The outputs must be computed in a "
                                   "differentiable manner from the input when running in strict mode.")
    if not pairs:
        return tuple(zeros_like(x) for x in inputs)
    found = grad([y for y, _ in pairs], inputs, [v for _, v in pairs], retain_graph=True, create_graph=create_graph, allow_unused=True)
    if strict and any(g is None for g in found):
        place = next(i for i, g in enumerate(found) if g is None)
        raise RuntimeError(f"{what} of the user-provided function is independent of input {place}. This is not allowed in strict mode.")
    return tuple(zeros_like(x) if g is None else g for g, x in zip(found, inputs))


def _plain(values, create_graph):
    return values if create_graph else tuple(v.detach() for v in values)


def _one(values, alone):
    return values[0] if alone else values


def _vectors(v, like, alone):
    values = v if isinstance(v, tuple) else (v,)
    if len(values) != len(like):
        raise RuntimeError("The given v should contain a single Tensor." if alone else
                           f"v is a tuple of invalid length: should be {len(like)} but got {len(values)}.")
    for i, (a, b) in enumerate(zip(values, like)):
        if a.shape != b.shape:
            raise RuntimeError(("" if alone else f"Entry {i} in ") + f"v has invalid size: should be {b.shape} but got {a.shape}.")
    return values


def _single(output, name):
    if not isinstance(output, Tensor):
        raise RuntimeError(f"The function given to {name} should return a single Tensor")
    if output.numel() != 1:
        raise RuntimeError(f"The Tensor returned by the function given to {name} should contain a single element")
    return output.reshape(())


@enable_grad()
def vjp(func, inputs, v=None, create_graph=False, strict=False):
    """The function's value, and `v` times its Jacobian."""
    inputs, alone = _tuple(inputs, "vjp")
    x = _leaves(inputs, create_graph)
    outputs, output_alone = _outputs(func(*x), "vjp")
    if v is None:
        if len(outputs) != 1 or outputs[0].numel() != 1:
            raise RuntimeError("The vector v can only be None if the user-provided function returns a single Tensor with a single element.")
        v = outputs[0].detach() * 0 + 1
    gradients = _grad(outputs, x, _vectors(v, outputs, output_alone), create_graph, strict)
    return _one(_plain(outputs, create_graph), output_alone), _one(_plain(gradients, create_graph), alone)


@enable_grad()
def jvp(func, inputs, v=None, create_graph=False, strict=False):
    """The function's value, and its Jacobian times `v`: the gradient, in w, of what w times the Jacobian is times v."""
    from .. import zeros_like
    inputs, inputs_alone = _tuple(inputs, "jvp")
    if v is None:
        if len(inputs) != 1 or inputs[0].numel() != 1:
            raise RuntimeError("The vector v can only be None if the input to the user-provided function is a single Tensor with a single "
                               "element.")
        v = inputs[0].detach() * 0 + 1
    vectors = _vectors(v, inputs, inputs_alone)
    x = _leaves(inputs, create_graph)
    outputs, alone = _outputs(func(*x), "jvp")
    w = tuple(zeros_like(y).requires_grad_() for y in outputs)
    gradients = _grad(outputs, x, w, True, strict)
    products = _grad(gradients, w, vectors, create_graph)
    return _one(_plain(outputs, create_graph), alone), _one(_plain(products, create_graph), alone)


@enable_grad()
def jacobian(func, inputs, create_graph=False, strict=False, vectorize=False, strategy="reverse-mode"):
    """The derivatives of all results in all inputs: [result's sizes, input's sizes]."""
    from .. import stack, zeros
    if strategy not in ("forward-mode", "reverse-mode"):
        raise AssertionError('Expected strategy to be either "forward-mode" or "reverse-mode". Hint: If your function has more outputs than '
                             'inputs, "forward-mode" tends to be more performant. Otherwise, prefer to use "reverse-mode".')
    if strategy == "forward-mode" and not vectorize:
        raise NotImplementedError("Computing Jacobian using forward-AD or forward-over-reverse Hessian is only implemented for "
                                  "`vectorize=True`.")
    if strict and vectorize:
        raise RuntimeError("autograd.functional.jacobian: `strict=True` and `vectorized=True` are not supported together. Please either set "
                           "`strict=False` or `vectorize=False`.")
    inputs, alone = _tuple(inputs, "jacobian")
    x = _leaves(inputs, create_graph)
    outputs, output_alone = _outputs(func(*x), "jacobian")
    table = []
    for number, y in enumerate(outputs):
        flat = y.reshape(-1)
        rows = [_grad((flat[i],), x, (None,), create_graph, strict, f"Output {number}") for i in range(flat.numel())]
        table.append(tuple(_plain((stack([row[k] for row in rows]).reshape(y.shape + one.shape) if rows else zeros(y.shape + one.shape),),
                                  create_graph)[0] for k, one in enumerate(x)))
    if output_alone:
        return _one(table[0], alone)
    return tuple(_one(row, alone) for row in table)


@enable_grad()
def hessian(func, inputs, create_graph=False, strict=False, vectorize=False, outer_jacobian_strategy="reverse-mode"):
    """The second derivatives of a function of one element."""
    _, alone = _tuple(inputs, "hessian")

    def gradient(*x):
        g = _grad((_single(func(*x), "hessian"),), x, (None,), True, strict)
        return g[0] if alone else g
    return jacobian(gradient, inputs, create_graph)


@enable_grad()
def hvp(func, inputs, v=None, create_graph=False, strict=False):
    """The function's value, and its Hessian times `v`."""
    return _hessian_product("hvp", func, inputs, v, create_graph, strict)


@enable_grad()
def vhp(func, inputs, v=None, create_graph=False, strict=False):
    """The function's value, and `v` times its Hessian, which is symmetric."""
    return _hessian_product("vhp", func, inputs, v, create_graph, strict)


def _hessian_product(name, func, inputs, v, create_graph, strict):
    inputs, alone = _tuple(inputs, name)
    x = _leaves(inputs, create_graph)
    y = _single(func(*x), name)
    if v is None and (len(inputs) != 1 or inputs[0].numel() != 1):
        raise RuntimeError("The vector v can only be None if the input to the user-provided function is a single Tensor with a single element.")
    vectors = _vectors(v, inputs, alone) if v is not None else tuple(one.detach() * 0 + 1 for one in inputs)
    gradients = _grad((y,), x, (None,), True, strict)
    if strict:
        for i, g in enumerate(gradients):
            if not g.requires_grad:
                raise RuntimeError(f"While computing the hessian, found that the jacobian of the user-provided function with respect to input {i} "
                                   "is independent of the input. This is not allowed in strict mode. You should ensure that your function is "
                                   "twice differentiable and that the jacobian depends on the inputs (this would be violated by a linear "
                                   "function for example).")
    products = _grad(gradients, x, vectors, create_graph)
    return _plain((y,), create_graph)[0], _one(_plain(products, create_graph), alone)
