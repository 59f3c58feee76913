"""What is said of Tensor in Python: construction in PyTorch's old way, Python's protocols, storages."""
import builtins

from . import _braze
from ._braze import Tensor, dtype as _dtype
from ._creation import as_tensor, to_numpy
from ._types import device as _device, strided

_functions = _braze._functions[""]


# ---- construction ----

def _construct(*args, dtype=None, device=None):
    """Tensor(2, 3), Tensor([1, 2]), Tensor(tensor): https://pytorch.org/docs/stable/tensors.html"""
    dtype = dtype or _functions["get_default_dtype"]()
    if device is not None:
        _device(device)._require_supported()
    if not args:
        return _functions["empty"](0, dtype=dtype)
    first = args[0]
    if isinstance(first, Tensor) and len(args) == 1:
        if first.dtype is not dtype:
            raise TypeError(f"expected {dtype} (got {first.dtype})")
        return first.detach()
    if isinstance(first, _braze.Size) and len(args) == 1:
        return _functions["empty"](first, dtype=dtype)
    if all(isinstance(a, int) and not isinstance(a, builtins.bool) for a in args):
        return _functions["empty"](args, dtype=dtype)
    if len(args) > 1 or isinstance(first, (str, float, builtins.bool, complex)) or first is None:
        raise TypeError(f"new(): data must be a sequence (got {type(first).__name__})")
    return _functions["tensor"](first, dtype=dtype)


class _TypedMeta(type):
    def __instancecheck__(cls, instance):
        return isinstance(instance, Tensor) and instance.dtype is cls.dtype

    def __call__(cls, *args, **kwargs):
        return _construct(*args, dtype=cls.dtype, **kwargs)

    def __repr__(cls):
        return f"<class 'braze.{cls.__name__}'>"


typed_constructors = {
    name: _TypedMeta(name, (), {"dtype": getattr(_braze, dtype), "__module__": "braze",
                                "__doc__": f"{name}(...) makes a tensor of {dtype}; isinstance(x, braze.{name}) asks for that dtype."})
    for name, dtype in (("FloatTensor", "float32"), ("DoubleTensor", "float64"), ("HalfTensor", "float16"), ("BFloat16Tensor", "bfloat16"),
                        ("ByteTensor", "uint8"), ("CharTensor", "int8"), ("ShortTensor", "int16"), ("IntTensor", "int32"),
                        ("LongTensor", "int64"), ("BoolTensor", "bool"))}
# PyTorch has no constructors under these names, only the names.
_type_names = {cls.dtype: name for name, cls in typed_constructors.items()} | {
    _braze.complex64: "ComplexFloatTensor", _braze.complex128: "ComplexDoubleTensor"}


def _make_subclass(cls, data, require_grad=False):
    result = _braze.make_subclass(cls, data)
    return result.requires_grad_() if require_grad else result


# ---- attributes ----

_cpu = _device("cpu")


