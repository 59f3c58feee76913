"""Devices, layouts and memory formats; dtypes and sizes are the extension's."""
import builtins

from . import _braze
from ._braze import bfloat16, bool, complex64, complex128, float16, float32, float64, int8, int16, int32, int64, uint8  # noqa: F401


class device:
    """Where a tensor's memory is. Braze computes on the CPU; other devices that PyTorch names are known and refused."""
    __slots__ = {"type": "The kind of device: 'cpu'.", "index": "Which of its kind, or None."}
    _known = ("cpu", "cuda", "xpu", "mps", "meta", "ipu", "mkldnn", "opengl", "opencl", "ideep", "hip", "ve", "fpga", "maia", "xla",
              "lazy", "vulkan", "mtia", "privateuseone", "hpu")

    def __init__(self, type, index=None):
        if isinstance(type, device):
            type, index = type.type, type.index
        elif isinstance(type, builtins.int) and not isinstance(type, builtins.bool):
            type, index = "cuda", type
        if not isinstance(type, str):
            raise TypeError(f"device(): argument 'type' (position 1) must be str, not {builtins.type(type).__name__}")
        name, colon, number = type.partition(":")
        if colon:
            if index is not None:
                raise RuntimeError(f"type (string) must not include an index because index was passed explicitly: {type}")
            if not number.isdigit() or (len(number) > 1 and number[0] == "0"):
                raise RuntimeError(f"Invalid device string: '{type}'")
            index = builtins.int(number)
        if name not in self._known:
            raise RuntimeError(f"Expected one of {', '.join(self._known)} device type at start of device string: {type}")
        if index is not None and index < 0:
            raise RuntimeError(f"Device index must be -1 or non-negative, got {index}")
        object.__setattr__(self, "type", name)
        object.__setattr__(self, "index", index)

    def __setattr__(self, name, value):
        raise AttributeError(f"attribute '{name}' of 'braze.device' objects is not writable")

    def __repr__(self):
        return f"device(type='{self.type}'" + (f", index={self.index})" if self.index is not None else ")")

    def __str__(self):
        return self.type + (f":{self.index}" if self.index is not None else "")

    def __eq__(self, other):
        return isinstance(other, device) and (self.type, self.index) == (other.type, other.index)

    def __hash__(self):
        return hash((self.type, self.index))

    def __reduce__(self):
        return (device, (self.type,) if self.index is None else (self.type, self.index))

    def __enter__(self):
        self._require_supported()
        return self

    def __exit__(self, *_):
        return None

    def _require_supported(self, creating=False):
        """Raises what PyTorch raises where a device's support is not built in."""
        if self.type == "cpu":
            return
        if self.type == "xpu":
            raise AssertionError("braze was not compiled with XPU enabled: tensors live on 'cpu'")
        if self.type == "cuda":
            raise RuntimeError("braze was built without CUDA tensors: only the CPU computes, and device '" + str(self) + "' holds no tensors")
        raise (NotImplementedError if creating else RuntimeError)(f"braze does not support device '{self}': tensors live on 'cpu'")


class _Singleton:
    def __init__(self, name, number=0):
        self._name, self._number = name, number

    def __repr__(self):
        return f"braze.{self._name}"

    def __reduce__(self):
        return self._name

    def __copy__(self):
        return self

    def __deepcopy__(self, memo):
        return self


class layout(_Singleton):
    """How elements lie in memory; all of Braze's tensors are strided."""


class memory_format(_Singleton):
    """An order of strides."""


for _class in (layout, memory_format):
    _class.__module__ = "braze"
device.__module__ = "braze"

strided, sparse_coo = layout("strided"), layout("sparse_coo")
contiguous_format, preserve_format = memory_format("contiguous_format", 0), memory_format("preserve_format", 1)
channels_last, channels_last_3d = memory_format("channels_last", 2), memory_format("channels_last_3d", 3)
_braze._register_types(device, layout, memory_format)
