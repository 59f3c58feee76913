"""Functions of functions: derivatives and batches. https://pytorch.org/docs/stable/func.html

The mathematics is C++'s (braze/func.h); here arguments and results are unnested to lists of tensors and nested again."""
import functools

from . import _braze
from ._braze import Tensor
from ._engine import _flatten, _refill


def _nested(shape, tensors):
    return _refill(shape, iter(tensors))


class _OnTensors:
    """`func` as a function of the tensors in its arguments, which remembers how its results nest. With `has_aux` its second result goes
    last and is not differentiated."""

    def __init__(self, transform, func, refill, has_aux=False):
        self._transform, self._func, self._refill, self._has_aux = transform, func, refill, has_aux
        self.shape = self.aux_shape = None
        self.count = 0  # of tensors in the first result

    def __call__(self, tensors):
        args, kwargs = self._refill(tensors)
        result = self._func(*args, **kwargs)
        aux = ()
        if self._has_aux:
            if not (isinstance(result, tuple) and len(result) == 2):
                raise RuntimeError(f"{self._transform}(f)(*args): output of function f should be a tuple: (output, aux) if has_aux is True")
            result, aux = result
        found, self.shape = _flatten(result)
        self._check(result, found)
        self.count = len(found)
        others, self.aux_shape = _flatten(aux)
        return found + others

    def _check(self, result, found):
        def walk(part):
            if isinstance(part, (tuple, list)):
                for item in part:
                    walk(item)
            elif isinstance(part, dict):
                for item in part.values():
                    walk(item)
            elif not isinstance(part, Tensor):
                if self._transform == "vmap":
                    raise ValueError(f"vmap: the function must only return Tensors, got type {type(part)}")
                raise RuntimeError(f"{self._transform}(f)(*args): expected f to return tensors, got {type(part).__name__}")
        walk(result)

    def output(self, tensors):
        return _nested(self.shape, tensors[:self.count])

    def aux(self, tensors):
        return _nested(self.aux_shape, tensors[self.count:])


def _chosen(transform, argnums, args):
    """The tensors of the chosen arguments; how a call is made with others in their place; the nest of each argument."""
    numbers = (argnums,) if isinstance(argnums, int) else tuple(argnums)
    for n in numbers:
        if not isinstance(n, int):
            raise RuntimeError(f"{transform}: argnums must be an int or a tuple of ints, got {type(n).__name__}")
        if not -len(args) <= n < len(args):
            raise RuntimeError(f"Got argnum={n}, but only {len(args)} positional inputs")
    numbers = [n % len(args) for n in numbers]
    if len(set(numbers)) != len(numbers):
        raise RuntimeError(f"argnums elements must be unique, got {argnums}")
    tensors, shapes = [], []
    for n in numbers:
        found, shape = _flatten(args[n])
        if not found:
            raise RuntimeError(f"{transform}: argument {n} has no tensor to differentiate in")
        tensors += found
        shapes.append((len(found), shape))

    def refill(given, kwargs):
        given, made = iter(given), list(args)
        for n, (_, shape) in zip(numbers, shapes):
            made[n] = _refill(shape, given)
        return made, kwargs
    return tensors, shapes, refill


def _by_argument(argnums, shapes, tensors):
    """Tensors in the nests of the arguments that they belong to."""
    given = iter(tensors)
    nests = tuple(_refill(shape, given) for _, shape in shapes)
    return nests[0] if isinstance(argnums, int) else nests


def grad_and_value(func, argnums=0, has_aux=False):
    """A function that gives the gradient of `func`, which returns a tensor without dims, and that value.

    https://pytorch.org/docs/stable/generated/torch.func.grad_and_value.html"""
    @functools.wraps(func)
    def wrapper(*args, **kwargs):
        tensors, shapes, refill = _chosen("grad", argnums, args)
        call = _OnTensors("grad", func, lambda given: refill(given, kwargs), has_aux)
        gradients, results = _braze.func_grad_and_value(call, tensors)
        if call.count != 1:
            raise RuntimeError(f"grad: expected f(*args) to return one tensor, got {call.count}")
        gradient, value = _by_argument(argnums, shapes, gradients), call.output(results)
        return (gradient, (value, call.aux(results))) if has_aux else (gradient, value)
    return wrapper


