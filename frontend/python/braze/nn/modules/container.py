"""Modules and parameters in lists and dicts, and one after another."""
import collections.abc
import itertools
import operator

from ... import Tensor
from ..parameter import Parameter
from .module import Module, _indent


class Container(Module):
    """Modules by keyword."""

    def __init__(self, **kwargs):
        super().__init__()
        for name, module in kwargs.items():
            self.add_module(name, module)


class _Listed(Module):
    """What Sequential and ModuleList share: children by number."""

    def _renumber(self, modules):
        self._modules.clear()
        for i, module in enumerate(modules):
            self.add_module(str(i), module)

    def _position(self, index):
        index = operator.index(index)
        if not -len(self) <= index < len(self):
            raise IndexError(f"index {index} is out of range")
        return index % len(self)

    def _key(self, index):
        return list(self._modules)[self._position(index)]

    def __len__(self):
        return len(self._modules)

    def __iter__(self):
        return iter(self._modules.values())

    def __setitem__(self, index, module):
        setattr(self, self._key(index), module)

    def append(self, module):
        """Adds a module at the end."""
        self.add_module(str(len(self)), module)
        return self

    def pop(self, index):
        """Takes a module out."""
        module = self[index]
        del self[index]
        return module

    def __delitem__(self, index):
        positions = range(len(self))[index] if isinstance(index, slice) else [self._position(index)]
        self._renumber([module for i, module in enumerate(list(self)) if i not in positions])

    def __dir__(self):
        return [name for name in super().__dir__() if not name.isdigit()]


class Sequential(_Listed):
    """Modules one after another: each takes what the one before gives. https://pytorch.org/docs/stable/generated/torch.nn.Sequential.html"""

    def __init__(self, *args):
        super().__init__()
        named = args[0].items() if len(args) == 1 and isinstance(args[0], dict) else ((str(i), module) for i, module in enumerate(args))
        for name, module in named:
            self.add_module(name, module)

    def __getitem__(self, index):
        if isinstance(index, slice):
            return type(self)(collections.OrderedDict(list(self._modules.items())[index]))
        return self._modules[self._key(index)]

    def __delitem__(self, index):
        for key in list(self._modules)[index] if isinstance(index, slice) else [self._key(index)]:
            del self._modules[key]
        self._renumber(list(self))

    def forward(self, input):
        for module in self:
            input = module(input)
        return input

    def insert(self, index, module):
        """Adds a module before the one at `index`."""
        if not isinstance(module, Module):
            raise AssertionError(f"module should be of type: {Module}")
        if not -len(self) <= index <= len(self):
            raise IndexError(f"Index out of range: {index}")
        modules = list(self)
        modules.insert(index, module)
        self._renumber(modules)
        return self

    def extend(self, sequential):
        """Adds modules at the end."""
        for module in list(sequential):
            self.append(module)
        return self

    def __add__(self, other):
        if not isinstance(other, Sequential):
            raise ValueError(f"add operator supports only objects of Sequential class, but {type(other)} is given.")
        return Sequential(*self, *other)

    def __iadd__(self, other):
        if not isinstance(other, Sequential):
            raise ValueError(f"add operator supports only objects of Sequential class, but {type(other)} is given.")
        return self.extend(other)

    def __mul__(self, times):
        if not isinstance(times, int):
            raise TypeError(f"unsupported operand type(s) for *: {type(self)} and {type(times)}")
        if times <= 0:
            raise ValueError(f"Non-positive multiplication factor {times} for {type(self)}")
        return Sequential(*(list(self) * times))

    __rmul__ = __mul__


class ModuleList(_Listed):
    """A list of modules. https://pytorch.org/docs/stable/generated/torch.nn.ModuleList.html"""

    def __init__(self, modules=None):
        super().__init__()
        self.extend(modules if modules is not None else [])

    def __getitem__(self, index):
        if isinstance(index, slice):
            return type(self)(list(self)[index])
        return self._modules[self._key(index)]

    def extend(self, modules):
        """Adds modules at the end."""
        if not isinstance(modules, collections.abc.Iterable):
            raise TypeError("ModuleList.extend should be called with an iterable, but got " + type(modules).__name__)
        for module in list(modules):
            self.append(module)
        return self

    __iadd__ = extend

    def insert(self, index, module):
        """Adds a module before the one at `index`."""
        modules = list(self)
        modules.insert(index, module)
        self._renumber(modules)

    def __add__(self, other):
        return type(self)(itertools.chain(self, other))

    def __repr__(self):
        """Equal neighbours are printed once."""
        runs = [(text, len(list(group))) for text, group in itertools.groupby(repr(module) for module in self)]
        if not runs:
            return self._get_name() + "()"
        lines, at = [], 0
        for text, count in runs:
            lines.append(f"({at}): {_indent(text)}" if count == 1 else f"({at}-{at + count - 1}): {count} x {_indent(text)}")
            at += count
        return self._get_name() + "(" + "".join(f"\n  {line}" for line in lines) + "\n)"


def _pairs(values, kind):
    if isinstance(values, collections.abc.Mapping):
        return list(values.items())
    if hasattr(values, "items"):
        return list(values.items())
    if not isinstance(values, collections.abc.Iterable):
        raise TypeError(f"{kind}.update should be called with an iterable of key/value pairs, but got {type(values).__name__}")
    pairs = [tuple(pair) for pair in values]
    for i, pair in enumerate(pairs):
        if len(pair) != 2:
            raise ValueError(f"{kind} update sequence element #{i} has length {len(pair)}; 2 is required")
    return pairs


