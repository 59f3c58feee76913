"""A list of items as one batch. https://pytorch.org/docs/stable/data.html#torch.utils.data.default_collate"""
import collections.abc
import copy

from ... import Tensor, as_tensor, float64, stack, tensor


def _is_numpy(value):
    return type(value).__module__ == "numpy"


def _rebuild(like, pairs):
    """A mapping of the type of `like`, or a dict where that takes no such."""
    pairs = dict(pairs)
    try:
        if isinstance(like, collections.abc.MutableMapping):
            result = copy.copy(like)
            result.update(pairs)
            return result
        return type(like)(pairs)
    except TypeError:
        return pairs


def _sequence(like, values):
    """A list, or where possible the type of `like`; of a named tuple that; of a tuple a list, as PyTorch has it."""
    values = list(values)
    if isinstance(like, tuple):
        return type(like)(*values) if hasattr(like, "_fields") else values
    if type(like) is list:
        return values
    try:
        return type(like)(values)
    except TypeError:
        return values


def default_collate(batch):
    """Tensors, NumPy arrays and numbers stacked along a new first dim; in tuples, lists and dicts of them, each by itself; strings stay a list."""
    first = batch[0]
    if isinstance(first, Tensor):
        return stack(list(batch), 0)
    if _is_numpy(first):
        kind = first.dtype.kind
        if kind in "SUOV":
            raise TypeError(f"default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found {first.dtype}")
        return stack([as_tensor(item) for item in batch], 0)
    if isinstance(first, float):
        return tensor(list(batch), dtype=float64)
    if isinstance(first, int):
        return tensor(list(batch))
    if isinstance(first, (str, bytes)):
        return batch
    if isinstance(first, collections.abc.Mapping):
        return _rebuild(first, ((key, default_collate([item[key] for item in batch])) for key in first))
    if isinstance(first, collections.abc.Sequence):
        if any(len(item) != len(first) for item in batch):
            raise RuntimeError("each element in list of batch should be of equal size")
        return _sequence(first, (default_collate(column) for column in zip(*batch)))
    raise TypeError(f"default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found {type(first)}")


def default_convert(data):
    """NumPy arrays as tensors, in whatever nest they are; all else as it is."""
    if isinstance(data, Tensor) or isinstance(data, (str, bytes)):
        return data
    if _is_numpy(data):
        return data if data.dtype.kind in "SUOV" else as_tensor(data)
    if isinstance(data, collections.abc.Mapping):
        return _rebuild(data, ((key, default_convert(value)) for key, value in data.items()))
    if isinstance(data, collections.abc.Sequence):
        return _sequence(data, (default_convert(value) for value in data))
    return data
