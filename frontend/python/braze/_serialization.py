"""save and load in PyTorch's container, and pickling.

The container is C++'s (frontend/serialization/container.h). What Python pickles may be of any class, so that Python's own pickle writes and
reads it here; PyTorch's names for what tensors need are below. A pickle names functions to call; load knows the few that tensors need and
refuses everything else without importing it.
"""
import collections
import io
import os
import pickle
import struct
import types

from . import _braze
from ._braze import Generator, Size, Tensor
from ._storage import TypedStorage, UntypedStorage
from ._types import device, layout, strided

_storage_dtypes = _braze.storage_classes()  # "FloatStorage" and the like
_storage_names = {dtype: name for name, dtype in _storage_dtypes.items()}


# ---- pickling ----

def rebuild(data, dtype, sizes, strides, offset, requires_grad, cls=Tensor, attributes=None):
    """What an ordinary pickle of a tensor calls."""
    tensor = _braze.from_bytes(data, dtype).as_strided(sizes, strides, offset)
    return _rebuild_from_type_v2(lambda: tensor.requires_grad_() if requires_grad else tensor, cls, (), attributes)


def conjugated(tensor):
    """What an ordinary pickle of a conjugated view calls."""
    return tensor.conj()


def _attributes(tensor):
    return {name: value for name, value in tensor.__dict__.items() if name != "_requires_grad"}


