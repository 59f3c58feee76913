"""What a function that is traced for a training step depends on beside its tensors, and whether that is still as it was.

A trace holds for as long as everything that the function read from Python is unchanged: numbers and flags in globals, closures, modules and
other objects, the parameters that a module has, the settings of an optimizer that no update reads. Watch finds all of it before the function
runs, by walking from the function over what its code names; while it runs, any code that was not found so is refused, and what it changes is
put back and refused afterwards. So a function that cannot be watched as a whole is never traced. Checking at a call is C++ (compile.cpp)."""
import builtins
import collections
import dis
import enum
import functools
import os
import sys
import types

from . import _braze
from ._braze import Tensor

_package = os.path.dirname(__file__) + os.sep
_missing = _braze.watch_missing
_most = 50_000  # objects

# Whose functions do nothing but compute.
_pure = {"builtins", "math", "operator", "functools", "itertools", "collections", "typing", "contextlib", "dataclasses", "enum", "abc", "numbers",
         "types", "copy", "_operator", "_functools", "_collections", "_abc"}
_builtins = {getattr(builtins, name) for name in (
    "abs all any bool bytes callable chr complex delattr dict divmod enumerate filter float format frozenset getattr hasattr hash int isinstance "
    "issubclass iter len list map max min next object ord pow property range repr reversed round set setattr slice sorted staticmethod "
    "classmethod str sum super tuple type zip NotImplemented Ellipsis __build_class__").split()}
_stdlib = getattr(sys, "stdlib_module_names", frozenset())  # of Python 3.10 and later; without it what runs of the library is refused
_descriptors = (types.GetSetDescriptorType, types.MemberDescriptorType, type(collections.namedtuple("_Pair", "a").a))
_values = (type(None), bool, int, float, complex, str, bytes, range, slice, type(...), type(NotImplemented))
# Whose values never change, or are watched by C++.
_own_types = {value for value in vars(_braze).values() if isinstance(value, type)} | {type(_braze._functions[""]["eval"])}
# Of classes, what Python keeps for itself.
_machinery = set("_abc_impl __module__ __dict__ __weakref__ __doc__ __qualname__ __annotations__ __annotate__ __parameters__ __orig_bases__ __slots__ "
                 "__abstractmethods__ __hash__ __firstlineno__ __static_attributes__ __dataclass_fields__ __dataclass_params__ __match_args__".split())
# Of braze: they change what is no object of the function's, or read settings that no trace holds.
_of_the_process = {"set_default_dtype", "set_default_device", "set_default_tensor_type", "set_num_threads", "get_num_threads", "set_printoptions"}
_reads_settings = {"state_dict", "__repr__", "__getstate__", "__setstate__", "load_state_dict", "add_param_group"}
# What stands for all that a trace does not see: settings that an update reads anew at each call, a namespace taken as a whole.
_unseen = {"param_groups", "__dict__", "__globals__", "__closure__"}


def _root(name):
    return name.partition(".")[0] if isinstance(name, str) else ""


def _trusted_module(name):
    return _root(name) in _pure or _root(name) in ("braze", "torch")


def _standard(name):
    return _trusted_module(name) or _root(name) in _stdlib and name != "__main__"


def _trusted_code(code):
    return code.co_filename.startswith(_package)


def _shown(value):
    return getattr(value, "__qualname__", None) or type(value).__qualname__


class _Unwatchable(Exception):
    """Says what a trace cannot answer for."""


