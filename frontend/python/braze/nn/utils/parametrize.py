"""torch.nn.utils.parametrize: parameters that are functions of others. https://pytorch.org/docs/stable/generated/torch.nn.utils.parametrize.register_parametrization.html

A parametrized module gets a class of its own, a subclass of the one it had, on which the tensor's name is a property: reading it computes, and
assigning to it sets what it is computed from.
"""
import collections.abc
import contextlib
import copy

from ... import Tensor, no_grad
from ..modules.container import ModuleDict, ModuleList
from ..parameter import Parameter

__all__ = ["ParametrizationList", "cached", "is_parametrized", "register_parametrization", "remove_parametrizations",
           "transfer_parametrizations_and_params", "type_before_parametrizations"]

_cached_values, _cache_depth = {}, 0


@contextlib.contextmanager
def cached():
    """While it is on, each parametrized tensor is computed once."""
    global _cache_depth
    _cache_depth += 1
    try:
        yield
    finally:
        _cache_depth -= 1
        if _cache_depth == 0:
            _cached_values.clear()


def _register(module, name, tensor):
    if isinstance(tensor, Parameter):
        module.register_parameter(name, tensor)
    else:
        module.register_buffer(name, tensor)


def _check_same(wanted, got, subject, first, second):
    """Without unsafe=True a parametrization keeps dtype and shape."""
    for what in ("dtype", "shape"):
        if getattr(got, what) != getattr(wanted, what):
            raise ValueError(f"{subject.format(what)}\n{first}{what}: {getattr(wanted, what)}\n{second}{what}: {getattr(got, what)}")


class ParametrizationList(ModuleList):
    """The parametrizations of one tensor, first to last, and what the first is computed from: `original`, or `original0`, `original1`, ..."""

    def __init__(self, modules, original, unsafe=False):
        if len(modules) == 0:
            raise ValueError("ParametrizationList requires one or more modules.")
        super().__init__(modules)
        self.unsafe = unsafe
        shape_and_dtype = original.detach()
        new = original
        with no_grad():
            for module in reversed(list(self)):
                if hasattr(module, "right_inverse"):
                    with contextlib.suppress(NotImplementedError):
                        new = module.right_inverse(new)
        if not isinstance(new, (Tensor, collections.abc.Sequence)):
            raise ValueError("'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...). "
                             f"Got {type(new).__name__}")
        self.is_tensor = isinstance(new, Tensor)
        self.ntensors = 1 if self.is_tensor else len(new)
        if self.is_tensor:
            if original.dtype != new.dtype:
                raise ValueError("When `right_inverse` outputs one tensor, it may not change the dtype.\n"
                                 f"original.dtype: {original.dtype}\nright_inverse(original).dtype: {new.dtype}")
            if new is not original:
                original.data = new.detach()  # the optimizer's parameter stays
            _register(self, "original", original)
        else:
            for i, each in enumerate(new):
                if not isinstance(each, Tensor):
                    raise ValueError("'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...). "
                                     f"Got element {i} of the sequence with type {type(each).__name__}.")
                if isinstance(original, Parameter):
                    each = Parameter(each, original.requires_grad)
                _register(self, f"original{i}", each.requires_grad_(original.requires_grad))
        if not unsafe:
            result = self()
            if not isinstance(result, Tensor):
                raise ValueError(f"A parametrization must return a tensor. Got {type(result).__name__}.")
            _check_same(shape_and_dtype, result, "Registering a parametrization may not change the {} of the tensor, unless `unsafe` flag is "
                        "enabled.", "unparametrized ", "parametrized ")

    def right_inverse(self, value):
        """Sets what the tensor is computed from, so that it becomes `value`."""
        with no_grad():
            for module in reversed(list(self)):
                if not hasattr(module, "right_inverse"):
                    raise RuntimeError(f"parametrization {type(module).__name__} does not implement right_inverse.")
                value = module.right_inverse(value)
            if self.is_tensor:
                if not isinstance(value, Tensor):
                    raise ValueError(f"`right_inverse` should return a tensor. Got {type(value).__name__}")
                if value.dtype != self.original.dtype:
                    raise ValueError(f"The tensor returned by `right_inverse` has dtype {value.dtype} while `original` has dtype "
                                     f"{self.original.dtype}")
                self.original.data = value.detach()
                return
            if not isinstance(value, collections.abc.Sequence):
                raise ValueError(f"'right_inverse' must return a sequence of tensors. Got {type(value).__name__}.")
            if len(value) != self.ntensors:
                raise ValueError(f"'right_inverse' must return a sequence of tensors of length {self.ntensors}. Got a sequence of length "
                                 f"{len(value)}.")
            for i, tensor in enumerate(value):
                original = getattr(self, f"original{i}")
                if original.dtype != tensor.dtype:
                    raise ValueError(f"Tensor {i} returned by `right_inverse` has dtype {tensor.dtype} while `original{i}` has dtype "
                                     f"{original.dtype}")
                original.data = tensor.detach()

    def forward(self):
        first, *others = self
        x = first(*([self.original] if self.is_tensor else [getattr(self, f"original{i}") for i in range(self.ntensors)]))
        for module in others:
            x = module(x)
        return x


# ---- the class of a parametrized module ----

def _refuse_pickling(self):
    raise RuntimeError("Serialization of parametrized modules is only supported through state_dict(). See:\n"
                       "https://pytorch.org/tutorials/beginner/saving_loading_models.html"
                       "#saving-loading-a-general-checkpoint-for-inference-and-or-resuming-training")