def grad(func, argnums=0, has_aux=False):
    """A function that gives the gradient of `func`, which returns a tensor without dims.

    https://pytorch.org/docs/stable/generated/torch.func.grad.html"""
    both = grad_and_value(func, argnums, has_aux)

    @functools.wraps(func)
    def wrapper(*args, **kwargs):
        gradient, value = both(*args, **kwargs)
        return (gradient, value[1]) if has_aux else gradient
    return wrapper


def vjp(func, *primals, has_aux=False):
    """The function's value, and a function from its cotangent to the arguments' cotangents.

    https://pytorch.org/docs/stable/generated/torch.func.vjp.html"""
    tensors, shapes, refill = _chosen("vjp", tuple(range(len(primals))), primals)
    call = _OnTensors("vjp", func, lambda given: refill(given, {}), has_aux)
    results, back = _braze.func_vjp(call, tensors)
    _check_differentiable(results[:call.count])
    aux = results[call.count:]

    def pull(*cotangents, retain_graph=True, create_graph=None):
        given, _ = _flatten(cotangents)
        if len(given) != call.count:
            raise RuntimeError("Expected pytree structure of cotangents to be the same as pytree structure of outputs to the function: "
                               f"{call.count} tensors, got {len(given)}")
        return _by_argument((), shapes, back(given + [x * 0 for x in aux]))
    return (call.output(results), pull, call.aux(results)) if has_aux else (call.output(results), pull)


def _check_differentiable(results):
    for t in results:
        if not t.is_floating_point() and not t.is_complex():
            raise RuntimeError(f"vjp(f, ...): All outputs of f must be floating-point or complex Tensors, got Tensor with dtype {t.dtype}")


def jvp(func, primals, tangents, *, strict=False, has_aux=False):
    """The function's value, and its derivative along `tangents`, one a primal.

    https://pytorch.org/docs/stable/generated/torch.func.jvp.html"""
    if not isinstance(primals, tuple) or not isinstance(tangents, tuple):
        raise RuntimeError("jvp(f, primals, tangents): Expected primals and tangents to be tuples")
    tensors, _, refill = _chosen("jvp", tuple(range(len(primals))), primals)
    call = _OnTensors("jvp", func, lambda given: refill(given, {}), has_aux)
    results, pushed = _braze.func_jvp(call, tensors, _flatten(tangents)[0])
    value, tangent = call.output(results), call.output(pushed)
    return (value, tangent, call.aux(results)) if has_aux else (value, tangent)


def _jacobian(transform, func, argnums, has_aux, *options):
    compute = getattr(_braze, "func_" + transform)

    @functools.wraps(func)
    def wrapper(*args, **kwargs):
        tensors, shapes, refill = _chosen(transform, argnums, args)
        aux = []

        def first(*given, **named):
            result = func(*given, **named)
            if not has_aux:
                return result
            if not (isinstance(result, tuple) and len(result) == 2):
                raise RuntimeError(f"{transform}(f)(*args): output of function f should be a tuple: (output, aux) if has_aux is True")
            aux[:] = [result[1]]
            return result[0]
        call = _OnTensors(transform, first, lambda given: refill(given, kwargs))
        rows = [_by_argument(argnums, shapes, row) for row in compute(call, tensors, *options)]
        jacobian = _nested(call.shape, rows)
        if not has_aux:
            return jacobian
        found, shape = _flatten(aux[0])
        return jacobian, _nested(shape, [t.detach() for t in found])
    return wrapper


def jacrev(func, argnums=0, *, has_aux=False, chunk_size=None, _preallocate_and_copy=False):
    """A function that gives the derivative of each result in the chosen arguments: one backward pass, mapped over a basis.

    https://pytorch.org/docs/stable/generated/torch.func.jacrev.html"""
    return _jacobian("jacrev", func, argnums, has_aux)


def jacfwd(func, argnums=0, has_aux=False, *, randomness="error"):
    """A function that gives the derivative of each result in the chosen arguments: one forward pass, mapped over a basis.

    https://pytorch.org/docs/stable/generated/torch.func.jacfwd.html"""
    _check_randomness(randomness)
    return _jacobian("jacfwd", func, argnums, has_aux, randomness)


def hessian(func, argnums=0):
    """A function that gives the second derivatives of `func`, forward over reverse.

    https://pytorch.org/docs/stable/generated/torch.func.hessian.html"""
    return jacfwd(jacrev(func, argnums), argnums)


# ---- vmap