class ModuleDict(Module):
    """Modules by key. https://pytorch.org/docs/stable/generated/torch.nn.ModuleDict.html"""

    def __init__(self, modules=None):
        super().__init__()
        if modules is not None:
            self.update(modules)

    def __getitem__(self, key):
        return self._modules[key]

    def __setitem__(self, key, module):
        self.add_module(key, module)

    def __delitem__(self, key):
        del self._modules[key]

    def __len__(self):
        return len(self._modules)

    def __iter__(self):
        return iter(self._modules)

    def __contains__(self, key):
        return key in self._modules

    def clear(self):
        """Takes all out."""
        self._modules.clear()

    def pop(self, key):
        """Takes one out."""
        return self._modules.pop(key)

    def keys(self):
        """The keys."""
        return self._modules.keys()

    def items(self):
        """Keys and modules."""
        return self._modules.items()

    def values(self):
        """The modules."""
        return self._modules.values()

    def update(self, modules):
        """Adds modules of a dict, or of pairs."""
        for key, module in _pairs(modules, "ModuleDict"):
            self[key] = module


def _as_parameter(value):
    return Parameter(value) if isinstance(value, Tensor) and not isinstance(value, Parameter) else value


def _describe(value, kind_of=lambda value: str(value.dtype)):
    if not isinstance(value, Tensor):
        return f"Object of type: {type(value).__name__}"
    size = "x".join(str(n) for n in value.shape)
    kind = "Parameter" if isinstance(value, Parameter) else type(value).__name__
    return f"{kind} containing: [{'torch.' + kind_of(value).rpartition('.')[2]} of size {size}]"


class ParameterList(Module):
    """A list of parameters; a tensor becomes one. https://pytorch.org/docs/stable/generated/torch.nn.ParameterList.html"""

    def __init__(self, values=None):
        super().__init__()
        self._size = 0
        if values is not None:
            self.extend(values)

    def _name(self, index):
        index = operator.index(index)
        if not -len(self) <= index < len(self):
            raise IndexError(f"index {index} is out of range")
        return str(index % len(self))

    def __getitem__(self, index):
        if isinstance(index, slice):
            return type(self)([self[i] for i in range(len(self))[index]])
        return getattr(self, self._name(index))

    def __setitem__(self, index, value):
        setattr(self, self._name(index), _as_parameter(value))

    def __len__(self):
        return self._size

    def __iter__(self):
        return (self[i] for i in range(len(self)))

    def append(self, value):
        """Adds a parameter at the end."""
        self._size += 1
        self[self._size - 1] = value
        return self

    def extend(self, values):
        """Adds parameters at the end."""
        if not isinstance(values, collections.abc.Iterable) or isinstance(values, Tensor):
            raise TypeError("ParameterList.extend should be called with an iterable, but got " + type(values).__name__)
        for value in values:
            self.append(value)
        return self

    __iadd__ = extend

    def pop(self, index=-1):
        """Takes one out."""
        values = list(self)
        value = values.pop(index)
        for i in range(len(self)):
            delattr(self, str(i))
        self._size = 0
        self.extend(values)
        return value

    def extra_repr(self):
        return "\n".join(f"  ({i}): {_describe(value)}" for i, value in enumerate(self))

    def __call__(self, *args, **kwargs):
        raise RuntimeError("ParameterList should not be called.")


class ParameterDict(Module):
    """Parameters by key; a tensor becomes one. https://pytorch.org/docs/stable/generated/torch.nn.ParameterDict.html"""

    def __init__(self, parameters=None):
        super().__init__()
        self._keys = {}
        if parameters is not None:
            self.update(parameters)

    def __getitem__(self, key):
        return getattr(self, str(key)) if key in self._keys else self._keys[key]

    def __setitem__(self, key, value):
        self._keys[key] = None
        setattr(self, str(key), _as_parameter(value))

    def __delitem__(self, key):
        del self._keys[key]
        delattr(self, str(key))

    def __len__(self):
        return len(self._keys)

    def __iter__(self):
        return iter(self._keys)

    def __reversed__(self):
        return reversed(list(self._keys))

    def __contains__(self, key):
        return key in self._keys

    def keys(self):
        """The keys."""
        return self._keys.keys()

    def values(self):
        """The parameters."""
        return (self[key] for key in self._keys)

    def items(self):
        """Keys and parameters."""
        return ((key, self[key]) for key in self._keys)

    def get(self, key, default=None):
        """One, or the default."""
        return self[key] if key in self else default

    def setdefault(self, key, default=None):
        """One, added where it is missing."""
        if key not in self:
            self[key] = default
        return self[key]

    def pop(self, key):
        """Takes one out."""
        value = self[key]
        del self[key]
        return value

    def popitem(self):
        """Takes the last one out."""
        key = next(reversed(list(self._keys)))
        return key, self.pop(key)

    def clear(self):
        """Takes all out."""
        for key in list(self._keys):
            del self[key]

    def copy(self):
        """Another dict of the same parameters."""
        return ParameterDict(dict(self.items()))

    def fromkeys(self, keys, default=None):
        """A dict of one value for all keys."""
        return ParameterDict({key: default for key in keys})

    def update(self, parameters):
        """Adds parameters of a dict, or of pairs."""
        for key, value in _pairs(parameters, "ParameterDict"):
            self[key] = value

    def __or__(self, other):
        result = self.copy()
        result.update(other)
        return result

    def __ior__(self, other):
        self.update(other)
        return self

    def extra_repr(self):
        return "\n".join(f"  ({key}): {_describe(value, lambda value: value.type())}" for key, value in self.items())

    def __call__(self, input):
        raise RuntimeError("ParameterDict should not be called.")
