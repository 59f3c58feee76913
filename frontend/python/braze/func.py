"""Functions of functions. https://pytorch.org/docs/stable/func.html"""
import functools

from ._braze import Tensor
from ._grad_mode import enable_grad
from . import autograd as _autograd


def _flatten(value):
    """The tensors of a nest, and how to put others in their place."""
    if isinstance(value, Tensor):
        return [value], lambda leaves: leaves[0]
    if isinstance(value, (tuple, list)):
        parts = [_flatten(v) for v in value]

        def build(leaves):
            made, at = [], 0
            for found, put in parts:
                made.append(put(leaves[at:at + len(found)]))
                at += len(found)
            return type(value)(*made) if hasattr(value, "_fields") else type(value)(made)
        return [t for found, _ in parts for t in found], build
    if isinstance(value, dict):
        found, put = _flatten(list(value.values()))
        return found, lambda leaves: dict(zip(value, put(leaves)))
    return [], lambda leaves: value


def _chosen(argnums, count):
    numbers = (argnums,) if isinstance(argnums, int) else tuple(argnums)
    for n in numbers:
        if not -count <= n < count:
            raise RuntimeError(f"Got argnum={n}, but only {count} positional inputs")
    return [n % count for n in numbers]


def _entered(args, argnums):
    """The arguments with the chosen ones replaced by tensors to differentiate in. A tensor that is differentiable already stays part of
    what it came from, so that nests differentiate each level by itself."""
    numbers = _chosen(argnums, len(args))
    args, tensors, shapes = list(args), [], []
    for n in numbers:
        found, put = _flatten(args[n])
        fresh = [x.view_as(x) if x.requires_grad else x.detach().requires_grad_() for x in found]
        args[n] = put(fresh)
        tensors += fresh
        shapes.append((len(found), put))
    return args, tensors, shapes


def _rebuilt(gradients, shapes, argnums):
    made, at = [], 0
    for count, put in shapes:
        made.append(put(list(gradients[at:at + count])))
        at += count
    return made[0] if isinstance(argnums, int) else tuple(made)


def _outer(*values):
    """Whether an enclosing derivative looks on."""
    return any(x.requires_grad for v in values for x in _flatten(v)[0])


def _gradients(outputs, tensors, vectors, keep):
    from . import zeros_like
    pairs = [(y, v) for y, v in zip(outputs, vectors) if y.requires_grad]
    if not pairs:
        return tuple(zeros_like(x) for x in tensors)
    return _autograd.grad([y for y, _ in pairs], tensors, [v for _, v in pairs], retain_graph=True, create_graph=keep,
                          materialize_grads=True)


def _left(value, keep):
    found, put = _flatten(value)
    return value if keep else put([t.detach() for t in found])


def grad_and_value(func, argnums=0, has_aux=False):
    """A function that gives the gradient of `func`, and its value."""
    @functools.wraps(func)
    @enable_grad()
    def wrapper(*args, **kwargs):
        entered, tensors, shapes = _entered(args, argnums)
        result = func(*entered, **kwargs)
        aux = None
        if has_aux:
            if not (isinstance(result, tuple) and len(result) == 2):
                raise RuntimeError("grad_and_value(f)(*args): output of function f should be a tuple: (output, aux) if has_aux is True")
            result, aux = result
        if not isinstance(result, Tensor):
            raise RuntimeError("Expected f(*args) to return a Tensor")
        if result.dim() != 0:
            raise RuntimeError(f"Expected f(*args) to return a scalar tensor, got tensor with {result.dim()} dims. Maybe you wanted to "
                               "use the vjp or jacrev APIs instead?")
        keep = _outer(args, tuple(kwargs.values())) or _captures(result, tensors)
        gradient = _rebuilt(_gradients((result,), tensors, (None,), True), shapes, argnums)
        gradient, value = _left(gradient, keep), _left(result, keep)
        return (gradient, (value, _left(aux, keep))) if has_aux else (gradient, value)
    return wrapper


def _captures(result, tensors):
    """Whether the result depends on a tensor that requires grad and is no argument: then it stays differentiable in that."""
    if not result.requires_grad:
        return False
    own = {hash(t.grad_fn) if t.grad_fn is not None else None for t in tensors}
    leaves = {id(t) for t in tensors}
    seen, stack = set(), [result.grad_fn]
    while stack:
        step = stack.pop()
        if step is None or step in seen or hash(step) in own:
            continue
        seen.add(step)
        if type(step).__name__ == "AccumulateGrad":
            if id(step.variable) not in leaves:
                return True
            continue
        stack += [following for following, _ in step.next_functions]
    return False


