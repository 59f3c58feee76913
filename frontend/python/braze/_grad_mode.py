"""Grad mode, of each thread. https://pytorch.org/docs/stable/torch.html#locally-disabling-gradient-computation"""
import functools
import inspect

from ._braze import is_grad_enabled as _is_enabled, set_grad_enabled as _set


def is_grad_enabled() -> bool:
    """Whether ops are recorded for gradients."""
    return _is_enabled()


class _Mode:
    """A context, and a decorator of functions, generators and classes."""
    _mode = False

    def clone(self):
        """Another one of the same kind."""
        return type(self)()

    def __enter__(self):
        self._before = _is_enabled()
        _set(self._mode)

    def __exit__(self, *_):
        _set(self._before)

    def __call__(self, function):
        if inspect.isgeneratorfunction(function):
            @functools.wraps(function)
            def generator(*args, **kwargs):
                inner = function(*args, **kwargs)
                try:
                    with self.clone():
                        sent = next(inner)
                    while True:
                        try:
                            received = yield sent
                        except GeneratorExit:
                            with self.clone():
                                inner.close()
                            raise
                        except BaseException as error:
                            with self.clone():
                                sent = inner.throw(error)
                        else:
                            with self.clone():
                                sent = inner.send(received)
                except StopIteration as stop:
                    return stop.value
            return generator

        @functools.wraps(function)
        def wrapper(*args, **kwargs):
            with self.clone():
                return function(*args, **kwargs)
        return wrapper


class no_grad(_Mode):
    """Grad mode off, as a context or a decorator."""

    def __new__(cls, function=None):
        return super().__new__(cls)(function) if callable(function) else super().__new__(cls)


class enable_grad(no_grad):
    """Grad mode on, as a context or a decorator."""
    _mode = True


class inference_mode(_Mode):
    """As no_grad: values are immutable, so there is nothing more to save."""

    def __new__(cls, mode=True):
        return super().__new__(cls)(mode) if callable(mode) else super().__new__(cls)

    def __init__(self, mode=True):
        self._inference = True if callable(mode) else mode

    def clone(self):
        """Another one of the same kind."""
        return type(self)(self._inference)

    @property
    def _mode(self):
        return _is_enabled() and not self._inference


class set_grad_enabled(_Mode):
    """Sets grad mode to `mode` at once; as a context or a decorator, for that long."""

    def __init__(self, mode):
        self._before, self._mode = _is_enabled(), bool(mode)
        _set(self._mode)

    def clone(self):
        """Another one of the same kind."""
        return type(self)(self._mode)

    def __call__(self, function):
        _set(self._before)
        return super().__call__(function)

    def __enter__(self):
        _set(self._mode)


for _thing in (is_grad_enabled, set_grad_enabled, no_grad, enable_grad, inference_mode):
    _thing.__module__ = "braze"
