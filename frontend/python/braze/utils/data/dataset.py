"""Datasets: what has items by number (Dataset) or gives them one after another (IterableDataset)."""
import bisect
import itertools
import math
import warnings
from typing import Generic, TypeVar

from ...random import default_generator
from ... import randperm

Item = TypeVar("Item", covariant=True)


class Dataset(Generic[Item]):
    """Items by number: a subclass has __getitem__, and mostly __len__. `a + b` is one after the other.
    https://pytorch.org/docs/stable/data.html#torch.utils.data.Dataset"""

    def __getitem__(self, index):
        raise NotImplementedError("Subclasses of Dataset should implement __getitem__.")

    def __add__(self, other):
        return ConcatDataset([self, other])


class IterableDataset(Dataset[Item]):
    """Items one after another: a subclass has __iter__. https://pytorch.org/docs/stable/data.html#torch.utils.data.IterableDataset"""

    def __add__(self, other):
        return ChainDataset([self, other])


class TensorDataset(Dataset):
    """Item i is the i-th row of each tensor. https://pytorch.org/docs/stable/data.html#torch.utils.data.TensorDataset"""

    def __init__(self, *tensors):
        if any(tensor.size(0) != tensors[0].size(0) for tensor in tensors):
            raise AssertionError("Size mismatch between tensors: their first dims are "
                                 + ", ".join(str(tensor.size(0)) for tensor in tensors))
        self.tensors = tensors

    def __getitem__(self, index):
        return tuple(tensor[index] for tensor in self.tensors)

    def __len__(self):
        return self.tensors[0].size(0)


class StackDataset(Dataset):
    """Datasets of one length side by side: item i is the tuple, or by keywords the dict, of their items i.
    https://pytorch.org/docs/stable/data.html#torch.utils.data.StackDataset"""

    def __init__(self, *args, **kwargs):
        if bool(args) == bool(kwargs):
            raise ValueError("Supported either ``tuple``- (via ``args``) or``dict``- (via ``kwargs``) like input/output, but both types are "
                             "given." if args else "At least one dataset should be passed")
        self.datasets = args or kwargs
        each = args or list(kwargs.values())
        self._length = len(each[0])
        if any(len(dataset) != self._length for dataset in each):
            raise ValueError("Size mismatch between datasets: their lengths are " + ", ".join(str(len(dataset)) for dataset in each))

    def __getitem__(self, index):
        if isinstance(self.datasets, dict):
            return {name: dataset[index] for name, dataset in self.datasets.items()}
        return tuple(dataset[index] for dataset in self.datasets)

    def __len__(self):
        return self._length


class ConcatDataset(Dataset):
    """Datasets one after the other. https://pytorch.org/docs/stable/data.html#torch.utils.data.ConcatDataset"""

    def __init__(self, datasets):
        self.datasets = list(datasets)
        if not self.datasets:
            raise AssertionError("datasets should not be an empty iterable")
        if any(isinstance(dataset, IterableDataset) for dataset in self.datasets):
            raise AssertionError("ConcatDataset does not support IterableDataset")
        self.cumulative_sizes = list(itertools.accumulate(len(dataset) for dataset in self.datasets))

    def __len__(self):
        return self.cumulative_sizes[-1]

    def __getitem__(self, index):
        if index < 0:
            if -index > len(self):
                raise ValueError("absolute value of index should not exceed dataset length")
            index += len(self)
        which = bisect.bisect_right(self.cumulative_sizes, index)
        return self.datasets[which][index - (self.cumulative_sizes[which - 1] if which else 0)]


class ChainDataset(IterableDataset):
    """Iterable datasets one after the other. https://pytorch.org/docs/stable/data.html#torch.utils.data.ChainDataset"""

    def __init__(self, datasets):
        self.datasets = list(datasets)

    def __iter__(self):
        for dataset in self.datasets:
            if not isinstance(dataset, IterableDataset):
                raise AssertionError("ChainDataset only supports IterableDataset")
            yield from dataset

    def __len__(self):
        return sum(len(dataset) for dataset in self.datasets)


class Subset(Dataset[Item]):
    """The items of `dataset` that `indices` names. https://pytorch.org/docs/stable/data.html#torch.utils.data.Subset"""

    def __init__(self, dataset, indices):
        self.dataset, self.indices = dataset, indices

    def __getitem__(self, index):
        if isinstance(index, list):
            return self.dataset[[self.indices[i] for i in index]]
        return self.dataset[self.indices[index]]

    def __getitems__(self, indices):
        chosen = [self.indices[i] for i in indices]
        whole = getattr(self.dataset, "__getitems__", None)
        return whole(chosen) if callable(whole) else [self.dataset[i] for i in chosen]

    def __len__(self):
        return len(self.indices)


def _split_sizes(n, lengths):
    """Fractions of one as numbers of items: what rounding down leaves goes to the first ones, one each."""
    if not (math.isclose(sum(lengths), 1) and sum(lengths) <= 1):
        return list(lengths)
    for i, fraction in enumerate(lengths):
        if not 0 <= fraction <= 1:
            raise ValueError(f"Fraction at index {i} is not between 0 and 1")
    sizes = [math.floor(n * fraction) for fraction in lengths]
    for i in range(n - sum(sizes)):
        sizes[i % len(sizes)] += 1
    for i, size in enumerate(sizes):
        if size == 0:
            warnings.warn(f"Length of split at index {i} is 0. This might result in an empty dataset.")
    return sizes


def random_split(dataset, lengths, generator=default_generator):
    """Subsets of `dataset` of the given lengths, or fractions of it, drawn without repetition.
    https://pytorch.org/docs/stable/data.html#torch.utils.data.random_split"""
    sizes = _split_sizes(len(dataset), lengths)
    if sum(sizes) != len(dataset):
        raise ValueError("Sum of input lengths does not equal the length of the input dataset!")
    order = randperm(len(dataset), generator=generator).tolist()
    return [Subset(dataset, order[end - size:end]) for end, size in zip(itertools.accumulate(sizes), sizes)]