def grad(func, argnums=0, has_aux=False):
    """A function that gives the gradient of `func`, which returns one element."""
    both = grad_and_value(func, argnums, has_aux)

    @functools.wraps(func)
    def wrapper(*args, **kwargs):
        gradient, value = both(*args, **kwargs)
        return (gradient, value[1]) if has_aux else gradient
    return wrapper


@enable_grad()
def vjp(func, *primals, has_aux=False):
    """The function's value, and a function that takes a cotangent to the arguments' cotangents."""
    entered, tensors, shapes = _entered(primals, tuple(range(len(primals))))
    result = func(*entered)
    aux = None
    if has_aux:
        result, aux = result
    outputs, _ = _flatten(result)
    keep = _outer(primals)

    @enable_grad()
    def pull(*cotangents):
        vectors, _ = _flatten(cotangents[0] if len(cotangents) == 1 else cotangents)
        if len(vectors) != len(outputs):
            raise RuntimeError(f"Expected pytree structure of cotangents to be the same as pytree structure of outputs to the function: "
                               f"{len(outputs)} tensors, got {len(vectors)}")
        found = _rebuilt(_gradients(outputs, tensors, vectors, True), shapes, tuple(range(len(primals))))
        found = _left(found, keep or _outer(vectors))
        return found
    value = _left(result, keep)
    return (value, pull, _left(aux, keep)) if has_aux else (value, pull)


@enable_grad()
def jvp(func, primals, tangents, *, has_aux=False):
    """The function's value, and its derivative along `tangents`."""
    from . import zeros_like
    entered, tensors, _ = _entered(primals, tuple(range(len(primals))))
    result = func(*entered)
    aux = None
    if has_aux:
        result, aux = result
    outputs, put = _flatten(result)
    directions, _ = _flatten(tuple(tangents))
    keep = _outer(primals, tuple(tangents))
    w = [zeros_like(y).requires_grad_() for y in outputs]
    gradients = _gradients(outputs, tensors, w, True)
    products = put(list(_gradients(gradients, w, directions, True)))
    value, products = _left(result, keep), _left(products, keep)
    return (value, products, _left(aux, keep)) if has_aux else (value, products)


def jacrev(func, argnums=0, *, has_aux=False, chunk_size=None):
    """A function that gives the derivatives of all results in the chosen arguments, by rows."""
    @functools.wraps(func)
    @enable_grad()
    def wrapper(*args, **kwargs):
        from . import stack, zeros
        entered, tensors, shapes = _entered(args, argnums)
        result = func(*entered, **kwargs)
        aux = None
        if has_aux:
            result, aux = result
        outputs, put = _flatten(result)
        keep = _outer(args)
        tables = []
        for y in outputs:
            flat = y.reshape(-1)
            rows = [_gradients((flat[i],), tensors, (None,), True) for i in range(flat.numel())]
            columns = [(stack([row[k] for row in rows]) if rows else zeros((0,) + x.shape)).reshape(y.shape + x.shape)
                       for k, x in enumerate(tensors)]
            tables.append(_left(_rebuilt(columns, shapes, argnums), keep))
        jacobian = _put_any(put, outputs, tables)
        return (jacobian, _left(aux, keep)) if has_aux else jacobian
    return wrapper


def _put_any(put, outputs, values):
    return values[0] if len(outputs) == 1 and isinstance(put([outputs[0]]), Tensor) else put(values)


def jacfwd(func, argnums=0, has_aux=False, *, chunk_size=None, randomness="error"):
    """A function that gives the derivatives of all results in the chosen arguments, by columns."""
    @functools.wraps(func)
    def wrapper(*args, **kwargs):
        from . import stack, zeros_like
        numbers = _chosen(argnums, len(args))
        found = []
        for n in numbers:
            x = args[n]
            columns = []
            for i in range(x.numel()):
                direction = zeros_like(x).reshape(-1)
                direction[i] = 1

                def at(value, n=n):
                    return func(*args[:n], value, *args[n + 1:], **kwargs)
                columns.append(jvp(at, (x,), (direction.reshape(x.shape),), has_aux=has_aux)[1])
            flat = [_flatten(c)[0] for c in columns]
            _, put = _flatten(columns[0])
            parts = [stack([c[k] for c in flat], -1).reshape(flat[0][k].shape + x.shape) for k in range(len(flat[0]))]
            found.append(put(parts))
        result = found[0] if isinstance(argnums, int) else tuple(found)
        return (result, func(*args, **kwargs)[1]) if has_aux else result
    return wrapper


def hessian(func, argnums=0):
    """A function that gives the second derivatives of `func`, which returns one element."""
    return jacrev(jacrev(func, argnums), argnums)


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
