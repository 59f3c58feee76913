"""Tensors from other libraries' data, and back: NumPy by address, DLPack by capsule."""
import sys
import warnings

from . import _braze
from ._braze import Tensor


def _require_usual(ndarray):
    """What PyTorch demands of an array, even for a copy. Gives its dtype."""
    dtype = _braze.dtype_of_numpy(ndarray.dtype)
    if not ndarray.dtype.isnative:
        raise ValueError("given numpy array has byte order different from the native byte order. Conversion between byte orders is "
                         "currently not supported.")
    for stride in ndarray.strides:
        if stride < 0:
            raise ValueError("At least one stride in the given numpy array is negative, and tensors with negative strides are not "
                             "currently supported. (You can probably work around this by making a copy of your array  with array.copy().) ")
        if stride % ndarray.itemsize:
            raise ValueError("given numpy array strides not a multiple of the element byte size. Copy the numpy array to reallocate the "
                             "memory.")
    return dtype


def from_numpy(ndarray) -> "Tensor":
    """A tensor on a NumPy array's memory: a write through either is seen by both. A read-only array gives a warning, and a tensor that
    refuses writes. https://pytorch.org/docs/stable/generated/torch.from_numpy.html"""
    import numpy
    if not isinstance(ndarray, numpy.ndarray):
        raise TypeError(f"expected np.ndarray (got {type(ndarray).__name__})")
    dtype = _require_usual(ndarray)
    strides, item = ndarray.strides, ndarray.itemsize
    if not ndarray.flags.writeable:
        warnings.warn("The given NumPy array is not writable, and PyTorch does not support non-writable tensors. Braze shares it and "
                      "refuses writes; copy the array to write to the tensor.", UserWarning, stacklevel=2)
    if ndarray.size == 0:
        return _braze._functions[""]["empty"](ndarray.shape, dtype=dtype).as_strided(ndarray.shape, [s // item for s in strides])
    return _braze.import_memory(ndarray.__array_interface__["data"][0], ndarray.shape, tuple(s // item for s in strides), dtype, ndarray,
                                ndarray.flags.writeable)


def array_tensor(ndarray):
    """A copy of an array's values."""
    dtype = _require_usual(ndarray)
    return _braze.from_bytes(ndarray.tobytes(), dtype).reshape(ndarray.shape)


def index_tensor(data):
    """A list or an array among the indices."""
    numpy = sys.modules.get("numpy")
    if numpy is not None and isinstance(data, numpy.ndarray):
        tensor = array_tensor(data)
    elif isinstance(data, (list, tuple)) and data and isinstance(data[0], str):
        raise TypeError("new(): invalid data type 'str'")
    else:
        tensor = _braze._functions[""]["tensor"](data)
    return tensor.long() if tensor.numel() == 0 and tensor.dtype is not _braze.bool else tensor


def as_tensor(data, dtype=None, device=None) -> "Tensor":
    """`data` itself or its memory where that is possible, else a copy. https://pytorch.org/docs/stable/generated/torch.as_tensor.html"""
    if isinstance(data, Tensor):
        return data if dtype is None and device is None else data.to(device=device, dtype=dtype)
    numpy = sys.modules.get("numpy")
    if numpy is not None and isinstance(data, numpy.ndarray):
        tensor = from_numpy(data) if data.flags.writeable else array_tensor(data)
        return tensor if dtype is None and device is None else tensor.to(device=device, dtype=dtype)
    return _braze._functions[""]["tensor"](data, dtype=dtype, device=device)


def asarray(obj, *, dtype=None, device=None, copy=None, requires_grad=False) -> "Tensor":
    """As `as_tensor`; copy=True always copies, copy=False never. https://pytorch.org/docs/stable/generated/torch.asarray.html"""
    if isinstance(obj, Tensor):
        result = obj.to(device=device, dtype=dtype) if dtype is not None or device is not None else obj
        if copy is False and result is not obj:
            raise ValueError("can't alias tensor with a different dtype or device")
        result = obj.clone() if copy and result is obj else result
    elif hasattr(obj, "__dlpack__") and not hasattr(obj, "__array_interface__") and copy is not True:
        result = from_dlpack(obj)
    else:
        result = _braze._functions[""]["tensor"](obj, dtype=dtype, device=device) if copy else as_tensor(obj, dtype, device)
        if copy is False and not hasattr(obj, "__array_interface__"):
            raise ValueError("can't alias arbitrary sequence")
    return result.requires_grad_() if requires_grad else result


def from_dlpack(ext_tensor) -> "Tensor":
    """A tensor on another library's memory. https://pytorch.org/docs/stable/dlpack.html"""
    if hasattr(ext_tensor, "__dlpack__"):
        device = ext_tensor.__dlpack_device__()
        if int(device[0]) != 1:
            raise BufferError(f"braze's tensors live on the CPU; the object is on device {tuple(device)}")
        ext_tensor = ext_tensor.__dlpack__()
    return _braze.from_dlpack_capsule(ext_tensor)


def frombuffer(buffer, *, dtype, count=-1, offset=0, requires_grad=False) -> "Tensor":
    """A one-dimensional tensor on the memory of an object with a buffer."""
    try:
        view = memoryview(buffer).cast("B")
    except TypeError:
        raise ValueError("object does not implement Python buffer protocol.") from None
    if len(view) == 0 or count == 0:
        raise ValueError(f"both buffer length ({len(view)}) and count ({count}) must not be 0")
    size = dtype.itemsize
    if len(view) == 0 or offset < 0 or offset >= len(view):
        raise ValueError(f"offset ({offset} bytes) must be non-negative and no greater than buffer length ({len(view)} bytes) minus 1")
    if count < 0:
        if (len(view) - offset) % size:
            raise ValueError(f"buffer length ({len(view) - offset} bytes) after offset ({offset} bytes) must be a multiple of element size "
                             f"({size})")
        count = (len(view) - offset) // size
    if offset + count * size > len(view):
        raise ValueError(f"requested buffer length ({count} * {size} bytes) after offset ({offset} bytes) must not be greater than actual "
                         f"buffer length ({len(view)} bytes)")
    import ctypes
    if view.readonly:
        warnings.warn("The given buffer is not writable; the tensor refuses writes.", UserWarning, stacklevel=2)
        import numpy
        address = numpy.frombuffer(view, dtype="uint8").__array_interface__["data"][0]
    else:
        address = ctypes.addressof(ctypes.c_char.from_buffer(view))
    result = _braze.import_memory(address + offset, (count,), (1,), dtype, view, not view.readonly)
    return result.requires_grad_() if requires_grad else result


class _Memory:
    """What NumPy makes an array of; keeps the storage shared."""
    __slots__ = ("__array_interface__", "token")

    def __init__(self, interface, token):
        self.__array_interface__, self.token = interface, token


_type_strings = {"bool": "|b1", "uint8": "|u1", "int8": "|i1", "int16": "<i2", "int32": "<i4", "int64": "<i8", "float16": "<f2",
                 "float32": "<f4", "float64": "<f8", "complex64": "<c8", "complex128": "<c16"}


def to_numpy(tensor):
    """The NumPy array on a tensor's memory."""
    import numpy
    name = repr(tensor.dtype).partition(".")[2]
    if name not in _type_strings:
        raise TypeError("Got unsupported ScalarType BFloat16")
    if tensor.numel() == 0:
        return numpy.empty(tuple(tensor.shape), dtype=_type_strings[name])
    address, token = _braze.export_memory(tensor)
    item = tensor.element_size()
    interface = {"version": 3, "typestr": _type_strings[name], "data": (address, False), "shape": tuple(tensor.shape),
                 "strides": tuple(s * item for s in tensor.stride())}
    return numpy.asarray(_Memory(interface, token))