class _Methods:
    device = property(lambda self: _cpu, doc="Where the memory is.")
    layout = property(lambda self: strided, doc="How elements lie in memory.")
    is_cuda, is_meta, is_mps, is_xpu = (property(lambda self: False, doc=f"Whether the memory is of {kind}: never.")
                                        for kind in ("a CUDA device", "no device", "an Apple GPU", "an Intel GPU"))
    is_sparse, is_quantized, is_mkldnn, is_nested = (property(lambda self: False, doc=f"Whether the layout is {kind}: never.")
                                                     for kind in ("sparse", "quantized", "oneDNN's", "nested"))
    is_cpu = property(lambda self: True, doc="Whether the memory is the CPU's: always.")
    names = property(lambda self: (None,) * self.ndim, doc="The names of dims: None each.")
    H = property(lambda self: self.adjoint() if self.ndim == 2 else _refuse_h(self), doc="The adjoint of a matrix: a view.")
    mH = property(lambda self: self.adjoint(), doc="The adjoint of the last two dims: a view.")

    def get_device(self) -> int:
        """The number of the device: -1, the CPU."""
        return -1

    # ---- conversion ----

    def numpy(self, *, force=False):
        """The NumPy array on this tensor's memory: a write through either is seen by both. Evaluates."""
        if self.requires_grad:
            if not force:
                raise RuntimeError("Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.")
            return to_numpy(self.detach().resolve_conj())
        if self.is_conj():
            if not force:
                raise RuntimeError("Can't call numpy() on Tensor that has conjugate bit set. Use tensor.resolve_conj().numpy() instead.")
            return to_numpy(self.resolve_conj())
        return to_numpy(self)

    def to_numpy(self):
        """As numpy(force=True): the name by which matplotlib, pandas and others ask an array that they do not know for NumPy's. They know
        torch.Tensor by its class."""
        return self.numpy(force=True)

    def __array__(self, dtype=None, copy=None):
        if copy is False and dtype is not None and self.numpy().dtype != dtype:
            raise ValueError("Unable to avoid copy while creating an array as requested.")
        array = self.numpy()
        if dtype is not None:
            array = array.astype(dtype, copy=builtins.bool(copy))
        return array.copy() if copy and dtype is None else array

    def __array_wrap__(self, array, context=None, return_scalar=False):
        return as_tensor(array)

    __array_priority__ = 1000

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        if self.requires_grad:
            raise BufferError("Can't export tensors that require gradient, use tensor.detach()")
        if self.is_conj():
            raise BufferError("Can't export tensors with the conjugate bit set")
        if stream not in (None, -1):
            raise AssertionError("stream should be None on cpu.")
        return _braze.to_dlpack(self.clone() if copy else self)

    def __dlpack_device__(self) -> "tuple[int, int]":
        import enum
        return enum.IntEnum("DLDeviceType", {"kDLCPU": 1}).kDLCPU, 0

    def type(self, dtype=None, non_blocking=False):
        """The name of the type, or the tensor as `dtype` (a dtype, or a name such as 'braze.FloatTensor')."""
        if dtype is None:
            return "braze." + _type_names[self.dtype]
        if isinstance(dtype, str):
            name = dtype.rpartition(".")[2]
            if name not in typed_constructors:
                raise ValueError(f"invalid type: '{dtype}'")
            dtype = typed_constructors[name].dtype
        return self.to(getattr(dtype, "dtype", dtype))

    def __array_namespace__(self, /, *, api_version=None):
        if api_version is not None and api_version not in ("2021.12", "2022.12", "2023.12", "2024.12"):
            raise ValueError(f"unrecognized array API version: {api_version!r}")
        from . import _array_api
        return _array_api

    def to_device(self, device, /, *, stream=None) -> "Tensor":
        """As to(device), by the Array API's name."""
        return self.to(device)

    # ---- Python's protocols ----

    def __format__(self, spec) -> str:
        if self.dim() == 0:
            return self.item().__format__(spec)
        return object.__format__(self, spec) if spec else str(self)

    def __contains__(self, element) -> "builtins.bool":
        if isinstance(element, (Tensor, int, float, complex, builtins.bool)) or type(element).__module__ == "numpy":
            return (element == self).any().item()
        raise RuntimeError(f"Tensor.__contains__ only supports Tensor or scalar, but you passed in a {type(element)}.")

    def __reversed__(self) -> "Tensor":
        return self if self.dim() == 0 else self.flip(0)

    def __complex__(self) -> complex:
        if self.numel() != 1:
            raise ValueError("only one element tensors can be converted to Python scalars")
        return complex(self.item())

    def __copy__(self) -> "Tensor":
        result = self.detach() if type(self) is Tensor else _braze.make_subclass(type(self), self)
        result.__dict__.update(self.__dict__)
        return result.requires_grad_() if self.requires_grad else result

    def __deepcopy__(self, memo) -> "Tensor":
        if not self.is_leaf:
            raise RuntimeError("Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at the moment.  If "
                               "you were attempting to deepcopy a module, this may be because of a torch.nn.utils.weight_norm usage.")
        if id(self) in memo:
            return memo[id(self)]
        import copy
        storage = copy.deepcopy(self.untyped_storage(), memo)
        result = storage._tensor(self.dtype).as_strided(self.shape, self.stride(), self.storage_offset())
        if self.is_conj():
            result = result.conj()
        if type(self) is not Tensor:
            result = _braze.make_subclass(type(self), result)
        if self.requires_grad:
            result.requires_grad_()
            if self.grad is not None:
                result.grad = copy.deepcopy(self.grad, memo)
        if self.__dict__:
            result.__dict__.update(copy.deepcopy(self.__dict__, memo))
        memo[id(self)] = result
        return result

    def __reduce_ex__(self, protocol):
        from ._serialization import reduce_tensor
        return reduce_tensor(self)

    def __dir__(self):
        return sorted(set(dir(type(self))).difference(_absent_methods) | set(self.__dict__))

    # ---- gradients ----

    @property
    def grad_fn(self):
        """What made the tensor, as a step of its derivative; None for leaves."""
        from .autograd.graph import _step
        return _step(_braze.grad_fn(self))

    def register_hook(self, hook):
        """Calls `hook` with each gradient of this tensor; what it returns, unless None, takes the gradient's place. Returns a handle
        with remove()."""
        return _braze.register_hook(self, hook)

    def register_post_accumulate_grad_hook(self, hook):
        """Calls `hook` with this leaf when backward() has changed its .grad. Returns a handle with remove()."""
        return _braze.register_post_accumulate_grad_hook(self, hook)

    # ---- storage ----

    def untyped_storage(self):
        """The memory behind this tensor and its views, as bytes."""
        from ._storage import UntypedStorage
        return UntypedStorage(self)

    def storage(self):
        """The memory behind this tensor and its views, as elements."""
        from ._storage import TypedStorage
        return TypedStorage(self)

    _typed_storage = storage

    def is_shared(self) -> "builtins.bool":
        """Whether other processes see the memory: never."""
        return False

    def share_memory_(self) -> "Tensor":
        """The tensor itself: memory is of one process."""
        return self

    def is_pinned(self, device=None) -> "builtins.bool":
        """Whether the memory is pinned for a device: never."""
        return False

    def pin_memory(self, device=None):
        """RuntimeError: there is no device to pin memory for."""
        raise RuntimeError("Cannot access accelerator device when none is available.")

    def cuda(self, device=None, non_blocking=False, memory_format=None):
        """RuntimeError: Braze's tensors live on the CPU."""
        _device("cuda")._require_supported()


