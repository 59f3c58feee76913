"""Samplers: the order in which items are read. https://pytorch.org/docs/stable/data.html#data-loading-order-and-sampler"""
import itertools
from typing import Generic, TypeVar

from ... import empty, float64, int64, as_tensor, multinomial, randint, randperm
from ..._braze import Generator

Index = TypeVar("Index", covariant=True)


def draw_seed(generator=None):
    """A seed drawn from the generator, or the default one."""
    return int(empty((), dtype=int64).random_(generator=generator).item())


class Sampler(Generic[Index]):
    """An iterable of indices. https://pytorch.org/docs/stable/data.html#torch.utils.data.Sampler"""

    def __iter__(self):
        raise NotImplementedError


class SequentialSampler(Sampler[int]):
    """0, 1, 2, ... https://pytorch.org/docs/stable/data.html#torch.utils.data.SequentialSampler"""

    def __init__(self, data_source):
        self.data_source = data_source

    def __iter__(self):
        return iter(range(len(self.data_source)))

    def __len__(self):
        return len(self.data_source)


class RandomSampler(Sampler[int]):
    """Indices in random order; more than there are start over, and with `replacement` each is drawn from all.
    https://pytorch.org/docs/stable/data.html#torch.utils.data.RandomSampler"""

    def __init__(self, data_source, replacement=False, num_samples=None, generator=None):
        if not isinstance(replacement, bool):
            raise TypeError(f"replacement should be a boolean value, but got replacement={replacement}")
        self.data_source, self.replacement, self.generator = data_source, replacement, generator
        self._num_samples = num_samples
        if not isinstance(self.num_samples, int) or self.num_samples <= 0:
            raise ValueError(f"num_samples should be a positive integer value, but got num_samples={self.num_samples}")

    @property
    def num_samples(self):
        """How many indices there are."""
        return len(self.data_source) if self._num_samples is None else self._num_samples

    def __iter__(self):
        n, left = len(self.data_source), self.num_samples
        generator = self.generator
        if generator is None:
            generator = Generator()
            generator.manual_seed(draw_seed())
        # PyTorch takes draws with replacement 32 at a time, and of permutations always one more than whole ones are needed.
        while left > 0 or (left == 0 and not self.replacement):
            if self.replacement:
                drawn = randint(n, (min(left, 32),), dtype=int64, generator=generator)
            else:
                drawn = randperm(n, generator=generator)[:left]
            yield from drawn.tolist()
            left -= len(drawn) if self.replacement else n

    def __len__(self):
        return self.num_samples


class SubsetRandomSampler(Sampler[int]):
    """The given indices in random order. https://pytorch.org/docs/stable/data.html#torch.utils.data.SubsetRandomSampler"""

    def __init__(self, indices, generator=None):
        self.indices, self.generator = indices, generator

    def __iter__(self):
        for i in randperm(len(self.indices), generator=self.generator).tolist():
            yield self.indices[i]

    def __len__(self):
        return len(self.indices)


class WeightedRandomSampler(Sampler[int]):
    """Indices drawn in proportion to `weights`. https://pytorch.org/docs/stable/data.html#torch.utils.data.WeightedRandomSampler"""

    def __init__(self, weights, num_samples, replacement=True, generator=None):
        if not isinstance(num_samples, int) or isinstance(num_samples, bool) or num_samples <= 0:
            raise ValueError(f"num_samples should be a positive integer value, but got num_samples={num_samples}")
        if not isinstance(replacement, bool):
            raise ValueError(f"replacement should be a boolean value, but got replacement={replacement}")
        self.weights = as_tensor(weights, dtype=float64)
        if self.weights.dim() != 1:
            raise ValueError(f"weights should be a 1d sequence but given weights have shape {tuple(self.weights.shape)}")
        self.num_samples, self.replacement, self.generator = num_samples, replacement, generator

    def __iter__(self):
        yield from multinomial(self.weights, self.num_samples, self.replacement, generator=self.generator).tolist()

    def __len__(self):
        return self.num_samples


class BatchSampler(Sampler[list]):
    """Lists of `batch_size` indices of another sampler. https://pytorch.org/docs/stable/data.html#torch.utils.data.BatchSampler"""

    def __init__(self, sampler, batch_size, drop_last):
        if not isinstance(batch_size, int) or isinstance(batch_size, bool) or batch_size <= 0:
            raise ValueError(f"batch_size should be a positive integer value, but got batch_size={batch_size}")
        if not isinstance(drop_last, bool):
            raise ValueError(f"drop_last should be a boolean value, but got drop_last={drop_last}")
        self.sampler, self.batch_size, self.drop_last = sampler, batch_size, drop_last

    def __iter__(self):
        indices = iter(self.sampler)
        while batch := list(itertools.islice(indices, self.batch_size)):
            if len(batch) == self.batch_size or not self.drop_last:
                yield batch

    def __len__(self):
        whole, rest = divmod(len(self.sampler), self.batch_size)
        return whole + bool(rest and not self.drop_last)
