"""What laziness shows on demand: eager scopes, compiled functions, why the engine did what it did."""
import collections
import contextlib
import functools
import sys
import threading
import types
import weakref

from . import _braze
from ._braze import Size, Tensor
from ._watch import Watch


class eager(contextlib.ContextDecorator):
    """While it lives, each op of this thread is evaluated at once: the same bits, one op at a time."""

    def __enter__(self):
        self._scopes = getattr(self, "_scopes", [])
        self._scopes.append(_braze.set_eager(True))
        return self

    def __exit__(self, *_):
        _braze.set_eager(self._scopes.pop())


def explain(function=None, *args, kinds="flush,compile,fuse", **kwargs):
    """What evaluating costs: the engine's notes on each evaluation, each compilation and each missed fusion, with source lines.

    explain(f, x) calls f(x), evaluates its tensors and returns the notes as text; `with explain() as notes:` gathers them into
    notes.text."""
    if function is None:
        return _Notes(kinds)
    with _Notes(kinds) as notes:
        evaluate_nest(function(*args, **kwargs))
    return notes.text


def evaluate_nest(nest):
    tensors, _ = _flatten(nest)
    if tensors:
        _braze._functions[""]["eval"](tensors)


class _Notes:
    def __init__(self, kinds):
        self._kinds, self.lines = kinds, []

    text = property(lambda self: "\n".join(self.lines))

    def __enter__(self):
        self._before = _braze.set_explain(self._kinds)
        _braze.gather_log(True)
        return self

    def __exit__(self, *_):
        self.lines.extend(_braze.gathered_log())
        _braze.gather_log(False)
        _braze.set_explain(self._before)


# ---- compile ----

_place = object()


def _flatten(nest, out=None):
    """The tensors of a nest of tuples, lists and dicts, and the nest with a place where each was."""
    out = [] if out is None else out
    if isinstance(nest, Tensor):
        out.append(nest)
        return out, _place
    if _is_row(nest):
        parts = [_flatten(item, out)[1] for item in nest]
        return out, type(nest)(*parts) if hasattr(nest, "_fields") else type(nest)(parts)
    if type(nest) is dict:
        return out, {key: _flatten(value, out)[1] for key, value in nest.items()}
    return out, nest


def _all_tensors(row):
    for item in row:
        if not isinstance(item, Tensor):
            return False
    return True


def _is_row(nest):
    """A tuple, a list, a named tuple, or what max(dim) and its like return."""
    return type(nest) in (tuple, list) or (isinstance(nest, tuple) and (hasattr(nest, "_fields") or hasattr(nest, "n_sequence_fields")))


def _refill(nest, tensors):
    if nest is _place:
        return next(tensors)
    if _is_row(nest):
        parts = [_refill(item, tensors) for item in nest]
        return type(nest)(*parts) if hasattr(nest, "_fields") else type(nest)(parts)
    if type(nest) is dict:
        return {key: _refill(value, tensors) for key, value in nest.items()}
    return nest


_plain = (type(None), bool, int, str, bytes, range, type(...), type(NotImplemented), Size, _braze.dtype)


def _key(nest):
    """What stands for all nests that are alike: numbers by their bits, objects by identity. A TypeError where that says too little."""
    if _is_row(nest):
        return type(nest), tuple(_key(item) for item in nest)
    if type(nest) is dict:
        return dict, tuple((_key(key), _key(value)) for key, value in nest.items())
    if type(nest) in (float, complex):
        return type(nest), repr(nest)
    if type(nest) in _plain or nest is _place or type(nest).__eq__ is object.__eq__ or isinstance(nest, (type, types.FunctionType)):
        return type(nest), nest
    raise TypeError(f"a {type(nest).__qualname__} may be equal to another")


def _held_elsewhere(results, arguments):
    """Whether one of the tensors, none of the arguments, is known to others than the result and this list: then it is to be the very object."""
    times = collections.Counter(map(id, results))
    known = set(map(id, arguments))
    for tensor in results:
        if id(tensor) not in known and sys.getrefcount(tensor) > 2 * times[id(tensor)] + 2:
            return True
    return False


def _key_or_none(nest):
    try:
        return _key(nest)
    except TypeError:
        return None


def _is_plain(nest):
    """Whether what surrounds the tensors of a result may be given again at each call."""
    if _is_row(nest):
        return all(map(_is_plain, nest))
    if type(nest) is dict:
        return all(map(_is_plain, nest)) and all(map(_is_plain, nest.values()))
    return nest is _place or type(nest) in _plain or type(nest) in (float, complex)


