"""Hooks of modules: functions called before and after forward and backward, and the handles that take them away again."""
import collections
import itertools
import weakref

from ... import Tensor

_numbers = itertools.count()


class RemovableHandle:
    """What registering a hook returns: remove() takes the hook away; as a context it does so at the end."""

    def __init__(self, *hooks):
        self.id = next(_numbers)
        self._hooks = [weakref.ref(each) for each in hooks if each is not None]

    def remove(self):
        for reference in self._hooks:
            hooks = reference()
            if hooks is not None:
                hooks.pop(self.id, None)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.remove()


class Hooks(collections.OrderedDict):
    """Hooks by the number of their handle, in the order in which they are called."""

    def add(self, hook, prepend=False, **options):
        handle = RemovableHandle(self)
        self[handle.id] = (hook, options)
        if prepend:
            self.move_to_end(handle.id, last=False)
        return handle


def as_tuple(value):
    return value if isinstance(value, tuple) else (value,)


def run_forward(module, arguments, keywords):
    """forward with the hooks around it."""
    result, called = None, set()
    try:
        for hook, options in [*global_forward_pre.values(), *module._forward_pre_hooks.values()]:
            if options.get("with_kwargs"):
                changed = hook(module, arguments, keywords)
                if changed is not None:
                    if not (isinstance(changed, tuple) and len(changed) == 2):
                        raise RuntimeError(f"forward pre-hook must return None or a tuple of (new_args, new_kwargs), but got {changed}.")
                    arguments, keywords = changed
            else:
                changed = hook(module, arguments)
                if changed is not None:
                    arguments = as_tuple(changed)
        backward = Backward(module) if module._backward_hooks or module._backward_pre_hooks or global_backward else None
        if backward:
            arguments = backward.at_inputs(arguments)
        result = module.forward(*arguments, **keywords)
        for number, (hook, options) in [*global_forward.items(), *module._forward_hooks.items()]:
            called.add(number)
            changed = hook(module, arguments, keywords, result) if options.get("with_kwargs") else hook(module, arguments, result)
            if changed is not None:
                result = changed
        return backward.at_outputs(result) if backward else result
    except BaseException:
        for number, (hook, options) in [*global_forward.items(), *module._forward_hooks.items()]:
            if options.get("always_call") and number not in called:
                hook(module, arguments, keywords, result) if options.get("with_kwargs") else hook(module, arguments, result)
        raise


def replace_tensors(value, tensors):
    """`value`, a tensor or a tuple or list or dict of such, with its tensors taken from the iterator."""
    if isinstance(value, Tensor):
        return next(tensors)
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(replace_tensors(each, tensors) for each in value))
    if isinstance(value, (tuple, list)):
        return type(value)(replace_tensors(each, tensors) for each in value)
    if isinstance(value, dict):
        return type(value)((key, replace_tensors(each, tensors)) for key, each in value.items())
    return value


def tensors_in(value):
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, (tuple, list)):
        for each in value:
            yield from tensors_in(each)
    elif isinstance(value, dict):
        for each in value.values():
            yield from tensors_in(each)


def _identity(on_gradients):
    """A function of tensors that gives them back; its gradients pass through on_gradients."""
    from ...autograd import Function

    class ModuleBorder(Function):
        @staticmethod
        def forward(context, *tensors):
            context.set_materialize_grads(False)
            return tuple(tensor.view_as(tensor) for tensor in tensors)

        @staticmethod
        def backward(context, *gradients):
            return on_gradients(gradients)
    return ModuleBorder.apply


class Backward:
    """The backward hooks of one call of a module: between two borders of identities, one at its inputs, one at its outputs."""

    def __init__(self, module):
        self._module, self._from_outputs, self._inputs = module, None, 0
        self._waits_for_inputs, self._places = False, []

    def at_inputs(self, arguments):
        self._inputs = len(arguments)
        self._places = [i for i, each in enumerate(arguments) if isinstance(each, Tensor) and each.requires_grad]
        if not self._places:
            return arguments
        self._waits_for_inputs = True
        passed = iter(_identity(self._on_inputs)(*(arguments[i] for i in self._places)))
        return tuple(next(passed) if i in self._places else each for i, each in enumerate(arguments))

    def at_outputs(self, result):
        tensors = [each for each in tensors_in(result) if each.requires_grad]
        if not tensors:
            return result
        passed = iter(_identity(self._on_outputs)(*tensors))
        return replace_tensors(result, (next(passed) if each.requires_grad else each for each in tensors_in(result)))

    def _on_outputs(self, gradients):
        for hook, _ in self._module._backward_pre_hooks.values():
            changed = hook(self._module, gradients)
            if changed is not None:
                gradients = as_tuple(changed)
        self._from_outputs = gradients
        if not self._waits_for_inputs:
            self._call((None,) * self._inputs)
        return gradients

    def _on_inputs(self, gradients):
        all_inputs = [None] * self._inputs
        for place, gradient in zip(self._places, gradients):
            all_inputs[place] = gradient
        changed = self._call(tuple(all_inputs))
        return tuple(changed[place] for place in self._places)

    def _call(self, gradients):
        for hook, _ in [*global_backward.values(), *self._module._backward_hooks.values()]:
            changed = hook(self._module, gradients, self._from_outputs)
            if changed is None:
                continue
            changed = as_tuple(changed)
            if len(changed) != len(gradients):
                raise RuntimeError(f"Backward hook returned an invalid number of grad_input, got {len(changed)}, but expected {len(gradients)}")
            gradients = changed
        return gradients


global_forward_pre, global_forward, global_backward = Hooks(), Hooks(), Hooks()


def register_module_forward_pre_hook(hook):
    """Before the forward of every module. https://pytorch.org/docs/stable/nn.html#global-hooks-for-module"""
    return global_forward_pre.add(hook)


def register_module_forward_hook(hook, *, with_kwargs=False, always_call=False):
    """After the forward of every module."""
    return global_forward.add(hook, with_kwargs=with_kwargs, always_call=always_call)


def register_module_full_backward_hook(hook):
    """When the gradients of every module's inputs are there."""
    return global_backward.add(hook)
