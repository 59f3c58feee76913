"""save and load in PyTorch's zip container, and pickling.

The container is a zip of stored entries under one folder: data.pkl (the object, tensors by persistent ids), data/<key> (a storage's
bytes), version, byteorder. torch.load(weights_only=True) reads what save writes, and load what torch.save writes. A pickle names
functions to call; load knows the few that tensors need and refuses everything else without importing it.
"""
import collections
import io
import os
import pickle
import struct
import zipfile

from . import _braze
from ._braze import Size, Tensor

_storage_dtypes = {"FloatStorage": "float32", "DoubleStorage": "float64", "HalfStorage": "float16", "BFloat16Storage": "bfloat16",
                   "ByteStorage": "uint8", "CharStorage": "int8", "ShortStorage": "int16", "IntStorage": "int32",
                   "LongStorage": "int64", "BoolStorage": "bool"}
_storage_names = {getattr(_braze, dtype): name for name, dtype in _storage_dtypes.items()}


# ---- pickling ----

def rebuild(data, dtype, sizes, strides, offset, requires_grad, cls=Tensor, attributes=None):
    tensor = _braze.from_bytes(data, dtype).as_strided(sizes, strides, offset)
    if cls is not Tensor:
        tensor = _braze.make_subclass(cls, tensor)
    if requires_grad:
        tensor.requires_grad_()
    if attributes:
        tensor.__dict__.update(attributes)
    return tensor


