"""DataLoader: batches of a dataset, in order, made by the caller or ahead of it by worker threads."""
import collections
import concurrent.futures
import functools
import itertools
import warnings
from typing import Generic, TypeVar

from .collate import default_collate, default_convert
from .dataset import IterableDataset
from .sampler import BatchSampler, RandomSampler, Sampler, SequentialSampler, draw_seed
from .worker import ItemsEnd, Workers

Item = TypeVar("Item", covariant=True)


class _Endless(Sampler):
    """What an iterable dataset is asked with: there are no indices."""

    def __iter__(self):
        return itertools.repeat(None)


class _ByIndex:
    """Fetches items by number; given a list, a batch."""

    def __init__(self, dataset, batched, collate):
        self._dataset, self._batched, self._collate = dataset, batched, collate

    def __call__(self, indices, stopped=lambda: False):
        if not self._batched:
            return self._collate(self._dataset[indices])
        whole = getattr(self._dataset, "__getitems__", None)
        if callable(whole):
            return self._collate(whole(indices))
        items = []
        for i in indices:
            if stopped():
                raise concurrent.futures.CancelledError
            items.append(self._dataset[i])
        return self._collate(items)


class _ByTurn:
    """Fetches the next items of an iterable dataset, as many as there are indices. StopIteration where there are no more."""

    def __init__(self, dataset, batched, collate, drop_last):
        self._items, self._batched, self._collate, self._drop_last = iter(dataset), batched, collate, drop_last

    def __call__(self, indices, stopped=lambda: False):
        if not self._batched:
            return self._collate(next(self._items))
        items = list(itertools.islice(self._items, len(indices)))
        if not items or (self._drop_last and len(items) < len(indices)):
            raise StopIteration
        return self._collate(items)


def _worker_fetcher(make, dataset):
    fetch = make(dataset)

    def fetch_or_end(indices, stopped):
        try:
            return fetch(indices, stopped)
        except StopIteration:
            raise ItemsEnd from None
    return fetch_or_end


class _Batches:
    """One pass over a loader."""

    def __init__(self, loader):
        self._loader = loader
        self._indices = iter(loader._index_sampler)
        self._base_seed = draw_seed(loader.generator)
        self._given = 0

    def __iter__(self):
        return self

    def __len__(self):
        return len(self._loader._index_sampler)

    def __next__(self):
        batch = self._next()
        self._given += 1
        return batch


class _Here(_Batches):
    """Batches made when they are asked for."""

    def __init__(self, loader):
        super().__init__(loader)
        self._fetch = loader._make_fetcher(loader.dataset)

    def _next(self):
        return self._fetch(next(self._indices))


class _Ahead(_Batches):
    """Batches made by workers, in turn, up to prefetch_factor ahead for each; given in order."""

    def __init__(self, loader):
        super().__init__(loader)
        self._workers = loader._workers(self._base_seed)
        self._workers.start_epoch()
        self._alive = collections.deque(range(loader.num_workers))  # in the order of their turns
        self._pending = collections.deque()                        # (worker, future)
        for _ in range(loader.prefetch_factor * loader.num_workers):
            self._ask()

    def _ask(self):
        if not self._alive:
            return
        try:
            indices = next(self._indices)
        except StopIteration:
            return
        worker = self._alive[0]
        self._alive.rotate(-1)
        self._pending.append((worker, self._workers.submit(worker, indices)))

    def _next_finished(self):
        """The place in the queue of the batch to give: the first, or without in_order the first that is finished."""
        if not self._loader.in_order:
            timeout = self._loader.timeout or None
            done, _ = concurrent.futures.wait([f for _, f in self._pending], timeout, concurrent.futures.FIRST_COMPLETED)
            for at, (_, future) in enumerate(self._pending):
                if future in done:
                    return at
        return 0

    def _next(self):
        while self._pending:
            at = self._next_finished()
            worker, future = self._pending[at]
            del self._pending[at]
            try:
                batch = future.result(self._loader.timeout or None)
            except ItemsEnd:
                if worker in self._alive:
                    self._alive.remove(worker)
                    self._ask()
                continue
            except concurrent.futures.TimeoutError:
                if future.done():
                    self._ask()
                    raise
                raise RuntimeError(f"DataLoader timed out after {self._loader.timeout} seconds") from None
            except BaseException:
                self._ask()
                raise
            finally:
                del future
            self._ask()
            return batch
        if not self._loader.persistent_workers:
            self._workers.close()
        raise StopIteration


def _check_workers(num_workers, timeout, prefetch_factor, persistent_workers):
    if num_workers < 0:
        raise ValueError("num_workers option should be non-negative; use num_workers=0 to disable multiprocessing.")
    if timeout < 0:
        raise ValueError("timeout option should be non-negative")
    if num_workers == 0 and prefetch_factor is not None:
        raise ValueError("prefetch_factor option could only be specified in multiprocessing.let num_workers > 0 to enable multiprocessing, "
                         "otherwise set prefetch_factor to None.")
    if prefetch_factor is not None and prefetch_factor < 0:
        raise ValueError("prefetch_factor option should be non-negative")
    if persistent_workers and num_workers == 0:
        raise ValueError("persistent_workers option needs num_workers > 0")