def _whole(tensor):
    return tensor.detach().as_strided((_braze.storage_bytes(tensor) // tensor.element_size(),), (1,), 0)


def reduce_tensor(tensor):
    """A tensor in an ordinary pickle: as in PyTorch its whole storage, and no sharing between tensors."""
    if tensor.is_conj():
        return conjugated, (tensor.conj(),)
    arguments = (_braze.to_bytes(_whole(tensor)), tensor.dtype, tuple(tensor.shape), tensor.stride(), tensor.storage_offset(),
                 tensor.requires_grad)
    attributes = _attributes(tensor)
    if type(tensor) is not Tensor or attributes:
        arguments += (type(tensor), attributes)
    return rebuild, arguments


# ---- what a container's pickle may call: PyTorch's names and their meaning ----

def _rebuild_tensor_v2(storage, offset, sizes, strides, requires_grad=False, hooks=None, metadata=None):
    tensor = storage._elements.as_strided(sizes, strides, offset)
    if metadata and metadata.get("conj"):
        tensor = tensor.conj()
    return tensor.requires_grad_() if requires_grad else tensor


def _rebuild_parameter(data, requires_grad, hooks=None):
    """A Parameter, or a plain tensor as long as there are no modules."""
    from . import nn
    kind = getattr(nn, "Parameter", None)
    return kind(data, requires_grad) if kind else data.requires_grad_(requires_grad)


def _rebuild_from_type_v2(function, cls, arguments, attributes):
    tensor = function(*arguments)
    if type(tensor) is not cls:
        if not isinstance(cls, type) or not issubclass(cls, Tensor):
            raise pickle.UnpicklingError(f"{cls!r} is no class of tensors")
        requires_grad = tensor.requires_grad
        tensor = _braze.make_subclass(cls, tensor)
        if requires_grad:
            tensor.requires_grad_()
    if attributes:
        tensor.__dict__.update(attributes)
    return tensor


def _get_layout(name):
    if name not in ("torch.strided", "braze.strided"):
        raise pickle.UnpicklingError(f"tensors are strided here, not {name}")
    return strided


def _encode(text, encoding):
    """What pickles of protocol 2 call for bytes."""
    if not isinstance(text, str) or encoding not in ("latin1", "latin-1"):
        raise pickle.UnpicklingError("_codecs.encode is allowed for bytes alone")
    return text.encode("latin1")


def _is_safe(module, name):
    return module != "torch._C"


_known = {("torch._utils", "_rebuild_tensor_v2"): _rebuild_tensor_v2, ("torch._utils", "_rebuild_tensor"): _rebuild_tensor_v2,
          ("torch._utils", "_rebuild_parameter"): _rebuild_parameter, ("torch._tensor", "_rebuild_from_type_v2"): _rebuild_from_type_v2,
          ("torch", "Size"): Size, ("torch", "Tensor"): Tensor, ("torch", "device"): device,
          ("torch.serialization", "_get_layout"): _get_layout, ("torch._C", "Generator"): Generator,
          ("collections", "OrderedDict"): collections.OrderedDict, ("collections", "Counter"): collections.Counter,
          **{(module, name): getattr(__import__("builtins"), name) for module in ("builtins", "__builtin__")
             for name in ("bytearray", "complex", "set")},
          ("_codecs", "encode"): _encode,
          **{("torch", repr(dtype).partition(".")[2]): dtype for dtype in _storage_names}}
_names = {id(value): place for place, value in reversed(_known.items()) if place[0].startswith("torch")}


# ---- writing ----

class _StorageName:
    """Stands for torch.FloatStorage and the like: written by its name."""

    def __init__(self, name):
        self.name = name


class _Writer(pickle._Pickler):
    """Writes PyTorch's names for what is ours, and storages by persistent ids."""
    dispatch = dict(pickle._Pickler.dispatch)

    def __init__(self, file, protocol):
        super().__init__(file, protocol)
        self.storages = _braze.Storages()

    def write_name(self, module, name):
        if self.proto >= 4:
            self.save(module)
            self.save(name)
            self.write(pickle.STACK_GLOBAL)
        else:
            self.write(pickle.GLOBAL + f"{module}\n{name}\n".encode())

    def save_global(self, obj, name=None):
        place = _names.get(id(obj))
        if place is None:
            name = name or getattr(obj, "__qualname__", None) or obj.__name__
            module = pickle.whichmodule(obj, name)
            if module.partition(".")[0] != "braze":
                return super().save_global(obj, name)
            place = "torch" + module[len("braze"):], name
        self.write_name(*place)
        self.memoize(obj)

    dispatch[types.FunctionType] = save_global
    dispatch[_StorageName] = lambda self, obj: self.write_name("torch", obj.name)

    def persistent_id(self, obj):
        if isinstance(obj, UntypedStorage):
            elements = obj._elements.view(_braze.uint8)
            return "storage", _StorageName("UntypedStorage"), self.storages.key_of(elements), "cpu", elements.numel()
        if isinstance(obj, TypedStorage):
            elements = obj._elements
            return "storage", _StorageName(_storage_names[elements.dtype]), self.storages.key_of(elements), "cpu", elements.numel()
        return None

    def reducer_override(self, obj):
        if isinstance(obj, Tensor):
            return self.reduce_tensor(obj)
        if isinstance(obj, Size):
            return Size, (tuple(obj),)
        if isinstance(obj, layout):
            return _get_layout, ("torch." + repr(obj).partition(".")[2],)
        return NotImplemented

    def reduce_tensor(self, tensor):
        is_parameter = type(tensor).__name__ == "Parameter"
        arguments = (TypedStorage(tensor), tensor.storage_offset(), tuple(tensor.shape), tuple(tensor.stride()),
                     tensor.requires_grad and not is_parameter, collections.OrderedDict())
        if tensor.is_conj():
            arguments += ({"conj": True},)
        if is_parameter:
            return _rebuild_parameter, (_Reduced(_rebuild_tensor_v2, arguments), tensor.requires_grad, collections.OrderedDict())
        attributes = _attributes(tensor)
        if type(tensor) is not Tensor or attributes:
            return _rebuild_from_type_v2, (_rebuild_tensor_v2, type(tensor), arguments, attributes)
        return _rebuild_tensor_v2, arguments


class _Reduced:
    def __init__(self, function, arguments):
        self.function, self.arguments = function, arguments

    def __reduce__(self):
        return self.function, self.arguments


def save(obj, f, pickle_module=None, pickle_protocol=2, _use_new_zipfile_serialization=True):
    """Writes `obj`, tensors and nests of them, to a path or a file. https://pytorch.org/docs/stable/generated/torch.save.html"""
    data = io.BytesIO()
    writer = _Writer(data, pickle_protocol)
    if isinstance(f, (str, os.PathLike)):
        folder = os.path.dirname(os.fspath(f))
        if folder and not os.path.isdir(folder):
            raise RuntimeError(f"Parent directory {folder} does not exist.")
        writer.dump(obj)  # first: a failure leaves no file
        writer.storages.evaluate()
        with open(f, "wb") as file:
            writer.storages.write(file, _braze.container_folder(os.fspath(f)), data.getvalue())
    else:
        if not hasattr(f, "write"):
            raise AttributeError("expected 'f' to be string, path, or a file-like object with a 'write' attribute")
        writer.dump(obj)
        writer.storages.write(f, "archive", data.getvalue())


# ---- reading ----

_added_globals = {}


def add_safe_globals(safe_globals):
    """Classes and functions that load may meet in a file; (item, name) where a file spells one otherwise."""
    for item in safe_globals:
        item, name = item if isinstance(item, tuple) else (item, f"{item.__module__}.{item.__qualname__}")
        _added_globals[tuple(name.rsplit(".", 1))] = item


def _find_storage(container, pid):
    if not isinstance(pid, tuple) or len(pid) != 5 or pid[0] != "storage" or not isinstance(pid[4], int) or not isinstance(pid[2], str):
        raise pickle.UnpicklingError(f"an unknown persistent id: {pid!r}")
    _, kind, key, _, count = pid
    if not isinstance(kind, _StorageClass):
        raise pickle.UnpicklingError(f"an unknown class of storages: {kind!r}")
    return TypedStorage(container.storage(key, kind.dtype, count))


class _StorageClass:
    """torch.FloatStorage and the like in a file."""

    def __init__(self, dtype):
        self.dtype = dtype


_storage_classes = {("torch", name): _StorageClass(dtype) for name, dtype in (*_storage_dtypes.items(), ("UntypedStorage", _braze.uint8))}
_storage_classes["torch.storage", "UntypedStorage"] = _storage_classes["torch", "UntypedStorage"]


class _AnyReader(pickle.Unpickler):
    """weights_only=False: whatever the pickle names is imported and called."""

    def __init__(self, container, **keywords):
        super().__init__(io.BytesIO(container.pickle()), **keywords)
        self.persistent_load = lambda pid: _find_storage(container, pid)

    def find_class(self, module, name):
        for table in (_known, _storage_classes, _added_globals):
            if (module, name) in table:
                return table[module, name]
        if module.partition(".")[0] == "torch":
            module = "braze" + module[len("torch"):]
        return super().find_class(module, name)


class _SafeReader(pickle._Unpickler):
    """weights_only=True: names are looked up in the tables and never imported; only what they list is called, and no attribute is set on
    anything else. Python's own unpickler would set attributes on whatever lies on its stack, so its opcodes are checked one by one."""
    dispatch = {code: function for code, function in pickle._Unpickler.dispatch.items()
                if bytes([code]) not in (pickle.INST, pickle.OBJ, pickle.EXT1, pickle.EXT2, pickle.EXT4, pickle.NEWOBJ_EX, pickle.PERSID)}

    def __init__(self, container, **keywords):
        super().__init__(io.BytesIO(container.pickle()), **keywords)
        self.persistent_load = lambda pid: _find_storage(container, pid)
        self.safe = {id(value) for place, value in _known.items() if _is_safe(*place)}
        self.added = {id(value) for value in _added_globals.values()}

    def find_class(self, module, name):
        if (module, name) in _known and _is_safe(module, name):
            return _known[module, name]
        for table in (_storage_classes, _added_globals):
            if (module, name) in table:
                return table[module, name]
        raise pickle.UnpicklingError(
            f"Weights only load failed. Unsupported global: GLOBAL {module}.{name} was not an allowed global by default. Please use "
            f"`braze.serialization.add_safe_globals([{name}])` to allowlist this global if you trust this class/function.")

    def _check(self, what, allowed):
        if id(what) not in allowed:
            raise pickle.UnpicklingError(f"Weights only load failed. Trying to call {what!r}, which is not allowed")

    def load_reduce(self):
        self._check(self.stack[-2], self.safe | self.added)
        pickle._Unpickler.load_reduce(self)

    def load_newobj(self):
        self._check(self.stack[-2], self.added)
        pickle._Unpickler.load_newobj(self)

    def load_build(self):
        if type(self.stack[-2]) is collections.OrderedDict:
            state = self.stack.pop()
            self.stack[-1].__dict__.update(state)
            return
        self._check(type(self.stack[-2]), self.added)
        pickle._Unpickler.load_build(self)

    dispatch[pickle.REDUCE[0]], dispatch[pickle.NEWOBJ[0]], dispatch[pickle.BUILD[0]] = load_reduce, load_newobj, load_build


def load(f, map_location=None, pickle_module=None, *, weights_only=True, mmap=None, **pickle_load_args):
    """Reads what save (or torch.save) wrote. Unknown globals are refused and never executed; weights_only=False allows them.
    https://pytorch.org/docs/stable/generated/torch.load.html"""
    if map_location is not None and not callable(map_location):
        for target in map_location.values() if isinstance(map_location, dict) else (map_location,):
            device(target)._require_supported()
    if isinstance(f, (str, os.PathLike)):
        with open(f, "rb") as file:
            return _read(file, weights_only, pickle_load_args)
    if mmap:
        raise ValueError("f must be a string filename in order to use mmap argument")
    if not hasattr(f, "read") or not hasattr(f, "seek"):
        raise AttributeError("expected 'f' to be string, path, or a file-like object with 'read' and 'seek' attributes")
    return _read(f, weights_only, pickle_load_args)


def _read(file, weights_only, keywords):
    head = file.read(4)
    if not head:
        raise EOFError("Ran out of input")
    if head != b"PK\3\4":
        raise pickle.UnpicklingError("Weights only load failed: this is not a file that save writes: a zip container is expected (files of "
                                     "PyTorch before 1.6 are not read)")
    file.seek(-4, os.SEEK_CUR)
    container = _braze.Container(file)
    if not weights_only:
        return _AnyReader(container, **keywords).load()
    reader = _SafeReader(container, **keywords)
    try:
        return reader.load()
    except (ArithmeticError, AttributeError, EOFError, LookupError, RecursionError, TypeError, ValueError, struct.error) as error:
        raise pickle.UnpicklingError(f"Weights only load failed: {type(error).__name__}: {error}") from error
