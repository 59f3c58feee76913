"""Storages: the memory behind tensors, seen as bytes or as elements of one dtype."""
from . import _braze
from ._braze import Tensor


def _whole(tensor):
    """All elements of the storage, from its first byte, as they lie there."""
    if tensor.is_conj():
        tensor = tensor.conj()
    bytes_there = _braze.storage_bytes(tensor)
    return tensor.detach().as_strided((bytes_there // tensor.element_size(),), (1,), 0)


class UntypedStorage:
    """A storage as bytes."""

    def __init__(self, data=0):
        if isinstance(data, Tensor):
            self._elements = _whole(data)
        else:
            self._elements = _braze._functions[""]["empty"](data, dtype=_braze.uint8)

    def nbytes(self):
        """The size in bytes."""
        return _braze.storage_bytes(self._elements)

    size = nbytes
    __len__ = nbytes

    @property
    def device(self):
        """Where the memory is."""
        return self._elements.device

    is_cuda = False

    def data_ptr(self):
        """The address of the first byte. Evaluates."""
        return self._elements.data_ptr()

    def _tensor(self, dtype):
        return self._elements.view(dtype) if dtype is not self._elements.dtype else self._elements

    def _bytes(self):
        return _braze.to_bytes(self._elements)

    def tolist(self):
        """The elements as a list."""
        return list(self._bytes())

    def __iter__(self):
        return iter(self._bytes())

    def __getitem__(self, index):
        return self._elements.view(_braze.uint8)[index].item()

    def __setitem__(self, index, value):
        self._elements.view(_braze.uint8)[index] = value

    def clone(self):
        """A copy."""
        return UntypedStorage(self._elements.clone())

    def copy_(self, source, non_blocking=None):
        """Takes the bytes of a storage of the same size."""
        self._elements.view(_braze.uint8).copy_(source._elements.view(_braze.uint8))
        return self

    def __deepcopy__(self, memo):
        # By place and extent: arrays of NumPy that begin at one address are storages of their own.
        key = ("storage", self.data_ptr(), self.nbytes()) if self.nbytes() else ("storage", id(self))
        if key not in memo:
            memo[key] = self.clone()
        return memo[key]

    def __reduce__(self):
        return UntypedStorage, (self._elements,)

    def __eq__(self, other):
        return isinstance(other, UntypedStorage) and _braze.shares_storage(self._elements, other._elements)

    def __hash__(self):
        return hash(self.data_ptr())

    def __repr__(self):
        return f"braze.storage.UntypedStorage(device=cpu) of size {len(self)}"


class TypedStorage:
    """A storage as elements."""

    def __init__(self, tensor):
        self._elements = _whole(tensor)

    dtype = property(lambda self: self._elements.dtype, doc="The dtype of its elements.")
    device = property(lambda self: self._elements.device, doc="Where the memory is.")

    def untyped(self):
        """The same memory as bytes."""
        return UntypedStorage(self._elements)

    def __deepcopy__(self, memo):
        return TypedStorage(self.untyped().__deepcopy__(memo)._tensor(self.dtype))

    def __reduce__(self):
        return TypedStorage, (self._elements,)

    def size(self):
        """How many elements it has."""
        return self._elements.numel()

    __len__ = size

    def nbytes(self):
        """The size in bytes."""
        return self._elements.nbytes

    def element_size(self):
        """The bytes that an element takes."""
        return self._elements.element_size()

    def data_ptr(self):
        """The address of the first byte. Evaluates."""
        return self._elements.data_ptr()

    def tolist(self):
        """The elements as a list."""
        return self._elements.tolist()

    def __iter__(self):
        return iter(self.tolist())

    def __getitem__(self, index):
        return self._elements[index].item()

    def __setitem__(self, index, value):
        self._elements[index] = value

    def __repr__(self):
        lines = "\n ".join(str(x) for x in self.tolist())
        return f" {lines}\n[braze.storage.TypedStorage(dtype={self.dtype}, device=cpu) of size {len(self)}]"


for _class in (UntypedStorage, TypedStorage):
    _class.__module__ = "braze.storage"