def _check_iterable(shuffle, sampler, batch_sampler):
    for name, given in (("shuffle", shuffle or None), ("sampler", sampler), ("batch_sampler", batch_sampler)):
        if given is not None:
            raise ValueError(f"DataLoader with IterableDataset: expected unspecified {name} option, but got {name}={given}")


class DataLoader(Generic[Item]):
    """Batches of a dataset. With num_workers, threads make them ahead of the caller, in the same order; an exception in one is raised
    where its batch would have been given. https://pytorch.org/docs/stable/data.html#torch.utils.data.DataLoader"""

    _ready = False

    def __init__(self, dataset, batch_size=1, shuffle=None, sampler=None, batch_sampler=None, num_workers=0, collate_fn=None, pin_memory=False,
                 drop_last=False, timeout=0, worker_init_fn=None, multiprocessing_context=None, generator=None, *, prefetch_factor=None,
                 persistent_workers=False, pin_memory_device="", in_order=True):
        _check_workers(num_workers, timeout, prefetch_factor, persistent_workers)
        if multiprocessing_context is not None and num_workers == 0:
            raise ValueError("multiprocessing_context can only be used with multi-process loading (num_workers > 0), but got num_workers=0")
        iterable = isinstance(dataset, IterableDataset)
        if iterable:
            _check_iterable(shuffle, sampler, batch_sampler)
            sampler = _Endless()
        if sampler is not None and shuffle:
            raise ValueError("sampler option is mutually exclusive with shuffle")
        if batch_sampler is not None:
            if batch_size != 1 or shuffle or sampler is not None or drop_last:
                raise ValueError("batch_sampler option is mutually exclusive with batch_size, shuffle, sampler, and drop_last")
            batch_size, drop_last = None, False
        elif batch_size is None and drop_last:
            raise ValueError("batch_size=None option disables auto-batching and is mutually exclusive with drop_last")
        if pin_memory:
            warnings.warn("'pin_memory' argument is set as true but no accelerator is found, then device pinned memory won't be used.")
        if sampler is None:
            sampler = RandomSampler(dataset, generator=generator) if shuffle else SequentialSampler(dataset)
        if batch_size is not None and batch_sampler is None:
            batch_sampler = BatchSampler(sampler, batch_size, drop_last)
        self.dataset, self.batch_size, self.drop_last = dataset, batch_size, drop_last
        self.sampler, self.batch_sampler, self.generator = sampler, batch_sampler, generator
        self.collate_fn = collate_fn or (default_convert if batch_sampler is None else default_collate)
        self.num_workers, self.timeout, self.worker_init_fn = num_workers, timeout, worker_init_fn
        self.prefetch_factor = 2 if num_workers and prefetch_factor is None else prefetch_factor
        self.persistent_workers, self.in_order = persistent_workers, in_order
        self.pin_memory, self.pin_memory_device, self.multiprocessing_context = pin_memory, pin_memory_device, multiprocessing_context
        self._iterable, self._kept_workers = iterable, None
        self._ready = True

    def __setattr__(self, name, value):
        if self._ready and name in ("batch_size", "batch_sampler", "sampler", "drop_last", "dataset", "persistent_workers"):
            raise ValueError(f"{name} attribute should not be set after {type(self).__name__} is initialized")
        super().__setattr__(name, value)

    @property
    def _index_sampler(self):
        return self.sampler if self.batch_sampler is None else self.batch_sampler

    def _make_fetcher(self, dataset):
        batched = self.batch_sampler is not None
        if self._iterable:
            return _ByTurn(dataset, batched, self.collate_fn, self.drop_last)
        return _ByIndex(dataset, batched, self.collate_fn)

    def _workers(self, base_seed):
        if self._kept_workers is not None:
            return self._kept_workers
        iterable, batched, collate, drop_last = self._iterable, self.batch_sampler is not None, self.collate_fn, self.drop_last

        def make(dataset):  # holds no reference to the loader, which its threads must not keep alive
            return _ByTurn(dataset, batched, collate, drop_last) if iterable else _ByIndex(dataset, batched, collate)
        workers = Workers(self.num_workers, self.dataset, functools.partial(_worker_fetcher, make), self.worker_init_fn, base_seed)
        if self.persistent_workers:
            self._kept_workers = workers
        return workers

    def __iter__(self):
        if not self.num_workers:
            if self.timeout != 0:
                raise AssertionError("_SingleProcessDataLoaderIter requires timeout == 0")
            return _Here(self)
        if self.prefetch_factor <= 0:
            raise AssertionError("prefetch_factor must be greater than 0 for MultiProcessingDataLoaderIter")
        return _Ahead(self)

    def __len__(self):
        if not self._iterable:
            return len(self._index_sampler)
        if self.batch_size is None:
            return len(self.dataset)
        whole, rest = divmod(len(self.dataset), self.batch_size)
        return whole + bool(rest and not self.drop_last)