def _dims_for(dims, arg, name="in_dims"):
    """A dim or None for each tensor of an argument: `dims` is one for all, or nests as the argument does."""
    if isinstance(arg, (tuple, list)) and isinstance(dims, (tuple, list)):
        if len(dims) != len(arg):
            raise ValueError(f"vmap: {name} of {len(dims)} parts does not fit an argument of {len(arg)}")
        return [d for dim, part in zip(dims, arg) for d in _dims_for(dim, part)]
    if isinstance(arg, dict) and isinstance(dims, dict):
        return [d for key, part in arg.items() for d in _dims_for(dims[key], part)]
    if dims is not None and not isinstance(dims, int):
        raise ValueError(f"vmap: {name} {dims!r} does not fit an argument of type {type(arg).__name__}")
    if isinstance(arg, (tuple, list)):
        return [d for part in arg for d in _dims_for(dims, part)]
    if isinstance(arg, dict):
        return [d for part in arg.values() for d in _dims_for(dims, part)]
    if isinstance(arg, Tensor):
        return [dims]
    if dims is not None:
        raise ValueError(f"vmap: Got in_dim={dims} for an input but the input is of type {type(arg)}. We cannot vmap over non-Tensor "
                         "arguments, please use None as the respective in_dim")
    return []


def _check_randomness(randomness):
    if randomness not in ("error", "same", "different"):
        raise RuntimeError(f"Only allowed values for randomness are 'error', 'different', or 'same'. Got {randomness}")


def vmap(func, in_dims=0, out_dims=0, randomness="error", *, chunk_size=None):
    """`func` over a dim of its arguments. It is called once, on stand-ins for one element, whose values cannot be looked at.

    https://pytorch.org/docs/stable/generated/torch.vmap.html"""
    _check_randomness(randomness)

    @functools.wraps(func)
    def wrapper(*args, **kwargs):
        if isinstance(in_dims, (tuple, list)) and len(in_dims) != len(args):
            raise ValueError(f"vmap: in_dims is not compatible with the structure of inputs: {len(in_dims)} in_dims for {len(args)} inputs")
        dims = _dims_for(in_dims, args) + _dims_for(None, kwargs)  # keywords are not mapped, as in PyTorch
        tensors, shape = _flatten((args, kwargs))
        call = _OnTensors("vmap", func, lambda given: _nested(shape, given))
        results = _braze.func_vmap(call, tensors, dims, randomness)
        if out_dims != 0:
            output = call.output(results)
            places = _dims_for(out_dims, output, "out_dims") if not isinstance(output, Tensor) or isinstance(out_dims, int) else list(out_dims)
            results = [_moved(t, d) for t, d in zip(results, places)]
        return call.output(results)
    return wrapper


def _moved(tensor, dim):
    if dim is None:
        return tensor[0]
    if not -tensor.ndim <= dim < tensor.ndim:
        raise ValueError(f"vmap: out_dim {dim} is not in [-{tensor.ndim}, {tensor.ndim}), the dims of the result")
    return tensor.movedim(0, dim)


def functional_call(module, parameter_and_buffer_dicts, args=None, kwargs=None, *, tie_weights=True, strict=False):
    """Calls a module with these tensors in place of its own."""
    dicts = parameter_and_buffer_dicts if isinstance(parameter_and_buffer_dicts, (tuple, list)) else (parameter_and_buffer_dicts,)
    given = {name: value for one in dicts for name, value in one.items()}
    args = () if args is None else args if isinstance(args, tuple) else (args,)
    own = dict(module.named_parameters(remove_duplicate=False)) | dict(module.named_buffers(remove_duplicate=False))
    unknown = set(given) - set(own)
    if strict and (unknown or set(own) - set(given)):
        raise RuntimeError(f"Error(s) in loading: unexpected {sorted(unknown)}, missing {sorted(set(own) - set(given))}")
    if tie_weights:
        same = {}
        for name, value in own.items():
            same.setdefault(id(value), []).append(name)
        for name in list(given):
            for twin in same.get(id(own.get(name)), ()):
                given.setdefault(twin, given[name])
    before = []
    try:
        for name, value in given.items():
            owner, _, attribute = name.rpartition(".")
            part = module.get_submodule(owner)
            for table in (part._parameters, part._buffers):
                if attribute in table:
                    before.append((table, attribute, table[attribute]))
                    table[attribute] = value
        return module(*args, **(kwargs or {}))
    finally:
        for table, attribute, value in reversed(before):
            table[attribute] = value