def compile(model=None, *, fullgraph=False, dynamic=None, backend="braze", mode=None, options=None, disable=False):
    """A function that is recorded once for each kind of arguments and then only run. Needing a value while it is recorded raises and
    names the line. Other keywords are PyTorch's, and change nothing. https://pytorch.org/docs/stable/generated/torch.compile.html

    What is recorded may be a whole training step: optimizer.zero_grad(), the loss, its backward() and optimizer.step(). Gradients, parameters
    and the optimizer's state are then as after the function itself, bit for bit; draws go on from call to call, and learning rates and other
    settings of the optimizer are read at each call. Whatever else in Python such a step depends on is watched: where it changes (a module goes
    from train() to eval(), a global gets another value), the step is recorded anew.

    A function through which derivatives pass runs as it is, recorded at each call, where that could give something else:
      * it returns a tensor that a gradient can still be asked of, or gets one that requires grad; it returns objects beside tensors, numbers
        and texts, changes a list or a dict that it was given, or raises;
      * it needs a value (loss.item(), an `if` on a tensor), draws from Python's or NumPy's generators, reads the clock, prints;
      * it changes objects of Python that were there before (a list of losses, a count, scheduler.step());
      * it uses objects whose state Python does not show: NumPy arrays, iterators, files, classes written in C;
      * hooks wait for gradients of its parameters, or the optimizer is none of braze.optim's, or one that needs values (LBFGS);
      * its first calls make the optimizer's state.
    braze.explain() says which it was."""
    if model is None:
        return lambda function: compile(function, fullgraph=fullgraph, dynamic=dynamic, backend=backend, mode=mode, options=options,
                                        disable=disable)
    if disable:
        return model
    by_rest = collections.OrderedDict()  # a recorded function for each set of what is no tensor, the latest ones

    @functools.wraps(model)
    def run(*args, **kwargs):
        if not kwargs and _all_tensors(args):  # most calls: quickly to what is recorded
            tensors, key = list(args), len(args)
            entry = by_rest.get(key)
        else:
            tensors, nest = _flatten((args, kwargs))
            try:
                key = _key(nest)
                entry = by_rest.get(key)
            except TypeError:  # an argument that has no key, or one that cannot be hashed
                return model(*args, **kwargs)
        if entry is None:
            entry = by_rest[key] = _Recorded(model, _flatten((args, kwargs))[1])
            if len(by_rest) > _most_kept:
                by_rest.popitem(last=False)
        elif len(by_rest) > 1:
            by_rest.move_to_end(key)
        return entry(tensors, args, kwargs)

    run._torchdynamo_orig_callable = model
    return run


_most_kept = 64


class _AsItIs:
    """A result that no trace gave."""

    def __init__(self, result):
        self.result = result


class _Recorded:
    """One function of tensors alone; what surrounds them is fixed."""

    def __init__(self, function, nest):
        self._function, self._nest = function, nest
        self._calls = threading.local()
        myself = weakref.ref(self)  # no cycle through C++, which Python could not collect
        self._compiled = _braze.CompiledFunction(lambda tensors: myself()._record(tensors))

    def _record(self, tensors):
        if not _braze.is_noted():  # it runs as it is, on what the caller gave
            args, kwargs = self._calls.given
            result = self._function(*args, **kwargs)
            _braze.serve(_AsItIs(result))
            return _flatten(result)[0]
        args, kwargs = _refill(self._nest, iter(tensors))

        def call():
            result = self._function(*args, **kwargs)
            inside, rest = _flatten((args, kwargs))
            if len(inside) != len(tensors) or any(a is not b for a, b in zip(inside, tensors)) or _key_or_none(rest) != key:
                _braze.note_refusal("it changes a list or a dict that it was given")
            results, nest = _flatten(result)
            if not _is_plain(nest):
                _braze.note_refusal("it returns objects beside tensors, numbers and texts")
            elif _held_elsewhere(results, tensors):
                _braze.note_refusal("it returns a tensor that somebody has already")
            _braze.serve(nest)
            return results
        key = _key(self._nest)
        return Watch(self._function, self._nest).record(call) or []

    def __call__(self, tensors, args, kwargs):
        before = getattr(self._calls, "given", None)
        self._calls.given = args, kwargs
        try:
            results = self._compiled(tensors)
        finally:
            self._calls.given = before
        nest = _braze.served()
        if nest is _place:
            return results[0]
        return nest.result if isinstance(nest, _AsItIs) else _refill(nest, iter(results))



# ---- running scripts that import torch ----

def as_torch():
    """From now on `import torch` gives Braze. Refused if the real one is loaded."""
    import importlib.abc
    import importlib.util
    import braze
    loaded = sys.modules.get("torch")
    if loaded is not None and loaded is not braze:
        raise RuntimeError("the real torch is loaded; braze.as_torch() must come before it")
    if loaded is braze:
        return braze

    class Alias(importlib.abc.MetaPathFinder, importlib.abc.Loader):
        """torch.x.y is braze.x.y, the same module object."""

        def find_spec(self, name, path=None, target=None):
            if name.partition(".")[0] != "torch":
                return None
            real = "braze" + name[5:]
            if importlib.util.find_spec(real) is None:
                raise ModuleNotFoundError(f"No module named '{name}': braze has no {real}; docs/coverage.md lists what is there", name=name)
            return importlib.util.spec_from_loader(name, self)

        def create_module(self, spec):
            module = importlib.import_module("braze" + spec.name[5:])
            self._spec = module.__spec__
            return module

        def exec_module(self, module):
            module.__spec__ = self._spec  # the import system set the alias's

    sys.meta_path.insert(0, Alias())
    sys.modules["torch"] = braze
    return braze