def _deepcopy(self, memo):
    replica = memo[id(self)] = type(self).__new__(type(self))
    replica.__dict__.update(copy.deepcopy(self.__dict__, memo))
    return replica


def _property(name):
    def get(self):
        parametrization = self.parametrizations[name]
        if not _cache_depth:
            return parametrization()
        key = id(self), name
        if key not in _cached_values:
            _cached_values[key] = parametrization()
        return _cached_values[key]
    return property(get, lambda self, value: self.parametrizations[name].right_inverse(value))


def is_parametrized(module, tensor_name=None):
    """Whether the tensor of that name is parametrized, or any."""
    parametrizations = module.__dict__.get("_modules", {}).get("parametrizations")
    if not isinstance(parametrizations, ModuleDict):
        return False
    return len(parametrizations) > 0 if tensor_name is None else tensor_name in parametrizations


def register_parametrization(module, tensor_name, parametrization, *, unsafe=False):
    """Makes a parameter or buffer what `parametrization` gives; several apply one after another. Its right_inverse, where it has one, says what
    to compute from."""
    parametrization.train(module.training)
    if is_parametrized(module, tensor_name):
        if not unsafe:
            before = getattr(module, tensor_name)
            after = parametrization(before)
            if not isinstance(after, Tensor):
                raise ValueError(f"A parametrization must return a tensor. Got {type(after).__name__}.")
            _check_same(before, after, "Registering a parametrization may not change the {} of the tensor, unless the `unsafe` flag is enabled.",
                        f"module.{tensor_name}.", f"parametrization(module.{tensor_name}).")
            if hasattr(parametrization, "right_inverse"):
                with contextlib.suppress(NotImplementedError):
                    back = parametrization.right_inverse(after)
                    if not isinstance(back, Tensor):
                        raise ValueError(f"parametrization.right_inverse must return a tensor. Got: {type(back).__name__}")
                    _check_same(before, back, "The tensor returned by parametrization.right_inverse must have the same {} as "
                                f"module.{tensor_name}, unless the `unsafe` flag is enabled.", f"module.{tensor_name}.", "returned ")
        module.parametrizations[tensor_name].append(parametrization)
        module.parametrizations[tensor_name].unsafe |= unsafe
    elif tensor_name in module._buffers or tensor_name in module._parameters:
        parametrizations = ParametrizationList([parametrization], getattr(module, tensor_name), unsafe=unsafe)
        delattr(module, tensor_name)
        if not is_parametrized(module):
            cls = type(module)
            own = {"__getstate__": _refuse_pickling}
            if not hasattr(cls, "__deepcopy__"):
                own["__deepcopy__"] = _deepcopy
            module.__class__ = type("Parametrized" + cls.__name__, (cls,), own)
            module.parametrizations = ModuleDict()
        setattr(type(module), tensor_name, _property(tensor_name))
        module.parametrizations[tensor_name] = parametrizations
    else:
        raise ValueError(f"Module '{module}' does not have a parameter, a buffer, or a parametrized element with name '{tensor_name}'")
    return module


def remove_parametrizations(module, tensor_name, leave_parametrized=True):
    """Makes the tensor an ordinary one again: with its value, or with what it was computed from."""
    if not is_parametrized(module, tensor_name):
        raise ValueError(f"Module {module} does not have a parametrization on {tensor_name}")
    parametrizations = module.parametrizations[tensor_name]
    if parametrizations.is_tensor:
        tensor = parametrizations.original
        if leave_parametrized:
            with no_grad():
                tensor.data = getattr(module, tensor_name).detach()
    else:
        if not leave_parametrized:
            raise ValueError("Cannot leave unparametrized (`leave_parametrized=False`) a tensor that is parametrized in terms of a sequence of "
                             "tensors.")
        originals = [getattr(parametrizations, f"original{i}") for i in range(parametrizations.ntensors)]
        with no_grad():
            tensor = getattr(module, tensor_name).detach().clone()
        needs_grad = any(each.requires_grad for each in originals)
        tensor = Parameter(tensor, needs_grad) if any(isinstance(each, Parameter) for each in originals) else tensor.requires_grad_(needs_grad)
    delattr(type(module), tensor_name)
    del module.parametrizations[tensor_name]
    _register(module, tensor_name, tensor)
    if not is_parametrized(module):
        delattr(module, "parametrizations")
        module.__class__ = type(module).__bases__[0]
    return module


def type_before_parametrizations(module):
    """The module's class before any was registered."""
    return type(module).__bases__[0] if is_parametrized(module) else type(module)


def transfer_parametrizations_and_params(from_module, to_module, tensor_name=None):
    """Gives a module another's parametrizations, and the tensors that they compute from."""
    if not is_parametrized(from_module):
        return to_module
    for name in list(from_module.parametrizations) if tensor_name is None else [tensor_name]:
        source = from_module.parametrizations[name]
        if not hasattr(to_module, name):
            setattr(to_module, name, Parameter(getattr(from_module, name)))
        for parametrization in source:
            register_parametrization(to_module, name, parametrization)
        target = to_module.parametrizations[name]
        for original in ["original"] if source.is_tensor else [f"original{i}" for i in range(source.ntensors)]:
            setattr(target, original, getattr(source, original))
    return to_module
