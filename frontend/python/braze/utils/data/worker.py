"""Worker threads of a DataLoader: each takes tasks from its own queue and answers each through a future.

PyTorch's workers are processes; Braze's are threads, so that batches are not copied between processes and a dataset needs no pickling.
Reading files, decoding and braze's own work let other threads run meanwhile.
"""
import copy
import queue
import threading
import traceback
import weakref
from concurrent.futures import CancelledError, Future

_current = threading.local()


class WorkerInfo:
    """What a worker knows of itself: id, num_workers, seed, dataset (its own shallow copy)."""

    def __init__(self, **facts):
        self.__dict__.update(facts)

    def __repr__(self):
        return f"WorkerInfo({', '.join(f'{name}={value}' for name, value in self.__dict__.items())})"


def get_worker_info():
    """In a worker thread what that worker is, else None. https://pytorch.org/docs/stable/data.html#torch.utils.data.get_worker_info"""
    return getattr(_current, "info", None)


class ItemsEnd(Exception):
    """An iterable dataset has no more items: StopIteration does not pass a future."""


class _Lines(str):
    """A KeyError shows its text as repr() of it, on one line."""
    __repr__ = str.__str__


def _told(error, worker):
    """A worker's exception as the loop over the batches gets it: of the same type, its text the worker's traceback, as PyTorch's."""
    if not isinstance(error, Exception) or isinstance(error, (ItemsEnd, CancelledError)):
        return error
    text = f"Caught {type(error).__name__} in DataLoader worker process {worker}.\nOriginal {''.join(traceback.format_exception(error))}"
    try:
        told = type(error)(_Lines(text) if isinstance(error, KeyError) else text)
    except Exception:  # a type that takes other arguments
        told = RuntimeError(text)
    told.__cause__ = error
    return told.with_traceback(error.__traceback__)


def _work(tasks, stopped, info, make_fetcher, init):
    """One thread: a task is (future, indices), or None to end, or "epoch" for a new fetcher."""
    _current.info = info
    fetcher, broken = None, None
    try:
        if init is not None:
            init(info.id)
    except BaseException as error:  # told at the first batch
        broken = error
    while (task := tasks.get()) is not None and not stopped.is_set():
        if task == "epoch":
            fetcher = None
            continue
        future, indices = task
        try:
            if broken is not None:
                raise broken
            if fetcher is None:
                fetcher = make_fetcher(info.dataset)
            future.set_result(fetcher(indices, stopped.is_set))
        except BaseException as error:
            future.set_exception(_told(error, info.id))
        del task, future, indices


def _shut_down(threads, queues, stopped):
    stopped.set()
    for tasks in queues:
        tasks.put(None)
    for thread in threads:
        if thread is not threading.current_thread():
            thread.join(5)


class Workers:
    """The threads of a loader. They end when this object does, wherever an iteration was left, and before the interpreter does."""

    def __init__(self, count, dataset, make_fetcher, init, base_seed):
        queues = self._queues = [queue.SimpleQueue() for _ in range(count)]
        stopped = threading.Event()
        threads = []
        for i in range(count):
            info = WorkerInfo(id=i, num_workers=count, seed=base_seed + i, dataset=copy.copy(dataset))
            threads.append(threading.Thread(target=_work, args=(queues[i], stopped, info, make_fetcher, init),
                                            name=f"DataLoader worker {i}", daemon=True))
        self._close = weakref.finalize(self, _shut_down, threads, queues, stopped)
        for thread in threads:
            thread.start()

    def start_epoch(self):
        for tasks in self._queues:
            tasks.put("epoch")

    def submit(self, worker, indices):
        future = Future()
        self._queues[worker].put((future, indices))
        return future

    def close(self):
        """Ends the threads, and waits until they have."""
        self._close()
