"""Layer: a module without parameters of its own that calls one function with settings kept as attributes."""
from .module import Module


class Layer(Module):
    """Subclasses name the function and hand their settings to __init__; forward calls the function with them."""

    function = None
    shown = None    # the settings that repr prints; all, but for `inplace` and what is hidden
    hidden = ()

    def __init__(self, **settings):
        super().__init__()
        self._settings = tuple(settings)
        for name, value in settings.items():
            setattr(self, name, value)

    def forward(self, *inputs):
        return type(self).function(*inputs, **{name: getattr(self, name) for name in self._settings})

    def extra_repr(self):
        names = [name for name in self.shown or self._settings if name != "inplace" and name not in self.hidden]
        parts = [f"{name}={getattr(self, name)!r}" for name in names]
        return ", ".join(parts + ["inplace=True"] * bool(self.__dict__.get("inplace")))


def function_of(name):
    """A function of torch.nn.functional by name, for `function`."""
    from .. import functional
    return staticmethod(getattr(functional, name))


def repeated(value, n):
    """One number as a tuple of n, a sequence as a tuple."""
    return tuple(value) if isinstance(value, (tuple, list)) else (value,) * n
