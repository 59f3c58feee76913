"""Module: parameters, buffers and children by name, and forward. The base of every layer."""
import itertools

from ... import Tensor, float16, float32, float64, bfloat16, no_grad
from ..._braze import dtype as dtype_type
from ..parameter import Buffer, Parameter
from .hooks import Hooks, global_backward, global_forward, global_forward_pre, run_forward
from .state import State

_registries = ("_parameters", "_buffers", "_modules")
_hook_kinds = ("_forward_pre_hooks", "_forward_hooks", "_backward_pre_hooks", "_backward_hooks", "_state_dict_pre_hooks", "_state_dict_hooks",
               "_load_state_dict_pre_hooks", "_load_state_dict_post_hooks")


def _type_name(value):
    return type(value).__name__ if type(value).__module__ == "builtins" else f"{type(value).__module__}.{type(value).__name__}"


def _indent(text, by=2):
    return ("\n" + " " * by).join(text.split("\n"))


class Module(State):
    """What holds parameters and computes: subclasses assign parameters and modules to themselves and define forward.
    https://pytorch.org/docs/stable/generated/torch.nn.Module.html"""

    training = True
    dump_patches = False

    def __init__(self, *args, **kwargs):
        for name in _registries:
            object.__setattr__(self, name, {})
        object.__setattr__(self, "_non_persistent_buffers_set", set())
        for name in _hook_kinds:
            object.__setattr__(self, name, Hooks())
        object.__setattr__(self, "training", True)
        if args or kwargs:
            super().__init__(*args, **kwargs)

    # ---- calling ----

    def forward(self, *input):
        """The computation: for subclasses."""
        raise NotImplementedError(f'Module [{type(self).__name__}] is missing the required "forward" function')

    def __call__(self, *args, **kwargs):
        if (self._forward_hooks or self._forward_pre_hooks or self._backward_hooks or self._backward_pre_hooks or global_forward
                or global_forward_pre or global_backward):
            return run_forward(self, args, kwargs)
        return self.forward(*args, **kwargs)

    def register_forward_pre_hook(self, hook, *, prepend=False, with_kwargs=False):
        """hook(module, args) before forward; a result takes the arguments' place."""
        return self._forward_pre_hooks.add(hook, prepend, with_kwargs=with_kwargs)

    def register_forward_hook(self, hook, *, prepend=False, with_kwargs=False, always_call=False):
        """hook(module, args, output) after forward; a result takes the output's place."""
        return self._forward_hooks.add(hook, prepend, with_kwargs=with_kwargs, always_call=always_call)

    def register_full_backward_hook(self, hook, prepend=False):
        """hook(module, grad_input, grad_output) when the gradients of the inputs are there; a result takes grad_input's place."""
        return self._backward_hooks.add(hook, prepend)

    register_backward_hook = register_full_backward_hook

    def register_full_backward_pre_hook(self, hook, prepend=False):
        """hook(module, grad_output) before the module's backward; a result takes grad_output's place."""
        return self._backward_pre_hooks.add(hook, prepend)

    # ---- what belongs to it ----

    def _check_name(self, kind, name, owner):
        if "_parameters" not in self.__dict__:
            raise AttributeError(f"cannot assign {kind} before Module.__init__() call")
        if not isinstance(name, str):
            raise TypeError(f"{kind} name should be a string. Got {type(name).__name__}")
        if "." in name:
            raise KeyError(f'{kind} name can\'t contain "."')
        if name == "":
            raise KeyError(f'{kind} name can\'t be empty string ""')
        if hasattr(self, name) and name not in owner:
            raise KeyError(f"attribute '{name}' already exists")

    def register_parameter(self, name, param):
        """Adds a Parameter, or None as the place of one."""
        self._check_name("parameter", name, self.__dict__.get("_parameters", ()))
        if param is not None and not isinstance(param, Parameter):
            raise TypeError(f"cannot assign '{_type_name(param)}' object to parameter '{name}' (torch.nn.Parameter or None required)")
        if param is not None and param.grad_fn is not None:
            raise ValueError(f"Cannot assign non-leaf Tensor to parameter '{name}'. Model parameters must be created explicitly. To express "
                             f"'{name}' as a function of another Tensor, compute the value in the forward() method.")
        self._parameters[name] = param

    def register_buffer(self, name, tensor, persistent=True):
        """Adds a tensor that is not trained; `persistent` says whether state_dict has it."""
        self._check_name("buffer", name, self.__dict__.get("_buffers", ()))
        if tensor is not None and not isinstance(tensor, Tensor):
            raise TypeError(f"cannot assign '{_type_name(tensor)}' object to buffer '{name}' (torch Tensor or None required)")
        self._buffers[name] = tensor
        (self._non_persistent_buffers_set.discard if persistent else self._non_persistent_buffers_set.add)(name)

    def add_module(self, name, module):
        """Adds a child."""
        if module is not None and not isinstance(module, Module):
            raise TypeError(f"{_type_name(module)} is not a Module subclass")
        self._check_name("module", name, self.__dict__.get("_modules", ()))
        self._modules[name] = module

    register_module = add_module

    def __setattr__(self, name, value):
        registries = [self.__dict__.get(each) for each in _registries]
        for kind, base, registry in (("parameter", Parameter, registries[0]), ("module", Module, registries[2])):
            if isinstance(value, base):
                if registry is None:
                    raise AttributeError(f"cannot assign {kind + 's' if kind == 'parameter' else kind} before Module.__init__() call")
                self._forget(name, registry)
                (self.register_parameter if kind == "parameter" else self.add_module)(name, value)
                return
            if registry is not None and name in registry:
                if value is not None:
                    what = "parameter" if kind == "parameter" else "child module"
                    raise TypeError(f"cannot assign '{_type_name(value)}' as {what} '{name}' (torch.nn.{base.__name__} or None expected)")
                registry[name] = None
                return
        buffers = registries[1]
        if buffers is not None and (name in buffers or isinstance(value, Buffer)):
            if value is not None and not isinstance(value, Tensor):
                raise TypeError(f"cannot assign '{_type_name(value)}' as buffer '{name}' (torch.nn.Buffer, torch.Tensor or None expected)")
            if isinstance(value, Buffer):
                self._forget(name, buffers)
                self.register_buffer(name, value, value.persistent)
            else:
                buffers[name] = value
            return
        object.__setattr__(self, name, value)

    def _forget(self, name, keep):
        """A name belongs to one registry at a time, or is an ordinary attribute."""
        self.__dict__.pop(name, None)
        for each in _registries:
            if self.__dict__[each] is not keep:
                self.__dict__[each].pop(name, None)
        self._non_persistent_buffers_set.discard(name)

    def __getattr__(self, name):
        for each in _registries:
            registry = self.__dict__.get(each)
            if registry is not None and name in registry:
                return registry[name]
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def __delattr__(self, name):
        for each in _registries:
            if name in self.__dict__[each]:
                del self.__dict__[each][name]
                self._non_persistent_buffers_set.discard(name)
                return
        object.__delattr__(self, name)

    def __setstate__(self, state):
        self.__dict__.update(state)
        for name in _hook_kinds:
            self.__dict__.setdefault(name, Hooks())

    def __dir__(self):
        names = set(object.__dir__(self)) | {name for each in _registries for name in self.__dict__[each]}
        return sorted(name for name in names if not name[0].isdigit())

    # ---- walking ----

    def named_modules(self, memo=None, prefix="", remove_duplicate=True):
        """This module and all below it, by dotted name; each once, unless told otherwise."""
        memo = set() if memo is None else memo
        if remove_duplicate and self in memo:
            return
        memo.add(self)
        yield prefix, self
        for name, module in self._modules.items():
            if module is not None:
                yield from module.named_modules(memo, f"{prefix}.{name}" if prefix else name, remove_duplicate)

    def modules(self):
        """This module and all below it."""
        return (module for _, module in self.named_modules())

    def named_children(self):
        """The modules that belong to this one directly, by name."""
        seen = set()
        for name, module in self._modules.items():
            if module is not None and module not in seen:
                seen.add(module)
                yield name, module

    def children(self):
        """The modules that belong to this one directly."""
        return (module for _, module in self.named_children())

    def _named(self, registry, prefix, recurse, remove_duplicate):
        seen = set()
        modules = self.named_modules(prefix=prefix, remove_duplicate=remove_duplicate) if recurse else [(prefix, self)]
        for path, module in modules:
            for name, tensor in module.__dict__[registry].items():
                if tensor is None or id(tensor) in seen:
                    continue
                if remove_duplicate:
                    seen.add(id(tensor))
                yield f"{path}.{name}" if path else name, tensor

    def named_parameters(self, prefix="", recurse=True, remove_duplicate=True):
        """Parameters by dotted name."""
        return self._named("_parameters", prefix, recurse, remove_duplicate)

    def parameters(self, recurse=True):
        """Parameters, as optimizers take them."""
        return (tensor for _, tensor in self.named_parameters(recurse=recurse))

    def named_buffers(self, prefix="", recurse=True, remove_duplicate=True):
        """Buffers by dotted name."""
        return self._named("_buffers", prefix, recurse, remove_duplicate)

    def buffers(self, recurse=True):
        """Buffers."""
        return (tensor for _, tensor in self.named_buffers(recurse=recurse))

    def get_submodule(self, target):
        """The module of a dotted name."""
        module = self
        for name in target.split(".") if target else ():
            if not hasattr(module, name):
                raise AttributeError(f"{type(module).__name__} has no attribute `{name}`")
            module = getattr(module, name)
            if not isinstance(module, Module):
                raise AttributeError(f"`{name}` is not an nn.Module")
        return module

    def set_submodule(self, target, module, strict=False):
        """Puts a module in the place of a dotted name."""
        if not target:
            raise ValueError("Cannot set the submodule without a target name!")
        path, _, name = target.rpartition(".")
        parent = self.get_submodule(path)
        if strict and not hasattr(parent, name):
            raise AttributeError(f"{type(parent).__name__} has no attribute `{name}`")
        setattr(parent, name, module)

    def _get_tensor(self, target, registry, kind):
        path, _, name = target.rpartition(".")
        module = self.get_submodule(path)
        if not hasattr(module, name):
            raise AttributeError(f"{type(module).__name__} has no attribute `{name}`")
        if name not in module.__dict__[registry]:
            raise AttributeError(f"`{name}` is not {kind}")
        return module.__dict__[registry][name]

    def get_parameter(self, target):
        """The parameter of a dotted name."""
        return self._get_tensor(target, "_parameters", "an nn.Parameter")

    def get_buffer(self, target):
        """The buffer of a dotted name."""
        return self._get_tensor(target, "_buffers", "a buffer")

    def apply(self, fn):
        """fn(module) on all below this one and then on itself."""
        for module in self.children():
            module.apply(fn)
        fn(self)
        return self

    # ---- changing all of it ----

    def _apply(self, fn, recurse=True):
        """fn on every parameter, gradient and buffer; parameters stay the objects they are."""
        if recurse:
            for module in self.children():
                module._apply(fn)
        with no_grad():
            for parameter in self._parameters.values():
                if parameter is None:
                    continue
                gradient = parameter.grad
                changed = fn(parameter)
                if changed is not parameter:
                    if gradient is not None:
                        parameter.grad = None
                    parameter.data = changed.detach()
                if gradient is not None:
                    parameter.grad = fn(gradient)
            for name, buffer in self._buffers.items():
                if buffer is not None:
                    self._buffers[name] = fn(buffer)
        return self

    def to(self, *args, **kwargs):
        """Floating parameters and buffers to a dtype, all to a device (the CPU).
        https://pytorch.org/docs/stable/generated/torch.nn.Module.html#torch.nn.Module.to"""
        dtypes = [each for each in (*args, kwargs.get("dtype")) if isinstance(each, dtype_type)]
        if dtypes and not (dtypes[0].is_floating_point or dtypes[0].is_complex):
            raise TypeError(f"nn.Module.to only accepts floating point or complex dtypes, but got desired dtype={dtypes[0]}")
        rest_args = [each for each in args if not isinstance(each, dtype_type)]
        rest = {key: value for key, value in kwargs.items() if key != "dtype"}

        def convert(tensor):
            takes_dtype = tensor.is_floating_point() or tensor.is_complex()
            if args or kwargs:
                return tensor.to(*args, **kwargs) if takes_dtype or not dtypes else tensor.to(*rest_args, **rest) if rest_args or rest else tensor
            return tensor
        return self._apply(convert)

    def type(self, dst_type):
        """All parameters and buffers to a dtype."""
        return self._apply(lambda tensor: tensor.type(dst_type))

    def _to_float(self, dtype):
        return self._apply(lambda tensor: tensor.to(dtype) if tensor.is_floating_point() else tensor)

    def float(self):
        """Floating parameters and buffers to float32."""
        return self._to_float(float32)

    def double(self):
        """Floating parameters and buffers to float64."""
        return self._to_float(float64)

    def half(self):
        """Floating parameters and buffers to float16."""
        return self._to_float(float16)

    def bfloat16(self):
        """Floating parameters and buffers to bfloat16."""
        return self._to_float(bfloat16)

    def cpu(self):
        """The module itself: it lives on the CPU."""
        return self._apply(lambda tensor: tensor.cpu())

    def cuda(self, device=None):
        """RuntimeError: there is no CUDA device."""
        return self._apply(lambda tensor: tensor.cuda(device))

    def to_empty(self, *, device, recurse=True):
        """New parameters and buffers without values."""
        return self._apply(lambda tensor: tensor.new_empty(tensor.shape, device=device), recurse)

    def share_memory(self):
        """The module itself: memory is of one process."""
        return self._apply(lambda tensor: tensor.share_memory_())

    def train(self, mode=True):
        """Sets training mode here and below: what dropout and batch norm ask for."""
        if not isinstance(mode, bool):
            raise ValueError("training mode is expected to be boolean")
        self.training = mode
        for module in self.children():
            module.train(mode)
        return self

    def eval(self):
        """train(False)."""
        return self.train(False)

    def requires_grad_(self, requires_grad=True):
        """Sets requires_grad of all parameters."""
        for parameter in self.parameters():
            parameter.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none=True):
        """Forgets the gradients of all parameters, or makes them zero."""
        for parameter in self.parameters():
            if parameter.grad is None:
                continue
            if set_to_none:
                parameter.grad = None
            else:
                parameter.grad = parameter.grad.detach().zero_()

    def compile(self, *args, **kwargs):
        """Calls go through braze.compile from now on."""
        from ... import compile
        object.__setattr__(self, "forward", compile(self.forward, *args, **kwargs))

    # ---- printing ----

    def _get_name(self):
        return type(self).__name__

    def extra_repr(self):
        """What repr prints in the brackets: for subclasses."""
        return ""

    def __repr__(self):
        extra = self.extra_repr()
        lines = extra.split("\n") if extra else []
        children = [f"({name}): {_indent(repr(module))}" for name, module in self._modules.items()]
        if len(lines) == 1 and not children:
            return f"{self._get_name()}({extra})"
        inside = "".join(f"\n  {line}" for line in itertools.chain(lines, children))
        return f"{self._get_name()}({inside}\n)" if inside else f"{self._get_name()}()"