def reduce_tensor(tensor):
    if tensor.requires_grad and not tensor.is_leaf:
        raise RuntimeError("Only Tensors created explicitly by the user (graph leaves) can be pickled; detach() it first")
    whole = tensor.detach().as_strided((_braze.storage_bytes(tensor) // tensor.element_size(),), (1,), 0)
    arguments = (_braze.to_bytes(whole), tensor.dtype, tuple(tensor.shape), tensor.stride(), tensor.storage_offset(), tensor.requires_grad)
    if type(tensor) is not Tensor or tensor.__dict__:
        arguments += (type(tensor), dict(tensor.__dict__))
    return rebuild, arguments


# ---- writing ----

class _Named:
    """Stands for a global of torch: pickled by the name alone."""

    def __init__(self, module, name):
        self.module, self.name = module, name


class _Writer(pickle._Pickler):
    """PyTorch's names for what is ours: torch._utils._rebuild_tensor_v2, torch.FloatStorage, torch.Size, ..."""
    dispatch = dict(pickle._Pickler.dispatch)

    def __init__(self, file, protocol):
        super().__init__(file, protocol)
        self.storages = {}    # key in the container by identity of the storage
        self.tensors = []     # one tensor a storage, in the order of keys

    def save_named(self, named):
        self.write(pickle.GLOBAL + f"{named.module}\n{named.name}\n".encode())

    dispatch[_Named] = save_named

    def save(self, obj, save_persistent_id=True):
        if isinstance(obj, _StorageId):
            # As Pickler.save_pers: the id is a tuple, then BINPERSID.
            pickle._Pickler.save(self, obj.id, save_persistent_id=False)
            self.write(pickle.BINPERSID)
            return
        pickle._Pickler.save(self, obj, save_persistent_id)

    def reducer_override(self, obj):
        if isinstance(obj, Tensor):
            return self.reduce_tensor(obj)
        if isinstance(obj, Size):
            return _Named("torch", "Size"), (tuple(int(n) for n in obj),)
        if isinstance(obj, _braze.dtype):
            return _Dtype(obj)
        return NotImplemented

    def storage_id(self, tensor):
        key = next((k for k, t in enumerate(self.tensors) if _braze.shares_storage(t, tensor)), None)
        if key is None:
            key = len(self.tensors)
            self.tensors.append(tensor.detach())
        count = _braze.storage_bytes(tensor) // tensor.element_size()
        return _StorageId(("storage", _Named("torch", _storage_names[tensor.dtype]), str(key), "cpu", count))

    def reduce_tensor(self, tensor):
        arguments = (self.storage_id(tensor), tensor.storage_offset(), tuple(tensor.shape), tuple(tensor.stride()), tensor.requires_grad,
                     collections.OrderedDict())
        rebuilt = _Named("torch._utils", "_rebuild_tensor_v2"), arguments
        if type(tensor).__name__ == "Parameter":
            whole = (self.storage_id(tensor), tensor.storage_offset(), tuple(tensor.shape), tuple(tensor.stride()), False,
                     collections.OrderedDict())
            plain = _Reduced(_Named("torch._utils", "_rebuild_tensor_v2"), whole)
            return _Named("torch._utils", "_rebuild_parameter"), (plain, tensor.requires_grad, collections.OrderedDict())
        return rebuilt


class _StorageId:
    def __init__(self, id):
        self.id = id


class _Reduced:
    def __init__(self, function, arguments):
        self.function, self.arguments = function, arguments

    def __reduce__(self):
        return self.function, self.arguments


def _Dtype(dtype):
    return _Named("torch", repr(dtype).partition(".")[2])


def _save_reduce(self, func, args, *rest, **keywords):
    """A reduce whose function is one of torch's globals."""
    if isinstance(func, _Named):
        self.save(func)
        self.save(args)
        self.write(pickle.REDUCE)
        if keywords.get("obj") is not None:
            self.memoize(keywords["obj"])
        return
    pickle._Pickler.save_reduce(self, func, args, *rest, **keywords)


_Writer.save_reduce = _save_reduce


def _save(self, obj, save_persistent_id=True):
    if isinstance(obj, _StorageId):
        pickle._Pickler.save(self, obj.id, False)
        self.write(pickle.BINPERSID)
    elif isinstance(obj, _Named):
        self.save_named(obj)
    elif isinstance(obj, _braze.dtype):
        self.save_named(_Dtype(obj))
    elif isinstance(obj, Tensor) or isinstance(obj, Size):
        known = self.memo.get(id(obj))
        if known is not None:
            self.write(self.get(known[0]))
            return
        function, arguments = self.reducer_override(obj)
        _save_reduce(self, function, arguments, obj=obj)
    else:
        pickle._Pickler.save(self, obj, save_persistent_id)


_Writer.save = _save


def save(obj, f, pickle_module=None, pickle_protocol=2, _use_new_zipfile_serialization=True):
    """Writes `obj`, tensors and nests of them, to a path or a file. https://pytorch.org/docs/stable/generated/torch.save.html"""
    if isinstance(f, (str, os.PathLike)):
        name = os.path.splitext(os.path.basename(os.fspath(f)))[0] or "archive"
        with open(f, "wb") as file:
            _write(obj, file, name, pickle_protocol)
    else:
        if not hasattr(f, "write"):
            raise AttributeError("expected 'f' to be string, path, or a file-like object with a 'write' attribute")
        _write(obj, f, "archive", pickle_protocol)


def _write(obj, file, name, protocol):
    data = io.BytesIO()
    writer = _Writer(data, protocol)
    writer.dump(obj)
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        _entry(archive, f"{name}/data.pkl", data.getvalue())
        _entry(archive, f"{name}/byteorder", b"little")
        for key, tensor in enumerate(writer.tensors):
            whole = tensor.as_strided((_braze.storage_bytes(tensor) // tensor.element_size(),), (1,), 0)
            _entry(archive, f"{name}/data/{key}", _braze.to_bytes(whole))
        _entry(archive, f"{name}/version", b"3\n")
        _entry(archive, f"{name}/.data/serialization_id", b"0" * 40)


def _entry(archive, name, data):
    """Entries start at multiples of 64, so that a reader may map them; the extra field is padding."""
    info = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
    start = archive.fp.tell() + 30 + len(name.encode())
    padding = -(start + 4) % 64
    info.extra = struct.pack("<HH", 0x4246, padding) + b"Z" * padding
    archive.writestr(info, data)


# ---- reading ----

class _Storage:
    """A storage of the container, read when the first tensor asks for it."""

    def __init__(self, read, dtype, count):
        self.read, self.dtype, self.count, self.tensor = read, dtype, count, None

    def whole(self):
        if self.tensor is None:
            data = self.read()
            if len(data) != self.count * self.dtype.itemsize:
                raise RuntimeError(f"a storage of {self.count} elements of {self.dtype} has {len(data)} bytes in the file")
            self.tensor = _braze.from_bytes(data, self.dtype)
        return self.tensor


def _rebuild_tensor(storage, offset, sizes, strides, requires_grad=False, hooks=None, metadata=None):
    tensor = storage.whole().as_strided(sizes, strides, offset)
    return tensor.requires_grad_() if requires_grad else tensor


def _rebuild_parameter(data, requires_grad, hooks=None):
    from .nn import Parameter
    return Parameter(data, requires_grad)


def _safe_globals():
    known = {("torch._utils", "_rebuild_tensor_v2"): _rebuild_tensor, ("torch._utils", "_rebuild_tensor"): _rebuild_tensor,
             ("torch._utils", "_rebuild_parameter"): _rebuild_parameter, ("torch", "Size"): Size,
             ("torch.serialization", "_get_layout"): lambda name: __import__("braze").strided,
             ("torch", "device"): __import__("braze").device, ("collections", "OrderedDict"): collections.OrderedDict,
             ("builtins", "set"): set, ("__builtin__", "set"): set, ("builtins", "complex"): complex, ("collections", "Counter"): collections.Counter,
             ("builtins", "bytearray"): bytearray, ("_codecs", "encode"): _encode}
    for name, dtype in _storage_dtypes.items():
        known["torch", name] = getattr(_braze, dtype)
        known["torch", dtype] = getattr(_braze, dtype)
    return known


def _encode(text, encoding):
    """What old pickles call for bytes."""
    if not isinstance(text, str) or encoding not in ("latin1", "latin-1"):
        raise pickle.UnpicklingError("_codecs.encode is allowed for bytes alone")
    return text.encode("latin1")


_added_globals = {}


def add_safe_globals(safe_globals):
    """Classes and functions that load may meet in a file."""
    for item in safe_globals:
        item, name = item if isinstance(item, tuple) else (item, f"{item.__module__}.{item.__qualname__}")
        _added_globals[tuple(name.rsplit(".", 1))] = item


class _Reader(pickle.Unpickler):
    def __init__(self, file, open_storage, weights_only, **keywords):
        super().__init__(file, **keywords)
        self.known, self.open_storage, self.weights_only, self.storages = _safe_globals(), open_storage, weights_only, {}

    def find_class(self, module, name):
        if (module, name) in self.known:
            return self.known[module, name]
        if (module, name) in _added_globals:
            return _added_globals[module, name]
        if not self.weights_only:
            if module.partition(".")[0] == "torch":
                module = "braze" + module[5:]
            return super().find_class(module, name)
        raise pickle.UnpicklingError(
            f"Weights only load failed. Unsupported global: GLOBAL {module}.{name} was not an allowed global by default. Please use "
            f"`braze.serialization.add_safe_globals([{name}])` to allowlist this global if you trust this class/function.")

    def persistent_load(self, pid):
        if not isinstance(pid, tuple) or len(pid) != 5 or pid[0] != "storage":
            raise pickle.UnpicklingError(f"an unknown persistent id: {pid!r}")
        _, dtype, key, _, count = pid
        if key not in self.storages:
            self.storages[key] = _Storage(lambda: self.open_storage(key), dtype, int(count))
        return self.storages[key]


def load(f, map_location=None, pickle_module=None, *, weights_only=True, mmap=None, **pickle_load_args):
    """Reads what save (or torch.save) wrote. Unknown globals are refused and never executed; weights_only=False allows them.
    https://pytorch.org/docs/stable/generated/torch.load.html"""
    if map_location is not None and not callable(map_location) and not isinstance(map_location, dict):
        from ._types import device
        device(map_location)._require_supported()
    if isinstance(f, (str, os.PathLike)):
        with open(f, "rb") as file:
            return _read(file, weights_only, pickle_load_args)
    return _read(f, weights_only, pickle_load_args)


def _read(file, weights_only, keywords):
    try:
        archive = zipfile.ZipFile(file)
    except zipfile.BadZipFile:
        raise RuntimeError("this is not a file that save writes: a zip container is expected (files of PyTorch before 1.6 are not read)") from None
    with archive:
        names = archive.namelist()
        pickles = [n for n in names if n.endswith("/data.pkl") and n.count("/") == 1]
        if len(pickles) != 1:
            raise RuntimeError("the zip container holds no data.pkl")
        folder = pickles[0][:-len("data.pkl")]
        if folder + "byteorder" in names and archive.read(folder + "byteorder") != b"little":
            raise RuntimeError("the file was written on a big-endian machine, which is not supported")
        present = set(names)

        def open_storage(key):
            name = f"{folder}data/{key}"
            if name not in present:
                raise RuntimeError(f"the file names a storage '{key}' and does not hold it")
            return archive.read(name)
        return _Reader(io.BytesIO(archive.read(pickles[0])), open_storage, weights_only, **keywords).load()
