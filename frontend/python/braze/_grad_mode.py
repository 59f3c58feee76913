"""Grad mode: kept, and without effect as long as no tensor has a gradient. https://pytorch.org/docs/stable/torch.html#locally-disabling-gradient-computation"""
import contextlib

_enabled = True


def is_grad_enabled() -> bool:
    """Whether ops would be recorded for gradients."""
    return _enabled


class set_grad_enabled(contextlib.ContextDecorator):
    """Sets grad mode to `mode` at once; as a context or a decorator, for that long."""

    def __init__(self, mode):
        global _enabled
        self._before, self._mode = _enabled, mode
        _enabled = mode

    def __enter__(self):
        return self

    def __exit__(self, *_):
        global _enabled
        _enabled = self._before


class no_grad(contextlib.ContextDecorator):
    """Grad mode off, as a context or a decorator."""
    _mode = False

    def __new__(cls, function=None):
        return super().__new__(cls)(function) if callable(function) else super().__new__(cls)

    def __enter__(self):
        global _enabled
        self._before, _enabled = _enabled, self._mode
        return self

    def __exit__(self, *_):
        global _enabled
        _enabled = self._before


class enable_grad(no_grad):
    """Grad mode on, as a context or a decorator."""
    _mode = True


inference_mode = no_grad
for _thing in (is_grad_enabled, set_grad_enabled, no_grad, enable_grad):
    _thing.__module__ = "braze"