class Watch:
    """What `roots` depend on, walked at once. `problem` says what cannot be watched, `trains` whether a tensor that requires grad was met."""

    def __init__(self, *roots):
        self.problem, self.trains = None, False
        self._dicts, self._sizes, self._lists, self._sets, self._cells = [], [], [], [], []
        self._settings = []  # of optimizers, which updates read at each call
        self._seen, self._known, self._open = {}, set(), list(roots)
        self._states = set()  # tensors of optimizers, whose updates may replace their memory
        self._methods = {}  # by their code: walked when one is called, before it runs
        from .nn.modules import hooks
        self._open += [hooks.global_forward, hooks.global_forward_pre, hooks.global_backward]
        self._find()

    # ---- finding ----

    def _find(self):
        """Goes on past what cannot be watched: whether something is trained is to be known before the function runs."""
        while self._open:
            if len(self._seen) > _most:
                self.problem = self.problem or f"more than {_most:,} objects belong to it"
                break
            try:
                self._walk(self._open.pop())
            except _Unwatchable as e:
                self.problem = self.problem or str(e)

    def _walk(self, value):
        if isinstance(value, enum.Enum) or (isinstance(value, _values) and not hasattr(value, "__dict__")) or id(value) in self._seen:
            return
        self._seen[id(value)] = value
        if isinstance(value, Tensor):
            self.trains = self.trains or _braze.is_trained(value)
            self._dict(value.__dict__)
        elif isinstance(value, types.FunctionType):
            self._function(value)
        elif isinstance(value, types.MethodType):
            self._open += [value.__self__, value.__func__]
        elif isinstance(value, functools.partial):
            self._attributes(value, "func", "args")
            self._dict(value.keywords)
            self._dict(value.__dict__)
        elif isinstance(value, (staticmethod, classmethod)):
            self._open.append(value.__func__)
        elif isinstance(value, property):
            self._open += [value.fget, value.fset, value.fdel]
        elif isinstance(value, (types.BuiltinFunctionType, types.MethodWrapperType)):
            self._builtin(value)
        elif isinstance(value, type):
            self._class(value)
        elif isinstance(value, types.ModuleType):
            if not _trusted_module(value.__name__):
                raise _Unwatchable(f"it takes the module {value.__name__} as a value")
        else:
            self._object(value)

    def _builtin(self, value):
        owner = getattr(value, "__self__", None)
        if value in _builtins or (isinstance(owner, types.ModuleType) and _trusted_module(owner.__name__)):
            return
        if owner is None or isinstance(owner, types.ModuleType):
            raise _Unwatchable(f"it uses {getattr(value, '__module__', '')}.{_shown(value)}()")
        self._open.append(owner)

    def _attributes(self, value, *names):
        for name in names:
            self._dicts.append((value, name, getattr(value, name)))
            self._open.append(getattr(value, name))

    def _function(self, function):
        for cell in function.__closure__ or ():
            try:
                self._cells.append((cell, cell.cell_contents))
                self._open.append(cell.cell_contents)
            except ValueError:  # empty as yet
                raise _Unwatchable(f"a variable of {function.__qualname__} has no value yet") from None
        if _trusted_code(function.__code__):
            if hasattr(function, "__wrapped__"):
                self._open.append(function.__wrapped__)
            self._known.add(function.__code__)
        elif not _standard(function.__module__):  # whose code is refused when it runs, where it is not pure
            self._attributes(function, "__defaults__")
            self._dicts += [(function, "__kwdefaults__", function.__kwdefaults__), (function, "__code__", function.__code__)]
            if function.__kwdefaults__ is not None:
                self._dict(function.__kwdefaults__)
            self._dict(function.__dict__)
            self._code(function.__code__, function.__globals__)

    def _code(self, code, names):
        """What the code names: values of globals, and of modules' attributes."""
        self._known.add(code)
        module = None  # the last instruction loaded it
        for step in dis.get_instructions(code):
            if step.opname in ("LOAD_GLOBAL", "LOAD_NAME", "STORE_GLOBAL", "DELETE_GLOBAL"):
                module = self._name(names, step.argval)
            elif step.opname in ("LOAD_ATTR", "LOAD_METHOD", "STORE_ATTR"):
                if step.argval in _unseen or step.argval in _of_the_process:
                    raise _Unwatchable(f"{code.co_name} asks for {step.argval}")
                # A derivative of what the function makes itself is one, too.
                self.trains = self.trains or step.argval in ("backward", "requires_grad_")
                module = self._name(vars(module), step.argval) if module is not None else None
            elif step.opname == "IMPORT_NAME" and not _trusted_module(step.argval):
                raise _Unwatchable(f"{code.co_name} imports {step.argval}")
            elif step.opname not in ("PUSH_NULL", "PRECALL", "CACHE", "EXTENDED_ARG"):
                if module is not None:
                    self._open.append(module)
                module = None
        for constant in code.co_consts:
            if isinstance(constant, types.CodeType):
                self._code(constant, names)
            elif isinstance(constant, str) and constant in _unseen:
                raise _Unwatchable(f"{code.co_name} asks for {constant}")

    def _name(self, names, name):
        """The value by that name is watched; a module of the user's own is returned, of which only what is named counts."""
        value = names.get(name, _missing)
        self._dicts.append((names, name, value))
        if value is _missing:
            value = getattr(builtins, name, None)
            if isinstance(value, types.BuiltinFunctionType) and value not in _builtins:
                raise _Unwatchable(f"it uses {name}()")
        if isinstance(value, types.ModuleType) and not _trusted_module(value.__name__):
            file = getattr(value, "__file__", None) or ""
            if not file.endswith(".py") or file.startswith(os.path.dirname(os.__file__)):
                raise _Unwatchable(f"it uses the module {value.__name__}")
            return value
        self._open.append(value)
        return None

    def _class(self, cls):
        if _standard(cls.__module__):
            return
        for each in cls.__mro__:
            if _trusted_module(each.__module__):
                continue
            if _standard(each.__module__) or not each.__flags__ & (1 << 9):  # written in C
                raise _Unwatchable(f"it uses {each.__module__}.{each.__qualname__}")
            if each.__dict__.get("__slots__"):
                raise _Unwatchable(f"{each.__qualname__} has slots")
            self._sizes.append((each, len(each.__dict__)))
            if type(each) is not type:
                self._open.append(type(each))
            for name, value in each.__dict__.items():
                if name in _machinery or isinstance(value, _descriptors):
                    continue
                self._dicts.append((each, name, value))
                for part in (value.fget, value.fset, value.fdel) if isinstance(value, property) else (getattr(value, "__func__", value),):
                    if isinstance(part, types.FunctionType):
                        self._methods.setdefault(part.__code__, []).append(part)
                    else:
                        self._open.append(part)

    def _object(self, value):
        from .optim import Optimizer
        cls = type(value)
        if isinstance(value, Optimizer):
            self._optimizer(value)
        elif isinstance(value, dict):
            self._dict(value)
        elif isinstance(value, list):
            self._list(value)
        elif isinstance(value, tuple):
            self._open += value
        elif isinstance(value, (set, frozenset)):
            if not all(isinstance(each, _values) for each in value):
                raise _Unwatchable("it uses a set of objects")
            self._sets.append((value, frozenset(value)))
        elif cls in _own_types or cls is object:
            return
        elif _root(cls.__module__) in ("typing", "enum", "operator") or (cls.__module__, cls.__name__) == ("argparse", "Namespace"):
            pass
        elif _root(cls.__module__) != "braze" and (not hasattr(value, "__dict__") or _standard(cls.__module__)) and cls is not types.SimpleNamespace:
            raise _Unwatchable(f"it uses a {cls.__module__}.{cls.__qualname__}")
        self._open.append(cls)
        if cls.__module__ != "builtins" and not _trusted_module(cls.__module__):
            self._dicts.append((value, "__class__", cls))
        own = getattr(value, "__dict__", None)
        if type(own) is dict and not isinstance(value, Optimizer):
            self._dict(own)

    def _dict(self, value):
        self._sizes.append((value, tuple(value)))
        for key, each in value.items():
            self._dicts.append((value, key, each))
            self._open += [key, each]

    def _list(self, value):
        self._lists.append((value, list(value)))
        self._open += value

    def _optimizer(self, optimizer):
        own = vars(optimizer)
        self._states.update(id(each) for state in optimizer.state.values() if isinstance(state, dict) for each in state.values())
        for name, value in own.items():
            if name == "_stepped":
                continue
            self._dicts.append((own, name, value))
            if name != "param_groups":
                self._open.append(value)
        self._lists.append((optimizer.param_groups, list(optimizer.param_groups)))
        for group in optimizer.param_groups:
            self._sizes.append((group, tuple(group)))
            for name, value in group.items():
                number = isinstance(value, _values) or (isinstance(value, tuple) and all(isinstance(each, _values) for each in value))
                (self._settings if number else self._dicts).append((group, name, value))
                if not number:
                    self._open.append(value)

    # ---- while it is traced ----

    def record(self, function):
        """Calls the function while it is traced; what it returns, or None where it was refused."""
        tracked = _braze.is_grad_enabled()
        try:
            return self._record(function, tracked)
        finally:
            if _braze.is_grad_enabled() != tracked:
                _braze.set_grad_enabled(tracked)
                _braze.note_refusal("it changes the grad mode")

    def _record(self, function, tracked):
        if not (self.trains and tracked):
            return self._record_alone(function)
        _braze.expect_derivatives()
        if self.problem:
            _braze.note_refusal(self.problem)
            return None
        return self._record_watched(function)

    def _record_alone(self, function):
        """A function that trains nothing that was found: the trace holds while modules are in training or evaluation as they are."""
        from .nn import Module
        flags = [(vars(each), "training", each.training) for each in self._seen.values() if isinstance(each, Module) and "training" in vars(each)]
        if flags:
            _braze.guard_trace(_braze.Watch(flags, [], [], [], []))
        try:
            result = function()
        except BaseException:
            if _braze.trace_is_refused():
                return None
            raise
        if _braze.trace_has_derivatives():
            _braze.note_refusal(self.problem or "it trains what was not found before")
            return None
        return result

    def _record_watched(self, function):
        for value in self._seen.values():
            if isinstance(value, Tensor) and id(value) not in self._states:
                _braze.see_tensor(value)
        before = sys.getprofile()
        sys.setprofile(self._profile)
        try:
            result = function()
        except Exception as e:
            sys.setprofile(before)
            self._put_back()
            if not _braze.trace_is_refused():
                _braze.note_refusal(f"it raises {type(e).__name__}", for_now=True)  # and does again, with all that it does before
            return None
        except BaseException:
            sys.setprofile(before)
            self._put_back()
            raise
        sys.setprofile(before)
        changed = self._put_back()
        if changed:
            _braze.note_refusal(f"it changes {changed}")
            return None
        _braze.guard_trace(_braze.Watch(self._dicts, self._sizes, self._lists, self._sets, self._cells))
        return result

    def _profile(self, frame, event, argument):
        code = frame.f_code
        if event == "call" and _trusted_code(code) and (code.co_name in _reads_settings and "optim" in code.co_filename
                                                        or "lr_scheduler" in code.co_filename):
            _braze.refuse_trace(f"it calls {code.co_name}() of an optimizer or a scheduler")
        if event not in ("call", "c_call") or _trusted_code(code) or _trusted_module(frame.f_globals.get("__name__")):
            return
        if event == "call":
            self._open += self._methods.pop(code, ())
            self._find()
            if self.problem:
                _braze.refuse_trace(self.problem)
            if code in self._known:
                return
            _braze.refuse_trace(f"it calls {getattr(code, 'co_qualname', code.co_name)}, which is not known before")
        else:
            module = getattr(argument, "__module__", None)
            if module is not None and not _trusted_module(module) and module != "_braze":
                _braze.refuse_trace(f"it calls {module}.{argument.__qualname__}()")

    def _put_back(self):
        """What was changed is as before; what it was, or None."""
        changed = None
        for cell, value in self._cells:
            if cell.cell_contents is not value:
                cell.cell_contents, changed = value, "a variable of an enclosing function"
        for value, items in self._lists:
            if len(value) != len(items) or any(a is not b for a, b in zip(value, items)):
                value[:], changed = items, "a list"
        for value, items in self._sets:
            if value != items:
                value.clear()
                value.update(items)
                changed = "a set"
        for names, name, value in self._dicts + self._settings:
            if isinstance(names, type):
                if names.__dict__.get(name, _missing) is not value:
                    setattr(names, name, value)
                    changed = f"{names.__qualname__}.{name}"
            elif not isinstance(names, dict):
                if getattr(names, name, _missing) is not value:
                    setattr(names, name, value)
                    changed = name
            elif names.get(name, _missing) is not value:
                changed = f"'{name}'" if isinstance(name, str) else "a dict"
                if value is _missing:
                    del names[name]
                else:
                    names[name] = value
        for value, keys in self._sizes:
            if isinstance(value, type):
                changed = changed if len(value.__dict__) == keys else f"attributes of {value.__qualname__}"
            elif len(value) != len(keys):
                known = {name for names, name, _ in self._dicts + self._settings if names is value}
                for name in [name for name in value if name not in known]:
                    changed = f"'{name}'" if isinstance(name, str) else "a dict"
                    del value[name]
            if not isinstance(value, type) and tuple(value) != keys:
                items = [(key, value[key]) for key in keys]
                value.clear()
                value.update(items)
                changed = changed or "the order of a dict"
        return changed