class _Absent:
    """A method that PyTorch documents and Braze has not. (A __getattr__ would say it of any name, and slow every method call down.)"""

    def __set_name__(self, owner, name):
        self.name = name

    def __get__(self, tensor, owner=None):
        shown = f"type object '{owner.__name__}'" if tensor is None else f"'{type(tensor).__name__}' object"
        raise AttributeError(f"{shown} has no attribute '{self.name}'; docs/coverage.md lists what of PyTorch is there")


_absent_methods = """apply_ as_subclass chalf dense_dim dequantize dim_order geqrf indices int_repr is_inference istft lu map_ module_load name
orgqr ormqr q_scale qscheme record_stream smm sparse_dim sparse_mask sspaddmm stft storage_type to_dense to_mkldnn to_sparse values xpu""".split()


def _refuse_h(tensor):
    raise RuntimeError(f"tensor.H is only supported on matrices (2-D tensors). Got {tensor.ndim}-D tensor.")


def _install():
    for name, value in vars(_Methods).items():
        if name not in ("__module__", "__dict__", "__weakref__", "__doc__", "__qualname__") and name not in Tensor.__dict__:
            setattr(Tensor, name, value)
    for name in _absent_methods:
        setattr(Tensor, name, absent := _Absent())
        absent.__set_name__(Tensor, name)
    for name in ("__copy__", "__deepcopy__", "__reduce_ex__", "__format__", "__dir__"):
        setattr(Tensor, name, vars(_Methods)[name])
    Tensor._make_subclass = staticmethod(_make_subclass)
    Tensor.__module__ = "braze"


_install()


# ---- generators ----

def _reduce_generator(self):
    return _braze.Generator, (self.device,), (self.initial_seed(), None, self.get_state())


def _set_generator_state(self, state):
    """What a pickle calls: (seed, offset, state); the CPU's streams have no offset."""
    self.manual_seed(state[0])
    self.set_state(state[2])


_braze.Generator.__module__ = "braze"
_braze.Generator.__reduce__, _braze.Generator.__setstate__ = _reduce_generator, _set_generator_state
